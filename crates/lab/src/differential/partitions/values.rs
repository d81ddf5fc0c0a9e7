//! Types of partition keys, and a few values of each.

use steppe_vfs::SeededRandom;

/// A type of a key column, and what it may be compared with.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Neighbours, extremes, equals that look different: in the type's order.
    pub(super) values: &'static [&'static str],
    /// Types that its operators take on the other side.
    others: &'static [&'static str],
    /// An immutable expression over a column `@`, and its type.
    expression: Option<(&'static str, &'static str)>,
}

const INTEGERS: &[&str] = &["smallint", "integer", "bigint", "numeric", "double precision"];
const TIMES: &[&str] = &["date", "timestamp", "timestamptz"];

/// The types of columns, then the types that columns are only compared with.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "integer",
        values: &["-2147483648", "-3", "-1", "0", "1", "2", "3", "4", "5", "9", "2147483647"],
        others: INTEGERS,
        expression: Some(("(@ % 4)", "integer")),
    },
    Kind {
        name: "smallint",
        values: &["-32768", "-1", "0", "1", "2", "3", "7", "32767"],
        others: INTEGERS,
        expression: Some(("(@ % 3::smallint)", "smallint")),
    },
    Kind {
        name: "bigint",
        values: &["-9223372036854775808", "-1", "0", "1", "2", "3", "4294967296", "99999999999"],
        others: INTEGERS,
        expression: Some(("(@ / 2)", "bigint")),
    },
    Kind {
        name: "text",
        values: &["", " ", "A", "a", "a b", "aa", "ab", "b", "it's", "ä"],
        others: &["text", "varchar"],
        expression: Some(("lower(@)", "text")),
    },
    Kind {
        name: "date",
        values: &["-infinity", "1999-12-31", "2000-01-01", "2000-01-02", "2024-02-29", "infinity"],
        others: TIMES,
        expression: None,
    },
    Kind {
        name: "timestamptz",
        values: &[
            "-infinity",
            "1999-12-31 12:00Z",
            "2000-01-01 05:00Z",
            "2021-03-14 07:00Z",
            "2021-11-07 05:30Z",
            "infinity",
        ],
        others: TIMES,
        expression: None,
    },
    Kind {
        name: "numeric",
        values: &["-Infinity", "-2", "0", "0.00", "1", "1.5", "2", "2.50", "1e20", "NaN"],
        others: &["smallint", "integer", "bigint", "numeric"],
        expression: Some(("trunc(@)", "numeric")),
    },
    Kind {
        name: "boolean",
        values: &["f", "t"],
        others: &["boolean"],
        expression: Some(("(NOT @)", "boolean")),
    },
    Kind {
        name: "uuid",
        values: &[
            "00000000-0000-0000-0000-000000000000",
            "5f0eebc9-9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
        others: &["uuid"],
        expression: None,
    },
    Kind {
        name: "timestamp",
        values: &[
            "-infinity",
            "1999-12-31 23:59:59.999999",
            "2000-01-01 00:00",
            "2021-03-14 02:30",
            "infinity",
        ],
        others: TIMES,
        expression: Some(("date_trunc('day', @)", "timestamp")),
    },
    Kind {
        name: "varchar",
        values: &["", "a", "aa", "ab", "b", "zz"],
        others: &["text", "varchar"],
        expression: None,
    },
    Kind {
        name: "double precision",
        values: &["-Infinity", "-1.5", "-0", "0", "1", "1.5", "2", "1e300", "Infinity", "NaN"],
        others: INTEGERS,
        expression: None,
    },
];

impl Kind {
    /// Some type.
    pub(super) fn any(random: &SeededRandom) -> &'static Kind {
        // The first few, which are the usual ones, come twice as often.
        let nth = random.below(KINDS.len() as u64 * 2) as usize;
        &KINDS[if nth < KINDS.len() { nth } else { (nth - KINDS.len()) / 2 }]
    }

    /// The type of a name in the table.
    pub(super) fn named(name: &str) -> &'static Kind {
        KINDS.iter().find(|kind| kind.name == name).unwrap_or(&KINDS[0])
    }

    /// A type that this one can be compared with, mostly itself.
    pub(super) fn other(&'static self, random: &SeededRandom) -> &'static Kind {
        match random.chance(1, 3) {
            true => Kind::named(self.others[random.below(self.others.len() as u64) as usize]),
            false => self,
        }
    }

    /// An expression over a column that a key may have, and its type.
    pub(super) fn expression(&self, column: &str) -> Option<(String, &'static Kind)> {
        let (expression, kind) = self.expression?;
        Some((expression.replace('@', column), Kind::named(kind)))
    }

    /// Some value's text, without quotes.
    pub(super) fn value(&self, random: &SeededRandom) -> &'static str {
        self.values[random.below(self.values.len() as u64) as usize]
    }

    /// Some value's text or, seldom, NULL.
    pub(super) fn value_or_null(&self, random: &SeededRandom) -> Option<&'static str> {
        (!random.chance(1, 9)).then(|| self.value(random))
    }

    /// Some value as an SQL literal: with its type, or left for the context to say.
    pub(super) fn literal(&self, random: &SeededRandom) -> String {
        let value = self.value_or_null(random);
        match random.chance(1, 4) {
            true => quoted(value),
            false => format!("{}::{}", quoted(value), self.name),
        }
    }

    /// An array's text, without quotes.
    pub(super) fn array(&self, random: &SeededRandom) -> String {
        let element = |_| match self.value_or_null(random) {
            Some(value) => format!("\"{value}\""),
            None => "NULL".to_owned(),
        };
        let elements: Vec<String> = (0..random.below(4)).map(element).collect();
        format!("{{{}}}", elements.join(","))
    }
}

/// A value as a string literal; `NULL` for none.
pub(super) fn quoted(value: Option<&str>) -> String {
    match value {
        Some(value) => format!("'{}'", value.replace('\'', "''")),
        None => "NULL".to_owned(),
    }
}
