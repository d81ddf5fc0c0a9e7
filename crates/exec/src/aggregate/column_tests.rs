//! Compares kernels with the row path, for random batches of values in any representation.

use super::columns::CallStates;
use super::statistics::MomentsResult;
use super::{AggKind, AggState};
use crate::vector::{NO_PLACE, Vector};
use proptest::prelude::*;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Oid, oid};

const GROUPS: u32 = 3;

fn numeric(text: &str) -> Datum {
    Datum::Numeric(Numeric::parse(text).unwrap())
}

/// A few values of a type, with equal ones and the ends of the type.
fn values_of(type_oid: Oid) -> Vec<Datum> {
    let texts = ["", "a", "a ", "ab", "b", "a  "];
    let numerics =
        ["1.5", "-2.25", "1.50", "0", "0.00", "NaN", "Infinity", "-Infinity", "1e30", "92233.7"];
    let floats = [0.0, -0.0, 1.5, 1e308, -1e308, 0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    match type_oid {
        oid::BOOL => vec![Datum::Bool(true), Datum::Bool(false)],
        oid::INT2 => [-32768, -1, 0, 5, 32767].map(Datum::Int2).to_vec(),
        oid::INT4 => [i32::MIN, -1, 0, 7, i32::MAX].map(Datum::Int4).to_vec(),
        oid::INT8 => [i64::MIN, -1, 0, 9, i64::MAX].map(Datum::Int8).to_vec(),
        oid::DATE => [i32::MIN, 0, 100, i32::MAX].map(Datum::Date).to_vec(),
        oid::FLOAT4 => [0.0, -1.5, 3e38, f32::NAN].map(Datum::Float4).to_vec(),
        oid::FLOAT8 => floats.map(Datum::Float8).to_vec(),
        oid::NUMERIC => numerics.map(numeric).to_vec(),
        _ => texts.map(Datum::text).to_vec(),
    }
}

/// Each kind over a type that it takes.
fn kinds() -> Vec<(AggKind, Oid)> {
    let mut kinds = vec![
        (AggKind::CountStar, oid::INT4),
        (AggKind::Count, oid::TEXT),
        (AggKind::Count, oid::FLOAT4),
        (AggKind::SumInt, oid::INT2),
        (AggKind::SumInt, oid::INT4),
        (AggKind::SumInt, oid::INT8),
        (AggKind::SumBig, oid::INT8),
        (AggKind::AvgInt, oid::INT4),
        (AggKind::SumNumeric, oid::NUMERIC),
        (AggKind::AvgNumeric, oid::NUMERIC),
        (AggKind::SumFloat4, oid::FLOAT4),
        (AggKind::SumFloat8, oid::FLOAT8),
        (AggKind::FloatMoments(MomentsResult::Mean), oid::FLOAT8),
        (AggKind::FloatMoments(MomentsResult::Variance { sample: true }), oid::FLOAT4),
        (AggKind::NumericVariance { sample: true, root: false }, oid::INT4),
        (AggKind::BoolAnd, oid::BOOL),
        (AggKind::BoolOr, oid::BOOL),
        (AggKind::BitXor, oid::INT4),
        (AggKind::AnyValue, oid::NUMERIC),
        (AggKind::ArrayAgg { element: oid::INT4, of_arrays: false }, oid::INT4),
    ];
    for type_oid in [
        oid::INT2,
        oid::INT4,
        oid::INT8,
        oid::DATE,
        oid::FLOAT4,
        oid::FLOAT8,
        oid::NUMERIC,
        oid::TEXT,
        oid::BPCHAR,
    ] {
        kinds.push((AggKind::Extreme { max: false, type_oid }, type_oid));
        kinds.push((AggKind::Extreme { max: true, type_oid }, type_oid));
    }
    kinds
}

/// A row: its group, if any, and the number of its value. A number past the values means NULL.
type Row = (Option<u32>, usize);

/// A batch: whether its values are datums, whether it comes row by row, and its rows.
fn batches() -> impl Strategy<Value = Vec<(bool, bool, Vec<Row>)>> {
    let row = (proptest::option::weighted(0.9, 0..GROUPS), 0usize..12);
    let batch =
        (any::<bool>(), proptest::bool::weighted(0.2), proptest::collection::vec(row, 0..9));
    proptest::collection::vec(batch, 1..5)
}

fn vector(values: &[Datum], as_datums: bool) -> Vector {
    if as_datums {
        return Vector::datums(values.to_vec());
    }
    let mut vector = Vector::default();
    values.iter().for_each(|value| vector.push(value));
    vector
}

/// The results of all groups, or the first failure.
type Outcome = Result<Vec<String>, String>;

fn by_rows(kind: &AggKind, ret: Oid, rows: &[(Option<u32>, Datum)]) -> Outcome {
    let mut states: Vec<AggState> = (0..GROUPS).map(|_| kind.start()).collect();
    for (group, value) in rows {
        if let Some(group) = group {
            let state = &mut states[*group as usize];
            kind.add(state, std::slice::from_ref(value)).map_err(|error| error.to_string())?;
        }
    }
    answers(kind, ret, states)
}

fn answers(kind: &AggKind, ret: Oid, states: impl IntoIterator<Item = AggState>) -> Outcome {
    states.into_iter().map(|state| shown(kind.finish(state, ret))).collect()
}

fn shown(result: Result<Datum, Error>) -> Result<String, String> {
    match result {
        // The sign of NaN depends on the order of a sum's operands, and is shown nowhere.
        Ok(Datum::Float8(value)) if value.is_nan() => Ok("NaN".to_owned()),
        Ok(Datum::Float8(value)) => Ok(format!("{:x}", value.to_bits())),
        Ok(value) => Ok(format!("{value:?}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether its values are datums, whether it comes row by row, and its rows.
type Batch = (bool, bool, Vec<Row>);

fn taken(
    kind: &AggKind,
    of: &[Datum],
    batches: &[Batch],
    groups: u32,
) -> Result<CallStates, String> {
    let mut states = CallStates::new(kind);
    for (as_datums, by_row, rows) in batches {
        states.grow(groups as usize);
        let values: Vec<Datum> = rows.iter().map(|row| value(of, row.1)).collect();
        let places: Vec<u32> = rows.iter().map(|row| row.0.unwrap_or(NO_PLACE)).collect();
        if *by_row {
            for (place, value) in places.iter().zip(&values).filter(|(p, _)| **p != NO_PLACE) {
                let added = states.add_row(*place as usize, std::slice::from_ref(value));
                added.map_err(|error| error.to_string())?;
            }
            continue;
        }
        let argument = vector(&values, *as_datums);
        let none: &[&Vector] = &[];
        let args: &[&Vector] = if matches!(kind, AggKind::CountStar) { none } else { &[&argument] };
        states.add(&places, args).map_err(|(_, error)| error.to_string())?;
    }
    states.grow(groups as usize);
    Ok(states)
}

fn by_columns(kind: &AggKind, ret: Oid, of: &[Datum], batches: &[Batch], groups: u32) -> Outcome {
    let mut states = taken(kind, of, batches, groups)?;
    let results = states.results(0, groups as usize);
    let one_by_one = answers(kind, ret, (0..groups as usize).map(|group| states.take(group)))?;
    if let Some(results) = results {
        let all = (0..groups as usize).map(|group| shown(results.datum(group)));
        assert_eq!(all.collect::<Outcome>()?, one_by_one, "{kind:?}");
    }
    Ok(one_by_one)
}

/// The result of combining states that were each made from one batch.
fn of_parts_by_rows(kind: &AggKind, ret: Oid, of: &[Datum], batches: &[Batch]) -> Outcome {
    let start = || (0..GROUPS).map(|_| kind.start()).collect::<Vec<AggState>>();
    let mut all = start();
    for (.., rows) in batches {
        let mut part = start();
        for (group, which) in rows.iter().filter_map(|row| Some((row.0?, row.1))) {
            let value = value(of, which);
            let added = kind.add(&mut part[group as usize], std::slice::from_ref(&value));
            added.map_err(|error| error.to_string())?;
        }
        let parts: Result<Vec<Datum>, Error> =
            part.into_iter().map(|state| kind.partial(state, ret)).collect();
        let parts = parts.map_err(|error| error.to_string())?;
        for (state, part) in all.iter_mut().zip(&parts) {
            kind.combine(state, part).map_err(|error| error.to_string())?;
        }
    }
    answers(kind, ret, all)
}

fn of_parts_by_columns(kind: &AggKind, ret: Oid, of: &[Datum], batches: &[Batch]) -> Outcome {
    let mut all = CallStates::new(kind);
    all.grow(GROUPS as usize);
    let places: Vec<u32> = (0..GROUPS).collect();
    for batch in batches {
        let mut part = taken(kind, of, std::slice::from_ref(batch), GROUPS)?;
        let parts: Result<Vec<Datum>, Error> = match part.results(0, GROUPS as usize) {
            Some(parts) => (0..GROUPS as usize).map(|group| parts.datum(group)).collect(),
            None => (0..GROUPS as usize).map(|g| kind.partial(part.take(g), ret)).collect(),
        };
        let parts = parts.map_err(|error| error.to_string())?;
        let (as_datums, by_row, _) = batch;
        if *by_row {
            for (group, part) in parts.iter().enumerate() {
                all.combine_row(group, part).map_err(|error| error.to_string())?;
            }
            continue;
        }
        let parts = vector(&parts, *as_datums);
        all.combine(&places, &parts).map_err(|(_, error)| error.to_string())?;
    }
    answers(kind, ret, (0..GROUPS as usize).map(|group| all.take(group)))
}

fn value(of: &[Datum], which: usize) -> Datum {
    of.get(which).cloned().unwrap_or(Datum::Null)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn columns_of_states_are_put_together_as_rows_are(batches in batches()) {
        for (kind, type_oid) in kinds() {
            let of = values_of(type_oid);
            let ret = if matches!(kind, AggKind::SumInt) { oid::INT8 } else { type_oid };
            let rows = of_parts_by_rows(&kind, ret, &of, &batches);
            prop_assert_eq!(rows, of_parts_by_columns(&kind, ret, &of, &batches), "{:?}", kind);
        }
    }

    #[test]
    fn columns_answer_as_rows_do(batches in batches()) {
        for (kind, type_oid) in kinds() {
            let of = values_of(type_oid);
            let ret = if matches!(kind, AggKind::SumInt) { oid::INT8 } else { type_oid };
            let rows: Vec<(Option<u32>, Datum)> = batches
                .iter()
                .flat_map(|(.., rows)| rows)
                .map(|(group, which)| (*group, value(&of, *which)))
                .collect();
            let columns = by_columns(&kind, ret, &of, &batches, GROUPS);
            prop_assert_eq!(by_rows(&kind, ret, &rows), columns, "{:?}", kind);
            // The kernels for one group.
            let one: Vec<_> = batches
                .iter()
                .map(|(d, r, rows)| {
                    let rows = rows.iter().map(|(group, which)| (group.map(|_| 0), *which));
                    (*d, *r, rows.collect())
                })
                .collect();
            let rows: Vec<_> = rows.into_iter().map(|(group, v)| (group.map(|_| 0), v)).collect();
            let expected = by_rows(&kind, ret, &rows).map(|all| all[..1].to_vec());
            prop_assert_eq!(expected, by_columns(&kind, ret, &of, &one, 1), "{:?}", kind);
        }
    }
}
