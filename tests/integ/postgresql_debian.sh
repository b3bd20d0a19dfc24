#!/usr/bin/env bash
# A cluster as Debian makes it: the configuration in /etc, the data in /var/lib, the log in
# /var/log, a conf.d, encryption switched on, and commands of its own.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'only root makes clusters'
command -v pg_createcluster >/dev/null || skip_all 'no postgresql-common'
bin=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort -V | tail -n 1)
version=$(basename "$(dirname "$bin")")
name=dbsweep$$
pg_createcluster --start-conf manual "$version" "$name" -- -A trust -U bench >"$TMP/create.log" 2>&1 ||
    skip_all "pg_createcluster does not work here: $(tail -n 1 "$TMP/create.log")"
at_end "pg_dropcluster --stop $version $name >/dev/null 2>&1"
config=/etc/postgresql/$version/$name/postgresql.conf
data=/var/lib/postgresql/$version/$name
port=$(sed -n 's/^port = \([0-9]*\).*/\1/p' "$config")
printf 'work_mem = 5MB\n' >"/etc/postgresql/$version/$name/conf.d/own.conf"
chown postgres: "/etc/postgresql/$version/$name/conf.d/own.conf"
own=/etc/postgresql/$version/$name/conf.d/own.conf
cluster() {
    pg_ctlcluster "$version" "$name" "$@" >/dev/null 2>&1
}
cluster start
"$bin/createdb" -h 127.0.0.1 -p "$port" -U bench bench

DBSWEEP_TEST_PG_BIN=$bin
DBSWEEP_TEST_PG_CONNECT="host=127.0.0.1 port=$port user=bench dbname=bench"
DBSWEEP_TEST_PG_LOG=/var/log/postgresql/postgresql-$version-$name.log
DBSWEEP_TEST_PG_STOP_LIST='[ "true" ]'
DBSWEEP_TEST_PG_START_LIST='[ "true" ]'
keep "$config"
keep "$own"
buffers=$(own_psql 'show shared_buffers')

# debian_sweep FILE KNOBS [LINES]: LINES take the place of stop, start and log
debian_sweep() {
    pg_sweep "$1" "$2"
    sed -i "/^  stop = /d; /^  log = /d; s|^  start = .*|  ${3:-}|" "$1"
}
as_found() {
    unchanged "$1" "$config"
    unchanged "$1" "$own"
    is "$1: the server runs on it" "$(own_psql 'show shared_buffers' 2>&1)" "$buffers"
    is "$1: Debian's tools see it run" "$(pg_lsclusters -h "$version" "$name" | awk '{ print $4 }')" \
        online
    is "$1: nothing is left beside the data" "$(find "$(dirname "$data")" -maxdepth 1 \
        -name "$name.*" | wc -l)" 0
    is "$1: no lock is left" "$(find "$data" -name '*dbsweep*lock' | wc -l)" 0
}

debian_sweep "$TMP/probed.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
run_ok 'it is swept without being told anything' "$DBSWEEP" run "$TMP/probed.cfg"
as_found 'after that'

debian_sweep "$TMP/tools.cfg" 'shared_buffers = [ "32MB", "48MB" ];' \
    "stop = [ \"pg_ctlcluster\", \"$version\", \"$name\", \"stop\" ]; start = [ \"pg_ctlcluster\", \"$version\", \"$name\", \"start\" ];"
run_ok 'by its own commands' "$DBSWEEP" run "$TMP/tools.cfg"
as_found 'after those'

debian_sweep "$TMP/restart.cfg" 'shared_buffers = [ "32MB", "48MB" ];' \
    "restart = [ \"pg_ctlcluster\", \"$version\", \"$name\", \"restart\" ];"
run_ok 'and by one command that restarts' "$DBSWEEP" run "$TMP/restart.cfg"
as_found 'after that one'

debian_sweep "$TMP/own.cfg" 'work_mem = [ "2MB", "8MB" ];'
run_ok 'a line behind the include beats what conf.d sets' "$DBSWEEP" run "$TMP/own.cfg"
as_found 'with conf.d'
debian_sweep "$TMP/drop.cfg" 'work_mem = [ "2MB", "8MB" ];' "config = \"$own\";"
run_ok 'a file of conf.d is swept' "$DBSWEEP" run "$TMP/drop.cfg"
is 'each value was in force' "$(store_query "$TMP/drop.db" \
    "SELECT count(*) FROM trial WHERE status <> 'done'")" 0
as_found 'after it'

# Killed, then swapped half way: the configuration is there, the data directory is not.
library=$(kill_at_library) || { not_ok 'the library that kills'; plan; }
plain=${DBSWEEP_PLAIN:-$DBSWEEP}
case $plain in *-asan/*) plain=${plain/-asan\//\/} ;; esac
PG_WORKLOAD='kind = "oltp"; mix = "read_write"; tables = 1; rows = 1000; reset = "snapshot";
  clients = 1; warm_up = "0s"; measure = "100ms";' debian_sweep "$TMP/swap.cfg" \
    'shared_buffers = [ "32MB" ];'
KILL_AT=measure:2 LD_PRELOAD=$library "$plain" run "$TMP/swap.cfg" >"$TMP/killed.out" 2>&1
cluster stop -m immediate
mv "$data" "$data.dbsweep-old"
run_ok 'restore puts the data directory back first' "$DBSWEEP" restore "$TMP/swap.db"
as_found 'after the restore'

plan
