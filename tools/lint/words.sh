#!/usr/bin/env bash
# Counts sentences of code comments that are hard to read, by crate. A crate's count may only shrink.
#
#   tools/lint/words.sh            compares with tools/lint/words.txt
#   tools/lint/words.sh CRATE…     lists the sentences of these crates, with what to do about each kind
#   tools/lint/words.sh --update   writes tools/lint/words.txt: after a rewrite, or when comments moved
#                                  from one crate to another
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
counts=tools/lint/words.txt

sentences() {
    find crates -name '*.rs' -print0 | sort -z | xargs -0 awk -f tools/lint/words.awk
}

by_crate() {
    sentences | awk -F '\t' '{ count[$1]++ } END { for (crate in count) print crate, count[crate] }' | sort
}

advice() {
    cat <<'RULES'
  begins with What          write the noun: "What X does" is "The effect of X", or only its name
  who, whom                 name the actor: the session, the transaction, the reader, the thread
  nobody, somebody          "no other session", "another transaction"
  so many, so long          the name of the number, or "at most N"
  comes to                  "is", "results in", "follows"
  apart, alike              "separately", "the same way", "distinguish"
  whatever, be it           "for any", "even if"
  begins with Of            the subject first
  begins with a negation    say what happens
  goes, go                  the exact verb: is dropped, is freed, is removed, is sent
  those that                repeat the noun
  more than 40 words        two sentences
  two colons or semicolons  one clause a sentence
RULES
}

case ${1:-} in
--update)
    by_crate >"$counts"
    exit
    ;;
?*)
    for crate in "$@"; do
        sentences | awk -F '\t' -v crate="$crate" '$1 == crate { printf "%s: %s: %s\n", $3, $2, $4 }'
    done
    advice
    exit
    ;;
esac

grown=$(by_crate | awk 'NR == FNR { allowed[$1] = $2; next }
    $2 > allowed[$1] + 0 { printf "%s has %d hard sentences, %d were allowed\n", $1, $2, allowed[$1] + 0 }' "$counts" -)
if [ -n "$grown" ]; then
    printf '%s\n' "$grown"
    echo "Rewrite the new sentences: actor first, one clause a sentence. 'tools/lint/words.sh CRATE' lists all of a crate."
    echo "If comments only moved from one crate to another: 'tools/lint/words.sh --update'."
    advice
    exit 1
fi
