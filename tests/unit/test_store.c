/*
 * The store as its users call it: sweeps, baselines and points that go in come out the same, read
 * back through the public functions and through a second connection.
 */
#include "tests/support/store_subject.h"

static void every_statement_prepares(void **state)
{
    (void)state;
    for (int id = 0; id < SQL_COUNT; id++) {
        sqlite3_stmt *statement = NULL;
        const char *rest = "";
        const char *text = sql_text_of((enum sql_id)id);
        if (sqlite3_prepare_v2(store->database, text, -1, &statement, &rest) != SQLITE_OK)
            fail_msg("%s: %s", text, sqlite3_errmsg(store->database));
        assert_string_equal(rest, "");
        assert_non_null(statement);
        sqlite3_finalize(statement);
    }
}

static void views_for_people_can_be_read(void **state)
{
    (void)state;
    struct example at = begin_example();
    const struct store_metric metric = {"throughput_per_s", 125.5, "higher"};
    const struct store_result result = {.metrics = &metric, .metric_count = 1};
    must(store_trial_result(store, at.trial_id, &result, &err));
    must(store_trial_end(store, at.trial_id, "done", NULL, NULL, NULL, NULL, &err));
    assert_stored("SELECT point, condition, place, mean FROM best",
                  "shared_buffers=1GB|clients=8|1|125.5");
    assert_stored("SELECT trials, min, max, metric FROM points", "1|125.5|125.5|throughput_per_s");
    assert_stored("SELECT sweep, status, metric, value FROM trials_flat",
                  "nightly|done|throughput_per_s|125.5");
    assert_stored("SELECT count(*) FROM failures", "0");
}

/* ---- sweeps ---- */

static void assert_same_sweep(const struct store_sweep *is, const struct store_sweep *was)
{
    assert_string_equal(is->name, was->name);
    assert_string_equal(is->file_text, was->file_text);
    assert_string_equal(is->plan_hash, was->plan_hash);
    assert_string_equal(is->plan_text, was->plan_text);
    assert_string_equal(is->backend, was->backend);
    assert_string_equal(is->product, was->product);
    assert_string_equal(is->version, was->version);
    assert_string_equal(is->target_label, was->target_label);
    assert_string_equal(is->data_directory, was->data_directory);
    assert_string_equal(is->log_path, was->log_path);
    assert_string_equal(is->facts_json, was->facts_json);
    assert_string_equal(is->labels_json, was->labels_json);
    assert_string_equal(is->workload_json, was->workload_json);
    assert_string_equal(is->rank_by, was->rank_by);
    assert_string_equal(is->rank_better, was->rank_better);
    assert_string_equal(is->rank_under, was->rank_under);
    assert_string_equal(is->rank_durability, was->rank_durability);
    assert_string_equal(is->rank_across, was->rank_across);
    assert_true(is->rank_confidence == was->rank_confidence);
    assert_int_equal(is->planned_trials, was->planned_trials);
}

static void a_sweep_comes_back(void **state)
{
    (void)state;
    struct store_sweep was = example_sweep();
    struct store_sweep is;
    int64_t first = 0;
    int64_t second = 0;
    was.rank_confidence = 0.1 + 0.2;
    must(store_sweep_begin(store, &was, &first, &err));
    must(store_sweep_get(store, first, &arena, &is, &err));
    assert_int_equal(is.sweep_id, first);
    assert_same_sweep(&is, &was);
    was.name = "second";
    must(store_sweep_begin(store, &was, &second, &err));
    must(store_sweep_latest(store, &arena, &is, &err));
    assert_int_equal(is.sweep_id, second);
    assert_same_sweep(&is, &was);
    assert_stored("SELECT position, name, kind, type, unit, apply, durability, sentence FROM swept "
                  "WHERE sweep_id = 1 ORDER BY position",
                  "0|shared_buffers|knob|size|bytes|restart||memory for pages\n"
                  "1|fsync|knob|boolean||reload|on off|flushes at commit\n"
                  "2|clients|workload|integer||session||");
}

