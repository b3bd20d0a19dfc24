/*
 * Who is let in and who is refused over SSH, with both transports, on a real sshd: host keys, keys
 * of users, agents, what a login shell says or is, sudo. Each refusal comes before anything is
 * done, is of class PLAN and names its remedy.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/ssh_server.h"

/* --- the host's key --------------------------------------------------------------------------- */

/* A known_hosts of these lines, which a shell makes: $1 is the server's directory, $2 its port. */
static const char *known(const char *script)
{
    static int number;
    const char *name = arena_printf(&arena, "known%d", number++);
    const char *full = arena_printf(&arena, "cd \"$1\" && { %s; } >%s", script, name);
    do_here(full, usual.directory, usual.port);
    return in_server(&usual, name);
}

#define KEY_OF(file) "$(cut -d' ' -f1,2 " file ".pub)"

static void refuses_an_unknown_host(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.known_hosts = known(":");
    must_refuse(&spec, ERR_CODE_host_key, "", "ssh-keyscan");
    spec.known_hosts = known("echo \"other " KEY_OF("host") "\"");
    must_refuse(&spec, ERR_CODE_host_key, "", "ssh-keyscan");
    spec.known_hosts = in_server(&usual, "nothing/there");
    must_refuse(&spec, ERR_CODE_host_key, "", "ssh-keyscan");
}

static void refuses_a_changed_key(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.known_hosts = known("echo \"[127.0.0.1]:$2 " KEY_OF("other") "\"");
    must_refuse(&spec, ERR_CODE_host_key, "", "ssh-keygen -R");
}

static void takes_the_port_for_final(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.known_hosts =
        known("echo \"[127.0.0.1]:$2 " KEY_OF("other") "\"; echo \"127.0.0.1 " KEY_OF("host") "\"");
    must_refuse(&spec, ERR_CODE_host_key, "", "ssh-keygen -R");
}

static void refuses_a_revoked_key(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.known_hosts = known("cat known_hosts; echo \"@revoked * " KEY_OF(
        "host") "\"; "
                "echo \"@revoked * " KEY_OF("host_rsa") "\"");
    must_refuse(&spec, ERR_CODE_host_key, "evoked", "until it has a new key");
}

static void needs_no_more_than_one_key_on_file(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.known_hosts = known("echo nonsense; echo \"[127.0.0.1]:$2 " KEY_OF("host") "\"");
    must_reach(&spec);
    spec.known_hosts = known("echo \"[127.0.0.1]:$2 " KEY_OF("host") "\"");
    must_reach(&spec);
}

static void tells_of_an_rsa_host_key(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.known_hosts = known("echo \"[127.0.0.1]:$2 " KEY_OF("host_rsa") "\"");
    if (is_libssh2(*state)) {
        must_refuse(&spec, ERR_CODE_host_key, "ed25519 or ecdsa", "transport = \"openssh\"");
    } else {
        must_reach(&spec);
    }
}

static void knows_names_in_any_letter_case(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.ssh = arena_printf(&arena, "LocalHost:%s", usual.port);
    must_reach(&spec);
}

static void reaches_ipv6(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    if (do_here("grep -s '^0\\{31\\}1 ' /proc/net/if_inet6 || :", NULL, NULL)[0] == '\0') {
        print_message("this machine has no IPv6\n");
        skip();
    }
    spec.ssh = arena_printf(&arena, "[::1]:%s", usual.port);
    must_reach(&spec);
}

/* --- the user's key --------------------------------------------------------------------------- */

static void tells_of_an_rsa_key(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.identity = in_server(&usual, "rsa");
    if (is_libssh2(*state)) {
        must_refuse(&spec, ERR_CODE_host_login, "is an RSA key", "transport = \"openssh\"");
        assert_non_null(strstr(err.hint, "ed25519"));
    } else {
        must_reach(&spec);
    }
}

static void refuses_a_key_that_is_not_there(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.identity = in_server(&usual, "other");
    must_refuse(&spec, ERR_CODE_host_login, "", "authorized_keys");
}

static void refuses_a_missing_file(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.identity = in_server(&usual, "nothing");
    must_refuse(&spec, ERR_CODE_host_login, "No such file or directory", "identity");
    spec.identity = usual.directory;
    must_refuse(&spec, ERR_CODE_host_login, "is no file", "identity");
}

static void refuses_a_key_that_others_can_read(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    do_here("cp \"$1/id\" \"$1/loose\" && chmod 0644 \"$1/loose\"", usual.directory, NULL);
    spec.identity = in_server(&usual, "loose");
    must_refuse(&spec, ERR_CODE_host_login, "can be read by others", "chmod 600");
}

static void tells_an_encrypted_key_from_a_damaged_one(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    do_here("cd \"$1\" && cp id locked && chmod 600 locked && ssh-keygen -q -p -P '' -N secret -f "
            "locked && "
            "sed '3s/./%/' id >damaged && chmod 600 damaged",
            usual.directory, NULL);
    spec.identity = in_server(&usual, "locked");
    must_refuse(&spec, ERR_CODE_host_login, "has a passphrase", "ssh-agent");
    spec.identity = in_server(&usual, "damaged");
    must_refuse(&spec, ERR_CODE_host_login, "cannot be read as a private key", "ssh-keygen -y -f");
}

