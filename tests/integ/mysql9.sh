#!/usr/bin/env bash
# Sweeps of a MySQL 9 on a machine of its own, over SSH with both transports as an ordinary user
# with sudo; the load comes from here, logged in by caching_sha2_password. What MySQL has and MariaDB
# has not: SET PERSIST, the origins of performance_schema, a pool that is rounded up.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_remote_host sid
# Meanwhile, the image of systemd.sh: a machine without any waits for both at once.
"$TOP/tests/support/remote_image.sh" systemd >/dev/null 2>&1 &
at_end "wait $!"

# ---- a machine whose test was killed is ended by the next test, and no other ----
sleep 600 &
owner=$!
said=$(DBSWEEP_TEST_OWNER=$owner "$TOP/tests/support/remote_host.sh" start sid 2>&1)
left=$(sed -n 's/^export DBSWEEP_TEST_REMOTE_DIR=//p' <<<"$said")
network=$(sed -n 's/^export DBSWEEP_TEST_REMOTE_NETNS=//p' <<<"$said")
at_end "kill -9 $owner 2>/dev/null; \"$TOP/tests/support/remote_host.sh\" sweep"
kill -9 "$owner"
wait "$owner" 2>/dev/null
like 'a second machine was there' "$left" '/*'
run_ok 'what is left is ended' "$TOP/tests/support/remote_host.sh" sweep
is 'no folder is left' "$(find "$(dirname "$left")" -maxdepth 1 -path "$left")" ''
is 'no network is left' "$(ip netns | grep -c "^$network\b")$(ip -o link |
    grep -c "dbs${network#dbsweep-}h")" 00
is 'no process is left' "$(pgrep -fc "$left")" 0
is 'this one lives' "$(remote echo yes)" yes

config=/etc/mysql/mysql.conf.d/mysqld.cnf
export MYSQL9_PASSWORD=$DBSWEEP_TEST_REMOTE_MY_PASSWORD
printf '%s\n' "$MYSQL9_PASSWORD" >"$TMP/password"
chmod 0600 "$TMP/password"
before=$(remote_file "$config")

# sweep_file NAME KNOBS [MORE]; $PASSWORD_KEY and $TRANSPORT
sweep_file() {
    ssh_host "${TRANSPORT:-libssh2}" "$DBSWEEP_TEST_REMOTE_USER" 'sudo = true;'
    DBSWEEP_TEST_MY_STOP_LIST='[ "mysqladmin", "shutdown" ]'
    DBSWEEP_TEST_MY_START_LIST='[ "mysqld", "--daemonize", "--user=mysql" ]'
    MY_CONNECT=$DBSWEEP_TEST_REMOTE_MY_CONNECT
    MY_TARGET=${PASSWORD_KEY:-'password_env = "MYSQL9_PASSWORD";'}
    my_sweep "$TMP/$1.cfg" "$2" "${3:-}"
    sed -i 's/mix = "read_only"/mix = "read_write"/' "$TMP/$1.cfg"
}
unchanged_there() {
    is "$1: the option file and its folder are as before" "$(remote_file "$config")" "$before"
}
sql() {
    remote mysql -N -e "$1"
}
# The server's process, as its number: a new one after every start.
started() {
    remote pgrep -x mysqld
}

# ---- the sweep ----
like 'it is MySQL 9 or later' "$(sql 'select version()')" '9.*'
like 'the load user logs in by caching_sha2_password' \
    "$(sql "select plugin from mysql.user where user = 'bench'")" caching_sha2_password
