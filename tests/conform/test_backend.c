/*
 * One suite over every entry of `backends`, each on a real server: probe, stop, start, ready,
 * apply and read-back round trip, counters, copies of the data. What one kind of server alone can
 * do stands in a test of its own.
 */
#include "tests/support/backend_subjects.h"

/* ---- probe ---- */

static void probes_facts(void **state)
{
    struct subject *subject = *state;
    subject_probe(subject);
    const struct server_facts *facts = &subject->server.facts;
    assert_true(facts->product != NULL && facts->product[0] != '\0');
    assert_true(facts->version != NULL && facts->version[0] >= '0' && facts->version[0] <= '9');
    assert_non_null(facts->start_method);
    assert_true(facts->identity != NULL && facts->identity[0] != '\0');
    assert_int_equal(facts->config_path != NULL, subject->backend->render != NULL);
}

static void probes_knobs(void **state)
{
    struct subject *subject = *state;
    subject_probe(subject);
    for (size_t i = 0; i < subject->knob_count; i++) {
        assert_string_equal(subject->rows[i]->name, subject->knobs[i].name);
        assert_true(subject->found[i].known);
        assert_false(subject->found[i].pending_restart);
        assert_non_null(subject->found[i].detail);
        assert_true(subject->found[i].value.kind != VALUE_BASELINE &&
                    subject->found[i].value.kind != VALUE_UNSET);
        assert_non_null(subject->found[i].value.asked);
    }
}

static void tells_unknown_knobs(void **state)
{
    struct subject *subject = *state;
    static const struct knob unknown = {.name = "no_such_knob_anywhere",
                                        .type = KNOB_TEXT,
                                        .bare = 1,
                                        .specials = "",
                                        .choices = ""};
    const struct knob *asked[] = {&unknown};
    const struct knob *rows[1] = {0};
    struct reading reading;
    MUST(subject->backend->probe(&subject->server, asked, 1, DEADLINE, &subject->arena, rows,
                                 &reading, &subject->err));
    assert_false(reading.known);
    assert_int_equal(reading.value.kind, VALUE_UNSET);
    assert_non_null(rows[0]);
}

static void probe_changes_nothing(void **state)
{
    struct subject *subject = *state;
    static const char script[] = "if [ -e \"$1\" ]; then sha256sum \"$1\"; stat -c '%Y %s' \"$1\";"
                                 " else echo none; fi";
    subject_probe(subject);
    const struct server_facts *facts = &subject->server.facts;
    const char *path = facts->config_path != NULL ? facts->config_path : facts->data_directory;
    const char *before = subject_says(subject, script, path, "");
    subject_probe(subject);
    assert_string_equal(subject_says(subject, script, path, ""), before);
}

/* ---- stop, start, ready ---- */

static void restarts(void **state)
{
    struct subject *subject = *state;
    char before[128];
    subject_probe(subject);
    snprintf(before, sizeof before, "%s", subject->server.facts.identity);
    subject_restart(subject);
    bool is_same = strcmp(before, subject->server.facts.identity) == 0;
    assert_int_equal(is_same, subject->backend->embedded);
}

static void stops_twice(void **state)
{
    struct subject *subject = *state;
    bool is_ready = true;
    const char *why = NULL;
    subject_probe(subject);
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->ready(&subject->server, clock_deadline_ms(2000), &is_ready, &why,
                                 &subject->err));
    if (!subject->backend->embedded) {
        assert_false(is_ready);
        assert_true(why != NULL && why[0] != '\0');
        assert_string_equal(subject->server.facts.identity, "");
    }
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
}

static void identity_stays_while_it_runs(void **state)
{
    struct subject *subject = *state;
    char before[128];
    subject_ready(subject);
    snprintf(before, sizeof before, "%s", subject->server.facts.identity);
    subject_ready(subject);
    subject_probe(subject);
    assert_string_equal(before, subject->server.facts.identity);
}

/* ---- round trip ---- */

static void make_settings(struct subject *subject, bool second, struct setting *out)
{
    for (size_t i = 0; i < subject->knob_count; i++) {
        out[i].knob = subject->rows[i];
        const char *text = second ? subject->knobs[i].second : subject->knobs[i].first;
        MUST(value_parse(out[i].knob, text, NULL, &subject->arena, &out[i].value, &subject->err));
    }
}