static void refuses_an_unknown_user(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    spec.ssh = arena_printf(&arena, "dbsweep-nobody@127.0.0.1:%s", usual.port);
    must_refuse(&spec, ERR_CODE_host_login, "", "authorized_keys");
}

/* An agent of its own that holds keys, in that order; ended by agent_stop. */
static void agent_start(const char *keys)
{
    const char *said = do_here("eval \"$(ssh-agent -a \"$1/agent\")\" >/dev/null && cd \"$1\" && "
                               "ssh-add -q $2 2>/dev/null && echo \"$SSH_AGENT_PID\"",
                               usual.directory, keys);
    assert_int_equal(setenv("SSH_AUTH_SOCK", in_server(&usual, "agent"), 1), 0);
    assert_int_equal(setenv("SSH_AGENT_PID", arena_strndup(&arena, said, strcspn(said, "\n")), 1),
                     0);
}

static void agent_stop(void)
{
    do_here("ssh-agent -k >/dev/null", NULL, NULL);
    unsetenv("SSH_AUTH_SOCK");
    unsetenv("SSH_AGENT_PID");
}

static void uses_an_agent(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    static const char *const keys[] = {"id", "rsa id", "other id"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        agent_start(keys[i]);
        spec.identity = NULL;
        bool ok = reach(&spec);
        agent_stop();
        if (!ok) {
            fail_msg("%s: %s", keys[i], err.text);
        }
        assert_works();
    }
}

static void tells_of_an_agent_of_no_use(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    char home[64];
    snprintf(home, sizeof home, "%s", getenv("HOME") != NULL ? getenv("HOME") : "");
    assert_int_equal(setenv("HOME", usual.directory, 1), 0);
    agent_start("other");
    spec.identity = NULL;
    bool is_in = reach(&spec);
    agent_stop();
    setenv("HOME", home, 1);
    assert_false(is_in);
    assert_int_equal(err.code, ERR_CODE_host_login);
    assert_true(err.hint[0] != '\0');
}

/* It accepts and says nothing: what was named is used, and the deadline holds. */
static void does_not_wait_for_a_silent_agent(void **state)
{
    struct host_spec spec = spec_of(&usual, *state);
    const char *said = do_here(
        "python3 -c 'import socket,sys,time\n"
        "s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen(5);time.sleep(60)' "
        "\"$1/mute\" >/dev/null 2>&1 & echo $!; while [ ! -S \"$1/mute\" ]; do sleep 0.1; done",
        usual.directory, NULL);
    assert_int_equal(setenv("SSH_AUTH_SOCK", in_server(&usual, "mute"), 1), 0);
    int64_t began_ns = clock_now_ns();
    spec.identity = NULL;
    bool is_in = reach_within(&spec, 3000);
    int64_t took_ns = clock_now_ns() - began_ns;
    unsetenv("SSH_AUTH_SOCK");
    do_here("kill \"$1\"; rm -f \"$2/mute\"", arena_strndup(&arena, said, strcspn(said, "\n")),
            usual.directory);
    assert_false(is_in);
    assert_true(took_ns < 10 * NS_PER_S);
}

/* --- login shells ----------------------------------------------------------------------------- */

static struct host_spec user_spec(const char *transport)
{
    need_user();
    struct host_spec spec = spec_of(&usual, transport);
    spec.ssh = usual.user;
    return spec;
}

static const char noise[] =
    "echo noise; echo more noise >&2; printf '\\033[31mDBSWEEP begin 1\\nDBSWEEP '\n";

static void tells_commands_from_noise(void **state)
{
    struct host_spec spec = user_spec(*state);
    do_here("for name in .bashrc .profile .bash_profile .cshrc .zshenv; do printf '%s' \"$2\" "
            ">\"$1/home/$name\"; done",
            usual.directory, noise);
    must_reach(&spec);
    assert_works();
    do_here("rm \"$1\"/home/.??*", usual.directory, NULL);
}

static void takes_any_login_shell(void **state)
{
    static const char *const shells[] = {"/bin/dash", "/bin/tcsh", "/usr/bin/zsh", "/usr/bin/fish",
                                         "/bin/rbash"};
    struct host_spec spec = user_spec(*state);
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        if (access(shells[i], X_OK) != 0) {
            print_message("no %s is here\n", shells[i]);
            continue;
        }
        do_here("usermod -s \"$1\" \"$2\"", shells[i], usual.user_name);
        if (strcmp(shells[i], "/bin/rbash") == 0) {
            must_refuse(&spec, ERR_CODE_host, "restricted", "login shell");
        } else {
            must_reach(&spec);
        }
    }
    do_here("usermod -s /bin/bash \"$1\"", usual.user_name, NULL);
}

