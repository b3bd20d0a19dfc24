#!/usr/bin/env bash
# What must not cost the original: a store that is lost or moved, a sweep file that changed, a
# configuration that the server does not run on, edits by others, two sweeps of one server.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
config=$DBSWEEP_TEST_PG_CONFIG
keep "$config"
library=$(kill_at_library) || { not_ok 'the library that kills'; plan; }
plain=${DBSWEEP_PLAIN:-$DBSWEEP}
case $plain in *-asan/*) plain=${plain/-asan\//\/} ;; esac
[ -x "$plain" ] || plain=$DBSWEEP
buffers=$(own_psql 'show shared_buffers')

# killed SWEEP: ends the sweep by kill -9 in its second measurement
killed() {
    KILL_AT=measure:2 LD_PRELOAD=$library "$plain" run "$1" >"$TMP/killed.out" 2>&1
}
restart_by_hand() {
    # shellcheck disable=SC2086 # words of a command
    ( cd / && $DBSWEEP_TEST_PG_STOP && $DBSWEEP_TEST_PG_START ) >/dev/null 2>&1
}
server_buffers() {
    own_psql 'show shared_buffers' 2>&1
}

# ---- the store is lost after kill -9 ----
pg_sweep "$TMP/lost.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
killed "$TMP/lost.cfg"
rm -f "$TMP"/lost.db*
cp -a "$config" "$TMP/left"
run_status 'a new store does not take the point for the baseline' 2 "$DBSWEEP" run "$TMP/lost.cfg"
like 'it says where the original is' "$ERRORS" "*interrupted sweep*$config.dbsweep-baseline*"
file_same 'the file is left as it was' "$TMP/left" "$config"
file_same 'and so is the copy' "$TMP/kept.$(printf '%s' "$config" | tr / _)" \
    "$config.dbsweep-baseline"
cp -a "$config.dbsweep-baseline" "$config"
restart_by_hand
run_ok 'once it was copied back, the sweep runs' "$DBSWEEP" run "$TMP/lost.cfg"
unchanged 'after it' "$config"

# ---- the store is moved after kill -9 ----
pg_sweep "$TMP/moved.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
killed "$TMP/moved.cfg"
mkdir "$TMP/elsewhere"
mv "$TMP"/moved.db* "$TMP/elsewhere/"
pg_sweep "$TMP/other.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
run_status 'another sweep must not begin on it' 2 "$DBSWEEP" run "$TMP/other.cfg"
run_ok 'restore works from where the store is now' "$DBSWEEP" restore "$TMP/elsewhere/moved.db"
unchanged 'after it' "$config"
is 'the server runs on it' "$(server_buffers)" "$buffers"

run_status 'where the store was lost' 2 "$DBSWEEP" restore "$TMP/moved.cfg"
like 'and the server is well, restore says so' "$ERRORS" '*no lock and no copy*'
killed "$TMP/other.cfg"
mv "$TMP"/other.db* "$TMP/elsewhere/"
run_status 'where it was moved after kill -9' 2 "$DBSWEEP" restore "$TMP/other.cfg"
like 'restore names what is left' "$ERRORS" "*left its traces*$config.dbsweep-baseline*"
run_ok 'and works from where it is' "$DBSWEEP" restore "$TMP/elsewhere/other.db"
unchanged 'after it' "$config"

# ---- a stop while a command hangs ----
hanging() { # WHICH STAGE: the command of that stage hangs from its second time on, until the signal
    local which=$1 command=$2 name=hang-$1
    cat >"$TMP/$name" <<END
#!/bin/sh
[ ! -e "$TMP/hang" ] || { touch "$TMP/hangs"; sleep 300; }
$command
END
    chmod 755 "$TMP" "$TMP/$name"
    pg_sweep "$TMP/$name.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
    sed -i "s|^  $which = .*|  $which = [ \"$TMP/$name\" ];|" "$TMP/$name.cfg"
    rm -f "$TMP/hang" "$TMP/hangs"
    touch "$TMP/hang"
    "$DBSWEEP" run "$TMP/$name.cfg" >"$TMP/hang.out" 2>&1 &
    local sweeper=$! begun
    for _ in $(seq 1 400); do
        [ -e "$TMP/hangs" ] && break
        sleep 0.05
    done
    rm "$TMP/hang"
    begun=$(date +%s)
    kill -TERM "$sweeper"
    sleep 0.3
    kill -TERM "$sweeper" # further ones change nothing
    wait "$sweeper"
    is "$which hangs: a stop ends the sweep" "$?" 3
    is "$which hangs: at once" "$([ $(($(date +%s) - begun)) -lt 12 ] && echo yes)" yes
    is "$which hangs: the trial is dropped, not blamed" "$(store_query "$TMP/$name.db" \
        'SELECT group_concat(DISTINCT status) FROM trial')" dropped
    unchanged "$which hangs: after it" "$config"
    is "$which hangs: the server runs on it" "$(server_buffers)" "$buffers"
}
hanging start "$DBSWEEP_TEST_PG_START"
hanging stop "$DBSWEEP_TEST_PG_STOP"

# ---- a command that is not there ----
pg_sweep "$TMP/gone.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
sed -i 's|^  start = .*|  start = [ "/nonexistent/start" ];|' "$TMP/gone.cfg"
for command in check run; do
    run_status "$command: a command that is not there" 2 "$DBSWEEP" "$command" "$TMP/gone.cfg"
    like "$command: is named with its line" "$ERRORS" \
        '*gone.cfg:6: error: target.start: there is no program /nonexistent/start*'
done
is 'no store is made' "$([ -e "$TMP/gone.db" ] && echo there)" ''
cat >"$TMP/start-once" <<END
#!/bin/sh
rm "$TMP/start-once"
$DBSWEEP_TEST_PG_START
END
chmod 755 "$TMP/start-once"
sed -i "s|^  start = .*|  start = [ \"$TMP/start-once\" ];|" "$TMP/gone.cfg"
run_status 'one that goes away ends the sweep' 4 "$DBSWEEP" run "$TMP/gone.cfg"
is 'no point is blamed' "$(store_query "$TMP/gone.db" "SELECT count(*) FROM trial WHERE status =
    'failed' AND class <> 'TARGET'")" 0
is 'it was tried once' "$(store_query "$TMP/gone.db" "SELECT count(*) FROM trial WHERE status =
    'failed'")" 1
pg_sweep "$TMP/gone.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
run_ok 'with a command that is there restore works' "$DBSWEEP" restore "$TMP/gone.cfg"
unchanged 'after it' "$config"

# ---- knobs that nobody can set ----
pg_sweep "$TMP/internal.cfg" 'work_mem = [ "4MB" ]; block_size = [ 8192 ];'
run_status 'a knob that the server only reports' 2 "$DBSWEEP" check "$TMP/internal.cfg"
like 'is refused with its line' "$ERRORS" '*internal.cfg:10: error: block_size cannot be set*'

# ---- edits by somebody else ----
pg_sweep "$TMP/edit.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
cat >"$TMP/stop-and-edit" <<END
#!/bin/sh
$DBSWEEP_TEST_PG_STOP || exit 1
printf '# by hand\n' >>"$config"
END
chmod 755 "$TMP" "$TMP/stop-and-edit"
sed -i "s|^  stop = .*|  stop = [ \"$TMP/stop-and-edit\" ];|" "$TMP/edit.cfg"
run_status 'an edit while the server is down ends the sweep' 4 "$DBSWEEP" run "$TMP/edit.cfg"
like 'it is named' "$ERRORS" '*postgresql.conf was changed by somebody else*'
like 'it is kept' "$(tail -n 1 "$config")" '# by hand'
is 'the server is not left down' "$(own_psql 'select 1' 2>&1)" 1
cp -a "$config.dbsweep-baseline" "$config"
run_ok 'once merged by hand, restore works' "$DBSWEEP" restore "$TMP/edit.db"
unchanged 'after it' "$config"

pg_sweep "$TMP/quick.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
killed "$TMP/quick.cfg"
printf '# by hand\n' >>"$config"
# shellcheck disable=SC2086 # words of a command
( cd / && $DBSWEEP_TEST_PG_STOP ) >/dev/null 2>&1
cp -a "$config" "$TMP/quick.edited"
cp -a "$config.dbsweep-baseline" "$TMP/quick.copy"
run_status 'after kill -9, restore refuses it too' 2 "$DBSWEEP" restore "$TMP/quick.db"
like 'and tells what it did about the server' "$ERRORS" '*was down: it is started*as it was edited*'
is 'which is not left down' "$(own_psql 'select 1' 2>&1)" 1
file_same 'the edit is kept' "$TMP/quick.edited" "$config"
file_same 'and so is the copy of the baseline' "$TMP/quick.copy" "$config.dbsweep-baseline"
is 'the sweep still holds the target' "$([ -e "$config.dbsweep-lock" ] && echo held)" held
# shellcheck disable=SC2086 # words of a command
( cd / && $DBSWEEP_TEST_PG_STOP ) >/dev/null 2>&1
printf 'no_such_setting = 1\n' >>"$config"
run_status 'nor does run go on over an edit' 2 "$DBSWEEP" run "$TMP/quick.cfg"
like 'which the server refuses, as is told' "$ERRORS" '*is down*not start with that file*no_such*'
cp -a "$config.dbsweep-baseline" "$config"
run_ok 'and works once it is merged' "$DBSWEEP" restore "$TMP/quick.db"
is 'the server runs on the original' "$(server_buffers)" "$buffers"
unchanged 'after it' "$config"

# ---- a copy of the data that was being swapped when everything was killed ----
# swapped COMMAND...: leaves the data directory as it is between the two renames, then restores
swapped() {
    PG_WORKLOAD='kind = "oltp"; mix = "read_write"; tables = 1; rows = 1000; reset = "snapshot";
  clients = 1; warm_up = "0s"; measure = "100ms";' pg_sweep "$TMP/swap.cfg" 'work_mem = [ "1MB" ];'
    killed "$TMP/swap.cfg"
    # shellcheck disable=SC2086 # words of a command
    ( cd / && $DBSWEEP_TEST_PG_STOP ) >/dev/null 2>&1
    mv "$DBSWEEP_TEST_PG_DATA" "$DBSWEEP_TEST_PG_DATA.dbsweep-old"
    cp -a "$DBSWEEP_TEST_PG_DATA.dbsweep-snapshot" "$DBSWEEP_TEST_PG_DATA.dbsweep-new"
    run_ok "$1 finds the data directory again" "$DBSWEEP" "$@"
    is "$1: the server runs" "$(own_psql 'select 1' 2>&1)" 1
    unchanged "after $1" "$config"
    is "$1 leaves no lock" "$(find "$DBSWEEP_TEST_PG_DATA" -name '*dbsweep*lock' | wc -l)" 0
    is "$1 leaves nothing beside the data" "$(find "$DBSWEEP_TEST_PG_DIR" -maxdepth 1 \
        -name 'data.*' | wc -l)" 0
}
swapped restore "$TMP/swap.db"
rm -f "$TMP"/swap.db*
swapped run "$TMP/swap.cfg"

# ---- a stop that does not stop is no fault of a point ----
pg_sweep "$TMP/idle.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
cp "$TMP/idle.cfg" "$TMP/idle.good"
sed -i 's|^  stop = .*|  stop = [ "true" ]; stop_timeout = "1s";|' "$TMP/idle.cfg"
run_status 'a stop command that does nothing ends the sweep' 4 "$DBSWEEP" run "$TMP/idle.cfg"
is 'no point is blamed' "$(store_query "$TMP/idle.db" \
    "SELECT count(*) FROM trial WHERE class <> 'TARGET'")" 0
cp "$TMP/idle.good" "$TMP/idle.cfg"
run_ok 'with a better one every point is measured' "$DBSWEEP" run "$TMP/idle.cfg"
is 'each once' "$(store_query "$TMP/idle.db" "SELECT group_concat(n) FROM (SELECT count(*) AS n
    FROM trial WHERE status = 'done' AND purpose <> 'baseline' GROUP BY point_id)")" 1,1
unchanged 'after it' "$config"

# ---- a server that does not run on its file ----
# refused WHAT LINE PATTERN: with that line at the file's end the server is not touched
cp -a "$config" "$TMP/config.before"
started=$(own_psql 'select pg_postmaster_start_time()')
refused() {
    printf '%s\n' "$2" >>"$config"
    cp -a "$config" "$TMP/config.edited"
    run_status "$1 is refused" 2 "$DBSWEEP" run "$TMP/pending.cfg"
    like "$1: its line is named" "$ERRORS" "$3"
    file_same "$1: nothing is written" "$TMP/config.edited" "$config"
    is "$1: the server was not touched" "$(own_psql 'select pg_postmaster_start_time()')" "$started"
    cp -a "$TMP/config.before" "$config"
}
pg_sweep "$TMP/pending.cfg" 'shared_buffers = [ "32MB" ]; work_mem = [ "1MB" ];'
refused 'a setting that needs a restart' 'shared_buffers = 96MB' \
    '*postgresql.conf:*shared_buffers = 96MB*'
refused 'an unswept one' 'max_connections = 50' '*postgresql.conf:*max_connections = 50*'
refused 'an unknown setting' 'no_such_setting = 1' '*postgresql.conf:*no_such_setting*'
refused 'an impossible value' 'max_connections = 99999999' '*postgresql.conf:*99999999*'
refused 'a broken line' 'this is no setting' '*postgresql.conf:*syntax error*'
refused 'a swept setting not reloaded' 'work_mem = 9MB' '*work_mem is 4M*postgresql.conf:*9MB*'
is 'no store was made' "$([ -e "$TMP/pending.db" ] && echo there)" ''
printf 'work_mem = 4096 # as it is\nenable_seqscan = true\nwal_buffers = -1\n' >>"$config"
keep "$config"
run_ok 'another spelling of what is there is no change' "$DBSWEEP" run "$TMP/pending.cfg"
unchanged 'after it' "$config"
rm "$TMP/pending.db"

# The command line decides these, whatever the file says.
# shellcheck disable=SC2086 # words of a command
( cd / && $DBSWEEP_TEST_PG_STOP && $DBSWEEP_TEST_PG_START -o '-c max_connections=60' ) \
    >/dev/null 2>&1
sed -i "s|^  start = .*|  start = ${DBSWEEP_TEST_PG_START_LIST/% ]/, \"-o\", \"-c max_connections=60\" ]};|" \
    "$TMP/pending.cfg"
run_ok 'a setting of the command line is no change either' "$DBSWEEP" run "$TMP/pending.cfg"
is 'it is still there' "$(own_psql 'show max_connections')" 60
unchanged 'after it' "$config"

# ---- a sweep file that changed what its trials rest on ----
cp -a "$TMP/config.before" "$config"
restart_by_hand
keep "$config"
pg_sweep "$TMP/grow.cfg" 'shared_buffers = [ "32MB" ];'
run_ok 'a sweep' "$DBSWEEP" run "$TMP/grow.cfg"
sed -i 's/rows = 1000/rows = 500/' "$TMP/grow.cfg"
run_status 'other data cannot go on with it' 2 "$DBSWEEP" run "$TMP/grow.cfg"
like 'what changed is told' "$ERRORS" '*rows = 1000*rows = 500*'
is 'the data were left alone' "$(own_psql 'select count(*) from sbtest1')" 1000

# ---- two sweeps of one server that edit two of its files ----
mkdir "$DBSWEEP_TEST_PG_DATA/conf.d"
printf 'work_mem = 4MB\n' >"$DBSWEEP_TEST_PG_DATA/conf.d/own.conf"
chown -R --reference="$config" "$DBSWEEP_TEST_PG_DATA/conf.d"
printf "include_dir 'conf.d'\n" >>"$config"
own_psql 'select pg_reload_conf()' >/dev/null
keep "$config"
keep "$DBSWEEP_TEST_PG_DATA/conf.d/own.conf"
pg_sweep "$TMP/main.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
pg_sweep "$TMP/own.cfg" 'work_mem = [ "2MB", "8MB" ];'
sed -i "s|^  connect = |  config = \"$DBSWEEP_TEST_PG_DATA/conf.d/own.conf\"; connect = |" "$TMP/own.cfg"
killed "$TMP/main.cfg"
is 'who backs the server up may read its lock' \
    "$(stat -c %a "$DBSWEEP_TEST_PG_DATA/dbsweep.lock" "$config.dbsweep-lock" | uniq)" 644
run_status 'the other file is locked as well' 2 "$DBSWEEP" run "$TMP/own.cfg"
like 'and the store to restore from is named' "$ERRORS" "*restore $TMP/main.db*"
mv "$TMP/main.db" "$TMP/main.away"
run_status 'also where that store is gone' 2 "$DBSWEEP" run "$TMP/own.cfg"
like 'and what to remove is told' "$ERRORS" "*remove $DBSWEEP_TEST_PG_DATA/dbsweep.lock*"
mv "$TMP/main.away" "$TMP/main.db"
run_ok 'restore works' "$DBSWEEP" restore "$TMP/main.cfg"
unchanged 'after it' "$config"
run_ok 'then the other file may be swept' "$DBSWEEP" run "$TMP/own.cfg"
unchanged 'after it' "$DBSWEEP_TEST_PG_DATA/conf.d/own.conf"
is 'no lock is left' "$(find "$DBSWEEP_TEST_PG_DATA" -name '*dbsweep*lock' | wc -l)" 0
cp -a "$TMP/config.before" "$config"
restart_by_hand
keep "$config"

# ---- a full disk under the configuration ----
mkdir "$TMP/small"
if mount -t tmpfs -o size=200k tmpfs "$TMP/small" 2>/dev/null; then
    at_end "umount -l $TMP/small"
    small=$TMP/small/postgresql.conf
    {
        cat "$config"
        printf "%s_file = '$DBSWEEP_TEST_PG_DATA/pg_%s.conf'\n" hba hba ident ident
        printf "data_directory = '%s'\n" "$DBSWEEP_TEST_PG_DATA"
    } >"$small"
    chown --reference="$config" "$TMP/small" "$small"
    chmod 640 "$small"
    keep "$small"
    pg_sweep "$TMP/full.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
    sed -i "s|^  start = .*|  start = ${DBSWEEP_TEST_PG_START_LIST/% ]/, \"-o\", \"-c config_file=$small\" ]};|" \
        "$TMP/full.cfg"
    # shellcheck disable=SC2086 # words of a command
    ( cd / && $DBSWEEP_TEST_PG_STOP && $DBSWEEP_TEST_PG_START -o "-c config_file=$small" ) \
        >/dev/null 2>&1
    "$DBSWEEP" run "$TMP/full.cfg" >"$TMP/full.out" 2>&1 &
    sweeper=$!
    for _ in $(seq 1 200); do
        [ "$(store_query "$TMP/full.db" "SELECT count(*) FROM stage WHERE name = 'measure'" \
            2>/dev/null || echo 0)" -ge 2 ] && break
        sleep 0.05
    done
    dd if=/dev/zero of="$TMP/small/fill" bs=1k 2>/dev/null
    wait "$sweeper"
    is 'the disk was full' "$(grep -c 'No space left on device' "$TMP/full.out" | sed 's/[1-9].*/yes/')" \
        yes
    unchanged 'on a full disk' "$small"
    is 'the server runs on it' "$(server_buffers)" "$buffers"
    rm "$TMP/small/fill"
    run_ok 'with room again the sweep goes on' "$DBSWEEP" run "$TMP/full.cfg"
    unchanged 'after it' "$small"
    # shellcheck disable=SC2086 # words of a command
    ( cd / && $DBSWEEP_TEST_PG_STOP ) >/dev/null 2>&1
else
    skip 'a full disk under the configuration' 'no tmpfs can be mounted'
fi

plan
