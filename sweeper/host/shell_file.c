/*
 * Files through commands: see the header. A script says what went wrong by its exit status, one
 * row each below, and the tools' own words on standard error are kept in the message. It leaves
 * the old file whole and no temporary behind, whatever fails or ends it. Script and data never
 * share an input: a shell reads ahead.
 *
 * The tools are those of GNU coreutils 8.24 or later; lsattr is used where it is there.
 */
#include "sweeper/host/shell_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/base/text.h"

#define FACTS_MARK "DBSWEEP-FILE "
#define FACTS_BYTES ((size_t)16 * 1024) /* room for the facts before the content */

/* What a script's exit status means; each script below uses the numbers. */
enum script_status {
    SCRIPT_MISSING = 40,
    SCRIPT_IRREGULAR,
    SCRIPT_UNREADABLE,
    SCRIPT_LARGE,
    SCRIPT_DANGLING,
    SCRIPT_LINKED,
    SCRIPT_IMMUTABLE,
    SCRIPT_NO_TEMPORARY,
    SCRIPT_ENDED,
    SCRIPT_UNWRITTEN,
    SCRIPT_UNDRESSED,
    SCRIPT_UNSWAPPED,
    SCRIPT_DIFFERENT,
    SCRIPT_EXISTS,
};

static const struct {
    enum script_status status;
    enum err_code code;
    const char *why;
} meanings[] = {
    {SCRIPT_MISSING, ERR_CODE_not_found, "does not exist"},
    {SCRIPT_IRREGULAR, ERR_CODE_host_file, "is not a regular file"},
    {SCRIPT_UNREADABLE, ERR_CODE_host_file, "cannot be read"},
    {SCRIPT_LARGE, ERR_CODE_host_file, "is larger than 64 MiB"},
    {SCRIPT_DANGLING, ERR_CODE_host_file, "is a symbolic link to nothing"},
    {SCRIPT_LINKED, ERR_CODE_host_file,
     "has several names (hard links), and replacing one would part them"},
    {SCRIPT_IMMUTABLE, ERR_CODE_host_file, "is marked immutable or append-only by its file system"},
    {SCRIPT_NO_TEMPORARY, ERR_CODE_host_file, "cannot have a temporary file beside it"},
    {SCRIPT_ENDED, ERR_CODE_timeout, "was not done in time"},
    {SCRIPT_UNWRITTEN, ERR_CODE_host_file, "cannot be written anew"},
    {SCRIPT_UNDRESSED, ERR_CODE_host_file, "cannot get its owner, mode or label"},
    {SCRIPT_UNSWAPPED, ERR_CODE_host_file, "cannot be replaced"},
    {SCRIPT_DIFFERENT, ERR_CODE_host_file, "does not hold what was written"},
};

/* Common to all: messages in one language, tools of the system, names that end in a newline. */
#define SCRIPT_HEAD                                                                                \
    "umask 077\n"                                                                                  \
    "LC_ALL=C; PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH; export LC_ALL PATH\n"                     \
    "missing() { ls -d -- \"$1\" >/dev/null; exit 40; }\n"                                         \
    "resolve() {\n"                                                                                \
    "  r=$(readlink -n -f -- \"$1\" && printf x) || missing \"$1\"\n"                              \
    "  r=${r%x}\n"                                                                                 \
    "}\n"

/* path */
static const char get_script[] =
    SCRIPT_HEAD "resolve \"$1\"\n"
                "[ -e \"$r\" ] || missing \"$r\"\n"
                "[ -f \"$r\" ] || exit 41\n"
                "[ -r \"$r\" ] || { ls -l -- \"$r\" >&2; exit 42; }\n"
                "exec 3<\"$r\"\n"
                "facts=$(stat -L -c '%a %u %g %h' /proc/self/fd/3) || exit 42\n"
                "[ \"$(stat -L -c %s /proc/self/fd/3)\" -le 67108864 ] || exit 43\n"
                "label=$(stat -c %C -- \"$r\" 2>/dev/null) || label=\n"
                "[ \"$label\" != '?' ] || label=\n"
                "printf '" FACTS_MARK "%s\\n%s\\n%s\\0' \"$facts\" \"$label\" \"$r\"\n"
                "cat <&3 || exit 42\n";

#define SCRIPT_DRAFT                                                                               \
    "t=$(mktemp \"${d}.dbsweep-tmp.XXXXXXXXXX\") || exit 47\n"                                     \
    "trap 'rm -f -- \"$t\"' 0\n"                                                                   \
    "trap 'exit 48' HUP INT TERM\n"                                                                \
    "cat >\"$t\" || exit 49\n"                                                                     \
    "[ \"$(sha256sum <\"$t\")\" = \"$2  -\" ] || exit 48\n"

