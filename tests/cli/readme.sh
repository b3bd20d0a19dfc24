#!/usr/bin/env bash
# The README against the program: its table has every command, only real options, and its sweep
# file is one.
# shellcheck disable=SC2001,SC2013,SC2016 # the backquotes are those of the README
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
readme=$TOP/README.md

table=$(sed -n '/^## Commands/,/^## /p' "$readme" | grep '^| `')
documented=$(sed 's/^| `\([a-z]*\).*/\1/' <<<"$table" | sort)
real=$("$DBSWEEP" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\).*/\1/p' | sort)
is 'the table lists the commands there are' "$documented" "$real"

while read -r row; do
    command=$(sed 's/^| `\([a-z]*\).*/\1/' <<<"$row")
    help=$("$DBSWEEP" help "$command")
    usage=$(sed -n '1s/^usage: dbsweep //p' <<<"$help" | sed 's/ \[OPTION\.\.\.\]$//; s/|/\\|/g')
    is "$command: operands" "$(sed 's/^| `\([^`]*\)`.*/\1/' <<<"$row")" "$usage"
    for option in $(grep -oE '`--[a-z-]+' <<<"$row" | tr -d '`'); do
        like "$command: $option" "$help" "*$option*"
    done
    for option in $(sed -n '/^options:/,/^$/s/^  \(--[a-z-]*\).*/\1/p' <<<"$help"); do
        [ "$command" != load ] || continue # its options are the keys of the sweep file
        like "$command: $option is in the table" "$row" "*$option*"
    done
done <<<"$table"

sed -n '/^```$/,/^```$/{/^```$/d;p}' "$readme" >"$TMP/nightly.cfg"
like 'there is a sweep file' "$(cat "$TMP/nightly.cfg")" '*axes*workload*'
run_ok 'the sweep file is a good one' "$DBSWEEP" check --offline "$TMP/nightly.cfg"

for status in 0 1 2 3 4 5 70; do
    sentence=$("$DBSWEEP" help | sed -n "/^exit status:/,\$s/^  $status  *\([a-z ]*\).*/\1/p")
    like "exit status $status" "$(tr '\n' ' ' <"$readme")" "*$status ${sentence%% *}*"
done
plan
