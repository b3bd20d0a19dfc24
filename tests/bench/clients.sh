#!/usr/bin/env bash
# Many clients in an open loop: the driver's peak memory and how late its starts are, at a rate that
# a PostgreSQL of this script's own sustains. BENCH_MANY (2000) clients, BENCH_RATE (2000 per s).
. "$(dirname "$0")/../support/tap.sh" >/dev/null
. "$TOP/tests/support/sweep.sh"
DBSWEEP=${DBSWEEP_BENCH:-$TOP/build/dbsweep}
MANY=${BENCH_MANY:-2000}
RATE=${BENCH_RATE:-2000}
LENGTH=${BENCH_SECONDS:-10}

own_postgresql
printf 'max_connections = %d\n' $((MANY + 20)) >>"$DBSWEEP_TEST_PG_CONFIG"
# shellcheck disable=SC2086 # words of commands
(cd / && $DBSWEEP_TEST_PG_STOP && $DBSWEEP_TEST_PG_START) >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
"$DBSWEEP" load oltp prepare --backend postgresql --connect "$DBSWEEP_TEST_PG_CONNECT" --tables 1 \
    --rows 100000 >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
"$DBSWEEP" load oltp run --backend postgresql --connect "$DBSWEEP_TEST_PG_CONNECT" --tables 1 \
    --rows 100000 --mix point_select --clients "$MANY" --rate "$RATE" --arrivals poisson \
    --warm-up 5s --measure "${LENGTH}s" --format json >"$TMP/out" 2>"$TMP/err" &
command=$!
peak_kb=0
while kill -0 "$command" 2>/dev/null; do
    for worker in $(pgrep -P "$command"); do
        kb=$(awk '/^VmHWM:/ { print $2 }' "/proc/$worker/status" 2>/dev/null)
        [ "${kb:-0}" -le "$peak_kb" ] || peak_kb=$kb
    done
    sleep 0.2
done
wait "$command" || { cat "$TMP/out" "$TMP/err"; exit 1; }
jq -r --arg many "$MANY" --arg rate "$RATE" --argjson kb "$peak_kb" '.flags as $flags | .metrics |
    "\($many) clients, \($rate) per s asked: \(.throughput_per_s | round) per s, " +
    "starts late by \(.lag_p99_ms * 1000 | round / 1000) ms at the 99th percentile, " +
    "response p99 \(.p99_ms * 1000 | round / 1000) ms, " +
    "driver \($kb / 1024 | round) MB, \(.driver_us * 10 | round / 10) us of CPU a transaction" +
    (if $flags == "" then "" else ", flags: " + $flags end)' "$TMP/out"
