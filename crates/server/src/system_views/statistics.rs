//! pg_stat_all_tables, pg_stat_all_indexes and their kin show reads and writes of relations
//! ([`steppe_counting::accesses`]). pg_statio_all_tables, pg_statio_all_indexes and their kin show
//! reads from disk ([`steppe_counting::blocks`]). Page accesses in memory are not counted by
//! relation: they are NULL. Out-of-line values have no index.
//!
//! An UPDATE never moves a row (n_tup_newpage_upd is 0), and tables hold no old versions
//! (n_dead_tup is 0). So there is no automatic vacuum.
//!
//! pg_stat_xact_all_tables and its kin show the counts of the session's own transaction. A
//! transaction is counted separately if it began with BEGIN, or has several statements of one text,
//! or has changed many rows at once. A single statement, or Executes without BEGIN, are not counted
//! separately. Unlike in PostgreSQL, pg_stat_all_tables includes these counts while the transaction
//! runs. After a TRUNCATE that is rolled back, the rows that it removed count as inserted.

use std::sync::Arc;

use hashbrown::HashMap;
use steppe_catalog::system::RowsBuilder;
use steppe_catalog::{Catalog, INFORMATION_SCHEMA, PG_CATALOG, RelKind, Relation};
use steppe_counting::RelationStatistics;
use steppe_counting::accesses::{Accesses, Maintenance, Rounds, of_transaction};
use steppe_counting::blocks::{Blocks, Files, Part};
use steppe_types::{Datum, Error, Oid, Result};

use crate::services::SharedSession;

/// The counters of all relations.
struct Known<'a> {
    statistics: &'a RelationStatistics,
    /// The counts since the last reset.
    accesses: HashMap<Oid, Accesses>,
    /// The counts without any reset.
    totals: HashMap<Oid, Accesses>,
    maintenance: HashMap<Oid, Maintenance>,
}

impl Known<'_> {
    fn of(&self, relation: &Relation) -> Accesses {
        self.accesses.get(&relation.oid).copied().unwrap_or_default()
    }
}

/// The kinds of views.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// pg_stat_all_tables, pg_stat_all_indexes: accesses to relations.
    Accesses,
    /// pg_stat_xact_all_tables: the same, by the session's own transaction.
    OwnTransaction,
    /// pg_statio_all_tables, pg_statio_all_indexes: pages read.
    Blocks,
}

/// The family of a view by its name, the kind of its relations, and their owner.
fn named(view: &str) -> Option<(Family, RelKind, Whose)> {
    let of = |family, prefix| Some((family, view.strip_prefix(prefix)?));
    let (family, rest) = of(Family::Blocks, "pg_statio_")
        .or_else(|| of(Family::OwnTransaction, "pg_stat_xact_"))
        .or_else(|| of(Family::Accesses, "pg_stat_"))?;
    let (whose, kind) = match rest.split_once('_')? {
        ("all", kind) => (Whose::All, kind),
        ("user", kind) => (Whose::Users, kind),
        ("sys", kind) => (Whose::Systems, kind),
        _ => return None,
    };
    match kind {
        "tables" => Some((family, RelKind::Table, whose)),
        "indexes" if family != Family::OwnTransaction => Some((family, RelKind::Index, whose)),
        "sequences" if family == Family::Blocks => Some((family, RelKind::Sequence, whose)),
        _ => None,
    }
}

/// The rows of one of these views; `None` for any other view.
pub(super) fn rows(core: &SharedSession, view: &str) -> Result<Option<Vec<Vec<Datum>>>> {
    if view == "pg_stat_database" {
        return super::database::rows(core).map(Some);
    }
    let Some((family, kind, whose)) = named(view) else { return Ok(None) };
    let catalog = core.names().catalog;
    let shown = shown(&catalog, family, kind, whose);
    let mut builder = RowsBuilder::new(view)?;
    match family {
        Family::Accesses => accesses(core, &catalog, kind, &shown, &mut builder),
        Family::OwnTransaction => own_transaction(&catalog, &shown, &mut builder),
        Family::Blocks => blocks(core, &catalog, kind, &shown, &mut builder)?,
    }
    builder.finish().map(Some)
}

