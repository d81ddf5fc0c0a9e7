//! The searches of an index scan, one by one in the order of the index.
//!
//! ```text
//!   prefix = 1          columns with one value
//!   levels = IN (2, 3)  each element, or each value that the index has (skip scan)
//!   tail   c > 4        bounds on the column after
//!
//!   1 2 ‖ c > 4   then   1 3 ‖ c > 4
//! ```
//!
//! The levels turn like an odometer's wheels, the last one fastest. Each search is made when its
//! turn comes, so LIMIT saves the rest. A wheel without values of its own asks the index for the
//! first entry after its present value (Oracle's index skip scan; PostgreSQL 18).

use super::index_scan::IndexPlan;
use super::key_check::{Parts, VALUE_MARKER};
use super::key_cursor::{KeyCursor, KeyRange};
use crate::access::long_keys::{group_of, shorten};
use crate::access::{IndexAccess, KeyValue, key_value};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::ops::Bound;
use steppe_catalog::builtin::PatternKind;
use steppe_sql::planner::pattern_end;
use steppe_txn::LookupKeys;
use steppe_types::key::{KeyPart, encode_part, part_len};
use steppe_types::{Datum, Error, Result};

/// A compiled search of one column.
pub(crate) enum CKeySearch {
    Equal(CExpr),
    IsNull,
    Any(CExpr),
    Each,
}

/// A compiled end of a range.
pub(crate) struct CKeyEnd {
    pub(crate) values: Box<[CExpr]>,
    pub(crate) inclusive: bool,
    /// The value is a pattern of this kind.
    pub(crate) pattern: Option<PatternKind>,
}

/// A search of one stretch of the index.
#[derive(Debug)]
pub(super) enum Probe {
    /// One key of a unique index, without NULL, in its stored form.
    Point(Vec<u8>),
    Range(KeyRange),
}

/// The stretches that a scan visits.
#[derive(Default)]
pub(super) struct Probes {
    /// The key so far, and where each level's part begins.
    prefix: Vec<u8>,
    starts: Vec<usize>,
    levels: Vec<Level>,
    tail: Tail,
    /// All columns are searched for, and the index is unique.
    is_whole: bool,
    is_point: bool,
    /// The scan has no more searches.
    is_done: bool,
}

/// A column that several values are searched for.
enum Level {
    /// These, in the order of the scan.
    Parts { parts: Parts, next: usize },
    /// The values that the index has after the present one.
    Each { column: usize, present: Option<Vec<u8>> },
}

