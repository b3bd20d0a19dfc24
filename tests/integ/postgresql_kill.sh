#!/usr/bin/env bash
# kill -9 in every stage of a sweep on a real PostgreSQL, some of them a little into the stage:
# `dbsweep run` finishes every point exactly once, or `dbsweep restore` puts the original back.
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
PG_WORKLOAD='kind = "oltp"; mix = "update_index"; tables = 1; rows = 200; clients = 2;
  warm_up = "100ms"; measure = "200ms"; reset = "RESET";'

# killed STAGE N AFTER_MS SWEEP
killed() {
    KILL_AT=$1:$2 KILL_AFTER_MS=$3 LD_PRELOAD=$library \
        "$plain" run "$4" >"$TMP/killed.out" 2>&1
}

trial_of_stage=2
for reset in reload snapshot; do
    for stage in stop reset_files apply start ready verify reset_data settle warm_up measure \
        verify_again check; do
        [ "$reset" = reload ] && [ "$stage" = reset_files ] && continue
        [ "$reset" = snapshot ] && [ "$stage" = reset_data ] && continue
        [ "$reset" = snapshot ] && case $stage in verify | settle | warm_up | check) continue ;; esac
        for after in 0 30; do
            name=$reset-$stage-$after
            sweep=$TMP/$name.cfg
            store=$TMP/$name.db
            pg_sweep "$sweep" 'shared_buffers = [ "32MB", "48MB" ];'
            sed -i "s/\"RESET\"/\"$reset\"/" "$sweep"
            killed "$stage" "$trial_of_stage" "$after" "$sweep"
            is "$name: it was killed" "$?" 137
            if [ "$after" = 0 ]; then
                run_ok "$name: run again finishes" "$DBSWEEP" run "$sweep"
                is "$name: every point is done exactly once" "$(store_query "$store" \
                    "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM trial WHERE status =
                    'done' AND purpose <> 'baseline' GROUP BY point_id)")" 1,1
                is "$name: none is left running" "$(store_query "$store" \
                    "SELECT count(*) FROM trial WHERE status = 'running'")" 0
            else
                run_ok "$name: restore works" "$DBSWEEP" restore "$store"
            fi
            unchanged "$name" "$config"
            is "$name: the server runs on it" "$(own_psql 'show shared_buffers')" "$buffers"
            is "$name: no copy of the data is left" \
                "$(find "$DBSWEEP_TEST_PG_DIR" -maxdepth 1 -name 'data.dbsweep*' | wc -l)" 0
        done
    done
done

# ---- signals ----
PG_WORKLOAD='kind = "oltp"; mix = "read_only"; tables = 1; rows = 200; clients = 2;
  warm_up = "1s"; measure = "20s";'
for signal in TERM INT HUP; do
    pg_sweep "$TMP/$signal.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
    setsid "$DBSWEEP" run "$TMP/$signal.cfg" >"$TMP/signal.out" 2>&1 &
    sweeper=$!
    for _ in $(seq 1 100); do
        [ "$(store_query "$TMP/$signal.db" "SELECT count(*) FROM stage WHERE name = 'measure'" \
            2>/dev/null || echo 0)" -ge 1 ] && break
        sleep 0.1
    done
    kill -"$signal" "$sweeper"
    wait "$sweeper"
    is "SIG$signal: exit 3" "$?" 3
    unchanged "SIG$signal" "$config"
    is "SIG$signal: the server runs" "$(own_psql 'show shared_buffers')" "$buffers"
    is "SIG$signal: the trial was dropped" "$(store_query "$TMP/$signal.db" \
        "SELECT group_concat(status) FROM trial")" dropped
done

# ---- two sweeps ----
pg_sweep "$TMP/one.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
pg_sweep "$TMP/two.cfg" 'shared_buffers = [ "32MB", "48MB" ];'
"$DBSWEEP" run "$TMP/one.cfg" >"$TMP/one.out" 2>&1 &
sweeper=$!
for _ in $(seq 1 100); do
    [ "$(store_query "$TMP/one.db" "SELECT count(*) FROM stage WHERE name = 'measure'" \
        2>/dev/null || echo 0)" -ge 1 ] && break
    sleep 0.1
done
run_status 'a second sweep cannot have the target' 2 "$DBSWEEP" run "$TMP/two.cfg"
like 'it is told who has it' "$ERRORS" '*another sweep holds this target*'
run_status 'nor the store' 2 "$DBSWEEP" run "$TMP/one.cfg"
run_ok 'readers are welcome' "$DBSWEEP" status "$TMP/one.db"
kill "$sweeper"
wait "$sweeper"
unchanged 'after it' "$config"

# ---- an edit by somebody else is never overwritten ----
sweep=$TMP/edit.cfg
PG_WORKLOAD=''
pg_sweep "$sweep" 'shared_buffers = [ "32MB", "48MB" ];'
killed start 2 0 "$sweep"
printf '# edited by hand\n' >>"$config"
cp -a "$config" "$TMP/edited"
run_status 'restore refuses a fresh edit' 2 "$DBSWEEP" restore "$TMP/edit.db"
file_same 'and leaves it' "$TMP/edited" "$config"
like 'and says where the original is' "$ERRORS" '*dbsweep-baseline*'
cp -a "$config.dbsweep-baseline" "$config"
run_ok 'once merged by hand, restore works' "$DBSWEEP" restore "$TMP/edit.db"
unchanged 'after it' "$config"
plan
