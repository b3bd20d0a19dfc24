/*
 * What systemctl and journalctl are asked, and how the words of a command are read. systemd's own
 * answers are judged, never the names of units alone: a unit may have several.
 */
#include "backends/unit.h"

#include <stdio.h>
#include <string.h>

#include "sweeper/base/text.h"

enum { SCRATCH_BYTES = 4 << 20 };

/* ---- what systemd says ---- */

/* Of the lines NAME=VALUE that `systemctl show` prints, in its own order. */
struct unit_facts {
    char id[256];
    char load_state[32];
    char active_state[32];
    char main_pid[32];
};

static void take_line(struct unit_facts *facts, const char *line, size_t size)
{
    const struct {
        const char *name;
        char *out;
        size_t limit;
    } lines[] = {{"Id=", facts->id, sizeof facts->id},
                 {"LoadState=", facts->load_state, sizeof facts->load_state},
                 {"ActiveState=", facts->active_state, sizeof facts->active_state},
                 {"MainPID=", facts->main_pid, sizeof facts->main_pid}};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        size_t length = strlen(lines[i].name);
        if (size > length && memcmp(line, lines[i].name, length) == 0) {
            snprintf(lines[i].out, lines[i].limit, "%.*s", (int)(size - length), line + length);
        }
    }
}

/* `said`: an answer of systemctl's; where it has none, exit status and words are its reason. */
static bool ask(struct host *host, const char *unit, int64_t deadline, struct arena *scratch,
                struct unit_facts *out, struct host_result *said, struct err *err)
{
    const char *const argv[] = {"systemctl", "show", "--property=Id,LoadState,ActiveState,MainPID",
                                "--",        unit,   NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline};
    *out = (struct unit_facts){.id = ""};
    if (!host_run(host, &command, scratch, said, err)) {
        return false;
    }
    if (said->timed_out || said->signal_number != 0) { /* no answer is not the answer "no" */
        return err_set(err, ERR_CODE_timeout, "systemctl did not answer in time");
    }
    for (const char *line = said->output; said->exit_status == 0 && *line != '\0';) {
        size_t size = strcspn(line, "\n");
        take_line(out, line, size);
        line += size + (line[size] == '\n');
    }
    return true;
}

/* ".../postgresql@15-main.service" as the last name of a line of /proc/PID/cgroup. */
static const char *unit_in(const char *cgroups, struct arena *arena)
{
    for (const char *line = cgroups; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *slash = memrchr(line, '/', length);
        if (slash != NULL) {
            const char *name = arena_strndup(arena, slash + 1, length - (size_t)(slash + 1 - line));
            if (name != NULL && text_ends_with(name, ".service")) {
                return name;
            }
        }
        line += length + (line[length] == '\n');
    }
    return NULL;
}

/* A unit that runs no process of its own has no main one; nor has one that is still starting, such
 * as Debian's for a second after PostgreSQL is ready. */
static bool runs_nothing(const struct unit_facts *facts)
{
    return facts->main_pid[0] == '\0' || strcmp(facts->main_pid, "0") == 0;
}

/* A unit in /proc/PID/cgroup is systemd's doing: it must answer then. */
static bool fail_silent(const char *unit, const struct host_result *said, struct err *err)
{
    char words[256];
    const char *text = said->error_size > 0 ? said->error_text : said->output;
    host_last_words(text, strlen(text), words, sizeof words);
    return err_set(err, ERR_CODE_probe, "systemctl does not tell about %s: %s", unit, words);
}

/* Only where systemd runs (sd_booted(3)) and itself names this very process: then it must be
 * systemd that stops it, or the unit would be found failed and started behind our back. */
