//! Conditions on an index's columns that an entry decides by the bytes of its key.
//!
//! ```text
//!   key      part part part …         as `steppe_types::key` has them
//!   Within   a part between two, or one of some
//!   Row      the first part that is not the value's decides; NULL is never true
//! ```
//!
//! Parts compare as their values do, so no value is made. An entry that is not definitive
//! (`Visibility::AskRow`) is checked all the same, since the row is wanted only under this key.

use crate::access::{IndexAccess, KeyValue, key_value};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::cmp::Ordering;
use steppe_types::key::{KeyPart, encode_part, part_len};
use steppe_types::{Datum, Error, Result};

/// First byte of every key part that is not NULL.
pub(super) const VALUE_MARKER: u8 = 1;

/// A compiled condition.
pub(crate) enum CKeyCheck {
    Bound { column: usize, value: CExpr, lower: bool, inclusive: bool },
    Any { column: usize, array: CExpr },
    Equal { column: usize, value: CExpr },
    Null { column: usize, negated: bool },
    Row { columns: Box<[usize]>, values: Box<[CExpr]>, lower: bool, inclusive: bool },
}

/// Conditions with the values of one scan.
#[derive(Default)]
pub(super) struct KeyChecks {
    tests: Vec<Test>,
    /// The number of parts that the conditions read.
    parts: usize,
    /// The end of each part of the key.
    ends: Vec<usize>,
}

enum Test {
    /// The part lies in the range; NULL does not.
    Within {
        column: usize,
        first: Option<(Vec<u8>, bool)>,
        last: Option<(Vec<u8>, bool)>,
    },
    /// The part is one of these, which are sorted.
    OneOf {
        column: usize,
        parts: Parts,
    },
    Row {
        fields: Vec<(usize, RowValue, bool)>,
        lower: bool,
        inclusive: bool,
    },
}

/// A value of a row comparison, as the key's type sees it.
enum RowValue {
    Part(Vec<u8>),
    /// Between this value and the next one of the type.
    JustAbove(Vec<u8>),
    BelowAll,
    AboveAll,
    Null,
}

