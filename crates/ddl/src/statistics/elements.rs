//! Statistics of the elements of arrays (array_typanalyze.c).
//!
//! Manku and Motwani's Lossy Counting (VLDB 2002) counts the arrays that contain an element. After
//! each bucket of elements, the elements that are too rare to be frequent are forgotten. An array
//! counts an element once.

use super::column::{has_ordering, single};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use steppe_catalog::{ElementStatistics, builtin};
use steppe_functions::type_info::size_in_memory;
use steppe_types::compare::HashedDatum;
use steppe_types::datum::Array;
use steppe_types::{Datum, Oid, Result, compare};

/// Wider arrays are not looked at (ARRAY_WIDTH_THRESHOLD).
const WIDTH_MAX: usize = 0x10000;
/// Elements that are kept for each value that is kept of the column.
const ELEMENTS_A_VALUE: usize = 10;

/// An element that was met.
struct Tracked {
    /// The number of arrays with the element since it was met first.
    frequency: usize,
    /// The most arrays that can have had the element before.
    missed: usize,
    /// The last array that it was in.
    array: usize,
}

/// The elements found so far in a column's arrays.
struct Elements {
    element_type: Oid,
    bucket_width: usize,
    bucket: usize,
    tracked: HashMap<HashedDatum, Tracked>,
    /// Elements met, each once an array.
    met: usize,
    arrays: usize,
    with_null: usize,
    /// The number of arrays for each number of different elements.
    counts: BTreeMap<usize, usize>,
}

/// The element type of a column of such arrays; `None` if its values are no arrays, or if their
/// elements cannot be compared.
pub(super) fn element_statistics(
    type_oid: Oid,
    target: usize,
    sampled: &[&Datum],
) -> Result<Option<ElementStatistics>> {
    let of_array = builtin::ty(type_oid).filter(|ty| ty.is_true_array());
    let Some(element_type) = of_array.map(|ty| ty.element).filter(|ty| has_ordering(*ty)) else {
        return Ok(None);
    };
    let mut elements = Elements {
        element_type,
        bucket_width: target * ELEMENTS_A_VALUE * 1000 / 7,
        bucket: 1,
        tracked: HashMap::new(),
        met: 0,
        arrays: 0,
        with_null: 0,
        counts: BTreeMap::new(),
    };
    for value in sampled {
        if let Datum::Array(array) = value
            && size_in_memory(value, type_oid)? <= WIDTH_MAX
        {
            elements.add(array);
        }
    }
    Ok((elements.arrays > 0).then(|| elements.found(target)))
}

impl Elements {
    fn add(&mut self, array: &Array) {
        self.arrays += 1;
        let (before, this) = (self.met, self.arrays);
        for element in array.elements.iter().filter(|element| !element.is_null()) {
            let key = HashedDatum { type_oid: self.element_type, value: element.clone() };
            match self.tracked.get_mut(&key) {
                Some(known) if known.array == this => continue,
                Some(known) => (known.frequency, known.array) = (known.frequency + 1, this),
                None => {
                    let new = Tracked { frequency: 1, missed: self.bucket - 1, array: this };
                    self.tracked.insert(key, new);
                }
            }
            self.met += 1;
            if self.met.is_multiple_of(self.bucket_width) {
                let bucket = self.bucket;
                self.tracked.retain(|_, known| known.frequency + known.missed > bucket);
                self.bucket += 1;
            }
        }
        self.with_null += usize::from(array.elements.iter().any(Datum::is_null));
        *self.counts.entry(self.met - before).or_default() += 1;
    }

    fn found(self, target: usize) -> ElementStatistics {
        let arrays = self.arrays as f64;
        let share = |count: usize| single(count as f64 / arrays);
        let counts = self.counts_histogram(target.max(2));
        let cutoff = 9 * self.met / self.bucket_width;
        let tracked = self.tracked.into_iter().map(|(key, known)| (key.value, known.frequency));
        let mut common: Vec<_> = tracked.filter(|(_, frequency)| *frequency > cutoff).collect();
        common.sort_by(|a, b| compare::compare_as(self.element_type, &a.0, &b.0));
        let most = target * ELEMENTS_A_VALUE;
        if common.len() > most {
            common.sort_by_key(|(_, frequency)| Reverse(*frequency));
            common.truncate(most);
            common.sort_by(|a, b| compare::compare_as(self.element_type, &a.0, &b.0));
        }
        let frequencies = || common.iter().map(|(_, frequency)| *frequency);
        ElementStatistics {
            min_frequency: share(frequencies().min().unwrap_or(0)),
            max_frequency: share(frequencies().max().unwrap_or(0)),
            null_frequency: share(self.with_null),
            counts,
            average_count: single(self.met as f64 / arrays),
            most_common: common.into_iter().map(|(value, n)| (value, share(n))).collect(),
        }
    }

    /// The histogram of the arrays' numbers of different elements: values at even distances.
    fn counts_histogram(&self, bounds: usize) -> Vec<f64> {
        let mut counts = self.counts.iter();
        let (mut count, mut passed) = (0, 0);
        let bound = |i: usize| {
            let place = i * (self.arrays - 1) / (bounds - 1);
            while passed <= place {
                let Some((next, arrays)) = counts.next() else { break };
                (count, passed) = (*next, passed + arrays);
            }
            count as f64
        };
        (0..bounds).map(bound).collect()
    }
}
