#!/usr/bin/env bash
# What goes wrong over SSH: refusals before anything is touched, each with its remedy, and kill -9
# of dbsweep in the stages that change the server.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql
own_sshd
config=$DBSWEEP_TEST_PG_CONFIG
PG_CONNECT=$DBSWEEP_TEST_PG_TCP_CONNECT
keep "$config"
buffers=$(own_psql 'show shared_buffers')
knobs='shared_buffers = [ "32MB", "48MB" ];'

# refused NAME STATUS TRANSPORT ADDRESS MORE PATTERN...
refused() {
    local name=$1 status=$2 pattern
    ssh_host "$3" "$4" "$5"
    shift 5
    pg_sweep "$TMP/refused.cfg" "$knobs"
    rm -f "$TMP/refused.db"
    run_status "$name: run is refused" "$status" "$DBSWEEP" run "$TMP/refused.cfg"
    for pattern in "$@"; do
        like "$name: it says $pattern" "$ERRORS" "*$pattern*"
    done
    unchanged "$name" "$config"
    is "$name: the server was not touched" "$(own_psql 'show shared_buffers')" "$buffers"
}

# ---- keys of hosts and users ----
known=$DBSWEEP_TEST_SSH_KNOWN_HOSTS
for transport in libssh2 openssh; do
    DBSWEEP_TEST_SSH_KNOWN_HOSTS=$TMP/empty
    : >"$TMP/empty"
    refused "$transport, unknown host" 2 "$transport" "$DBSWEEP_TEST_SSH" '' 'ssh-keyscan'
    DBSWEEP_TEST_SSH_KNOWN_HOSTS=$TMP/changed
    sed "s|AAAA.*|$(cut -d' ' -f2 "$DBSWEEP_TEST_SSH_OTHER_IDENTITY.pub")|" "$known" |
        grep ssh-ed25519 >"$TMP/changed"
    refused "$transport, changed key" 2 "$transport" "$DBSWEEP_TEST_SSH" '' 'ssh-keygen -R'
    DBSWEEP_TEST_SSH_KNOWN_HOSTS=$known
    identity=$DBSWEEP_TEST_SSH_IDENTITY
    DBSWEEP_TEST_SSH_IDENTITY=$DBSWEEP_TEST_SSH_OTHER_IDENTITY
    refused "$transport, a key nobody knows" 2 "$transport" "$DBSWEEP_TEST_SSH" '' authorized_keys
    DBSWEEP_TEST_SSH_IDENTITY=$identity
done
identity=$DBSWEEP_TEST_SSH_IDENTITY
DBSWEEP_TEST_SSH_IDENTITY=$DBSWEEP_TEST_SSH_RSA_IDENTITY
refused 'an RSA key with libssh2' 2 libssh2 "$DBSWEEP_TEST_SSH" '' 'RSA key' 'openssh'
ssh_host openssh "$DBSWEEP_TEST_SSH"
pg_sweep "$TMP/rsa.cfg" "$knobs"
run_ok 'an RSA key with openssh is fine' "$DBSWEEP" check "$TMP/rsa.cfg"
DBSWEEP_TEST_SSH_IDENTITY=$identity
refused 'nobody listens' 4 libssh2 'root@127.0.0.1:1' '' 'cannot connect'
refused 'nobody listens, openssh' 4 openssh 'root@127.0.0.1:1' '' 'ssh cannot connect'
refused 'no address at all' 2 libssh2 'root@' '' 'SSH address'

# ---- rights ----
if [ -n "${DBSWEEP_TEST_SSH_USER:-}" ]; then
    sudoers=/etc/sudoers.d/${DBSWEEP_TEST_SSH_USER%%@*}
    chmod 0400 "$sudoers"
    cp -a "$sudoers" "$TMP/sudoers"
    printf '# nothing\n' >"$sudoers"
    refused 'no sudo' 2 libssh2 "$DBSWEEP_TEST_SSH_USER" 'sudo = true;' 'sudo -n' NOPASSWD
    refused 'no sudo, openssh' 2 openssh "$DBSWEEP_TEST_SSH_USER" 'sudo = true;' NOPASSWD
    cp -a "$TMP/sudoers" "$sudoers"
else
    skip 'a user without sudo rights' 'only root can make the user'
fi

# ---- kill -9 ----
library=$(kill_at_library) || { not_ok 'the library that kills'; plan; }
plain=${DBSWEEP_PLAIN:-$DBSWEEP}
case $plain in *-asan/*) plain=${plain/-asan\//\/} ;; esac
[ -x "$plain" ] || plain=$DBSWEEP
PG_WORKLOAD='kind = "oltp"; mix = "update_index"; tables = 1; rows = 200; clients = 2;
  warm_up = "100ms"; measure = "200ms"; reset = "reload";'
for transport in libssh2 openssh; do
    ssh_host "$transport" "$DBSWEEP_TEST_SSH"
    for stage in stop apply start ready measure verify_again; do
        for after in 0 30; do
            # the stages are those of the sweep, whatever carries them: a second transport need not
            # go through all
            [ "$transport" = libssh2 ] || case $stage in apply | measure) ;; *) continue ;; esac
            name=$transport-$stage-$after
            sweep=$TMP/$name.cfg
            store=$TMP/$name.db
            pg_sweep "$sweep" "$knobs"
            { KILL_AT=$stage:2 KILL_AFTER_MS=$after LD_PRELOAD=$library "$plain" run "$sweep"; } \
                >"$TMP/killed.out" 2>&1
            is "$name: it was killed" "$?" 137
            if [ "$after" = 0 ]; then
                run_ok "$name: run again finishes" "$DBSWEEP" run "$sweep"
                is "$name: every point is done exactly once" "$(store_query "$store" \
                    "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM trial WHERE status =
                    'done' AND purpose <> 'baseline' GROUP BY point_id)")" 1,1
            else
                run_ok "$name: restore works" "$DBSWEEP" restore "$store"
            fi
            unchanged "$name" "$config"
            is "$name: the server runs on it" "$(own_psql 'show shared_buffers')" "$buffers"
        done
    done
done
is 'no ssh of ours is left' "$(pgrep -f "ssh .*$DBSWEEP_TEST_SSH_DIR" | wc -l)" 0
plan
