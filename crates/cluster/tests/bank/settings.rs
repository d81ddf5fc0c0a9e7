//! The settings of a client's session on its nodes, also when they change within a transaction.

use std::time::{Duration, Instant};

use steppe_cluster::NodeId;
use steppe_cluster::commit::Outcome;
use steppe_cluster::pool::replay::Settings;
use steppe_cluster::transaction::{Effect, Fetched, Participants, RemoteMark, RemoteStatement};
use steppe_types::{Result, SqlState};
use steppe_wire::client::receive::{self, BackendMessage};
use steppe_wire::frame;

use crate::clients::{Dice, READ_COMMITTED};
use crate::life::{Coordinators, Life};
use crate::postgres::Postgres;

const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "Asia/Tokyo", "America/Lima"];
const STYLES: [&str; 3] = ["postgres", "iso_8601", "sql_standard"];

const SHOWN: RemoteStatement<'_> = RemoteStatement {
    text: "SELECT current_setting('TimeZone') || ' ' || current_setting('IntervalStyle')",
    types: &[],
    result_formats: &[],
    effect: Effect::Read,
};

fn settings(zone: &str, style: &str) -> Settings {
    Settings::of(vec![("TimeZone".into(), zone.into()), ("IntervalStyle".into(), style.into())])
}

fn begin(life: &Life, settings: Settings) -> Participants {
    Participants::new(&life.cluster, "postgres", "postgres", settings, READ_COMMITTED)
}

/// The first value of each row.
fn values(mut rows: &[u8]) -> Vec<String> {
    let mut values = Vec::new();
    while let Some(frame) = frame::peek_backend(rows).expect("rows are messages") {
        let message = receive::decode(frame).expect("a row");
        let BackendMessage::DataRow(row) = message else { panic!("no row: {message:?}") };
        let value = row.iter().next().flatten().expect("a value");
        values.push(String::from_utf8(value.to_vec()).expect("text"));
        rows = &rows[frame.wire_len()..];
    }
    values
}

fn shown(transaction: &mut Participants, node: NodeId) -> Result<String> {
    let cursor = transaction.open(&SHOWN, &[(node, Vec::new())], 0, None)?[0];
    let mut rows = Vec::new();
    while transaction.fetch(cursor, &mut rows)? == Fetched::More {}
    transaction.close(cursor);
    Ok(values(&rows).remove(0))
}

/// A client's session: its settings now, and at each of its savepoints.
struct Client {
    now: (usize, usize),
    marks: Vec<(RemoteMark, (usize, usize))>,
}

impl Client {
    fn settings(&self) -> Settings {
        settings(ZONES[self.now.0], STYLES[self.now.1])
    }

    fn step(&mut self, transaction: &mut Participants, dice: &mut Dice) {
        let at = |sides: usize, dice: &mut Dice| dice.roll(sides as u64) as usize;
        match dice.roll(5) {
            0 => self.now.0 = at(ZONES.len(), dice),
            1 => self.now.1 = at(STYLES.len(), dice),
            2 if self.marks.len() < 5 => self.marks.push((transaction.mark(), self.now)),
            3 if !self.marks.is_empty() => {
                self.marks.truncate(at(self.marks.len(), dice) + 1);
                let (mark, before) = self.marks[self.marks.len() - 1];
                transaction.rollback_to(mark);
                self.now = before;
            }
            4 if !self.marks.is_empty() => {
                self.marks.truncate(at(self.marks.len(), dice) + 1);
                if let Some((mark, _)) = self.marks.pop() {
                    transaction.release(mark);
                }
            }
            _ => {}
        }
        transaction.set_settings(self.settings());
    }
}

