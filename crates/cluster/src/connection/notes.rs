//! A node's words besides its answers: settings, notices, the key for CancelRequest.
//!
//! A node may send them at any time and in any number, so that each kind is bounded.

use std::collections::{BTreeMap, VecDeque};

use steppe_types::{Error, Result, SqlState};
use steppe_wire::startup::MAX_CANCEL_KEY_LEN;

/// The most bytes of all settings that a node may report. PostgreSQL reports about 15 of them.
const MAX_PARAMETER_BYTES: usize = 64 * 1024;
/// The most notices that are kept until the caller takes them. Later ones are dropped.
const MAX_NOTICES: usize = 100;
/// The most bytes of the notices that are kept.
const MAX_NOTICE_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct Notes {
    parameters: BTreeMap<String, String>,
    parameter_bytes: usize,
    notices: VecDeque<Error>,
    notice_bytes: usize,
    key: Option<(i32, Box<[u8]>)>,
}

impl Notes {
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// A setting's new value. 08P01 if the node reports too many.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let cost = |value: &str| name.len() + value.len();
        let before = self.parameters.get(name).map_or(0, |value| cost(value));
        self.parameter_bytes = self.parameter_bytes - before + cost(value);
        if self.parameter_bytes > MAX_PARAMETER_BYTES {
            let message = "server reported too many settings";
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        self.parameters.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    pub(super) fn notice(&mut self, notice: Error) {
        let fields = notice.fields();
        let texts = [&fields.detail, &fields.hint, &fields.context, &fields.internal_query];
        let cost = fields.message.len()
            + texts.iter().map(|text| text.as_ref().map_or(0, String::len)).sum::<usize>();
        if self.notices.len() < MAX_NOTICES && self.notice_bytes + cost <= MAX_NOTICE_BYTES {
            self.notice_bytes += cost;
            self.notices.push_back(notice);
        }
    }

    pub(super) fn take_notices(&mut self) -> Vec<Error> {
        self.notice_bytes = 0;
        std::mem::take(&mut self.notices).into()
    }

    pub(super) fn key(&self) -> Option<(i32, &[u8])> {
        self.key.as_ref().map(|(process_id, key)| (*process_id, &**key))
    }

    /// The session's key. 08P01 if no CancelRequest can carry it.
    pub(super) fn set_key(&mut self, process_id: i32, key: &[u8]) -> Result<()> {
        if key.len() < 4 || key.len() > MAX_CANCEL_KEY_LEN {
            let message = format!("server sent a cancel key of {} bytes", key.len());
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        self.key = Some((process_id, key.into()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_bounded() {
        let mut notes = Notes::default();
        for n in 0..MAX_PARAMETER_BYTES {
            notes.set("search_path", &n.to_string()).unwrap();
        }
        assert_eq!(notes.parameter("search_path"), Some("65535"));
        let refused = (0..).find_map(|n: u32| notes.set(&n.to_string(), "value").err()).unwrap();
        assert_eq!(refused.sqlstate(), SqlState::PROTOCOL_VIOLATION);

        let notice = Error::new(SqlState::WARNING, "x".repeat(1000));
        (0..1000).for_each(|_| notes.notice(notice.clone()));
        assert_eq!(notes.take_notices().len(), MAX_NOTICES);
        notes.notice(notice.clone().detail("y".repeat(MAX_NOTICE_BYTES)));
        assert_eq!(notes.take_notices().len(), 0);
        assert!(notes.set_key(1, &[0; 3]).is_err() && notes.set_key(1, &[0; 257]).is_err());
        assert!(notes.set_key(1, &[0; 32]).is_ok());
    }
}
