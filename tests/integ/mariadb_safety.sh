#!/usr/bin/env bash
# What must not cost the original of a MariaDB: a store that is lost or moved, edits by others,
# commands that lie or hang, settings that no file holds, a server that falls or is restarted by
# others, replicas, two sweeps of one server, a full disk.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_mariadb
config=$DBSWEEP_TEST_MY_CONFIG
dir=$DBSWEEP_TEST_MY_DIR
server="$TOP/tests/support/mariadb.sh"
keep "$config"
cp -a "$config" "$TMP/config.before"
library=$(kill_at_library) || { not_ok 'the library that kills'; plan; }
plain=${DBSWEEP_PLAIN:-$DBSWEEP}
case $plain in *-asan/*) plain=${plain/-asan\//\/} ;; esac
[ -x "$plain" ] || plain=$DBSWEEP
size=$(own_mysql 'select @@innodb_log_buffer_size')
knobs='innodb_log_buffer_size = [ "4M", "8M" ];'

# killed SWEEP: ends the sweep by kill -9 in its second measurement
killed() {
    { KILL_AT=measure:2 LD_PRELOAD=$library "$plain" run "$1" >"$TMP/killed.out" 2>&1; } \
        2>/dev/null
}
restart_with() {
    "$server" down "$dir" && "$server" up "$dir"
}
# as_before: the option file and the server as at the beginning
as_before() {
    cp -a "$TMP/config.before" "$config"
    restart_with
}
server_size() {
    own_mysql 'select @@innodb_log_buffer_size' 2>&1
}
# When, in ticks since the machine's start: the folder's own time is not that of the process.
started() {
    local process
    process=$(cat "$dir/pid")
    sed 's/^.*) //' "/proc/$process/stat" | cut -d' ' -f20
    printf '%s\n' "$process"
}
# begun STORE STAGE COUNT: waits until that stage began so many times
begun() {
    for _ in $(seq 1 400); do
        [ "$(store_query "$1" "SELECT count(*) FROM stage WHERE name = '$2'" 2>/dev/null ||
            echo 0)" -ge "$3" ] && return
        sleep 0.03
    done
}
# in_background NAME: a sweep whose measurements last long enough for others to come between
in_background() {
    my_sweep "$TMP/$1.cfg" "${2:-$knobs}" 'baseline = false;'
    sed -i 's/measure = "300ms"/measure = "1500ms"/' "$TMP/$1.cfg"
    "$DBSWEEP" run "$TMP/$1.cfg" >"$TMP/$1.out" 2>&1 &
    sweeper=$!
}
# restored WHAT
restored() {
    unchanged "$1" "$config"
    is "$1: the server runs on it" "$(server_size)" "$size"
}

# ---- the store is lost after kill -9 ----
my_sweep "$TMP/lost.cfg" "$knobs"
killed "$TMP/lost.cfg"
rm -f "$TMP"/lost.db*
cp -a "$config" "$TMP/left"
run_status 'a new store does not take the point for the baseline' 2 "$DBSWEEP" run "$TMP/lost.cfg"
like 'it says where the original is' "$ERRORS" "*interrupted sweep*$config.dbsweep-baseline*"
file_same 'the file is left as it was' "$TMP/left" "$config"
file_same 'and so is the copy' "$TMP/config.before" "$config.dbsweep-baseline"
cp -a "$config.dbsweep-baseline" "$config"
restart_with
run_ok 'once it was copied back, the sweep runs' "$DBSWEEP" run "$TMP/lost.cfg"
restored 'after it'

# ---- the store is moved after kill -9 ----
my_sweep "$TMP/moved.cfg" "$knobs"
killed "$TMP/moved.cfg"
mkdir "$TMP/elsewhere"
mv "$TMP"/moved.db* "$TMP/elsewhere/"
my_sweep "$TMP/other.cfg" "$knobs"
run_status 'another sweep must not begin on it' 2 "$DBSWEEP" run "$TMP/other.cfg"
run_ok 'restore works from where the store is now' "$DBSWEEP" restore "$TMP/elsewhere/moved.db"
restored 'after it'

# ---- a server that is down, by kill -9 of both ----
my_sweep "$TMP/both.cfg" "$knobs"
killed "$TMP/both.cfg"
kill -9 "$(cat "$dir/pid")"
run_ok 'restore starts a server that fell with the sweep' "$DBSWEEP" restore "$TMP/both.db"
restored 'after it'

# ---- a stop while a command hangs ----
hanging() { # WHICH COMMAND: it hangs, until the signal
    local which=$1 name=hang-$1 sweeper begun
    cat >"$TMP/$name" <<END
#!/bin/sh
[ ! -e "$TMP/hang" ] || { touch "$TMP/hangs"; sleep 300; }
$2
END
    chmod 755 "$TMP" "$TMP/$name"
    my_sweep "$TMP/$name.cfg" "$knobs"
    sed -i "s|^  $which = .*|  $which = [ \"$TMP/$name\" ];|" "$TMP/$name.cfg"
    rm -f "$TMP/hangs"
    touch "$TMP/hang"
    "$DBSWEEP" run "$TMP/$name.cfg" >"$TMP/hang.out" 2>&1 &
    sweeper=$!
    for _ in $(seq 1 400); do
        [ -e "$TMP/hangs" ] && break
        sleep 0.05
    done
    rm "$TMP/hang"
    begun=$(date +%s)
    kill -TERM "$sweeper"
    wait "$sweeper"
    is "$which hangs: a stop ends the sweep" "$?" 3
    is "$which hangs: at once" "$([ $(($(date +%s) - begun)) -lt 15 ] && echo yes)" yes
    is "$which hangs: the trial is dropped, not blamed" "$(store_query "$TMP/$name.db" \
        'SELECT group_concat(DISTINCT status) FROM trial')" dropped
    restored "$which hangs: after it"
}
hanging start "$DBSWEEP_TEST_MY_START"
hanging stop "$DBSWEEP_TEST_MY_STOP"

# ---- commands that lie or are not there ----
my_sweep "$TMP/idle.cfg" "$knobs"
cp "$TMP/idle.cfg" "$TMP/idle.good"
sed -i 's|^  stop = .*|  stop = [ "true" ]; stop_timeout = "1s";|' "$TMP/idle.cfg"
run_status 'a stop command that does nothing ends the sweep' 4 "$DBSWEEP" run "$TMP/idle.cfg"
is 'no point is blamed' "$(store_query "$TMP/idle.db" \
    "SELECT count(*) FROM trial WHERE class <> 'TARGET'")" 0
cp "$TMP/idle.good" "$TMP/idle.cfg"
run_ok 'with a better one every point is measured' "$DBSWEEP" run "$TMP/idle.cfg"
restored 'after it'

# The option file that the command names is not the one that is edited.
cp -a "$config" "$dir/other.cnf"
my_sweep "$TMP/aside.cfg" "$knobs"
cat >"$TMP/start-aside" <<END
#!/bin/sh
mv $config $config.aside
cp -a $dir/other.cnf $config
$DBSWEEP_TEST_MY_START
status=\$?
mv $config.aside $config
exit \$status
END
chmod 755 "$TMP/start-aside"
sed -i "s|^  start = .*|  start = [ \"$TMP/start-aside\" ];|" "$TMP/aside.cfg"
run_status 'a start that reads another file fails its points' 1 "$DBSWEEP" run "$TMP/aside.cfg"
is 'none of them is ranked' "$(store_query "$TMP/aside.db" "SELECT count(*) FROM trial WHERE
    status = 'done' AND purpose <> 'baseline'")" 0
like 'the reason says so' "$(store_query "$TMP/aside.db" "SELECT reason FROM trial WHERE
    status = 'failed' LIMIT 1")" '*not applied: innodb_log_buffer_size*'
restored 'after it'

my_sweep "$TMP/gone.cfg" "$knobs"
cat >"$TMP/start-once" <<END
#!/bin/sh
rm "$TMP/start-once"
$DBSWEEP_TEST_MY_START
END
chmod 755 "$TMP/start-once"
sed -i "s|^  start = .*|  start = [ \"$TMP/start-once\" ];|" "$TMP/gone.cfg"
run_status 'a start command that goes away ends the sweep' 4 "$DBSWEEP" run "$TMP/gone.cfg"
is 'no point is blamed' "$(store_query "$TMP/gone.db" "SELECT count(*) FROM trial WHERE status =
    'failed' AND class <> 'TARGET'")" 0
run_status 'restore cannot start it either' 4 "$DBSWEEP" restore "$TMP/gone.cfg"
file_same 'but the file is the original' "$TMP/config.before" "$config"
my_sweep "$TMP/gone.cfg" "$knobs"
run_ok 'with a command that is there restore works' "$DBSWEEP" restore "$TMP/gone.cfg"
restored 'after it'

# ---- edits by somebody else ----
my_sweep "$TMP/edit.cfg" "$knobs"
cat >"$TMP/stop-and-edit" <<END
#!/bin/sh
$DBSWEEP_TEST_MY_STOP || exit 1
printf '# by hand\n' >>"$config"
END
chmod 755 "$TMP/stop-and-edit"
sed -i "s|^  stop = .*|  stop = [ \"$TMP/stop-and-edit\" ];|" "$TMP/edit.cfg"
run_status 'an edit while the server is down ends the sweep' 4 "$DBSWEEP" run "$TMP/edit.cfg"
like 'it is named' "$ERRORS" '*my.cnf was changed by somebody else*'
like 'it is kept' "$(tail -n 1 "$config")" '# by hand'
is 'the server is not left down' "$(own_mysql 'select 1' 2>&1)" 1
cp -a "$config.dbsweep-baseline" "$config"
run_ok 'once merged by hand, restore works' "$DBSWEEP" restore "$TMP/edit.db"
restored 'after it'

my_sweep "$TMP/quick.cfg" "$knobs"
killed "$TMP/quick.cfg"
printf '# by hand\n' >>"$config"
"$server" down "$dir"
cp -a "$config" "$TMP/quick.edited"
run_status 'after kill -9, restore refuses it too' 2 "$DBSWEEP" restore "$TMP/quick.db"
like 'and tells what it did about the server' "$ERRORS" '*was down: it is started*as it was edited*'
is 'which is not left down' "$(own_mysql 'select 1' 2>&1)" 1
file_same 'the edit is kept' "$TMP/quick.edited" "$config"
is 'the sweep still holds the target' "$([ -e "$config.dbsweep-lock" ] && echo held)" held
"$server" down "$dir"
printf 'no_such_setting = 1\n' >>"$config"
run_status 'nor does run go on over an edit' 2 "$DBSWEEP" run "$TMP/quick.cfg"
like 'which the server refuses, as is told' "$ERRORS" '*is down*not start with that file*no_such*'
cp -a "$config.dbsweep-baseline" "$config"
run_ok 'and works once it is merged' "$DBSWEEP" restore "$TMP/quick.db"
restored 'after it'

# ---- the file is taken away ----
in_background removed
begun "$TMP/removed.db" measure 2
rm "$config"
wait "$sweeper"
is 'a file that was removed ends the sweep' "$?" 2
restored 'it is written anew'
my_sweep "$TMP/removed2.cfg" "$knobs"
killed "$TMP/removed2.cfg"
rm "$config"
run_ok 'so does restore after kill -9' "$DBSWEEP" restore "$TMP/removed2.db"
restored 'after it'

# ---- others do something to the server during a sweep ----
# blamed NAME PATTERN: the second trial failed, with that reason; the sweep went on
blamed() {
    wait "$sweeper"
    is "$1: the sweep goes on" "$?" 1
    like "$1: the reason is told" "$(store_query "$TMP/$1.db" \
        "SELECT group_concat(reason) FROM trial WHERE status = 'failed'")" "$2"
    restored "$1: after it"
}
in_background crash
begun "$TMP/crash.db" measure 2
kill -9 "$(cat "$dir/pid")"
blamed crash '*'
in_background restart
begun "$TMP/restart.db" measure 2
restart_with
blamed restart '*'
in_background global 'sort_buffer_size = [ "1M", "4M" ];'
begun "$TMP/global.db" measure 2
own_mysql 'set global sort_buffer_size = 524288'
blamed global '*sort_buffer_size*'
is 'and the other value is gone' "$(own_mysql 'select @@global.sort_buffer_size')" 2097152
in_background lockout
begun "$TMP/lockout.db" measure 2
mariadb --no-defaults -S "$DBSWEEP_TEST_MY_SOCKET" -u root -e \
    'alter user bench@localhost account lock'
wait "$sweeper"
is 'a locked account ends the sweep' "$?" 4
file_same 'with the original in place' "$TMP/config.before" "$config"
mariadb --no-defaults -S "$DBSWEEP_TEST_MY_SOCKET" -u root -e \
    'alter user bench@localhost account unlock'
run_ok 'restore proves it once it is unlocked' "$DBSWEEP" restore "$TMP/lockout.db"
restored 'after it'

# ---- a server that freezes for a while ----
my_sweep "$TMP/frozen.cfg" "$knobs"
cat >"$TMP/stop-frozen" <<END
#!/bin/sh
if [ -e "$TMP/freeze" ]; then
    rm "$TMP/freeze"
    cp "$dir/pid" "$TMP/frozen"
    kill -STOP \$(cat "$dir/pid")
    { sleep 4; kill -CONT \$(cat "$TMP/frozen"); touch "$TMP/thawed"; } >/dev/null 2>&1 &
    exit 0
fi
exec $DBSWEEP_TEST_MY_STOP
END
chmod 755 "$TMP/stop-frozen"
sed -i "s|^  stop = .*|  stop = [ \"$TMP/stop-frozen\" ]; stop_timeout = \"2s\";|" "$TMP/frozen.cfg"
touch "$TMP/freeze"
run_ok 'a server that froze is waited for' "$DBSWEEP" run "$TMP/frozen.cfg"
is 'it was frozen, and not killed' "$([ -e "$TMP/thawed" ] && grep -c 'still runs' \
    <<<"$ERRORS" | sed 's/[1-9].*/yes/')" yes
