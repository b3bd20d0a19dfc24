#!/usr/bin/env bash
# A real systemd, over SSH with both transports, as an ordinary user with sudo: PostgreSQL under
# postgresql@15-main and MariaDB under mariadb.service, found by the probe or named in
# target.restart; units that are not the server's, the start limit, the journal, Restart=.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_remote_host systemd
pg_unit=postgresql@15-main.service
my_unit=mariadb.service
pg_config=/etc/postgresql/15/main/postgresql.conf
my_config=/etc/mysql/mariadb.conf.d/50-server.cnf
# Starts that count for an hour: the sixth of them would be refused.
remote mkdir -p /etc/systemd/system/mariadb.service.d /etc/systemd/system/postgresql@.service.d
for folder in mariadb postgresql@; do
    # shellcheck disable=SC2016 # for the shell there
    remote sh -c 'printf "[Unit]\nStartLimitIntervalSec=3600\nStartLimitBurst=5\n" >"$1"' sh \
        "/etc/systemd/system/$folder.service.d/test.conf"
done
remote systemctl daemon-reload

pg_value() {
    remote runuser -l postgres -c "psql -X -A -t -c 'show $1'"
}
my_value() {
    remote mysql -N -B -e "select $1"
}
pg_before=$(remote_file "$pg_config")
my_before=$(remote_file "$my_config")
pg_buffers=$(pg_value shared_buffers)
my_pool=$(my_value @@innodb_buffer_pool_size)

# sweep_file pg|my NAME KNOBS COMMANDS [MORE]: COMMANDS are those of the target, or nothing
sweep_file() {
    local file=$TMP/$2.cfg
    ssh_host "${TRANSPORT:-libssh2}" "$DBSWEEP_TEST_REMOTE_USER" 'sudo = true;'
    PG_CONNECT=$DBSWEEP_TEST_REMOTE_PG_CONNECT
    MY_CONNECT=$DBSWEEP_TEST_REMOTE_MY_CONNECT
    DBSWEEP_TEST_PG_STOP_LIST='' DBSWEEP_TEST_PG_START_LIST='' DBSWEEP_TEST_PG_LOG='' \
        DBSWEEP_TEST_PG_CONFIG='' DBSWEEP_TEST_MY_STOP_LIST='' DBSWEEP_TEST_MY_START_LIST='' \
        "$1_sweep" "$file" "$3" "${5:-}"
    sed -i -e '/^  stop = ;$/d' -e '/^  start = ;$/d' -e '/^  log = "";$/d' -e '/^  config = "";$/d' \
        -e "s|^  ready_timeout = [^;]*;|&\n  $4|" "$file"
}
# as_before WHAT: files, values and units are what they were
as_before() {
    is "$1: PostgreSQL's file" "$(remote_file "$pg_config")" "$pg_before"
    is "$1: MariaDB's file" "$(remote_file "$my_config")" "$my_before"
    is "$1: PostgreSQL's values" "$(pg_value shared_buffers)" "$pg_buffers"
    is "$1: MariaDB's values" "$(my_value @@innodb_buffer_pool_size)" "$my_pool"
    is "$1: both units are active" "$(remote systemctl is-active "$pg_unit" "$my_unit" | xargs)" \
        'active active'
    is "$1: no unit was restarted by systemd" "$(remote systemctl show --property=NRestarts --value \
        "$pg_unit" "$my_unit" | xargs)" '0 0'
    is "$1: no unit has failed" "$(remote systemctl list-units --failed --no-legend)" ''
}
all_done() {
    is "$1: all points were measured" "$(store_query "$TMP/$1.db" \
        "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" "$2"
    is "$1: every asked value reads back" "$(store_query "$TMP/$1.db" \
        "SELECT count(*) FROM trial_value WHERE verdict NOT IN ('equal', 'baseline')")" 0
}

# ---- units that the probe finds ----
sweep_file pg pg-eight 'shared_buffers = [ "32MB", "64MB" ]; work_mem = [ "1MB", "8MB" ];
  synchronous_commit = [ "on", "off" ];' ''
