#!/usr/bin/env bash
# A sweep of innodb_buffer_pool_size x innodb_flush_log_at_trx_commit x innodb_log_buffer_size on a
# real MariaDB, values that it clamps, ignores and refuses, and what is left behind: nothing.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_mariadb

config=$DBSWEEP_TEST_MY_CONFIG
sweep=$TMP/my.cfg
store=$TMP/my.db
printf '\n# Mine, and to stay.\r\n[mariadb-10.11]\ninnodb-log-buffer-size = "16M" # quoted\n' \
    >>"$config"
"$TOP/tests/support/mariadb.sh" down "$DBSWEEP_TEST_MY_DIR"
"$TOP/tests/support/mariadb.sh" up "$DBSWEEP_TEST_MY_DIR"
my_sweep "$sweep" 'innodb_buffer_pool_size = [ "32M", "64M" ];
  innodb_flush_log_at_trx_commit = [ 1, 2 ]; innodb_log_buffer_size = [ "4M", "8M" ];'
keep "$config"
before=$(own_mysql 'select @@innodb_buffer_pool_size, @@innodb_log_buffer_size')

run_ok 'check connects and changes nothing' "$DBSWEEP" check "$sweep"
like 'check names the server' "$OUTPUT" '*MariaDB 10.*'
like 'check counts the points' "$OUTPUT" '*points:     9*'
like 'check finds the option file' "$OUTPUT" "*changes to $config*"
like 'check shows the line to be written' "$OUTPUT" '*+ innodb_buffer_pool_size = *M*'
like 'and the one that is changed, in its quotes' "$OUTPUT" \
    '*+ innodb-log-buffer-size = "*M" # quoted*'
unchanged 'after check' "$config"

run_ok 'the sweep runs to its end' "$DBSWEEP" run "$sweep"
unchanged 'after the sweep' "$config"
is 'the server is back on its baseline' \
    "$(own_mysql 'select @@innodb_buffer_pool_size, @@innodb_log_buffer_size')" "$before"
is 'all points were measured' "$(store_query "$store" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 9
is 'every asked value reads back' "$(store_query "$store" \
    "SELECT count(*) FROM trial_value WHERE verdict NOT IN ('equal', 'baseline')")" 0
is 'the file was the source of what was set' "$(store_query "$store" \
    "SELECT group_concat(DISTINCT source) FROM trial_value WHERE verdict = 'equal'")" config
is 'nothing says that the target is off its baseline' "$("$DBSWEEP" status "$store" \
    --format json | jq -r '.touched // false')" false
run_ok 'rank prints JSON' "$DBSWEEP" rank "$store" --format json
is 'JSON: all points' "$(jq length <<<"$OUTPUT")" 9
is 'JSON: effective values are canonical' "$(jq '[.[].effective.innodb_buffer_pool_size] |
    unique | tostring' -r <<<"$OUTPUT")" '[33554432,67108864,134217728]'
run_ok 'by default a less durable point cannot win' "$DBSWEEP" rank "$store" --format json \
    --durability baseline
is 'its rank is null' "$(jq '[.[] | select(.axes.innodb_flush_log_at_trx_commit == "2") | .rank] |
    unique | tostring' -r <<<"$OUTPUT")" '[null]'
trial=$(store_query "$store" "SELECT max(trial_id) FROM trial")
run_ok 'show prints JSON' "$DBSWEEP" show "$store" "$trial" --format json
is 'the server counted what was driven' "$(jq -r '[.counters | to_entries[] |
    select(.key | ascii_downcase == "com_stmt_execute") | .value.delta > 0] | tostring' \
    <<<"$OUTPUT")" '[true]'

# ---- clamped, ignored, refused ----
my_sweep "$TMP/odd.cfg" 'max_connections = [ 5, 10, 999999 ];'
run_ok 'clamped values are measured' "$DBSWEEP" run "$TMP/odd.cfg"
is 'they are adjusted' "$(store_query "$TMP/odd.db" \
    "SELECT group_concat(DISTINCT verdict) FROM (SELECT verdict FROM trial_value
     WHERE verdict <> 'baseline' ORDER BY verdict)")" 'adjusted,equal'
run_ok 'and ranked under what they became' "$DBSWEEP" rank "$TMP/odd.db" --format json
is 'equal ones as one' "$(jq '[.[] | select(.baseline | not) | .effective.max_connections] |
    sort | length' <<<"$OUTPUT")" 2
is 'of which the lowest is the least that there is' "$(jq '[.[].effective.max_connections] | min' \
    <<<"$OUTPUT")" 10
unchanged 'after clamped values' "$config"

my_sweep "$TMP/gone.cfg" 'innodb_thread_concurrency = [ "baseline", 8 ];
  max_connections = [ 20, 30 ];'
run_status 'an option that is ignored fails its points' 1 "$DBSWEEP" run "$TMP/gone.cfg"
run_ok 'the others are ranked' "$DBSWEEP" rank "$TMP/gone.db" --format json
is 'three of them' "$(jq '[.[] | select(.rank != null)] | length' <<<"$OUTPUT")" 3
like 'the reason says so' "$(jq -r '[.[] | select(.rank == null) | .reason] | .[0]' \
    <<<"$OUTPUT")" 'not applied: innodb_thread_concurrency*ignores this option*'
unchanged 'after ignored options' "$config"

my_sweep "$TMP/huge.cfg" 'innodb_buffer_pool_size = [ "32M", "900G" ];' \
    'guard = { memory = "off"; };'
run_status 'an impossible pool fails its point' 1 "$DBSWEEP" run "$TMP/huge.cfg"
run_ok 'the others are ranked' "$DBSWEEP" rank "$TMP/huge.db" --format json
is 'two of them' "$(jq '[.[] | select(.rank != null)] | length' <<<"$OUTPUT")" 2
like 'the reason is the server'"'"'s own' "$(jq -r '.[] | select(.rank == null) | .reason' \
    <<<"$OUTPUT")" '*InnoDB: *'
unchanged 'after an impossible pool' "$config"
is 'the server is up' "$(own_mysql 'select 1')" 1

my_sweep "$TMP/typo.cfg" 'innodb_bufer_pool_size = [ "32M" ];'
run_status 'a misspelt knob is refused' 2 "$DBSWEEP" run "$TMP/typo.cfg"
like 'with the nearest name' "$ERRORS" '*innodb_buffer_pool_size*'
unchanged 'after the refusal' "$config"
plan
