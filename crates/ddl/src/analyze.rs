//! VACUUM and ANALYZE (analyze.c, vacuum.c).
//!
//! VACUUM has no dead versions to remove: undo keeps them and frees them when no snapshot needs
//! them. VACUUM runs the purge at once, and sweeps tables for what a crash has made it forget.
//! ANALYZE samples rows (`sample`), computes what the planner's estimates need (`statistics`), and
//! stores it.

use super::restricted::restricted;
use super::sample::Sample;
use super::statistics::{Subject, extended, index};
use super::{DdlContext, on_nodes, partition, vacuum_options};
use std::sync::Arc;
use steppe_catalog::system::definitions::quote_identifier;
use steppe_catalog::{RelKind, Relation, Statistics};
use steppe_counting::progress::{Phase, Progress, Utility};
use steppe_exec::stored::{ColumnMap, TableAccess};
use steppe_sql::ast::VacuumStmt;
use steppe_txn::{Engine, FileId, IndexStore, RelationLockMode};
use steppe_types::{Error, Result, SqlState};

/// The work for each table.
#[derive(Clone, Copy)]
struct Work {
    vacuum: bool,
    analyze: bool,
    /// Tables that another session has locked are left out.
    skip_locked: bool,
}

/// A table to work on. It is locked when its turn comes, and may have been dropped by then.
struct WorkTarget {
    table: Arc<Relation>,
    /// The name in the statement. `None` if the statement names no tables, or only an ancestor of
    /// this one.
    name: Option<String>,
    /// ONLY: statistics of a partitioned table's rows, but none of its partitions'.
    only: bool,
    /// The columns that the statement names; all if it names none.
    columns: Arc<[String]>,
}

/// VACUUM and ANALYZE; returns the command tag.
pub(crate) fn vacuum(ctx: &mut DdlContext<'_>, stmt: &VacuumStmt) -> Result<&'static str> {
    let options = vacuum_options::of(ctx, stmt)?;
    let work = Work {
        vacuum: stmt.is_vacuum,
        analyze: !stmt.is_vacuum || options.analyze,
        skip_locked: options.skip_locked,
    };
    if options.only_database_stats {
        return Ok("VACUUM");
    }
    let targets = targets(ctx, stmt, work)?;
    if work.vacuum {
        ctx.store.engine().purge_all()?;
    }
    for target in &targets {
        if target.table.is_distributed() {
            analyze_on_nodes(ctx, target, work)?;
            continue;
        }
        if work.vacuum && !vacuum_target(ctx, target, work)? {
            continue;
        }
        if work.analyze {
            analyze_target(ctx, target, work)?;
        }
    }
    Ok(if stmt.is_vacuum { "VACUUM" } else { "ANALYZE" })
}

/// The tables that a statement names, or all of them, before any of them is locked.
fn targets(ctx: &mut DdlContext<'_>, stmt: &VacuumStmt, work: Work) -> Result<Vec<WorkTarget>> {
    if stmt.relations.is_empty() {
        // Partitions come with the table that they belong to.
        let wanted = |r: &&Arc<Relation>| {
            let kind = matches!(r.kind, RelKind::Table | RelKind::PartitionedTable);
            kind && r.partition_of.is_none() && !r.is_distributed()
        };
        let tables = ctx.catalog().relations().filter(wanted).cloned().collect::<Vec<_>>();
        let of_all = |table| WorkTarget { table, name: None, only: false, columns: Arc::default() };
        return Ok(tables.into_iter().map(of_all).collect());
    }
    let verb = if work.vacuum { "vacuum" } else { "analyze" };
    let mut targets = Vec::new();
    for target in &stmt.relations {
        let name = &target.relation;
        let table = ctx.find(name)?.ok_or_else(|| name.undefined())?;
        if work.skip_locked
            && !ctx.txn.try_lock_relation(table.oid, RelationLockMode::AccessShare)?
        {
            warn_locked(ctx, verb, &name.name);
            continue;
        }
        if !matches!(table.kind, RelKind::Table | RelKind::PartitionedTable) {
            ctx.warn(
                SqlState::WARNING,
                format!(
                    "skipping \"{}\" --- cannot {verb} non-tables or special system tables",
                    table.name
                ),
            );
            continue;
        }
        if work.vacuum {
            table.refuse_distributed("VACUUM")?;
        }
        if let Some(unknown) = target.columns.iter().find(|name| table.column_index(name).is_none())
        {
            return Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{unknown}\" of relation \"{}\" does not exist", name.name),
            ));
        }
        for (i, column) in target.columns.iter().enumerate() {
            if target.columns[..i].contains(column) {
                let message = format!(
                    "column \"{column}\" of relation \"{}\" appears more than once",
                    name.name
                );
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
        }
        let only = !name.inherit;
        if only && work.vacuum && table.kind == RelKind::PartitionedTable {
            let message =
                format!("VACUUM ONLY of partitioned table \"{}\" has no effect", name.name);
            ctx.warn(SqlState::WARNING, message);
        }
        let below = if only { Vec::new() } else { inheriting(ctx, &table)? };
        let columns: Arc<[String]> = target.columns.clone().into();
        let of_child = |table| WorkTarget { table, name: None, only, columns: columns.clone() };
        let below: Vec<WorkTarget> = below.into_iter().map(of_child).collect();
        targets.push(WorkTarget { table, name: Some(name.name.clone()), only, columns });
        targets.extend(below);
    }
    Ok(targets)
}

