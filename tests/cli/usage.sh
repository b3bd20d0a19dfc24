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

# What could not be written was not done.
for line in help 'help run' 'help --man' 'help --completion' --help version --version \
    'knobs postgresql' 'knobs sqlite --format json'; do
    read -ra words <<<"$line"
    # shellcheck disable=SC2016 # expanded by the inner shell
    run_status "$line: a full disk" 2 sh -c '"$@" >/dev/full' sh "$DBSWEEP" "${words[@]}"
    like "$line: says so" "$ERRORS" '*standard output*'
    # shellcheck disable=SC2016
    run_status "$line: a closed output" 2 sh -c '"$@" >&-' sh "$DBSWEEP" "${words[@]}"
done

# wrong WORDS PATTERN: exit status 2, no result, and a message with a way out
wrong() {
    local -a words
    read -ra words <<<"$1"
    run_status "wrong: $1" 2 "$DBSWEEP" "${words[@]}"
    like "wrong: $1: what to do" "$ERRORS" "*hint: $2*"
    is "wrong: $1: no result" "$OUTPUT" ''
}
wrong 'run --fresh=1 x.cfg' 'write --fresh alone'
wrong 'run --help=1' 'write --help alone'
wrong 'run --verison' "did you mean '--version'"
wrong '--hlep' "did you mean '--help'"
wrong 'run --limit 9223372036854775808 x.cfg' '*of 0 to 9223372036854775807'
wrong 'run --budget 99999999999d x.cfg' '*below 292000 years*'
wrong 'knobs sqlite nope' 'dbsweep knobs sqlite lists them'
wrong 'knobs sqlite cach_size' 'did you mean "cache_size"'
wrong 'load oltp rum' 'did you mean "run"'
wrong 'load oltq run' 'did you mean "oltp"'
wrong 'load oltp run --backend sqlit --connect x' 'did you mean "sqlite"'
wrong 'load oltp run --warm-up 5' 'write "5s"*'
like 'an option is named as it is written' "$ERRORS" '--warm-up: *'

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
is 'workload keys are completed' "$(completes dbsweep load oltp run --warm)" '--warm-up --warm-up-max'
cd "$TMP" || exit 1
touch nightly.cfg
is 'files are completed' "$(completes dbsweep run ni)" nightly.cfg
plan
