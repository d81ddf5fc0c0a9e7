//! Random DDL, with what it must come to.

use std::collections::{BTreeMap, BTreeSet};

use steppe_catalog::{Catalog, ConstraintKind, PUBLIC, RelKind};
use steppe_partition::PartitionStrategy;
use steppe_types::SqlState;

use crate::check::strategy_sql;
use crate::model::{Bound, KEYS, Kind, MODULUS_MAX, Op, State, Table};
use crate::sequences;
use crate::statement::{Effect, Look, Statement};

/// So many names that they are soon used again.
const TABLE_NAMES: u64 = 30;
const INDEX_NAMES: u64 = 12;
const COLUMN_NAMES: u64 = 5;
/// Partitioned tables that are no partitions.
const ROOTS_MAX: usize = 4;
/// Tables that are no partitions and not partitioned.
const PLAIN_MAX: usize = 4;
const LEVELS_MAX: usize = 2;
const STRATEGIES: [PartitionStrategy; 3] =
    [PartitionStrategy::Range, PartitionStrategy::List, PartitionStrategy::Hash];

/// Some DDL statement, if one of the kind that is drawn makes sense.
pub(crate) fn any(look: &Look<'_>) -> Option<Statement> {
    let roots = look.state.tables.values().filter(|t| is_root(t)).count();
    if roots == 0 || (roots < ROOTS_MAX && look.random.chance(1, 12)) {
        return create_partitioned(look);
    }
    match look.random.below(100) {
        0..23 => create_partition(look),
        23..26 => sequences::any(look),
        26..32 => create_plain(look),
        32..44 => attach(look),
        44..52 => detach(look),
        52..54 => meddle(look),
        54..60 => drop_table(look),
        60..67 => truncate(look),
        67..75 => add_column(look),
        75..81 => drop_column(look),
        81..89 => create_index(look),
        89..93 => drop_index(look),
        93..96 => reindex(look),
        _ => rename(look),
    }
}

/// VACUUM or ANALYZE of some table, in a transaction of its own.
pub(crate) fn maintain(look: &Look<'_>) -> Option<Statement> {
    let keyed: Vec<&String> = look.state.keyed.keys().collect();
    let keyed = look.some_of(&keyed).filter(|_| look.random.chance(1, 4));
    let table = keyed.map(|name| (*name).clone()).or_else(|| look.some_table(|_| true))?;
    let command = ["VACUUM", "ANALYZE", "VACUUM (ANALYZE)"][look.random.below(3) as usize];
    Some(Statement::done(format!("{command} {table}"), Effect::default()))
}

fn is_root(table: &Table) -> bool {
    table.of.is_none() && table.rows().is_none()
}

// ----- tables -----

fn new_table(look: &Look<'_>) -> Option<String> {
    let name = format!("t{}", look.random.below(TABLE_NAMES));
    (!look.state.tables.contains_key(&name)).then_some(name)
}

fn partition_by(look: &Look<'_>) -> (PartitionStrategy, String) {
    let strategy = STRATEGIES[look.random.below(3) as usize];
    (strategy, format!(" PARTITION BY {} (k)", strategy_sql(strategy)))
}

fn create_partitioned(look: &Look<'_>) -> Option<Statement> {
    let name = new_table(look)?;
    let (strategy, by) = partition_by(look);
    let columns = "id int NOT NULL, k int NOT NULL, v int, t text, PRIMARY KEY (id, k)";
    let table = Table::new(Kind::Partitioned(strategy), BTreeMap::new());
    let effect = Effect::of(vec![Op::Create(name.clone(), table)]);
    Some(Statement::done(format!("CREATE TABLE {name} ({columns}){by}"), effect))
}