/// The tables that inherit from a table, other than as its partitions, level by level.
fn inheriting(ctx: &mut DdlContext<'_>, table: &Arc<Relation>) -> Result<Vec<Arc<Relation>>> {
    let mut found: Vec<Arc<Relation>> = Vec::new();
    if table.kind == RelKind::PartitionedTable {
        return Ok(found);
    }
    let (mut parent, mut at) = (table.oid, 0);
    loop {
        for child in partition::children(ctx, parent)? {
            if found.iter().all(|known| known.oid != child.oid) {
                found.push(child);
            }
        }
        let Some(next) = found.get(at) else { return Ok(found) };
        (parent, at) = (next.oid, at + 1);
    }
}

fn warn_locked(ctx: &DdlContext<'_>, verb: &str, name: &str) {
    let message = format!("skipping {verb} of \"{name}\" --- lock not available");
    ctx.warn(SqlState::LOCK_NOT_AVAILABLE, message);
}

/// The command as warnings call it, and the table's name if the user gave it.
#[derive(Clone, Copy)]
struct NamedFor<'a> {
    verb: &'a str,
    name: Option<&'a str>,
}

/// Locks a table whose turn has come. `None` if the lock is not available. Then a warning is sent
/// if the statement named the table (vacuum_open_relation).
fn open_target(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    NamedFor { verb, name }: NamedFor<'_>,
    work: Work,
) -> Result<Option<Arc<Relation>>> {
    let mode = RelationLockMode::ShareUpdateExclusive;
    if !work.skip_locked {
        ctx.lock(table.oid, mode)?;
    } else if !ctx.txn.try_lock_relation(table.oid, mode)? {
        name.inspect(|name| warn_locked(ctx, verb, name));
        return Ok(None);
    }
    let found = ctx.catalog().relation(table.oid).cloned();
    if let (None, Some(name)) = (&found, name) {
        let message = format!("skipping {verb} of \"{name}\" --- relation no longer exists");
        ctx.warn(SqlState::UNDEFINED_TABLE, message);
    }
    Ok(found)
}

/// Sweeps a table, or each leaf of a partitioned one; false if the table cannot be had.
fn vacuum_target(ctx: &mut DdlContext<'_>, target: &WorkTarget, work: Work) -> Result<bool> {
    let is_partitioned = target.table.kind == RelKind::PartitionedTable;
    let name = target.name.as_deref().filter(|_| !is_partitioned);
    let mut found = is_partitioned;
    if is_partitioned && target.only {
        return Ok(found);
    }
    for leaf in partition::leaves(ctx, &target.table)? {
        if let Some(leaf) = open_target(ctx, &leaf, NamedFor { verb: "vacuum", name }, work)? {
            vacuum_table(ctx, &leaf)?;
            found = true;
        }
    }
    Ok(found)
}

/// Sweeps a table, its indexes and its out-of-line values.
fn vacuum_table(ctx: &mut DdlContext<'_>, table: &Arc<Relation>) -> Result<()> {
    let begun = ctx.session.clock_timestamp();
    let catalog = ctx.catalog();
    let engine = ctx.store.engine();
    let session = Arc::clone(&ctx.session);
    let check = &mut || session.check_interrupts();
    let progress = session.begin_progress(Progress::new(Utility::Vacuum, table.oid));
    progress.enter(Phase::VacuumingIndexes);
    progress.indexes.begin(table.indexes.len() as u64);
    for index in catalog.indexes_of(table) {
        let unique = index.index.as_ref().is_some_and(|info| info.is_unique_now());
        if let Some(storage) = index.storage {
            let store = IndexStore::open(engine, storage, unique);
            engine.sweep_index(&store, check)?;
        }
        progress.indexes.advance(1);
    }
    let access = TableAccess::open(engine, table)?;
    let Some(rows) = access.rows() else {
        ctx.session.relation_statistics().vacuumed(table, 0, begun, ctx.session.clock_timestamp());
        return put_size(ctx, table, 0);
    };
    progress.enter(Phase::VacuumingHeap);
    progress.pages.begin(pages_of_table(engine, table)?);
    let count = &mut || {
        progress.pages.advance(1);
        session.check_interrupts()
    };
    let swept = engine.sweep_rows(rows, count)?;
    progress.enter(Phase::FinalCleanup);
    if let Some(values) = access.values() {
        let references = &mut |row: &[u8], out: &mut Vec<_>| access.references(row, out);
        engine.sweep_values(rows, values, references, check)?;
    }
    ctx.session.relation_statistics().vacuumed(
        table,
        swept.live,
        begun,
        ctx.session.clock_timestamp(),
    );
    put_size(ctx, table, swept.live)
}

