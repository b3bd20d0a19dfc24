#!/usr/bin/env bash
# A private MariaDB server for tests: its own data directory, option file, socket and port, nothing
# shared with a server that may run on this machine.
#
#   eval "$(tests/support/mariadb.sh start [DIR])"    makes one and prints how to reach it
#   tests/support/mariadb.sh up DIR [OPTION]...       starts it again, with options of its own
#   tests/support/mariadb.sh down DIR                 stops it: a target's commands are these two
#   tests/support/mariadb.sh stop DIR                 ends it and removes DIR
#
# The server does not like root, so root runs it as the user mysql. DIR is short because a socket's
# path has at most 107 bytes; without DIR a fresh one is made. Settings are the defaults but for the
# paths and addresses. The user (no password) and the database are both "bench".
set -euo pipefail

mark=.dbsweep-test-server
self=$(readlink -f "${BASH_SOURCE[0]}")

fail() {
    printf 'mariadb.sh: %s\n' "$1" >&2
    exit 1
}

find_program() {
    local name
    for name in "$@"; do
        if PATH=$PATH:/usr/sbin command -v "$name"; then
            return 0
        fi
    done
    fail 'no MariaDB server is installed; run tests/support/install-deps.sh test'
}

# Words before a command that make it run as the server's user.
as_server=()
if [ "$(id -u)" -eq 0 ]; then
    as_server=(runuser -u mysql --)
fi

server_user() {
    if [ "$(id -u)" -eq 0 ]; then printf 'mysql\n'; else id -un; fi
}

port_is_free() {
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

answers() {
    "$(find_program mariadb-admin mysqladmin)" --no-defaults -S "$1/s" -u bench ping \
        >/dev/null 2>&1
}

is_process() {
    local state
    state=$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null) && [ "$state" != Z ]
}

# Ends when the server answers, or with its last words when it died.
up() {
    local dir=$1 server pid try
    shift
    server=$(find_program mariadbd mysqld)
    cd "$dir"
    "${as_server[@]}" "$server" --defaults-file="$dir/my.cnf" "$@" >>"$dir/stdout.log" 2>&1 </dev/null &
    pid=$!
    disown "$pid"
    for try in $(seq 1 600); do
        if [ -S "$dir/s" ] && answers "$dir"; then
            return 0
        fi
        if ! is_process "$pid"; then
            tail -n 20 "$dir/stdout.log" >&2 || true
            fail "the server ended at once (try $try); see $dir/server.log"
        fi
        sleep 0.1
    done
    fail 'the server did not answer within a minute'
}

down() {
    local dir=$1 pid try
    [ -e "$dir/pid" ] || return 0
    pid=$(cat "$dir/pid")
    is_process "$pid" || return 0
    kill "$pid"
    for try in $(seq 1 600); do
        is_process "$pid" || return 0
        sleep 0.1
    done
    fail "the server (process $pid) still runs after a minute (try $try)"
}

make_data() {
    local dir=$1
    {
        printf '# The private server of a test.\n[mysqld]\n'
        printf 'datadir = %s/data\nsocket = %s/s\npid-file = %s/pid\n' "$dir" "$dir" "$dir"
        printf 'log_error = %s/server.log\nbind-address = 127.0.0.1\nport = 0\n' "$dir"
        # its own: a server that starts removes the temporary tables of all others in a shared one
        printf 'tmpdir = %s/tmp\n' "$dir"
        printf 'skip-name-resolve\nmax_recursive_iterations = 4294967295\n'
    } >"$dir/my.cnf"
    mkdir "$dir/data" "$dir/tmp"
    [ "$(id -u)" -ne 0 ] || chown mysql: "$dir/data" "$dir/tmp"
    TMPDIR=$dir/tmp "${as_server[@]}" "$(find_program mariadb-install-db mysql_install_db)" --no-defaults \
        --datadir="$dir/data" --auth-root-authentication-method=normal --skip-test-db \
        >"$dir/install.log" 2>&1 || {
        cat "$dir/install.log" >&2
        fail 'mariadb-install-db failed'
    }
    printf '%s\n' 'create database bench character set utf8mb4;' \
        "create user bench@'%' identified by '';" "create user bench@localhost identified by '';" \
        "grant all on *.* to bench@'%' with grant option;" \
        "grant all on *.* to bench@localhost with grant option;" >"$dir/first.sql"
}

# Below the range that the kernel hands out to clients.
choose_port() {
    local dir=$1 try port
    for try in $(seq 1 20); do
        port=$((20000 + RANDOM % 12000))
        if port_is_free "$port"; then
            sed -i "s/^port = .*/port = $port/" "$dir/my.cnf"
            printf '%d\n' "$port"
            return 0
        fi
    done
    fail "no free port was found (try $try)"
}

# A list of words as the sweep file writes it.
as_list() {
    local word separator=''
    printf '[ '
    for word in "$@"; do
        printf '%s"%s"' "$separator" "$word"
        separator=', '
    done
    printf ' ]'
}

say() {
    printf 'export DBSWEEP_TEST_MY_%s=%q\n' "$1" "$2"
}

start() {
    local dir=${1:-} port
    if [ -z "$dir" ]; then
        dir=$(mktemp -d /tmp/dbsweep-my.XXXXXX)
    else
        mkdir -p "$dir"
        [ -z "$(ls -A "$dir")" ] || fail "$dir is not empty"
    fi
    [ "${#dir}" -le 80 ] || fail "$dir is too long for a socket's path"
    touch "$dir/$mark"
    trap 'stop "$dir"' EXIT # until it is the caller's
    chmod 0755 "$dir"
    [ "$(id -u)" -ne 0 ] || chown mysql: "$dir"
    make_data "$dir"
    port=$(choose_port "$dir")
    up "$dir"
    # not by init_file: a server whose option file was edited since its start is not swept
    "$(find_program mariadb mysql)" --no-defaults -S "$dir/s" -u root <"$dir/first.sql" ||
        fail 'the user of the tests could not be made'

    local -a stop_words=("$self" down "$dir") start_words=("$self" up "$dir")
    say DIR "$dir"
    say DATA "$dir/data"
    say CONFIG "$dir/my.cnf"
    say LOG "$dir/server.log"
    say USER "$(server_user)"
    say SOCKET "$dir/s"
    say PORT "$port"
    say CONNECT "socket=$dir/s user=bench dbname=bench"
    say TCP_CONNECT "host=127.0.0.1 port=$port user=bench dbname=bench"
    say STOP "${stop_words[*]}"
    say START "${start_words[*]}"
    say STOP_LIST "$(as_list "${stop_words[@]}")"
    say START_LIST "$(as_list "${start_words[@]}")"
    trap - EXIT
}

stop() {
    local dir=$1
    [ -e "$dir/$mark" ] || fail "$dir holds no server of these tests"
    down "$dir" >&2 || true
    cd /
    rm -rf "$dir"
}

case "${1:-}" in
start) start "${2:-}" ;;
up)
    : "${2:?which one?}"
    shift
    up "$@"
    ;;
down) down "${2:?which one?}" ;;
stop) stop "${2:?which one?}" ;;
*) fail 'usage: mariadb.sh start [DIR] | up DIR [OPTION]... | down DIR | stop DIR' ;;
esac