run_ok 'PostgreSQL: check' "$DBSWEEP" check "$TMP/pg-eight.cfg"
like 'check names the unit' "$OUTPUT" "*systemctl, unit $pg_unit*"
remote systemctl restart --no-block "$pg_unit" # it is ready a second before its unit is active
until "$DBSWEEP" check "$TMP/pg-eight.cfg" >"$TMP/starting" 2>/dev/null; do sleep 0.1; done
like 'also while the unit is starting' "$(cat "$TMP/starting")" "*systemctl, unit $pg_unit*"
run_ok 'PostgreSQL: eight points' "$DBSWEEP" run "$TMP/pg-eight.cfg"
all_done pg-eight 9
TRANSPORT=openssh
sweep_file my my-eight 'innodb_buffer_pool_size = [ "32M", "64M" ];
  innodb_flush_log_at_trx_commit = [ 1, 2 ]; innodb_log_buffer_size = [ "4M", "8M" ];' ''
run_ok 'MariaDB: check' "$DBSWEEP" check "$TMP/my-eight.cfg"
like 'check names the unit' "$OUTPUT" "*systemctl, unit $my_unit*"
run_ok 'MariaDB: eight points' "$DBSWEEP" run "$TMP/my-eight.cfg"
all_done my-eight 9
as_before 'units found'

# ---- units that the sweep file names ----
TRANSPORT=libssh2
sweep_file my my-restart 'innodb_buffer_pool_size = [ "32M", "48M", "64M", "80M" ];' \
    'restart = [ "systemctl", "restart", "mysql" ];'
run_ok 'MariaDB by another name of its unit, more starts than its limit' \
    "$DBSWEEP" run "$TMP/my-restart.cfg"
all_done my-restart 5
TRANSPORT=openssh
sweep_file pg pg-restart 'shared_buffers = [ "32MB", "900GB" ];' \
    'restart = [ "systemctl", "restart", "postgresql@15-main" ];' 'guard = { memory = "off"; };'
run_status 'PostgreSQL: one point of two does not start' 1 "$DBSWEEP" run "$TMP/pg-restart.cfg"
like 'it fails with the words of the server' "$(store_query "$TMP/pg-restart.db" \
    "SELECT reason FROM trial WHERE status = 'failed'")" '*shared memory*'
is 'and the other is measured' "$(store_query "$TMP/pg-restart.db" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 2
as_before 'units named'

# ---- units that are not the server's ----
refused() {
    run_status "$1: run is refused" 2 "$DBSWEEP" run "$TMP/$2.cfg"
    like "$1: it says why" "$ERRORS" "$3"
    like "$1: and what to do" "$ERRORS" "$4"
}
starts=$(remote systemctl show --property=ExecMainStartTimestamp --value "$pg_unit" "$my_unit")
sweep_file my wrong 'innodb_buffer_pool_size = [ "32M", "48M" ];' \
    'restart = [ "systemctl", "restart", "mariadb-main" ];'
refused 'a wrong name in restart' wrong '*target.restart: systemd has no unit mariadb-main.service*' \
    '*own unit is mariadb.service*systemctl cat mariadb-main.service*'
sweep_file my wrong-start 'innodb_buffer_pool_size = [ "32M", "48M" ];' \
    'stop = [ "systemctl", "stop", "mariadb" ]; start = [ "/usr/sbin/service", "mariabd", "start" ];'
refused 'a wrong name in start' wrong-start '*target.start: systemd has no unit mariabd.service*' \
    '*systemctl cat mariabd.service*'
sweep_file pg umbrella 'work_mem = [ "1MB", "8MB" ];' \
    'stop = [ "systemctl", "stop", "postgresql" ]; start = [ "systemctl", "start", "postgresql" ];'
refused "Debian's umbrella" umbrella '*target.stop: postgresql.service is not the unit*proves nothing*' \
    "*name $pg_unit*systemctl cat postgresql.service*"
sweep_file pg other 'work_mem = [ "1MB", "8MB" ];' 'restart = [ "systemctl", "restart", "mariadb" ];'
refused "another server's unit" other '*target.restart: mariadb.service is not the unit*' \
    "*name $pg_unit*"
is 'no server was touched' \
    "$(remote systemctl show --property=ExecMainStartTimestamp --value "$pg_unit" "$my_unit")" "$starts"

