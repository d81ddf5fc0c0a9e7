#!/usr/bin/env bash
# Extracts PostgreSQL's built-in catalog rows (facts: OIDs, names, signatures; no
# descriptions) from a live server into crates/catalog/data/*.tsv; the functions of extensions into
# the crates that have their code.
#
# Usage: tools/extract-catalog.sh HOST PORT        (a fresh PostgreSQL 18 cluster, C locale)
#
# Each file is COPY text format with a header line. regproc columns are written as OIDs.
set -euo pipefail
host=${1:?host} port=${2:?port}
crates=$(dirname "$0")/../crates
out=$crates/catalog/data
run() { psql -X -q -h "$host" -p "$port" -U postgres -d postgres -v ON_ERROR_STOP=1 "$@"; }

# Select list of a catalog: every column, with regproc as oid and without ACLs and parse trees
# (pg_node_tree is meaningless outside the server; default arguments are written as text).
columns() {
    run -At -c "select string_agg(case when atttypid = 'regproc'::regtype then attname || '::oid'
        else quote_ident(attname) end, ', ' order by attnum) from pg_attribute
        where attrelid = 'pg_catalog.$1'::regclass and attnum > 0 and not attisdropped
        and atttypid not in ('pg_node_tree'::regtype, 'aclitem[]'::regtype)"
}
dump() { # catalog, file, extra column, where, order
    run -c "copy (select $(columns "$1")$3 from pg_catalog.$1 t where $4 order by $5) to stdout (header)" \
        > "$out/$2.tsv"
}
dump pg_type pg_type "" "oid < 16384" oid
dump pg_proc pg_proc ", pg_get_expr(proargdefaults, 0) as argdefaults" "oid < 16384" oid
dump pg_operator pg_operator "" "oid < 16384" oid
dump pg_cast pg_cast "" "oid < 16384" oid
dump pg_aggregate pg_aggregate "" "aggfnoid < 16384" "aggfnoid::oid"
dump pg_am pg_am "" true oid
dump pg_opfamily pg_opfamily "" "oid < 16384" oid
dump pg_opclass pg_opclass "" "oid < 16384" oid
dump pg_amop pg_amop "" "oid < 16384" oid
dump pg_amproc pg_amproc "" "oid < 16384" oid
dump pg_collation pg_collation "" "collname in ('default', 'C', 'POSIX', 'ucs_basic', 'pg_c_utf8', 'unicode')" oid
dump pg_language pg_language "" "oid < 16384" oid
dump pg_range pg_range "" true rngtypid

# The shapes of the system catalogs and views themselves: relation, kind, column, type, not null.
run -c "copy (select c.oid, n.nspname, c.relname, c.relkind, a.attnum, a.attname, a.atttypid,
        a.atttypmod, a.attnotnull, a.attcollation
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid
    where n.nspname in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'v')
    and a.attnum > 0 and not a.attisdropped and c.oid < 16384
    order by c.oid, a.attnum) to stdout (header)" > "$out/system_columns.tsv"

# Their indexes (all are B-trees of plain columns, ascending) and constraints, without those of
# TOAST tables.
run -c "copy (select i.indexrelid, c.relname, i.indrelid, i.indisunique, i.indisprimary, i.indkey
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
    where i.indexrelid < 16384 and t.relkind = 'r' order by 1) to stdout (header)" \
    > "$out/system_indexes.tsv"
run -c "copy (select o.oid, o.conname, o.contype, o.conrelid, o.conindid, o.conkey
    from pg_constraint o join pg_class t on t.oid = o.conrelid
    where o.oid < 16384 and t.relkind = 'r' order by 1) to stdout (header)" \
    > "$out/system_constraints.tsv"

# The privileges that initdb grants. information_schema's own OID is not PostgreSQL's here.
run -c "copy (
        select a.class::oid as classoid, a.oid as objoid, a.sub as objsubid, a.acl, i.privtype
    from (select 'pg_class'::regclass, oid, 0, relacl from pg_class where relkind in ('r', 'v')
        union all select 'pg_class'::regclass, attrelid, attnum, attacl from pg_attribute
        union all select 'pg_proc'::regclass, oid, 0, proacl from pg_proc
        union all select 'pg_namespace'::regclass, oid, 0, nspacl from pg_namespace
            where nspname in ('pg_catalog', 'public')) a (class, oid, sub, acl)
    left join pg_init_privs i on (i.classoid, i.objoid, i.objsubid) = (a.class, a.oid, a.sub)
    where a.oid < 16384 and acl is not null order by 1, 2, 3) to stdout (header)" \
    > "$out/initial_acls.tsv"

# Settings, as pg_settings describes them.
run -c "copy (select name, unit, category, context, vartype, min_val, max_val, enumvals, boot_val
    from pg_settings order by name) to stdout (header)" > "$out/pg_settings.tsv"

# The functions of pg_pathman: their signatures are declared in a schema of their own. The schema's OID is
# left 0 (it is where CREATE EXTENSION puts it), the OIDs are ours, from what initdb leaves free.
run -f "$(dirname "$0")/pg_pathman.sql" > /dev/null
run -c "copy (select 15599 + row_number() over (order by t.oid) as oid, proname, 0 as pronamespace, proowner,
        13 as prolang, $(columns pg_proc | sed 's/^oid, proname, pronamespace, proowner, prolang, //; s/, probin,/, '"'"'\$libdir\/pg_pathman'"'"' as probin,/'),
        pg_get_expr(proargdefaults, 0) as argdefaults
    from pg_catalog.pg_proc t where pronamespace = 'pathman'::regnamespace order by 1) to stdout (header)" \
    > "$crates/pathman/data/pg_pathman.tsv"
run -c "drop schema pathman cascade" 2> /dev/null

# The functions of pg_stat_statements, likewise; the module must be there.
run -c "create extension pg_stat_statements"
run -c "copy (select 15699 + row_number() over (order by proname) as oid, proname, 0 as pronamespace, proowner,
        13 as prolang, $(columns pg_proc | sed 's/^oid, proname, pronamespace, proowner, prolang, //'),
        pg_get_expr(proargdefaults, 0) as argdefaults
    from pg_catalog.pg_proc t where probin = '\$libdir/pg_stat_statements' order by 1) to stdout (header)" \
    > "$crates/server/data/pg_stat_statements.tsv"
run -c "drop extension pg_stat_statements"
