//! The expected contents of the database: tables, their partitions, and their rows.
//!
//! A state is made of tables that states share until one of them changes. What a transaction does
//! is a list of [`Op`]s, each of which says what changes and not why: what a transaction's locks
//! keep others from changing is all that its operations say anything about, so that they can be
//! applied to whatever others have committed meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::OnceLock;

use steppe_partition::{PartitionBound, PartitionMap, PartitionStrategy};
use steppe_types::{Datum, oid};

use crate::families::{self, Families};
use crate::keyed::{Change, Keyed};

/// Partition keys are below this.
pub(crate) const KEYS: i32 = 24;
/// The largest modulus of a hash partition; each is a factor of it.
pub(crate) const MODULUS_MAX: u32 = 8;

/// (id, k): a primary key of every table.
pub(crate) type Key = (i32, i32);

/// The other columns of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) v: i32,
    pub(crate) t: Rc<str>,
    /// The columns that were added.
    pub(crate) added: BTreeMap<String, Option<i32>>,
}

/// FOR VALUES of one partition, by k.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// From the first on and below the second; the least and the greatest integer stand for
    /// MINVALUE and MAXVALUE.
    Range(i32, i32),
    List(BTreeSet<i32>),
    /// Modulus and remainder.
    Hash(u32, u32),
    Default,
}

impl Bound {
    /// Whether a key is in it; DEFAULT has none of its own.
    pub(crate) fn admits(&self, k: i32) -> bool {
        match self {
            Bound::Range(lower, upper) => (*lower..*upper).contains(&k),
            Bound::List(values) => values.contains(&k),
            Bound::Hash(modulus, remainder) => hash_remainder(k) % modulus == *remainder,
            Bound::Default => false,
        }
    }

    pub(crate) fn sql(&self) -> String {
        let side = |value: i32| match value {
            i32::MIN => "MINVALUE".to_owned(),
            i32::MAX => "MAXVALUE".to_owned(),
            value => value.to_string(),
        };
        match self {
            Bound::Range(lower, upper) => {
                format!("FOR VALUES FROM ({}) TO ({})", side(*lower), side(*upper))
            }
            Bound::List(values) => {
                let values: Vec<String> = values.iter().map(i32::to_string).collect();
                format!("FOR VALUES IN ({})", values.join(", "))
            }
            Bound::Hash(modulus, remainder) => {
                format!("FOR VALUES WITH (MODULUS {modulus}, REMAINDER {remainder})")
            }
            Bound::Default => "DEFAULT".to_owned(),
        }
    }
}

/// The remainder of a key's hash by [`MODULUS_MAX`], as the partitions' own arithmetic has it
/// (which is compared with PostgreSQL's elsewhere).
fn hash_remainder(k: i32) -> u32 {
    static REMAINDERS: OnceLock<Vec<u32>> = OnceLock::new();
    let all = REMAINDERS.get_or_init(|| {
        let mut map = PartitionMap::new(PartitionStrategy::Hash, &[oid::INT4]).expect("is hashed");
        for remainder in 0..MODULUS_MAX {
            let bound = PartitionBound::Hash { modulus: MODULUS_MAX, remainder };
            map.attach(remainder, &bound).expect("does not overlap");
        }
        let route = |k| map.route(&[Datum::Int4(k)], &mut Vec::new()).expect("routes");
        (0..KEYS).map(|k| route(k).expect("every remainder is there")).collect()
    });
    all[usize::try_from(k).expect("keys are not negative")]
}

/// The properties of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rows(BTreeMap<Key, Row>),
    Partitioned(PartitionStrategy),
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) kind: Kind,
    /// The columns that were added, with their defaults.
    pub(crate) added: BTreeMap<String, Option<i32>>,
    /// PARTITION OF.
    pub(crate) of: Option<(String, Bound)>,
    /// It is being detached CONCURRENTLY.
    pub(crate) detaching: bool,
    /// The keys that CHECKs admit which came of that.
    pub(crate) only: Option<BTreeSet<i32>>,
}

impl Table {
    /// A table with rows, or a partitioned one.
    pub(crate) fn new(kind: Kind, added: BTreeMap<String, Option<i32>>) -> Table {
        Table { kind, added, of: None, detaching: false, only: None }
    }

