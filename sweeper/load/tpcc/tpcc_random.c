/*
 * TPC-C's random values: NURand and its constants, last names, the deck of cards.
 */
#include <string.h>

#include "sweeper/load/tpcc/tpcc.h"

#define CONSTANTS_STREAM (UINT64_C(0x7c) << 56) /* no client and no unit of the load has it */

/* Clause 2.1.6.1. Of 0 … 255 one of the two directions is always free. */
void tpcc_constants_draw(uint64_t seed, struct tpcc_constants *out)
{
    struct random random;
    int64_t distance = 0;
    random_seed(&random, seed, CONSTANTS_STREAM);
    do {
        distance = random_between(&random, 65, 119);
    } while (distance == 96 || distance == 112);
    out->last_name_load = random_between(&random, 0, 255);
    out->last_name_run = out->last_name_load + distance <= 255 ? out->last_name_load + distance
                                                               : out->last_name_load - distance;
    out->customer = random_between(&random, 0, 1023);
    out->item = random_between(&random, 0, 8191);
}

int64_t tpcc_nurand(struct random *random, int64_t a, int64_t low, int64_t high, int64_t constant)
{
    int64_t drawn = random_between(random, 0, a) | random_between(random, low, high);
    return (drawn + constant) % (high - low + 1) + low;
}

size_t tpcc_last_name(int64_t number, char out[TPCC_LAST_NAME_BYTES + 1])
{
    static const char *const syllables[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                            "ESE", "ANTI",  "CALLY", "ATION", "EING"};
    const int64_t digits[] = {number / 100 % 10, number / 10 % 10, number % 10};
    size_t size = 0;
    for (size_t i = 0; i < COUNT_OF(digits); i++) {
        size_t length = strlen(syllables[digits[i]]);
        memcpy(out + size, syllables[digits[i]], length);
        size += length;
    }
    out[size] = '\0';
    return size;
}

size_t tpcc_letters(struct random *random, size_t least, size_t most, char *out)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    enum { LETTERS = sizeof letters - 1, LETTERS_A_DRAW = 10 };
    size_t size = (size_t)random_between(random, (int64_t)least, (int64_t)most);
    uint64_t drawn = 0;
    for (size_t i = 0; i < size; i++) {
        if (i % LETTERS_A_DRAW == 0) {
            drawn = random_next(random);
        }
        out[i] = letters[drawn % LETTERS];
        drawn /= LETTERS;
    }
    out[size] = '\0';
    return size;
}

static void shuffle(struct tpcc_deck *deck, struct random *random)
{
    static const uint8_t times[TPCC_TRANSACTIONS] = {10, 10, 1, 1, 1};
    deck->left = 0;
    for (uint8_t i = 0; i < TPCC_TRANSACTIONS; i++) {
        for (uint8_t j = 0; j < times[i]; j++) {
            deck->cards[deck->left++] = i;
        }
    }
    for (size_t i = TPCC_CARDS - 1; i > 0; i--) {
        size_t other = (size_t)random_between(random, 0, (int64_t)i);
        uint8_t kept = deck->cards[i];
        deck->cards[i] = deck->cards[other];
        deck->cards[other] = kept;
    }
}

enum tpcc_transaction tpcc_deck_draw(struct tpcc_deck *deck, struct random *random)
{
    if (deck->left == 0) {
        shuffle(deck, random);
    }
    return (enum tpcc_transaction)deck->cards[--deck->left];
}
