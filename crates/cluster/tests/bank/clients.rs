//! Clients of the bank: transfers between accounts, and sums of all accounts.

use std::time::{Duration, Instant};

use steppe_cluster::NodeId;
use steppe_cluster::commit::Outcome;
use steppe_cluster::pool::replay::Settings;
use steppe_cluster::transaction::{
    Effect, Fetched, Isolation, Mode, Participants, RemoteStatement, Values,
};
use steppe_types::{Error, Result};
use steppe_wire::client::receive::{self, BackendMessage};
use steppe_wire::frame;

use crate::life::{Life, scramble};

pub(crate) const ACCOUNTS: u64 = 6;
const INT8: u32 = 20;

pub(crate) const READ_COMMITTED: Mode =
    Mode { isolation: Isolation::ReadCommitted, read_only: false, deferrable: false };
const REPEATABLE_READ: Mode =
    Mode { isolation: Isolation::RepeatableRead, read_only: false, deferrable: false };

pub(crate) const TABLES: &str = "\
    CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);\
    CREATE TABLE done (transfer bigint PRIMARY KEY);\
    CREATE TABLE sums (total bigint);\
    INSERT INTO account SELECT i, 1000 FROM generate_series(0, 5) AS i";

const SUM: RemoteStatement<'_> = RemoteStatement {
    text: "SELECT sum(balance)::bigint FROM public.account",
    types: &[],
    result_formats: &[],
    effect: Effect::Read,
};
/// The same, row by row.
const ROWS: RemoteStatement<'_> =
    RemoteStatement { text: "SELECT balance FROM public.account", ..SUM };
/// A statement whose snapshot is taken when it is executed.
const KEPT_SUM: RemoteStatement<'_> = RemoteStatement {
    text: "INSERT INTO public.sums SELECT sum(balance) FROM public.account RETURNING total",
    effect: Effect::Rows,
    ..SUM
};
const PAY: RemoteStatement<'_> = RemoteStatement {
    text: "UPDATE public.account SET balance = balance + $1 WHERE id = $2",
    types: &[INT8, INT8],
    result_formats: &[],
    effect: Effect::Rows,
};
const NOTE: RemoteStatement<'_> = RemoteStatement {
    text: "INSERT INTO public.done VALUES ($1)",
    types: &[INT8],
    result_formats: &[],
    effect: Effect::Rows,
};

/// A sequence of numbers that look random.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(scramble(seed))
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = scramble(self.0);
        self.0 % sides
    }
}

pub(crate) fn transaction(life: &Life, mode: Mode) -> Participants {
    Participants::new(&life.cluster, "postgres", "postgres", Settings::default(), mode)
}

fn soon() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(4))
}

fn text(value: i64) -> Option<Vec<u8>> {
    Some(value.to_string().into_bytes())
}

/// The first column of all rows of a cursor each, added up.
fn total(
    transaction: &mut Participants,
    statement: &RemoteStatement<'_>,
    targets: &[(NodeId, Values)],
    batch: u32,
) -> Result<i64> {
    let cursors = transaction.open(statement, targets, batch, soon())?;
    let mut sum = 0;
    for cursor in cursors {
        let mut rows = Vec::new();
        while transaction.fetch(cursor, &mut rows)? == Fetched::More {}
        transaction.close(cursor);
        sum += added_up(&rows);
    }
    Ok(sum)
}

pub(crate) fn added_up(mut rows: &[u8]) -> i64 {
    let mut sum = 0;
    while let Some(frame) = frame::peek_backend(rows).expect("rows are messages") {
        let message = receive::decode(frame).expect("a row");
        let BackendMessage::DataRow(values) = message else { panic!("no row: {message:?}") };
        let value = values.iter().next().flatten().expect("a value");
        sum += std::str::from_utf8(value).expect("text").parse::<i64>().expect("a number");
        rows = &rows[frame.wire_len()..];
    }
    assert!(rows.is_empty(), "the end of the rows is cut off");
    sum
}

