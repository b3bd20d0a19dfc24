/*
 * Settings that a running server takes: SET GLOBAL, which new sessions see. The option file says
 * the same already, so that a restart changes nothing.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "backends/mysql/mysql.h"
#include "backends/mysql/options.h"
#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

/* In SQL a size has no suffix. */
static bool live_value(const struct knob *knob, const struct value *value, struct arena *arena,
                       const char **out, struct err *err)
{
    if (value->kind == VALUE_UNSET) {
        *out = "default";
        return true;
    }
    if (value->kind == VALUE_INTEGER && knob->unit == UNIT_BYTES) {
        int64_t unit = knob->bare != 0 ? llabs(knob->bare) : 1;
        *out = arena_printf(arena, "%" PRId64,
                            value->integer > 0 ? value->integer / unit : value->integer);
        return *out != NULL || err_memory(err);
    }
    if (!option_value(knob, value, arena, out, err)) {
        return false;
    }
    if (value->kind == VALUE_TEXT) {
        *out = option_quote(*out, '\'', arena);
    }
    return *out != NULL || err_memory(err);
}

static bool set_one(struct session *session, const struct setting *setting,
                    const struct value *baseline, int64_t deadline, struct arena *arena,
                    struct err *err)
{
    const char *text = NULL;
    const struct value *value = setting->value.kind == VALUE_BASELINE ? baseline : &setting->value;
    if (value->kind == VALUE_BASELINE) {
        return err_set(err, ERR_CODE_not_applied, "the baseline value of %s is not known",
                       setting->knob->name);
    }
    if (!live_value(setting->knob, value, arena, &text, err)) {
        return false;
    }
    const char *sql = arena_printf(arena, "set global `%s` = %s", setting->knob->name, text);
    if (sql == NULL) {
        return err_memory(err);
    }
    return session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "setting %s while the server runs", setting->knob->name);
}

bool my_reload(struct server *server, const struct setting *settings, const struct value *baseline,
               size_t setting_count, int64_t deadline, struct err *err)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    CLEANUP(arena_close) struct arena scratch;
    arena_open(&scratch, MY_SCRATCH_BYTES);
    if (!my_control_open(server, deadline, &session, err)) {
        return false;
    }
    for (size_t i = 0; i < setting_count; i++) {
        if (!set_one(session, &settings[i], &baseline[i], deadline, &scratch, err)) {
            return false;
        }
    }
    return true;
}

/* What goes on in the background after SET GLOBAL returned would be part of the measurement. */
const char *const my_slow_knobs[] = {
    "innodb_buffer_pool_size",  "innodb_buffer_pool_instances",  "innodb_log_file_size",
    "innodb_redo_log_capacity", "innodb_buffer_pool_chunk_size", NULL};
