//! The rows of an INSERT's VALUES list, read as columns of values: no tree is made of them.
//!
//! ```text
//! INSERT INTO t (a, b) VALUES (1, 'x'), (-2, NULL), (3, 'z') RETURNING a
//!   sql      INSERT INTO t (a, b) VALUES ($1, $2) RETURNING a
//!   columns  Int4, Unknown
//!   cells    1 'x' -2 NULL 3 'z'
//!
//! INSERT INTO t (a, b) VALUES ($1, now()), ($2, now())
//!   sql      INSERT INTO t (a, b) VALUES ($1, now())
//!   cells    the parameters, as many to a row as it has: one here
//! ```
//!
//! The statement of one row is parsed, bound and planned once, and run for each row. The whole
//! statement means the same, since PostgreSQL coerces each row of the list to the target's columns
//! by itself (transformInsertStmt in analyze.c). [`many_rows`] takes a text in which the rows are
//! of one form. A cell is a literal (or a parameter) in all of them, perhaps with a cast to a plain
//! type, or the same text in all of them (`now()`, `DEFAULT`). It takes a text only if it is sure
//! of the form; the parser reads any other text. Where literals of a column are of several number
//! types, the widest stands for them, and the caller makes sure that the result is the same.
//!
//! Time and memory are linear in the text, and a statement that is to end ends in it.

use std::ops::Range;

use steppe_types::{Result, interrupt};

use super::lexer::{Lexer, Token, TokenKind};
use super::literals::{LiftedLiteral, integer, number_after_minus};
use super::truncate;

/// Rows that are read between two checks for interrupts.
const CHECK_EVERY_ROWS: usize = 1024;

/// A value that stands in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// A number or a string.
    Literal(LiftedLiteral),
}

/// The type that the literals of a column have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Strings, or only NULLs: the target decides the type.
    Unknown,
    /// integer.
    Int4,
    /// bigint.
    Int8,
    /// numeric.
    Numeric,
    /// boolean.
    Bool,
}

/// The common type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellColumn {
    /// The type of the widest.
    pub kind: ColumnKind,
    /// Numbers of other types are among them.
    pub mixed: bool,
}

/// The cells of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Literals, row by row.
    Literals {
        /// The cells.
        cells: Vec<Cell>,
        /// The common type of each column.
        columns: Vec<CellColumn>,
    },
    /// Parameters: `$1` is the first row's first.
    Params,
}

/// An INSERT of rows of one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManyRows {
    /// The statement of one row, its cells as parameters.
    pub sql: String,
    /// The cells of the rows.
    pub cells: Cells,
    /// The number of own cells of a row.
    pub width: usize,
    /// The number of rows: two at least.
    pub rows: usize,
}

/// Reads an INSERT of several rows. `None`: it is not one that this pass is sure about.
pub fn many_rows(text: &str) -> Result<Option<ManyRows>> {
    let mut reader = Reader { text, lexer: Lexer::new(text) };
    let Some(first) = reader.head().and_then(|()| reader.row()) else { return Ok(None) };
    let has_params = first.iter().any(|cell| matches!(cell.value, Some(Value::Param(_))));
    let form: Vec<Form> = first.iter().map(|cell| cell.form(text, has_params)).collect();
    let width = form.iter().filter(|form| form.has_value).count();
    let row = reader.row_range(&first);
    let (cells, kinds) = (Vec::new(), vec![0; width]);
    let mut rows = Rows { form: &form, has_params, width, count: 0, cells, kinds };
    if width == 0 || rows.add(first.iter().copied()).is_none() {
        return Ok(None);
    }
    let Some(tail) = reader.further_rows(&mut rows)? else { return Ok(None) };
    if rows.count < 2 {
        return Ok(None);
    }
    let kinds = rows.kinds.iter().zip(form.iter().filter(|form| form.has_value));
    let columns = kinds.map(|(kinds, form)| column_of(*kinds, form)).collect::<Option<Vec<_>>>();
    let cells = match (has_params, columns) {
        (true, _) => Cells::Params,
        (false, Some(columns)) => Cells::Literals { cells: rows.cells, columns },
        (false, None) => return Ok(None),
    };
    let sql = statement_of_one(text, &first, row, &form, tail);
    Ok(Some(ManyRows { sql, cells, width, rows: rows.count }))
}

/// A cell's own value.
#[derive(Clone, Copy)]
enum Value {
    Cell(Cell),
    Param(usize),
}

