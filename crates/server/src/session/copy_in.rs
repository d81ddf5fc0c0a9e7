//! COPY FROM, from STDIN and from files (src/backend/commands/copyfrom.c, copyfromparse.c).
//!
//! The session continues to read messages during a COPY. Rows are decoded as they arrive and
//! inserted a batch at a time. If a batch fails, it is rolled back and inserted again row by row,
//! so that the error names its line.

use std::sync::Arc;

use crate::activity::{CopyProgress, SessionCounts};
use crate::outbox;
use crate::plan_cache::CachedPlan;
use steppe_catalog::{RelKind, Relation};
use steppe_exec::prepare::parse_one;
use steppe_exec::{BulkInsert, ExecEnv, Fields};
use steppe_sql::ast::{self, CopyStmt};
use steppe_sql::bind::{self, BindContext, ExprPlace, Params};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_txn::RelationLockMode;
use steppe_types::error::Severity;
use steppe_types::io::IoContext;
use steppe_types::physical::Physical;
use steppe_types::row::RowWriter;
use steppe_types::{Datum, Error, Oid, Result, SqlState, binary_io, text_io};
use steppe_wire::Format;
use steppe_wire::backend::{self, CopyDirection};
use steppe_wire::copy::{self, CopyDecoder, CopyFormat, Doing, Header};
use steppe_wire::frontend::FrontendMessage;

use super::client::connection_lost;
use super::copy_file::SourceFile;
use super::copy_options::{OnError, Verbosity};
use super::copy_out::{column_list, copied_columns, table_sql};
use super::simple::SimpleQuery;
use super::tag::CommandTag;
use super::utility::Outcome;
use super::{Session, copy_options};

/// Rows inserted at a time, unless BEFORE ROW triggers must see each row separately.
const BATCH_ROWS: usize = 1000;
/// Bytes of field data after which a batch is inserted, however few its rows.
const BATCH_BYTES: usize = 4 << 20;

/// A copied column.
struct Column {
    name: Arc<str>,
    type_oid: Oid,
    typmod: i32,
    physical: Physical,
    has_default: bool,
}

/// A row's fields, with their columns.
struct RowFields<'a> {
    columns: &'a [Column],
    row: copy::Row<'a>,
    is_binary: bool,
    io: &'a IoContext,
}

impl Fields for RowFields<'_> {
    #[inline]
    fn write(&self, i: usize, row: &mut RowWriter<'_>) -> Result<()> {
        let Column { physical, type_oid, typmod, .. } = self.columns[i];
        if self.is_binary
            && let Some(bytes) = self.row.get(i)
        {
            return row.push(&binary_io::receive(type_oid, typmod, bytes, self.io)?);
        }
        match self.row.text(i)? {
            Some(text) => text_io::input_into(row, physical, type_oid, typmod, text, self.io),
            None => row.push_null(),
        }
    }

    fn value(&self, i: usize) -> Result<Option<Datum>> {
        let Column { physical, type_oid, typmod, .. } = self.columns[i];
        let Some(bytes) = self.row.get(i) else {
            return Ok((!self.row.is_default(i)).then_some(Datum::Null));
        };
        if self.is_binary {
            return binary_io::receive(type_oid, typmod, bytes, self.io).map(Some);
        }
        let text = self.row.text(i)?.unwrap_or_default();
        text_io::input_as(physical, type_oid, typmod, text, self.io).map(Some)
    }
}

/// A field that is not valid for its column.
struct Unread {
    column: usize,
    shown: Option<String>,
    error: Error,
}

impl Unread {
    /// Whether the data is wrong, not the server's state or resources.
    fn is_of_data(&self) -> bool {
        let code = self.error.sqlstate();
        !matches!(&code.as_str()[..2], "0A" | "53" | "57" | "58" | "XX")
    }

    /// The first invalid field of a row, in the order of COPY's columns (they are read in the
    /// table's).
    fn find(fields: &RowFields<'_>) -> Option<Unread> {
        let row = &fields.row;
        (0..row.len().min(fields.columns.len())).find_map(|i| {
            let error = fields.value(i).err()?;
            let shown = row.get(i).map(|f| String::from_utf8_lossy(f).into_owned());
            Some(Unread { column: i, shown, error })
        })
    }
}

