//! Compares random joins over columns with the loop over all pairs of rows.

use super::HashJoinPlan;
use super::compile::{ColumnJoin, KeyColumns};
use super::pairs::{Collecting, Probe};
use super::table::{Comparison, KeyAt, Keyed, Table};
use crate::hashing::equal_keys;
use crate::node::compile_columns::Condition;
use crate::node::{CNode, CPlan};
use crate::vector::{NO_ROW, VExpr, Vector, hash_rows, null_keys};
use std::sync::Arc;
use steppe_sql::query::JoinKind;
use steppe_types::{Datum, Oid, oid};
use steppe_vfs::SeededRandom;

const KINDS: [JoinKind; 8] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::Semi,
    JoinKind::Anti,
    JoinKind::RightSemi,
    JoinKind::RightAnti,
];

struct Random(SeededRandom);

impl Random {
    fn below(&self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn value(&self, type_oid: Oid) -> Datum {
        let pick = |values: &[&str], i: u64| values[i as usize % values.len()].to_owned();
        let i = self.below(9);
        match type_oid {
            _ if i == 8 => Datum::Null,
            oid::INT8 if i < 2 => Datum::Int2(i as i16),
            oid::INT8 if i < 4 => Datum::Int4(i as i32 - 2),
            oid::INT8 => Datum::Int8(i as i64 - 4),
            oid::FLOAT8 => Datum::Float8([0.0, -0.0, f64::NAN, -f64::NAN, 1.5][i as usize % 5]),
            oid::NUMERIC => {
                let text = pick(&["1", "1.0", "1.50", "0", "NaN", "1.5000000000000000000000"], i);
                Datum::Numeric(text.parse().unwrap())
            }
            _ => Datum::text(&*pick(&["a", "a ", "", " ", "a string of some words"], i)),
        }
    }

    fn rows(&self, types: &[Oid], count: u64) -> Vec<Vec<Datum>> {
        (0..count).map(|_| types.iter().map(|ty| self.value(*ty)).collect()).collect()
    }

    /// The rows as columns, in one batch or some, of one representation or any.
    fn keyed(&self, rows: &[Vec<Datum>], width: usize) -> Keyed {
        let mut keyed = Keyed::new(width, 0);
        keyed.rows = rows.len();
        for (i, column) in keyed.columns.iter_mut().enumerate() {
            match self.below(3) {
                0 => *column = Vector::datums(rows.iter().map(|row| row[i].clone()).collect()),
                _ => rows.iter().for_each(|row| column.push(&row[i])),
            }
        }
        keyed
    }
}

fn leaf(width: usize) -> Arc<CPlan> {
    Arc::new(CPlan {
        id: 0,
        filter: None,
        project: None,
        columns: None,
        width,
        dependencies: Arc::new([]),
        kind: CNode::WorkTableScan(0),
    })
}

fn join(kind: JoinKind, types: &[Oid]) -> HashJoinPlan {
    HashJoinPlan {
        kind,
        outer: leaf(types.len()),
        inner: leaf(types.len()),
        outer_keys: Box::new([]),
        inner_keys: Box::new([]),
        types: types.into(),
        on: None,
        columns: None,
        memory_factor: 1.0,
        hash_id: 0,
    }
}

fn columns(keys: usize, on: bool) -> ColumnJoin {
    let side = || KeyColumns { at: (0..keys).map(KeyAt::Column).collect(), computed: Box::new([]) };
    let condition = || Condition { condition: VExpr::Slot(0), reads: Box::new([]) };
    ColumnJoin {
        outer_keys: side(),
        inner_keys: side(),
        on: on.then(condition).into_iter().collect(),
        filter_reads: Box::new([]),
        outputs: Box::new([]),
        output_reads: Box::new([]),
        outer_kept: Box::new([]),
        inner_kept: (0..keys).collect(),
        peeks: false,
        sought: None,
    }
}

/// The rows that a join hands up. For each outer row in turn they are its pairs, from the last
/// inner row to the first.
fn expected(
    join: &HashJoinPlan,
    (outer, inner): (&[Vec<Datum>], &[Vec<Datum>]),
    on: impl Fn(u32, u32) -> bool,
) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    let mut matched = vec![false; inner.len()];
    for (o, outer) in outer.iter().enumerate() {
        let mut found = false;
        for (i, inner) in inner.iter().enumerate().rev() {
            let pair = (o as u32, i as u32);
            let null = outer.iter().chain(inner).any(Datum::is_null);
            if null || !equal_keys(&join.types, outer, inner) || !on(pair.0, pair.1) {
                continue;
            }
            match join.kind {
                JoinKind::Semi if found => continue,
                JoinKind::RightSemi if matched[i] => continue,
                JoinKind::Anti | JoinKind::RightAnti => {}
                _ => out.push(pair),
            }
            (found, matched[i]) = (true, true);
        }
        if !found && join.keeps_outer() {
            out.push((o as u32, NO_ROW));
        }
    }
    if join.keeps_inner() {
        let left = (0..inner.len()).filter(|i| !matched[*i]);
        out.extend(left.map(|i| (NO_ROW, i as u32)));
    }
    out
}

