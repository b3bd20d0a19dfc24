/*
 * What happens to a host over SSH after it was reached, with both transports, on real sshds: cut
 * off in the middle of a command, dropped while idle, silent, restricted, restarted with another
 * key, frozen; several channels at once; and what a killed sweep leaves behind. Never is a command
 * that was cut off taken for one that succeeded.
 */
#include <sys/wait.h>

#include "tests/support/ssh_server.h"

/* The process of sshd that serves this connection: the parent of the script's shell. */
#define SERVING "read -r s </proc/$PPID/stat; set -- ${s##*) }; serving=$2; "

static void must_be_cut_off(const char *script, int64_t wait_ms)
{
    struct host_result result;
    int64_t began_ns = clock_now_ns();
    if (do_there(script, wait_ms, &result)) {
        fail_msg("status %d, signal %d, output '%s'", result.exit_status, result.signal_number,
                 result.output);
    }
    assert_int_equal(err.code, ERR_CODE_host);
    assert_int_equal(err.class, ERR_TARGET);
    assert_non_null(strstr(err.text, " was cut off "));
    assert_null(strstr(err.text, "before it began")); /* nobody can know that */
    assert_true(clock_now_ns() - began_ns < wait_ms * NS_PER_MS);
}

/* --- reaching --------------------------------------------------------------------------------- */

/* A listener in Python; how much it does stands in the program. Its number, for stop_listener. */
static const char *listener(const char *program, char *port, size_t size)
{
    const char *said = do_here("exec 3< <(exec python3 -c \"$1\" 2>&1); pid=$!; read -r port <&3; "
                               "echo \"$port $pid\"",
                               program, NULL);
    size_t length = strcspn(said, " ");
    snprintf(port, size, "127.0.0.1:%.*s", (int)length, said);
    return arena_strndup(&arena, said + length + 1, strcspn(said + length + 1, "\n"));
}

static void assert_unreachable(const char *address, const char *transport, int64_t wait_ms)
{
    struct host_spec spec = spec_of(&usual, transport);
    int64_t began_ns = clock_now_ns();
    spec.ssh = address;
    spec.known_hosts = arena_printf(&arena, "%s/known.%s", usual.directory, address);
    do_here("sed \"s/^[^ ]*/[${1%:*}]:${1#*:}/\" \"$2/known_hosts\" >\"$2/known.$1\"", address,
            usual.directory);
    if (reach_within(&spec, wait_ms)) {
        fail_msg("it was let in");
    }
    assert_int_equal(err.code, ERR_CODE_host);
    assert_int_equal(err.class, ERR_TARGET);
    assert_non_null(strstr(err.origin, address));
    assert_true(clock_now_ns() - began_ns < (wait_ms + 5000) * NS_PER_MS);
}

static void tells_that_nobody_listens(void **state)
{
    assert_unreachable("127.0.0.1:1", *state, 5000);
}

static void gives_up_on_a_silent_machine(void **state)
{
    static const char *const programs[] = {
        /* takes connections and says nothing */
        "import socket,time\ns=socket.socket();s.bind(('127.0.0.1',0));s.listen(9)\n"
        "print(s.getsockname()[1],flush=True);time.sleep(60)",
        /* takes none: a full queue drops what comes */
        "import socket,time\ns=socket.socket();s.bind(('127.0.0.1',0));s.listen(0)\n"
        "c=[socket.socket() for i in range(4)]\n"
        "for x in c:\n x.setblocking(False)\n x.connect_ex(s.getsockname())\n"
        "print(s.getsockname()[1],flush=True);time.sleep(60)",
        /* says who it is, and no more */
        "import socket,time\ns=socket.socket();s.bind(('127.0.0.1',0));s.listen(9)\n"
        "print(s.getsockname()[1],flush=True);c=s.accept()[0];c.send(b'SSH-2.0-x\\r\\n')\n"
        "time.sleep(60)",
        /* is none */
        "import socket,time\ns=socket.socket();s.bind(('127.0.0.1',0));s.listen(9)\n"
        "print(s.getsockname()[1],flush=True);c=s.accept()[0];c.send(b'220 ftp\\r\\n'*9)\n"
        "c.close();time.sleep(60)",
    };
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        char address[32];
        const char *pid = listener(programs[i], address, sizeof address);
        assert_unreachable(address, *state, 2000);
        do_here("kill \"$1\"", pid, NULL);
    }
}