/// A cell as it was read: its value, if it begins with one, and the text after that.
#[derive(Clone, Copy)]
struct ReadCell {
    value: Option<Value>,
    start: usize,
    /// The end of its value: its own start if it has no value.
    value_end: usize,
    end: usize,
}

/// The form that a cell has in every row.
struct Form<'a> {
    has_value: bool,
    /// The text behind the value, or the whole.
    fixed: &'a str,
}

impl ReadCell {
    fn form<'a>(&self, text: &'a str, has_params: bool) -> Form<'a> {
        let has_value = match self.value {
            Some(Value::Param(_)) => true,
            Some(Value::Cell(_)) => !has_params,
            None => false,
        };
        let start = if has_value { self.value_end } else { self.start };
        Form { has_value, fixed: &text[start..self.end] }
    }
}

/// The rows so far.
struct Rows<'a> {
    form: &'a [Form<'a>],
    /// Its values are parameters.
    has_params: bool,
    width: usize,
    count: usize,
    cells: Vec<Cell>,
    /// For each column of cells, a bit for each type that one of them has.
    kinds: Vec<u8>,
}

impl Rows<'_> {
    /// Adds a row whose form has been checked.
    fn add(&mut self, row: impl Iterator<Item = ReadCell>) -> Option<()> {
        let own = row.zip(self.form).filter(|(_, form)| form.has_value);
        for (column, (read, _)) in own.enumerate() {
            self.add_value(read.value?, column)?;
        }
        self.count += 1;
        Some(())
    }

    fn add_value(&mut self, value: Value, column: usize) -> Option<()> {
        match value {
            Value::Cell(cell) if !self.has_params => {
                self.kinds[column] |= kind_bit(&cell);
                self.cells.push(cell);
            }
            Value::Param(number)
                if self.has_params && number == self.count * self.width + column + 1 => {}
            Value::Cell(_) | Value::Param(_) => return None,
        }
        Some(())
    }
}

const INT4: u8 = 1;
const INT8: u8 = 2;
const NUMERIC: u8 = 4;
const UNKNOWN: u8 = 8;
const BOOL: u8 = 16;

fn kind_bit(cell: &Cell) -> u8 {
    match cell {
        Cell::Null => 0,
        Cell::Bool(_) => BOOL,
        Cell::Literal(LiftedLiteral::Int4(_)) => INT4,
        Cell::Literal(LiftedLiteral::Int8(_)) => INT8,
        Cell::Literal(LiftedLiteral::Numeric { .. }) => NUMERIC,
        Cell::Literal(LiftedLiteral::Unknown { .. }) => UNKNOWN,
    }
}

/// `None`: its cells do not fit one type.
fn column_of(kinds: u8, form: &Form<'_>) -> Option<CellColumn> {
    let (kind, mixed) = match kinds {
        0 | UNKNOWN => (ColumnKind::Unknown, false),
        BOOL => (ColumnKind::Bool, false),
        INT4 => (ColumnKind::Int4, false),
        INT8 => (ColumnKind::Int8, false),
        NUMERIC => (ColumnKind::Numeric, false),
        _ if kinds & !(INT4 | INT8) == 0 => (ColumnKind::Int8, true),
        _ if kinds & !(INT4 | INT8 | NUMERIC) == 0 => (ColumnKind::Numeric, true),
        _ => return None,
    };
    // A cast value is not assigned to the column as it stands.
    (!mixed || form.fixed.is_empty()).then_some(CellColumn { kind, mixed })
}

