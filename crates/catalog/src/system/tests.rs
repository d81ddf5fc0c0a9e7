//! Compares computed rows with a live PostgreSQL 18's for the same objects (the fixture in
//! [`super::testing`]), in psql's unaligned format.

use super::session::{NoSession, POSTGRES_DATABASE};
use super::testing::{self, ACC, ACC_EXPR, ACC_NND, ACC_PKEY, IDENT, SEQ, VIEW};
use super::*;
use crate::snapshot::Catalog;
use crate::{PG_CATALOG, RelKind};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Result, text_io};

fn context(catalog: &Catalog) -> SystemContext<'_> {
    SystemContext {
        catalog,
        database: "postgres",
        database_oid: POSTGRES_DATABASE,
        session: &NoSession,
    }
}

/// The output of psql -A -t for `SELECT columns FROM schema.name`: rows where `key` is one of
/// `keys`.
fn select(catalog: &Catalog, name: &str, columns: &str, key: &str, keys: &[&str]) -> Vec<String> {
    let (schema, name) = name.split_once('.').unwrap_or(("pg_catalog", name));
    let shape = shape::named(schema, name).expect("a system catalog");
    let rows = rows(shape.oid, &context(catalog)).expect("readable").expect("provided");
    let position = |column: &str| shape.position(column).unwrap_or_else(|| panic!("{column}"));
    let columns: Vec<usize> = columns.split(", ").map(position).collect();
    let show = |row: &[Datum], at: usize| {
        let mut out = Vec::new();
        if !row[at].is_null() {
            let ty = shape.columns[at].type_oid;
            text_io::output(ty, &row[at], &IoContext::default(), &mut out).expect("printable");
        }
        String::from_utf8(out).expect("text")
    };
    let key = position(key);
    rows.iter()
        .filter(|row| keys.contains(&show(row, key).as_str()))
        .map(|row| columns.iter().map(|at| show(row, *at)).collect::<Vec<_>>().join("|"))
        .collect()
}

/// The rows about relations with these OIDs.
fn about(name: &str, columns: &str, key: &str, oids: &[u32]) -> Vec<String> {
    let oids: Vec<String> = oids.iter().map(u32::to_string).collect();
    let oids: Vec<&str> = oids.iter().map(String::as_str).collect();
    select(&testing::accounts(), name, columns, key, &oids)
}

#[test]
fn pg_class() {
    let columns = "relname, relam, relpages, reltuples, relhasindex, relkind, relnatts, \
                   relchecks, relhasrules, relreplident";
    assert_eq!(
        about("pg_class", columns, "oid", &[ACC, ACC_PKEY, ACC_NND, VIEW, SEQ]),
        [
            "acc|2|0|-1|t|r|8|1|f|d",
            "acc_pkey|403|1|0|f|i|1|0|f|n",
            "acc_nnd|403|1|0|f|i|1|0|f|n",
            "v|0|0|-1|f|v|2|0|t|n",
            "s|0|1|1|f|S|3|0|f|n",
        ]
    );
    assert_eq!(about("pg_class", "reloptions", "oid", &[ACC_NND]), ["{fillfactor=70}"]);
    assert_eq!(
        about("pg_class", "relname, relnamespace, relkind, relnatts", "oid", &[1259, 12033]),
        ["pg_class|11|r|34", "pg_tables|11|v|8"]
    );
}

#[test]
fn pg_attribute_of_tables() {
    let columns = "attname, atttypid, attlen, attnum, atttypmod, attndims, attbyval, attalign, \
                   attstorage, attnotnull, atthasdef, attidentity, attisdropped, attcollation";
    let rows = about("pg_attribute", columns, "attrelid", &[ACC, IDENT]);
    assert_eq!(
        rows[..2],
        ["tableoid|26|4|-6|-1|0|t|i|p|t|f||f|0", "cmax|29|4|-5|-1|0|t|i|p|t|f||f|0",]
    );
    assert_eq!(rows[5], "ctid|27|6|-1|-1|0|f|s|p|t|f||f|0");
    assert_eq!(
        rows[6..14],
        [
            "id|23|4|1|-1|0|t|i|p|t|t||f|0",
            "Name|1043|-1|2|24|0|f|i|x|t|t||f|100",
            "balance|1700|-1|3|655366|0|f|i|m|f|t||f|0",
            "note|25|-1|4|-1|0|f|i|x|f|f||f|100",
            "a|23|4|5|-1|0|t|i|p|f|f||f|0",
            "b|23|4|6|-1|0|t|i|p|f|f||f|0",
            "ts|1184|8|7|-1|0|t|d|p|f|t||f|0",
            "........pg.dropped.8........|0|-1|8|-1|1|f|i|x|f|f||t|0",
        ]
    );
    assert_eq!(
        rows[20..],
        [
            "k|20|8|1|-1|0|t|d|p|t|f|a|f|0",
            "v|25|-1|2|-1|0|f|i|x|f|f||f|950",
            "c|1042|-1|3|7|0|f|i|x|f|f||f|100",
        ]
    );
}

