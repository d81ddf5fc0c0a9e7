//! Predicates over a row, by SQL's three-valued logic: `None` is NULL.

use super::any_operand;
use proptest::prelude::*;
use proptest::sample::select;
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_partition::{Comparison, Operand, Predicate};
use steppe_types::Datum;
use steppe_types::compare::{compare_as, compare_floats};
use steppe_types::datetime::arith::{
    compare_date_timestamp, date_to_timestamptz, timestamp_to_timestamptz,
};
use steppe_types::datum::Array;
use steppe_types::io::IoContext;
use steppe_types::numeric::Numeric;
use steppe_types::oid::{self, Oid};

const COMPARISONS: &[Comparison] = &[
    Comparison::Less,
    Comparison::LessEqual,
    Comparison::Equal,
    Comparison::Equal,
    Comparison::GreaterEqual,
    Comparison::Greater,
    Comparison::NotEqual,
];

/// A predicate, and the values of its slots by number.
pub(crate) type Bound = (Predicate, Vec<Option<Datum>>);

/// Some comparison operator.
pub(crate) fn any_comparison() -> impl Strategy<Value = Comparison> {
    select(COMPARISONS)
}

fn array(elements: Vec<Datum>) -> Datum {
    let dimensions = if elements.is_empty() { vec![] } else { vec![(elements.len() as i32, 1)] };
    // The comparison uses each element and ignores the element type.
    Datum::Array(Arc::new(Array { element_type: oid::UNKNOWN, dimensions, elements }))
}

fn any_array(type_oid: Oid) -> impl Strategy<Value = Datum> {
    let elements = prop::collection::vec(any_operand(type_oid), 0..4).prop_map(array);
    prop_oneof![12 => elements, 1 => Just(Datum::Null)]
}

fn any_leaf(types: Vec<Oid>) -> BoxedStrategy<Predicate> {
    let columns = types.len();
    let row_types = types.clone();
    let single = (0..columns).prop_flat_map(move |column| {
        let type_oid = types[column];
        let compare =
            (any_comparison(), any_operand(type_oid)).prop_map(move |(operator, value)| {
                Predicate::Compare { column, operator, operand: Operand::Constant(value) }
            });
        let some = (any_comparison(), any_array(type_oid)).prop_map(move |(operator, array)| {
            Predicate::Any { column, operator, array: Operand::Constant(array) }
        });
        let every = (any_comparison(), any_array(type_oid)).prop_map(move |(operator, array)| {
            Predicate::All { column, operator, array: Operand::Constant(array) }
        });
        let bool_test = any::<(bool, bool)>().prop_map(move |(value, negated)| match type_oid {
            oid::BOOL => Predicate::IsBool { column, value, negated },
            _ => Predicate::Unknown,
        });
        prop_oneof![
            8 => compare,
            2 => some,
            1 => every,
            1 => bool_test,
            1 => Just(Predicate::IsNull { column }),
            1 => Just(Predicate::IsNotNull { column }),
        ]
    });
    let row = (any_comparison(), 1..=columns, 0..4usize).prop_flat_map(
        move |(operator, length, first)| {
            // Mostly the key's first columns; else they begin further on, or with none.
            let first = if first < columns { first } else { 0 };
            let columns: Vec<Option<usize>> =
                (first..row_types.len()).chain(0..first).map(Some).take(length).collect();
            let operands: Vec<_> =
                columns.iter().flatten().map(|column| any_operand(row_types[*column])).collect();
            operands.prop_map(move |values| Predicate::Row {
                columns: columns.clone(),
                operator,
                operands: values.into_iter().map(Operand::Constant).collect(),
            })
        },
    );
    prop_oneof![
        8 => single,
        2 => row,
        1 => Just(Predicate::Unknown),
        1 => prop_oneof![Just(Datum::Null), any::<bool>().prop_map(Datum::Bool)]
            .prop_map(|value| Predicate::Known { value: Operand::Constant(value) }),
        1 => any::<bool>().prop_map(Predicate::Constant),
    ]
    .boxed()
}

