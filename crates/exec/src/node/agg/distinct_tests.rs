//! Compares distinct values by hash with a searched list, with enough memory and without.

use super::*;
use crate::aggregate::AggKind;
use proptest::prelude::*;
use std::sync::Arc;
use steppe_spill::TempSpace;
use steppe_types::Datum;
use steppe_types::compare::equal_as;
use steppe_types::numeric::Numeric;
use steppe_vfs::{CrashVfs, Vfs};

const TYPES: [Oid; 4] = [oid::NUMERIC, oid::FLOAT8, oid::BPCHAR, oid::INT4];

/// Values of which some are equal but have different forms. Past the last one the value is NULL.
fn value(type_oid: Oid, which: usize) -> Datum {
    let numerics = ["1.5", "1.50", "2", "2.000", "NaN", "Infinity", "1e25"];
    let floats = [0.0, -0.0, 1.5, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let texts = ["", " ", "a", "a  ", "b", "é ", "longer than an eight"];
    match type_oid {
        oid::NUMERIC => numerics.get(which).map(|n| Datum::Numeric(Numeric::parse(n).unwrap())),
        oid::FLOAT8 => floats.get(which).map(|f| Datum::Float8(*f)),
        oid::BPCHAR => texts.get(which).map(|t| Datum::text(*t)),
        _ => (which < 7).then_some(Datum::Int4(which as i32 / 2)),
    }
    .unwrap_or(Datum::Null)
}

/// Whether the rows are datums, and the rows with their group, if any, and the number of their
/// value.
type Batch = (bool, Vec<(Option<u32>, usize)>);

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let row = (proptest::option::weighted(0.9, 0u32..3), 0usize..9);
    proptest::collection::vec((any::<bool>(), proptest::collection::vec(row, 0..40)), 0..5)
}

proptest! {
    #[test]
    fn each_value_of_a_group_counts_once(
        batches in batches(),
        type_oid in proptest::sample::select(&TYPES[..]),
        limit in proptest::sample::select(&[0usize, 100, usize::MAX][..]),
    ) {
        let vfs: Arc<dyn Vfs> = Arc::new(CrashVfs::new(1));
        let directory = std::path::Path::new("/temp");
        vfs.create_dir_all(directory).unwrap();
        let mut cx = ExecContext::with_temp(Arc::new(TempSpace::new(vfs, directory)));
        let mut distinct = Distinct::new(type_oid);
        let mut states = CallStates::new(&AggKind::Count);
        states.grow(3);
        let mut known: Vec<(u32, Datum)> = Vec::new();
        for (as_datums, rows) in &batches {
            let values: Vec<Datum> = rows.iter().map(|(_, which)| value(type_oid, *which)).collect();
            let groups: Vec<u32> = rows.iter().map(|(of, _)| of.unwrap_or(NO_PLACE)).collect();
            let vector = if *as_datums { Vector::datums(values.clone()) } else { Vector::of(values.clone()) };
            let first = distinct.first_of(&groups, &vector, limit, &cx).unwrap();
            states.add(&first, &[&vector]).unwrap();
            for (i, (group, value)) in groups.iter().zip(values).enumerate() {
                let same = |(of, v): &(u32, Datum)| of == group && equal_as(type_oid, v, &value);
                let is_first = *group != NO_PLACE && !value.is_null() && !known.iter().any(same);
                if limit == usize::MAX {
                    prop_assert_eq!(first[i] != NO_PLACE, is_first);
                }
                if is_first {
                    known.push((*group, value));
                }
            }
        }
        distinct.finish(&mut states, limit, &mut cx).unwrap();
        for group in 0..3 {
            let expected = known.iter().filter(|(of, _)| *of == group).count();
            let counted = states.results(group as usize, group as usize + 1).unwrap();
            prop_assert_eq!(counted.datum(0).unwrap(), Datum::Int8(expected as i64));
        }
    }
}
