#!/usr/bin/env bash
# cppcheck over the program. Not style: its opinions there contradict clang-format and the house.
. "$(dirname "${BASH_SOURCE[0]}")/../../support/tap.sh"
cd "$TOP" || exit 1

mkdir "$TMP/cache"
run_ok 'cppcheck has nothing to say' \
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
    --error-exitcode=1 --cppcheck-build-dir="$TMP/cache" -j "$(nproc)" -D_GNU_SOURCE \
    -D__linux__ '-DDBSWEEP_VERSION="0"' --suppress=missingIncludeSystem -I. -I"$BUILD" \
    sweeper knobs backends store
plan
