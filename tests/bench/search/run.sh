#!/usr/bin/env bash
# The proofs of the strategies: their figures, those of peers on the same grids with the same noise,
# and which targets are met.
#
#   tests/bench/search/run.sh PROGRAM
#
# REPLAY_DATA: a folder of measured grids (CSV); without it made-up ones alone. SEEDS (20), PEER_SEEDS
# (5): sweeps of each. One core, for an hour or two with measured grids; less with fewer seeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

program=${1:?usage: run.sh PROGRAM}
seeds=${SEEDS:-20}
peer_seeds=${PEER_SEEDS:-5}
folder=${REPLAY_DATA:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/dbsweep-search.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/grids"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

part() {
    printf '== %s\n' "$1"
    "$program" "$1" "$2" "$folder" | tee -a "$work/figures"
}

[ -z "$folder" ] || [ -d "$folder" ] || {
    printf 'run.sh: no folder %s\n' "$folder" >&2
    exit 2
}
"$program" dump 1 "$folder" "$work/grids"
part speed 1
part search "$seeds"
printf 'peers on the same, %s seeds\n' "$peer_seeds"
for peer in tpe-plain tpe forest; do
    /usr/bin/python3 tests/bench/search/peers.py "$peer" "$peer_seeds" "$work/grids"
done
part stop "$seeds"
part confirm "$seeds"
part failing "$seeds"
part own $((seeds * 2))
part alike 1
printf '== targets: %s met, %s not\n' "$(grep -c '^  met ' "$work/figures")" \
    "$(grep -c '^  NOT MET ' "$work/figures" || true)"
