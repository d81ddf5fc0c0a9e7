//! The order in which the triggers of a statement fire, for all ways of changing rows. The records
//! are those of the same statements in PostgreSQL 18, with a PL/pgSQL function in this one's place.

#![allow(missing_docs)]

mod support;

use std::cell::RefCell;
use std::sync::Arc;
use steppe_catalog::PUBLIC;
use steppe_catalog::trigger::{
    Trigger, TriggerEnabled, TriggerEvents, TriggerLevel, TriggerTiming,
};
use steppe_exec::registry::{Family, Native, register};
use steppe_exec::{BulkInsert, RowCommand, Spi, TriggerAnswer, TriggerCall};
use steppe_types::row::RowWriter;
use steppe_types::{Datum, Oid, Result, oid};
use support::World;
use support::partitions::{partitioned, relation};

const RECORD: Oid = 90_001;

static FAMILY: Family = Family {
    name: "triggers of the test",
    by_source: &[],
    by_oid: &[&[(RECORD, Native::Trigger(record))]],
};

thread_local! {
    static RECORDED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Records the call. Its argument makes it return NULL, or a row with more in column `v` or `id`.
fn record(call: &TriggerCall<'_>, _: &mut Spi<'_>) -> Result<TriggerAnswer> {
    let place = |name: &str| call.relation.column_index(name).expect("has the column");
    let shown = |row: Option<&[Datum]>| match row {
        None => "-".to_owned(),
        Some(row) => ["id", "v"].map(|name| int(&row[place(name)]).to_string()).join(","),
    };
    let command = match call.command {
        RowCommand::Insert => "insert",
        RowCommand::Update => "update",
        RowCommand::Delete => "delete",
        RowCommand::Truncate => "truncate",
    };
    let rows = match call.level() {
        TriggerLevel::Statement => String::new(),
        TriggerLevel::Row => format!(" {} > {}", shown(call.old), shown(call.new)),
    };
    let line = format!("{} {command} {}{rows}", call.name(), call.relation.name);
    RECORDED.with_borrow_mut(|recorded| recorded.push(line));
    let argument = call.arguments().first().map(|argument| argument.split('+'));
    let is_answer = (call.timing(), call.level()) == (TriggerTiming::Before, TriggerLevel::Row);
    let Some(mut argument) = argument.filter(|_| is_answer) else {
        return Ok(TriggerAnswer::Same);
    };
    let (column, more) = (argument.next().expect("a word"), argument.next());
    match (more, call.new) {
        (None, _) => Ok(TriggerAnswer::Skip),
        (Some(_), None) => Ok(TriggerAnswer::Same),
        (Some(more), Some(new)) => {
            let (mut row, at) = (new.to_vec(), place(column));
            row[at] = Datum::Int4(int(&row[at]) + more.parse::<i32>().expect("a number"));
            Ok(TriggerAnswer::Row(row))
        }
    }
}

fn int(value: &Datum) -> i32 {
    match value {
        Datum::Int4(value) => *value,
        other => panic!("{other:?} is no integer"),
    }
}

/// `name before|after row|statement insert,update,delete [argument] [of column]`
fn trigger(w: &mut World, table: &str, text: &str, parent: Oid) {
    register(&FAMILY);
    let mut table = relation(w, table);
    let mut words = text.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (name, timing, level, events) = (word(), word(), word(), word());
    let (argument, of) = (word(), word());
    let of = if of == "of" { Some(word()) } else { None };
    let has = |event: &str| events.split(',').any(|of| of == event);
    let columns = of.map(|name| table.column_index(name).expect("has the column") as i16 + 1);
    let trigger = Trigger {
        oid: 91_000 + table.triggers.len() as Oid,
        name: Arc::from(name),
        function: RECORD,
        timing: if timing == "before" { TriggerTiming::Before } else { TriggerTiming::After },
        level: if level == "row" { TriggerLevel::Row } else { TriggerLevel::Statement },
        events: TriggerEvents {
            insert: has("insert"),
            update: has("update"),
            delete: has("delete"),
            truncate: false,
        },
        columns: columns.into_iter().collect::<Vec<i16>>().into(),
        when: None,
        arguments: Some(argument)
            .filter(|argument| !argument.is_empty())
            .map(Arc::from)
            .into_iter()
            .collect::<Vec<Arc<str>>>()
            .into(),
        enabled: TriggerEnabled::Origin,
        parent,
        constraint: None,
        transition: None,
        comment: None,
    };
    let mut triggers = table.triggers.to_vec();
    triggers.push(trigger);
    table.triggers = triggers.into();
    w.catalog.put_relation(table);
}

/// The calls recorded since the last time.
fn recorded() -> Vec<String> {
    RECORDED.with_borrow_mut(std::mem::take)
}

const ALL: &[&str] = &[
    "b_row before row insert,update,delete v+100",
    "a_row before row insert,update,delete v+1",
    "z_after after row insert,update,delete",
    "y_after after row insert,update,delete",
    "s_before before statement insert,update,delete",
    "s_after after statement insert,update,delete",
];

fn world(triggers: &[&str]) -> World {
    let mut w = World::new();
    w.table(
        "t",
        &["id int4 not-null", "v int4", "u int4"],
        &[("t_pkey", true, &["id"]), ("t_u_key", true, &["u"])],
    );
    for text in triggers {
        trigger(&mut w, "t", text, 0);
    }
    w
}

/// Inserts two rows through COPY's code.
fn load(w: &mut World, rows: &[[i32; 3]]) -> u64 {
    struct Values([Datum; 3]);
    impl steppe_exec::Fields for Values {
        fn write(&self, i: usize, row: &mut RowWriter<'_>) -> Result<()> {
            row.push(&self.0[i])
        }

        fn value(&self, i: usize) -> Result<Option<Datum>> {
            Ok(Some(self.0[i].clone()))
        }
    }
    let types = [oid::INT4; 3];
    let stmt = w.compile("insert into t (id, v, u) values ($1, $2, $3)", &types).expect("compiles");
    let mut bulk = BulkInsert::new(&stmt, 3).expect("an insert of one row");
    w.begin();
    let start =
        |w: &mut World| w.txn.as_mut().expect("open").txn.start_statement().expect("starts");
    let env = w.env();
    start(w);
    assert!(bulk.has_triggers());
    bulk.begin(&env, &mut w.txn).expect("begins");
    let mut stored = 0;
    for row in rows {
        start(w);
        bulk.push(&Values(row.map(Datum::Int4)), &env).expect("is taken");
        stored += bulk.flush(&env, &mut w.txn).expect("is stored");
    }
    start(w);
    bulk.finish(&env, &mut w.txn).expect("ends");
    w.commit();
    stored
}

#[test]
fn inserts_fire_alike_whichever_way_rows_take() {
    let two: &[&str] = &[
        "s_before insert t",
        "a_row insert t - > 1,10",
        "b_row insert t - > 1,11",
        "a_row insert t - > 2,20",
        "b_row insert t - > 2,21",
        "y_after insert t - > 1,111",
        "z_after insert t - > 1,111",
        "y_after insert t - > 2,121",
        "z_after insert t - > 2,121",
        "s_after insert t",
    ];
    let statements = [
        "insert into t values (1,10,1),(2,20,2)",
        "insert into t select g, g * 10, g from generate_series(1, 2) g",
        "with a as (insert into t values (1,10,1)) insert into t values (2,20,2)",
    ];
    for text in statements {
        let mut w = world(ALL);
        w.rows(text);
        let mut lines = recorded();
        // The plan decides which of the two parts runs first.
        if text.starts_with("with") {
            lines.sort();
            let mut two = two.to_vec();
            two.sort_unstable();
            assert_eq!(lines, two, "{text}");
        } else {
            assert_eq!(lines, two, "{text}");
        }
        assert_eq!(w.rows("select id, v from t order by id"), ["1|111", "2|121"], "{text}");
    }
    let mut w = world(ALL);
    assert_eq!(load(&mut w, &[[1, 10, 1], [2, 20, 2]]), 2);
    assert_eq!(recorded(), two);
    let one = [&two[..3], &two[5..7], &two[9..]].concat();
    let mut w = world(ALL);
    assert_eq!(w.count("insert into t values (1,10,1)"), 1);
    assert_eq!(recorded(), one);
}

#[test]
fn changes_fire_alike_by_key_and_by_scan() {
    for condition in ["id = 1", "v < 112"] {
        let mut w = world(ALL);
        w.rows("insert into t values (1,10,1),(2,20,2)");
        recorded();
        let update = format!("update t set v = 5 where {condition} returning old.v, new.v");
        assert_eq!(w.rows(&update), ["111|106"]);
        let updated = [
            "s_before update t",
            "a_row update t 1,111 > 1,5",
            "b_row update t 1,111 > 1,6",
            "y_after update t 1,111 > 1,106",
            "z_after update t 1,111 > 1,106",
            "s_after update t",
        ];
        assert_eq!(recorded(), updated, "{condition}");
        assert_eq!(w.count(&format!("delete from t where {condition}")), 1);
        let deleted = [
            "s_before delete t",
            "a_row delete t 1,106 > -",
            "b_row delete t 1,106 > -",
            "y_after delete t 1,106 > -",
            "z_after delete t 1,106 > -",
            "s_after delete t",
        ];
        assert_eq!(recorded(), deleted, "{condition}");
        assert_eq!(w.count("update t set v = 5 where id = 17"), 0);
        assert_eq!(recorded(), ["s_before update t", "s_after update t"]);
    }
}

#[test]
fn conflicts_fire_for_both_commands() {
    let mut w = world(ALL);
    w.rows("insert into t values (1,5,1)");
    recorded();
    let text = "insert into t values (1,7,1),(3,30,3) on conflict (id) do update \
                set v = excluded.v returning id, v";
    assert_eq!(w.rows(text), ["1|209", "3|131"]);
    let both = [
        "s_before insert t",
        "s_before update t",
        "a_row insert t - > 1,7",
        "b_row insert t - > 1,8",
        "a_row update t 1,106 > 1,108",
        "b_row update t 1,106 > 1,109",
        "a_row insert t - > 3,30",
        "b_row insert t - > 3,31",
        "y_after update t 1,106 > 1,209",
        "z_after update t 1,106 > 1,209",
        "y_after insert t - > 3,131",
        "z_after insert t - > 3,131",
        "s_after update t",
        "s_after insert t",
    ];
    assert_eq!(recorded(), both);
    assert_eq!(w.count("insert into t values (1,7,1),(4,40,4) on conflict do nothing"), 1);
    let nothing = [
        "s_before insert t",
        "a_row insert t - > 1,7",
        "b_row insert t - > 1,8",
        "a_row insert t - > 4,40",
        "b_row insert t - > 4,41",
        "y_after insert t - > 4,141",
        "z_after insert t - > 4,141",
        "s_after insert t",
    ];
    assert_eq!(recorded(), nothing);
}

#[test]
fn null_ends_a_rows_way() {
    let mut w =
        world(&["a_skip before row insert,update,delete skip", "z after row insert,update,delete"]);
    assert_eq!(w.rows("insert into t values (1,1,1),(2,2,2) returning id"), [""; 0]);
    assert_eq!(recorded(), ["a_skip insert t - > 1,1", "a_skip insert t - > 2,2"]);
    assert_eq!(load(&mut w, &[[1, 1, 1], [2, 2, 2]]), 0);
    recorded();
    let mut w = world(&["a_skip before row update,delete skip", "z after row update,delete"]);
    w.rows("insert into t values (1,1,1)");
    let upsert = "insert into t values (1,2,3) on conflict (id) do update set v = 9";
    for text in ["update t set v = 2 where id = 1", "delete from t where id = 1", upsert] {
        assert_eq!(w.count(text), 0, "{text}");
        assert_eq!(recorded().len(), 1, "{text}");
    }
    assert_eq!(w.rows("select id, v from t"), ["1|1"]);
}

#[test]
fn update_of_is_about_what_the_statement_assigns() {
    let mut w = world(&[
        "a before row update v+1",
        "o after row update - of u",
        "p after row update - of v",
    ]);
    w.rows("insert into t values (1,1,1)");
    w.rows("update t set u = 2 where id = 1");
    // Rows that a trigger writes do not count.
    assert_eq!(recorded(), ["a update t 1,1 > 1,1", "o update t 1,1 > 1,2"]);
    w.rows("update t set v = 5");
    assert_eq!(recorded(), ["a update t 1,2 > 1,5", "p update t 1,2 > 1,6"]);
    assert_eq!(w.rows("select id, v, u from t"), ["1|6|2"]);
}

#[test]
fn keys_follow_what_triggers_write() {
    let mut w = world(&["a before row insert,update id+10"]);
    w.rows("insert into t values (1,1,1)");
    w.rows("update t set v = 2");
    recorded();
    assert_eq!(w.rows("select v from t where id = 21"), ["2"]);
    assert_eq!(w.rows("select v from t where id = 11"), [""; 0]);
    assert_eq!(w.error("insert into t values (11,1,2)").2, "Key (id)=(21) already exists.");
}

#[test]
fn what_fails_fires_nothing_behind_it() {
    let mut w = world(&["z after row insert", "s after statement insert"]);
    assert_eq!(w.error("insert into t values (1,1,1),(2,2,2),(1,3,3)").0, "23505");
    assert_eq!(recorded(), [""; 0]);
    w.work_mem_bytes = 1 << 10;
    w.rows("insert into t select g, g, g from generate_series(1, 3000) g");
    let lines = recorded();
    assert_eq!((lines.len(), &*lines[2999]), (3001, "z insert t - > 3000,3000"));
    assert_eq!(lines[3000], "s insert t");
}

fn leaves() -> World {
    let mut w = partitioned();
    let root = [
        "s_before before statement insert,update,delete",
        "s_after after statement insert,update,delete",
    ];
    let each =
        ["b_row before row insert,update,delete v+1", "z_after after row insert,update,delete"];
    root.iter().chain(&each).for_each(|text| trigger(&mut w, "p", text, 0));
    for leaf in ["p1", "p2"] {
        each.iter().for_each(|text| trigger(&mut w, leaf, text, 1));
    }
    w
}

#[test]
fn leaves_fire_their_own_and_the_table_its_statements() {
    let mut w = leaves();
    w.rows("insert into p values (1,10,'a'),(150,20,'b'),(2,30,'c')");
    let inserted = [
        "s_before insert p",
        "b_row insert p1 - > 1,10",
        "b_row insert p2 - > 150,20",
        "b_row insert p1 - > 2,30",
        "z_after insert p1 - > 1,11",
        "z_after insert p2 - > 150,21",
        "z_after insert p1 - > 2,31",
        "s_after insert p",
    ];
    assert_eq!(recorded(), inserted);
    assert_eq!(w.rows("update p set v = 0 where id = 1 returning id, v"), ["1|1"]);
    let updated = [
        "s_before update p",
        "b_row update p1 1,11 > 1,0",
        "z_after update p1 1,11 > 1,1",
        "s_after update p",
    ];
    assert_eq!(recorded(), updated);
    assert_eq!(w.rows("update p set id = id + 100 where id = 2 returning id, v, s"), ["102|33|c"]);
    let moved = [
        "s_before update p",
        "b_row update p1 2,31 > 102,31",
        "b_row delete p1 2,31 > -",
        "b_row insert p2 - > 102,32",
        "z_after delete p1 2,31 > -",
        "z_after insert p2 - > 102,33",
        "s_after update p",
    ];
    assert_eq!(recorded(), moved);
    assert_eq!(w.count("delete from p where id = 150"), 1);
    let deleted = [
        "s_before delete p",
        "b_row delete p2 150,21 > -",
        "z_after delete p2 150,21 > -",
        "s_after delete p",
    ];
    assert_eq!(recorded(), deleted);
    w.rows("update p1 set v = 3 where id = 1");
    assert_eq!(recorded(), ["b_row update p1 1,1 > 1,3", "z_after update p1 1,1 > 1,4"]);
}

#[test]
fn a_cloned_trigger_may_not_move_a_row() {
    let mut w = partitioned();
    trigger(&mut w, "p1", "c_move before row insert id+100", 7);
    let (state, message, detail) = w.error("insert into p values (5, 5, 'x')");
    assert_eq!(state, "0A000");
    assert_eq!(
        message,
        "moving row to another partition during a BEFORE FOR EACH ROW trigger is not supported"
    );
    let place =
        "Before executing trigger \"c_move\", the row was to be in partition \"public.p1\".";
    assert_eq!(detail, place);
    assert!(w.catalog.relation_named(PUBLIC, "p1").is_some());
    // One of the leaf's own: the row is refused as any that does not belong there.
    let mut w = partitioned();
    trigger(&mut w, "p1", "c_move before row insert id+100", 0);
    assert_eq!(w.error("insert into p values (5, 5, 'x')").0, "23514");
    recorded();
}
