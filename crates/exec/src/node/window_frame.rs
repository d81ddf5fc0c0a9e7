//! The rows of a partition that a window function sees from a row (PostgreSQL's nodeWindowAgg.c:
//! update_frameheadpos, update_frametailpos).
//!
//! Rows of a partition are numbered from 0, and a frame is a range of numbers. From one row to the
//! next, the ends of a frame never move back, so they are found by walking on. Rows are read from
//! the input only as far as a frame needs.

use super::window::{Place, Spool};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::sorter::{SortColumn, compare_rows};
use std::collections::VecDeque;
use std::ops::Range;
use steppe_functions::ScalarFn;
use steppe_sql::query::{FrameExclusion, FrameMode};
use steppe_types::{Datum, Error, Result, SqlState};

/// A compiled frame, with the order that defines peers.
pub(crate) struct CFrame {
    pub(crate) mode: FrameMode,
    pub(crate) start: CFrameBound,
    pub(crate) end: CFrameBound,
    pub(crate) exclusion: FrameExclusion,
    /// The sort columns over the values of `order_by`.
    pub(crate) keys: Box<[SortColumn]>,
    pub(crate) order_by: Box<[CExpr]>,
}

/// An end of a frame.
pub(crate) enum CFrameBound {
    Unbounded,
    CurrentRow,
    Preceding(CFrameOffset),
    Following(CFrameOffset),
}

impl CFrameBound {
    fn offset(&self) -> Option<&CFrameOffset> {
        match self {
            CFrameBound::Preceding(offset) | CFrameBound::Following(offset) => Some(offset),
            _ => None,
        }
    }
}

/// A distance from the current row.
pub(crate) struct CFrameOffset {
    pub(crate) value: CExpr,
    /// RANGE: the in_range function.
    pub(crate) in_range: Option<ScalarFn>,
}

/// The frames of one run over a partition.
pub(crate) struct Frames {
    start_offset: Datum,
    end_offset: Datum,
    groups: Groups,
    /// RANGE with offsets: where the frame's ends were for the row before.
    head: usize,
    tail: usize,
    head_place: Place,
    tail_place: Place,
    current_place: Place,
}

impl Frames {
    /// Evaluates the offsets, which hold for all rows.
    pub(crate) fn new(frame: &CFrame, cx: &mut ExecContext) -> Result<Frames> {
        let mut offset = |bound: &CFrameBound, which: &str| match bound.offset() {
            Some(offset) => checked_offset(offset, which, cx),
            None => Ok(Datum::Null),
        };
        Ok(Frames {
            start_offset: offset(&frame.start, "starting")?,
            end_offset: offset(&frame.end, "ending")?,
            groups: Groups::default(),
            head: 0,
            tail: 0,
            head_place: Place::default(),
            tail_place: Place::default(),
            current_place: Place::default(),
        })
    }

    /// Another partition begins.
    pub(crate) fn restart(&mut self) {
        self.groups = Groups::default();
        (self.head, self.tail) = (0, 0);
        for place in [&mut self.head_place, &mut self.tail_place, &mut self.current_place] {
            place.rewind();
        }
    }

    /// The peers of row `current`: the rows that are equal to it in the order.
    pub(crate) fn peers(
        &mut self,
        frame: &CFrame,
        current: usize,
        rows: &mut Rows<'_, '_>,
    ) -> Result<Range<usize>> {
        self.groups.seek(frame, current, rows)?;
        let group = self.groups.current;
        let start = self.groups.start(group, frame, rows)?.unwrap_or(current);
        Ok(start..self.groups.end(group, frame, rows)?)
    }

    /// The first peer, without a search for the last.
    pub(crate) fn first_peer(
        &mut self,
        frame: &CFrame,
        current: usize,
        rows: &mut Rows<'_, '_>,
    ) -> Result<usize> {
        self.groups.seek(frame, current, rows)?;
        let group = self.groups.current;
        Ok(self.groups.start(group, frame, rows)?.unwrap_or(current))
    }

    /// The number of groups of peers before that of row `current`.
    pub(crate) fn group_number(
        &mut self,
        frame: &CFrame,
        current: usize,
        rows: &mut Rows<'_, '_>,
    ) -> Result<usize> {
        self.groups.seek(frame, current, rows)?;
        Ok(self.groups.current)
    }

    /// The frame of row `current`, without EXCLUDE.
    pub(crate) fn whole(
        &mut self,
        frame: &CFrame,
        current: usize,
        rows: &mut Rows<'_, '_>,
    ) -> Result<Range<usize>> {
        let start = self.start(frame, current, rows)?;
        let end = self.end(frame, current, rows)?;
        Ok(start..end.max(start))
    }