/* --- lost ------------------------------------------------------------------------------------- */

static void tells_that_a_command_was_cut_off(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    must_reach(&spec);
    must_be_cut_off(SERVING "kill -9 $serving; sleep 5; exit 0", 20000);
    assert_works();
    must_be_cut_off("echo some; " SERVING "kill -TERM $serving; sleep 5; exit 0", 20000);
    assert_works();
    must_be_cut_off("kill -9 $PPID; exit 0", 20000); /* the shell that would tell */
    assert_works();
}

static void connects_anew_after_it_was_dropped(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    struct host_result result;
    must_reach(&spec);
    for (int i = 0; i < 3; i++) {
        assert_true(do_there(SERVING "(sleep 0.3; kill -9 $serving) >/dev/null 2>&1 </dev/null &",
                             20000, &result));
        assert_int_equal(result.exit_status, 0);
        usleep(800 * 1000);
        assert_works();
    }
}

static void outlives_a_server_that_drops_the_idle(void **state)
{
    server_start(&own, "ClientAliveInterval 1\nClientAliveCountMax 1\n");
    struct host_spec spec = spec_of(&own, *state);
    struct host_result result;
    must_reach(&spec);
    usleep(4 * 1000 * 1000);
    assert_works();
    assert_true(do_there("sleep 4; exit 6", 20000, &result)); /* it is answered meanwhile */
    assert_int_equal(result.exit_status, 6);
}

/* The server asks whether we live while it takes no input of ours. */
static void answers_while_it_sends(void **state)
{
    server_start(&own, "ClientAliveInterval 1\nClientAliveCountMax 2\n");
    struct host_spec spec = spec_of(&own, *state);
    struct host_result result;
    char *data = arena_alloc(&arena, (size_t)16 << 20);
    char sha256[65];
    const char *const argv[] = {"sh", "-c", "sleep 5; sha256sum", NULL};
    memset(data, 'x', (size_t)16 << 20);
    const struct host_command command = {.argv = argv,
                                         .input = {.data = data, .size = (size_t)16 << 20},
                                         .deadline = clock_deadline_ms(60000)};
    must_reach(&spec);
    host_sha256(command.input, sha256);
    if (!host_run(there, &command, &arena, &result, &err)) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(result.exit_status, 0);
    assert_memory_equal(result.output, sha256, 64);
}

static void takes_no_channel_timeout_for_success(void **state)
{
    const char *known = do_here("printf 'ChannelTimeout session:*=1s\\n' >\"$1/timeout\" && "
                                "/usr/sbin/sshd -t -h \"$1/host\" -f \"$1/timeout\" 2>&1 || :",
                                usual.directory, NULL);
    if (known[0] != '\0') {
        print_message("this sshd has no ChannelTimeout: %s\n", known);
        skip();
    }
    server_start(&own, "ChannelTimeout session:*=2s\n");
    struct host_spec spec = spec_of(&own, *state);
    must_reach(&spec);
    must_be_cut_off("sleep 6; exit 0", 20000);
    assert_works();
    usleep(3500 * 1000);
    assert_works();
}

/* sshd leaves for the background before it listens. */
#define LISTENING "; until (: <\"/dev/tcp/127.0.0.1/$2\") 2>/dev/null; do sleep 0.05; done"

