/*
 * The rows of iiBench as text. Making them must cost little beside inserting them, so numbers are
 * drawn from halves of random words and written by hand.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sweeper/load/insert/insert.h"

enum {
    CASH_REGISTERS = 1000,
    PRODUCTS = 10000,
    CUSTOMERS = 100000,
    PRICES = 500,
    RANDOM_LETTERS = 5, /* of the ten of `data` */
    ROWS_A_SECOND = 1000,
    HEAD_BYTES = 128
};
#define FIRST_SECOND 1230768000 /* 2009-01-01, so that a run does not depend on its day */

size_t insert_text_bytes(int64_t row_count)
{
    return HEAD_BYTES + (size_t)row_count * INSERT_ROW_BYTES;
}

/* Off by less than range / 2^32, which nothing here can tell. */
static uint32_t draw(uint32_t bits, uint32_t range)
{
    return (uint32_t)(((uint64_t)bits * range) >> 32);
}

static char *put_text(char *out, const char *text, size_t size)
{
    memcpy(out, text, size);
    return out + size;
}

static char *put_number(char *out, uint32_t number)
{
    char digits[10];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put_text(out, digits + at, sizeof digits - at);
}

static char *put_price(char *out, bool has_cents, uint32_t bits)
{
    if (!has_cents) {
        return put_number(out, draw(bits, PRICES));
    }
    uint32_t cents = draw(bits, PRICES * 100);
    out = put_number(out, cents / 100);
    *out++ = '.';
    *out++ = (char)('0' + cents / 10 % 10);
    *out++ = (char)('0' + cents % 10);
    return out;
}

static char *put_row(char *out, const char *when, size_t when_size, bool has_cents,
                     struct random *random)
{
    static const char letters[65] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    uint64_t a = random_next(random);
    uint64_t b = random_next(random);
    uint64_t c = random_next(random);
    out = put_text(out, when, when_size);
    out = put_number(out, draw((uint32_t)a, CASH_REGISTERS));
    *out++ = ',';
    out = put_number(out, draw((uint32_t)(a >> 32), CUSTOMERS));
    *out++ = ',';
    out = put_number(out, draw((uint32_t)b, PRODUCTS));
    *out++ = ',';
    out = put_price(out, has_cents, (uint32_t)(b >> 32));
    out = put_text(out, ",'aaaaa", 7);
    for (int i = 0; i < RANDOM_LETTERS; i++) {
        *out++ = letters[c & 63];
        c >>= 6;
    }
    return put_text(out, "')", 2);
}

void insert_make_text(const struct insert_plan *plan, int64_t first, int64_t count, char *out,
                      size_t room)
{
    static const char head[] =
        "insert into " INSERT_TABLE " (dateandtime,cashregisterid,customerid,productid,price,data)"
        " values ";
    char when[32];
    struct tm moment;
    struct random random;
    time_t second = FIRST_SECOND + (time_t)(first / ROWS_A_SECOND);
    assert(room >= insert_text_bytes(count) && sizeof head <= HEAD_BYTES);
    size_t when_size =
        strftime(when, sizeof when, "('%Y-%m-%d %H:%M:%S',", gmtime_r(&second, &moment));
    random_seed(&random, (uint64_t)plan->spec->seed, (uint64_t)first + 1);
    out = put_text(out, head, sizeof head - 1);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) {
            *out++ = ',';
        }
        out = put_row(out, when, when_size, plan->form->price_has_cents, &random);
    }
    *out = '\0';
}
