//! A client's messages, decoded as views of the receive buffer.
//!
//! [`decode`] checks a whole message at once, counts and lengths included, so
//! that the lazy iterators it hands out ([`Values`], [`Formats`]) cannot fail.
//! Errors are of severity ERROR: the framing stands, the session goes on.

use steppe_types::{Oid, Result};

use crate::Format;
use crate::body::{Body, violation};
use crate::frame::{Frame, fatal};
use crate::text;

/// A message from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontendMessage<'a> {
    /// `Q`: run this text, statement by statement.
    Query(&'a str),
    /// `P`: make a prepared statement.
    Parse(Parse<'a>),
    /// `B`: make a portal of a prepared statement and values.
    Bind(Bind<'a>),
    /// `D`: describe a statement or portal.
    Describe(Target<'a>),
    /// `E`: run a portal.
    Execute {
        /// The portal's name.
        portal: &'a str,
        /// The most rows to return; zero or less asks for all.
        max_rows: i32,
    },
    /// `C`: forget a statement or portal.
    Close(Target<'a>),
    /// `H`: send what is buffered.
    Flush,
    /// `S`: the end of a batch, to which errors skip.
    Sync,
    /// `X`: the end of the session.
    Terminate,
    /// `d`: a piece of COPY data, cut anywhere.
    CopyData(&'a [u8]),
    /// `c`: the end of COPY data.
    CopyDone,
    /// `f`: the client ends COPY with an error, for this reason.
    CopyFail(&'a str),
    /// `F`: call a function by OID (the old "fast path").
    FunctionCall(FunctionCall<'a>),
    /// `p`: the answer to an authentication request, as it came
    /// ([`password`], [`SaslInitialResponse::decode`], or SASL bytes).
    AuthResponse(&'a [u8]),
}

/// Parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parse<'a> {
    /// The statement's name, empty for the unnamed one.
    pub statement: &'a str,
    /// Its text.
    pub query: &'a str,
    /// Parameter types given in advance; zero asks for inference.
    pub types: Oids<'a>,
}

/// Bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// The portal's name, empty for the unnamed one.
    pub portal: &'a str,
    /// The statement's name.
    pub statement: &'a str,
    /// Formats of the parameters.
    pub formats: Formats<'a>,
    /// The parameters.
    pub params: Values<'a>,
    /// Formats wanted for the result's columns.
    pub result_formats: Formats<'a>,
}

/// The object of Describe and Close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A prepared statement.
    Statement(&'a str),
    /// A portal.
    Portal(&'a str),
}

/// FunctionCall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionCall<'a> {
    /// The function.
    pub function: Oid,
    /// Formats of the arguments.
    pub formats: Formats<'a>,
    /// The arguments.
    pub args: Values<'a>,
    /// The format wanted for the result.
    pub result_format: Format,
}

/// Decodes a client's message.
#[inline]
pub fn decode<'a>(frame: Frame<'a>) -> Result<FrontendMessage<'a>> {
    let mut body = Body::new(frame.body);
    let message = match frame.tag {
        b'Q' => FrontendMessage::Query(body.str()?),
        b'P' => FrontendMessage::Parse(parse(&mut body)?),
        b'B' => FrontendMessage::Bind(bind(&mut body)?),
        b'E' => FrontendMessage::Execute { portal: body.str()?, max_rows: body.i32()? },
        b'D' => FrontendMessage::Describe(target(&mut body, "DESCRIBE")?),
        b'C' => FrontendMessage::Close(target(&mut body, "CLOSE")?),
        b'F' => FrontendMessage::FunctionCall(function_call(&mut body)?),
        b'S' => FrontendMessage::Sync,
        b'H' => FrontendMessage::Flush,
        // PostgreSQL ignores the bodies of these two.
        b'X' => return Ok(FrontendMessage::Terminate),
        b'c' => return Ok(FrontendMessage::CopyDone),
        b'd' => return Ok(FrontendMessage::CopyData(frame.body)),
        b'p' => return Ok(FrontendMessage::AuthResponse(frame.body)),
        b'f' => FrontendMessage::CopyFail(body.str()?),
        tag => return Err(fatal(format!("invalid frontend message type {tag}"))),
    };
    body.end()?;
    Ok(message)
}

fn parse<'a>(body: &mut Body<'a>) -> Result<Parse<'a>> {
    let (statement, query) = (body.str()?, body.str()?);
    let count = usize::from(body.u16()?);
    Ok(Parse { statement, query, types: Oids(body.bytes(count * 4)?) })
}

fn bind<'a>(body: &mut Body<'a>) -> Result<Bind<'a>> {
    let (portal, statement) = (body.str()?, body.str()?);
    let formats = formats(body)?;
    let count = body.u16()?;
    if formats.len() > 1 && formats.len() != usize::from(count) {
        return Err(violation(format!(
            "bind message has {} parameter formats but {count} parameters",
            formats.len()
        )));
    }
    let params = Values { count, bytes: body.values(count)? };
    Ok(Bind { portal, statement, formats, params, result_formats: self::formats(body)? })
}

