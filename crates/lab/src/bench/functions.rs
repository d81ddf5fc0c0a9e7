//! Functions: the forms of a published experiment, and programs that compute.
//!
//! * The forms (the functions of a published comparison of fast query shipping and sub-queries in
//!   Postgres-XL): a statement within a PL/pgSQL function, static or dynamic, beside the same
//!   statement sent by the client. Each runs over a plain table and over 6,400 hash leaves. The
//!   forms that set a parameter of Postgres-XL are left out: PostgreSQL has no such parameter.
//! * Programs in PL/pgSQL from one client: a loop of additions, strings, an array, recursion, a
//!   cursor. A condition that calls a function in SQL is measured beside the condition written out.

use std::fmt::Write;

use super::workload::{Conditions, Data, Flat, Load, Script, Section, Workload};

/// Accounts of the forms.
const ACCOUNTS: u32 = 100_000;
/// Leaves of the partitioned tables.
const LEAVES: u32 = 6400;
/// Steppe's least rate, relative to the bare statement's.
const TO_BARE: f64 = 0.75;
/// Steppe's least rate over leaves, relative to that over a plain table.
const TO_PLAIN: f64 = 0.95;

/// A kind of statement: the statement itself, and the name of the function that has it.
pub(super) struct Family {
    pub(super) word: &'static str,
    /// The statement that a client sends itself.
    pub(super) bare: &'static str,
    /// The function's call, without its last argument: the option.
    pub(super) call: &'static str,
    /// The options, and whether each is measured over leaves, too.
    pub(super) options: &'static [(u32, bool)],
}

pub(super) const FAMILIES: [Family; 7] = [
    Family {
        word: "update",
        bare: "UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid",
        call: "func_update(:aid, :delta",
        options: &[(1, false), (2, false), (3, true), (4, true), (5, false)],
    },
    Family {
        word: "insert",
        bare: "INSERT INTO messages VALUES (:aid, :aid2, now())",
        call: "func_insert(:aid, :aid2",
        options: &[(1, true), (2, true)],
    },
    Family {
        word: "upsert",
        bare: "INSERT INTO accounts (aid) VALUES (:aid) \
               ON CONFLICT (aid) DO UPDATE SET abalance = EXCLUDED.abalance + 1",
        call: "func_insert(:aid, :aid2",
        options: &[(3, false), (4, true)],
    },
    Family {
        word: "select",
        bare: "SELECT aid, bid, abalance FROM accounts WHERE aid = :aid",
        call: "func_select(:aid",
        options: &[(1, false), (2, true), (3, true), (4, false), (5, false)],
    },
    Family {
        word: "join",
        bare: "SELECT a.aid, a.bid, a.abalance FROM accounts a LEFT JOIN messages b \
               ON a.aid = b.l_aid WHERE a.aid = :aid",
        call: "func_select_join(:aid",
        options: &[(1, true), (2, false), (3, false)],
    },
    Family {
        word: "join-other",
        bare: "SELECT a.aid, a.bid, a.abalance FROM accounts a LEFT JOIN messages b \
               ON a.aid = b.r_aid WHERE a.aid = :aid",
        call: "func_select_join(:aid",
        options: &[(11, false)],
    },
    Family {
        word: "delete",
        bare: "DELETE FROM messages WHERE l_aid = :aid",
        call: "func_delete(:aid",
        options: &[(1, false), (2, true)],
    },
];

impl Family {
    fn function(&self) -> &'static str {
        self.call.split('(').next().unwrap_or_default()
    }
}

/// All workloads of functions.
pub(super) fn workloads() -> Vec<Workload> {
    let mut all: Vec<Workload> = FAMILIES.iter().flat_map(forms).collect();
    all.extend(programs());
    all
}

