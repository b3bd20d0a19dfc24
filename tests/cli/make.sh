#!/usr/bin/env bash
# What a packager does: install, uninstall, and the dependencies' script where it cannot help.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
cd "$TOP" || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS

# The flags of `make check`, or everything would be built again.
run_ok 'make install' make WERROR=1 VARIANT=plain BUILD="$BUILD" PREFIX=/opt/here \
    DESTDIR="$TMP/root" install
root=$TMP/root/opt/here
run_ok 'the installed program runs' "$root/bin/dbsweep" --version
is 'the manual page is installed' "$(head -c 13 "$root/share/man/man1/dbsweep.1")" '.TH DBSWEEP 1'
run_ok 'so is the completion' bash -n "$root/share/bash-completion/completions/dbsweep"
run_ok 'so are the examples' ls "$root/share/doc/dbsweep/examples/demo-sqlite.cfg"
run_ok 'make uninstall' make WERROR=1 VARIANT=plain BUILD="$BUILD" PREFIX=/opt/here \
    DESTDIR="$TMP/root" uninstall
is 'nothing is left' "$(find "$TMP/root" -type f)" ''

mkdir "$TMP/bin"
for tool in bash id readlink; do
    ln -s "$(command -v "$tool")" "$TMP/bin/$tool"
done
run_status 'no apt-get' 1 env PATH="$TMP/bin" bash tests/support/install-deps.sh build
like 'what to install instead is said' "$ERRORS" '*no apt-get*libconfig-dev*'
run_status 'an unknown set' 1 bash tests/support/install-deps.sh everything
like 'the sets are named' "$ERRORS" '*build, test or bench*'
plan
