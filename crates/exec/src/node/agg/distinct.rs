//! DISTINCT arguments by hash: the values that each group has added.
//!
//! PostgreSQL sorts the values of each group (nodeAgg.c). If a call may add values in any order
//! ([`steppe_sql::expr::Aggregate::is_distinct_by_hash`]), the first row with a value can be added
//! at once. One table of (group, value) for all groups finds these first rows.
//!
//! When the table is full, values in it are still skipped, and others are written to partitions by
//! hash. At the end the partitions are read one after the other in the same way. A value is in only
//! one of them, and not also in the table.

use super::groups::Groups;
use super::spilled::{Spilled, Spilling};
use crate::aggregate::{CallStates, RowError};
use crate::context::ExecContext;
use crate::node::block_file::BlockFile;
use crate::vector::{Data, IntKind, NO_PLACE, Nulls, Vector, hash_rows};
use steppe_types::{Error, Oid, Result, oid};

/// The values of one call that all groups have added.
pub(super) struct Distinct {
    types: [Oid; 2],
    /// Keys are a group and a value.
    seen: Groups,
    spilling: Spilling<BlockFile>,
    spilled: Spilled<BlockFile>,
}

impl Distinct {
    /// An empty set of values of this type.
    pub(super) fn new(type_oid: Oid) -> Distinct {
        let types = [oid::INT4, type_oid];
        let (seen, spilling) = (Groups::new(&types), Spilling::new(0));
        Distinct { types, seen, spilling, spilled: Spilled::default() }
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.seen.bytes()
    }

    /// The groups of the rows that are the first of their group with their value. Other rows, and
    /// rows with a NULL, have none. The table takes `limit` bytes.
    pub(super) fn first_of(
        &mut self,
        groups: &[u32],
        values: &Vector,
        limit: usize,
        cx: &ExecContext,
    ) -> Result<Vec<u32>> {
        let counts = |i: &u32| groups[*i as usize] != NO_PLACE && !values.is_null(*i as usize);
        let rows: Vec<u32> = (0..groups.len() as u32).filter(counts).collect();
        let mut first = vec![NO_PLACE; groups.len()];
        if rows.is_empty() {
            return Ok(first);
        }
        let gathered = (rows.len() < groups.len()).then(|| values.gather(&rows));
        let values = gathered.as_ref().unwrap_or(values);
        let of = rows.iter().map(|i| i64::from(groups[*i as usize])).collect();
        let of = Vector { data: Data::Ints(IntKind::Int4, of), nulls: Nulls::default() };
        let (mut hashes, mut places) = (Vec::new(), Vec::new());
        hash_rows(&self.types, &[&of, values], rows.len(), &mut hashes);
        let limit = if self.spilling.may_begin() { limit } else { usize::MAX };
        let known = self.seen.len();
        self.seen.find(&[&of, values], &hashes, limit, &mut places)?;
        let mut is_new = vec![true; self.seen.len() - known];
        for (row, place) in rows.iter().zip(&places) {
            let new = (*place as usize).checked_sub(known).and_then(|at| is_new.get_mut(at));
            if new.is_some_and(std::mem::take) {
                first[*row as usize] = groups[*row as usize];
            }
        }
        if places.contains(&NO_PLACE) {
            self.spill([&of, values], &hashes, &places, cx)?;
        }
        Ok(first)
    }

    /// Writes the values for which the table has no room.
    fn spill(
        &mut self,
        pairs: [&Vector; 2],
        hashes: &[u64],
        places: &[u32],
        cx: &ExecContext,
    ) -> Result<()> {
        let create = || BlockFile::create(&*cx.temp()?, pairs.len());
        for (i, hash) in hashes.iter().enumerate().filter(|(i, _)| places[*i] == NO_PLACE) {
            let partition = self.spilling.place(*hash);
            let files = self.spilling.partitions(create)?;
            files[partition].write(pairs.into_iter().enumerate(), &[i as u32])?;
        }
        Ok(())
    }

    /// Adds the written values to the states.
    pub(super) fn finish(
        &mut self,
        states: &mut CallStates,
        limit: usize,
        cx: &mut ExecContext,
    ) -> Result<()> {
        loop {
            let written = std::mem::replace(&mut self.spilling, Spilling::new(0));
            self.spilled.keep(written)?;
            let Some((mut file, depth)) = self.spilled.next() else { return Ok(()) };
            self.seen = Groups::new(&self.types);
            self.spilling = Spilling::new(depth);
            let mut reader = file.reader()?;
            while let Some((_, pairs)) = reader.next()? {
                cx.check_interrupts()?;
                let [groups, values] = &pairs[..] else {
                    return Err(Error::internal("a distinct value without its group"));
                };
                let groups = groups.integers().unwrap_or_default();
                let groups: Vec<u32> = groups.iter().map(|group| *group as u32).collect();
                let first = self.first_of(&groups, values, limit, cx)?;
                states.add(&first, &[values]).map_err(|(_, error): RowError| error)?;
            }
        }
    }
}

#[cfg(test)]
#[path = "distinct_tests.rs"]
mod tests;
