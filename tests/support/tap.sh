# shellcheck shell=bash
# Test Anything Protocol for shell tests: source it, call ok / is / like / run_ok ..., and `plan`
# last. A folder of the test's own, $TMP, is removed at the end, and so is what `at_end` was given.
#
#   . tests/support/tap.sh
#   run_ok 'help works' "$DBSWEEP" help
#   like 'it names commands' "$OUTPUT" '*run FILE*'
#   plan
#
# run_ok and run_status leave what the command printed in $OUTPUT and $ERRORS, its exit in $STATUS.
set -u

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TMP=$(mktemp -d /tmp/dbsweep-test.XXXXXX)
BUILD=${BUILD:-$TOP/build}
DBSWEEP=${DBSWEEP:-$BUILD/dbsweep}
export TOP TMP BUILD DBSWEEP

tap_count=0
tap_failed=0
tap_at_end=()

tap_cleanup() {
    local i
    for ((i = ${#tap_at_end[@]} - 1; i >= 0; i--)); do
        eval "${tap_at_end[i]}"
    done
    rm -rf "$TMP"
}
trap tap_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# A shell command that is run when the test ends, however it ends; the last given runs first.
at_end() {
    tap_at_end+=("$1")
}

ok() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s\n' "$tap_count" "$1"
}

not_ok() {
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$1"
    shift
    local line
    for line in "$@"; do
        printf '%s\n' "$line" | sed 's/^/# /'
    done
}

# skip WHAT WHY
skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# The whole file has nothing to do here.
skip_all() {
    printf '1..0 # SKIP %s\n' "$1"
    exit 0
}

# is WHAT GOT WANTED
is() {
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; fi
}

# like WHAT TEXT PATTERN: a shell pattern over the whole text
like() {
    # shellcheck disable=SC2053 # the right side is meant as a pattern
    if [[ $2 == $3 ]]; then ok "$1"; else not_ok "$1" "got:     $2" "pattern: $3"; fi
}

# unlike WHAT TEXT PATTERN
unlike() {
    # shellcheck disable=SC2053 # the right side is meant as a pattern
    if [[ $2 != $3 ]]; then ok "$1"; else not_ok "$1" "got:       $2" "forbidden: $3"; fi
}

# run_status WHAT WANTED COMMAND...
run_status() {
    local what=$1 wanted=$2
    shift 2
    STATUS=0
    "$@" >"$TMP/.output" 2>"$TMP/.errors" </dev/null || STATUS=$?
    # shellcheck disable=SC2034 # for the test
    OUTPUT=$(tr -d '\000' <"$TMP/.output")
    # shellcheck disable=SC2034 # for the test
    ERRORS=$(tr -d '\000' <"$TMP/.errors")
    if [ "$STATUS" = "$wanted" ]; then
        ok "$what"
    else
        not_ok "$what" "command: $*" "exit status $STATUS, wanted $wanted" \
            "output: $(tail -n 20 "$TMP/.output")" "errors: $(tail -n 40 "$TMP/.errors")"
    fi
}

# run_ok WHAT COMMAND...
run_ok() {
    local what=$1
    shift
    run_status "$what" 0 "$@"
}

# file_same WHAT ONE OTHER
file_same() {
    if cmp -s "$2" "$3"; then
        ok "$1"
    else
        not_ok "$1" "$(diff -u "$2" "$3" 2>&1 | head -n 40)"
    fi
}

# The number of results, and the end of the test.
plan() {
    printf '1..%d\n' "$tap_count"
    [ "$tap_failed" -eq 0 ] || exit 1
    exit 0
}
