//! The client's side of authentication: trust, password, MD5 and SCRAM-SHA-256.
//!
//! A password in clear text is sent to a node that asks for it, as libpq does; the connection is
//! not encrypted. After SCRAM the node must prove that it knows the password's verifier. A node that
//! lets the session in without this proof is refused. A node that asks twice is refused, too: it
//! could be an attempt to get the password in a weaker form.

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use steppe_types::{Error, Result, SqlState};
use steppe_wire::client::receive::Authentication as Request;
use steppe_wire::client::send;

use super::notes::Notes;
use crate::conninfo::{ConnInfo, Host, Secret};
use crate::passfile::{self, Key};

/// How far the exchange is.
enum State {
    /// The node has asked for nothing yet.
    Begun,
    /// A password was sent; the node has the last word.
    Sent,
    /// SASLInitialResponse was sent.
    Offered(ScramSha256),
    /// The proof of the password was sent: the node must send its own.
    Proved(ScramSha256),
    /// The node has let the session in.
    Over,
}

/// One exchange.
pub(super) struct Authentication(State);

impl Authentication {
    pub(super) fn new() -> Authentication {
        Authentication(State::Begun)
    }

    /// Whether the node has let the session in.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.0, State::Over)
    }

    /// Answers a request of the node. An error ends the attempt.
    pub(super) fn answer(
        &mut self,
        request: Request<'_>,
        who: (&ConnInfo, &Host),
        out: &mut Vec<u8>,
        notes: &mut Notes,
    ) -> Result<()> {
        let state = std::mem::replace(&mut self.0, State::Over);
        self.0 = match (state, request) {
            (State::Begun | State::Sent, Request::Ok) => State::Over,
            (State::Begun, Request::CleartextPassword) => {
                send::password(out, &password(who, notes)?.0)?;
                State::Sent
            }
            (State::Begun, Request::Md5Password(salt)) => {
                let user = who.0.user.as_deref().unwrap_or_default();
                let secret = password(who, notes)?;
                send::password(out, &md5_hash(user.as_bytes(), secret.0.as_bytes(), salt))?;
                State::Sent
            }
            (State::Begun, Request::Sasl(mechanisms)) => {
                offer(&mechanisms, &password(who, notes)?, out)?
            }
            (State::Offered(mut scram), Request::SaslContinue(data)) => {
                scram.update(data).map_err(|error| malformed(&error))?;
                send::sasl_response(out, scram.message())?;
                State::Proved(scram)
            }
            (State::Proved(mut scram), Request::SaslFinal(data)) => {
                scram.finish(data).map_err(|error| unproved(&error))?;
                State::Sent
            }
            (State::Proved(_) | State::Offered(_), Request::Ok) => {
                return Err(violation("server completed authentication without its signature"));
            }
            (State::Begun, Request::Other(method)) => {
                let message = format!("authentication method {method} not supported");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            _ => return Err(violation("unexpected authentication request from server")),
        };
        Ok(())
    }
}

fn offer(mechanisms: &[&str], password: &Secret, out: &mut Vec<u8>) -> Result<State> {
    if !mechanisms.contains(&SCRAM_SHA_256) {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "none of the server's SASL authentication mechanisms are supported",
        ));
    }
    let scram = ScramSha256::new(password.0.as_bytes(), ChannelBinding::unsupported());
    send::sasl_initial_response(out, SCRAM_SHA_256, Some(scram.message()))?;
    Ok(State::Offered(scram))
}

/// The password that was given, else the one of the password file.
fn password((info, host): (&ConnInfo, &Host), notes: &mut Notes) -> Result<Secret> {
    if let Some(password) = &info.password {
        return Ok(password.clone());
    }
    let path = info.passfile.clone().or_else(passfile::default_path);
    let names = info.database().zip(info.user.as_deref());
    if let (Some(path), Some((database, user))) = (path, names) {
        let key = Key { host: host.name_in_passfile(), port: host.port, database, user };
        let found = passfile::search(&path, key);
        if let Some(warning) = found.warning {
            notes.notice(warning);
        }
        if let Some(password) = found.password.filter(|password| !password.0.is_empty()) {
            return Ok(password);
        }
    }
    Err(Error::new(SqlState::INVALID_PASSWORD, "fe_sendauth: no password supplied"))
}

#[cold]
fn violation(message: &str) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, message)
}

#[cold]
fn malformed(error: &std::io::Error) -> Error {
    violation(&format!("malformed SCRAM message: {error}"))
}

#[cold]
fn unproved(error: &std::io::Error) -> Error {
    match error.to_string().as_str() {
        "SCRAM verification error" => violation("incorrect server signature"),
        other => violation(&format!("malformed SCRAM message: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(requests: Vec<Request<'_>>) -> Result<bool> {
        let info = ConnInfo::parse("host=h user=u password=p").unwrap();
        let (mut out, mut notes) = (Vec::new(), Notes::default());
        let mut exchange = Authentication::new();
        for request in requests {
            exchange.answer(request, (&info, &info.hosts[0]), &mut out, &mut notes)?;
        }
        Ok(exchange.is_over())
    }

    #[test]
    fn a_node_cannot_skip_its_proof_or_ask_twice() {
        let sasl = || Request::Sasl(vec!["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]);
        assert!(answers(vec![Request::Ok]).unwrap());
        assert!(answers(vec![Request::CleartextPassword, Request::Ok]).unwrap());
        assert!(!answers(vec![sasl()]).unwrap());
        for refused in [
            vec![sasl(), Request::Ok],
            vec![sasl(), Request::CleartextPassword],
            vec![sasl(), Request::SaslFinal(b"v=AAAA")],
            vec![sasl(), Request::SaslContinue(b"r=other,s=AAAA,i=4096")],
            vec![sasl(), Request::SaslContinue(b"")],
            vec![Request::Md5Password([0; 4]), Request::CleartextPassword],
            vec![Request::SaslContinue(b"")],
            vec![Request::Ok, Request::Ok],
            vec![Request::Ok, Request::CleartextPassword],
        ] {
            let error = answers(refused.clone()).expect_err(&format!("{refused:?}"));
            assert_eq!(error.sqlstate(), SqlState::PROTOCOL_VIOLATION);
        }
        for unsupported in [Request::Other(7), Request::Sasl(vec!["OAUTHBEARER"])] {
            let error = answers(vec![unsupported]).unwrap_err();
            assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
        }
    }

    #[test]
    fn a_missing_password_is_an_error() {
        let info = ConnInfo::parse("host=h user=u passfile=/nonexistent").unwrap();
        let error = Authentication::new()
            .answer(
                Request::CleartextPassword,
                (&info, &info.hosts[0]),
                &mut Vec::new(),
                &mut Notes::default(),
            )
            .unwrap_err();
        assert_eq!(error.message(), "fe_sendauth: no password supplied");
    }
}
