#!/usr/bin/env bash
# A private sshd on loopback for tests: its own keys, port and configuration.
#
#   eval "$(tests/support/sshd.sh start)"    makes one and prints how to reach it
#   ... sshd.sh start 'MaxSessions 1' ...    with lines of sshd_config that go before the usual ones
#   tests/support/sshd.sh stop DIR           ends it and removes DIR and the test's user
#
# As root it lets in root, and an ordinary user made for the test who may use sudo without a
# password; as another user it lets in that user alone. The keys are ed25519, and an RSA one for
# the tests of what libssh2 cannot do. Several may run at a time: each has a user of its own.
set -euo pipefail

mark=.dbsweep-test-sshd

fail() {
    printf 'sshd.sh: %s\n' "$1" >&2
    exit 1
}

say() {
    printf 'export DBSWEEP_TEST_SSH_%s=%q\n' "$1" "$2"
}

port_is_free() {
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

is_root() {
    [ "$(id -u)" -eq 0 ]
}

make_keys() {
    local name
    for name in host id other; do
        ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$1/$name"
    done
    ssh-keygen -q -t rsa -b 2048 -N '' -C rsa -f "$1/rsa"
    ssh-keygen -q -t rsa -b 2048 -N '' -C host -f "$1/host_rsa"
    cat "$1/id.pub" "$1/rsa.pub" >"$1/authorized_keys"
    chmod 0644 "$1/authorized_keys"
}

make_user() {
    local dir=$1 user=$2
    command -v sudo >/dev/null || fail 'no sudo; run tests/support/install-deps.sh test'
    useradd --no-log-init --home-dir "$dir/home" --create-home --shell /bin/bash "$user"
    printf '%s\n' "$user" >"$dir/user"
    usermod -p '*' "$user"
    printf '%s ALL=(ALL) NOPASSWD: ALL\n' "$user" >"/etc/sudoers.d/$user"
    chmod 0440 "/etc/sudoers.d/$user"
}

drop_user() {
    local dir=$1 user
    [ -s "$dir/user" ] || return 0
    user=$(cat "$dir/user")
    rm -f "/etc/sudoers.d/$user"
    if id "$user" >/dev/null 2>&1; then
        userdel -f "$user" >/dev/null 2>&1 || true
    fi
}

has_ipv6() {
    grep -qs '^0\{31\}1 ' /proc/net/if_inet6
}

# write_config DIR PORT [LINE...]: the first value of a key is the one that counts.
write_config() {
    local dir=$1 port=$2
    shift 2
    {
        printf '%s\n' "$@"
        if has_ipv6; then
            printf 'ListenAddress ::1\n'
        fi
        cat <<END
Port $port
ListenAddress 127.0.0.1
HostKey $dir/host
HostKey $dir/host_rsa
PidFile $dir/sshd.pid
AuthorizedKeysFile $dir/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
LogLevel VERBOSE
END
    } >"$dir/sshd_config"
}

start_on_a_port() {
    local dir=$1 try port
    shift
    for try in $(seq 1 20); do
        port=$((20000 + RANDOM % 12000))
        port_is_free "$port" || continue
        write_config "$dir" "$port" "$@"
        if "$sshd" -f "$dir/sshd_config" -E "$dir/sshd.log"; then
            printf '%d\n' "$port"
            return 0
        fi
    done
    cat "$dir/sshd.log" >&2 || true
    fail "sshd did not start (try $try)"
}

start() {
    local dir port name user
    dir=$(mktemp -d /tmp/dbsweep-sshd.XXXXXX)
    touch "$dir/$mark"
    trap 'stop "$dir"' EXIT # until it is the caller's
    chmod 0755 "$dir"
    make_keys "$dir"
    if is_root; then
        mkdir -p /run/sshd
        user=dbsweep-test-$$
        make_user "$dir" "$user"
    fi
    port=$(start_on_a_port "$dir" "$@")
    for name in host host_rsa; do
        printf '[127.0.0.1]:%d,[localhost]:%d,[::1]:%d %s\n' "$port" "$port" "$port" \
            "$(cut -d' ' -f1,2 "$dir/$name.pub")"
    done >"$dir/known_hosts"
    say DIR "$dir"
    say PORT "$port"
    say IDENTITY "$dir/id"
    say RSA_IDENTITY "$dir/rsa"
    say OTHER_IDENTITY "$dir/other"
    say KNOWN_HOSTS "$dir/known_hosts"
    if is_root; then
        say USER "$user@127.0.0.1:$port"
    fi
    printf 'export DBSWEEP_TEST_SSH=%q\n' "$(id -un)@127.0.0.1:$port"
    trap - EXIT
}

stop() {
    local dir=$1
    [ -e "$dir/$mark" ] || fail "$dir holds no sshd of these tests"
    if [ -s "$dir/sshd.pid" ]; then
        kill "$(cat "$dir/sshd.pid")" 2>/dev/null || true
    fi
    if is_root; then
        drop_user "$dir"
    fi
    rm -rf "$dir"
}

sshd=$(PATH=$PATH:/usr/sbin command -v sshd) ||
    fail 'no sshd is installed; run tests/support/install-deps.sh test'
case "${1:-}" in
start)
    shift
    start "$@"
    ;;
stop) stop "${2:?which one?}" ;;
*) fail 'usage: sshd.sh start [LINE...] | stop DIR' ;;
esac