    /// The parts of row `current`'s frame after EXCLUDE, without empty ones.
    pub(crate) fn parts(
        &mut self,
        frame: &CFrame,
        current: usize,
        rows: &mut Rows<'_, '_>,
        out: &mut Vec<Range<usize>>,
    ) -> Result<()> {
        out.clear();
        let whole = self.whole(frame, current, rows)?;
        let excluded = match frame.exclusion {
            FrameExclusion::NoOthers => current..current,
            FrameExclusion::CurrentRow => current..current + 1,
            FrameExclusion::Group | FrameExclusion::Ties => self.peers(frame, current, rows)?,
        };
        out.push(whole.start..whole.end.min(excluded.start.max(whole.start)));
        if frame.exclusion == FrameExclusion::Ties && whole.contains(&current) {
            out.push(current..current + 1);
        }
        out.push(whole.start.max(excluded.end.min(whole.end))..whole.end);
        if excluded.is_empty() {
            out.truncate(1);
            out[0] = whole;
        }
        out.retain(|part| !part.is_empty());
        Ok(())
    }

    fn start(&mut self, frame: &CFrame, current: usize, rows: &mut Rows<'_, '_>) -> Result<usize> {
        let (offset, preceding) = match &frame.start {
            CFrameBound::Unbounded => return Ok(0),
            CFrameBound::CurrentRow if frame.mode == FrameMode::Rows => return Ok(current),
            CFrameBound::CurrentRow => return self.first_peer(frame, current, rows),
            CFrameBound::Preceding(offset) => (offset, true),
            CFrameBound::Following(offset) => (offset, false),
        };
        let distance = row_distance(&self.start_offset);
        match frame.mode {
            FrameMode::Rows if preceding => Ok(current.saturating_sub(distance)),
            FrameMode::Rows => rows.clamp(current.saturating_add(distance)),
            FrameMode::Groups => {
                self.groups.seek(frame, current, rows)?;
                let group = moved(self.groups.current, distance, preceding).unwrap_or(0);
                match self.groups.start(group, frame, rows)? {
                    Some(start) => Ok(start),
                    None => rows.total(),
                }
            }
            FrameMode::Range => self.range_start(frame, offset, preceding, current, rows),
        }
    }

    /// The row after the frame's last.
    fn end(&mut self, frame: &CFrame, current: usize, rows: &mut Rows<'_, '_>) -> Result<usize> {
        let (offset, preceding) = match &frame.end {
            CFrameBound::Unbounded => return rows.total(),
            CFrameBound::CurrentRow if frame.mode == FrameMode::Rows => return Ok(current + 1),
            CFrameBound::CurrentRow => return Ok(self.peers(frame, current, rows)?.end),
            CFrameBound::Preceding(offset) => (offset, true),
            CFrameBound::Following(offset) => (offset, false),
        };
        let distance = row_distance(&self.end_offset);
        match frame.mode {
            FrameMode::Rows if preceding => Ok((current + 1).saturating_sub(distance)),
            FrameMode::Rows => rows.clamp((current + 1).saturating_add(distance)),
            FrameMode::Groups => {
                self.groups.seek(frame, current, rows)?;
                match moved(self.groups.current, distance, preceding) {
                    Some(group) => self.groups.end(group, frame, rows),
                    None => Ok(0),
                }
            }
            FrameMode::Range => self.range_end(frame, offset, preceding, current, rows),
        }
    }

    fn range_start(
        &mut self,
        frame: &CFrame,
        offset: &CFrameOffset,
        preceding: bool,
        current: usize,
        rows: &mut Rows<'_, '_>,
    ) -> Result<usize> {
        let key = range_key(frame)?;
        let base = rows.value(&frame.order_by[0], &mut self.current_place, current)?;
        while rows.has(self.head)? {
            let value = rows.value(&frame.order_by[0], &mut self.head_place, self.head)?;
            let reached = match (value.is_null(), base.is_null()) {
                // Only the place of NULLs orders such rows.
                (value_null, base_null) if value_null || base_null => match key.nulls_first {
                    true => !value_null || base_null,
                    false => value_null || !base_null,
                },
                _ => {
                    let distance = self.start_offset.clone();
                    let (sub, less) = (preceding != key.descending, key.descending);
                    in_range(offset, value, base.clone(), distance, sub, less, rows)?
                }
            };
            if reached {
                break;
            }
            self.head += 1;
        }
        Ok(self.head)
    }

    fn range_end(
        &mut self,
        frame: &CFrame,
        offset: &CFrameOffset,
        preceding: bool,
        current: usize,
        rows: &mut Rows<'_, '_>,
    ) -> Result<usize> {
        let key = range_key(frame)?;
        let base = rows.value(&frame.order_by[0], &mut self.current_place, current)?;
        while rows.has(self.tail)? {
            let value = rows.value(&frame.order_by[0], &mut self.tail_place, self.tail)?;
            let passed = match (value.is_null(), base.is_null()) {
                (value_null, base_null) if value_null || base_null => match key.nulls_first {
                    true => !value_null,
                    false => !base_null,
                },
                _ => {
                    let distance = self.end_offset.clone();
                    let (sub, less) = (preceding != key.descending, !key.descending);
                    !in_range(offset, value, base.clone(), distance, sub, less, rows)?
                }
            };
            if passed {
                break;
            }
            self.tail += 1;
        }
        Ok(self.tail)
    }
}

/// The rows of the present partition, with the statement's context to read them in.
pub(crate) struct Rows<'a, 'b> {
    pub(crate) spool: &'a mut Spool,
    pub(crate) partition_by: &'b [CExpr],
    pub(crate) types: &'b [u32],
    pub(crate) cx: &'a mut ExecContext,
}

