//! Pruning, against the naive model: no row is lost, and what PostgreSQL prunes is
//! pruned.

mod model;

use model::predicate::{Rows, any_comparison, any_predicate, with_slots};
use model::{Model, any_bound, any_key, any_operand, any_row, any_strategy};
use proptest::prelude::*;
use proptest::sample::select;
use std::cmp::Ordering;
use steppe_partition::{
    Comparison, KeyOrder, KeySet, Operand, PartitionBound, PartitionMap, PartitionStrategy,
    Predicate, PruningSteps,
};
use steppe_types::compare::compare_as;
use steppe_types::datetime::TimeZone;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid};

#[derive(Clone, Debug)]
struct Case {
    map: PartitionMap,
    model: Model,
    rows: Vec<Vec<Datum>>,
    zone: &'static str,
    predicate: Predicate,
    slots: Vec<bool>,
}

fn build(
    strategy: PartitionStrategy,
    types: &[Oid],
    bounds: &[PartitionBound],
) -> (PartitionMap, Model) {
    let mut map = PartitionMap::new(strategy, types).unwrap();
    let mut model = Model { types: types.to_vec(), partitions: Vec::new() };
    for (n, bound) in bounds.iter().enumerate() {
        let relation = n as Oid + 1;
        if map.attach(relation, bound).is_ok() {
            model.partitions.push((relation, bound.clone()));
        }
    }
    (map, model)
}

fn any_case() -> impl Strategy<Value = Case> {
    any_strategy()
        .prop_flat_map(|strategy| (Just(strategy), any_key(strategy)))
        .prop_flat_map(|(strategy, types)| {
            let bounds = prop::collection::vec(any_bound(strategy, &types), 1..24);
            let rows = prop::collection::vec(any_row(&types), 60);
            let zone = select(&["UTC", "America/New_York", "Pacific/Apia"][..]);
            let slots = prop::collection::vec(any::<bool>(), 1..6);
            let predicate = any_predicate(&types);
            (Just(strategy), Just(types), bounds, rows, zone, predicate, slots)
        })
        .prop_map(|(strategy, types, bounds, rows, zone, predicate, slots)| {
            let (map, model) = build(strategy, &types, &bounds);
            Case { map, model, rows, zone, predicate, slots }
        })
}

fn context(zone: &str) -> IoContext {
    let mut context = IoContext::default();
    context.datetime.time_zone = TimeZone::by_name(zone).expect("a zone");
    context
}

fn no_slots(_: u32) -> steppe_types::Result<Option<Datum>> {
    Ok(None)
}

fn evaluate(predicate: &Predicate, map: &PartitionMap, context: &IoContext) -> KeySet {
    let steps = PruningSteps::compile(predicate, map.types().len());
    steps.evaluate(map, &no_slots, context).unwrap()
}

/// The partitions in PostgreSQL's order.
fn in_order(model: &Model) -> Vec<Oid> {
    let least = |bound: &PartitionBound| match bound {
        PartitionBound::List { values } => values
            .iter()
            .map(|value| value.datum().clone())
            .min_by(|a, b| compare_as(model.types[0], a, b)),
        _ => None,
    };
    let mut partitions = model.partitions.clone();
    partitions.sort_by(|(_, a), (_, b)| match (a, b) {
        (PartitionBound::Default, _) => Ordering::Greater,
        (_, PartitionBound::Default) => Ordering::Less,
        (PartitionBound::Range { lower: a, .. }, PartitionBound::Range { lower: b, .. }) => {
            model.compare_bounds(a, b)
        }
        (PartitionBound::List { .. }, _) => {
            let nothing = Datum::Null;
            let (a, b) = (least(a), least(b));
            let (a, b) = (a.as_ref().unwrap_or(&nothing), b.as_ref().unwrap_or(&nothing));
            compare_as(model.types[0], a, b)
        }
        (
            PartitionBound::Hash { modulus, remainder },
            PartitionBound::Hash { modulus: m, remainder: r },
        ) => (modulus, remainder).cmp(&(m, r)),
        _ => unreachable!("bounds of one strategy"),
    });
    partitions.into_iter().map(|(relation, _)| relation).collect()
}

/// Every row that satisfies the predicate is in a partition that is kept.
fn check_sound(case: &Case, set: &KeySet) {
    let context = context(case.zone);
    let rows = Rows { types: &case.model.types, context: &context };
    let kept: Vec<Oid> = case.map.select(set).collect();
    for row in &case.rows {
        if rows.satisfies(&case.predicate, row)
            && let Some(partition) = case.model.route(row)
        {
            assert!(
                kept.contains(&partition),
                "{row:?} is lost by {set:?} for {:?}",
                case.predicate
            );
        }
    }
    let mut expected = in_order(&case.model);
    expected.retain(|relation| kept.contains(relation));
    assert_eq!(kept, expected, "each once and in order");
}