/// A running COPY FROM.
pub(super) struct CopyIn {
    decoder: CopyDecoder,
    table: Arc<str>,
    columns: Box<[Column]>,
    is_binary: bool,
    insert: BulkInsert,
    /// The line numbers of the rows that are not inserted yet.
    lines: Vec<u64>,
    /// Their context lines, if the rows are held as values. A row's constraints are then checked
    /// when it is stored, and the error shows the row.
    contexts: Vec<String>,
    batch_bytes: usize,
    /// Rows inserted at a time.
    batch_rows: usize,
    rows: u64,
    on_error: OnError,
    /// Rows that were skipped because of an invalid field.
    skipped: u64,
    progress: Arc<CopyProgress>,
    /// The rest of the Query message; `None` in the extended protocol.
    query: Option<SimpleQuery>,
    is_simple: bool,
}

impl CopyIn {
    /// Whether a Query message has started it.
    pub(super) fn is_simple(&self) -> bool {
        self.is_simple
    }

    /// Takes the next row. Returns false if it needs more data.
    fn take_row(&mut self, env: &ExecEnv) -> Result<bool> {
        let row = match self.decoder.next_row() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(false),
            Err(error) => return Err(self.in_row(error)),
        };
        let (columns, is_binary) = (&*self.columns, self.is_binary);
        let fields = RowFields { columns, row, is_binary, io: &env.io };
        if row.len() < columns.len() && !columns.is_empty() {
            let missing = copy::missing_data(&columns[row.len()].name);
            let unread = Unread::find(&fields);
            return self.skip(unread, missing, env);
        }
        let mut defaulted = (0..row.len()).filter(|i| row.is_default(*i));
        if let Some(i) = defaulted.find(|i| !self.columns[*i].has_default) {
            let error = copy::no_default(&self.columns[i].name);
            return Err(self.in_row(error));
        }
        let bytes: usize = row.iter().flatten().map(<[u8]>::len).sum();
        match self.insert.push(&fields, env) {
            Ok(true) => {}
            Ok(false) => {
                SessionCounts::add(&self.progress.excluded, 1);
                return Ok(true);
            }
            Err(error) => {
                let unread = Unread::find(&fields);
                return self.skip(unread, error, env);
            }
        }
        self.batch_bytes += bytes;
        self.lines.push(self.decoder.line_number());
        if self.insert.holds_values() {
            self.contexts.push(self.decoder.context(&self.table, Doing::Row));
        }
        Ok(true)
    }

    /// Skips a row with an invalid field if ON_ERROR allows it (NextCopyFrom). Otherwise returns
    /// the error.
    fn skip(&mut self, unread: Option<Unread>, other: Error, env: &ExecEnv) -> Result<bool> {
        let unread = match unread {
            Some(unread) if self.on_error.ignore && unread.is_of_data() => unread,
            unread => return Err(self.row_error(unread, other)),
        };
        self.skipped += 1;
        SessionCounts::add(&self.progress.skipped, 1);
        let OnError { reject_limit, verbosity, .. } = self.on_error;
        if verbosity == Verbosity::Verbose {
            let shown = match &unread.shown {
                Some(value) => format!("\"{}\"", copy::shorten(value)),
                None => "null input".to_owned(),
            };
            let line = self.decoder.line_number();
            let message = format!(
                "skipping row due to data type incompatibility at line {line} for column \"{}\": \
                 {shown}",
                self.columns[unread.column].name
            );
            env.session.notice(notice(message).context(format!("COPY {}", self.table)));
        }
        if reject_limit > 0 && self.skipped > reject_limit as u64 {
            let message = format!(
                "skipped more than REJECT_LIMIT ({reject_limit}) rows due to data type \
                 incompatibility"
            );
            let error = Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message);
            return Err(self.row_error(Some(Unread { error, ..unread }), other));
        }
        Ok(true)
    }

    /// The error of a row: that of a field, or else `other`.
    fn row_error(&self, unread: Option<Unread>, other: Error) -> Error {
        match unread {
            Some(Unread { column, shown, error }) => {
                let doing = Doing::Column(&self.columns[column].name, shown.as_deref());
                with_context(error, self.decoder.context(&self.table, doing))
            }
            None => self.in_row(other),
        }
    }

    fn in_row(&self, error: Error) -> Error {
        with_context(error, self.decoder.context(&self.table, Doing::Row))
    }
}

fn notice(message: String) -> Error {
    Error::new(SqlState::SUCCESSFUL_COMPLETION, message).severity(Severity::Notice)
}

/// Adds the context line, unless the error has one.
fn with_context(error: Error, context: String) -> Error {
    let known = error.fields().context.as_deref();
    match known.is_some_and(|known| known.lines().last().is_some_and(|l| l.starts_with("COPY "))) {
        true => error,
        false => error.within(context),
    }
}

