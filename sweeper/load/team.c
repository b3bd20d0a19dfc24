/*
 * Several workers as one: frames of all are followed in turn, so that none waits for another's, and
 * a worker that is lost is noticed at once.
 */
#include <poll.h>
#include <string.h>

#include "sweeper/base/stop.h"
#include "sweeper/load/parent.h"

enum { POLL_MS = 200, DESCRIPTORS = 64, ARENA_BYTES = 1 << 20 };

struct member {
    struct load_team *team;
    struct load_worker *worker;
    bool is_done; /* with what is waited for */
    bool has_second;
    struct load_second second; /* not told yet */
};

struct load_team {
    struct arena arena;
    struct member *members;
    size_t count;
    const struct load_progress *progress; /* of the call under way */
    bool is_warm;                         /* the warm-up may end */
};

static bool open_members(struct load_team *team, const struct load_place *places,
                         const struct load_job *job, struct err *err)
{
    int64_t first = 0;
    for (size_t i = 0; i < team->count; i++) {
        struct load_job part = *job;
        part.first_client = first;
        part.client_share = (job->workload.clients - first) / (int64_t)(team->count - i);
        part.ceiling_per_s = job->ceiling_per_s / (double)team->count;
        first += part.client_share;
        team->members[i].team = team;
        if (!load_worker_open(places[i].host, places[i].program, &part, CLOCK_NEVER,
                              &team->members[i].worker, err)) {
            return false;
        }
    }
    return true;
}

bool load_team_open(const struct load_place *places, size_t count, const struct load_job *job,
                    struct load_team **out, struct err *err)
{
    struct arena arena;
    arena_open(&arena, ARENA_BYTES);
    struct load_team *team = ARENA_NEW(&arena, struct load_team);
    struct member *members = ARENA_ARRAY(&arena, struct member, count);
    if (team == NULL || members == NULL) {
        arena_close(&arena);
        return err_memory(err);
    }
    *team = (struct load_team){.arena = arena, .members = members, .count = count};
    *out = team;
    if ((int64_t)count > job->workload.clients) {
        err_set(err, ERR_CODE_sweep_file, "%lld clients are fewer than the %zu load hosts",
                (long long)job->workload.clients, count);
        return err_hint(err, "each load host drives one client at least");
    }
    return open_members(team, places, job, err);
}

/* ---- progress ---- */

/* One second of all, once the last of them has told its own. */
static void tell_second(struct load_team *team)
{
    struct load_second all = team->members[0].second;
    for (size_t i = 0; i < team->count; i++) {
        const struct load_second *one = &team->members[i].second;
        if (!team->members[i].has_second) {
            return;
        }
        if (i > 0) {
            double done = all.throughput_per_s + one->throughput_per_s;
            all.mean_ms =
                done > 0
                    ? (all.mean_ms * all.throughput_per_s + one->mean_ms * one->throughput_per_s) /
                          done
                    : 0;
            all.throughput_per_s = done;
            all.error_count += one->error_count;
            all.p99_ms = one->p99_ms > all.p99_ms ? one->p99_ms : all.p99_ms;
        }
    }
    for (size_t i = 0; i < team->count; i++) {
        team->members[i].has_second = false;
    }
    team->progress->second(team->progress->context, &all);
    team->is_warm =
        team->is_warm || (all.phase == LOAD_PHASE_WARM_UP && team->progress->is_warm != NULL &&
                          team->progress->is_warm(team->progress->context));
}

static void take_second(void *context, const struct load_second *second)
{
    struct member *member = context;
    member->second = *second;
    member->has_second = true;
    tell_second(member->team);
}

static void take_note(void *context, const char *text)
{
    const struct member *member = context;
    const struct load_progress *progress = member->team->progress;
    progress->note(progress->context, text);
}

/* ---- following ---- */

static void wait_for_any(const struct load_team *team)
{
    struct pollfd events[DESCRIPTORS + 1] = {{.fd = stop_descriptor(), .events = POLLIN}};
    nfds_t count = 1;
    for (size_t i = 0; i < team->count && count <= DESCRIPTORS; i++) {
        const struct load_worker *worker = team->members[i].worker;
        int descriptor =
            worker->process != NULL ? worker->host->driver->descriptor(worker->process) : -1;
        if (descriptor >= 0) {
            events[count++] = (struct pollfd){.fd = descriptor, .events = POLLIN};
        }
    }
    (void)poll(events, count, POLL_MS);
}

