//! Whether a history of appends and reads is what its isolation level allows.
//!
//! Every element is appended once. So a list that was read shows which transactions wrote before
//! the reader, in which order, and which did not (Kingsbury and Alvaro, "Elle", VLDB 2020). The
//! order of transactions follows from that:
//!
//! | edge | because |
//! |---|---|
//! | a →ww b | b's element comes after a's in a list |
//! | a →wr b | b has read a list that ends with a's element |
//! | a →rw b | a has read a list without b's element, which comes next |
//!
//! At SERIALIZABLE every cycle is an anomaly. At REPEATABLE READ (snapshot isolation) a cycle is
//! one unless two rw edges follow each other in it. At READ COMMITTED it is one if it has no rw
//! edge (Adya, 1999; Fekete et al., 2005). First the conditions of every level are checked: the
//! effects of a committed transaction are there, once and as a whole, and no transaction has read
//! effects that were rolled back, or the middle of a transaction.

use std::collections::{BTreeMap, BTreeSet};

/// The isolation levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// A list's name.
pub type Key = i32;
/// An element: no two are the same.
pub type Element = u64;

/// An operation of a transaction on a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Put an element at its end.
    Append(Key, Element),
    /// Saw these elements.
    Read(Key, Vec<Element>),
}

/// The client's knowledge of a transaction's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// COMMIT was answered.
    Committed,
    /// It was rolled back, or its connection was lost before COMMIT.
    RolledBack,
    /// COMMIT was not answered.
    Unknown,
}

/// A transaction.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// In their order.
    pub operations: Vec<Operation>,
    /// How it ended.
    pub end: End,
}

/// All lists after the history.
pub type Lists = BTreeMap<Key, Vec<Element>>;

impl Transaction {
    fn appends(&self) -> impl DoubleEndedIterator<Item = (Key, Element)> {
        self.operations.iter().filter_map(|operation| match operation {
            Operation::Append(key, element) => Some((*key, *element)),
            Operation::Read(..) => None,
        })
    }

    fn reads(&self) -> impl Iterator<Item = (Key, &[Element])> {
        self.operations.iter().filter_map(|operation| match operation {
            Operation::Read(key, list) => Some((*key, list.as_slice())),
            Operation::Append(..) => None,
        })
    }
}

struct History<'a> {
    transactions: &'a [Transaction],
    lists: &'a Lists,
    /// The transaction that appended an element.
    writer: BTreeMap<Element, usize>,
    happened: Vec<bool>,
}

/// Says what is wrong with a history, if anything.
pub fn check(transactions: &[Transaction], lists: &Lists, level: Level) -> Result<(), String> {
    let mut history =
        History { transactions, lists, writer: BTreeMap::new(), happened: Vec::new() };
    for (at, transaction) in transactions.iter().enumerate() {
        history.writer.extend(transaction.appends().map(|(_, element)| (element, at)));
    }
    history.check_lists()?;
    for (at, transaction) in transactions.iter().enumerate() {
        if history.happened[at] {
            history.check_reads(at, transaction, level)?;
        }
    }
    history.check_order(level)
}

