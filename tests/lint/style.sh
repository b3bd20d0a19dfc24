#!/usr/bin/env bash
# The form of the source: clang-format 14, no goto, heads, and sizes. A file over 600 lines or a
# function over 70 says why in its head comment: a sentence with "long" in it, which names the
# function where it is one.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
cd "$TOP" || exit 1

mapfile -t sources < <(find sweeper knobs backends store tests -name '*.[ch]' | sort)

check_format() {
    local tool=clang-format
    if command -v clang-format-14 >/dev/null; then
        tool=clang-format-14
    elif ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
        skip 'clang-format leaves nothing to change' 'clang-format 14 is not here'
        return
    fi
    is 'clang-format leaves nothing to change' \
        "$("$tool" --dry-run -Werror "${sources[@]}" 2>&1 | grep -E ': error: ' | head -n 20)" ''
}

# The first comment of a file, without its frame.
head_comment() {
    awk 'NR == 1 && !/^\/\*/ { exit }
         { line = $0; gsub(/^\/\*|\*\/.*$|^ \*/, "", line); print line }
         /\*\// { exit }' "$1" | sed '/^ *$/d'
}

# What a head must not lack: that it is there, and at most ten lines.
wrong_heads() {
    local file lines
    for file in "${sources[@]}"; do
        lines=$(head_comment "$file" | wc -l)
        if [ "$lines" -eq 0 ]; then
            printf '%s: no head comment\n' "$file"
        elif [ "$lines" -gt 10 ] && [[ $file == *.c ]]; then
            printf '%s: a head of %d lines\n' "$file" "$lines"
        fi
    done
}

long_files() {
    local file lines
    for file in "${sources[@]}"; do
        lines=$(wc -l <"$file")
        if [ "$lines" -gt 600 ] && ! head_comment "$file" | grep -qw long; then
            printf '%s: %d lines\n' "$file" "$lines"
        fi
    done
}

# A function's braces stand alone in the first column; its name stands before the first bracket of
# the last unindented line above.
function_sizes() {
    awk '/^[a-z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
         /^\{$/ { begin = FNR }
         /^\}$/ && begin { print FILENAME, name, FNR - begin + 1; begin = 0 }' "${sources[@]}"
}

long_functions() {
    local file name lines
    while read -r file name lines; do
        if [ "$lines" -gt 70 ] && ! head_comment "$file" | grep -w long | grep -qw "$name"; then
            printf '%s: %s has %d lines\n' "$file" "$name" "$lines"
        fi
    done < <(function_sizes)
}

check_format
is 'no goto' "$(grep -nwE 'goto' "${sources[@]}" | grep -v '/\*.*goto')" ''
is 'each file says what it is, in ten lines at most' "$(wrong_heads)" ''
is 'no file is over 600 lines without a reason' "$(long_files)" ''
is 'no function is over 70 lines without a reason' "$(long_functions)" ''
is 'lines end within 100 columns' \
    "$(grep -nE '^.{101,}' "${sources[@]}" Makefile | cut -c 1-80)" ''
plan
