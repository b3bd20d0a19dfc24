#!/usr/bin/env bash
# Words that say that something is unfinished have no place in what is committed.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
cd "$TOP" || exit 1

# Written so that this file does not find itself.
words='\b(TO''DO|FIX''ME|X''XX)\b'

files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z
    else
        find . -path ./build\* -prune -o -type f -print0
    fi
}

is 'nothing is marked as unfinished' "$(files | xargs -0 grep -nIE "$words" 2>/dev/null)" ''
is 'no blank stands at the end of a line' \
    "$(files | xargs -0 grep -nIE '[[:blank:]]+$' 2>/dev/null | grep -vE '^(LICENSE|tests/[a-z]+/data/)')" ''
plan
