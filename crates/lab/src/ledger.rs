//! A client's knowledge of its own transactions, and what it may therefore demand of a database
//! after a crash.
//!
//! Each client numbers its transactions. A number is
//!
//! - *committed* if the answer to its COMMIT arrived (it must be there for ever);
//! - *in doubt* if COMMIT was sent and no answer came (it is there as a whole, or not);
//! - *given up* if it was rolled back, or lost its connection before COMMIT: it
//!   must not be there.
//!
//! One that is prepared is in doubt twice: whether it is prepared, then whether it has been ended.
//! In between it must be there, and be invisible to others.
//!
//! Another client may have *read* a transaction's row: then it was promised too. The rows of a
//! transaction follow from its number alone, except for the accounts and the amount, which the
//! ledger keeps.

use std::collections::{BTreeMap, BTreeSet};

/// Rows that each transaction puts into `parts`.
pub const PARTS_PER_TRANSACTION: i64 = 4;
/// A transaction deletes the parts of those with numbers this much below its own.
pub const PARTS_WINDOW: i64 = 16;

/// Money moved between two accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The account that pays.
    pub source: i32,
    /// The account that receives.
    pub target: i32,
    /// How much.
    pub amount: i64,
}

/// A transaction in two phases.
#[derive(Debug, Clone, Copy)]
struct Prepared {
    number: i64,
    transfer: Transfer,
    /// The answer to PREPARE arrived.
    is_acknowledged: bool,
    /// COMMIT PREPARED (true) or ROLLBACK PREPARED was sent.
    ending: Option<bool>,
}

/// One client's view.
#[derive(Debug, Default, Clone)]
pub struct Ledger {
    committed: BTreeMap<i64, Transfer>,
    in_doubt: Option<(i64, Transfer)>,
    prepared: Option<Prepared>,
    last_number: i64,
    /// The greatest number that any reader has been shown.
    observed: i64,
}

impl Ledger {
    /// The number of the next transaction.
    pub fn next_number(&mut self) -> i64 {
        self.last_number += 1;
        self.last_number
    }

    /// COMMIT is about to be sent.
    pub fn commit_sent(&mut self, number: i64, transfer: Transfer) {
        self.in_doubt = Some((number, transfer));
    }

    /// The answer to it arrived.
    pub fn commit_acknowledged(&mut self) {
        if let Some((number, transfer)) = self.in_doubt.take() {
            self.committed.insert(number, transfer);
        }
    }

    /// The server answered COMMIT with an error: the transaction is not there.
    pub fn commit_refused(&mut self) {
        self.in_doubt = None;
    }

    /// PREPARE TRANSACTION is about to be sent.
    pub fn prepare_sent(&mut self, number: i64, transfer: Transfer) {
        let prepared = Prepared { number, transfer, is_acknowledged: false, ending: None };
        self.prepared = Some(prepared);
    }

    /// The answer to it arrived.
    pub fn prepare_acknowledged(&mut self) {
        if let Some(prepared) = &mut self.prepared {
            prepared.is_acknowledged = true;
        }
    }

    /// COMMIT PREPARED or ROLLBACK PREPARED is about to be sent.
    pub fn end_of_prepared_sent(&mut self, commit: bool) {
        if let Some(prepared) = &mut self.prepared {
            prepared.ending = Some(commit);
        }
    }

    /// The answer to it arrived.
    pub fn prepared_ended(&mut self, commit: bool) {
        if let Some(Prepared { number, transfer, .. }) = self.prepared.take().filter(|_| commit) {
            self.committed.insert(number, transfer);
        }
    }

    /// The transaction in two phases that has not ended, as far as the client knows.
    pub fn in_two_phases(&self) -> Option<(i64, Transfer)> {
        self.prepared.map(|prepared| (prepared.number, prepared.transfer))
    }

    /// Compares that with whether the transaction is prepared after a restart. If it is, a client
    /// has to end it. If it is not, its end is settled.
    pub fn settle_prepared(&mut self, is_there: bool) -> Result<(), String> {
        let Some(prepared) = self.prepared.filter(|_| !is_there) else { return Ok(()) };
        match prepared.ending {
            None if prepared.is_acknowledged => {
                Err(format!("transaction {} was prepared and is lost", prepared.number))
            }
            ending => {
                self.prepared_ended(ending == Some(true));
                Ok(())
            }
        }
    }

    /// A reader was shown this number.
    pub fn observe(&mut self, number: i64) {
        self.observed = self.observed.max(number);
    }

    /// How many transactions are known to be committed.
    pub fn committed_count(&self) -> usize {
        self.committed.len()
    }

    /// Compares the ledger with the rows after a restart. A transaction in doubt is settled: its
    /// outcome must not change any more.
    pub fn settle(
        &mut self,
        entries: &[(i64, Transfer)],
        parts: &[(i64, i64)],
    ) -> Result<(), String> {
        let found: BTreeMap<i64, Transfer> = entries.iter().copied().collect();
        if found.len() != entries.len() {
            return Err("a transaction's entry is there twice".to_owned());
        }
        if let Some((number, transfer)) = self.in_doubt.take()
            && found.contains_key(&number)
        {
            self.committed.insert(number, transfer);
        }
        for (number, transfer) in &self.committed {
            match found.get(number) {
                None => return Err(format!("transaction {number} was acknowledged and is lost")),
                Some(entry) if entry != transfer => {
                    return Err(format!("transaction {number} is {entry:?}, was {transfer:?}"));
                }
                Some(_) => {}
            }
        }
        if let Some(number) = found.keys().find(|number| !self.committed.contains_key(number)) {
            return Err(format!("transaction {number} was never committed and is there"));
        }
        if self.observed > 0 && !self.committed.contains_key(&self.observed) {
            return Err(format!("transaction {} was shown to a reader and is lost", self.observed));
        }
        self.check_parts(parts)
    }

