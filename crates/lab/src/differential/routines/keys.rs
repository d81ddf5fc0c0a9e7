//! Random foreign keys over random tables.
//!
//! A program makes a few tables, of one and of two key columns, some partitioned; foreign keys of
//! all kinds among them; and changes the tables, in transactions and by single statements. Actions
//! reach rows in any order, so that the notices of a statement are compared as a set.

use steppe_vfs::SeededRandom;

use super::expressions::Expressions;
use super::pieces::Piece;

const TABLES: [&str; 3] = ["p", "q", "r"];

/// What telling triggers run.
const TELL: &str = "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n  \
                    RAISE NOTICE '% % % old % new %', TG_WHEN, TG_OP, TG_TABLE_NAME, OLD, NEW;\n  \
                    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;\n  RETURN NEW;\nEND $$";

/// A program from a seed.
pub(super) fn program(random: &SeededRandom) -> Vec<Piece> {
    let make = Expressions::new(random);
    let mut program = Vec::new();
    for table in TABLES {
        for sql in make_table(&make, table) {
            program.push(Piece::line(sql));
        }
    }
    program.push(Piece::line(TELL));
    for number in 0..2 + make.below(4) {
        program.push(Piece::line(key(&make, number)).unordered());
        if number == 1 {
            for table in TABLES {
                program.push(Piece::line(fill(&make, table)).unordered());
            }
        }
    }
    if make.chance(30) {
        program.push(Piece::line(format!(
            "CREATE TRIGGER tell {} INSERT OR UPDATE OR DELETE ON {} FOR EACH ROW EXECUTE FUNCTION tell()",
            make.pick(&["BEFORE", "AFTER"]),
            make.pick(&TABLES)
        )));
    }
    for _ in 0..12 {
        let sql = match make.below(14) {
            0 => alteration(&make),
            1 | 2 => {
                let statements: Vec<String> =
                    (0..1 + make.below(4)).map(|_| change(&make)).collect();
                let deferred = make.pick(&["", "", "SET CONSTRAINTS ALL DEFERRED; "]);
                let at_end = make.pick(&["", "", "SET CONSTRAINTS ALL IMMEDIATE; "]);
                format!("BEGIN; {deferred}{}; {at_end}COMMIT", statements.join("; "))
            }
            3 => format!(
                "DO $$\nBEGIN\n  {};\n  {};\nEXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM;\nEND $$",
                change(&make),
                change(&make)
            ),
            _ => change(&make),
        };
        let ends = sql.starts_with("BEGIN");
        program.push(Piece::line(sql).unordered());
        if ends {
            // After an error the transaction is still there.
            program.push(Piece::line("ROLLBACK").unordered());
        }
        if make.chance(40) {
            program.push(Piece::line(format!("SELECT * FROM {} ORDER BY id", make.pick(&TABLES))));
        }
    }
    for table in TABLES {
        program.push(Piece::line(format!("SELECT * FROM {table} ORDER BY id")));
    }
    program.push(Piece::line(
        "SELECT conname, conrelid::regclass, pg_get_constraintdef(c.oid), condeferrable, condeferred, \
         convalidated FROM pg_constraint c JOIN pg_namespace n ON n.oid = connamespace \
         WHERE nspname = 'world' AND contype = 'f' AND conparentid = 0 ORDER BY conname, 2",
    ));
    program
}

fn make_table(make: &Expressions<'_>, table: &str) -> Vec<String> {
    let columns = "x int DEFAULT 2, y int DEFAULT 1, c text";
    match make.below(4) {
        0 => vec![
            format!(
                "CREATE TABLE {table} (id int, {columns}, PRIMARY KEY (id), UNIQUE (id, x)) PARTITION BY RANGE (id)"
            ),
            format!(
                "CREATE TABLE {table}_low PARTITION OF {table} FOR VALUES FROM (MINVALUE) TO (3)"
            ),
            format!(
                "CREATE TABLE {table}_high PARTITION OF {table} FOR VALUES FROM (3) TO (MAXVALUE)"
            ),
        ],
        1 => vec![
            format!("CREATE TABLE {table} (id int PRIMARY KEY, {columns}, UNIQUE (id, x))"),
            format!("CREATE INDEX ON {table} (y)"),
        ],
        _ => vec![format!("CREATE TABLE {table} (id int PRIMARY KEY, {columns}, UNIQUE (id, x))")],
    }
}

