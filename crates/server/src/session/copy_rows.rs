//! The rows of COPY FROM, from their text to the table (copyfrom.c, copyfromparse.c).
//!
//! Rows are decoded as they arrive and inserted a batch at a time. If a batch fails, it is rolled back
//! and inserted again row by row, so that the error names its line. The client's COPY and a function's
//! COPY are the same here ([`CopyPlace`]).

use std::sync::Arc;

use steppe_catalog::{NameSpace, RelKind, Relation};
use steppe_exec::prepare::parse_one;
use steppe_exec::{BulkInsert, CompiledStmt, ExecEnv, Fields, Transaction};
use steppe_sql::ast::{self, CopyStmt, Statement};
use steppe_sql::bind::{self, BindContext, ExprPlace, Params};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_types::error::Severity;
use steppe_types::io::IoContext;
use steppe_types::physical::Physical;
use steppe_types::row::RowWriter;
use steppe_types::{Datum, Error, Oid, Result, SqlState, binary_io, text_io};
use steppe_wire::copy::{self, CopyDecoder, CopyFormat, Doing, Header};

use super::copy_file::SourceFile;
use super::copy_options::{OnError, ParsedOptions, Verbosity};
use super::copy_out::{column_list, copied_columns, table_sql};
use super::simple::SimpleQuery;
use crate::activity::{CopyProgress, SessionCounts};
use crate::server::SessionControl;

/// The session, or a function of it, that runs a COPY.
pub(super) trait CopyPlace {
    /// The environment of its statements.
    fn env(&self) -> &ExecEnv;

    /// The catalog and the search path.
    fn names(&self) -> &NameSpace;

    /// Shows what the session does.
    fn control(&self) -> &SessionControl;

    /// A statement's plan.
    fn compiled(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: Params,
    ) -> Result<Arc<CompiledStmt>>;

    /// Runs a part of it as a statement, with its snapshot.
    fn in_statement(
        &mut self,
        run: impl FnOnce(&ExecEnv, &mut Option<Transaction>) -> Result<()>,
    ) -> Result<()>;
}

/// Rows inserted at a time, unless BEFORE ROW triggers must see each row separately.
const BATCH_ROWS: usize = 1000;
/// The same for a table on data nodes.
const BATCH_ROWS_ON_NODES: usize = 4096;
/// Bytes of field data after which a batch is inserted, however few its rows.
const BATCH_BYTES: usize = 4 << 20;

/// A copied column.
pub(super) struct Column {
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
    pub(super) decoder: CopyDecoder,
    table: Arc<str>,
    pub(super) columns: Box<[Column]>,
    pub(super) is_binary: bool,
    insert: BulkInsert,
    /// The line numbers of the rows that are not inserted yet.
    lines: Vec<u64>,
    /// Their context lines, if the rows are held as values. A row's constraints are then checked
    /// when it is stored, and the error shows the row.
    contexts: Vec<String>,
    batch_bytes: usize,
    /// Rows inserted at a time.
    batch_rows: usize,
    pub(super) count: u64,
    on_error: OnError,
    /// Rows that were skipped because of an invalid field.
    skipped: u64,
    pub(super) progress: Arc<CopyProgress>,
    /// The rest of the Query message; `None` in the extended protocol.
    pub(super) query: Option<SimpleQuery>,
    pub(super) is_simple: bool,
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

impl CopyIn {
    /// The start of COPY FROM a locked table, before its data.
    pub(super) fn begin(
        place: &mut impl CopyPlace,
        (copy, source): (&CopyStmt, &Arc<str>),
        mut parsed: ParsedOptions,
        relation: &Arc<Relation>,
    ) -> Result<CopyIn> {
        check_copied(relation)?;
        if parsed.freeze && relation.kind == RelKind::PartitionedTable {
            let message = "cannot perform COPY FREEZE on a partitioned table";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let positions = copied_columns(relation, &copy.columns)?;
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
        let mut insert = bulk_insert(place, relation, &positions, has_default)?;
        if let Some(condition) = &copy.where_clause {
            let condition = copy_condition(place, relation, condition, source)?;
            insert = insert.with_filter(&condition, positions.len(), &place.names().catalog)?;
        }
        if insert.has_triggers() {
            place.in_statement(|env, txn| insert.begin(env, txn))?;
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
            batch_rows: match insert.fires_before_rows(&place.names().catalog) {
                true => 1,
                false if insert.is_on_nodes() => BATCH_ROWS_ON_NODES,
                false => BATCH_ROWS,
            },
            insert,
            count: 0,
            on_error: parsed.on_error,
            skipped: 0,
            progress: place.control().activity.begin_copy(relation.oid, true),
            query: None,
            is_simple: false,
        })
    }

    /// Takes all rows of a file. Returns their number.
    pub(super) fn whole_file(
        mut self,
        place: &mut impl CopyPlace,
        file: &mut SourceFile,
    ) -> Result<u64> {
        self.progress.begin_file(file.bytes);
        loop {
            let data = file.read()?;
            if data.is_empty() {
                break;
            }
            SessionCounts::add(&self.progress.bytes, data.len() as u64);
            self.decoder.feed(data);
            self.rows(place, false)?;
        }
        self.decoder.finish();
        self.rows(place, true)?;
        Ok(self.count)
    }

