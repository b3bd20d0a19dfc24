#!/usr/bin/env bash
# The test runner tested: whatever goes wrong in a test file must be counted as a failure.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"

# Runs one made-up test file; the last line in $LAST, the exit status in $STATUS.
run_file() {
    STATUS=0
    printf '#!/usr/bin/env bash\n%s\n' "$1" >"$TMP/made.sh"
    BUILD="$TMP/build" TEST_LIMIT_S=${2:-20} "$TOP/tests/run.sh" "$TMP/made.sh" \
        >"$TMP/output" 2>&1 || STATUS=$?
    LAST=$(tail -n 1 "$TMP/output")
}

# counts WHAT STATUS LAST-LINE
counts() {
    is "$1" "$LAST, exit $STATUS" "$3, exit $2"
}

run_file 'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2'
counts 'what passes is counted' 0 '2 passed, 0 failed, 0 skipped'
run_file 'echo 1..2; echo "ok 1 - a"; echo "not ok 2 - b"; exit 1'
counts 'what fails is counted' 1 '1 passed, 1 failed, 0 skipped'
run_file 'echo "ok 1 - a"; echo "ok 2 - b # SKIP no reason"; echo 1..2'
counts 'what is skipped is counted' 0 '1 passed, 0 failed, 1 skipped'
run_file 'echo 1..2; echo "ok 1 - a"; echo "not ok 2 # SKIP b"'
counts "cmocka's way to skip is understood" 0 '1 passed, 0 failed, 1 skipped'
run_file 'echo "1..0 # SKIP nothing here"'
counts 'a run in which nothing passed has failed' 1 '0 passed, 0 failed, 1 skipped'
run_file 'echo "ok 1 - a"'
counts 'no plan is a failure' 1 '1 passed, 1 failed, 0 skipped'
run_file 'echo 1..3; echo "ok 1 - a"'
counts 'a broken plan is a failure' 1 '1 passed, 1 failed, 0 skipped'
run_file 'echo 1..1; echo "ok 1 - a"; kill -SEGV $$'
counts 'a crash behind the last result is a failure' 1 '1 passed, 1 failed, 0 skipped'
run_file 'echo 1..1; echo "ok 1 - a"; exit 23'
counts 'so is an exit status' 1 '1 passed, 1 failed, 0 skipped'
run_file 'exit 0'
counts 'a file that says nothing has failed' 1 '0 passed, 1 failed, 0 skipped'
run_file 'echo "ok 1 - a"; echo 1..1; sleep 600' 1
counts 'a test that hangs is ended and has failed' 1 '1 passed, 1 failed, 0 skipped'
run_file 'echo "ok 1 - a"; echo "Bail out! no"; echo 1..1'
counts 'a bail-out is a failure' 1 '1 passed, 1 failed, 0 skipped'
run_file 'echo why >&2; echo "not ok 1 - the name"; echo "# the reason"; echo 1..1; exit 1'
like 'the reason of a failure is shown' "$(cat "$TMP/output")" '*the name*the reason*why*'
run_status 'a test that does not exist is an error' 1 env BUILD="$TMP/build" "$TOP/tests/run.sh" \
    "$TMP/none.sh"
plan
