//! Random PL/pgSQL: functions that return a value, rows or nothing, procedures and DO blocks.
//!
//! A program makes two tables and a composite type, two small functions that others call, three
//! random routines, and calls each with several arguments. Every loop takes from a counter, `fuel`,
//! and ends when nothing is left; handlers do not give any back.

use steppe_vfs::SeededRandom;

use super::computing::DECLARATIONS;
use super::expressions::{Expressions, KINDS, Kind};
use super::pieces::Piece;

/// How deep statements nest.
const DEPTH: u32 = 3;
/// The turns that all loops of a call may take together.
const FUEL: u32 = 40;

/// The tables and types of all programs.
const WORLD: &[&str] = &[
    "CREATE TABLE t1 (id int PRIMARY KEY, a int, c text)",
    "CREATE TABLE t2 (id int PRIMARY KEY, a int CHECK (a < 100), c text NOT NULL UNIQUE)",
    "CREATE TYPE pair AS (x int, y text)",
    "INSERT INTO t1 VALUES (1, 4, 'one'), (2, NULL, 'two'), (3, 0, NULL), (4, 4, 'four')",
    "INSERT INTO t2 VALUES (1, 9, 'p'), (2, 3, 'q')",
    "CREATE FUNCTION h1(p int) RETURNS int LANGUAGE plpgsql AS $$\n\
     BEGIN\n  IF p > 5 THEN RAISE EXCEPTION 'h1 got %', p USING HINT = 'less'; END IF;\n  \
     RETURN p + 1;\nEND $$",
    "CREATE FUNCTION h2(p int) RETURNS int LANGUAGE sql AS 'SELECT p % 7 + 1'",
];

/// The names of conditions that handlers wait for.
const CONDITIONS: &[&str] = &[
    "division_by_zero",
    "unique_violation",
    "numeric_value_out_of_range",
    "no_data_found OR too_many_rows",
    "SQLSTATE 'P0001'",
    "raise_exception",
    "check_violation OR not_null_violation",
    "OTHERS",
    "OTHERS",
    "OTHERS",
    "data_exception",
    "SQLSTATE '22P02'",
    "case_not_found",
    "assert_failure",
];

/// The kind of a routine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Scalar(Kind),
    Rows,
    Procedure,
    Block,
}

/// A program from a seed.
pub(super) fn program(random: &SeededRandom) -> Vec<Piece> {
    let mut program: Vec<Piece> = WORLD.iter().map(|sql| Piece::line(*sql)).collect();
    let mut functions = vec!["h1".to_owned(), "h2".to_owned()];
    for number in 1..=3 {
        let mut writer = Writer::new(random, functions.clone());
        let form = match random.below(10) {
            0..5 => Form::Scalar(KINDS[random.below(6) as usize]),
            5 | 6 => Form::Rows,
            7 => Form::Procedure,
            _ => Form::Block,
        };
        writer.form = form;
        let name = format!("f{number}");
        program.push(writer.routine(&name));
        for _ in 0..3 {
            let (p, q) = (writer.make.literal(), writer.pick(&["NULL", "'arg'", "'5'"]));
            let call = match form {
                Form::Scalar(_) => format!("SELECT {name}({p}, {q})"),
                Form::Rows => format!("SELECT * FROM {name}({p}, {q})"),
                Form::Procedure => format!("CALL {name}({p}, {q})"),
                Form::Block => break,
            };
            program.push(Piece::line(call));
        }
        program.push(Piece::line("SELECT * FROM t1 ORDER BY id"));
        program.push(Piece::line("SELECT * FROM t2 ORDER BY id"));
        if form == Form::Scalar(Kind::Integer) {
            functions.push(format!("{name}c"));
            program.push(Piece::line(format!(
                "CREATE FUNCTION {name}c(p int) RETURNS int LANGUAGE sql AS 'SELECT {name}(p, ''c'')'"
            )));
        }
    }
    program
}

