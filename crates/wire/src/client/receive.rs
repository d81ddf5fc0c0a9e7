//! A server's messages, decoded as views of the receive buffer.

use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use crate::Format;
use crate::backend::{CopyDirection, Field, TransactionStatus};
use crate::body::{Body, violation};
use crate::frame::Frame;
use crate::frontend::{Formats, Oids, Values};
use crate::startup::ProtocolVersion;

/// A message from a server.
#[derive(Clone, Debug)]
pub enum BackendMessage<'a> {
    /// `R`.
    Authentication(Authentication<'a>),
    /// `v`.
    NegotiateProtocolVersion {
        /// The newest version that the server speaks.
        version: ProtocolVersion,
        /// The protocol options that it did not understand.
        unrecognized: Vec<&'a str>,
    },
    /// `S`.
    ParameterStatus {
        /// The setting.
        name: &'a str,
        /// Its value.
        value: &'a str,
    },
    /// `K`.
    BackendKeyData {
        /// The process id of the session, for CancelRequest.
        process_id: i32,
        /// The secret that CancelRequest must show.
        key: &'a [u8],
    },
    /// `Z`.
    ReadyForQuery(TransactionStatus),
    /// `T`.
    RowDescription(Fields<'a>),
    /// `t`.
    ParameterDescription(Oids<'a>),
    /// `D`.
    DataRow(Values<'a>),
    /// `C`.
    CommandComplete(&'a str),
    /// `I`.
    EmptyQueryResponse,
    /// `1`.
    ParseComplete,
    /// `2`.
    BindComplete,
    /// `3`.
    CloseComplete,
    /// `n`.
    NoData,
    /// `s`.
    PortalSuspended,
    /// `E`.
    ErrorResponse(Error),
    /// `N`.
    NoticeResponse(Error),
    /// `A`.
    Notification {
        /// The notifying session.
        process_id: i32,
        /// The channel.
        channel: &'a str,
        /// The text of the notification.
        payload: &'a str,
    },
    /// `G`, `H`, `W`.
    CopyResponse {
        /// The direction of the data.
        direction: CopyDirection,
        /// The data's overall format.
        format: Format,
        /// The format of each column.
        columns: Formats<'a>,
    },
    /// `d`: a piece of COPY data.
    CopyData(&'a [u8]),
    /// `c`.
    CopyDone,
    /// `V`.
    FunctionCallResponse(Option<&'a [u8]>),
}

/// An authentication request, or its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// The client is authenticated.
    Ok,
    /// The server asks for the password in clear text.
    CleartextPassword,
    /// The server asks for the password, hashed with this salt.
    Md5Password([u8; 4]),
    /// The server asks for a SASL exchange by one of these mechanisms.
    Sasl(Vec<&'a str>),
    /// The SASL exchange goes on.
    SaslContinue(&'a [u8]),
    /// The server's last SASL message.
    SaslFinal(&'a [u8]),
    /// A method that this codec does not speak (Kerberos, GSSAPI, SSPI …).
    Other(i32),
}

/// The columns of a RowDescription, checked when the message was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The number of columns.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Iterates over the columns.
    pub fn iter(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let mut body = Body::new(self.bytes);
        (0..self.count).map_while(move |_| field(&mut body).ok())
    }
}

/// Decodes a server's message.
pub fn decode<'a>(frame: Frame<'a>) -> Result<BackendMessage<'a>> {
    let mut body = Body::new(frame.body);
    let message = match frame.tag {
        b'D' => {
            let count = body.u16()?;
            BackendMessage::DataRow(Values { count, bytes: body.values(count)? })
        }
        b'd' => return Ok(BackendMessage::CopyData(frame.body)),
        b'C' => BackendMessage::CommandComplete(body.str()?),
        b'Z' => BackendMessage::ReadyForQuery(status(body.u8()?)?),
        b'T' => BackendMessage::RowDescription(fields(&mut body)?),
        b't' => {
            let count = usize::from(body.u16()?);
            BackendMessage::ParameterDescription(Oids(body.bytes(count * 4)?))
        }
        b'I' => BackendMessage::EmptyQueryResponse,
        b'1' => BackendMessage::ParseComplete,
        b'2' => BackendMessage::BindComplete,
        b'3' => BackendMessage::CloseComplete,
        b'n' => BackendMessage::NoData,
        b's' => BackendMessage::PortalSuspended,
        b'c' => BackendMessage::CopyDone,
        b'E' => BackendMessage::ErrorResponse(error(&mut body)?),
        b'N' => BackendMessage::NoticeResponse(error(&mut body)?),
        b'S' => BackendMessage::ParameterStatus { name: body.str()?, value: body.str()? },
        b'K' => BackendMessage::BackendKeyData { process_id: body.i32()?, key: body.rest() },
        b'R' => BackendMessage::Authentication(authentication(&mut body)?),
        b'v' => negotiate(&mut body)?,
        b'A' => BackendMessage::Notification {
            process_id: body.i32()?,
            channel: body.str()?,
            payload: body.str()?,
        },
        b'G' => copy_response(&mut body, CopyDirection::In)?,
        b'H' => copy_response(&mut body, CopyDirection::Out)?,
        b'W' => copy_response(&mut body, CopyDirection::Both)?,
        b'V' => BackendMessage::FunctionCallResponse(body.value()?),
        tag => return Err(violation(format!("unexpected message type {tag} from server"))),
    };
    body.end()?;
    Ok(message)
}

fn status(code: u8) -> Result<TransactionStatus> {
    match code {
        b'I' => Ok(TransactionStatus::Idle),
        b'T' => Ok(TransactionStatus::InTransaction),
        b'E' => Ok(TransactionStatus::Failed),
        _ => Err(violation(format!("unexpected transaction status {code} from server"))),
    }
}

fn fields<'a>(body: &mut Body<'a>) -> Result<Fields<'a>> {
    let count = body.u16()?;
    let mut probe = *body;
    for _ in 0..count {
        field(&mut probe)?;
    }
    probe.end()?;
    Ok(Fields { count, bytes: body.rest() })
}

fn field<'a>(body: &mut Body<'a>) -> Result<Field<'a>> {
    Ok(Field {
        name: body.str()?,
        table_oid: body.u32()?,
        column: body.i16()?,
        type_oid: body.u32()?,
        type_size: body.i16()?,
        type_modifier: body.i32()?,
        format: Format::from_code(body.i16()?)?,
    })
}

fn authentication<'a>(body: &mut Body<'a>) -> Result<Authentication<'a>> {
    Ok(match body.i32()? {
        0 => Authentication::Ok,
        3 => Authentication::CleartextPassword,
        5 => Authentication::Md5Password(body.u32()?.to_be_bytes()),
        10 => {
            let mut mechanisms = Vec::new();
            loop {
                match body.str()? {
                    "" => break Authentication::Sasl(mechanisms),
                    mechanism => mechanisms.push(mechanism),
                }
            }
        }
        11 => Authentication::SaslContinue(body.rest()),
        12 => Authentication::SaslFinal(body.rest()),
        code => {
            body.rest();
            Authentication::Other(code)
        }
    })
}

