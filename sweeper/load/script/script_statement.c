/*
 * One statement of a script file: where it ends, which variables it has, what it is called, and
 * whether it is a BEGIN, COMMIT or ROLLBACK, which the driver sends itself.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/load/script/script.h"

enum { WORD_BYTES = 16, WORD_COUNT = 5, NAME_BYTES = 60 };

/* ---- words ---- */

/* The first words of a statement, in capitals; "" where there is none. A sign ends them. */
struct words {
    char words[WORD_COUNT][WORD_BYTES];
    size_t count;
};

static void copy_word(char out[WORD_BYTES], const char *word, size_t size)
{
    size_t kept = size < WORD_BYTES - 1 ? size : WORD_BYTES - 1;
    for (size_t i = 0; i < kept; i++) {
        out[i] = (char)(word[i] >= 'a' && word[i] <= 'z' ? word[i] - 'a' + 'A' : word[i]);
    }
    out[kept] = '\0';
}

static void read_words(const char *sql, enum dialect dialect, struct words *out)
{
    *out = (struct words){.count = 0};
    for (size_t at = 0, size = 0; sql[at] != '\0' && out->count < WORD_COUNT; at += size) {
        bool is_closed = true;
        enum script_token token = script_token(sql, at, dialect, &size, &is_closed);
        if (token == SCRIPT_TOKEN_WORD) {
            copy_word(out->words[out->count++], sql + at, size);
        } else if (token == SCRIPT_TOKEN_BYTE && (unsigned char)sql[at] > ' ' && sql[at] != '(') {
            return;
        }
    }
}

static bool is_word(const struct words *words, size_t at, const char *word)
{
    return strcmp(words->words[at], word) == 0;
}

/* "BEGIN", "BEGIN WORK", "BEGIN TRANSACTION" and nothing else. */
static bool is_plain(const struct words *words)
{
    return words->count == 1 ||
           (words->count == 2 && (is_word(words, 1, "WORK") || is_word(words, 1, "TRANSACTION")));
}

static bool refuse_control(struct script_reader *reader, int line, const char *what)
{
    script_fail(reader, line, "%s with options is not possible: the driver sends its own", what);
    return err_hint(reader->err, "write %s; PostgreSQL takes set transaction ... behind a begin",
                    what);
}

/* What the statement is to the driver. */
static bool find_kind(struct script_reader *reader, const struct words *words, int line,
                      enum script_item_kind *out)
{
    bool is_start = is_word(words, 0, "START") && is_word(words, 1, "TRANSACTION");
    bool is_commit = is_word(words, 0, "COMMIT") || is_word(words, 0, "END");
    bool is_rollback = is_word(words, 0, "ROLLBACK") || is_word(words, 0, "ABORT");
    bool is_other = is_word(words, 1, "PREPARED");
    for (size_t i = 1; i < words->count; i++) {
        is_other = is_other || is_word(words, i, "TO");
    }
    *out = SCRIPT_STATEMENT;
    if (is_start || is_word(words, 0, "BEGIN")) {
        *out = SCRIPT_BEGIN;
        return (is_start && words->count == 2) || (!is_start && is_plain(words)) ||
               refuse_control(reader, line, "BEGIN");
    }
    if ((!is_commit && !is_rollback) || is_other) {
        return true;
    }
    *out = is_commit ? SCRIPT_COMMIT : SCRIPT_ROLLBACK;
    return is_plain(words) || refuse_control(reader, line, is_commit ? "COMMIT" : "ROLLBACK");
}

static bool is_query(const struct words *words)
{
    static const char *const queries[] = {"SELECT", "VALUES", "TABLE", "SHOW"};
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        if (is_word(words, 0, queries[i])) {
            return true;
        }
    }
    return false;
}

/* ---- bodies of routines ---- */

/* Within the body of a trigger or a procedure a semicolon ends nothing. */
struct body {
    bool is_create;
    bool is_routine;
    bool is_end; /* the word before was END */
    unsigned depth;
    size_t word_count;
};

/* Whether the word opens what an END closes. Behind an END that is CASE, nothing; what else stands
 * there was not counted when it began (IF, LOOP), and so the END is taken back. */
static bool opens(const char *word, bool was_end)
{
    static const char *const uncounted[] = {"IF", "LOOP", "WHILE", "REPEAT"};
    for (size_t i = 0; was_end && i < COUNT_OF(uncounted); i++) {
        if (strcmp(word, uncounted[i]) == 0) {
            return true;
        }
    }
    return strcmp(word, "BEGIN") == 0 || (strcmp(word, "CASE") == 0 && !was_end);
}

