/*
 * A replay in the sweep file: its source, what stands in it, and the workload, of which the windows
 * alone have a meaning. A store of dbsweep is read here, once, because backends do not see stores.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "store/replay.h"
#include "sweeper/load/workload.h"
#include "sweeper/sweepfile_node.h"

static int line_in(const struct node *group, const char *key)
{
    const struct node *node = group != NULL ? node_find(group, key) : NULL;
    return node != NULL ? node->line : group != NULL ? group->line : 1;
}

static bool is_store(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t got = fread(head, 1, sizeof head, file);
    (void)fclose(file); /* only read */
    return got == sizeof head && memcmp(head, magic, sizeof head) == 0;
}

static bool take_store(struct store *store, struct sweep *sweep, struct arena *arena,
                       struct err *err)
{
    struct replay_spec *spec = &sweep->target.replay;
    struct store_sweep kept;
    if (!store_sweep_latest(store, arena, &kept, err)) {
        return false;
    }
    bool is_ranked_by = spec->metric == NULL || strcmp(spec->metric, kept.rank_by) == 0;
    spec->metric = spec->metric != NULL ? spec->metric : kept.rank_by;
    spec->better = spec->better == NULL && is_ranked_by ? kept.rank_better : spec->better;
    spec->failure = store_replay_failure;
    return store_replay(store, kept.sweep_id, spec->metric, arena, &sweep->target.source_text, err);
}

static bool read_store(const struct reader *reader, const struct node *target)
{
    struct store *store = NULL;
    struct sweep *sweep = reader->sweep;
    bool ok = store_open(sweep->target.source, STORE_READ, &store, reader->err) &&
              take_store(store, sweep, reader->arena, reader->err);
    store_close(store);
    if (ok) {
        return true;
    }
    err_while(reader->err, "reading the replayed store");
    return reader_at(reader, line_in(target, "source"));
}

static bool check_source(const struct reader *reader, int line)
{
    const char *path = reader->sweep->target.source;
    struct stat found;
    if (stat(path, &found) == 0 && S_ISREG(found.st_mode)) {
        return true;
    }
    reader_fail(reader, line, "the source %.200s is no file that is there", path);
    return err_hint(reader->err, "relative paths start at the sweep file's folder");
}

bool read_replay(const struct reader *reader, const struct node *target)
{
    struct target_spec *spec = &reader->sweep->target;
    const struct node *group = node_find(target, "replay");
    if (!read_section(reader, "target.replay", group)) {
        return false;
    }
    if (reader->sweep->backend->measure == NULL) {
        return (spec->source == NULL && group == NULL) ||
               reader_fail(reader, line_in(target, group != NULL ? "replay" : "source"),
                           "%s is for the backend replay", group != NULL ? "replay" : "source");
    }
    if (spec->source == NULL) {
        reader_fail(reader, line_in(target, "backend"), "a replay needs its source");
        return err_hint(reader->err, "source = \"points.csv\"; or a store of dbsweep");
    }
    if (!check_source(reader, line_in(target, "source"))) {
        return false;
    }
    if (is_store(spec->source) && !read_store(reader, target)) {
        return false;
    }
    if (spec->replay.metric == NULL) {
        reader_fail(reader, line_in(target, "source"), "which column was measured is not said");
        return err_hint(reader->err, "replay = { metric = \"throughput\"; };");
    }
    spec->replay.lower_is_better =
        strcmp(metric_better(reader->sweep, spec->replay.metric), "lower") == 0;
    return true;
}

bool read_replay_workload(const struct reader *reader, const struct node *group)
{
    static const char *const meant[] = {"kind", "warm_up", "measure", "clients", NULL};
    struct sweep *sweep = reader->sweep;
    const char *name = sweep->backend->name;
    if (!read_section(reader, "workload", group)) {
        return false;
    }
    for (size_t i = 0; group != NULL && i < group->child_count; i++) {
        const char *const *word = meant;
        while (*word != NULL && strcmp(*word, group->children[i].name) != 0) {
            word++;
        }
        if (*word == NULL) {
            reader_fail(reader, group->children[i].line, "%s means nothing to a replay",
                        group->children[i].where);
            return err_hint(reader->err,
                            "it measures by itself: warm_up, measure and clients alone "
                            "are its own");
        }
    }
    if (sweep->workload.kind != NULL && strcmp(sweep->workload.kind, name) != 0) {
        reader_fail(reader, line_in(group, "kind"), "a replay drives no workload \"%.60s\"",
                    sweep->workload.kind);
        return err_hint(reader->err, "leave kind out");
    }
    sweep->workload.kind = name;
    return workload_check_spec(&sweep->workload, reader->err) ||
           reader_at(reader, group != NULL ? group->line : 1);
}