fn accesses(
    core: &SharedSession,
    catalog: &Catalog,
    kind: RelKind,
    shown: &[&Arc<Relation>],
    builder: &mut RowsBuilder,
) {
    let statistics = &*core.server.relation_statistics;
    let accesses = core.server.statistics.database.relations(statistics);
    let (totals, maintenance) = (statistics.totals(), statistics.maintenance());
    let known = Known { statistics, accesses, totals, maintenance };
    for relation in shown {
        match kind {
            RelKind::Index => index_row(catalog, relation, &known, builder),
            _ => table_row(catalog, relation, &known, builder),
        }
    }
}

fn own_transaction(catalog: &Catalog, tables: &[&Arc<Relation>], builder: &mut RowsBuilder) {
    let accesses = of_transaction();
    for table in tables {
        let own = accesses.get(&table.oid).copied().unwrap_or_default();
        let indexes = by_indexes(catalog, table, &accesses);
        let of_indexes =
            |f: fn(&Accesses) -> u64| indexes.as_ref().map_or(Datum::Null, |sum| count(f(sum)));
        builder.row([
            ("relid", Datum::Oid(table.oid)),
            ("schemaname", schema_name(catalog, table)),
            ("relname", Datum::Text(table.name.clone())),
            ("seq_scan", count(own.scans)),
            ("seq_tup_read", count(own.returned)),
            ("idx_scan", of_indexes(|sum| sum.scans)),
            ("idx_tup_fetch", of_indexes(|sum| sum.fetched)),
            ("n_tup_ins", count(own.inserted)),
            ("n_tup_upd", count(own.updated)),
            ("n_tup_del", count(own.deleted)),
            ("n_tup_hot_upd", count(own.hot_updated)),
            ("n_tup_newpage_upd", Datum::Int8(0)),
        ]);
    }
}

fn blocks(
    core: &SharedSession,
    catalog: &Catalog,
    kind: RelKind,
    shown: &[&Arc<Relation>],
    builder: &mut RowsBuilder,
) -> Result<()> {
    let blocks = core.server.statistics.database.blocks(core);
    let read = (&blocks, core.server.files());
    shown.iter().try_for_each(|relation| match kind {
        RelKind::Index => index_blocks(catalog, relation, read, builder),
        RelKind::Sequence => {
            // All sequences share its page. It is in memory once it is used.
            builder.row([
                ("relid", Datum::Oid(relation.oid)),
                ("schemaname", schema_name(catalog, relation)),
                ("relname", Datum::Text(relation.name.clone())),
                ("blks_read", Datum::Int8(0)),
            ]);
            Ok(())
        }
        _ => table_blocks(catalog, relation, read, builder),
    })
}

fn index_blocks(
    catalog: &Catalog,
    index: &Relation,
    (blocks, files): (&Blocks, Files<'_>),
    builder: &mut RowsBuilder,
) -> Result<()> {
    let Some(table) = table_of(catalog, index) else { return Ok(()) };
    builder.row([
        ("relid", Datum::Oid(table.oid)),
        ("indexrelid", Datum::Oid(index.oid)),
        ("schemaname", schema_name(catalog, index)),
        ("relname", Datum::Text(table.name.clone())),
        ("indexrelname", Datum::Text(index.name.clone())),
        ("idx_blks_read", count(blocks.of(files, index, Part::Rows)?.unwrap_or(0))),
    ]);
    Ok(())
}

fn table_blocks(
    catalog: &Catalog,
    table: &Relation,
    (blocks, files): (&Blocks, Files<'_>),
    builder: &mut RowsBuilder,
) -> Result<()> {
    let mut of_indexes = None;
    for index in catalog.indexes_of(table) {
        *of_indexes.get_or_insert(0) += blocks.of(files, index, Part::Rows)?.unwrap_or(0);
    }
    let optional = |reads: Option<u64>| reads.map_or(Datum::Null, count);
    builder.row([
        ("relid", Datum::Oid(table.oid)),
        ("schemaname", schema_name(catalog, table)),
        ("relname", Datum::Text(table.name.clone())),
        ("heap_blks_read", count(blocks.of(files, table, Part::Rows)?.unwrap_or(0))),
        ("idx_blks_read", optional(of_indexes)),
        ("toast_blks_read", optional(blocks.of(files, table, Part::Overflow)?)),
    ]);
    Ok(())
}

fn table_of<'a>(catalog: &'a Catalog, index: &Relation) -> Option<&'a Arc<Relation>> {
    catalog.relation(index.index.as_ref()?.table)
}

