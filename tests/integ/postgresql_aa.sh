#!/usr/bin/env bash
# The baseline against itself on a real PostgreSQL: a start of its own for each run, nothing left
# behind, and a sweep that goes on from there with what is known of the noise.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql

config=$DBSWEEP_TEST_PG_CONFIG
sweep=$TMP/aa.cfg
store=$TMP/aa.db
pg_sweep "$sweep" 'work_mem = [ "1MB", "8MB" ];'
keep "$config"
started=$(own_psql 'select pg_postmaster_start_time()')

run_ok 'aa' "$DBSWEEP" aa "$sweep" --runs 4 --allow-noise --format json
unchanged 'after aa' "$config"
is 'four runs of the baseline' "$(jq -c '[.runs, .degrees, .conditions[0].failed]' \
    <<<"$OUTPUT")" '[4,3,0]'
is 'of a real throughput' "$(jq '.conditions[0].mean > 1 and .sigma_pct > 0' <<<"$OUTPUT")" true
is 'each with a restart of its own' "$(store_query "$store" "SELECT count(*) FROM stage
    WHERE name = 'start' AND outcome = 'done'")" 4
unlike 'the server was restarted' "$(own_psql 'select pg_postmaster_start_time()')" "$started"
is 'and nothing else was tried' "$(store_query "$store" "SELECT group_concat(DISTINCT purpose)
    FROM trial")" baseline
is 'nothing says that the target is off its baseline' "$("$DBSWEEP" status "$store" \
    --format json | jq -r '.touched // false')" false

run_ok 'check' "$DBSWEEP" check "$sweep"
like 'says what the sweep can detect' "$OUTPUT" \
    '*detectable: *between two points of 1 run each*by 4 runs of the baseline*'
run_ok 'the sweep goes on' "$DBSWEEP" run "$sweep"
unchanged 'after the sweep' "$config"
run_ok 'rank' "$DBSWEEP" rank "$store" --format json
is 'with the noise that aa measured' "$(jq '[.[].metrics.throughput_per_s |
    .low != null and .low < .mean and .high > .mean] | length == 3 and all' <<<"$OUTPUT")" true
is 'and the baseline'"'"'s runs of both' "$(jq '.[] | select(.baseline) | .trials >= 5' \
    <<<"$OUTPUT")" true
run_ok 'rank explains' "$DBSWEEP" rank "$store" --explain
like 'why the first is first' "$OUTPUT" '*why point * is first: *'
like 'and what is not known' "$OUTPUT" '*not known*drift not testable: *'
run_status 'not as JSON' 2 "$DBSWEEP" rank "$store" --explain --format json
plan
