//! Arrays and composites as text (arrayfuncs.c, rowtypes.c).
//!
//! `{1,NULL,"a b"}`, nested for more dimensions, with `[2:3]=` before it where a
//! lower bound is not 1; and `(1,,"a b")`.

use crate::datum::Array;
use crate::interrupt::{self, CHECK_EVERY_ITEMS};
use crate::io::{IoContext, column_types};
use crate::number_io::is_space;
use crate::oid::{self, Oid};
use crate::stored::ARRAY_DIMENSIONS_MAX;
use crate::text_io::{input, output};
use crate::{Datum, Error, Result, SqlState};
use std::sync::Arc;

/// How many elements an array may have (MaxArraySize: 1 GB of pointers).
pub const ARRAY_ELEMENTS_MAX: usize = (1 << 30) / 8 - 1;

/// Whether a type's arrays are written with `"` around this element.
fn needs_quotes(text: &[u8]) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case(b"null")
        || text.iter().any(|b| matches!(b, b'"' | b'\\' | b'{' | b'}' | b',') || is_space(*b))
}

/// Appends the text of an array.
pub fn write_array(array: &Array, context: &IoContext, out: &mut Vec<u8>) -> Result<()> {
    if array.elements.is_empty() {
        out.extend_from_slice(b"{}");
        return Ok(());
    }
    if array.dimensions.iter().any(|(_, lower_bound)| *lower_bound != 1) {
        for (length, lower_bound) in &array.dimensions {
            let upper_bound = i64::from(*lower_bound) + i64::from(*length) - 1;
            out.extend_from_slice(format!("[{lower_bound}:{upper_bound}]").as_bytes());
        }
        out.push(b'=');
    }
    let mut elements = array.elements.iter();
    write_level(array, 0, &mut elements, context, out)
}