impl History<'_> {
    fn list(&self, key: Key) -> &[Element] {
        self.lists.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The appends of a committed transaction are all there, those of a rolled back one are not,
    /// and no element is there twice.
    fn check_lists(&mut self) -> Result<(), String> {
        let mut there = BTreeSet::new();
        for (key, element) in
            self.lists.iter().flat_map(|(k, list)| list.iter().map(move |e| (k, e)))
        {
            if !there.insert((*key, *element)) {
                return Err(format!("element {element} is in list {key} twice"));
            }
            if !self.writer.contains_key(element) {
                return Err(format!("nobody appended element {element} of list {key}"));
            }
        }
        for transaction in self.transactions {
            let appends: Vec<(Key, Element)> = transaction.appends().collect();
            let found = appends.iter().filter(|append| there.contains(append)).count();
            let happened = match transaction.end {
                End::Committed => true,
                End::RolledBack => false,
                End::Unknown => found > 0,
            };
            let expected = if happened { appends.len() } else { 0 };
            if found != expected {
                let end = transaction.end;
                return Err(format!("of {appends:?} ({end:?}) {found} are there, not {expected}"));
            }
            self.happened.push(happened);
        }
        Ok(())
    }

    /// Each read is a state of its list that a transaction left, with the reader's own appends.
    fn check_reads(&self, at: usize, reader: &Transaction, level: Level) -> Result<(), String> {
        let mut own: BTreeMap<Key, Vec<Element>> = BTreeMap::new();
        let mut seen: BTreeMap<Key, Vec<Element>> = BTreeMap::new();
        for operation in &reader.operations {
            let (key, read) = match operation {
                Operation::Append(key, element) => {
                    own.entry(*key).or_default().push(*element);
                    continue;
                }
                Operation::Read(key, read) => (*key, read),
            };
            let mine = own.get(&key).map_or(&[][..], Vec::as_slice);
            let Some(others) = read.strip_suffix(mine) else {
                return Err(format!(
                    "{read:?} of list {key} does not end with its reader's {mine:?}"
                ));
            };
            if !self.list(key).starts_with(read) {
                let list = self.list(key);
                return Err(format!("{read:?} was read of list {key}, which is {list:?}"));
            }
            if let Some(last) = others.last() {
                self.check_last(at, key, *last)?;
            }
            let before = seen.insert(key, others.to_vec());
            if level != Level::ReadCommitted && before.is_some_and(|before| before != others) {
                return Err(format!("list {key} has changed between two reads of one transaction"));
            }
        }
        Ok(())
    }

    /// The last element that is seen of another transaction is the last it appended.
    fn check_last(&self, reader: usize, key: Key, last: Element) -> Result<(), String> {
        let Some(&writer) = self.writer.get(&last).filter(|writer| **writer != reader) else {
            return Ok(());
        };
        let mut appends = self.transactions[writer].appends().rev();
        match appends.find(|(of, _)| *of == key) {
            Some((_, newest)) if newest != last => {
                Err(format!("list {key} was read in the middle of a transaction, up to {last}"))
            }
            _ => Ok(()),
        }
    }

    /// Edges between transactions, and whether they are rw.
    fn edges(&self) -> BTreeSet<(usize, usize, bool)> {
        let mut edges = BTreeSet::new();
        for list in self.lists.values() {
            let writers: Vec<usize> = list.iter().map(|element| self.writer[element]).collect();
            edges.extend(writers.windows(2).map(|pair| (pair[0], pair[1], false)));
        }
        for (reader, transaction) in self.transactions.iter().enumerate() {
            if !self.happened[reader] {
                continue;
            }
            for (key, read) in transaction.reads() {
                let last = read.iter().rev().map(|element| self.writer[element]);
                edges.extend(last.take(1).map(|writer| (writer, reader, false)));
                let next = self.list(key).get(read.len()).map(|element| self.writer[element]);
                edges.extend(next.map(|writer| (reader, writer, true)));
            }
        }
        edges.retain(|(from, to, _)| from != to);
        edges
    }

    /// Looks for a cycle that the level forbids: in a graph with two nodes for each transaction
    /// at REPEATABLE READ, the second entered by an rw edge and not left by another.
    fn check_order(&self, level: Level) -> Result<(), String> {
        let count = self.transactions.len();
        let mut after = vec![Vec::new(); 2 * count];
        for (from, to, is_rw) in self.edges() {
            match (level, is_rw) {
                (Level::ReadCommitted, true) => {}
                (Level::RepeatableRead, true) => after[from].push(count + to),
                (_, false) | (Level::Serializable, true) => {
                    after[from].push(to);
                    after[count + from].push(to);
                }
            }
        }
        let stuck = on_cycles(&after);
        match stuck.is_empty() {
            true => Ok(()),
            false => {
                let first = stuck.iter().map(|node| node % count).collect::<BTreeSet<_>>();
                let first = first.into_iter().take(8).map(|at| &self.transactions[at]);
                let first: Vec<_> = first.collect();
                Err(format!("no order explains {} transactions: {first:#?}", stuck.len()))
            }
        }
    }
}

/// The nodes that are on a cycle, or between two.
fn on_cycles(after: &[Vec<usize>]) -> Vec<usize> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (from, nodes) in after.iter().enumerate() {
        nodes.iter().for_each(|&to| before[to].push(from));
    }
    let behind = without_ends(after, &before);
    let ahead = without_ends(&before, after);
    (0..after.len()).filter(|&node| behind[node] && ahead[node]).collect()
}

