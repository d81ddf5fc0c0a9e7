//! Random triggers over random tables.
//!
//! A program makes two tables, a few trigger functions and a few triggers, among them triggers on
//! a view and on partitions, and then changes the tables row by row and by statements of several
//! rows. The functions tell all that they see; some change NEW, some skip the row, some write to
//! the other table, some fail.

use steppe_vfs::SeededRandom;

use super::expressions::Expressions;
use super::pieces::Piece;

const TABLES: &[&str] = &[
    "CREATE TABLE t1 (id int PRIMARY KEY, a int, c text DEFAULT 'def')",
    "CREATE TABLE t2 (id int PRIMARY KEY, a int NOT NULL, c text)",
    "CREATE TABLE log (n int, what text)",
    "CREATE VIEW v1 AS SELECT id, a, c FROM t1 WHERE id > 0",
    "INSERT INTO t1 VALUES (1, 1, 'one'), (2, 2, 'two'), (3, NULL, NULL)",
    "INSERT INTO t2 VALUES (1, 10, 'x'), (2, 20, 'y')",
];

const PARTITIONED: &str = "CREATE TABLE t1 (id int PRIMARY KEY, a int, c text DEFAULT 'def') \
     PARTITION BY RANGE (id);\n\
     CREATE TABLE t1_low PARTITION OF t1 FOR VALUES FROM (MINVALUE) TO (3);\n\
     CREATE TABLE t1_high PARTITION OF t1 FOR VALUES FROM (3) TO (MAXVALUE)";

/// The first statement of all trigger functions.
const TELL: &str = "RAISE NOTICE '% % % % % % % % depth %', TG_NAME, TG_WHEN, TG_LEVEL, TG_OP, \
                    TG_TABLE_NAME, TG_NARGS, TG_ARGV[0], TG_TABLE_SCHEMA = 'world', \
                    pg_trigger_depth();";

/// A program from a seed.
pub(super) fn program(random: &SeededRandom) -> Vec<Piece> {
    let mut make = Expressions::new(random);
    make.has_variables = false;
    let partitioned = make.chance(25);
    let mut program: Vec<Piece> = Vec::new();
    for (number, sql) in TABLES.iter().enumerate() {
        let sql = if number == 0 && partitioned { PARTITIONED } else { *sql };
        program.extend(sql.split(";\n").map(Piece::line));
    }
    for number in 1..=3 {
        program.push(row_function(&make, number));
    }
    program.push(statement_function(&make));
    for number in 0..3 + make.below(4) {
        program.push(Piece::line(trigger(&make, number)));
    }
    for _ in 0..8 {
        if make.chance(10) {
            program.push(Piece::line(alteration(&make)));
        }
        program.push(Piece::line(change(&make)));
        if make.chance(25) {
            program.push(Piece::line("SELECT * FROM log ORDER BY n, what"));
        }
    }
    for table in ["t1", "t2"] {
        program.push(Piece::line(format!("SELECT * FROM {table} ORDER BY id")));
    }
    program.push(Piece::line("SELECT tgname, tgenabled FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid \
         JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'world' ORDER BY relname, tgname"));
    program
}

fn row_function(make: &Expressions<'_>, number: u64) -> Piece {
    let mut body = vec![Piece::line(TELL)];
    body.push(Piece::line("RAISE NOTICE 'old % new %', OLD, NEW;"));
    for _ in 0..1 + make.below(3) {
        body.push(action(make));
    }
    let result = match make.below(6) {
        0 => "RETURN NULL;",
        1 => "RETURN OLD;",
        2 => "RETURN NEW;",
        _ => "IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;\nRETURN NEW;",
    };
    body.push(Piece::line(result).needed());
    let body = vec![
        Piece::line("BEGIN").needed(),
        Piece::around("", body, ""),
        Piece::line("END").needed(),
    ];
    Piece::around(
        format!("CREATE FUNCTION rf{number}() RETURNS trigger LANGUAGE plpgsql AS $$"),
        body,
        "$$",
    )
}