static void what_a_sweep_does_not_know_is_empty(void **state)
{
    (void)state;
    struct store_sweep was = {.name = "n",
                              .file_text = "",
                              .plan_hash = "",
                              .plan_text = "",
                              .backend = "sqlite",
                              .rank_by = "tps",
                              .rank_better = "lower",
                              .rank_durability = "any",
                              .rank_across = "geomean"};
    struct store_sweep is;
    int64_t id = 0;
    must(store_sweep_begin(store, &was, &id, &err));
    must(store_sweep_latest(store, &arena, &is, &err));
    const char *empty[] = {is.product,        is.version,    is.target_label,
                           is.data_directory, is.log_path,   is.facts_json,
                           is.labels_json,    is.rank_under, is.workload_json};
    for (size_t i = 0; i < COUNT_OF(empty); i++)
        assert_string_equal(empty[i], "");
    assert_int_equal(is.planned_trials, 0);
}

static void a_changed_sweep_keeps_its_settings_and_adds_some(void **state)
{
    (void)state;
    struct store_swept more[] = {example_swept[2], example_swept[0], {0}};
    struct example at = begin_example();
    struct store_sweep was = example_sweep();
    struct store_sweep is;
    more[2] = (struct store_swept){
        .name = "work_mem", .kind = "knob", .type = "size", .unit = "bytes", .apply = "reload"};
    was.sweep_id = at.sweep_id;
    was.file_text = "changed";
    was.version = "15.7";
    was.rank_by = "p99_ms";
    was.rank_better = "lower";
    was.planned_trials = 99;
    was.swept = more;
    was.swept_count = COUNT_OF(more);
    must(store_sweep_update(store, &was, &err));
    must(store_sweep_latest(store, &arena, &is, &err));
    assert_same_sweep(&is, &was);
    assert_stored("SELECT name, position FROM swept ORDER BY name",
                  "clients|0\nfsync|1\nshared_buffers|1\nwork_mem|2");
}

static void a_call_ends_with_its_reason(void **state)
{
    (void)state;
    struct example at = begin_example();
    struct err why;
    int64_t second = 0;
    err_clear(&why);
    err_set(&why, ERR_CODE_host, "db1 does not answer");
    assert_stored("SELECT status, reason, ended_us FROM call", "running|NULL|NULL");
    must(store_call_end(store, at.call_id, "failed", &why, &err));
    must(store_call_begin(store, at.sweep_id, &second, &err));
    must(store_call_end(store, second, "done", NULL, &err));
    assert_stored("SELECT call_id, status, reason, begun_us <= ended_us FROM call",
                  "1|failed|db1 does not answer|1\n2|done|NULL|1");
    assert_string_equal(ask("SELECT pid FROM call WHERE call_id = 1"),
                        arena_printf(&arena, "%d", (int)getpid()));
}

/* ---- the baseline ---- */

enum { MANY_FILES = 40, MANY_VALUES = 5000, EVERY_BYTE = 256 };

static struct bytes every_byte(size_t turns)
{
    char *data = arena_alloc(&arena, turns * EVERY_BYTE);
    assert_non_null(data);
    for (size_t i = 0; i < turns * EVERY_BYTE; i++)
        data[i] = (char)(i % EVERY_BYTE);
    return (struct bytes){.data = data, .size = turns * EVERY_BYTE};
}