is 'no point is blamed' "$(store_query "$TMP/frozen.db" \
    "SELECT count(*) FROM trial WHERE class = 'POINT'")" 0
restored 'after it'

# ---- a point that is as the baseline, and a stop after it ----
my_sweep "$TMP/same.cfg" "innodb_log_buffer_size = [ $size ];"
run_status 'a sweep that ends after a point like the baseline' 3 "$DBSWEEP" run "$TMP/same.cfg" \
    --limit 2
restored 'after it'
run_ok 'goes on' "$DBSWEEP" run "$TMP/same.cfg"

# ---- a server that does not run on its file ----
as_before
sleep 1.1 # files are told from the start by whole seconds
begun_at=$(started)
# refused WHAT LINE PATTERN: with that line at the file's end the server is not touched
refused() {
    printf '%s\n' "$2" >>"$config"
    cp -a "$config" "$TMP/config.edited"
    run_status "$1 is refused" 2 "$DBSWEEP" run "$TMP/pending.cfg"
    like "$1: it is named" "$ERRORS" "$3"
    file_same "$1: nothing is written" "$TMP/config.edited" "$config"
    is "$1: the server was not touched" "$(started)" "$begun_at"
    cp -a "$TMP/config.before" "$config"
}
my_sweep "$TMP/pending.cfg" 'innodb_log_buffer_size = [ "4M" ]; sort_buffer_size = [ "1M" ];'
refused 'a swept setting not read yet' 'sort_buffer_size = 9M' '*sort_buffer_size*my.cnf:*9M*'
refused 'an unswept one' 'max-connections = 50' '*max_connections is 151*my.cnf:*says 50*'
refused 'a flag' 'slow-query-log' '*log_slow_query is off*my.cnf:*'
refused 'an unknown setting' 'no_such_setting = 1' '*unknown variable*no_such_setting*'
refused 'an impossible value' 'max_connections = abc' '*max_connections*abc*'
refused 'an impossible choice of an engine' 'innodb_flush_method = never' '*never*'
refused 'a broken line' '[mysqld' '*my.cnf:*no end*'
sed -i '/^max_recursive_iterations/d' "$config"
refused 'an unswept line that is gone' '# mine' '*max_recursive_iterations*no longer stands*'
own_mysql 'set global max_connections = 60'
refused 'what SET GLOBAL changed' '# mine' '*max_connections is 60 by SET GLOBAL*'
is 'and it is still there' "$(own_mysql 'select @@max_connections')" 60
own_mysql 'set global max_connections = default'
own_mysql 'set global read_only = 1'
refused 'a read-only server' '# mine' '*the server is read-only*'
own_mysql 'set global read_only = 0'
is 'no store was made' "$([ -e "$TMP/pending.db" ] && echo there)" ''
printf '%s\n' 'max_connections = 0151 # as it is' skip-log-bin 'key-buffer-size="128M"' \
    loose_no_such=1 "skip-slow-query-log" >>"$config"