/// The search of the column after the levels.
#[derive(Default)]
enum Tail {
    /// All keys with the prefix.
    #[default]
    None,
    /// The keys between these bounds, both without the prefix.
    Between(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

/// The end of a range, as the key's types see it.
enum End {
    Open,
    /// The range is empty.
    Nothing,
    At(Vec<u8>, bool),
}

fn index_part(index: &IndexAccess, i: usize) -> Result<&KeyPart> {
    index.parts.get(i).ok_or_else(|| Error::internal("index has fewer columns than its search"))
}

impl Probes {
    /// Evaluates a scan's search keys with the present parameters.
    pub(super) fn new(scan: &IndexPlan, cx: &mut ExecContext) -> Result<Probes> {
        let (range, index) = (&scan.range, &scan.index);
        let mut probes = Probes::default();
        let mut null_key = false;
        for (column, key) in range.keys.iter().enumerate() {
            let part = index_part(index, column)?;
            let mut parts = match key {
                CKeySearch::Equal(value) => {
                    match key_value(value.eval(cx, Row::EMPTY)?, part.type_oid)? {
                        KeyValue::Exact(Datum::Null) => return Ok(Probes::nothing()),
                        KeyValue::Exact(value) => Parts::one(&value, part)?,
                        _ => return Ok(Probes::nothing()),
                    }
                }
                CKeySearch::Any(array) => Parts::of_array(array, part, cx)?,
                CKeySearch::IsNull => {
                    null_key = true;
                    Parts::one(&Datum::Null, part)?
                }
                CKeySearch::Each => {
                    null_key = true;
                    probes.levels.push(Level::Each { column, present: None });
                    continue;
                }
            };
            if parts.is_empty() {
                return Ok(Probes::nothing());
            }
            if parts.len() == 1 && probes.levels.is_empty() {
                probes.prefix.extend_from_slice(parts.get(0).unwrap_or_default());
                continue;
            }
            if scan.backward {
                parts.reverse();
            }
            probes.levels.push(Level::Parts { parts, next: 0 });
        }
        probes.is_whole = range.keys.len() == index.parts.len();
        probes.is_point = probes.is_whole && index.unique && !null_key;
        if range.lower.is_some() || range.upper.is_some() || range.not_null {
            let Some(tail) = tail(scan, cx)? else { return Ok(Probes::nothing()) };
            probes.tail = tail;
        }
        Ok(probes)
    }

    /// A scan without searches.
    pub(super) fn nothing() -> Probes {
        Probes { is_done: true, ..Probes::default() }
    }

    /// The next stretch.
    pub(super) fn next(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<Option<Probe>> {
        if self.is_done {
            return Ok(None);
        }
        if self.levels.is_empty() {
            self.is_done = true;
            return self.probe().map(Some);
        }
        // The wheel that turns: the last one after a probe, the first one at the beginning.
        let mut at = self.starts.len().saturating_sub(1);
        if self.starts.is_empty() {
            self.starts.push(self.prefix.len());
        }
        loop {
            let start = self.starts.get(at).copied().unwrap_or_default();
            self.prefix.truncate(start);
            self.starts.truncate(at + 1);
            if self.turn(at, scan, cx)? {
                if at + 1 == self.levels.len() {
                    return self.probe().map(Some);
                }
                at += 1;
                self.starts.push(self.prefix.len());
                match &mut self.levels[at] {
                    Level::Parts { next, .. } => *next = 0,
                    Level::Each { present, .. } => *present = None,
                }
            } else if at == 0 {
                self.is_done = true;
                return Ok(None);
            } else {
                at -= 1;
            }
            cx.check_interrupts()?;
        }
    }

    /// Moves the keys of the next searches to `keys`, at most `most` of them. Each such search is
    /// for all entries with one key: elements of one list, and no bounds after them. A key that is
    /// too long to be whole in the index is left for [`Self::next`].
    pub(super) fn take_keys(&mut self, most: usize, keys: &mut LookupKeys) -> Result<()> {
        keys.clear();
        let ([Level::Parts { parts, next }], Tail::None) = (&mut self.levels[..], &self.tail)
        else {
            return Ok(());
        };
        let start = self.starts.first().copied().unwrap_or(self.prefix.len());
        let prefix = self.prefix.get(..start).unwrap_or_default();
        let to = parts.len().min(next.saturating_add(most));
        keys.reserve(to.saturating_sub(*next), prefix.len() + parts.bytes() / parts.len().max(1));
        while *next < to
            && let Some(part) = parts.get(*next)
        {
            let is_short = keys.push_with(|key| {
                let from = key.len();
                key.extend_from_slice(prefix);
                key.extend_from_slice(part);
                Ok::<_, Error>(group_of(&key[from..]).is_none())
            })?;
            if !is_short {
                break;
            }
            *next += 1;
        }
        Ok(())
    }

    /// Takes back the last `count` of the keys that [`Self::take_keys`] has moved.
    pub(super) fn take_back(&mut self, count: usize) {
        if let [Level::Parts { next, .. }] = &mut self.levels[..] {
            *next -= count;
        }
    }

    /// Appends a level's next value to the prefix; false if there is none.
    fn turn(&mut self, at: usize, scan: &IndexPlan, cx: &mut ExecContext) -> Result<bool> {
        match &mut self.levels[at] {
            Level::Parts { parts, next } => {
                let Some(part) = parts.get(*next) else { return Ok(false) };
                *next += 1;
                self.prefix.extend_from_slice(part);
                Ok(true)
            }
            Level::Each { column, present } => {
                let Some(part) = following(scan, &self.prefix, (*column, present), cx)? else {
                    return Ok(false);
                };
                self.prefix.extend_from_slice(&part);
                *present = Some(part);
                Ok(true)
            }
        }
    }

    fn probe(&self) -> Result<Probe> {
        let mut key = self.prefix.clone();
        let after = |bound: &Bound<Vec<u8>>| {
            let with = |tail: &Vec<u8>| [&self.prefix[..], tail].concat();
            match bound {
                Bound::Included(tail) => Bound::Included(with(tail)),
                Bound::Excluded(tail) => Bound::Excluded(with(tail)),
                Bound::Unbounded => Bound::Unbounded,
            }
        };
        Ok(match &self.tail {
            Tail::Between(first, last) => {
                Probe::Range(KeyRange::Between(after(first), after(last)))
            }
            Tail::None if self.is_point => {
                shorten(&mut key, 0)?;
                Probe::Point(key)
            }
            Tail::None if self.is_whole => Probe::Range(KeyRange::One(key)),
            Tail::None if key.is_empty() => {
                Probe::Range(KeyRange::Between(Bound::Unbounded, Bound::Unbounded))
            }
            Tail::None => {
                Probe::Range(KeyRange::Between(Bound::Included(key.clone()), Bound::Included(key)))
            }
        })
    }
}

/// The value that the index has next after the present one, under a prefix.
fn following(
    scan: &IndexPlan,
    prefix: &[u8],
    (column, present): (usize, &Option<Vec<u8>>),
    cx: &mut ExecContext,
) -> Result<Option<Vec<u8>>> {
    let all = || match prefix.is_empty() {
        true => Bound::Unbounded,
        false => Bound::Included(prefix.to_vec()),
    };
    let beyond = match present {
        Some(part) => Bound::Excluded([prefix, part].concat()),
        None => all(),
    };
    let range = match scan.backward {
        true => KeyRange::Between(all(), beyond),
        false => KeyRange::Between(beyond, all()),
    };
    let view = cx.view()?.clone();
    let mut cursor = KeyCursor::open(&scan.index, view, range, scan.backward)?;
    if !cursor.advance(&scan.table, &scan.index, &mut 0, cx)? {
        return Ok(None);
    }
    let (key, ..) = cursor.entry();
    let rest = key.get(prefix.len()..).unwrap_or_default();
    let length = part_len(rest, index_part(&scan.index, column)?)?;
    Ok(rest.get(..length).map(<[u8]>::to_vec))
}

/// Bounds on the columns after the searches; NULLs lie outside every range. `None`: nothing lies
/// between.
fn tail(scan: &IndexPlan, cx: &mut ExecContext) -> Result<Option<Tail>> {
    let (range, index) = (&scan.range, &scan.index);
    let from = range.keys.len();
    let lower = end(range.lower.as_ref(), true, (index, from), cx)?;
    let upper = end(range.upper.as_ref(), false, (index, from), cx)?;
    let descending = index_part(index, from)?.descending;
    let (first, last) = if descending { (upper, lower) } else { (lower, upper) };
    let bound = |end: End| match end {
        End::Nothing => None,
        End::Open => Some(Bound::Included(vec![VALUE_MARKER])),
        End::At(key, true) => Some(Bound::Included(key)),
        End::At(key, false) => Some(Bound::Excluded(key)),
    };
    Ok(bound(first).zip(bound(last)).map(|(first, last)| Tail::Between(first, last)))
}

/// The end of the texts with the beginning that a pattern requires.
fn end_of_pattern(
    limit: &CKeyEnd,
    (kind, lower): (PatternKind, bool),
    part: &KeyPart,
    cx: &mut ExecContext,
) -> Result<End> {
    let Some(pattern) = limit.values.first() else { return Ok(End::Open) };
    // NULL matches nothing.
    let Datum::Text(pattern) = pattern.eval(cx, Row::EMPTY)? else { return Ok(End::Nothing) };
    let Some(text) = pattern_end(&pattern, kind, lower) else { return Ok(End::Open) };
    let mut key = Vec::new();
    encode_part(&Datum::text(&*text), part, &mut key)?;
    Ok(End::At(key, limit.inclusive))
}

/// One end of a range: `lower` tells which. The leading values of a row comparison count whose
/// columns sort in the same direction. If one is NULL, the bound excludes the rows that are equal
/// before it.
fn end(
    limit: Option<&CKeyEnd>,
    lower: bool,
    (index, from): (&IndexAccess, usize),
    cx: &mut ExecContext,
) -> Result<End> {
    let Some(limit) = limit else { return Ok(End::Open) };
    if let Some(kind) = limit.pattern {
        return end_of_pattern(limit, (kind, lower), index_part(index, from)?, cx);
    }
    let descending = index_part(index, from)?.descending;
    let mut key = Vec::new();
    for (i, value) in limit.values.iter().enumerate() {
        let part = index_part(index, from + i)?;
        if part.descending != descending {
            return Ok(End::At(key, true));
        }
        // Rows that are equal up to here are out, or all of them are in.
        let cut = |key: Vec<u8>, is_in: bool| match (i, is_in) {
            (0, true) => End::Open,
            (0, false) => End::Nothing,
            _ => End::At(key, is_in),
        };
        match key_value(value.eval(cx, Row::EMPTY)?, part.type_oid)? {
            KeyValue::Exact(Datum::Null) => return Ok(cut(key, false)),
            KeyValue::Exact(value) => encode_part(&value, part, &mut key)?,
            // x > 1.5 is x > 1, x < 1.5 is x <= 1.
            KeyValue::Above(value) => {
                encode_part(&value, part, &mut key)?;
                return Ok(End::At(key, !lower));
            }
            KeyValue::BelowAll => return Ok(cut(key, lower)),
            KeyValue::AboveAll => return Ok(cut(key, !lower)),
        }
    }
    Ok(End::At(key, limit.inclusive))
}