/// The text with the first row alone, its values as parameters.
fn statement_of_one(
    text: &str,
    first: &[ReadCell],
    row: Range<usize>,
    form: &[Form<'_>],
    tail: &str,
) -> String {
    let mut sql = String::with_capacity(row.end + tail.len() + 8 * first.len());
    let (mut copied, mut number) = (0, 0);
    for (cell, _) in first.iter().zip(form).filter(|(_, form)| form.has_value) {
        number += 1;
        sql.push_str(&text[copied..cell.start]);
        // `('x','y')` needs no spaces, and neither do parameters between marks.
        sql.push_str(&format!("${number}"));
        copied = cell.value_end;
    }
    sql.push_str(&text[copied..row.end]);
    if !tail.is_empty() {
        sql.push(' ');
        sql.push_str(tail);
    }
    sql
}

struct Reader<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<Token> {
        let token = self.lexer.next_token();
        // Each run reports that a long name is truncated, so such a text is refused.
        let is_refused = token.kind == TokenKind::Invalid || truncate::is_long(token);
        (!is_refused).then_some(token)
    }

    fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == TokenKind::Word
            && self.text[token.start..token.end].eq_ignore_ascii_case(word)
    }

    /// Up to VALUES and the first row's parenthesis.
    fn head(&mut self) -> Option<()> {
        let (insert, into) = (self.next()?, self.next()?);
        if !self.is_word(insert, "insert") || !self.is_word(into, "into") {
            return None;
        }
        let mut depth = 0usize;
        loop {
            let token = self.next()?;
            match token.kind {
                TokenKind::Word if depth == 0 => {
                    if self.is_word(token, "values") {
                        break;
                    }
                    let others = ["select", "default", "table", "with"];
                    if others.iter().any(|word| self.is_word(token, word)) {
                        return None;
                    }
                }
                TokenKind::Punctuation(b'(' | b'[') => depth += 1,
                TokenKind::Punctuation(b')' | b']') => depth = depth.checked_sub(1)?,
                TokenKind::Punctuation(b';') => return None,
                TokenKind::Word
                | TokenKind::QuotedIdentifier
                | TokenKind::Integer
                | TokenKind::Punctuation(_) => {}
                _ => return None,
            }
        }
        (self.next()?.kind == TokenKind::Punctuation(b'(')).then_some(())
    }

    /// The cells of a row behind its parenthesis, and the one that closes it.
    fn row(&mut self) -> Option<Vec<ReadCell>> {
        let mut cells = Vec::new();
        loop {
            let (cell, closes) = self.cell()?;
            cells.push(cell);
            if closes {
                return Some(cells);
            }
        }
    }

    /// The row that has just been read, with its closing parenthesis.
    fn row_range(&self, row: &[ReadCell]) -> Range<usize> {
        let start = row.first().map_or(0, |cell| cell.start);
        start..self.lexer.position()
    }

    /// Rows after the first one. Returns the text after the last. `Ok(None)`: one is of another
    /// form.
    fn further_rows(&mut self, rows: &mut Rows<'_>) -> Result<Option<&'a str>> {
        loop {
            if rows.count.is_multiple_of(CHECK_EVERY_ROWS) {
                interrupt::check()?;
            }
            let Some(mark) = self.next() else { return Ok(None) };
            if mark.kind != TokenKind::Punctuation(b',') {
                return Ok(self.tail(mark));
            }
            if self.further_row(rows).is_none() {
                return Ok(None);
            }
        }
    }

    fn further_row(&mut self, rows: &mut Rows<'_>) -> Option<()> {
        if self.next()?.kind != TokenKind::Punctuation(b'(') {
            return None;
        }
        let (form, mut column) = (rows.form, 0);
        for (i, form) in form.iter().enumerate() {
            let (cell, closes) = self.cell()?;
            let start = if form.has_value { cell.value_end } else { cell.start };
            if closes != (i + 1 == rows.form.len()) || self.text[start..cell.end] != *form.fixed {
                return None;
            }
            if form.has_value {
                rows.add_value(cell.value?, column)?;
                column += 1;
            }
        }
        rows.count += 1;
        Some(())
    }

    /// A cell up to the mark behind it; whether that closes the row.
    fn cell(&mut self) -> Option<(ReadCell, bool)> {
        let token = self.next()?;
        let Some((value, end)) = self.value(token) else { return self.fixed(token, token) };
        let mark = self.next()?;
        let cell = ReadCell { value: Some(value), start: token.start, value_end: end, end };
        match mark.kind {
            TokenKind::Punctuation(b',') => Some((cell, false)),
            TokenKind::Punctuation(b')') => Some((cell, true)),
            // A minus is weaker than a cast.
            TokenKind::TypeCast if token.kind != TokenKind::Operator => self.cast(cell),
            _ => self.fixed(token, mark),
        }
    }

    /// The value that begins with a token, and where it ends.
    fn value(&mut self, token: Token) -> Option<(Value, usize)> {
        let literal = |literal| (Value::Cell(Cell::Literal(literal)), token.end);
        let bytes = &self.text.as_bytes()[token.start..token.end];
        Some(match token.kind {
            TokenKind::Integer | TokenKind::Float => literal(number(token, bytes)),
            TokenKind::String => literal(LiftedLiteral::Unknown {
                start: token.start + 1,
                end: token.end - 1,
                quotes: bytes[1..bytes.len() - 1].contains(&b'\''),
            }),
            TokenKind::Parameter => {
                (Value::Param(self.text[token.start + 1..token.end].parse().ok()?), token.end)
            }
            TokenKind::Operator if bytes == b"-" => {
                let mut ahead = self.lexer.clone();
                let digits = ahead.next_token();
                let is_number = matches!(digits.kind, TokenKind::Integer | TokenKind::Float);
                if !is_number || digits.start != token.end {
                    return None;
                }
                self.lexer = ahead;
                let cell = Cell::Literal(number_after_minus(self.text, token.start, digits));
                (Value::Cell(cell), digits.end)
            }
            TokenKind::Word if self.is_word(token, "null") => (Value::Cell(Cell::Null), token.end),
            TokenKind::Word if self.is_word(token, "true") => {
                (Value::Cell(Cell::Bool(true)), token.end)
            }
            TokenKind::Word if self.is_word(token, "false") => {
                (Value::Cell(Cell::Bool(false)), token.end)
            }
            _ => return None,
        })
    }

    /// The rest of a cell whose value is cast to a bare type name, as a parameter may be as well.
    /// The reg* types look names up, and other forms of types have modifiers.
    fn cast(&mut self, cell: ReadCell) -> Option<(ReadCell, bool)> {
        let (name, mark) = (self.next()?, self.next()?);
        let word = &self.text.as_bytes()[name.start..name.end];
        let looks_up = word.len() > 3 && word[..3].eq_ignore_ascii_case(b"reg");
        let closes = match mark.kind {
            TokenKind::Punctuation(b',') => false,
            TokenKind::Punctuation(b')') => true,
            _ => return None,
        };
        let is_plain = name.kind == TokenKind::Word && !looks_up;
        is_plain.then_some((ReadCell { end: name.end, ..cell }, closes))
    }

    /// A cell that is to be the same in all rows, of which `token` has been read last.
    fn fixed(&mut self, first: Token, mut token: Token) -> Option<(ReadCell, bool)> {
        let (mut depth, mut end) = (0usize, first.end);
        let closes = loop {
            match token.kind {
                TokenKind::Punctuation(b',') if depth == 0 => break false,
                TokenKind::Punctuation(b')') if depth == 0 => break true,
                TokenKind::Punctuation(b'(' | b'[') => depth += 1,
                TokenKind::Punctuation(b')' | b']') => depth = depth.checked_sub(1)?,
                TokenKind::Punctuation(b';') | TokenKind::Parameter | TokenKind::End => {
                    return None;
                }
                _ => {}
            }
            end = token.end;
            token = self.next()?;
        };
        let start = first.start;
        // There is no empty cell.
        (token.start > start)
            .then_some((ReadCell { value: None, start, value_end: start, end }, closes))
    }

    /// The text after the last row, from this token on: empty, ON CONFLICT or RETURNING.
    fn tail(&mut self, mut token: Token) -> Option<&'a str> {
        let start = token.start;
        let goes_on = self.is_word(token, "on") || self.is_word(token, "returning");
        loop {
            match token.kind {
                TokenKind::End => break,
                TokenKind::Punctuation(b';') => {
                    return (self.next()?.kind == TokenKind::End)
                        .then_some(&self.text[start..token.start]);
                }
                TokenKind::Parameter => return None,
                _ if !goes_on => return None,
                _ => token = self.next()?,
            }
        }
        Some(&self.text[start..token.start])
    }
}