keep "$config"
run_ok 'another spelling of what is there is no change' "$DBSWEEP" run "$TMP/pending.cfg"
unchanged 'after it' "$config"
rm "$TMP/pending.db"
cp -a "$TMP/config.before" "$config"
keep "$config"
restart_with

# ---- values that sessions do not see ----
own_mysql 'create user plain@localhost'
own_mysql 'grant all on bench.* to plain@localhost'
own_mysql "set global init_connect = 'set session sort_buffer_size = 262144'"
MY_CONNECT="socket=$DBSWEEP_TEST_MY_SOCKET user=plain dbname=bench" \
    my_sweep "$TMP/session.cfg" 'sort_buffer_size = [ "1M", "4M" ];'
run_status 'init_connect that beats a swept value is refused' 2 "$DBSWEEP" run "$TMP/session.cfg"
like 'and named' "$ERRORS" '*sort_buffer_size*init_connect*'
own_mysql "set global init_connect = ''"

# ---- knobs that are never swept ----
for knob in version skip_grant_tables skip_networking datadir innodb_force_recovery; do
    my_sweep "$TMP/never.cfg" "max_connections = [ 40 ]; $knob = [ 1 ];"
    run_status "$knob is refused" 2 "$DBSWEEP" check "$TMP/never.cfg"
    like "$knob: with its line" "$ERRORS" "*never.cfg:10: error: $knob *"
