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
# killed NAME STAGE:TIME MS: ends a sweep by kill -9
killed() {
    KILL_AT=$2 KILL_AFTER_MS=$3 LD_PRELOAD=$library "$plain" run "$TMP/$1.cfg" \
        >"$TMP/killed.out" 2>&1
}
for stage in stop reset_files apply start ready verify warm_up measure verify_again check; do
    for after in 0 5; do
        name=kill-$stage-$after
        sqlite_sweep "$TMP/$name.cfg"
        killed "$name" "$stage:4" "$after"
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

# ---- what a dead writer leaves ----
# The journal of a transaction that died, as hot as after a power cut: check, run and restore roll
# it back before they read.
writer() { # SQL: writes it, and dies before its commit
    mkfifo "$TMP/writer"
    sqlite3 "$database" <"$TMP/writer" >"$TMP/writer.out" &
    local pid=$!
    exec 9>"$TMP/writer"
    printf '%s\n' "$1" "select 'written';" >&9
    for _ in $(seq 1 100); do
        grep -q written "$TMP/writer.out" && break
        sleep 0.05
    done
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    exec 9>&-
    rm "$TMP/writer"
}
hot='pragma cache_size=1; pragma cache_spill=1; begin; create table gone as with recursive
    n(i) as (select 1 union all select i+1 from n limit 20000) select i, hex(randomblob(60)) from n;
    update mine set a = 43;'
sqlite_sweep "$TMP/hot.cfg"
for command in check run; do
    writer "$hot"
    is "$command: a hot journal is there" "$(find "$TMP" -name 'bench.sqlite-journal' -size +0 | wc -l)" 1
    run_ok "$command: rolls it back" "$DBSWEEP" "$command" "$TMP/hot.cfg"
    is "$command: no journal is left" "$(find "$TMP" -name 'bench.sqlite?*' | wc -l)" 0
    is "$command: what was not committed is gone" "$(sqlite3 "$database" 'select a from mine')" 42
done
writer "$hot"
run_ok 'restore: rolls it back' "$DBSWEEP" restore "$TMP/hot.db"
is 'restore: no journal is left' "$(find "$TMP" -name 'bench.sqlite?*' | wc -l)" 0
sqlite3 "$database" 'pragma journal_mode=wal' >"$TMP/wal.out"
writer 'begin; update mine set a = 43; commit; begin; update mine set a = 44;'
is 'a log is there' "$(find "$TMP" -name 'bench.sqlite-wal' -size +0 | wc -l)" 1
run_ok 'check reads it' "$DBSWEEP" check "$TMP/hot.cfg"
is 'what was committed stays' "$(sqlite3 "$database" 'select a from mine')" 43
sqlite3 "$database" 'update mine set a = 42; pragma journal_mode=delete' >"$TMP/wal.out"

# In every moment of apply and of the load, a restore ends with the bytes from before the trial.
for at in apply:4 reset_files:4; do
    for after in 1 4 8; do
        name=bytes-${at/:/-}-$after
        sqlite_sweep "$TMP/$name.cfg"
        killed "$name" "$at" "$after"
        cp "$database.dbsweep-snapshot" "$TMP/original" 2>/dev/null
        run_ok "$name: restore works" "$DBSWEEP" restore "$TMP/$name.cfg"
        file_same "$name: byte for byte" "$TMP/original" "$database"
        is "$name: nothing is left" "$(find "$TMP" -name 'bench.sqlite?*' | wc -l)" 0
    done
done
sqlite_sweep "$TMP/later.cfg"
killed later measure:4 20
sqlite3 -cmd '.timeout 10000' "$database" 'insert into mine values (77)'
touch -d '+1 hour' "$database"
run_ok 'restore after others wrote' "$DBSWEEP" restore "$TMP/later.cfg"
is 'their rows stay' "$(sqlite3 "$database" 'select sum(a) from mine')" 119
is 'the settings are back' "$(file_settings)" "$before"
sqlite3 "$database" 'delete from mine where a = 77'

# ---- journals that stay ----
sqlite_sweep "$TMP/stay.cfg"
sed -i 's/^    journal_mode = .*/    journal_mode = [ "persist", "truncate" ];/' "$TMP/stay.cfg"
run_ok 'journals that outlive a transaction' "$DBSWEEP" run "$TMP/stay.cfg"
is 'are not left behind' "$(find "$TMP" -name 'bench.sqlite?*' | wc -l)" 0

# ---- the program and its streams ----
cp "$DBSWEEP" "$TMP/dbsweep-old"
sqlite_sweep "$TMP/upgrade.cfg"
"$TMP/dbsweep-old" run "$TMP/upgrade.cfg" >"$TMP/upgrade.out" 2>&1 &
sweeper=$!
for _ in $(seq 1 200); do
    [ "$(store_query "$TMP/upgrade.db" 'SELECT count(*) FROM trial' 2>/dev/null || echo 0)" -ge 2 ] &&
        break
    sleep 0.05
done
rm "$TMP/dbsweep-old"
printf '#!/bin/sh\nexit 1\n' >"$TMP/dbsweep-old"
chmod 755 "$TMP/dbsweep-old"
wait "$sweeper"
is 'a sweep outlives an upgrade of its program' "$?" 0
is 'no trial failed' "$(store_query "$TMP/upgrade.db" "SELECT count(*) FROM trial WHERE
    status <> 'done'")" 0

sqlite_sweep "$TMP/closed.cfg"
"$DBSWEEP" run "$TMP/closed.cfg" <&- >&- 2>&- &
sweeper=$!
for _ in $(seq 1 200); do
    [ -e "$TMP/closed.db" ] && break
    sleep 0.02
done
is 'no file gets the number of a closed stream' \
    "$(readlink "/proc/$sweeper/fd/0" "/proc/$sweeper/fd/1" "/proc/$sweeper/fd/2" | uniq)" /dev/null
wait "$sweeper"
is 'a sweep without standard streams' "$?" 0
is 'leaves a whole store' "$(store_query "$TMP/closed.db" 'PRAGMA integrity_check')" ok
is 'and a whole database' "$(sqlite3 "$database" 'pragma integrity_check')" ok
is 'that nothing was written into' "$(grep -c 'level=\|info:\|finished' "$TMP/closed.db" "$database" |
    cut -d: -f2 | tr '\n' ' ')" '0 0 '
printed=yes
"$DBSWEEP" rank "$TMP/closed.db" >&- 2>/dev/null || printed=no
is 'a result that cannot be printed is an error' "$printed" no
plan