/// The workloads of a family: the bare statement first.
fn forms(family: &Family) -> Vec<Workload> {
    let bare = format!("functions-{}", family.word);
    let statement = |statement: String, title: &str, name: &str, leaves| Workload {
        name: name.to_owned(),
        title: format!("{}, {title}, 32 clients", family.word),
        load: Load::Pgbench {
            script: Script::Custom(
                format!(
                    "\\set aid random(1, {ACCOUNTS})\n\\set aid2 random(1, {ACCOUNTS})\n\
                     \\set delta random(-5000, 5000)\n{statement};\n"
                )
                .into(),
            ),
            mode: "prepared",
            rows_per_transaction: 1,
        },
        data: tables(leaves, family.word == "delete"),
        clients: 32,
        target_to_postgresql: None,
        target_to_noop: None,
        section: Section::Functions,
        group: bare.clone(),
        flat: None,
        conditions: Conditions::default(),
    };
    let mut all = vec![statement(family.bare.to_owned(), "sent by the client", &bare, 0)];
    for (option, over_leaves) in family.options {
        let name = format!("{bare}-{option}");
        let call = |suffix: &str| {
            let function = family.function();
            let arguments = &family.call[function.len()..];
            format!("SELECT * FROM {function}{suffix}{arguments}, {option})")
        };
        all.push(Workload {
            target_to_postgresql: Some(2.0),
            flat: Some(Flat { name: bare.clone(), target: TO_BARE }),
            ..statement(call(""), &format!("in a function, option {option}"), &name, 0)
        });
        if *over_leaves {
            let (title, suffix) = (format!("option {option} over {LEAVES} leaves"), HASHED);
            all.push(Workload {
                flat: Some(Flat { name: name.clone(), target: TO_PLAIN }),
                ..statement(call(suffix), &title, &format!("{name}-leaves"), LEAVES)
            });
        }
    }
    all
}

/// The end of the names of the partitioned tables and their functions.
const HASHED: &str = "_hashed";

/// The tables and the functions of the forms. `is_emptied`: the workload deletes rows, so that each run
/// must find them again. (A DELETE that finds nothing takes a third of the time.)
fn tables(leaves: u32, is_emptied: bool) -> Data {
    let hashed = leaves > 0;
    let (by_aid, by_l_aid) = match hashed {
        true => (" PARTITION BY HASH (aid)", " PARTITION BY HASH (l_aid)"),
        false => ("", ""),
    };
    let suffix = if hashed { HASHED } else { "" };
    let mut script = format!(
        "CREATE TABLE accounts (aid integer PRIMARY KEY, bid integer, abalance integer, \
         filler character(84)){by_aid};\n\
         CREATE TABLE messages (l_aid integer, r_aid integer, ctime timestamp DEFAULT now())\
         {by_l_aid};\n\
         CREATE INDEX messages_l ON messages (l_aid);\n\
         CREATE INDEX messages_r ON messages (r_aid);\n"
    );
    for (n, table) in (0..leaves).flat_map(|n| [(n, "accounts"), (n, "messages")]) {
        // Writing to a String cannot fail.
        let _ = writeln!(
            script,
            "CREATE TABLE {table}_{n} PARTITION OF {table} \
             FOR VALUES WITH (MODULUS {leaves}, REMAINDER {n});"
        );
    }
    let messages = format!(
        "INSERT INTO messages SELECT 1 + i % {ACCOUNTS}, 1 + i * 7 % {ACCOUNTS} \
         FROM generate_series(1, {}) AS i;\n",
        ACCOUNTS / 5 * 6
    );
    let _ = write!(
        script,
        "INSERT INTO accounts SELECT i, 1, 0, '' FROM generate_series(1, {ACCOUNTS}) AS i;\n\
         {messages}ANALYZE accounts;\nANALYZE messages;\n{FUNCTIONS}"
    );
    let mut refill = format!("DELETE FROM messages;\n{messages}");
    for family in &FAMILIES {
        let function = family.function();
        script = script.replace(&format!("{function}("), &format!("{function}{suffix}("));
    }
    for text in [&mut script, &mut refill] {
        for table in ["accounts", "messages"] {
            *text = text.replace(table, &format!("{table}{suffix}"));
        }
    }
    let name = if hashed { "functions-hashed" } else { "functions" };
    Data::Made { name, create: script, leaves, refill: is_emptied.then_some(refill) }
}

/// The functions as published, but for the names of the tables and the options of Postgres-XL.
pub(super) const FUNCTIONS: &str = "\
CREATE FUNCTION func_update(p_aid integer, p_abalance integer, opt integer) RETURNS void AS $$
BEGIN
    IF opt = 1 THEN
        EXECUTE 'UPDATE accounts SET abalance = abalance + ' || p_abalance || ' WHERE aid = ' || p_aid; --
    ELSIF opt = 2 THEN
        EXECUTE 'UPDATE accounts SET abalance = abalance + $1 WHERE aid = ' || p_aid USING p_abalance; --
    ELSIF opt = 3 THEN
        UPDATE accounts SET abalance = abalance + p_abalance WHERE aid = p_aid; --
    ELSIF opt = 4 THEN
        EXECUTE 'UPDATE accounts SET abalance = abalance + $1 WHERE aid = $2' USING p_abalance, p_aid; --
    ELSIF opt = 5 THEN
        UPDATE accounts SET abalance = (SELECT abalance + p_abalance) WHERE aid = p_aid; --
    END IF; --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION func_insert(p_aid integer, p_aid2 integer, opt integer) RETURNS void AS $$