fn function_call<'a>(body: &mut Body<'a>) -> Result<FunctionCall<'a>> {
    let function = body.u32()?;
    let formats = formats(body)?;
    let count = body.u16()?;
    if formats.len() > 1 && formats.len() != usize::from(count) {
        return Err(violation(format!(
            "function call message contains {} argument formats but {count} arguments",
            formats.len()
        )));
    }
    let args = Values { count, bytes: body.values(count)? };
    Ok(FunctionCall { function, formats, args, result_format: Format::from_code(body.i16()?)? })
}

fn formats<'a>(body: &mut Body<'a>) -> Result<Formats<'a>> {
    let count = usize::from(body.u16()?);
    body.bytes(count * 2).map(Formats)
}

fn target<'a>(body: &mut Body<'a>, what: &str) -> Result<Target<'a>> {
    let kind = body.u8()?;
    let name = body.str()?;
    match kind {
        b'S' => Ok(Target::Statement(name)),
        b'P' => Ok(Target::Portal(name)),
        _ => Err(violation(format!("invalid {what} message subtype {kind}"))),
    }
}

/// Type OIDs, as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Oids<'a>(pub(crate) &'a [u8]);

impl<'a> Oids<'a> {
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len() / 4
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each in turn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Oid> + 'a {
        self.0.as_chunks::<4>().0.iter().map(|chunk| Oid::from_be_bytes(*chunk))
    }
}

/// Format codes, as they came: none (all text), one (for all), or one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Formats<'a>(pub(crate) &'a [u8]);

impl<'a> Formats<'a> {
    /// The number of codes.
    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each code in turn.
    pub fn codes(&self) -> impl ExactSizeIterator<Item = i16> + 'a {
        self.0.as_chunks::<2>().0.iter().map(|chunk| i16::from_be_bytes(*chunk))
    }

    /// The format of value `i`; 22023 if its code is neither text nor binary.
    #[inline]
    pub fn get(&self, i: usize) -> Result<Format> {
        let codes = self.0.as_chunks::<2>().0;
        let code = match codes {
            [] => return Ok(Format::Text),
            [all] => all,
            each => match each.get(i) {
                Some(code) => code,
                None => return Ok(Format::Text),
            },
        };
        Format::from_code(i16::from_be_bytes(*code))
    }

    /// Checks result formats against the result: 08P01 if their number fits
    /// neither none, one, nor the number of columns.
    pub fn check_columns(&self, columns: usize) -> Result<()> {
        if self.len() > 1 && self.len() != columns {
            return Err(violation(format!(
                "bind message has {} result formats but query has {columns} columns",
                self.len()
            )));
        }
        Ok(())
    }
}

/// Nullable values behind length words: parameters, or a row's columns. They
/// were checked when the message was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Values<'a> {
    pub(crate) count: u16,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// How many.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Each in turn; `None` is NULL.
    pub fn iter(&self) -> ValuesIter<'a> {
        ValuesIter { left: self.count, body: Body::new(self.bytes) }
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = Option<&'a [u8]>;
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

/// Iterator over [`Values`].
#[derive(Clone)]
pub struct ValuesIter<'a> {
    left: u16,
    body: Body<'a>,
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = Option<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        self.left = self.left.checked_sub(1)?;
        self.body.value().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for ValuesIter<'_> {}

/// The password in an [`AuthResponse`](FrontendMessage::AuthResponse), checked
/// as recv_password_packet does.
pub fn password(body: &[u8]) -> Result<&[u8]> {
    match body.split_last() {
        Some((0, password)) if !password.contains(&0) => Ok(password),
        _ => Err(fatal("invalid password packet size")),
    }
}