# ---- a point that does not start, by the journal ----
TRANSPORT=libssh2
sweep_file my huge 'innodb_buffer_pool_size = [ "900G", "64M" ];' '' 'guard = { memory = "off"; };'
run_status 'a pool that no machine holds fails as a point' 1 "$DBSWEEP" run "$TMP/huge.cfg"
like 'with the words of the server, out of the journal' "$(store_query "$TMP/huge.db" \
    "SELECT reason FROM trial WHERE status = 'failed'")" '*innodb_buffer_pool_size*'
as_before 'a point that does not start'

# ---- a unit of somebody's own, whose server writes to the journal ----
own=/var/lib/postgresql/own
# shellcheck disable=SC2016 # for the shell there
remote sh -c 'own=$1 && cd / && runuser -u postgres -- /usr/lib/postgresql/15/bin/initdb -D "$own" \
    -U bench -A trust >/dev/null && echo "host all all samenet trust" >>"$own/pg_hba.conf" &&
    printf "%s\n" "$2" "port = 5433" >>"$own/postgresql.conf" &&
    printf "%s\n" "[Service]" Type=notify User=postgres KillMode=mixed KillSignal=SIGINT \
        "ExecStart=/usr/lib/postgresql/15/bin/postgres -D $own" >/etc/systemd/system/own.service &&
    systemctl start own && runuser -l postgres -c "createdb -p 5433 -U bench bench"' sh "$own" \
    "listen_addresses = '*'"
own_before=$(remote_file "$own/postgresql.conf")
sweep_file pg own 'shared_buffers = [ "32MB", "900GB" ];' '' 'guard = { memory = "off"; };'
sed -i 's/port=5432/port=5433/' "$TMP/own.cfg"
run_ok 'a unit of any name is found' "$DBSWEEP" check "$TMP/own.cfg"
like 'and named' "$OUTPUT" '*systemctl, unit own.service*'
run_status 'one point of two does not start' 1 "$DBSWEEP" run "$TMP/own.cfg"
like 'it fails with the words of the server, out of the journal' "$(store_query "$TMP/own.db" \
    "SELECT reason FROM trial WHERE status = 'failed'")" '*shared memory*'
is 'its file is as before' "$(remote_file "$own/postgresql.conf")" "$own_before"
is 'it runs' "$(remote systemctl is-active own)" active

# ---- a server that dies while it is measured, and comes back by itself ----
sweep_file my died 'innodb_buffer_pool_size = [ "32M", "64M" ];' ''
sed -i 's/measure = "300ms"/measure = "3s"/' "$TMP/died.cfg"
"$DBSWEEP" run "$TMP/died.cfg" >"$TMP/died.out" 2>&1 &
run=$!
for _ in $(seq 1 600); do
    grep -q 'trial 2, measure' "$TMP/died.out" && break
    sleep 0.1
done
sleep 0.5
remote systemctl kill --signal=KILL --kill-who=main "$my_unit"
wait "$run"
is 'the sweep goes on, with a failure' "$?" 1
is 'the trial is not valid' "$(store_query "$TMP/died.db" "SELECT group_concat(trial_id) FROM trial
    WHERE status = 'failed'")" 2
is 'the other points are' "$(store_query "$TMP/died.db" \
    "SELECT count(*) FROM trial WHERE status = 'done'")" 3
run_ok 'rank' "$DBSWEEP" rank "$TMP/died.db" --format json
is 'a trial that is not valid is not ranked' "$(jq '[.[].trials] | add' <<<"$OUTPUT")" 3
as_before 'a server that died'

# ---- kill -9 of dbsweep ----
library=$(kill_at_library) || { not_ok 'the library that kills'; plan; }
plain=$DBSWEEP
case $plain in *-asan/*) plain=${plain/-asan\//\/} ;; esac
[ -x "$plain" ] || plain=$DBSWEEP
killed() {
    { KILL_AT=$2:2 KILL_AFTER_MS=$3 LD_PRELOAD=$library "$plain" run "$TMP/$1.cfg"; } \
        >"$TMP/killed.out" 2>&1
    is "$1: it was killed" "$?" 137
    run_ok "$1: restore works" "$DBSWEEP" restore "$TMP/$1.db"
}
sweep_file pg pg-kill 'shared_buffers = [ "32MB", "64MB" ];' ''
killed pg-kill start 0
TRANSPORT=openssh
sweep_file my my-kill 'innodb_buffer_pool_size = [ "32M", "64M" ];' ''
killed my-kill measure 100
as_before 'kill -9 and restore'
plan
