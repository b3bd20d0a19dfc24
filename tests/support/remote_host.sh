#!/usr/bin/env bash
# A machine of a test's own behind a network of its own: a file tree of remote_image.sh under an
# overlay, in a network namespace that a veth pair reaches, with sshd and database servers.
#
#   eval "$(tests/support/remote_host.sh start systemd)"   a booted systemd: PostgreSQL and MariaDB
#   eval "$(tests/support/remote_host.sh start sid)"       sshd and MySQL 9 without any systemd
#   tests/support/remote_host.sh stop DIR                  ends all of it
#   tests/support/remote_host.sh run DIR COMMAND...        a command there, as root, over SSH
#   tests/support/remote_host.sh sweep                     stops what dead owners left
#
# It belongs to the process $DBSWEEP_TEST_OWNER (the caller), and whoever starts the next one ends
# those whose owner is gone. Exit 77 with a sentence on standard error: not on this machine.
set -euo pipefail

self=$(readlink -f "${BASH_SOURCE[0]}")
folder=${DBSWEEP_TEST_REMOTES:-/var/tmp}
prefix=dbsweep-remote
user=dbsweep-test
boot_limit_s=${DBSWEEP_TEST_BOOT_S:-90}
PATH=$PATH:/usr/sbin:/sbin

cannot() {
    printf 'remote_host.sh: %s\n' "$1" >&2
    exit 77
}
fail() {
    printf 'remote_host.sh: %s\n' "$1" >&2
    exit 1
}

say() {
    printf 'export DBSWEEP_TEST_REMOTE_%s=%q\n' "$1" "$2"
}

# The start of a process in ticks: with the pid, an identity.
ticks_of() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # shellcheck disable=SC2086 # words are wanted
    set -- ${stat##*) }
    printf '%s\n' "${20}"
}

lives() {
    [ -s "$1" ] || return 1
    local pid ticks
    read -r pid ticks <"$1"
    [ -n "$ticks" ] && [ "$(ticks_of "$pid")" = "$ticks" ]
}

note_process() {
    local ticks
    ticks=$(ticks_of "$2") || ticks=
    printf '%s %s\n' "$2" "$ticks" >"$1"
}

# ---- the network ----

