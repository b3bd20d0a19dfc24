/*
 * Several workers of one drive, each a process of its own, over every session: their clients are
 * shared out, what they measure is one result, and one that is lost ends all.
 */
#include "tests/support/load_suite.h"

#include <dirent.h>
#include <signal.h>

enum { PLACES = 3 };

static struct load_team *team;

static bool team_run(struct subject *subject, const struct load_progress *progress)
{
    const struct load_place places[PLACES] = {
        {.host = subject->host}, {.host = subject->host}, {.host = subject->host}};
    team = NULL;
    subject->job.operation = LOAD_DRIVE;
    bool ok = load_team_open(places, PLACES, &subject->job, &team, &subject->err) &&
              load_team_ready(team, DEADLINE, progress, &subject->err) &&
              load_team_go(team, DEADLINE, progress, &subject->err) &&
              load_team_finish(team, DEADLINE, progress, &subject->arena, &subject->result,
                               &subject->err);
    load_team_close(team);
    return ok;
}

/* Eight clients in three workers: what they count together is what the server has. A rate keeps the
 * workers from starving each other where each commit waits for the disk. */
static void counts_what_the_server_counts(struct subject *subject)
{
    const struct load_progress progress = {.context = subject, .second = subject_second};
    subject->job.workload.mix = "insert";
    subject->job.workload.clients = 8;
    subject->job.workload.rate_per_s = 24;
    subject->job.workload.warm_up_ms = 0;
    subject->job.workload.measure_ms = 2000;
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->second_count = 0;
    MUST(team_run(subject, &progress));
    int64_t rows = subject_number(subject, "select (select count(*) from sbtest1)"
                                           " + (select count(*) from sbtest2)") -
                   2400;
    int64_t done = (int64_t)subject_done(subject);
    assert_in_range((LargestIntegralType)done, 30, 50);
    assert_in_range((LargestIntegralType)rows, (LargestIntegralType)done,
                    (LargestIntegralType)(done + 8));
    assert_int_equal(subject->result.client_count, 8);
    assert_int_equal(subject->result.transaction_count, 1);
    assert_int_equal(subject->result.second_count, 2);
    assert_in_range(subject->second_count, 2, 3);
    double by_seconds = 0;
    for (size_t i = 0; i < subject->result.second_count; i++) {
        by_seconds += subject->result.seconds[i].throughput_per_s;
    }
    assert_true(by_seconds > 0.9 * (double)done && by_seconds < 1.1 * (double)done + 8);
    MUST(subject_run(subject, LOAD_CHECK));
}

/* Each worker has its share of the schedule, not a schedule of its own. */
static void keeps_one_rate(struct subject *subject)
{
    subject->job.workload.mix = "point_select";
    subject->job.workload.clients = 7;
    subject->job.workload.rate_per_s = 140;
    subject->job.workload.measure_ms = 2000;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(team_run(subject, NULL));
    assert_in_range(subject->result.due_count, 274, 286);
    assert_in_range(subject_done(subject), subject->result.due_count - 40,
                    subject->result.due_count);
}

static void kill_one_worker(struct subject *subject, const struct load_second *second)
{
    char path[300];
    int killed = 0;
    DIR *processes = opendir("/proc");
    if (second->phase != LOAD_PHASE_MEASURE || second->index != 0 || processes == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(processes); entry != NULL && killed == 0;
         entry = readdir(processes)) {
        long parent = 0;
        snprintf(path, sizeof path, "/proc/%.200s/stat", entry->d_name);
        FILE *file = fopen(path, "re");
        if (file == NULL) {
            continue;
        }
        if (fscanf(file, "%*d (%*[^)]) %*c %ld", &parent) == 1 && parent == getpid()) {
            killed = kill((pid_t)atol(entry->d_name), SIGKILL) == 0;
        }
        fclose(file);
    }
    closedir(processes);
    subject->note_count = (size_t)killed;
}

static void one_that_is_lost_ends_all(struct subject *subject)
{
    const struct load_progress progress = {.context = subject, .second = subject_second};
    subject->job.workload.mix = "point_select";
    subject->job.workload.measure_ms = 50000;
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->on_second = kill_one_worker;
    int64_t begun = clock_now_ns();
    MUST_FAIL(team_run(subject, &progress), ERR_CODE_workload);
    assert_int_equal(subject->note_count, 1);
    HOLDS(subject->err.text, "signal 9");
    assert_true(clock_now_ns() - begun < 20 * NS_PER_S);
}

static void each_has_a_client(struct subject *subject)
{
    subject->job.workload.clients = 2;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST_FAIL(team_run(subject, NULL), ERR_CODE_sweep_file);
    HOLDS(subject->err.text, "2 clients are fewer than the 3 load hosts");
}

static const struct load_test tests[] = {
    LOAD_TEST(counts_what_the_server_counts),
    LOAD_TEST(keeps_one_rate),
    LOAD_TEST(one_that_is_lost_ends_all),
    LOAD_TEST(each_has_a_client),
};

int main(int argc, char **argv)
{
    const struct load_suite suite = {
        .tests = tests, .test_count = COUNT_OF(tests), .begin = subject_begin, .end = subject_end};
    return suite_main(&suite, argc, argv);
}