impl KeyChecks {
    /// Evaluates conditions; `None` if no entry can satisfy one of them.
    pub(super) fn new(
        checks: &[CKeyCheck],
        index: &IndexAccess,
        cx: &mut ExecContext,
    ) -> Result<Option<KeyChecks>> {
        let mut made = KeyChecks::default();
        for check in checks {
            let Some(test) = check.test(index, cx)? else { return Ok(None) };
            made.parts = made.parts.max(test.parts());
            made.tests.push(test);
        }
        Ok(Some(made))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Whether an entry with this key satisfies all.
    pub(super) fn pass(&mut self, key: &[u8], index: &IndexAccess) -> Result<bool> {
        self.ends.clear();
        let mut end = 0;
        for part in index.parts.iter().take(self.parts) {
            end += part_len(key.get(end..).unwrap_or_default(), part)?;
            self.ends.push(end);
        }
        let part = |column: usize| {
            let start = if column == 0 { 0 } else { self.ends.get(column - 1).copied()? };
            key.get(start..*self.ends.get(column)?)
        };
        for test in &self.tests {
            if !test.pass(&part).ok_or_else(no_such_part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cold]
fn no_such_part() -> Error {
    Error::internal("an index key has fewer parts than its conditions")
}

fn part_of(index: &IndexAccess, column: usize) -> Result<&KeyPart> {
    index.parts.get(column).ok_or_else(no_such_part)
}

fn encoded(value: &Datum, part: &KeyPart) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    encode_part(value, part, &mut bytes)?;
    Ok(bytes)
}

impl CKeyCheck {
    fn test(&self, index: &IndexAccess, cx: &mut ExecContext) -> Result<Option<Test>> {
        match self {
            CKeyCheck::Bound { column, value, lower, inclusive } => {
                let part = part_of(index, *column)?;
                let value = key_value(value.eval(cx, Row::EMPTY)?, part.type_oid)?;
                bound_test((*column, part), value, *lower, *inclusive)
            }
            CKeyCheck::Equal { column, value } => {
                let part = part_of(index, *column)?;
                let mut parts = Parts::default();
                parts.add(value.eval(cx, Row::EMPTY)?, part)?;
                Ok((!parts.is_empty()).then_some(Test::OneOf { column: *column, parts }))
            }
            CKeyCheck::Any { column, array } => {
                let parts = Parts::of_array(array, part_of(index, *column)?, cx)?;
                Ok((!parts.is_empty()).then_some(Test::OneOf { column: *column, parts }))
            }
            CKeyCheck::Null { column, negated: true } => {
                Ok(Some(Test::Within { column: *column, first: None, last: None }))
            }
            CKeyCheck::Null { column, negated: false } => {
                let parts = Parts::one(&Datum::Null, part_of(index, *column)?)?;
                Ok(Some(Test::OneOf { column: *column, parts }))
            }
            CKeyCheck::Row { columns, values, lower, inclusive } => {
                let mut fields = Vec::with_capacity(columns.len());
                for (column, value) in columns.iter().zip(values) {
                    let part = part_of(index, *column)?;
                    let value = row_value(value.eval(cx, Row::EMPTY)?, part)?;
                    fields.push((*column, value, part.descending));
                }
                Ok(Some(Test::Row { fields, lower: *lower, inclusive: *inclusive }))
            }
        }
    }
}

/// The elements of an array; none of NULL.
pub(super) fn elements(array: &CExpr, cx: &mut ExecContext) -> Result<Vec<Datum>> {
    match array.eval(cx, Row::EMPTY)? {
        Datum::Null => Ok(Vec::new()),
        Datum::Array(array) => Ok(array.elements.to_vec()),
        _ => Err(Error::internal("index search over a value that is not an array")),
    }
}

/// The parts of a column to search for: each once, in order, in one buffer.
#[derive(Default)]
pub(super) struct Parts {
    bytes: Vec<u8>,
    /// The beginning and end of each part.
    places: Vec<(usize, usize)>,
}

/// The approximate size of a part.
const PART_BYTES: usize = 9;

impl Parts {
    /// The parts that equal an element of an array.
    pub(super) fn of_array(array: &CExpr, part: &KeyPart, cx: &mut ExecContext) -> Result<Parts> {
        let mut parts = Parts::default();
        if let Some(elements) = array.elements() {
            // The array need not be made.
            parts.reserve(elements.len());
            for element in elements {
                parts.add(element.eval(cx, Row::EMPTY)?, part)?;
            }
        } else {
            let elements = elements(array, cx)?;
            parts.reserve(elements.len());
            for element in elements {
                parts.add(element, part)?;
            }
        }
        parts.sort();
        Ok(parts)
    }

    /// The part of one value, or of NULL.
    pub(super) fn one(value: &Datum, part: &KeyPart) -> Result<Parts> {
        let mut parts = Parts::default();
        parts.push(value, part)?;
        Ok(parts)
    }

    fn reserve(&mut self, count: usize) {
        self.bytes.reserve(count * PART_BYTES);
        self.places.reserve(count);
    }

    /// Adds the part that equals a value, behind the others. NULL adds none.
    fn add(&mut self, value: Datum, part: &KeyPart) -> Result<()> {
        match key_value(value, part.type_oid)? {
            KeyValue::Exact(Datum::Null) => Ok(()),
            KeyValue::Exact(value) => self.push(&value, part),
            _ => Ok(()),
        }
    }

    fn push(&mut self, value: &Datum, part: &KeyPart) -> Result<()> {
        let start = self.bytes.len();
        encode_part(value, part, &mut self.bytes)?;
        self.places.push((start, self.bytes.len()));
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let part = |&(start, end): &(usize, usize)| &bytes[start..end];
        self.places.sort_unstable_by(|a, b| part(a).cmp(part(b)));
        self.places.dedup_by(|a, b| part(a) == part(b));
    }

    /// Reverses their order.
    pub(super) fn reverse(&mut self) {
        self.places.reverse();
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of all parts.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&[u8]> {
        let (start, end) = *self.places.get(i)?;
        self.bytes.get(start..end)
    }

    fn has(&self, part: &[u8]) -> bool {
        let bytes = &self.bytes;
        let found = self.places.binary_search_by(|&(start, end)| bytes[start..end].cmp(part));
        found.is_ok()
    }
}

fn bound_test(
    (column, part): (usize, &KeyPart),
    value: KeyValue,
    lower: bool,
    inclusive: bool,
) -> Result<Option<Test>> {
    let bound = match value {
        KeyValue::Exact(Datum::Null) => return Ok(None),
        KeyValue::Exact(value) => Some((encoded(&value, part)?, inclusive)),
        // x > 1.5 is x > 1, x < 1.5 is x <= 1.
        KeyValue::Above(value) => Some((encoded(&value, part)?, !lower)),
        KeyValue::BelowAll if lower => None,
        KeyValue::AboveAll if !lower => None,
        KeyValue::BelowAll | KeyValue::AboveAll => return Ok(None),
    };
    Ok(Some(match lower != part.descending {
        true => Test::Within { column, first: bound, last: None },
        false => Test::Within { column, first: None, last: bound },
    }))
}

fn row_value(value: Datum, part: &KeyPart) -> Result<RowValue> {
    Ok(match key_value(value, part.type_oid)? {
        KeyValue::Exact(Datum::Null) => RowValue::Null,
        KeyValue::Exact(value) => RowValue::Part(encoded(&value, part)?),
        KeyValue::Above(value) => RowValue::JustAbove(encoded(&value, part)?),
        KeyValue::BelowAll => RowValue::BelowAll,
        KeyValue::AboveAll => RowValue::AboveAll,
    })
}

impl Test {
    /// The number of parts of a key that it needs.
    fn parts(&self) -> usize {
        1 + match self {
            Test::Within { column, .. } | Test::OneOf { column, .. } => *column,
            Test::Row { fields, .. } => fields.iter().map(|(c, ..)| *c).max().unwrap_or(0),
        }
    }

    /// `None`: the key has no such part.
    fn pass<'k>(&self, part: &impl Fn(usize) -> Option<&'k [u8]>) -> Option<bool> {
        match self {
            Test::Within { column, first, last } => {
                let bytes = part(*column)?;
                let above = first.as_ref().is_none_or(|(first, inclusive)| {
                    bytes > &first[..] || *inclusive && bytes == &first[..]
                });
                let below = last.as_ref().is_none_or(|(last, inclusive)| {
                    bytes < &last[..] || *inclusive && bytes == &last[..]
                });
                Some(bytes.first() == Some(&VALUE_MARKER) && above && below)
            }
            Test::OneOf { column, parts } => {
                let bytes = part(*column)?;
                Some(parts.has(bytes))
            }
            Test::Row { fields, lower, inclusive } => {
                for (column, value, descending) in fields {
                    let bytes = part(*column)?;
                    if bytes.first() != Some(&VALUE_MARKER) {
                        return Some(false);
                    }
                    match value.compared_with(bytes, *descending) {
                        None => return Some(false),
                        Some(Ordering::Equal) => {}
                        Some(order) => return Some((order == Ordering::Greater) == *lower),
                    }
                }
                Some(*inclusive)
            }
        }
    }
}

impl RowValue {
    /// Compares a part that is not NULL with the value; `None` if the result is unknown.
    fn compared_with(&self, bytes: &[u8], descending: bool) -> Option<Ordering> {
        let order = |value: &[u8]| match descending {
            true => value.cmp(bytes),
            false => bytes.cmp(value),
        };
        match self {
            RowValue::Part(value) => Some(order(value)),
            RowValue::JustAbove(value) => Some(match order(value) {
                Ordering::Greater => Ordering::Greater,
                _ => Ordering::Less,
            }),
            RowValue::BelowAll => Some(Ordering::Greater),
            RowValue::AboveAll => Some(Ordering::Less),
            RowValue::Null => None,
        }
    }
}
