//! Evaluates steps: from the values of slots to a set of keys.

use super::cuts::{Place, integer, numeric_floor, place};
use super::ranges::{KeyRange, KeyRanges};
use super::steps::{ColumnStep, Conjunction, PruningSteps, RowStep, Step};
use super::{Comparison, KeySet, Operand};
use crate::key::{MAXVALUE, SPACE_BEGIN, SPACE_END, decode_hash, encode_hash};
use crate::map::{PartitionMap, PartitionStrategy, RoutedPartition};
use std::borrow::Cow;
use steppe_types::hashfuncs::{HASH_PARTITION_SEED, hash_combine64, hash_value_extended};
use steppe_types::io::IoContext;
use steppe_types::numeric::Numeric;
use steppe_types::oid::Oid;
use steppe_types::physical::Physical;
use steppe_types::{Datum, Result};

/// The number of keys to which equalities on several columns may multiply. Above it the later
/// columns are left out.
const KEYS_MAX: usize = 10_000;

/// A set of values of one column.
#[derive(Clone, Debug)]
struct ColumnSet {
    /// Values that are not NULL; for a hash-partitioned parent, their hashes.
    ranges: KeyRanges,
    null: bool,
}

impl ColumnSet {
    fn all() -> ColumnSet {
        ColumnSet { ranges: KeyRanges::all(), null: true }
    }

    fn none() -> ColumnSet {
        ColumnSet { ranges: KeyRanges::none(), null: false }
    }

    fn not_null(ranges: KeyRanges) -> ColumnSet {
        ColumnSet { ranges, null: false }
    }

    fn intersect(self, other: ColumnSet) -> ColumnSet {
        ColumnSet { ranges: self.ranges.intersect(other.ranges), null: self.null && other.null }
    }

    fn union(self, other: ColumnSet) -> ColumnSet {
        ColumnSet { ranges: self.ranges.union(other.ranges), null: self.null || other.null }
    }
}

impl PruningSteps {
    /// The keys of `map`'s parent that can satisfy the predicate.
    ///
    /// `slot` gives the value of a slot, or `None` while it is unknown. Conditions with an unknown
    /// value prune nothing. `context` has the time zone for comparisons of dates with instants.
    pub fn evaluate(
        &self,
        map: &PartitionMap,
        slot: &dyn Fn(u32) -> Result<Option<Datum>>,
        context: &IoContext,
    ) -> Result<KeySet> {
        let hashed = map.strategy() == PartitionStrategy::Hash;
        Evaluation { types: map.types(), hashed, slot, context }.step(&self.root)
    }

    /// The one partition that can hold a row, if the predicate fixes the whole key to values of the
    /// columns' own types. A point statement needs it; it costs as much as routing a row.
    /// `Some(None)` if there is no such partition; `None` if the predicate is of another kind and
    /// must be evaluated.
    pub fn route(
        &self,
        map: &PartitionMap,
        slot: &mut dyn FnMut(u32) -> Result<Option<Datum>>,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<Option<RoutedPartition>>> {
        let Some(operands) = &self.key else { return Ok(None) };
        if let ([operand], [type_oid]) = (&operands[..], map.types()) {
            return match fixed(operand, *type_oid, slot)? {
                Fixed::To(value) => map.route_to_place(&[value], scratch).map(Some),
                Fixed::ToNull => Ok(Some(None)),
                Fixed::Otherwise => Ok(None),
            };
        }
        let mut key = [const { Datum::Null }; ROUTED_COLUMNS_MAX];
        let Some(key) = key.get_mut(..operands.len()) else { return Ok(None) };
        for ((place, operand), type_oid) in key.iter_mut().zip(operands).zip(map.types()) {
            match fixed(operand, *type_oid, slot)? {
                Fixed::To(value) => *place = value,
                Fixed::ToNull => return Ok(Some(None)),
                Fixed::Otherwise => return Ok(None),
            }
        }
        map.route_to_place(key, scratch).map(Some)
    }
}

/// The number of columns up to which a key is routed without an allocation.
const ROUTED_COLUMNS_MAX: usize = 4;

/// The value that a column of the key is fixed to.
enum Fixed {
    /// A value of its type.
    To(Datum),
    ToNull,
    /// It is not known, or of another type.
    Otherwise,
}

#[inline]
fn fixed(
    operand: &Operand,
    type_oid: Oid,
    slot: &mut dyn FnMut(u32) -> Result<Option<Datum>>,
) -> Result<Fixed> {
    let value = match operand {
        Operand::Constant(value) => Some(value.clone()),
        Operand::Slot(number) => slot(*number)?,
    };
    Ok(match value {
        None => Fixed::Otherwise,
        Some(Datum::Null) => Fixed::ToNull,
        Some(value) => of_type(type_oid, value).map_or(Fixed::Otherwise, Fixed::To),
    })
}

/// A value as one of a type, if it has that type, or is an integer of another width.
fn of_type(type_oid: Oid, value: Datum) -> Option<Datum> {
    let physical = Physical::of(type_oid);
    if Physical::of_datum(&value) == Some(physical) {
        return Some(value);
    }
    let number = integer(&value)?;
    match physical {
        Physical::Int2 => i16::try_from(number).ok().map(Datum::Int2),
        Physical::Int4 => i32::try_from(number).ok().map(Datum::Int4),
        Physical::Int8 => Some(Datum::Int8(number)),
        _ => None,
    }
}

struct Evaluation<'a> {
    types: &'a [Oid],
    hashed: bool,
    slot: &'a dyn Fn(u32) -> Result<Option<Datum>>,
    context: &'a IoContext,
}

