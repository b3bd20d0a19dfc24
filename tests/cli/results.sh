#!/usr/bin/env bash
# What commands print of a small sweep: JSON and CSV that parse, logs that parse, an error where
# the output cannot be written, and where a store or a question is wrong.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
cd "$TMP" || exit 1
shopt -s extglob

cat >small.cfg <<'END'
target = { backend = "sqlite"; connect = "small.sqlite"; };
axes = { knobs = { cache_size = [ "1M", "4M" ]; }; workload = { rows = [ 100, 200 ]; }; };
workload = { kind = "oltp"; mix = "read_only"; warm_up = "0s"; measure = "100ms"; };
rank = { repeats = 1; };
END
run_ok 'a small sweep' "$DBSWEEP" --log json run small.cfg
is 'each line of its log is JSON' "$(jq -ce 'type' <<<"$ERRORS" 2>&1 | sort -u)" '"object"'
is 'run has no results of its own' "$OUTPUT" ''

for line in 'status small.db' 'rank small.db' 'effects small.db' 'show small.db 1' 'export small.db' \
    'knobs sqlite' 'knobs postgresql work_mem'; do
    read -ra words <<<"$line"
    run_ok "$line as JSON" "$DBSWEEP" "${words[@]}" --format json
    is "$line: it parses" "$(jq -e 'type' <<<"$("$DBSWEEP" "${words[@]}" --format json)" |
        grep -cE '^"(object|array)"$')" 1
done
for line in 'status small.db' 'rank small.db' 'export small.db'; do
    read -ra words <<<"$line"
    "$DBSWEEP" "${words[@]}" --format csv >out.csv
    rows=$(sqlite3 :memory: '.import --csv out.csv t' 'select count(*) from t' 2>&1)
    like "$line as CSV: every row is as wide as the first" "$rows" '[1-9]*([0-9])'
done

for line in 'status small.db' 'rank small.db' 'rank small.db --format csv' 'show small.db 1' \
    'export small.db' 'export small.db --format json' 'emit small.db best' 'effects small.db' \
    'check --offline small.cfg' 'check small.cfg'; do
    read -ra words <<<"$line"
    # shellcheck disable=SC2016 # expanded by the inner shell
    run_status "$line: a full disk" 2 sh -c '"$@" >/dev/full' sh "$DBSWEEP" "${words[@]}"
    # shellcheck disable=SC2016
    run_status "$line: a closed output" 2 sh -c '"$@" >&-' sh "$DBSWEEP" "${words[@]}"
done
# shellcheck disable=SC2016
run_ok 'a reader that goes early' bash -c '"$1" rank small.db | true' bash "$DBSWEEP"

# The load alone: an object whatever comes out, figures of a run that is not believed among it.
load=("$DBSWEEP" load)
alone=(--backend sqlite --connect alone.sqlite --format json --quiet)
drive=(--warm-up 0s --measure 500ms)
outcome() {
    jq -r '[.status, .class, .reason != null] | tostring' <<<"$OUTPUT"
}
run_status 'load run without data' 2 "${load[@]}" oltp run "${alone[@]}"
is 'says so as JSON' "$(outcome)" '["failed","PLAN",true]'
run_ok 'load prepare' "${load[@]}" oltp prepare "${alone[@]}" --rows 100
is 'says so as JSON' "$(outcome)" '["done",null,false]'
run_ok 'load check' "${load[@]}" oltp check "${alone[@]}" --rows 100
is 'says so as JSON' "$(jq -r '[.status, (.holds | length)] | tostring' <<<"$OUTPUT")" '["done",1]'
run_ok 'load run' "${load[@]}" oltp run "${alone[@]}" "${drive[@]}" --rows 100
is 'says so as JSON' "$(outcome)" '["done",null,false]'
run_status 'load run of a wrong mix' 2 "${load[@]}" oltp run "${alone[@]}" --mix nope
is 'says so as JSON' "$(outcome)" '["failed","PLAN",true]'
printf 'insert into taken values (1);\n' >taken.sql
sqlite3 alone.sqlite 'create table taken (a integer primary key); insert into taken values (1)'
run_status 'load run over the error budget' 1 "${load[@]}" script run "${alone[@]}" "${drive[@]}" \
    --scripts taken.sql --reset none
is 'says so as JSON' "$(outcome)" '["failed","POINT",true]'
is 'with what was counted' "$(jq -r '[(.errors | length), .metrics.error_pct,
    (.errors[0].count == .transactions[0].errors), .transactions[0].retries] | tostring' \
    <<<"$OUTPUT")" '[1,100,true,0]'
run_status 'as a table too' 1 "${load[@]}" script run "${alone[@]}" "${drive[@]}" \
    --scripts taken.sql --reset none --format table
like 'and by code' "$OUTPUT" '*errors: *[0-9] x SQLITE 1555 in taken: *'
like 'which ends with why it is not believed' "$OUTPUT" '*failed: no transaction completed*'
sqlite3 alone.sqlite 'begin immediate' '.shell sleep 4' >lock.out &
lock=$!
sleep 0.5
run_status 'load run of a locked database' 1 "${load[@]}" oltp run "${alone[@]}" "${drive[@]}" \
    --rows 100 --drain 500ms
like 'says what it met all the time' "$(jq -r .reason <<<"$OUTPUT")" '*0 failed: database is locked*'
wait "$lock"
run_ok 'a command counts no statements' "${load[@]}" command run --preset time --command true \
    "${drive[@]}" --format json
is 'and none a minute' "$(jq -c '[.totals.tpm, .totals.spm]' <<<"$OUTPUT")" '[null,null]'

run_ok 'the store knows how to restore' "$DBSWEEP" restore small.db
like 'and that the baseline is there' "$ERRORS" '*is proved*'
run_ok 'so does the sweep file' "$DBSWEEP" restore small.cfg

# A server that is not there is no failed trial.
cat >nowhere.cfg <<END
target = { backend = "postgresql"; connect = "host=$TMP"; config = "$TMP/x.conf"; };
axes = { knobs = { work_mem = [ "4MB" ]; }; };
workload = { kind = "oltp"; };
END
for command in check run; do
    run_status "$command: no server" 4 "$DBSWEEP" "$command" nowhere.cfg
    like "$command: no server: what to look at" "$ERRORS" '*target.connect*'
done
is 'without a server there is no store' "$(find . -name 'nowhere.db*')" ''

# wrong PATTERN WORD...: exit status 2, no result, and a message that says it
wrong() {
    local pattern=$1
    shift
    run_status "wrong: ${*:0:60}" 2 "$DBSWEEP" "$@"
    like "wrong: ${*:0:60}: says it" "$ERRORS" "*$pattern*"
    is "wrong: ${*:0:60}: no result" "$OUTPUT" ''
}
wrong 'p99_ms < 50' rank small.db --under 'p99_ms < 5ms'
wrong 'reading --under' rank small.db --under 'p99_ms <'
wrong '"nope"' rank small.db --under 'nope < 1'
wrong '"nope"' rank small.db --by nope
wrong '"nope"' rank small.db --where 'nope = 1'
wrong '"nope"' effects small.db --by nope
wrong 'csv' effects small.db --format csv
wrong 'no trial 99' show small.db 99
wrong 'is not a whole number' show small.db ''
wrong 'does not fit into 64 bits' show small.db 9223372036854775808
wrong 'no point 99' emit small.db 99
wrong '"best"' emit small.db BEST
wrong 'dbsweep run FILE' status missing.db
is 'nothing was made by asking' "$(find . -name 'missing*')" ''
plan