/// The relations that a view shows, in order.
fn shown(catalog: &Catalog, family: Family, kind: RelKind, whose: Whose) -> Vec<&Arc<Relation>> {
    let mut shown: Vec<_> =
        catalog.relations().filter(|r| is_shown(r, family, kind) && whose.owns(r)).collect();
    shown.sort_unstable_by_key(|relation| relation.oid);
    shown
}

/// A partitioned table has its own row, though no rows are read from it itself.
fn is_shown(relation: &Relation, family: Family, kind: RelKind) -> bool {
    let has_no_rows = relation.kind == RelKind::PartitionedTable;
    relation.kind == kind || (has_no_rows && kind == RelKind::Table && family != Family::Blocks)
}

/// The owner of the relations that a view shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    All,
    Users,
    Systems,
}

impl Whose {
    fn owns(self, relation: &Relation) -> bool {
        let is_system = matches!(relation.schema, PG_CATALOG | INFORMATION_SCHEMA);
        match self {
            Whose::All => true,
            Whose::Users => !is_system,
            Whose::Systems => is_system,
        }
    }
}

fn schema_name(catalog: &Catalog, relation: &Relation) -> Datum {
    let schema = catalog.schema(relation.schema);
    schema.map_or(Datum::Null, |schema| Datum::Text(schema.name.clone()))
}

fn count(value: u64) -> Datum {
    Datum::Int8(value as i64)
}

/// A time; 0 is NULL.
fn moment(at: i64) -> Datum {
    if at == 0 { Datum::Null } else { Datum::TimestampTz(at) }
}

fn milliseconds(rounds: &Rounds) -> Datum {
    Datum::Float8(rounds.microseconds as f64 / 1e3)
}

fn index_row(catalog: &Catalog, index: &Relation, known: &Known<'_>, builder: &mut RowsBuilder) {
    let Some(table) = table_of(catalog, index) else { return };
    let accesses = known.of(index);
    builder.row([
        ("relid", Datum::Oid(table.oid)),
        ("indexrelid", Datum::Oid(index.oid)),
        ("schemaname", schema_name(catalog, index)),
        ("relname", Datum::Text(table.name.clone())),
        ("indexrelname", Datum::Text(index.name.clone())),
        ("idx_scan", count(accesses.scans)),
        ("last_idx_scan", moment(accesses.last_scan)),
        ("idx_tup_read", count(accesses.returned)),
        ("idx_tup_fetch", count(accesses.fetched)),
    ]);
}

/// The accesses through a table's indexes; `None` if it has none.
fn by_indexes(
    catalog: &Catalog,
    table: &Relation,
    accesses: &HashMap<Oid, Accesses>,
) -> Option<Accesses> {
    let mut indexes = catalog.indexes_of(table).peekable();
    indexes.peek()?;
    let mut sum = Accesses::default();
    let known = indexes.filter_map(|index| accesses.get(&index.oid));
    known.for_each(|counts| sum.add(counts));
    Some(sum)
}

/// pg_stat_get_numscans and its kin, of one table or index. Any other OID has zeros.
pub(crate) fn counter(core: &SharedSession, counter: &str, relation: Oid) -> Result<Datum> {
    let value = known(core, counter, relation);
    value.ok_or_else(|| Error::internal(format!("{counter} is not counted")))
}