/// pg_class.reltuples and relpages, which VACUUM has counted.
fn put_size(ctx: &mut DdlContext<'_>, table: &Arc<Relation>, rows: u64) -> Result<()> {
    let pages = pages_of_table(ctx.store.engine(), table)?;
    let known = table.statistics.as_deref();
    let rows = rows as f64;
    if known.is_some_and(|known| known.rows == rows && known.pages == pages) {
        return Ok(());
    }
    let mut vacuumed = (**table).clone();
    let known = known.cloned().unwrap_or_default();
    vacuumed.statistics = Some(Arc::new(Statistics { rows, pages, ..known }));
    ctx.put(vacuumed)
}

/// Has a distributed table's nodes analyze it.
fn analyze_on_nodes(ctx: &mut DdlContext<'_>, target: &WorkTarget, work: Work) -> Result<()> {
    let named = NamedFor { verb: "analyze", name: target.name.as_deref() };
    let Some(table) = open_target(ctx, &target.table, named, work)? else { return Ok(()) };
    let columns: Vec<_> = target.columns.iter().map(|name| quote_identifier(name)).collect();
    let columns = match columns.is_empty() {
        true => String::new(),
        false => format!(" ({})", columns.join(", ")),
    };
    on_nodes::command(ctx, &table, ("ANALYZE", &columns))
}

/// Statistics of a table and of what inherits from it, or of each leaf of a partitioned one and
/// then of all their rows, level by level.
fn analyze_target(ctx: &mut DdlContext<'_>, target: &WorkTarget, work: Work) -> Result<()> {
    let scope = Scope { work, columns: &target.columns, rows: 0 };
    let keep = Keep { own: true, below: !target.only };
    let done = analyze_tree(ctx, &target.table, target.name.as_deref(), scope, keep)?;
    match done {
        Some(own) if target.table.kind == RelKind::Table => {
            analyze_inheritance(ctx, &target.table, scope, own).map(drop)
        }
        _ => Ok(()),
    }
}

/// Statistics of a table that is locked and of what inherits from it, without a wait; false if
/// another session has locked a part of it.
pub(super) fn analyze_at_once(ctx: &mut DdlContext<'_>, table: &Arc<Relation>) -> Result<bool> {
    let work = Work { vacuum: false, analyze: true, skip_locked: true };
    let scope = Scope { work, columns: &[], rows: 0 };
    let own = analyze_table(ctx, table, scope, true)?;
    analyze_inheritance(ctx, table, scope, own)
}

/// The scope of ANALYZE in each of a target's tables.
#[derive(Clone, Copy)]
struct Scope<'a> {
    work: Work,
    /// The columns that the statement names; all if it names none.
    columns: &'a [String],
    /// The least number of rows to sample, for the statistics of the tables above.
    rows: usize,
}

/// Whose statistics are stored: the table's own, those of its partitions.
#[derive(Clone, Copy)]
struct Keep {
    own: bool,
    below: bool,
}

/// The sample of a table's rows, once its statistics are stored; `None` if it cannot be had.
fn analyze_tree(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    name: Option<&str>,
    scope: Scope<'_>,
    keep: Keep,
) -> Result<Option<Sample>> {
    let named = NamedFor { verb: "analyze", name };
    if table.kind != RelKind::PartitionedTable {
        let table = open_target(ctx, table, named, scope.work)?;
        return table.map(|table| analyze_table(ctx, &table, scope, keep.own)).transpose();
    }
    let begun = ctx.session.relation_statistics().mark(table, ctx.session.clock_timestamp());
    let (mut all, session) = (Sample::default(), ctx.session.clone());
    let rows = scope.rows.max(Subject::of(ctx, table, scope.columns).sample_rows());
    for child in partition::children(ctx, table.oid)? {
        let keep = Keep { own: keep.below, below: keep.below };
        if let Some(sample) = analyze_tree(ctx, &child, None, Scope { rows, ..scope }, keep)? {
            // As it was when it was sampled, under its lock.
            let child = ctx.catalog().relation(child.oid).cloned().unwrap_or(child);
            let columns = ColumnMap::new(table, &child)?;
            all.add_leaf(rows, sample, columns.as_ref(), &*session);
        }
    }
    // Last: a lock that is held while leaves are waited for would keep them from being dropped.
    let Some(table) = open_target(ctx, table, named, scope.work)? else { return Ok(None) };
    if keep.own {
        put_statistics(ctx, &table, scope.columns, &all)?;
        ctx.session.relation_statistics().analyzed(
            &table,
            0,
            &begun,
            ctx.session.clock_timestamp(),
        );
    }
    Ok(Some(all))
}

