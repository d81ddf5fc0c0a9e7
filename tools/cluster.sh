#!/usr/bin/env bash
# A cluster to try: two PostgreSQL nodes and a Steppe that is their coordinator, on loopback, with
# the tables of tools/cluster.sql. All data is below one folder and stays there between runs.
#
# Usage: tools/cluster.sh start [--steppe BINARY] [--port N] [--prefix DIR]
#        tools/cluster.sh stop
#
#   --steppe BINARY  the server to run as the coordinator (target/release/steppe)
#   --port N         the coordinator's port (5440); the nodes have the next two
#   --prefix DIR     the folder of PostgreSQL's bin; otherwise that of PostgreSQL 18 if
#                    tools/pg18.sh has fetched it, else /usr/lib/postgresql/15
#
# STEPPE_CLUSTER_DIR names the folder of the data: .cluster, or /var/tmp/steppe-cluster for root.
# PostgreSQL does not run as root: then the nodes run as the user postgres.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
say() { echo "cluster: $*" >&2; }
fail() { say "$*"; exit 1; }
usage() { sed -n '5,6s/^# *//p' "$0" >&2; exit 2; }

if [ "$(id -u)" -eq 0 ]; then
    id postgres >/dev/null 2>&1 || fail "root needs a user postgres to run the nodes: tools/set-up.sh test makes one"
    data=${STEPPE_CLUSTER_DIR:-/var/tmp/steppe-cluster}
    as_node() { (cd / && exec runuser -u postgres -- "$@"); }
else
    data=${STEPPE_CLUSTER_DIR:-$root/.cluster}
    as_node() { "$@"; }
fi
pid_file=$data/pid

# The process that has started the cluster, if it is still there.
runs() {
    local pid
    pid=$(cat "$pid_file" 2>/dev/null) || return 1
    [ -r "/proc/$pid/cmdline" ] && tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q 'cluster\.sh start' &&
        echo "$pid"
}

stop_node() {
    local prefix
    [ -e "$data/$1/postmaster.pid" ] || return 0
    prefix=$(cat "$data/prefix")
    as_node "$prefix/bin/pg_ctl" -D "$data/$1" -m fast -s -w stop || say "$1 does not stop"
}

coordinator=
stop_all() {
    trap - EXIT INT TERM
    if [ -n "$coordinator" ] && kill "$coordinator" 2>/dev/null; then
        wait "$coordinator" 2>/dev/null || true
    fi
    stop_node n1
    stop_node n2
    rm -f "$pid_file"
    say "stopped; the data stays in $data"
}

stop() {
    local pid
    if pid=$(runs); then
        kill "$pid"
        while [ -e "/proc/$pid" ]; do sleep 0.1; done
    elif [ -e "$data/prefix" ]; then
        # Its process was killed: the servers may still run.
        pid=$(cat "$data/coordinator.pid" 2>/dev/null || echo 0)
        if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q -e "--data-dir $data/coordinator "; then
            kill "$pid"
        fi
        stop_node n1
        stop_node n2
    fi
}

# The folder of a PostgreSQL that the nodes' user can run.
find_postgres() {
    local found
    for found in "$root/.oracle/pg18" /usr/lib/postgresql/15; do
        if as_node test -x "$found/bin/postgres" 2>/dev/null; then
            echo "$found"
            return
        fi
    done
    fail "there is no PostgreSQL: run tools/set-up.sh test, or name one with --prefix"
}

# start_node NAME PORT
start_node() {
    if [ ! -e "$data/$1/PG_VERSION" ]; then
        as_node "$prefix/bin/initdb" -D "$data/$1" --username=postgres --auth=trust \
            --encoding=UTF8 --no-locale >"$data/$1.log" 2>&1 || fail "initdb failed: see $data/$1.log"
    elif [ "$(cat "$data/$1/PG_VERSION")" != "$("$prefix/bin/postgres" --version | grep -oE '[0-9]+' | head -n 1)" ]; then
        fail "$data/$1 is of PostgreSQL $(cat "$data/$1/PG_VERSION"): remove $data, or name that one with --prefix"
    fi
    as_node "$prefix/bin/pg_ctl" -D "$data/$1" -l "$data/$1/server.log" -s -w start -o \
        "-c port=$2 -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=100 -c max_prepared_transactions=100" ||
        fail "$1 does not start: see $data/$1/server.log"
}

ask() { psql -X -A -t -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U postgres -d postgres "$@"; }

start_coordinator() {
    "$steppe" serve --listen "127.0.0.1:$port" --data-dir "$data/coordinator" >"$data/coordinator.log" 2>&1 &
    coordinator=$!
    echo "$coordinator" >"$data/coordinator.pid"
    for _ in $(seq 300); do
        ask -c 'SELECT 1' >/dev/null 2>&1 && return
        kill -0 "$coordinator" 2>/dev/null || break
        sleep 0.1
    done
    fail "the coordinator does not start: see $data/coordinator.log"
}

start() {
    steppe=$root/target/release/steppe port=5440 prefix=
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || usage
        case $1 in
        --steppe) steppe=$2 ;;
        --port) port=$2 ;;
        --prefix) prefix=$2 ;;
        *) usage ;;
        esac
        shift 2
    done
    [[ $port =~ ^[0-9]+$ ]] || usage
    [ -x "$steppe" ] || fail "there is no $steppe: run make cluster"
    command -v psql >/dev/null || fail "there is no psql: run tools/set-up.sh test"
    ! runs >/dev/null || fail "it runs already: make cluster-stop stops it"
    if [ -n "$prefix" ]; then
        as_node test -x "$prefix/bin/postgres" || fail "there is no $prefix/bin/postgres that the nodes' user can run"
    else
        prefix=$(find_postgres)
    fi
    mkdir -p "$data"
    [ "$(id -u)" -ne 0 ] || chown postgres "$data"
    echo $$ >"$pid_file"
    echo "$prefix" >"$data/prefix"
    trap stop_all EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM

    say "starting two nodes: $("$prefix/bin/postgres" --version), ports $((port + 1)) and $((port + 2))"
    start_node n1 $((port + 1))
    start_node n2 $((port + 2))
    say "starting the coordinator"
    start_coordinator
    # A second start finds the nodes and the tables, unless the ports are others now.
    for n in 1 2; do
        words="HOST = '127.0.0.1', PORT = $((port + n))"
        case $(ask -c "SELECT node_port FROM pgxc_node WHERE node_name = 'n$n'") in
        '') ask -c "CREATE NODE n$n WITH (TYPE = 'datanode', $words)" ;;
        $((port + n))) ;;
        *) ask -c "ALTER NODE n$n WITH ($words)" ;;
        esac
    done
    if [ -z "$(ask -c "SELECT 1 FROM pg_class WHERE relname = 'accounts'")" ]; then
        say "making the tables of tools/cluster.sql"
        ask -f "$root/tools/cluster.sql" >/dev/null
    fi
    cat <<END

Connect with:  psql -h 127.0.0.1 -p $port -U postgres postgres

    SELECT * FROM accounts WHERE aid = 7;
    EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM accounts a LEFT JOIN messages m ON a.aid = m.l_aid WHERE a.aid = 7;
    SELECT move(7, 8, 100);
    EXECUTE DIRECT ON (n1) 'SELECT count(*) FROM accounts';

Ctrl-C here, or make cluster-stop elsewhere, stops it.
END
    wait "$coordinator"
    fail "the coordinator has ended: see $data/coordinator.log"
}

case ${1:-} in
start) shift && start "$@" ;;
stop) [ $# -eq 1 ] || usage; stop ;;
*) usage ;;
esac
