#!/usr/bin/env bash
# Sweeps of a PostgreSQL that is reached over SSH, with both transports, as root and as an ordinary
# user with sudo: every asked value reads back, and nothing is left behind.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
own_sshd

config=$DBSWEEP_TEST_PG_CONFIG
PG_CONNECT=$DBSWEEP_TEST_PG_TCP_CONNECT
keep "$config"
before=$(own_psql 'show shared_buffers')

# sweep_over NAME TRANSPORT ADDRESS [MORE]
sweep_over() {
    local name=$1 sweep=$TMP/$1.cfg store=$TMP/$1.db
    ssh_host "$2" "$3" "${4:-}"
    pg_sweep "$sweep" 'shared_buffers = [ "32MB", "64MB" ]; work_mem = [ "1MB", "8MB" ];
      synchronous_commit = [ "on", "off" ];' 'baseline = true;'
    run_ok "$name: check" "$DBSWEEP" check "$sweep"
    like "$name: check counts the points" "$OUTPUT" '*points:     9*'
    unchanged "$name: after check" "$config"
    run_ok "$name: the sweep runs to its end" "$DBSWEEP" run "$sweep"
    unchanged "$name: after the sweep" "$config"
    is "$name: the server is back on its baseline" "$(own_psql 'show shared_buffers')" "$before"
    is "$name: all points were measured" "$(store_query "$store" \
        "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 9
    is "$name: every asked value reads back" "$(store_query "$store" \
        "SELECT count(*) FROM trial_value WHERE verdict NOT IN ('equal', 'baseline')")" 0
    is "$name: nothing of a lock stays" "$(find "$DBSWEEP_TEST_PG_DATA" -name '*dbsweep*')" ''
    run_ok "$name: rank" "$DBSWEEP" rank "$store"
}

sweep_over libssh2-root libssh2 "$DBSWEEP_TEST_SSH"
sweep_over openssh-root openssh "$DBSWEEP_TEST_SSH"
if [ -n "${DBSWEEP_TEST_SSH_USER:-}" ]; then
    sweep_over libssh2-sudo libssh2 "$DBSWEEP_TEST_SSH_USER" 'sudo = true;'
    sweep_over openssh-sudo openssh "$DBSWEEP_TEST_SSH_USER" 'sudo = true;'
else
    skip 'sweeps with sudo' 'only root can make the user'
fi
plan
