//! Random loops that compute: integers of all widths near their limits, booleans, texts and arrays
//! that grow, nested loops with labels, and exception sections around them.
//!
//! A server may run such code in another way than the other statements. So a program has both kinds
//! side by side, over the same variables. `w2`, `w4` and `w8` are integers of their widths, `w0` is
//! NOT NULL. `g1` is a long text that grows, and `g2` takes its values. `a8` and `a9` are arrays.

use super::expressions::Kind;
use super::pieces::Piece;
use super::programs::Writer;

/// The declarations of the variables.
pub(super) const DECLARATIONS: [&str; 9] = [
    "  w2 smallint := 7;",
    "  w4 int := 3;",
    "  w8 bigint := 1;",
    "  w0 int NOT NULL := 2;",
    "  b2 boolean := true;",
    "  g1 text := repeat('long-', 13);",
    "  g2 text;",
    "  a8 bigint[] := '{5}';",
    "  a9 bigint[];",
];

/// The variables as a notice shows them.
const SHOWN: &str =
    "RAISE NOTICE 'w % % % % % g % % a % % %', w2, w4, w8, w0, b2, g1, g2, a8, a9, FOUND;";

impl Writer<'_> {
    /// Loops that compute, and a notice of what they have computed.
    pub(super) fn computing(&mut self) -> Piece {
        let mut body = Vec::new();
        if self.make.chance(30) {
            let (lower, upper) = (self.make.below(9), self.make.below(40_000));
            body.push(Piece::line(format!(
                "w2 := {lower}; w4 := {upper}; w8 := {}; g1 := repeat('{lower}ä', 30);",
                self.pick(&["9223372036854775800", "-5", "NULL", "4000000000"])
            )));
        }
        body.push(self.counting(2));
        body.push(Piece::line(SHOWN));
        if !self.make.chance(50) {
            return Piece::around("", body, "");
        }
        let caught = Piece::line("RAISE NOTICE 'caught % %', SQLSTATE, SQLERRM;");
        body.push(Piece::around(
            "EXCEPTION WHEN OTHERS THEN",
            vec![caught, Piece::line(SHOWN)],
            "",
        ));
        Piece::around("BEGIN", body, "END;")
    }

    /// A loop of a few rounds.
    fn counting(&mut self, depth: u32) -> Piece {
        let (label, variable) = (self.name("co"), self.name("x"));
        let head = match self.make.below(8) {
            0 => format!("FOR {variable} IN 2147483643 .. 2147483647 LOOP"),
            1 => format!("FOR {variable} IN REVERSE -2147483645 .. -2147483648 BY 2 LOOP"),
            2 => format!("FOR {variable} IN REVERSE {} .. w0 LOOP", self.make.below(7)),
            3 => format!("FOR {variable} IN 1 .. w4 % 6 BY {} LOOP", 1 + self.make.below(3)),
            4 => format!("FOR {variable} IN w2 .. w2 + 3 LOOP"),
            _ => format!("FOR {variable} IN 1 .. {} LOOP", 2 + self.make.below(6)),
        };
        self.labels.push((label.clone(), true));
        self.make.integers.push(variable.clone());
        let mut body = self.steps(&variable, depth);
        if self.make.chance(15) {
            body.push(Piece::line(SHOWN));
        }
        self.make.integers.pop();
        self.labels.pop();
        Piece::around(format!("<<{label}>>\n{head}"), body, "END LOOP;")
    }

    fn steps(&mut self, variable: &str, depth: u32) -> Vec<Piece> {
        (0..1 + self.make.below(4)).map(|_| self.step(variable, depth)).collect()
    }

    fn step(&mut self, variable: &str, depth: u32) -> Piece {
        match self.make.below(24) {
            0..8 => Piece::line(self.computed(variable)),
            8..11 => Piece::line(self.grown(variable)),
            11..14 => Piece::line(self.element(variable)),
            14 => Piece::line(format!("b2 := {};", self.decided(variable))),
            15 => {
                let mut body = self.steps(variable, depth);
                if self.make.chance(50) {
                    let head = format!("ELSIF {} THEN", self.decided(variable));
                    body.push(Piece::around(head, self.steps(variable, 0), ""));
                }
                Piece::around(format!("IF {} THEN", self.decided(variable)), body, "END IF;")
            }
            16 => {
                let labels: Vec<String> =
                    self.labels.iter().map(|(name, _)| name.clone()).collect();
                let label = &labels[self.make.below(labels.len() as u64) as usize];
                let is_loop = self.labels.iter().any(|(name, is_loop)| name == label && *is_loop);
                let word = if is_loop { self.pick(&["EXIT", "CONTINUE"]) } else { "EXIT" };
                Piece::line(format!("{word} {label} WHEN {};", self.decided(variable)))
            }
            17 if depth > 0 => self.counting(depth - 1),
            18 if depth > 0 => {
                let rounds = 1 + self.make.below(5);
                let fuel = format!("w0 := w0 + {rounds}; fuel := fuel - 1; EXIT WHEN fuel < 0;");
                let mut body = vec![Piece::line(fuel).needed()];
                body.extend(self.steps(variable, 0));
                Piece::around("WHILE w0 % 7 > 2 AND w0 < 60 LOOP", body, "END LOOP;")
            }
            19 => {
                let mut body = vec![Piece::around("WHEN 0, 1 THEN", self.steps(variable, 0), "")];
                body.push(Piece::around("WHEN 2 THEN", self.steps(variable, 0), ""));
                body.push(Piece::around("ELSE", self.steps(variable, 0), ""));
                let subject = self.pick(&["w4 % 4", "w8 % 3", "w2"]);
                Piece::around(format!("CASE {subject}"), body, "END CASE;")
            }
            20 if depth > 0 => {
                let mut body = self.steps(variable, depth - 1);
                let caught = Piece::line("RAISE NOTICE 'inside % %', SQLERRM, w8;");
                body.push(Piece::around("EXCEPTION WHEN OTHERS THEN", vec![caught], ""));
                Piece::around("BEGIN", body, "END;")
            }
            21 if depth > 0 => {
                let mut body = vec![Piece::line("w4 := w4 + r2.a;")];
                body.extend(self.steps(variable, 0));
                let head = "FOR r2 IN SELECT id, a, c FROM t1 ORDER BY id LOOP";
                Piece::around(head, body, "END LOOP;")
            }
            22 => Piece::line(format!("{variable} := {variable} + 1;")),
            _ => Piece::line(format!("{} := {};", self.pick(&["w4", "w8"]), self.make.integer(1))),
        }
    }

    /// An operand.
    fn number(&self, variable: &str) -> String {
        match self.make.below(8) {
            0 | 1 => variable.to_owned(),
            2 => self.make.below(5).to_string(),
            3 => format!("a8[{}]", self.pick(&["1", "2", "w0"])),
            _ => self.pick(&["w2", "w4", "w8", "w0", "i1"]).to_owned(),
        }
    }

    /// An assignment of arithmetic, of which some overflows and some divides by zero.
    fn computed(&self, variable: &str) -> String {
        let target = self.pick(&["w2", "w4", "w8", "w8", "w0"]);
        let (left, right) = (self.number(variable), self.number(variable));
        match self.make.below(9) {
            0..3 => format!("{target} := {target} + {right};"),
            3 => format!("{target} := {left} - {right};"),
            4 => format!("{target} := {left} * {right};"),
            5 => format!("{target} := {left} / {right};"),
            6 => format!("{target} := ({left} * 31 + {right}) % 1009;"),
            7 => format!("{target} := -{left};"),
            _ => format!("{target} := {target} + {};", self.pick(&["1", "-1", "1000", "NULL"])),
        }
    }

    /// A condition.
    fn decided(&self, variable: &str) -> String {
        let operator = self.pick(&["<", "<=", "=", "<>", ">", ">="]);
        let compared = format!("{} {operator} {}", self.number(variable), self.number(variable));
        match self.make.below(7) {
            0 => format!("{compared} AND b2"),
            1 => format!("NOT ({compared}) OR w8 IS NULL"),
            2 => format!("{} IN (1, 3, 7)", self.number(variable)),
            3 => "w4 IS NOT NULL".to_owned(),
            4 => self.make.boolean(1),
            _ => compared,
        }
    }

    /// A text that grows, is read, and is given to another variable.
    fn grown(&self, variable: &str) -> String {
        match self.make.below(11) {
            0..3 => "g1 := g1 || 'x';".to_owned(),
            3 => format!("g1 := g1 || {variable} || '-' || w8;"),
            4 => format!("g1 := g1 || {};", self.make.assigned(Kind::Text, 1)),
            5 => "g2 := g1; g1 := g1 || 'y';".to_owned(),
            6 => "g1 := g1 || length(g1);".to_owned(),
            7 => "g1 := g1 || coalesce(g2, 'none')::varchar(3);".to_owned(),
            8 => format!("g1 := g1 || (10 / {});", self.number(variable)),
            9 => format!("g1 := left(g1, 90) || {variable};"),
            _ => "IF g1 IS NULL THEN g1 := repeat('new', 25); END IF;".to_owned(),
        }
    }

    /// An array that grows and changes.
    fn element(&self, variable: &str) -> String {
        match self.make.below(9) {
            0..2 => format!("a8 := a8 || {};", self.number(variable)),
            2 => format!("a8 := a8 || {}::bigint;", self.number(variable)),
            3 => format!("a8[cardinality(a8) + 1] := {};", self.number(variable)),
            4 => format!("a8[{}] := {};", 1 + self.make.below(6), self.number(variable)),
            5 => "a9 := a8; a8[1] := w8;".to_owned(),
            6 => "a9 := a8; a8 := array_append(a8, w8);".to_owned(),
            7 => format!("a8[w0 % 9] := {} + a8[1];", self.number(variable)),
            _ => "a8 := a8[1:12];".to_owned(),
        }
    }
}
