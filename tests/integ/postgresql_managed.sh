#!/usr/bin/env bash
# Servers that a sweep must leave alone: one that follows another, and one that others follow.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
config=$DBSWEEP_TEST_PG_CONFIG
keep "$config"
as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        ( cd / && runuser -u "$DBSWEEP_TEST_PG_USER" -- "$DBSWEEP_TEST_PG_BIN/$1" "${@:2}" )
    else
        "$DBSWEEP_TEST_PG_BIN/$1" "${@:2}"
    fi
}
started() {
    own_psql 'select pg_postmaster_start_time()'
}
own_psql "create role plain login" >/dev/null
own_psql "grant all on schema public to plain" >/dev/null

follower=$DBSWEEP_TEST_PG_DIR/follower
as_server pg_basebackup -D "$follower" -R -d "$DBSWEEP_TEST_PG_CONNECT" >"$TMP/backup.log" 2>&1
port=$((DBSWEEP_TEST_PG_PORT + 1))
as_server pg_ctl -D "$follower" -w -t 60 -l "$DBSWEEP_TEST_PG_DIR/follower.log" \
    -o "-c port=$port" start >/dev/null 2>&1
at_end "as_server pg_ctl -D '$follower' -m immediate stop >/dev/null 2>&1"
for _ in $(seq 1 100); do
    [ "$(own_psql 'select count(*) from pg_stat_replication')" = 1 ] && break
    sleep 0.1
done
is 'a server follows' "$(own_psql 'select count(*) from pg_stat_replication')" 1

begun=$(started)
pg_sweep "$TMP/leader.cfg" 'work_mem = [ "1MB", "8MB" ];'
run_status 'a server that others follow is refused' 2 "$DBSWEEP" run "$TMP/leader.cfg"
like 'in words' "$ERRORS" '*other servers follow this one*server of its own*'
sed 's/user=bench/user=plain/' "$TMP/leader.cfg" >"$TMP/plain.cfg"
run_status 'also where the user may not see which' 2 "$DBSWEEP" run "$TMP/plain.cfg"
like 'in the same words' "$ERRORS" '*other servers follow this one*'
pg_sweep "$TMP/clients.cfg" ''
sed -i 's/^axes = .*/axes = { workload = { clients = [ 1, 2 ]; }; };/' "$TMP/clients.cfg"
run_status 'also where no setting is swept' 2 "$DBSWEEP" run "$TMP/clients.cfg"
is 'nothing was restarted' "$(started)" "$begun"
unchanged 'nothing was written' "$config"

sed "s/port=$DBSWEEP_TEST_PG_PORT/port=$port/" "$TMP/leader.cfg" >"$TMP/follower.cfg"
keep "$follower/postgresql.conf"
run_status 'a server that follows another is refused' 2 "$DBSWEEP" run "$TMP/follower.cfg"
like 'in words' "$ERRORS" '*the server is a standby*'
unchanged 'nothing was written' "$follower/postgresql.conf"

as_server pg_ctl -D "$follower" -m fast -w stop >/dev/null 2>&1
run_ok 'once nobody follows it, it is swept' "$DBSWEEP" run "$TMP/leader.cfg"
unchanged 'after it' "$config"

plan