/* A machine that is set up anew while a sweep runs must be judged again. */
static void judges_the_key_again_when_it_connects_anew(void **state)
{
    struct host_result result;
    server_start(&own, "");
    struct host_spec spec = spec_of(&own, *state);
    must_reach(&spec);
    const char *serving = "kill \"$(cat \"$1/sshd.pid\")\"; while kill -0 \"$(cat \"$1/sshd.pid\" "
                          "2>/dev/null)\" 2>/dev/null; do sleep 0.1; done";
    do_here(serving, own.directory, NULL);
    must_be_cut_off(SERVING "kill -9 $serving; sleep 5", 20000);
    assert_false(do_there("true", 10000, &result));
    assert_int_equal(err.code, ERR_CODE_host);
    do_here("/usr/sbin/sshd -f \"$1/sshd_config\" -E \"$1/sshd.log\"" LISTENING, own.directory,
            own.port);
    assert_works();
    do_here(serving, own.directory, NULL);
    must_be_cut_off(SERVING "kill -9 $serving; sleep 5", 20000);
    do_here(
        "sed -i '/host_rsa/d' \"$1/sshd_config\"; cp \"$1/other\" \"$1/host\"; rm \"$1/host.pub\"; "
        "/usr/sbin/sshd -f \"$1/sshd_config\" -E \"$1/sshd.log\"" LISTENING,
        own.directory, own.port);
    assert_false(do_there("touch \"/tmp/dbsweep-must-not-be\"", 10000, &result));
    assert_int_equal(err.code, ERR_CODE_host_key);
    assert_int_not_equal(access("/tmp/dbsweep-must-not-be", F_OK), 0);
}

/* Stopped, as a machine that hangs: bounded, no success, and used again once it goes on. */
static void gives_up_on_a_frozen_connection(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    struct host_result result = {.exit_status = -1};
    must_reach(&spec);
    int64_t began_ns = clock_now_ns();
    bool ok = do_there(SERVING "(sleep 20; kill -CONT $serving) >/dev/null 2>&1 </dev/null &\n"
                               "kill -STOP $serving; sleep 1; exit 0",
                       2000, &result);
    assert_true(!ok || result.timed_out);
    assert_true(clock_now_ns() - began_ns < 30 * NS_PER_S);
    int64_t until = began_ns + 25 * NS_PER_S;
    while (!clock_passed(until)) {
        usleep(100 * 1000);
    }
    assert_works();
}

/* --- restricted ------------------------------------------------------------------------------- */

static void tells_of_a_forced_command(void **state)
{
    static const char *const lines[] = {"ForceCommand echo no commands for you\n",
                                        "ForceCommand false\n", "ForceCommand internal-sftp\n"};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        server_start(&own, lines[i]);
        struct host_spec spec = spec_of(&own, *state);
        int64_t began_ns = clock_now_ns();
        assert_false(reach(&spec));
        assert_int_equal(err.code, ERR_CODE_host);
        assert_true(i > 0 || strstr(err.text, "no commands for you") != NULL);
        assert_non_null(strstr(err.hint, "ForceCommand"));
        assert_true(clock_now_ns() - began_ns < 30 * NS_PER_S);
        server_stop(&own);
    }
}

static struct host_process *spawn(const char *const *argv)
{
    struct host_process *process = NULL;
    const struct host_command command = {.argv = argv};
    err_clear(&err);
    if (!there->driver->spawn(there, &command, &process, &err)) {
        return NULL;
    }
    return process;
}

static void must_finish(struct host_process *process, int64_t wait_ms, struct host_result *result)
{
    if (!there->driver->finish(process, clock_deadline_ms(wait_ms), &arena, result, &err)) {
        fail_msg("%s", err.text);
    }
}

static void needs_few_sessions(void **state)
{
    struct host_result result;
    const char *const cat[] = {"cat", NULL};
    server_start(&own, is_libssh2(*state) ? "MaxSessions 1\n" : "MaxSessions 2\n");
    struct host_spec spec = spec_of(&own, *state);
    must_reach(&spec);
    struct host_process *process = spawn(cat);
    assert_non_null(process);
    if (do_there("exit 4", 10000, &result)) {
        assert_int_equal(result.exit_status, 4);
    } else { /* refused, in words, and what runs goes on */
        assert_int_equal(err.code, ERR_CODE_host);
        assert_non_null(strstr(err.hint, "MaxSessions"));
    }
    assert_true(there->driver->write(process, (struct bytes){.data = "hello", .size = 5},
                                     clock_deadline_ms(10000), &err));
    must_finish(process, 10000, &result);
    assert_string_equal(result.output, "hello");
    assert_works();
}

