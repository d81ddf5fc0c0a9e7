//! Reading a database: what it holds, as a state; and whether its parts agree.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::Unbounded;
use std::sync::Arc;

use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::system::{self, SessionView, SystemContext};
use steppe_catalog::{Catalog, ConstraintKind, PUBLIC, RelKind, Relation};
use steppe_partition::{BoundValue, PartitionBound, PartitionStrategy, RangeDatum};
use steppe_storage::Direction;
use steppe_txn::{DatabaseId, FileId, IndexStore, RelFileNumber, TreeId, Visibility};
use steppe_types::key::{KeyPart, encode_key};
use steppe_types::{Datum, Oid, Result};

use crate::families::{self, Families, is_family};
use crate::keyed::{self, Keyed, is_keyed};
use crate::model::{Bound, KEYS, Key, Kind, Row, State, Table, Used};
use crate::session::{Instance, Session};

/// The catalog's own files.
const CATALOG_FILES: [FileId; 2] = [catalog_file(1), catalog_file(2)];

const fn catalog_file(number: u64) -> FileId {
    FileId { database: DatabaseId::POSTGRES, number: RelFileNumber(number) }
}

/// The catalog of partitions and their parents.
const PG_INHERITS: Oid = 2611;
/// The prefix of the entries of files in the system tree.
const FILE_ENTRY: u8 = b'f';

// ----- the state -----

pub(crate) fn int(value: &Datum) -> Option<i32> {
    match value {
        Datum::Int4(value) => Some(*value),
        Datum::Null => None,
        other => panic!("{other:?} is no integer"),
    }
}

fn oid_of(value: &Datum) -> Oid {
    match value {
        Datum::Oid(oid) => *oid,
        other => panic!("{other:?} is no OID"),
    }
}

fn key_of(id: &Datum, k: &Datum) -> Key {
    (int(id).expect("id is not null"), int(k).expect("k is not null"))
}

fn name_of(catalog: &Catalog, oid: Oid) -> String {
    catalog.relation(oid).expect("the relation is there").name.to_string()
}

fn bound_of(bound: &PartitionBound) -> Bound {
    let value = |value: &BoundValue| int(value.datum()).expect("bounds are not null");
    let side = |datums: &[RangeDatum]| match datums {
        [RangeDatum::MinValue] => i32::MIN,
        [RangeDatum::Value(bound)] => value(bound),
        [RangeDatum::MaxValue] => i32::MAX,
        other => panic!("{other:?} is no bound of one column"),
    };
    match bound {
        PartitionBound::Range { lower, upper } => Bound::Range(side(lower), side(upper)),
        PartitionBound::List { values } => Bound::List(values.iter().map(value).collect()),
        PartitionBound::Hash { modulus, remainder } => Bound::Hash(*modulus, *remainder),
        PartitionBound::Default => Bound::Default,
    }
}

/// The constant in a default, which is the first number in it.
fn default_of(text: &str) -> Option<i32> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty());
    digits.map(|digits| digits.parse().expect("defaults are small"))
}

/// The columns that were added to a table, with their defaults.
fn added_to(table: &Relation) -> BTreeMap<String, Option<i32>> {
    let live = table.columns.iter().filter(|column| !column.dropped);
    let added = live.filter(|column| column.name.starts_with('c'));
    added.map(|c| (c.name.to_string(), c.default.as_deref().and_then(default_of))).collect()
}

/// The tables of a catalog.
fn tables(catalog: &Catalog) -> impl Iterator<Item = &Arc<Relation>> {
    let is_table =
        |r: &&Arc<Relation>| matches!(r.kind, RelKind::Table | RelKind::PartitionedTable);
    catalog.relations_in(PUBLIC).filter(is_table)
}

/// The state that the session's next statement sees.
pub(crate) fn read_state(session: &mut Session) -> Result<State> {
    let catalog = session.catalog();
    let mut state = State { sequences: sequences_of(session, &catalog)?, ..State::default() };
    state.families = Families::read(session)?.map(Into::into);
    for table in tables(&catalog).filter(|table| !is_family(table)) {
        if is_keyed(table) {
            let keyed = Keyed::read(session, table)?;
            state.keyed.insert(table.name.to_string(), keyed.into());
            continue;
        }
        let added = added_to(table);
        let strategy = table.partition_key.as_ref().map(|key| key.strategy);
        let kind = match strategy {
            Some(strategy) => Kind::Partitioned(strategy),
            None => {
                let rows = read_rows(session, &table.name, &added, "")?;
                Kind::Rows(rows.into_iter().map(|(_, key, row)| (key, row)).collect())
            }
        };
        let of = table.partition_of.as_ref().map(|of| {
            let bound = of.bound.as_ref().expect("a table's partition has a bound");
            (name_of(&catalog, of.parent), bound_of(bound))
        });
        let (detaching, only) = (table.is_detaching(), keys_admitted(session, table)?);
        let table_of = Table { kind, added, of, detaching, only };
        state.tables.insert(table.name.to_string(), table_of.into());
    }
    Ok(state)
}

