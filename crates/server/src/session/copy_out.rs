//! COPY: its table or query and its columns. COPY TO, to STDOUT and to files.

use std::sync::Arc;

use steppe_catalog::{NameSpace, RelKind, Relation};
use steppe_exec::prepare::parse_one;
use steppe_exec::{FetchStatus, RowSink};
use steppe_sql::ast::{CopyEndpoint, CopyStmt, Statement};
use steppe_sql::bind::Params;
use steppe_sql::deparse::quote_identifier;
use steppe_sql::plan::ResultColumn;
use steppe_txn::RelationLockMode;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Result, SqlState, binary_io, text_io};
use steppe_wire::Format;
use steppe_wire::backend::{self, CopyDirection};
use steppe_wire::copy::{CopyEncoder, CopyFormat};

use super::copy_file::TargetFile;
use super::portal::PlanPortal;
use super::run;
use super::tag::CommandTag;
use super::utility::Outcome;
use super::{SEND_AT_BYTES, Session, copy_file, copy_options};
use crate::activity::{CopyProgress, SessionCounts};

/// Rows fetched between two checks of the send buffer.
const CHUNK_ROWS: u64 = 512;

/// A table's name as SQL.
pub(super) fn table_sql(names: &NameSpace, relation: &Relation) -> String {
    let schema = names.catalog.schema(relation.schema);
    let schema = schema.map_or("public", |schema| &schema.name);
    format!("{}.{}", quote_identifier(schema), quote_identifier(&relation.name))
}

/// The positions of the copied columns: the named columns, or all.
pub(super) fn copied_columns(relation: &Relation, names: &[String]) -> Result<Vec<usize>> {
    if names.is_empty() {
        let columns = relation.columns.iter().enumerate();
        let live = columns.filter(|(_, column)| !column.dropped && !column.generated);
        return Ok(live.map(|(position, _)| position).collect());
    }
    let mut positions = Vec::with_capacity(names.len());
    for name in names {
        let position = relation.column_index(name).ok_or_else(|| {
            let message =
                format!("column \"{name}\" of relation \"{}\" does not exist", relation.name);
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        })?;
        if relation.columns[position].generated {
            let message = format!("column \"{name}\" is a generated column");
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                .detail("Generated columns cannot be used in COPY."));
        }
        if positions.contains(&position) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// The names of columns as a list in SQL.
pub(super) fn column_list(relation: &Relation, positions: &[usize]) -> String {
    let names = positions.iter().map(|at| quote_identifier(&relation.columns[*at].name));
    names.collect::<Vec<_>>().join(", ")
}

impl Session {
    /// COPY.
    pub(super) async fn copy(&mut self, copy: &CopyStmt, source: &Arc<str>) -> Result<Outcome> {
        if matches!(copy.endpoint, CopyEndpoint::File(_)) {
            copy_file::check_allowed(copy.is_from)?;
        }
        match (&copy.endpoint, copy.is_from) {
            (CopyEndpoint::Program(_), _) => Err(Error::not_supported("COPY to or from a program")),
            (CopyEndpoint::Stdio, true) => self.copy_from_client(copy, source).await,
            (CopyEndpoint::File(name), true) => {
                self.copy_from_file(copy, name, source).await.map(Outcome::Tag)
            }
            (_, false) => self.copy_to(copy, source).await.map(Outcome::Tag),
        }
    }

    async fn copy_to(&mut self, copy: &CopyStmt, source: &Arc<str>) -> Result<CommandTag> {
        let mut parsed = copy_options::parse(&copy.options, false, source)?;
        let mut portal = self.copied_plan(copy, source).await?;
        if let Some(command) = portal.plan.refused_read_only {
            self.check_writable(command)?;
        }
        let columns: Arc<[ResultColumn]> = portal.plan.compiled.columns().into();
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let options = &mut parsed.options;
        options.force_quote = parsed.force_quote.flags("FORCE_QUOTE", &names)?;
        let is_binary = options.format == CopyFormat::Binary;
        let encoder = CopyEncoder::new(parsed.options);
        let table = copy.relation.as_ref().map(|name| self.find_relation(name)).transpose()?;
        let relation = table.map_or(0, |table| table.oid);
        let mut file = match &copy.endpoint {
            CopyEndpoint::File(name) => Some(TargetFile::create(name)?),
            _ => None,
        };
        let progress = self.control.activity.begin_copy(relation, false);
        if file.is_some() {
            progress.begin_file(0);
        }
        self.start_statement()?;
        self.start_execution(&mut portal)?;
        portal.execution.iter_mut().for_each(|execution| execution.allow_helpers());
        if file.is_none() {
            let format = if is_binary { Format::Binary } else { Format::Text };
            let count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
            backend::copy_response(&mut self.wire.out, CopyDirection::Out, format, count);
        }
        // Drivers expect the binary header in the same message as the first row.
        let mut header = Vec::new();
        encoder.header(&mut header, &names)?;
        if !is_binary {
            CopyOut::to(&mut self.wire.out, &mut file).put(&std::mem::take(&mut header))?;
        }
        let mut rows = 0;
        loop {
            let mut sink = CopySink {
                out: CopyOut::to(&mut self.wire.out, &mut file),
                columns: &columns,
                encoder: &encoder,
                header: &mut header,
                is_binary,
                io: &self.statement.env.io,
                progress: &progress,
                rows: 0,
            };
            let txn = &mut self.transaction.txn;
            let status = run::fetch(&mut portal, txn, CHUNK_ROWS, &mut sink, true)?;
            rows += sink.rows;
            if let FetchStatus::Done { rows: total } = status {
                self.finish_execution(&mut portal, total);
                break;
            }
            match &mut file {
                Some(file) if file.pending.len() >= copy_file::CHUNK_BYTES => {
                    file.write()?;
                    self.core.handle.check_interrupts()?;
                }
                None if self.wire.out.len() >= SEND_AT_BYTES => self.send().await?,
                _ => {}
            }
        }
        encoder.trailer(&mut header);
        CopyOut::to(&mut self.wire.out, &mut file).put(&header)?;
        match (file, &copy.endpoint) {
            (Some(file), CopyEndpoint::File(name)) => file.finish(name)?,
            _ => backend::copy_done(&mut self.wire.out),
        }
        Ok(CommandTag::Rows("COPY", rows))
    }

    /// The plan of the copied query, with its relations locked. For a table, it is a query over it.
    async fn copied_plan(&mut self, copy: &CopyStmt, source: &Arc<str>) -> Result<PlanPortal> {
        let (statement, source) = match (&copy.relation, &copy.query) {
            (Some(name), _) => {
                let relation = self.lock_copied(name, RelationLockMode::AccessShare).await?;
                query_of(copy, &self.namespace.names, &relation)?
            }
            (None, Some(query)) => ((**query).clone(), Arc::clone(source)),
            (None, None) => return Err(Error::internal("COPY of nothing")),
        };
        let plan = self.plan_locked(&Arc::new(statement), &source, &Params::none()).await?;
        if plan.description.is_empty() {
            return Err(no_rows());
        }
        self.check_constants(&plan, &[])?;
        Ok(PlanPortal::new(plan, Arc::from([])))
    }
}

/// The query over a table that is copied.
pub(super) fn query_of(
    copy: &CopyStmt,
    names: &NameSpace,
    relation: &Relation,
) -> Result<(Statement, Arc<str>)> {
    check_copied(relation)?;
    let positions = copied_columns(relation, &copy.columns)?;
    let list = column_list(relation, &positions);
    let table = table_sql(names, relation);
    let text: Arc<str> = format!("SELECT {list} FROM ONLY {table}").into();
    Ok((parse_one(&text)?.statement, text))
}

/// 0A000: the copied statement returns no rows.
#[cold]
pub(super) fn no_rows() -> Error {
    let message = "COPY query must have a RETURNING clause";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn check_copied(relation: &Relation) -> Result<()> {
    let what = match relation.kind {
        RelKind::Table | RelKind::Virtual => return Ok(()),
        RelKind::View => "view",
        RelKind::Composite => "non-table relation",
        RelKind::Sequence => "sequence",
        RelKind::Index | RelKind::PartitionedIndex => "index",
        RelKind::PartitionedTable => "partitioned table",
    };
    let message = format!("cannot copy from {what} \"{}\"", relation.name);
    let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message);
    Err(match relation.kind {
        RelKind::View | RelKind::PartitionedTable => {
            error.hint("Try the COPY (SELECT ...) TO variant.")
        }
        _ => error,
    })
}

/// The target of the data: CopyData messages to the client, or a file without them.
pub(super) struct CopyOut<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) in_messages: bool,
}