static void works_or_says_why_with_one_session(void **state)
{
    server_start(&own, "MaxSessions 1\n");
    struct host_spec spec = spec_of(&own, *state);
    if (reach(&spec)) {
        assert_works();
    } else {
        assert_int_equal(err.code, ERR_CODE_host);
        assert_non_null(strstr(err.hint, "MaxSessions"));
    }
}

/* --- several at once -------------------------------------------------------------------------- */

static void exchange(struct host_process *process, const char *data, size_t size)
{
    static char back[1 << 20];
    size_t used = 0;
    if (!there->driver->write(process, (struct bytes){.data = data, .size = size},
                              clock_deadline_ms(20000), &err)) {
        fail_msg("%s", err.text);
    }
    while (used < size) {
        int64_t got = 0;
        if (!there->driver->read(process, back + used, size - used, clock_deadline_ms(20000), &got,
                                 &err)) {
            fail_msg("%s", err.text);
        }
        assert_true(got > 0);
        used += (size_t)got;
    }
    assert_memory_equal(back, data, size);
}

static void runs_commands_while_others_are_spoken_to(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    struct host_result result;
    const char *const cat[] = {"cat", NULL};
    const char *const flood[] = {"sh", "-c", "yes; exit 0", NULL};
    static char data[60000];
    must_reach(&spec);
    struct host_process *talking[] = {spawn(cat), spawn(cat), spawn(flood)};
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (char)(i * 2654435761u >> 11);
    }
    for (int i = 0; i < 200; i++) {
        char script[64];
        char wanted[16];
        snprintf(script, sizeof script, "echo %d; exit %d", i, i % 100);
        snprintf(wanted, sizeof wanted, "%d\n", i);
        struct bytes piece = {.data = data, .size = (size_t)i * 300};
        assert_true(there->driver->write(talking[0], piece, clock_deadline_ms(20000), &err));
        if (!do_there(script, 20000, &result)) {
            fail_msg("command %d: %s", i, err.text);
        }
        assert_string_equal(result.output, wanted);
        assert_int_equal(result.exit_status, i % 100);
        exchange(talking[1], data, 1 + (size_t)i * 200);
        for (size_t left = piece.size; left > 0;) {
            static char back[sizeof data];
            int64_t got = 0;
            assert_true(
                there->driver->read(talking[0], back, left, clock_deadline_ms(20000), &got, &err));
            assert_true(got > 0);
            assert_memory_equal(back, data + (piece.size - left), (size_t)got);
            left -= (size_t)got;
        }
    }
    must_finish(talking[0], 20000, &result);
    assert_int_equal(result.exit_status, 0);
    must_finish(talking[1], 20000, &result);
    assert_int_equal(result.exit_status, 0);
    must_finish(talking[2], 100, &result);
    assert_true(result.timed_out);
    assert_works();
}

/* Half a connection's windows are full of what nobody reads; commands go on. */
static void runs_commands_while_nobody_reads(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    struct host_result result;
    const char *const sleeper[] = {"sleep", "60", NULL};
    must_reach(&spec);
    struct host_process *deaf = spawn(sleeper);
    char *data = arena_alloc(&arena, (size_t)8 << 20);
    memset(data, 'x', (size_t)8 << 20);
    assert_false(there->driver->write(deaf, (struct bytes){.data = data, .size = (size_t)8 << 20},
                                      clock_deadline_ms(1000), &err));
    assert_int_equal(err.code, ERR_CODE_timeout);
    for (int i = 0; i < 20; i++) {
        assert_works();
    }
    must_finish(deaf, 100, &result);
    assert_true(result.timed_out);
    assert_works();
}