static void see_word(struct body *body, const char *text, size_t size)
{
    static const char *const routines[] = {"TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"};
    char word[WORD_BYTES];
    copy_word(word, text, size);
    bool was_end = body->is_end;
    body->is_end = false;
    body->is_create = body->is_create || (body->word_count == 0 && strcmp(word, "CREATE") == 0);
    body->word_count++;
    for (size_t i = 0; body->is_create && i < COUNT_OF(routines); i++) {
        body->is_routine = body->is_routine || strcmp(word, routines[i]) == 0;
    }
    if (!body->is_routine) {
        return;
    }
    if (strcmp(word, "END") == 0 && body->depth > 0) {
        body->depth--;
        body->is_end = true;
    } else if (opens(word, was_end)) {
        body->depth++;
    }
}

/* ---- pieces ---- */

struct statement {
    struct script_reader *reader;
    int line;
    const char *piece; /* where the text under way begins */
    struct script_piece *pieces;
    size_t count;
    size_t room;
};

static bool add_piece(struct statement *statement, const char *end, unsigned variable, bool is_mark)
{
    struct script_reader *reader = statement->reader;
    if (statement->count == statement->room) {
        size_t room = statement->room * 2 + 4;
        struct script_piece *pieces = ARENA_ARRAY(reader->arena, struct script_piece, room);
        if (pieces == NULL) {
            return err_memory(reader->err);
        }
        if (statement->count > 0) {
            memcpy(pieces, statement->pieces, statement->count * sizeof *pieces);
        }
        statement->pieces = pieces;
        statement->room = room;
    }
    statement->pieces[statement->count++] = (struct script_piece){
        .text = {.data = statement->piece, .size = (size_t)(end - statement->piece)},
        .variable = variable,
        .is_mark = is_mark};
    reader->item.param_count += variable != SCRIPT_NONE;
    return true;
}

static bool add_variable(struct statement *statement, size_t size)
{
    struct script_reader *reader = statement->reader;
    const char *name = reader->at + 1;
    unsigned variable = script_variable_find(reader->variables, reader->file->path, name, size - 1);
    if (variable == SCRIPT_NONE) {
        int shown = size - 1 < 60 ? (int)size - 1 : 60;
        script_fail(reader, reader->line, "there is no variable :%.*s", shown, name);
        return err_hint(reader->err,
                        "\\set it above, or give it: variables = [ \"%.*s=1\" ]; a colon before a "
                        "blank is no variable",
                        shown, name);
    }
    if (!add_piece(statement, reader->at, variable, false)) {
        return false;
    }
    statement->piece = reader->at + size;
    return true;
}

/* A question mark stands for a parameter in what is prepared. */
static bool add_mark(struct statement *statement)
{
    struct script_reader *reader = statement->reader;
    if (reader->dialect != DIALECT_POSTGRESQL) {
        script_fail(reader, reader->line, "a question mark stands for nothing here");
        return err_hint(reader->err, "a variable is written :name");
    }
    bool ok = add_piece(statement, reader->at, SCRIPT_NONE, true);
    statement->piece = reader->at + 1;
    return ok;
}

/* Parameters of the system's own would be mixed up with ours. */
static bool is_own_parameter(const struct script_reader *reader)
{
    char byte = reader->at[0];
    char next = reader->at[1];
    bool is_digit = next >= '0' && next <= '9';
    bool is_letter = ((next | 0x20) >= 'a' && (next | 0x20) <= 'z') || next == '_';
    return (reader->dialect == DIALECT_POSTGRESQL && byte == '$' && is_digit) ||
           (reader->dialect == DIALECT_SQLITE && (byte == '$' || byte == '@') && is_letter);
}

static bool refuse_byte(struct statement *statement)
{
    struct script_reader *reader = statement->reader;
    if (is_own_parameter(reader)) {
        script_fail(reader, reader->line, "%.2s... is a parameter without a value", reader->at);
        return err_hint(reader->err, "a variable is written :name");
    }
    script_fail(reader, reader->line, "a \\ command within the statement of line %d",
                statement->line);
    return err_hint(reader->err, "end the statement with a semicolon");
}

static bool is_line_start(const struct script_reader *reader)
{
    const char *at = reader->at;
    while (at > reader->file->text && (at[-1] == ' ' || at[-1] == '\t')) {
        at--;
    }
    return at == reader->file->text || at[-1] == '\n';
}

static void count_lines(struct script_reader *reader, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        reader->line += reader->at[i] == '\n';
    }
    reader->at += size;
}

/* A sign that stands for more than itself. */
static bool take_byte(struct statement *statement)
{
    struct script_reader *reader = statement->reader;
    bool is_command = *reader->at == '\\' && is_line_start(reader);
    return is_own_parameter(reader) || is_command ? refuse_byte(statement)
                                                  : *reader->at != '?' || add_mark(statement);
}