fn write_level(
    array: &Array,
    level: usize,
    elements: &mut std::slice::Iter<'_, Datum>,
    context: &IoContext,
    out: &mut Vec<u8>,
) -> Result<()> {
    let Some((length, _)) = array.dimensions.get(level) else {
        return write_element(array.element_type, elements.next(), context, out);
    };
    out.push(b'{');
    for i in 0..*length {
        if i > 0 {
            out.push(b',');
        }
        if i % CHECK_EVERY_ITEMS as i32 == CHECK_EVERY_ITEMS as i32 - 1 {
            interrupt::check()?;
        }
        write_level(array, level + 1, elements, context, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_element(
    element_type: Oid,
    element: Option<&Datum>,
    context: &IoContext,
    out: &mut Vec<u8>,
) -> Result<()> {
    let element =
        element.ok_or_else(|| Error::internal("array has fewer elements than it says"))?;
    if element.is_null() {
        out.extend_from_slice(b"NULL");
        return Ok(());
    }
    let start = out.len();
    output(element_type, element, context, out)?;
    if needs_quotes(&out[start..]) {
        let plain = out.split_off(start);
        out.push(b'"');
        for byte in plain {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.push(b'"');
    }
    Ok(())
}

/// Reads an array of elements of type `element_type`, whose typmod is `typmod`.
pub fn parse_array(
    element_type: Oid,
    typmod: i32,
    text: &str,
    context: &IoContext,
) -> Result<Datum> {
    let mut parser = ArrayParser { text, at: 0, element: Vec::new() };
    let bounds = parser.bounds()?;
    let array = parser.contents(element_type, typmod, bounds, context)?;
    Ok(Datum::Array(Arc::new(array)))
}

#[derive(PartialEq)]
enum Token {
    Open,
    Close,
    Delimiter,
    Element,
    Null,
}

struct ArrayParser<'a> {
    text: &'a str,
    at: usize,
    /// The element just read, unquoted and unescaped.
    element: Vec<u8>,
}

impl ArrayParser<'_> {
    #[cold]
    fn malformed(&self, detail: impl Into<String>) -> Error {
        Error::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("malformed array literal: \"{}\"", self.text),
        )
        .detail(detail)
    }

    #[cold]
    fn unexpected(&self, character: char) -> Error {
        self.malformed(format!("Unexpected \"{character}\" character."))
    }

    #[cold]
    fn mismatched(&self) -> Error {
        self.malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// `[l:u][l:u]=`, if it is there: lengths and lower bounds.
    fn bounds(&mut self) -> Result<Option<Vec<(i32, i32)>>> {
        let mut bounds = Vec::new();
        loop {
            self.skip_spaces();
            if self.peek() != Some(b'[') {
                break;
            }
            self.at += 1;
            if bounds.len() >= ARRAY_DIMENSIONS_MAX {
                return Err(too_deep());
            }
            let first = self.bound()?;
            let (lower, upper) = if self.peek() == Some(b':') {
                self.at += 1;
                (first, self.bound()?)
            } else {
                (1, first)
            };
            if self.peek() != Some(b']') {
                return Err(self.malformed("Missing \"]\" after array dimensions."));
            }
            self.at += 1;
            if upper < lower {
                return Err(Error::new(
                    SqlState::ARRAY_SUBSCRIPT_ERROR,
                    "upper bound cannot be less than lower bound",
                ));
            }
            let length = i64::from(upper) - i64::from(lower) + 1;
            if upper == i32::MAX || length > ARRAY_ELEMENTS_MAX as i64 {
                return Err(array_too_large());
            }
            bounds.push((length as i32, lower));
        }
        if bounds.is_empty() {
            return if self.peek() == Some(b'{') {
                Ok(None)
            } else {
                Err(self.malformed("Array value must start with \"{\" or dimension information."))
            };
        }
        if self.peek() != Some(b'=') {
            return Err(self.malformed("Missing \"=\" after array dimensions."));
        }
        self.at += 1;
        self.skip_spaces();
        if self.peek() != Some(b'{') {
            return Err(self.malformed("Array contents must start with \"{\"."));
        }
        Ok(Some(bounds))
    }

    fn bound(&mut self) -> Result<i32> {
        let start = self.at;
        if matches!(self.peek(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        let digits = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == digits {
            let detail = "\"[\" must introduce explicitly-specified array dimensions.";
            return Err(self.malformed(detail));
        }
        self.text[start..self.at].parse().map_err(|_| {
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "array bound is out of integer range")
        })
    }

    /// The braces and what is in them. PostgreSQL freezes the number of dimensions
    /// at the first element and each length at the first closing brace.
    fn contents(
        &mut self,
        element_type: Oid,
        typmod: i32,
        bounds: Option<Vec<(i32, i32)>>,
        context: &IoContext,
    ) -> Result<Array> {
        let mut elements = Vec::new();
        let mut counts = [0usize; ARRAY_DIMENSIONS_MAX];
        let mut lengths = [None::<usize>; ARRAY_DIMENSIONS_MAX];
        let mut dimensions = bounds.as_ref().map_or(0, Vec::len);
        let mut frozen = bounds.is_some();
        for (length, (given, _)) in lengths.iter_mut().zip(bounds.iter().flatten()) {
            *length = Some(*given as usize);
        }
        let (mut depth, mut after_value) = (0, false);
        loop {
            let token = self.token()?;
            match token {
                Token::Open => {
                    if after_value {
                        return Err(self.unexpected('{'));
                    }
                    if depth >= ARRAY_DIMENSIONS_MAX {
                        return Err(too_deep());
                    }
                    counts[depth] = 0;
                    depth += 1;
                    if depth > dimensions {
                        if frozen {
                            return Err(self.wrong_shape(&bounds));
                        }
                        dimensions = depth;
                    }
                }
                Token::Close => {
                    if counts[depth - 1] > 0 && !after_value {
                        return Err(self.unexpected('}'));
                    }
                    depth -= 1;
                    if depth > 0 {
                        counts[depth - 1] += 1;
                    }
                    match lengths[depth] {
                        None => lengths[depth] = Some(counts[depth]),
                        Some(length) if length == counts[depth] => {}
                        Some(_) => return Err(self.wrong_shape(&bounds)),
                    }
                    after_value = true;
                }
                Token::Delimiter if !after_value => return Err(self.unexpected(',')),
                Token::Delimiter => after_value = false,
                Token::Element | Token::Null => {
                    if after_value {
                        return Err(self.malformed("Unexpected array element."));
                    }
                    if elements.len() >= ARRAY_ELEMENTS_MAX {
                        return Err(array_too_large());
                    }
                    frozen = true;
                    if depth != dimensions {
                        return Err(self.wrong_shape(&bounds));
                    }
                    counts[depth - 1] += 1;
                    after_value = true;
                    if elements.len() % CHECK_EVERY_ITEMS == CHECK_EVERY_ITEMS - 1 {
                        interrupt::check()?;
                    }
                    elements.push(if token == Token::Null && context.array_nulls {
                        Datum::Null
                    } else {
                        input(element_type, typmod, self.element_text()?, context)?
                    });
                }
            }
            if depth == 0 {
                break;
            }
        }
        self.skip_spaces();
        if self.at < self.text.len() {
            return Err(self.malformed("Junk after closing right brace."));
        }
        let dimensions = match bounds {
            _ if elements.is_empty() => Vec::new(),
            Some(bounds) => bounds,
            None => lengths[..dimensions].iter().map(|l| (l.unwrap_or(0) as i32, 1)).collect(),
        };
        Ok(Array { element_type, dimensions, elements })
    }

    #[cold]
    fn wrong_shape(&self, bounds: &Option<Vec<(i32, i32)>>) -> Error {
        match bounds {
            Some(_) => self.malformed("Specified array dimensions do not match array contents."),
            None => self.mismatched(),
        }
    }

    fn element_text(&self) -> Result<&str> {
        std::str::from_utf8(&self.element)
            .map_err(|_| Error::internal("array element was cut inside a character"))
    }

    fn token(&mut self) -> Result<Token> {
        self.skip_spaces();
        let token = match self.peek() {
            None => return Err(self.malformed("Unexpected end of input.")),
            Some(b'{') => Token::Open,
            Some(b'}') => Token::Close,
            Some(b',') => Token::Delimiter,
            Some(b'"') => return self.quoted(),
            Some(_) => return self.unquoted(),
        };
        self.at += 1;
        Ok(token)
    }

    fn quoted(&mut self) -> Result<Token> {
        self.element.clear();
        self.at += 1;
        loop {
            let Some(byte) = self.peek() else {
                return Err(self.malformed("Unexpected end of input."));
            };
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => match self.peek() {
                    None => return Err(self.malformed("Unexpected end of input.")),
                    Some(next) => {
                        self.element.push(next);
                        self.at += 1;
                    }
                },
                _ => self.element.push(byte),
            }
        }
        self.skip_spaces();
        match self.peek() {
            None | Some(b',' | b'}' | b'{') => Ok(Token::Element),
            Some(_) => Err(self.malformed("Incorrectly quoted array element.")),
        }
    }

    fn unquoted(&mut self) -> Result<Token> {
        self.element.clear();
        // Trailing white space is dropped, except what a backslash protects.
        let (mut kept, mut escaped) = (0, false);
        loop {
            match self.peek() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(b'{') => return Err(self.unexpected('{')),
                Some(b'"') => {
                    return Err(self.malformed("Incorrectly quoted array element."));
                }
                Some(b',' | b'}') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let Some(next) = self.peek() else {
                        return Err(self.malformed("Unexpected end of input."));
                    };
                    self.element.push(next);
                    kept = self.element.len();
                    escaped = true;
                }
                Some(byte) => {
                    self.element.push(byte);
                    if !is_space(byte) {
                        kept = self.element.len();
                    }
                }
            }
            self.at += 1;
        }
        self.element.truncate(kept);
        let null = !escaped && self.element.eq_ignore_ascii_case(b"null");
        Ok(if null { Token::Null } else { Token::Element })
    }
}

