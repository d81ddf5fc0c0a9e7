//! Random expressions over the variables of a program.
//!
//! All programs have the same variables: `i1` to `i3`, `s1`, `s2`, `n1`, `b1`, `a1` (integers), `a2`
//! (texts), `r1` (a row of `t1`), `r2` (a record of the same columns), `k1` (a composite value).
//! Blocks declare some of them again, with the same types, so every expression has a meaning
//! everywhere. Values stay small: what is assigned is cut to a length.

use steppe_vfs::SeededRandom;

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Text,
    Numeric,
    Boolean,
    Integers,
    Texts,
}

pub(super) const KINDS: [Kind; 6] =
    [Kind::Integer, Kind::Text, Kind::Numeric, Kind::Boolean, Kind::Integers, Kind::Texts];

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Integer => "int",
            Kind::Text => "text",
            Kind::Numeric => "numeric",
            Kind::Boolean => "boolean",
            Kind::Integers => "int[]",
            Kind::Texts => "text[]",
        }
    }

    /// The variables of this type that every program has.
    pub(super) fn variables(self) -> &'static [&'static str] {
        match self {
            Kind::Integer => &["i1", "i2", "i3"],
            Kind::Text => &["s1", "s2"],
            Kind::Numeric => &["n1"],
            Kind::Boolean => &["b1"],
            Kind::Integers => &["a1"],
            Kind::Texts => &["a2"],
        }
    }
}

/// Makes expressions.
pub(super) struct Expressions<'a> {
    pub(super) random: &'a SeededRandom,
    /// Integers that only some places see: parameters, loop variables, variables by label.
    pub(super) integers: Vec<String>,
    /// Texts of that kind.
    pub(super) texts: Vec<String>,
    /// Functions from integer to integer that may be called.
    pub(super) functions: Vec<String>,
    /// Whether the program has variables: a query outside has none.
    pub(super) has_variables: bool,
}