static void a_baseline_comes_back_byte_for_byte(void **state)
{
    (void)state;
    struct example at = begin_example();
    struct store_baseline_file *files = NULL;
    struct store_baseline_value *values = NULL;
    size_t file_count = 0;
    size_t value_count = 0;
    const struct bytes content[] = {every_byte(1), {.data = "", .size = 0}, every_byte(8192)};
    const struct store_baseline_file put[] = {
        {"/a\xff.conf", 0640, 26, 4294967294u, "system_u:object_r:t:s0", "aa", content[0]},
        {"/b.conf", 0600, 0, 0, NULL, "bb", content[1]},
        {"/c.conf", 07777, 1, 2, "", "cc", content[2]}};
    const struct store_baseline_value value = {"fsync", "on", "on", "file", "/a.conf:12"};
    const struct store_baseline_value unset = {"work_mem", "unset", "", NULL, NULL};
    const struct store_baseline_value both[] = {value, unset};
    must(store_baseline_put(store, at.sweep_id, put, COUNT_OF(put), both, COUNT_OF(both), &err));
    must(store_baseline_get(store, at.sweep_id, &arena, &files, &file_count, &values, &value_count,
                            &err));
    assert_int_equal(file_count, COUNT_OF(put));
    for (size_t i = 0; i < file_count; i++) {
        assert_string_equal(files[i].path, put[i].path);
        assert_int_equal(files[i].mode, put[i].mode);
        assert_int_equal(files[i].uid, put[i].uid);
        assert_int_equal(files[i].gid, put[i].gid);
        assert_string_equal(files[i].selinux, put[i].selinux != NULL ? put[i].selinux : "");
        assert_string_equal(files[i].sha256, put[i].sha256);
        assert_int_equal(files[i].content.size, put[i].content.size);
        assert_memory_equal(files[i].content.data, put[i].content.data, put[i].content.size);
    }
    assert_int_equal(value_count, 2);
    assert_string_equal(values[0].detail, "/a.conf:12");
    assert_string_equal(values[0].source, "file");
    assert_string_equal(values[1].canonical, "unset");
    assert_string_equal(values[1].source, "");
}

/* A file that were left out would never be restored. */
static void nothing_of_a_large_baseline_is_left_out(void **state)
{
    (void)state;
    struct example at = begin_example();
    struct store_baseline_file files[MANY_FILES];
    struct store_baseline_value *values =
        ARENA_ARRAY(&arena, struct store_baseline_value, MANY_VALUES);
    struct store_baseline_file *got = NULL;
    struct store_baseline_value *got_values = NULL;
    size_t file_count = 0;
    size_t value_count = 0;
    for (int i = 0; i < MANY_FILES; i++)
        files[i] = (struct store_baseline_file){.path = arena_printf(&arena, "/conf.d/%02d", i),
                                                .sha256 = "",
                                                .content = every_byte((size_t)i)};
    for (int i = 0; i < MANY_VALUES; i++)
        values[i] = (struct store_baseline_value){
            .name = arena_printf(&arena, "knob%04d", i), .canonical = "1", .display = "1"};
    must(store_baseline_put(store, at.sweep_id, files, MANY_FILES, values, MANY_VALUES, &err));
    must(store_baseline_get(store, at.sweep_id, &arena, &got, &file_count, &got_values,
                            &value_count, &err));
    assert_int_equal(file_count, MANY_FILES);
    assert_int_equal(value_count, MANY_VALUES);
    assert_int_equal(got[MANY_FILES - 1].content.size, (MANY_FILES - 1) * EVERY_BYTE);
    assert_string_equal(got_values[MANY_VALUES - 1].name, "knob4999");
    must(store_baseline_get(store, 77, &arena, &got, &file_count, &got_values, &value_count, &err));
    assert_int_equal(file_count + value_count, 0);
}

/* Memory may end anywhere in a reading; no statement is left open then. */
static void a_reading_without_memory_leaves_nothing_open(void **state)
{
    (void)state;
    struct example at = begin_example();
    const struct store_baseline_file file = {.path = "/a", .sha256 = "", .content = every_byte(9)};
    const struct store_baseline_value value = {"a", "1", "1", "file", "x"};
    struct store_baseline_file *files = NULL;
    struct store_baseline_value *values = NULL;
    struct store_history *history = NULL;
    struct store_sweep sweep;
    size_t counts[2];
    int failed = 0;
    must(store_baseline_put(store, at.sweep_id, &file, 1, &value, 1, &err));
    for (size_t limit = 1; limit < 65536; limit += 40) {
        struct arena small;
        arena_open(&small, limit);
        failed += store_sweep_latest(store, &small, &sweep, &err) ? 0 : 1;
        arena_reset(&small);
        failed += store_history_load(store, at.sweep_id, &small, &history, counts, &err) ? 0 : 1;
        arena_reset(&small);
        failed += store_baseline_get(store, at.sweep_id, &small, &files, counts, &values,
                                     counts + 1, &err)
                      ? 0
                      : 1;
        arena_close(&small);
        assert_idle();
    }
    assert_true(failed > 10);
    assert_int_equal(err.code, ERR_CODE_memory);
}