/// SASLInitialResponse, in an [`AuthResponse`](FrontendMessage::AuthResponse).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaslInitialResponse<'a> {
    /// The mechanism that the client chose.
    pub mechanism: &'a str,
    /// Its first message, if it sent one.
    pub data: Option<&'a [u8]>,
}

impl<'a> SaslInitialResponse<'a> {
    /// Decodes the body of the first `p` message of a SASL exchange.
    pub fn decode(body: &'a [u8]) -> Result<SaslInitialResponse<'a>> {
        let mut body = Body::new(body);
        let mechanism = body.str()?;
        let data = body.value()?;
        body.end()?;
        Ok(SaslInitialResponse { mechanism, data })
    }
}

/// A parameter in text format as text, checked as PostgreSQL does.
pub fn text_param(value: &[u8]) -> Result<&str> {
    text::verify(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(tag: u8, body: &[u8]) -> (String, String) {
        let error = decode(Frame { tag, body }).expect_err("refused");
        assert_eq!(error.fields().severity, steppe_types::error::Severity::Error);
        (error.sqlstate().to_string(), error.message().to_owned())
    }

    fn protocol(message: &str) -> (String, String) {
        ("08P01".into(), message.into())
    }

    #[test]
    fn refuses_bad_bodies_with_postgresqls_words() {
        assert_eq!(refusal(b'Q', b"select"), protocol("invalid string in message"));
        assert_eq!(refusal(b'Q', b"a\0b"), protocol("invalid message format"));
        assert_eq!(refusal(b'S', b"x"), protocol("invalid message format"));
        assert_eq!(refusal(b'D', b""), protocol("no data left in message"));
        assert_eq!(refusal(b'D', b"X\0"), protocol("invalid DESCRIBE message subtype 88"));
        assert_eq!(refusal(b'C', b"X\0"), protocol("invalid CLOSE message subtype 88"));
        assert_eq!(refusal(b'E', b"\0\0\0"), protocol("insufficient data left in message"));
        assert_eq!(
            refusal(b'P', b"\0\0\xff\xff\0\0"),
            protocol("insufficient data left in message")
        );
        assert_eq!(
            refusal(b'Q', b"\xff\0"),
            ("22021".into(), "invalid byte sequence for encoding \"UTF8\": 0xff".into())
        );
        assert_eq!(
            refusal(b'B', b"\0\0\0\x02\0\0\0\0\0\x01\xff\xff\xff\xff\0\0"),
            protocol("bind message has 2 parameter formats but 1 parameters")
        );
        // A negative length other than NULL's, and one past the message.
        for length in [b"\xff\xff\xff\xfe", b"\x7f\xff\xff\xff"] {
            let body = [&b"\0\0\0\0\0\x01"[..], length, b"\0\0"].concat();
            assert_eq!(refusal(b'B', &body), protocol("insufficient data left in message"));
        }
    }

    #[test]
    fn formats_follow_the_none_one_each_rule() {
        let none = Formats(b"");
        assert_eq!(none.get(5).unwrap(), Format::Text);
        let one = Formats(b"\0\x01");
        assert_eq!(one.get(5).unwrap(), Format::Binary);
        let each = Formats(b"\0\0\0\x01\0\x07");
        assert_eq!(each.get(0).unwrap(), Format::Text);
        assert_eq!(each.get(1).unwrap(), Format::Binary);
        assert_eq!(each.get(2).unwrap_err().message(), "unsupported format code: 7");
        assert!(each.check_columns(3).is_ok());
        assert_eq!(
            each.check_columns(2).unwrap_err().message(),
            "bind message has 3 result formats but query has 2 columns"
        );
    }

    #[test]
    fn passwords_end_at_their_terminator() {
        assert_eq!(password(b"secret\0").unwrap(), b"secret");
        assert!(password(b"secret").is_err());
        assert!(password(b"se\0cret\0").is_err());
        assert!(password(b"").is_err());
        let sasl = SaslInitialResponse::decode(b"SCRAM-SHA-256\0\0\0\0\x03n,,").unwrap();
        assert_eq!(sasl.mechanism, "SCRAM-SHA-256");
        assert_eq!(sasl.data, Some(&b"n,,"[..]));
        assert!(SaslInitialResponse::decode(b"X\0\0\0\0\x09n,,").is_err());
    }
}
