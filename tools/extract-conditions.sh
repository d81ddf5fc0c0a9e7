#!/usr/bin/env bash
# Extracts the names of PostgreSQL's error conditions and their SQLSTATEs (facts) from the file that an
# installation ships, into crates/plpgsql/data/conditions.tsv.
#
# Usage: tools/extract-conditions.sh SHAREDIR       (pg_config --sharedir of PostgreSQL 18)
set -euo pipefail
share=${1:?the share directory of PostgreSQL 18}
out=$(dirname "$0")/../crates/plpgsql/data/conditions.tsv
# A line: SQLSTATE, E (error) or W or S, the macro, the condition's name if it has one.
awk 'length($1) == 5 && $2 == "E" && NF >= 4 { print $4 "\t" $1 }' "$share/errcodes.txt" > "$out"