DECLARE tms timestamp; --
BEGIN
    IF opt = 1 THEN
        tms := now(); --
        INSERT INTO messages VALUES (p_aid, p_aid2, tms); --
    ELSIF opt = 2 THEN
        INSERT INTO messages VALUES (p_aid, p_aid2, now()); --
    ELSIF opt = 3 THEN
        INSERT INTO accounts (aid) VALUES (p_aid) ON CONFLICT DO NOTHING; --
    ELSIF opt = 4 THEN
        INSERT INTO accounts (aid) VALUES (p_aid) ON CONFLICT (aid) DO UPDATE SET abalance = EXCLUDED.abalance + 1; --
    END IF; --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION func_select(p_aid integer, opt integer) RETURNS TABLE (r_aid integer, r_bid integer, r_abalance integer) AS $$
DECLARE ui_row accounts%ROWTYPE; --
BEGIN
    IF opt = 1 THEN
        EXECUTE 'SELECT * FROM accounts WHERE aid = ' || p_aid INTO ui_row; --
    ELSIF opt = 2 THEN
        SELECT * INTO ui_row FROM accounts WHERE aid = p_aid; --
    ELSIF opt = 3 THEN
        EXECUTE 'SELECT * FROM accounts WHERE aid = $1' INTO ui_row USING p_aid; --
    ELSIF opt = 4 THEN
        EXECUTE 'SELECT * FROM (SELECT * FROM accounts WHERE aid = $1) a' INTO ui_row USING p_aid; --
    ELSIF opt = 5 THEN
        SELECT * INTO ui_row FROM (SELECT * FROM accounts WHERE aid = p_aid) a; --
    END IF; --
    RETURN QUERY SELECT ui_row.aid, ui_row.bid, ui_row.abalance; --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION func_select_join(p_aid integer, opt integer) RETURNS TABLE (r_aid integer, r_bid integer, r_abalance integer) AS $$
DECLARE ui_row accounts%ROWTYPE; --
BEGIN
    IF opt = 1 THEN
        SELECT a.* INTO ui_row FROM accounts a LEFT JOIN messages b ON a.aid = b.l_aid WHERE a.aid = p_aid; --
    ELSIF opt = 2 THEN
        EXECUTE 'SELECT * FROM (SELECT a.* FROM accounts a LEFT JOIN messages b ON a.aid = b.l_aid WHERE a.aid = ' || p_aid || ') t' INTO ui_row; --
    ELSIF opt = 3 THEN
        EXECUTE 'SELECT * FROM (SELECT a.* FROM accounts a LEFT JOIN messages b ON a.aid = b.l_aid WHERE a.aid = $1) t' INTO ui_row USING p_aid; --
    ELSIF opt = 11 THEN
        EXECUTE 'SELECT a.* FROM accounts a LEFT JOIN messages b ON a.aid = b.r_aid WHERE a.aid = $1' INTO ui_row USING p_aid; --
    END IF; --
    RETURN QUERY SELECT ui_row.aid, ui_row.bid, ui_row.abalance; --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION func_delete(p_aid integer, opt integer) RETURNS void AS $$
BEGIN
    IF opt = 1 THEN
        EXECUTE 'DELETE FROM messages WHERE l_aid = ' || p_aid; --
    ELSIF opt = 2 THEN
        DELETE FROM messages WHERE l_aid = p_aid; --
    END IF; --
END $$ LANGUAGE plpgsql;
";