/// The same error while reading a text, whose elements are not counted to the end.
#[cold]
fn too_deep() -> Error {
    Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("number of array dimensions exceeds the maximum allowed ({ARRAY_DIMENSIONS_MAX})"),
    )
}

#[cold]
pub(crate) fn too_many_dimensions(count: usize) -> Error {
    Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!(
            "number of array dimensions ({count}) exceeds the maximum allowed \
             ({ARRAY_DIMENSIONS_MAX})"
        ),
    )
}

#[cold]
/// 54000 for more elements than an array may have.
pub fn array_too_large() -> Error {
    Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})"),
    )
}

/// The built-in type of a datum's representation, if nothing else determines it: for columns of an
/// anonymous composite.
pub fn default_type_of(datum: &Datum) -> Oid {
    match datum {
        Datum::Null => oid::UNKNOWN,
        Datum::Bool(_) => oid::BOOL,
        Datum::Int2(_) => oid::INT2,
        Datum::Int4(_) => oid::INT4,
        Datum::Int8(_) => oid::INT8,
        Datum::Float4(_) => oid::FLOAT4,
        Datum::Float8(_) => oid::FLOAT8,
        Datum::Oid(_) => oid::OID,
        Datum::Text(_) => oid::TEXT,
        Datum::Bytea(_) => oid::BYTEA,
        Datum::Char(_) => oid::CHAR,
        Datum::Numeric(_) => oid::NUMERIC,
        Datum::Date(_) => oid::DATE,
        Datum::Time(_) => oid::TIME,
        Datum::TimeTz(..) => oid::TIMETZ,
        Datum::Timestamp(_) => oid::TIMESTAMP,
        Datum::TimestampTz(_) => oid::TIMESTAMPTZ,
        Datum::Interval(_) => oid::INTERVAL,
        Datum::Uuid(_) => oid::UUID,
        Datum::Xid8(_) => oid::XID8,
        Datum::PgLsn(_) => oid::PG_LSN,
        Datum::Tid(..) => oid::TID,
        Datum::Enum(type_oid, _) => *type_oid,
        Datum::Array(v) => oid::array_type_of(v.element_type).unwrap_or(oid::ANYARRAY),
        Datum::Record(_) => oid::RECORD,
    }
}