done

# ---- groups with a suffix ----
printf '[mysqld_two]\nsort_buffer_size = 3M\n' >>"$config"
MYSQL_GROUP_SUFFIX=_two restart_with
keep "$config"
my_sweep "$TMP/suffix.cfg" 'sort_buffer_size = [ "1M", "4M" ];'
run_ok 'a group that an environment names is read' env MYSQL_GROUP_SUFFIX=_two "$DBSWEEP" run \
    "$TMP/suffix.cfg"
is 'every asked value reads back' "$(store_query "$TMP/suffix.db" \
    "SELECT count(*) FROM trial_value WHERE verdict NOT IN ('equal', 'baseline')")" 0
unchanged 'after it' "$config"
as_before
keep "$config"

# ---- replicas ----
follower=$TMP/follower
MY_WORDS=$("$server" start "$follower") || not_ok 'a second MariaDB'
at_end "\"$server\" stop \"$follower\" 2>/dev/null"
following() {
    mariadb --no-defaults -S "$follower/s" -u bench -N -B -e "$1"
}
printf 'server_id = 2\n' >>"$follower/my.cnf"
printf 'server_id = 1\nlog_bin = changes\n' >>"$config"
"$server" down "$follower" && "$server" up "$follower"
restart_with
keep "$config"
port=$(own_mysql 'select @@port')
following "change master to master_host = '127.0.0.1', master_port = $port, master_user = 'bench',
    master_use_gtid = no"