/* path, SHA-256, create (0 or 1), mode or "-" for that of the file, uid, gid, label */
static const char put_script[] = SCRIPT_HEAD
    "if [ -L \"$1\" ] && [ ! -e \"$1\" ]; then exit 44; fi\n"
    "resolve \"$1\"\n"
    "d=${r%/*}/\n"
    "if [ -e \"$r\" ]; then\n"
    "  [ -f \"$r\" ] || exit 41\n"
    "  [ \"$(stat -c %h -- \"$r\")\" = 1 ] || exit 45\n"
    "  flags=$(lsattr -d -- \"$r\" 2>/dev/null) || flags=\n"
    "  case ${flags%% *} in *i*|*a*) exit 46;; esac\n"
    "elif [ \"$3\" != 1 ]; then missing \"$r\"\n"
    "fi\n" SCRIPT_DRAFT "if [ -e \"$r\" ]; then\n"
    "  cp --attributes-only --preserve=all -- \"$r\" \"$t\" && touch -- \"$t\" || exit 50\n"
    "  [ \"$4\" != - ] ||\n"
    "    [ \"$(stat -c '%u %g %a' -- \"$r\")\" = \"$(stat -c '%u %g %a' -- \"$t\")\" ] || exit 50\n"
    "fi\n"
    "if [ \"$4\" != - ]; then\n"
    "  chown -- \"$5:$6\" \"$t\" && chmod -- \"$4\" \"$t\" || exit 50\n"
    "  if [ -n \"$7\" ]; then chcon -- \"$7\" \"$t\" || exit 50; fi\n"
    "fi\n"
    "sync -- \"$t\" || exit 49\n"
    "mv -f -T -- \"$t\" \"$r\" || exit 51\n"
    "trap - 0\n"
    "sync -- \"$d\" || exit 49\n"
    "[ \"$(sha256sum <\"$r\")\" = \"$2  -\" ] || exit 52\n";

/* path, SHA-256 */
static const char claim_script[] =
    SCRIPT_HEAD "exists() { [ -e \"$1\" ] || [ -L \"$1\" ]; }\n"
                "if exists \"$1\"; then exit 53; fi\n"
                "case $1 in */*) d=${1%/*}/;; *) d=./;; esac\n"
                "[ -d \"$d\" ] || missing \"$d\"\n" SCRIPT_DRAFT "sync -- \"$t\" || exit 49\n"
                "ln -T -- \"$t\" \"$1\" || { if exists \"$1\"; then exit 53; fi; exit 51; }\n"
                "rm -f -- \"$t\"\n"
                "trap - 0\n"
                "sync -- \"$d\" || { rm -f -- \"$1\"; exit 49; }\n";

/* path */
static const char remove_script[] = SCRIPT_HEAD "case $1 in */*) d=${1%/*}/;; *) d=./;; esac\n"
                                                "rm -f -- \"$1\" || exit 51\n"
                                                "[ ! -d \"$d\" ] || sync -- \"$d\"\n";

static bool script_error(struct host *host, const char *path, const struct host_result *result,
                         struct err *err)
{
    enum err_code code = ERR_CODE_host_file;
    const char *why = "cannot be reached by a command";
    char words[320];
    host_last_words(result->error_text, result->error_size, words, sizeof words);
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        if ((int)meanings[i].status == result->exit_status) {
            code = meanings[i].code;
            why = meanings[i].why;
        }
    }
    /* a file that may not be looked at is not one that is missing */
    if (code == ERR_CODE_not_found && strstr(result->error_text, "Permission denied") != NULL) {
        code = ERR_CODE_host_file;
        why = "cannot be found";
    }
    if (result->timed_out) {
        code = ERR_CODE_timeout;
        why = "was not done in time";
    }
    err_set(err, code, "'%s' %s%s%s", path, why, words[0] != '\0' ? ": " : "", words);
    err_native(err, result->exit_status, "exit");
    if (result->exit_status == SCRIPT_LINKED)
        err_hint(err, "give each name its own copy of the file");
    if (result->exit_status == SCRIPT_IMMUTABLE)
        err_hint(err, "chattr -i -a '%s' takes the mark away", path);
    if (text_starts_with(result->error_text, "sudo:"))
        err_hint(err, "let sudo run /bin/sh for this user without a password");
    return err_origin(err, "%s", host->label);
}

struct script {
    const char *text;
    const char *arguments[7]; /* path first */
    size_t argument_count;
    struct bytes input;
    size_t output_limit_bytes;
};

/* True also where the script failed: its result says so. */
static bool script_run(struct host *host, const struct script *script, int64_t deadline,
                       struct arena *arena, struct host_result *out, struct err *err)
{
    const char *argv[4 + COUNT_OF(script->arguments) + 1] = {"/bin/sh", "-c", script->text,
                                                             "dbsweep"};
    for (size_t i = 0; i < script->argument_count; i++)
        argv[4 + i] = script->arguments[i];
    const struct host_command command = {.argv = argv,
                                         .input = script->input,
                                         .deadline = deadline,
                                         .output_limit_bytes = script->output_limit_bytes};
    return host->driver->run(host, &command, arena, out, err);
}

static bool succeeded(const struct host_result *result)
{
    return result->exit_status == 0 && !result->timed_out;
}

