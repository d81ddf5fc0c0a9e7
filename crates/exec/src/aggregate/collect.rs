//! Aggregates that keep their input: string_agg, array_agg.

use super::AggKind;
use super::partial::elements;
use crate::expr::array::stack;
use std::sync::Arc;
use steppe_spill::datum_bytes;
use steppe_types::datum::{Array, one_dimensional};
use steppe_types::{Datum, Error, Result, SqlState};

/// The longest text or bytea (PostgreSQL's MaxAllocSize).
const VALUE_BYTES_MAX: usize = 0x3FFF_FFFF;

/// The collected values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    bytes: Vec<u8>,
    /// The delimiter of the first value. It is needed if a state with earlier values is combined
    /// with this one.
    delimiter: Vec<u8>,
    values: Vec<Datum>,
    value_bytes: usize,
    any: bool,
}

impl Collected {
    pub(super) fn add(&mut self, kind: &AggKind, args: &[Datum]) -> Result<()> {
        match kind {
            AggKind::StringAgg | AggKind::ByteaAgg => self.append(args),
            _ => {
                let value = args.first().cloned().unwrap_or(Datum::Null);
                self.value_bytes += datum_bytes(&value);
                self.values.push(value);
                Ok(())
            }
        }
    }

    /// A NULL value is skipped; a NULL delimiter adds nothing.
    fn append(&mut self, args: &[Datum]) -> Result<()> {
        let [value, delimiter] = args else {
            return Err(Error::internal("string_agg needs a value and a delimiter"));
        };
        if value.is_null() {
            return Ok(());
        }
        if !delimiter.is_null() {
            let place = if self.any { &mut self.bytes } else { &mut self.delimiter };
            place.extend_from_slice(bytes_of(delimiter)?);
        }
        self.any = true;
        self.bytes.extend_from_slice(bytes_of(value)?);
        self.check_length()
    }

    fn check_length(&self) -> Result<()> {
        if self.bytes.len() > VALUE_BYTES_MAX {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "string buffer exceeds maximum allowed length (1073741823 bytes)",
            ));
        }
        Ok(())
    }

    /// The delimiter of the first value, and the text that string_agg has made so far. The
    /// delimiter is needed behind earlier values.
    pub(super) fn text_parts(self) -> Option<[Vec<u8>; 2]> {
        self.any.then_some([self.delimiter, self.bytes])
    }

    /// Adds the collected values of another state (string_agg_combine, array_agg_combine).
    pub(super) fn combine(&mut self, kind: &AggKind, part: &Datum) -> Result<()> {
        match (kind, part) {
            (AggKind::StringAgg | AggKind::ByteaAgg, _) => {
                let [delimiter, made] = elements(part)?;
                let (delimiter, made) = (bytes_of(delimiter)?, bytes_of(made)?);
                let place = if self.any { &mut self.bytes } else { &mut self.delimiter };
                place.extend_from_slice(delimiter);
                self.any = true;
                self.bytes.extend_from_slice(made);
                self.check_length()
            }
            (AggKind::ArrayAgg { of_arrays, .. }, Datum::Array(array)) => {
                let values = match of_arrays {
                    false => array.elements.clone(),
                    true => unstack(array),
                };
                self.value_bytes += values.iter().map(datum_bytes).sum::<usize>();
                self.values.extend(values);
                Ok(())
            }
            _ => Err(Error::internal("a partial state is of another aggregate")),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.value_bytes + 80
    }

    pub(super) fn finish(self, kind: &AggKind) -> Result<Datum> {
        match kind {
            AggKind::StringAgg if !self.any => Ok(Datum::Null),
            AggKind::ByteaAgg if !self.any => Ok(Datum::Null),
            AggKind::StringAgg => match String::from_utf8(self.bytes) {
                Ok(text) => Ok(Datum::text(text)),
                Err(_) => Err(Error::internal("string_agg made invalid UTF-8")),
            },
            AggKind::ByteaAgg => Ok(Datum::Bytea(Arc::from(self.bytes))),
            AggKind::ArrayAgg { .. } if self.values.is_empty() => Ok(Datum::Null),
            AggKind::ArrayAgg { element, of_arrays: false } => {
                Ok(one_dimensional(*element, self.values))
            }
            AggKind::ArrayAgg { element, of_arrays: true } => stack_arrays(*element, self.values),
            _ => Err(Error::internal("collected state of another aggregate")),
        }
    }
}

/// The arrays that an array is made of.
fn unstack(array: &Array) -> Vec<Datum> {
    let (Some((count, _)), Some(inner)) = (array.dimensions.first(), array.dimensions.get(1..))
    else {
        return Vec::new();
    };
    let each = array.elements.len() / (*count).max(1) as usize;
    let (element_type, dimensions) = (array.element_type, inner.to_vec());
    let one = |elements: &[Datum]| {
        let (dimensions, elements) = (dimensions.clone(), elements.to_vec());
        Datum::Array(Arc::new(Array { element_type, dimensions, elements }))
    };
    array.elements.chunks(each.max(1)).map(one).collect()
}

/// array_agg of arrays has rules of its own: no NULLs, no empty ones, equal dimensions.
fn stack_arrays(element: u32, values: Vec<Datum>) -> Result<Datum> {
    let error = |message: &str| Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    let mut dimensions = None;
    for value in &values {
        match value {
            Datum::Null => {
                return Err(Error::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "cannot accumulate null arrays",
                ));
            }
            Datum::Array(a) if a.dimensions.is_empty() && dimensions.is_none() => {
                return error("cannot accumulate empty arrays");
            }
            Datum::Array(a) => {
                if *dimensions.get_or_insert(a.dimensions.clone()) != a.dimensions {
                    return error("cannot accumulate arrays of different dimensionality");
                }
            }
            _ => return Err(Error::internal("array_agg of arrays met another value")),
        }
    }
    stack(element, values)
}

fn bytes_of(value: &Datum) -> Result<&[u8]> {
    match value {
        Datum::Bytea(v) => Ok(v),
        other => Ok(other.as_text()?.as_bytes()),
    }
}
