//! A client's messages, appended to a send buffer.

use steppe_types::{Oid, Result};

use crate::Format;
use crate::body::violation;
use crate::frontend::Target;
use crate::message::Message;
use crate::startup::{
    CANCEL_REQUEST_CODE, NEGOTIATE_GSS_CODE, NEGOTIATE_SSL_CODE, ProtocolVersion,
};

/// StartupMessage: `user` and the like among the parameters.
pub fn startup(buf: &mut Vec<u8>, version: ProtocolVersion, parameters: &[(&str, &str)]) {
    let mut message = Message::begin_untyped(buf);
    message.u32(version.0);
    for (name, value) in parameters {
        message.str(name).str(value);
    }
    message.u8(0);
    message.finish_small();
}

/// SSLRequest.
pub fn ssl_request(buf: &mut Vec<u8>) {
    request(buf, NEGOTIATE_SSL_CODE);
}

/// GSSENCRequest.
pub fn gss_enc_request(buf: &mut Vec<u8>) {
    request(buf, NEGOTIATE_GSS_CODE);
}

fn request(buf: &mut Vec<u8>, code: u32) {
    let mut message = Message::begin_untyped(buf);
    message.u32(code);
    message.finish_small();
}

/// CancelRequest, on a connection of its own.
pub fn cancel_request(buf: &mut Vec<u8>, process_id: i32, key: &[u8]) {
    let mut message = Message::begin_untyped(buf);
    message.u32(CANCEL_REQUEST_CODE).i32(process_id).bytes(key);
    message.finish_small();
}

/// Query.
pub fn query(buf: &mut Vec<u8>, text: &str) -> Result<()> {
    let mut message = Message::begin(buf, b'Q');
    message.str(text);
    message.finish()
}

/// Parse.
pub fn parse(buf: &mut Vec<u8>, statement: &str, text: &str, types: &[Oid]) -> Result<()> {
    let mut message = Message::begin(buf, b'P');
    message.str(statement).str(text).u16(count(types.len())?);
    for &oid in types {
        message.u32(oid);
    }
    message.finish()
}

/// Bind. Formats: none (all text), one (for all), or one each.
pub fn bind<'v, I>(
    buf: &mut Vec<u8>,
    portal: &str,
    statement: &str,
    formats: &[Format],
    params: I,
    result_formats: &[Format],
) -> Result<()>
where
    I: IntoIterator<Item = Option<&'v [u8]>>,
{
    let mut message = Message::begin(buf, b'B');
    message.str(portal).str(statement);
    put_formats(&mut message, formats)?;
    put_values(&mut message, params)?;
    put_formats(&mut message, result_formats)?;
    message.finish()
}

/// Describe.
pub fn describe(buf: &mut Vec<u8>, target: Target<'_>) {
    put_target(buf, b'D', target);
}

/// Close.
pub fn close(buf: &mut Vec<u8>, target: Target<'_>) {
    put_target(buf, b'C', target);
}

/// Execute; a `max_rows` of zero asks for all rows.
pub fn execute(buf: &mut Vec<u8>, portal: &str, max_rows: i32) {
    let mut message = Message::begin(buf, b'E');
    message.str(portal).i32(max_rows);
    message.finish_small();
}

/// Flush.
pub fn flush(buf: &mut Vec<u8>) {
    Message::begin(buf, b'H').finish_small();
}

/// Sync.
pub fn sync(buf: &mut Vec<u8>) {
    Message::begin(buf, b'S').finish_small();
}

/// Terminate.
pub fn terminate(buf: &mut Vec<u8>) {
    Message::begin(buf, b'X').finish_small();
}

/// CopyData, its contents written in place.
pub fn copy_data(buf: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    crate::backend::copy_data(buf, write)
}

/// CopyDone.
pub fn copy_done(buf: &mut Vec<u8>) {
    Message::begin(buf, b'c').finish_small();
}

/// CopyFail.
pub fn copy_fail(buf: &mut Vec<u8>, reason: &str) -> Result<()> {
    let mut message = Message::begin(buf, b'f');
    message.str(reason);
    message.finish()
}

/// FunctionCall.
pub fn function_call<'v, I>(
    buf: &mut Vec<u8>,
    function: Oid,
    formats: &[Format],
    args: I,
    result_format: Format,
) -> Result<()>
where
    I: IntoIterator<Item = Option<&'v [u8]>>,
{
    let mut message = Message::begin(buf, b'F');
    message.u32(function);
    put_formats(&mut message, formats)?;
    put_values(&mut message, args)?;
    message.i16(result_format.code());
    message.finish()
}

/// PasswordMessage.
pub fn password(buf: &mut Vec<u8>, password: &str) -> Result<()> {
    let mut message = Message::begin(buf, b'p');
    message.str(password);
    message.finish()
}

/// SASLInitialResponse.
pub fn sasl_initial_response(
    buf: &mut Vec<u8>,
    mechanism: &str,
    data: Option<&[u8]>,
) -> Result<()> {
    let mut message = Message::begin(buf, b'p');
    message.str(mechanism).value(data)?;
    message.finish()
}

/// SASLResponse.
pub fn sasl_response(buf: &mut Vec<u8>, data: &[u8]) -> Result<()> {
    let mut message = Message::begin(buf, b'p');
    message.bytes(data);
    message.finish()
}

fn put_target(buf: &mut Vec<u8>, tag: u8, target: Target<'_>) {
    let mut message = Message::begin(buf, tag);
    match target {
        Target::Statement(name) => message.u8(b'S').str(name),
        Target::Portal(name) => message.u8(b'P').str(name),
    };
    message.finish_small();
}

fn put_formats(message: &mut Message<'_>, formats: &[Format]) -> Result<()> {
    message.u16(count(formats.len())?);
    for format in formats {
        message.i16(format.code());
    }
    Ok(())
}

fn put_values<'v>(
    message: &mut Message<'_>,
    values: impl IntoIterator<Item = Option<&'v [u8]>>,
) -> Result<()> {
    let count_at = message.buf.len();
    message.u16(0);
    let mut n = 0;
    for value in values {
        message.value(value)?;
        n += 1;
    }
    message.buf[count_at..count_at + 2].copy_from_slice(&count(n)?.to_be_bytes());
    Ok(())
}

/// libpq's check, with its error message.
fn count(n: usize) -> Result<u16> {
    u16::try_from(n)
        .map_err(|_| violation(format!("number of parameters must be between 0 and {}", u16::MAX)))
}
