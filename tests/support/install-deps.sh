#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that are missing, and says so; fast when none is.
#
#   tests/support/install-deps.sh build     what `make` needs
#   tests/support/install-deps.sh test      what `make check` needs beyond that
#   tests/support/install-deps.sh bench     the peers that `make bench-search` compares with
#
# Needs root or `sudo -n` only where something is missing. While packages are installed, services
# are kept from starting: a database server that takes the standard port would be in the way of the
# one that this machine may be for.
set -euo pipefail

build_packages=(gcc libc6-dev make pkg-config libconfig-dev libsqlite3-dev libpq-dev libmariadb-dev
    libssh2-1-dev libgsl-dev libssl-dev unixodbc-dev)
test_packages=(libcmocka-dev postgresql postgresql-contrib mariadb-server sysbench sqlite3 valgrind clang
    libclang-rt-dev clang-format clang-tidy cppcheck shellcheck jq python3-minimal man-db
    odbc-postgresql odbc-mariadb libsqliteodbc odbcinst openssl
    procps util-linux git acl e2fsprogs locales mount sudo
    openssh-server openssh-client tcsh zsh busybox systemd-container debootstrap iproute2
    debian-archive-keyring)
bench_packages=(python3 python3-optuna python3-sklearn python3-numpy)

policy=/usr/sbin/policy-rc.d
policy_is_ours=no

fail() {
    printf 'install-deps.sh: %s\n' "$1" >&2
    exit 1
}

wanted_packages() {
    local set
    for set in "$@"; do
        case $set in
        build) printf '%s\n' "${build_packages[@]}" ;;
        test) printf '%s\n' "${test_packages[@]}" ;;
        bench) printf '%s\n' "${bench_packages[@]}" ;;
        *) fail "unknown set '$set'; it is build, test or bench" ;;
        esac
    done
}

is_installed() {
    # shellcheck disable=SC2016 # dpkg's own format, not the shell's
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

drop_policy() {
    if [ "$policy_is_ours" = yes ]; then
        rm -f "$policy"
    fi
}

keep_services_down() {
    [ ! -e "$policy" ] || return 0
    policy_is_ours=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 0755 "$policy"
}

install_packages() {
    local -a apt=(apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
    export DEBIAN_FRONTEND=noninteractive
    trap drop_policy EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    keep_services_down
    "${apt[@]}" update
    "${apt[@]}" install -y --no-install-recommends "$@" >&2
}

[ $# -gt 0 ] || fail 'usage: install-deps.sh build|test|bench...'
names=$(wanted_packages "$@")
mapfile -t wanted <<<"$names"
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this system has no apt-get; install what matches these Debian packages: ${wanted[*]}"
fi

missing=()
for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

printf 'installing: %s\n' "${missing[*]}" >&2
if [ "$(id -u)" -eq 0 ]; then
    install_packages "${missing[@]}"
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n bash "$(readlink -f "$0")" "$@"
else
    fail "missing packages need root; run: apt-get install --no-install-recommends ${missing[*]}"
fi
