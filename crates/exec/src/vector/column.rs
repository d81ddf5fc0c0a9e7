//! One column of a batch.

use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Result};

/// The type of an integer vector's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntKind {
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Date,
    Time,
    Timestamp,
    TimestampTz,
}

impl IntKind {
    /// The datum of a value of this kind.
    #[inline]
    pub(crate) fn datum(self, value: i64) -> Datum {
        match self {
            IntKind::Bool => Datum::Bool(value != 0),
            IntKind::Int2 => Datum::Int2(value as i16),
            IntKind::Int4 => Datum::Int4(value as i32),
            IntKind::Int8 => Datum::Int8(value),
            IntKind::Oid => Datum::Oid(value as u32),
            IntKind::Date => Datum::Date(value as i32),
            IntKind::Time => Datum::Time(value),
            IntKind::Timestamp => Datum::Timestamp(value),
            IntKind::TimestampTz => Datum::TimestampTz(value),
        }
    }

    /// Puts the datum of a value of this kind behind others. Each kind's datum is made in its place.
    #[inline]
    fn push(self, value: i64, out: &mut Vec<Datum>) {
        match self {
            IntKind::Int4 => out.push(Datum::Int4(value as i32)),
            IntKind::Int8 => out.push(Datum::Int8(value)),
            other => out.push(other.datum(value)),
        }
    }

    /// The kind and value of a datum, if it has one.
    #[inline]
    pub(crate) fn of(datum: &Datum) -> Option<(IntKind, i64)> {
        Some(match *datum {
            Datum::Bool(v) => (IntKind::Bool, i64::from(v)),
            Datum::Int2(v) => (IntKind::Int2, v.into()),
            Datum::Int4(v) => (IntKind::Int4, v.into()),
            Datum::Int8(v) => (IntKind::Int8, v),
            Datum::Oid(v) => (IntKind::Oid, v.into()),
            Datum::Date(v) => (IntKind::Date, v.into()),
            Datum::Time(v) => (IntKind::Time, v),
            Datum::Timestamp(v) => (IntKind::Timestamp, v),
            Datum::TimestampTz(v) => (IntKind::TimestampTz, v),
            _ => return None,
        })
    }
}

/// The NULL flags of a vector's values; empty if none is NULL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nulls(Vec<bool>);

impl Nulls {
    /// Whether value `i` is NULL.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> bool {
        !self.0.is_empty() && self.0[i]
    }

    /// Whether no value is NULL.
    #[inline]
    pub(crate) fn none(&self) -> bool {
        self.0.is_empty()
    }

    /// A flag for each of the values; empty if none is NULL.
    pub(crate) fn flags(&self) -> &[bool] {
        &self.0
    }

    /// Sets whether the value behind `len` others is NULL.
    #[inline]
    pub(crate) fn push(&mut self, len: usize, null: bool) {
        if null && self.0.is_empty() {
            self.0.resize(len, false);
            self.0.push(true);
        } else if !self.0.is_empty() {
            self.0.push(null);
        }
    }

    /// Appends the flags of `count` other values behind `len` ones.
    pub(crate) fn append(&mut self, len: usize, from: &Nulls, count: usize) {
        if !self.none() || !from.none() {
            self.0.resize(len, false);
            self.0.extend_from_slice(&from.0);
            self.0.resize(len + count, false);
        }
    }

    /// Takes these flags, of which perhaps none is set.
    pub(crate) fn from_flags(flags: Vec<bool>) -> Nulls {
        if flags.contains(&true) { Nulls(flags) } else { Nulls::default() }
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn gather(&self, rows: &[u32]) -> Nulls {
        if self.none() {
            return Nulls::default();
        }
        Nulls::from_flags(rows.iter().map(|i| self.0[*i as usize]).collect())
    }
}

/// The most bytes of a batch's strings, except for strings that a scan reads from a table. Other
/// strings may be one long string that many rows share, so they stay datums beyond this.
pub(crate) const MAX_TEXT_BYTES: usize = 16 << 20;

/// Strings: places in a common run of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    /// Start and length of each string. A NULL has none.
    places: Vec<(u32, u32)>,
}