    /// Whether its CHECKs admit a key.
    pub(crate) fn checks(&self, k: i32) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&k))
    }

    pub(crate) fn rows(&self) -> Option<&BTreeMap<Key, Row>> {
        match &self.kind {
            Kind::Rows(rows) => Some(rows),
            Kind::Partitioned(_) => None,
        }
    }

    fn rows_mut(&mut self) -> Option<&mut BTreeMap<Key, Row>> {
        match &mut self.kind {
            Kind::Rows(rows) => Some(rows),
            Kind::Partitioned(_) => None,
        }
    }
}

/// The last value of a sequence that has been used. A crash may skip values: how far a sequence
/// has come is no difference between states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used(pub(crate) i64);

impl PartialEq for Used {
    fn eq(&self, _: &Used) -> bool {
        true
    }
}

impl Eq for Used {}

/// All tables and sequences by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) tables: BTreeMap<String, Rc<Table>>,
    pub(crate) sequences: BTreeMap<String, Used>,
    /// Tables with DEFERRABLE keys.
    pub(crate) keyed: BTreeMap<String, Rc<Keyed>>,
    /// Tables with foreign keys, if they are there.
    pub(crate) families: Option<Rc<Families>>,
}

impl State {
    pub(crate) fn table(&self, name: &str) -> &Table {
        self.tables.get(name).unwrap_or_else(|| panic!("no table {name}"))
    }

