#!/usr/bin/env bash
# TPC-C and the user's own scripts through ODBC, on each system that has a driver here: loaded,
# driven, checked by every consistency condition and by the system's own client, and removed.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
own_mariadb

cat >"$TMP/setup.sql" <<'EOF'
create table account (id integer primary key, balance integer not null);
insert into account (id, balance) values (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0);
EOF
printf 'drop table account;\n' >"$TMP/teardown.sql"
cat >"$TMP/transfer.sql" <<'EOF'
\set from random(1, 5)
\set to random(:from + 1, 6)
\set amount random_gaussian(1, 1000, 3)
begin;
-- name: take
update account set balance = balance - :amount where id = :from;
-- name: give
update account set balance = balance + :amount where id = :to;
-- name: look
select balance from account where id = :to;
commit;
EOF

# through BACKEND CONNECT: the workloads of that backend
through() {
    local backend=$1 connect=$2
    local -a at=(--backend "$backend" --session odbc --connect "$connect")
    local -a one=("${at[@]}" --warehouses 1)
    local -a scripts=("${at[@]}" --scripts "$TMP/transfer.sql" --setup "$TMP/setup.sql"
        --teardown "$TMP/teardown.sql")

    run_ok "$backend: TPC-C is loaded" "$DBSWEEP" load tpcc prepare "${one[@]}"
    run_ok "$backend: and driven" "$DBSWEEP" load tpcc run "${one[@]}" --clients 2 --warm-up 0s \
        --measure 2s --format json
    is "$backend: all five transactions were counted, none failed" "$(jq '[.transactions[] |
        select(.count > 0 and .errors == 0)] | length' <<<"$OUTPUT")" 5
    is "$backend: New-Orders a minute" "$(jq '.totals.notpm > 0' <<<"$OUTPUT")" true
    run_ok "$backend: the data is consistent" "$DBSWEEP" load tpcc check "${one[@]}"
    is "$backend: by eleven conditions and one that used data need not keep" \
        "$(grep -c 'consistency condition [0-9]* holds:' <<<"$OUTPUT") $(grep -c \
            'consistency condition [0-9]* was not asked for' <<<"$OUTPUT")" '11 1'
    run_ok "$backend: it is removed" "$DBSWEEP" load tpcc cleanup "${one[@]}"

    run_ok "$backend: scripts are set up" "$DBSWEEP" load script prepare "${scripts[@]}"
    run_ok "$backend: and driven" "$DBSWEEP" load script run "${scripts[@]}" --clients 2 \
        --warm-up 0s --measure 1s --format json
    is "$backend: with no error" "$(jq '.totals.transactions > 0 and .metrics.error_pct == 0' \
        <<<"$OUTPUT")" true
    is "$backend: statements have their names" "$(jq -r '[.statements[].statement] | sort |
        join(" ")' <<<"$OUTPUT")" 'begin commit give look take'
}

# ---- each system ----
through postgresql "Driver=PostgreSQL Unicode;Servername=$DBSWEEP_TEST_PG_SOCKET;\
Port=$DBSWEEP_TEST_PG_PORT;Database=bench;UID=bench"
is 'PostgreSQL itself says that no money was made' \
    "$(own_psql 'select sum(balance) from account')" 0
is 'and nothing of TPC-C is left' "$(own_psql "select count(*) from pg_class
    where relname in ('warehouse', 'orders', 'order_line')")" 0

through mysql "Driver=MariaDB Unicode;SOCKET=$DBSWEEP_TEST_MY_SOCKET;DATABASE=bench;UID=bench"
is 'MariaDB itself says that no money was made' "$(mariadb --no-defaults -N -u bench \
    -S "$DBSWEEP_TEST_MY_SOCKET" bench -e 'select sum(balance) from account')" 0

through sqlite "Driver=SQLite3;Database=$TMP/load.sqlite"
is 'SQLite itself says that no money was made' \
    "$(sqlite3 "$TMP/load.sqlite" 'select sum(balance) from account')" 0
plan