impl Evaluation<'_> {
    fn step(&self, step: &Step) -> Result<KeySet> {
        match step {
            Step::Conjunction(parts) => self.conjunction(parts),
            Step::Known(value) => Ok(match self.value(value)?.as_deref() {
                Some(Datum::Bool(false) | Datum::Null) => KeySet::none(),
                _ => KeySet::all(),
            }),
            Step::Union(sets) => {
                sets.iter().try_fold(KeySet::none(), |all, set| Ok(all.union(self.step(set)?)))
            }
        }
    }

    fn conjunction(&self, parts: &Conjunction) -> Result<KeySet> {
        let mut keys = match self.types {
            [type_oid] if !self.hashed => {
                let steps = parts.columns.iter().map(|(_, step)| step);
                let set = self.all_of(*type_oid, steps)?;
                KeySet { ranges: set.ranges, null: set.null }
            }
            _ => self.several_columns(parts)?,
        };
        for row in &parts.rows {
            keys = keys.intersect(self.row(row)?);
        }
        for set in &parts.sets {
            if keys.is_empty() {
                break;
            }
            keys = keys.intersect(self.step(set)?);
        }
        Ok(keys)
    }

    fn several_columns(&self, parts: &Conjunction) -> Result<KeySet> {
        let mut columns: Vec<Option<ColumnSet>> = vec![None; self.types.len()];
        for (column, step) in &parts.columns {
            let set = self.column(self.types[*column], step)?;
            let so_far = columns[*column].take();
            columns[*column] = Some(match so_far {
                Some(so_far) => so_far.intersect(set),
                None => set,
            });
        }
        Ok(if self.hashed { hashed_keys(&columns) } else { ordered_keys(&columns) })
    }

    fn all_of<'s>(
        &self,
        type_oid: Oid,
        mut steps: impl Iterator<Item = &'s ColumnStep>,
    ) -> Result<ColumnSet> {
        let Some(first) = steps.next() else { return Ok(ColumnSet::all()) };
        let first = self.column(type_oid, first)?;
        steps.try_fold(first, |all, step| Ok(all.intersect(self.column(type_oid, step)?)))
    }

    fn column(&self, type_oid: Oid, step: &ColumnStep) -> Result<ColumnSet> {
        match step {
            ColumnStep::IsNull => Ok(ColumnSet { ranges: KeyRanges::none(), null: true }),
            ColumnStep::IsNotNull => Ok(ColumnSet::not_null(KeyRanges::all())),
            ColumnStep::And(steps) => self.all_of(type_oid, steps.iter()),
            ColumnStep::Or(steps) => steps.iter().try_fold(ColumnSet::none(), |all, step| {
                Ok(all.union(self.column(type_oid, step)?))
            }),
            ColumnStep::Compare(operator, operand) => match self.value(operand)? {
                None => Ok(ColumnSet::all()),
                Some(value) => self.compare(type_oid, *operator, &value),
            },
            ColumnStep::Any(operator, array) => match self.value(array)?.as_deref() {
                None => Ok(ColumnSet::all()),
                Some(Datum::Array(array)) => self.any(type_oid, *operator, &array.elements),
                Some(Datum::Null) => Ok(ColumnSet::none()),
                Some(_) => Ok(ColumnSet::all()),
            },
            ColumnStep::All(operator, array) => match self.value(array)?.as_deref() {
                None => Ok(ColumnSet::all()),
                Some(Datum::Array(array)) => {
                    array.elements.iter().try_fold(ColumnSet::all(), |all, element| {
                        Ok(all.intersect(self.compare(type_oid, *operator, element)?))
                    })
                }
                Some(Datum::Null) => Ok(ColumnSet::none()),
                Some(_) => Ok(ColumnSet::all()),
            },
        }
    }

    fn value<'o>(&self, operand: &'o Operand) -> Result<Option<Cow<'o, Datum>>> {
        match operand {
            Operand::Constant(value) => Ok(Some(Cow::Borrowed(value))),
            Operand::Slot(number) => Ok((self.slot)(*number)?.map(Cow::Owned)),
        }
    }

    fn any(&self, type_oid: Oid, operator: Comparison, elements: &[Datum]) -> Result<ColumnSet> {
        let mut ranges = Vec::with_capacity(elements.len());
        for element in elements {
            let set = self.compare(type_oid, operator, element)?;
            if set.null {
                return Ok(ColumnSet::all());
            }
            ranges.extend_from_slice(set.ranges.as_slice());
        }
        Ok(ColumnSet::not_null(KeyRanges::from_unordered(ranges)))
    }

    /// The operators are strict: NULL on either side satisfies none.
    fn compare(&self, type_oid: Oid, operator: Comparison, value: &Datum) -> Result<ColumnSet> {
        let (operator, value) = match (operator, value) {
            (_, Datum::Null) => return Ok(ColumnSet::none()),
            // A boolean has two values.
            (Comparison::NotEqual, Datum::Bool(value)) => (Comparison::Equal, &Datum::Bool(!value)),
            _ => (operator, value),
        };
        if self.hashed {
            return match operator {
                Comparison::Equal => hash_of_equals(type_oid, value),
                _ => Ok(ColumnSet::not_null(KeyRanges::all())),
            };
        }
        Ok(match place(type_oid, value, self.context)? {
            Some(place) => ColumnSet::not_null(place.select(operator)),
            None => ColumnSet::all(),
        })
    }

    /// A comparison that reaches a NULL is not true.
    fn row(&self, row: &RowStep) -> Result<KeySet> {
        if self.hashed {
            return Ok(KeySet::all());
        }
        let below = matches!(row.operator, Comparison::Less | Comparison::LessEqual);
        let cut = match self.row_cut(row, below)? {
            RowCut::Never => return Ok(KeySet::none()),
            RowCut::Unknown => return Ok(KeySet::all()),
            RowCut::At(cut) => cut,
        };
        let ranges = match below {
            true => KeyRanges::between(SPACE_BEGIN.to_vec(), cut),
            false => KeyRanges::between(cut, SPACE_END.to_vec()),
        };
        // The first column that differs decides: later ones may be NULL.
        Ok(KeySet { ranges, null: self.types.len() > 1 })
    }

    fn row_cut(&self, row: &RowStep, below: bool) -> Result<RowCut> {
        let mut cut = Vec::new();
        for (n, (operand, type_oid)) in row.operands.iter().zip(self.types).enumerate() {
            let Some(value) = self.value(operand)? else {
                return Ok(if n == 0 { RowCut::Unknown } else { RowCut::ties(cut, below) });
            };
            if value.is_null() {
                return Ok(if n == 0 { RowCut::Never } else { RowCut::no_ties(cut, below) });
            }
            let (lower, upper) = match place(*type_oid, &value, self.context)? {
                Some(Place::Exact { lower, upper }) => (lower, upper),
                Some(Place::Vague { lower, upper }) => {
                    cut.extend(if below { upper } else { lower });
                    return Ok(RowCut::At(cut));
                }
                None if n == 0 => return Ok(RowCut::Unknown),
                None => return Ok(RowCut::ties(cut, below)),
            };
            let range = KeyRange { start: lower, end: upper };
            if range.is_prefix() {
                cut.extend(range.start);
                continue;
            }
            // Ties have several values or none, so that later columns are left out.
            cut.extend(if below { range.end } else { range.start });
            return Ok(RowCut::At(cut));
        }
        Ok(match row.operator {
            Comparison::LessEqual | Comparison::GreaterEqual => RowCut::ties(cut, below),
            _ => RowCut::no_ties(cut, below),
        })
    }
}