    /// The partitions of a table, with their bounds; also of what is being detached, which are
    /// taken as long as that lasts.
    pub(crate) fn children<'s>(
        &'s self,
        parent: &str,
    ) -> impl Iterator<Item = (&'s str, &'s Bound)> {
        self.tables.iter().filter_map(move |(name, table)| match &table.of {
            Some((of, bound)) if of == parent => Some((name.as_str(), bound)),
            _ => None,
        })
    }

    /// A table and all below it that a statement of it is about.
    pub(crate) fn tree(&self, name: &str) -> Vec<String> {
        self.tree_of(name, &|table| !table.detaching)
    }

    /// A table and all below it, what is being detached, too.
    pub(crate) fn whole_tree(&self, name: &str) -> Vec<String> {
        self.tree_of(name, &|_| true)
    }

    fn tree_of(&self, name: &str, wanted: &dyn Fn(&Table) -> bool) -> Vec<String> {
        let mut found = vec![name.to_owned()];
        for (child, _) in self.children(name).filter(|(child, _)| wanted(self.table(child))) {
            found.extend(self.tree_of(child, wanted));
        }
        found
    }

    /// The partition of a table that is being detached.
    pub(crate) fn detaching(&self, parent: &str) -> Option<&str> {
        self.children(parent).map(|(child, _)| child).find(|child| self.table(child).detaching)
    }

    /// The tables below (or at) one that have rows.
    pub(crate) fn leaves(&self, name: &str) -> Vec<String> {
        let mut tree = self.tree(name);
        tree.retain(|name| self.table(name).rows().is_some());
        tree
    }

    /// The rows of a table, with the leaves that they are in.
    pub(crate) fn rows(&self, name: &str) -> Vec<(String, Key, &Row)> {
        let leaves = self.leaves(name).into_iter();
        let rows = leaves.flat_map(|leaf| {
            let rows = self.table(&leaf).rows().into_iter().flatten();
            rows.map(move |(key, row)| (leaf.clone(), *key, row))
        });
        rows.collect()
    }

    /// The child of a partitioned table that takes a key. One that is being detached takes none,
    /// and leaves none of its own to DEFAULT.
    fn child_for<'s>(&'s self, parent: &str, k: i32) -> Option<&'s str> {
        let mut default = None;
        for (child, bound) in self.children(parent) {
            if bound.admits(k) {
                return Some(child).filter(|child| !self.table(child).detaching);
            }
            if *bound == Bound::Default {
                default = Some(child);
            }
        }
        default
    }

    /// The leaf below (or at) a table that takes a key.
    fn route(&self, name: &str, k: i32) -> Option<String> {
        match self.table(name).rows() {
            Some(_) => Some(name.to_owned()),
            None => self.child_for(name, k).and_then(|child| self.route(child, k)),
        }
    }

    /// Whether a table's own place among partitions, at all levels, takes a key, and its CHECKs.
    /// (Those of what is above are its own, too, unless it is being detached.)
    pub(crate) fn accepts(&self, name: &str, k: i32) -> bool {
        self.is_place_of(name, k) && self.table(name).checks(k)
    }

    fn is_place_of(&self, name: &str, k: i32) -> bool {
        let table = self.table(name);
        let is_here = match &table.of {
            Some((_, bound)) if table.detaching => bound.admits(k),
            Some((parent, _)) => self.child_for(parent, k) == Some(name),
            None => true,
        };
        is_here && table.of.as_ref().is_none_or(|(parent, _)| self.is_place_of(parent, k))
    }

    /// The leaf that a row comes to which a statement gives to a table. `None`: it is refused.
    pub(crate) fn place(&self, name: &str, k: i32) -> Option<String> {
        let leaf = self.route(name, k).filter(|_| self.accepts(name, k))?;
        Some(leaf).filter(|leaf| self.table(leaf).checks(k))
    }

    /// What a partition's CHECK admits when it is to be detached. `None`: it gets none, since what
    /// hashes come to cannot be told without the table that they are of.
    pub(crate) fn own_keys(&self, name: &str) -> Option<BTreeSet<i32>> {
        let (parent, _) = self.table(name).of.as_ref().expect("it is a partition");
        let is_hash = self.table(parent).kind == Kind::Partitioned(PartitionStrategy::Hash);
        (!is_hash).then(|| (0..KEYS).filter(|k| self.accepts(name, *k)).collect())
    }

    /// How many levels of partitioned tables are above a table.
    pub(crate) fn depth(&self, name: &str) -> usize {
        let of = self.table(name).of.as_ref();
        of.map_or(0, |(parent, _)| 1 + self.depth(parent))
    }

    /// Every leaf's rows are where their keys belong.
    pub(crate) fn check_placement(&self) {
        for (name, table) in &self.tables {
            for (_, k) in table.rows().into_iter().flatten().map(|(key, _)| key) {
                assert!(self.accepts(name, *k), "a row with k = {k} in {name}");
            }
        }
    }

    /// Whether some rows are where others have since made no place for them.
    pub(crate) fn has_misplaced_rows(&self) -> bool {
        let is_misplaced = |name: &str, table: &Table| {
            let mut keys = table.rows().into_iter().flatten().map(|(key, _)| key.1);
            keys.any(|k| !self.accepts(name, k))
        };
        self.tables.iter().any(|(name, table)| is_misplaced(name, table))
    }

    /// Whether a partition has other columns than its parent: one that an older snapshot has in its
    /// place still, where the parent has changed since it was marked.
    pub(crate) fn has_strange_columns(&self) -> bool {
        let is_strange = |table: &Table| match &table.of {
            Some((parent, _)) if !table.detaching => {
                !table.added.keys().eq(self.table(parent).added.keys())
            }
            _ => false,
        };
        self.tables.values().any(|table| is_strange(table))
    }

    /// A line for each table and row, to compare two states by.
    pub(crate) fn lines(&self) -> BTreeSet<String> {
        let mut lines: BTreeSet<String> = self
            .sequences
            .iter()
            .map(|(name, used)| format!("sequence {name}: {used:?}"))
            .collect();
        lines.extend(self.keyed.iter().flat_map(|(name, table)| table.lines(name)));
        lines.extend(self.families.iter().flat_map(|families| families.lines()));
        for (name, table) in &self.tables {
            let kind = match &table.kind {
                Kind::Rows(rows) => format!("{} rows", rows.len()),
                Kind::Partitioned(strategy) => format!("by {strategy:?}"),
            };
            let of = &table.of;
            let (added, only) = (&table.added, &table.only);
            let of = format!("{of:?}{}", if table.detaching { ", detaching" } else { "" });
            lines.insert(format!("table {name}: {kind}, added {added:?}, of {of}, only {only:?}"));
            for (key, row) in table.rows().into_iter().flatten() {
                let (head, bytes) = (row.t.get(..8).unwrap_or(&row.t), row.t.len());
                let added = &row.added;
                lines.insert(format!("row {name} {key:?}: {} {head}/{bytes} {added:?}", row.v));
            }
        }
        lines
    }
}

