//! Parses the extracted files: COPY text format with a header line.
//!
//! The files are part of the program, so a malformed file is a build mistake: look-ups of unknown
//! columns and unreadable numbers panic with their name.

use hashbrown::HashMap;
use std::fmt::Debug;
use std::str::FromStr;
use steppe_types::Oid;

/// COPY's text for NULL.
pub(super) const NULL: &str = "\\N";

/// One extracted catalog.
#[derive(Debug)]
pub struct Table {
    columns: HashMap<&'static str, usize>,
    rows: Vec<Vec<&'static str>>,
}

/// One row of an extracted catalog.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    fields: &'a [&'static str],
}

impl Table {
    /// Splits the file; fields are slices of it.
    pub fn parse(text: &'static str) -> Table {
        let mut lines = text.lines();
        let header = lines.next().expect("an extracted file has a header line");
        Table {
            columns: header.split('\t').enumerate().map(|(i, name)| (name, i)).collect(),
            rows: lines.map(|line| line.split('\t').collect()).collect(),
        }
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|fields| Row { table: self, fields })
    }
}

impl Row<'_> {
    /// A field in COPY's form, `None` for NULL or for a column that was not extracted.
    pub fn get(&self, column: &str) -> Option<&'static str> {
        let field = *self.fields.get(*self.table.columns.get(column)?)?;
        (field != NULL).then_some(field)
    }

    pub(super) fn text(&self, column: &str) -> &'static str {
        match self.table.columns.get(column) {
            Some(i) => self.fields[*i],
            None => panic!("extracted catalog has no column {column}"),
        }
    }

    pub(super) fn number<T: FromStr<Err: Debug>>(&self, column: &str) -> T {
        self.text(column).parse().unwrap_or_else(|e| panic!("{column} is no number: {e:?}"))
    }

    pub(super) fn byte(&self, column: &str) -> u8 {
        self.text(column).bytes().next().unwrap_or(b' ')
    }

    pub(super) fn flag(&self, column: &str) -> bool {
        self.text(column) == "t"
    }
}

/// `oidvector` text: numbers separated by blanks.
pub(super) fn oid_vector(text: &str) -> Vec<Oid> {
    text.split_ascii_whitespace().filter_map(|t| t.parse().ok()).collect()
}

/// One-dimensional array text without nested quoting beyond `""` (names, letters, numbers).
pub(super) fn array(text: &'static str) -> Vec<&'static str> {
    match text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
        None | Some("") => Vec::new(),
        Some(body) => body.split(',').map(|e| e.trim_matches('"')).collect(),
    }
}

/// Splits `a, b, c` at top-level commas: quotes and parentheses are respected.
pub(super) fn split_expressions(text: &'static str) -> Vec<&'static str> {
    let (mut out, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'\'' => quoted = !quoted,
            b'(' | b'[' if !quoted => depth += 1,
            b')' | b']' if !quoted => depth -= 1,
            b',' if !quoted && depth == 0 => {
                out.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].trim());
    out
}
