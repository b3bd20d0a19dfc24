#!/usr/bin/env bash
# A sweep of a real MariaDB under iiBench, each trial until its rows are in, ranked by the rate at
# its end; rows that went missing, which fail a trial; and the workload alone, with its text and its
# JSON.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_mariadb

config=$DBSWEEP_TEST_MY_CONFIG
sweep=$TMP/insert.cfg
store=$TMP/insert.db
MY_WORKLOAD='kind = "insert"; index_form = "2009"; insert_rows = 60000; clients = 2;
  warm_up = "0s"; complete_within = "5min";'
my_sweep "$sweep" 'innodb_flush_log_at_trx_commit = [ 1, 2 ];'
sed -i 's/by = "throughput_per_s"/by = "terminal_rows_per_s"/' "$sweep"
keep "$config"

run_ok 'check says how long it may take' "$DBSWEEP" check "$sweep"
like 'as a limit' "$OUTPUT" '*time: *at most *min*'

# ---- the sweep ----
run_ok 'the sweep runs to its end' "$DBSWEEP" run "$sweep"
unchanged 'after the sweep' "$config"
is 'every point was measured, and the baseline' "$(store_query "$store" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 3
is 'each trial began with a table of its own, and its rows were counted' "$(store_query "$store" \
    "SELECT count(*) FROM stage WHERE name IN ('reset_data', 'check') AND outcome = 'done'")" \
    "$(store_query "$store" "SELECT 2 * count(*) FROM trial")"
is 'the rows of one trial are there' "$(own_mysql 'select count(*) from purchases_index')" 60000
run_ok 'rank prints JSON' "$DBSWEEP" rank "$store" --format json
is 'all points, by the falling rate of the end' "$(jq '[.[].metrics.terminal_rows_per_s.mean] |
    length == 2 and . == (sort | reverse) and .[1] > 0' <<<"$OUTPUT")" true
is 'with all rates' "$(jq '[.[].metrics | [.rows_per_s, .initial_rows_per_s, .decile_1_rows_per_s,
    .decile_10_rows_per_s, .longest_stall_ms, .elapsed_s] | all(.mean > 0)] | all' \
    <<<"$OUTPUT")" true
run_ok 'rank by the time that it took' "$DBSWEEP" rank "$store" --by elapsed_s --format json
is 'least first' "$(jq '[.[].metrics.elapsed_s.mean] | . == sort' <<<"$OUTPUT")" true
trial=$(store_query "$store" "SELECT max(trial_id) FROM trial")
run_ok 'show prints a trial' "$DBSWEEP" show "$store" "$trial" --format json
is 'of 60 statements' "$(jq '.totals.transactions' <<<"$OUTPUT")" 60
is 'the tenths of which take the whole time' "$(jq '.metrics | ([to_entries[] |
    select(.key | startswith("decile_")) | 6000 / .value] | add) / .elapsed_s |
    . > 0.999 and . < 1.001' <<<"$OUTPUT")" true

# ---- rows that are lost ----
# Slow enough, at 15 statements a second, that somebody can take rows away while others come.
own_mysql 'drop table purchases_index; drop table dbsweep_meta'
sed -e 's/^name = .*/name = "lossy";/' -e 's/clients = 2;/clients = 2; rate = 15.0;/' "$sweep" \
    >"$TMP/lossy.cfg"
thief() {
    local try taken=0
    for try in $(seq 1 600); do
        taken=$(own_mysql 'delete from purchases_index where transactionid between 20001 and 20010;
            select row_count()' 2>/dev/null) || taken=0
        [ "$taken" != 10 ] || return 0
        sleep 0.1
    done
    printf 'no rows were there (try %d)\n' "$try"
}
thief >"$TMP/thief.out" 2>&1 &
thief_pid=$!
at_end "kill $thief_pid 2>/dev/null; true"
run_status 'a trial whose rows went missing fails' 1 "$DBSWEEP" run "$TMP/lossy.cfg"
wait "$thief_pid"
is 'ten were taken' "$(cat "$TMP/thief.out")" ''
like 'and its reason is kept' "$(store_query "$TMP/lossy.db" \
    "SELECT reason FROM trial WHERE status = 'failed' LIMIT 1")" \
    '*purchases_index holds 59990 rows, but 60000 were inserted and 0 of them deleted*'
unchanged 'after that sweep' "$config"

# ---- the workload alone ----
there=(--backend mysql --connect "$DBSWEEP_TEST_MY_CONNECT" --quiet --initial-rows 5000)
run_ok 'prepare' "$DBSWEEP" load insert prepare "${there[@]}"
run_ok 'it runs' "$DBSWEEP" load insert run "${there[@]}" --insert-rows 30000 --warm-up 0s \
    --clients 3 --query-clients 1 --rows-per-insert 500
like 'and prints its text' "$OUTPUT" '*insert.insert * 60*rows: 30000 inserted, *, initial *, terminal *tenths, *'
run_ok 'and by time' "$DBSWEEP" load insert run "${there[@]}" --warm-up 0s --measure 2s --format json
is 'with the JSON of a trial' "$(jq '(.metrics.rows_inserted > 0 and .metrics.elapsed_s == 2 and
    (.metrics.rows_per_s * 2 - .metrics.rows_inserted | fabs) < 1 and .clients == 1)' \
    <<<"$OUTPUT")" true
run_ok 'check' "$DBSWEEP" load insert check "${there[@]}"
own_mysql 'delete from purchases_index limit 1'
run_status 'a row that went missing is found' 1 "$DBSWEEP" load insert check "${there[@]}"
like 'and counted' "$ERRORS" '*purchases_index holds * rows, but * were inserted*'
run_status 'a warm-up does not go with rows' 2 "$DBSWEEP" load insert run "${there[@]}" \
    --insert-rows 1000
like 'which it says' "$ERRORS" '*a run that ends by its rows has no warm_up*warm_up = "0s"*'
run_status 'too little time' 1 "$DBSWEEP" load insert run "${there[@]}" --insert-rows 100000000 \
    --warm-up 0s --complete-within 2s
like 'fails with what was done' "$ERRORS" '*of 100000000 rows were inserted within 2 s*'
run_ok 'cleanup' "$DBSWEEP" load insert cleanup "${there[@]}"
is 'leaves nothing' "$(own_mysql "select count(*) from information_schema.tables
    where table_schema = 'bench'")" 0
plan
