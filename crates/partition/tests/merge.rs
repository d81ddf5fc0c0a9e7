//! Partitions that match one by one, against the naive model of the partition of each key.

mod model;

use model::{Model, any_bound, any_row, any_type};
use proptest::prelude::*;
use std::collections::HashSet;
use steppe_partition::{PartitionBound, PartitionMap, PartitionStrategy, RowsKept};
use steppe_types::{Datum, Oid};

#[derive(Clone, Debug)]
struct Case {
    strategy: PartitionStrategy,
    types: Vec<Oid>,
    /// Bounds, and which of three parents have them.
    bounds: Vec<(PartitionBound, [bool; 3])>,
    rows: Vec<Vec<Datum>>,
}

fn any_case() -> impl Strategy<Value = Case> {
    let strategies = &[PartitionStrategy::Range, PartitionStrategy::List][..];
    (proptest::sample::select(strategies), any_type())
        .prop_flat_map(|(strategy, type_oid)| {
            let types = vec![type_oid];
            // Mostly all parents have the bound: otherwise hardly any match.
            let has = || prop::bool::weighted(0.8);
            let bound = (any_bound(strategy, &types), [has(), has(), has()]);
            let bounds = prop::collection::vec(bound, 1..6);
            let rows = prop::collection::vec(any_row(&types), 1..60);
            (Just(strategy), Just(types), bounds, rows)
        })
        .prop_map(|(strategy, types, bounds, rows)| Case { strategy, types, bounds, rows })
}

/// One of the parents: as a map, and naively.
fn parent(case: &Case, which: usize) -> (PartitionMap, Model) {
    let mut map = PartitionMap::new(case.strategy, &case.types).expect("one column");
    let mut model = Model { types: case.types.clone(), partitions: Vec::new() };
    for (number, (bound, has)) in case.bounds.iter().enumerate() {
        let partition = (100 * which + number) as Oid;
        if has[which] && map.attach(partition, bound).is_ok() {
            model.partitions.push((partition, bound.clone()));
        }
    }
    (map, model)
}

/// Checks the guarantees of a matching: `first` and `second` are the partitions that a key is in.
fn check(
    pairs: &[(Oid, Oid)],
    all: (&[Oid], &[Oid]),
    keys: impl Iterator<Item = (Option<Oid>, Option<Oid>)>,
    kept: RowsKept,
) {
    let firsts: HashSet<Oid> = pairs.iter().map(|pair| pair.0).collect();
    let seconds: HashSet<Oid> = pairs.iter().map(|pair| pair.1).collect();
    assert_eq!((firsts.len(), seconds.len()), (pairs.len(), pairs.len()), "one partner each");
    if kept != RowsKept::None {
        assert!(all.0.iter().all(|partition| firsts.contains(partition)));
    }
    if kept == RowsKept::Both {
        assert!(all.1.iter().all(|partition| seconds.contains(partition)));
    }
    for (first, second) in keys {
        if let (Some(first), Some(second)) = (first, second) {
            assert!(pairs.contains(&(first, second)), "{first} and {second} are no pair");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn partners_have_the_keys_of_each_other(case in any_case()) {
        let parents: Vec<(PartitionMap, Model)> = (0..3).map(|which| parent(&case, which)).collect();
        let bounds: Vec<_> = parents.iter().map(|(map, _)| map.join_bounds().unwrap()).collect();
        // NULL equals nothing.
        let rows: Vec<&Vec<Datum>> = case.rows.iter().filter(|row| !row[0].is_null()).collect();
        let route = |which: usize, row: &Vec<Datum>| parents[which].1.route(row);
        for kept in [RowsKept::None, RowsKept::First, RowsKept::Both] {
            let Some(matched) = bounds[0].0.pairs(&bounds[1].0, kept) else { continue };
            let named = |(a, b): &(usize, usize)| (bounds[0].1[*a], bounds[1].1[*b]);
            let pairs: Vec<(Oid, Oid)> = matched.numbers.iter().map(named).collect();
            let keys = rows.iter().map(|row| (route(0, row), route(1, row)));
            check(&pairs, (&bounds[0].1, &bounds[1].1), keys, kept);
            // Also with a third parent: a pair has the first partition's name.
            for again in [RowsKept::None, RowsKept::First, RowsKept::Both] {
                let Some(third) = matched.bounds.pairs(&bounds[2].0, again) else { continue };
                let named = |(pair, c): &(usize, usize)| (pairs[*pair].0, bounds[2].1[*c]);
                let with_third: Vec<(Oid, Oid)> = third.numbers.iter().map(named).collect();
                let in_pair = |row: &Vec<Datum>| {
                    let (a, b) = (route(0, row), route(1, row));
                    let pair = |(x, y): &&(Oid, Oid)| match kept {
                        RowsKept::None => a == Some(*x) && b == Some(*y),
                        RowsKept::First => a == Some(*x),
                        RowsKept::Both => a == Some(*x) || b == Some(*y),
                    };
                    pairs.iter().find(pair).map(|pair| pair.0)
                };
                let keys = rows.iter().map(|row| (in_pair(row), route(2, row)));
                let firsts: Vec<Oid> = pairs.iter().map(|pair| pair.0).collect();
                check(&with_third, (&firsts, &bounds[2].1), keys, again);
            }
        }
    }

    /// The same bounds match each other, for any kept rows.
    #[test]
    fn a_parent_matches_itself(case in any_case()) {
        let (map, _) = parent(&case, 0);
        let (bounds, partitions) = map.join_bounds().unwrap();
        for kept in [RowsKept::First, RowsKept::Both] {
            let pairs = bounds.pairs(&bounds, kept).expect("each is its own partner");
            prop_assert_eq!(pairs.numbers.len(), partitions.len());
            prop_assert!(pairs.numbers.iter().all(|(a, b)| a == b));
        }
    }
}
