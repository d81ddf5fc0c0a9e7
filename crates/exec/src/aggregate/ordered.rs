//! Ordered-set aggregates (mode, percentile_disc, percentile_cont) and hypothetical-set
//! ones (rank, dense_rank, percent_rank, cume_dist): src/backend/utils/adt/orderedsetaggs.c.
//!
//! The Agg node sorts a group by WITHIN GROUP. Here the sorted rows are read once, in order, with
//! the direct arguments known. Only the requested rows are kept.

use crate::sorter::{SortColumn, compare_rows};
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_types::datetime::arith::shortest;
use steppe_types::datum::Array;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// The aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderedSet {
    Mode,
    PercentileDisc,
    PercentileCont,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

/// The sorted rows of a group.
pub(crate) struct SortedRows<'a> {
    pub(crate) count: usize,
    pub(crate) columns: &'a [SortColumn],
    /// Appends the next row; false at the end.
    pub(crate) next: &'a mut dyn FnMut(&mut Vec<Datum>) -> Result<bool>,
}

impl SortedRows<'_> {
    fn read(&mut self, row: &mut Vec<Datum>) -> Result<bool> {
        row.clear();
        (self.next)(row)
    }

    /// The first column of the rows at some places, given in ascending order.
    fn values_at(&mut self, places: &[usize]) -> Result<Vec<Datum>> {
        let mut values = Vec::with_capacity(places.len());
        let (mut row, mut at) = (Vec::new(), 0);
        for place in places {
            while at <= *place && self.read(&mut row)? {
                at += 1;
            }
            values.push(row.first().cloned().unwrap_or_default());
        }
        Ok(values)
    }
}

impl OrderedSet {
    pub(super) fn named(name: &str) -> Option<OrderedSet> {
        Some(match name {
            "mode" => OrderedSet::Mode,
            "percentile_disc" => OrderedSet::PercentileDisc,
            "percentile_cont" => OrderedSet::PercentileCont,
            "rank" => OrderedSet::Rank,
            "dense_rank" => OrderedSet::DenseRank,
            "percent_rank" => OrderedSet::PercentRank,
            "cume_dist" => OrderedSet::CumeDist,
            _ => return None,
        })
    }

    /// Whether the rows are compared with a given row. Then all of them count.
    pub(crate) fn is_hypothetical(self) -> bool {
        !matches!(self, OrderedSet::Mode | OrderedSet::PercentileDisc | OrderedSet::PercentileCont)
    }

    /// The result over a group's rows.
    pub(crate) fn evaluate(
        self,
        mut rows: SortedRows<'_>,
        direct: &[Datum],
        ret: Oid,
    ) -> Result<Datum> {
        match self {
            OrderedSet::Mode => mode(&mut rows),
            OrderedSet::PercentileDisc | OrderedSet::PercentileCont => {
                self.percentiles(&mut rows, direct.first().unwrap_or(&Datum::Null), ret)
            }
            _ => self.rank(&mut rows, direct),
        }
    }

    fn percentiles(self, rows: &mut SortedRows<'_>, direct: &Datum, ret: Oid) -> Result<Datum> {
        let fractions = match direct {
            Datum::Null => return Ok(Datum::Null),
            Datum::Array(_) if rows.count == 0 => return Ok(Datum::Null),
            Datum::Array(array) => {
                array.elements.iter().map(fraction).collect::<Result<Vec<_>>>()?
            }
            one => vec![fraction(one)?],
        };
        if rows.count == 0 {
            return Ok(Datum::Null);
        }
        let positions: Vec<Option<Position>> =
            fractions.iter().map(|f| f.map(|f| self.position(f, rows.count))).collect();
        let mut places: Vec<usize> =
            positions.iter().flatten().flat_map(|p| [p.low, p.high]).collect();
        places.sort_unstable();
        places.dedup();
        let values = rows.values_at(&places)?;
        let value = |place: usize| match places.binary_search(&place) {
            Ok(i) => Ok(&values[i]),
            Err(_) => Err(Error::internal("a percentile's row was not read")),
        };
        let results = positions.into_iter().map(|position| match position {
            None => Ok(Datum::Null),
            Some(p) if p.low == p.high => value(p.low).cloned(),
            Some(p) => between(value(p.low)?, value(p.high)?, p.share),
        });
        let mut results = results.collect::<Result<Vec<_>>>()?;
        match direct {
            Datum::Array(array) => {
                let element_type = oid::element_type_of(ret).unwrap_or(oid::UNKNOWN);
                let dimensions = array.dimensions.clone();
                let elements = results;
                Ok(Datum::Array(Arc::new(Array { element_type, dimensions, elements })))
            }
            _ => Ok(results.pop().unwrap_or_default()),
        }
    }

