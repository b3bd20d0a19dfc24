/*
 * Pragmas in canonical values. SQLite takes nonsense without a word and ignores names it does not
 * know, so names come from the catalogue only and whoever sets a value reads it back.
 */
#include "backends/sqlite/pragma.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knobs/catalogue.h"
#include "sweeper/base/text.h"

enum { ANSWER_BYTES = 128, SQL_BYTES = 256 };

bool pragma_path(const char *connect, const char **out, struct err *err)
{
    const char *path = connect != NULL ? connect : "";
    if (text_starts_with(path, "file=")) {
        path += strlen("file=");
    }
    if (path[0] == '\0') {
        err_set(err, ERR_CODE_unsupported, "no database file is named");
        return err_hint(err, "connect = \"PATH\"");
    }
    if (path[0] == ':' || text_starts_with(path, "file:")) {
        err_set(err, ERR_CODE_unsupported, "\"%.200s\" is not a database file", path);
        return err_hint(err, "a database in memory has nothing to restart; connect = \"PATH\"");
    }
    *out = path;
    return true;
}

void pragma_close(sqlite3 **db)
{
    sqlite3_close_v2(*db);
    *db = NULL;
}

bool pragma_error(sqlite3 *db, enum err_code code, struct err *err)
{
    err_set(err, code, "%s", sqlite3_errmsg(db));
    return err_native(err, sqlite3_extended_errcode(db), "SQLITE");
}

bool pragma_open(const char *path, int flags, int64_t busy_ms, sqlite3 **out, struct err *err)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL) !=
        SQLITE_OK) {
        pragma_error(db, ERR_CODE_connection, err);
        pragma_close(&db);
        return err_origin(err, "%s", path);
    }
    sqlite3_busy_timeout(db, busy_ms < 0 || busy_ms > INT32_MAX ? INT32_MAX : (int)busy_ms);
    *out = db;
    return true;
}

static void statement_close(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}

bool pragma_ask(sqlite3 *db, const char *sql, char *out, size_t size, bool *out_has_row,
                struct err *err)
{
    CLEANUP(statement_close) sqlite3_stmt *statement = NULL;
    out[0] = '\0';
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        return pragma_error(db, ERR_CODE_statement, err);
    }
    int status = sqlite3_step(statement);
    if (out_has_row != NULL) {
        *out_has_row = status == SQLITE_ROW;
    }
    if (status == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(statement, 0);
        snprintf(out, size, "%s", text != NULL ? (const char *)text : "");
    }
    while (status == SQLITE_ROW) {
        status = sqlite3_step(statement);
    }
    return status == SQLITE_DONE || pragma_error(db, ERR_CODE_statement, err);
}

/* ---- reading ---- */

static const struct knob *catalogued(const struct knob *knob)
{
    size_t count = 0;
    const struct knob *knobs = catalogue_knobs("sqlite", &count);
    return knob_find(knobs, count, knob->name);
}

bool pragma_is_in_file(const struct knob *knob)
{
    return knob->apply == KNOB_REBUILD;
}

bool pragma_is_journal_mode(const struct knob *knob)
{
    return text_equal_nocase(knob->name, "journal_mode");
}

/* A positive answer of cache_size counts pages. */
static bool read_pages(sqlite3 *db, int64_t pages, struct value *out, struct err *err)
{
    char answer[ANSWER_BYTES];
    if (!pragma_ask(db, "pragma page_size", answer, sizeof answer, NULL, err)) {
        return false;
    }
    out->kind = VALUE_INTEGER;
    out->integer = pages * strtoll(answer, NULL, 10);
    return true;
}

static bool read_answer(sqlite3 *db, const struct knob *knob, const char *answer,
                        struct arena *arena, struct value *out, struct err *err)
{
    struct err ignored;
    int64_t number = 0;
    err_clear(&ignored);
    bool is_number = units_parse_int(answer, &number, &ignored);
    if (is_number && knob->type == KNOB_BOOL) {
        answer = number != 0 ? "on" : "off"; /* cache_spill answers with its threshold */
    }
    *out = (struct value){.asked = arena_strdup(arena, answer)};
    if (out->asked == NULL) {
        return err_memory(err);
    }
    if (is_number && knob->bare < 0 && number > 0) {
        return read_pages(db, number, out, err);
    }
    /* An answer outside our row's range is still what the library does. */
    if (!value_parse(knob, answer, NULL, arena, out, &ignored)) {
        *out = (struct value){.kind = VALUE_TEXT, .text = out->asked, .asked = out->asked};
    }
    return true;
}