bool unit_find(struct host *host, long pid, int64_t deadline, struct arena *arena, const char **out,
               struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct host_result said;
    struct unit_facts facts;
    char number[32];
    static const char script[] = "[ -d /run/systemd/system ] && cat \"/proc/$1/cgroup\"";
    const char *const argv[] = {"/bin/sh", "-c", script, "dbsweep", number, NULL};
    const char *cgroups = NULL;
    arena_open(&scratch, SCRATCH_BYTES);
    *out = NULL;
    snprintf(number, sizeof number, "%ld", pid);
    if (!host_ask(host, argv, deadline, &scratch, &cgroups, err)) {
        return false;
    }
    const char *unit = cgroups != NULL ? unit_in(cgroups, arena) : NULL;
    if (unit == NULL) {
        return true;
    }
    if (!ask(host, unit, deadline, &scratch, &facts, &said, err)) {
        return false;
    }
    if (facts.load_state[0] == '\0') {
        return fail_silent(unit, &said, err);
    }
    bool is_between = runs_nothing(&facts) && strcmp(facts.active_state, "active") != 0;
    *out = is_between || strcmp(facts.main_pid, number) == 0 ? unit : NULL;
    return true;
}

bool unit_is_loaded(struct host *host, const char *unit, int64_t deadline, bool *out,
                    struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct host_result said;
    struct unit_facts facts;
    arena_open(&scratch, SCRATCH_BYTES);
    bool answered = ask(host, unit, deadline, &scratch, &facts, &said, err);
    *out = answered && strcmp(facts.load_state, "loaded") == 0;
    return answered;
}

/* ---- stop and start ---- */

bool unit_stop(struct host *host, const char *unit, int64_t deadline, struct arena *arena,
               struct host_result *out, struct err *err)
{
    const char *const argv[] = {"systemctl", "stop", unit, NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline, .until_stop = true};
    return host_run(host, &command, arena, out, err);
}

/* It fails where the unit was not in use, and then nothing was counted. */
static bool count_anew(struct host *host, const char *unit, int64_t deadline, struct arena *arena,
                       struct err *err)
{
    struct host_result ignored;
    const char *const argv[] = {"systemctl", "reset-failed", unit, NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline};
    return host_run(host, &command, arena, &ignored, err);
}

bool unit_start(struct host *host, const char *unit, int64_t deadline, struct arena *arena,
                struct host_result *out, struct err *err)
{
    const char *const argv[] = {"systemctl", "start", unit, NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline, .until_stop = true};
    return count_anew(host, unit, deadline, arena, err) &&
           host_run(host, &command, arena, out, err);
}

/* ---- the sweep file's own commands ---- */

static bool is_program(const char *word, const char *name)
{
    const char *slash = strrchr(word, '/');
    return strcmp(slash != NULL ? slash + 1 : word, name) == 0;
}

