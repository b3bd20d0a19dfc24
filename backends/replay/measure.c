/*
 * The workload of a replay: a run's value is the point's own, with the noise, drift and outliers
 * that the sweep file asks for, and its seconds scatter about it as those of a server do: each like
 * the one before, dipping with checkpoints, slow after the start. Nothing here takes time.
 *
 * The seconds' own noise is centred over the whole window, so that a whole run scatters as was
 * asked, no more; a run that is ended early sees the noise of its seconds.
 */
#include <math.h>

#include "backends/replay/noise.h"
#include "backends/replay/server.h"

enum { PARTS = REPLAY_PARTS, SCALE_PER_S = 1000, HALVINGS = 50 };

static const double DIP_SHARE = 0.3; /* of a cycle */
static const double COLD = 0.5;      /* of the throughput, right after the start */
static const double LEAST = 0.01;
static const double DEFAULT_SPREAD = 0.01;
static const double COUNT_LIMIT = 1e9;   /* of a histogram */
static const double LATENCY_SIGMA = 0.5; /* of its logarithm */

struct emission {
    const struct replay *replay;
    const struct measure_spec *spec;
    double base;   /* throughput of this run */
    double *noise; /* of each second, the warm-up's first */
    size_t warm_up_count;
    size_t count; /* of the window */
    double carried[PARTS];
    struct measured *out;
};

/* ---- a run's own factor ---- */

static double spread_of(const struct replay *replay, const struct table_row *row)
{
    return replay->spec->noise_pct >= 0   ? replay->spec->noise_pct / 100
           : !isnan(row->deviation)       ? row->deviation
           : !isnan(replay->table.spread) ? replay->table.spread
                                          : DEFAULT_SPREAD;
}

/* The machine's own course: of a trial's number alone. */
static double drift_of(const struct replay_spec *spec, int64_t trial_number)
{
    struct noise steps = noise_open(spec->seed, NOISE_WALK, 0);
    double walk = 0;
    for (int64_t i = 0; spec->walk_pct > 0 && i < trial_number; i++) {
        walk += noise_normal(steps, (uint64_t)i) * spec->walk_pct / 100;
    }
    double line = 1 + spec->drift_pct / 100 * (double)trial_number;
    return (line > LEAST ? line : LEAST) * exp(walk);
}

static double factor_of(const struct replay *replay, const struct measure_spec *spec,
                        const struct table_row *row)
{
    const struct replay_spec *asked = replay->spec;
    uint64_t part = (uint64_t)(row - replay->table.rows);
    uint64_t run = (uint64_t)spec->repeat_number;
    struct noise lot = noise_open(asked->seed, NOISE_OUTLIER, part);
    double factor =
        exp(spread_of(replay, row) * noise_normal(noise_open(asked->seed, NOISE_RUN, part), run));
    if (100 * noise_unit(lot, run) < asked->outlier_pct) {
        factor *= 1 - asked->outlier_drop_pct / 100;
    }
    return factor * drift_of(asked, spec->trial_number);
}

/* ---- latencies ---- */

/* The log-normal quantile of mean 1. */
static double latency_quantile(double share)
{
    double low = -8;
    double high = 8;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        bool is_below = erfc(-middle / sqrt(2)) / 2 < share;
        low = is_below ? middle : low;
        high = is_below ? high : middle;
    }
    return exp(LATENCY_SIGMA * low - LATENCY_SIGMA * LATENCY_SIGMA / 2);
}

void replay_prepare(struct replay *replay)
{
    for (size_t i = 0; i < PARTS; i++) {
        replay->latency_parts[i] = latency_quantile(((double)i + 0.5) / PARTS);
    }
    replay->latency_p99 = latency_quantile(0.99);
}

/* ---- seconds ---- */

static size_t seconds_of(int64_t time_ms)
{
    return (size_t)((time_ms + 999) / 1000);
}

/* A stationary first-order chain, its mean over the window taken out. */
static bool make_noise(struct emission *emission, const struct table_row *row, struct arena *arena)
{
    const struct replay_spec *asked = emission->replay->spec;
    size_t all = emission->warm_up_count + emission->count;
    uint64_t part = (uint64_t)(row - emission->replay->table.rows) << 24;
    struct noise source =
        noise_open(asked->seed, NOISE_SECONDS, part + (uint64_t)emission->spec->repeat_number);
    double keep = asked->correlation;
    double mean = 0;
    emission->noise = ARENA_ARRAY(arena, double, all + 1);
    if (emission->noise == NULL) {
        return false;
    }
    for (size_t i = 0; i < all; i++) {
        double fresh = noise_normal(source, i);
        emission->noise[i] =
            i == 0 ? fresh : keep * emission->noise[i - 1] + sqrt(1 - keep * keep) * fresh;
        mean += i >= emission->warm_up_count ? emission->noise[i] / (double)emission->count : 0;
    }
    for (size_t i = 0; i < all; i++) {
        emission->noise[i] = asked->second_pct / 100 * (emission->noise[i] - mean);
    }
    return true;
}

/* Checkpoint dips, one mean over a whole cycle; and a ramp that is over when it says. */
static double shape_at(const struct replay_spec *spec, double second)
{
    double shape = 1;
    double ramp_s = (double)spec->ramp_ms / 1000;
    double cycle_s = (double)spec->cycle_ms / 1000;
    double dip = spec->dip_pct / 100;
    if (second < ramp_s) {
        shape *= COLD + (1 - COLD) * second / ramp_s;
    }
    if (cycle_s > 0) {
        bool is_dip = fmod(second, cycle_s) >= (1 - DIP_SHARE) * cycle_s;
        shape *= (is_dip ? 1 - dip : 1) / (1 - DIP_SHARE * dip);
    }
    return shape;
}

