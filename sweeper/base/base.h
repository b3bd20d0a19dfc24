/*
 * Attributes and small macros that every file may use.
 */
#ifndef SWEEPER_BASE_BASE_H
#define SWEEPER_BASE_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_arg)                                                       \
    __attribute__((format(printf, format_index, first_arg)))
#define CLEANUP(function) __attribute__((cleanup(function)))
#define UNUSED __attribute__((unused))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Bytes that are not text: may hold NUL, have no terminator (though arena copies add one). */
struct bytes {
    const char *data;
    size_t size;
};

#endif
