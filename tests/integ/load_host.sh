#!/usr/bin/env bash
# The workload driven from another host over SSH: the same worker, the same results, and a version
# that is compared before anything is touched.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
own_sshd
config=$DBSWEEP_TEST_PG_CONFIG
PG_CONNECT=$DBSWEEP_TEST_PG_TCP_CONNECT
keep "$config"
address=${DBSWEEP_TEST_SSH_USER:-$DBSWEEP_TEST_SSH}
# the ordinary user reads it there
install -D -m 0755 "$DBSWEEP" "$DBSWEEP_TEST_SSH_DIR/bin/dbsweep"
knobs='work_mem = [ "1MB", "8MB" ];'

# workload TRANSPORT PROGRAM
workload() {
    PG_WORKLOAD="kind = \"oltp\"; mix = \"read_write\"; tables = 1; rows = 500; clients = 4;
  warm_up = \"200ms\"; measure = \"1s\";
  load_hosts = ( { ssh = \"$address\"; identity = \"$DBSWEEP_TEST_SSH_IDENTITY\";
    known_hosts = \"$DBSWEEP_TEST_SSH_KNOWN_HOSTS\"; transport = \"$1\"; program = \"$2\"; } );"
}

for transport in libssh2 openssh; do
    workload "$transport" "$DBSWEEP_TEST_SSH_DIR/bin/dbsweep"
    pg_sweep "$TMP/$transport.cfg" "$knobs"
    store=$TMP/$transport.db
    run_ok "$transport: check" "$DBSWEEP" check "$TMP/$transport.cfg"
    run_ok "$transport: the sweep runs to its end" "$DBSWEEP" run "$TMP/$transport.cfg"
    unchanged "$transport" "$config"
    is "$transport: all points are done" "$(store_query "$store" \
        "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 3
    trial=$(store_query "$store" 'SELECT max(trial_id) FROM trial')
    run_ok "$transport: show" "$DBSWEEP" show "$store" "$trial" --format json
    is "$transport: statements were counted there" "$(jq '[.statements[] | select(.count > 0)] |
        length > 5' <<<"$OUTPUT")" true
    is "$transport: as was each second" "$(jq '.series.throughput | length' <<<"$OUTPUT")" 1
done

workload libssh2 "$TMP/none"
pg_sweep "$TMP/none.cfg" "$knobs"
run_status 'no dbsweep there: refused' 2 "$DBSWEEP" run "$TMP/none.cfg"
like 'with the remedy' "$ERRORS" '*install this version there*'
unchanged 'no dbsweep there' "$config"
is 'nothing was stored' "$([ -e "$TMP/none.db" ] && echo there)" ''
mkdir -p "$DBSWEEP_TEST_SSH_DIR/older"
printf '#!/bin/sh\necho dbsweep 0.0.1\n' >"$DBSWEEP_TEST_SSH_DIR/older/dbsweep"
chmod 0755 "$DBSWEEP_TEST_SSH_DIR/older/dbsweep"
workload openssh "$DBSWEEP_TEST_SSH_DIR/older/dbsweep"
pg_sweep "$TMP/other.cfg" "$knobs"
run_status 'another version there: refused' 2 "$DBSWEEP" check "$TMP/other.cfg"
like 'and it is named' "$ERRORS" '*dbsweep 0.0.1*'

# ---- two load hosts share the clients ----
# place TRANSPORT: one item of the list
place() {
    printf '{ ssh = "%s"; identity = "%s"; known_hosts = "%s"; transport = "%s"; program = "%s"; }' \
        "$address" "$DBSWEEP_TEST_SSH_IDENTITY" "$DBSWEEP_TEST_SSH_KNOWN_HOSTS" "$1" \
        "$DBSWEEP_TEST_SSH_DIR/bin/dbsweep"
}
# workload_of_two MEASURE
workload_of_two() {
    PG_WORKLOAD="kind = \"oltp\"; mix = \"read_write\"; tables = 1; rows = 500; clients = 5;
  warm_up = \"200ms\"; measure = \"$1\"; load_hosts = ( $(place libssh2), $(place openssh) );"
}
workload_of_two 2s
pg_sweep "$TMP/two.cfg" "$knobs"
run_ok 'two load hosts: check' "$DBSWEEP" check "$TMP/two.cfg"
run_ok 'two load hosts: the sweep runs to its end' "$DBSWEEP" run "$TMP/two.cfg"
is 'two load hosts: all points are done' "$(store_query "$TMP/two.db" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 3
trial=$(store_query "$TMP/two.db" 'SELECT max(trial_id) FROM trial')
run_ok 'two load hosts: show' "$DBSWEEP" show "$TMP/two.db" "$trial" --format json
is 'two load hosts: one series' "$(jq '.series.throughput | length' <<<"$OUTPUT")" 2
is 'two load hosts: one row a statement' "$(jq '[.statements[].statement] | length == (unique | length)' \
    <<<"$OUTPUT")" true
unchanged 'two load hosts' "$config"

# ---- the worker dies, or its host's connection does ----
workload libssh2 "$DBSWEEP_TEST_SSH_DIR/bin/dbsweep"
PG_WORKLOAD=${PG_WORKLOAD/measure = \"1s\"/measure = \"6s\"}
pg_sweep "$TMP/dies.cfg" 'work_mem = [ "1MB" ];'
"$DBSWEEP" run "$TMP/dies.cfg" >"$TMP/dies.out" 2>&1 &
sweeper=$!
for _ in $(seq 1 200); do
    [ "$(store_query "$TMP/dies.db" "SELECT count(*) FROM stage WHERE name = 'measure'" \
        2>/dev/null || echo 0)" -ge 1 ] && break
    sleep 0.1
done
worker=$(pgrep -f "^$DBSWEEP_TEST_SSH_DIR/bin/dbsweep load --worker" | head -n 1)
kill -9 "${worker:-none}"
wait "$sweeper"
is 'a worker that is killed fails its trial alone' "$?" 1
is 'and the trial says so' "$(store_query "$TMP/dies.db" "SELECT count(*) FROM trial WHERE
    status = 'failed' AND reason LIKE '%load worker%'")" 1
unchanged 'after it' "$config"

# one of two is killed: what the other one measured alone is no result
workload_of_two 20s
pg_sweep "$TMP/one.cfg" 'work_mem = [ "1MB" ];'
"$DBSWEEP" run "$TMP/one.cfg" >"$TMP/one.out" 2>&1 &
sweeper=$!
for _ in $(seq 1 200); do
    [ "$(store_query "$TMP/one.db" "SELECT count(*) FROM stage WHERE name = 'measure'" \
        2>/dev/null || echo 0)" -ge 1 ] && break
    sleep 0.1
done
began=$SECONDS
worker=$(pgrep -f "^$DBSWEEP_TEST_SSH_DIR/bin/dbsweep load --worker" | tail -n 1)
kill -9 "${worker:-none}"
for _ in $(seq 1 100); do
    [ "$(store_query "$TMP/one.db" "SELECT count(*) FROM trial WHERE status = 'failed'")" -ge 1 ] && break
    sleep 0.1
done
is 'one of two workers is killed: the trial fails at once' "$((SECONDS - began < 10))" 1
kill -TERM "$sweeper"
wait "$sweeper"
is 'and says so' "$(store_query "$TMP/one.db" "SELECT count(*) FROM trial WHERE
    status = 'failed' AND reason LIKE '%load worker%'")" 1
unchanged 'after that' "$config"
plan