fn negotiate<'a>(body: &mut Body<'a>) -> Result<BackendMessage<'a>> {
    let version = ProtocolVersion(body.u32()?);
    let count = body.u32()?;
    // Grows with the strings that are there, not with the count that was sent.
    let mut unrecognized = Vec::new();
    for _ in 0..count {
        unrecognized.push(body.str()?);
    }
    Ok(BackendMessage::NegotiateProtocolVersion { version, unrecognized })
}

fn copy_response<'a>(body: &mut Body<'a>, direction: CopyDirection) -> Result<BackendMessage<'a>> {
    let format = Format::from_code(i16::from(body.u8()?))?;
    let count = usize::from(body.u16()?);
    let columns = Formats(body.bytes(count * 2)?);
    Ok(BackendMessage::CopyResponse { direction, format, columns })
}

/// The fields of an ErrorResponse or NoticeResponse, in any order; unknown ones
/// are skipped, as the protocol asks.
fn error(body: &mut Body<'_>) -> Result<Error> {
    let mut decoded = Error::new(SqlState::INTERNAL_ERROR, "");
    let fields = decoded.fields_mut();
    loop {
        let code = body.u8()?;
        if code == 0 {
            return Ok(decoded);
        }
        let text = body.str()?;
        let optional = match code {
            b'V' => {
                fields.severity = severity(text);
                continue;
            }
            b'C' => {
                fields.sqlstate = sqlstate(text);
                continue;
            }
            b'M' => {
                fields.message = text.to_owned();
                continue;
            }
            b'P' => {
                fields.position = text.parse().ok();
                continue;
            }
            b'p' => {
                fields.internal_position = text.parse().ok();
                continue;
            }
            b'q' => &mut fields.internal_query,
            b'D' => &mut fields.detail,
            b'H' => &mut fields.hint,
            b'W' => &mut fields.context,
            b's' => &mut fields.schema,
            b't' => &mut fields.table,
            b'c' => &mut fields.column,
            b'd' => &mut fields.datatype,
            b'n' => &mut fields.constraint,
            _ => continue,
        };
        *optional = Some(text.to_owned());
    }
}

/// LOG has no severity of its own above storage: it informs.
fn severity(word: &str) -> Severity {
    match word {
        "ERROR" => Severity::Error,
        "FATAL" => Severity::Fatal,
        "PANIC" => Severity::Panic,
        "WARNING" => Severity::Warning,
        "NOTICE" => Severity::Notice,
        "DEBUG" => Severity::Debug,
        _ => Severity::Info,
    }
}

fn sqlstate(code: &str) -> SqlState {
    code.as_bytes().try_into().map_or(SqlState::INTERNAL_ERROR, SqlState)
}
