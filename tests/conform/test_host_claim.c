/*
 * What every host promises of files that say something by being there: claimed by one alone,
 * removed once; and what it tells of its machine.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/host_subjects.h"

/* --- claim and remove ------------------------------------------------------------------------- */

static bool claim(struct subject *subject, const char *path, const char *text)
{
    bool created = true;
    MUST(subject->host->driver->claim(subject->host, path, bytes_of(text), soon(), &created,
                                      &subject->err));
    return created;
}

static void claim_creates_once(void **state)
{
    struct subject *subject = *state;
    mode_t before = umask(0);
    bool first = claim(subject, path_in(subject, "lock"), "mine");
    umask(before);
    assert_true(first);
    assert_false(claim(subject, path_in(subject, "lock"), "theirs"));
    assert_holds(subject, path_in(subject, "lock"), bytes_of("mine"));
    assert_string_equal(subject_says(subject, "cd \"$1\"; stat -c '%a %h' lock; ls -A"),
                        "600 1\nlock\n");
    subject_says(subject, "ln -s nowhere \"$1/link\"; mkdir \"$1/directory\"");
    assert_false(claim(subject, path_in(subject, "link"), "x"));
    assert_false(claim(subject, path_in(subject, "directory"), "x"));
    assert_directory_lists(subject, "directory\nlink\nlock\n");
}

static void claim_needs_its_directory(void **state)
{
    struct subject *subject = *state;
    bool created = true;
    assert_false(subject->host->driver->claim(subject->host, path_in(subject, "none/lock"),
                                              bytes_of("x"), soon(), &created, &subject->err));
    assert_false(created);
    assert_int_equal(subject->err.code, ERR_CODE_not_found);
}

/* The child's part: claims every name, exit status 0, and writes one byte for each it got. */
static void race(struct subject *subject, int start, int report, int rounds)
{
    char byte;
    struct host *host = NULL;
    struct err err;
    if (!host_open(&subject->spec, soon(), &host, &err))
        _exit(1);
    if (subject->by_commands)
        host->driver = subject->host->driver;
    if (read(start, &byte, 1) != 0) /* waits for the other end to close */
        _exit(1);
    for (int i = 0; i < rounds; i++) {
        char path[256];
        char text[32];
        bool created = false;
        snprintf(path, sizeof path, "%s/%d", subject->directory, i);
        snprintf(text, sizeof text, "%d", (int)getpid());
        if (!host->driver->claim(host, path, bytes_of(text), soon(), &created, &err)) {
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
        if (created && write(report, &i, sizeof i) != (ssize_t)sizeof i)
            _exit(1);
    }
    _exit(0);
}

static void claim_has_one_winner(void **state)
{
    enum { ROUNDS = 60, RACERS = 2 };
    struct subject *subject = *state;
    int start[2];
    int report[2];
    int rounds = subject->host->is_local && !subject->by_commands ? ROUNDS : 15;
    int winners[ROUNDS] = {0};
    assert_int_equal(pipe(start), 0);
    assert_int_equal(pipe(report), 0);
    pid_t racers[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i] = fork();
        assert_true(racers[i] >= 0);
        if (racers[i] == 0) {
            close(start[1]);
            race(subject, start[0], report[1], rounds);
        }
    }
    close(report[1]);
    close(start[1]);
    for (int name = 0; read(report[0], &name, sizeof name) == (ssize_t)sizeof name;)
        winners[name]++;
    for (int i = 0; i < RACERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(racers[i], &status, 0), racers[i]);
        assert_int_equal(status, 0);
    }
    close(start[0]);
    close(report[0]);
    for (int i = 0; i < rounds; i++)
        assert_int_equal(winners[i], 1);
    assert_string_equal(subject_says(subject, "ls -A \"$1\" | grep -c -v '^[0-9]*$' || :"), "0\n");
}

static void remove_removes(void **state)
{
    struct subject *subject = *state;
    const struct host_driver *driver = subject->host->driver;
    subject_says(subject, "cd \"$1\"; echo x >file; ln -s file link; mkdir directory");
    MUST(driver->remove(subject->host, path_in(subject, "link"), soon(), &subject->err));
    assert_directory_lists(subject, "directory\nfile\n");
    MUST(driver->remove(subject->host, path_in(subject, "file"), soon(), &subject->err));
    MUST(driver->remove(subject->host, path_in(subject, "file"), soon(), &subject->err));
    MUST(driver->remove(subject->host, path_in(subject, "none/none"), soon(), &subject->err));
    assert_false(
        driver->remove(subject->host, path_in(subject, "directory"), soon(), &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_host_file);
    assert_directory_lists(subject, "directory\n");
}

/* --- facts ------------------------------------------------------------------------------------ */

static void facts_are_told(void **state)
{
    struct subject *subject = *state;
    struct host_facts facts;
    MUST(subject->host->driver->facts(subject->host, path_in(subject, "not/there"), soon(),
                                      &subject->arena, &facts, &subject->err));
    assert_true(facts.memory_bytes > 16 * 1024 * 1024);
    assert_true(facts.cpu_count >= 1);
    assert_non_null(facts.cpu_model);
    assert_non_null(facts.virtualisation);
    assert_non_null(facts.governor);
    assert_int_equal(strlen(facts.boot_id), 36);
    const char *kernel = subject_says(subject, "printf '%s' \"$(uname -srm)\"");
    assert_string_equal(facts.kernel, kernel);
    assert_string_equal(facts.name, subject_says(subject, "printf '%s' \"$(uname -n)\""));
    const char *mount = subject_says(
        subject,
        "findmnt -n -o FSTYPE,VFS-OPTIONS,SOURCE --target \"$1\" | tr -s ' ' | tr -d '\\n'");
    const char *told = arena_printf(&subject->arena, "%s %s", facts.filesystem, facts.device);
    assert_string_equal(told, mount);
    MUST(subject->host->driver->facts(subject->host, NULL, soon(), &subject->arena, &facts,
                                      &subject->err));
    assert_string_equal(facts.filesystem, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claim_creates_once),   cmocka_unit_test(claim_needs_its_directory),
        cmocka_unit_test(claim_has_one_winner), cmocka_unit_test(remove_removes),
        cmocka_unit_test(facts_are_told),
    };
    return subjects_run(tests, COUNT_OF(tests), true);
}