#[test]
fn pg_attribute_of_other_relations() {
    let columns = "attname, atttypid, attlen, attnum, attcollation, attnotnull";
    assert_eq!(
        about("pg_attribute", columns, "attrelid", &[ACC_EXPR]),
        [
            "lower|25|-1|1|100|f",
            "expr|23|4|2|0|f",
            "b|23|4|3|0|f",
            "note|25|-1|4|100|f",
            "ts|1184|8|5|0|f",
        ]
    );
    assert_eq!(
        about("pg_attribute", columns, "attrelid", &[SEQ])[6..],
        ["last_value|20|8|1|0|t", "log_cnt|20|8|2|0|t", "is_called|16|1|3|0|t",]
    );
    assert_eq!(about("pg_attribute", columns, "attrelid", &[2604])[9], "adbin|194|-1|4|950|t");
}

#[test]
fn pg_index() {
    let columns = "indexrelid, indrelid, indnatts, indnkeyatts, indisunique, \
                   indnullsnotdistinct, indisprimary, indisexclusion, indimmediate, \
                   indisclustered, indisvalid, indcheckxmin, indisready, indislive, \
                   indisreplident, indkey, indcollation, indclass, indoption, indexprs, indpred";
    assert_eq!(
        about("pg_index", columns, "indexrelid", &[ACC_PKEY, ACC_EXPR, ACC_NND]),
        [
            "16404|16390|1|1|t|f|t|f|t|f|t|f|t|t|f|1|0|1978|0||",
            "16408|16390|5|4|f|f|f|f|t|f|t|f|t|t|f|0 0 6 4 7|100 0 0 100|3126 1978 1978 4217|\
         0 3 2 1|lower(note), (a + b)|((balance > (10)::numeric) AND (a IS NOT NULL))",
            "16409|16390|1|1|t|t|f|f|t|f|t|f|t|t|f|5|0|1978|0||",
        ]
    );
}

#[test]
fn pg_constraint() {
    let columns = "oid, conname, connamespace, contype, condeferrable, condeferred, conenforced, \
                   convalidated, conrelid, contypid, conindid, conparentid, confrelid, \
                   confupdtype, confdeltype, confmatchtype, conislocal, coninhcount, \
                   connoinherit, conperiod, conkey, confkey, conbin";
    assert_eq!(
        about("pg_constraint", columns, "conrelid", &[ACC]),
        [
            "16397|acc_balance_check|2200|c|f|f|t|t|16390|0|0|0|0| | | |t|0|f|f|{3}||\
         (balance > (0)::numeric)",
            "16400|acc_id_not_null|2200|n|f|f|t|t|16390|0|0|0|0| | | |t|0|f|f|{1}||",
            "16401|acc_Name_not_null|2200|n|f|f|t|t|16390|0|0|0|0| | | |t|0|f|f|{2}||",
            "16405|acc_pkey|2200|p|f|f|t|t|16390|0|16404|0|0| | | |t|0|t|f|{1}||",
            "16407|acc_a_b_key|2200|u|f|f|t|t|16390|0|16406|0|0| | | |t|0|t|f|{5,6}||",
        ]
    );
}

#[test]
fn small_catalogs() {
    let columns = "seqrelid, seqtypid, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle";
    assert_eq!(
        about("pg_sequence", columns, "seqrelid", &[16389, SEQ]),
        ["16389|23|1|1|2147483647|1|1|f", "16421|20|5|2|100|1|3|t",]
    );
    assert_eq!(
        about("pg_description", "objoid, classoid, objsubid, description", "objoid", &[ACC]),
        ["16390|1259|0|accounts", "16390|1259|4|a note"]
    );
    assert_eq!(
        about("pg_attrdef", "adnum, adbin", "adrelid", &[ACC])[0],
        "1|nextval('acc_id_seq'::regclass)"
    );
    let columns = "classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype";
    assert_eq!(
        about("pg_depend", columns, "objid", &[16389, ACC_PKEY, ACC_NND, 16407]),
        [
            "1259|16389|0|2615|2200|0|n",
            "1259|16389|0|1259|16390|1|a",
            "2606|16407|0|1259|16390|5|a",
            "2606|16407|0|1259|16390|6|a",
            "1259|16404|0|2606|16405|0|i",
            "1259|16409|0|1259|16390|5|a",
        ]
    );
}