/// A change.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Create(String, Table),
    Drop(String),
    Rename(String, String),
    /// ATTACH or DETACH.
    Place(String, Option<(String, Bound)>),
    /// The first half of DETACH CONCURRENTLY, and what a CHECK admits from then on.
    Mark(String, Option<BTreeSet<i32>>),
    AddColumn(String, String, Option<i32>),
    DropColumn(String, String),
    Truncate(String),
    Put(String, Key, Row),
    Remove(String, Key),
    /// CREATE SEQUENCE and RESTART: what comes first.
    Restart(String, i64),
    /// A value of a sequence has been used.
    Use(String, i64),
    DropSequence(String),
    /// For a table with a DEFERRABLE key.
    Keyed(String, Change),
    /// For the tables with foreign keys.
    Family(families::Change),
    /// SET CONSTRAINTS of that table's key, or ALL, to DEFERRED or IMMEDIATE.
    Constraints(Option<String>, bool),
}

impl Op {
    pub(crate) fn apply(&self, state: &mut State) {
        let mut change = |name: &str, f: &dyn Fn(&mut Table)| {
            let table = state.tables.get_mut(name);
            f(Rc::make_mut(table.unwrap_or_else(|| panic!("no table {name}"))));
        };
        match self {
            Op::Create(name, table) => {
                let before = state.tables.insert(name.clone(), Rc::new(table.clone()));
                assert!(before.is_none(), "table {name} is there already");
            }
            Op::Drop(name) => {
                assert!(state.tables.remove(name).is_some(), "table {name} is not there");
            }
            Op::Restart(name, first) => {
                state.sequences.insert(name.clone(), Used(first - 1));
            }
            Op::Use(name, value) => {
                let used = state.sequences.get_mut(name).expect("the sequence is there");
                used.0 = used.0.max(*value);
            }
            Op::DropSequence(name) => {
                assert!(state.sequences.remove(name).is_some(), "no sequence {name}");
            }
            Op::Keyed(name, change) => change.apply(name, &mut state.keyed),
            Op::Family(change) => change.apply(&mut state.families),
            Op::Constraints(..) => {}
            Op::Rename(from, to) => rename(state, from, to),
            Op::Place(name, of) => change(name, &|table| {
                table.of.clone_from(of);
                table.detaching = false;
            }),
            Op::Mark(name, only) => mark(state, name, only.as_ref()),
            Op::AddColumn(name, column, value) => change(name, &|table| {
                table.added.insert(column.clone(), *value);
                for row in table.rows_mut().into_iter().flat_map(BTreeMap::values_mut) {
                    row.added.insert(column.clone(), *value);
                }
            }),
            Op::DropColumn(name, column) => change(name, &|table| {
                table.added.remove(column);
                for row in table.rows_mut().into_iter().flat_map(BTreeMap::values_mut) {
                    row.added.remove(column);
                }
            }),
            Op::Truncate(name) => change(name, &|table| {
                table.rows_mut().expect("a leaf").clear();
            }),
            Op::Put(name, key, row) => change(name, &|table| {
                table.rows_mut().expect("a leaf").insert(*key, row.clone());
            }),
            Op::Remove(name, key) => change(name, &|table| {
                let before = table.rows_mut().expect("a leaf").remove(key);
                assert!(before.is_some(), "no row {key:?} in {name}");
            }),
        }
    }
}

fn mark(state: &mut State, name: &str, only: Option<&BTreeSet<i32>>) {
    for below in state.tree(name) {
        let table = Rc::make_mut(state.tables.get_mut(&below).expect("the table is there"));
        table.detaching |= below == name;
        let Some(only) = only else { continue };
        table.only = Some(match &table.only {
            Some(before) => before & only,
            None => only.clone(),
        });
    }
}

fn rename(state: &mut State, from: &str, to: &str) {
    let table = state.tables.remove(from).expect("the table is there");
    state.tables.insert(to.to_owned(), table);
    for table in state.tables.values_mut() {
        let is_child = |table: &Table| table.of.as_ref().is_some_and(|(parent, _)| parent == from);
        if is_child(table)
            && let Some((parent, _)) = &mut Rc::make_mut(table).of
        {
            *parent = to.to_owned();
        }
    }
}
