#!/usr/bin/env bash
# Every shell script, through the analyser of that name.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
cd "$TOP" || exit 1

if ! command -v shellcheck >/dev/null; then
    skip_all 'shellcheck is not here'
fi
mapfile -t scripts < <(find tests examples -name '*.sh' | sort)
[ ! -e .ci/run ] || scripts+=(.ci/run)
for script in "${scripts[@]}"; do
    run_ok "shellcheck $script" shellcheck -x -P SCRIPTDIR -e SC1091 "$script"
    [ "$STATUS" -eq 0 ] || printf '%s\n' "$OUTPUT" | sed 's/^/# /'
done
plan
