#!/usr/bin/env bash
# Whole sweeps over replayed points: what they find is known, and the way there is the way of any
# server. Failures, drift, kill -9 and resume; a store of dbsweep as source.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"

cp "$TOP/examples/replay.csv" "$TOP/examples/replay.cfg" "$TMP/"

# replay_sweep NAME REPLAY [STRATEGY] [RANK] [MORE]
replay_sweep() {
    cat >"$TMP/$1.cfg" <<END
name = "$1";
target = { backend = "replay"; source = "replay.csv"; data_directory = "$1.state";
  replay = { metric = "tps"; better = "higher"; deviation = "deviation"; failure = "failure"; $2 }; };
axes = { knobs = {
  buffer_pool = [ "64M", "256M", "1G", "4G" ]; io_threads = [ 4, 8, 16, 32 ];
  flush = [ "each", "second", "never" ]; compression = [ "off", "on" ]; }; };
workload = { warm_up = "30s"; measure = "60s"; };
strategy = { seed = 7; ${3:-kind = \"grid\";} };
rank = { repeats = ${4:-1}; };
${5:-}
END
}

# The trials of a store in order: purpose, point and value.
trials_of() {
    store_query "$TMP/$1.db" "SELECT purpose, key, printf('%.9g', value), status FROM trial
        JOIN point USING (point_id) LEFT JOIN metric ON metric.trial_id = trial.trial_id AND
        name = 'tps' WHERE status IN ('done', 'failed') ORDER BY trial.trial_id"
}

# ranked NAME: point and mean, best first
ranked() {
    "$DBSWEEP" rank "$TMP/$1.db" --format json | tr -d '\n' | sed 's/{"rank"/\n&/g' |
        sed -nE 's/^\{"rank":([0-9]+).*"axes":(\{[^}]*\}).*"tps":\{"mean":([0-9.]+).*/\2 \3/p'
}

# The geometric mean of each point under its effective values, best first: without what the ranking
# makes of drift.
means_of() {
    store_query "$TMP/$1.db" "SELECT effective_key, printf('%.6g', exp(avg(ln(value)))) FROM trial
        JOIN metric USING (trial_id) WHERE name = 'tps' AND status = 'done' GROUP BY effective_key
        ORDER BY avg(ln(value)) DESC"
}

# ---- what it finds ----
run_status 'the example runs, with a few points that fail' 1 "$DBSWEEP" run "$TMP/replay.cfg"
ended=$(trials_of replay | wc -l)
is 'in no more trials than were asked for' "$((ended > 40 && ended <= 60))" 1
is 'the state is as found' "$(grep -c '^set' "$TMP/replay.csv.replay")" 0
like 'the way is that of any server' "$(store_query "$TMP/replay.db" "SELECT group_concat(name)
    FROM stage WHERE trial_id = 2")" 'stop,apply,start,ready,verify,measure,verify_again'
is 'each second is there' "$(store_query "$TMP/replay.db" "SELECT length(samples) / 8 FROM series
    WHERE trial_id = 1 AND name = 'throughput'")" 300
is 'and a histogram' "$(store_query "$TMP/replay.db" "SELECT count > 0 FROM statement_row
    WHERE trial_id = 1")" 1

replay_sweep true 'noise_pct = 0.0;'
run_status 'a whole grid runs' 1 "$DBSWEEP" run "$TMP/true.cfg"
is 'points that do not start failed' "$(store_query "$TMP/true.db" "SELECT count(*), min(reason)
    FROM trial WHERE status = 'failed'")" '6|the server refuses these settings'
like 'with the words of its log' "$(store_query "$TMP/true.db" "SELECT log_tail FROM trial WHERE
    status = 'failed' LIMIT 1")" '*fatal: these settings are refused*'
best=$(sort -t, -k5,5gr "$TMP/replay.csv" | awk -F, '$7 == "" { print $5; exit }')
is 'without noise the best is the true best' "$(printf '%.1f' "$(ranked true | awk 'NR == 1 { print $2 }')")" "$best"

run_ok 'rank has the failures' "$DBSWEEP" rank "$TMP/true.db"
like 'without a rank' "$OUTPUT" '*without a rank*the server refuses these settings*'

# ---- a store as source ----
replay_sweep noisy 'noise_pct = 3.0; seed = 5;' '' 2
run_status 'a sweep with noise' 1 "$DBSWEEP" run "$TMP/noisy.cfg"
sed -e 's/name = "noisy"/name = "again"/' -e 's/"replay.csv"/"noisy.db"/' \
    -e 's/ replay = {.*}; };/ replay = { noise_pct = 0.0; }; };/' -e 's/repeats = 2/repeats = 1/' \
    -e 's/noisy.state/again.state/' "$TMP/noisy.cfg" >"$TMP/again.cfg"
run_ok 'check takes a store as source' "$DBSWEEP" check "$TMP/again.cfg"
like 'and says so' "$OUTPUT" '*replay of 96 points in noisy.db*'
run_status 'a replay of a store' 1 "$DBSWEEP" run "$TMP/again.cfg"
means_of noisy >"$TMP/noisy.means"
means_of again >"$TMP/again.means"
file_same 'has its points in their order, with their means' "$TMP/noisy.means" "$TMP/again.means"
is 'all that were measured' "$(wc -l <"$TMP/again.means")" 90
is 'what failed there fails here' "$(store_query "$TMP/again.db" "SELECT count(DISTINCT point_id)
    FROM trial WHERE status = 'failed'")" 6

# ---- kill -9 ----
library=$(kill_at_library)
plain=$BUILD/dbsweep # a sanitizer's own preloads would come after this one
# killed NAME STAGE:COUNT
killed() {
    local status=0
    KILL_AT=$2 KILL_AFTER_MS=0 LD_PRELOAD="$library" "$plain" run "$TMP/$1.cfg" \
        >"$TMP/killed.out" 2>&1 || status=$?
    is "$1: killed at $2" "$status" 137
}
noise='noise_pct = 2.0; broken_pct = 5.0; drift_pct = 0.0;'
for kind in grid random; do
    replay_sweep "whole-$kind" "$noise" "kind = \"$kind\"; trials = 70;"
    run_status "$kind: a sweep that nothing ends" 1 "$DBSWEEP" run "$TMP/whole-$kind.cfg"
    for at in stop:9 apply:20 start:31 verify:40 measure:44 verify_again:47; do
        name=$kind-${at%:*}
        replay_sweep "$name" "$noise" "kind = \"$kind\"; trials = 70;"
        killed "$name" "$at"
        status=0
        "$DBSWEEP" run "$TMP/$name.cfg" >"$TMP/again.out" 2>&1 || status=$?
        is "$name: is run again, whether or not trials fail" "$((status <= 1))" 1
        # The call that goes on has baseline trials of its own, which leave less for others; what
        # breaks off goes by the number of the trial, and what is confirmed by what was found.
        count=$(trials_of "$name" | grep -c '^explore')
        is "$name: the points are those of a sweep that nothing ended" \
            "$(trials_of "$name" | grep '^explore' | cut -d'|' -f2)" \
            "$(trials_of "whole-$kind" | grep '^explore' | cut -d'|' -f2 | head -n "$count")"
        trials_of "$name" | grep '^explore.*done$' | cut -d'|' -f2,3 | sort >"$TMP/values"
        trials_of "whole-$kind" | grep '^explore.*done$' | cut -d'|' -f2,3 |
            sort >"$TMP/whole-values"
        is "$name: a point that both measured has one value" \
            "$(join -t'|' "$TMP/values" "$TMP/whole-values" | awk -F'|' '$2 != $3')" ''
        is "$name: the server is as found" "$(grep -c '^set' "$TMP/$name.state")" 0
        is "$name: nothing is left beside it" "$(find "$TMP" -name "$name.state?*" | wc -l)" 0
    done
done
replay_sweep lost "$noise"
killed lost measure:5
run_ok 'restore puts the state back' "$DBSWEEP" restore "$TMP/lost.cfg"
is 'as found' "$(grep -c '^set' "$TMP/lost.state")" 0

# ---- a search to its end ----
# Killed in the search and in the confirmation; what is chosen next follows from the store alone, so
# two that go on from the same store do the same.
for at in measure:25 apply:38; do
    name=auto-${at%:*}
    replay_sweep "$name" 'noise_pct = 1.0;' 'kind = "auto"; trials = 60;'
    killed "$name" "$at"
    for file in "$TMP/$name".*; do
        cp -a "$file" "$TMP/kept.${file##*/}"
    done
    status=0
    "$DBSWEEP" run "$TMP/$name.cfg" >"$TMP/once.out" 2>&1 || status=$?
    is "$name: goes on" "$((status <= 1))" 1
    trials_of "$name" >"$TMP/once"
    rm -f "$TMP/$name".*
    for file in "$TMP/kept.$name".*; do
        mv "$file" "$TMP/${file##*/kept.}"
    done
    status=0
    "$DBSWEEP" run "$TMP/$name.cfg" >"$TMP/twice.out" 2>&1 || status=$?
    is "$name: goes on from the same store" "$((status <= 1))" 1
    trials_of "$name" >"$TMP/twice"
    file_same "$name: and does the same" "$TMP/once" "$TMP/twice"
    is "$name: in no more trials than were asked for" "$(($(trials_of "$name" | wc -l) <= 60))" 1
    is "$name: and end with a confirmation" "$(($(trials_of "$name" | grep -c '^confirm') >= 9))" 1
    is "$name: the best is the true best, or hardly less" "$(ranked "$name" | head -n 1 |
        awk -v best="$best" '{ print ($2 > best * 0.97) }')" 1
    run_ok "$name: rank" "$DBSWEEP" rank "$TMP/$name.db" --explain
    like "$name: says why" "$OUTPUT" '*confirm*'
done

# ---- what else can be wrong with a server ----
sed -e 's/^\(1G,8,each,off,.*\),$/\1,ready/' -e 's/^\(1G,4,each,off,.*\),$/\1,io_threads=8/' \
    "$TMP/replay.csv" >"$TMP/hostile.csv"
replay_sweep hostile 'noise_pct = 0.0;'
sed -i -e 's/"replay.csv"/"hostile.csv"; ready_timeout = "1s"/' -e 's/buffer_pool = .*io_/buffer_pool = [ "1G" ]; io_/' \
    -e 's/flush = \[ [^]]*\]/flush = [ "each" ]/' -e 's/\[ "off", "on" \]/[ "off" ]/' "$TMP/hostile.cfg"
run_status 'a server that never answers, or takes other values' 1 "$DBSWEEP" run "$TMP/hostile.cfg"
like 'the one fails' "$(store_query "$TMP/hostile.db" "SELECT reason FROM trial WHERE
    status = 'failed'")" '*not ready within 1 s*never answers*'
is 'the other is adjusted' "$(store_query "$TMP/hostile.db" "SELECT asked, effective, verdict, source
    FROM trial_value WHERE verdict = 'adjusted' AND name = 'io_threads'")" '4|8|adjusted|auto'

# ---- conditions ----
printf 'cache,clients,tps\n8M,8,1000\n8M,32,1500\n16M,8,1200\n16M,32,1400\n32M,8,1300\n' >"$TMP/cond.csv"
cat >"$TMP/cond.cfg" <<END
name = "cond";
target = { backend = "replay"; source = "cond.csv";
  replay = { metric = "tps"; better = "higher"; noise_pct = 0.0; }; };
axes = { knobs = { cache = [ "8M", "16M", "32M" ]; }; workload = { clients = [ 8, 32 ]; }; };
strategy = { kind = "grid"; };
rank = { repeats = 1; };
END
run_ok 'a column may be a setting of the workload' "$DBSWEEP" run "$TMP/cond.cfg"
is 'within which points are measured' "$(store_query "$TMP/cond.db" "SELECT group_concat(cell, ' ')
    FROM (SELECT DISTINCT condition.key || ' ' || point.key || ' ' || round(value) AS cell FROM trial
    JOIN point USING (point_id) JOIN condition USING (condition_id) JOIN metric USING (trial_id)
    WHERE metric.name = 'tps' AND is_baseline = 0 AND condition.key LIKE '%32' ORDER BY 1)")" \
    'clients=32 cache=16777216 1400.0 clients=32 cache=8388608 1500.0'

# ---- drift ----
replay_sweep drifting 'noise_pct = 0.0; drift_pct = -0.2;' 'trials = 60; kind = "random";'
run_status 'a machine that grows slower' 1 "$DBSWEEP" run "$TMP/drifting.cfg"
is 'its baselines tell' "$(trials_of drifting | awk -F'|' '$1 == "baseline" { if (last != "" &&
    $3 >= last) bad++; last = $3; n++ } END { print (n > 4 && bad == 0) }')" 1