static double throughput_at(const struct emission *emission, size_t second)
{
    double noise = 1 + emission->noise[second];
    return emission->base * shape_at(emission->replay->spec, (double)second) *
           (noise > LEAST ? noise : LEAST);
}

static void record_latencies(struct emission *emission, double throughput, double mean_s)
{
    double all = emission->base * (double)emission->count;
    double scale = all > COUNT_LIMIT ? COUNT_LIMIT / all : 1;
    for (size_t i = 0; i < PARTS; i++) {
        double latency_s = mean_s * emission->replay->latency_parts[i];
        emission->carried[i] += throughput * scale / PARTS;
        double whole = floor(emission->carried[i]);
        emission->carried[i] -= whole;
        if (whole > 0 && latency_s < 1e6) {
            histogram_record_many(emission->out->latency, (uint64_t)(latency_s * 1e9),
                                  (uint64_t)whole);
        }
    }
}

/* False: who is told has seen enough. */
static bool emit(struct emission *emission, size_t second)
{
    bool is_warm_up = second < emission->warm_up_count;
    double throughput = throughput_at(emission, second);
    double mean_s = (double)emission->spec->client_count / throughput;
    struct measured_second row = {
        .is_warm_up = is_warm_up,
        .index = (uint32_t)(is_warm_up ? second : second - emission->warm_up_count),
        .throughput_per_s = throughput,
        .p99_ms = 1000 * mean_s * emission->replay->latency_p99};
    if (!is_warm_up) {
        emission->out->seconds[emission->out->second_count++] = row;
        record_latencies(emission, throughput, mean_s);
    }
    return emission->spec->second == NULL || emission->spec->second(emission->spec->context, &row);
}

static void conclude(const struct emission *emission)
{
    struct measured *out = emission->out;
    const struct replay *replay = emission->replay;
    double reference = replay->table.rows[replay->table.baseline].value;
    double mean = 0;
    for (size_t i = 0; i < out->second_count; i++) {
        mean += out->seconds[i].throughput_per_s / (double)out->second_count;
    }
    out->throughput_per_s = mean;
    out->metric = replay->spec->metric;
    out->lower_is_better = replay->spec->lower_is_better;
    out->value = out->lower_is_better ? reference * SCALE_PER_S / mean : mean;
    out->warm_up_ms = emission->spec->warm_up_ms;
    out->measured_ms =
        out->is_ended ? (int64_t)out->second_count * 1000 : emission->spec->measure_ms;
}

static bool open_emission(struct emission *emission, const struct table_row *row,
                          struct arena *arena, struct err *err)
{
    const struct replay *replay = emission->replay;
    const struct measure_spec *spec = emission->spec;
    double reference = replay->table.rows[replay->table.baseline].value;
    double truth =
        replay->spec->lower_is_better ? reference * SCALE_PER_S / row->value : row->value;
    emission->base = truth * factor_of(replay, spec, row);
    emission->warm_up_count = seconds_of(spec->warm_up_ms);
    emission->count = seconds_of(spec->measure_ms);
    emission->out->seconds = ARENA_ARRAY(arena, struct measured_second, emission->count + 1);
    emission->out->latency = ARENA_NEW(arena, struct histogram);
    if (emission->out->seconds == NULL || emission->out->latency == NULL ||
        !make_noise(emission, row, arena)) {
        return err_memory(err);
    }
    histogram_clear(emission->out->latency);
    return true;
}

/* ---- the run ---- */

static bool breaks_off(const struct replay *replay, const struct measure_spec *spec,
                       const struct table_row *row, struct err *err)
{
    struct noise lot = noise_open(replay->spec->seed, NOISE_BROKEN, 0);
    if (replay_failure(replay, row).kind != FAILURE_MEASURE &&
        100 * noise_unit(lot, (uint64_t)spec->trial_number) >= replay->spec->broken_pct) {
        return false;
    }
    err_set(err, ERR_CODE_workload, "the workload broke off, as the replay was told");
    return true;
}

bool replay_measure(struct server *server, const struct measure_spec *spec, struct arena *arena,
                    struct measured *out, struct err *err)
{
    struct replay *replay = replay_of(server);
    size_t unknown = SIZE_MAX;
    *out = (struct measured){.second_count = 0};
    if (!state_read(&replay->state, arena, err)) {
        return false;
    }
    const struct table_row *row =
        replay_find(replay, spec->conditions, spec->condition_count, true, &unknown, arena);
    if (row != NULL && breaks_off(replay, spec, row, err)) {
        return false;
    }
    if (row == NULL || isnan(row->value)) {
        return err_set(err, ERR_CODE_workload, "%s has no measured point with these settings%s%s",
                       replay->source,
                       unknown != SIZE_MAX ? ", in none of its rows with this " : "",
                       unknown != SIZE_MAX ? spec->conditions[unknown].knob->name : "");
    }
    struct emission emission = {.replay = replay, .spec = spec, .out = out};
    if (!open_emission(&emission, row, arena, err)) {
        return false;
    }
    for (size_t i = 0; i < emission.warm_up_count + emission.count && !out->is_ended; i++) {
        out->is_ended = !emit(&emission, i) && i >= emission.warm_up_count;
    }
    conclude(&emission);
    return true;
}
