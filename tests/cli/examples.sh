#!/usr/bin/env bash
# The examples: each is a good sweep file as it stands, and measures what it says. They are checked
# without their servers; the demo is run by `make demo`.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"

cp "$TOP"/examples/*.cfg "$TOP"/examples/*.csv "$TOP"/examples/*.sql "$TMP/"
for example in "$TOP"/examples/*.cfg; do
    name=$(basename "$example" .cfg)
    run_ok "$name is a good sweep file" "$DBSWEEP" check --offline "$TMP/$name.cfg"
    is "$name has no line that is too long" "$(grep -nE '^.{101,}' "$example")" ''
done

run_ok 'the demo lists its points' "$DBSWEEP" check --offline --points "$TMP/demo-sqlite.cfg"
like 'the demo has at least twelve points beside the baseline' "$OUTPUT" '*measured combinations: 13*'
is 'nothing was made' "$(find "$TMP" -type f ! -name '*.cfg' -newer "$TMP/demo-sqlite.cfg" |
    grep -cE '\.(db|sqlite)')" 0
plan