static bool is_verb(const char *word)
{
    static const char *const verbs[] = {"start", "stop", "restart", "try-restart",
                                        "reload-or-restart"};
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (strcmp(word, verbs[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Where the units begin behind `systemctl`, or NULL: another manager's, another machine's, or an
 * option whose value we would take for a unit. */
static const char *const *behind_systemctl(const char *const *words)
{
    for (; *words != NULL; words++) {
        if (is_verb(*words)) {
            return words + 1;
        }
        bool is_known = strcmp(*words, "-q") == 0 || strcmp(*words, "--quiet") == 0 ||
                        strcmp(*words, "--no-block") == 0 || strcmp(*words, "--wait") == 0 ||
                        strcmp(*words, "--system") == 0 || strcmp(*words, "--no-ask-password") == 0;
        if (!is_known) {
            return NULL;
        }
    }
    return NULL;
}

/* `sudo`, its -n, and whatever else stands before it, is passed by; a shell's line is one word. */
static size_t find_units(const char *const *argv, const char *out[UNIT_LIMIT])
{
    size_t count = 0;
    for (const char *const *at = argv; at != NULL && *at != NULL; at++) {
        if (is_program(*at, "service") && at[1] != NULL && at[2] != NULL && is_verb(at[2])) {
            out[0] = at[1];
            return 1;
        }
        if (!is_program(*at, "systemctl")) {
            continue;
        }
        const char *const *units = behind_systemctl(at + 1);
        for (; units != NULL && *units != NULL && count < UNIT_LIMIT; units++) {
            if ((*units)[0] != '-') {
                out[count++] = *units;
            }
        }
        return count;
    }
    return 0;
}

bool unit_is_named(const char *const *argv)
{
    const char *units[UNIT_LIMIT];
    return find_units(argv, units) > 0;
}

bool unit_stops(const struct server *server, const char *own)
{
    const struct target_spec *spec = server->spec;
    return spec->stop != NULL ? unit_is_named(spec->stop) : own != NULL;
}

static bool has_suffix(const char *unit)
{
    static const char *const suffixes[] = {".service", ".target", ".socket", ".scope", ".slice"};
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        if (text_ends_with(unit, suffixes[i])) {
            return true;
        }
    }
    return false;
}

bool unit_named(const char *const *argv, struct arena *arena, const char *out[UNIT_LIMIT],
                size_t *out_count, struct err *err)
{
    *out_count = find_units(argv, out);
    for (size_t i = 0; i < *out_count; i++) {
        out[i] = arena_printf(arena, "%s%s", out[i], has_suffix(out[i]) ? "" : ".service");
        if (out[i] == NULL) {
            return err_memory(err);
        }
    }
    return true;
}

bool unit_run(struct host *host, const char *const *argv, int64_t deadline, struct arena *arena,
              struct host_result *out, struct err *err)
{
    const char *units[UNIT_LIMIT];
    size_t count = 0;
    const struct host_command command = {
        .argv = argv, .deadline = deadline, .daemon = true, .until_stop = true};
    if (!unit_named(argv, arena, units, &count, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!count_anew(host, units[i], deadline, arena, err)) {
            return false;
        }
    }
    return host_run(host, &command, arena, out, err);
}

/* ---- refusals ---- */

struct suspect {
    const char *key;  /* "target.restart" */
    const char *unit; /* as systemd spells it */
    const char *own;  /* the server's own; NULL: none */
    long pid;
};

static bool refuse_silent(const struct suspect *suspect, const struct host_result *said,
                          struct err *err)
{
    char words[256];
    const char *text = said->error_size > 0 ? said->error_text : said->output;
    host_last_words(text, strlen(text), words, sizeof words);
    err_set(err, ERR_CODE_unsupported, "%s: systemctl does not work there: %s", suspect->key,
            words);
    return err_hint(err, "name the commands that stop and start the server");
}

static bool refuse_missing(const struct suspect *suspect, const char *state, struct err *err)
{
    bool is_missing = strcmp(state, "not-found") == 0;
    err_set(err, ERR_CODE_unsupported,
            is_missing ? "%s: systemd has no unit %s" : "%s: the unit %s is %s", suspect->key,
            suspect->unit, state);
    return suspect->own != NULL
               ? err_hint(err,
                          "the server's own unit is %s; `systemctl cat %s` shows what there is",
                          suspect->own, suspect->unit)
               : err_hint(err,
                          "`systemctl cat %s` shows what there is, `systemctl status %ld` the "
                          "unit of the server",
                          suspect->unit, suspect->pid);
}

/* Debian's postgresql.service runs /bin/true: it is restarted with success whatever became of the
 * clusters that follow it. */
static bool refuse_other(const struct suspect *suspect, bool is_umbrella, struct err *err)
{
    err_set(err, ERR_CODE_unsupported, "%s: %s is not the unit of the server (process %ld)%s",
            suspect->key, suspect->unit, suspect->pid,
            is_umbrella ? ": it runs no process of its own, and its success proves nothing" : "");
    return suspect->own != NULL
               ? err_hint(err, "name %s; `systemctl cat %s` shows what the other one does",
                          suspect->own, suspect->unit)
               : err_hint(err,
                          "`systemctl cat %s` shows what it does, `systemctl status %ld` the "
                          "unit of the server",
                          suspect->unit, suspect->pid);
}

/* The server's own, by its name or by another that leads to it (mysql.service). A server that
 * systemd does not name may still be a unit's, such as one in a container that the unit runs. */
static bool is_the_servers(const struct suspect *suspect, const struct unit_facts *facts)
{
    char number[32];
    snprintf(number, sizeof number, "%ld", suspect->pid);
    if (suspect->pid == 0 || strcmp(facts->main_pid, number) == 0) {
        return true;
    }
    return suspect->own != NULL ? strcmp(facts->id, suspect->own) == 0 : !runs_nothing(facts);
}

/* Every unit must be there, and one of them the server's. */
static bool refuse_in(const struct server *server, const char *const *argv, struct suspect *suspect,
                      int64_t deadline, struct arena *scratch, struct err *err)
{
    const char *units[UNIT_LIMIT];
    size_t count = 0;
    bool is_umbrella = false;
    if (!unit_named(argv, scratch, units, &count, err)) {
        return false;
    }
    bool is_found = count == 0;
    for (size_t i = 0; i < count; i++) {
        struct unit_facts facts;
        struct host_result said;
        suspect->unit = units[i];
        if (!ask(server->host, units[i], deadline, scratch, &facts, &said, err)) {
            return false;
        }
        if (facts.load_state[0] == '\0') {
            return refuse_silent(suspect, &said, err);
        }
        if (strcmp(facts.load_state, "loaded") != 0) {
            return refuse_missing(suspect, facts.load_state, err);
        }
        is_umbrella = runs_nothing(&facts);
        is_found = is_found || is_the_servers(suspect, &facts);
    }
    return is_found || refuse_other(suspect, is_umbrella, err);
}

bool unit_refuse(const struct server *server, long pid, const char *own, int64_t deadline,
                 struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    const struct target_spec *spec = server->spec;
    const struct {
        const char *key;
        const char *const *argv;
    } commands[] = {{"target.stop", spec->stop},
                    {"target.start", spec->start},
                    {"target.restart", spec->restart}};
    arena_open(&scratch, SCRATCH_BYTES);
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        struct suspect suspect = {.key = commands[i].key, .own = own, .pid = pid};
        if (!refuse_in(server, commands[i].argv, &suspect, deadline, &scratch, err)) {
            return false;
        }
    }
    return true;
}

/* ---- the journal ---- */

bool unit_time(struct host *host, int64_t deadline, char out[UNIT_TIME_BYTES], struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct host_result result;
    const char *const argv[] = {"date", "+@%s.%6N", NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline};
    arena_open(&scratch, SCRATCH_BYTES);
    if (!host_run_ok(host, &command, &scratch, &result, err)) {
        return err_while(err, "asking for the time there");
    }
    snprintf(out, UNIT_TIME_BYTES, "%.*s", (int)strcspn(result.output, "\n"), result.output);
    return true;
}

bool unit_journal(struct host *host, const char *unit, const char *since, size_t limit_bytes,
                  int64_t deadline, struct arena *arena, const char **out, struct err *err)
{
    static const char script[] = "journalctl -q -o cat --no-pager -u \"$1\" --since \"$2\""
                                 " 2>/dev/null | tail -c \"$3\"";
    char limit[32];
    struct host_result result;
    const char *const argv[] = {"/bin/sh", "-c", script, "dbsweep", unit, since, limit, NULL};
    const struct host_command command = {
        .argv = argv, .deadline = deadline, .output_limit_bytes = limit_bytes + 1};
    snprintf(limit, sizeof limit, "%zu", limit_bytes);
    if (!host_run(host, &command, arena, &result, err)) {
        return err_while(err, "reading the journal of %s", unit);
    }
    *out = result.output;
    return true;
}