impl Rows<'_, '_> {
    /// Whether the partition has row `i`.
    pub(crate) fn has(&mut self, i: usize) -> Result<bool> {
        self.spool.has(i, self.partition_by, self.types, self.cx)
    }

    /// The number of rows of the partition.
    pub(crate) fn total(&mut self) -> Result<usize> {
        while self.has(self.spool.len())? {}
        Ok(self.spool.len())
    }

    /// `end` as the end of a range of rows that are there.
    fn clamp(&mut self, end: usize) -> Result<usize> {
        match end.checked_sub(1) {
            Some(last) if !self.has(last)? => self.total(),
            _ => Ok(end),
        }
    }

    /// An expression over row `i`, which is there.
    pub(crate) fn value(&mut self, expr: &CExpr, place: &mut Place, i: usize) -> Result<Datum> {
        let row = self.spool.row(place, i)?;
        expr.eval(self.cx, Row::of(row))
    }
}

fn checked_offset(offset: &CFrameOffset, which: &str, cx: &mut ExecContext) -> Result<Datum> {
    let value = offset.value.eval(cx, Row::EMPTY)?;
    if value.is_null() {
        return Err(Error::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            format!("frame {which} offset must not be null"),
        ));
    }
    // in_range checks the offsets of RANGE.
    if offset.in_range.is_none() && value.as_int8()? < 0 {
        return Err(Error::new(
            SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
            format!("frame {which} offset must not be negative"),
        ));
    }
    Ok(value)
}

/// An offset in rows or groups.
fn row_distance(offset: &Datum) -> usize {
    match offset {
        Datum::Int8(n) => usize::try_from(*n).unwrap_or(0),
        _ => 0,
    }
}

/// The number of a group at a distance from another; `None` before the first.
fn moved(group: usize, distance: usize, preceding: bool) -> Option<usize> {
    if preceding { group.checked_sub(distance) } else { Some(group.saturating_add(distance)) }
}

fn range_key(frame: &CFrame) -> Result<SortColumn> {
    match &frame.keys[..] {
        [key] => Ok(key.clone()),
        _ => Err(Error::internal("RANGE with an offset needs one sort column")),
    }
}

fn in_range(
    offset: &CFrameOffset,
    value: Datum,
    base: Datum,
    distance: Datum,
    sub: bool,
    less: bool,
    rows: &mut Rows<'_, '_>,
) -> Result<bool> {
    let Some(function) = offset.in_range else {
        return Err(Error::internal("RANGE offset without its in_range function"));
    };
    let args = [value, base, distance, Datum::Bool(sub), Datum::Bool(less)];
    function(&args, &mut rows.cx.functions)?.as_bool()
}

/// Groups of peers, found by walking over the partition once.
#[derive(Default)]
struct Groups {
    /// First rows of the groups from number `first` on.
    starts: VecDeque<usize>,
    first: usize,
    /// The current row's group.
    current: usize,
    /// Rows walked over, and the values of the last.
    scanned: usize,
    values: Vec<Datum>,
    place: Place,
}

impl Groups {
    /// Walks over one more row; false at the partition's end.
    fn scan(&mut self, frame: &CFrame, rows: &mut Rows<'_, '_>) -> Result<bool> {
        if !rows.has(self.scanned)? {
            return Ok(false);
        }
        let mut values = Vec::with_capacity(frame.order_by.len());
        for expr in &frame.order_by {
            values.push(rows.value(expr, &mut self.place, self.scanned)?);
        }
        if self.scanned == 0 || compare_rows(&frame.keys, &values, &self.values).is_ne() {
            self.starts.push_back(self.scanned);
            self.values = values;
        }
        self.scanned += 1;
        Ok(true)
    }

    /// Makes the group of `row` the current one, and drops groups that frames no longer reach.
    fn seek(&mut self, frame: &CFrame, row: usize, rows: &mut Rows<'_, '_>) -> Result<()> {
        while self.scanned <= row && self.scan(frame, rows)? {}
        let starts_by = |g: &Groups, number: usize| {
            g.starts.get(number - g.first).is_some_and(|start| *start <= row)
        };
        while starts_by(self, self.current + 1) {
            self.current += 1;
        }
        if frame.mode != FrameMode::Groups {
            while self.first < self.current {
                self.starts.pop_front();
                self.first += 1;
            }
        }
        Ok(())
    }

    /// The first row of a group; `None` past the last group.
    fn start(
        &mut self,
        group: usize,
        frame: &CFrame,
        rows: &mut Rows<'_, '_>,
    ) -> Result<Option<usize>> {
        while self.first + self.starts.len() <= group && self.scan(frame, rows)? {}
        Ok(group.checked_sub(self.first).and_then(|i| self.starts.get(i)).copied())
    }

    /// The row after a group's last.
    fn end(&mut self, group: usize, frame: &CFrame, rows: &mut Rows<'_, '_>) -> Result<usize> {
        match self.start(group.saturating_add(1), frame, rows)? {
            Some(start) => Ok(start),
            None => rows.total(),
        }
    }
}
