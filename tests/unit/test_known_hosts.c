/*
 * SSH addresses, and host keys on file: the real ssh-keygen finds the lines (its part of the work:
 * hashes, wildcards, negations, ports), ours judges them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/text.h"
#include "sweeper/host/known_hosts.h"

enum { KEYS = 3 };

/* Keys of a host: type, base64 and bytes, made by ssh-keygen once for all tests. */
struct key {
    const char *type;
    const char *text;
    struct bytes blob;
};

static struct arena arena;
static struct host *host;
static struct err err;
static struct key keys[KEYS];
static char folder[64];

static const char *says(const char *const *argv)
{
    struct host_result result;
    const struct host_command command = {.argv = argv, .deadline = clock_deadline_ms(30000)};
    if (!host_run_ok(host, &command, &arena, &result, &err)) {
        fail_msg("%s", err.text);
    }
    return result.output;
}

static void make_key(struct key *key, const char *type, const char *bits, int number)
{
    const char *file = arena_printf(&arena, "%s/key%d", folder, number);
    const char *public = arena_printf(&arena, "%s.pub", file);
    says((const char *const[]){"ssh-keygen", "-q", "-t", type, "-b", bits, "-N", "", "-f", file,
                               NULL});
    const char *line = says((const char *const[]){"cat", public, NULL});
    size_t type_size = strcspn(line, " ");
    size_t text_size = strcspn(line + type_size + 1, " ");
    key->type = arena_strndup(&arena, line, type_size);
    key->text = arena_strndup(&arena, line + type_size + 1, text_size);
    const char *decode[] = {"sh", "-c", "printf %s \"$1\" | base64 -d", "sh", key->text, NULL};
    struct host_result result;
    const struct host_command command = {.argv = decode, .deadline = clock_deadline_ms(30000)};
    assert_true(host_run_ok(host, &command, &arena, &result, &err));
    key->blob = (struct bytes){.data = result.output, .size = result.output_size};
}

static int open_all(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)64 * 1024 * 1024);
    snprintf(folder, sizeof folder, "/tmp/dbsweep-keys.XXXXXX");
    if (mkdtemp(folder) == NULL || !host_open(NULL, clock_deadline_ms(1000), &host, &err)) {
        return -1;
    }
    make_key(&keys[0], "ed25519", "256", 0);
    make_key(&keys[1], "ecdsa", "256", 1);
    make_key(&keys[2], "ed25519", "256", 2);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    says((const char *const[]){"rm", "-rf", folder, NULL});
    host_close(host);
    arena_close(&arena);
    return 0;
}

static int clear(void **state)
{
    (void)state;
    err_clear(&err);
    return 0;
}

/* --- addresses -------------------------------------------------------------------------------- */

static void assert_address(const char *text, const char *user, const char *name, int port)
{
    struct remote_address address;
    if (!remote_address_parse(text, &arena, &address, &err)) {
        fail_msg("%s: %s", text, err.text);
    }
    if (user == NULL) {
        assert_null(address.user);
    } else {
        assert_string_equal(address.user, user);
    }
    assert_string_equal(address.name, name);
    assert_int_equal(address.port, port);
}

static void reads_addresses(void **state)
{
    (void)state;
    assert_address("db1", NULL, "db1", 0);
    assert_address("dba@db1.example:22", "dba", "db1.example", 22);
    assert_address("dba@db1:65535", "dba", "db1", 65535);
    assert_address("db1:2222", NULL, "db1", 2222);
    assert_address("::1", NULL, "::1", 0);
    assert_address("[::1]", NULL, "::1", 0);
    assert_address("root@[2001:db8::1]:2222", "root", "2001:db8::1", 2222);
    assert_address("root@[fe80::1%eth0]", "root", "fe80::1%eth0", 0);
    assert_address("root@2001:db8::1", "root", "2001:db8::1", 0);
    assert_address("first.last@corp@db1", "first.last@corp", "db1", 0);
    assert_address("CORP\\dba@db1", "CORP\\dba", "db1", 0);
    assert_address("DB1.Example", NULL, "DB1.Example", 0);
}

