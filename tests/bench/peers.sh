#!/usr/bin/env bash
# The driver against its peers, side by side: sysbench (oltp_* scripts, the same tables and
# distribution) and pgbench (-S -M prepared), over unix sockets on servers of this script's own.
# Pairs alternate; what is printed is the ratio of medians: throughput (above 1: dbsweep is faster),
# CPU of the client process a transaction (below 1: dbsweep is cheaper), p95 where the peer has one.
# Point selects on PostgreSQL are compared with bare event loops on libpq as well, which measure
# nothing: what no client over libpq can do without on this machine.
#
# BENCH_PAIRS (5) pairs of BENCH_SECONDS (4) each; BENCH_CLIENTS ("8 64") for point selects.
. "$(dirname "$0")/../support/tap.sh" >/dev/null
. "$TOP/tests/support/sweep.sh"
DBSWEEP=${DBSWEEP_BENCH:-$TOP/build/dbsweep}
PAIRS=${BENCH_PAIRS:-5}
LENGTH=${BENCH_SECONDS:-4}
read -ra CLIENTS <<<"${BENCH_CLIENTS:-8 64}"
ROWS=100000

# timed NAME COMMAND...: its output in $TMP/out, its user and system CPU seconds in $cpu_s
timed() {
    local TIMEFORMAT='%U %S'
    { time "$@" >"$TMP/out" 2>"$TMP/err"; } 2>"$TMP/cpu" || {
        cat "$TMP/out" "$TMP/err"
        exit 1
    }
    cpu_s=$(awk '{ print $1 + $2 }' "$TMP/cpu")
}

# note FILE TRANSACTIONS P95_MS: one line "per_s us p95_ms"
note() {
    awk -v n="$2" -v cpu="$cpu_s" -v t="$LENGTH" -v p95="$3" \
        'BEGIN { printf "%.1f %.3f %.4f\n", n / t, cpu * 1e6 / n, p95 }' >>"$1"
}

run_dbsweep() {
    local file=$1 backend=$2 connect=$3 mix=$4 clients=$5
    timed "$DBSWEEP" load oltp run --backend "$backend" --connect "$connect" --mix "$mix" \
        --tables 1 --rows "$ROWS" --clients "$clients" --warm-up 0s --measure "${LENGTH}s" \
        --format json
    note "$file" "$(jq ".metrics.throughput_per_s * $LENGTH" "$TMP/out")" \
        "$(jq .metrics.p95_ms "$TMP/out")"
}

run_sysbench() {
    local file=$1 backend=$2 mix=$3 clients=$4
    local -a driver=(--db-driver=pgsql --pgsql-host="$DBSWEEP_TEST_PG_DIR"
        --pgsql-port="$DBSWEEP_TEST_PG_PORT" --pgsql-user=bench --pgsql-db=bench)
    [ "$backend" = postgresql ] || driver=(--db-driver=mysql --mysql-user=bench --mysql-db=bench
        --mysql-socket="$DBSWEEP_TEST_MY_SOCKET")
    timed sysbench "${driver[@]}" --tables=1 --table-size="$ROWS" --rand-type=uniform \
        --threads="$clients" --time="$LENGTH" --percentile=95 "oltp_$mix" run
    note "$file" "$(awk '/transactions:/ { print $2 }' "$TMP/out")" \
        "$(awk '/95th percentile:/ { print $3 }' "$TMP/out")"
}

run_pgbench() {
    local file=$1 clients=$2
    timed pgbench -n -S -M prepared -c "$clients" -j "$(nproc)" -T "$LENGTH" \
        -h "$DBSWEEP_TEST_PG_DIR" -p "$DBSWEEP_TEST_PG_PORT" -U bench bench
    note "$file" "$(awk '/transactions actually processed:/ { print $NF }' "$TMP/out")" 0
}

run_bare() {
    local file=$1 clients=$2
    timed "$TMP/bare" "$DBSWEEP_TEST_PG_CONNECT" "$(nproc)" "$clients" "$LENGTH" "$ROWS"
    note "$file" "$(awk '/transactions:/ { print $2 }' "$TMP/out")" 0
}

# median FILE COLUMN
median() {
    cut -d' ' -f"$2" "$1" | sort -g | awk '{ v[NR] = $1 }
        END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# compare TITLE PEER OURS THEIRS
compare() {
    awk -v title="$1" -v peer="$2" -v pairs="$PAIRS" \
        -v a="$(median "$3" 1)" -v b="$(median "$4" 1)" -v c="$(median "$3" 2)" \
        -v d="$(median "$4" 2)" -v e="$(median "$3" 3)" -v f="$(median "$4" 3)" 'BEGIN {
            printf "%s, against %s (%d pairs): throughput %.2fx (%.0f / %.0f per s), ", title, peer, pairs, a / b, a, b
            printf "client CPU a transaction %.2fx (%.1f / %.1f us)", c / d, c, d
            if (f > 0) printf ", p95 %.2fx (%.3f / %.3f ms)", e / f, e, f
            printf "\n"
        }'
}

# duel BACKEND CONNECT MIX CLIENTS [PEER...]: sysbench, and the PEERs that are asked for
duel() {
    local backend=$1 connect=$2 mix=$3 clients=$4 peer title i
    shift 4
    title="$mix on $backend, $clients clients"
    rm -f "$TMP"/{ours,sysbench,pgbench,bare}.figures
    for ((i = 0; i < PAIRS; i++)); do
        run_dbsweep "$TMP/ours.figures" "$backend" "$connect" "$mix" "$clients"
        run_sysbench "$TMP/sysbench.figures" "$backend" "$mix" "$clients"
        for peer in "$@"; do
            "run_$peer" "$TMP/$peer.figures" "$clients"
        done
    done
    for peer in sysbench "$@"; do
        compare "$title" "$peer" "$TMP/ours.figures" "$TMP/$peer.figures"
    done
}

read -ra LIBPQ <<<"$(pkg-config --cflags --libs libpq)"
"${CC:-cc}" -O2 -std=gnu17 -pthread "$TOP/tests/bench/bare/bare.c" "${LIBPQ[@]}" -o "$TMP/bare"
own_postgresql
own_mariadb
for subject in "postgresql|$DBSWEEP_TEST_PG_CONNECT" "mysql|$DBSWEEP_TEST_MY_CONNECT"; do
    "$DBSWEEP" load oltp prepare --backend "${subject%%|*}" --connect "${subject#*|}" --tables 1 \
        --rows "$ROWS" >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
done
pgbench -i -q -s 1 -h "$DBSWEEP_TEST_PG_DIR" -p "$DBSWEEP_TEST_PG_PORT" -U bench bench \
    >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
for clients in "${CLIENTS[@]}"; do
    duel postgresql "$DBSWEEP_TEST_PG_CONNECT" point_select "$clients" pgbench bare
    duel mysql "$DBSWEEP_TEST_MY_CONNECT" point_select "$clients"
done
for mix in read_only read_write; do
    duel postgresql "$DBSWEEP_TEST_PG_CONNECT" "$mix" 8
    duel mysql "$DBSWEEP_TEST_MY_CONNECT" "$mix" 8
done
