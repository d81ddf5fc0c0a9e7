//! The states of one call in all groups, and the kernels that take a batch's arguments into them.
//!
//! The most frequent aggregates have states that are smaller than an [`AggState`], in arrays (as in
//! X100's hash aggregation). The others keep an [`AggState`]. Any group's state can be taken out as
//! an [`AggState`] and put back, so that a single row can be added, and all results are made in one
//! place.
//!
//! A kernel takes rows in their order, so that sums of floats equal those of the row path to the
//! last bit. It stops at the first row that fails and returns which row that was. If several calls
//! fail, the error of the earliest row is reported.

use super::{AggKind, AggState, statistics};
use crate::vector::{Data, IntKind, NO_PLACE, Nulls, Vector};
use std::cmp::Ordering;
use steppe_types::compare::compare_floats;
use steppe_types::numeric::{Numeric, NumericSum};
use steppe_types::{Datum, Error, Oid, Result, oid};

/// The first row that failed, and how.
pub(crate) type RowError = (usize, Error);

/// The states of a call, one a group.
pub(crate) struct CallStates {
    kind: AggKind,
    states: States,
}

enum States {
    Counts(Vec<i64>),
    /// Sums of integers; which groups have one.
    Ints(Vec<i64>, Vec<bool>),
    /// Sums that become a numeric, as long as they fit.
    Small(SmallSums),
    Numerics(Vec<NumericSum>),
    Floats(Vec<f64>, Vec<bool>),
    /// The least or greatest integer, date or the like.
    IntExtremes(IntKind, Vec<i64>, Vec<bool>),
    Any(Vec<AggState>),
}

/// Sums of numerics of one display scale, or of integers.
#[derive(Default)]
struct SmallSums {
    /// The scale of all values so far.
    scale: Option<u8>,
    /// The sums, multiplied by 10^scale.
    sums: Vec<i64>,
    counts: Vec<i64>,
}

impl SmallSums {
    /// Adds a batch's values; returns the row in which a sum left the range, if any.
    fn add(&mut self, groups: &[u32], nulls: &Nulls, values: &[i64]) -> Option<usize> {
        if let ([sum], [count], true) =
            (&mut self.sums[..], &mut self.counts[..], is_everyone(groups, nulls))
        {
            let total = i128::from(*sum) + values.iter().map(|v| i128::from(*v)).sum::<i128>();
            let Ok(total) = i64::try_from(total) else { return Some(0) };
            (*sum, *count) = (total, *count + values.len() as i64);
            return None;
        }
        for (i, group) in groups.iter().enumerate() {
            if *group == NO_PLACE || nulls.get(i) {
                continue;
            }
            let group = *group as usize;
            let Some(sum) = self.sums[group].checked_add(values[i]) else { return Some(i) };
            self.sums[group] = sum;
            self.counts[group] += 1;
        }
        None
    }

    /// The sum of a group, which is then empty.
    fn take(&mut self, group: usize) -> NumericSum {
        let (sum, count) = (&mut self.sums[group], &mut self.counts[group]);
        let mut out = NumericSum::new();
        let (total, of) = (i128::from(std::mem::take(sum)), std::mem::take(count));
        out.add_scaled_sum(of, total, self.scale.unwrap_or(0));
        out
    }
}

/// The integers that values of a type are.
fn int_kind(type_oid: Oid) -> Option<IntKind> {
    Some(match type_oid {
        oid::INT2 => IntKind::Int2,
        oid::INT4 => IntKind::Int4,
        oid::INT8 => IntKind::Int8,
        oid::OID => IntKind::Oid,
        oid::DATE => IntKind::Date,
        oid::TIME => IntKind::Time,
        oid::TIMESTAMP => IntKind::Timestamp,
        oid::TIMESTAMPTZ => IntKind::TimestampTz,
        _ => return None,
    })
}

impl CallStates {
    /// The states of a call, without groups.
    pub(crate) fn new(kind: &AggKind) -> CallStates {
        let states = match kind {
            AggKind::CountStar | AggKind::Count => States::Counts(Vec::new()),
            AggKind::SumInt => States::Ints(Vec::new(), Vec::new()),
            AggKind::SumBig | AggKind::SumNumeric | AggKind::AvgInt | AggKind::AvgNumeric => {
                States::Small(SmallSums::default())
            }
            AggKind::SumFloat8 => States::Floats(Vec::new(), Vec::new()),
            AggKind::Extreme { type_oid, .. } => match int_kind(*type_oid) {
                Some(kind) => States::IntExtremes(kind, Vec::new(), Vec::new()),
                None => States::Any(Vec::new()),
            },
            _ => States::Any(Vec::new()),
        };
        CallStates { kind: kind.clone(), states }
    }