bool pragma_read(sqlite3 *db, const struct knob *knob, struct arena *arena, struct value *out,
                 bool *out_known, struct err *err)
{
    const struct knob *row = catalogued(knob);
    char sql[SQL_BYTES];
    char answer[ANSWER_BYTES];
    *out = (struct value){.kind = VALUE_UNSET, .asked = "unset"};
    *out_known = row != NULL;
    if (row == NULL) {
        return true;
    }
    snprintf(sql, sizeof sql, "pragma %s", row->name);
    if (!pragma_ask(db, sql, answer, sizeof answer, out_known, err)) {
        return err_while(err, "reading %s", row->name);
    }
    /* Before its file is opened SQLite has no answer here, which means none is mapped. */
    if (!*out_known && strcmp(row->name, "mmap_size") == 0) {
        *out_known = true;
        snprintf(answer, sizeof answer, "0");
    }
    return !*out_known || read_answer(db, knob, answer, arena, out, err);
}

/* ---- writing ---- */

static bool is_special(const struct knob *knob, int64_t number)
{
    struct bytes rest = knob_list(knob->specials);
    struct bytes piece;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%" PRId64, number);
    while (knob_list_next(&rest, '|', &piece)) {
        if (bytes_are(piece, wanted)) {
            return true;
        }
    }
    return false;
}

static bool write_integer(const struct knob *knob, int64_t number, char *out, size_t size,
                          struct err *err)
{
    if (knob->type == KNOB_BOOL) {
        snprintf(out, size, "%s", number != 0 ? "on" : "off");
        return true;
    }
    int64_t bare = is_special(knob, number) || knob->bare == 0 ? 1 : knob->bare;
    if (number % bare != 0) {
        err_set(err, ERR_CODE_knob_value, "%s: %" PRId64 " is no multiple of %" PRId64, knob->name,
                number, bare < 0 ? -bare : bare);
        return err_hint(err, "SQLite counts it in steps of that size");
    }
    snprintf(out, size, "%" PRId64, number / bare);
    return true;
}

static bool write_literal(const struct knob *knob, const struct value *value, char *out,
                          size_t size, struct err *err)
{
    if (value->kind == VALUE_INTEGER) {
        return write_integer(knob, value->integer, out, size, err);
    }
    if (value->kind == VALUE_REAL) {
        units_format_real(value->real, out, size);
        return true;
    }
    sqlite3_snprintf((int)size, out, "%Q", value->text);
    return true;
}

bool pragma_text(const struct knob *knob, const struct value *value, char *out, size_t size,
                 struct err *err)
{
    const struct knob *row = catalogued(knob);
    char literal[ANSWER_BYTES];
    out[0] = '\0';
    if (value->kind == VALUE_BASELINE || value->kind == VALUE_UNSET) {
        return true;
    }
    if (row == NULL) {
        return err_set(err, ERR_CODE_knob_unknown, "no pragma is known as \"%s\"", knob->name);
    }
    if (!write_literal(knob, value, literal, sizeof literal, err)) {
        return false;
    }
    snprintf(out, size, "pragma %s = %s", row->name, literal);
    return true;
}

bool pragma_write(sqlite3 *db, const struct knob *knob, const struct value *value, struct err *err)
{
    char sql[SQL_BYTES];
    char answer[ANSWER_BYTES];
    if (!pragma_text(knob, value, sql, sizeof sql, err)) {
        return false;
    }
    return sql[0] == '\0' || pragma_ask(db, sql, answer, sizeof answer, NULL, err) ||
           err_while(err, "setting %s", knob->name);
}

bool pragma_write_session(sqlite3 *db, const struct setting *settings, size_t count,
                          struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!pragma_is_in_file(settings[i].knob) &&
            !pragma_write(db, settings[i].knob, &settings[i].value, err)) {
            return false;
        }
    }
    return true;
}
