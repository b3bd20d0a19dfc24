#!/usr/bin/env bash
# Runs tests and counts them; the last line is `N passed, N failed, N skipped`.
#
#   tests/run.sh                          everything but tests/lint/deep
#   tests/run.sh tests/unit/test_text.c   these files or folders alone
#
# Programs come from $BUILD (plain), $BUILD-asan (ASan + UBSan) and $BUILD-tsan (TSan, the driver's
# tests alone), built beforehand by `make check`. Unit tests run under both, the plain one through
# valgrind unless the source says "not under valgrind:" and why; conformance tests run under both,
# those of the driver under TSan too, those of hosts as an ordinary user too; shell tests run once, with the sanitized program; fuzz targets
# run for $FUZZ_SECONDS (10). Every test speaks TAP. One that crashes, exceeds $TEST_LIMIT_S, prints
# no plan or breaks it counts as failed. Sweeps (tests/integ, tests/fault) run beside the others.
# Logs stay in $BUILD/test-logs.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

BUILD=$(readlink -m "${BUILD:-build}")
export BUILD
LOGS=$BUILD/test-logs
LIMIT_S=${TEST_LIMIT_S:-900}
FOLDERS=(tests/lint tests/unit tests/conform tests/cli tests/integ tests/fault tests/fuzz)

passed=0
failed=0
skipped=0
failures=()
child=
lane= # the process that runs the second lane

# ---- what runs ----

# Every test file under the arguments, in order; a file may be named itself.
list_files() {
    local path
    for path in "$@"; do
        path=${path#"$PWD"/}
        if [ -d "$path" ]; then
            find "$path" -maxdepth 1 \( -name '*.sh' -o -name '*.c' \) | sort
        elif [ -f "$path" ]; then
            printf '%s\n' "$path"
        else
            printf 'run.sh: no such test: %s\n' "$path" >&2
            return 1
        fi
    done
}

needs_servers() {
    local file
    for file in "$@"; do
        case $file in
        tests/conform/* | tests/integ/* | tests/fault/*) return 0 ;;
        esac
    done
    return 1
}

# ---- one test ----

# Runs a command in a process group of its own; its status in $status.
run_limited() {
    local log=$1
    shift
    timeout -k 10 "$LIMIT_S" "$@" >"$log.tap" 2>"$log.err" </dev/null &
    child=$!
    status=0
    wait "$child" || status=$?
    child=
}

# Reads a TAP stream: passed, failed, skipped, planned (-1: no plan).
read_tap() {
    awk '
        /^[ \t]*(not )?ok / && /# *(SKIP|skip)/ { skipped++; next }
        /^ok / { passed++; next }
        /^not ok / { failed++; next }
        /^1\.\.0 *#/ { skipped++; planned++; next }
        /^1\.\.[0-9]+/ { planned += substr($1, 4); plans++ }
        /^Bail out!/ { failed++; planned++ }
        END { printf "%d %d %d %d\n", passed, failed, skipped, plans || planned ? planned : -1 }
    ' "$1"
}

count_results() {
    local title=$1 log=$2 status=$3 good bad left_out planned trouble=''
    read -r good bad left_out planned < <(read_tap "$log.tap")
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        trouble="ended after $LIMIT_S s or killed (exit status $status)"
    elif [ "$planned" -lt 0 ]; then
        trouble="printed no plan (exit status $status)"
    elif [ $((good + bad + left_out)) -ne "$planned" ]; then
        trouble="gave $((good + bad + left_out)) of $planned results (exit status $status)"
    elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        trouble="exit status $status although no test failed"
    fi
    if [ -n "$trouble" ]; then
        bad=$((bad + 1))
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    skipped=$((skipped + left_out))
    if [ "$bad" -gt 0 ]; then
        failures+=("$title|$log|$trouble")
        printf 'FAILED  '
    else
        printf 'ok      '
    fi
    printf '%s: %d passed, %d failed, %d skipped (%d s)\n' "$title" "$good" "$bad" "$left_out" \
        $((SECONDS - began))
}

# run_test TITLE COMMAND...
run_test() {
    local title=$1 log status began=$SECONDS
    shift
    log=$LOGS/$(printf '%s' "$title" | tr -c 'A-Za-z0-9._\n' '-')
    run_limited "$log" "$@"
    count_results "$title" "$log" "$status"
}

run_program() {
    local file=$1 name=${1%.c}
    export DBSWEEP=$BUILD/dbsweep
    if [[ $file == tests/unit/* ]] && command -v valgrind >/dev/null &&
        ! grep -q 'not under valgrind:' "$file"; then
        run_test "$file (valgrind)" valgrind -q --error-exitcode=99 --leak-check=full \
            --errors-for-leak-kinds=definite --child-silent-after-fork=yes \
            --suppressions=tests/support/valgrind.supp "$BUILD/$name"
    else
        run_test "$file (plain)" "$BUILD/$name"
    fi
    if grep -q 'plain alone:' "$file"; then
        return
    fi
    export DBSWEEP=$BUILD-asan/dbsweep
    run_test "$file (asan)" "$BUILD-asan/$name"
    if [[ $file == tests/conform/test_load* ]] && [ -x "$BUILD-tsan/$name" ]; then
        export DBSWEEP=$BUILD-tsan/dbsweep
        # TSan is slow: of sessions without a socket each test, of those with one a file of its own
        # and the loads by several of them
        local -a only=('sqlite: *')
        case $file in
        tests/conform/test_load_postgresql.c) only=() ;;
        tests/conform/test_load_parts.c) only=('postgresql: oltp_*') ;;
        esac
        run_test "$file (tsan)" "$BUILD-tsan/$name" "${only[@]}"
    fi
    if [[ $file == tests/conform/test_host* ]]; then
        run_as_user "$file" "$BUILD-asan/$name"
    fi
}

# Root needs no sudo: what hosts promise with it is tested as the ordinary user that the test's sshd
# has, from a folder that this user may enter.
run_as_user() {
    local file=$1 program=$2 user=${DBSWEEP_TEST_SSH_USER:-} place
    [ -n "$user" ] || return 0
    user=${user%%@*}
    place=$sshd_dir/${program##*/}
    cp "$program" "$place"
    DBSWEEP_TEST_LOCAL_ONLY=1 HOME=$sshd_dir/home run_test "$file (asan, as a user)" \
        runuser -u "$user" -- "$place"
    rm -f "$place"
}