/// A partition, sometimes one that has partitions itself.
fn create_partition(look: &Look<'_>) -> Option<Statement> {
    let (parent, name) = (some_parent(look)?, new_table(look)?);
    let bound = free_bound(look, &parent)?;
    let is_nested = look.state.depth(&parent) + 1 < LEVELS_MAX && look.random.chance(1, 6);
    let (kind, by) = match is_nested {
        true => {
            let (strategy, by) = partition_by(look);
            (Kind::Partitioned(strategy), by)
        }
        false => (Kind::Rows(BTreeMap::new()), String::new()),
    };
    let sql = format!("CREATE TABLE {name} PARTITION OF {parent} {}{by}", bound.sql());
    if takes_from_default(look.state, &parent, &bound) {
        return Some(Statement::refused(sql, SqlState::CHECK_VIOLATION));
    }
    let above = look.state.table(&parent);
    let (added, only) = (above.added.clone(), above.only.clone());
    let of = Some((parent, bound));
    let table = Table { of, only, ..Table::new(kind, added) };
    Some(Statement::done(sql, Effect::of(vec![Op::Create(name, table)])))
}

/// A table that looks like a partition of another one, its columns in any order.
fn create_plain(look: &Look<'_>) -> Option<Statement> {
    let plain = |table: &&Table| table.of.is_none() && table.rows().is_some();
    let tables = look.state.tables.values().map(|table| &**table);
    if tables.filter(plain).count() >= PLAIN_MAX {
        return None;
    }
    let (model, name) = (some_parent(look)?, new_table(look)?);
    let added = look.state.table(&model).added.clone();
    let fixed = ["id int NOT NULL", "k int NOT NULL", "v int", "t text"];
    let mut columns: Vec<String> = fixed.map(str::to_owned).to_vec();
    columns.extend(added.iter().map(|(column, default)| column_sql(column, *default)));
    look.shuffle(&mut columns);
    let sql = format!("CREATE TABLE {name} ({}, PRIMARY KEY (id, k))", columns.join(", "));
    let table = Table::new(Kind::Rows(BTreeMap::new()), added);
    Some(Statement::done(sql, Effect::of(vec![Op::Create(name, table)])))
}

fn drop_table(look: &Look<'_>) -> Option<Statement> {
    // Mostly leaves: with a parent goes everything.
    let wants_leaf = look.random.chance(3, 4);
    let table = look.some_table(|table| table.rows().is_some() == wants_leaf)?;
    let tree = look.state.whole_tree(&table).into_iter();
    Some(Statement::done(format!("DROP TABLE {table}"), Effect::of(tree.map(Op::Drop).collect())))
}

fn truncate(look: &Look<'_>) -> Option<Statement> {
    let table = look.some_table(|_| true)?;
    let leaves = look.state.leaves(&table).into_iter();
    let effect = Effect::of(leaves.map(Op::Truncate).collect());
    Some(Statement::done(format!("TRUNCATE {table}"), effect))
}

fn rename(look: &Look<'_>) -> Option<Statement> {
    let (table, name) = (look.some_table(|_| true)?, new_table(look)?);
    let sql = format!("ALTER TABLE {table} RENAME TO {name}");
    Some(Statement::done(sql, Effect::of(vec![Op::Rename(table, name)])))
}

// ----- partitions -----

fn some_parent(look: &Look<'_>) -> Option<String> {
    look.some_table(|table| table.rows().is_none())
}

