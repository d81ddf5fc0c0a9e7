#!/usr/bin/env bash
# Decoders under random and changed bytes, round after round until one fails: `make fuzz`.
#
# Protocol messages, values in text and binary, rows, keys, COPY data, bodies of functions, log records
# and what is in them, prepared transactions (property tests), then changed functions that a server runs,
# and whole databases with forged pages, log records, doublewrite and control files. Each round has a seed, which it prints: SEED=n replays it.
# ROUNDS: how many rounds; CASES: how many inputs each property test gets in a round.
set -euo pipefail
cd "$(dirname "$0")/.."
seed=${SEED:-$(date +%s)}
rounds=${ROUNDS:-${SEED:+1}}
cases=${CASES:-20000}

properties() {
    PROPTEST_RNG_SEED=$seed PROPTEST_CASES=$cases cargo test -q "$@"
}

for ((round = 1; round <= ${rounds:-round}; round++, seed++)); do
    echo "== round $round, seed $seed"
    properties -p steppe-types --test fuzz
    properties -p steppe-types --lib -- corrupt arbitrary garbage
    properties -p steppe-plpgsql --test fuzz -- changed any_text
    properties -p steppe-wire -- junk changed chunks
    properties -p steppe-storage --lib -- garbage flipped
    properties -p steppe-txn --lib -- decoding states
    STEPPE_FIRST_SEED=$((seed * 1000)) STEPPE_SEEDS=$((cases / 100)) \
        cargo test -q -p steppe-server --test changed_programs
    STEPPE_FIRST_SEED=$((seed * 1000)) STEPPE_SEEDS=$((cases / 100)) \
        cargo test -q -p steppe-txn --test corruption -- forged damage
done
