#!/usr/bin/env bash
# What happens between trials, and what is said of the runs themselves, on a real PostgreSQL: reloads
# instead of restarts where they are enough, the four keys of `between`, cycles, debt and the log.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql

# stages STORE NAME: how many trials had that stage, and it was done
stages() {
    store_query "$1" "SELECT count(*) FROM stage WHERE name = '$2' AND outcome = 'done'"
}

# ---- restart = when-needed ----
before=$(own_psql 'select pg_postmaster_start_time()')
keep "$DBSWEEP_TEST_PG_CONFIG"
pg_sweep "$TMP/reload.cfg" 'work_mem = [ "1MB", "2MB", "3MB" ]; random_page_cost = [ 1.5, 3.0 ];' \
    'between = { restart = "when-needed"; };'
run_ok 'a sweep of what a reload changes' "$DBSWEEP" run "$TMP/reload.cfg"
like 'says what it spared' "$ERRORS" '*restarts were spared*'
is 'no trial stopped the server' "$(stages "$TMP/reload.db" stop)" 0
is 'every value reads back' "$(store_query "$TMP/reload.db" "SELECT count(*) FROM trial_value
    WHERE verdict NOT IN ('equal', 'baseline')")" 0
is 'all trials are done' "$(store_query "$TMP/reload.db" "SELECT count(DISTINCT point_id) FROM trial
    WHERE status = 'done'")" 7
run_ok 'rank says so' "$DBSWEEP" rank "$TMP/reload.db" --format json
is 'of each point' "$(jq '[.[] | .flags | index("not-restarted") != null] | all' <<<"$OUTPUT")" true
unchanged 'after reloads' "$DBSWEEP_TEST_PG_CONFIG"
is 'the baseline is back' "$(own_psql 'show work_mem')" 4MB
is 'by a restart at the end alone' "$([ "$before" = "$(own_psql 'select pg_postmaster_start_time()')" ]
    echo $?)" 1

pg_sweep "$TMP/mixed.cfg" 'work_mem = [ "1MB", "2MB" ]; shared_buffers = [ "16MB", "24MB" ];' \
    'between = { restart = "when-needed"; };'
run_ok 'a sweep of both kinds' "$DBSWEEP" run "$TMP/mixed.cfg"
is 'some trials restart, and some do not' "$(store_query "$TMP/mixed.db" "SELECT
    count(DISTINCT trial_id) < (SELECT count(*) FROM trial) AND count(DISTINCT trial_id) >= 2
    FROM stage WHERE name = 'stop'")" 1
is 'a pool is never changed without one' "$(store_query "$TMP/mixed.db" "WITH pool AS (
    SELECT trial_id, effective, lag(effective) OVER (ORDER BY trial_id) AS before
    FROM trial_value WHERE name = 'shared_buffers')
    SELECT count(*) FROM pool WHERE effective <> before AND trial_id NOT IN
    (SELECT trial_id FROM stage WHERE name = 'stop')")" 0
is 'every value reads back' "$(store_query "$TMP/mixed.db" "SELECT count(*) FROM trial_value
    WHERE verdict NOT IN ('equal', 'baseline')")" 0

# ---- prewarm, drop_caches, settle ----
if [ "$(own_psql "select count(*) from pg_available_extensions where name = 'pg_prewarm'")" = 1 ]; then
    PG_WORKLOAD='kind = "oltp"; mix = "point_select"; tables = 1; rows = 20000; clients = 1;
  warm_up = "0s"; measure = "200ms";' pg_sweep "$TMP/warm.cfg" 'work_mem = [ "1MB" ];' \
        'between = { prewarm = true; settle = "300ms"; };'
    run_ok 'a sweep with prewarming' "$DBSWEEP" run "$TMP/warm.cfg"
    is 'each trial was prewarmed' "$(stages "$TMP/warm.db" prewarm)" \
        "$(store_query "$TMP/warm.db" "SELECT count(*) FROM trial")"
    is 'and rested before' "$(store_query "$TMP/warm.db" "SELECT count(*) FROM stage
        WHERE name = 'settle' AND elapsed_us < 300000")" 0
    is 'no page of the tables was read again' "$(store_query "$TMP/warm.db" "SELECT
        max(end_value - start_value) < 100 FROM counter WHERE name = 'pg_stat_database.blks_read'")" 1
    is 'the extension was lent, not left' "$(own_psql \
        "select count(*) from pg_extension where extname = 'pg_prewarm'")" 0
fi
pg_sweep "$TMP/both.cfg" 'work_mem = [ "1MB" ];' \
    'between = { restart = "when-needed"; drop_caches = true; };'
