//! COPY with a file of the server in a function (DoCopy). The session has the files; it runs the COPY
//! over this interface ([`SessionFiles`]).

use super::prepared::{Body, Way};
use super::{Prepared, Spi, check_writable, find_relation, present};
use crate::routine::SessionRoutines;
use crate::statement::{CompiledStmt, ExecEnv};
use crate::transaction::Transaction;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_functions::Frame;
use steppe_sql::ast::{CopyStmt, RangeVar, Statement};
use steppe_sql::bind::Params;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result};

/// COPY with the files of a session's server.
pub trait SessionFiles: Send + Sync {
    /// Runs a function's COPY, and returns the number of rows.
    fn copy(&self, copy: &CopyStmt, source: &Arc<str>, spi: &mut Spi<'_>) -> Result<u64>;
}

impl Spi<'_> {
    pub(super) fn copy_with_file(&mut self, copy: &CopyStmt, source: &Arc<str>) -> Result<u64> {
        let files = SessionRoutines::of(&**self.session())?.files.clone();
        let files = files.ok_or_else(|| Error::not_supported("COPY in this context"))?;
        files.copy(copy, source, self)
    }

    /// A parsed statement without parameters, planned and with its relations locked. It fails if it
    /// may not run, or if constants of the plan fail: the file is opened after that.
    pub fn prepare_parsed(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
    ) -> Result<Prepared> {
        let mut planned = self.planned(statement, source, Params::none(), Way::ALONE)?;
        let is_read_only = self.is_read_only;
        self.lend(|txn| planned.make_ready(txn, is_read_only))?;
        planned.plan.compiled.check_constants(Some(&[]), &planned.env.catalog)?;
        let (body, text) = (Body::Plan(Box::new(planned)), Arc::clone(source));
        Ok(Prepared { body, text, is_dynamic: true, literals: Arc::default() })
    }

    /// A parsed statement's plan.
    pub fn compiled(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: Params,
    ) -> Result<Arc<CompiledStmt>> {
        let planned = self.planned(statement, source, params, Way::ALONE)?;
        Ok(Arc::clone(&planned.plan.compiled))
    }

    /// Finds and locks a relation. After a wait, another one may have the name. The frame is that in
    /// which it has been found.
    pub fn lock_relation(
        &mut self,
        name: &RangeVar,
        mode: RelationLockMode,
    ) -> Result<(Frame, Arc<Relation>)> {
        let session = Arc::clone(self.session());
        loop {
            let oid = find_relation(&self.frame()?.names, name)?.oid;
            self.lend(|txn| match present(txn)?.txn.lock_relation(oid, mode)? {
                Some(wait) => session.block_on(wait),
                None => Ok(()),
            })?;
            let frame = self.frame()?;
            let relation = find_relation(&frame.names, name)?;
            if relation.oid == oid {
                return Ok((frame, relation));
            }
        }
    }

    /// 25006 if the transaction is READ ONLY.
    pub fn check_writable(&mut self, command: &str) -> Result<()> {
        self.lend(|txn| check_writable(&present(txn)?.txn, command))
    }

    /// The environment of a statement that runs in this frame.
    pub fn environment(&self, frame: &Frame) -> Result<ExecEnv> {
        self.env_of(frame)
    }

    /// Runs code as a statement of the function, with its snapshot.
    pub fn in_statement<T>(
        &mut self,
        run: impl FnOnce(&mut Option<Transaction>) -> Result<T>,
    ) -> Result<T> {
        self.lend(|txn| {
            present(txn)?.txn.start_statement()?;
            run(txn)
        })
    }
}
