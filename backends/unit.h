/*
 * systemd's units: whose main process a server is, how its unit is stopped and started, and what
 * the sweep file's own commands name. Nothing here waits for a server.
 */
#ifndef BACKENDS_UNIT_H
#define BACKENDS_UNIT_H

#include "backends/backend.h"

/* The unit that systemd itself names as this process's, in `arena`; NULL in *out: none does. */
bool unit_find(struct host *host, long pid, int64_t deadline, struct arena *arena, const char **out,
               struct err *err) MUST_USE;
/* Whether systemd has it and would start it. */
bool unit_is_loaded(struct host *host, const char *unit, int64_t deadline, bool *out,
                    struct err *err) MUST_USE;

bool unit_stop(struct host *host, const char *unit, int64_t deadline, struct arena *arena,
               struct host_result *out, struct err *err) MUST_USE;
/* Whatever came before, it counts as the first start: see unit_run. */
bool unit_start(struct host *host, const char *unit, int64_t deadline, struct arena *arena,
                struct host_result *out, struct err *err) MUST_USE;

/* The units that a command gives to systemctl or service, by their full names, in `arena`; 0: it
 * gives none, or not to this machine's systemd. */
enum { UNIT_LIMIT = 8 };
bool unit_named(const char *const *argv, struct arena *arena, const char *out[UNIT_LIMIT],
                size_t *out_count, struct err *err) MUST_USE;
/* Whether a command of the sweep file gives any unit to systemd; NULL: no command, no. */
bool unit_is_named(const char *const *argv);
/* Whether the server is stopped through systemd, by the sweep file's command or as `own`, its unit
 * (NULL: none). systemd may be about to start such a one again (Restart=): it is stopped although
 * nothing runs. */
bool unit_stops(const struct server *server, const char *own);
/* Runs a command of the sweep file that starts the server. systemd refuses a unit that was started
 * too often in too short a time (StartLimitBurst), which would look like the point's fault: the
 * units that the command names begin to count anew. */
bool unit_run(struct host *host, const char *const *argv, int64_t deadline, struct arena *arena,
              struct host_result *out, struct err *err) MUST_USE;

/* Refuses target.stop, .start and .restart that name a unit which systemd does not have, or not
 * the server's: `pid` is the running server's process (0: not to be seen), `own` the unit whose
 * main process it is (NULL: none). Errors: unsupported. */
bool unit_refuse(const struct server *server, long pid, const char *own, int64_t deadline,
                 struct err *err) MUST_USE;

/* The time there, as unit_journal takes it: its clock need not be ours. */
enum { UNIT_TIME_BYTES = 32 };
bool unit_time(struct host *host, int64_t deadline, char out[UNIT_TIME_BYTES],
               struct err *err) MUST_USE;
/* What it wrote to the journal since a time: the last bytes of it. */
bool unit_journal(struct host *host, const char *unit, const char *since, size_t limit_bytes,
                  int64_t deadline, struct arena *arena, const char **out,
                  struct err *err) MUST_USE;

#endif
