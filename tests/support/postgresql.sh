#!/usr/bin/env bash
# A private PostgreSQL server for tests: its own data directory, socket and port, nothing shared
# with a server that may run on this machine.
#
#   eval "$(tests/support/postgresql.sh start [DIR])"    makes one and prints how to reach it
#   tests/support/postgresql.sh stop DIR                 ends it and removes DIR
#
# The server refuses root, so root runs it as the user postgres. DIR is short because a socket's
# path has at most 107 bytes; without DIR a fresh one is made. Settings are the defaults (fsync on)
# but for the port, the addresses and the socket. The role and the database are both "bench".
set -euo pipefail

mark=.dbsweep-test-server

fail() {
    printf 'postgresql.sh: %s\n' "$1" >&2
    exit 1
}

# The newest server on this machine (Debian keeps them apart by version), or the one in PATH.
find_bin() {
    local newest
    newest=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null |
        sort -V | tail -n 1)
    if [ -n "$newest" ]; then
        printf '%s\n' "$newest"
    elif command -v pg_ctl >/dev/null; then
        dirname "$(command -v pg_ctl)"
    else
        fail 'no PostgreSQL server is installed; run tests/support/install-deps.sh test'
    fi
}

# Words before a command that make it run as the server's user.
as_server=()
if [ "$(id -u)" -eq 0 ]; then
    as_server=(runuser -u postgres --)
fi

server_user() {
    if [ "$(id -u)" -eq 0 ]; then printf 'postgres\n'; else id -un; fi
}

port_is_free() {
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Below the range that the kernel hands out to clients.
start_on_a_port() {
    local dir=$1 try port
    for try in $(seq 1 20); do
        port=$((20000 + RANDOM % 12000))
        port_is_free "$port" || continue
        sed -i '/^port = /d' "$dir/data/postgresql.conf"
        printf 'port = %d\n' "$port" >>"$dir/data/postgresql.conf"
        if "${as_server[@]}" "$bin/pg_ctl" -D "$dir/data" -w -t 60 -l "$dir/server.log" start \
            >"$dir/start.log" 2>&1; then
            printf '%d\n' "$port"
            return 0
        fi
    done
    cat "$dir/start.log" "$dir/server.log" >&2 || true
    fail "the server did not start (try $try)"
}

make_cluster() {
    local dir=$1
    "${as_server[@]}" "$bin/initdb" -D "$dir/data" -U bench -A trust --encoding=UTF8 \
        --locale=C.UTF-8 >"$dir/initdb.log" 2>&1 || {
        cat "$dir/initdb.log" >&2
        fail 'initdb failed'
    }
    {
        printf "listen_addresses = '127.0.0.1'\n"
        printf "unix_socket_directories = '%s'\n" "$dir"
    } >>"$dir/data/postgresql.conf"
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
    printf 'export DBSWEEP_TEST_PG_%s=%q\n' "$1" "$2"
}

start() {
    local dir=${1:-}
    if [ -z "$dir" ]; then
        dir=$(mktemp -d /tmp/dbsweep-pg.XXXXXX)
    else
        mkdir -p "$dir"
        [ -z "$(ls -A "$dir")" ] || fail "$dir is not empty"
    fi
    [ "${#dir}" -le 80 ] || fail "$dir is too long for a socket's path"
    touch "$dir/$mark"
    trap 'stop "$dir"' EXIT # until it is the caller's
    chmod 0755 "$dir"
    [ "$(id -u)" -ne 0 ] || chown postgres: "$dir"
    cd "$dir"
    make_cluster "$dir"
    local port
    port=$(start_on_a_port "$dir")
    "$bin/createdb" -h "$dir" -p "$port" -U bench bench >&2

    local -a stop_words start_words
    stop_words=("${as_server[@]}" "$bin/pg_ctl" -D "$dir/data" -w -m fast stop)
    start_words=("${as_server[@]}" "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/server.log" start)
    say DIR "$dir"
    say DATA "$dir/data"
    say CONFIG "$dir/data/postgresql.conf"
    say LOG "$dir/server.log"
    say BIN "$bin"
    say USER "$(server_user)"
    say SOCKET "$dir"
    say PORT "$port"
    say CONNECT "host=$dir port=$port user=bench dbname=bench"
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
    cd "$dir"
    if [ -e "$dir/data/postmaster.pid" ]; then
        "${as_server[@]}" "$bin/pg_ctl" -D "$dir/data" -w -m immediate stop >&2 || true
    fi
    cd /
    rm -rf "$dir"
}

bin=$(find_bin)
case "${1:-}" in
start) start "${2:-}" ;;
stop) stop "${2:?which one?}" ;;
*) fail 'usage: postgresql.sh start [DIR] | stop DIR' ;;
esac
