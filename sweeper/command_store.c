/*
 * The commands that read a store: status, rank, effects, show, export, emit. None of them writes to
 * it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "knobs/catalogue.h"
#include "knobs/rule.h"
#include "store/effects.h"
#include "store/rank.h"
#include "store/views.h"
#include "sweeper/base/log.h"
#include "sweeper/commands.h"
#include "sweeper/emit.h"

enum { ARENA_BYTES = 1 << 30 };

int command_fail(const struct err *err)
{
    log_err(LOG_ERROR, err);
    return err_exit_status(err->class);
}

int command_print(const char *text)
{
    (void)fputs(text, stdout); /* the stream keeps its failure */
    return command_flush();
}

int command_flush(void)
{
    struct err err;
    errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0) {
        return 0;
    }
    err_clear(&err);
    if (errno != 0) {
        err_set_errno(&err, ERR_CODE_usage, "cannot write to standard output");
    } else {
        err_set(&err, ERR_CODE_usage, "cannot write to standard output");
    }
    return command_fail(&err);
}

/* A command over an open store that fills text. */
typedef bool (*store_command)(const struct cli *cli, struct store *store, struct arena *arena,
                              struct text *out, struct err *err);

static int with_store(const struct cli *cli, store_command command)
{
    struct arena arena;
    struct err err;
    struct store *store = NULL;
    struct text text;
    err_clear(&err);
    arena_open(&arena, ARENA_BYTES);
    text_open(&text, &arena);
    bool ok = store_open(cli->operands[0], STORE_READ, &store, &err) &&
              command(cli, store, &arena, &text, &err);
    const char *printed = ok ? text_done(&text) : NULL;
    if (ok && printed == NULL) {
        ok = err_memory(&err);
    }
    int status = ok ? command_print(printed) : command_fail(&err);
    store_close(store);
    arena_close(&arena);
    return status;
}

static bool status_text(const struct cli *cli, struct store *store, struct arena *arena,
                        struct text *out, struct err *err)
{
    return view_status(store, cli_text(cli, "--format"), arena, out, err);
}

int command_status(const struct cli *cli)
{
    return with_store(cli, status_text);
}

/* Metrics have no units to convert from: "p99_ms < 5ms" would mean 5000. */
static bool check_under(const char *under, struct arena *arena, struct err *err)
{
    struct rule *rule = NULL;
    if (under == NULL || under[0] == '\0') {
        return true;
    }
    if (!rule_parse(under, arena, &rule, err)) {
        return err_while(err, "reading --under");
    }
    if (rule_has_unit(rule)) {
        err_set(err, ERR_CODE_usage, "a number in --under has a unit");
        return err_hint(err, "metrics are plain numbers in the unit that their name tells: "
                             "--under 'p99_ms < 50'");
    }
    return true;
}

static bool rank_text(const struct cli *cli, struct store *store, struct arena *arena,
                      struct text *out, struct err *err)
{
    int64_t top = 0;
    struct rank_table table;
    if (cli_has(cli, "--top") && !cli_integer(cli, "--top", &top, err)) {
        return false;
    }
    struct rank_options options = {.by = cli_text(cli, "--by"),
                                   .under = cli_text(cli, "--under"),
                                   .where = cli_text(cli, "--where"),
                                   .durability = cli_text(cli, "--durability"),
                                   .across = cli_text(cli, "--across"),
                                   .top = top > 0 ? (size_t)top : 0};
    bool is_explained = cli_has(cli, "--explain");
    if (is_explained && strcmp(cli_text(cli, "--format"), "table") != 0) {
        return err_set(err, ERR_CODE_usage, "--explain goes with --format table");
    }
    if (!check_under(options.under, arena, err) ||
        !rank_compute(store, &options, arena, &table, err) ||
        !rank_format(&table, cli_text(cli, "--format"), out, err)) {
        return false;
    }
    options.top = 0; /* the words are about all points, shown or not */
    return !is_explained ||
           (rank_compute(store, &options, arena, &table, err) && rank_explain(&table, out, err));
}

int command_rank(const struct cli *cli)
{
    return with_store(cli, rank_text);
}

static bool effects_text(const struct cli *cli, struct store *store, struct arena *arena,
                         struct text *out, struct err *err)
{
    return effects_view(store, cli_text(cli, "--by"), cli_text(cli, "--format"), arena, out, err);
}

int command_effects(const struct cli *cli)
{
    return with_store(cli, effects_text);
}

static bool show_text(const struct cli *cli, struct store *store, struct arena *arena,
                      struct text *out, struct err *err)
{
    int64_t trial = 0;
    if (!units_parse_int(cli->operands[1], &trial, err)) {
        return err_hint(err, "a trial is named by its number: dbsweep export %s lists them",
                        cli->operands[0]);
    }
    return view_show(store, trial, cli_text(cli, "--format"), arena, out, err);
}

int command_show(const struct cli *cli)
{
    return with_store(cli, show_text);
}

static bool export_text(const struct cli *cli, struct store *store, struct arena *arena,
                        struct text *out, struct err *err)
{
    return view_export(store, cli_text(cli, "--format"), arena, out, err);
}

int command_export(const struct cli *cli)
{
    return with_store(cli, export_text);
}

static bool emit_text(const struct cli *cli, struct store *store, struct arena *arena,
                      struct text *out, struct err *err)
{
    return emit_point(store, cli->operands[1], arena, out, err);
}

int command_emit(const struct cli *cli)
{
    return with_store(cli, emit_text);
}