/// A predicate over a key with these types.
pub(crate) fn any_predicate(types: &[Oid]) -> BoxedStrategy<Predicate> {
    any_leaf(types.to_vec())
        .prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Predicate::And),
                prop::collection::vec(inner, 0..4).prop_map(Predicate::Or),
            ]
        })
        .boxed()
}

/// Moves the predicate's constants into slots by `choices`.
pub(crate) fn with_slots(predicate: &Predicate, choices: &[bool]) -> Bound {
    let mut slots = Vec::new();
    let mut choices = choices.iter().copied().cycle();
    let mut moved = predicate.clone();
    each_operand(&mut moved, &mut |operand| {
        if let Operand::Constant(value) = operand
            && choices.next() == Some(true)
        {
            slots.push(Some(value.clone()));
            *operand = Operand::Slot(slots.len() as u32 - 1);
        }
    });
    (moved, slots)
}

fn each_operand(predicate: &mut Predicate, visit: &mut impl FnMut(&mut Operand)) {
    match predicate {
        Predicate::Compare { operand, .. } => visit(operand),
        Predicate::Any { array, .. } | Predicate::All { array, .. } => visit(array),
        Predicate::Known { value } => visit(value),
        Predicate::Row { operands, .. } => operands.iter_mut().for_each(visit),
        Predicate::And(parts) | Predicate::Or(parts) => {
            parts.iter_mut().for_each(|part| each_operand(part, visit));
        }
        Predicate::IsNull { .. }
        | Predicate::IsNotNull { .. }
        | Predicate::IsBool { .. }
        | Predicate::Constant(_)
        | Predicate::Unknown => {}
    }
}

/// Rows under a predicate without slots.
pub(crate) struct Rows<'a> {
    pub(crate) types: &'a [Oid],
    pub(crate) context: &'a IoContext,
}

impl Rows<'_> {
    /// Whether the predicate is true of the row. `Unknown` is: it may be.
    pub(crate) fn satisfies(&self, predicate: &Predicate, row: &[Datum]) -> bool {
        self.truth(predicate, row) == Some(true)
    }

    fn truth(&self, predicate: &Predicate, row: &[Datum]) -> Option<bool> {
        match predicate {
            Predicate::Unknown => Some(true),
            Predicate::Constant(value) => Some(*value),
            Predicate::Known { value } => match constant(value) {
                Datum::Bool(value) => Some(*value),
                _ => None,
            },
            Predicate::And(parts) => conjunction(parts.iter().map(|part| self.truth(part, row))),
            Predicate::Or(parts) => disjunction(parts.iter().map(|part| self.truth(part, row))),
            Predicate::IsNull { column } => Some(row[*column].is_null()),
            Predicate::IsNotNull { column } => Some(!row[*column].is_null()),
            Predicate::IsBool { column, value, negated } => {
                Some((row[*column] == Datum::Bool(*value)) != *negated)
            }
            Predicate::Compare { column, operator, operand } => {
                self.compare(*column, *operator, row, constant(operand))
            }
            Predicate::Any { column, operator, array } => {
                let elements = elements(constant(array))?;
                disjunction(
                    elements.iter().map(|value| self.compare(*column, *operator, row, value)),
                )
            }
            Predicate::All { column, operator, array } => {
                let elements = elements(constant(array))?;
                conjunction(
                    elements.iter().map(|value| self.compare(*column, *operator, row, value)),
                )
            }
            Predicate::Row { columns, operator, operands } => {
                self.row(columns, *operator, operands, row)
            }
        }
    }

    fn row(
        &self,
        columns: &[Option<usize>],
        operator: Comparison,
        operands: &[Operand],
        row: &[Datum],
    ) -> Option<bool> {
        // This is weaker than (a, b) = (x, y), but true wherever that is.
        if matches!(operator, Comparison::Equal | Comparison::NotEqual) {
            return Some(true);
        }
        for (column, operand) in columns.iter().zip(operands) {
            let column = column.expect("a column of the key");
            let ordering = self.order(column, row, constant(operand))?;
            if ordering.is_ne() {
                return Some(holds(operator, ordering));
            }
        }
        Some(holds(operator, Ordering::Equal))
    }

    fn compare(
        &self,
        column: usize,
        operator: Comparison,
        row: &[Datum],
        value: &Datum,
    ) -> Option<bool> {
        self.order(column, row, value).map(|ordering| holds(operator, ordering))
    }

    fn order(&self, column: usize, row: &[Datum], value: &Datum) -> Option<Ordering> {
        let key = &row[column];
        if key.is_null() || value.is_null() {
            return None;
        }
        Some(self.cross_type_order(self.types[column], key, value))
    }

    fn cross_type_order(&self, type_oid: Oid, a: &Datum, b: &Datum) -> Ordering {
        let zone = &self.context.datetime.time_zone;
        // A date or timestamp out of range is beyond all finite ones.
        let instant = |datum: &Datum| match datum {
            Datum::Date(date) => date_to_timestamptz(*date, zone).unwrap_or(i64::MAX - 1),
            Datum::Timestamp(local) => {
                timestamp_to_timestamptz(*local, zone).expect("in range in these tests")
            }
            Datum::TimestampTz(instant) => *instant,
            other => unreachable!("{other:?} is no time"),
        };
        match (a, b) {
            (Datum::Date(date), Datum::Timestamp(timestamp)) => {
                compare_date_timestamp(*date, *timestamp)
            }
            (Datum::Timestamp(timestamp), Datum::Date(date)) => {
                compare_date_timestamp(*date, *timestamp).reverse()
            }
            (Datum::TimestampTz(_), Datum::Date(_) | Datum::Timestamp(_))
            | (Datum::Date(_) | Datum::Timestamp(_), Datum::TimestampTz(_)) => {
                instant(a).cmp(&instant(b))
            }
            _ => match (number(a), number(b)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => match (float(a), float(b)) {
                    (Some(a), Some(b)) => compare_floats(a, b),
                    _ => compare_as(type_oid, a, b),
                },
            },
        }
    }
}