/// A bound that overlaps none of a table's partitions'.
fn free_bound(look: &Look<'_>, parent: &str) -> Option<Bound> {
    let random = look.random;
    let Kind::Partitioned(strategy) = look.state.table(parent).kind else { return None };
    let bounds: Vec<&Bound> = look.state.children(parent).map(|(_, bound)| bound).collect();
    let has_default = bounds.contains(&&Bound::Default);
    if strategy != PartitionStrategy::Hash && !has_default && random.chance(1, 8) {
        return Some(Bound::Default);
    }
    let is_free = |k: i32| (0..KEYS).contains(&k) && bounds.iter().all(|bound| !bound.admits(k));
    let first = look.below(KEYS);
    match strategy {
        PartitionStrategy::Hash => {
            let modulus = MODULUS_MAX >> random.below(3);
            let remainder = random.below(u64::from(modulus)) as u32;
            let meets = |bound: &&&Bound| match bound {
                Bound::Hash(m, r) => r % modulus.min(*m) == remainder % modulus.min(*m),
                _ => false,
            };
            bounds.iter().find(meets).is_none().then_some(Bound::Hash(modulus, remainder))
        }
        PartitionStrategy::List => {
            let drawn: BTreeSet<i32> = (0..2 + random.below(6)).map(|_| look.below(KEYS)).collect();
            let free: BTreeSet<i32> = drawn.into_iter().filter(|k| is_free(*k)).collect();
            (!free.is_empty()).then_some(Bound::List(free))
        }
        PartitionStrategy::Range if is_free(first) => Some(range_from(look, first, &is_free)),
        PartitionStrategy::Range => None,
    }
}

fn range_from(look: &Look<'_>, first: i32, is_free: &dyn Fn(i32) -> bool) -> Bound {
    let (mut lower, mut upper) = (first, first + 1);
    let most = 1 + look.below(10);
    while upper - lower < most && is_free(upper) {
        upper += 1;
    }
    while upper - lower < most && is_free(lower - 1) {
        lower -= 1;
    }
    let open = |is_end: bool| is_end && look.random.chance(1, 2);
    let lower = if open(lower == 0) { i32::MIN } else { lower };
    Bound::Range(lower, if open(upper == KEYS) { i32::MAX } else { upper })
}

/// Whether a new bound would take rows out of the default partition.
fn takes_from_default(state: &State, parent: &str, bound: &Bound) -> bool {
    let default = state.children(parent).find(|(_, bound)| **bound == Bound::Default);
    default.is_some_and(|(default, _)| {
        state.rows(default).iter().any(|(_, key, _)| bound.admits(key.1))
    })
}

/// Makes a table a partition, mostly one whose rows belong there.
fn attach(look: &Look<'_>) -> Option<Statement> {
    let state = look.state;
    let parent = some_parent(look)?;
    // What is being detached below it would stay as it is, whatever it were attached to.
    let is_whole = |name: &str| state.whole_tree(name) == state.tree(name);
    let above = |name: &str| state.tree(name).contains(&parent);
    let columns = state.table(&parent).added.keys();
    let fits = |name: &str, table: &Table| {
        table.of.is_none()
            && table.added.keys().eq(columns.clone())
            && is_whole(name)
            && !above(name)
    };
    let table = look.some_table_named(&fits)?;
    let rows = state.rows(&table);
    let (mut bound, mut belongs) = (free_bound(look, &parent)?, false);
    // Some luck is needed to meet the rows there are.
    for _ in 0..6 {
        let taken = |k: i32| match &bound {
            Bound::Default => !state.children(&parent).any(|(_, other)| other.admits(k)),
            bound => bound.admits(k),
        };
        belongs = rows.iter().all(|(_, key, _)| taken(key.1) && state.accepts(&parent, key.1));
        if belongs {
            break;
        }
        bound = free_bound(look, &parent)?;
    }
    if !belongs {
        let all: BTreeSet<i32> = rows.iter().map(|(_, key, _)| key.1).collect();
        bound = bound_around(look, &parent, &all)?;
        belongs = all.iter().all(|k| state.accepts(&parent, *k));
    }
    let sql = format!("ALTER TABLE {parent} ATTACH PARTITION {table} {}", bound.sql());
    if state.table(&parent).detaching {
        return Some(Statement::refused(sql, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE));
    }
    if lacks_checks(look.catalog, &table, &parent) {
        return Some(Statement::refused(sql, SqlState::DATATYPE_MISMATCH));
    }
    if !belongs || takes_from_default(state, &parent, &bound) {
        return Some(Statement::refused(sql, SqlState::CHECK_VIOLATION));
    }
    Some(Statement::done(sql, Effect::of(vec![Op::Place(table, Some((parent, bound)))])))
}

