//! The modes of the running transaction, for readers of a session's settings.
//! `transaction_isolation`, `transaction_read_only` and `transaction_deferrable` follow the
//! transaction, not the table of settings.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::settings::Isolation;

/// A transaction's modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes {
    pub isolation: Isolation,
    pub read_only: bool,
    pub deferrable: bool,
}

const LEVELS: [Isolation; 4] = [
    Isolation::ReadUncommitted,
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];
const LEVEL: u8 = 3;
const READ_ONLY: u8 = 4;
const DEFERRABLE: u8 = 8;

/// The modes of a session's transaction, readable while a statement runs.
#[derive(Debug, Default)]
pub(crate) struct SharedModes(AtomicU8);

impl SharedModes {
    /// Sets the transaction's modes.
    pub(crate) fn put(&self, modes: Modes) {
        let level = LEVELS.iter().position(|level| *level == modes.isolation).unwrap_or(1) as u8;
        let read_only = if modes.read_only { READ_ONLY } else { 0 };
        let deferrable = if modes.deferrable { DEFERRABLE } else { 0 };
        self.0.store(level | read_only | deferrable, Ordering::Relaxed);
    }

    /// The transaction's modes.
    pub(crate) fn get(&self) -> Modes {
        let bits = self.0.load(Ordering::Relaxed);
        Modes {
            isolation: LEVELS[usize::from(bits & LEVEL)],
            read_only: bits & READ_ONLY != 0,
            deferrable: bits & DEFERRABLE != 0,
        }
    }

    /// Whether the transaction is READ ONLY.
    pub(crate) fn is_read_only(&self) -> bool {
        self.get().read_only
    }

    /// The value of a setting that follows the transaction; `None` for any other.
    pub(crate) fn show(&self, name: &str) -> Option<&'static str> {
        let on_off = |on: bool| if on { "on" } else { "off" };
        let is = |setting: &str| name.eq_ignore_ascii_case(setting);
        let modes = self.get();
        if is("transaction_isolation") {
            Some(modes.isolation.as_str())
        } else if is("transaction_read_only") {
            Some(on_off(modes.read_only))
        } else if is("transaction_deferrable") {
            Some(on_off(modes.deferrable))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_shown() {
        let shared = SharedModes::default();
        for isolation in LEVELS {
            for (read_only, deferrable) in [(false, false), (true, false), (false, true)] {
                let modes = Modes { isolation, read_only, deferrable };
                shared.put(modes);
                assert_eq!(shared.get(), modes);
                assert_eq!(shared.show("Transaction_Isolation"), Some(isolation.as_str()));
            }
        }
        assert_eq!(shared.show("work_mem"), None);
    }
}
