#!/usr/bin/env bash
# Every test, step by step, with a summary at the end: what `make test` runs.
#
# All steps are run even if one fails; the exit status says whether all passed.
# CRASH_SEEDS, CYCLES: how many seeds of the crash simulation, how many kill -9.
set -uo pipefail
cd "$(dirname "$0")/.."
crash_seeds=${CRASH_SEEDS:-2000}
cycles=${CYCLES:-20}
binaries=${CARGO_TARGET_DIR:-target}/debug
log=$(mktemp)
trap 'rm -f "$log"' EXIT
summary=()
failed=0

# step NAME COMMAND…: runs it, keeps its time and its own last word for the summary.
step() {
    local name=$1 started=$SECONDS outcome=ok words
    shift
    printf '\n== %s\n' "$name"
    "$@" 2>&1 </dev/null | tee "$log"
    [ "${PIPESTATUS[0]}" -eq 0 ] || { outcome=FAILED; failed=1; }
    words=$(awk '/^test result:/ { passed += $4; bad += $6 } /^(golden|kill9): / { last = $0 }
        END { if (passed + bad) printf "%d passed, %d failed", passed, bad; else print last }' "$log")
    summary+=("$(printf '%-6s %5ds  %-28s %s' "$outcome" $((SECONDS - started)) "$name" "$words")")
}

step "unit and property tests" cargo test --workspace
step "crash simulation" env STEPPE_SEEDS="$crash_seeds" STEPPE_FIRST_SEED=121 \
    cargo test -p steppe-txn --test crash
step "crash simulation, trees" env STEPPE_CRASH_SEEDS="120..$((120 + crash_seeds / 4))" \
    cargo test -p steppe-storage --test crash
# The tester itself: with a bug planted in the engine, the simulation must fail.
step "planted bugs are caught" cargo test -p steppe-txn --features planted-bugs --test crash planted
step "binaries" cargo build --bin steppe --bin golden --bin kill9
step "golden: Steppe" "$binaries/golden" --server "$binaries/steppe"
step "golden: PostgreSQL 15" "$binaries/golden" --postgres /usr/lib/postgresql/15/bin
step "kill -9, $cycles cycles" "$binaries/kill9" --server "$binaries/steppe" --cycles "$cycles"

printf '\n== summary\n'
printf '%s\n' "${summary[@]}"
if [ "$failed" -eq 0 ]; then
    echo "all tests passed in ${SECONDS}s"
else
    echo "tests FAILED, after ${SECONDS}s"
fi
exit "$failed"