fn conjunction(mut values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(true);
    values
        .find_map(|value| match value {
            Some(false) => Some(Some(false)),
            None => {
                result = None;
                None
            }
            Some(true) => None,
        })
        .unwrap_or(result)
}

fn disjunction(values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    conjunction(values.map(|value| value.map(|value| !value))).map(|value| !value)
}

fn constant(operand: &Operand) -> &Datum {
    match operand {
        Operand::Constant(value) => value,
        Operand::Slot(_) => unreachable!("a predicate without slots"),
    }
}

fn elements(array: &Datum) -> Option<&[Datum]> {
    match array {
        Datum::Array(array) => Some(&array.elements),
        _ => None,
    }
}

fn holds(operator: Comparison, ordering: Ordering) -> bool {
    match operator {
        Comparison::Less => ordering.is_lt(),
        Comparison::LessEqual => ordering.is_le(),
        Comparison::Equal => ordering.is_eq(),
        Comparison::GreaterEqual => ordering.is_ge(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::NotEqual => ordering.is_ne(),
    }
}

fn number(datum: &Datum) -> Option<Numeric> {
    match datum {
        Datum::Int2(v) => Some(Numeric::from_i128_scaled(i128::from(*v), 0)),
        Datum::Int4(v) => Some(Numeric::from_i128_scaled(i128::from(*v), 0)),
        Datum::Int8(v) => Some(Numeric::from_i128_scaled(i128::from(*v), 0)),
        Datum::Numeric(v) => Some(v.clone()),
        _ => None,
    }
}

fn float(datum: &Datum) -> Option<f64> {
    match datum {
        Datum::Int2(v) => Some(f64::from(*v)),
        Datum::Int4(v) => Some(f64::from(*v)),
        Datum::Int8(v) => Some(*v as f64),
        Datum::Float4(v) => Some(f64::from(*v)),
        Datum::Float8(v) => Some(*v),
        _ => None,
    }
}