# Numbers lead to blocks of four addresses of 198.18.0.0/15, which is there for tests (RFC 2544). A
# name that exists cannot be added again, so that a number has one owner.
take_network() {
    local dir=$1 try number block
    for try in $(seq 1 50); do
        number=$((RANDOM % 16384))
        block=198.18.$((number / 64)).$((number % 64 * 4))
        [ -z "$(ip -4 -o addr show to "$block/30")" ] || continue
        ip netns add "dbsweep-$number" 2>"$dir/netns.err" && break
        number=
    done
    [ -n "${number:-}" ] || cannot "no network namespace (try $try): $(cat "$dir/netns.err")"
    printf '%s\n' "$number" >"$dir/number"
    local host=${block%.*}.$((${block##*.} + 1)) inside=${block%.*}.$((${block##*.} + 2))
    {
        ip link add "dbs${number}h" type veth peer name "dbs${number}c" netns "dbsweep-$number" &&
            ip addr add "$host/30" dev "dbs${number}h" && ip link set "dbs${number}h" up &&
            ip -n "dbsweep-$number" link set lo up &&
            ip -n "dbsweep-$number" addr add "$inside/30" dev "dbs${number}c" &&
            ip -n "dbsweep-$number" link set "dbs${number}c" up
    } 2>"$dir/netns.err" || cannot "no veth pair: $(cat "$dir/netns.err")"
    printf '%s\n' "$inside" >"$dir/address"
}

drop_network() {
    local number
    [ -s "$1/number" ] || return 0
    number=$(cat "$1/number")
    ip link del "dbs${number}h" 2>/dev/null || true
    if [ -e "/run/netns/dbsweep-$number" ]; then
        ip netns del "dbsweep-$number"
    fi
}

# ---- the tree ----

make_keys() {
    local name
    for name in host id; do
        ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$1/$name"
    done
    printf '%s %s\n' "$(cat "$1/address")" "$(cut -d' ' -f1,2 "$1/host.pub")" >"$1/known_hosts"
}

prepare_ssh() {
    local dir=$1 tree=$2 home
    install -m 0600 "$dir/host" "$tree/etc/ssh/ssh_host_ed25519_key"
    printf '%s\n' 'HostKey /etc/ssh/ssh_host_ed25519_key' 'PermitRootLogin prohibit-password' \
        'PasswordAuthentication no' 'UseDNS no' 'UsePAM no' >"$tree/etc/ssh/sshd_config.d/test.conf"
    chroot "$tree" useradd --no-log-init --create-home --shell /bin/bash "$user"
    chroot "$tree" usermod -p '*' "$user"
    for home in root "home/$user"; do
        mkdir -p "$tree/$home/.ssh"
        cp "$dir/id.pub" "$tree/$home/.ssh/authorized_keys"
    done
    chroot "$tree" chown -R "$user:" "/home/$user/.ssh"
    printf '%s ALL=(ALL) NOPASSWD: ALL\n' "$user" >"$tree/etc/sudoers.d/$user"
    chmod 0440 "$tree/etc/sudoers.d/$user"
    rm -f "$tree/etc/resolv.conf" # the test's machine may wait for servers that are not there
    printf '%s\n' remote >"$tree/etc/hostname"
    printf '127.0.0.1 localhost remote\n' >"$tree/etc/hosts"
}

# Both servers listen to the test's side; PostgreSQL lets in the load user from there.
prepare_systemd() {
    local tree=$1
    local postgresql=$tree/etc/postgresql/15/main
    printf "listen_addresses = '*'\n" >"$postgresql/conf.d/test.conf"
    printf 'host all bench samenet trust\n' >>"$postgresql/pg_hba.conf"
    sed -i 's/^bind-address.*/bind-address = 0.0.0.0/' "$tree/etc/mysql/mariadb.conf.d/50-server.cnf"
    ln -sf /dev/null "$tree/etc/systemd/system/systemd-networkd-wait-online.service"
    ln -sf /dev/null "$tree/etc/systemd/system/apt-daily.timer"
    ln -sf /dev/null "$tree/etc/systemd/system/apt-daily-upgrade.timer"
}

prepare_sid() {
    local tree=$1
    mkdir -p "$tree/run/sshd" "$tree/run/mysqld"
    chroot "$tree" chown mysql: /run/mysqld
    sed -i 's/^bind-address.*/bind-address = 0.0.0.0/' "$tree/etc/mysql/mysql.conf.d/mysqld.cnf"
}

# ---- inside: a process of its own namespaces ----

mount_tree() {
    local dir=$1 image
    image=$(cat "$dir/image")
    mkdir -p "$dir/upper" "$dir/work" "$dir/tree"
    mount --make-rprivate /
    if ! mount -t overlay -o "lowerdir=$image,upperdir=$dir/upper,workdir=$dir/work" dbsweep \
        "$dir/tree" 2>"$dir/mount.err"; then
        cp -a --reflink=auto "$image/." "$dir/tree/" # a file system that cannot lie under another
    fi
}

# systemd's groups of processes go below one of ours, so that nothing of them stays in the root.
enter_group() {
    local top name=dbsweep-$1
    for top in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
        if [ -e "$top/cgroup.procs" ] && mkdir -p "$top/$name" 2>/dev/null; then
            printf '%s\n' "$$" >"$top/$name/cgroup.procs" 2>/dev/null || true
        fi
    done
}

drop_group() {
    local top
    [ -s "$1/number" ] || return 0
    for top in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
        find "$top/dbsweep-$(cat "$1/number")" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
}

inside_systemd() {
    local dir=$1 number
    number=$(cat "$dir/number")
    enter_group "$number"
    mount_tree "$dir"
    prepare_ssh "$dir" "$dir/tree"
    prepare_systemd "$dir/tree"
    exec systemd-nspawn --quiet --boot --register=no --keep-unit --console=pipe \
        --directory="$dir/tree" --machine="dbsweep-$number" --resolv-conf=off --timezone=off \
        --link-journal=no --network-namespace-path="/run/netns/dbsweep-$number"
}

# sshd as the first process reaps what is left behind.
inside_sid() {
    local dir=$1
    mount_tree "$dir"
    prepare_ssh "$dir" "$dir/tree"
    prepare_sid "$dir/tree"
    hostname remote # sudo looks its own name up
    mount -t proc proc "$dir/tree/proc"
    mount --bind /dev "$dir/tree/dev"
    # shellcheck disable=SC2016 # for the shell inside
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$dir/tree" /bin/sh -c '
        mysqld --daemonize --user=mysql </dev/null || exit 1
        exec /usr/sbin/sshd -D -e'
}

launch() {
    local dir=$1 kind=$2 number
    number=$(cat "$dir/number")
    if [ "$kind" = systemd ]; then
        setsid unshare --mount "$self" inside "$dir" systemd >"$dir/console" 2>&1 </dev/null &
    else
        setsid ip netns exec "dbsweep-$number" unshare --mount --uts --pid --fork --kill-child \
            "$self" inside "$dir" sid >"$dir/console" 2>&1 </dev/null &
    fi
    note_process "$dir/launched" "$!"
    disown "$!"
}

# ---- start ----

# One connection for many commands: it ends by itself soon after the machine does.
run_there() {
    local dir=$1
    shift
    ssh -n -i "$dir/id" -o IdentitiesOnly=yes -o UserKnownHostsFile="$dir/known_hosts" \
        -o StrictHostKeyChecking=yes -o BatchMode=yes -o ConnectTimeout=3 -o LogLevel=ERROR \
        -o ControlMaster=auto -o ControlPath="$dir/ssh" -o ControlPersist=30 \
        -o ServerAliveInterval=2 -o ServerAliveCountMax=2 \
        -F /dev/null "root@$(cat "$dir/address")" "$(printf '%q ' "$@")"
}

sql_of() {
    if [ "$1" = systemd ]; then
        printf '%s\n' "create database if not exists bench; create user bench@'%' identified by '';" \
            "grant all on *.* to bench@'%'"
    else
        printf '%s\n' "create database if not exists bench; create user bench@'%' identified with
            caching_sha2_password by 'secret 9'; grant all on *.* to bench@'%'"
    fi
}

# One poll: everything there answers; then the load user and its databases are made.
is_up() {
    local dir=$1 kind=$2
    if [ "$kind" = systemd ]; then
        # of several, is-active is content with one
        run_there "$dir" systemctl is-active --quiet postgresql@15-main >"$dir/poll" 2>&1 &&
            run_there "$dir" systemctl is-active --quiet mariadb >"$dir/poll" 2>&1
    else
        run_there "$dir" mysqladmin ping >"$dir/poll" 2>&1
    fi
}

make_users() {
    local dir=$1 kind=$2
    run_there "$dir" mysql -e "$(sql_of "$kind")"
    [ "$kind" = systemd ] || return 0
    run_there "$dir" runuser -l postgres -c \
        "psql -q -c 'create role bench superuser login' -c 'create database bench owner bench'"
}

wait_until_up() {
    local dir=$1 kind=$2 end=$((SECONDS + boot_limit_s))
    until is_up "$dir" "$kind"; do
        if ! lives "$dir/launched" || [ "$SECONDS" -ge "$end" ]; then
            cat "$dir/poll" >&2
            tail -n 30 "$dir/console" >&2
            cannot "the $kind machine did not come up within $boot_limit_s s"
        fi
        sleep 0.3
    done
}

tell() {
    local dir=$1 kind=$2 address
    address=$(cat "$dir/address")
    say DIR "$dir"
    say KIND "$kind"
    say ADDRESS "$address"
    say NETNS "dbsweep-$(cat "$dir/number")"
    say ROOT "root@$address:22"
    say USER "$user@$address:22"
    say IDENTITY "$dir/id"
    say KNOWN_HOSTS "$dir/known_hosts"
    say MY_CONNECT "host=$address port=3306 user=bench dbname=bench"
    if [ "$kind" = systemd ]; then
        say PG_CONNECT "host=$address port=5432 user=bench dbname=bench"
    else
        say MY_PASSWORD 'secret 9'
    fi
}

start() {
    local kind=$1 dir image
    [ "$(id -u)" -eq 0 ] || cannot 'only root can make such a machine'
    for program in ip unshare ssh ssh-keygen $([ "$kind" = sid ] || echo systemd-nspawn); do
        command -v "$program" >/dev/null ||
            cannot "no $program; run tests/support/install-deps.sh test"
    done
    sweep
    image=$("${self%/*}/remote_image.sh" "$kind") || exit $?
    dir=$(mktemp -d "$folder/$prefix.XXXXXX")
    trap 'stop "$dir"' EXIT # until it is the caller's
    note_process "$dir/owner" "${DBSWEEP_TEST_OWNER:-$PPID}"
    printf '%s\n' "$image" >"$dir/image"
    chmod 0755 "$dir"
    take_network "$dir"
    make_keys "$dir"
    launch "$dir" "$kind"
    wait_until_up "$dir" "$kind"
    make_users "$dir" "$kind" >&2
    tell "$dir" "$kind"
    trap - EXIT
}

# ---- stop ----

# Whoever runs in the network, or started it: by number, until none is left.
end_processes() {
    local dir=$1 pids pid ticks try
    for try in $(seq 1 100); do
        pids=
        if [ -s "$dir/number" ]; then
            pids=$(ip netns pids "dbsweep-$(cat "$dir/number")" 2>/dev/null || true)
        fi
        if [ -z "$pids" ] && lives "$dir/launched"; then
            read -r pid ticks <"$dir/launched"
            pids=$pid
            : "$ticks"
        fi
        [ -n "$pids" ] || return 0
        for pid in $pids; do
            kill -KILL "$pid" 2>/dev/null || true
        done
        sleep 0.1
    done
    fail "processes of $dir do not end (try $try): $pids"
}

stop() {
    local dir=$1
    case $dir in "$folder/$prefix".*) ;; *) fail "$dir is no machine of these tests" ;; esac
    [ -d "$dir" ] || return 0
    ssh -F /dev/null -o ControlPath="$dir/ssh" -O exit remote 2>/dev/null || true
    end_processes "$dir"
    drop_network "$dir"
    drop_group "$dir"
    rm -rf --one-file-system "$dir"
}

# A folder without an owner is younger than its first line.
sweep() {
    local dir
    for dir in "$folder/$prefix".*; do
        if [ -s "$dir/owner" ] && ! lives "$dir/owner"; then
            stop "$dir"
        fi
    done
}

case "${1:-} ${2:-}" in
'start systemd' | 'start sid') start "$2" ;;
'inside '*) "inside_$3" "$2" ;;
'stop '?*) stop "$2" ;;
'run '?*) shift; run_there "$@" ;;
'sweep ') sweep ;;
*) fail 'usage: remote_host.sh start systemd|sid | stop DIR | run DIR COMMAND... | sweep' ;;
esac
