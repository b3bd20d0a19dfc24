#!/usr/bin/env bash
# A sweep of shared_buffers x work_mem x synchronous_commit on a real PostgreSQL, from the sweep
# file to the ranking, and what is left behind: nothing.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql

config=$DBSWEEP_TEST_PG_CONFIG
sweep=$TMP/pg.cfg
store=$TMP/pg.db
pg_sweep "$sweep" 'shared_buffers = [ "32MB", "64MB" ]; work_mem = [ "1MB", "8MB" ];
  synchronous_commit = [ "on", "off" ];' 'rank = { by = "throughput_per_s"; durability = "any"; };'
sed -i '/^rank = { by = "throughput_per_s"; repeats = 1; };$/d' "$sweep"
keep "$config"
before=$(own_psql 'show shared_buffers')

run_ok 'check connects and changes nothing' "$DBSWEEP" check "$sweep"
like 'check counts the points' "$OUTPUT" '*points:     9*'
like 'check shows the line to be written' "$OUTPUT" '*+ shared_buffers = 32MB*'
unchanged 'after check' "$config"
is 'check makes no store' "$([ -e "$store" ] && echo there)" ''

run_ok 'the sweep runs to its end' "$DBSWEEP" run "$sweep"
unchanged 'after the sweep' "$config"
is 'the server is back on its baseline' "$(own_psql 'show shared_buffers')" "$before"
is 'all points were measured' "$(store_query "$store" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 9
is 'every asked value reads back' "$(store_query "$store" \
    "SELECT count(*) FROM trial_value WHERE verdict NOT IN ('equal', 'baseline')")" 0
is 'the file was the source of what was set' "$(store_query "$store" \
    "SELECT group_concat(DISTINCT source) FROM trial_value WHERE verdict = 'equal'")" config
is 'the baseline was measured first and last' "$(store_query "$store" \
    "SELECT (SELECT purpose FROM trial ORDER BY trial_id LIMIT 1) || ' ' ||
            (SELECT purpose FROM trial ORDER BY trial_id DESC LIMIT 1)")" 'baseline baseline'
is 'nothing says that the target is off its baseline' "$("$DBSWEEP" status "$store" \
    --format json | jq -r '.touched // false')" false

run_ok 'rank prints a table' "$DBSWEEP" rank "$store"
like 'with the baseline in it' "$OUTPUT" '*baseline*'
run_ok 'rank prints JSON' "$DBSWEEP" rank "$store" --format json
is 'JSON: all points' "$(jq length <<<"$OUTPUT")" 9
is 'JSON: effective values are canonical' "$(jq '[.[].effective.shared_buffers] | unique |
    map(select(. != 134217728)) | tostring' -r <<<"$OUTPUT")" '[33554432,67108864]'
is 'JSON: one baseline' "$(jq '[.[] | select(.baseline)] | length' <<<"$OUTPUT")" 1
run_ok 'by default a less durable point cannot win' "$DBSWEEP" rank "$store" --format json \
    --durability baseline
is 'its rank is null' "$(jq '[.[] | select(.axes.synchronous_commit == "off") | .rank] | unique |
    tostring' -r <<<"$OUTPUT")" '[null]'
run_ok 'rank filters' "$DBSWEEP" rank "$store" --format json --where "work_mem = 8MB"
is 'the filter holds' "$(jq '[.[].effective.work_mem] | unique | tostring' -r <<<"$OUTPUT")" \
    '[8388608]'

trial=$(store_query "$store" "SELECT max(trial_id) FROM trial")
run_ok 'show prints the per-statement table' "$DBSWEEP" show "$store" "$trial"
like 'with its totals' "$OUTPUT" '*totals*total transactions:*TPM:*SPM:*'
run_ok 'show prints JSON' "$DBSWEEP" show "$store" "$trial" --format json
is 'statements of read_only' "$(jq -r '[.statements[] | select(.transaction == "read_only" and
    .statement == "point_select") | .count > 0] | tostring' <<<"$OUTPUT")" '[true]'
run_ok 'export writes CSV' "$DBSWEEP" export "$store"
is 'one row a trial' "$(($(wc -l <<<"$OUTPUT") - 1))" "$(store_query "$store" \
    'SELECT count(*) FROM trial')"
run_ok 'emit writes native lines' "$DBSWEEP" emit "$store" best
like 'with their provenance' "$OUTPUT" '#*'

trials=$(store_query "$store" 'SELECT count(*) FROM trial')
run_ok 'running again measures no point again' "$DBSWEEP" run "$sweep"
is 'explored once' "$(store_query "$store" "SELECT max(n) FROM (SELECT count(*) AS n FROM trial
    WHERE purpose = 'explore' AND status = 'done' GROUP BY point_id)")" 1
sed -i 's/work_mem = \[ "1MB", "8MB" \]/work_mem = [ "1MB", "8MB", "16MB" ]/' "$sweep"
run_ok 'values added to the file are measured' "$DBSWEEP" run "$sweep"
is 'the old ones stay, the new ones come' "$(store_query "$store" "SELECT count(*) FROM trial
    WHERE purpose = 'explore' AND status = 'done'")" 12
is 'finished trials were kept' "$(store_query "$store" "SELECT count(*) FROM trial
    WHERE trial_id <= $trials AND status = 'done'")" "$trials"
unchanged 'after three runs' "$config"

sed -i 's/measure = "300ms"/measure = "400ms"/' "$sweep"
run_status 'another window needs --fresh' 2 "$DBSWEEP" run "$sweep"
like 'and the error names it' "$ERRORS" '*measure*--fresh*'
unchanged 'after the refusal' "$config"
run_status '--fresh begins anew in the same store' 3 "$DBSWEEP" run "$sweep" --fresh --limit 3
is 'and the view "best" keeps the two apart: each has its first place' "$(store_query "$store" \
    "SELECT count(*) || ' of ' || count(DISTINCT sweep_id) FROM best WHERE place = 1")" '2 of 2'
unchanged 'after the fresh run' "$config"
plan
