/*
 * When a warm-up may end. Two looks in a row must agree, because of many looks one is wrong by
 * chance.
 */
#include "sweeper/warm_up.h"

#include <string.h>

#include "sweeper/stats/steady.h"

enum {
    LOOK_S = 5,
    FIRST_CAPACITY = 1024,
    LOOKED_AT = 7200, /* the last seconds: what was before is long over */
    SCRATCH_BYTES = 1 << 20
};

void warm_up_open(struct warm_up *warm_up, const struct workload_spec *workload,
                  struct arena *arena)
{
    *warm_up = (struct warm_up){.arena = arena,
                                .least_count = (size_t)((workload->warm_up_ms + 999) / 1000),
                                .is_adaptive = workload->warm_up_max_ms > 0};
}

double warm_up_sample(const struct workload_spec *workload, const struct load_second *second)
{
    return workload->rate_per_s > 0 ? second->mean_ms : second->throughput_per_s;
}

static bool make_room(struct warm_up *warm_up, struct err *err)
{
    if (warm_up->count < warm_up->capacity) {
        return true;
    }
    size_t capacity = warm_up->capacity > 0 ? 2 * warm_up->capacity : FIRST_CAPACITY;
    double *samples = ARENA_ARRAY(warm_up->arena, double, capacity);
    if (samples == NULL) {
        return err_memory(err);
    }
    if (warm_up->count > 0) {
        memcpy(samples, warm_up->samples, warm_up->count * sizeof *samples);
    }
    warm_up->samples = samples;
    warm_up->capacity = capacity;
    return true;
}

static bool look(struct warm_up *warm_up, struct err *err)
{
    struct arena scratch;
    size_t count = warm_up->count < LOOKED_AT ? warm_up->count : LOOKED_AT;
    bool is_warm = false;
    arena_open(&scratch, SCRATCH_BYTES);
    bool ok =
        steady_is_warm(warm_up->samples + (warm_up->count - count), count, &scratch, &is_warm, err);
    arena_close(&scratch);
    warm_up->is_warm = is_warm && warm_up->was_warm && warm_up->count >= warm_up->least_count;
    warm_up->was_warm = is_warm;
    return ok;
}

bool warm_up_add(struct warm_up *warm_up, const struct workload_spec *workload,
                 const struct load_second *second, struct err *err)
{
    if (second->phase != LOAD_PHASE_WARM_UP) {
        return true;
    }
    if (!make_room(warm_up, err)) {
        return false;
    }
    warm_up->samples[warm_up->count++] = warm_up_sample(workload, second);
    return !warm_up->is_adaptive || warm_up->count % LOOK_S != 0 || look(warm_up, err);
}