/* --- what a killed sweep leaves --------------------------------------------------------------- */

static void leaves_nothing_when_killed(void **state)
{
    int said[2];
    struct host_spec spec = spec_of(&usual, *state);
    assert_int_equal(pipe(said), 0);
    pid_t child = fork();
    if (child == 0) {
        const char *const argv[] = {"sh", "-c", "echo $$; cat; sleep 0.1", NULL};
        char pid[32] = "";
        int64_t got = 0;
        struct host_process *process = reach(&spec) ? spawn(argv) : NULL;
        bool ok = process != NULL && there->driver->read(process, pid, sizeof pid - 1,
                                                         clock_deadline_ms(20000), &got, &err);
        ssize_t sent = write(said[1], ok && got > 0 ? pid : "\n", ok && got > 0 ? (size_t)got : 1);
        sleep(sent > 0 ? 60 : 0);
        _exit(1);
    }
    char remote[32] = "";
    close(said[1]);
    assert_true(read(said[0], remote, sizeof remote - 1) > 1);
    close(said[0]);
    remote[strcspn(remote, "\n")] = '\0';
    char number[32];
    snprintf(number, sizeof number, "%d", (int)child);
    const char *ours = do_here("pgrep -d ' ' -P \"$1\" || :", number, NULL);
    assert_true(is_libssh2(*state) || ours[0] != '\0');
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    const char *left =
        do_here("for i in $(seq 100); do left=; for pid in $1 $2; do\n"
                "state=$(sed 's/.*) \\(.\\).*/\\1/' \"/proc/$pid/stat\" 2>/dev/null || echo Z)\n"
                "[ \"$state\" = Z ] || left=\"$left $pid\"; done\n"
                "[ -n \"$left\" ] || break; sleep 0.1; done; echo \"$left\"",
                arena_strndup(&arena, ours, strcspn(ours, "\n")), remote);
    assert_string_equal(left, "\n");
}

static void outlives_its_master(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    char number[32];
    if (is_libssh2(*state)) {
        print_message("libssh2 has no master\n");
        skip();
    }
    must_reach(&spec);
    snprintf(number, sizeof number, "%d", (int)getpid());
    /* Dead before it is used again: a command that meets a dying one goes its own way. */
    do_here("for pid in $(pgrep -P \"$1\" -x ssh); do kill -9 \"$pid\"\n"
            "until [ \"$(sed 's/.*) \\(.\\).*/\\1/' \"/proc/$pid/stat\" 2>/dev/null || echo Z)\" = "
            "Z ]\n"
            "do sleep 0.05; done; done",
            number, NULL);
    assert_works();
    /* a new one, not one a command; what has ended and was not waited for yet is none */
    const char *list = "pgrep -r D,R,S -P \"$1\" -x ssh";
    const char *masters = do_here(list, number, NULL);
    assert_true(masters[0] != '\0');
    assert_works();
    assert_string_equal(do_here(list, number, NULL), masters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_that_nobody_listens),
        cmocka_unit_test(gives_up_on_a_silent_machine),
        cmocka_unit_test(tells_that_a_command_was_cut_off),
        cmocka_unit_test(connects_anew_after_it_was_dropped),
        cmocka_unit_test(outlives_a_server_that_drops_the_idle),
        cmocka_unit_test(answers_while_it_sends),
        cmocka_unit_test(takes_no_channel_timeout_for_success),
        cmocka_unit_test(judges_the_key_again_when_it_connects_anew),
        cmocka_unit_test(gives_up_on_a_frozen_connection),
        cmocka_unit_test(tells_of_a_forced_command),
        cmocka_unit_test(needs_few_sessions),
        cmocka_unit_test(works_or_says_why_with_one_session),
        cmocka_unit_test(runs_commands_while_others_are_spoken_to),
        cmocka_unit_test(runs_commands_while_nobody_reads),
        cmocka_unit_test(leaves_nothing_when_killed),
        cmocka_unit_test(outlives_its_master),
    };
    return suite_run(tests, COUNT_OF(tests));
}
