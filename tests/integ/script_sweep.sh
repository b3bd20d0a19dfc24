#!/usr/bin/env bash
# A sweep of a real PostgreSQL under the example's scripts: read before anything is touched, set up
# again before each trial, kept in the store with their text, driven also from a host that cannot
# read them; and the workload alone, with its table and its JSON.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
own_sshd

config=$DBSWEEP_TEST_PG_CONFIG
sweep=$TMP/script.cfg
store=$TMP/script.db
mkdir -m 0700 "$TMP/sql"
cp "$TOP"/examples/script-*.sql "$TMP/sql/"
address=${DBSWEEP_TEST_SSH_USER:-$DBSWEEP_TEST_SSH}
install -D -m 0755 "$DBSWEEP" "$DBSWEEP_TEST_SSH_DIR/bin/dbsweep"
keep "$config"

# workload [MORE]
workload() {
    PG_WORKLOAD="kind = \"script\"; clients = 4; warm_up = \"300ms\"; measure = \"1s\";
  scripts = [ \"sql/script-transfer.sql@9\", \"sql/script-statement.sql\" ];
  variables = [ \"accounts=2000\" ]; ${1:-}"
}
files='setup = "sql/script-setup.sql"; teardown = "sql/script-teardown.sql";'

# ---- mistakes, before anything is touched ----
workload
pg_sweep "$sweep" 'commit_delay = [ 1000, 5000 ];'
run_status 'no reset for scripts that write' 2 "$DBSWEEP" run "$sweep"
like 'and what to do' "$ERRORS" '*script.cfg:*the scripts change data*setup*reset = "none"*'
workload "$files"
pg_sweep "$sweep" 'commit_delay = [ 1000, 5000 ];'
sed -i 's/:amount where id = :to/:amont where id = :to/' "$TMP/sql/script-transfer.sql"
run_status 'a variable that is not there' 2 "$DBSWEEP" check --offline "$sweep"
like 'its line, its name' "$ERRORS" '*script-transfer.sql:12: *there is no variable :amont*variables = *'
sed -i 's/:amont/:amount/; s/random(1, :accounts)/random(:accounts, 1)/' "$TMP/sql/script-transfer.sql"
run_status 'bounds in the wrong order' 2 "$DBSWEEP" run "$sweep"
like 'are found without a server' "$ERRORS" '*script-transfer.sql:4: *from 2000 to 1*lower bound*'
cp "$TOP/examples/script-transfer.sql" "$TMP/sql/"
sed -i 's/script-statement/script-statment/' "$sweep"
run_status 'a file that is not there' 2 "$DBSWEEP" run "$sweep"
like 'is named' "$ERRORS" '*script.cfg:*cannot read the script*script-statment.sql*'
sed -i 's/script-statment/script-statement/' "$sweep"
is 'no store was made' "$([ -e "$store" ] && echo there)" ''
unchanged 'after mistakes' "$config"

# ---- the sweep ----
run_ok 'the sweep runs to its end' "$DBSWEEP" run "$sweep"
unchanged 'after the sweep' "$config"
is 'every point was measured, and the baseline' "$(store_query "$store" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 3
is 'each trial began with fresh data' "$(store_query "$store" \
    "SELECT count(*) FROM stage WHERE name = 'reset_data' AND outcome = 'done'")" \
    "$(store_query "$store" "SELECT count(*) FROM trial")"
is 'no money was made' "$(own_psql 'select sum(balance) from account')" 0
is 'the store holds what was driven' "$(store_query "$store" "SELECT json_extract(workload_json,
    '\$.script_texts[0].name') || ' ' || json_extract(workload_json, '\$.script_texts[0].weight')
    FROM sweep")" 'script-transfer 9'
is 'to the byte' "$(store_query "$store" \
    "SELECT json_extract(workload_json, '\$.script_texts[1].text') FROM sweep")" \
    "$(cat "$TOP/examples/script-statement.sql")"
trial=$(store_query "$store" "SELECT max(trial_id) FROM trial")
run_ok 'show prints a trial' "$DBSWEEP" show "$store" "$trial"
like 'with labels' "$OUTPUT" '*script-transfer.take *script-transfer.give *script-transfer.book *'
like 'and of both scripts' "$OUTPUT" '*script-statement.last bookings *'
run_ok 'show prints JSON' "$DBSWEEP" show "$store" "$trial" --format json
is 'in which nine of ten are transfers' "$(jq '[.transactions[] | {(.transaction): .count}] | add |
    ."script-transfer" / (."script-transfer" + ."script-statement") | . > 0.8 and . < 0.97' \
    <<<"$OUTPUT")" true

# ---- what may not change, and what needs no file ----
sed -i 's/limit 20/limit 21/' "$TMP/sql/script-statement.sql"
run_status 'another text is another work' 2 "$DBSWEEP" run "$sweep"
like 'which it says' "$ERRORS" '*changed what finished trials rest on*workload.script*'
rm "$TMP"/sql/script-*.sql
run_ok 'restore needs no scripts' "$DBSWEEP" restore "$store"
cp "$TOP"/examples/script-*.sql "$TMP/sql/"

# ---- a host that cannot read them ----
PG_CONNECT=$DBSWEEP_TEST_PG_TCP_CONNECT
workload "$files load_hosts = ( { ssh = \"$address\"; identity = \"$DBSWEEP_TEST_SSH_IDENTITY\";
    known_hosts = \"$DBSWEEP_TEST_SSH_KNOWN_HOSTS\";
    program = \"$DBSWEEP_TEST_SSH_DIR/bin/dbsweep\"; } );"
pg_sweep "$TMP/remote.cfg" 'commit_delay = [ 1000 ];'
run_ok 'a load host drives them' "$DBSWEEP" run "$TMP/remote.cfg"
is 'to the end' "$(store_query "$TMP/remote.db" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 2
unchanged 'after a load host' "$config"

# ---- the workload alone ----
there=(--backend postgresql --connect "$DBSWEEP_TEST_PG_CONNECT" --quiet
    --scripts "$TMP/sql/script-transfer.sql@9" --scripts "$TMP/sql/script-statement.sql"
    --variables accounts=500 --setup "$TMP/sql/script-setup.sql"
    --teardown "$TMP/sql/script-teardown.sql")
run_status 'other data are not driven' 1 "$DBSWEEP" load script run "${there[@]}" --measure 1s
like 'and how they come' "$ERRORS" '*another setup*dbsweep load script prepare*'
run_ok 'prepare' "$DBSWEEP" load script prepare "${there[@]}"
is 'as many accounts as were asked' "$(own_psql 'select count(*) from account')" 500
run_ok 'run' "$DBSWEEP" load script run "${there[@]}" --clients 3 --warm-up 0s --measure 1s
like 'prints a table' "$OUTPUT" '*name *total *script-transfer.take *totals *TPM: *'
run_ok 'run, unprepared' "$DBSWEEP" load script run "${there[@]}" --clients 3 --warm-up 0s \
    --measure 1s --prepared false --think-time 1ms --format json
is 'prints JSON' "$(jq -r '[(.totals.tpm > 0), .clients, .distribution,
    ([.statements[].statement] | sort | join(","))] | tostring' <<<"$OUTPUT")" \
    '[true,3,"as the scripts say","balance,begin,book,commit,give,last bookings,take"]'
is 'and no money was made' "$(own_psql 'select sum(balance) from account')" 0
run_status 'a script is needed' 2 "$DBSWEEP" load script run --backend postgresql --connect x
like 'and how it is given' "$ERRORS" '*a script workload needs its scripts*'
printf 'select 1;\n\\sleep 5\n' >"$TMP/sql/sleepy.sql"
run_status 'what is refused' 2 "$DBSWEEP" load script run "${there[@]}" \
    --scripts "$TMP/sql/sleepy.sql"
like 'has a place and a remedy' "$ERRORS" '*sleepy.sql:2: *sleep is not possible*think_time*'
printf 'copy account to stdout;\n' >"$TMP/sql/copy.sql"
run_status 'COPY is no statement to drive' 1 "$DBSWEEP" load script run "${there[@]:0:5}" \
    --scripts "$TMP/sql/copy.sql" --reset none --warm-up 0s --measure 1s
like 'and is named' "$ERRORS" '*COPY cannot be driven*'
printf 'selec 1;\n' >"$TMP/sql/wrong.sql"
run_status 'neither is what the server refuses' 1 "$DBSWEEP" load script run "${there[@]:0:5}" \
    --scripts "$TMP/sql/wrong.sql" --reset none --warm-up 0s --measure 1s
like 'which is no matter of connections' "$ERRORS" '*syntax error*preparing: selec 1*'
is 'nor said to be one' "$(grep -c 'limit on connections' <<<"$ERRORS")" 0
{ sleep 2 && own_psql "select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'dbsweep' and backend_type = 'client backend' limit 1"; } >"$TMP/out" &
killer=$!
run_status 'a run that is broken off' 1 "$DBSWEEP" load script run "${there[@]}" --clients 3 \
    --warm-up 0s --measure 8s --format json
wait "$killer"
is 'tells what it measured until then' "$(jq -r '[.status, .class, .totals.transactions > 0,
    .totals.elapsed_s > 1 and .totals.elapsed_s < 5,
    (.totals.tpm - .totals.transactions * 60 / .totals.elapsed_s | fabs) < 1] | tostring' \
    <<<"$OUTPUT")" '["failed","POINT",true,true,true]'
run_ok 'cleanup' "$DBSWEEP" load script cleanup "${there[@]}"
is 'leaves nothing' "$(own_psql "select count(*) from pg_class where relkind = 'r'
    and relnamespace = 'public'::regnamespace")" 0
plan
