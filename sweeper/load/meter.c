/*
 * Counting without locks on the way.
 */
#include "sweeper/load/meter.h"

#include <stdio.h>
#include <string.h>

bool meter_open(struct meter *meter, size_t transaction_count, size_t row_count, bool has_services,
                struct arena *arena, struct err *err)
{
    *meter = (struct meter){
        .transaction_count = transaction_count,
        .row_count = row_count,
        .transactions = ARENA_ARRAY(arena, struct histogram, transaction_count),
        .services = has_services ? ARENA_ARRAY(arena, struct histogram, transaction_count) : NULL,
        .transaction_errors = ARENA_ARRAY(arena, uint64_t, transaction_count),
        .retries = ARENA_ARRAY(arena, uint64_t, transaction_count),
        .statements = ARENA_ARRAY(arena, struct histogram, row_count),
        .statement_errors = ARENA_ARRAY(arena, uint64_t, row_count),
        .second_index = -1};
    if (meter->transactions == NULL || (has_services && meter->services == NULL) ||
        meter->transaction_errors == NULL || meter->retries == NULL || meter->statements == NULL ||
        meter->statement_errors == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < transaction_count; i++) {
        histogram_clear(&meter->transactions[i]);
        if (has_services) {
            histogram_clear(&meter->services[i]);
        }
    }
    for (size_t i = 0; i < row_count; i++) {
        histogram_clear(&meter->statements[i]);
    }
    histogram_clear(&meter->second);
    return true;
}

void meter_merge(struct meter *into, const struct meter *from)
{
    for (size_t i = 0; i < into->transaction_count; i++) {
        histogram_merge(&into->transactions[i], &from->transactions[i]);
        if (into->services != NULL) {
            histogram_merge(&into->services[i], &from->services[i]);
        }
        into->transaction_errors[i] += from->transaction_errors[i];
        into->retries[i] += from->retries[i];
    }
    for (size_t i = 0; i < into->row_count; i++) {
        histogram_merge(&into->statements[i], &from->statements[i]);
        into->statement_errors[i] += from->statement_errors[i];
    }
}

/* ---- seconds ---- */

void meter_seconds_open(struct meter_seconds *seconds)
{
    memset(seconds, 0, sizeof *seconds);
    pthread_mutex_init(&seconds->mutex, NULL);
    for (size_t i = 0; i < METER_RING; i++) {
        histogram_clear(&seconds->ring[i]);
    }
}

void meter_seconds_close(struct meter_seconds *seconds)
{
    pthread_mutex_destroy(&seconds->mutex);
}

/* A loop that was held up for longer than the report waits adds to the second now reported next:
 * nothing counted is lost from the series. */
void meter_publish(struct meter *meter, struct meter_seconds *seconds, int64_t index)
{
    if (index == meter->second_index) {
        return;
    }
    if (meter->second_index >= 0 && (meter->second.count > 0 || meter->second_errors > 0)) {
        pthread_mutex_lock(&seconds->mutex);
        int64_t at =
            meter->second_index < seconds->reported ? seconds->reported : meter->second_index;
        histogram_merge(&seconds->ring[at % METER_RING], &meter->second);
        seconds->ring_errors[at % METER_RING] += meter->second_errors;
        pthread_mutex_unlock(&seconds->mutex);
        histogram_clear(&meter->second);
        meter->second_errors = 0;
    }
    meter->second_index = index;
}

void meter_take(struct meter_seconds *seconds, int64_t index, struct histogram *batch,
                struct load_second *out)
{
    pthread_mutex_lock(&seconds->mutex);
    struct histogram *second = &seconds->ring[index % METER_RING];
    out->throughput_per_s = (double)second->count;
    out->mean_ms = histogram_mean_ns(second) / 1e6;
    out->p99_ms = histogram_percentile_ns(second, 99) / 1e6;
    out->error_count = seconds->ring_errors[index % METER_RING];
    if (batch != NULL) {
        histogram_merge(batch, second);
    }
    histogram_clear(second);
    seconds->ring_errors[index % METER_RING] = 0;
    seconds->reported = index + 1;
    pthread_mutex_unlock(&seconds->mutex);
}

/* ---- errors ---- */

void meter_conflict(struct meter_errors *errors, const struct err *err)
{
    if (atomic_exchange(&errors->has_conflict, true)) {
        return;
    }
    pthread_mutex_lock(&errors->mutex);
    snprintf(errors->conflict, sizeof errors->conflict, "%.255s", err->text);
    pthread_mutex_unlock(&errors->mutex);
}

void meter_error(struct meter_errors *errors, const char *transaction, const struct err *err)
{
    char code[24];
    snprintf(code, sizeof code, "%s",
             err->native_text[0] != '\0' ? err->native_text : err_code_name(err->code));
    if (err->native != 0 && strstr(code, "SQLSTATE") == NULL) {
        size_t used = strlen(code);
        snprintf(code + used, sizeof code - used, " %d", err->native);
    }
    pthread_mutex_lock(&errors->mutex);
    size_t at = 0;
    while (at < errors->count && (strcmp(errors->codes[at], code) != 0 ||
                                  strcmp(errors->rows[at].transaction, transaction) != 0)) {
        at++;
    }
    if (at == errors->count && at < METER_ERROR_ROWS) {
        snprintf(errors->codes[at], sizeof errors->codes[at], "%s", code);
        snprintf(errors->texts[at], sizeof errors->texts[at], "%.255s", err->text);
        errors->rows[at] = (struct load_error_row){
            .transaction = transaction, .code = errors->codes[at], .text = errors->texts[at]};
        errors->count++;
    }
    if (at < errors->count) {
        errors->rows[at].count++;
    }
    pthread_mutex_unlock(&errors->mutex);
}
