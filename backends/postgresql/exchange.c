/*
 * Messages are a type, a length that counts itself, and a body; all numbers are big-endian. A call
 * is over with ReadyForQuery. What the server may send at any time (a notice, a changed parameter,
 * a notification) is passed over; an error outside any call is how it says good-bye.
 */
#include "backends/postgresql/exchange.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backends/postgresql/connection.h"
#include "sweeper/base/text.h"

enum {
    HEADER_BYTES = 5,
    PROTOCOL_VERSION = 3,
    FIRST_CAPACITY = 2048,
    READS_A_PUMP = 64,
    COLUMN_LIMIT = 128,
    TAG_BYTES = 64
};
#define OUT_LIMIT_BYTES ((size_t)1 << 30)
#define IN_LIMIT_BYTES ((size_t)1 << 31)

bool exchange_suits(PGconn *conn)
{
    return PQsslInUse(conn) == 0 && PQgssEncInUse(conn) == 0 &&
           PQprotocolVersion(conn) == PROTOCOL_VERSION;
}

void exchange_open(struct exchange *exchange, int socket)
{
    *exchange = (struct exchange){.socket = socket, .is_over = true};
    arena_open(&exchange->out_arena, OUT_LIMIT_BYTES);
    arena_open(&exchange->in_arena, IN_LIMIT_BYTES);
}

void exchange_close(struct exchange *exchange)
{
    arena_close(&exchange->out_arena);
    arena_close(&exchange->in_arena);
}

/* ---- memory ---- */

/* Room for `needed` bytes in all; the first `kept` stay. */
static bool reserve(struct arena *arena, char **data, size_t *capacity, size_t kept, size_t needed)
{
    if (needed <= *capacity) {
        return true;
    }
    struct arena grown;
    size_t size = *capacity > 0 ? *capacity : FIRST_CAPACITY;
    while (size < needed) {
        size *= 2;
    }
    arena_open(&grown, arena->limit_bytes);
    char *room = arena_alloc(&grown, size);
    if (room == NULL) {
        arena_close(&grown);
        return false;
    }
    if (kept > 0) {
        memcpy(room, *data, kept);
    }
    arena_close(arena);
    *arena = grown;
    *data = room;
    *capacity = size;
    return true;
}

/* ---- sending ---- */

static char *put_16(char *at, size_t value)
{
    uint16_t bits = htobe16((uint16_t)value);
    memcpy(at, &bits, sizeof bits);
    return at + sizeof bits;
}

static char *put_32(char *at, size_t value)
{
    uint32_t bits = htobe32((uint32_t)value);
    memcpy(at, &bits, sizeof bits);
    return at + sizeof bits;
}

static char *put_bytes(char *at, const void *data, size_t size)
{
    if (size > 0) {
        memcpy(at, data, size);
    }
    return at + size;
}

static char *put_param(char *at, const struct param *param)
{
    if (param->type == PARAM_TEXT) {
        if (param->text.data == NULL) {
            return put_32(at, UINT32_MAX);
        }
        return put_bytes(put_32(at, param->text.size), param->text.data, param->text.size);
    }
    uint64_t bits = (uint64_t)param->integer;
    if (param->type == PARAM_REAL) {
        memcpy(&bits, &param->real, sizeof bits);
    }
    bits = htobe64(bits);
    return put_bytes(put_32(at, sizeof bits), &bits, sizeof bits);
}

static size_t param_bytes(const struct param *params, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += sizeof(uint16_t) + sizeof(uint32_t) +
                (params[i].type == PARAM_TEXT ? params[i].text.size : sizeof(uint64_t));
    }
    return size;
}

/* Forgets the last call's answer; what came after it is the beginning of this one's. */
static void start_call(struct exchange *exchange)
{
    size_t left = exchange->in_size - exchange->in_at;
    if (left > 0) {
        memmove(exchange->in, exchange->in + exchange->in_at, left);
    }
    exchange->in_size = left;
    exchange->in_at = 0;
    exchange->out_sent = 0;
    exchange->is_over = false;
    exchange->has_failed = false;
    exchange->affected = 0;
}

