#!/usr/bin/env bash
# clang-tidy over the program. What is switched off, and why:
#   DeprecatedOrUnsafeBufferHandling        flags every memcpy and snprintf
#   bugprone-easily-swappable-parameters    flags what C cannot say otherwise
#   cert-err33-c                            flags every printf whose result is not tested
#   cert-dcl37-c, cert-dcl51-cpp            twins of the reserved-identifier check: _GNU_SOURCE
#   misc-no-recursion                       the rules' grammar is recursive, with a depth limit
#   misc-unused-parameters                  tables of functions have one shape; gcc reports the rest
. "$(dirname "${BASH_SOURCE[0]}")/../../support/tap.sh"
cd "$TOP" || exit 1

checks='-*,bugprone-*,cert-*,clang-analyzer-*,misc-*'
checks+=',-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling'
checks+=',-bugprone-easily-swappable-parameters,-cert-err33-c,-cert-dcl37-c,-cert-dcl51-cpp'
checks+=',-bugprone-reserved-identifier,-misc-no-recursion,-misc-unused-parameters'
export checks

read -r -a flags <<<"${DBSWEEP_CFLAGS:--std=c17 -D_GNU_SOURCE -I. -I$BUILD -I/usr/include/postgresql}"
flags=("${flags[@]//\'/}" -Wno-error -Wno-unused-value)

# shellcheck disable=SC2317 # called by the shells of xargs
tidy() {
    local file=$1
    shift
    [ "$file" = sweeper/base/err.c ] || set -- "$@" -include tests/lint/deep/known_false.h
    clang-tidy -quiet -warnings-as-errors='*' -checks="$checks" "$file" -- "$@" \
        >"$TMP/$(tr / - <<<"$file")" 2>/dev/null
}
export -f tidy

mapfile -t files < <(find sweeper knobs backends store -name '*.c' | sort)
# shellcheck disable=SC2016 # expanded by the inner shell
printf '%s\0' "${files[@]}" |
    xargs -0 -P "$(nproc)" -I{} bash -c 'tidy "$@" || touch "$TMP/$(tr / - <<<"$1").failed"' - {} \
        "${flags[@]}"
for file in "${files[@]}"; do
    log=$TMP/$(tr / - <<<"$file")
    if [ -e "$log.failed" ]; then
        not_ok "clang-tidy $file" "$(grep -E 'error:' "$log" | sort -u)"
    else
        ok "clang-tidy $file"
    fi
done
plan
