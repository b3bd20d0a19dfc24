/*
 * Every setting of the server, whatever its type and unit: its present value as we write it is no
 * change to the server, and the ends of its range, as we write them, are in its range.
 */
#include "tests/support/postgresql_subject.h"

enum { SETTING_LIMIT = 1024 };

struct all {
    const struct knob *asked[SETTING_LIMIT];
    const struct knob *knobs[SETTING_LIMIT];
    struct reading found[SETTING_LIMIT];
    struct setting settings[SETTING_LIMIT];
    size_t count;
};

/* What SQL names, one to a line. */
static void probe_all(struct subject *subject, const char *sql, struct all *all)
{
    size_t known_count = 0;
    const struct knob *known = catalogue_knobs("postgresql", &known_count);
    all->count = 0;
    for (const char *at = subject_value(subject, sql); *at != '\0' && all->count < SETTING_LIMIT;) {
        size_t size = strcspn(at, "\n");
        const char *name = arena_strndup(&subject->arena, at, size);
        const struct knob *row = knob_find(known, known_count, name);
        struct knob *made = ARENA_NEW(&subject->arena, struct knob);
        assert_non_null(made);
        *made = (struct knob){
            .name = name, .type = KNOB_TEXT, .bare = 1, .specials = "", .choices = ""};
        all->asked[all->count++] = row != NULL ? row : made;
        at += size + (at[size] == '\n');
    }
    MUST(subject->backend->probe(&subject->server, all->asked, all->count, DEADLINE,
                                 &subject->arena, all->knobs, all->found, &subject->err));
}

/* Renders them over the file and tells what the server says of it. */
static const char *complaints(struct subject *subject, const struct all *all)
{
    struct bytes rendered;
    MUST(subject->backend->render(&subject->server, subject->config, all->settings, all->count,
                                  &subject->arena, &rendered, &subject->err));
    put(subject, rendered);
    return subject_value(subject, "select coalesce(string_agg(concat_ws(' ', sourceline, name, '=',"
                                  " setting, error), e'\\n'), '') from pg_file_settings"
                                  " where error is not null");
}

/* Not what may not stand in a file, nor what this very connection sets, nor external_pid_file, of
 * which the server tells nothing and '' apart. */
static const char every_setting[] =
    "select string_agg(name, e'\\n' order by name) from pg_settings where context <> 'internal'"
    " and name !~ '^transaction_' and source not in ('client', 'session', 'override')"
    " and name not in ('config_file', 'session_authorization', 'role', 'seed', "
    "'external_pid_file')";

static void what_is_there_is_no_change(void **state)
{
    struct subject *subject = *state;
    static struct all all;
    static struct reading now[SETTING_LIMIT];
    begin(subject);
    probe_all(subject, every_setting, &all);
    assert_true(all.count > 250);
    for (size_t i = 0; i < all.count; i++)
        all.settings[i] = (struct setting){.knob = all.knobs[i], .value = all.found[i].value};
    assert_string_equal(complaints(subject, &all), "");
    reload(subject);
    MUST(subject->backend->read_back(&subject->server, all.settings, all.count, DEADLINE,
                                     &subject->arena, now, &subject->err));
    for (size_t i = 0; i < all.count; i++) {
        if (!value_equal(all.knobs[i], &now[i].value, &all.found[i].value) ||
            now[i].pending_restart)
            fail_msg("%s changed", all.knobs[i]->name);
    }
    put(subject, subject->config);
    reload(subject);
}

/* One end of every range. max_stack_depth has another, the kernel's. */
static void try_ends(struct subject *subject, const char *column)
{
    static struct all all;
    begin(subject);
    const char *sql =
        arena_printf(&subject->arena,
                     "select string_agg(name, e'\\n' order by name) from pg_settings"
                     " where context in ('sighup', 'user', 'superuser')"
                     " and %s is not null and vartype in ('integer', 'real')"
                     " and name !~ '^transaction_' and name not in ('seed', 'max_stack_depth')",
                     column);
    probe_all(subject, sql, &all);
    assert_true(all.count > 80);
    for (size_t i = 0; i < all.count; i++) {
        const char *text = subject_value(
            subject, arena_printf(&subject->arena, "select %s from pg_settings where name = '%s'",
                                  column, all.knobs[i]->name));
        all.settings[i] = (struct setting){.knob = all.knobs[i]};
        if (!value_parse(all.knobs[i], text, NULL, &subject->arena, &all.settings[i].value,
                         &subject->err)) {
            /* Our row knows better than to allow the very end. */
            print_message("# %s: %s\n", all.knobs[i]->name, subject->err.text);
            err_clear(&subject->err);
            all.settings[i].value = (struct value){.kind = VALUE_BASELINE};
        }
    }
    assert_string_equal(complaints(subject, &all), "");
    put(subject, subject->config);
}

static void the_lowest_is_in_range(void **state)
{
    try_ends(*state, "min_val");
}

static void the_highest_is_in_range(void **state)
{
    try_ends(*state, "max_val");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_there_is_no_change, clean_up),
        cmocka_unit_test_teardown(the_lowest_is_in_range, clean_up),
        cmocka_unit_test_teardown(the_highest_is_in_range, clean_up),
    };
    static struct CMUnitTest listed[SUBJECT_TEST_LIMIT];
    size_t count = subjects_list("postgresql", tests, COUNT_OF(tests), listed);
    return _cmocka_run_group_tests("postgresql values", listed, count, subjects_open,
                                   subjects_close);
}