following 'start slave'
for _ in $(seq 1 100); do
    [ "$(own_mysql "show global status like 'slaves_connected'" | cut -f 2)" = 1 ] && break
    sleep 0.1
done
begun_at=$(started)
my_sweep "$TMP/leader.cfg" "$knobs"
run_status 'a server that others follow is refused' 2 "$DBSWEEP" run "$TMP/leader.cfg"
like 'in words' "$ERRORS" '*replicas follow this server*server of its own*'
sed 's/user=bench/user=plain/' "$TMP/leader.cfg" >"$TMP/plain.cfg"
run_status 'also where the user may not see which' 2 "$DBSWEEP" run "$TMP/plain.cfg"
like 'in the same words' "$ERRORS" '*replicas follow this server*'
is 'nothing was restarted' "$(started)" "$begun_at"
unchanged 'nothing was written' "$config"
eval "$MY_WORDS"
following 'create user plain@localhost'
following 'grant all on bench.* to plain@localhost'
for user in bench plain; do
    MY_CONNECT="socket=$follower/s user=$user dbname=bench" my_sweep "$TMP/follower.cfg" "$knobs"
    run_status "a replica is refused, as $user sees it" 2 "$DBSWEEP" run "$TMP/follower.cfg"
    like "in words for $user" "$ERRORS" '*the server is a replica*'
done
following 'stop slave'
MY_CONNECT="socket=$follower/s user=bench dbname=bench" my_sweep "$TMP/follower.cfg" "$knobs"
run_status 'also while it does not follow' 2 "$DBSWEEP" run "$TMP/follower.cfg"
plan
