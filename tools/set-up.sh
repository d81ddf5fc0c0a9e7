#!/usr/bin/env bash
# Installs what is missing and says so; does nothing, quickly, where all is there.
#
# Usage: tools/set-up.sh build   what compiling needs: a C compiler and libclang (for the binding
#                                to PostgreSQL's parser); psql, to talk to the server
#        tools/set-up.sh test    also PostgreSQL 15's server and pgbench (the oracle tests)
#
# Debian 12's packages are installed with apt-get, through sudo unless you are root.
set -euo pipefail
what=${1:?build or test}
say() { echo "set-up: $*" >&2; }
fail() { say "$*"; exit 1; }
missing=()

# Rust itself is not ours to install: rustup's own way asks questions.
command -v cargo >/dev/null ||
    fail "Rust is not installed (no cargo in PATH): install it with rustup, see https://rustup.rs"

# rustup gets the toolchain that rust-toolchain.toml names; any other cargo may be too old.
cd "$(dirname "$0")/.."
needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
found=$(cargo --version | cut -d ' ' -f 2)
[ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" = "$needed" ] ||
    fail "cargo is version $found, this needs $needed: run rustup update stable, or see https://rustup.rs"

has_libclang() {
    # Where the binding looks, in short: the loader's cache and LLVM's own folders. It cannot use
    # libclang-cpp (the C++ interface), which other packages bring along.
    { ldconfig -p 2>/dev/null || true; compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' || true; } |
        grep -v 'libclang-cpp' | grep -c 'libclang[-.]' >/dev/null
}
# PostgreSQL's headers include the compiler's own (stddef.h): libclang needs them beside it.
has_clang_headers() { compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' >/dev/null; }

command -v cc >/dev/null || missing+=(build-essential)
[ -n "${LIBCLANG_PATH:-}" ] || has_libclang || missing+=(libclang1-14)
[ -n "${LIBCLANG_PATH:-}" ] || has_clang_headers || missing+=(libclang-common-14-dev)
command -v psql >/dev/null || missing+=(postgresql-client-15)
if [ "$what" = test ]; then
    [ -x /usr/lib/postgresql/15/bin/initdb ] && [ -x /usr/lib/postgresql/15/bin/pgbench ] ||
        missing+=(postgresql-15)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

command -v apt-get >/dev/null ||
    fail "this needs Debian's packages ${missing[*]}, or your system's equivalents: install them first"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "neither root nor sudo: have ${missing[*]} installed for you"
    as_root=(sudo)
fi
say "installing ${missing[*]} with apt-get${as_root[*]:+ (through sudo)}"
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2; }
"${as_root[@]}" apt-get update -qq >&2
if [[ " ${missing[*]} " == *" postgresql-15 "* ]]; then
    # The tests make clusters of their own: the package need not make one and start it.
    install postgresql-common
    "${as_root[@]}" sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' \
        /etc/postgresql-common/createcluster.conf
    say "set create_main_cluster = false in /etc/postgresql-common/createcluster.conf"
fi
install "${missing[@]}"
