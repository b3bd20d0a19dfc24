#!/usr/bin/env bash
# Sweep files with one mistake each, given to check and to run: the line is named, a way out is
# shown, the exit status is 2, and nothing is touched. The messages themselves are in
# tests/unit/test_sweepfile_errors.c.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
mkdir "$TMP/here"
cd "$TMP/here" || exit 1

# file [LINE [LINES]]: a sweep file whose LINE is replaced
file() {
    local -a lines=(
        'name = "mistake";'
        'target = { backend = "sqlite"; connect = "mistake.sqlite"; };'
        'axes = { knobs = { cache_size = [ "1M", "4M" ]; }; };'
        'workload = { kind = "oltp"; rows = 100; warm_up = "0s"; measure = "100ms"; };'
        'rank = { repeats = 1; };'
    )
    [ $# -eq 0 ] || lines[$1 - 1]=$2
    printf '%s\n' "${lines[@]}" >mistake.cfg
}

# mistake LINE TEXT PATTERN
mistake() {
    local command
    file "$1" "$2"
    for command in 'check --offline' check run; do
        read -ra words <<<"$command"
        run_status "$command: $2" 2 "$DBSWEEP" "${words[@]}" mistake.cfg
        like "$command: $2: its line and what to do" "$ERRORS" "mistake.cfg:$1: error: *$3*"
    done
    is "$2: nothing was touched" "$(ls)" mistake.cfg
}

file
run_ok 'without a mistake' "$DBSWEEP" check --offline mistake.cfg
is 'a check makes nothing' "$(ls)" mistake.cfg
mistake 1 'store = "mistake.cfg";' 'the sweep file itself'
mistake 1 'store = ".";' 'name another'
mistake 1 'store = "/dev/null";' 'name another'
mistake 3 'axes = { knobs = { cach_size = [ 1 ]; }; };' 'did you mean "cache_size"'
mistake 3 'axes = { knobs = { cache_size = [ "1Q" ]; }; };' 'units are B, K, M, G, T'
mistake 3 'axes = { knobs = { page_size = [ 4294967296 ]; }; };' '512'
mistake 3 'axes = { knobs = { page_size = [ 9223372036854775808 ]; }; };' '64 bits'
mistake 3 'axes = { knobs = { cache_size = [ ]; }; };' 'at least one value'
mistake 3 'axes = { knobs = ( { name = "cache_size"; values = [ "1M" ]; }, { name = "cache_size"; values = [ "2M" ]; } ); };' \
    'give one axis all of its values'
mistake 3 'axes = { knobs = { cache_size = [ "1M" ]; }; workload = { cleints = [ 1 ]; }; };' \
    'did you mean "clients"'
mistake 3 'axes = { knobs = { cache_size = [ "1M" ]; }; workload = { tables = [ 1, 30 ]; }; };' \
    'more statements than can be prepared'
mistake 4 'workload = { kind = "tpcc"; clients = 20; terminals = 10; };' '10 terminals in each of 1'
mistake 4 'workload = { kind = "oltp"; clients = 4294967297; };' '1..100000'
mistake 4 'workload = { kind = "oltp"; measure = 5; };' 'write "5s"'
mistake 4 'workload = { kind = "oltp"; rows = 1; rows = 2; };' 'set twice'
mistake 5 'rnak = { repeats = 1; };' 'did you mean "rank"'
mistake 5 'rank = { under = "p99_ms < 5ms"; };' 'p99_ms < 50'
mistake 5 'rank = { under = "p99_ms"; };' 'neither true nor false'
mistake 5 'guard = { memory = "much"; };' 'host.memory'
mistake 5 'rules = [ "cache_size <" ];' 'column 13 *a rule is like*'
mistake 5 'rules = [ "cache_siz < 1M" ];' 'did you mean "cache_size"'
mistake 5 "rules = [ \"cache_size < 'x'\" ];" 'a rule is like'
mistake 5 'rules = [ "cache_size < 1kB" ];' 'alone prunes 2 of 2'

mistake 1 'store = "/nonexistent/x.db";' 'folder /nonexistent/ does not exist'
mistake 5 'between = { restart = "when-needed"; drop_caches = true; };' 'use restart = "always"'
mistake 3 'axes = { knobs = { temp_store_directory = [ "/tmp" ]; }; };' '*'

# What is refused after the file was read has its line too, however long the path.
deep=$(printf 'a%.0s' $(seq 1 120))
mkdir "$deep"
file 5 'between = { restart = "when-needed"; drop_caches = true; };'
mv mistake.cfg "$deep/"
run_status 'in a long path' 2 "$DBSWEEP" check --offline "$deep/mistake.cfg"
like 'the line is not lost' "$ERRORS" '...*aaa/mistake.cfg:5: error:*'
rm -r "$deep"

# A program that is not there is no property of a point.
file 4 'workload = { kind = "command"; preset = "time"; command = [ "/nonexistent/program" ]; };'
for command in check run; do
    run_status "$command: no program" 2 "$DBSWEEP" "$command" mistake.cfg
    like "$command: no program: its line and what to do" "$ERRORS" \
        'mistake.cfg:4: error: workload.command: there is no program /nonexistent/program*path*'
done
is 'no program: nothing was touched' "$(ls)" mistake.cfg

# Loading what is not there makes nothing, neither here nor in a sweep whose store does not fit.
for operation in run check cleanup; do
    run_status "load $operation without a database" 2 "$DBSWEEP" load oltp "$operation" \
        --backend sqlite --connect missing.sqlite --measure 100ms --warm-up 0s
    like "load $operation: what to do" "$ERRORS" '*no database missing.sqlite*prepare*'
    is "load $operation: none was made" "$(find . -name 'missing*')" ''
done

# A changed file is announced by check too.
file
run_ok 'a sweep' "$DBSWEEP" run mistake.cfg
run_ok 'check of the same' "$DBSWEEP" check mistake.cfg
file 4 'workload = { kind = "oltp"; rows = 200; warm_up = "0s"; measure = "100ms"; };'
cp mistake.db before.db
for command in check 'check --offline' run; do
    read -ra words <<<"$command"
    run_status "$command: other data" 2 "$DBSWEEP" "${words[@]}" mistake.cfg
    like "$command: what changed" "$ERRORS" '*rows = 100*rows = 200*--fresh*'
done
file_same 'and the store is left alone' before.db mistake.db
mv mistake.db moved.db
file
run_status 'restore without its store' 2 "$DBSWEEP" restore mistake.cfg
like 'says that nothing is left to restore' "$ERRORS" '*no lock and no copy*nothing to restore*'
"$DBSWEEP" emit moved.db 2 >emitted # the baseline, which may be best, ran twice
like 'one trial is one trial' "$(cat emitted)" '* 1 trial; *'
rm -f mistake.db* moved.db* before.db emitted mistake.sqlite

for path in /dev/null /dev/zero . missing.cfg ''; do
    run_status "no sweep file: '$path'" 2 "$DBSWEEP" run "$path"
    like "no sweep file: '$path': what to give" "$ERRORS" '*give the path of a sweep file*'
done
head -c 5000000 /dev/zero | tr '\0' '#' >mistake.cfg
run_status 'a huge sweep file' 2 "$DBSWEEP" run mistake.cfg
like 'says how large one may be' "$ERRORS" '*larger than*'
printf 'name = "\0";\n' >mistake.cfg
run_status 'a binary sweep file' 2 "$DBSWEEP" run mistake.cfg
like 'says that it is none' "$ERRORS" 'mistake.cfg:1: *not a text file*'
is 'nothing was touched' "$(ls)" mistake.cfg
plan
