/*
 * The array of all host drivers, opening by spec, and what every driver shares: short names and
 * the command whose only success is exit status 0. How a driver reaches its machine stands in the
 * driver's own file.
 */
#include "sweeper/host/host.h"

#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/host/local.h"
#include "sweeper/host/remote.h"

/* Of the command and of its error text, as far as they fit an error record's text. */
#define SHOWN_COMMAND_BYTES 160
#define SHOWN_TAIL_BYTES 380

const struct host_driver *const host_drivers[] = {
    &host_local,
    &host_ssh,
    &host_openssh,
};
const size_t host_driver_count = COUNT_OF(host_drivers);

static const struct host_driver *driver_find(const char *name)
{
    for (size_t i = 0; i < host_driver_count; i++) {
        if (strcmp(host_drivers[i]->name, name) == 0)
            return host_drivers[i];
    }
    return NULL;
}

static void driver_check(const struct host_driver *driver)
{
    assert(driver->open != NULL && driver->close != NULL);
    assert(driver->spawn != NULL && driver->read != NULL && driver->write != NULL);
    assert(driver->finish != NULL && driver->descriptor != NULL && driver->run != NULL);
    assert(driver->get != NULL && driver->put != NULL && driver->claim != NULL);
    assert(driver->remove != NULL && driver->facts != NULL);
    (void)driver;
}

bool host_open(const struct host_spec *spec, int64_t deadline, struct host **out, struct err *err)
{
    const char *name = "local";
    if (spec != NULL && spec->ssh != NULL)
        name = spec->transport != NULL ? spec->transport : "libssh2";
    const struct host_driver *driver = driver_find(name);
    if (driver == NULL)
        return err_set(err, ERR_CODE_unsupported, "there is no transport '%s'", name);
    driver_check(driver);
    return driver->open(spec, deadline, out, err);
}

void host_close(struct host *host)
{
    if (host != NULL)
        host->driver->close(host);
}

bool host_run(struct host *host, const struct host_command *command, struct arena *arena,
              struct host_result *out, struct err *err)
{
    return host->driver->run(host, command, arena, out, err);
}

bool host_get(struct host *host, const char *path, int64_t deadline, struct arena *arena,
              struct bytes *out, struct host_file *out_file, struct err *err)
{
    return host->driver->get(host, path, deadline, arena, out, out_file, err);
}

bool host_put(struct host *host, const char *path, struct bytes content, const struct host_file *as,
              bool create, int64_t deadline, struct err *err)
{
    return host->driver->put(host, path, content, as, create, deadline, err);
}

void host_last_words(const char *text, size_t size, char *buffer, size_t capacity)
{
    while (size > 0 &&
           (text[size - 1] == ' ' || (text[size - 1] >= '\t' && text[size - 1] <= '\r')))
        size--;
    size_t from = size > capacity - 1 ? size - (capacity - 1) : 0;
    while (from > 0 && from < size && ((unsigned char)text[from] & 0xc0) == 0x80)
        from++; /* the rest of a character whose start was cut off */
    for (; from < size; from++, buffer++) {
        bool is_control = (text[from] >= '\0' && text[from] < ' ') || text[from] == '\x7f';
        *buffer = ' ';
        if (!is_control)
            *buffer = text[from];
    }
    *buffer = '\0';
}

static bool command_error(struct host *host, const struct host_command *command,
                          struct arena *arena, const struct host_result *result, struct err *err)
{
    const char *line = host_quote(arena, command->argv);
    if (line == NULL)
        return err_memory(err);
    const char *cut = strlen(line) > SHOWN_COMMAND_BYTES ? "..." : "";
    char tail[SHOWN_TAIL_BYTES];
    if (result->error_size > 0)
        host_last_words(result->error_text, result->error_size, tail, sizeof tail);
    else
        host_last_words(result->output, result->output_size, tail, sizeof tail);
    const char *colon = tail[0] != '\0' ? ": " : "";
    if (result->timed_out)
        err_set(err, ERR_CODE_timeout, "%.*s%s did not end in time%s%s", SHOWN_COMMAND_BYTES, line,
                cut, colon, tail);
    else if (result->signal_number != 0)
        err_set(err, ERR_CODE_command_failed, "%.*s%s was ended by signal %d%s%s",
                SHOWN_COMMAND_BYTES, line, cut, result->signal_number, colon, tail);
    else
        err_set(err, ERR_CODE_command_failed, "%.*s%s exited with status %d%s%s",
                SHOWN_COMMAND_BYTES, line, cut, result->exit_status, colon, tail);
    if (result->signal_number != 0)
        err_native(err, result->signal_number, "signal");
    else
        err_native(err, result->exit_status, "exit");
    return err_origin(err, "%s", host->label);
}

bool host_run_ok(struct host *host, const struct host_command *command, struct arena *arena,
                 struct host_result *out, struct err *err)
{
    struct host_result unwanted = {.exit_status = -1};
    struct host_result *result = out != NULL ? out : &unwanted;
    if (!host->driver->run(host, command, arena, result, err))
        return false;
    if (result->exit_status == 0 && !result->timed_out)
        return true;
    return command_error(host, command, arena, result, err);
}

bool host_ask(struct host *host, const char *const *argv, int64_t deadline, struct arena *arena,
              const char **out, struct err *err)
{
    struct host_result result;
    const struct host_command command = {.argv = argv, .deadline = deadline};
    *out = NULL;
    if (!host_run(host, &command, arena, &result, err))
        return false;
    if (result.timed_out || result.signal_number != 0) {
        err_set(err, ERR_CODE_timeout, "%s did not answer in time", argv[0]);
        return err_origin(err, "%s", host->label);
    }
    if (result.exit_status != 0)
        return true;
    size_t size = result.output_size;
    while (size > 0 && result.output[size - 1] == '\n')
        size--;
    *out = arena_strndup(arena, result.output, size);
    return *out != NULL || err_memory(err);
}