static void refuses_other_addresses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "@",
        "@db1",
        "dba@",
        "dba@:22",
        "db1:",
        "db1:0",
        "db1:65536",
        "db1:022",
        "db1:+22",
        "db1: 22",
        "db1:22x",
        "db1:99999999999999999999",
        "-oProxyCommand=x",
        "dba@-x",
        "-l@db1",
        "db 1",
        "db1;id",
        "db1\n",
        "db1/x",
        "$(id)@db1",
        "[::1",
        "[::1]x",
        "[]:22",
        "[::1]:",
        "db*",
        "db1,db2",
        "dba@db\xc3\xbc",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct remote_address address;
        err_clear(&err);
        if (remote_address_parse(texts[i], &arena, &address, &err)) {
            fail_msg("'%s' was taken for user %s, name %s, port %d", texts[i],
                     address.user != NULL ? address.user : "-", address.name, address.port);
        }
        assert_int_equal(err.class, ERR_PLAN);
        assert_true(err.hint[0] != '\0');
    }
}

/* --- judging lines ---------------------------------------------------------------------------- */

static bool judge_text(const char *text, const struct key *shown)
{
    static struct known_hosts known;
    known = (struct known_hosts){.name = "db1", .file = "known_hosts"};
    err_clear(&err);
    return known_hosts_parse(text, &arena, &known, &err) &&
           known_hosts_judge(&known, shown->blob, &arena, &err);
}

/* A line with the place of a key in it: %s type, %s base64. */
static const char *line_of(const char *form, const struct key *key)
{
    const char *at = strstr(form, "KEY");
    assert_non_null(at);
    const char *line =
        arena_printf(&arena, "%.*s%s %s%s", (int)(at - form), form, key->type, key->text, at + 3);
    assert_non_null(line);
    return line;
}

static void takes_the_key_on_file(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "db1 KEY\n",
        "db1 KEY",
        "db1 KEY comment of words\n",
        "# Host db1 found: line 1\ndb1 KEY\n",
        "db1,10.0.0.1 KEY\r\n",
        "\n\n  db1 \t KEY\n\n",
        "|1|JfKTdBh7rNbXkVAQCRp4OQoPfmI=|USECr3SWf1JUPsms5AqfD5QfxkM= KEY\n",
        "db1\n@unknown db1 x\ndb1 ssh-ed25519\ndb1 KEY\n",
        "@cert-authority *.example ssh-ed25519 AAAA\ndb1 KEY\n",
        "@revoked db1 ssh-ed25519 AAAA\ndb1 KEY\n",
    };
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        for (size_t j = 0; j < KEYS; j++) {
            if (!judge_text(line_of(forms[i], &keys[j]), &keys[j])) {
                fail_msg("%s: %s", forms[i], err.text);
            }
        }
    }
}

static void refuses_any_other_key(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "db1 KEY\n",          "@cert-authority db1 KEY\n",
        "@revoked db1 KEY\n", "@unknown db1 KEY\n",
        "#db1 KEY\n",         "KEY\n",
    };
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        assert_false(judge_text(line_of(forms[i], &keys[0]), &keys[2]));
        assert_int_equal(err.code, ERR_CODE_host_key);
        assert_int_equal(err.class, ERR_PLAN);
        assert_non_null(strstr(err.text, "ssh-ed25519 key SHA256:"));
        assert_non_null(strstr(err.hint, "ssh-keygen -R 'db1'"));
        if (i > 0) {
            assert_false(judge_text(line_of(forms[i], &keys[0]), &keys[0]));
        }
    }
    assert_false(judge_text("", &keys[0]));
}

static void refuses_a_revoked_key(void **state)
{
    (void)state;
    const char *revoked = line_of("@revoked * KEY\n", &keys[0]);
    const char *plain = line_of("db1 KEY\n", &keys[0]);
    const char *const texts[] = {arena_printf(&arena, "%s%s", revoked, plain),
                                 arena_printf(&arena, "%s%s", plain, revoked), revoked};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_false(judge_text(texts[i], &keys[0]));
        assert_int_equal(err.code, ERR_CODE_host_key);
        assert_non_null(strstr(err.text, "@revoked"));
        assert_null(strstr(err.hint, "ssh-keyscan"));
    }
    const char *both = arena_printf(&arena, "%s%s", revoked, line_of("db1 KEY\n", &keys[1]));
    assert_true(judge_text(both, &keys[1]));
}

