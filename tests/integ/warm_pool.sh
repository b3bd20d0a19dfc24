#!/usr/bin/env bash
# A larger buffer pool must not lose because it was measured half empty. On a real MariaDB whose
# pool, as found, holds half of the data and is warm, a pool that holds all of them needs a restart:
# in a short window it reads more pages than the small one; with prewarm, or with a warm-up that
# lasts until it is steady, it does not. What counts are the pages that the server says it read from
# its files for each page that was asked for. An open loop bounds how many pages a window can ask
# for, so that no machine is fast enough to fill the pool meanwhile.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_mariadb

# 160,000 rows are 36 MB of leaves: 2,300 pages. The small pool holds 24 MB.
ROWS=160000
printf 'innodb_buffer_pool_size = 24M\ninnodb_buffer_pool_load_at_startup = OFF\n' \
    >>"$DBSWEEP_TEST_MY_CONFIG"
# By default the server keeps more pages free than a pool so small has.
printf 'innodb_lru_scan_depth = 100\ninnodb_buffer_pool_dump_at_shutdown = OFF\n' >>"$DBSWEEP_TEST_MY_CONFIG"
"$TOP/tests/support/mariadb.sh" down "$DBSWEEP_TEST_MY_DIR"
"$TOP/tests/support/mariadb.sh" up "$DBSWEEP_TEST_MY_DIR"
run_ok 'the data are loaded' "$DBSWEEP" load oltp prepare --backend mysql \
    --connect "$DBSWEEP_TEST_MY_CONNECT" --tables 1 --rows $ROWS
# the small pool is as warm as it gets
own_mysql 'select count(pad) from sbtest1' >/dev/null

# pool_sweep NAME WINDOWS BETWEEN: the pool as found, then one of 128 MB, at 600 selects a second
pool_sweep() {
    MY_WORKLOAD="kind = \"oltp\"; mix = \"point_select\"; tables = 1; rows = $ROWS; clients = 2;
  rate = 600.0; $2" my_sweep "$TMP/$1.cfg" 'innodb_buffer_pool_size = [ "128M" ];' \
        "between = { restart = \"when-needed\"; $3 };"
    run_ok "$1: the sweep runs to its end" "$DBSWEEP" run "$TMP/$1.cfg"
}

# misses NAME BASELINE: pages of a thousand that were read from the files
misses() {
    store_query "$TMP/$1.db" "SELECT cast(1000 * (r.end_value - r.start_value)
        / (q.end_value - q.start_value) AS INTEGER)
        FROM trial JOIN point USING (point_id) JOIN counter r USING (trial_id)
        JOIN counter q USING (trial_id) WHERE point.is_baseline = $2
        AND lower(r.name) = 'innodb_buffer_pool_reads'
        AND lower(q.name) = 'innodb_buffer_pool_read_requests' ORDER BY trial_id LIMIT 1"
}
compare() {
    small=$(misses "$1" 1)
    large=$(misses "$1" 0)
    printf '# %s: of 1000 pages the small pool read %s, the large one %s\n' "$1" "$small" "$large"
}

pool_sweep cold 'warm_up = "0s"; measure = "1s";' ''
compare cold
is 'measured half empty, the larger pool loses' $((4 * large > 5 * small)) 1
half_empty=$large
is 'the small one was not restarted' "$(store_query "$TMP/cold.db" "SELECT count(*) FROM stage
    WHERE trial_id = (SELECT min(trial_id) FROM trial) AND name = 'start'")" 0

pool_sweep prewarmed 'warm_up = "0s"; measure = "1s";' 'prewarm = true;'
compare prewarmed
is 'prewarmed, it does not' $((large <= small && 4 * large < half_empty)) 1
is 'and that was a stage of each trial' "$(store_query "$TMP/prewarmed.db" "SELECT
    (SELECT count(*) FROM stage WHERE name = 'prewarm' AND outcome = 'done') =
    (SELECT count(*) FROM trial)")" 1

pool_sweep steady 'warm_up = { min = "5s"; max = "50s"; }; measure = "1s";' ''
compare steady
is 'warmed up until it is steady, it does not' $((2 * large < small && 4 * large < half_empty)) 1
took=$(store_query "$TMP/steady.db" "SELECT group_concat(warm_up_s) FROM trial")
printf '# the warm-ups took %s s\n' "$took"
is 'they lasted as long as they had to' "$(store_query "$TMP/steady.db" "SELECT count(*) FROM trial
    WHERE warm_up_s < 30 OR warm_up_s > 50")" 0
trial=$(store_query "$TMP/steady.db" "SELECT max(trial_id) FROM trial")
run_ok 'show says how long' "$DBSWEEP" show "$TMP/steady.db" "$trial"
like 'in words' "$OUTPUT" '*measured: 1.0 s, after a warm-up of *'
plan
