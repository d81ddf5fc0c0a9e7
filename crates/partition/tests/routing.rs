//! Routing and the checks of bounds, against the naive model.

mod model;

use model::{Model, any_bound, any_key, any_row, any_strategy};
use proptest::prelude::*;
use steppe_partition::{BoundError, PartitionBound, PartitionMap, PartitionStrategy, RangeDatum};
use steppe_types::{Datum, Oid};

#[derive(Clone, Debug)]
struct Case {
    strategy: PartitionStrategy,
    types: Vec<Oid>,
    bounds: Vec<PartitionBound>,
    rows: Vec<Vec<Datum>>,
    detached: Vec<prop::sample::Index>,
}

fn any_case() -> impl Strategy<Value = Case> {
    any_strategy()
        .prop_flat_map(|strategy| (Just(strategy), any_key(strategy)))
        .prop_flat_map(|(strategy, types)| {
            let bounds = prop::collection::vec(any_bound(strategy, &types), 1..40);
            let rows = prop::collection::vec(any_row(&types), 1..40);
            let detached = prop::collection::vec(any::<prop::sample::Index>(), 0..6);
            (Just(strategy), Just(types), bounds, rows, detached)
        })
        .prop_map(|(strategy, types, bounds, rows, detached)| Case {
            strategy,
            types,
            bounds,
            rows,
            detached,
        })
}

/// Adds a bound to both. They must agree on whether it conflicts, and on the reason.
fn attach(map: &mut PartitionMap, model: &mut Model, relation: Oid, bound: &PartitionBound) {
    let before = map.len();
    let conflicting: Vec<Oid> = model
        .partitions
        .iter()
        .filter(|(_, other)| model.conflict(bound, other))
        .map(|(relation, _)| *relation)
        .collect();
    match map.attach(relation, bound) {
        Ok(()) => {
            assert!(!model.is_empty_range(bound), "{bound:?} is empty");
            assert!(conflicting.is_empty(), "{bound:?} conflicts with {conflicting:?}");
            model.partitions.push((relation, bound.clone()));
        }
        Err(error) => {
            assert_eq!(map.len(), before, "a refused partition leaves nothing behind");
            match error {
                BoundError::EmptyRange { .. } => assert!(model.is_empty_range(bound)),
                BoundError::Overlap { existing, .. }
                | BoundError::SecondDefault { existing }
                | BoundError::Modulus { existing, .. } => {
                    assert!(
                        conflicting.contains(&existing),
                        "{bound:?}: {existing} is no conflict"
                    );
                }
                BoundError::Other(error) => panic!("{error}"),
            }
        }
    }
    assert_eq!(map.len(), model.partitions.len());
}

fn check_rows(map: &PartitionMap, model: &Model, rows: &[Vec<Datum>]) {
    assert_eq!(map.range_ends(), model.range_ends());
    let mut scratch = Vec::new();
    for row in rows {
        assert_eq!(map.route(row, &mut scratch).unwrap(), model.route(row), "{row:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn rows_go_where_their_bound_says(case in any_case()) {
        let mut map = PartitionMap::new(case.strategy, &case.types).unwrap();
        let mut model = Model { types: case.types.clone(), partitions: Vec::new() };
        for (n, bound) in case.bounds.iter().enumerate() {
            attach(&mut map, &mut model, n as Oid + 1, bound);
        }
        check_rows(&map, &model, &case.rows);
        let (old_map, old_model) = (map.clone(), model.clone());
        for index in &case.detached {
            if !model.partitions.is_empty() {
                let (relation, bound) =
                    model.partitions.remove(index.index(model.partitions.len()));
                map.detach(relation, &bound).unwrap();
                prop_assert!(map.detach(relation, &bound).is_err());
            }
        }
        check_rows(&map, &model, &case.rows);
        check_rows(&old_map, &old_model, &case.rows);
        // A removed partition can be added again.
        for (relation, bound) in &old_model.partitions {
            if !model.partitions.iter().any(|(other, _)| other == relation) {
                map.attach(*relation, bound).unwrap();
            }
        }
        check_rows(&map, &old_model, &case.rows);
    }

    #[test]
    fn stored_bounds_come_back(case in any_case()) {
        for bound in &case.bounds {
            let stored = serde_json::to_string(bound).unwrap();
            let read: PartitionBound = serde_json::from_str(&stored).unwrap();
            prop_assert_eq!(bound, &read, "{}", stored);
        }
    }
}

/// By range of `a`; the first range again by list of `b`, whose `x` again by hash of `a`.
#[test]
fn levels_are_walked_with_each_ones_own_key() {
    use steppe_partition::{BoundValue, Route, route_to_leaf};
    use steppe_types::oid::{INT4, TEXT};
    let side = |n: i32| vec![RangeDatum::Value(BoundValue::new(INT4, Datum::Int4(n)))];
    let mut root = PartitionMap::new(PartitionStrategy::Range, &[INT4]).unwrap();
    root.attach(10, &PartitionBound::Range { lower: side(0), upper: side(10) }).unwrap();
    root.attach(20, &PartitionBound::Range { lower: side(10), upper: side(20) }).unwrap();
    let mut by_list = PartitionMap::new(PartitionStrategy::List, &[TEXT]).unwrap();
    for (relation, text) in [(11, "x"), (12, "y")] {
        let values = vec![BoundValue::new(TEXT, Datum::text(text))];
        by_list.attach(relation, &PartitionBound::List { values }).unwrap();
    }
    let mut by_hash = PartitionMap::new(PartitionStrategy::Hash, &[INT4]).unwrap();
    by_hash.attach(13, &PartitionBound::Hash { modulus: 1, remainder: 0 }).unwrap();
    let route = |a: i32, b: &str| {
        let map_of = |relation| match relation {
            10 => Some(&by_list),
            11 => Some(&by_hash),
            _ => None,
        };
        let key_of = |parent: Oid, key: &mut Vec<Datum>| {
            key.push(if parent == 10 { Datum::text(b) } else { Datum::Int4(a) });
            Ok(())
        };
        route_to_leaf(1, &root, map_of, key_of, &mut Vec::new()).unwrap()
    };
    assert_eq!(route(15, "x"), Route::Leaf(20));
    assert_eq!(route(5, "x"), Route::Leaf(13));
    assert_eq!(route(5, "y"), Route::Leaf(12));
    assert_eq!(route(5, "z"), Route::NoPartition { parent: 10 });
    assert_eq!(route(20, "x"), Route::NoPartition { parent: 1 });
}

/// The model detects a map that routes as if upper bounds were included.
#[test]
#[should_panic(expected = "left")]
fn an_included_upper_bound_is_caught() {
    use steppe_partition::BoundValue;
    use steppe_types::oid::INT4;
    let range = |from: i32, to: i32| PartitionBound::Range {
        lower: vec![RangeDatum::Value(BoundValue::new(INT4, Datum::Int4(from)))],
        upper: vec![RangeDatum::Value(BoundValue::new(INT4, Datum::Int4(to)))],
    };
    let mut map = PartitionMap::new(PartitionStrategy::Range, &[INT4]).unwrap();
    map.attach(1, &range(0, 11)).unwrap();
    let model = Model { types: vec![INT4], partitions: vec![(1, range(0, 10))] };
    check_rows(&map, &model, &[vec![Datum::Int4(10)]]);
}
