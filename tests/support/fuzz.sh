#!/usr/bin/env bash
# Runs one fuzz target of tests/fuzz for $FUZZ_SECONDS (default 10), from its corpus in
# tests/fuzz/corpus/NAME and from what earlier runs found in $BUILD-fuzz/found/NAME.
#
#   tests/support/fuzz.sh tests/fuzz/NAME.c
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
cd "$TOP" || exit 1

name=$(basename "$1" .c)
found=$BUILD-fuzz/found/$name
mkdir -p "$found"
corpus=("$found")
[ ! -d "tests/fuzz/corpus/$name" ] || corpus+=("tests/fuzz/corpus/$name")
run_ok "$name survives ${FUZZ_SECONDS:-10} s" \
    "$BUILD-fuzz/tests/fuzz/$name" -max_total_time="${FUZZ_SECONDS:-10}" -timeout=20 \
    -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -artifact_prefix="$TMP/" "${corpus[@]}"
if [ "$STATUS" -ne 0 ]; then
    for input in "$TMP"/crash-* "$TMP"/timeout-* "$TMP"/oom-* "$TMP"/leak-*; do
        [ -e "$input" ] || continue
        cp "$input" "$BUILD-fuzz/"
        printf '# input kept: %s\n' "$BUILD-fuzz/${input##*/}"
    done
fi
plan