impl<'a> Expressions<'a> {
    pub(super) fn new(random: &'a SeededRandom) -> Expressions<'a> {
        Expressions {
            random,
            integers: Vec::new(),
            texts: Vec::new(),
            functions: Vec::new(),
            has_variables: true,
        }
    }

    pub(super) fn below(&self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    pub(super) fn chance(&self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    pub(super) fn pick<'t>(&self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn one_of(&self, names: &[String]) -> String {
        names[self.below(names.len() as u64) as usize].clone()
    }

    /// A variable of a type, in scope everywhere.
    pub(super) fn variable(&self, kind: Kind) -> String {
        self.pick(kind.variables()).to_owned()
    }

    pub(super) fn of(&self, kind: Kind, depth: u32) -> String {
        match kind {
            Kind::Integer => self.integer(depth),
            Kind::Text => self.text(depth),
            Kind::Numeric => self.numeric(depth),
            Kind::Boolean => self.boolean(depth),
            Kind::Integers => self.integers(depth),
            Kind::Texts => self.texts(depth),
        }
    }

    /// An expression as it is assigned, which cannot grow from turn to turn of a loop.
    pub(super) fn assigned(&self, kind: Kind, depth: u32) -> String {
        let value = self.of(kind, depth);
        match kind {
            Kind::Text => format!("left({value}, 24)"),
            Kind::Numeric => format!("round(({value}) % 10000, 3)"),
            Kind::Integers | Kind::Texts => format!("({value})[1:5]"),
            _ => value,
        }
    }

    /// A small literal, now and then NULL or the largest integer.
    pub(super) fn literal(&self) -> String {
        match self.below(24) {
            0 => "NULL::int".to_owned(),
            1 => "2147483647".to_owned(),
            2 => "(-3)".to_owned(),
            _ => self.below(7).to_string(),
        }
    }

    fn integer_leaf(&self) -> String {
        match self.below(10) {
            0..4 => self.literal(),
            4 if !self.integers.is_empty() => self.one_of(&self.integers),
            5 if self.has_variables => self.pick(&["r1.a", "r1.id", "r2.a", "k1.x"]).to_owned(),
            _ if self.has_variables => self.variable(Kind::Integer),
            _ if !self.integers.is_empty() => self.one_of(&self.integers),
            _ => self.literal(),
        }
    }

    pub(super) fn integer(&self, depth: u32) -> String {
        if depth == 0 {
            return self.integer_leaf();
        }
        let d = depth - 1;
        match self.below(17) {
            0..4 => self.integer_leaf(),
            4 => format!("{} + {}", self.integer(d), self.integer_leaf()),
            5 => format!("({} - {})", self.integer(d), self.integer(d)),
            6 => format!("({} * {})", self.integer(d), self.integer(d)),
            7 => format!("({}) / ({})", self.integer(d), self.integer(d)),
            8 => format!("({}) % ({})", self.integer(d), self.integer(d)),
            9 => format!("length({})", self.text(d)),
            10 => format!("coalesce({}, {})", self.integer(d), self.literal()),
            11 => format!(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.boolean(d),
                self.integer(d),
                self.integer(d)
            ),
            12 => format!("cardinality({})", self.integers(d)),
            13 => format!("({})[{}]", self.integers(d), self.below(6)),
            14 => format!("(SELECT count(*)::int FROM t1 WHERE a > {})", self.integer(d)),
            15 if !self.functions.is_empty() => {
                format!("{}({})", self.one_of(&self.functions), self.integer(d))
            }
            16 if self.chance(30) => format!("({})::int", self.text(d)),
            _ => format!("greatest({}, nullif({}, 0))", self.integer(d), self.integer(d)),
        }
    }

    fn text_leaf(&self) -> String {
        match self.below(8) {
            0 => "NULL::text".to_owned(),
            1 if !self.texts.is_empty() => self.one_of(&self.texts),
            2 | 3 if self.has_variables => self.variable(Kind::Text),
            4 if self.has_variables => self.pick(&["r1.c", "r2.c", "k1.y"]).to_owned(),
            _ => self.pick(&["'x'", "'It''s'", "''", "'7'", "'ä%b'", "E'two\\nlines'"]).to_owned(),
        }
    }

    pub(super) fn text(&self, depth: u32) -> String {
        if depth == 0 {
            return self.text_leaf();
        }
        let d = depth - 1;
        match self.below(13) {
            0..3 => self.text_leaf(),
            3 => format!("({} || {})", self.text(d), self.text_leaf()),
            4 => format!("upper({})", self.text(d)),
            5 => format!("substr({}, {})", self.text(d), self.below(4)),
            6 => format!("({})::text", self.integer(d)),
            7 => format!("coalesce({}, 'none')", self.text(d)),
            8 => format!("format('%s-%L', {}, {})", self.integer(d), self.text(d)),
            9 => format!("({})::text", self.of(KINDS[self.below(6) as usize], d)),
            10 if self.has_variables => {
                self.pick(&["r1::text", "k1::text", "row(i1, s1)::text"]).to_owned()
            }
            11 => format!("({})[{}]", self.texts(d), self.below(5)),
            _ => format!("left({}, {})", self.text(d), self.literal()),
        }
    }

    pub(super) fn numeric(&self, depth: u32) -> String {
        if depth == 0 {
            return match self.below(3) {
                0 if self.has_variables => "n1".to_owned(),
                1 => format!("{}.{}", self.below(20), self.below(100)),
                _ => format!("({})::numeric", self.literal()),
            };
        }
        let d = depth - 1;
        match self.below(6) {
            0 => format!("({} + {})", self.numeric(d), self.integer(d)),
            1 => format!("({} * {})", self.numeric(d), self.numeric(d)),
            2 => format!("round({} / {}, 4)", self.numeric(d), self.numeric(d)),
            3 => format!("abs({})", self.numeric(d)),
            _ => self.numeric(0),
        }
    }

    pub(super) fn boolean(&self, depth: u32) -> String {
        let d = depth.saturating_sub(1);
        match self.below(if depth == 0 { 3 } else { 10 }) {
            0 if self.has_variables => "b1".to_owned(),
            1 => self.pick(&["true", "false", "NULL::boolean"]).to_owned(),
            2 if self.has_variables => "FOUND".to_owned(),
            3 => format!("({} AND {})", self.boolean(d), self.boolean(d)),
            4 => format!("NOT ({})", self.boolean(d)),
            5 => format!("({}) IS NULL", self.of(KINDS[self.below(6) as usize], d)),
            6 => format!("{} = ANY ({})", self.integer(d), self.integers(d)),
            7 => format!("{} LIKE '%x%'", self.text(d)),
            _ => {
                let operator = self.pick(&["<", "<=", "=", "<>", ">", ">="]);
                format!("{} {operator} {}", self.integer(d), self.integer(d))
            }
        }
    }

    pub(super) fn integers(&self, depth: u32) -> String {
        let d = depth.saturating_sub(1);
        match self.below(if depth == 0 { 3 } else { 7 }) {
            0 | 1 if self.has_variables => "a1".to_owned(),
            0..3 => self.pick(&["'{3,1,NULL}'::int[]", "'{}'::int[]", "'{4,5}'::int[]"]).to_owned(),
            3 => format!("array[{}, {}]", self.integer(d), self.integer(d)),
            4 => format!("({} || {})", self.integers(d), self.integer(d)),
            5 => format!("array_append({}, {})", self.integers(d), self.integer(d)),
            _ => format!("({})[{}:{}]", self.integers(d), self.below(3), self.below(5)),
        }
    }

    pub(super) fn texts(&self, depth: u32) -> String {
        let d = depth.saturating_sub(1);
        match self.below(if depth == 0 { 3 } else { 5 }) {
            0 | 1 if self.has_variables => "a2".to_owned(),
            0..3 => self
                .pick(&["'{p,q}'::text[]", "'{}'::text[]", "'{NULL,\"a b\"}'::text[]"])
                .to_owned(),
            3 => format!("array[{}, {}]", self.text(d), self.text(d)),
            _ => format!("array_prepend({}, {})", self.text(d), self.texts(d)),
        }
    }
}
