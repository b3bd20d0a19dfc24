#!/usr/bin/env bash
# What counts as a result: values that the server rounds, commands that measure, a server that is
# not ready in time or dies, limits, and labels.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
config=$DBSWEEP_TEST_PG_CONFIG
keep "$config"

# ---- adjusted values ----
# 8 kB pages: 4001 kB is rounded to 500 pages, which is what 4000 kB gives.
pg_sweep "$TMP/round.cfg" 'temp_buffers = [ "4000kB", "4001kB", "8MB" ];'
run_ok 'values that the server rounds are measured' "$DBSWEEP" run "$TMP/round.cfg"
is 'and recorded as adjusted' "$(store_query "$TMP/round.db" "SELECT asked || ' ' || effective
    FROM trial_value WHERE verdict = 'adjusted'")" '4001kB 4096000'
run_ok 'they are ranked' "$DBSWEEP" rank "$TMP/round.db" --format json
is 'points that came out equal are one' "$(jq '[.[] | select(.effective.temp_buffers == 4096000) |
    .trials] | tostring' -r <<<"$OUTPUT")" '[2]'
unchanged 'after rounding' "$config"

# ---- other people's load drivers ----
sysbench=(sysbench oltp_point_select --db-driver=pgsql "--pgsql-host=$DBSWEEP_TEST_PG_SOCKET"
    "--pgsql-port=$DBSWEEP_TEST_PG_PORT" --pgsql-user=bench --pgsql-db=sbtest --tables=1
    --table-size=1000)
own_psql 'create database sbtest' >/dev/null
"${sysbench[@]}" prepare >"$TMP/sysbench.out" 2>&1
command_list() {
    local word text=''
    for word in "$@"; do text+="\"$word\", "; done
    printf '[ %s ]' "${text%, }"
}
PG_WORKLOAD="kind = \"command\"; preset = \"sysbench\"; clients = 2; warm_up = \"0s\";
  measure = \"2s\"; command = $(command_list "${sysbench[@]}" '--threads={clients}' \
    '--time={measure_s}' run);"
pg_sweep "$TMP/sysbench.cfg" 'work_mem = [ "2MB" ];'
run_ok 'sysbench measures' "$DBSWEEP" run "$TMP/sysbench.cfg"
is 'its throughput is kept' "$(store_query "$TMP/sysbench.db" "SELECT count(*) FROM metric
    WHERE name = 'throughput_per_s' AND value > 0")" 3
run_ok 'and ranked' "$DBSWEEP" rank "$TMP/sysbench.db"

PG_WORKLOAD=${PG_WORKLOAD/'--threads={clients}'/'--threads=1'}
pg_sweep "$TMP/wrong.cfg" 'work_mem = [ "2MB" ];'
run_status 'a run with other clients than asked is not believed' 1 "$DBSWEEP" run "$TMP/wrong.cfg"
like 'and the reason says so' "$(store_query "$TMP/wrong.db" \
    "SELECT reason FROM trial LIMIT 1")" '*client*'

"$DBSWEEP_TEST_PG_BIN/pgbench" -h "$DBSWEEP_TEST_PG_SOCKET" -p "$DBSWEEP_TEST_PG_PORT" -U bench \
    -i -s 1 -q sbtest >"$TMP/pgbench.out" 2>&1
PG_WORKLOAD="kind = \"command\"; preset = \"pgbench\"; clients = 2; warm_up = \"0s\";
  measure = \"2s\"; command = $(command_list "$DBSWEEP_TEST_PG_BIN/pgbench" -h \
    "$DBSWEEP_TEST_PG_SOCKET" -p "$DBSWEEP_TEST_PG_PORT" -U bench -S -c '{clients}' -T \
    '{measure_s}' sbtest);"
pg_sweep "$TMP/pgbench.cfg" 'work_mem = [ "2MB" ];'
run_ok 'pgbench measures' "$DBSWEEP" run "$TMP/pgbench.cfg"

