/*
 * The same tables and keys as `dbsweep show`, from a result that no store holds.
 */
#include "sweeper/load_report.h"

#include <string.h>

#include "store/views.h"
#include "sweeper/load_rows.h"

static void report_json(const struct load_result *result, const struct store_result *rows,
                        const char *flags, struct text *out)
{
    struct json json;
    json_open(&json, out);
    json_object_begin(&json);
    view_result_json(rows, &json);
    json_key(&json, "clients");
    json_int(&json, result->client_count);
    json_key(&json, "distribution");
    json_string(&json, result->distribution);
    json_key(&json, "flags");
    json_string(&json, flags);
    json_key(&json, "driver_cpu_s");
    json_real(&json, result->driver_cpu_s);
    json_key(&json, "p99_lag_ms");
    json_real(&json, result->p99_lag_ms);
    json_object_end(&json);
    text_add_char(out, '\n');
}

static void report_text(const struct load_result *result, const struct store_result *rows,
                        const char *flags, struct text *out)
{
    if (rows->statement_count > 0) {
        view_statement_table(rows->statements, rows->statement_count, rows->measured_s, out);
    }
    for (size_t i = 0; i < rows->metric_count; i++) {
        text_addf(out, "%s%s %.6g", i > 0 ? ", " : "", rows->metrics[i].name,
                  rows->metrics[i].value);
    }
    text_addf(out, "\n%u clients; rows drawn: %s\n", result->client_count,
              result->distribution[0] != '\0' ? result->distribution : "-");
    if (flags[0] != '\0') {
        text_addf(out, "flags: %s\n", flags);
    }
    for (size_t i = 0; i < rows->error_row_count; i++) {
        text_addf(out, "errors: %llu x %s in %s: %s\n", (unsigned long long)rows->errors[i].count,
                  rows->errors[i].code, rows->errors[i].transaction, rows->errors[i].text);
    }
}

bool load_report(const struct load_result *result, const char *format, struct arena *arena,
                 struct text *out, struct err *err)
{
    struct store_result rows;
    if (!load_rows(result, arena, &rows, err)) {
        return false;
    }
    const char *flags = load_result_flags(result, arena);
    if (flags == NULL) {
        return err_memory(err);
    }
    if (strcmp(format, "json") == 0) {
        report_json(result, &rows, flags, out);
    } else if (strcmp(format, "table") == 0) {
        report_text(result, &rows, flags, out);
    } else {
        err_set(err, ERR_CODE_usage, "there is no format \"%s\"", format);
        return err_hint(err, "table or json");
    }
    return !out->failed || err_memory(err);
}
