#!/usr/bin/env bash
# Trials that cannot become the best are ended early: on replayed points, whose truth is known, and
# on a real server with a point that is very slow.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"

cp "$TOP/examples/replay.csv" "$TMP/"

# early_sweep NAME STRATEGY [RANK] [REPLAY]
early_sweep() {
    cat >"$TMP/$1.cfg" <<END
name = "$1";
target = { backend = "replay"; source = "replay.csv"; data_directory = "$1.state";
  replay = { metric = "tps"; better = "higher"; failure = "failure"; deviation = "deviation";
    second_pct = 10.0; correlation = 0.9; ${4:-} }; };
axes = { knobs = {
  buffer_pool = [ "64M", "256M", "1G", "4G" ]; io_threads = [ 4, 8, 16, 32 ];
  flush = [ "each", "second", "never" ]; compression = [ "off", "on" ]; }; };
workload = { warm_up = "60s"; measure = "900s"; };
strategy = { seed = 7; $2 };
rank = { repeats = 1; ${3:-} };
END
}

killed="(' ' || flags || ' ') LIKE '% killed %'"
# count_trials STORE WHERE
count_trials() {
    store_query "$TMP/$1.db" "SELECT count(*) FROM trial JOIN point USING (point_id) WHERE $2"
}

# ---- replayed points ----
early_sweep plain 'kind = "grid";'
run_status 'without early kill' 1 "$DBSWEEP" run "$TMP/plain.cfg"
is 'no trial is ended early' "$(count_trials plain "$killed")" 0
unlike 'and no word is said of it' "$ERRORS" '*ended early*'

early_sweep early 'kind = "grid"; early_kill = true;'
run_status 'with early kill' 1 "$DBSWEEP" run "$TMP/early.cfg"
like 'its end says what was saved' "$ERRORS" '*trials of this sweep were ended early, which saved *'
count=$(count_trials early "$killed")
is 'many are ended early' "$((count > 25))" 1
is 'never the baseline' "$(count_trials early "$killed AND (is_baseline OR purpose = 'baseline')")" 0
is 'after 120 to 600 s' "$(count_trials early "$killed AND measured_s NOT IN (120, 180, 300, 450, 600)")" 0
is 'others are measured to the end' "$(count_trials early "NOT $killed AND status = 'done' AND
    measured_s <> 900")" 0
is 'as done' "$(count_trials early "$killed AND status <> 'done'")" 0
is 'with each second' "$(store_query "$TMP/early.db" "SELECT count(*) FROM trial JOIN series
    USING (trial_id) WHERE $killed AND name = 'throughput' AND length(samples) / 8 <> measured_s")" 0
is 'what was saved is what is left of the window' "$(store_query "$TMP/early.db" "SELECT count(*)
    FROM trial JOIN metric USING (trial_id) WHERE name = 'saved_s' AND $killed
    AND value + measured_s = 900")" "$count"
# 2,511 is the best of all: who comes near it is not ended, whatever was measured before.
is 'no point within 5 % of the best is ended' "$(store_query "$TMP/plain.db" "ATTACH '$TMP/early.db'
    AS early; SELECT count(*) FROM trial JOIN point USING (point_id) JOIN metric USING (trial_id)
    JOIN early.point AS other ON other.key = point.key JOIN early.trial AS ended
    ON ended.point_id = other.point_id WHERE name = 'tps' AND value > 2511 * 0.95 AND
    (' ' || ended.flags || ' ') LIKE '% killed %'")" 0
saved=$(store_query "$TMP/early.db" "SELECT sum(value) FROM metric WHERE name = 'saved_s'")
run_ok 'status' "$DBSWEEP" status "$TMP/early.db"
like 'says it, too' "$OUTPUT" "*killed:  $count of them early, which saved *h*"
run_ok 'status for programs' "$DBSWEEP" status "$TMP/early.db" --format json
like 'has the figures' "$OUTPUT" "*\"trials_killed\":$count,\"saved_s\":${saved%.0}*"
run_ok 'rank' "$DBSWEEP" rank "$TMP/early.db" --format json
unlike 'has none of them first' "$(tr '{' '\n' <<<"$OUTPUT" | grep -A30 '"rank":1,' | grep -B30 -m1 flags)" \
    '*killed*'
before=$(count_trials early "purpose <> 'baseline'")
run_ok 'run again' "$DBSWEEP" run "$TMP/early.cfg"
is 'measures none of them anew' "$(count_trials early "purpose <> 'baseline'")" "$before"

# Repeats of a point that ran to its end are not judged; dips are waited for.
early_sweep cycles 'kind = "random"; early_kill = true; early_kill_cycle = "300s"; trials = 60;' '' \
    'cycle = "300s"; dip_pct = 30.0;'
