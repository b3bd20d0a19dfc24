#!/usr/bin/env bash
# Points that fail are results, layers above the file are named, foreign data stop everything.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
config=$DBSWEEP_TEST_PG_CONFIG
keep "$config"

# ---- one impossible point ----
pg_sweep "$TMP/guarded.cfg" 'shared_buffers = [ "32MB", "900GB", "64MB" ];'
run_ok 'with the memory guard the sweep finishes' "$DBSWEEP" run "$TMP/guarded.cfg"
is 'the point was pruned before the night' "$(store_query "$TMP/guarded.db" \
    "SELECT count(*) FROM pruned WHERE reason LIKE '%memory guard%'")" 1
is 'and never tried' "$(store_query "$TMP/guarded.db" \
    "SELECT count(*) FROM trial WHERE status <> 'done'")" 0

pg_sweep "$TMP/free.cfg" 'shared_buffers = [ "32MB", "900GB", "64MB" ];' \
    'guard = { memory = "off"; };'
run_status 'without it the others are measured' 1 "$DBSWEEP" run "$TMP/free.cfg"
run_ok 'they are ranked' "$DBSWEEP" rank "$TMP/free.db" --format json
is 'three of them' "$(jq '[.[] | select(.rank != null)] | length' <<<"$OUTPUT")" 3
is 'the impossible one has no rank' "$(jq -r '[.[] | select(.rank == null) |
    .axes.shared_buffers] | tostring' <<<"$OUTPUT")" '["900G"]'
like 'its reason is the server'"'"'s own' "$(jq -r '.[] | select(.rank == null) | .reason' \
    <<<"$OUTPUT")" '*could not map anonymous shared memory*'
unchanged 'after it' "$config"
is 'the server is up' "$(own_psql 'select 1')" 1

# ---- layers above the file ----
pg_sweep "$TMP/over.cfg" 'work_mem = [ "1MB", "8MB" ];'
own_psql "alter system set work_mem = '3MB'" >/dev/null
own_psql 'select pg_reload_conf()' >/dev/null
run_status 'ALTER SYSTEM is refused' 2 "$DBSWEEP" run "$TMP/over.cfg"
like 'and named' "$ERRORS" '*work_mem*postgresql.auto.conf*'
own_psql 'alter system reset work_mem' >/dev/null
own_psql 'select pg_reload_conf()' >/dev/null

own_psql "alter database bench set work_mem = '3MB'" >/dev/null
run_status 'ALTER DATABASE is refused' 2 "$DBSWEEP" run "$TMP/over.cfg"
like 'and named' "$ERRORS" '*work_mem*database*'
own_psql 'alter database bench reset work_mem' >/dev/null

cp -a "$config" "$TMP/config.before"
printf "work_mem = 2MB\ninclude 'later.conf'\n" >>"$config"
printf 'work_mem = 3MB\n' >"$DBSWEEP_TEST_PG_DATA/later.conf"
chmod 644 "$DBSWEEP_TEST_PG_DATA/later.conf"
own_psql 'select pg_reload_conf()' >/dev/null
sleep 0.3
cp -a "$config" "$TMP/config.with-include"
run_status 'a later include is refused or named' 2 "$DBSWEEP" run "$TMP/over.cfg"
like 'with its file' "$ERRORS" '*work_mem*later.conf*'
file_same 'nothing was written' "$TMP/config.with-include" "$config"
cp -a "$TMP/config.before" "$config"
rm "$DBSWEEP_TEST_PG_DATA/later.conf"
own_psql 'select pg_reload_conf()' >/dev/null
unchanged 'the file is as it was' "$config"

# ---- foreign data ----
own_psql 'drop table if exists sbtest1, dbsweep_meta' >/dev/null
own_psql "create table sbtest1 (id int, mine text); insert into sbtest1 values (1, 'precious')" \
    >/dev/null
