#!/usr/bin/env bash
# `dbsweep aa`: the baseline against itself, on replayed runs whose noise and drift are known, and on
# SQLite under two conditions; what `check` and `run` make of it.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
cd "$TMP" || exit 1
shopt -s extglob

{
    echo 'cache,tps'
    for cache in 1 2 4 8; do echo "$cache,$((1000 + cache))"; done
} >points.csv

# replayed NAME NOISE DRIFT [MORE]
replayed() {
    cat >"$1.cfg" <<END
target = { backend = "replay"; source = "points.csv"; data_directory = "$TMP/$1.state";
  replay = { metric = "tps"; better = "higher"; noise_pct = $2; drift_pct = $3; seed = 5; }; };
axes = { knobs = { cache = [ 1, 2, 4, 8 ]; }; };
workload = { warm_up = "0s"; measure = "10s"; };
rank = { repeats = 3; };
${4:-}
END
}

replayed quiet 2.0 0.0
run_ok 'check before' "$DBSWEEP" check quiet.cfg
like 'it knows no noise yet, and how to get it' "$OUTPUT" '*detectable: not known: *dbsweep aa*'
run_ok 'aa measures the baseline' "$DBSWEEP" aa quiet.cfg --runs 20 --format json
is 'so often' "$(jq -r '.runs, .degrees, .conditions[0].failed' <<<"$OUTPUT" | xargs)" '20 19 0'
is 'it finds the noise' "$(jq '.sigma_pct > 1.2 and .sigma_pct < 3.0 and
    .sigma_low_pct < 2 and .sigma_high_pct > 2' <<<"$OUTPUT")" true
is 'and what the sweep can detect' "$(jq '.planned.repeats == 3 and .planned.detectable_pct > 2 and
    .planned.detectable_gain_pct > .planned.detectable_pct' <<<"$OUTPUT")" true
is 'it refuses nothing' "$(jq .refused <<<"$OUTPUT")" false
is 'its runs are the baseline'"'"'s, each with a start of its own' "$(sqlite3 quiet.db "SELECT
    (SELECT group_concat(DISTINCT purpose) FROM trial),
    (SELECT count(*) FROM stage WHERE name = 'start' AND outcome = 'done')")" 'baseline|20'
run_ok 'check after' "$DBSWEEP" check quiet.cfg
like 'it says what can be detected' "$OUTPUT" \
    '*detectable: +([0-9.]) % between two points of 3 runs each, *among *20 runs of the baseline*'
run_ok 'offline too' "$DBSWEEP" check --offline quiet.cfg
like 'the same' "$OUTPUT" '*detectable: +([0-9.]) % between*'
run_ok 'the sweep goes on in the same store' "$DBSWEEP" run quiet.cfg
is 'with all its points' "$(sqlite3 quiet.db "SELECT count(DISTINCT point_id) FROM trial
    WHERE status = 'done'")" 5
unlike 'and without a warning' "$ERRORS" '*small gains*'
run_ok 'a second aa' "$DBSWEEP" aa quiet.cfg
like 'tells of its own runs' "$OUTPUT" '*baseline:*5 runs, * tps, which differ by *'
like 'and of drift' "$OUTPUT" '*not testable below 8 runs*'

replayed loud 30.0 0.0
run_status 'what differs too much from itself is refused' 1 "$DBSWEEP" aa loud.cfg --runs 12
like 'with the reason' "$ERRORS" '*runs of the same configuration differ by * %, more than 5 %*'
like 'and the figures all the same' "$OUTPUT" '*noise: *detectable: *'
run_ok 'unless that is allowed' "$DBSWEEP" aa loud.cfg --runs 12 --allow-noise
like 'which is said' "$ERRORS" '*warn: *differ by*'
run_ok 'or the limit is another' "$DBSWEEP" aa loud.cfg --runs 12 --noise-limit 100
run_ok 'the sweep is not held up' "$DBSWEEP" run loud.cfg
like 'it warns' "$ERRORS" '*runs of the baseline differ by*small gains will not be seen*'

replayed moving 0.2 -1.0
run_ok 'a drifting machine' "$DBSWEEP" aa moving.cfg --runs 10 --format json
is 'is found out' "$(jq -c '.conditions[0].drift | [.testable, .significant, .p < 0.01,
    .change_pct < -5]' <<<"$OUTPUT")" '[true,true,true,true]'

replayed without 1.0 0.0 'baseline = false;'
run_status 'no baseline' 2 "$DBSWEEP" aa without.cfg
like 'the sweep file says so' "$ERRORS" '*baseline = false*'
is 'nothing was made' "$([ -e without.db ] && echo there)" ''
for words in '--runs 1' '--runs 1001' '--noise-limit 101' '--runs x'; do
    read -ra more <<<"$words"
    run_status "wrong: $words" 2 "$DBSWEEP" aa quiet.cfg "${more[@]}"
done
run_status 'no file' 2 "$DBSWEEP" aa missing.cfg

cat >small.cfg <<'END'
target = { backend = "sqlite"; connect = "small.sqlite"; };
axes = { knobs = { cache_size = [ "1M", "4M" ]; }; workload = { rows = [ 100, 200 ]; }; };
workload = { kind = "oltp"; mix = "read_only"; warm_up = "0s"; measure = "100ms"; };
END
run_ok 'each condition has its own' "$DBSWEEP" aa small.cfg --runs 3 --allow-noise --format json
is 'so many runs of the baseline' "$(jq -c '[.conditions[] | [.condition, .runs]]' <<<"$OUTPUT")" \
    '[["rows=100",3],["rows=200",3]]'
is 'in turn' "$(sqlite3 small.db 'SELECT group_concat(condition_id) FROM (SELECT condition_id
    FROM trial ORDER BY trial_id)')" '1,2,1,2,1,2'
is 'what a run costs beside its window' "$(jq '.advice.overhead_s > 0 and
    .advice.measured_s > 0.09' <<<"$OUTPUT")" true
plan
