//! Functions of texts that cut out a part of each.

use super::Value;
use super::compare::without_blanks;
use crate::vector::{Data, Texts, Vector};
use steppe_types::{Datum, text as strings};

fn texts<'a>(value: &'a Value<'_>) -> Option<(&'a Texts, &'a Vector)> {
    let Value::Each(vector) = value else { return None };
    match &vector.data {
        Data::Texts(texts) => Some((texts, vector)),
        _ => None,
    }
}

/// Texts without the blanks at their ends.
pub(super) fn trim_blanks(value: &Value<'_>) -> Option<Vector> {
    let (texts, vector) = texts(value)?;
    let mut out = Texts::default();
    (0..texts.len()).for_each(|i| out.push(without_blanks(texts.get(i))));
    Some(Vector { data: Data::Texts(out), nulls: vector.nulls.clone() })
}

/// `substring(text from start [for length])`, the numbers being the same for all rows.
pub(super) fn substring(value: &Value<'_>, numbers: &[Value<'_>]) -> Option<Vector> {
    let (texts, vector) = texts(value)?;
    let number = |value: &Value<'_>| match value {
        Value::Same(Datum::Int4(number)) => Some(*number),
        _ => None,
    };
    let (start, length) = match numbers {
        [start] => (number(start)?, None),
        [start, length] => (number(start)?, Some(number(length)?)),
        _ => return None,
    };
    let mut out = Texts::default();
    for i in 0..texts.len() {
        out.push(strings::substring(texts.str(i).ok()?, start, length).ok()?.as_bytes());
    }
    Some(Vector { data: Data::Texts(out), nulls: vector.nulls.clone() })
}