static void tells_what_a_login_shell_says_that_runs_nothing(void **state)
{
    struct host_spec spec = user_spec(*state);
    do_here("usermod -s /usr/sbin/nologin \"$1\"", usual.user_name, NULL);
    must_refuse(&spec, ERR_CODE_host, "not available", "login shell");
    do_here("usermod -s /bin/bash \"$1\"; echo 'echo go away >&2; exit 1' >\"$2/home/.bashrc\"",
            usual.user_name, usual.directory);
    must_refuse(&spec, ERR_CODE_host, "go away", "login shell");
    do_here("rm \"$1/home/.bashrc\"", usual.directory, NULL);
}

/* --- sudo ------------------------------------------------------------------------------------- */

static void tells_that_sudo_is_missing(void **state)
{
    struct host_spec spec = user_spec(*state);
    spec.sudo = true;
    must_reach(&spec);
    do_here("mv \"/etc/sudoers.d/$1\" \"$2/sudoers\"", usual.user_name, usual.directory);
    must_refuse(&spec, ERR_CODE_unsupported, "sudo -n does not work", "NOPASSWD");
    do_here("{ cat \"$2/sudoers\"; echo \"Defaults:$1 requiretty\"; } >\"/etc/sudoers.d/$1\"",
            usual.user_name, usual.directory);
    must_refuse(&spec, ERR_CODE_unsupported, "tty", "requiretty");
    do_here("mv \"$2/sudoers\" \"/etc/sudoers.d/$1\"", usual.user_name, usual.directory);
    must_reach(&spec);
}

/* --- ssh_config ------------------------------------------------------------------------------- */

/* As the test's user, whose home has a configuration: ssh looks there, not at HOME. */
static void goes_by_a_jump_host(void **state)
{
    if (is_libssh2(*state)) {
        print_message("libssh2 knows no jump hosts\n");
        skip();
    }
    need_user();
    do_here(
        "cd \"$1\" && mkdir -p home/.ssh && cp id known_hosts home/.ssh/ && "
        "printf 'Host *\\n Port %s\\n IdentityFile ~/.ssh/id\\nHost inner\\n HostName localhost\\n"
        " HostKeyAlias [localhost]:%s\\n ProxyJump 127.0.0.1\\n' \"$2\" \"$2\" >home/.ssh/config "
        "&& "
        "chown -R --reference=home home/.ssh && chmod -R go= home/.ssh",
        usual.directory, usual.port);
    const char *const ids = do_here("id -u \"$1\"; id -g \"$1\"", usual.user_name, NULL);
    char *end = NULL;
    uid_t uid = (uid_t)strtoul(ids, &end, 10);
    gid_t gid = (gid_t)strtoul(end, NULL, 10);
    pid_t child = fork();
    if (child == 0) {
        struct host *jumped = NULL;
        struct host_result result;
        const struct host_spec spec = {.ssh = "inner", .transport = "openssh"};
        const char *const argv[] = {"sh", "-c", "echo \"$SSH_CONNECTION\"", NULL};
        const struct host_command command = {.argv = argv, .deadline = clock_deadline_ms(20000)};
        bool ok = setgid(gid) == 0 && setuid(uid) == 0 && chdir("/") == 0 &&
                  host_open(&spec, clock_deadline_ms(20000), &jumped, &err) &&
                  host_run_ok(jumped, &command, &arena, &result, &err) && result.output_size > 10;
        if (!ok) {
            print_error("%s; %s\n", err.text, err.hint);
        }
        host_close(jumped);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    do_here("rm -r \"$1/home/.ssh\"", usual.directory, NULL);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_an_unknown_host),
        cmocka_unit_test(refuses_a_changed_key),
        cmocka_unit_test(takes_the_port_for_final),
        cmocka_unit_test(refuses_a_revoked_key),
        cmocka_unit_test(needs_no_more_than_one_key_on_file),
        cmocka_unit_test(tells_of_an_rsa_host_key),
        cmocka_unit_test(knows_names_in_any_letter_case),
        cmocka_unit_test(reaches_ipv6),
        cmocka_unit_test(tells_of_an_rsa_key),
        cmocka_unit_test(refuses_a_key_that_is_not_there),
        cmocka_unit_test(refuses_a_missing_file),
        cmocka_unit_test(refuses_a_key_that_others_can_read),
        cmocka_unit_test(tells_an_encrypted_key_from_a_damaged_one),
        cmocka_unit_test(refuses_an_unknown_user),
        cmocka_unit_test(uses_an_agent),
        cmocka_unit_test(tells_of_an_agent_of_no_use),
        cmocka_unit_test(does_not_wait_for_a_silent_agent),
        cmocka_unit_test(tells_commands_from_noise),
        cmocka_unit_test(takes_any_login_shell),
        cmocka_unit_test(tells_what_a_login_shell_says_that_runs_nothing),
        cmocka_unit_test(tells_that_sudo_is_missing),
        cmocka_unit_test(goes_by_a_jump_host),
    };
    return suite_run(tests, COUNT_OF(tests));
}