static void shows_the_fingerprint_that_ssh_shows(void **state)
{
    (void)state;
    const char *file = arena_printf(&arena, "%s/key2.pub", folder);
    const char *said = says((const char *const[]){"ssh-keygen", "-l", "-f", file, NULL});
    const char *print = strstr(said, "SHA256:");
    assert_non_null(print);
    assert_false(judge_text(line_of("db1 KEY\n", &keys[0]), &keys[2]));
    const char *wanted = arena_strndup(&arena, print, strcspn(print, " "));
    assert_non_null(strstr(err.text, wanted));
}

static void refuses_a_key_of_no_form(void **state)
{
    (void)state;
    static const struct bytes blobs[] = {
        {.data = "", .size = 0},
        {.data = "\0\0\0", .size = 3},
        {.data = "\0\0\0\x0bssh-ed2551", .size = 14},
        {.data = "\xff\xff\xff\xffssh-ed25519", .size = 15},
        {.data = "\0\0\0\x50" /* longer than any type */
                 "01234567890123456789012345678901234567890123456789012345678901234567890123456789",
         .size = 84},
    };
    for (size_t i = 0; i < COUNT_OF(blobs); i++) {
        const struct key shown = {.blob = blobs[i]};
        assert_false(judge_text(line_of("db1 KEY\n", &keys[0]), &shown));
        assert_int_equal(err.code, ERR_CODE_host_key);
    }
}

static void refuses_more_lines_than_it_holds(void **state)
{
    (void)state;
    struct text text;
    text_open(&text, &arena);
    for (int i = 0; i <= KNOWN_KEY_LIMIT; i++) {
        text_add(&text, line_of("db1 KEY\n", &keys[0]));
    }
    assert_false(judge_text(text_done(&text), &keys[0]));
    assert_int_equal(err.code, ERR_CODE_host_key);
    assert_non_null(strstr(err.text, "more than"));
}

/* --- files, through ssh-keygen ---------------------------------------------------------------- */