impl CopyOut<'_> {
    fn to<'a>(client: &'a mut Vec<u8>, file: &'a mut Option<TargetFile>) -> CopyOut<'a> {
        match file {
            Some(file) => CopyOut { bytes: &mut file.pending, in_messages: false },
            None => CopyOut { bytes: client, in_messages: true },
        }
    }

    /// Appends one message, or a piece of the file.
    fn piece(&mut self, body: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        if self.in_messages { backend::copy_data(self.bytes, body) } else { body(self.bytes) }
    }

    /// Appends data, if there are any.
    pub(super) fn put(&mut self, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        self.piece(|out| {
            out.extend_from_slice(data);
            Ok(())
        })
    }
}

/// Appends each row.
pub(super) struct CopySink<'a> {
    pub(super) out: CopyOut<'a>,
    pub(super) columns: &'a [ResultColumn],
    pub(super) encoder: &'a CopyEncoder,
    /// The bytes before the next row, in its message.
    pub(super) header: &'a mut Vec<u8>,
    pub(super) is_binary: bool,
    pub(super) io: &'a IoContext,
    pub(super) progress: &'a CopyProgress,
    pub(super) rows: u64,
}

impl RowSink for CopySink<'_> {
    fn row(&mut self, values: &[Datum]) -> Result<()> {
        self.rows += 1;
        let (encoder, columns) = (self.encoder, self.columns);
        let (is_binary, io) = (self.is_binary, self.io);
        let header = std::mem::take(self.header);
        let progress = self.progress;
        SessionCounts::add(&progress.rows, 1);
        self.out.piece(|out| {
            let before = out.len();
            out.extend_from_slice(&header);
            let mut row = encoder.begin_row(out, columns.len());
            for (value, column) in values.iter().zip(columns) {
                let type_oid = column.ty.oid;
                match value {
                    Datum::Null => row.null(),
                    value if is_binary => {
                        row.value(|out| binary_io::send(type_oid, value, io, out))?;
                    }
                    value => row.value(|out| text_io::output(type_oid, value, io, out))?,
                }
            }
            row.finish();
            SessionCounts::add(&progress.bytes, (out.len() - before) as u64);
            Ok(())
        })
    }
}