static void intents_are_known_by_path_and_hash(void **state)
{
    (void)state;
    struct example at = begin_example();
    bool known = true;
    must(store_intent_known(store, at.sweep_id, "/a", "11", &known, &err));
    assert_false(known);
    must(store_intent_add(store, at.sweep_id, "/a", "11", &err));
    must(store_intent_add(store, at.sweep_id, "/a", "11", &err));
    must(store_intent_known(store, at.sweep_id, "/a", "11", &known, &err));
    assert_true(known);
    must(store_intent_known(store, at.sweep_id, "/a", "22", &known, &err));
    assert_false(known);
    must(store_intent_known(store, at.sweep_id, "/b", "11", &known, &err));
    assert_false(known);
    assert_stored("SELECT count(*) FROM intent", "1");
}

static void a_target_is_touched_until_it_is_said_not_to_be(void **state)
{
    (void)state;
    struct example at = begin_example();
    bool touched = true;
    must(store_touched_get(store, at.sweep_id, &touched, &err));
    assert_false(touched);
    must(store_touched_set(store, at.sweep_id, true, &err));
    must(store_touched_get(store, at.sweep_id, &touched, &err));
    assert_true(touched);
    assert_stored("SELECT touched FROM sweep", "1");
    must(store_touched_set(store, at.sweep_id, false, &err));
    must(store_touched_get(store, at.sweep_id, &touched, &err));
    assert_false(touched);
}

/* ---- points ---- */

static void points_and_conditions_are_found_by_key(void **state)
{
    (void)state;
    struct example at = begin_example();
    int64_t id = 0;
    const struct store_value value = {.name = "random_page_cost",
                                      .asked = "1.1",
                                      .canonical = "1.1",
                                      .display = "1.1",
                                      .has_number = true,
                                      .number = 1.1};
    must(
        store_point_put(store, at.sweep_id, "shared_buffers=1GB", false, true, NULL, 0, &id, &err));
    assert_int_equal(id, at.point_id);
    must(store_condition_put(store, at.sweep_id, "clients=8", NULL, 0, &id, &err));
    assert_int_equal(id, at.condition_id);
    must(store_point_put(store, at.sweep_id, "base", true, false, &value, 1, &id, &err));
    assert_int_not_equal(id, at.point_id);
    assert_stored("SELECT key, is_baseline, is_durable FROM point ORDER BY point_id",
                  "shared_buffers=1GB|0|1\nbase|1|0");
    assert_stored("SELECT name, asked, canonical, display, number FROM point_value "
                  "ORDER BY point_id, name",
                  "fsync||on|on|NULL\nshared_buffers|1GB|1073741824|1GB|1073741824\n"
                  "random_page_cost|1.1|1.1|1.1|1.1000000000000001");
    assert_stored("SELECT key, name, asked, number FROM condition JOIN condition_value USING "
                  "(condition_id)",
                  "clients=8|clients|8|8");
}

static void pruned_cells_are_replaced(void **state)
{
    (void)state;
    struct example at = begin_example();
    const struct store_pruned first[] = {{"a=1", "c=1", "rule"}, {"a=2", "", "memory guard: 9GB"}};
    const struct store_pruned second[] = {{"a=3", "c=3", "other"}};
    must(store_pruned_put(store, at.sweep_id, first, 2, &err));
    assert_stored("SELECT count(*) FROM pruned", "2");
    must(store_pruned_put(store, at.sweep_id, second, 1, &err));
    assert_stored("SELECT point_display, condition_display, reason FROM pruned", "a=3|c=3|other");
    must(store_pruned_put(store, at.sweep_id, NULL, 0, &err));
    assert_stored("SELECT count(*) FROM pruned", "0");
}

