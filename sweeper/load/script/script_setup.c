/*
 * The user's own setup and teardown files around a script workload. They may do anything, so they
 * are run only when asked for, and a note in dbsweep_meta says what was set up and whether it was
 * used since.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/load/mark.h"
#include "sweeper/load/script/script.h"

#define NOTE_NAME "script"
#define BEGUN "begun: "
#define USED "used: "

enum { TEXT_BYTES = 160, ARENA_BYTES = 1 << 16 };

/* ---- running a file ---- */

static bool run_item(const struct script_plan *plan, const struct script_item *item,
                     const struct script_value *values, char *text, struct session *session,
                     int64_t deadline, struct err *err)
{
    static const char *const controls[] = {
        [SCRIPT_BEGIN] = "begin", [SCRIPT_COMMIT] = "commit", [SCRIPT_ROLLBACK] = "rollback"};
    const char *sql = text;
    if (item->kind == SCRIPT_STATEMENT) {
        script_text_fill(item, &plan->variables, values, text);
    } else {
        sql = controls[item->kind];
    }
    return session_execute(session, sql, NULL, NULL, deadline, err);
}

static bool run_items(const struct script_plan *plan, const struct script_file *file, char *text,
                      struct session *session, int64_t deadline, struct err *err)
{
    struct script_value values[SCRIPT_VARIABLE_LIMIT];
    struct random random;
    random_seed(&random, (uint64_t)plan->spec->seed, 0);
    script_variables_fill(&plan->variables, 0, values);
    for (size_t i = 0; i < file->item_count; i++) {
        const struct script_item *item = &file->items[i];
        bool ok = item->kind == SCRIPT_SET
                      ? script_evaluate(&item->expression, values, &random, ERR_CODE_workload,
                                        &values[item->variable], err)
                      : run_item(plan, item, values, text, session, deadline, err);
        if (!ok) {
            return err_origin(err, "%s:%d", file->path, item->line);
        }
    }
    return true;
}

static bool run_file(const struct script_plan *plan, const struct script_file *file,
                     struct session *session, int64_t deadline, struct err *err)
{
    struct arena arena;
    size_t size = 1;
    for (size_t i = 0; i < file->item_count; i++) {
        size_t needed = script_text_bytes(&file->items[i], &plan->variables);
        size = needed > size ? needed : size;
    }
    arena_open(&arena, size + ARENA_BYTES);
    char *text = arena_alloc(&arena, size);
    bool ok = text != NULL ? run_items(plan, file, text, session, deadline, err) : err_memory(err);
    arena_close(&arena);
    return ok;
}

/* ---- the note ---- */

enum setup_state { SETUP_NONE, SETUP_OTHER, SETUP_FRESH, SETUP_USED };

static bool look_up(const struct script_plan *plan, struct session *session, int64_t deadline,
                    enum setup_state *out, struct err *err)
{
    const char *note = NULL;
    struct arena arena;
    arena_open(&arena, ARENA_BYTES);
    bool ok = mark_get(session, NOTE_NAME, deadline, &arena, &note, err);
    if (ok) {
        bool is_used = note != NULL && text_starts_with(note, USED);
        const char *hash = is_used ? note + strlen(USED) : note;
        *out = note == NULL                          ? SETUP_NONE
               : strcmp(hash, plan->setup_hash) != 0 ? SETUP_OTHER
               : is_used                             ? SETUP_USED
                                                     : SETUP_FRESH;
    }
    arena_close(&arena);
    return ok;
}

static bool keep_note(const struct script_plan *plan, const char *state, struct session *session,
                      int64_t deadline, struct err *err)
{
    char note[TEXT_BYTES];
    snprintf(note, sizeof note, "%s%s", state, plan->setup_hash);
    return mark_set(session, NOTE_NAME, note, deadline, err);
}

/* ---- the operations ---- */

static bool tear_down(const struct script_plan *plan, struct session *session, int64_t deadline,
                      struct err *err)
{
    return plan->teardown.item_count == 0 ||
           run_file(plan, &plan->teardown, session, deadline, err) ||
           err_while(err, "running the teardown");
}

bool script_prepare(const struct load_job *job, const void *data, struct session *session,
                    int64_t deadline, void (*note)(void *, const char *), void *context,
                    struct err *err)
{
    (void)job;
    const struct script_plan *plan = data;
    enum setup_state state = SETUP_NONE;
    if (plan->setup.item_count == 0) {
        return true;
    }
    if (!look_up(plan, session, deadline, &state, err)) {
        return false;
    }
    if (state == SETUP_FRESH) {
        return true;
    }
    note(context, state == SETUP_NONE ? "running the setup" : "running the setup again");
    if (state != SETUP_NONE && !tear_down(plan, session, deadline, err)) {
        return false;
    }
    return keep_note(plan, BEGUN, session, deadline, err) &&
           (run_file(plan, &plan->setup, session, deadline, err) ||
            err_while(err, "running the setup")) &&
           keep_note(plan, "", session, deadline, err);
}

bool script_cleanup(const struct load_job *job, const void *data, struct session *session,
                    int64_t deadline, struct err *err)
{
    (void)job;
    const struct script_plan *plan = data;
    enum setup_state state = SETUP_NONE;
    if (plan->teardown.item_count == 0) {
        err_set(err, ERR_CODE_unsupported, "nothing is known of what the scripts leave behind");
        return err_hint(err, "give the file that removes it: teardown = \"drop.sql\";");
    }
    return look_up(plan, session, deadline, &state, err) &&
           (state == SETUP_NONE || (tear_down(plan, session, deadline, err) &&
                                    mark_forget(session, NOTE_NAME, deadline, err)));
}

bool script_begin_drive(const struct load_job *job, const void *data, struct session *session,
                        int64_t deadline, struct err *err)
{
    const struct script_plan *plan = data;
    enum setup_state state = SETUP_NONE;
    if (plan->setup.item_count == 0 || job->first_client > 0) { /* a team's first looks for all */
        return true;
    }
    if (!look_up(plan, session, deadline, &state, err)) {
        return false;
    }
    if (state == SETUP_NONE || state == SETUP_OTHER) {
        err_set(err, ERR_CODE_workload,
                state == SETUP_NONE ? "the setup of the scripts was not run"
                                    : "another setup than this one was run");
        return err_hint(err, "dbsweep load script prepare runs it");
    }
    return state == SETUP_USED || !workload_writes(&job->workload) ||
           keep_note(plan, USED, session, deadline, err);
}