/// One thing that a row function does.
fn action(make: &Expressions<'_>) -> Piece {
    let id = make.below(8);
    match make.below(12) {
        0 => Piece::line(format!("IF TG_OP <> 'DELETE' THEN NEW.a := {}; END IF;", make.integer(1))),
        1 => Piece::line("IF TG_OP <> 'DELETE' THEN NEW.c := NEW.c || '!'; END IF;"),
        2 => Piece::line("IF TG_OP = 'UPDATE' THEN NEW.id := OLD.id; END IF;"),
        3 => Piece::line(format!("IF NEW.a > {} THEN RETURN NULL; END IF;", make.below(6))),
        4 => Piece::line(format!(
            "IF NEW.id = {id} THEN RAISE EXCEPTION 'no %', NEW.id USING DETAIL = TG_NAME; END IF;"
        )),
        5 => Piece::line("INSERT INTO log VALUES (pg_trigger_depth(), TG_NAME);"),
        6 => Piece::line(format!(
            "IF pg_trigger_depth() < 3 THEN UPDATE t2 SET a = a + 1 WHERE id = {id}; END IF;"
        )),
        7 => Piece::line(format!(
            "IF pg_trigger_depth() < 3 THEN INSERT INTO t2 VALUES ({id}, {}, TG_NAME) ON CONFLICT DO NOTHING; END IF;",
            make.integer(1)
        )),
        8 => Piece::line(format!("IF pg_trigger_depth() < 3 THEN DELETE FROM t1 WHERE id = {id}; END IF;")),
        9 => Piece::around(
            "BEGIN",
            vec![
                Piece::line(format!("INSERT INTO t2 VALUES ({id}, {}, 'tried');", make.integer(1))),
                Piece::line("EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'trigger % caught %', TG_NAME, SQLERRM;").needed(),
            ],
            "END;",
        ),
        10 => Piece::line(
            "RAISE NOTICE 'sees % rows, sum %', (SELECT count(*) FROM t1), (SELECT sum(a) FROM t1);",
        ),
        _ => Piece::line("IF OLD IS DISTINCT FROM NEW THEN RAISE NOTICE 'changed % to %', OLD.a, NEW.a; END IF;"),
    }
}

fn statement_function(make: &Expressions<'_>) -> Piece {
    let mut body = vec![
        Piece::line("BEGIN").needed(),
        Piece::line(format!("  {TELL}")),
        Piece::line("  RAISE NOTICE 'count %', (SELECT count(*) FROM t1);"),
    ];
    if make.chance(40) {
        body.push(Piece::line("  INSERT INTO log VALUES (0, TG_NAME || TG_OP);"));
    }
    if make.chance(10) {
        body.push(Piece::line("  RAISE EXCEPTION 'statement %', TG_OP;"));
    }
    body.push(Piece::line("  RETURN NULL;").needed());
    body.push(Piece::line("END").needed());
    let second = "\nCREATE FUNCTION olds() RETURNS trigger LANGUAGE plpgsql AS $x$\nDECLARE r record;\nBEGIN\n  \
                  FOR r IN SELECT * FROM o ORDER BY id LOOP RAISE NOTICE '% was %', TG_NAME, r; END LOOP;\n  \
                  RETURN NULL;\nEND $x$;\n\
                  CREATE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $x$\nBEGIN\n  \
                  RAISE NOTICE '% now %', TG_NAME, (SELECT array_agg(n.* ORDER BY id) FROM n);\n  \
                  RETURN NULL;\nEND $x$";
    Piece::around(
        "CREATE FUNCTION sf() RETURNS trigger LANGUAGE plpgsql AS $$",
        body,
        format!("$$;{second}"),
    )
    .needed()
}

