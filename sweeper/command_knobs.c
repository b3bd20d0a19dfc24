/*
 * `dbsweep knobs`, `help` and `version`: what the program itself knows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "knobs/catalogue.h"
#include "sweeper/base/json.h"
#include "sweeper/commands.h"
#include "sweeper/versions.h"

static const char *bound(const struct knob *knob, double limit, struct arena *arena)
{
    char number[32];
    if (isinf(limit)) {
        return "";
    }
    if (knob->unit == UNIT_BYTES && fabs(limit) < 9e18) {
        return units_format_size(arena, (int64_t)limit);
    }
    if (knob->unit == UNIT_US && fabs(limit) < 9e18) {
        return units_format_duration(arena, (int64_t)limit);
    }
    units_format_real(limit, number, sizeof number);
    return arena_strdup(arena, number);
}

static const char *range_text(const struct knob *knob, struct arena *arena)
{
    if (knob->choices[0] != '\0') {
        return knob->choices;
    }
    const char *low = bound(knob, knob->min, arena);
    const char *high = bound(knob, knob->max, arena);
    if (low == NULL || high == NULL) {
        return NULL;
    }
    if (low[0] == '\0' && high[0] == '\0') {
        return "";
    }
    return arena_printf(arena, "%s..%s%s%s", low, high, knob->specials[0] != '\0' ? ", " : "",
                        knob->specials);
}

static void add_one(const struct knob *knob, struct arena *arena, struct text *out)
{
    const char *range = range_text(knob, arena);
    text_addf(out, "%s\n  %s\n", knob->name, knob->sentence);
    text_addf(out, "  type:       %s%s%s\n", knob_type_name(knob->type),
              knob->unit != UNIT_NONE ? ", in " : "", unit_name(knob->unit));
    text_addf(out, "  range:      %s\n", range != NULL ? range : "?");
    text_addf(out, "  apply:      %s\n", knob_apply_name(knob->apply));
    if (knob->durability[0] != '\0') {
        text_addf(out, "  durability: %s (most durable first)\n", knob->durability);
    }
    if (knob->versions[0] != '\0') {
        text_addf(out, "  versions:   %s\n", knob->versions);
    }
    if (knob->danger[0] != '\0') {
        text_addf(out, "  refused:    %s\n", knob->danger);
    }
    text_addf(out, "  source:     %s\n", knob->source);
}

static void add_row(const struct knob *knob, struct arena *arena, struct text *out)
{
    const char *range = range_text(knob, arena);
    text_addf(out, "%-36s %-8s %-8s %-28s %s\n", knob->name, knob_type_name(knob->type),
              knob_apply_name(knob->apply), range != NULL ? range : "?", knob->sentence);
}

static void add_json(const struct knob *knob, struct arena *arena, struct json *json)
{
    json_object_begin(json);
    json_key(json, "name");
    json_string(json, knob->name);
    json_key(json, "type");
    json_string(json, knob_type_name(knob->type));
    json_key(json, "unit");
    json_string(json, unit_name(knob->unit));
    json_key(json, "range");
    json_string(json, range_text(knob, arena));
    json_key(json, "apply");
    json_string(json, knob_apply_name(knob->apply));
    json_key(json, "durability");
    json_string(json, knob->durability);
    json_key(json, "versions");
    json_string(json, knob->versions);
    json_key(json, "danger");
    json_string(json, knob->danger);
    json_key(json, "sentence");
    json_string(json, knob->sentence);
    json_key(json, "source");
    json_string(json, knob->source);
    json_object_end(json);
}

static bool check_system(const char *system, const char *name, const struct knob *knobs,
                         size_t count, struct err *err)
{
    if (knobs == NULL) {
        err_set(err, ERR_CODE_not_found, "there is no catalogue \"%s\"", system);
        char systems[200] = "";
        for (size_t i = 0; catalogue_system(i) != NULL; i++) {
            size_t used = strlen(systems);
            snprintf(systems + used, sizeof systems - used, "%s%s", i > 0 ? ", " : "",
                     catalogue_system(i));
        }
        return err_hint(err, "the catalogues are: %s", systems);
    }
    if (name != NULL && knob_find(knobs, count, name) == NULL) {
        const char *near = knob_nearest(knobs, count, name);
        err_set(err, ERR_CODE_knob_unknown, "%s has no knob \"%s\"", system, name);
        return near != NULL ? err_hint(err, "did you mean \"%s\"?", near)
                            : err_hint(err, "dbsweep knobs %s lists them", system);
    }
    return true;
}

int command_knobs(const struct cli *cli)
{
    struct arena arena;
    struct text out;
    struct json json;
    struct err err;
    size_t count = 0;
    const char *system = cli->operands[0];
    const char *name = cli->operand_count > 1 ? cli->operands[1] : NULL;
    const struct knob *knobs = catalogue_knobs(system, &count);
    bool is_json = strcmp(cli_text(cli, "--format"), "json") == 0;
    err_clear(&err);
    if (!check_system(system, name, knobs, count, &err)) {
        return command_fail(&err);
    }
    arena_open(&arena, 64u << 20);
    text_open(&out, &arena);
    json_open(&json, &out);
    if (is_json) {
        json_array_begin(&json);
    }
    for (size_t i = 0; i < count; i++) {
        if (name != NULL && !text_equal_nocase(knobs[i].name, name)) {
            continue;
        }
        if (is_json) {
            add_json(&knobs[i], &arena, &json);
        } else if (name != NULL) {
            add_one(&knobs[i], &arena, &out);
        } else {
            add_row(&knobs[i], &arena, &out);
        }
    }
    if (is_json) {
        json_array_end(&json);
        text_add_char(&out, '\n');
    }
    const char *text = text_done(&out);
    int status = text != NULL ? command_print(text) : 70;
    arena_close(&arena);
    return status;
}

int command_help(const struct cli *cli)
{
    if (cli_has(cli, "--man")) {
        cli_print_man(stdout);
    } else if (cli_has(cli, "--completion")) {
        cli_print_completion(stdout);
    } else {
        cli_print_help(stdout, cli->operand_count > 0 ? cli->operands[0] : NULL);
    }
    return command_flush();
}

int command_version(const struct cli *cli)
{
    (void)cli;
    struct arena arena;
    struct text out;
    arena_open(&arena, 1u << 20);
    text_open(&out, &arena);
    text_addf(&out, "dbsweep %s\n", DBSWEEP_VERSION);
    versions_add(&out);
    const char *text = text_done(&out);
    int status = text != NULL ? command_print(text) : 70;
    arena_close(&arena);
    return status;
}
