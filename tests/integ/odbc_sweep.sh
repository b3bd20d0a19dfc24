#!/usr/bin/env bash
# A sweep of a real PostgreSQL whose workload goes through ODBC: the server is read by its own
# client, the load comes from the driver, and another session is another plan.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql

config=$DBSWEEP_TEST_PG_CONFIG
sweep=$TMP/odbc.cfg
store=$TMP/odbc.db
odbc="Driver=PostgreSQL Unicode;Servername=$DBSWEEP_TEST_PG_SOCKET;Port=$DBSWEEP_TEST_PG_PORT;"
odbc+='Database=bench;UID=bench'
keep "$config"
pg_sweep "$sweep" 'work_mem = [ "1MB", "8MB" ];'
sed -i "s|^  backend = .*|&\n  session = \"odbc\"; session_connect = \"$odbc\";|" "$sweep"

run_ok 'the sweep runs to its end' "$DBSWEEP" run "$sweep"
unchanged 'after the sweep' "$config"
is 'every point was measured, and the baseline' "$(store_query "$store" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 3

sed -i '/^  session = "odbc"/d' "$sweep"
run_status 'the same through the own client is another plan' 2 "$DBSWEEP" run "$sweep"
like 'which is said' "$ERRORS" '*target.session = *odbc*native*'

# ---- alone ----
export PASSWORD_OF_THE_TEST='not; asked} for='
run_ok 'the workload alone' "$DBSWEEP" load oltp run --backend postgresql --session odbc \
    --connect "$odbc" --password-env PASSWORD_OF_THE_TEST --mix read_only --tables 1 --rows 1000 \
    --warm-up 0s --measure 300ms --format json
is 'does its work without an error' "$(jq '[.transactions[] | .errors] | add' <<<"$OUTPUT")" 0
run_status 'a session that is none' 2 "$DBSWEEP" load oltp run --backend postgresql \
    --session jdbc --connect "$odbc"
like 'is refused' "$ERRORS" '*--session does not take*jdbc*native|odbc*'
run_status 'a password in the string' 2 "$DBSWEEP" load oltp prepare --backend postgresql \
    --session odbc --connect "$odbc;PWD=x"
like 'is refused, too' "$ERRORS" '*a password has no place in the connection string*'
plan
