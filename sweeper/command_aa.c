/*
 * `dbsweep aa`: the baseline against itself. What differs between runs of the same configuration is
 * the noise that a sweep has to see through. The runs are ordinary trials of the sweep's store.
 */
#include <math.h>
#include <string.h>

#include "store/noise.h"
#include "sweeper/base/log.h"
#include "sweeper/commands.h"
#include "sweeper/plan.h"
#include "sweeper/run.h"
#include "sweeper/search/tally.h"

enum { LEAST_RUNS = 2, MOST_RUNS = 1000, MOST_PCT = 100 };

struct asked {
    int64_t runs;
    int64_t limit_pct;
};

static bool read_options(const struct cli *cli, struct asked *out, struct err *err)
{
    if (!cli_integer(cli, "--runs", &out->runs, err) ||
        !cli_integer(cli, "--noise-limit", &out->limit_pct, err)) {
        return false;
    }
    if (out->runs < LEAST_RUNS || out->runs > MOST_RUNS) {
        return err_set(err, ERR_CODE_usage, "--runs takes %d to %d", LEAST_RUNS, MOST_RUNS);
    }
    if (out->limit_pct < 0 || out->limit_pct > MOST_PCT) {
        return err_set(err, ERR_CODE_usage, "--noise-limit takes 0 to %d percent", MOST_PCT);
    }
    return true;
}

/* Before anything is measured: without a baseline there is nothing to do. */
static bool check_plan(struct plan *plan, const char *path, struct err *err)
{
    if (!plan_read(plan, path, err) || !plan_probe(plan, true, err)) {
        return false;
    }
    if (tally_baseline(&plan->grid) == SIZE_MAX) {
        err_set(err, ERR_CODE_usage, "the sweep file leaves the baseline out (baseline = false)");
        return err_hint(err, "aa measures nothing else");
    }
    return true;
}

static bool report(const struct plan *plan, const struct cli *cli, const struct asked *asked,
                   struct noise *noise, struct text *out, struct err *err)
{
    struct store *store = NULL;
    bool ok = store_open(plan->sweep.store_path, STORE_READ, &store, err) &&
              noise_load(store, true, out->arena, noise, err);
    store_close(store);
    if (!ok) {
        return false;
    }
    struct noise_power power =
        noise_power_of(noise, plan->grid.point_count - 1, (size_t)plan->sweep.strategy.repeats);
    if (strcmp(cli_text(cli, "--format"), "json") == 0) {
        noise_put_json(noise, &power, (double)asked->limit_pct, out);
    } else {
        noise_put_text(noise, &power, out);
    }
    return true;
}

/* Printed whatever it says; the verdict is the exit status. */
static int judge(const struct noise *noise, const struct cli *cli, const struct asked *asked)
{
    if (isnan(noise->sd)) {
        log_line(LOG_ERROR, "fewer than two runs of the baseline were measured: the noise is not "
                            "known");
        return 1;
    }
    if (!(100 * noise->sd > (double)asked->limit_pct)) {
        return 0;
    }
    bool is_allowed = cli_has(cli, "--allow-noise");
    log_line(is_allowed ? LOG_WARN : LOG_ERROR,
             "runs of the same configuration differ by %.3g %%, more than %lld %%: find what else "
             "the machine does, or measure longer%s",
             100 * noise->sd, (long long)asked->limit_pct,
             is_allowed ? "" : "; --allow-noise goes on all the same");
    return is_allowed ? 0 : 1;
}

int command_aa(const struct cli *cli)
{
    struct plan plan = {0};
    struct asked asked;
    struct noise noise;
    struct err err;
    struct text text;
    int64_t failed = 0;
    err_clear(&err);
    if (!read_options(cli, &asked, &err) || !check_plan(&plan, cli->operands[0], &err)) {
        int status = command_fail(&err);
        plan_close(&plan);
        return status;
    }
    struct run_options options = {.sweep_file = cli->operands[0], .baseline_runs = asked.runs};
    text_open(&text, &plan.arena);
    int status = 0;
    if (!sweep_run(&options, &failed, &err)) {
        status = err.class == ERR_STOP ? command_fail(&err) : command_fail_target(&err);
    } else if (!report(&plan, cli, &asked, &noise, &text, &err)) {
        status = command_fail(&err);
    } else {
        const char *printed = text_done(&text);
        status = printed != NULL ? command_print(printed) : (err_memory(&err), command_fail(&err));
        status = status == 0 ? judge(&noise, cli, &asked) : status;
    }
    plan_close(&plan);
    return status;
}