/// The sequences, with the values before those that they give next.
fn sequences_of(session: &Session, catalog: &Catalog) -> Result<BTreeMap<String, Used>> {
    let instance = &session.instance;
    let sequences = catalog.relations_in(PUBLIC).filter(|r| r.kind == RelKind::Sequence);
    let sequences = sequences.map(|sequence| {
        let (last, called) = instance.sequences.get(&instance.engine, sequence)?.position();
        Ok((sequence.name.to_string(), Used(if called { last } else { last - 1 })))
    });
    sequences.collect()
}

/// The keys that a table's CHECKs admit; `None`: it has none.
fn keys_admitted(session: &mut Session, table: &Relation) -> Result<Option<BTreeSet<i32>>> {
    let checks = table.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::Check { expression } => Some(format!("({expression})")),
        _ => None,
    });
    let checks: Vec<String> = checks.collect();
    if checks.is_empty() {
        return Ok(None);
    }
    let from = format!("SELECT k FROM generate_series(0, {}) AS k", KEYS - 1);
    let rows = session.query(&format!("{from} WHERE {}", checks.join(" AND ")), &[])?;
    Ok(Some(rows.iter().filter_map(|row| int(&row[0])).collect()))
}

/// The rows of a table that meet a condition, with the leaves they are said to be in.
pub(crate) fn read_rows(
    session: &mut Session,
    table: &str,
    added: &BTreeMap<String, Option<i32>>,
    condition: &str,
) -> Result<Vec<(String, Key, Row)>> {
    let columns: String = added.keys().map(|column| format!(", {column}")).collect();
    let text = format!("SELECT tableoid, id, k, v, t{columns} FROM {table}{condition}");
    let (rows, catalog) = (session.query(&text, &[])?, session.catalog());
    let rows = rows.into_iter().map(|row| {
        let Datum::Text(t) = &row[4] else { panic!("t is {:?}", row[4]) };
        let added = added.keys().cloned().zip(row[5..].iter().map(int)).collect();
        let v = int(&row[3]).expect("v is not null");
        let leaf = name_of(&catalog, oid_of(&row[0]));
        (leaf, key_of(&row[1], &row[2]), Row { v, t: (**t).into(), added })
    });
    Ok(rows.collect())
}

// ----- the parts -----

/// Everything that must be true of a quiet database whatever its history. `session` has begun a
/// transaction; `state` is what it sees.
pub(crate) fn check_all(session: &mut Session, state: &State) -> Result<()> {
    let catalog = session.catalog();
    state.check_placement();
    check_inherits(&catalog, state)?;
    families::check(session, state)?;
    for table in tables(&catalog) {
        if is_family(table) {
            match table.kind {
                RelKind::PartitionedTable => check_partitions(&catalog, table),
                _ => check_indexes(session, &catalog, table)?,
            }
            continue;
        }
        if is_keyed(table) {
            check_indexes(session, &catalog, table)?;
            keyed::check(session, state, table)?;
            continue;
        }
        match table.kind {
            RelKind::PartitionedTable => {
                check_partitions(&catalog, table);
                check_ways(session, state, table)?;
            }
            _ => check_indexes(session, &catalog, table)?,
        }
        check_look_ups(session, state, table)?;
    }
    let instance = Arc::clone(&session.instance);
    let owned = check_files(&instance, &catalog)?;
    check_structure(&instance, &owned)
}

/// What pg_inherits needs to know of a session.
struct NoSession;

impl SessionView for NoSession {}

/// pg_inherits has each partition, and whether it is being detached.
fn check_inherits(catalog: &Catalog, state: &State) -> Result<()> {
    let (database, session) = ("postgres", &NoSession);
    let context = SystemContext { catalog, database, database_oid: POSTGRES_DATABASE, session };
    let rows = system::rows(PG_INHERITS, &context)?.expect("they can be told");
    let is_table = |row: &&Vec<Datum>| {
        let mut others = tables(catalog).filter(|table| !is_family(table));
        others.any(|table| table.oid == oid_of(&row[0]))
    };
    let found = rows.iter().filter(is_table).map(|row| {
        let is_detaching = row[3] == Datum::Bool(true);
        (name_of(catalog, oid_of(&row[0])), name_of(catalog, oid_of(&row[1])), is_detaching)
    });
    let expected = state.tables.iter().filter_map(|(name, table)| {
        let (parent, _) = table.of.as_ref()?;
        Some((name.clone(), parent.clone(), table.detaching))
    });
    assert_eq!(found.collect::<BTreeSet<_>>(), expected.collect(), "pg_inherits");
    Ok(())
}