/// A point statement's partition is the one that is kept.
fn check_routed(case: &Case, set: &KeySet) {
    let steps = PruningSteps::compile(&case.predicate, case.map.types().len());
    if let Some(routed) = steps.route(&case.map, &mut no_slots, &mut Vec::new()).unwrap() {
        let routed = routed.map(|routed| routed.relation);
        let kept: Vec<Oid> = case.map.select(set).collect();
        assert!(
            kept.is_empty() || kept.iter().eq(&routed),
            "{routed:?} is routed to, not {kept:?}"
        );
    }
}

/// In an ordered selection no key of a partition is after one of a later partition.
fn check_ordered(case: &Case, set: &KeySet, order: KeyOrder) {
    let Some(ordered) = case.map.select_ordered(set, order) else { return };
    let ordered: Vec<Oid> = ordered.collect();
    let mut sorted = ordered.clone();
    sorted.sort_unstable();
    let mut kept: Vec<Oid> = case.map.select(set).collect();
    kept.sort_unstable();
    assert_eq!(sorted, kept, "an ordered selection is the selection");
    let context = context(case.zone);
    let rows = Rows { types: &case.model.types, context: &context };
    let mut placed: Vec<(usize, &Vec<Datum>)> = Vec::new();
    for row in case.rows.iter().filter(|row| rows.satisfies(&case.predicate, row)) {
        if let Some(partition) = case.model.route(row) {
            let place = ordered.iter().position(|relation| *relation == partition);
            placed.push((place.expect("no row is lost"), row));
        }
    }
    let compare = |a: &Datum, b: &Datum, type_oid| match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if order.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if order.nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ if order.descending => compare_as(type_oid, b, a),
        _ => compare_as(type_oid, a, b),
    };
    for (place, row) in &placed {
        for (other_place, other) in &placed {
            let columns = row.iter().zip(*other).zip(&case.model.types);
            let ordering = columns
                .map(|((a, b), type_oid)| compare(a, b, *type_oid))
                .find(|ordering| ordering.is_ne());
            assert!(place >= other_place || ordering.is_none_or(Ordering::is_le));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6000) })]

    #[test]
    fn no_row_is_lost(case in any_case()) {
        let context = context(case.zone);
        let set = evaluate(&case.predicate, &case.map, &context);
        check_sound(&case, &set);
        check_routed(&case, &set);
        for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            check_ordered(&case, &set, KeyOrder { descending, nulls_first });
        }
        // Slots prune as constants do; unknown slots keep more.
        let (predicate, slots) = with_slots(&case.predicate, &case.slots);
        let steps = PruningSteps::compile(&predicate, case.map.types().len());
        let known = |slot: u32| Ok(slots[slot as usize].clone());
        prop_assert_eq!(&steps.evaluate(&case.map, &known, &context).unwrap(), &set);
        let wider = steps.evaluate(&case.map, &no_slots, &context).unwrap();
        check_sound(&case, &wider);
        prop_assert!(steps.have_slots() || wider == set);
    }

    #[test]
    fn everything_is_all_partitions(case in any_case()) {
        let steps = PruningSteps::compile(&Predicate::Unknown, case.map.types().len());
        prop_assert!(steps.keep_everything());
        let set = steps.evaluate(&case.map, &no_slots, &IoContext::default()).unwrap();
        prop_assert!(set.is_all());
        prop_assert_eq!(case.map.select(&set).collect::<Vec<_>>(), in_order(&case.model));
        let nothing = KeySet::none();
        prop_assert_eq!(case.map.select(&nothing).count(), 0);
    }
}

/// A comparison with a key of one column, and what PostgreSQL keeps for it.
fn any_comparison_case() -> impl Strategy<Value = (Case, Comparison, Datum)> {
    let strategy = select(&[PartitionStrategy::Range, PartitionStrategy::List][..]);
    (strategy, model::any_type())
        .prop_flat_map(|(strategy, type_oid)| {
            let types = vec![type_oid];
            let bounds = prop::collection::vec(any_bound(strategy, &types), 1..24);
            (Just(strategy), Just(types), bounds, any_comparison(), any_operand(type_oid))
        })
        .prop_map(|(strategy, types, bounds, operator, value)| {
            let (map, model) = build(strategy, &types, &bounds);
            let operand = Operand::Constant(value.clone());
            let predicate = Predicate::Compare { column: 0, operator, operand };
            let case =
                Case { map, model, rows: Vec::new(), zone: "UTC", predicate, slots: Vec::new() };
            (case, operator, value)
        })
}

