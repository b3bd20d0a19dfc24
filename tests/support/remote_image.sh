#!/usr/bin/env bash
# Builds the file trees that tests/support/remote_host.sh boots, once, and prints where one lies.
#
#   tests/support/remote_image.sh systemd    Debian 12 with systemd, PostgreSQL and MariaDB
#   tests/support/remote_image.sh sid        Debian sid with MySQL 9
#
# They are kept in $DBSWEEP_TEST_IMAGES (/var/tmp/dbsweep-images) and reused while they are younger
# than $DBSWEEP_TEST_IMAGE_DAYS (30) and made by this very script. Exit 77 with a sentence on
# standard error: this machine cannot make them. An image is never changed after it was made.
set -euo pipefail

cache=${DBSWEEP_TEST_IMAGES:-/var/tmp/dbsweep-images}
days=${DBSWEEP_TEST_IMAGE_DAYS:-30}
mirror=${DBSWEEP_TEST_MIRROR:-http://deb.debian.org/debian}
partial=

cannot() {
    printf 'remote_image.sh: %s\n' "$1" >&2
    exit 77
}

drop_partial() {
    [ -z "$partial" ] || rm -rf --one-file-system "$partial" "$partial.log"
}

# in_tree TREE COMMAND...: with /proc of its own; whatever it starts ends with it, and its mounts too
in_tree() {
    local tree=$1
    shift
    # shellcheck disable=SC2016 # for the shell inside
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        unshare --mount --pid --fork --kill-child /bin/sh -c '
            mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" || exit 1
            exec chroot "$@"' sh "$tree" "$@"
}

bootstrap() {
    debootstrap --variant=minbase "$1" "$2" "$mirror" || return 1
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"
    chmod 0755 "$2/usr/sbin/policy-rc.d"
    printf 'force-unsafe-io\n' >"$2/etc/dpkg/dpkg.cfg.d/unsafe"
    printf 'path-exclude /usr/share/doc/*\npath-exclude /usr/share/man/*\n' \
        >"$2/etc/dpkg/dpkg.cfg.d/small"
}

install_in() {
    local tree=$1
    shift
    in_tree "$tree" apt-get -qq -y -o Acquire::Retries=3 install --no-install-recommends "$@" &&
        in_tree "$tree" apt-get clean && rm -f "$tree/usr/sbin/policy-rc.d"
}

make_systemd() {
    bootstrap bookworm "$1" &&
        install_in "$1" systemd systemd-sysv dbus openssh-server sudo iproute2 postgresql \
            mariadb-server
}

# The newest server of sid, whatever its number is today.
make_sid() {
    local package
    bootstrap sid "$1" || return 1
    package=$(in_tree "$1" apt-cache search --names-only '^mysql-server-[0-9.]*$' |
        cut -d' ' -f1 | sort -V | tail -n 1)
    install_in "$1" "${package:-mysql-server}" openssh-server procps sudo
}

is_fresh() {
    [ "$(cat "$cache/$1.made-by" 2>/dev/null)" = "$maker" ] &&
        [ -n "$(find "$cache/$1.made-by" -mtime "-$days")" ] && [ -d "$cache/$1" ]
}

make_image() {
    local name=$1
    rm -rf --one-file-system "${cache:?}/$name" "$cache/$name".partial.* "$cache/$name.made-by"
    partial=$(mktemp -d "$cache/$name.partial.XXXXXX")
    trap drop_partial EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    chmod 0755 "$partial"
    printf 'making the %s image in %s\n' "$name" "$cache" >&2
    if ! "make_$name" "$partial" >"$partial.log" 2>&1 </dev/null; then
        tail -n 20 "$partial.log" >&2
        cannot "the $name image cannot be made from $mirror"
    fi
    mv "$partial" "$cache/$name"
    rm -f "$partial.log"
    partial=
    printf '%s\n' "$maker" >"$cache/$name.made-by"
}

name=${1:-}
case $name in
systemd | sid) ;;
*) printf 'usage: remote_image.sh systemd | sid\n' >&2; exit 2 ;;
esac
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || cannot 'only root can make images'
for program in debootstrap unshare flock; do
    command -v "$program" >/dev/null || cannot "no $program; run tests/support/install-deps.sh test"
done
maker=$(sha256sum "$0" | cut -d' ' -f1)
mkdir -p "$cache"
exec 9>"$cache/$name.lock"
flock 9 # one makes it, the others wait for it
is_fresh "$name" || make_image "$name"
printf '%s\n' "$cache/$name"