/// Each index of a partitioned table has exactly one part in each partition; it may have one in
/// what is being detached.
fn check_partitions(catalog: &Catalog, table: &Relation) {
    let map = catalog.partition_map(table.oid).expect("is without contradictions");
    let all: BTreeSet<Oid> = catalog.children(table.oid).collect();
    let mut children = all.clone();
    children.retain(|child| catalog.relation(*child).is_some_and(|child| !child.is_detaching()));
    assert_eq!(map.expect("there is a map").len(), children.len(), "the map of {}", table.name);
    for index in catalog.indexes_of(table) {
        assert_eq!(index.kind, RelKind::PartitionedIndex, "{}", index.name);
        let parts = catalog.children(index.oid).map(|part| {
            let part = catalog.relation(part).expect("an index's part is there");
            part.index.as_ref().expect("it is an index").table
        });
        let parts: Vec<Oid> = parts.collect();
        let distinct: BTreeSet<Oid> = parts.iter().copied().collect();
        assert_eq!(parts.len(), distinct.len(), "two parts of {} in one table", index.name);
        let (is_whole, is_foreign) = (children.is_subset(&distinct), !distinct.is_subset(&all));
        assert!(is_whole && !is_foreign, "the parts of {}: {distinct:?}", index.name);
    }
}