/// A number without a sign: its type is PostgreSQL's (make_const).
fn number(token: Token, digits: &[u8]) -> LiftedLiteral {
    let value = if token.kind == TokenKind::Integer { integer(digits) } else { None };
    match value {
        Some(value) => LiftedLiteral::of_integer(value),
        None => LiftedLiteral::Numeric { start: token.start, end: token.end },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<ManyRows> {
        many_rows(text).unwrap()
    }

    fn cells(text: &str) -> (Vec<Cell>, Vec<CellColumn>) {
        match read(text).unwrap().cells {
            Cells::Literals { cells, columns } => (cells, columns),
            Cells::Params => panic!("{text}"),
        }
    }

    #[test]
    fn rows_of_literals_are_read() {
        let text = "INSERT INTO t (a, b) VALUES (1, 'it''s'), (-2, NULL) , (3,'z') RETURNING a;";
        let rows = read(text).unwrap();
        assert_eq!(rows.sql, "INSERT INTO t (a, b) VALUES ($1, $2) RETURNING a");
        assert_eq!((rows.width, rows.rows), (2, 3));
        let (cells, columns) = cells(text);
        assert_eq!(cells[0], Cell::Literal(LiftedLiteral::Int4(1)));
        let Cell::Literal(quoted) = cells[1] else { panic!("a string") };
        assert_eq!(quoted.text(text), "it's");
        assert_eq!(cells[2..4], [Cell::Literal(LiftedLiteral::Int4(-2)), Cell::Null]);
        assert_eq!(columns[0], CellColumn { kind: ColumnKind::Int4, mixed: false });
        assert_eq!(columns[1], CellColumn { kind: ColumnKind::Unknown, mixed: false });
    }

    #[test]
    fn numbers_have_the_types_that_the_parser_gives_them() {
        let text = "insert into t values (-2147483648, -2147483649, -9223372036854775808, \
            9223372036854775808, -1.5, true), (2147483647, 1, 1, 1, 1, false)";
        let (cells, columns) = cells(text);
        assert_eq!(cells[0], Cell::Literal(LiftedLiteral::Int4(i32::MIN)));
        assert_eq!(cells[1], Cell::Literal(LiftedLiteral::Int8(-2_147_483_649)));
        assert_eq!(cells[2], Cell::Literal(LiftedLiteral::Int8(i64::MIN)));
        let Cell::Literal(number) = cells[4] else { panic!("a number") };
        assert_eq!(number.text(text), "-1.5");
        let kinds: Vec<_> = columns.iter().map(|column| (column.kind, column.mixed)).collect();
        assert_eq!(
            kinds,
            [
                (ColumnKind::Int4, false),
                (ColumnKind::Int8, true),
                (ColumnKind::Int8, true),
                (ColumnKind::Numeric, true),
                (ColumnKind::Numeric, true),
                (ColumnKind::Bool, false),
            ]
        );
    }

    #[test]
    fn what_is_the_same_in_all_rows_stays() {
        let rows = read(
            "insert into s.\"T\" as x (a, b, c[1]) overriding user value values\n\
             ('2024-01-01'::date, now(), DEFAULT, f(1, '(')), ('x'::date, now(), DEFAULT, f(1, '('))\n\
             on conflict (a) do update set b = 5 -- the end",
        );
        let rows = rows.unwrap();
        assert_eq!((rows.width, rows.rows), (1, 2));
        assert!(rows.sql.contains("values\n($1::date, now(), DEFAULT, f(1, '(')) on conflict"));
        let rows = read("insert into t values ($1, 'x', $2::int), ($3, 'x', $4::int)").unwrap();
        assert_eq!((rows.width, rows.rows, rows.cells), (2, 2, Cells::Params));
        assert_eq!(rows.sql, "insert into t values ($1, 'x', $2::int)");
    }

    #[test]
    fn nothing_is_said_of_other_texts() {
        let long = "n".repeat(64);
        for text in [
            "insert into t values (1)",
            "insert into t values (1), (2, 3)",
            "insert into t values (1, 2), (3)",
            "insert into t values (1), ()",
            "insert into t values (1), (2) order by 1",
            "insert into t values (1), (2) union select 3",
            "insert into t values (1), (2); select 1",
            "insert into t values (1), (2), ",
            "insert into t values (1), ('x')",
            "insert into t values (1), (true)",
            "insert into t values (1), (2 + 3)",
            "insert into t values (1::int2), (3000000000::int2)",
            "insert into t values (-1::int2), (-2::int2)",
            "insert into t values ('1'::int[]), ('2'::int[])",
            "insert into t values ('a'::regclass), ('b'::regclass)",
            "insert into t values ('1'::numeric(3,1)), ('2'::numeric(3,1))",
            "insert into t values ($1), ($3)",
            "insert into t values ($1), (2)",
            "insert into t values (1), (2) returning $1",
            "insert into t values (1, 'x), (2, 'y')",
            "insert into t values (DEFAULT), (DEFAULT)",
            "insert into t select 1 from (values (1), (2)) v",
            "with x as (select 1) insert into t values (1), (2)",
            "select 1",
            "",
            &format!("insert into {long} values (1), (2)"),
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
