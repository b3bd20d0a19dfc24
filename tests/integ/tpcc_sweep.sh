#!/usr/bin/env bash
# A sweep of a real PostgreSQL under TPC-C, ranked by New-Orders a minute; the per-statement table as
# published experiments print it; the workload alone, with its JSON; and foreign tables, which end
# the sweep before anything is touched.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_postgresql

config=$DBSWEEP_TEST_PG_CONFIG
sweep=$TMP/tpcc.cfg
store=$TMP/tpcc.db
PG_WORKLOAD='kind = "tpcc"; warehouses = 1; clients = 4; warm_up = "500ms"; measure = "4s";
  drain = "30s"; prepare_timeout = "10min";'
pg_sweep "$sweep" 'commit_delay = [ 1000, 5000 ];'
sed -i 's/by = "throughput_per_s"/by = "notpm"/' "$sweep"
keep "$config"

# ---- foreign data ----
own_psql 'create table customer (id integer, name text)' >"$TMP/out"
own_psql "insert into customer values (7, 'Ada')" >"$TMP/out"
run_status 'a foreign customer ends it' 2 "$DBSWEEP" run "$sweep"
like 'and is named' "$ERRORS" '*a table or view customer exists that dbsweep did not make*'
is 'nothing was made beside it' "$(own_psql "select string_agg(relname, ' ') from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace")" customer
is 'its row is there' "$(own_psql 'select name from customer')" Ada
unchanged 'after a refusal' "$config"
own_psql 'drop table customer' >"$TMP/out"
rm -f "$store"

# ---- the sweep ----
run_ok 'the sweep runs to its end' "$DBSWEEP" run "$sweep"
unchanged 'after the sweep' "$config"
is 'every point was measured, and the baseline' "$(store_query "$store" \
    "SELECT count(DISTINCT point_id) FROM trial WHERE status = 'done'")" 3
is 'each trial had its data reset and checked' "$(store_query "$store" \
    "SELECT count(*) FROM stage WHERE name = 'check' AND outcome = 'done'")" \
    "$(store_query "$store" "SELECT count(*) FROM trial")"
run_ok 'rank prints JSON' "$DBSWEEP" rank "$store" --format json
is 'all points, by falling NOTPM' "$(jq '[.[].metrics.notpm.mean] |
    length == 3 and . == (sort | reverse) and .[2] > 0' <<<"$OUTPUT")" true

trial=$(store_query "$store" "SELECT max(trial_id) FROM trial")
run_ok 'show prints a trial' "$DBSWEEP" show "$store" "$trial"
names=$(grep -E '^(new_order|payment|order_status|delivery|stock_level)\.' <<<"$OUTPUT" |
    awk '{ print $1 }' | grep -vE '\.(begin|commit|rollback)$')
is 'with the 33 statements of TPC-C' "$(sort -u <<<"$names" | wc -l)" 33
like 'and their columns' "$OUTPUT" '*name *total *min *max *avg *num*'
like 'and totals' "$OUTPUT" '*totals *.?????? * - * - * - *'
like 'and rates' "$OUTPUT" '*time: 4.000, total transactions: *, TPM: *, SPM: *, NOTPM: *'
is 'whose columns stand under each other' "$(grep -E '^(name|new_order\.|totals )' <<<"$OUTPUT" |
    awk '{ print length($0) }' | sort -u | wc -l)" 1
run_ok 'show prints JSON' "$DBSWEEP" show "$store" "$trial" --format json
is 'whose totals are those of its transactions' "$(jq '(.totals.notpm -
    ([.transactions[] | select(.transaction == "new_order") | .count] | add) * 15 | fabs) < 0.01 and
    .totals.transactions == ([.transactions[].count] | add)' <<<"$OUTPUT")" true
is 'and hold five transactions' "$(jq -r '[.transactions[].transaction] | join(" ")' \
    <<<"$OUTPUT")" 'new_order payment order_status delivery stock_level'

# ---- the workload alone ----
there=(--backend postgresql --connect "$DBSWEEP_TEST_PG_CONNECT" --quiet)
run_ok 'all conditions hold after the sweep' "$DBSWEEP" load tpcc check "${there[@]}" --format json
is 'and each is told' "$(jq '.holds | length' <<<"$OUTPUT")" 12
run_ok 'it drives' "$DBSWEEP" load tpcc run "${there[@]}" --clients 3 --warm-up 0s \
    --measure 3s --rollback-pct 50 --payment-by-name-pct 100 --format json
is 'with the JSON of a trial' "$(jq -r '[(.totals.notpm > 0), (.metrics.notpm > 0),
    (.statements | map(.statement) | index("rollback") != null), .distribution, .clients,
    ([.statements[] | select(.statement == "select_customer_by_id")] | length)] | tostring' \
    <<<"$OUTPUT")" '[true,true,true,"nurand",3,0]'
run_ok 'it drives, for people' "$DBSWEEP" load tpcc run "${there[@]}" --clients 3 --warm-up 0s \
    --measure 2s
is 'with the share and the times of each transaction' "$(grep -cE \
    '^(new_order|payment|order_status|delivery|stock_level): [0-9]+, [0-9.]+ %, p50 .* ms$' \
    <<<"$OUTPUT")" 5
own_psql "update customer set c_balance = c_balance + 1 where c_d_id = 2 and c_id = 5" >"$TMP/out"
run_status 'what is broken is found' 1 "$DBSWEEP" load tpcc check "${there[@]}"
like 'and named' "$ERRORS" '*consistency condition 10 of TPC-C is broken 1 time:*; condition 12 1 time:*'
is 'beside what holds' "$(grep -c ' holds: ' <<<"$OUTPUT")" 9
run_status 'which JSON says too' 1 "$DBSWEEP" load tpcc check "${there[@]}" --format json
is 'as an object' "$(jq -r '[.status, .class, (.reason | test("condition 10")), (.holds | length)] |
    tostring' <<<"$OUTPUT")" '["failed","POINT",true,10]'
run_ok 'a used load is made anew' "$DBSWEEP" load tpcc prepare "${there[@]}"
run_ok 'and is whole' "$DBSWEEP" load tpcc check "${there[@]}"
run_status 'other data are not driven' 1 "$DBSWEEP" load tpcc run "${there[@]}" \
    --warehouses 2 --measure 1s
like 'which it says' "$ERRORS" '*not loaded as this workload asks*load tpcc prepare*'
run_status 'terminals must fit' 2 "$DBSWEEP" load tpcc run "${there[@]}" --terminals 10 --clients 8
like 'and how is said' "$ERRORS" '*8 clients are not 10 terminals*clients = 10;*'
run_ok 'cleanup' "$DBSWEEP" load tpcc cleanup "${there[@]}"
is 'leaves nothing' "$(own_psql "select count(*) from pg_class where relkind = 'r'
    and relnamespace = 'public'::regnamespace")" 0
plan