/* False where the connection broke. */
static bool flush(struct exchange *exchange)
{
    while (exchange->out_sent < exchange->out_size) {
        ssize_t sent = send(exchange->socket, exchange->out + exchange->out_sent,
                            exchange->out_size - exchange->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            exchange->out_sent += (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return true;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* A connection that broke is told of by pump, which finds the server's last words first. */
static bool begin(struct exchange *exchange, const char *end)
{
    exchange->out_size = (size_t)(end - exchange->out);
    if (!flush(exchange)) {
        exchange->out_sent = exchange->out_size;
    }
    return true;
}

bool exchange_send(struct exchange *exchange, const char *statement, const struct param *params,
                   size_t param_count, struct err *err)
{
    enum { FIXED_BYTES = 64 };
    size_t name_size = strlen(statement) + 1;
    size_t size = FIXED_BYTES + name_size + param_bytes(params, param_count);
    assert(param_count <= UINT16_MAX);
    start_call(exchange);
    if (size > INT32_MAX ||
        !reserve(&exchange->out_arena, &exchange->out, &exchange->out_capacity, 0, size)) {
        return err_memory(err);
    }
    char *at = exchange->out;
    *at++ = 'B';
    char *length = at;
    at = put_bytes(at + sizeof(uint32_t), "", 1); /* the portal without a name */
    at = put_bytes(at, statement, name_size);
    at = put_16(at, param_count);
    for (size_t i = 0; i < param_count; i++) {
        at = put_16(at, params[i].type != PARAM_TEXT);
    }
    at = put_16(at, param_count);
    for (size_t i = 0; i < param_count; i++) {
        at = put_param(at, &params[i]);
    }
    at = put_16(at, 0); /* all columns as text */
    put_32(length, (size_t)(at - length));
    static const char execute_and_sync[] = {'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, 'S', 0, 0, 0, 4};
    return begin(exchange, put_bytes(at, execute_and_sync, sizeof execute_and_sync));
}

bool exchange_send_text(struct exchange *exchange, const char *sql, struct err *err)
{
    size_t size = strlen(sql) + 1;
    start_call(exchange);
    if (!reserve(&exchange->out_arena, &exchange->out, &exchange->out_capacity, 0,
                 size + HEADER_BYTES)) {
        return err_memory(err);
    }
    exchange->out[0] = 'Q';
    char *at = put_32(exchange->out + 1, size + sizeof(uint32_t));
    return begin(exchange, put_bytes(at, sql, size));
}

bool exchange_is_sent(const struct exchange *exchange)
{
    return exchange->out_sent == exchange->out_size;
}

/* ---- receiving ---- */

static uint32_t get_32(const char *at)
{
    uint32_t bits = 0;
    memcpy(&bits, at, sizeof bits);
    return be32toh(bits);
}

static uint16_t get_16(const char *at)
{
    uint16_t bits = 0;
    memcpy(&bits, at, sizeof bits);
    return be16toh(bits);
}

struct message {
    char type;
    const char *body;
    size_t size; /* of the body */
};

enum reading { READING_WHOLE, READING_PART, READING_WRONG };

/* The message that starts at `at`. */
static enum reading read_message(const struct exchange *exchange, size_t at, struct message *out)
{
    size_t left = exchange->in_size - at;
    if (left < HEADER_BYTES) {
        return READING_PART;
    }
    size_t size = get_32(exchange->in + at + 1);
    if (size < sizeof(uint32_t) || size > INT32_MAX) {
        return READING_WRONG;
    }
    if (left < size + 1) {
        return READING_PART;
    }
    *out = (struct message){.type = exchange->in[at],
                            .body = exchange->in + at + HEADER_BYTES,
                            .size = size - sizeof(uint32_t)};
    return READING_WHOLE;
}

/* "INSERT 0 5", "UPDATE 5": the rows changed; a SELECT reports the rows that it read. */
static int64_t read_tag(const struct message *message)
{
    char tag[TAG_BYTES];
    bytes_text((struct bytes){.data = message->body, .size = message->size}, tag, sizeof tag);
    const char *last = strrchr(tag, ' ');
    return last == NULL || text_starts_with(tag, "SELECT") ? 0 : strtoll(last + 1, NULL, 10);
}

/* False: a message that has no place here. */
static bool take_message(struct exchange *exchange, const struct message *message)
{
    switch (message->type) {
    case 'Z':
        exchange->is_over = true;
        return true;
    case 'C':
        exchange->affected = read_tag(message);
        return true;
    case 'E':
        if (!exchange->has_failed) {
            exchange->has_failed = true;
            exchange->failure_at = (size_t)(message->body - exchange->in);
            exchange->failure_size = message->size;
        }
        return true;
    case 'D': /* a row, read when it is asked for */
    case '1': /* parsed, bound, closed */
    case '2':
    case '3':
    case 'I': /* an empty statement */
    case 'T': /* what rows look like, or that there are none */
    case 'n':
    case 's':
    case 'A': /* at any time: a notification, a notice, a parameter of the session */
    case 'N':
    case 'S':
        return true;
    default:
        return false;
    }
}

static bool fill_failure(const struct exchange *exchange, enum err_code code, struct err *err)
{
    struct connection_words words = {.message = ""};
    const char *at = exchange->in + exchange->failure_at;
    const char *end = at + exchange->failure_size;
    while (at < end && *at != '\0') {
        const char *value = at + 1;
        size_t size = strnlen(value, (size_t)(end - value));
        if (value + size == end) {
            break; /* not terminated */
        }
        switch (*at) {
        case 'C':
            words.sqlstate = value;
            break;
        case 'M':
            words.message = value;
            break;
        case 'D':
            words.detail = value;
            break;
        case 'H':
            words.hint = value;
            break;
        default:
            break;
        }
        at = value + size + 1;
    }
    return connection_words_error(&words, code, err);
}

static enum session_state lose(const struct exchange *exchange, const char *why, struct err *err)
{
    if (exchange->has_failed) {
        fill_failure(exchange, ERR_CODE_connection, err);
    } else {
        err_set(err, ERR_CODE_connection, "%s", why);
    }
    return SESSION_FAILED;
}

static enum session_state refuse_copy(const struct exchange *exchange, struct err *err)
{
    connection_refuse_copy(exchange->socket, err);
    return SESSION_FAILED;
}

/* All that is whole; WANT_READ where the call is not over with it. */
static enum session_state take_messages(struct exchange *exchange, struct err *err)
{
    struct message message;
    enum reading reading = READING_WHOLE;
    while (!exchange->is_over &&
           (reading = read_message(exchange, exchange->in_at, &message)) == READING_WHOLE) {
        if (message.type == 'G' || message.type == 'H' || message.type == 'W') {
            return refuse_copy(exchange, err);
        }
        if (!take_message(exchange, &message)) {
            reading = READING_WRONG;
            break;
        }
        exchange->in_at += HEADER_BYTES + message.size;
    }
    if (reading == READING_WRONG) {
        return lose(exchange, "the server sent a message that does not belong here", err);
    }
    if (!exchange->is_over) {
        return SESSION_WANT_READ;
    }
    if (exchange->has_failed) {
        fill_failure(exchange, ERR_CODE_statement, err);
        return SESSION_FAILED;
    }
    return SESSION_DONE;
}

static bool make_room(struct exchange *exchange)
{
    size_t needed = exchange->in_size + 1;
    if (exchange->in_size - exchange->in_at >= HEADER_BYTES) {
        size_t whole = exchange->in_at + 1 + get_32(exchange->in + exchange->in_at + 1);
        needed = whole > needed ? whole : needed;
    }
    return reserve(&exchange->in_arena, &exchange->in, &exchange->in_capacity, exchange->in_size,
                   needed);
}

/* One look at the network. *has_more: as much came as there was room for. DONE: something came. */
static enum session_state receive(struct exchange *exchange, bool *has_more, struct err *err)
{
    *has_more = false;
    if (!make_room(exchange)) {
        err_memory(err);
        return SESSION_FAILED;
    }
    size_t room = exchange->in_capacity - exchange->in_size;
    ssize_t came = -1;
    do {
        came = recv(exchange->socket, exchange->in + exchange->in_size, room, MSG_DONTWAIT);
    } while (came < 0 && errno == EINTR);
    if (came > 0) {
        exchange->in_size += (size_t)came;
        *has_more = (size_t)came == room;
        return SESSION_DONE;
    }
    if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return exchange_is_sent(exchange) ? SESSION_WANT_READ : SESSION_WANT_WRITE;
    }
    return lose(exchange, "server closed the connection unexpectedly", err);
}

enum session_state exchange_pump(struct exchange *exchange, struct err *err)
{
    bool has_more = true;
    if (!exchange_is_sent(exchange) && !flush(exchange)) {
        exchange->out_sent = exchange->out_size; /* what came before it broke is read below */
    }
    enum session_state state = take_messages(exchange, err); /* that came with the last answer */
    for (int i = 0; i < READS_A_PUMP && has_more && state == SESSION_WANT_READ; i++) {
        state = receive(exchange, &has_more, err);
        if (state != SESSION_DONE) {
            return state;
        }
        state = take_messages(exchange, err);
    }
    return state == SESSION_WANT_READ && !exchange_is_sent(exchange) ? SESSION_WANT_WRITE : state;
}

/* ---- rows ---- */

static bool wrong_row(struct err *err)
{
    return err_set(err, ERR_CODE_connection, "the server sent a row that is cut short");
}

static bool read_row(const struct message *message, struct bytes *columns, size_t *out_count,
                     struct err *err)
{
    const char *at = message->body;
    const char *end = at + message->size;
    if (message->size < sizeof(uint16_t)) {
        return wrong_row(err);
    }
    size_t count = get_16(at);
    at += sizeof(uint16_t);
    if (count > COLUMN_LIMIT) {
        return err_set(err, ERR_CODE_unsupported, "a row of %zu columns is more than %d", count,
                       COLUMN_LIMIT);
    }
    for (size_t i = 0; i < count; i++) {
        if ((size_t)(end - at) < sizeof(uint32_t)) {
            return wrong_row(err);
        }
        uint32_t size = get_32(at);
        at += sizeof(uint32_t);
        if (size == UINT32_MAX) {
            columns[i] = (struct bytes){.data = NULL};
            continue;
        }
        if (size > (size_t)(end - at)) {
            return wrong_row(err);
        }
        columns[i] = (struct bytes){.data = at, .size = size};
        at += size;
    }
    *out_count = count;
    return true;
}

bool exchange_rows(const struct exchange *exchange, row_visitor visit, void *context,
                   struct err *err)
{
    struct bytes columns[COLUMN_LIMIT];
    struct message message;
    for (size_t at = 0; at < exchange->in_at; at += HEADER_BYTES + message.size) {
        struct row row = {.columns = columns};
        if (read_message(exchange, at, &message) != READING_WHOLE) {
            return wrong_row(err);
        }
        if (message.type != 'D') {
            continue;
        }
        if (!read_row(&message, columns, &row.column_count, err)) {
            return false;
        }
        if (!visit(context, &row)) {
            break;
        }
    }
    return true;
}

/* ---- libpq again ---- */

bool exchange_settle(struct exchange *exchange, struct err *err)
{
    struct message message;
    while (exchange->in_at < exchange->in_size) {
        if (read_message(exchange, exchange->in_at, &message) != READING_WHOLE ||
            !take_message(exchange, &message) || exchange->has_failed) {
            lose(exchange, "server closed the connection unexpectedly", err);
            return false;
        }
        exchange->in_at += HEADER_BYTES + message.size;
    }
    return true;
}