    /// Adds groups until there are `groups`.
    pub(crate) fn grow(&mut self, groups: usize) {
        match &mut self.states {
            States::Counts(counts) => counts.resize(groups, 0),
            States::Ints(sums, any) | States::IntExtremes(_, sums, any) => {
                sums.resize(groups, 0);
                any.resize(groups, false);
            }
            States::Small(small) => {
                small.sums.resize(groups, 0);
                small.counts.resize(groups, 0);
            }
            States::Numerics(sums) => sums.resize_with(groups, NumericSum::new),
            States::Floats(sums, any) => {
                sums.resize(groups, 0.0);
                any.resize(groups, false);
            }
            States::Any(states) => states.resize_with(groups, || self.kind.start()),
        }
    }

    /// The bytes of a group's state, without the part that grows with its rows.
    pub(crate) fn group_bytes(&self) -> usize {
        match &self.states {
            States::Counts(_) => 8,
            States::Ints(..) | States::Floats(..) | States::IntExtremes(..) => 9,
            States::Small(_) => 16,
            States::Numerics(_) => size_of::<NumericSum>(),
            States::Any(_) => size_of::<AggState>() + self.kind.start().heap_bytes().max(32),
        }
    }

    /// Gives sums the form that has a place for every numeric.
    fn widen(&mut self) {
        if let States::Small(small) = &mut self.states {
            let sums = (0..small.sums.len()).map(|group| small.take(group)).collect();
            self.states = States::Numerics(sums);
        }
    }

    /// A group's state, which is then that of a group without rows.
    pub(crate) fn take(&mut self, group: usize) -> AggState {
        let some = |any: &mut bool| std::mem::take(any).then_some(());
        match &mut self.states {
            States::Counts(counts) => AggState::Count(std::mem::take(&mut counts[group])),
            States::Ints(sums, any) => AggState::Int(some(&mut any[group]).map(|()| sums[group])),
            States::Small(small) => AggState::Numeric(Box::new(small.take(group))),
            States::Numerics(sums) => AggState::Numeric(Box::new(std::mem::take(&mut sums[group]))),
            States::Floats(sums, any) => {
                AggState::Float(some(&mut any[group]).map(|()| sums[group]))
            }
            States::IntExtremes(kind, best, any) => {
                AggState::Value(some(&mut any[group]).map(|()| kind.datum(best[group])))
            }
            States::Any(states) => std::mem::replace(&mut states[group], self.kind.start()),
        }
    }

    /// The results of the groups from `from` up to `end`, if these are also the values of their
    /// states. `None`: the caller makes them one by one from the states.
    pub(crate) fn results(&self, from: usize, end: usize) -> Option<Vector> {
        let without =
            |any: &[bool]| Nulls::from_flags(any[from..end].iter().map(|any| !any).collect());
        let (data, nulls) = match &self.states {
            States::Counts(counts) => {
                (Data::Ints(IntKind::Int8, counts[from..end].to_vec()), Nulls::default())
            }
            States::Ints(sums, any) => {
                (Data::Ints(IntKind::Int8, sums[from..end].to_vec()), without(any))
            }
            States::Floats(sums, any) => (Data::Floats(sums[from..end].to_vec()), without(any)),
            States::IntExtremes(kind, best, any) => {
                (Data::Ints(*kind, best[from..end].to_vec()), without(any))
            }
            States::Small(small) => {
                if !matches!(self.kind, AggKind::SumBig | AggKind::SumNumeric) {
                    return None;
                }
                let none = small.counts[from..end].iter().map(|count| *count == 0).collect();
                let sums = small.sums[from..end].to_vec();
                (Data::Decimals(small.scale.unwrap_or(0), sums), Nulls::from_flags(none))
            }
            States::Numerics(_) | States::Any(_) => return None,
        };
        Some(Vector { data, nulls })
    }

