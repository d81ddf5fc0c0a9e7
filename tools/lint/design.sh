#!/usr/bin/env bash
# Checks docs/design.md and the references to it.
#
# 1. No comment or page names a decision as "design D7": that numbering has no document.
# 2. Every reference of the form `design.md 5.4` names a heading of docs/design.md.
# 3. Every file and module that docs/design.md names exists, and so does every page that it links to.
set -euo pipefail
cd "$(dirname "$0")/../.."
design=docs/design.md
failed=0

# complain WHAT: a line of the report.
complain() {
    printf '%s\n' "$1"
    failed=1
}

# Everything that may refer to the design, except this script.
references() {
    grep -rnE --include='*.rs' --include='*.md' --include='*.sh' --include='*.sql' --include='*.toml' \
        --exclude=design.sh "$1" crates docs tests tools ./*.md ./*.toml || true
}

while IFS= read -r line; do
    complain "$line: write the section instead, as in 'docs/design.md 5.4'"
done < <(references "[Dd]esign('s)? (D[0-9]|rule [0-9])|invariant [0-9]+ of the design|^ *//[/!]? D[0-9]+[).:,; ]")

headings=$(sed -nE 's/^##+ ([0-9]+(\.[0-9]+)?)\.? .*/\1/p' "$design")
while IFS= read -r line; do
    while IFS= read -r number; do
        grep -qxF "$number" <<<"$headings" ||
            complain "${line%%:*}: $design has no section $number: ${line#*:}"
    done < <(grep -oE 'design\.md [0-9]+(\.[0-9]+)?' <<<"$line" | cut -d' ' -f2)
done < <(references 'design\.md [0-9]')

# exists NAME: a path of the repository, or `crate/module`: crates/crate/src/module.rs, or a folder.
exists() {
    [ -e "$1" ] && return
    local crate=${1%%/*} module=${1#*/}
    [ -e "crates/$crate/src/$module.rs" ] || [ -d "crates/$crate/src/$module" ]
}

crates=$(cd crates && printf '%s|' */)
while IFS= read -r name; do
    exists "$name" || complain "$design: there is no $name"
done < <(grep -oE '`[^` ]+/[^` ]+`' "$design" | tr -d '`' | grep -E "^(${crates}crates/|docs/|tests/|tools/)" | sort -u)

while IFS= read -r page; do
    [ -e "docs/$page" ] || complain "$design: there is no docs/$page"
done < <(grep -oE '\]\([^)#:]+\)' "$design" | sed -E 's/^\]\((.*)\)$/\1/' | sort -u)

exit "$failed"