    /// Decodes the rows that have arrived, and inserts whole batches. At the end, it inserts all
    /// rows.
    pub(super) fn rows(&mut self, place: &mut impl CopyPlace, at_end: bool) -> Result<()> {
        place.env().session.check_interrupts()?;
        while self.take_row(place.env())? {
            if self.lines.len() >= self.batch_rows || self.batch_bytes >= BATCH_BYTES {
                self.insert_batch(place)?;
            }
        }
        if !at_end {
            return Ok(());
        }
        self.insert_batch(place)?;
        if self.insert.has_events() {
            place.in_statement(|env, txn| self.insert.finish(env, txn))?;
        }
        if self.skipped > 0 && self.on_error.verbosity >= Verbosity::Default {
            let rows = if self.skipped == 1 { "row was" } else { "rows were" };
            let message =
                format!("{} {rows} skipped due to data type incompatibility", self.skipped);
            place.env().session.notice(notice(message));
        }
        Ok(())
    }

    fn insert_batch(&mut self, place: &mut impl CopyPlace) -> Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let mut inserted = Ok(0);
        // An error of the statement itself is no row's.
        let insert = &mut self.insert;
        place.in_statement(|env, txn| {
            inserted = insert.flush(env, txn);
            Ok(())
        })?;
        let rows = match inserted {
            Ok(rows) => rows,
            Err(error) => return Err(self.find_bad_row(place, error)),
        };
        self.count += rows;
        SessionCounts::add(&self.progress.rows, rows);
        self.lines.clear();
        self.contexts.clear();
        self.batch_bytes = 0;
        Ok(())
    }

    /// Finds the row of a failed batch, which was rolled back.
    fn find_bad_row(&mut self, place: &mut impl CopyPlace, error: Error) -> Error {
        if self.batch_rows == 1 {
            // Triggers have seen the row, and must not see it again.
            return self.in_row_of_batch(0, error);
        }
        let (mut bad, insert) = (None, &mut self.insert);
        let lines = self.lines.len();
        let run = place.in_statement(|env, txn| {
            bad = (0..lines).find_map(|i| Some((i, insert.store_row(i, env, txn).err()?)));
            Ok(())
        });
        match bad {
            Some((i, error)) if run.is_ok() => self.in_row_of_batch(i, error),
            _ => {
                let first_line = self.lines.first().copied().unwrap_or(0);
                with_context(error, format!("COPY {}, line {first_line}", self.table))
            }
        }
    }

    /// The error of row `i` of a batch.
    fn in_row_of_batch(&self, i: usize, error: Error) -> Error {
        // As in PostgreSQL, an index's error does not show the row of a batch.
        let is_shown = self.batch_rows == 1 || error.sqlstate() != SqlState::UNIQUE_VIOLATION;
        let row = self.contexts.get(i).filter(|_| is_shown).cloned();
        let line = self.lines.get(i).copied().unwrap_or(0);
        with_context(error, row.unwrap_or_else(|| format!("COPY {}, line {line}", self.table)))
    }
}

/// WHERE over a row of the table (DoCopy).
fn copy_condition(
    place: &impl CopyPlace,
    relation: &Arc<Relation>,
    condition: &ast::Expr,
    source: &Arc<str>,
) -> Result<Expr> {
    let names = place.names();
    let (catalog, search_path) = (&names.catalog, &names.path[..]);
    let ctx = BindContext { catalog, search_path, io: &place.env().io, source };
    let at = ExprPlace::CopyWhere;
    let bound = bind::bind_table_condition(&ctx, relation, condition, "WHERE", at)?;
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

/// An INSERT of one row whose values are the copied columns.
fn bulk_insert(
    place: &mut impl CopyPlace,
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
    let plan = plan_row(place, relation, positions, values, Params::fitted(&types))?;
    let insert = BulkInsert::new(&plan, positions.len())?;
    if !has_default {
        return Ok(insert);
    }
    let values = positions.iter().map(|_| "DEFAULT".to_owned());
    let plan = plan_row(place, relation, positions, values, Params::none())?;
    Ok(insert.with_defaults(&plan, positions))
}

/// Plans an INSERT of one row with these values of the columns at `positions`.
fn plan_row(
    place: &mut impl CopyPlace,
    relation: &Relation,
    positions: &[usize],
    values: impl Iterator<Item = String>,
    params: Params,
) -> Result<Arc<CompiledStmt>> {
    let table = table_sql(place.names(), relation);
    let text: Arc<str> = if positions.is_empty() {
        relation.refuse_distributed("COPY without columns")?;
        format!("INSERT INTO {table} DEFAULT VALUES").into()
    } else {
        let list = column_list(relation, positions);
        let values = values.collect::<Vec<String>>().join(", ");
        // Without OVERRIDING, one row would be sent to its node as a whole.
        format!("INSERT INTO {table} ({list}) OVERRIDING SYSTEM VALUE VALUES ({values})").into()
    };
    let statement = Arc::new(parse_one(&text)?.statement);
    place.compiled(&statement, &text, params)
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