    /// Puts back a state that [`Self::take`] gave.
    fn put(&mut self, group: usize, state: AggState) -> Result<()> {
        match (&mut self.states, state) {
            (States::Counts(counts), AggState::Count(count)) => counts[group] = count,
            (States::Ints(sums, any), AggState::Int(sum)) => {
                (sums[group], any[group]) = (sum.unwrap_or_default(), sum.is_some());
            }
            (States::Numerics(sums), AggState::Numeric(sum)) => sums[group] = *sum,
            (States::Floats(sums, any), AggState::Float(sum)) => {
                (sums[group], any[group]) = (sum.unwrap_or_default(), sum.is_some());
            }
            (States::IntExtremes(kind, best, any), AggState::Value(value)) => {
                match value.as_ref().map(IntKind::of) {
                    None => any[group] = false,
                    Some(Some((of, value))) if of == *kind => {
                        (best[group], any[group]) = (value, true);
                    }
                    Some(_) => return Err(Error::internal("a value is not of its type")),
                }
            }
            (States::Any(states), state) => states[group] = state,
            _ => return Err(Error::internal("a state is of another aggregate")),
        }
        Ok(())
    }

    /// Adds one row's arguments to a group; returns by how many bytes the state has grown.
    pub(crate) fn add_row(&mut self, group: usize, args: &[Datum]) -> Result<usize> {
        self.change(group, |kind, state| kind.add(state, args))
    }

    /// Changes a group's state; returns by how many bytes it has grown.
    fn change(
        &mut self,
        group: usize,
        how: impl FnOnce(&AggKind, &mut AggState) -> Result<()>,
    ) -> Result<usize> {
        if let States::Any(states) = &mut self.states {
            let state = &mut states[group];
            let before = if self.kind.collects() { state.heap_bytes() } else { 0 };
            how(&self.kind, state)?;
            let after = if self.kind.collects() { state.heap_bytes() } else { 0 };
            return Ok(after.saturating_sub(before));
        }
        self.widen();
        let mut state = self.take(group);
        how(&self.kind, &mut state)?;
        self.put(group, state)?;
        Ok(0)
    }

    /// Adds a state that [`AggKind::partial`] has made to a group; returns by how many bytes the
    /// group's state has grown.
    pub(crate) fn combine_row(&mut self, group: usize, part: &Datum) -> Result<usize> {
        self.change(group, |kind, state| kind.combine(state, part))
    }

    /// As [`Self::add`], of states that [`AggKind::partial`] has made.
    pub(crate) fn combine(&mut self, groups: &[u32], part: &Vector) -> Result<usize, RowError> {
        if self.kind.adds_states() {
            return self.add(groups, &[part]);
        }
        let (mut grown, nulls) = (0, &part.nulls);
        match (&mut self.states, &part.data) {
            (States::Counts(counts), Data::Ints(_, values)) => each(groups, nulls, |i, group| {
                counts[group] += values[i];
                Ok(())
            })?,
            _ => each(groups, nulls, |i, group| {
                grown += self.combine_row(group, &part.datum(i)?)?;
                Ok(())
            })?,
        }
        Ok(grown)
    }

    /// Adds the arguments of a batch's rows to their groups. Rows without a group are skipped.
    /// Returns by how many bytes the states have grown.
    pub(crate) fn add(&mut self, groups: &[u32], args: &[&Vector]) -> Result<usize, RowError> {
        if let States::Small(small) = &mut self.states {
            let Some(from) = add_small(small, groups, args) else { return Ok(0) };
            self.widen();
            if from > 0 {
                let mut left = groups.to_vec();
                left[..from].fill(NO_PLACE);
                return self.add(&left, args);
            }
        }
        let done = match (&mut self.states, args) {
            (States::Counts(counts), _) => count_arguments(counts, groups, args),
            (States::Ints(sums, any), [Vector { data: Data::Ints(_, values), nulls }]) => {
                each(groups, nulls, |i, group| {
                    let sum = sums[group].checked_add(values[i]);
                    sums[group] = sum.ok_or_else(super::bigint_out_of_range)?;
                    any[group] = true;
                    Ok(())
                })?;
                true
            }
            (States::Numerics(sums), [arg]) => add_numerics(sums, groups, arg)?,
            (States::Floats(sums, any), [Vector { data: Data::Floats(values), nulls }]) => {
                add_floats((sums, any), groups, (values, nulls))?;
                true
            }
            (
                States::IntExtremes(kind, best, any),
                [Vector { data: Data::Ints(of, values), nulls }],
            ) if kind == of => {
                let max = matches!(self.kind, AggKind::Extreme { max: true, .. });
                each(groups, nulls, |i, group| {
                    let (value, so_far) = (values[i], best[group]);
                    if !any[group] || (if max { value > so_far } else { value < so_far }) {
                        (best[group], any[group]) = (value, true);
                    }
                    Ok(())
                })?;
                true
            }
            (States::Any(states), [arg]) => add_simple(&self.kind, states, groups, arg)?,
            _ => false,
        };
        if done { Ok(0) } else { self.add_rows(groups, args) }
    }