/// Moves money between accounts of two nodes or three. `number` is noted on each of them.
pub(crate) fn transfer(life: &Life, number: i64, dice: &mut Dice) -> Outcome {
    let mut nodes = life.nodes.clone();
    // Now and then all, and now and then one alone.
    let kept = match dice.roll(10) {
        0 => 1,
        1 | 2 => nodes.len(),
        _ => 2,
    };
    while nodes.len() > kept {
        let at = usize::try_from(dice.roll(nodes.len() as u64)).expect("small");
        nodes.remove(at);
    }
    let mut transaction = transaction(life, READ_COMMITTED);
    // Ascending nodes and accounts: no deadlocks.
    let mut pay = || -> Result<()> {
        let mut left = 0;
        for (i, node) in nodes.iter().enumerate() {
            let mut amount = dice.roll(100).cast_signed();
            if i + 1 == nodes.len() {
                amount = -left;
            }
            left += amount;
            let account = dice.roll(ACCOUNTS).cast_signed();
            let paid = vec![(*node, vec![text(amount), text(account)])];
            total(&mut transaction, &PAY, &paid, 0)?;
            total(&mut transaction, &NOTE, &[(*node, vec![text(number)])], 0)?;
        }
        Ok(())
    };
    match pay() {
        Ok(()) => transaction.commit_in_place(None),
        Err(error) => {
            transaction.rollback_in_place(Instant::now() + Duration::from_secs(2));
            Outcome::RolledBack(error)
        }
    }
}

/// Sums that one transaction reads, each over all nodes.
pub(crate) fn sums(life: &Life, dice: &mut Dice) -> Result<Vec<i64>> {
    let all: Vec<(NodeId, Values)> = life.nodes.iter().map(|node| (*node, Vec::new())).collect();
    let deadline = Instant::now() + Duration::from_secs(2);
    match dice.roll(5) {
        0 => {
            let mut reader = transaction(life, READ_COMMITTED);
            let sums = [total(&mut reader, &SUM, &all, 0)?, total(&mut reader, &ROWS, &all, 2)?];
            reader.rollback_in_place(deadline);
            Ok(sums.to_vec())
        }
        1 => {
            let mut reader = transaction(life, REPEATABLE_READ);
            let sums = [total(&mut reader, &SUM, &all, 0)?, total(&mut reader, &ROWS, &all, 1)?];
            reader.rollback_in_place(deadline);
            Ok(sums.to_vec())
        }
        2 => {
            let mut reader = transaction(life, READ_COMMITTED);
            let sum = total(&mut reader, &KEPT_SUM, &all, 0)?;
            reader.rollback_in_place(deadline);
            Ok(vec![sum])
        }
        3 => {
            let mut reader = transaction(life, READ_COMMITTED);
            let soon = soon().expect("a deadline");
            let answers = reader.read_in_place(&life.nodes, SUM.text, soon)?;
            let of = |replies: &Vec<steppe_cluster::commit::Reply>| -> i64 {
                let value = replies[0].rows[0][0].as_deref().expect("a value");
                std::str::from_utf8(value).expect("text").parse().expect("a number")
            };
            let ended = reader.commit_in_place(None);
            assert!(!matches!(ended, Outcome::Unknown(_)), "nothing was written: {ended:?}");
            Ok(vec![answers.iter().map(of).sum()])
        }
        _ => {
            // The nodes join one after another.
            let mut reader = transaction(life, REPEATABLE_READ);
            let mut sum = 0;
            for target in all {
                sum += total(&mut reader, &SUM, &[target], 0)?;
            }
            reader.rollback_in_place(deadline);
            Ok(vec![sum])
        }
    }
}

/// Whether a client may meet this while connections break and servers die.
pub(crate) fn is_expected(error: &Error) -> bool {
    let state = error.sqlstate();
    let state = state.as_str();
    matches!(&state[..2], "08" | "57" | "40" | "53") || state == "55P03"
}