/* Goes over one piece of the statement. */
static bool read_token(struct statement *statement, struct body *body)
{
    struct script_reader *reader = statement->reader;
    size_t size = 0;
    bool is_closed = true;
    size_t offset = (size_t)(reader->at - reader->file->text);
    enum script_token token =
        script_token(reader->file->text, offset, reader->dialect, &size, &is_closed);
    if (!is_closed) {
        return script_fail(reader, reader->line, "the %s that begins here is not closed",
                           token == SCRIPT_TOKEN_QUOTED ? "quote" : "comment");
    }
    bool ok = token == SCRIPT_TOKEN_VARIABLE ? add_variable(statement, size)
              : token == SCRIPT_TOKEN_BYTE   ? take_byte(statement)
                                             : true;
    if (token == SCRIPT_TOKEN_WORD) {
        see_word(body, reader->at, size);
    }
    count_lines(reader, size);
    return ok;
}

/* ---- name and text ---- */

static void make_sql(const struct statement *statement, struct text *out)
{
    for (size_t i = 0; i < statement->count; i++) {
        const struct script_piece *piece = &statement->pieces[i];
        text_add_bytes(out, piece->text.data, piece->text.size);
        text_add(out, piece->is_mark                   ? "?"
                                                         "?"
                      : piece->variable != SCRIPT_NONE ? "?"
                                                       : "");
    }
}

/* The statement on one line, without comments, cut to a length that a table can show. */
static bool make_name(struct script_reader *reader, const char *sql, size_t sql_size)
{
    char name[NAME_BYTES + 4] = "";
    size_t size = 0;
    size_t at = 0;
    bool is_blank = false;
    while (at < sql_size && size < NAME_BYTES) {
        size_t piece = 1;
        bool is_closed = true;
        enum script_token token = script_token(sql, at, reader->dialect, &piece, &is_closed);
        if (token == SCRIPT_TOKEN_COMMENT || (unsigned char)sql[at] <= ' ') {
            is_blank = size > 0;
            at += token == SCRIPT_TOKEN_COMMENT ? piece : 1;
            continue;
        }
        if (is_blank && size < NAME_BYTES) {
            name[size++] = ' ';
        }
        is_blank = false;
        for (size_t i = 0; i < piece && size < NAME_BYTES; i++) {
            name[size++] = (char)((unsigned char)sql[at + i] < ' ' ? ' ' : sql[at + i]);
        }
        at += piece;
    }
    bool is_cut = at < sql_size || size == NAME_BYTES;
    while (is_cut && size > 0 && ((unsigned char)name[size - 1] & 0xc0) == 0x80) {
        size--; /* back to a whole character */
    }
    size -= is_cut && size > 0 && (unsigned char)name[size - 1] >= 0xc0;
    size -= is_cut && size > 0 && name[size - 1] == ' ';
    snprintf(name + size, sizeof name - size, "%s", is_cut ? "..." : "");
    reader->item.name = arena_strdup(reader->arena, name);
    return reader->item.name != NULL || err_memory(reader->err);
}

/* Blanks before the semicolon are of no use to anybody. */
static const char *without_blanks(const char *begin, const char *end)
{
    while (end > begin && (unsigned char)end[-1] <= ' ') {
        end--;
    }
    return end;
}

static bool finish(struct statement *statement, const char *begin, const char *end,
                   const char *label, bool *out_writes)
{
    struct script_reader *reader = statement->reader;
    struct script_item *item = &reader->item;
    struct words words;
    struct text sql;
    end = without_blanks(statement->piece, end);
    const char *raw = arena_strndup(reader->arena, begin, (size_t)(end - begin));
    text_open(&sql, reader->arena);
    if (raw == NULL || !add_piece(statement, end, SCRIPT_NONE, false)) {
        return err_memory(reader->err);
    }
    make_sql(statement, &sql);
    read_words(raw, reader->dialect, &words);
    if (is_word(&words, 0, "DELIMITER")) {
        script_fail(reader, statement->line, "delimiter is a command of MySQL's own client");
        return err_hint(reader->err, "leave it out: the end of a routine is found without");
    }
    item->line = statement->line;
    item->label = label;
    item->sql = text_done(&sql);
    item->pieces = statement->pieces;
    item->piece_count = statement->count;
    *out_writes = !is_query(&words);
    return (item->sql != NULL || err_memory(reader->err)) &&
           find_kind(reader, &words, statement->line, &item->kind) &&
           make_name(reader, raw, strlen(raw)) && (label == NULL || (item->name = label) != NULL);
}

bool script_statement_read(struct script_reader *reader, const char *label, bool *out_writes)
{
    const char *begin = reader->at;
    struct statement statement = {.reader = reader, .line = reader->line, .piece = begin};
    struct body body = {.depth = 0};
    reader->item = (struct script_item){.variable = SCRIPT_NONE};
    while (*reader->at != '\0' && (*reader->at != ';' || body.depth > 0)) {
        if (!read_token(&statement, &body)) {
            return false;
        }
    }
    const char *end = reader->at;
    if (body.depth > 0) {
        script_fail(reader, statement.line, "the body of the routine that begins here has no end");
        return err_hint(reader->err, "each BEGIN and CASE needs its END");
    }
    reader->at += *reader->at == ';';
    return finish(&statement, begin, end, label, out_writes);
}