    /// [`Self::add`], a row at a time.
    fn add_rows(&mut self, groups: &[u32], args: &[&Vector]) -> Result<usize, RowError> {
        let (mut grown, mut values) = (0, Vec::with_capacity(args.len()));
        each(groups, &Nulls::default(), |i, group| {
            values.clear();
            for arg in args {
                values.push(arg.datum(i)?);
            }
            grown += self.add_row(group, &values)?;
            Ok(())
        })?;
        Ok(grown)
    }
}

/// Calls `take` for each row that has a group and is not NULL.
#[inline(always)]
fn each(
    groups: &[u32],
    nulls: &Nulls,
    mut take: impl FnMut(usize, usize) -> Result<()>,
) -> Result<(), RowError> {
    for (i, group) in groups.iter().enumerate() {
        if *group != NO_PLACE && !nulls.get(i) {
            take(i, *group as usize).map_err(|error| (i, error))?;
        }
    }
    Ok(())
}

/// The rows that are in the only group and are not NULL.
fn in_group<'a>(groups: &'a [u32], nulls: &'a Nulls) -> impl Iterator<Item = usize> + 'a {
    (0..groups.len()).filter(|i| groups[*i] != NO_PLACE && !nulls.get(*i))
}

/// Counts rows whose argument is not NULL; false if there are several arguments.
fn count_arguments(counts: &mut [i64], groups: &[u32], args: &[&Vector]) -> bool {
    match args {
        [] => count(counts, groups, &Nulls::default()),
        [Vector { data: Data::Datums(values), .. }] => {
            let nulls = values.iter().map(Datum::is_null).collect();
            count(counts, groups, &Nulls::from_flags(nulls));
        }
        [arg] => count(counts, groups, &arg.nulls),
        _ => return false,
    }
    true
}

/// Whether all rows are in the only group and none is NULL.
fn is_everyone(groups: &[u32], nulls: &Nulls) -> bool {
    nulls.none() && groups.iter().map(|group| u32::from(*group == NO_PLACE)).sum::<u32>() == 0
}

fn count(counts: &mut [i64], groups: &[u32], nulls: &Nulls) {
    if let [count] = counts {
        *count += in_group(groups, nulls).count() as i64;
        return;
    }
    for (i, group) in groups.iter().enumerate() {
        if *group != NO_PLACE && !nulls.get(i) {
            counts[*group as usize] += 1;
        }
    }
}

/// Adds numerics and integers to small sums; returns the first row that must be added to wider
/// ones, if any.
fn add_small(small: &mut SmallSums, groups: &[u32], args: &[&Vector]) -> Option<usize> {
    let [arg] = args else { return Some(0) };
    let (scale, values) = match &arg.data {
        Data::Ints(_, values) => (0, values),
        Data::Decimals(scale, values) => (*scale, values),
        _ => return Some(0),
    };
    if values.is_empty() {
        return None;
    }
    match *small.scale.get_or_insert(scale) == scale {
        true => small.add(groups, &arg.nulls, values),
        false => Some(0),
    }
}

