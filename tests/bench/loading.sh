#!/usr/bin/env bash
# How fast data are loaded: TPC-C's warehouses per minute, indexes and statistics among it, on SQLite
# and on a PostgreSQL and a MariaDB of their own with their default settings; beside them, as a
# yardstick on the same PostgreSQL, pgbench -i. DBSWEEP_BENCH_OTHER names another dbsweep that takes
# turns with this one.
. "$(dirname "$0")/../support/tap.sh" >/dev/null
. "$TOP/tests/support/sweep.sh"
DBSWEEP=${DBSWEEP_BENCH:-$TOP/build/dbsweep}
WAREHOUSES=${DBSWEEP_BENCH_WAREHOUSES:-4}
SCALE=${DBSWEEP_BENCH_SCALE:-20}
ROUNDS=${DBSWEEP_BENCH_ROUNDS:-3}

# seconds COMMAND...: how long it took
seconds() {
    local begun=$EPOCHREALTIME
    "$@" >"$TMP/out" 2>&1 || { cat "$TMP/out" >&2; return 1; }
    awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f\n", b - a }'
}

# load_tpcc NAME PROGRAM BACKEND CONNECT
load_tpcc() {
    local name=$1 program=$2 took
    shift 2
    local there=(--backend "$1" --connect "$2" --warehouses "$WAREHOUSES" --quiet)
    took=$(seconds "$program" load tpcc prepare "${there[@]}") || exit 1
    awk -v n="$name" -v w="$WAREHOUSES" -v s="$took" -v p="$program" 'BEGIN {
        printf "%s, %d warehouses: %.1f s, %.0f warehouses a minute, %.0f rows/s (%s)\n", n, w, s,
            60 * w / s, (499011 * w + 100000) / s, p }'
    "$program" load tpcc cleanup "${there[@]}" || exit 1
}

# Each round a fresh file: SQLite uses the pages of dropped tables again.
load_all() {
    rm -f "$TMP/bench.sqlite"*
    load_tpcc SQLite "$1" sqlite "$TMP/bench.sqlite"
    load_tpcc PostgreSQL "$1" postgresql "$DBSWEEP_TEST_PG_CONNECT"
    load_tpcc MariaDB "$1" mysql "$DBSWEEP_TEST_MY_CONNECT"
}

pgbench_rows() {
    local took
    took=$(seconds pgbench -i -q -s "$SCALE" -h "$DBSWEEP_TEST_PG_SOCKET" \
        -p "$DBSWEEP_TEST_PG_PORT" -U bench bench) || exit 1
    awk -v s="$took" -v n="$SCALE" 'BEGIN {
        printf "pgbench -i -s %d: %.1f s, %.0f rows/s\n", n, s, 100011 * n / s }'
}

own_postgresql
own_mariadb
programs=("$DBSWEEP" ${DBSWEEP_BENCH_OTHER:+"$DBSWEEP_BENCH_OTHER"})
for ((round = 0; round < ROUNDS; round++)); do
    for ((i = 0; i < ${#programs[@]}; i++)); do
        load_all "${programs[(i + round) % ${#programs[@]}]}"
    done
    pgbench_rows
done