/// Samples a table, and stores its statistics if they are to be kept.
fn analyze_table(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    scope: Scope<'_>,
    keep: bool,
) -> Result<Sample> {
    let begun = ctx.session.relation_statistics().mark(table, ctx.session.clock_timestamp());
    let pages = pages_of_table(ctx.store.engine(), table)?;
    // Where columns are named, indexes are let be.
    let indexes = match scope.columns.is_empty() {
        true => index::computing_indexes(ctx, table),
        false => Vec::new(),
    };
    let wanted = indexes.iter().map(|index| index::subject(ctx, index).sample_rows());
    let own = Subject::of(ctx, table, scope.columns).sample_rows();
    let rows = wanted.fold(own.max(scope.rows), usize::max);
    let sample = Sample::of_table(ctx, table, pages, rows)?;
    if keep {
        put_statistics(ctx, table, scope.columns, &sample)?;
        restricted(ctx, |ctx| {
            indexes.iter().try_for_each(|index| index::analyze_index(ctx, table, index, &sample))
        })?;
        ctx.session.relation_statistics().analyzed(
            table,
            sample.rows,
            &begun,
            ctx.session.clock_timestamp(),
        );
    }
    Ok(sample)
}

/// Statistics of a table's rows, which have been sampled, and of those of all that inherits from it,
/// if anything does (acquire_inherited_sample_rows); false if some of that is locked, and tables
/// that are locked are left out.
fn analyze_inheritance(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    scope: Scope<'_>,
    own: Sample,
) -> Result<bool> {
    let below = inheriting(ctx, table)?;
    if below.is_empty() {
        return Ok(true);
    }
    let Some(table) = ctx.catalog().relation(table.oid).cloned() else { return Ok(true) };
    let subject = Subject::of(ctx, &table, scope.columns);
    let (session, mut all) = (ctx.session.clone(), own);
    for child in &below {
        if !scope.work.skip_locked {
            ctx.lock(child.oid, RelationLockMode::AccessShare)?;
        } else if !ctx.txn.try_lock_relation(child.oid, RelationLockMode::AccessShare)? {
            return Ok(false);
        }
        let Some(child) = ctx.catalog().relation(child.oid).cloned() else { continue };
        let pages = pages_of_table(ctx.store.engine(), &child)?;
        let sample = Sample::of_table(ctx, &child, pages, subject.sample_rows())?;
        let columns = ColumnMap::new(&table, &child)?;
        all.add_leaf(subject.sample_rows(), sample, columns.as_ref(), &*session);
    }
    let mut known = table.statistics.as_deref().cloned().unwrap_or_default();
    subject.compute(&all, true, &mut known.tree)?;
    let mut analyzed = (*table).clone();
    analyzed.statistics = Some(Arc::new(known));
    if scope.columns.is_empty() {
        restricted(ctx, |ctx| extended::compute(ctx, &mut analyzed, &all, true))?;
    }
    ctx.put(analyzed)?;
    Ok(true)
}

/// Stores the size of a table, and the statistics of the wanted columns and expressions.
pub(super) fn put_statistics(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    columns: &[String],
    sample: &Sample,
) -> Result<()> {
    let progress = ctx.session.begin_progress(Progress::new(Utility::Analyze, table.oid));
    progress.enter(Phase::ComputingStatistics);
    progress.pages.begin(sample.pages);
    progress.pages.advance(sample.pages);
    let known = table.statistics.as_deref().cloned().unwrap_or_default();
    let (rows, pages) = (sample.rows as f64, sample.pages);
    let mut found = Statistics { rows, pages, ..known };
    // A partitioned table's rows are all inherited.
    let inherited = table.kind == RelKind::PartitionedTable;
    Subject::of(ctx, table, columns).compute(sample, inherited, &mut found.columns)?;
    let mut analyzed = (**table).clone();
    analyzed.statistics = Some(Arc::new(found));
    if columns.is_empty() {
        restricted(ctx, |ctx| extended::compute(ctx, &mut analyzed, sample, inherited))?;
    }
    ctx.put(analyzed)
}

/// Pages of a table's tree; none if it stores nothing.
pub(super) fn pages_of_table(engine: &Engine, table: &Relation) -> Result<u64> {
    table.storage.map_or(Ok(0), |file| pages_of(engine, file))
}

fn pages_of(engine: &Engine, file: FileId) -> Result<u64> {
    match engine.tree_of(file)? {
        Some(tree) => Ok(engine.store().tree(tree).page_count()?),
        None => Ok(0),
    }
}