/* "MARK mode uid gid links\nlabel\nreal path\0content" */
static bool facts_parse(const struct host_result *result, struct arena *arena, struct bytes *out,
                        struct host_file *out_file)
{
    const char *end = result->output + result->output_size;
    const char *mark = memmem(result->output, result->output_size, FACTS_MARK, strlen(FACTS_MARK));
    const char *nul = mark == NULL ? NULL : memchr(mark, '\0', (size_t)(end - mark));
    if (nul == NULL)
        return false;
    const char *label = strchr(mark, '\n');
    const char *path = label == NULL ? NULL : strchr(label + 1, '\n');
    unsigned mode = 0;
    unsigned uid = 0;
    unsigned gid = 0;
    unsigned links = 0;
    if (path == NULL)
        return false;
    const char *numbers = mark + strlen(FACTS_MARK);
    /* NOLINTNEXTLINE(cert-err34-c): stat's own numbers; their count is checked */
    if (sscanf(numbers, "%o %u %u %u", &mode, &uid, &gid, &links) != 4)
        return false;
    *out = (struct bytes){.data = nul + 1, .size = (size_t)(end - nul - 1)};
    *out_file = (struct host_file){
        .mode = mode & 07777,
        .uid = uid,
        .gid = gid,
        .size_bytes = (int64_t)out->size,
        .real_path = arena_strdup(arena, path + 1),
        .selinux = arena_strndup(arena, label + 1, (size_t)(path - label - 1)),
        .link_count = links,
    };
    host_sha256(*out, out_file->sha256);
    return true;
}

bool shell_file_get(struct host *host, const char *path, int64_t deadline, struct arena *arena,
                    struct bytes *out, struct host_file *out_file, struct err *err)
{
    const struct script script = {.text = get_script,
                                  .arguments = {path},
                                  .argument_count = 1,
                                  .output_limit_bytes = HOST_FILE_LIMIT_BYTES + FACTS_BYTES};
    struct host_result result;
    struct host_file unwanted = {.real_path = NULL};
    struct host_file *file = out_file != NULL ? out_file : &unwanted;
    if (!script_run(host, &script, deadline, arena, &result, err))
        return false;
    if (result.truncated)
        result.exit_status = SCRIPT_LARGE;
    if (!succeeded(&result))
        return script_error(host, path, &result, err);
    if (!facts_parse(&result, arena, out, file)) {
        err_set(err, ERR_CODE_host_file, "'%s' cannot be read: an answer of another form came back",
                path);
        return err_origin(err, "%s", host->label);
    }
    return file->real_path != NULL && file->selinux != NULL ? true : err_memory(err);
}

bool shell_file_put(struct host *host, const char *path, struct bytes content,
                    const struct host_file *as, bool create, int64_t deadline, struct err *err)
{
    char sha256[65];
    char mode[16] = "-";
    char uid[16] = "-";
    char gid[16] = "-";
    host_sha256(content, sha256);
    if (as != NULL) {
        snprintf(mode, sizeof mode, "%o", (unsigned)(as->mode & 07777));
        snprintf(uid, sizeof uid, "%u", (unsigned)as->uid);
        snprintf(gid, sizeof gid, "%u", (unsigned)as->gid);
    }
    const char *label = as != NULL && as->selinux != NULL ? as->selinux : "";
    const struct script script = {
        .text = put_script,
        .arguments = {path, sha256, create ? "1" : "0", mode, uid, gid, label},
        .argument_count = 7,
        .input = content,
        .output_limit_bytes = FACTS_BYTES};
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    struct host_result result;
    arena_open(&arena, (size_t)256 * 1024);
    if (!script_run(host, &script, deadline, &arena, &result, err))
        return false;
    return succeeded(&result) || script_error(host, path, &result, err);
}

bool shell_file_claim(struct host *host, const char *path, struct bytes content, int64_t deadline,
                      bool *out_created, struct err *err)
{
    char sha256[65];
    host_sha256(content, sha256);
    const struct script script = {.text = claim_script,
                                  .arguments = {path, sha256},
                                  .argument_count = 2,
                                  .input = content,
                                  .output_limit_bytes = FACTS_BYTES};
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    struct host_result result;
    arena_open(&arena, (size_t)256 * 1024);
    if (!script_run(host, &script, deadline, &arena, &result, err))
        return false;
    *out_created = succeeded(&result);
    return *out_created || (result.exit_status == SCRIPT_EXISTS && !result.timed_out) ||
           script_error(host, path, &result, err);
}

bool shell_file_remove(struct host *host, const char *path, int64_t deadline, struct err *err)
{
    const struct script script = {.text = remove_script,
                                  .arguments = {path},
                                  .argument_count = 1,
                                  .output_limit_bytes = FACTS_BYTES};
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    struct host_result result;
    arena_open(&arena, (size_t)256 * 1024);
    if (!script_run(host, &script, deadline, &arena, &result, err))
        return false;
    return succeeded(&result) || script_error(host, path, &result, err);
}
