/*
 * Arguments -> command -> exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "sweeper/base/log.h"
#include "sweeper/base/stop.h"
#include "sweeper/commands.h"
#include "sweeper/load/load.h"

static bool configure_log(const struct cli *cli, struct err *err)
{
    const char *form = cli_text(cli, "--log");
    bool is_json = form != NULL && strcmp(form, "json") == 0;
    if (form != NULL && !is_json && strcmp(form, "text") != 0) {
        err_set(err, ERR_CODE_usage, "--log takes text or json, not \"%s\"", form);
        return err_hint(err, "--log json");
    }
    enum log_level level = cli_has(cli, "--verbose") ? LOG_DEBUG
                           : cli_has(cli, "--quiet") ? LOG_WARN
                                                     : LOG_INFO;
    log_configure(level, is_json ? LOG_JSON : LOG_TEXT);
    return true;
}

static int dispatch(const struct cli *cli)
{
    switch (cli->command) {
#define COMMAND(id, name, arguments, sentence, text)                                               \
    case CLI_COMMAND_##id:                                                                         \
        return command_##id(cli);
#define OPTION(command, id, name, argument, type, fallback, sentence)
#include "sweeper/options.def"
#undef COMMAND
#undef OPTION
    case CLI_NONE:
        break;
    }
    cli_print_help(stdout, NULL);
    return err_exit_status(ERR_PLAN);
}

/* A standard stream that the caller closed is opened on /dev/null, or its number would go to the
 * next file, the store perhaps, and log lines be written into that. The wrong way round: a result
 * that cannot be printed stays an error. */
static bool hold_standard_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        int way = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF && open("/dev/null", way) != stream) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct arena arena;
    struct err err;
    struct cli cli;
    err_clear(&err);
    if (!hold_standard_streams()) {
        return err_exit_status(ERR_BUG);
    }
    backends_check();
    /* A load worker is this program too; it speaks frames on its standard input and output, and
     * ends when its parent does, so it takes no stop signals of its own. */
    if (argc == 3 && strcmp(argv[1], "load") == 0 && strcmp(argv[2], "--worker") == 0) {
        return load_worker_main(0, 1);
    }
    stop_install();
    arena_open(&arena, 64u << 20);
    if (!cli_parse(argc, argv, &arena, &cli, &err) || !configure_log(&cli, &err)) {
        int status = command_fail(&err);
        arena_close(&arena);
        return status;
    }
    int status = dispatch(&cli);
    arena_close(&arena);
    return status;
}