fn fill(make: &Expressions<'_>, table: &str) -> String {
    let rows: Vec<String> = (1..=5)
        .map(|id| {
            let value = |_| match make.below(4) {
                0 => "NULL".to_owned(),
                _ => (1 + make.below(4)).to_string(),
            };
            let [x, y] = [0, 1].map(value);
            format!("({id}, {x}, {y}, '{table}')")
        })
        .collect();
    format!("INSERT INTO {table} VALUES {}", rows.join(", "))
}

fn action(make: &Expressions<'_>, event: &str, columns: &[&str]) -> String {
    let list = match make.below(4) {
        0 if event == "DELETE" => format!(" ({})", make.pick(columns)),
        _ => String::new(),
    };
    match make.below(7) {
        0 => String::new(),
        1 => format!(" ON {event} RESTRICT"),
        2 => format!(" ON {event} SET NULL{list}"),
        3 => format!(" ON {event} SET DEFAULT{list}"),
        4 => format!(" ON {event} NO ACTION"),
        _ => format!(" ON {event} CASCADE"),
    }
}

fn key(make: &Expressions<'_>, number: u64) -> String {
    let (child, parent) = (make.pick(&TABLES), make.pick(&TABLES));
    let (columns, referenced): (&[&str], &str) = match make.below(5) {
        0 => (&["y", "x"], "(id, x)"),
        1 => (&["y", "x"], "(id, x)"),
        2 => (&["x"], ""),
        _ => (&["y"], "(id)"),
    };
    let matching = make.pick(&["", "", " MATCH FULL", " MATCH SIMPLE"]);
    let (delete, update) = (action(make, "DELETE", columns), action(make, "UPDATE", columns));
    let timing = make.pick(&[
        "",
        "",
        " DEFERRABLE",
        " DEFERRABLE INITIALLY DEFERRED",
        " INITIALLY IMMEDIATE",
        " NOT VALID",
    ]);
    format!(
        "ALTER TABLE {child} ADD CONSTRAINT k{number} FOREIGN KEY ({}) REFERENCES {parent} {referenced}{matching}{delete}{update}{timing}",
        columns.join(", ")
    )
}

fn alteration(make: &Expressions<'_>) -> String {
    let (table, name) = (make.pick(&TABLES), format!("k{}", make.below(4)));
    match make.below(6) {
        0 => format!("ALTER TABLE {table} VALIDATE CONSTRAINT {name}"),
        1 => format!("ALTER TABLE {table} DROP CONSTRAINT {name}"),
        2 => format!(
            "ALTER TABLE {table} ALTER CONSTRAINT {name} {}",
            make.pick(&["DEFERRABLE", "NOT DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED"])
        ),
        3 => format!("TRUNCATE {table}{}", make.pick(&["", " CASCADE"])),
        4 => format!("DROP TABLE {table}_low"),
        _ => key(make, 7),
    }
}

fn change(make: &Expressions<'_>) -> String {
    let table = make.pick(&TABLES);
    let id = 1 + make.below(7);
    let value = |_| match make.below(6) {
        0 => "NULL".to_owned(),
        1 => "DEFAULT".to_owned(),
        _ => (1 + make.below(6)).to_string(),
    };
    let [x, y] = [0, 1].map(value);
    match make.below(12) {
        0..3 => format!("INSERT INTO {table} VALUES ({id}, {x}, {y}, 'n')"),
        3 => format!(
            "INSERT INTO {table} (id, y) VALUES ({id}, {y}), ({}, {id})",
            10 + make.below(5)
        ),
        4 => format!("UPDATE {table} SET y = {y} WHERE id = {id}"),
        5 => format!("UPDATE {table} SET x = {x}, y = {y} WHERE id = {id}"),
        6 => format!("UPDATE {table} SET id = {} WHERE id = {id}", 1 + make.below(12)),
        7 => format!("UPDATE {table} SET x = {x} WHERE id >= {id}"),
        8 => format!("UPDATE {table} SET id = id + 10 WHERE id > {id}"),
        9 => format!("DELETE FROM {table} WHERE id > {id}"),
        10 => format!(
            "INSERT INTO {table} VALUES ({id}, {x}, {y}) ON CONFLICT (id) DO UPDATE SET y = excluded.y"
        ),
        _ => format!("DELETE FROM {table} WHERE id = {id}"),
    }
}