/// A program that one client runs again and again.
struct Program {
    name: &'static str,
    title: &'static str,
    /// The statement, and how many steps it counts for.
    statement: &'static str,
    steps: u64,
    to_postgresql: Option<f64>,
    /// The program that it is compared with, and Steppe's least rate, relative to that one.
    flat: Option<(&'static str, f64)>,
}

const PROGRAMS: [Program; 7] = [
    Program {
        name: "loop",
        title: "a loop of additions",
        statement: "SELECT program_loop(1000000)",
        steps: 1_000_000,
        to_postgresql: Some(3.0),
        flat: None,
    },
    Program {
        name: "string",
        title: "building a string",
        statement: "SELECT length(program_string(20000))",
        steps: 20_000,
        to_postgresql: Some(3.0),
        flat: None,
    },
    Program {
        name: "array",
        title: "filling an array",
        statement: "SELECT program_array(100000)",
        steps: 100_000,
        to_postgresql: Some(3.0),
        flat: None,
    },
    Program {
        name: "fib",
        title: "fib(20), recursive",
        statement: "SELECT program_fib(20)",
        steps: 21_891,
        to_postgresql: Some(3.0),
        flat: None,
    },
    Program {
        name: "cursor",
        title: "a loop over a cursor",
        statement: "SELECT program_cursor()",
        steps: 1_000_000,
        to_postgresql: Some(3.0),
        flat: None,
    },
    Program {
        name: "written-out",
        title: "a condition written out",
        statement: "SELECT count(*) FROM program_rows WHERE n * 7 % 100 = 3",
        steps: 1_000_000,
        to_postgresql: None,
        flat: None,
    },
    Program {
        name: "inlined",
        title: "the condition as a function in SQL",
        statement: "SELECT count(*) FROM program_rows WHERE program_class(n) = 3",
        steps: 1_000_000,
        to_postgresql: None,
        flat: Some(("functions-written-out", 1.0)),
    },
];

/// The tables and functions of the programs.
const PROGRAM_OBJECTS: &str = "\
CREATE TABLE program_rows AS SELECT i AS n FROM generate_series(1, 1000000) AS i;
ANALYZE program_rows;
CREATE FUNCTION program_loop(times integer) RETURNS bigint AS $$
DECLARE total bigint := 0; --
BEGIN
    FOR i IN 1..times LOOP
        total := total + i; --
    END LOOP; --
    RETURN total; --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION program_string(times integer) RETURNS text AS $$
DECLARE built text := ''; --
BEGIN
    FOR i IN 1..times LOOP
        built := built || 'x'; --
    END LOOP; --
    RETURN built; --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION program_array(size integer) RETURNS integer AS $$
DECLARE filled integer[] := '{}'; --
BEGIN
    FOR i IN 1..size LOOP
        filled[i] := i; --
    END LOOP; --
    RETURN cardinality(filled); --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION program_fib(n integer) RETURNS integer AS $$
BEGIN
    IF n < 2 THEN
        RETURN n; --
    END IF; --
    RETURN program_fib(n - 1) + program_fib(n - 2); --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION program_cursor() RETURNS bigint AS $$
DECLARE
    total bigint := 0; --
    one record; --
    rows CURSOR FOR SELECT n FROM program_rows; --
BEGIN
    FOR one IN rows LOOP
        total := total + one.n; --
    END LOOP; --
    RETURN total; --
END $$ LANGUAGE plpgsql;
CREATE FUNCTION program_class(n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT n * 7 % 100';
";

fn programs() -> impl Iterator<Item = Workload> {
    PROGRAMS.iter().map(|program| {
        let name = format!("functions-{}", program.name);
        let flat = program.flat.map(|(name, target)| Flat { name: name.to_owned(), target });
        Workload {
            group: flat.as_ref().map_or(name.clone(), |flat| flat.name.clone()),
            name,
            title: format!("{}, 1 client", program.title),
            load: Load::Pgbench {
                script: Script::Custom(format!("{};\n", program.statement).into()),
                mode: "prepared",
                rows_per_transaction: program.steps,
            },
            data: Data::Made {
                name: "functions-programs",
                create: PROGRAM_OBJECTS.to_owned(),
                leaves: 0,
                refill: None,
            },
            clients: 1,
            target_to_postgresql: program.to_postgresql,
            target_to_noop: None,
            section: Section::Functions,
            flat,
            conditions: Conditions::default(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leaves_have_functions_of_their_own() {
        let Data::Made { create, refill, .. } = tables(2, true) else {
            panic!("the tables are made")
        };
        assert!(create.contains("func_update_hashed(p_aid"));
        assert!(create.contains("UPDATE accounts_hashed SET"));
        assert!(create.contains("func_select_join_hashed(p_aid"));
        assert!(refill.expect("rows are deleted").contains("DELETE FROM messages_hashed;"));
        assert!(!create.contains("hashed_hashed"));
        let names: Vec<String> = workloads().into_iter().map(|w| w.name).collect();
        assert!(names.contains(&"functions-update-3-leaves".to_owned()));
    }
}
