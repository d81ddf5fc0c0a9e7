//! A server's messages, appended to a send buffer.
//!
//! Every writer appends either one whole message or, if it returns an error, nothing. Rows are
//! built with [`crate::DataRow`].

use steppe_types::error::{ErrorFields, Severity};
use steppe_types::{Error, Oid, Result};

use crate::message::{Message, put_str};
use crate::row::put_int;
use crate::startup::ProtocolVersion;
use crate::{Format, too_many_columns};

/// The transaction status in ReadyForQuery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// `I`: outside a transaction.
    Idle,
    /// `T`: in a transaction block.
    InTransaction,
    /// `E`: in a transaction block that failed.
    Failed,
}

impl TransactionStatus {
    /// The letter on the wire.
    pub fn code(self) -> u8 {
        match self {
            TransactionStatus::Idle => b'I',
            TransactionStatus::InTransaction => b'T',
            TransactionStatus::Failed => b'E',
        }
    }
}

/// One column of a RowDescription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// The table it comes from, or zero.
    pub table_oid: Oid,
    /// Its number in that table, or zero.
    pub column: i16,
    /// Its type.
    pub type_oid: Oid,
    /// The type's size (pg_type.typlen).
    pub type_size: i16,
    /// The type modifier, or −1.
    pub type_modifier: i32,
    /// The format its values are sent in (text, while not known yet).
    pub format: Format,
}