values=$(sql 'select @@innodb_buffer_pool_size, @@innodb_flush_log_at_trx_commit,
    @@innodb_log_buffer_size')
sweep_file eight 'innodb_buffer_pool_size = [ "128M", "256M" ];
  innodb_flush_log_at_trx_commit = [ 1, 2 ]; innodb_log_buffer_size = [ "4M", "8M" ];'
run_ok 'check' "$DBSWEEP" check "$TMP/eight.cfg"
like 'check names the server' "$OUTPUT" '*MySQL 9*'
like 'check counts the points' "$OUTPUT" '*points:     9*'
unchanged_there 'after check'
run_ok 'eight points and the baseline' "$DBSWEEP" run "$TMP/eight.cfg"
unchanged_there 'after the sweep'
is 'the server is back on its baseline' "$(sql 'select @@innodb_buffer_pool_size,
    @@innodb_flush_log_at_trx_commit, @@innodb_log_buffer_size')" "$values"
is 'all points were measured' "$(store_query "$TMP/eight.db" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 9
is 'every asked value reads back, from the file that was edited' \
    "$(store_query "$TMP/eight.db" "SELECT DISTINCT verdict || ' ' || source || ' ' || detail FROM
    trial_value WHERE verdict <> 'baseline'")" "equal config $config"
is 'the baseline was nobody'"'"'s setting' "$(store_query "$TMP/eight.db" \
    'SELECT DISTINCT source FROM baseline_value')" default
run_ok 'rank' "$DBSWEEP" rank "$TMP/eight.db"

# ---- openssh, the password from a file; what the server rounds, clamps and refuses ----
TRANSPORT=openssh
PASSWORD_KEY="password_file = \"$TMP/password\";"
sweep_file adjusted 'innodb_buffer_pool_size = [ "200M" ]; max_connections = [ 200000 ];'
run_ok 'a pool that is rounded up, connections that are clamped' "$DBSWEEP" run "$TMP/adjusted.cfg"
is 'the pool is adjusted to the next step' "$(store_query "$TMP/adjusted.db" "SELECT asked || ' ' ||
    effective_display || ' ' || verdict FROM trial_value WHERE name = 'innodb_buffer_pool_size' AND
    verdict <> 'baseline'")" '200M 256M adjusted'
is 'the connections are adjusted too' "$(store_query "$TMP/adjusted.db" "SELECT verdict FROM
    trial_value WHERE name = 'max_connections' AND verdict <> 'baseline'")" adjusted
sweep_file refused 'thread_handling = [ "pool-of-threads" ];'
run_status 'a word that this server does not know fails as a point' 1 \
    "$DBSWEEP" run "$TMP/refused.cfg"
like 'with its words' "$(store_query "$TMP/refused.db" \
    "SELECT reason FROM trial WHERE status = 'failed'")" '*thread_handling*'
unchanged_there 'after both'
TRANSPORT=
PASSWORD_KEY=

# ---- who else has a say ----
sweep_file layers 'max_connections = [ 100, 200 ];'
process=$(started)
refused() {
    run_status "$1: run is refused" 2 "$DBSWEEP" run "$TMP/layers.cfg"
    like "$1: it says by whom" "$ERRORS" "$2"
    unchanged_there "$1"
    is "$1: the server was not touched" "$(started)" "$process"
}
sql 'set persist_only max_connections = 77'
refused 'SET PERSIST_ONLY' '*max_connections is set by mysqld-auto.cnf*RESET PERSIST max_connections*'
sql 'reset persist max_connections; set persist max_connections = 78'
refused 'SET PERSIST' '*max_connections is set by mysqld-auto.cnf*RESET PERSIST max_connections*'
sql 'reset persist max_connections'
refused 'SET GLOBAL' '*max_connections is set by SET GLOBAL*restart the server*'
remote sh -c 'mysqladmin shutdown && while pgrep -x mysqld; do sleep 0.1; done
    mysqld --daemonize --user=mysql' >/dev/null
process=$(started)
sql "change replication source to source_host = '127.0.0.1', source_user = 'nobody'"
refused 'a replica' '*the server is a replica*server of its own*'
sql 'reset replica all'
export MYSQL9_PASSWORD=wrong
refused 'a wrong password' '*Access denied*'
plan