/// Writes the statements of one routine.
pub(super) struct Writer<'a> {
    pub(super) make: Expressions<'a>,
    form: Form,
    /// The loops and blocks around, and whether each is a loop.
    pub(super) labels: Vec<(String, bool)>,
    names: u32,
    in_handler: bool,
    /// Whether a statement may end the transaction: not below a block with a handler.
    may_commit: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(random: &'a SeededRandom, functions: Vec<String>) -> Writer<'a> {
        let mut make = Expressions::new(random);
        make.functions = functions;
        Writer {
            make,
            form: Form::Block,
            labels: Vec::new(),
            names: 0,
            in_handler: false,
            may_commit: true,
        }
    }

    pub(super) fn pick<'t>(&self, choices: &[&'t str]) -> &'t str {
        self.make.pick(choices)
    }

    pub(super) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn routine(&mut self, name: &str) -> Piece {
        let head = match self.form {
            Form::Scalar(kind) => format!(
                "CREATE FUNCTION {name}(p1 int, p2 text) RETURNS {} LANGUAGE plpgsql AS $$",
                kind.name()
            ),
            Form::Rows => format!(
                "CREATE FUNCTION {name}(p1 int, p2 text, OUT o1 int, OUT o2 text) \
                 RETURNS SETOF record LANGUAGE plpgsql AS $$"
            ),
            Form::Procedure => {
                format!("CREATE PROCEDURE {name}(p1 int, INOUT p2 text) LANGUAGE plpgsql AS $$")
            }
            Form::Block => "DO $$".to_owned(),
        };
        if self.form != Form::Block {
            self.make.integers.push("p1".to_owned());
            self.make.texts.push("p2".to_owned());
        }
        if self.form == Form::Rows {
            self.make.integers.push("o1".to_owned());
            self.make.texts.push("o2".to_owned());
        }
        let mut body = self.declarations();
        body.push(Piece::around("BEGIN", self.statements(DEPTH, 7), ""));
        if let Form::Scalar(kind) = self.form {
            let value = self.make.of(kind, 2);
            body.push(Piece::line(format!("  RETURN {value};")));
        }
        body.push(Piece::line("END"));
        Piece::around(head, body, "$$")
    }

    /// The variables that all programs have.
    pub(super) fn declarations(&self) -> Vec<Piece> {
        let mut lines = vec![Piece::line("DECLARE").needed()];
        lines.push(Piece::line(format!("  fuel int := {FUEL};")).needed());
        for kind in KINDS {
            for name in kind.variables() {
                // Only constants: a variable may not be declared yet.
                let value = match kind {
                    Kind::Integer => self.make.literal(),
                    Kind::Text => self.pick(&["NULL", "'start'", "''"]).to_owned(),
                    Kind::Numeric => self.pick(&["1.5", "NULL", "0"]).to_owned(),
                    Kind::Boolean => self.pick(&["true", "NULL", "false"]).to_owned(),
                    Kind::Integers => self.pick(&["'{1,2,3}'", "NULL", "'{}'"]).to_owned(),
                    Kind::Texts => self.pick(&["'{u,v}'", "NULL"]).to_owned(),
                };
                lines.push(Piece::line(format!("  {name} {} := {value};", kind.name())).needed());
            }
        }
        let more = [
            "  r1 t1%ROWTYPE;",
            "  r2 record;",
            "  k1 pair;",
            "  cu refcursor;",
            "  cb CURSOR (lo int) FOR SELECT * FROM t1 WHERE id > lo ORDER BY id;",
        ];
        lines.extend(more.map(Piece::line));
        lines.extend(DECLARATIONS.map(|line| Piece::line(line).needed()));
        lines
    }

    pub(super) fn statements(&mut self, depth: u32, most: u64) -> Vec<Piece> {
        let count = 1 + self.make.below(most);
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Piece {
        if depth > 0 && self.make.chance(40) {
            return match self.make.below(11) {
                8.. => self.computing(),
                0 | 1 => self.condition(depth - 1),
                2 => self.case(depth - 1),
                3 | 4 => self.any_loop(depth - 1),
                5 => self.query_loop(depth - 1),
                _ => self.block(depth - 1),
            };
        }
        match self.make.below(22) {
            0..6 => self.assignment(),
            6 | 7 => self.notice(),
            8 => self.raise(),
            9 | 10 => self.select_into(),
            11..14 => self.change(),
            14 => self.dynamic(),
            15 => self.diagnostics(),
            16 => self.cursor(),
            17 => self.leave(),
            18 => self.give(),
            19 => Piece::line(format!("ASSERT {}, {};", self.make.boolean(1), self.make.text(1))),
            20 => Piece::line(format!("PERFORM {};", self.make.integer(2))),
            _ => self.rare(),
        }
    }

    fn assignment(&self) -> Piece {
        let make = &self.make;
        Piece::line(match make.below(12) {
            0 => format!("a1[{}] := {};", make.below(6), make.integer(2)),
            1 => format!("a1[coalesce(i{}, 3) % 6] := {};", 1 + make.below(3), make.integer(1)),
            2 => format!("a2[{}] := {};", 1 + make.below(4), make.assigned(Kind::Text, 1)),
            3 => format!("a1[{}:{}] := {};", make.below(3), make.below(4), make.integers(1)),
            4 => format!("r1.{} := {};", make.pick(&["a", "id", "c"]), make.integer(1)),
            5 => format!("r2.a := {};", make.integer(2)),
            6 => format!("k1.{} := {};", make.pick(&["x", "y"]), make.integer(1)),
            7 => format!("k1 := row({}, {});", make.integer(1), make.assigned(Kind::Text, 1)),
            _ => {
                let kind = KINDS[make.below(6) as usize];
                let sign = make.pick(&[":=", "="]);
                format!("{} {sign} {};", make.variable(kind), make.assigned(kind, 3))
            }
        })
    }

    fn notice(&self) -> Piece {
        let make = &self.make;
        Piece::line(match make.below(5) {
            0 => format!("RAISE NOTICE 'i % %%', {};", make.integer(2)),
            1 => "RAISE NOTICE '% % % % % %', i1, s1, n1, b1, a1, a2;".to_owned(),
            2 => "RAISE NOTICE 'rows % %', r1, k1;".to_owned(),
            3 => format!(
                "RAISE {} '%', {} USING DETAIL = {}, ERRCODE = '{}';",
                make.pick(&["NOTICE", "WARNING", "INFO"]),
                make.text(2),
                make.pick(&["'more'", "coalesce(s1, 'null')"]),
                make.pick(&["01000", "00000", "U0001"]),
            ),
            _ => format!("RAISE NOTICE '%', {};", make.of(KINDS[make.below(6) as usize], 2)),
        })
    }

    fn raise(&self) -> Piece {
        let make = &self.make;
        Piece::line(match make.below(7) {
            0 => format!("RAISE EXCEPTION 'bad %', {};", make.integer(1)),
            1 => "RAISE unique_violation USING MESSAGE = coalesce(s1, 'no s1');".to_owned(),
            2 => "RAISE SQLSTATE '22012' USING CONSTRAINT = 'con', TABLE = 'tab', HINT = 'hint';"
                .to_owned(),
            3 => format!("RAISE EXCEPTION USING ERRCODE = 'P0002', MESSAGE = {};", make.text(1)),
            4 if self.in_handler => "RAISE;".to_owned(),
            5 if self.in_handler => "RAISE NOTICE 'caught % %', SQLSTATE, SQLERRM;".to_owned(),
            _ => format!("IF {} THEN RAISE EXCEPTION 'when'; END IF;", make.boolean(2)),
        })
    }

    fn select_into(&self) -> Piece {
        let make = &self.make;
        let strict = make.pick(&["", "", "STRICT "]);
        let filter = match make.below(3) {
            0 => format!("WHERE id = {}", make.integer(1)),
            1 => format!("WHERE a >= {} ORDER BY id", make.integer(1)),
            _ => "ORDER BY id".to_owned(),
        };
        Piece::line(match make.below(5) {
            0 => format!("SELECT * INTO {strict}r1 FROM t1 {filter};"),
            1 => format!("SELECT * INTO {strict}r2 FROM t1 {filter};"),
            2 => format!("SELECT a, c INTO {strict}i1, s1 FROM t1 {filter};"),
            3 => format!("SELECT id, c INTO {strict}k1 FROM t1 {filter};"),
            _ => format!("SELECT max(a), {} INTO i2, s2 FROM t1;", make.text(1)),
        })
    }

    fn change(&self) -> Piece {
        let make = &self.make;
        let id = 1 + make.below(6);
        Piece::line(match make.below(8) {
            0 => format!(
                "INSERT INTO t1 VALUES ({}, {}, {});",
                make.integer(1),
                make.integer(1),
                make.text(1)
            ),
            1 => format!(
                "INSERT INTO t2 VALUES ({}, {}, {}) RETURNING id, c INTO i1, s1;",
                make.integer(1),
                make.integer(1),
                make.text(1)
            ),
            2 => format!(
                "UPDATE t1 SET a = {} WHERE id = {id} RETURNING a INTO i3;",
                make.integer(1)
            ),
            3 => format!("UPDATE t2 SET c = {} WHERE id <= {id};", make.assigned(Kind::Text, 1)),
            4 => format!("DELETE FROM t1 WHERE id = {} ;", make.integer(1)),
            5 => format!(
                "INSERT INTO t2 VALUES ({id}, 1, 'x{id}') ON CONFLICT {};",
                make.pick(&["DO NOTHING", "(id) DO UPDATE SET a = t2.a + 1"])
            ),
            6 => "UPDATE t1 SET a = a + 1 WHERE id > 0 AND a < 50;".to_owned(),
            _ => format!(
                "UPDATE t1 SET c = r1.c, a = i1 WHERE id = {id} RETURNING * INTO STRICT r1;"
            ),
        })
    }

    fn dynamic(&self) -> Piece {
        let make = &self.make;
        Piece::line(match make.below(6) {
            0 => format!(
                "EXECUTE 'SELECT $1 + $2' INTO i1 USING {}, {};",
                make.integer(1),
                make.integer(1)
            ),
            1 => format!(
                "EXECUTE 'SELECT * FROM t1 WHERE id = $1' INTO {}r1 USING {};",
                make.pick(&["", "STRICT "]),
                make.integer(1)
            ),
            2 => format!("EXECUTE 'UPDATE t1 SET a = $1 WHERE id = 2' USING {};", make.integer(2)),
            3 => format!("EXECUTE {};", make.text(1)),
            4 => format!(
                "EXECUTE format('INSERT INTO %I VALUES (%L, 1, %L)', 't2', {}, {});",
                make.integer(1),
                make.text(1)
            ),
            _ => format!(
                "EXECUTE 'SELECT id, c FROM t1 WHERE a > ' || {} || ' ORDER BY id' INTO k1;",
                make.integer(0)
            ),
        })
    }

    fn diagnostics(&self) -> Piece {
        if !self.in_handler {
            return Piece::line("GET DIAGNOSTICS i2 = ROW_COUNT;");
        }
        Piece::around(
            "",
            vec![
                Piece::line(
                    "GET STACKED DIAGNOSTICS s1 = RETURNED_SQLSTATE, s2 = MESSAGE_TEXT, \
                     a2[1] = PG_EXCEPTION_DETAIL, a2[2] = PG_EXCEPTION_HINT, \
                     a2[3] = PG_EXCEPTION_CONTEXT, a2[4] = CONSTRAINT_NAME, a2[5] = TABLE_NAME;",
                ),
                Piece::line("RAISE NOTICE 'stacked % % %', s1, s2, a2;"),
            ],
            "",
        )
    }

    fn cursor(&self) -> Piece {
        let make = &self.make;
        let open = match make.below(4) {
            0 => "OPEN cu FOR SELECT * FROM t1 ORDER BY id;".to_owned(),
            1 => format!("OPEN cb({});", make.integer(0)),
            2 => "OPEN cu FOR EXECUTE 'SELECT * FROM t1 WHERE id > $1 ORDER BY id' USING i1;"
                .to_owned(),
            _ => format!("OPEN cb(lo := {});", make.literal()),
        };
        let name = if open.contains("cb") { "cb" } else { "cu" };
        let fetch = |_| {
            let how = make.pick(&[
                "",
                "NEXT FROM ",
                "LAST FROM ",
                "RELATIVE 2 FROM ",
                "FIRST FROM ",
                "PRIOR FROM ",
            ]);
            let target = make.pick(&["r1", "r2", "i1, i2, s1"]);
            Piece::line(match make.below(5) {
                0 => format!("MOVE {how}{name};"),
                _ => format!("FETCH {how}{name} INTO {target};"),
            })
        };
        let mut body: Vec<Piece> = vec![Piece::line(open)];
        body.extend((0..1 + make.below(3)).map(fetch));
        body.push(Piece::line("RAISE NOTICE 'fetched % % %', FOUND, i1, r1;"));
        if make.chance(85) {
            body.push(Piece::line(format!("CLOSE {name};")));
        }
        Piece::around("", body, "")
    }

    /// EXIT, CONTINUE or RETURN.
    fn leave(&self) -> Piece {
        let make = &self.make;
        let condition = format!(" WHEN {}", make.boolean(2));
        let loops: Vec<&str> =
            self.labels.iter().filter(|(_, is_loop)| *is_loop).map(|(name, _)| &**name).collect();
        let all: Vec<&str> = self.labels.iter().map(|(name, _)| &**name).collect();
        Piece::line(match make.below(4) {
            0 if !loops.is_empty() => format!("CONTINUE {}{condition};", make.pick(&loops)),
            1 if !loops.is_empty() => format!("{}{condition};", make.pick(&["EXIT", "CONTINUE"])),
            2 | 3 if !all.is_empty() => format!("EXIT {}{condition};", make.pick(&all)),
            _ => match self.form {
                Form::Scalar(kind) => {
                    format!("IF {} THEN RETURN {}; END IF;", make.boolean(2), make.of(kind, 2))
                }
                _ => format!("IF {} THEN RETURN; END IF;", make.boolean(1)),
            },
        })
    }

    /// RETURN NEXT and RETURN QUERY, or the parameters of a procedure.
    fn give(&self) -> Piece {
        let make = &self.make;
        Piece::line(match self.form {
            Form::Rows => match make.below(4) {
                0 => format!(
                    "RETURN QUERY SELECT id, c FROM t1 WHERE id > {} ORDER BY id;",
                    make.integer(1)
                ),
                1 => format!(
                    "RETURN QUERY EXECUTE 'SELECT a, c FROM t1 WHERE id <> $1 ORDER BY id' USING {};",
                    make.integer(1)
                ),
                2 => format!("o1 := {}; o2 := {}; RETURN NEXT;", make.integer(2), make.text(1)),
                _ => "RETURN NEXT;".to_owned(),
            },
            Form::Procedure => format!("p2 := {};", make.assigned(Kind::Text, 2)),
            _ => "NULL;".to_owned(),
        })
    }

    /// Statements that end transactions, and errors that are found when they run.
    fn rare(&self) -> Piece {
        let make = &self.make;
        Piece::line(match make.below(7) {
            0 if matches!(self.form, Form::Procedure | Form::Block) && self.may_commit => {
                make.pick(&["COMMIT;", "ROLLBACK;"]).to_owned()
            }
            1 => "PERFORM * FROM nowhere;".to_owned(),
            2 => format!("i1 := {};", make.text(1)),
            3 => "PERFORM id FROM t1 WHERE id = 1 FOR UPDATE;".to_owned(),
            4 => "CREATE TEMP TABLE tt (x int) ON COMMIT DROP;".to_owned(),
            _ => "NULL;".to_owned(),
        })
    }

    fn condition(&mut self, depth: u32) -> Piece {
        let head = format!("IF {} THEN", self.make.boolean(2));
        let mut body = self.statements(depth, 2);
        if self.make.chance(30) {
            let head = format!("ELSIF {} THEN", self.make.boolean(2));
            body.push(Piece::around(head, self.statements(depth, 2), ""));
        }
        if self.make.chance(50) {
            body.push(Piece::around("ELSE", self.statements(depth, 2), ""));
        }
        Piece::around(head, body, "END IF;")
    }

    fn case(&mut self, depth: u32) -> Piece {
        let simple = self.make.chance(50);
        let head =
            if simple { format!("CASE {}", self.make.integer(1)) } else { "CASE".to_owned() };
        let mut body = Vec::new();
        for _ in 0..1 + self.make.below(3) {
            let test = match simple {
                true => format!("WHEN {}, {} THEN", self.make.literal(), self.make.integer(0)),
                false => format!("WHEN {} THEN", self.make.boolean(2)),
            };
            body.push(Piece::around(test, self.statements(depth, 2), ""));
        }
        if self.make.chance(60) {
            body.push(Piece::around("ELSE", self.statements(depth, 2), ""));
        }
        Piece::around(head, body, "END CASE;")
    }

    /// LOOP, WHILE, FOR over integers and FOREACH.
    fn any_loop(&mut self, depth: u32) -> Piece {
        let label = self.name("lo");
        let variable = self.name("j");
        let make = &self.make;
        let (head, counts) = match make.below(5) {
            0 => ("LOOP".to_owned(), false),
            1 => (format!("WHILE {} LOOP", make.boolean(2)), false),
            2 => (format!("FOREACH i3 IN ARRAY {} LOOP", make.integers(1)), false),
            3 => {
                let by =
                    if make.chance(30) { format!(" BY {}", make.literal()) } else { String::new() };
                let reverse = make.pick(&["", "REVERSE "]);
                let bounds = format!("{} .. {}", make.integer(1), make.integer(1));
                (format!("FOR {variable} IN {reverse}{bounds}{by} LOOP"), true)
            }
            _ => (format!("FOR {variable} IN 1 .. {} LOOP", make.below(5)), true),
        };
        if counts {
            self.make.integers.push(variable);
        }
        let inside = self.turns(&label, depth);
        if counts {
            self.make.integers.pop();
        }
        Piece::around(format!("<<{label}>>\n{head}"), inside, "END LOOP;")
    }

    /// The inside of a loop.
    fn turns(&mut self, label: &str, depth: u32) -> Vec<Piece> {
        let mut body = vec![Piece::line("fuel := fuel - 1; EXIT WHEN fuel < 0;").needed()];
        self.labels.push((label.to_owned(), true));
        body.extend(self.statements(depth, 3));
        self.labels.pop();
        body
    }

    /// FOR over the rows of a query, static or dynamic, and of a cursor.
    fn query_loop(&mut self, depth: u32) -> Piece {
        let label = self.name("lo");
        let make = &self.make;
        let head = match make.below(5) {
            0 => "FOR r2 IN SELECT * FROM t1 ORDER BY id LOOP".to_owned(),
            1 => format!(
                "FOR r1 IN SELECT * FROM t1 WHERE id <> {} ORDER BY id LOOP",
                make.integer(1)
            ),
            2 => format!(
                "FOR i1, i2, s1 IN EXECUTE 'SELECT * FROM t1 WHERE id > $1 ORDER BY id' USING {} LOOP",
                make.integer(1)
            ),
            3 => format!("FOR rc IN cb({}) LOOP", make.literal()),
            _ => "FOR i1, s2 IN SELECT id, c FROM t2 ORDER BY id LOOP".to_owned(),
        };
        let mut inside = self.turns(&label, depth);
        if head.contains("rc") {
            inside.push(Piece::line("RAISE NOTICE 'rc %', rc;"));
        }
        Piece::around(format!("<<{label}>>\n{head}"), inside, "END LOOP;")
    }

    fn block(&mut self, depth: u32) -> Piece {
        let label = self.name("bl");
        let mut body = Vec::new();
        let declares = self.make.chance(40);
        if declares {
            let kind = KINDS[self.make.below(6) as usize];
            let (name, value) = (self.make.variable(kind), self.make.of(kind, 1));
            body.push(Piece::around(
                "DECLARE",
                vec![Piece::line(format!("{name} {} := {value};", kind.name()))],
                "",
            ));
            if kind == Kind::Integer {
                self.make.integers.push(format!("{label}.{name}"));
            }
        }
        self.labels.push((label.clone(), false));
        let handles = self.make.chance(70);
        let may_commit = self.may_commit;
        self.may_commit &= !handles;
        body.push(Piece::around("BEGIN", self.statements(depth, 4), "").needed());
        self.may_commit = may_commit;
        if handles {
            body.push(self.handlers(depth));
        }
        self.labels.pop();
        self.make.integers.retain(|name| !name.starts_with(&format!("{label}.")));
        Piece::around(format!("<<{label}>>"), body, "END;")
    }

    fn handlers(&mut self, depth: u32) -> Piece {
        let mut whens = Vec::new();
        let was_in_handler = std::mem::replace(&mut self.in_handler, true);
        for _ in 0..1 + self.make.below(3) {
            let mut inside = self.statements(depth, 2);
            if self.make.chance(60) {
                inside.push(Piece::line("RAISE NOTICE 'handled % %', SQLSTATE, SQLERRM;"));
            }
            whens.push(Piece::around(format!("WHEN {} THEN", self.pick(CONDITIONS)), inside, ""));
        }
        self.in_handler = was_in_handler;
        Piece::around("EXCEPTION", whens, "")
    }
}