/// Appends the text of a composite value.
pub fn write_record(
    type_oid: Oid,
    columns: &[Datum],
    context: &IoContext,
    out: &mut Vec<u8>,
) -> Result<()> {
    let types = column_types(type_oid, columns, context);
    out.push(b'(');
    for (i, (column, type_oid)) in columns.iter().zip(types).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        if column.is_null() {
            continue;
        }
        let start = out.len();
        output(type_oid, column, context, out)?;
        let quote = |b: &u8| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_space(*b);
        if start == out.len() || out[start..].iter().any(quote) {
            let plain = out.split_off(start);
            out.push(b'"');
            for byte in plain {
                if matches!(byte, b'"' | b'\\') {
                    out.push(byte);
                }
                out.push(byte);
            }
            out.push(b'"');
        }
    }
    out.push(b')');
    Ok(())
}

/// Reads a composite value whose columns have the given types and typmods.
pub fn parse_record(columns: &[(Oid, i32)], text: &str, context: &IoContext) -> Result<Datum> {
    let malformed = |detail: &str| {
        Error::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("malformed record literal: \"{text}\""),
        )
        .detail(detail)
    };
    let trimmed = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let mut rest =
        trimmed.strip_prefix('(').ok_or_else(|| malformed("Missing left parenthesis."))?.as_bytes();
    let mut values = Vec::with_capacity(columns.len());
    for (i, (type_oid, typmod)) in columns.iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(b",").ok_or_else(|| malformed("Too few columns."))?;
        }
        let (field, tail) =
            record_field(rest).ok_or_else(|| malformed("Unexpected end of input."))?;
        rest = tail;
        values.push(match field {
            None => Datum::Null,
            Some(bytes) => {
                let field = std::str::from_utf8(&bytes)
                    .map_err(|_| Error::internal("column was cut inside a character"))?;
                input(*type_oid, *typmod, field, context)?
            }
        });
    }
    let rest = rest.strip_prefix(b")").ok_or_else(|| malformed("Too many columns."))?;
    if !rest.iter().all(|b| is_space(*b)) {
        return Err(malformed("Junk after right parenthesis."));
    }
    Ok(Datum::Record(values.into()))
}

/// One column up to its `,` or `)`, which stay: `None` inside is NULL, `None`
/// outside that the text ended.
#[allow(clippy::type_complexity, reason = "read once, right here")]
fn record_field(bytes: &[u8]) -> Option<(Option<Vec<u8>>, &[u8])> {
    if matches!(bytes.first(), Some(b',' | b')')) {
        return Some((None, bytes));
    }
    let (mut field, mut quoted, mut at) = (Vec::new(), false, 0);
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        match byte {
            b',' | b')' if !quoted => return Some((Some(field), &bytes[at - 1..])),
            b'\\' => {
                field.push(*bytes.get(at)?);
                at += 1;
            }
            b'"' if quoted && bytes.get(at) == Some(&b'"') => {
                field.push(b'"');
                at += 1;
            }
            b'"' => quoted = !quoted,
            _ => field.push(byte),
        }
    }
}
