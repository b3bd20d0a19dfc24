# shellcheck shell=bash
# Helpers for tests that run whole sweeps: source it after tap.sh.

# A PostgreSQL of the test's own, ended with the test. Sets DBSWEEP_TEST_PG_*.
own_postgresql() {
    local said
    said=$("$TOP/tests/support/postgresql.sh" start) || {
        not_ok 'a PostgreSQL of its own'
        plan
    }
    eval "$said"
    at_end "\"$TOP/tests/support/postgresql.sh\" stop $DBSWEEP_TEST_PG_DIR 2>/dev/null"
}

# An sshd of the test's own, ended with the test. Sets DBSWEEP_TEST_SSH*.
own_sshd() {
    local said
    said=$("$TOP/tests/support/sshd.sh" start) || {
        not_ok 'an sshd of its own'
        plan
    }
    eval "$said"
    at_end "\"$TOP/tests/support/sshd.sh\" stop $DBSWEEP_TEST_SSH_DIR 2>/dev/null"
}

# own_remote_host systemd|sid: a machine of the test's own, ended with the test. Sets
# DBSWEEP_TEST_REMOTE_*, and what ssh_host needs. Where none can be made, nothing is tested.
own_remote_host() {
    local said status=0
    said=$(DBSWEEP_TEST_OWNER=$$ "$TOP/tests/support/remote_host.sh" start "$1" \
        2>"$TMP/remote.err") || status=$?
    [ "$status" -ne 77 ] || skip_all "$(tail -n 1 "$TMP/remote.err")"
    if [ "$status" -ne 0 ]; then
        not_ok 'a machine of its own' "$(cat "$TMP/remote.err")"
        plan
    fi
    eval "$said"
    DBSWEEP_TEST_SSH_IDENTITY=$DBSWEEP_TEST_REMOTE_IDENTITY
    DBSWEEP_TEST_SSH_KNOWN_HOSTS=$DBSWEEP_TEST_REMOTE_KNOWN_HOSTS
    at_end "\"$TOP/tests/support/remote_host.sh\" stop $DBSWEEP_TEST_REMOTE_DIR"
}

# remote COMMAND...: there, as root
remote() {
    "$TOP/tests/support/remote_host.sh" run "$DBSWEEP_TEST_REMOTE_DIR" "$@"
}

# remote_file PATH: what must not change of it: hash, mode and owner, and what lies beside it
remote_file() {
    # shellcheck disable=SC2016 # for the shell there
    remote sh -c 'sha256sum "$1" && stat -c "%a %U %G" "$1" && ls -A "${1%/*}"' sh "$1"
}

# ssh_host TRANSPORT ADDRESS [MORE]: the host of a target, for pg_sweep and my_sweep, in SSH_HOST.
ssh_host() {
    # shellcheck disable=SC2034 # for both
    SSH_HOST="host = { ssh = \"$2\"; identity = \"$DBSWEEP_TEST_SSH_IDENTITY\";
    known_hosts = \"$DBSWEEP_TEST_SSH_KNOWN_HOSTS\"; transport = \"$1\"; ${3:-} };"
}

# own_psql SQL: one value from the test's server
own_psql() {
    "$DBSWEEP_TEST_PG_BIN/psql" -X -A -t -d "$DBSWEEP_TEST_PG_CONNECT" -c "$1"
}

# Writes a sweep file for the test's PostgreSQL: pg_sweep FILE KNOBS [MORE]
# with short windows. MORE is added at top level.
pg_sweep() {
    local file=$1 knobs=$2 more=${3:-} workload=${PG_WORKLOAD:-} name
    name=$(basename "$file" .cfg)
    [ -n "$workload" ] || workload='kind = "oltp"; mix = "read_only"; tables = 1; rows = 1000;
  clients = 2; warm_up = "100ms"; measure = "300ms";'
    cat >"$file" <<EOF
name = "$name";
target = {
  backend = "postgresql";
  connect = "${PG_CONNECT:-$DBSWEEP_TEST_PG_CONNECT}";
  stop = $DBSWEEP_TEST_PG_STOP_LIST;
  start = $DBSWEEP_TEST_PG_START_LIST;
  log = "$DBSWEEP_TEST_PG_LOG";
  ready_timeout = "30s"; ${SSH_HOST:-}
};
axes = { knobs = { $knobs }; };
workload = {
  $workload
};
strategy = { kind = "grid"; seed = 7; };
rank = { by = "throughput_per_s"; repeats = 1; };
$more
EOF
}

# A MariaDB of the test's own, ended with the test. Sets DBSWEEP_TEST_MY_*.
own_mariadb() {
    local said
    said=$("$TOP/tests/support/mariadb.sh" start) || {
        not_ok 'a MariaDB of its own'
        plan
    }
    eval "$said"
    at_end "\"$TOP/tests/support/mariadb.sh\" stop $DBSWEEP_TEST_MY_DIR 2>/dev/null"
}

# own_mysql SQL: the values from the test's server
own_mysql() {
    mariadb --no-defaults -S "$DBSWEEP_TEST_MY_SOCKET" -u bench -N -B bench -e "$1"
}

# The same as pg_sweep for the test's MariaDB; $MY_TARGET is added to the target.
my_sweep() {
    local file=$1 knobs=$2 more=${3:-} workload=${MY_WORKLOAD:-} name
    name=$(basename "$file" .cfg)
    [ -n "$workload" ] || workload='kind = "oltp"; mix = "read_only"; tables = 1; rows = 1000;
  clients = 2; warm_up = "100ms"; measure = "300ms";'
    cat >"$file" <<EOF
name = "$name";
target = {
  backend = "mysql";
  connect = "${MY_CONNECT:-$DBSWEEP_TEST_MY_CONNECT}";
  stop = $DBSWEEP_TEST_MY_STOP_LIST;
  start = $DBSWEEP_TEST_MY_START_LIST;
  ready_timeout = "60s";
  ${SSH_HOST:-} ${MY_TARGET:-}
};
axes = { knobs = { $knobs }; };
workload = {
  $workload
};
strategy = { kind = "grid"; seed = 7; };
rank = { by = "throughput_per_s"; repeats = 1; durability = "any"; };
$more
EOF
}

# Remembers a file's bytes, mode and owner: keep FILE; then unchanged WHAT FILE.
keep() {
    cp -a "$1" "$TMP/kept.$(printf '%s' "$1" | tr / _)"
}
unchanged() {
    local kept
    kept="$TMP/kept.$(printf '%s' "$2" | tr / _)"
    file_same "$1: bytes" "$kept" "$2"
    is "$1: mode and owner" "$(stat -c '%a %u %g' "$2")" "$(stat -c '%a %u %g' "$kept")"
    is "$1: nothing left beside it" "$(find "$(dirname "$2")" -maxdepth 1 \
        -name "$(basename "$2").dbsweep*" | wc -l)" 0
}

# store_query STORE SQL
store_query() {
    sqlite3 -readonly "$1" "$2"
}

# The library that ends a process at a stage, built on first use.
kill_at_library() {
    local library=$TMP/kill_at.so
    [ -e "$library" ] || "${CC:-gcc}" -shared -fPIC -O1 -o "$library" \
        "$TOP/tests/support/kill_at.c" -ldl -lpthread || return 1
    printf '%s\n' "$library"
}