/// A bound that admits these keys.
fn bound_around(look: &Look<'_>, parent: &str, keys: &BTreeSet<i32>) -> Option<Bound> {
    let Kind::Partitioned(strategy) = look.state.table(parent).kind else { return None };
    let bound = match strategy {
        PartitionStrategy::Range => Bound::Range(*keys.first()?, *keys.last()? + 1),
        PartitionStrategy::List => Bound::List(keys.clone()),
        PartitionStrategy::Hash => return None,
    };
    let overlaps = |other: &Bound| (0..KEYS).any(|k| bound.admits(k) && other.admits(k));
    let is_free = !look.state.children(parent).any(|(_, other)| overlaps(other));
    is_free.then_some(bound)
}

/// Whether a table has CHECKs that another one has not.
fn lacks_checks(catalog: &Catalog, table: &str, of: &str) -> bool {
    let checks = |name: &str| -> BTreeSet<String> {
        let table = catalog.relation_named(PUBLIC, name).expect("the table is there");
        let checks = table.constraints.iter().filter_map(|constraint| match &constraint.kind {
            ConstraintKind::Check { expression } => Some((&constraint.name, expression)),
            _ => None,
        });
        checks.map(|check| format!("{check:?}")).collect()
    };
    !checks(of).is_subset(&checks(table))
}

/// DETACH, and FINALIZE where there is something to it; sometimes where it is refused.
fn detach(look: &Look<'_>) -> Option<Statement> {
    let table = look.some_table(|table| table.of.is_some())?;
    let (parent, _) = look.state.table(&table).of.as_ref()?;
    let is_begun = look.state.table(&table).detaching;
    let finalizes = if is_begun { look.random.chance(3, 4) } else { look.random.chance(1, 10) };
    let how = if finalizes { " FINALIZE" } else { "" };
    let sql = format!("ALTER TABLE {parent} DETACH PARTITION {table}{how}");
    if finalizes != is_begun || look.state.table(parent).detaching {
        return Some(Statement::refused(sql, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE));
    }
    Some(Statement::done(sql, Effect::of(vec![Op::Place(table, None)])))
}

/// DETACH CONCURRENTLY, up to its first commit.
pub(crate) fn begin_detach(look: &Look<'_>) -> Option<Statement> {
    let state = look.state;
    let table = look.some_table(|table| table.of.is_some())?;
    let (parent, _) = state.table(&table).of.as_ref()?;
    let sql = format!("ALTER TABLE {parent} DETACH PARTITION {table} CONCURRENTLY");
    let has_default = state.children(parent).any(|(_, bound)| *bound == Bound::Default);
    if has_default || state.detaching(parent).is_some() || state.table(parent).detaching {
        return Some(Statement::refused(sql, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE));
    }
    let only = state.own_keys(&table);
    if !has_lasting_bound(state, parent) {
        return None;
    }
    Some(Statement::done(sql, Effect::of(vec![Op::Mark(table, only)])))
}

/// Whether a table's bound is one that does not change with others, nor depends on others to be
/// told, at all levels.
fn has_lasting_bound(state: &State, table: &str) -> bool {
    match &state.table(table).of {
        None => true,
        Some((_, Bound::Default | Bound::Hash(..))) => false,
        Some((parent, _)) => has_lasting_bound(state, parent),
    }
}

/// A change of what is being detached, which is refused, or a bound that it still takes.
fn meddle(look: &Look<'_>) -> Option<Statement> {
    let table = look.some_table(|table| table.detaching)?;
    let (parent, bound) = look.state.table(&table).of.as_ref()?;
    Some(match look.random.chance(1, 2) {
        true => Statement::refused(
            format!("ALTER TABLE {table} ADD COLUMN lost int"),
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        ),
        false => Statement::refused(
            format!("CREATE TABLE lost PARTITION OF {parent} {}", bound.sql()),
            SqlState::INVALID_OBJECT_DEFINITION,
        ),
    })
}