    fn check_parts(&self, parts: &[(i64, i64)]) -> Result<(), String> {
        let Some((&last, _)) = self.committed.last_key_value() else {
            return if parts.is_empty() { Ok(()) } else { Err("parts without entries".to_owned()) };
        };
        let kept = self.committed.range(last - PARTS_WINDOW + 1..).map(|(&number, _)| number);
        let want: BTreeSet<i64> = kept.collect();
        let have: BTreeSet<i64> = parts.iter().map(|&(number, _)| number).collect();
        if want != have {
            return Err(format!("parts are there of {have:?}, should be of {want:?}"));
        }
        match parts.iter().find(|&&(_, count)| count != PARTS_PER_TRANSACTION) {
            Some((number, count)) => Err(format!("transaction {number} has {count} parts")),
            None => Ok(()),
        }
    }

    /// Adds what this client moved to the balances of the accounts.
    pub fn apply(&self, balances: &mut BTreeMap<i32, i64>) {
        for transfer in self.committed.values() {
            *balances.entry(transfer.source).or_default() -= transfer.amount;
            *balances.entry(transfer.target).or_default() += transfer.amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOVE: Transfer = Transfer { source: 1, target: 2, amount: 5 };

    fn with_commits(numbers: &[i64]) -> Ledger {
        let mut ledger = Ledger::default();
        for &number in numbers {
            ledger.last_number = number;
            ledger.commit_sent(number, MOVE);
            ledger.commit_acknowledged();
        }
        ledger
    }

    type Entries = Vec<(i64, Transfer)>;
    type Parts = Vec<(i64, i64)>;

    fn rows(numbers: &[i64]) -> (Entries, Parts) {
        let last = numbers.last().copied().unwrap_or(0);
        let kept = numbers.iter().filter(|&&number| number > last - PARTS_WINDOW);
        (
            numbers.iter().map(|&number| (number, MOVE)).collect(),
            kept.map(|&number| (number, PARTS_PER_TRANSACTION)).collect(),
        )
    }

    fn settle(ledger: &mut Ledger, numbers: &[i64]) -> Result<(), String> {
        let (entries, parts) = rows(numbers);
        ledger.settle(&entries, &parts)
    }

    #[test]
    fn what_was_acknowledged_must_be_there_and_nothing_else() {
        let numbers: Vec<i64> = (1..=40).filter(|number| number % 7 != 0).collect();
        assert_eq!(settle(&mut with_commits(&numbers), &numbers), Ok(()));
        let lost = settle(&mut with_commits(&[1, 2, 3]), &[1, 3]);
        assert!(lost.is_err_and(|error| error.contains("2 was acknowledged and is lost")));
        let risen = settle(&mut with_commits(&[1, 3]), &[1, 2, 3]);
        assert!(risen.is_err_and(|error| error.contains("2 was never committed")));
    }

    #[test]
    fn a_doubt_may_end_either_way_but_only_once() {
        for survived in [true, false] {
            let mut ledger = with_commits(&[1, 2]);
            ledger.commit_sent(3, MOVE);
            let after: &[i64] = if survived { &[1, 2, 3] } else { &[1, 2] };
            let other: &[i64] = if survived { &[1, 2] } else { &[1, 2, 3] };
            assert_eq!(settle(&mut ledger, after), Ok(()));
            assert!(settle(&mut ledger, other).is_err());
        }
    }

    #[test]
    fn what_was_read_is_promised_even_before_its_own_client_knew() {
        let mut ledger = with_commits(&[1, 2]);
        ledger.commit_sent(3, MOVE);
        ledger.observe(3);
        assert!(settle(&mut ledger, &[1, 2]).is_err_and(|error| error.contains("a reader")));
    }

    #[test]
    fn what_was_prepared_is_there_until_its_end_was_sent() {
        let mut ledger = with_commits(&[1, 2]);
        ledger.prepare_sent(3, MOVE);
        let mut in_doubt = ledger.clone();
        assert_eq!(in_doubt.settle_prepared(false), Ok(()));
        assert_eq!(settle(&mut in_doubt, &[1, 2]), Ok(()));
        ledger.prepare_acknowledged();
        assert!(ledger.clone().settle_prepared(false).is_err_and(|error| error.contains("lost")));
        assert_eq!(ledger.settle_prepared(true), Ok(()));
        for commit in [true, false] {
            let mut ledger = ledger.clone();
            ledger.end_of_prepared_sent(commit);
            assert_eq!(ledger.settle_prepared(false), Ok(()));
            let after: &[i64] = if commit { &[1, 2, 3] } else { &[1, 2] };
            assert_eq!(settle(&mut ledger, after), Ok(()));
        }
    }

    #[test]
    fn a_transaction_is_never_there_in_part() {
        let mut ledger = with_commits(&[1, 2]);
        let (entries, mut parts) = rows(&[1, 2]);
        parts[1].1 -= 1;
        assert!(ledger.settle(&entries, &parts).is_err_and(|error| error.contains("3 parts")));
    }
}