PG_WORKLOAD="kind = \"command\"; preset = \"time\"; measure = \"30s\";
  command = [ \"$DBSWEEP_TEST_PG_BIN/psql\", \"-d\", \"$DBSWEEP_TEST_PG_CONNECT\", \"-c\",
    \"select count(*) from generate_series(1, 100000)\" ];"
pg_sweep "$TMP/time.cfg" 'work_mem = [ "64kB", "8MB" ];'
sed -i '/^rank = /d' "$TMP/time.cfg"
run_ok 'a job is measured by its duration' "$DBSWEEP" run "$TMP/time.cfg"
run_ok 'less is better' "$DBSWEEP" rank "$TMP/time.db" --format json
is 'the first has the least, or is tied with it' "$(jq '(map(.metrics.elapsed_s.mean) | min) as $least |
    .[0] | .tied or .metrics.elapsed_s.mean == $least' <<<"$OUTPUT")" true

# ---- a server that is not ready, or dies ----
PG_WORKLOAD=''
slow="$TMP/slow-start"
cat >"$slow" <<EOF
#!/bin/sh
# Starts nothing while the swept value is there: a server that never becomes ready.
grep -q '^work_mem = 7MB' '$config' && exit 0
exec $DBSWEEP_TEST_PG_START
EOF
chmod 755 "$slow" "$TMP"
pg_sweep "$TMP/slow.cfg" 'work_mem = [ "7MB", "9MB" ];'
sed -i "s|^  start = .*|  start = [ \"$slow\" ];|; s|ready_timeout = \"30s\"|ready_timeout = \"3s\"|" \
    "$TMP/slow.cfg"
run_status 'a server that is not ready in time fails its point' 1 "$DBSWEEP" run "$TMP/slow.cfg"
is 'with its own reason' "$(store_query "$TMP/slow.db" "SELECT group_concat(code) FROM trial
    WHERE status = 'failed'")" not_ready
is 'the other point is measured' "$(store_query "$TMP/slow.db" "SELECT count(*) FROM trial
    WHERE status = 'done' AND purpose = 'explore'")" 1
unchanged 'after it' "$config"

pg_sweep "$TMP/dies.cfg" 'work_mem = [ "7MB" ];'
sed -i 's/measure = "300ms"/measure = "20s"/' "$TMP/dies.cfg"
"$DBSWEEP" run "$TMP/dies.cfg" >"$TMP/dies.out" 2>&1 &
sweeper=$!
for _ in $(seq 1 200); do
    [ "$(store_query "$TMP/dies.db" "SELECT count(*) FROM stage WHERE name = 'measure'" \
        2>/dev/null || echo 0)" -ge 1 ] && break
    sleep 0.1
done
kill -QUIT "$(head -n 1 "$DBSWEEP_TEST_PG_DATA/postmaster.pid")" # the immediate end of the server
for _ in $(seq 1 300); do
    [ "$(store_query "$TMP/dies.db" "SELECT count(*) FROM trial WHERE status = 'failed'")" -ge 1 ] &&
        break
    sleep 0.1
done
is 'a server that dies fails the trial' "$(store_query "$TMP/dies.db" \
    "SELECT class FROM trial WHERE status = 'failed' LIMIT 1")" POINT
kill -TERM "$sweeper" 2>/dev/null
wait "$sweeper"
is 'the server is up on its baseline' "$(own_psql 'show work_mem')" 4MB
unchanged 'after its death' "$config"

# ---- limits and failures in the ranking ----
pg_sweep "$TMP/limit.cfg" 'work_mem = [ "1MB", "2MB" ];'
run_ok 'a sweep for limits' "$DBSWEEP" run "$TMP/limit.cfg"
run_ok 'a limit that nothing keeps' "$DBSWEEP" rank "$TMP/limit.db" --under 'p99_ms < 0.0001' \
    --format json
is 'leaves nothing ranked' "$(jq '[.[].rank] | unique | tostring' -r <<<"$OUTPUT")" '[null]'
run_status 'an unknown metric is refused' 2 "$DBSWEEP" rank "$TMP/limit.db" --by 'throughput_pers'
like 'with the nearest' "$ERRORS" '*throughput_per_s*'
run_status '--limit ends a call early' 3 "$DBSWEEP" run "$TMP/limit.cfg" --fresh --limit 1
run_ok 'and the next goes on' "$DBSWEEP" run "$TMP/limit.cfg"
run_status '--until takes a time' 2 "$DBSWEEP" run "$TMP/limit.cfg" --until 7
run_status 'a budget that is too short measures nothing' 3 "$DBSWEEP" run "$TMP/limit.cfg" --fresh \
    --budget 1s
unchanged 'after all that' "$config"
plan