// ----- columns -----

fn column_sql(column: &str, default: Option<i32>) -> String {
    match default {
        Some(value) => format!("{column} int DEFAULT {value}"),
        None => format!("{column} int"),
    }
}

/// A column that rows get as they are read, or, if its default may be another for each row, one
/// for which they are all written anew.
fn add_column(look: &Look<'_>) -> Option<Statement> {
    let table = look.some_table(|table| table.of.is_none())?;
    let column = format!("c{}", look.random.below(COLUMN_NAMES));
    if look.state.table(&table).added.contains_key(&column) {
        return None;
    }
    let default = look.random.chance(3, 4).then(|| look.below(100));
    let written = match default {
        Some(value) if look.random.chance(1, 4) => {
            format!("{column} int DEFAULT ({value} + random() * 0)")
        }
        default => column_sql(&column, default),
    };
    let add = |name| Op::AddColumn(name, column.clone(), default);
    let ops = look.state.tree(&table).into_iter().map(add).collect();
    Some(Statement::done(format!("ALTER TABLE {table} ADD COLUMN {written}"), Effect::of(ops)))
}

fn drop_column(look: &Look<'_>) -> Option<Statement> {
    let table = look.some_table(|table| table.of.is_none() && !table.added.is_empty())?;
    let columns: Vec<&String> = look.state.table(&table).added.keys().collect();
    let column = *look.some_of(&columns)?;
    let drop = |name| Op::DropColumn(name, column.clone());
    let ops = look.state.tree(&table).into_iter().map(drop).collect();
    Some(Statement::done(format!("ALTER TABLE {table} DROP COLUMN {column}"), Effect::of(ops)))
}

// ----- indexes: which there are is not in the state, but in the catalog -----

fn create_index(look: &Look<'_>) -> Option<Statement> {
    let name = format!("i{}", look.random.below(INDEX_NAMES));
    if look.catalog.relation_named(PUBLIC, &name).is_some() {
        return None;
    }
    // Mostly of parents, which have them made for every leaf.
    let wants_parent = look.random.chance(3, 4);
    let table = look.some_table(|table| table.rows().is_none() == wants_parent)?;
    let mut keys: Vec<String> = ["v", "v DESC", "k, v", "v, id"].map(str::to_owned).to_vec();
    keys.extend(look.state.table(&table).added.keys().cloned());
    let keys = look.some_of(&keys)?;
    let sql = format!("CREATE INDEX {name} ON {table} ({keys})");
    Some(Statement::done(sql, Effect::default()))
}

fn drop_index(look: &Look<'_>) -> Option<Statement> {
    let is_free = |index: &steppe_catalog::Relation| {
        let constraint = |table: &steppe_catalog::Relation| {
            table.constraints.iter().any(|constraint| constraint.index() == Some(index.oid))
        };
        let table = index.index.as_ref().and_then(|info| look.catalog.relation(info.table));
        index.partition_of.is_none() && table.is_some_and(|table| !constraint(table))
    };
    let indexes = look.catalog.relations_in(PUBLIC);
    let indexes = indexes
        .filter(|r| matches!(r.kind, RelKind::Index | RelKind::PartitionedIndex) && is_free(r));
    let names: Vec<_> = indexes.map(|index| index.name.clone()).collect();
    let name = look.some_of(&names)?;
    Some(Statement::done(format!("DROP INDEX {name}"), Effect::default()))
}

fn reindex(look: &Look<'_>) -> Option<Statement> {
    let table = look.some_table(|table| table.rows().is_some())?;
    Some(Statement::done(format!("REINDEX TABLE {table}"), Effect::default()))
}