    fn position(self, fraction: f64, count: usize) -> Position {
        if self == OrderedSet::PercentileDisc {
            let place = ((fraction * count as f64).ceil() as usize).max(1) - 1;
            return Position { low: place, high: place, share: 0.0 };
        }
        let exact = fraction * (count - 1) as f64;
        let low = exact.floor();
        Position { low: low as usize, high: exact.ceil() as usize, share: exact - low }
    }

    /// The rank of a hypothetical row among the rows.
    fn rank(self, rows: &mut SortedRows<'_>, hypothetical: &[Datum]) -> Result<Datum> {
        let (mut before, mut distinct_before, mut peers) = (0i64, 0i64, 0i64);
        let (mut row, mut last) = (Vec::new(), Vec::new());
        while rows.read(&mut row)? {
            match compare_rows(rows.columns, &row, hypothetical) {
                Ordering::Less => {
                    let is_new = last.is_empty() || compare_rows(rows.columns, &row, &last).is_ne();
                    before += 1;
                    distinct_before += i64::from(is_new);
                }
                Ordering::Equal => peers += 1,
                Ordering::Greater => break,
            }
            std::mem::swap(&mut row, &mut last);
        }
        let count = rows.count as f64;
        Ok(match self {
            OrderedSet::Rank => Datum::Int8(before + 1),
            OrderedSet::DenseRank => Datum::Int8(distinct_before + 1),
            OrderedSet::PercentRank if rows.count == 0 => Datum::Float8(0.0),
            OrderedSet::PercentRank => Datum::Float8(before as f64 / count),
            _ => Datum::Float8((before + peers + 1) as f64 / (count + 1.0)),
        })
    }
}

/// The position of a percentile: at a row, or between two neighbours.
struct Position {
    low: usize,
    high: usize,
    /// The distance from the lower row, as a share.
    share: f64,
}

/// A percentile's fraction; None for NULL.
fn fraction(value: &Datum) -> Result<Option<f64>> {
    let fraction = match value {
        Datum::Null => return Ok(None),
        value => value.as_float8()?,
    };
    if (0.0..=1.0).contains(&fraction) {
        return Ok(Some(fraction));
    }
    Err(Error::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("percentile value {} is not between 0 and 1", shortest(fraction)),
    ))
}

fn between(low: &Datum, high: &Datum, share: f64) -> Result<Datum> {
    match (low, high) {
        (Datum::Interval(low), Datum::Interval(high)) => {
            let value = high.checked_sub(low)?.mul(share)?.checked_add(low)?;
            Ok(Datum::Interval(Arc::new(value)))
        }
        _ => {
            let (low, high) = (low.as_float8()?, high.as_float8()?);
            Ok(Datum::Float8(low + share * (high - low)))
        }
    }
}

/// The value that occurs most often; the first of several.
fn mode(rows: &mut SortedRows<'_>) -> Result<Datum> {
    let (mut best, mut best_count) = (Datum::Null, 0usize);
    let (mut row, mut run, mut run_count) = (Vec::new(), Vec::<Datum>::new(), 0usize);
    while rows.read(&mut row)? {
        if run_count == 0 || compare_rows(rows.columns, &row, &run).is_ne() {
            std::mem::swap(&mut run, &mut row);
            run_count = 0;
        }
        run_count += 1;
        if run_count > best_count {
            best_count = run_count;
            best = run.first().cloned().unwrap_or_default();
        }
    }
    Ok(best)
}