run_status 'with cycles' 1 "$DBSWEEP" run "$TMP/cycles.cfg"
is 'looks are at whole ones' "$(count_trials cycles "$killed AND measured_s NOT IN (300, 600)")" 0
is 'and find losers' "$(($(count_trials cycles "$killed") > 4))" 1
early_sweep repeats 'kind = "grid"; early_kill = true;' 'repeats = 2;'
sed -i 's/repeats = 1; //' "$TMP/repeats.cfg"
run_status 'with repeats' 1 "$DBSWEEP" run "$TMP/repeats.cfg"
is 'a point that ran to its end is not ended early later' "$(store_query "$TMP/repeats.db" "SELECT
    count(*) FROM trial AS late JOIN trial AS early USING (point_id) WHERE early.status = 'done' AND
    early.trial_id < late.trial_id AND early.flags NOT LIKE '%killed%' AND
    late.flags LIKE '%killed%'")" 0

# ---- where nobody asked ----
early_sweep default 'kind = "gp"; trials = 90;' '' 'noise_pct = 0.5;'
# A search meets few losers: with quieter seconds each of them is known to be one.
sed -i -e 's/second_pct = 10.0; correlation = 0.9;/second_pct = 3.0; correlation = 0.5;/' \
    -e 's/seed = 7/seed = 1/' "$TMP/default.cfg"
run_status 'where gp chooses' 1 "$DBSWEEP" run "$TMP/default.cfg"
is 'losers are ended early, too' "$(($(count_trials default "$killed") > 0))" 1
is 'confirmations never are' "$(count_trials default "$killed AND purpose <> 'explore'")" 0
early_sweep dips 'kind = "gp"; trials = 60;' '' 'cycle = "300s";'
run_status 'where throughput dips' 1 "$DBSWEEP" run "$TMP/dips.cfg"
is 'in cycles that nobody named, none is' "$(count_trials dips "$killed")" 0
early_sweep never 'kind = "gp"; early_kill = false; trials = 60;'
run_status 'where it is switched off' 1 "$DBSWEEP" run "$TMP/never.cfg"
is 'none is' "$(count_trials never "$killed")" 0

# ---- kill -9 between ----
library=$(kill_at_library)
early_sweep dead 'kind = "grid"; early_kill = true;'
status=0
KILL_AT=measure:40 KILL_AFTER_MS=0 LD_PRELOAD="$library" "$BUILD/dbsweep" run "$TMP/dead.cfg" \
    >"$TMP/killed.out" 2>&1 || status=$?
is 'killed itself' "$status" 137
run_status 'it goes on' 1 "$DBSWEEP" run "$TMP/dead.cfg"
is 'and has ended as many points early, but for one or two' "$(($(count_trials dead "$killed") >
    count - 3))" 1

# ---- what it is not for ----
# mistake WHAT STRATEGY RANK PATTERN
mistake() {
    early_sweep wrong "$2" "$3"
    run_status "$1" 2 "$DBSWEEP" check "$TMP/wrong.cfg"
    like "$1: named" "$ERRORS" "*wrong.cfg:*$4*"
}
mistake 'a metric that seconds do not have' 'early_kill = true;' 'by = "p99_ms";' \
    'does not follow from the throughput'
mistake 'a limit' 'early_kill = true;' 'under = "p99_ms < 50";' 'judged at the end alone'
mistake 'all conditions together' 'early_kill = true;' 'across = "geomean";' 'over all conditions'
mistake 'too early a look' 'early_kill = true; early_kill_after = "5s";' '' '10s'

# ---- a real server ----
own_postgresql
PG_WORKLOAD='kind = "oltp"; mix = "read_only"; tables = 1; rows = 2000; clients = 2;
  warm_up = "1s"; measure = "16s"; reset = "none";'
pg_sweep "$TMP/slow.cfg" 'enable_indexscan = [ "on", "off" ]; enable_bitmapscan = [ "on", "off" ];'
early='kind = "grid"; seed = 7; early_kill = true; early_kill_after = "10s";'
sed -i "s/^strategy = .*/strategy = { $early };/" "$TMP/slow.cfg"
# Three trials of the baseline tell how much runs differ.
for _ in 1 2 3; do
    run_status 'a trial of the baseline' 3 "$DBSWEEP" run "$TMP/slow.cfg" --limit 1
done
run_ok 'points without any index' "$DBSWEEP" run "$TMP/slow.cfg"
# Others may be as well, where this machine has other work meanwhile.
is 'the slow one is ended early' "$(store_query "$TMP/slow.db" "SELECT status, measured_s < 16
    FROM trial JOIN point USING (point_id) WHERE $killed AND
    key = 'enable_indexscan=off;enable_bitmapscan=off'")" 'done|1'
like 'the figures are those of its seconds' "$(store_query "$TMP/slow.db" "SELECT group_concat(name)
    FROM metric JOIN trial USING (trial_id) WHERE $killed")" '*throughput_per_s*'
is 'no client of it is left' "$(own_psql "SELECT count(*) FROM pg_stat_activity WHERE
    application_name = 'dbsweep'")" 0
plan