/// Where a row comparison cuts the key space.
enum RowCut {
    At(Vec<u8>),
    /// The comparison is never true.
    Never,
    Unknown,
}

impl RowCut {
    /// Keys that begin with the prefix are on the side that is kept.
    fn ties(mut prefix: Vec<u8>, below: bool) -> RowCut {
        if below {
            prefix.push(MAXVALUE);
        }
        RowCut::At(prefix)
    }

    /// Keys that begin with the prefix are not on the side that is kept.
    fn no_ties(prefix: Vec<u8>, below: bool) -> RowCut {
        RowCut::ties(prefix, !below)
    }
}

/// The hash of the column values that equal a value.
fn hash_of_equals(type_oid: Oid, value: &Datum) -> Result<ColumnSet> {
    let physical = Physical::of(type_oid);
    let is_integer = matches!(physical, Physical::Int2 | Physical::Int4 | Physical::Int8);
    let is_float = matches!(physical, Physical::Float4 | Physical::Float8);
    let value = match value {
        // Integers of all widths have the same hash, and so do floats.
        Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) if is_integer => value,
        Datum::Float4(_) | Datum::Float8(_) if is_float => value,
        Datum::Numeric(number) if is_integer => {
            let whole = numeric_floor(number).filter(|(_, is_whole)| *is_whole);
            match whole.and_then(|(number, _)| i64::try_from(number).ok()) {
                Some(number) => &Datum::Int8(number),
                None => return Ok(ColumnSet::none()),
            }
        }
        _ if physical == Physical::Numeric && integer(value).is_some() => {
            &Datum::Numeric(Numeric::from_i128_scaled(i128::from(integer(value).unwrap_or(0)), 0))
        }
        _ if Physical::of_datum(value) == Some(physical) => value,
        _ => return Ok(ColumnSet::all()),
    };
    let hash = hash_value_extended(type_oid, value, HASH_PARTITION_SEED)?;
    let range = KeyRange::prefix(encode_hash(hash));
    Ok(ColumnSet::not_null(KeyRanges::from_unordered(vec![range])))
}