/* ---- opening, and what is missing ---- */

/* A change of a row that is not there is a loss, not a success. */
static void what_is_not_there_cannot_be_changed(void **state)
{
    (void)state;
    struct example at = begin_example();
    struct store_sweep sweep = example_sweep();
    const struct store_result result = {0};
    bool touched = false;
    int64_t id = 0;
    sweep.sweep_id = 77;
    must_fail(store_sweep_update(store, &sweep, &err), store);
    must_fail(store_call_end(store, 77, "done", NULL, &err), store);
    must_fail(store_touched_set(store, 77, true, &err), store);
    must_fail(store_trial_result(store, 77, &result, &err), store);
    must_fail(store_trial_end(store, 77, "done", NULL, NULL, NULL, NULL, &err), store);
    must_fail(store_stage_begin(store, 77, "apply", &err), store);
    assert_int_equal(err.native, SQLITE_CONSTRAINT_FOREIGNKEY);
    must_fail(store_stage_end(store, at.trial_id, "done", &err), store);
    assert_non_null(strstr(err.text, "holds no stage under way in trial 1"));
    must_fail(store_call_begin(store, 77, &id, &err), store);
    must_fail(store_touched_get(store, 77, &touched, &err), not_found);
    must_fail(store_sweep_get(store, 77, &arena, &sweep, &err), not_found);
    assert_idle();
}

static void a_new_store_is_its_owners_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"s.db", "s.db-wal", "s.db-shm", "s.db-lock"};
    struct store_sweep sweep;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct stat file;
        assert_int_equal(stat(in_folder(names[i]), &file), 0);
        assert_int_equal(file.st_mode & 07777, 0600);
    }
    must_fail(store_sweep_latest(store, &arena, &sweep, &err), not_found);
    assert_stored("PRAGMA journal_mode", "wal");
    assert_string_equal(store_path(store), in_folder("s.db"));
    assert_string_equal(store_library_version(),
                        arena_printf(&arena, "SQLite %s", sqlite3_libversion()));
}

static void what_was_running_is_interrupted_at_the_next_opening(void **state)
{
    (void)state;
    struct example at = begin_example();
    struct store *reader = NULL;
    must(store_stage_begin(store, at.trial_id, "measure", &err));
    store_close(store);
    store = NULL;
    must(store_open(in_folder("s.db"), STORE_READ, &reader, &err));
    store_close(reader);
    assert_stored("SELECT status FROM trial", "running");
    must(store_open(in_folder("s.db"), STORE_WRITE, &store, &err));
    assert_stored(
        "SELECT trial.status, call.status, trial.ended_us FROM trial JOIN call USING (call_id)",
        "interrupted|interrupted|NULL");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, subject_open_store, subject_close)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_statement_prepares),
                                       TEST(views_for_people_can_be_read),
                                       TEST(a_sweep_comes_back),
                                       TEST(what_a_sweep_does_not_know_is_empty),
                                       TEST(a_changed_sweep_keeps_its_settings_and_adds_some),
                                       TEST(a_call_ends_with_its_reason),
                                       TEST(a_baseline_comes_back_byte_for_byte),
                                       TEST(nothing_of_a_large_baseline_is_left_out),
                                       TEST(a_reading_without_memory_leaves_nothing_open),
                                       TEST(intents_are_known_by_path_and_hash),
                                       TEST(a_target_is_touched_until_it_is_said_not_to_be),
                                       TEST(points_and_conditions_are_found_by_key),
                                       TEST(pruned_cells_are_replaced),
                                       TEST(what_is_not_there_cannot_be_changed),
                                       TEST(a_new_store_is_its_owners_alone),
                                       TEST(what_was_running_is_interrupted_at_the_next_opening)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
