//! The modes of a transaction: its isolation level, READ ONLY, DEFERRABLE, an imported snapshot.

use steppe_sql::ast::{self, TransactionModes};
use steppe_txn::{IsolationLevel, Lsn};
use steppe_types::{Error, Result, SqlState};

use crate::session::Session;
use crate::settings::{Action, Isolation};
use crate::transaction_modes::Modes;

fn isolation_of(level: ast::IsolationLevel) -> Isolation {
    match level {
        ast::IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
        ast::IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
        ast::IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
        ast::IsolationLevel::Serializable => Isolation::Serializable,
    }
}

pub(super) fn engine_level(isolation: Isolation) -> IsolationLevel {
    match isolation {
        Isolation::ReadUncommitted | Isolation::ReadCommitted => IsolationLevel::ReadCommitted,
        Isolation::RepeatableRead => IsolationLevel::RepeatableRead,
        Isolation::Serializable => IsolationLevel::Serializable,
    }
}

impl Session {
    /// SET TRANSACTION SNAPSHOT: takes the snapshot that another session's transaction has
    /// exported.
    pub(in crate::session) fn import_snapshot(&mut self, name: &str) -> Result<()> {
        let refused = |state, message: String| Err(Error::new(state, message));
        let has_begun = self.transaction.queried
            || self.transaction.depth() > 0
            || self.transaction.txn()?.xid() != 0;
        if has_begun {
            let message = "SET TRANSACTION SNAPSHOT must be called before any query".to_owned();
            return refused(SqlState::ACTIVE_SQL_TRANSACTION, message);
        }
        let serializable = match self.transaction.isolation {
            Some(Isolation::Serializable) => true,
            Some(Isolation::RepeatableRead) => false,
            _ => {
                let message = "a snapshot-importing transaction must have isolation level \
                               SERIALIZABLE or REPEATABLE READ";
                return refused(SqlState::FEATURE_NOT_SUPPORTED, message.to_owned());
            }
        };
        if !name.bytes().all(|b| b"0123456789ABCDEF-".contains(&b)) {
            let message = format!("invalid snapshot identifier: \"{name}\"");
            return refused(SqlState::INVALID_PARAMETER_VALUE, message);
        }
        let exported = self.server().exported.lock().get(name).cloned();
        let Some(exported) = exported else {
            let message = format!("snapshot \"{name}\" does not exist");
            return refused(SqlState::UNDEFINED_OBJECT, message);
        };
        if serializable {
            return Err(Error::not_supported("SET TRANSACTION SNAPSHOT with SERIALIZABLE"));
        }
        if !self.transaction.txn()?.import_snapshot(Lsn(exported.lsn), exported.pid) {
            let message = "could not import the requested snapshot";
            let detail =
                format!("The source process with PID {} is not running anymore.", exported.pid);
            let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
            return Err(Error::new(state, message).detail(detail));
        }
        self.transaction.queried = true;
        self.transaction.snapshot_catalog = Some(exported.catalog);
        self.namespace_version = 0;
        Ok(())
    }

    /// 25006 if the transaction is READ ONLY.
    pub(in crate::session) fn check_writable(&self, command: &str) -> Result<()> {
        if !self.transaction.read_only {
            return Ok(());
        }
        let message = format!("cannot execute {command} in a read-only transaction");
        Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
    }

    /// Applies the modes of BEGIN and SET TRANSACTION to the running transaction.
    pub(in crate::session) fn set_transaction_modes(
        &mut self,
        modes: &TransactionModes,
    ) -> Result<()> {
        if let Some(level) = modes.isolation {
            self.set_isolation(isolation_of(level))?;
        }
        if let Some(read_only) = modes.read_only {
            self.set_read_only(read_only)?;
        }
        if let Some(deferrable) = modes.deferrable {
            self.set_deferrable(deferrable)?;
        }
        Ok(())
    }

    /// transaction_isolation.
    pub(in crate::session) fn set_isolation(&mut self, isolation: Isolation) -> Result<()> {
        let level = engine_level(isolation);
        if self.transaction.queried && self.transaction.isolation != Some(isolation) {
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION ISOLATION LEVEL must be called before any query",
            ));
        }
        if self.transaction.depth() > 0 && self.transaction.isolation != Some(isolation) {
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction",
            ));
        }
        self.transaction.txn()?.set_isolation(level)?;
        self.transaction.isolation = Some(isolation);
        self.tell_modes();
        Ok(())
    }

    /// transaction_read_only.
    pub(in crate::session) fn set_read_only(&mut self, read_only: bool) -> Result<()> {
        if !read_only && self.transaction.read_only {
            let message = match self.transaction.depth() {
                0 => "transaction read-write mode must be set before any query",
                _ => "cannot set transaction read-write mode inside a read-only transaction",
            };
            if self.transaction.depth() > 0 || self.transaction.queried {
                return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
            }
        }
        self.put_read_only(read_only)
    }

    pub(super) fn put_read_only(&mut self, read_only: bool) -> Result<()> {
        self.transaction.read_only = read_only;
        self.tell_modes();
        self.transaction.txn()?.set_read_only(read_only);
        Ok(())
    }

    /// transaction_deferrable.
    pub(in crate::session) fn set_deferrable(&mut self, deferrable: bool) -> Result<()> {
        let refused = match (self.transaction.depth(), self.transaction.queried) {
            (0, false) => None,
            (0, true) => Some("must be called before any query"),
            _ => Some("cannot be called within a subtransaction"),
        };
        if let Some(refused) = refused {
            let message = format!("SET TRANSACTION [NOT] DEFERRABLE {refused}");
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        self.transaction.deferrable = deferrable;
        self.tell_modes();
        Ok(())
    }

    /// The modes of the running transaction.
    pub(in crate::session) fn transaction_modes(&self) -> TransactionModes {
        let level = match self.transaction.isolation {
            Some(Isolation::ReadUncommitted) => ast::IsolationLevel::ReadUncommitted,
            Some(Isolation::RepeatableRead) => ast::IsolationLevel::RepeatableRead,
            Some(Isolation::Serializable) => ast::IsolationLevel::Serializable,
            Some(Isolation::ReadCommitted) | None => ast::IsolationLevel::ReadCommitted,
        };
        TransactionModes {
            isolation: Some(level),
            read_only: Some(self.transaction.read_only),
            deferrable: Some(self.transaction.deferrable),
        }
    }

    /// Publishes the transaction's modes for readers while a statement runs.
    pub(super) fn tell_modes(&self) {
        self.core.modes.put(Modes {
            isolation: self.transaction.isolation.unwrap_or(self.settings.live.default_isolation),
            read_only: self.transaction.read_only,
            deferrable: self.transaction.deferrable,
        });
    }

    /// SET for the three settings of the transaction. Returns false for any other setting.
    pub(in crate::session) fn set_transaction_setting(
        &mut self,
        name: &str,
        value: &str,
        _action: Action,
    ) -> Result<bool> {
        let invalid = || crate::settings::value::invalid_value(name, value);
        let parse_bool = || steppe_types::text_io::parse_bool(value).map_err(|_| invalid());
        match name.to_ascii_lowercase().as_str() {
            "transaction_isolation" => {
                self.set_isolation(Isolation::of(value).ok_or_else(invalid)?)?;
            }
            "transaction_read_only" => self.set_read_only(parse_bool()?)?,
            "transaction_deferrable" => self.set_deferrable(parse_bool()?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}
