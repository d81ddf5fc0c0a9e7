//! Random foreign keys over random tables.
//!
//! A program makes three tables, some of them partitioned, and foreign keys of all kinds among them.
//! It changes the tables in transactions and by single statements. Actions reach rows in any order,
//! so that the notices of a statement are compared as a set.
//!
//! PostgreSQL before 18 has another SQLSTATE for RESTRICT, other names of the copies of keys to
//! partitioned tables, and no NOT VALID on partitioned tables; programs for it have none of these.

use steppe_vfs::SeededRandom;

use super::expressions::Expressions;
use super::pieces::Piece;

const TABLES: [&str; 3] = ["p", "q", "r"];

/// The function of triggers that tell of each row.
const TELL: &str = "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n  \
                    RAISE NOTICE '% % % old % new %', TG_WHEN, TG_OP, TG_TABLE_NAME, OLD, NEW;\n  \
                    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;\n  RETURN NEW;\nEND $$";

/// The first major version that has all of this as Steppe has it.
const NEWEST: u32 = 18;

/// A program from a seed, for a version of PostgreSQL.
pub(super) fn program(random: &SeededRandom, major: u32) -> Vec<Piece> {
    let (make, is_newest) = (Expressions::new(random), major >= NEWEST);
    let mut program = Vec::new();
    for table in TABLES {
        for sql in make_table(&make, table, is_newest || table == "r") {
            program.push(Piece::line(sql));
        }
    }
    program.push(Piece::line(TELL));
    for number in 0..2 + make.below(4) {
        program.push(Piece::line(key(&make, number, is_newest)).unordered());
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
            0 => alteration(&make, is_newest),
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

fn make_table(make: &Expressions<'_>, table: &str, may_be_partitioned: bool) -> Vec<String> {
    let columns = "x int DEFAULT 2, y int DEFAULT 1, c text";
    match make.below(4) {
        0 if may_be_partitioned => vec![
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

fn key(make: &Expressions<'_>, number: u64, is_newest: bool) -> String {
    let parents = if is_newest { &TABLES[..] } else { &TABLES[..2] };
    let (child, parent) = (make.pick(&TABLES), make.pick(parents));
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
    let sql = format!(
        "ALTER TABLE {child} ADD CONSTRAINT k{number} FOREIGN KEY ({}) REFERENCES {parent} {referenced}{matching}{delete}{update}{timing}",
        columns.join(", ")
    );
    match is_newest {
        true => sql,
        false => sql.replace(" RESTRICT", " NO ACTION").replace(" NOT VALID", ""),
    }
}

fn alteration(make: &Expressions<'_>, is_newest: bool) -> String {
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
        _ => key(make, 7, is_newest),
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
