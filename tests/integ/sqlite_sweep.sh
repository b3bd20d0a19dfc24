#!/usr/bin/env bash
# A sweep of an embedded SQLite database: pragmas kept in the file and pragmas of the connection,
# conditions, kill -9 in every stage, and the file's own settings back at the end.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"

database=$TMP/bench.sqlite
sqlite3 "$database" 'pragma journal_mode=delete; create table mine (a); insert into mine
    values (42);' >/dev/null

sqlite_sweep() {
    local file=$1 more=${2:-} name
    name=$(basename "$file" .cfg)
    cat >"$file" <<EOF
name = "$name";
target = { backend = "sqlite"; connect = "$database"; };
axes = {
  knobs = {
    journal_mode = [ "delete", "wal" ];
    page_size = [ "4096", "8192" ];
    synchronous = [ "full", "off" ];
    cache_size = [ "1M", "8M" ];
  };
  workload = { clients = [ 1, 2 ]; };
};
rules = [ "not (journal_mode = 'wal' and page_size = 8192)" ];
workload = { kind = "oltp"; mix = "update_index"; tables = 1; rows = 500;
  warm_up = "0s"; measure = "100ms"; };
strategy = { kind = "grid"; seed = 3; };
rank = { by = "throughput_per_s"; repeats = 1; durability = "any"; };
$more
EOF
}
file_settings() {
    sqlite3 "$database" 'pragma journal_mode; pragma page_size; pragma auto_vacuum;' | tr '\n' ' '
}

sweep=$TMP/lite.cfg
store=$TMP/lite.db
sqlite_sweep "$sweep"
before=$(file_settings)
run_ok 'the sweep runs to its end' "$DBSWEEP" run "$sweep"
is 'the file has its own settings back' "$(file_settings)" "$before"
is 'its other table is untouched' "$(sqlite3 "$database" 'select a from mine')" 42
is 'every kept cell was measured' "$(store_query "$store" "SELECT count(*) FROM
    (SELECT DISTINCT point_id, condition_id FROM trial WHERE status = 'done')")" 26
is 'pruned cells were not' "$(store_query "$store" 'SELECT count(*) FROM pruned')" 8
is 'every asked value reads back' "$(store_query "$store" \
    "SELECT count(*) FROM trial_value WHERE verdict NOT IN ('equal', 'baseline')")" 0
run_ok 'rank prints each condition' "$DBSWEEP" rank "$store" --format json
is 'a first in each' "$(jq '[.[] | select(.rank == 1) | .condition.clients] | unique | tostring' \
    -r <<<"$OUTPUT")" '[1,2]'
run_ok 'or across them' "$DBSWEEP" rank "$store" --format json --across geomean
is 'in one list' "$(jq -c '[.[0].rank, ([.[].condition] | unique)]' <<<"$OUTPUT")" '[1,[{}]]'
is 'nothing is left beside the database' "$(find "$TMP" -name 'bench.sqlite?*' | wc -l)" 0

library=$(kill_at_library) || { not_ok 'the library that kills'; plan; }
plain=${DBSWEEP_PLAIN:-$DBSWEEP}
case $plain in *-asan/*) plain=${plain/-asan\//\/} ;; esac
[ -x "$plain" ] || plain=$DBSWEEP
for stage in stop reset_files apply start ready verify warm_up measure verify_again check; do
    for after in 0 5; do
        name=kill-$stage-$after
        sqlite_sweep "$TMP/$name.cfg"
        KILL_AT=$stage:4 KILL_AFTER_MS=$after LD_PRELOAD=$library \
            "$plain" run "$TMP/$name.cfg" >"$TMP/killed.out" 2>&1
        is "$name: it was killed" "$?" 137
        if [ "$after" = 0 ]; then
            run_ok "$name: run again finishes" "$DBSWEEP" run "$TMP/$name.cfg"
            is "$name: each cell exactly once" "$(store_query "$TMP/$name.db" "SELECT count(*) ||
                ' ' || max(n) FROM (SELECT count(*) AS n FROM trial WHERE status = 'done' AND
                purpose <> 'baseline' GROUP BY point_id, condition_id)")" '24 1'
        else
            run_ok "$name: restore works" "$DBSWEEP" restore "$TMP/$name.db"
        fi
        is "$name: the file's settings are back" "$(file_settings)" "$before"
        is "$name: nothing is left" "$(find "$TMP" -name 'bench.sqlite?*' | wc -l)" 0
    done
done
plan