pg_sweep "$TMP/foreign.cfg" 'work_mem = [ "1MB", "8MB" ];'
run_status 'an unmarked sbtest1 stops the sweep' 2 "$DBSWEEP" run "$TMP/foreign.cfg"
like 'and is named' "$ERRORS" '*sbtest1*'
is 'its row is there' "$(own_psql 'select mine from sbtest1')" precious
is 'no store was made' "$([ -e "$TMP/foreign.db" ] && echo there)" ''
own_psql 'drop table sbtest1' >/dev/null
unchanged 'nothing was written' "$config"

# ---- wrong input ----
pg_sweep "$TMP/typo.cfg" 'shared_bufers = [ "32MB", "64MB" ];'
run_status 'an unknown knob is refused' 2 "$DBSWEEP" run "$TMP/typo.cfg"
like 'with line and nearest name' "$ERRORS" "*typo.cfg:*shared_bufers*shared_buffers*"
pg_sweep "$TMP/unit.cfg" 'shared_buffers = [ "32 bananas", "64MB" ];'
run_status 'a wrong unit is refused' 2 "$DBSWEEP" run "$TMP/unit.cfg"
like 'with its line' "$ERRORS" '*unit.cfg:*'
pg_sweep "$TMP/rule.cfg" 'work_mem = [ "1MB", "8MB" ];' 'rules = [ "work_mem > 1TB" ];'
run_status 'a rule that prunes everything is refused' 2 "$DBSWEEP" run "$TMP/rule.cfg"
pg_sweep "$TMP/path.cfg" 'archive_command = ( "touch /tmp/x" );'
run_status 'a dangerous knob is refused' 2 "$DBSWEEP" run "$TMP/path.cfg"
pg_sweep "$TMP/login.cfg" 'work_mem = [ "1MB", "8MB" ];'
# wrong_login WHAT OPTION STATUS PATTERN
wrong_login() {
    sed "s|^  connect = \"\(.*\)\";|  connect = \"\1 $2\";|" "$TMP/login.cfg" >"$TMP/wrong.cfg"
    run_status "$1 ends it with $3" "$3" "$DBSWEEP" run "$TMP/wrong.cfg"
    like "$1 is named" "$ERRORS" "$4"
}
wrong_login 'an unknown option' bogus=1 2 '*invalid connection option "bogus"*target.connect*'
wrong_login 'no such role' user=nobody_here 2 '*"nobody_here" does not exist*'
wrong_login 'no such database' dbname=nowhere 2 '*"nowhere" does not exist*'
wrong_login 'a port without a server' port=1 4 '*connection to server*failed*does the server run*'
sed "s|^  connect = |  config = \"/etc/no-such.conf\"; &|" "$TMP/login.cfg" >"$TMP/nofile.cfg"
run_status 'a configuration that is not there is refused' 2 "$DBSWEEP" run "$TMP/nofile.cfg"
like 'with the one that is' "$ERRORS" "*/etc/no-such.conf does not exist*$config*"
unchanged 'after wrong input' "$config"

# ---- server down, server killed ----
pg_sweep "$TMP/late.cfg" 'work_mem = [ "1MB", "8MB" ];'
sed -i 's/measure = "300ms"/measure = "3s"/' "$TMP/late.cfg"
"$DBSWEEP" run "$TMP/late.cfg" >"$TMP/late.out" 2>&1 &
sweeper=$!
for _ in $(seq 1 100); do
    [ "$(store_query "$TMP/late.db" "SELECT count(*) FROM stage WHERE name = 'measure'" \
        2>/dev/null || echo 0)" -ge 1 ] && break
    sleep 0.1
done
# shellcheck disable=SC2086 # words of a command
( cd / && $DBSWEEP_TEST_PG_STOP && $DBSWEEP_TEST_PG_START ) >/dev/null 2>&1
wait "$sweeper"
is 'a restart by somebody else fails the trial, not the sweep' "$?" 1
is 'it is recorded as a result' "$(store_query "$TMP/late.db" \
    "SELECT count(*) > 0 FROM trial WHERE status = 'failed' AND class = 'POINT'")" 1
unchanged 'after it' "$config"
plan