#[test]
fn views_of_pg_catalog() {
    let catalog = testing::accounts();
    let all = |name, columns, key, keys: &[&str]| select(&catalog, name, columns, key, keys);
    assert_eq!(
        all(
            "pg_sequences",
            "schemaname, sequencename, sequenceowner, start_value, min_value, max_value, \
             increment_by, cycle, cache_size, last_value",
            "sequencename",
            &["s"]
        ),
        ["public|s|postgres|5|1|100|2|t|3|"]
    );
    let columns = "schemaname, tablename, tableowner, tablespace, hasindexes, hasrules, \
                   hastriggers, rowsecurity";
    assert_eq!(all("pg_tables", columns, "tablename", &["acc"]), ["public|acc|postgres||t|f|f|f"]);
    assert_eq!(
        all("pg_indexes", "schemaname, tablename, indexdef", "indexname", &["acc_pkey"]),
        ["public|acc|CREATE UNIQUE INDEX acc_pkey ON public.acc USING btree (id)"]
    );
    let columns = "usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls, passwd, \
                   valuntil, useconfig";
    let user = all("pg_user", columns, "usename", &["postgres"]);
    assert_eq!(user, ["postgres|10|t|t|t|t|********||"]);
    let monitor = all("pg_roles", "oid, rolsuper, rolcanlogin", "rolname", &["pg_monitor"]);
    assert_eq!(monitor, ["3373|f|f"]);
}

#[test]
fn information_schema_columns() {
    let catalog = testing::accounts();
    let columns = "column_name, ordinal_position, column_default, is_nullable, data_type, \
                   character_maximum_length, character_octet_length, numeric_precision, \
                   numeric_precision_radix, numeric_scale, datetime_precision, collation_name, \
                   udt_name, dtd_identifier, is_identity, identity_generation, is_updatable";
    let rows =
        select(&catalog, "information_schema.columns", columns, "table_name", &["acc", "ident"]);
    assert_eq!(rows.len(), 10, "the dropped column is not shown");
    assert_eq!(
        rows[..3],
        [
            "id|1|nextval('acc_id_seq'::regclass)|NO|integer|||32|2|0|||int4|1|NO||YES",
            "Name|2|'x'::character varying|NO|character varying|20|80||||||varchar|2|NO||YES",
            "balance|3|0.5|YES|numeric|||10|10|2|||numeric|3|NO||YES",
        ]
    );
    assert_eq!(
        rows[7..],
        [
            "k|1||NO|bigint|||64|2|0|||int8|1|YES|ALWAYS|YES",
            "v|2||YES|text||1073741824|||||C|text|2|NO||YES",
            "c|3||YES|character|3|12||||||bpchar|3|NO||YES",
        ]
    );
}

#[test]
fn information_schema_constraints() {
    let catalog = testing::accounts();
    let all = |name, columns| select(&catalog, name, columns, "constraint_schema", &["public"]);
    assert_eq!(
        all(
            "information_schema.table_constraints",
            "constraint_name, constraint_type, enforced, nulls_distinct"
        ),
        [
            "acc_balance_check|CHECK|YES|",
            "acc_id_not_null|CHECK|YES|",
            "acc_Name_not_null|CHECK|YES|",
            "acc_pkey|PRIMARY KEY|YES|",
            "acc_a_b_key|UNIQUE|YES|YES",
        ]
    );
    assert_eq!(
        all("information_schema.key_column_usage", "column_name, ordinal_position"),
        ["id|1", "a|1", "b|2"]
    );
    assert_eq!(
        all("information_schema.constraint_column_usage", "constraint_name, column_name"),
        ["acc_balance_check|balance", "acc_pkey|id", "acc_a_b_key|a", "acc_a_b_key|b"]
    );
    assert_eq!(
        all("information_schema.check_constraints", "check_clause"),
        ["(balance > (0)::numeric)", "id IS NOT NULL", "Name IS NOT NULL",]
    );
}

