//! COPY with a file of the server in a function. What the session does for its client's COPY, a function
//! does over the executor's interface for statements ([`Spi`]).

use std::sync::Arc;

use steppe_catalog::NameSpace;
use steppe_exec::spi::{SessionFiles, Spi};
use steppe_exec::{CompiledStmt, ExecEnv, RowSink, Transaction};
use steppe_functions::Frame;
use steppe_sql::ast::{CopyEndpoint, CopyStmt, Statement};
use steppe_sql::bind::Params;
use steppe_sql::plan::ResultColumn;
use steppe_txn::RelationLockMode;
use steppe_types::{Datum, Error, Result};
use steppe_wire::copy::{CopyEncoder, CopyFormat};

use super::copy_file::{CHUNK_BYTES, SourceFile, TargetFile, check_allowed};
use super::copy_options;
use super::copy_out::{CopyOut, CopySink, no_rows, query_of};
use super::copy_rows::{CopyIn, CopyPlace};
use crate::server::{Server, SessionControl};

/// COPY with the server's files, for a session's functions.
pub(crate) struct ServerFiles {
    server: Arc<Server>,
    control: Arc<SessionControl>,
}

impl ServerFiles {
    pub(crate) fn new(server: &Arc<Server>, control: &Arc<SessionControl>) -> ServerFiles {
        ServerFiles { server: Arc::clone(server), control: Arc::clone(control) }
    }
}

impl SessionFiles for ServerFiles {
    fn copy(&self, copy: &CopyStmt, source: &Arc<str>, spi: &mut Spi<'_>) -> Result<u64> {
        match &copy.endpoint {
            CopyEndpoint::File(name) => {
                check_allowed(copy.is_from)?;
                match copy.is_from {
                    true => self.copy_from(copy, name, source, spi),
                    false => self.copy_to(copy, name, source, spi),
                }
            }
            CopyEndpoint::Program(_) => Err(Error::not_supported("COPY to or from a program")),
            CopyEndpoint::Stdio => Err(Error::not_supported("COPY with the client in a function")),
        }
    }
}

impl ServerFiles {
    fn copy_from(
        &self,
        copy: &CopyStmt,
        name: &str,
        source: &Arc<str>,
        spi: &mut Spi<'_>,
    ) -> Result<u64> {
        spi.check_writable("COPY FROM")?;
        let parsed = copy_options::parse(&copy.options, true, source)?;
        let table = copy.relation.as_ref();
        let table = table.ok_or_else(|| Error::internal("COPY FROM without a table"))?;
        let (frame, relation) = spi.lock_relation(table, RelationLockMode::RowExclusive)?;
        let env = spi.environment(&frame)?;
        let mut place = FunctionCopy { spi, frame, env, control: &self.control };
        let begun = CopyIn::begin(&mut place, (copy, source), parsed, &relation)?;
        let mut file = SourceFile::open(name, self.server.data_dir.path())?;
        begun.whole_file(&mut place, &mut file)
    }

    fn copy_to(
        &self,
        copy: &CopyStmt,
        name: &str,
        source: &Arc<str>,
        spi: &mut Spi<'_>,
    ) -> Result<u64> {
        let mut parsed = copy_options::parse(&copy.options, false, source)?;
        let mut relation = 0;
        let (statement, text) = match (&copy.relation, &copy.query) {
            (Some(table), _) => {
                let (frame, found) = spi.lock_relation(table, RelationLockMode::AccessShare)?;
                relation = found.oid;
                query_of(copy, &frame.names, &found)?
            }
            (None, Some(query)) => ((**query).clone(), Arc::clone(source)),
            (None, None) => return Err(Error::internal("COPY of nothing")),
        };
        let mut prepared = spi.prepare_parsed(&Arc::new(statement), &text)?;
        if !prepared.returns_rows() {
            return Err(no_rows());
        }
        let columns: Vec<ResultColumn> = prepared.columns().to_vec();
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        parsed.options.force_quote = parsed.force_quote.flags("FORCE_QUOTE", &names)?;
        let is_binary = parsed.options.format == CopyFormat::Binary;
        let encoder = CopyEncoder::new(parsed.options);
        let mut file = TargetFile::create(name)?;
        let progress = self.control.activity.begin_copy(relation, false);
        progress.begin_file(0);
        let mut header = Vec::new();
        encoder.header(&mut header, &names)?;
        let io = Arc::clone(spi.io());
        let mut rows = 0;
        let mut put = |row: &[Datum]| {
            let mut sink = CopySink {
                out: CopyOut { bytes: &mut file.pending, in_messages: false },
                columns: &columns,
                encoder: &encoder,
                header: &mut header,
                is_binary,
                io: &io,
                progress: &progress,
                rows: 0,
            };
            sink.row(row)?;
            rows += 1;
            if file.pending.len() >= CHUNK_BYTES { file.write() } else { Ok(()) }
        };
        spi.run_limited(&mut prepared, &[], 0, &mut EachRow(&mut put))?;
        encoder.trailer(&mut header);
        file.pending.extend_from_slice(&header);
        file.finish(name)?;
        Ok(rows)
    }
}

/// Gives each row to a function.
struct EachRow<'f>(&'f mut (dyn FnMut(&[Datum]) -> Result<()> + Send));

impl RowSink for EachRow<'_> {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        (self.0)(row)
    }
}

/// A function's COPY FROM.
struct FunctionCopy<'f, 'c> {
    spi: &'f mut Spi<'c>,
    frame: Frame,
    env: ExecEnv,
    control: &'f SessionControl,
}

impl CopyPlace for FunctionCopy<'_, '_> {
    fn env(&self) -> &ExecEnv {
        &self.env
    }

    fn names(&self) -> &NameSpace {
        &self.frame.names
    }

    fn control(&self) -> &SessionControl {
        self.control
    }

    fn compiled(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: Params,
    ) -> Result<Arc<CompiledStmt>> {
        self.spi.compiled(statement, source, params)
    }

    fn in_statement(
        &mut self,
        run: impl FnOnce(&ExecEnv, &mut Option<Transaction>) -> Result<()>,
    ) -> Result<()> {
        let env = &self.env;
        self.spi.in_statement(|txn| run(env, txn))
    }
}
