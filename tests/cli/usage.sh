#!/usr/bin/env bash
# The command line from outside: exit statuses, where the words go, help, manual, completion.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"

run_status 'no command is an error' 2 "$DBSWEEP"
is 'its message is not a result' "$OUTPUT" ''
like 'it says what to do' "$ERRORS" '*dbsweep help*'
run_status 'an unknown command is an error' 2 "$DBSWEEP" rnu x.cfg
like 'the nearest command is proposed' "$ERRORS" "*'run'*"
run_status 'an unknown option is an error' 2 "$DBSWEEP" rank x.db --fromat=json
like 'the nearest option is proposed' "$ERRORS" "*'--format'*"
run_status 'a missing operand is an error' 2 "$DBSWEEP" run
like 'the usage is shown' "$ERRORS" '*dbsweep run FILE*'
run_status 'an error in JSON has the same exit status' 2 "$DBSWEEP" --log json run /nonexistent.cfg
is 'each line of its log is JSON' "$(jq -ce 'type' <<<"$ERRORS" 2>&1 | sort -u)" '"object"'
run_status 'a hostile word does not reach the terminal' 2 "$DBSWEEP" $'r\033[2Jn'
unlike 'no escape code is in the message' "$ERRORS" $'*\033*'

run_ok '--help' "$DBSWEEP" --help
like 'help goes to standard output' "$OUTPUT" '*run FILE*'
is 'and nothing to standard error' "$ERRORS" ''
mapfile -t commands < <("$DBSWEEP" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\).*/\1/p')
is 'help lists commands' "$((${#commands[@]} >= 12))" 1
for command in "${commands[@]}"; do
    run_ok "$command --help" "$DBSWEEP" "$command" --help
    like "$command --help shows its usage" "$OUTPUT" "usage: dbsweep $command*"
done
run_ok '--version' "$DBSWEEP" --version
like 'the version is told' "$OUTPUT" "*$(cat "$TOP/VERSION")*"
like 'with those of the libraries' "$OUTPUT" '*[Ss][Qq][Ll]ite*'

run_ok 'the manual page' "$DBSWEEP" help --man
printf '%s\n' "$OUTPUT" >"$TMP/dbsweep.1"
if command -v man >/dev/null; then
    is 'man has no complaint about it' \
        "$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$TMP/dbsweep.1" 2>&1 >/dev/null)" ''
else
    skip 'man has no complaint about it' 'man is not here'
fi

run_ok 'the completion' "$DBSWEEP" help --completion
printf '%s\n' "$OUTPUT" >"$TMP/completion"

# completes WORD...: what the completion proposes for the last word
completes() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dbsweep
             echo "${COMPREPLY[*]}"' "$TMP/completion" "$@"
}
is 'commands are completed' "$(completes dbsweep ra)" rank
is 'options are completed' "$(completes dbsweep run --bud)" --budget
is 'choices are completed' "$(completes dbsweep rank --format '')" 'table csv json'
is 'workload keys are completed' "$(completes dbsweep load oltp run --warm)" --warm-up
cd "$TMP" || exit 1
touch nightly.cfg
is 'files are completed' "$(completes dbsweep run ni)" nightly.cfg
plan