/// Whether the bound, of a type's values `a` and `b`, meets `key operator value`.
fn meets(rows: &Rows<'_>, bound: &PartitionBound, operator: Comparison, value: &Datum) -> bool {
    use steppe_partition::RangeDatum::{MaxValue, MinValue, Value};
    let compare = |operator, datum: &Datum| {
        let operand = Operand::Constant(value.clone());
        let predicate = Predicate::Compare { column: 0, operator, operand };
        rows.satisfies(&predicate, std::slice::from_ref(datum))
    };
    match bound {
        PartitionBound::List { values } => {
            values.iter().any(|datum| compare(operator, datum.datum()))
        }
        PartitionBound::Range { lower, upper } => {
            let lower_is = |operator| match &lower[0] {
                Value(datum) => compare(operator, datum.datum()),
                bound => *bound == MinValue,
            };
            let upper_is = |operator| match &upper[0] {
                Value(datum) => compare(operator, datum.datum()),
                bound => *bound == MaxValue,
            };
            let below = match operator {
                Comparison::Less | Comparison::NotEqual => lower_is(Comparison::Less),
                Comparison::LessEqual | Comparison::Equal => lower_is(Comparison::LessEqual),
                Comparison::Greater | Comparison::GreaterEqual => true,
            };
            let above = match operator {
                Comparison::Less | Comparison::LessEqual => true,
                _ => upper_is(Comparison::Greater),
            };
            match operator {
                Comparison::NotEqual => below || above,
                _ => below && above,
            }
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6000) })]

    /// One comparison with a key of one column keeps the partitions whose bounds
    /// meet it and no other; the types are ones that the crate understands.
    #[test]
    fn one_comparison_keeps_what_it_must((case, operator, value) in any_comparison_case()) {
        let context = context(case.zone);
        let set = evaluate(&case.predicate, &case.map, &context);
        let not_understood = set.is_all();
        let local_time = matches!(
            (&value, case.map.types()),
            (Datum::TimestampTz(_), [steppe_types::oid::TIMESTAMP])
        );
        // A finite date after all timestamps but infinity: no value is near it.
        let far_date = matches!(&value, Datum::Date(date) if (100_000_000..i32::MAX).contains(date));
        if not_understood || local_time || far_date {
            return Ok(());
        }
        let rows = Rows { types: &case.model.types, context: &context };
        if set.is_empty() {
            // The predicate is true for no value, which is more than the bounds can tell.
            for text in model::domain(case.map.types()[0]) {
                let row = [model::datum(case.map.types()[0], text)];
                prop_assert!(!rows.satisfies(&case.predicate, &row));
            }
            return Ok(());
        }
        // A boolean that is not the one value is the other.
        let (operator, value) = match (operator, value) {
            (Comparison::NotEqual, Datum::Bool(value)) => (Comparison::Equal, Datum::Bool(!value)),
            other => other,
        };
        let kept: Vec<Oid> = case.map.select(&set).collect();
        for (relation, bound) in &case.model.partitions {
            if *bound != PartitionBound::Default {
                let expected = meets(&rows, bound, operator, &value);
                prop_assert_eq!(kept.contains(relation), expected, "{:?}", bound);
            }
        }
    }
}

/// The check catches a predicate whose rows are lost.
#[test]
#[should_panic(expected = "is lost")]
fn pruning_too_much_is_caught() {
    use steppe_partition::{BoundValue, RangeDatum};
    use steppe_types::oid::INT4;
    let side = |n: i32| vec![RangeDatum::Value(BoundValue::new(INT4, Datum::Int4(n)))];
    let bounds = [0, 10].map(|n| PartitionBound::Range { lower: side(n), upper: side(n + 10) });
    let (map, model) = build(PartitionStrategy::Range, &[INT4], &bounds);
    let at_most = |operator| Predicate::Compare {
        column: 0,
        operator,
        operand: Operand::Constant(Datum::Int4(10)),
    };
    let rows = vec![vec![Datum::Int4(10)]];
    let predicate = at_most(Comparison::LessEqual);
    // As if `<=` were compiled as `<`.
    let set = evaluate(&at_most(Comparison::Less), &map, &IoContext::default());
    check_sound(&Case { map, model, rows, zone: "UTC", predicate, slots: Vec::new() }, &set);
}

/// The key of a point statement is routed like a row, for any combination of its conditions.
#[test]
fn equality_fixes_the_key_within_any_conjunction() {
    let equal = |column: usize| Predicate::Compare {
        column,
        operator: Comparison::Equal,
        operand: Operand::Slot(column as u32),
    };
    let above = Predicate::Compare {
        column: 0,
        operator: Comparison::Greater,
        operand: Operand::Constant(Datum::Int4(1)),
    };
    let and = Predicate::And;
    let fixes =
        |predicate: Predicate, columns| PruningSteps::compile(&predicate, columns).fix_the_key();
    assert!(fixes(equal(0), 1));
    assert!(fixes(and(vec![equal(0)]), 1));
    assert!(fixes(and(vec![above.clone(), and(vec![equal(0), Predicate::Unknown])]), 1));
    assert!(fixes(and(vec![equal(1), above.clone(), equal(0)]), 2));
    assert!(!fixes(and(vec![above.clone(), equal(1)]), 2));
    assert!(!fixes(Predicate::Or(vec![equal(0), above]), 1));
}