#[test]
fn statistics() {
    use crate::statistics::{ColumnStatistics, Statistics};
    let mut catalog = testing::accounts();
    let mut acc = (**catalog.relation(ACC).expect("acc")).clone();
    let mut columns = vec![ColumnStatistics::default(); 8];
    columns[4] = ColumnStatistics {
        null_fraction: 0.25,
        width: 4,
        distinct: -0.5,
        most_common: vec![(Datum::Int4(7), 0.5)],
        histogram: vec![Datum::Int4(1), Datum::Int4(9)],
        correlation: 1.0,
        correlated: true,
        ..ColumnStatistics::default()
    };
    acc.statistics = Some(Statistics { rows: 1000.0, pages: 10, columns, tree: Vec::new() }.into());
    catalog.put_relation(acc);
    let size = select(&catalog, "pg_class", "relpages, reltuples", "relname", &["acc", "acc_pkey"]);
    assert_eq!(size, ["10|1000", "1|1000"]);
    let columns = "schemaname, tablename, inherited, null_frac, avg_width, n_distinct, \
                   most_common_vals, most_common_freqs, histogram_bounds, correlation";
    assert_eq!(
        select(&catalog, "pg_stats", columns, "attname", &["a"]),
        ["public|acc|f|0.25|4|-0.5|{7}|{0.5}|{1,9}|1"]
    );
    let columns = "starelid, stakind1, staop1, stakind2, staop2, stakind3, staop3, stakind4, \
                   stanumbers1, stavalues1, stanumbers2, stavalues2, stanumbers3";
    assert_eq!(
        select(&catalog, "pg_statistic", columns, "staattnum", &["5"]),
        ["16390|1|96|2|97|3|97|0|{0.5}|{7}||{1,9}|{1}"]
    );
}

/// Every relation is found by name. Each one has rows of its shape, or reports that they are
/// unknown.
#[test]
fn every_system_catalog_answers() {
    let catalog = testing::accounts();
    let mut untold = Vec::new();
    for relation in relations().iter().filter(|r| r.kind != RelKind::Index) {
        assert_eq!(relation.kind, RelKind::Virtual);
        let found = catalog.relation_named(relation.schema, &relation.name).expect("by name");
        assert_eq!(found.oid, relation.oid);
        let shape = shape::by_oid(relation.oid).expect("a shape");
        match rows(relation.oid, &context(&catalog)).expect("readable") {
            Some(rows) => rows.iter().for_each(|row| shape.check(row).expect("well-formed")),
            None => untold.push(shape.name),
        }
    }
    assert!(untold.contains(&"pg_stat_activity") && untold.contains(&"pg_locks"));
    assert!(!untold.contains(&"pg_trigger") && !untold.contains(&"routines"), "{untold:?}");
    assert!(rows(ACC, &context(&catalog)).is_err(), "no system catalog");
}

/// A session with one view and one setting.
struct Busy;

impl SessionView for Busy {
    fn settings(&self) -> Vec<Setting> {
        Setting::named("work_mem").into_iter().collect()
    }

    fn rows(&self, relation: &str) -> Result<Option<Vec<Vec<Datum>>>> {
        if relation != "pg_stat_activity" {
            return Ok(None);
        }
        let mut builder = RowsBuilder::new(relation)?;
        builder.row([("pid", Datum::Int4(42)), ("state", Datum::text("active"))]);
        builder.finish().map(Some)
    }
}

#[test]
fn the_session_has_its_say() -> std::result::Result<(), Error> {
    let catalog = Catalog::default();
    let context = SystemContext { session: &Busy, ..context(&catalog) };
    let oid = |name| shape::named("pg_catalog", name).expect("a catalog").oid;
    let activity = rows(oid("pg_stat_activity"), &context)?.expect("provided");
    assert_eq!(activity[0][2], Datum::Int4(42));
    let settings = rows(oid("pg_settings"), &context)?.expect("provided");
    assert_eq!(settings.len(), 1);
    assert_eq!(settings[0][..3], [Datum::text("work_mem"), Datum::text("4096"), Datum::text("kB")]);
    Ok(())
}

/// Catalog versions share the system catalogs: a clone and a change copy a few tree nodes.
#[test]
fn versions_share_the_system_catalogs() {
    let (one, other) = (Catalog::default(), testing::accounts());
    let class = |c: &Catalog| c.relation_named(PG_CATALOG, "pg_class").expect("pg_class").clone();
    assert!(std::sync::Arc::ptr_eq(&class(&one), &class(&other)));
}