fn found(
    random: &Random,
    join: &HashJoinPlan,
    columns: &ColumnJoin,
    (outer, inner): (&[Vec<Datum>], &[Vec<Datum>]),
    on: impl Fn(u32, u32) -> bool,
) -> Vec<(u32, u32)> {
    let (width, at) = (join.types.len(), &columns.inner_keys.at);
    let mut table = Table::new(width, 0);
    for rows in inner.chunks(random.below(40) as usize + 1) {
        let rows = random.keyed(rows, width);
        let mut hashes = Vec::new();
        hash_rows(&join.types, &rows.keys(at), rows.rows, &mut hashes);
        table.append(&rows, &columns.inner_kept, &hashes);
    }
    table.index(at);
    let mut matched = vec![false; inner.len()];
    let mut outer = random.keyed(outer, width);
    outer.type_keys(at);
    let nulls = null_keys(&outer.keys(at), outer.rows);
    let (mut probe, mut hashes) = (Probe::default(), Vec::new());
    hash_rows(&join.types, &outer.keys(at), outer.rows, &mut hashes);
    table.find(&hashes, &mut probe.heads);
    let heads = probe.heads.iter_mut().zip(&nulls).filter(|(_, null)| **null);
    heads.for_each(|(head, _)| *head = NO_ROW);
    let comparison = Comparison::new(&join.types, (&outer, at, &hashes), (&table, at));
    let how = Collecting::new(join, columns);
    let limit = random.below(20) as usize + 1;
    let mut out = Vec::new();
    while !probe.is_done() {
        probe.collect((&table, &matched), &comparison, &how, limit);
        let (_, resolved) = probe.resolve(join, &mut matched, |_, o, i| Ok(on(o, i)));
        resolved.unwrap();
        out.extend(probe.pairs.outer.iter().copied().zip(probe.pairs.inner.iter().copied()));
    }
    if join.keeps_inner() {
        let left = (0..inner.len()).filter(|i| !matched[*i]);
        out.extend(left.map(|i| (NO_ROW, i as u32)));
    }
    out
}

#[test]
fn columns_find_the_pairs_that_all_pairs_have_in_the_order_of_the_join_of_rows() {
    let key_types = [oid::INT8, oid::FLOAT8, oid::NUMERIC, oid::TEXT, oid::BPCHAR];
    for seed in 1..=600u64 {
        let random = Random(SeededRandom::new(seed));
        let types: Vec<Oid> =
            (0..1 + random.below(2)).map(|_| key_types[random.below(5) as usize]).collect();
        let count = [random.below(30), random.below(60)];
        let (outer, inner) = (random.rows(&types, count[0]), random.rows(&types, count[1]));
        let has_on = random.below(2) == 0;
        let on = |o: u32, i: u32| !has_on || !(o * 7 + i * 3).is_multiple_of(4);
        for kind in KINDS {
            let (join, columns) = (join(kind, &types), columns(types.len(), has_on));
            let sides = (&outer[..], &inner[..]);
            let expected = expected(&join, sides, on);
            let found = found(&random, &join, &columns, sides, on);
            assert_eq!(found, expected, "seed {seed}, {kind:?} over {types:?}");
        }
    }
}
