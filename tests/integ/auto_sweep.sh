#!/usr/bin/env bash
# strategy = "auto" on a real PostgreSQL under a budget of trials: killed in the middle, gone on with,
# and ended by a confirmed winner or an honest tie, with its interval and a drift check.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql

config=$DBSWEEP_TEST_PG_CONFIG
sweep=$TMP/auto.cfg
store=$TMP/auto.db
trials=56
PG_WORKLOAD='kind = "oltp"; mix = "read_only"; tables = 1; rows = 5000; clients = 2;
  warm_up = "300ms"; measure = "1s"; reset = "none";'
pg_sweep "$sweep" 'enable_indexscan = [ "on", "off" ]; enable_bitmapscan = [ "on", "off" ];
  work_mem = [ "1MB", "4MB", "16MB" ]; shared_buffers = [ "16MB", "64MB" ];
  random_page_cost = [ 1.1, 4.0 ]; jit = [ "on", "off" ];'
sed -i -e "s/^strategy = .*/strategy = { kind = \"auto\"; trials = $trials; seed = 7; };/" \
    -e 's/^rank = .*/rank = { by = "throughput_per_s"; };/' "$sweep"
# Found without its indexes, so that there is something to find, however busy this machine is.
printf 'enable_indexscan = off\nenable_bitmapscan = off\n' >>"$config"
own_psql 'select pg_reload_conf()' >"$TMP/reload.out"
keep "$config"
before=$(own_psql 'show shared_buffers')

library=$(kill_at_library)
status=0
KILL_AT=measure:20 KILL_AFTER_MS=200 LD_PRELOAD=$library "$BUILD/dbsweep" run "$sweep" \
    >"$TMP/killed.out" 2>&1 || status=$?
is 'killed in the middle' "$status" 137
status=0
"$DBSWEEP" run "$sweep" >"$TMP/run.out" 2>&1 || status=$?
is 'goes on to its end' "$((status <= 1))" 1
unchanged 'after it' "$config"
is 'the server is back on its baseline' "$(own_psql 'show shared_buffers')" "$before"

# count WHERE
count() {
    store_query "$store" "SELECT count(*) FROM trial WHERE $1"
}
is 'in two calls' "$(store_query "$store" 'SELECT group_concat(status) FROM call')" interrupted,done
is 'the trial that died is left' "$(count "status = 'interrupted'")" 1
ended=$(count "status IN ('done', 'failed')")
is 'in no more trials than were asked for' "$((ended <= trials && ended > 25))" 1
is 'of a grid that holds more points' "$(store_query "$store" 'SELECT count(*) > 90 FROM point')" 1
is 'what was found is confirmed' "$(($(count "purpose = 'confirm'") >= 9))" 1
is 'by runs of which each has its own restart' "$(store_query "$store" "SELECT count(*) FROM trial
    WHERE purpose = 'confirm' AND status = 'done' AND (SELECT count(*) FROM stage WHERE
    stage.trial_id = trial.trial_id AND name = 'start' AND outcome = 'done') <> 1")" 0

run_ok 'rank' "$DBSWEEP" rank "$store" --format json
# shellcheck disable=SC2016 # of jq
is 'the first is confirmed, alone or in a tie that is said' "$(jq -r '.[0] | .confirmed and
    (.versus_baseline_pct | .low != null and .high != null and .low <= .mean and .mean <= .high)' \
    <<<"$OUTPUT")" true
is 'all that tie share its rank' "$(jq -r '[.[] | select(.tied) | .rank] | unique | tojson' \
    <<<"$OUTPUT" | sed 's/^\[\]$/[1]/')" '[1]'
is 'what has no index at hand is not among them' "$(jq -r '[.[] | select(.rank == 1) | .axes |
    select(.enable_indexscan == "off" and .enable_bitmapscan == "off")] | length' <<<"$OUTPUT")" 0
run_ok 'rank says why' "$DBSWEEP" rank "$store" --explain
like 'by the runs that confirm it' "$OUTPUT" '*runs that confirm it*'
like 'with a drift check' "$OUTPUT" '*drift*'
unlike 'that could be made' "$OUTPUT" '*drift not testable*'
like 'and what is not known' "$OUTPUT" '*not known*go unseen*'
plan