static const char *write_file(const char *content)
{
    static int number;
    const char *path = arena_printf(&arena, "%s/known%d", folder, number++);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static bool judge_file(const char *path, const char *ssh, const struct key *shown)
{
    struct remote_address address;
    static struct known_hosts known;
    err_clear(&err);
    return remote_address_parse(ssh, &arena, &address, &err) &&
           known_hosts_find(&address, path, clock_deadline_ms(10000), &arena, &known, &err) &&
           known_hosts_judge(&known, shown->blob, &arena, &err);
}

static void finds_names_as_ssh_does(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        const char *ssh;
        bool is_found;
    } cases[] = {
        {"db1 KEY\n", "db1", true},
        {"db1 KEY\n", "dba@db1:22", true},
        {"db1 KEY\n", "DB1", true},
        {"DB1 KEY\n", "db1", true},
        {"db1 KEY\n", "db10", false},
        {"db1 KEY\n", "db1:2222", false},
        {"[db1]:2222 KEY\n", "db1:2222", true},
        {"[db1]:2222 KEY\n", "DB1:2222", true},
        {"[db1]:2222 KEY\n", "db1", false},
        {"[db1]:2222 KEY\n", "db1:2223", false},
        {"db0,db1,db2 KEY\n", "db1", true},
        {"*.example KEY\n", "db1.example", true},
        {"*.example KEY\n", "example", false},
        {"db? KEY\n", "db1", true},
        {"*.example,!db1.example KEY\n", "db1.example", false},
        {"*.example,!db1.example KEY\n", "db2.example", true},
        {"::1 KEY\n", "::1", true},
        {"[::1]:2222 KEY\n", "[::1]:2222", true},
        {"# db1 KEY\n", "db1", false},
        {"a line of no sense\n\ndb1 short\n%%%\ndb1 KEY\n", "db1", true},
        {"db1 KEY\r\n", "db1", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *path = write_file(line_of(cases[i].form, &keys[0]));
        if (judge_file(path, cases[i].ssh, &keys[0]) != cases[i].is_found) {
            fail_msg("%s for %s: %s", cases[i].form, cases[i].ssh, err.text);
        }
        if (!cases[i].is_found) {
            assert_int_equal(err.code, ERR_CODE_host_key);
            assert_non_null(strstr(err.text, "is not on file in"));
            assert_non_null(strstr(err.hint, "ssh-keyscan -p 2"));
        }
    }
}

static void finds_hashed_names(void **state)
{
    (void)state;
    const char *content = arena_printf(&arena, "%s%s", line_of("db1.example KEY\n", &keys[0]),
                                       line_of("[db1.example]:2222 KEY\n", &keys[1]));
    const char *path = write_file(content);
    says((const char *const[]){"ssh-keygen", "-q", "-H", "-f", path, NULL});
    assert_null(strstr(says((const char *const[]){"cat", path, NULL}), "db1"));
    assert_true(judge_file(path, "db1.example", &keys[0]));
    assert_true(judge_file(path, "Db1.Example", &keys[0]));
    assert_true(judge_file(path, "db1.example:2222", &keys[1]));
    assert_true(judge_file(path, "DB1.example:2222", &keys[1]));
    assert_false(judge_file(path, "db1.example:2222", &keys[0]));
    assert_false(judge_file(path, "db2.example", &keys[0]));
}

/* What stands for the port is final, whatever stands for the bare name. */
static void takes_the_port_for_final(void **state)
{
    (void)state;
    const char *path = write_file(arena_printf(
        &arena, "%s%s", line_of("[db1]:2222 KEY\n", &keys[2]), line_of("db1 KEY\n", &keys[0])));
    assert_false(judge_file(path, "db1:2222", &keys[0]));
    assert_true(judge_file(path, "db1:2222", &keys[2]));
    assert_true(judge_file(path, "db1", &keys[0]));
}

static void takes_each_of_several_types(void **state)
{
    (void)state;
    const char *path = write_file(arena_printf(&arena, "%s%s", line_of("db1 KEY\n", &keys[0]),
                                               line_of("db1 KEY\n", &keys[1])));
    assert_true(judge_file(path, "db1", &keys[0]));
    assert_true(judge_file(path, "db1", &keys[1]));
    assert_false(judge_file(path, "db1", &keys[2]));
    assert_non_null(strstr(err.text, "is not the one on file"));
}

static void finds_revoked_keys_in_files(void **state)
{
    (void)state;
    const char *path = write_file(arena_printf(&arena, "%s%s", line_of("db1 KEY\n", &keys[0]),
                                               line_of("@revoked * KEY\n", &keys[0])));
    assert_false(judge_file(path, "db1", &keys[0]));
    assert_non_null(strstr(err.text, "@revoked"));
}

static void says_that_a_file_is_missing(void **state)
{
    (void)state;
    const char *path = arena_printf(&arena, "%s/nothing", folder);
    assert_false(judge_file(path, "db1", &keys[0]));
    assert_int_equal(err.code, ERR_CODE_host_key);
    assert_non_null(strstr(err.text, "cannot be read: No such file or directory"));
    assert_false(judge_file(folder, "db1", &keys[0])); /* a folder */
    assert_int_equal(err.code, ERR_CODE_host_key);
    assert_false(judge_file("/dev/null", "db1", &keys[0]));
    assert_int_equal(err.code, ERR_CODE_host_key);
    if (geteuid() != 0) {
        path = write_file(line_of("db1 KEY\n", &keys[0]));
        assert_int_equal(chmod(path, 0), 0);
        assert_false(judge_file(path, "db1", &keys[0]));
        assert_non_null(strstr(err.text, "Permission denied"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reads_addresses, clear),
        cmocka_unit_test_setup(refuses_other_addresses, clear),
        cmocka_unit_test_setup(takes_the_key_on_file, clear),
        cmocka_unit_test_setup(refuses_any_other_key, clear),
        cmocka_unit_test_setup(refuses_a_revoked_key, clear),
        cmocka_unit_test_setup(shows_the_fingerprint_that_ssh_shows, clear),
        cmocka_unit_test_setup(refuses_a_key_of_no_form, clear),
        cmocka_unit_test_setup(refuses_more_lines_than_it_holds, clear),
        cmocka_unit_test_setup(finds_names_as_ssh_does, clear),
        cmocka_unit_test_setup(finds_hashed_names, clear),
        cmocka_unit_test_setup(takes_the_port_for_final, clear),
        cmocka_unit_test_setup(takes_each_of_several_types, clear),
        cmocka_unit_test_setup(finds_revoked_keys_in_files, clear),
        cmocka_unit_test_setup(says_that_a_file_is_missing, clear),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