fn trigger(make: &Expressions<'_>, number: u64) -> String {
    // Names whose order is not that of their making.
    let name = format!("tg_{}{number}", make.pick(&["b", "a", "c"]));
    let table = make.pick(&["t1", "t1", "t1", "t2"]);
    let event = make.pick(&[
        "INSERT",
        "UPDATE",
        "DELETE",
        "INSERT OR UPDATE",
        "INSERT OR UPDATE OR DELETE",
        "UPDATE OF a",
        "UPDATE OF c OR DELETE",
    ]);
    let function = format!("rf{}({})", 1 + make.below(3), make.pick(&["", "'arg'", "7, 'b'"]));
    let when = match make.below(6) {
        0 if event == "INSERT" => "WHEN (NEW.a IS NOT NULL) ",
        1 if event == "UPDATE" => "WHEN (OLD.* IS DISTINCT FROM NEW.*) ",
        2 if event == "UPDATE OF a" => "WHEN (OLD.a < NEW.a) ",
        3 if event == "DELETE" => "WHEN (OLD.id > 1) ",
        _ => "",
    };
    match make.below(10) {
        0..3 => format!(
            "CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW {when}EXECUTE FUNCTION {function}"
        ),
        3..6 => format!(
            "CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW {when}EXECUTE FUNCTION {function}"
        ),
        6 => format!(
            "CREATE TRIGGER {name} {} {event} ON {table} FOR EACH STATEMENT EXECUTE FUNCTION sf()",
            make.pick(&["BEFORE", "AFTER"])
        ),
        7 => match make.below(2) {
            0 => format!(
                "CREATE TRIGGER {name} AFTER {} ON {table} REFERENCING OLD TABLE AS o \
                 FOR EACH STATEMENT EXECUTE FUNCTION olds()",
                make.pick(&["UPDATE", "DELETE"])
            ),
            _ => format!(
                "CREATE TRIGGER {name} AFTER {} ON {table} REFERENCING NEW TABLE AS n \
                 FOR EACH STATEMENT EXECUTE FUNCTION news()",
                make.pick(&["UPDATE", "INSERT"])
            ),
        },
        8 => format!(
            "CREATE CONSTRAINT TRIGGER {name} AFTER {event} ON {table} DEFERRABLE INITIALLY {} \
             FOR EACH ROW {when}EXECUTE FUNCTION {function}",
            make.pick(&["DEFERRED", "IMMEDIATE"])
        ),
        _ => format!(
            "CREATE TRIGGER {name} INSTEAD OF {} ON v1 FOR EACH ROW EXECUTE FUNCTION {function}",
            make.pick(&["INSERT", "UPDATE", "DELETE", "INSERT OR UPDATE OR DELETE"])
        ),
    }
}

fn alteration(make: &Expressions<'_>) -> String {
    let name = format!("tg_{}{}", make.pick(&["a", "b", "c"]), make.below(5));
    match make.below(5) {
        0 => format!(
            "ALTER TABLE t1 {} TRIGGER {name}",
            make.pick(&["DISABLE", "ENABLE ALWAYS", "ENABLE REPLICA"])
        ),
        1 => "ALTER TABLE t1 DISABLE TRIGGER USER".to_owned(),
        2 => "ALTER TABLE t1 ENABLE TRIGGER ALL".to_owned(),
        3 => format!("DROP TRIGGER IF EXISTS {name} ON t1"),
        _ => format!(
            "SET session_replication_role = {}",
            make.pick(&["replica", "origin", "origin"])
        ),
    }
}

fn change(make: &Expressions<'_>) -> String {
    let table = make.pick(&["t1", "t1", "t1", "t2", "v1"]);
    let id = make.below(8);
    let (a, c) = (make.integer(1), make.text(1));
    match make.below(12) {
        0 | 1 => format!("INSERT INTO {table} VALUES ({id}, {a}, {c}) RETURNING *"),
        2 => format!("INSERT INTO {table} (id, a) VALUES ({id}, 1), ({}, {a})", 8 + make.below(4)),
        3 => format!(
            "INSERT INTO t1 VALUES ({id}, {a}, 'new') ON CONFLICT {}",
            make.pick(&[
                "DO NOTHING",
                "(id) DO UPDATE SET a = excluded.a, c = t1.c || 'up' RETURNING *"
            ])
        ),
        4 | 5 => format!("UPDATE {table} SET a = {a} WHERE id = {id} RETURNING *"),
        6 => format!("UPDATE {table} SET c = {c} WHERE id > {}", id / 2),
        7 => format!("UPDATE {table} SET id = id + 10 WHERE id = {id}"),
        8 => format!("DELETE FROM {table} WHERE id = {id} RETURNING id"),
        9 => format!("DELETE FROM {table} WHERE id > {id}"),
        10 => "INSERT INTO t1 SELECT id + 20, a, c FROM t2 WHERE id > 0 ORDER BY id".to_owned(),
        _ => format!(
            "BEGIN; INSERT INTO {table} VALUES ({id}, 1); SAVEPOINT s; \
             UPDATE {table} SET a = {a} WHERE id = {id}; ROLLBACK TO s; COMMIT"
        ),
    }
}