impl Session {
    /// COPY FROM STDIN, before its data.
    pub(super) async fn copy_from_client(
        &mut self,
        copy: &CopyStmt,
        source: &Arc<str>,
    ) -> Result<Outcome> {
        let begun = self.begin_copy_from(copy, source).await?;
        Ok(Outcome::CopyIn(Box::new(begun)))
    }

    /// COPY FROM a file on the server.
    pub(super) async fn copy_from_file(
        &mut self,
        copy: &CopyStmt,
        name: &str,
        source: &Arc<str>,
    ) -> Result<CommandTag> {
        let mut begun = self.begin_copy_from(copy, source).await?;
        let mut file = SourceFile::open(name, self.core.server.data_dir.path())?;
        begun.progress.begin_file(file.bytes);
        loop {
            let data = file.read()?;
            if data.is_empty() {
                break;
            }
            SessionCounts::add(&begun.progress.bytes, data.len() as u64);
            begun.decoder.feed(data);
            self.copy_rows(&mut begun, false)?;
        }
        begun.decoder.finish();
        self.copy_rows(&mut begun, true)?;
        Ok(CommandTag::Rows("COPY", begun.rows))
    }

    /// The start of COPY FROM, before its data.
    async fn begin_copy_from(&mut self, copy: &CopyStmt, source: &Arc<str>) -> Result<CopyIn> {
        self.check_writable("COPY FROM")?;
        let mut parsed = copy_options::parse(&copy.options, true, source)?;
        let name =
            copy.relation.as_ref().ok_or_else(|| Error::internal("COPY FROM without a table"))?;
        let relation = self.lock_copied(name, RelationLockMode::RowExclusive).await?;
        check_copied(&relation)?;
        if parsed.freeze && relation.kind == RelKind::PartitionedTable {
            let message = "cannot perform COPY FREEZE on a partitioned table";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let positions = copied_columns(&relation, &copy.columns)?;
        let columns: Box<[Column]> = positions
            .iter()
            .map(|at| {
                let column = &relation.columns[*at];
                Column {
                    name: Arc::clone(&column.name),
                    type_oid: column.type_oid,
                    typmod: column.typmod,
                    physical: Physical::of(column.type_oid),
                    has_default: column.default.is_some() && !column.generated,
                }
            })
            .collect();
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let options = &mut parsed.options;
        options.force_not_null = parsed.force_not_null.flags("FORCE_NOT_NULL", &names)?;
        options.force_null = parsed.force_null.flags("FORCE_NULL", &names)?;
        if let Header::Match(expected) = &mut options.header {
            *expected = names.iter().map(|name| (*name).to_owned()).collect();
        }
        let is_binary = options.format == CopyFormat::Binary;
        let has_default = options.default.is_some();
        let mut insert = self.bulk_insert(&relation, &positions, has_default)?;
        if let Some(condition) = &copy.where_clause {
            let condition = self.copy_condition(&relation, condition, source)?;
            insert =
                insert.with_filter(&condition, positions.len(), &self.namespace.names.catalog)?;
        }
        if insert.has_triggers() {
            self.start_statement()?;
            let (env, txn) = (&self.statement.env, &mut self.transaction.txn);
            tokio::task::block_in_place(|| insert.begin(env, txn))?;
            self.end_statement();
        }
        let decoder = CopyDecoder::new(parsed.options.clone(), columns.len());
        Ok(CopyIn {
            decoder,
            table: Arc::clone(&relation.name),
            columns,
            is_binary,
            lines: Vec::new(),
            contexts: Vec::new(),
            batch_bytes: 0,
            batch_rows: match insert.fires_before_rows(&self.namespace.names.catalog) {
                true => 1,
                false => BATCH_ROWS,
            },
            insert,
            rows: 0,
            on_error: parsed.on_error,
            skipped: 0,
            progress: self.control.activity.begin_copy(relation.oid, true),
            query: None,
            is_simple: false,
        })
    }

    /// WHERE over a row of the table (DoCopy).
    fn copy_condition(
        &self,
        relation: &Arc<Relation>,
        condition: &ast::Expr,
        source: &Arc<str>,
    ) -> Result<Expr> {
        let (catalog, search_path) =
            (&self.namespace.names.catalog, &self.namespace.names.path[..]);
        let ctx = BindContext { catalog, search_path, io: &self.statement.env.io, source };
        let place = ExprPlace::CopyWhere;
        let bound = bind::bind_table_condition(&ctx, relation, condition, "WHERE", place)?;
        let over_row = bind::over_row(bound)?;
        match generated_in(&over_row, relation) {
            None => Ok(over_row),
            Some(column) => Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                "generated columns are not supported in COPY FROM WHERE conditions",
            )
            .detail(format!("Column \"{column}\" is a generated column."))),
        }
    }

    /// Finds and locks the table. After a wait, another table may have the name.
    pub(super) async fn lock_copied(
        &mut self,
        name: &steppe_sql::ast::RangeVar,
        lock: RelationLockMode,
    ) -> Result<Arc<Relation>> {
        loop {
            let oid = self.find_relation(name)?.oid;
            if let Some(wait) = self.transaction.txn()?.lock_relation(oid, lock)? {
                wait.await?;
            }
            self.refresh_names();
            let relation = self.find_relation(name)?;
            if relation.oid == oid {
                return Ok(relation);
            }
        }
    }

    /// An INSERT of one row whose values are the copied columns.
    fn bulk_insert(
        &mut self,
        relation: &Relation,
        positions: &[usize],
        has_default: bool,
    ) -> Result<BulkInsert> {
        // Input functions check lengths, as in PostgreSQL.
        let types = positions.iter().map(|at| {
            let column = &relation.columns[*at];
            TypeRef { oid: column.type_oid, typmod: column.typmod }
        });
        let types: Vec<TypeRef> = types.collect();
        let values = (1..=positions.len()).map(|n| format!("${n}"));
        let plan = self.plan_row(relation, positions, values, Params::fitted(&types))?;
        let insert = BulkInsert::new(&plan.compiled, positions.len())?;
        if !has_default {
            return Ok(insert);
        }
        let values = positions.iter().map(|_| "DEFAULT".to_owned());
        let plan = self.plan_row(relation, positions, values, Params::none())?;
        Ok(insert.with_defaults(&plan.compiled, positions))
    }

    /// Plans an INSERT of one row with these values of the columns at `positions`.
    fn plan_row(
        &mut self,
        relation: &Relation,
        positions: &[usize],
        values: impl Iterator<Item = String>,
        params: Params,
    ) -> Result<Arc<CachedPlan>> {
        let table = table_sql(self, relation);
        let text: Arc<str> = if positions.is_empty() {
            format!("INSERT INTO {table} DEFAULT VALUES").into()
        } else {
            let list = column_list(relation, positions);
            let values: Vec<String> = values.collect();
            format!(
                "INSERT INTO {table} ({list}) OVERRIDING SYSTEM VALUE VALUES ({})",
                values.join(", ")
            )
            .into()
        };
        let statement = Arc::new(parse_one(&text)?.statement);
        self.plan(&statement, &text, params, "")
    }

    /// Sends CopyInResponse. Further messages are data.
    pub(super) fn begin_copy_in(&mut self, mut copy: CopyIn, query: Option<SimpleQuery>) {
        self.wire.is_due = true;
        copy.is_simple = query.is_some();
        copy.query = query;
        let format = if copy.is_binary { Format::Binary } else { Format::Text };
        let count = u16::try_from(copy.columns.len()).unwrap_or(u16::MAX);
        backend::copy_response(&mut self.wire.out, CopyDirection::In, format, count);
        self.wire.copy = Some(Box::new(copy));
    }

    /// Handles a message during COPY FROM STDIN.
    pub(super) async fn copy_message(&mut self, message: FrontendMessage<'_>) -> Result<()> {
        match message {
            FrontendMessage::CopyData(data) => {
                outbox::send_now();
                let Some(mut copy) = self.wire.copy.take() else { return Ok(()) };
                SessionCounts::add(&copy.progress.bytes, data.len() as u64);
                copy.decoder.feed(data);
                let result = self.copy_rows(&mut copy, false);
                // It is put back in any case: it has the protocol's state.
                self.wire.copy = Some(copy);
                result
            }
            FrontendMessage::CopyDone => self.end_copy_in().await,
            FrontendMessage::CopyFail(reason) => Err(Error::new(
                SqlState::QUERY_CANCELED,
                format!("COPY from stdin failed: {reason}"),
            )),
            // As in PostgreSQL, they are ignored: client libraries may send them.
            FrontendMessage::Flush | FrontendMessage::Sync => Ok(()),
            FrontendMessage::Terminate => Err(connection_lost()),
            _ => Err(Error::new(
                SqlState::PROTOCOL_VIOLATION,
                "unexpected message type during COPY from stdin",
            )
            .severity(Severity::Fatal)),
        }
    }

    /// Decodes the rows that have arrived, and inserts whole batches. At the end, it inserts all
    /// rows.
    fn copy_rows(&mut self, copy: &mut CopyIn, at_end: bool) -> Result<()> {
        self.core.handle.check_interrupts()?;
        while copy.take_row(&self.statement.env)? {
            if copy.lines.len() >= copy.batch_rows || copy.batch_bytes >= BATCH_BYTES {
                self.insert_batch(copy)?;
            }
        }
        if !at_end {
            return Ok(());
        }
        self.insert_batch(copy)?;
        if copy.insert.has_events() {
            self.start_statement()?;
            let (env, txn) = (&self.statement.env, &mut self.transaction.txn);
            tokio::task::block_in_place(|| copy.insert.finish(env, txn))?;
            self.end_statement();
        }
        if copy.skipped > 0 && copy.on_error.verbosity >= Verbosity::Default {
            let rows = if copy.skipped == 1 { "row was" } else { "rows were" };
            let message =
                format!("{} {rows} skipped due to data type incompatibility", copy.skipped);
            self.core.notices.lock().push(notice(message));
        }
        Ok(())
    }

    fn insert_batch(&mut self, copy: &mut CopyIn) -> Result<()> {
        if copy.lines.is_empty() {
            return Ok(());
        }
        self.start_statement()?;
        let (env, txn) = (&self.statement.env, &mut self.transaction.txn);
        let inserted = tokio::task::block_in_place(|| copy.insert.flush(env, txn));
        let rows = match inserted {
            Ok(rows) => rows,
            Err(error) => return Err(self.find_bad_row(copy, error)),
        };
        self.end_statement();
        copy.rows += rows;
        SessionCounts::add(&copy.progress.rows, rows);
        copy.lines.clear();
        copy.contexts.clear();
        copy.batch_bytes = 0;
        Ok(())
    }

    /// Finds the row of a failed batch, which was rolled back.
    fn find_bad_row(&mut self, copy: &mut CopyIn, error: Error) -> Error {
        let place = |line: u64| format!("COPY {}, line {line}", copy.table);
        let in_row = |i: usize, error: Error| {
            // As in PostgreSQL, an index's error does not show the row of a batch.
            let row = copy.contexts.get(i);
            let is_shown = copy.batch_rows == 1 || error.sqlstate() != SqlState::UNIQUE_VIOLATION;
            let row = row.filter(|_| is_shown);
            let line = copy.lines.get(i).copied().unwrap_or(0);
            with_context(error, row.cloned().unwrap_or_else(|| place(line)))
        };
        if copy.batch_rows == 1 {
            // Triggers have seen the row, and must not see it again.
            return in_row(0, error);
        }
        let first_line = copy.lines.first().copied().unwrap_or(0);
        if self.start_statement().is_err() {
            return with_context(error, place(first_line));
        }
        for i in 0..copy.lines.len() {
            let (env, txn) = (&self.statement.env, &mut self.transaction.txn);
            let one = tokio::task::block_in_place(|| copy.insert.store_row(i, env, txn));
            if let Err(error) = one {
                return in_row(i, error);
            }
        }
        with_context(error, place(first_line))
    }

    async fn end_copy_in(&mut self) -> Result<()> {
        let Some(mut copy) = self.wire.copy.take() else { return Ok(()) };
        copy.decoder.finish();
        if let Err(error) = self.copy_rows(&mut copy, true) {
            self.wire.copy = Some(copy);
            return Err(error);
        }
        let tag = CommandTag::Rows("COPY", copy.rows);
        self.count_copy_in(copy.rows);
        match copy.query.take() {
            Some(query) => {
                let resumed = Box::pin(self.resume_query(query, tag)).await;
                if resumed.is_err() {
                    // The failure belongs to the Query message that has continued.
                    copy.is_simple = true;
                    self.wire.copy = self.wire.copy.take().or(Some(copy));
                }
                resumed
            }
            None => {
                self.put_notices();
                tag.put(&mut self.wire.out);
                Ok(())
            }
        }
    }
}

/// The first generated column that an expression over a table's row reads.
fn generated_in(expr: &Expr, relation: &Relation) -> Option<Arc<str>> {
    let column = match expr {
        Expr::Slot { index, .. } => relation.columns.get(*index),
        _ => None,
    };
    let own = column.filter(|column| column.generated).map(|column| Arc::clone(&column.name));
    own.or_else(|| expr.children().into_iter().find_map(|child| generated_in(child, relation)))
}

fn check_copied(relation: &Relation) -> Result<()> {
    let what = match relation.kind {
        RelKind::Table | RelKind::PartitionedTable => return Ok(()),
        RelKind::View => "view",
        RelKind::Composite => "non-table relation",
        RelKind::Sequence => "sequence",
        RelKind::Index | RelKind::PartitionedIndex => "index",
        RelKind::Virtual => {
            let message = format!("permission denied for table {}", relation.name);
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
    };
    let message = format!("cannot copy to {what} \"{}\"", relation.name);
    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
}
