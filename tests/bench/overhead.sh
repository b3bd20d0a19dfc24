#!/usr/bin/env bash
# What dbsweep itself costs a trial: the trial's wall time less warm-up, measure window and the
# server's own stop and start (stages stop, start and ready), in milliseconds. On SQLite and on a
# PostgreSQL of its own, there also over SSH; read-only work, about 20 trials each.
. "$(dirname "$0")/../support/tap.sh" >/dev/null
. "$TOP/tests/support/sweep.sh"
DBSWEEP=${DBSWEEP_BENCH:-$TOP/build/dbsweep}

# report NAME STORE WARM_UP_MS MEASURE_MS
report() {
    sqlite3 -readonly "$2" "
        WITH cost AS (
            SELECT (ended_us - started_us) / 1000.0 - $3 - $4 -
                   coalesce((SELECT sum(elapsed_us) / 1000.0 FROM stage
                             WHERE stage.trial_id = trial.trial_id
                               AND name IN ('stop', 'start', 'ready')), 0) AS ms
            FROM trial WHERE status = 'done' ORDER BY ms)
        SELECT printf('overhead per trial, %s: median %.1f ms, min %.1f, max %.1f (%d trials)',
                      '$1', (SELECT ms FROM cost LIMIT 1 OFFSET (SELECT count(*) / 2 FROM cost)),
                      min(ms), max(ms), count(*)) FROM cost"
}

database=$TMP/bench.sqlite
sqlite3 "$database" 'pragma user_version = 1' >/dev/null
cat >"$TMP/lite.cfg" <<EOF
name = "lite";
target = { backend = "sqlite"; connect = "$database"; };
axes = { knobs = { cache_size = [ "1M", "2M", "4M", "8M" ]; synchronous = [ "off", "full" ]; }; };
workload = { kind = "oltp"; mix = "read_only"; tables = 1; rows = 1000;
  warm_up = "200ms"; measure = "500ms"; };
rank = { by = "throughput_per_s"; repeats = 2; durability = "any"; };
EOF
"$DBSWEEP" run "$TMP/lite.cfg" >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
report SQLite "$TMP/lite.db" 200 500

own_postgresql
PG_WORKLOAD='kind = "oltp"; mix = "read_only"; tables = 1; rows = 1000; clients = 8;
  warm_up = "200ms"; measure = "500ms";'
pg_sweep "$TMP/pg.cfg" 'shared_buffers = [ "32MB", "64MB" ]; work_mem = [ "1MB", "2MB", "4MB" ];
  random_page_cost = [ 1.1, 2.0, 4.0 ];'
"$DBSWEEP" run "$TMP/pg.cfg" >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
report PostgreSQL "$TMP/pg.db" 200 500

# The same over SSH on loopback, as an ordinary user with sudo where root can make one.
own_sshd
PG_CONNECT=$DBSWEEP_TEST_PG_TCP_CONNECT
for transport in libssh2 openssh; do
    if [ -n "${DBSWEEP_TEST_SSH_USER:-}" ]; then
        ssh_host "$transport" "$DBSWEEP_TEST_SSH_USER" 'sudo = true;'
    else
        ssh_host "$transport" "$DBSWEEP_TEST_SSH"
    fi
    pg_sweep "$TMP/$transport.cfg" 'shared_buffers = [ "32MB", "64MB" ];
      work_mem = [ "1MB", "2MB", "4MB" ]; random_page_cost = [ 1.1, 2.0, 4.0 ];'
    "$DBSWEEP" run "$TMP/$transport.cfg" >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
    report "PostgreSQL over SSH ($transport)" "$TMP/$transport.db" 200 500
done