/* All frames of one member that are there. Those that come after the wanted one wait, because what
 * is wanted next may be among them. */
static bool look_at(struct member *member, enum frame_answer wanted, bool *out_has_more,
                    struct err *err)
{
    const struct load_progress *asked = member->team->progress;
    const struct load_progress mine = {
        .context = member,
        .second = asked != NULL && asked->second != NULL ? take_second : NULL,
        .note = asked != NULL && asked->note != NULL ? take_note : NULL};
    enum frame_answer got = FRAME_WENT_BY;
    while (!member->is_done && got != FRAME_NONE) {
        got = worker_look(member->worker, &mine, err);
        if (got == FRAME_FAILED) {
            if (err->origin[0] == '\0') {
                err_origin(err, "%s", member->worker->host->label);
            }
            return false;
        }
        member->is_done = got == wanted || got == FRAME_RESULT;
        *out_has_more = *out_has_more || got != FRAME_NONE;
    }
    return true;
}

/* They all hear of it at once, so that their windows begin with the same second. */
static bool say_measure(struct load_team *team, struct err *err)
{
    for (size_t i = 0; team->is_warm && i < team->count; i++) {
        if (!worker_say_measure(team->members[i].worker, err)) {
            return false;
        }
    }
    return true;
}

static bool follow_all(struct load_team *team, int64_t deadline,
                       const struct load_progress *progress, enum frame_answer wanted,
                       struct err *err)
{
    size_t left = team->count;
    team->progress = progress;
    for (size_t i = 0; i < team->count; i++) {
        team->members[i].is_done = false;
    }
    while (left > 0) {
        bool has_more = false;
        left = 0;
        for (size_t i = 0; i < team->count; i++) {
            if (!look_at(&team->members[i], wanted, &has_more, err)) {
                return false;
            }
            left += !team->members[i].is_done;
        }
        if (left > 0 && progress != NULL && progress->is_over != NULL &&
            progress->is_over(progress->context)) {
            return err_set(err, ERR_CODE_ended_early, "the trial was ended early");
        }
        if (left > 0 && (!say_measure(team, err) || !worker_may_wait(deadline, err))) {
            return false;
        }
        if (left > 0 && !has_more) {
            wait_for_any(team);
        }
    }
    return true;
}

bool load_team_ready(struct load_team *team, int64_t deadline, const struct load_progress *progress,
                     struct err *err)
{
    return follow_all(team, deadline, progress, FRAME_READY, err);
}

static bool say_go(struct load_team *team, struct err *err)
{
    for (size_t i = 0; i < team->count; i++) {
        if (!worker_say_go(team->members[i].worker, err)) {
            return false;
        }
    }
    return true;
}

bool load_team_go(struct load_team *team, int64_t deadline, const struct load_progress *progress,
                  struct err *err)
{
    return say_go(team, err) && follow_all(team, deadline, progress, FRAME_MEASURE, err);
}

bool load_team_finish(struct load_team *team, int64_t deadline,
                      const struct load_progress *progress, struct arena *arena,
                      struct load_result *out, struct err *err)
{
    if (!say_go(team, err) || !follow_all(team, deadline, progress, FRAME_RESULT, err)) {
        return false;
    }
    for (size_t i = 0; i < team->count; i++) {
        struct load_result part = {0};
        if (!worker_take_result(team->members[i].worker, arena, &part, err)) {
            return false;
        }
        if (i == 0) {
            *out = part;
        } else if (!load_result_merge(out, &part, arena, err)) {
            return false;
        }
    }
    return true;
}

void load_team_close(struct load_team *team)
{
    if (team == NULL) {
        return;
    }
    struct arena arena = team->arena;
    for (size_t i = 0; i < team->count; i++) {
        load_worker_close(team->members[i].worker);
    }
    arena_close(&arena);
}
