//! Triggers and foreign keys: an insert with each, beside the same insert without.
//!
//! * An audit trigger in PL/pgSQL after each row, and a trigger before it that sets a column: one row
//!   a statement, and 100,000 rows in one.
//! * A foreign key: 32 clients insert one row a statement. The rows refer to any parent, or all to
//!   one parent. COPY inserts many rows.
//! * A transfer like pgbench's beside a session that runs exception blocks in one transaction.

use super::beside::Beside;
use super::workload::{Conditions, Data, Flat, Load, Script, Section, Workload};

/// Parents of the foreign key.
const PARENTS: u32 = 100_000;

/// An insert into a table.
struct Insert {
    name: &'static str,
    title: &'static str,
    table: &'static str,
    /// The statements that make the table, without the table without anything.
    create: &'static str,
    /// How many rows a statement inserts, and the statement.
    rows: u64,
    statement: &'static str,
    clients: u32,
    to_postgresql: Option<f64>,
    /// The insert without, and Steppe's least rate, relative to it.
    flat: Option<(&'static str, f64)>,
}

const BY_ONE: &str = "INSERT INTO {table} (a, b) VALUES (:a, 'one row of the benchmark')";
const BY_MANY: &str = "INSERT INTO {table} (a, b) SELECT i, 'one of many rows' \
                       FROM generate_series(1, 100000) AS i";
const BY_PARENT: &str = "INSERT INTO {table} (parent, b) VALUES (:a, 'one row of the benchmark')";
const TO_ONE_PARENT: &str =
    "INSERT INTO {table} (parent, b) VALUES (7, 'one row of the benchmark')";

const PLAIN: &str = "CREATE TABLE {table} (id bigserial PRIMARY KEY, a integer, b text, \
                     updated_at timestamp)";
const AUDITED: &str = "\
CREATE TABLE {table} (id bigserial PRIMARY KEY, a integer, b text, updated_at timestamp);
CREATE TABLE {table}_audit (at timestamp, what text, id bigint, a integer);
CREATE FUNCTION {table}_log() RETURNS trigger AS $$
BEGIN
    INSERT INTO {table}_audit VALUES (now(), TG_OP, NEW.id, NEW.a); --
    RETURN NULL; --
END $$ LANGUAGE plpgsql;
CREATE TRIGGER log AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_log()";
const STAMPED: &str = "\
CREATE TABLE {table} (id bigserial PRIMARY KEY, a integer, b text, updated_at timestamp);
CREATE FUNCTION {table}_stamp() RETURNS trigger AS $$
BEGIN
    NEW.updated_at := now(); --
    RETURN NEW; --
END $$ LANGUAGE plpgsql;
CREATE TRIGGER stamp BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_stamp()";
const UNBOUND: &str = "CREATE TABLE {table} (id bigserial PRIMARY KEY, parent integer, b text)";
const BOUND: &str = "\
CREATE TABLE {table}_parent (id integer PRIMARY KEY, b text);
INSERT INTO {table}_parent SELECT i, 'parent' FROM generate_series(1, 100000) AS i;
ANALYZE {table}_parent;
CREATE TABLE {table} (id bigserial PRIMARY KEY, parent integer REFERENCES {table}_parent, b text)";

const INSERTS: [Insert; 9] = [
    Insert {
        name: "triggers-none",
        title: "one-row insert without a trigger",
        table: "triggers_none",
        create: PLAIN,
        rows: 1,
        statement: BY_ONE,
        clients: 32,
        to_postgresql: None,
        flat: None,
    },
    Insert {
        name: "triggers-audit",
        title: "one-row insert with an audit trigger",
        table: "triggers_audit",
        create: AUDITED,
        rows: 1,
        statement: BY_ONE,
        clients: 32,
        to_postgresql: Some(2.0),
        flat: Some(("triggers-none", 0.6)),
    },
    Insert {
        name: "triggers-stamp",
        title: "one-row insert with a trigger that sets updated_at",
        table: "triggers_stamp",
        create: STAMPED,
        rows: 1,
        statement: BY_ONE,
        clients: 32,
        to_postgresql: Some(2.0),
        flat: Some(("triggers-none", 0.6)),
    },
    Insert {
        name: "triggers-many-none",
        title: "INSERT … SELECT of 100,000 rows without a trigger",
        table: "triggers_many_none",
        create: PLAIN,
        rows: 100_000,
        statement: BY_MANY,
        clients: 1,
        to_postgresql: None,
        flat: None,
    },
    Insert {
        name: "triggers-many-audit",
        title: "INSERT … SELECT of 100,000 rows with an audit trigger",
        table: "triggers_many_audit",
        create: AUDITED,
        rows: 100_000,
        statement: BY_MANY,
        clients: 1,
        to_postgresql: Some(2.0),
        flat: Some(("triggers-many-none", 0.6)),
    },
    Insert {
        name: "triggers-many-stamp",
        title: "INSERT … SELECT of 100,000 rows with a trigger that sets updated_at",
        table: "triggers_many_stamp",
        create: STAMPED,
        rows: 100_000,
        statement: BY_MANY,
        clients: 1,
        to_postgresql: Some(2.0),
        flat: Some(("triggers-many-none", 0.6)),
    },
    Insert {
        name: "foreign-key-none",
        title: "one-row insert without a foreign key",
        table: "foreign_key_none",
        create: UNBOUND,
        rows: 1,
        statement: BY_PARENT,
        clients: 32,
        to_postgresql: None,
        flat: None,
    },
    Insert {
        name: "foreign-key-any",
        title: "one-row insert with a foreign key",
        table: "foreign_key_any",
        create: BOUND,
        rows: 1,
        statement: BY_PARENT,
        clients: 32,
        to_postgresql: Some(3.0),
        flat: Some(("foreign-key-none", 0.8)),
    },
    Insert {
        name: "foreign-key-one",
        title: "one-row insert with a foreign key, all to one parent",
        table: "foreign_key_one",
        create: BOUND,
        rows: 1,
        statement: TO_ONE_PARENT,
        clients: 32,
        to_postgresql: Some(8.0),
        flat: Some(("foreign-key-none", 0.8)),
    },
];

/// All workloads of triggers and foreign keys.
pub(super) fn workloads() -> Vec<Workload> {
    let mut all: Vec<Workload> = INSERTS.iter().map(insert).collect();
    all.push(copy(
        "foreign-key-copy-none",
        "COPY without a foreign key",
        "foreign_key_unbound",
        "",
    ));
    all.push(Workload {
        target_to_postgresql: Some(3.0),
        ..copy(
            "foreign-key-copy",
            "COPY with a foreign key",
            "foreign_key_bound",
            " REFERENCES foreign_key_ids",
        )
    });
    all.extend(exceptions());
    all
}

fn insert(insert: &Insert) -> Workload {
    let Insert { name, title, table, create, rows, statement, clients, .. } = *insert;
    let statement = statement.replace("{table}", table);
    let flat = insert.flat.map(|(name, target)| Flat { name: name.to_owned(), target });
    Workload {
        group: flat.as_ref().map_or(name.to_owned(), |flat| flat.name.clone()),
        name: name.to_owned(),
        title: match clients {
            1 => format!("{title}, 1 client"),
            clients => format!("{title}, {clients} clients"),
        },
        load: Load::Pgbench {
            script: Script::Custom(format!("\\set a random(1, {PARENTS})\n{statement};\n").into()),
            mode: "prepared",
            rows_per_transaction: rows,
        },
        data: Data::Own { table, create: create.replace("{table}", table) },
        clients,
        target_to_postgresql: insert.to_postgresql,
        target_to_noop: None,
        section: Section::Triggers,
        flat,
        conditions: Conditions::default(),
    }
}

/// COPY into a table whose `id` may refer to others. There are parents for as many rows as one
/// measurement has by default, and some more.
fn copy(name: &str, title: &str, table: &'static str, refers: &str) -> Workload {
    let parents = match refers {
        "" => "",
        _ => {
            "CREATE TABLE foreign_key_ids (id bigint PRIMARY KEY);\n\
             INSERT INTO foreign_key_ids SELECT generate_series(0, 2000100);\n\
             ANALYZE foreign_key_ids;\n"
        }
    };
    let columns = format!("id bigint NOT NULL{refers}, a integer, b text, c timestamp");
    Workload {
        group: name.to_owned(),
        name: name.to_owned(),
        title: format!("{title}, 1 client"),
        load: Load::Copy,
        data: Data::Own { table, create: format!("{parents}CREATE TABLE {table} ({columns})") },
        clients: 1,
        target_to_postgresql: None,
        target_to_noop: None,
        section: Section::Triggers,
        flat: None,
        conditions: Conditions::default(),
    }
}

/// tpcb-like beside a transaction with exception blocks, and alone.
fn exceptions() -> [Workload; 2] {
    const ALONE: &str = "exceptions-none";
    let workload = |name: &str, title: &str, beside, flat| Workload {
        name: name.to_owned(),
        title: title.to_owned(),
        load: Load::Pgbench {
            script: Script::Builtin("tpcb-like"),
            mode: "prepared",
            rows_per_transaction: 1,
        },
        data: Data::PgbenchChanged,
        clients: 16,
        target_to_postgresql: None,
        target_to_noop: None,
        section: Section::Triggers,
        group: ALONE.to_owned(),
        flat,
        conditions: Conditions { beside, ..Conditions::default() },
    };
    [
        workload(ALONE, "tpcb-like, 16 clients", None, None),
        workload(
            "exceptions-100000",
            "tpcb-like beside a transaction with 100,000 exception blocks, 16 clients",
            Some(Beside::ExceptionBlocks(100_000)),
            Some(Flat { name: ALONE.to_owned(), target: 0.97 }),
        ),
    ]
}
