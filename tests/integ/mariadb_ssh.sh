#!/usr/bin/env bash
# Sweeps of a MariaDB that is reached over SSH, with both transports, as root and as an ordinary
# user with sudo: every asked value reads back, and nothing is left behind.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_mariadb
own_sshd

config=$DBSWEEP_TEST_MY_CONFIG
MY_CONNECT=$DBSWEEP_TEST_MY_TCP_CONNECT
keep "$config"
before=$(own_mysql 'select @@innodb_buffer_pool_size, @@innodb_log_buffer_size')

# sweep_over NAME TRANSPORT ADDRESS [MORE]
sweep_over() {
    local name=$1 sweep=$TMP/$1.cfg store=$TMP/$1.db
    ssh_host "$2" "$3" "${4:-}"
    my_sweep "$sweep" 'innodb_buffer_pool_size = [ "32M", "64M" ];
      innodb_flush_log_at_trx_commit = [ 1, 2 ]; innodb_log_buffer_size = [ "4M", "8M" ];'
    run_ok "$name: check" "$DBSWEEP" check "$sweep"
    like "$name: check counts the points" "$OUTPUT" '*points:     9*'
    unchanged "$name: after check" "$config"
    run_ok "$name: the sweep runs to its end" "$DBSWEEP" run "$sweep"
    unchanged "$name: after the sweep" "$config"
    is "$name: the server is back on its baseline" \
        "$(own_mysql 'select @@innodb_buffer_pool_size, @@innodb_log_buffer_size')" "$before"
    is "$name: all points were measured" "$(store_query "$store" \
        "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 9
    is "$name: every asked value reads back" "$(store_query "$store" \
        "SELECT count(*) FROM trial_value WHERE verdict NOT IN ('equal', 'baseline')")" 0
    run_ok "$name: rank" "$DBSWEEP" rank "$store"
}

if [ -n "${DBSWEEP_TEST_SSH_USER:-}" ]; then
    sweep_over libssh2-sudo libssh2 "$DBSWEEP_TEST_SSH_USER" 'sudo = true;'
    sweep_over openssh-sudo openssh "$DBSWEEP_TEST_SSH_USER" 'sudo = true;'
else
    skip 'sweeps with sudo' 'only root can make the user'
fi
sweep_over libssh2-root libssh2 "$DBSWEEP_TEST_SSH"
sweep_over openssh-root openssh "$DBSWEEP_TEST_SSH"

# ---- values that the server clamps, merges, ignores and refuses, over SSH ----
sweep=$TMP/clamp.cfg
store=$TMP/clamp.db
my_sweep "$sweep" 'max_connections = [ 5, 10, 999999 ];'
run_ok 'clamped values are measured' "$DBSWEEP" run "$sweep"
is 'as adjusted' "$(store_query "$store" "SELECT count(DISTINCT point_id) FROM trial JOIN
    trial_value USING (trial_id) WHERE verdict = 'adjusted'")" 2
run_ok 'rank merges what is effectively one' "$DBSWEEP" rank "$store" --format json
is 'two and the baseline' "$(jq length <<<"$OUTPUT")" 3
my_sweep "$TMP/huge.cfg" 'innodb_buffer_pool_size = [ "900G", "64M" ];' 'guard = { memory = "off"; };'
run_status 'a pool that no machine holds fails as a point' 1 "$DBSWEEP" run "$TMP/huge.cfg"
like 'with the words of the server' "$(store_query "$TMP/huge.db" "SELECT reason || log_tail FROM
    trial WHERE status = 'failed'")" '*innodb_buffer_pool_size*'
unchanged 'after all of it' "$config"
plan
