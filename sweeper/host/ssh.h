/*
 * Parts of the libssh2 driver, for each other: its connection (ssh_connect.c) and its channels
 * (ssh.c).
 */
#ifndef SWEEPER_HOST_SSH_H
#define SWEEPER_HOST_SSH_H

#include <libssh2.h>

#include "sweeper/host/remote.h"

enum { SSH_PORT = 22 };

struct ssh {
    struct remote_host remote; /* first */
    const char *user;
    int socket;
    LIBSSH2_SESSION *session;
    unsigned generation; /* of the connection: channels of an older one are gone */
    char why[200];       /* it was lost; "" while it is not */
};

/* Until the socket lets the call that said "again" go on, or takes more where that is wanted. */
void ssh_wait(const struct ssh *ssh, bool wants_send, int64_t until);
/* Repeats `call` while it says "again" and the deadline lets it. */
#define SSH_UNTIL(ssh, deadline, result, call)                                                     \
    do {                                                                                           \
        (result) = (call);                                                                         \
        if ((result) != LIBSSH2_ERROR_EAGAIN || clock_passed(deadline))                            \
            break;                                                                                 \
        ssh_wait((ssh), false, (deadline));                                                        \
    } while (true)

/* Keeps libssh2's own words for the last call that failed. */
void ssh_keep_why(struct ssh *ssh);
/* A step that did not succeed: "again" means that its deadline passed. Returns false. */
bool ssh_step_failed(struct ssh *ssh, int result, const char *what, struct err *err);

/* Connects where there is no connection, or none that lives: socket, host key, login. */
bool ssh_connect(struct ssh *ssh, int64_t deadline, struct err *err) MUST_USE;
void ssh_disconnect(struct ssh *ssh);

#endif