fn known(core: &SharedSession, counter: &str, oid: Oid) -> Option<Datum> {
    if let Some(counter) = counter.strip_prefix("xact_") {
        return counted(counter, &of_transaction().get(&oid).copied().unwrap_or_default());
    }
    // A dropped relation has zeros.
    let exists = core.names().catalog.relation(oid).is_some();
    let statistics = &core.server.relation_statistics;
    let own = core.server.statistics.database.relations(statistics).get(&oid).copied();
    let own = own.filter(|_| exists).unwrap_or_default();
    let kept = || statistics.maintenance().get(&oid).copied().unwrap_or_default();
    let estimates = || {
        let names = core.names();
        let done = statistics.totals().get(&oid).copied().unwrap_or_default();
        names
            .catalog
            .relation(oid)
            .map(|table| statistics.estimates(table, &done))
            .unwrap_or_default()
    };
    if let Some(counted) = counted(counter, &own) {
        return Some(counted);
    }
    Some(match counter {
        "lastscan" => moment(own.last_scan),
        "live_tuples" => count(estimates().live),
        "mod_since_analyze" => count(estimates().modified),
        "ins_since_vacuum" => count(estimates().inserted),
        "last_vacuum_time" => moment(kept().vacuumed.last),
        "last_analyze_time" => moment(kept().analyzed.last),
        "vacuum_count" => count(kept().vacuumed.count),
        "analyze_count" => count(kept().analyzed.count),
        "total_vacuum_time" => milliseconds(&kept().vacuumed),
        "total_analyze_time" => milliseconds(&kept().analyzed),
        "last_autoanalyze_time" => moment(kept().autoanalyzed.last),
        "autoanalyze_count" => count(kept().autoanalyzed.count),
        "total_autoanalyze_time" => milliseconds(&kept().autoanalyzed),
        "dead_tuples" | "autovacuum_count" => Datum::Int8(0),
        "total_autovacuum_time" => Datum::Float8(0.0),
        "last_autovacuum_time" => Datum::Null,
        _ => return None,
    })
}

/// The counters that every relation and every transaction has.
fn counted(counter: &str, own: &Accesses) -> Option<Datum> {
    Some(match counter {
        "numscans" => count(own.scans),
        "tuples_returned" => count(own.returned),
        "tuples_fetched" => count(own.fetched),
        "tuples_inserted" => count(own.inserted),
        "tuples_updated" => count(own.updated),
        "tuples_deleted" => count(own.deleted),
        "tuples_hot_updated" => count(own.hot_updated),
        "tuples_newpage_updated" => Datum::Int8(0),
        _ => return None,
    })
}

fn table_row(catalog: &Catalog, table: &Relation, known: &Known<'_>, builder: &mut RowsBuilder) {
    let own = known.of(table);
    let indexes = by_indexes(catalog, table, &known.accesses);
    let of_indexes = |f: fn(&Accesses) -> Datum| indexes.as_ref().map_or(Datum::Null, f);
    let kept = known.maintenance.get(&table.oid).copied().unwrap_or_default();
    let done = known.totals.get(&table.oid).copied().unwrap_or_default();
    let since = known.statistics.estimates(table, &done);
    builder.row([
        ("relid", Datum::Oid(table.oid)),
        ("schemaname", schema_name(catalog, table)),
        ("relname", Datum::Text(table.name.clone())),
        ("seq_scan", count(own.scans)),
        ("last_seq_scan", moment(own.last_scan)),
        ("seq_tup_read", count(own.returned)),
        ("idx_scan", of_indexes(|sum| count(sum.scans))),
        ("last_idx_scan", of_indexes(|sum| moment(sum.last_scan))),
        ("idx_tup_fetch", of_indexes(|sum| count(sum.fetched))),
        ("n_tup_ins", count(own.inserted)),
        ("n_tup_upd", count(own.updated)),
        ("n_tup_del", count(own.deleted)),
        ("n_tup_hot_upd", count(own.hot_updated)),
        ("n_tup_newpage_upd", Datum::Int8(0)),
        ("n_live_tup", count(since.live)),
        ("n_dead_tup", Datum::Int8(0)),
        ("n_mod_since_analyze", count(since.modified)),
        ("n_ins_since_vacuum", count(since.inserted)),
        ("last_vacuum", moment(kept.vacuumed.last)),
        ("last_analyze", moment(kept.analyzed.last)),
        ("last_autoanalyze", moment(kept.autoanalyzed.last)),
        ("vacuum_count", count(kept.vacuumed.count)),
        ("autovacuum_count", Datum::Int8(0)),
        ("analyze_count", count(kept.analyzed.count)),
        ("autoanalyze_count", count(kept.autoanalyzed.count)),
        ("total_vacuum_time", milliseconds(&kept.vacuumed)),
        ("total_autovacuum_time", Datum::Float8(0.0)),
        ("total_analyze_time", milliseconds(&kept.analyzed)),
        ("total_autoanalyze_time", milliseconds(&kept.autoanalyzed)),
    ]);
}
