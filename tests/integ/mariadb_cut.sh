#!/usr/bin/env bash
# Sweeps of a MariaDB over SSH whose connection is cut while something is under way there: the same
# sweep connects anew, or the next command puts the original back; what ran on is not taken for
# something that did not happen.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_mariadb
own_sshd
config=$DBSWEEP_TEST_MY_CONFIG
MY_CONNECT=$DBSWEEP_TEST_MY_TCP_CONNECT
keep "$config"
size=$(own_mysql 'select @@innodb_log_buffer_size')

# The processes that serve this sshd's connections, ended one by one.
cat >"$TMP/cut" <<END
#!/bin/sh
for pid in \$(cat /proc/$(cat "$DBSWEEP_TEST_SSH_DIR/sshd.pid")/task/*/children); do
    kill -9 "\$pid"
done
touch "$TMP/was-cut"
END
# slow-WHICH: what it stands for, begun late and, where that is asked for, without its connection
for which in stop start; do
    command=$DBSWEEP_TEST_MY_STOP
    [ "$which" = stop ] || command=$DBSWEEP_TEST_MY_START
    cat >"$TMP/slow-$which" <<END
#!/bin/sh
if [ -e "$TMP/cut-$which-before" ]; then rm "$TMP/cut-$which-before"; "$TMP/cut"; sleep 0.5; fi
$command
status=\$?
if [ -e "$TMP/cut-$which-after" ]; then rm "$TMP/cut-$which-after"; "$TMP/cut"; sleep 0.5; fi
exit \$status
END
done
chmod 755 "$TMP" "$TMP/cut" "$TMP/slow-stop" "$TMP/slow-start"

# begun STORE STAGE COUNT: waits until that stage began so many times
begun() {
    for _ in $(seq 1 400); do
        [ "$(store_query "$1" "SELECT count(*) FROM stage WHERE name = '$2'" 2>/dev/null ||
            echo 0)" -ge "$3" ] && return
        sleep 0.03
    done
}

# finish NAME STATUS: whatever the sweep made of it, the original is back or can be put back
finish() {
    local name=$1 sweep=$TMP/$1.cfg store=$TMP/$1.db
    is "$name: the connection was cut" "$([ -e "$TMP/was-cut" ] && echo yes)" yes
    rm -f "$TMP/was-cut"
    case $2 in
    0 | 1) ok "$name: the sweep connected anew" ;;
    4) ok "$name: the sweep gave the target up" ;;
    *) not_ok "$name: exit status $2" "$(tail -n 30 "$TMP/cut.out")" ;;
    esac
    [ "$2" != 4 ] || run_ok "$name: restore works" "$DBSWEEP" restore "$store"
    unchanged "$name" "$config"
    is "$name: the server runs on it" "$(own_mysql 'select @@innodb_log_buffer_size' 2>&1)" "$size"
    [ "$2" != 4 ] || run_ok "$name: run again finishes" "$DBSWEEP" run "$sweep"
    is "$name: every point is done exactly once" "$(store_query "$store" \
        "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM trial WHERE status =
        'done' AND purpose <> 'baseline' GROUP BY point_id)")" 1,1
    is "$name: no point is blamed" "$(store_query "$store" \
        "SELECT group_concat(reason) FROM trial WHERE status = 'failed' AND class = 'POINT'")" ''
    is "$name: what counts was applied" "$(store_query "$store" "SELECT count(*) FROM trial_value
        JOIN trial USING (trial_id) WHERE status = 'done' AND verdict NOT IN ('equal',
        'baseline')")" 0
}

new_sweep() {
    my_sweep "$TMP/$1.cfg" 'innodb_log_buffer_size = [ "4M", "8M" ];' 'baseline = false;'
    sed -i "s|^  stop = .*|  stop = [ \"$TMP/slow-stop\" ];|
        s|^  start = .*|  start = [ \"$TMP/slow-start\" ];|
        s|measure = \"300ms\"|measure = \"1s\"|" "$TMP/$1.cfg"
}

# At a place in a command: it says so itself. In a stage: somebody looks at the store.
for row in libssh2:stop-before libssh2:apply libssh2:ready libssh2:measure openssh:start-after \
    openssh:verify; do
    IFS=: read -r transport place <<<"$row"
    ssh_host "$transport" "$DBSWEEP_TEST_SSH"
    name=$transport-$place
    new_sweep "$name"
    rm -f "$TMP/was-cut"
    "$DBSWEEP" run "$TMP/$name.cfg" >"$TMP/cut.out" 2>&1 &
    sweeper=$!
    case $place in
    *-*)
        begun "$TMP/$name.db" warm_up 1
        touch "$TMP/cut-$place"
        ;;
    *)
        begun "$TMP/$name.db" "$place" 2
        "$TMP/cut"
        ;;
    esac
    wait "$sweeper"
    finish "$name" "$?"
done
plan
