#!/usr/bin/env bash
# gcc -fanalyzer over the program, a file at a time.
. "$(dirname "${BASH_SOURCE[0]}")/../../support/tap.sh"
cd "$TOP" || exit 1

read -r -a flags <<<"${DBSWEEP_CFLAGS:--std=c17 -D_GNU_SOURCE -I. -I$BUILD -I/usr/include/postgresql}"
flags=("${flags[@]//\'/}" -Wno-error -Wno-unused-value)

# shellcheck disable=SC2317 # called by the shells of xargs
analyse() {
    local file=$1
    shift
    [ "$file" = sweeper/base/err.c ] || set -- "$@" -include tests/lint/deep/known_false.h
    gcc "$@" -fanalyzer -c "$file" -o /dev/null 2>"$TMP/$(tr / - <<<"$file")"
}
export -f analyse

mapfile -t files < <(find sweeper knobs backends store -name '*.c' | sort)
printf '%s\0' "${files[@]}" |
    xargs -0 -P "$(nproc)" -I{} bash -c 'analyse "$@"' - {} "${flags[@]}"
for file in "${files[@]}"; do
    found=$(grep -E 'warning:|error:' "$TMP/$(tr / - <<<"$file")")
    if [ -n "$found" ]; then
        not_ok "gcc -fanalyzer $file" "$found"
    else
        ok "gcc -fanalyzer $file"
    fi
done
plan