#[test]
fn every_statement_runs_with_the_settings_of_its_session() {
    let Some(servers) = Postgres::start(2) else { return };
    let coordinators = Coordinators::new(&servers, 1, 0);
    let life = coordinators.life();
    for seed in 0..30 {
        let mut dice = Dice::new(seed);
        let mut client = Client { now: (dice.roll(4) as usize, 0), marks: Vec::new() };
        let mut transaction = begin(&life, client.settings());
        for step in 0..60 {
            client.step(&mut transaction, &mut dice);
            if dice.roll(3) > 0 {
                let node = life.nodes[dice.roll(2) as usize];
                let expected = format!("{} {}", ZONES[client.now.0], STYLES[client.now.1]);
                let found = shown(&mut transaction, node).expect("it is shown");
                assert_eq!(found, expected, "seed {seed}, step {step}");
            }
        }
        match dice.roll(2) {
            0 => assert!(matches!(transaction.commit_in_place(None), Outcome::Committed)),
            _ => transaction.rollback_in_place(Instant::now() + Duration::from_secs(2)),
        }
    }
}

#[test]
fn a_statement_has_one_setting_to_its_end() {
    let Some(servers) = Postgres::start(1) else { return };
    let coordinators = Coordinators::new(&servers, 1, 0);
    let life = coordinators.life();
    let mut transaction = begin(&life, settings("UTC", "postgres"));
    let text = "SELECT make_interval(days => -1, hours => i) FROM generate_series(1, 9) AS i";
    let statement = RemoteStatement { text, ..SHOWN };
    let target = [(life.nodes[0], Vec::new())];
    let cursor = transaction.open(&statement, &target, 2, None).expect("it is sent")[0];
    let mut rows = Vec::new();
    transaction.fetch(cursor, &mut rows).expect("rows come");
    transaction.set_settings(settings("Asia/Tokyo", "iso_8601"));
    assert_eq!(shown(&mut transaction, life.nodes[0]).unwrap(), "Asia/Tokyo iso_8601");
    while transaction.fetch(cursor, &mut rows).expect("rows come") == Fetched::More {}
    let found = values(&rows);
    assert_eq!(found.len(), 9);
    assert_eq!(found[8], "-1 days +09:00:00");
    assert_eq!(shown(&mut transaction, life.nodes[0]).unwrap(), "Asia/Tokyo iso_8601");
}

#[test]
fn a_value_that_a_node_does_not_know_fails_the_statement() {
    let Some(servers) = Postgres::start(1) else { return };
    let coordinators = Coordinators::new(&servers, 1, 0);
    let life = coordinators.life();
    let node = life.nodes[0];
    let mut transaction = begin(&life, settings("UTC", "postgres"));
    assert_eq!(shown(&mut transaction, node).unwrap(), "UTC postgres");
    let mark = transaction.mark();
    transaction.set_settings(settings("Nowhere/Land", "iso_8601"));
    let error = shown(&mut transaction, node).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    assert!(error.fields().context.as_deref().is_some_and(|text| text.contains("dn1")));
    transaction.rollback_to(mark);
    transaction.set_settings(settings("Asia/Tokyo", "postgres"));
    assert_eq!(shown(&mut transaction, node).unwrap(), "Asia/Tokyo postgres");
    assert!(matches!(transaction.commit_in_place(None), Outcome::Committed));

    // The first use of a node: the next transaction has another connection.
    let mut transaction = begin(&life, settings("Nowhere/Land", "postgres"));
    let error = shown(&mut transaction, node).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    drop(transaction);
    let mut transaction = begin(&life, settings("UTC", "postgres"));
    assert_eq!(shown(&mut transaction, node).unwrap(), "UTC postgres");
    // What is the same in all sessions.
    let fixed = "SELECT concat_ws(' ', current_setting('extra_float_digits'), \
        current_setting('search_path'), current_setting('lc_time'), \
        current_setting('statement_timeout'))";
    let text = RemoteStatement { text: fixed, ..SHOWN };
    let cursor = transaction.open(&text, &[(node, Vec::new())], 0, None).expect("it is sent")[0];
    let mut rows = Vec::new();
    while transaction.fetch(cursor, &mut rows).expect("a row") == Fetched::More {}
    assert_eq!(values(&rows), ["3 pg_catalog, pg_temp C 0"]);
}
