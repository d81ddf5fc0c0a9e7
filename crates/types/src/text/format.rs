//! `format()`: `%[position$][-][width]type` with the types s, I and L.

use super::quote::{quote_ident, quote_nullable};
use super::{check_size, pad};
use crate::text::Side;
use crate::{Error, Result, SqlState};
use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// One argument: its text, `None` for NULL.
pub type Argument<'a> = Option<Cow<'a, str>>;

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cold]
fn bad_specifier(message: impl Into<String>) -> Error {
    invalid(message).hint("For a single \"%\" use \"%%\".")
}

/// Where a conversion takes its width from.
enum Width {
    None,
    Given(i32),
    /// `*`: the next argument, or a numbered one.
    Argument(Option<i32>),
}

struct Formatter<'f, 'a> {
    format: Peekable<Chars<'f>>,
    arguments: &'f [Argument<'a>],
    /// The argument (from 0) that a conversion without a number takes.
    next: usize,
}

/// `format(format, arguments…)` over arguments already shown as text.
pub fn format(format: &str, arguments: &[Argument<'_>]) -> Result<String> {
    let mut formatter = Formatter { format: format.chars().peekable(), arguments, next: 0 };
    let mut out = String::with_capacity(format.len());
    while let Some(c) = formatter.format.next() {
        if c != '%' {
            out.push(c);
        } else if formatter.format.peek() == Some(&'%') {
            formatter.format.next();
            out.push('%');
        } else {
            formatter.conversion(&mut out)?;
        }
        check_size(out.len())?;
    }
    Ok(out)
}

impl<'f, 'a> Formatter<'f, 'a> {
    fn conversion(&mut self, out: &mut String) -> Result<()> {
        let mut position = None;
        let mut width = Width::None;
        let mut left = false;
        // A number is a position before "$", else the width.
        match self.number()? {
            Some(number) if self.format.next_if_eq(&'$').is_some() => {
                position = Some(check_position(number)?);
            }
            Some(number) => width = Width::Given(number),
            None => {}
        }
        if matches!(width, Width::None) {
            while self.format.next_if_eq(&'-').is_some() {
                left = true;
            }
            width = self.width()?;
        }
        let Some(kind) = self.format.next() else {
            return Err(bad_specifier("unterminated format() type specifier"));
        };
        let (width, left) = self.resolve_width(width, left)?;
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(bad_specifier(format!("unrecognized format() type specifier \"{kind}\"")));
        }
        let argument = self.argument(position)?;
        let text: Cow<'_, str> = match (kind, argument) {
            ('s', argument) => argument.as_deref().unwrap_or("").into(),
            ('L', argument) => quote_nullable(argument.as_deref())?.into(),
            (_, Some(name)) => quote_ident(name)?.into(),
            (_, None) => {
                return Err(Error::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
        };
        if text.chars().count() >= width {
            out.push_str(&text);
        } else {
            let side = if left { Side::Right } else { Side::Left };
            out.push_str(&pad(&text, width as i32, " ", side)?);
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Option<i32>> {
        let mut number = None;
        while let Some(digit) = self.format.peek().and_then(|c| c.to_digit(10)) {
            self.format.next();
            let value = number
                .unwrap_or(0i32)
                .checked_mul(10)
                .and_then(|v| v.checked_add(digit as i32))
                .ok_or_else(|| {
                    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range")
                })?;
            number = Some(value);
        }
        Ok(number)
    }

    fn width(&mut self) -> Result<Width> {
        if self.format.next_if_eq(&'*').is_none() {
            return Ok(self.number()?.map_or(Width::None, Width::Given));
        }
        match self.number()? {
            None => Ok(Width::Argument(None)),
            Some(number) => {
                if self.format.next_if_eq(&'$').is_none() {
                    return Err(invalid("width argument position must be ended by \"$\""));
                }
                Ok(Width::Argument(Some(check_position(number)?)))
            }
        }
    }

    /// The width in characters; a negative one from an argument aligns left.
    fn resolve_width(&mut self, width: Width, left: bool) -> Result<(usize, bool)> {
        let number = match width {
            Width::None => 0,
            Width::Given(number) => number,
            Width::Argument(position) => match self.argument(position)? {
                None => 0,
                Some(text) => crate::number_io::parse_int4(text)?,
            },
        };
        if number == i32::MIN {
            return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"));
        }
        Ok((number.unsigned_abs() as usize, left || number < 0))
    }

    fn argument(&mut self, position: Option<i32>) -> Result<&'f Argument<'a>> {
        let index = position.map_or(self.next, |position| position as usize - 1);
        self.next = index + 1;
        self.arguments.get(index).ok_or_else(|| invalid("too few arguments for format()"))
    }
}

fn check_position(position: i32) -> Result<i32> {
    if position == 0 {
        return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
    }
    Ok(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, arguments: &[Option<&str>]) -> Result<String> {
        let arguments: Vec<Argument<'_>> = arguments.iter().map(|a| a.map(Cow::from)).collect();
        format(text, &arguments)
    }

    #[test]
    fn formats_as_postgresql_does() {
        let arguments =
            [Some("a"), Some("b"), Some("c"), Some("d e"), Some("f'g"), None, Some("z")];
        assert_eq!(
            run("%1$s %s|%-5s|%5s|%I|%L|%L", &arguments).unwrap(),
            "a b|c    |  d e|\"f'g\"|NULL|'z'"
        );
        let widths = [Some("4"), Some("a"), Some("4"), Some("b")];
        assert_eq!(run("%*s|%-*s", &widths).unwrap(), "   a|b   ");
        assert_eq!(run("%*s|", &[Some("-3"), Some("a")]).unwrap(), "a  |");
        assert_eq!(run("100%% %s", &[None]).unwrap(), "100% ");
        assert_eq!(run("%2$s %1$s", &[Some("a"), Some("b")]).unwrap(), "b a");
    }

    #[test]
    fn bad_formats_give_postgresqls_errors() {
        let message = |text, arguments: &[Option<&str>]| {
            let error = run(text, arguments).unwrap_err();
            format!("{} {}", error.sqlstate(), error.message())
        };
        let one = [Some("1")];
        assert_eq!(message("%s", &[]), "22023 too few arguments for format()");
        assert_eq!(message("%z", &one), "22023 unrecognized format() type specifier \"z\"");
        assert_eq!(message("%", &one), "22023 unterminated format() type specifier");
        assert_eq!(
            message("%0$s", &one),
            "22023 format specifies argument 0, but arguments are numbered from 1"
        );
        assert_eq!(
            message("%I", &[None]),
            "22004 null values cannot be formatted as an SQL identifier"
        );
        assert_eq!(message("%99999999999s", &one), "22003 number is out of range");
    }
}
