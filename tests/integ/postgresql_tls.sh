#!/usr/bin/env bash
# PostgreSQL over TLS, where calls go through libpq alone: every test of sessions again, and a
# transaction that reads and writes, driven at a server that lets nobody in without.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql

openssl req -new -x509 -days 2 -nodes -subj /CN=localhost -out "$DBSWEEP_TEST_PG_DATA/server.crt" \
    -keyout "$DBSWEEP_TEST_PG_DATA/server.key" >"$TMP/out" 2>&1
chmod 0600 "$DBSWEEP_TEST_PG_DATA/server.key"
chown --reference="$DBSWEEP_TEST_PG_DATA" "$DBSWEEP_TEST_PG_DATA"/server.{crt,key}
printf 'ssl = on\n' >>"$DBSWEEP_TEST_PG_CONFIG"
hba=$DBSWEEP_TEST_PG_DATA/pg_hba.conf
sed -i 's/^host /hostssl /' "$hba"
run_ok 'a server with a certificate starts' bash -c \
    "cd / && $DBSWEEP_TEST_PG_STOP && $DBSWEEP_TEST_PG_START"

tls="$DBSWEEP_TEST_PG_TCP_CONNECT sslmode=require"
run_status 'it lets nobody in without' 1 "$DBSWEEP" load oltp prepare --backend postgresql \
    --connect "$DBSWEEP_TEST_PG_TCP_CONNECT sslmode=disable" --tables 1 --rows 100
run_ok 'data is loaded over TLS' "$DBSWEEP" load oltp prepare --backend postgresql --connect "$tls" \
    --tables 1 --rows 1000
run_ok 'reads and writes are driven over TLS' "$DBSWEEP" load oltp run --backend postgresql \
    --connect "$tls" --mix read_write --tables 1 --rows 1000 --clients 4 --warm-up 0s --measure 1s \
    --format json
is 'and none fails' "$(jq '.totals.transactions > 0 and .metrics.error_pct == 0' <<<"$OUTPUT")" true

run_ok 'all tests of sessions hold over TLS' env DBSWEEP_TEST_PG_CONNECT="$tls" \
    DBSWEEP_TEST_MY_CONNECT= "$BUILD/tests/conform/test_session"
plan
