//! `IN` and `= ANY` of a list that is the same for all rows, `NOT IN` and `<> ALL`.
//!
//! The list becomes a set of values in the column's representation: integers, mantissas at the
//! column's scale, strings. A few values are compared one by one, more are hashed.

use super::compare::without_blanks;
use super::{Truths, Value};
use crate::vector::{Data, IntKind, Nulls, Texts};
use hashbrown::HashSet;
use steppe_types::Datum;
use steppe_types::compare::bpchar_key;

/// The most values that are compared one by one.
const FEW: usize = 6;

/// Whether each value is in the list or, negated, is not.
pub(super) fn in_list(
    negated: bool,
    bpchar: bool,
    value: &Value<'_>,
    list: &Value<'_>,
) -> Option<Truths> {
    let (Value::Each(vector), Value::Same(list_datum)) = (value, list) else { return None };
    let list = match list_datum {
        Datum::Array(array) => &array.elements,
        Datum::Null => return Some(Truths::repeat(None, vector.len())),
        _ => return None,
    };
    if list.is_empty() {
        return Some(Truths::repeat(Some(negated), vector.len()));
    }
    let has_null = list.iter().any(Datum::is_null);
    let given = || list.iter().filter(|datum| !datum.is_null());
    let found = match &vector.data {
        Data::Ints(kind, values) => {
            find_ints(values, given().map(|datum| int(*kind, datum)).collect::<Option<_>>()?)
        }
        Data::Decimals(scale, values) => {
            let mantissas = given().map(|datum| mantissa(*scale, datum));
            let mantissas = mantissas.collect::<Option<Vec<Option<i64>>>>()?;
            find_ints(values, mantissas.into_iter().flatten().collect())
        }
        Data::Texts(texts) => {
            let text = |datum| text(bpchar, datum);
            find_texts(texts, given().map(text).collect::<Option<_>>()?, bpchar)
        }
        Data::Floats(_) | Data::Datums(_) => return None,
    };
    Some(answer(found, negated, has_null, &vector.nulls))
}

/// The result is unknown for a value that is not found in a list with NULL.
fn answer(found: Vec<bool>, negated: bool, has_null: bool, nulls: &Nulls) -> Truths {
    let unknown = match has_null {
        false => nulls.clone(),
        true => {
            let missing = |(i, found): (usize, &bool)| !found || nulls.get(i);
            Nulls::from_flags(found.iter().enumerate().map(missing).collect())
        }
    };
    let values = found.iter().map(|found| *found != negated).collect();
    Truths::new(values, unknown)
}

/// A value to look for in a column of integers.
fn int(kind: IntKind, datum: &Datum) -> Option<i64> {
    let is_integer = |kind| matches!(kind, IntKind::Int2 | IntKind::Int4 | IntKind::Int8);
    let (of, value) = IntKind::of(datum)?;
    (of == kind || is_integer(of) && is_integer(kind)).then_some(value)
}

/// A value to look for among mantissas. `Some(None)`: no mantissa of that scale equals it. `None`:
/// it has to be compared in another way.
fn mantissa(scale: u8, datum: &Datum) -> Option<Option<i64>> {
    let Datum::Numeric(value) = datum else { return None };
    // A number that is not small has more digits than a mantissa, unless they are zeros.
    let (mantissa, of) = value.as_small()?;
    if of <= scale {
        let power = 10i64.checked_pow(u32::from(scale - of))?;
        return Some(mantissa.checked_mul(power));
    }
    let power = 10i64.checked_pow(u32::from(of - scale))?;
    Some((mantissa % power == 0).then(|| mantissa / power))
}

fn text(bpchar: bool, datum: &Datum) -> Option<&[u8]> {
    let Datum::Text(text) = datum else { return None };
    Some(if bpchar { bpchar_key(text).as_bytes() } else { text.as_bytes() })
}

fn find_ints(values: &[i64], list: Vec<i64>) -> Vec<bool> {
    if list.len() <= FEW {
        let mut found = vec![false; values.len()];
        for wanted in list {
            found.iter_mut().zip(values).for_each(|(found, value)| *found |= *value == wanted);
        }
        return found;
    }
    let set: HashSet<i64, foldhash::fast::FixedState> = list.into_iter().collect();
    values.iter().map(|value| set.contains(value)).collect()
}

fn find_texts(texts: &Texts, list: Vec<&[u8]>, bpchar: bool) -> Vec<bool> {
    let key = |i: usize| match bpchar {
        true => without_blanks(texts.get(i)),
        false => texts.get(i),
    };
    if list.len() <= FEW {
        return (0..texts.len()).map(|i| list.contains(&key(i))).collect();
    }
    let set: HashSet<&[u8], foldhash::fast::FixedState> = list.into_iter().collect();
    (0..texts.len()).map(|i| set.contains(key(i))).collect()
}