/// Which nodes remain when nodes without an incoming edge are removed again and again.
fn without_ends(after: &[Vec<usize>], before: &[Vec<usize>]) -> Vec<bool> {
    let mut count: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..after.len()).filter(|&node| count[node] == 0).collect();
    let mut left = vec![true; after.len()];
    while let Some(node) = ready.pop() {
        left[node] = false;
        for &next in &after[node] {
            count[next] -= 1;
            if count[next] == 0 {
                ready.push(next);
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::Operation::{Append, Read};
    use super::*;

    const ALL: [Level; 3] = [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

    fn committed(operations: Vec<Operation>) -> Transaction {
        Transaction { operations, end: End::Committed }
    }

    fn lists(lists: &[(Key, &[Element])]) -> Lists {
        lists.iter().map(|(key, list)| (*key, list.to_vec())).collect()
    }

    /// At which levels a history is refused.
    fn refused(transactions: &[Transaction], after: &[(Key, &[Element])]) -> [bool; 3] {
        ALL.map(|level| check(transactions, &lists(after), level).is_err())
    }

    #[test]
    fn what_runs_one_after_the_other_is_allowed() {
        let history = [
            committed(vec![Append(1, 1), Read(1, vec![1])]),
            committed(vec![Read(1, vec![1]), Append(1, 2), Append(1, 3), Read(1, vec![1, 2, 3])]),
            committed(vec![Read(1, vec![1, 2, 3]), Append(2, 4)]),
        ];
        assert_eq!(refused(&history, &[(1, &[1, 2, 3]), (2, &[4])]), [false; 3]);
    }

    #[test]
    fn write_skew_is_an_anomaly_of_serializable_only() {
        let history = [
            committed(vec![Read(1, vec![]), Append(2, 1)]),
            committed(vec![Read(2, vec![]), Append(1, 2)]),
        ];
        assert_eq!(refused(&history, &[(1, &[2]), (2, &[1])]), [false, false, true]);
    }

    #[test]
    fn a_lost_update_and_read_skew_are_allowed_to_read_committed() {
        let lost = [
            committed(vec![Read(1, vec![]), Append(1, 1)]),
            committed(vec![Read(1, vec![]), Append(1, 2)]),
        ];
        assert_eq!(refused(&lost, &[(1, &[1, 2])]), [false, true, true]);
        let skew = [
            committed(vec![Append(1, 1), Append(2, 2)]),
            committed(vec![Read(1, vec![]), Read(2, vec![2])]),
        ];
        assert_eq!(refused(&skew, &[(1, &[1]), (2, &[2])]), [false, true, true]);
        let twice =
            [committed(vec![Append(1, 1)]), committed(vec![Read(1, vec![]), Read(1, vec![1])])];
        assert_eq!(refused(&twice, &[(1, &[1])]), [false, true, true]);
    }

    #[test]
    fn what_no_level_allows() {
        let circle = [
            committed(vec![Append(1, 1), Read(2, vec![2])]),
            committed(vec![Append(2, 2), Read(1, vec![1])]),
        ];
        assert_eq!(refused(&circle, &[(1, &[1]), (2, &[2])]), [true; 3]);
        let middle =
            [committed(vec![Append(1, 1), Append(1, 2)]), committed(vec![Read(1, vec![1])])];
        assert_eq!(refused(&middle, &[(1, &[1, 2])]), [true; 3]);
        let rolled_back = [Transaction { operations: vec![Append(1, 1)], end: End::RolledBack }];
        assert_eq!(refused(&rolled_back, &[(1, &[1])]), [true; 3]);
        assert_eq!(refused(&rolled_back, &[]), [false; 3]);
        let lost = [committed(vec![Append(1, 1), Append(2, 2)])];
        assert_eq!(refused(&lost, &[(1, &[1])]), [true; 3]);
        let dirty = [rolled_back[0].clone(), committed(vec![Read(1, vec![1])])];
        assert_eq!(refused(&dirty, &[]), [true; 3]);
    }

    #[test]
    fn an_unknown_end_may_be_either_and_not_both() {
        let unknown =
            [Transaction { operations: vec![Append(1, 1), Append(2, 2)], end: End::Unknown }];
        assert_eq!(refused(&unknown, &[]), [false; 3]);
        assert_eq!(refused(&unknown, &[(1, &[1]), (2, &[2])]), [false; 3]);
        assert_eq!(refused(&unknown, &[(1, &[1])]), [true; 3]);
    }
}