static void set_all(struct subject *subject, enum value_kind kind, struct setting *out)
{
    for (size_t i = 0; i < subject->knob_count; i++) {
        out[i] = (struct setting){
            .knob = subject->rows[i],
            .value = {.kind = kind, .asked = kind == VALUE_UNSET ? "unset" : "baseline"}};
    }
}

static void apply_and_restart(struct subject *subject, const struct setting *settings)
{
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    subject_apply(subject, settings);
    if (subject->backend->precheck != NULL)
        MUST(subject->backend->precheck(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
}

static void read_back(struct subject *subject, const struct setting *settings, struct reading *out)
{
    MUST(subject->backend->read_back(&subject->server, settings, subject->knob_count, DEADLINE,
                                     &subject->arena, out, &subject->err));
}

static void expect_settings(struct subject *subject, const struct setting *settings)
{
    struct reading readings[SUBJECT_KNOB_LIMIT];
    read_back(subject, settings, readings);
    for (size_t i = 0; i < subject->knob_count; i++) {
        const struct knob *knob = settings[i].knob;
        if (!value_equal(knob, &settings[i].value, &readings[i].value)) {
            fail_msg("%s: asked %s, has %s", knob->name,
                     value_display(knob, &settings[i].value, &subject->arena),
                     value_display(knob, &readings[i].value, &subject->arena));
        }
        assert_int_equal(readings[i].source, subject->knobs[i].source);
    }
}

/* Back to what was found, and proven. */
static void restore(struct subject *subject)
{
    struct setting settings[SUBJECT_KNOB_LIMIT];
    struct reading readings[SUBJECT_KNOB_LIMIT];
    set_all(subject, VALUE_BASELINE, settings);
    apply_and_restart(subject, settings);
    read_back(subject, settings, readings);
    for (size_t i = 0; i < subject->knob_count; i++) {
        if (!value_equal(settings[i].knob, &readings[i].value, &subject->found[i].value)) {
            fail_msg("%s was %s and is %s", settings[i].knob->name,
                     value_display(settings[i].knob, &subject->found[i].value, &subject->arena),
                     value_display(settings[i].knob, &readings[i].value, &subject->arena));
        }
        assert_int_equal(readings[i].source, subject->found[i].source);
    }
    if (subject->backend->render != NULL) {
        struct bytes now;
        struct host_file file;
        MUST(host_get(subject->host, subject->server.facts.config_path, DEADLINE, &subject->arena,
                      &now, &file, &subject->err));
        assert_string_equal(file.sha256, subject->config_file.sha256);
        assert_int_equal(file.mode, subject->config_file.mode);
        assert_int_equal(file.uid, subject->config_file.uid);
    }
}

static void values_round_trip(void **state)
{
    struct subject *subject = *state;
    struct setting settings[SUBJECT_KNOB_LIMIT];
    subject_probe(subject);
    subject_keep_config(subject);
    make_settings(subject, false, settings);
    apply_and_restart(subject, settings);
    expect_settings(subject, settings);
    make_settings(subject, true, settings);
    apply_and_restart(subject, settings);
    expect_settings(subject, settings);
    restore(subject);
}

static void unset_is_the_default(void **state)
{
    struct subject *subject = *state;
    struct setting settings[SUBJECT_KNOB_LIMIT];
    struct reading readings[SUBJECT_KNOB_LIMIT];
    subject_probe(subject);
    subject_keep_config(subject);
    make_settings(subject, false, settings);
    apply_and_restart(subject, settings);
    set_all(subject, VALUE_UNSET, settings);
    apply_and_restart(subject, settings);
    read_back(subject, settings, readings);
    for (size_t i = 0; i < subject->knob_count; i++) {
        bool is_default = readings[i].source == SOURCE_DEFAULT ||
                          readings[i].source == SOURCE_AUTO || readings[i].source == SOURCE_DATA;
        assert_true(readings[i].known && is_default);
        struct value first;
        MUST(value_parse(settings[i].knob, subject->knobs[i].first, NULL, &subject->arena, &first,
                         &subject->err));
        assert_false(value_equal(settings[i].knob, &readings[i].value, &first));
    }
    restore(subject);
}

/* ---- what is optional ---- */

static void counts(void **state)
{
    struct subject *subject = *state;
    struct counter *counters = NULL;
    size_t count = 0;
    if (subject->backend->counters == NULL)
        return; /* not this backend's */
    MUST(subject->backend->counters(&subject->server, DEADLINE, &subject->arena, &counters, &count,
                                    &subject->err));
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(counters[i].name);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(counters[i].name, counters[j].name);
    }
}

static void measures_data(void **state)
{
    struct subject *subject = *state;
    int64_t before = -1;
    int64_t after = -1;
    if (subject->backend->data_size == NULL)
        return; /* not this backend's */
    subject_sql(subject, "drop table if exists size_test");
    MUST(subject->backend->data_size(&subject->server, DEADLINE, &before, &subject->err));
    subject_sql(subject,
                "create table size_test as with recursive n(i) as (select 1 union all select i + 1"
                " from n where i < 20000) select i, 'some text to fill a page' as t from n");
    MUST(subject->backend->data_size(&subject->server, DEADLINE, &after, &subject->err));
    assert_true(before >= 0 && after > before);
    subject_sql(subject, "drop table size_test");
}

static void settles_and_warms(void **state)
{
    struct subject *subject = *state;
    if (subject->sessions == NULL)
        return; /* not this backend's */
    subject_sql(subject, "drop table if exists warm_test");
    subject_sql(subject, "create table warm_test as select 1 as i");
    if (subject->backend->settle != NULL)
        MUST(subject->backend->settle(&subject->server, DEADLINE, &subject->err));
    if (subject->backend->prewarm != NULL)
        MUST(subject->backend->prewarm(&subject->server, DEADLINE, &subject->err));
    subject_sql(subject, "drop table warm_test");
}

static void reads_its_log(void **state)
{
    struct subject *subject = *state;
    const char *tail = NULL;
    if (subject->backend->log_tail == NULL)
        return; /* not this backend's */
    subject_probe(subject);
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->log_mark(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->log_tail(&subject->server, DEADLINE, 8192, &subject->arena, &tail,
                                    &subject->err));
    assert_string_equal(tail, "");
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    MUST(subject->backend->log_tail(&subject->server, DEADLINE, 8192, &subject->arena, &tail,
                                    &subject->err));
    assert_true(strlen(tail) > 0 && strlen(tail) <= 8192);
    MUST(subject->backend->log_tail(&subject->server, DEADLINE, 10, &subject->arena, &tail,
                                    &subject->err));
    assert_int_equal(strlen(tail), 10);
}

/* Only replays: the whole interface of a backend that measures by itself is here. */
struct seen {
    size_t warm_up_count;
    size_t window_count;
    size_t limit;
};

static bool see_second(void *context, const struct measured_second *second)
{
    struct seen *seen = context;
    *(second->is_warm_up ? &seen->warm_up_count : &seen->window_count) += 1;
    return seen->window_count < seen->limit;
}

static void measures_by_itself(void **state)
{
    struct subject *subject = *state;
    struct seen seen = {.limit = SIZE_MAX};
    struct measured measured;
    struct measure_spec spec = {.client_count = 2,
                                .warm_up_ms = 10000,
                                .measure_ms = 60000,
                                .context = &seen,
                                .second = see_second};
    assert_int_equal(subject->backend->session == NULL, subject->backend->measure != NULL);
    if (subject->backend->measure == NULL)
        return; /* not this backend's */
    MUST(subject->backend->measure(&subject->server, &spec, &subject->arena, &measured,
                                   &subject->err));
    assert_int_equal(seen.warm_up_count, 10);
    assert_int_equal(seen.window_count, 60);
    assert_int_equal(measured.second_count, 60);
    assert_int_equal(measured.measured_ms, 60000);
    assert_false(measured.is_ended);
    assert_true(measured.value > 0 && measured.latency->count > 0);
    seen = (struct seen){.limit = 20};
    MUST(subject->backend->measure(&subject->server, &spec, &subject->arena, &measured,
                                   &subject->err));
    assert_true(measured.is_ended);
    assert_int_equal(measured.second_count, 20);
    assert_int_equal(measured.measured_ms, 20000);
}

static void admits_what_it_can_be(void **state)
{
    struct subject *subject = *state;
    struct setting settings[SUBJECT_KNOB_LIMIT];
    bool is_admitted = false;
    if (subject->backend->admits == NULL)
        return; /* not this backend's */
    subject_probe(subject);
    make_settings(subject, false, settings);
    MUST(subject->backend->admits(&subject->server, settings, subject->knob_count, &is_admitted,
                                  &subject->err));
    assert_true(is_admitted);
    MUST(subject->backend->admits(&subject->server, settings, 0, &is_admitted, &subject->err));
    assert_true(is_admitted);
}

/* ---- copies ---- */

static const char *beside(struct subject *subject)
{
    return subject_says(subject, "ls -d -- \"$1\".dbsweep* 2>/dev/null || true",
                        subject->server.facts.data_directory, "");
}

static void copies_and_puts_back(void **state)
{
    struct subject *subject = *state;
    const struct backend *backend = subject->backend;
    if (backend->snapshot == NULL)
        return; /* not this backend's */
    subject_probe(subject);
    subject_sql(subject, "drop table if exists copy_test");
    subject_sql(subject, "create table copy_test (i int)");
    subject_sql(subject, "insert into copy_test values (1)");
    MUST(backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(backend->snapshot(&subject->server, DEADLINE, &subject->err));
    for (int round = 0; round < 2; round++) { /* one copy serves many trials */
        MUST(backend->start(&subject->server, DEADLINE, &subject->err));
        subject_ready(subject);
        assert_string_equal(subject_value(subject, "select count(*) from copy_test"), "1");
        subject_sql(subject, "insert into copy_test values (2)");
        MUST(backend->stop(&subject->server, DEADLINE, &subject->err));
        MUST(backend->rollback(&subject->server, DEADLINE, &subject->err));
    }
    MUST(backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    assert_string_equal(subject_value(subject, "select count(*) from copy_test"), "1");
    MUST(backend->snapshot_drop(&subject->server, DEADLINE, &subject->err));
    MUST(backend->snapshot_drop(&subject->server, DEADLINE, &subject->err));
    assert_string_equal(beside(subject), "");
    subject_sql(subject, "drop table copy_test");
}

static void without_a_copy_nothing_is_put_back(void **state)
{
    struct subject *subject = *state;
    const struct backend *backend = subject->backend;
    if (backend->snapshot == NULL)
        return; /* not this backend's */
    subject_probe(subject);
    MUST(backend->snapshot_drop(&subject->server, DEADLINE, &subject->err));
    MUST(backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST_FAIL(backend->rollback(&subject->server, DEADLINE, &subject->err),
              backend->embedded ? ERR_CODE_not_found : ERR_CODE_command_failed);
    MUST(backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    MUST(backend->snapshot_drop(&subject->server, DEADLINE, &subject->err));
    assert_string_equal(beside(subject), "");
}

/* ---- the array ---- */

static void is_found_by_name(void **state)
{
    struct subject *subject = *state;
    char misspelt[64];
    assert_ptr_equal(backend_find(subject->backend->name), subject->backend);
    assert_null(backend_find("no such backend"));
    snprintf(misspelt, sizeof misspelt, "%sx", subject->backend->name);
    assert_string_equal(backend_nearest(misspelt), subject->backend->name);
    size_t count = 0;
    bool has_catalogue = catalogue_knobs(subject->backend->system, &count) != NULL;
    assert_int_equal(has_catalogue, strcmp(subject->backend->name, "replay") != 0);
    assert_int_equal(has_catalogue, count > 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_found_by_name),
        cmocka_unit_test(probes_facts),
        cmocka_unit_test(probes_knobs),
        cmocka_unit_test(tells_unknown_knobs),
        cmocka_unit_test(probe_changes_nothing),
        cmocka_unit_test(restarts),
        cmocka_unit_test(stops_twice),
        cmocka_unit_test(identity_stays_while_it_runs),
        cmocka_unit_test(values_round_trip),
        cmocka_unit_test(unset_is_the_default),
        cmocka_unit_test(counts),
        cmocka_unit_test(measures_data),
        cmocka_unit_test(settles_and_warms),
        cmocka_unit_test(reads_its_log),
        cmocka_unit_test(measures_by_itself),
        cmocka_unit_test(admits_what_it_can_be),
        cmocka_unit_test(copies_and_puts_back),
        cmocka_unit_test(without_a_copy_nothing_is_put_back),
    };
    static struct CMUnitTest listed[SUBJECT_TEST_LIMIT];
    size_t count = subjects_list(NULL, tests, COUNT_OF(tests), listed);
    return _cmocka_run_group_tests("backend", listed, count, subjects_open, subjects_close);
}