run_status 'caches are not dropped under a running server' 2 "$DBSWEEP" run "$TMP/both.cfg"
if [ "$(id -u)" -eq 0 ] && [ -w /proc/sys/vm/drop_caches ]; then
    pg_sweep "$TMP/drop.cfg" 'work_mem = [ "1MB" ];' 'between = { drop_caches = true; };'
    run_ok 'a sweep that drops the caches' "$DBSWEEP" run "$TMP/drop.cfg"
    is 'while the server is stopped' "$(store_query "$TMP/drop.db" "SELECT count(*) FROM stage AS s
        WHERE s.name = 'drop_caches' AND NOT EXISTS (SELECT 1 FROM stage AS stop JOIN stage AS start
        USING (trial_id) WHERE stop.name = 'stop' AND start.name = 'start' AND
        stop.trial_id = s.trial_id AND stop.position < s.position AND
        s.position < start.position)")" 0
fi

# ---- what is said of a run that writes ----
WRITES='kind = "oltp"; mix = "update_non_index"; tables = 1; rows = 20000; clients = 4;
  warm_up = "200ms"; measure = "2s";'
PG_WORKLOAD=$WRITES pg_sweep "$TMP/short.cfg" 'checkpoint_timeout = [ "30s", "10min" ];'
run_status 'too short a window for the interval that is swept' 2 "$DBSWEEP" check "$TMP/short.cfg"
like 'is said with what to do' "$ERRORS" \
    '*checkpoint_timeout is swept up to 10min*cannot hold two*measure = "20min"*guard*'
run_status 'and refused by run' 2 "$DBSWEEP" run "$TMP/short.cfg"
PG_WORKLOAD=$WRITES pg_sweep "$TMP/short.cfg" 'checkpoint_timeout = [ "30s", "10min" ];
  max_wal_size = [ "64MB", "1GB" ];' 'guard = { cycles = false; };'
run_ok 'unless the guard is off' "$DBSWEEP" run "$TMP/short.cfg"
like 'which is said' "$ERRORS" '*guard.cycles is off*'
is 'and kept' "$(store_query "$TMP/short.db" "SELECT count(*) FROM sweep
    WHERE file_text LIKE '%cycles = false%'")" 1
is 'every trial has too few cycles' "$(store_query "$TMP/short.db" "SELECT count(*) FROM trial
    WHERE flags NOT LIKE '%few-cycles%'")" 0
is 'no log of 1 GB was written around' "$(store_query "$TMP/short.db" "SELECT count(*) FROM trial
    JOIN trial_value USING (trial_id) WHERE name = 'max_wal_size' AND number >= 1073741824
    AND flags NOT LIKE '%log-not-wrapped%'")" 0
is 'what was written without a checkpoint is debt' "$(store_query "$TMP/short.db" "SELECT count(*)
    FROM trial JOIN metric c USING (trial_id) JOIN metric d USING (trial_id)
    WHERE c.name = 'cycles' AND c.value = 0 AND d.name = 'debt_pct' AND d.value > 5
    AND flags NOT LIKE '%debt%'")" 0
is 'and there is some' "$(store_query "$TMP/short.db" "SELECT count(*) > 0 FROM trial
    WHERE flags LIKE '%debt%'")" 1
PG_WORKLOAD=$WRITES pg_sweep "$TMP/plain.cfg" 'work_mem = [ "1MB", "2MB" ];'
run_ok 'the same windows where nothing paces the server' "$DBSWEEP" run "$TMP/plain.cfg"
is 'are compared with the baseline' "$(store_query "$TMP/plain.db" "SELECT count(*) FROM trial
    JOIN point USING (point_id) WHERE is_baseline = 1 AND flags LIKE '%debt%'")" 0
is 'cycles are counted' "$(store_query "$TMP/plain.db" "SELECT count(*) FROM metric
    WHERE name = 'cycles'")" "$(store_query "$TMP/plain.db" "SELECT count(*) FROM trial")"

# ---- how well a run knows its mean ----
PG_WORKLOAD='kind = "oltp"; mix = "point_select"; tables = 1; rows = 1000; clients = 2; rate = 100.0;
  warm_up = "0s"; measure = "31s";' pg_sweep "$TMP/long.cfg" 'work_mem = [ "baseline" ];'
run_ok 'a window that is long enough to be judged' "$DBSWEEP" run "$TMP/long.cfg" --limit 1
run_ok 'show has the figures' "$DBSWEEP" show "$TMP/long.db" 1 --format json
is 'of its mean' "$(jq '.metrics.within_pct >= 0 and .metrics.within_pct < 20' <<<"$OUTPUT")" true
is 'of its p99' "$(jq '.metrics | .p99_low_ms <= .p99_ms and .p99_ms <= .p99_high_ms' \
    <<<"$OUTPUT")" true
is 'of its steadiness' "$(jq '.metrics | has("cut_s") and has("thirds_pct") and
    has("level_share_pct")' <<<"$OUTPUT")" true
is 'and its windows' "$(jq -c '[.warm_up_s, .measured_s]' <<<"$OUTPUT")" '[0,31]'
plan