/// Keys of an ordered key space: values of the first columns as far as they are
/// single ones, then the ranges of the next column.
fn ordered_keys(columns: &[Option<ColumnSet>]) -> KeySet {
    let no_nulls = columns.iter().flatten().all(|set| !set.ranges.is_empty());
    let possible = columns.iter().flatten().all(|set| !set.ranges.is_empty() || set.null);
    let null = possible && columns.iter().any(|set| set.as_ref().is_none_or(|set| set.null));
    if !no_nulls {
        return KeySet { ranges: KeyRanges::none(), null };
    }
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    for (n, set) in columns.iter().enumerate() {
        let Some(set) = set else { break };
        let ranges = set.ranges.as_slice();
        let extended =
            || prefixes.iter().flat_map(|prefix| ranges.iter().map(|range| range.behind(prefix)));
        let is_last = n + 1 == columns.len();
        let too_many = prefixes.len().saturating_mul(ranges.len()) > KEYS_MAX;
        if n > 0 && too_many {
            break;
        }
        if is_last || too_many || !ranges.iter().all(KeyRange::is_prefix) {
            return KeySet { ranges: KeyRanges::from_unordered(extended().collect()), null };
        }
        prefixes = extended().map(|range| range.start).collect();
    }
    // The empty prefix is that of all keys.
    let ranges = prefixes.into_iter().map(KeyRange::prefix);
    KeySet { ranges: KeyRanges::from_unordered(ranges.collect()), null }
}

/// Hashes of rows, if every column is known to have one of a few values or NULL.
fn hashed_keys(columns: &[Option<ColumnSet>]) -> KeySet {
    if columns.iter().flatten().any(|set| set.ranges.is_empty() && !set.null) {
        return KeySet::none();
    }
    let mut hashes: Vec<u64> = vec![0];
    for set in columns {
        let known = set.as_ref().filter(|set| {
            let count = set.ranges.as_slice().len() + usize::from(set.null);
            set.ranges.as_slice().iter().all(KeyRange::is_prefix)
                && hashes.len().saturating_mul(count) <= KEYS_MAX
        });
        let Some(set) = known else { return KeySet::all() };
        let values: Vec<Option<u64>> = set
            .ranges
            .as_slice()
            .iter()
            .map(|range| decode_hash(&range.start))
            .chain(set.null.then_some(None))
            .collect();
        // NULL leaves the hash as it is.
        hashes = hashes
            .iter()
            .flat_map(|hash| {
                values.iter().map(|value| value.map_or(*hash, |v| hash_combine64(*hash, v)))
            })
            .collect();
    }
    let ranges = hashes.into_iter().map(|hash| KeyRange::prefix(encode_hash(hash))).collect();
    KeySet { ranges: KeyRanges::from_unordered(ranges), null: false }
}
