#!/usr/bin/env bash
# kill -9 in every stage of a sweep on a real MariaDB, some of them a little into the stage:
# `dbsweep run` finishes every point exactly once, or `dbsweep restore` puts the original back.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_mariadb
config=$DBSWEEP_TEST_MY_CONFIG
data=$DBSWEEP_TEST_MY_DATA
keep "$config"
library=$(kill_at_library) || { not_ok 'the library that kills'; plan; }
plain=${DBSWEEP_PLAIN:-$DBSWEEP}
case $plain in *-asan/*) plain=${plain/-asan\//\/} ;; esac
[ -x "$plain" ] || plain=$DBSWEEP
size=$(own_mysql 'select @@innodb_log_buffer_size')

# A stop that comes while a start still goes on does nothing here: it is not waited for long.
MY_TARGET='stop_timeout = "5s";'
# new_sweep FILE RESET
new_sweep() {
    my_sweep "$1" 'innodb_log_buffer_size = [ "4M", "8M" ];' 'baseline = false;'
    sed -i "s|^  kind = \"oltp\".*|  kind = \"oltp\"; mix = \"update_index\"; tables = 1; rows = 200;|
        s|warm_up = .*|warm_up = \"100ms\"; measure = \"200ms\"; reset = \"$2\";|" "$1"
}
# killed STAGE AFTER_MS SWEEP: in the second trial
killed() {
    { KILL_AT=$1:2 KILL_AFTER_MS=$2 LD_PRELOAD=$library "$plain" run "$3"; } \
        >"$TMP/killed.out" 2>&1
}

for row in reload:stop:0 reload:stop:30 reload:apply:0 reload:apply:3 reload:start:0 \
    reload:start:30 reload:start:300 reload:ready:0 reload:verify:0 reload:reset_data:30 \
    reload:measure:0 reload:check:0 snapshot:reset_files:0 snapshot:reset_files:5 \
    snapshot:reset_files:30; do
    IFS=: read -r reset stage after <<<"$row"
    name=$reset-$stage-$after
    sweep=$TMP/$name.cfg
    store=$TMP/$name.db
    new_sweep "$sweep" "$reset"
    killed "$stage" "$after" "$sweep"
    is "$name: it was killed" "$?" 137
    if [ "$after" = 0 ]; then
        run_ok "$name: run again finishes" "$DBSWEEP" run "$sweep"
        is "$name: every point is done exactly once" "$(store_query "$store" \
            "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM trial WHERE status =
            'done' AND purpose <> 'baseline' GROUP BY point_id)")" 1,1
        is "$name: none is left running" "$(store_query "$store" \
            "SELECT count(*) FROM trial WHERE status = 'running'")" 0
    else
        run_ok "$name: restore works" "$DBSWEEP" restore "$store"
    fi
    unchanged "$name" "$config"
    is "$name: the server runs on it" "$(own_mysql 'select @@innodb_log_buffer_size' 2>&1)" "$size"
    is "$name: no copy of the data is left" "$(find "${data%/*}" -maxdepth 1 \
        -name "${data##*/}.dbsweep*" | wc -l)" 0
    is "$name: no lock is left" "$(find "$data" -maxdepth 1 -name '*dbsweep*' | wc -l)" 0
done

# ---- a copy of the data that was being swapped when everything was killed ----
# swapped COMMAND...: leaves the data directory as it is between the two renames, then restores
swapped() {
    new_sweep "$TMP/swap.cfg" snapshot
    killed measure 0 "$TMP/swap.cfg"
    "$TOP/tests/support/mariadb.sh" down "$DBSWEEP_TEST_MY_DIR"
    mv "$data" "$data.dbsweep-old"
    cp -a "$data.dbsweep-snapshot" "$data.dbsweep-new"
    run_ok "$1 finds the data directory again" "$DBSWEEP" "$@"
    is "$1: the server runs" "$(own_mysql 'select @@innodb_log_buffer_size' 2>&1)" "$size"
    unchanged "after $1" "$config"
    is "$1 leaves nothing beside the data" "$(find "${data%/*}" -maxdepth 1 \
        -name "${data##*/}.*" | wc -l)" 0
}
swapped restore "$TMP/swap.db"
plan