# ---- mistakes ----
replay_sweep wrong ''
sed -i 's/buffer_pool = \[ "64M", /buffer_pool = [ "65M", /' "$TMP/wrong.cfg"
run_status 'a value that the source does not have' 2 "$DBSWEEP" check "$TMP/wrong.cfg"
like 'is named with what there is' "$ERRORS" "*wrong.cfg:*no value '65M'*"
grep -v '^256M,8,' "$TMP/replay.csv" >"$TMP/holes.csv"
replay_sweep holes ''
sed -i 's/"replay.csv"/"holes.csv"/' "$TMP/holes.cfg"
run_ok 'points that the source does not have' "$DBSWEEP" check "$TMP/holes.cfg"
like 'are left out' "$OUTPUT" '*measured combinations: 91*pruned (6):*the source has no such point*'
# mistake WHAT SED PATTERN
mistake() {
    replay_sweep wrong ''
    sed -i "$2" "$TMP/wrong.cfg"
    run_status "$1" 2 "$DBSWEEP" check "$TMP/wrong.cfg"
    like "$1: named" "$ERRORS" "*$3*"
}
mistake 'no such column' 's/"tps"/"tpm"/' 'no column "tpm"*did you mean "tps"'
mistake 'no such knob' 's/flush = /flushes = /' 'flushes'
mistake 'no source' 's/source = "replay.csv";//' 'a replay needs its source'
mistake 'a source that is not there' 's/"replay.csv"/"gone.csv"/' 'wrong.cfg:*gone.csv is no file'
mistake 'no metric' 's/metric = "tps";//' 'which column was measured'
mistake 'a workload' 's/warm_up = "30s"/mix = "read_only"/' 'workload.mix means nothing to a replay'
mistake 'a failure that is none' 's/failure = "failure"/ignore = [ "failure" ]; failure = "flush"/; s/flush = .*; comp/comp/' 'is no failure'
printf '1\n' >"$TMP/foreign.state"
mistake 'a state that is none' 's/wrong.state/foreign.state/' 'is not the state of this replay'
plan