/// Rows of a partitioned table are found in the leaves that have them: over all leaves, over those
/// that pruning leaves over, and with pruning switched off.
fn check_ways(session: &mut Session, state: &State, table: &Relation) -> Result<()> {
    let name = &table.name;
    let mut expected: Vec<(String, Key, i32)> =
        state.rows(name).into_iter().map(|(leaf, key, row)| (leaf, key, row.v)).collect();
    expected.sort();
    let catalog = session.catalog();
    let found = |rows: Vec<Vec<Datum>>| {
        let rows = rows.iter().map(|row| {
            let v = int(&row[3]).expect("v is not null");
            (name_of(&catalog, oid_of(&row[0])), key_of(&row[1], &row[2]), v)
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort();
        rows
    };
    let all = format!("SELECT tableoid, id, k, v FROM {name}");
    assert_eq!(found(session.query(&all, &[])?), expected, "the rows of {name}");
    for prunes in [true, false] {
        session.settings.partition_pruning = prunes;
        let of_key = session.compile(&format!("{all} WHERE k = $1"), &[steppe_types::oid::INT4])?;
        for k in 0..KEYS {
            let expected: Vec<_> = expected.iter().filter(|(_, key, _)| key.1 == k).collect();
            let rows = found(session.run_compiled(&of_key, &[k])?.rows);
            let rows: Vec<_> = rows.iter().collect();
            assert_eq!(rows, expected, "the rows of {name} with k = {k}, pruned: {prunes}");
        }
    }
    session.settings.partition_pruning = true;
    Ok(())
}

/// Each row is found by its primary key.
fn check_look_ups(session: &mut Session, state: &State, table: &Relation) -> Result<()> {
    let name = &table.name;
    let text = format!("SELECT tableoid, v FROM {name} WHERE id = $1 AND k = $2");
    let look_up = session.compile(&text, &[steppe_types::oid::INT4; 2])?;
    let catalog = session.catalog();
    for (leaf, key, row) in state.rows(name) {
        let found = session.run_compiled(&look_up, &[key.0, key.1])?.rows;
        let found = found.iter().map(|row| (name_of(&catalog, oid_of(&row[0])), int(&row[1])));
        assert!(found.eq([(leaf.clone(), Some(row.v))]), "row {key:?} of {name}, by its key");
    }
    Ok(())
}

/// The indexes of a table with rows have an entry for each row, and no other visible one.
fn check_indexes(session: &mut Session, catalog: &Catalog, table: &Relation) -> Result<()> {
    for index in catalog.indexes_of(table) {
        let info = index.index.as_ref().expect("is an index");
        let columns = info.keys.iter().map(|key| &*table.columns[key.attnum as usize - 1].name);
        let columns: Vec<&str> = columns.collect();
        let parts = info.keys.iter().map(|key| KeyPart {
            type_oid: key.type_oid,
            descending: key.descending,
            nulls_first: key.nulls_first,
        });
        let parts: Vec<KeyPart> = parts.collect();
        let text = format!("SELECT ctid, {} FROM {}", columns.join(", "), table.name);
        let mut expected = BTreeMap::new();
        for row in session.query(&text, &[])? {
            let mut key = Vec::new();
            encode_key(&row[1..], &parts, &mut key)?;
            assert!(expected.insert(row_id(&row[0]), key).is_none(), "a row twice");
        }
        check_entries(session, index, info.is_unique_now(), &expected)?;
    }
    Ok(())
}

/// The row id that a ctid is made of.
fn row_id(ctid: &Datum) -> u64 {
    match ctid {
        Datum::Tid(block, offset) => steppe_exec::row_of_ctid(*block, *offset),
        other => panic!("{other:?} is no ctid"),
    }
}

fn check_entries(
    session: &mut Session,
    index: &Relation,
    unique: bool,
    expected: &BTreeMap<u64, Vec<u8>>,
) -> Result<()> {
    let file = index.storage.unwrap_or_else(|| panic!("{} has no file", index.name));
    let store = IndexStore::open(&session.instance.engine, file, unique);
    session.txn().start_statement()?;
    for direction in [Direction::Forward, Direction::Backward] {
        let mut found = BTreeMap::new();
        let mut entries = store.scan(session.txn().view(), Unbounded, Unbounded, direction)?;
        while let Some((key, row, visibility)) = entries.next()? {
            if expected.get(&row.0).is_some_and(|of_row| of_row == key) {
                assert!(found.insert(row.0, key.to_vec()).is_none(), "an entry twice");
            } else {
                let is_doubtful = visibility == Visibility::AskRow;
                assert!(is_doubtful, "{} has an entry of row {row:?}, which is none", index.name);
            }
        }
        assert_eq!(&found, expected, "the entries of {}", index.name);
    }
    Ok(())
}

/// Every relation that has rows or entries has a file of its own, and every file's pages are some
/// relation's. Returns the files.
fn check_files(instance: &Instance, catalog: &Catalog) -> Result<BTreeSet<FileId>> {
    let mut owned = BTreeSet::from(CATALOG_FILES);
    for relation in catalog.relations_in(PUBLIC) {
        let (storage, overflow) = match relation.kind {
            RelKind::Table => (true, true),
            RelKind::Index => (true, false),
            _ => (false, false),
        };
        let name = &relation.name;
        assert_eq!(relation.storage.is_some(), storage, "the file of {name}");
        assert_eq!(relation.overflow.is_some(), overflow, "the file of {name}'s large values");
        for file in relation.storage.iter().chain(&relation.overflow) {
            assert!(owned.insert(*file), "{name} has a file that is not its own: {file:?}");
        }
    }
    let system = instance.engine.store().tree(instance.engine.system_tree_id());
    let mut entries = system.scan(Unbounded, Unbounded, Direction::Forward);
    while entries.next_page()? {
        while let Some((key, _)) = entries.next() {
            let Some((&FILE_ENTRY, number)) = key.split_first() else { continue };
            let (database, number) = number.split_first_chunk::<4>().expect("a database");
            let database = DatabaseId(u32::from_be_bytes(*database));
            let number = number.try_into().expect("a file's number");
            let file = FileId { database, number: RelFileNumber(u64::from_be_bytes(number)) };
            assert!(owned.contains(&file), "{file:?} has pages, and no relation has it");
        }
    }
    Ok(owned)
}

/// Every tree is sound, and no page is lost or shared.
fn check_structure(instance: &Instance, files: &BTreeSet<FileId>) -> Result<()> {
    let engine = &instance.engine;
    let mut trees: Vec<TreeId> = vec![engine.system_tree_id()];
    for file in files {
        trees.extend(engine.tree_of(*file)?);
    }
    for tree in &trees {
        engine.store().tree(*tree).check()?;
    }
    engine.store().check_space(&trees)?;
    Ok(())
}

/// Whether two versions of the catalog have the same relations in every detail.
pub(crate) fn same_catalog(a: &Catalog, b: &Catalog) -> bool {
    first_difference(a, b).is_none()
}

/// The first relation in which two versions of the catalog differ, as both have it.
pub(crate) fn first_difference(a: &Catalog, b: &Catalog) -> Option<(String, String)> {
    let oids: BTreeSet<Oid> =
        a.relations_in(PUBLIC).chain(b.relations_in(PUBLIC)).map(|relation| relation.oid).collect();
    let shown = |catalog: &Catalog, oid| match catalog.relation(oid) {
        Some(relation) => format!("{relation:?}"),
        None => "nothing".to_owned(),
    };
    let pairs = oids.into_iter().map(|oid| (shown(a, oid), shown(b, oid)));
    pairs.into_iter().find(|(a, b)| a != b)
}

/// Which strategy a partitioned table has, in SQL.
pub(crate) fn strategy_sql(strategy: PartitionStrategy) -> &'static str {
    match strategy {
        PartitionStrategy::Range => "RANGE",
        PartitionStrategy::List => "LIST",
        PartitionStrategy::Hash => "HASH",
    }
}