impl Texts {
    /// The number of strings.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// String `i`, which is UTF-8.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        let (start, len) = self.places[i];
        &self.bytes[start as usize..(start + len) as usize]
    }

    /// String `i` as a str. XX000 if it is not UTF-8, which never occurs.
    pub(crate) fn str(&self, i: usize) -> Result<&str> {
        std::str::from_utf8(self.get(i)).map_err(|_| Error::internal("a string is not UTF-8"))
    }

    /// Appends a string that is known to be UTF-8. The strings of a batch together take less than
    /// 4 GB: a row does, and a producer ends its batch before.
    #[inline]
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.places.push((self.bytes.len() as u32, text.len() as u32));
        self.bytes.extend_from_slice(text);
    }

    /// An empty list of strings, with memory for `rows` of them.
    pub(crate) fn with_capacity(rows: usize, bytes: usize) -> Texts {
        Texts { bytes: Vec::with_capacity(bytes), places: Vec::with_capacity(rows) }
    }

    /// Whether there is room for strings of `bytes` more bytes.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes <= u32::MAX as usize
    }

    /// Bytes of all strings.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether all strings are UTF-8.
    pub(crate) fn are_utf8(&self) -> bool {
        let is_utf8 = |i| std::str::from_utf8(self.get(i)).is_ok();
        self.bytes.is_ascii() || (0..self.len()).all(is_utf8)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn gather(&self, rows: &[u32]) -> Texts {
        let mut out = Texts { bytes: Vec::new(), places: Vec::with_capacity(rows.len()) };
        rows.iter().for_each(|i| out.push(self.get(*i as usize)));
        out
    }
}

/// The values of a vector, one a row. A NULL has any value in its place.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// Booleans, integers, dates and times, widened.
    Ints(IntKind, Vec<i64>),
    /// double precision
    Floats(Vec<f64>),
    /// numeric: mantissas over 10^scale, which is each value's display scale, at most 18.
    Decimals(u8, Vec<i64>),
    /// text, varchar, bpchar, name: every type stored as [`Datum::Text`].
    Texts(Texts),
    /// Everything else, NULLs included.
    Datums(Vec<Datum>),
}

impl Data {
    /// The same representation of no values.
    fn empty(&self) -> Data {
        match self {
            Data::Ints(kind, _) => Data::Ints(*kind, Vec::new()),
            Data::Floats(_) => Data::Floats(Vec::new()),
            Data::Decimals(scale, _) => Data::Decimals(*scale, Vec::new()),
            Data::Texts(_) => Data::Texts(Texts::default()),
            Data::Datums(_) => Data::Datums(Vec::new()),
        }
    }
}

/// A column of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    pub(crate) data: Data,
    pub(crate) nulls: Nulls,
}

impl Default for Vector {
    fn default() -> Vector {
        Vector::datums(Vec::new())
    }
}

impl Vector {
    /// A vector of these datums.
    pub(crate) fn datums(values: Vec<Datum>) -> Vector {
        Vector { data: Data::Datums(values), nulls: Nulls::default() }
    }

    /// Datums, in the representation that has a place for all of them.
    pub(crate) fn of(values: Vec<Datum>) -> Vector {
        let Some(first) = values.iter().find(|value| !value.is_null()) else {
            return Vector::datums(values);
        };
        let mut typed = Vector { data: representation(first), nulls: Nulls::default() };
        for (len, value) in values.iter().enumerate() {
            if !typed.push_typed(len, value) {
                return Vector::datums(values);
            }
        }
        typed
    }

    /// The same value `rows` times.
    pub(crate) fn repeat(value: &Datum, rows: usize) -> Vector {
        let mut out = Vector::default();
        (0..rows).for_each(|_| out.push(value));
        out
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        match &self.data {
            Data::Ints(_, v) | Data::Decimals(_, v) => v.len(),
            Data::Floats(v) => v.len(),
            Data::Texts(v) => v.len(),
            Data::Datums(v) => v.len(),
        }
    }

    /// Whether value `i` is NULL.
    #[inline]
    pub(crate) fn is_null(&self, i: usize) -> bool {
        match &self.data {
            Data::Datums(v) => v[i].is_null(),
            _ => self.nulls.get(i),
        }
    }

    /// Value `i` as a datum.
    pub(crate) fn datum(&self, i: usize) -> Result<Datum> {
        if self.nulls.get(i) {
            return Ok(Datum::Null);
        }
        Ok(match &self.data {
            Data::Ints(kind, v) => kind.datum(v[i]),
            Data::Floats(v) => Datum::Float8(v[i]),
            Data::Decimals(scale, v) => Datum::Numeric(Numeric::from_small(v[i], *scale)),
            Data::Texts(v) => Datum::text(v.str(i)?),
            Data::Datums(v) => v[i].clone(),
        })
    }

    /// Puts value `i` behind other datums.
    #[inline]
    pub(crate) fn datum_into(&self, i: usize, out: &mut Vec<Datum>) -> Result<()> {
        match &self.data {
            Data::Ints(kind, v) if !self.nulls.get(i) => kind.push(v[i], out),
            _ => out.push(self.datum(i)?),
        }
        Ok(())
    }