impl<'a> Field<'a> {
    /// A column of no table, in text format.
    pub fn new(name: &'a str, type_oid: Oid, type_size: i16) -> Field<'a> {
        let format = Format::Text;
        Field { name, table_oid: 0, column: 0, type_oid, type_size, type_modifier: -1, format }
    }
}

/// AuthenticationOk.
pub fn authentication_ok(buf: &mut Vec<u8>) {
    authentication(buf, 0, b"");
}

/// AuthenticationCleartextPassword.
pub fn authentication_cleartext_password(buf: &mut Vec<u8>) {
    authentication(buf, 3, b"");
}

/// AuthenticationMD5Password.
pub fn authentication_md5_password(buf: &mut Vec<u8>, salt: [u8; 4]) {
    authentication(buf, 5, &salt);
}

/// AuthenticationSASL: the mechanisms on offer.
pub fn authentication_sasl(buf: &mut Vec<u8>, mechanisms: &[&str]) {
    let mut message = Message::begin(buf, b'R');
    message.i32(10);
    for mechanism in mechanisms {
        message.str(mechanism);
    }
    message.u8(0);
    message.finish_small();
}

/// AuthenticationSASLContinue.
pub fn authentication_sasl_continue(buf: &mut Vec<u8>, data: &[u8]) {
    authentication(buf, 11, data);
}

/// AuthenticationSASLFinal.
pub fn authentication_sasl_final(buf: &mut Vec<u8>, data: &[u8]) {
    authentication(buf, 12, data);
}

fn authentication(buf: &mut Vec<u8>, code: i32, data: &[u8]) {
    let mut message = Message::begin(buf, b'R');
    message.i32(code).bytes(data);
    message.finish_small();
}

/// NegotiateProtocolVersion: the newest version spoken, and the protocol options
/// that were not understood.
pub fn negotiate_protocol_version(
    buf: &mut Vec<u8>,
    version: ProtocolVersion,
    unrecognized: &[&str],
) {
    let mut message = Message::begin(buf, b'v');
    // A start-up packet of 10,000 bytes cannot name more options than fit.
    message.u32(version.0).u32(unrecognized.len() as u32);
    for option in unrecognized {
        message.str(option);
    }
    message.finish_small();
}

/// ParameterStatus.
pub fn parameter_status(buf: &mut Vec<u8>, name: &str, value: &str) {
    let mut message = Message::begin(buf, b'S');
    message.str(name).str(value);
    message.finish_small();
}

/// BackendKeyData: four key bytes in protocol 3.0, 4 to 256 in 3.2.
pub fn backend_key_data(buf: &mut Vec<u8>, process_id: i32, key: &[u8]) {
    let mut message = Message::begin(buf, b'K');
    message.i32(process_id).bytes(key);
    message.finish_small();
}

/// ReadyForQuery.
#[inline]
pub fn ready_for_query(buf: &mut Vec<u8>, status: TransactionStatus) {
    buf.extend_from_slice(&[b'Z', 0, 0, 0, 5, status.code()]);
}

/// RowDescription.
pub fn row_description<'a, I>(buf: &mut Vec<u8>, fields: I) -> Result<()>
where
    I: IntoIterator<Item = Field<'a>>,
{
    let mut message = Message::begin(buf, b'T');
    let count_at = message.buf.len();
    let mut count = 0u32;
    message.u16(0);
    for field in fields {
        count += 1;
        message
            .str(field.name)
            .u32(field.table_oid)
            .i16(field.column)
            .u32(field.type_oid)
            .i16(field.type_size)
            .i32(field.type_modifier)
            .i16(field.format.code());
    }
    let count = i16::try_from(count).map_err(|_| too_many_columns(count))?;
    message.buf[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    message.finish()
}

/// ParameterDescription.
pub fn parameter_description(buf: &mut Vec<u8>, types: &[Oid]) {
    let mut message = Message::begin(buf, b't');
    // Parse and Bind count in 16 bits too, so that no statement has more.
    let types = &types[..types.len().min(usize::from(u16::MAX))];
    message.u16(types.len() as u16);
    for &oid in types {
        message.u32(oid);
    }
    message.finish_small();
}

/// CommandComplete with a whole tag (`BEGIN`).
#[inline]
pub fn command_complete(buf: &mut Vec<u8>, tag: &str) {
    let mut message = Message::begin(buf, b'C');
    message.str(tag);
    message.finish_small();
}

/// CommandComplete with a row count: `command_complete_rows(buf, "INSERT 0", 5)`.
#[inline]
pub fn command_complete_rows(buf: &mut Vec<u8>, verb: &str, rows: u64) {
    let mut message = Message::begin(buf, b'C');
    message.bytes(verb.as_bytes()).u8(b' ');
    put_int(message.buf, i64::try_from(rows).unwrap_or(i64::MAX));
    message.u8(0);
    message.finish_small();
}

/// EmptyQueryResponse.
pub fn empty_query_response(buf: &mut Vec<u8>) {
    bare(buf, b'I');
}

/// ParseComplete.
#[inline]
pub fn parse_complete(buf: &mut Vec<u8>) {
    bare(buf, b'1');
}

/// BindComplete.
#[inline]
pub fn bind_complete(buf: &mut Vec<u8>) {
    bare(buf, b'2');
}

/// CloseComplete.
pub fn close_complete(buf: &mut Vec<u8>) {
    bare(buf, b'3');
}

/// NoData.
pub fn no_data(buf: &mut Vec<u8>) {
    bare(buf, b'n');
}

/// PortalSuspended.
pub fn portal_suspended(buf: &mut Vec<u8>) {
    bare(buf, b's');
}

/// CopyDone.
pub fn copy_done(buf: &mut Vec<u8>) {
    bare(buf, b'c');
}

#[inline]
fn bare(buf: &mut Vec<u8>, tag: u8) {
    buf.extend_from_slice(&[tag, 0, 0, 0, 4]);
}

/// The direction of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// From the client.
    In,
    /// To the client.
    Out,
    /// Both ways at once (streaming replication).
    Both,
}

/// CopyInResponse, CopyOutResponse, CopyBothResponse. All columns share the
/// format.
pub fn copy_response(buf: &mut Vec<u8>, direction: CopyDirection, format: Format, columns: u16) {
    let tag = match direction {
        CopyDirection::In => b'G',
        CopyDirection::Out => b'H',
        CopyDirection::Both => b'W',
    };
    let mut message = Message::begin(buf, tag);
    message.u8(format.code() as u8).u16(columns);
    for _ in 0..columns {
        message.i16(format.code());
    }
    message.finish_small();
}

/// CopyData, its contents written in place (a row by a
/// [`crate::copy::CopyEncoder`]).
#[inline]
pub fn copy_data(buf: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let message = Message::begin(buf, b'd');
    write(message.buf)?;
    message.finish()
}

/// FunctionCallResponse.
pub fn function_call_response(buf: &mut Vec<u8>, result: Option<&[u8]>) -> Result<()> {
    let mut message = Message::begin(buf, b'V');
    message.value(result)?;
    message.finish()
}

/// NotificationResponse.
pub fn notification_response(buf: &mut Vec<u8>, process_id: i32, channel: &str, payload: &str) {
    let mut message = Message::begin(buf, b'A');
    message.i32(process_id).str(channel).str(payload);
    message.finish_small();
}

/// ErrorResponse or NoticeResponse, as the severity says.
pub fn error_response(buf: &mut Vec<u8>, error: &Error) {
    let fields = error.fields();
    let tag = match fields.severity {
        Severity::Error | Severity::Fatal | Severity::Panic => b'E',
        Severity::Warning | Severity::Notice | Severity::Info | Severity::Debug => b'N',
    };
    let message = Message::begin(buf, tag);
    put_fields(message.buf, fields);
    message.finish_small();
}

/// PostgreSQL's order of fields (send_message_to_frontend in elog.c).
fn put_fields(buf: &mut Vec<u8>, fields: &ErrorFields) {
    let severity = fields.severity.as_str();
    put_field(buf, b'S', severity);
    put_field(buf, b'V', severity);
    put_field(buf, b'C', fields.sqlstate.as_str());
    put_field(buf, b'M', &fields.message);
    put_optional(buf, b'D', fields.detail.as_deref());
    put_optional(buf, b'H', fields.hint.as_deref());
    if let Some(position) = fields.position {
        buf.push(b'P');
        put_int(buf, i64::from(position));
        buf.push(0);
    }
    if let Some(position) = fields.internal_position {
        buf.push(b'p');
        put_int(buf, i64::from(position));
        buf.push(0);
    }
    put_optional(buf, b'q', fields.internal_query.as_deref());
    put_optional(buf, b'W', fields.context.as_deref());
    put_optional(buf, b's', fields.schema.as_deref());
    put_optional(buf, b't', fields.table.as_deref());
    put_optional(buf, b'c', fields.column.as_deref());
    put_optional(buf, b'd', fields.datatype.as_deref());
    put_optional(buf, b'n', fields.constraint.as_deref());
    if let Some(place) = fields.raised_in {
        put_field(buf, b'F', place.file);
        buf.push(b'L');
        put_int(buf, i64::from(place.line));
        buf.push(0);
        put_field(buf, b'R', place.routine);
    }
    buf.push(0);
}

/// A message may quote the client's own megabytes; a client must still be able
/// to read it.
const MAX_ERROR_FIELD: usize = 16 << 20;

fn put_field(buf: &mut Vec<u8>, code: u8, text: &str) {
    buf.push(code);
    put_str(buf, &text[..text.floor_char_boundary(MAX_ERROR_FIELD)]);
}

fn put_optional(buf: &mut Vec<u8>, code: u8, text: Option<&str>) {
    if let Some(text) = text {
        put_field(buf, code, text);
    }
}