/// Adds numerics and integers of any width; false if the values are neither.
fn add_numerics(sums: &mut [NumericSum], groups: &[u32], arg: &Vector) -> Result<bool, RowError> {
    let nulls = &arg.nulls;
    match &arg.data {
        Data::Ints(_, values) if sums.len() == 1 => {
            add_to_one(&mut sums[0], groups, arg, values, 0)
        }
        Data::Decimals(scale, values) if sums.len() == 1 => {
            add_to_one(&mut sums[0], groups, arg, values, *scale);
        }
        Data::Ints(_, values) => each(groups, nulls, |i, group| {
            sums[group].add_i64(values[i]);
            Ok(())
        })?,
        Data::Decimals(scale, values) => each(groups, nulls, |i, group| {
            sums[group].add_scaled(values[i], *scale);
            Ok(())
        })?,
        Data::Datums(values) => each(groups, nulls, |i, group| {
            match &values[i] {
                Datum::Null => {}
                Datum::Numeric(value) => sums[group].add(value),
                other => sums[group].add_i64(super::integer(other)?),
            }
            Ok(())
        })?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Adds the rows of the only group. A batch's mantissas together are far from an i128's ends.
fn add_to_one(sum: &mut NumericSum, groups: &[u32], arg: &Vector, values: &[i64], scale: u8) {
    if is_everyone(groups, &arg.nulls) {
        let total = values.iter().map(|value| i128::from(*value)).sum();
        return sum.add_scaled_sum(values.len() as i64, total, scale);
    }
    let (mut rows, mut total) = (0i64, 0i128);
    for i in in_group(groups, &arg.nulls) {
        rows += 1;
        total += i128::from(values[i]);
    }
    sum.add_scaled_sum(rows, total, scale);
}

fn add_floats(
    (sums, any): (&mut [f64], &mut [bool]),
    groups: &[u32],
    (values, nulls): (&[f64], &Nulls),
) -> Result<(), RowError> {
    each(groups, nulls, |i, group| {
        let (value, so_far) = (values[i], sums[group]);
        if !std::mem::replace(&mut any[group], true) {
            sums[group] = value;
            return Ok(());
        }
        sums[group] = statistics::checked_sum(so_far, value)?;
        Ok(())
    })
}

/// Adds values of one type to states that are kept whole; false if this must be done a row at a
/// time.
fn add_simple(
    kind: &AggKind,
    states: &mut [AggState],
    groups: &[u32],
    arg: &Vector,
) -> Result<bool, RowError> {
    let nulls = &arg.nulls;
    match (kind, &arg.data) {
        (AggKind::FloatMoments(_), Data::Floats(values)) => {
            each(groups, nulls, |i, group| match &mut states[group] {
                AggState::Moments(moments) => moments.add(values[i]),
                _ => Err(Error::internal("moments state of another aggregate")),
            })?
        }
        (AggKind::BoolAnd | AggKind::BoolOr, Data::Ints(IntKind::Bool, values)) => {
            let and = matches!(kind, AggKind::BoolAnd);
            each(groups, nulls, |i, group| {
                let value = values[i] != 0;
                if let AggState::Bool(so_far) = &mut states[group] {
                    let all = so_far.unwrap_or(and);
                    *so_far = Some(if and { all && value } else { all || value });
                }
                Ok(())
            })?;
        }
        (AggKind::Extreme { max, .. }, Data::Decimals(scale, values)) => {
            extremes(states, (groups, nulls), |i, best| {
                let value = Numeric::from_small(values[i], *scale);
                let better = match best {
                    Some(Datum::Numeric(best)) => replaces(value.cmp(best), *max),
                    _ => true,
                };
                better.then_some(Datum::Numeric(value))
            })?;
        }
        (AggKind::Extreme { max, .. }, Data::Floats(values)) => {
            extremes(states, (groups, nulls), |i, best| {
                let better = match best {
                    Some(Datum::Float8(best)) => replaces(compare_floats(values[i], *best), *max),
                    _ => true,
                };
                better.then(|| Datum::Float8(values[i]))
            })?;
        }
        (AggKind::Extreme { max, type_oid }, Data::Texts(values)) if *type_oid != oid::BPCHAR => {
            extremes(states, (groups, nulls), |i, best| match best {
                // Equal texts have the same bytes.
                Some(Datum::Text(best)) => {
                    let order = values.get(i).cmp(best.as_bytes());
                    let better = if *max { order.is_gt() } else { order.is_lt() };
                    if better { arg.datum(i).ok() } else { None }
                }
                _ => arg.datum(i).ok(),
            })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// If equal values have different forms, the last one is kept.
fn replaces(order: Ordering, max: bool) -> bool {
    if max { order.is_ge() } else { order.is_le() }
}

/// Replaces a group's value by the result of `better` for the row's value, if there is one.
fn extremes(
    states: &mut [AggState],
    (groups, nulls): (&[u32], &Nulls),
    better: impl Fn(usize, Option<&Datum>) -> Option<Datum>,
) -> Result<(), RowError> {
    each(groups, nulls, |i, group| match &mut states[group] {
        AggState::Value(best) => {
            if let Some(value) = better(i, best.as_ref()) {
                *best = Some(value);
            }
            Ok(())
        }
        _ => Err(Error::internal("extreme state of another aggregate")),
    })
}