    /// Drops the values, keeps the memory and the representation.
    pub(crate) fn clear(&mut self) {
        self.nulls.clear();
        match &mut self.data {
            Data::Ints(_, v) | Data::Decimals(_, v) => v.clear(),
            Data::Floats(v) => v.clear(),
            Data::Texts(v) => v.clear(),
            Data::Datums(v) => v.clear(),
        }
    }

    /// Appends a value. An empty vector takes the representation of a value that is not NULL; one
    /// that cannot hold the value becomes one of datums.
    pub(crate) fn push(&mut self, value: &Datum) {
        if self.len() == 0 && !value.is_null() {
            self.data = representation(value);
        }
        self.append_datum(value);
    }

    /// [`Self::push`] to a vector whose representation is chosen.
    pub(super) fn append_datum(&mut self, value: &Datum) {
        if let Data::Datums(v) = &mut self.data {
            v.push(value.clone());
        } else if !self.push_typed(self.len(), value) {
            self.push_as_datum(value);
        }
    }

    /// Appends a value behind `len` others, if the representation, which is not one of datums, has
    /// a place for it.
    #[inline]
    fn push_typed(&mut self, len: usize, value: &Datum) -> bool {
        match (&mut self.data, value) {
            (Data::Ints(_, v) | Data::Decimals(_, v), Datum::Null) => v.push(0),
            (Data::Floats(v), Datum::Null) => v.push(0.0),
            (Data::Texts(v), Datum::Null) => v.push(&[]),
            (Data::Floats(v), Datum::Float8(value)) => v.push(*value),
            (Data::Texts(v), Datum::Text(value))
                if v.byte_len() + value.len() <= MAX_TEXT_BYTES =>
            {
                v.push(value.as_bytes())
            }
            (Data::Ints(kind, v), value) => match IntKind::of(value) {
                Some((of, value)) if of == *kind => v.push(value),
                _ => return false,
            },
            (Data::Decimals(scale, v), Datum::Numeric(value)) => match value.as_small() {
                Some((mantissa, of)) if of == *scale => v.push(mantissa),
                _ => return false,
            },
            _ => return false,
        }
        self.nulls.push(len, value.is_null());
        true
    }

    /// Appends value `i` of another vector. An empty vector takes that one's representation, also
    /// for a NULL.
    pub(crate) fn push_from(&mut self, other: &Vector, i: usize) -> Result<()> {
        let len = self.len();
        if len == 0 {
            self.data = other.data.empty();
        }
        match (&mut self.data, &other.data) {
            (Data::Ints(kind, to), Data::Ints(of, from)) if kind == of => to.push(from[i]),
            (Data::Decimals(scale, to), Data::Decimals(of, from)) if scale == of => {
                to.push(from[i]);
            }
            (Data::Floats(to), Data::Floats(from)) => to.push(from[i]),
            (Data::Texts(to), Data::Texts(from)) if to.has_room(from.get(i).len()) => {
                to.push(from.get(i));
            }
            (Data::Texts(_), Data::Texts(_)) => {
                self.push_as_datum(&other.datum(i)?);
                return Ok(());
            }
            _ => {
                self.push(&other.datum(i)?);
                return Ok(());
            }
        }
        self.nulls.push(len, other.nulls.get(i));
        Ok(())
    }

    fn push_as_datum(&mut self, value: &Datum) {
        let mut values: Vec<Datum> = (0..self.len()).filter_map(|i| self.datum(i).ok()).collect();
        values.push(value.clone());
        *self = Vector::datums(values);
    }

    /// The values at these places, in this order.
    pub(crate) fn gather(&self, rows: &[u32]) -> Vector {
        let at = |i: &u32| *i as usize;
        let data = match &self.data {
            Data::Ints(kind, v) => Data::Ints(*kind, rows.iter().map(|i| v[at(i)]).collect()),
            Data::Decimals(s, v) => Data::Decimals(*s, rows.iter().map(|i| v[at(i)]).collect()),
            Data::Floats(v) => Data::Floats(rows.iter().map(|i| v[at(i)]).collect()),
            Data::Texts(v) => Data::Texts(v.gather(rows)),
            Data::Datums(v) => Data::Datums(rows.iter().map(|i| v[at(i)].clone()).collect()),
        };
        Vector { data, nulls: self.nulls.gather(rows) }
    }
}

/// An empty run of values in which `value` has a place.
pub(super) fn representation(value: &Datum) -> Data {
    match value {
        Datum::Float8(_) => Data::Floats(Vec::new()),
        Datum::Text(_) => Data::Texts(Texts::default()),
        Datum::Numeric(value) => match value.as_small() {
            Some((_, scale)) => Data::Decimals(scale, Vec::new()),
            None => Data::Datums(Vec::new()),
        },
        other => match IntKind::of(other) {
            Some((kind, _)) => Data::Ints(kind, Vec::new()),
            None => Data::Datums(Vec::new()),
        },
    }
}
