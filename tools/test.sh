#!/usr/bin/env bash
# Every test, step by step, with a summary at the end: what `make test` runs.
#
# All steps are run even if one fails; the exit status says whether all passed.
# CRASH_SEEDS, CYCLES: how many seeds of the crash simulation (of SQL's a quarter), how many kill -9.
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
    # A test program that dies has no result of its own: cargo names those that failed at the end.
    words=$(awk '/^test result:/ { passed += $4; bad += $6 }
        /^    `-p / { gsub(/^ *`|`$/, ""); targets = targets "; " $0 }
        /^(golden|differential|dumps|ddl_load|kill9|crash simulation): / { last = $0 }
        END { if (last) print last; else printf "%d passed, %d failed", passed, bad
              printf "%s", targets }' "$log")
    summary+=("$(printf '%-6s %5ds  %-28s %s' "$outcome" $((SECONDS - started)) "$name" "$words")")
}

# sharded SEEDS TEST…: a crash simulation over so many seeds from $first on, divided among the cores.
sharded() {
    local shards seeds=$1 pids=() pid bad=0
    shift
    shards=$(nproc)
    seeds=$(((seeds + shards - 1) / shards))
    cargo test "$@" --no-run || return 1
    for ((shard = 0; shard < shards; shard++)); do
        STEPPE_FIRST_SEED=$((first + shard * seeds)) STEPPE_SEEDS=$seeds \
            cargo test -q "$@" every_recovery &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
    return "$bad"
}

# Seeds beyond those that the unit tests run.
crash_simulation() {
    local first=1001 bad=0
    sharded "$crash_seeds" -p steppe-txn --test crash || bad=1
    # These are longer: whole schemas.
    sharded $((crash_seeds / 4)) -p steppe-ddl --test ddl_crash || bad=1
    STEPPE_CRASH_SEEDS="$first..$((first + crash_seeds))" \
        cargo test -q -p steppe-storage --test crash || bad=1
    echo "crash simulation: seeds $first to $((first + crash_seeds - 1)), of trees and of transactions," \
        "and to $((first + crash_seeds / 4 - 1)), of SQL"
    return "$bad"
}

step "unit and property tests" cargo test --workspace --no-fail-fast
step "crash simulation" crash_simulation
# The tester itself: with a bug planted in the engine, the simulation must fail.
step "planted bugs are caught" cargo test -p steppe-txn --features planted-bugs --test crash planted
step "binaries" cargo build --bin steppe --bin golden --bin differential --bin ddl_load --bin kill9 \
    --bin histories --bin dumps --bin bench --bin noop_server
step "golden: Steppe" "$binaries/golden" --server "$binaries/steppe"
step "golden: views" "$binaries/golden" --server "$binaries/steppe" --views
step "golden: PostgreSQL 15" "$binaries/golden" --postgres /usr/lib/postgresql/15/bin
step "random statements: PostgreSQL 15" "$binaries/differential" --server "$binaries/steppe" \
    --postgres /usr/lib/postgresql/15/bin --seed "${STEPPE_SEED:-1}" --statements 4000
step "random plans: PostgreSQL 15" "$binaries/differential" --server "$binaries/steppe" \
    --postgres /usr/lib/postgresql/15/bin --of plans --seed "${STEPPE_SEED:-1}" --statements 1200
step "random constants: PostgreSQL 15" "$binaries/differential" --server "$binaries/steppe" \
    --postgres /usr/lib/postgresql/15/bin --of constants --seed 4 --statements 2000
step "random partitions: PostgreSQL 15" "$binaries/differential" --server "$binaries/steppe" \
    --postgres /usr/lib/postgresql/15/bin --of partitions --seed "${STEPPE_SEED:-1}" --statements 3600
for subject in routines triggers keys; do
    step "random $subject: PostgreSQL 15" "$binaries/differential" --server "$binaries/steppe" \
        --postgres /usr/lib/postgresql/15/bin --of "$subject" --seed "${STEPPE_SEED:-1}" \
        --statements 1000
done
step "random schedules: PostgreSQL 15" "$binaries/differential" --server "$binaries/steppe" \
    --postgres /usr/lib/postgresql/15/bin --of schedules --seed "${STEPPE_SEED:-1}" --statements 40
# The benchmark's groups where they are small: does each work, and do both answer alike?
groups=(--only tpch --only joins --only planning --only inserts)
! command -v sysbench >/dev/null || groups+=(--only sysbench-oltp_read)
step "benchmark, small: PostgreSQL 15" "$binaries/bench" --check --steppe-bin "$binaries/steppe" \
    --server postgresql --server steppe --pg-bin /usr/lib/postgresql/15/bin "${groups[@]}"
step "dumps: PostgreSQL 15" "$binaries/dumps" --server "$binaries/steppe" \
    --postgres /usr/lib/postgresql/15/bin
step "DDL under load" "$binaries/ddl_load" --server "$binaries/steppe" --seconds 10
step "functions under load" "$binaries/ddl_load" --server "$binaries/steppe" --of routines --seconds 8
step "kill -9, $cycles cycles" "$binaries/kill9" --server "$binaries/steppe" --cycles "$cycles"
step "histories" "$binaries/histories" --server "$binaries/steppe" --rounds 2

printf '\n== summary\n'
printf '%s\n' "${summary[@]}"
if [ "$failed" -eq 0 ]; then
    echo "all tests passed in ${SECONDS}s"
else
    echo "tests FAILED, after ${SECONDS}s"
fi
exit "$failed"