run_file() {
    case $1 in
    tests/fuzz/*.c) run_test "$1" bash tests/support/fuzz.sh "$1" ;;
    *.c) run_program "$1" ;;
    *)
        export DBSWEEP=$BUILD-asan/dbsweep
        run_test "$1" bash "$1"
        ;;
    esac
}

# ---- servers for all ----

pg_dir=
my_dir=
sshd_dir=

# Its tests will say that they are skipped, which must not pass for a run that is whole.
no_server() {
    failed=$((failed + 1))
    failures+=("$1 of the tests' own|$LOGS/none|did not start")
    printf 'FAILED  %s did not start; tests that need one are skipped\n' "$1"
}

start_postgresql() {
    local words
    if words=$(tests/support/postgresql.sh start); then
        eval "$words"
        pg_dir=$DBSWEEP_TEST_PG_DIR
    else
        no_server PostgreSQL
    fi
}

start_mariadb() {
    local words
    if words=$(tests/support/mariadb.sh start); then
        eval "$words"
        my_dir=$DBSWEEP_TEST_MY_DIR
    else
        no_server MariaDB
    fi
}

start_sshd() {
    local words
    if words=$(tests/support/sshd.sh start); then
        eval "$words"
        sshd_dir=$DBSWEEP_TEST_SSH_DIR
    else
        no_server sshd
    fi
}

end_child() {
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null # timeout hands it on to its group
    fi
}

clean_up() {
    end_child
    if [ -n "$lane" ]; then
        kill -TERM "$lane" 2>/dev/null
        wait "$lane" 2>/dev/null
    fi
    if [ -n "$pg_dir" ]; then
        tests/support/postgresql.sh stop "$pg_dir" >/dev/null 2>&1
    fi
    if [ -n "$sshd_dir" ]; then
        tests/support/sshd.sh stop "$sshd_dir" >/dev/null 2>&1
    fi
    if [ -n "$my_dir" ]; then
        tests/support/mariadb.sh stop "$my_dir" >/dev/null 2>&1
    fi
}

# ---- two lanes ----

# Whole sweeps have servers of their own and mostly wait: they run beside all other tests, which
# share the servers above.
is_sweep() {
    case $1 in
    tests/integ/* | tests/fault/*) return 0 ;;
    esac
    return 1
}

run_files() {
    local file
    for file in "$@"; do
        run_file "$file"
    done
}

# Runs files and leaves what came out in a file of words for the shell.
run_lane() {
    trap end_child EXIT
    trap 'exit 143' TERM
    pg_dir='' my_dir='' sshd_dir=''
    run_files "$@"
    declare -p passed failed skipped failures >"$LOGS/lane"
}

join_lane() {
    local before=("$passed" "$failed" "$skipped") earlier=("${failures[@]}")
    wait "$lane"
    lane=
    passed=0 failed=1 skipped=0 failures=("the second lane|$LOGS/lane|ended before its end")
    if [ -s "$LOGS/lane" ]; then
        # declare would make them local to this function
        eval "$(sed 's/^declare -[-a-z]* //' "$LOGS/lane")"
    fi
    passed=$((passed + before[0]))
    failed=$((failed + before[1]))
    skipped=$((skipped + before[2]))
    failures=("${earlier[@]}" "${failures[@]}")
}

# ---- all of it ----

print_failures() {
    local entry title log trouble
    for entry in "${failures[@]}"; do
        IFS='|' read -r title log trouble <<<"$entry"
        printf '\n---- %s%s\n' "$title" "${trouble:+: $trouble}"
        [ -e "$log.tap" ] || continue
        grep -A 12 '^not ok' "$log.tap" | grep -v '^ok ' | head -n 80
        tail -n 60 "$log.err"
    done
}

main() {
    local listed file
    local -a files sweeps=() others=()
    if [ $# -eq 0 ]; then
        mapfile -t files < <(find "${FOLDERS[@]}" -maxdepth 0 2>/dev/null)
        set -- "${files[@]}"
    fi
    listed=$(list_files "$@") || exit 1
    mapfile -t files <<<"$listed"
    rm -rf "$LOGS"
    mkdir -p "$LOGS"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C.UTF-8 DBSWEEP_PLAIN=$BUILD/dbsweep
    export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
    export LSAN_OPTIONS=suppressions=$PWD/tests/support/lsan.supp:print_suppressions=0
    export TSAN_OPTIONS=exitcode=66:halt_on_error=1
    export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    if needs_servers "${files[@]}"; then
        start_postgresql
        start_mariadb
        start_sshd
    fi
    for file in "${files[@]}"; do
        if is_sweep "$file"; then
            sweeps+=("$file")
        elif [ -n "$file" ]; then
            others+=("$file")
        fi
    done
    if [ "${#sweeps[@]}" -gt 0 ]; then
        run_lane "${sweeps[@]}" &
        lane=$!
    fi
    run_files "${others[@]}"
    [ -z "$lane" ] || join_lane
    print_failures
    printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

main "$@"
