//! A database on a disk in memory, a catalog made by hand, and SQL run through
//! parser, binder, planner and executor.

#![allow(dead_code, unreachable_pub, missing_docs)] // each test uses its part

pub mod partitions;

use std::path::Path;
use std::sync::Arc;
use steppe_catalog::{
    Catalog, Column, Constraint, ConstraintKind, IndexInfo, IndexKey, NameSpace, PUBLIC, RelKind,
    Relation,
};
use steppe_exec::explain::{ExplainOptions, Explained, Surroundings, explain};
use steppe_exec::prepare::{Planning, PreparedPlan, parse_one, prepare};
use steppe_exec::{
    CompiledStmt, ExecEnv, ExecOutcome, Execution, FetchStatus, RowSink, Transaction,
};
use steppe_functions::NoSession;
use steppe_spill::TempSpace;
use steppe_sql::bind::{BindContext, Params, bind_query};
use steppe_sql::planner::{PlannerContext, PlannerSettings, TableSizes, plan};
use steppe_txn::{
    DatabaseId, Engine, EngineOptions, IndexStore, IsolationLevel, OverflowStore, Persistence,
    SessionHandle, TableStore, Txn,
};
use steppe_types::io::IoContext;
use steppe_types::row::RowLayout;
use steppe_types::{Datum, Oid, Result, oid, text_io};
use steppe_vfs::CrashVfs;

pub struct World {
    pub engine: Arc<Engine>,
    pub session: SessionHandle,
    pub catalog: Catalog,
    pub settings: PlannerSettings,
    pub work_mem_bytes: usize,
    pub txn: Option<Transaction>,
    pub vfs: Arc<CrashVfs>,
    pub isolation: IsolationLevel,
    next_oid: Oid,
}

struct Sizes;

impl TableSizes for Sizes {
    fn size(&self, _: &Relation) -> (f64, f64) {
        (10_000.0, 100.0)
    }
}

/// Collects rows as text, columns joined by `|`, NULL as `~`.
pub struct Rows {
    types: Vec<Oid>,
    pub rows: Vec<String>,
    pub raw: bool,
}

fn show(types: &[Oid], row: &[Datum]) -> String {
    let io = IoContext::default();
    let column = |(t, d): (&Oid, &Datum)| match d {
        Datum::Null => "~".to_owned(),
        d => text_io::output_string(*t, d, &io).expect("value has a text"),
    };
    types.iter().zip(row).map(column).collect::<Vec<_>>().join("|")
}

impl Rows {
    pub fn of(stmt: &CompiledStmt) -> Rows {
        let types = stmt.columns().iter().map(|c| c.ty.oid).collect();
        Rows { types, rows: Vec::new(), raw: true }
    }
}

impl RowSink for Rows {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        assert_eq!(row.len(), self.types.len(), "row is as wide as described");
        self.rows.push(show(&self.types, row));
        Ok(())
    }

    fn raw_row(&mut self, row: &[u8], layout: &RowLayout, columns: &[usize]) -> Result<bool> {
        for column in columns {
            if !self.raw || layout.is_out_of_line(row, *column)? {
                return Ok(false);
            }
        }
        let values = columns.iter().map(|c| layout.decode_column(row, *c));
        let values = values.collect::<Result<Vec<_>>>()?;
        self.row(&values)?;
        Ok(true)
    }
}

impl Default for World {
    fn default() -> World {
        World::new()
    }
}

impl World {
    pub fn new() -> World {
        let vfs = Arc::new(CrashVfs::new(1));
        let options = EngineOptions {
            pool_pages: 512,
            pages_max: 1 << 16,
            wal_buffers_bytes: 1 << 20,
            wal_segment_bytes: 1 << 20,
            wal_bytes_min: 1 << 20,
            system_id: Some(7),
            undo_buffers_bytes: 4 << 20,
            undo_segment_bytes: 64 << 10,
            background: false,
            ..EngineOptions::default()
        };
        use steppe_vfs::Vfs;
        vfs.create_dir_all(Path::new("temp")).expect("a directory on an empty disk");
        let engine = Engine::open(vfs.clone(), Path::new("data"), options).expect("new database");
        World {
            session: engine.new_session(DatabaseId::POSTGRES),
            engine,
            catalog: Catalog::default(),
            settings: PlannerSettings::default(),
            work_mem_bytes: 4 << 20,
            txn: None,
            vfs,
            isolation: IsolationLevel::ReadCommitted,
            next_oid: 20_000,
        }
    }

    /// A second session over the same database and catalog.
    pub fn another(&self) -> World {
        World {
            session: self.engine.new_session(DatabaseId::POSTGRES),
            engine: self.engine.clone(),
            catalog: self.catalog.clone(),
            settings: PlannerSettings::default(),
            work_mem_bytes: self.work_mem_bytes,
            txn: None,
            vfs: self.vfs.clone(),
            isolation: self.isolation,
            next_oid: self.next_oid + 1_000_000,
        }
    }

    fn oid(&mut self) -> Oid {
        self.next_oid += 1;
        self.next_oid
    }

    /// Makes a table; a column is `name type [not null]`, the first index is the primary key
    /// if its name ends in `_pkey`. An index is (name, unique, columns).
    pub fn table(&mut self, name: &str, columns: &[&str], indexes: &[(&str, bool, &[&str])]) {
        let mut txn = Txn::begin(&self.session, IsolationLevel::ReadCommitted, false);
        txn.start_statement().expect("statement");
        let mut table = Relation::new(self.oid(), PUBLIC, name, RelKind::Table);
        for column in columns {
            let mut words = column.split(' ');
            let column_name = words.next().expect("name");
            let ty = words.next().expect("type");
            let ty = steppe_catalog::builtin::type_named(ty).expect("type exists").oid;
            let mut c = Column::new(column_name, ty, -1);
            c.not_null = words.next().is_some();
            table.columns.push(c);
        }
        table.storage =
            Some(TableStore::create(&mut txn, Persistence::Logged).expect("rows").file());
        table.overflow =
            Some(OverflowStore::create(&mut txn, Persistence::Logged).expect("values").file());
        for (index_name, unique, keys) in indexes {
            let mut index = Relation::new(self.oid(), PUBLIC, *index_name, RelKind::Index);
            index.storage = Some(
                IndexStore::create(&mut txn, *unique, Persistence::Logged).expect("index").file(),
            );
            let primary = index_name.ends_with("_pkey");
            let key = |k: &&str| {
                let descending = k.starts_with('-');
                let at = table.column_index(k.trim_start_matches('-')).expect("column exists");
                IndexKey {
                    descending,
                    nulls_first: descending,
                    ..IndexKey::ascending(at as i16 + 1, table.columns[at].type_oid)
                }
            };
            let keys: Vec<IndexKey> = keys.iter().map(key).collect();
            if *unique {
                let kind = if primary {
                    ConstraintKind::Primary { index: index.oid }
                } else {
                    ConstraintKind::Unique { index: index.oid }
                };
                let columns: Vec<i16> = keys.iter().map(|k| k.attnum).collect();
                let oid = self.oid();
                let name = index.name.clone();
                table.constraints.push(Constraint::new(oid, name, kind, columns));
            }
            index.index = Some(Box::new(IndexInfo {
                table: table.oid,
                keys: keys.into(),
                include: Default::default(),
                unique: *unique,
                primary,
                clustered: false,
                deferral: Default::default(),
                nulls_not_distinct: false,
                predicate: None,
            }));
            table.indexes.push(index.oid);
            self.catalog.put_relation(index);
        }
        self.catalog.put_relation(table);
        let _ = txn.commit().expect("table is made");
    }

    /// Adds a CHECK constraint.
    pub fn check(&mut self, table: &str, name: &str, expression: &str) {
        let oid = self.oid();
        let found = self.catalog.relation_named(PUBLIC, table).expect("table exists");
        let mut relation = (**found).clone();
        let kind = ConstraintKind::Check { expression: expression.to_string().into() };
        relation.constraints.push(Constraint::new(oid, name, kind, Vec::new()));
        self.catalog.put_relation(relation);
    }

    pub fn compile(&self, text: &str, params: &[Oid]) -> Result<Arc<CompiledStmt>> {
        let io = IoContext::default();
        let parsed = steppe_sql::parser::parse(text)?;
        let ctx = BindContext {
            catalog: &self.catalog,
            search_path: &[steppe_catalog::PG_CATALOG, PUBLIC],
            io: &io,
            source: text,
        };
        let params = if params.is_empty() { Params::none() } else { Params::fixed(params) };
        let bound = bind_query(&ctx, &parsed[0].statement, params)?;
        let ctx = PlannerContext {
            older: None,
            catalog: &self.catalog,
            search_path: ctx.search_path,
            settings: &self.settings,
            sizes: &Sizes,
            io: &io,
            interrupts: &|| Ok(()),
            may_fail: &|_| false,
            values: &[],
        };
        let planned = Arc::new(plan(&ctx, bound)?);
        let catalog = Arc::new(self.catalog.clone());
        CompiledStmt::compile(planned, &catalog, &self.engine).map(Arc::new)
    }

    /// Prepares a statement as sessions and functions do.
    pub fn prepare(&self, text: &str, params: &[Oid]) -> Result<PreparedPlan> {
        let catalog = Arc::new(self.catalog.clone());
        let names = NameSpace::resolve(catalog, &["public".to_owned()], "postgres", "pg_temp_1");
        let planning = Planning {
            names: &names,
            io: &Arc::default(),
            planner: &self.settings,
            older: None,
            engine: &self.engine,
            interrupts: &|| Ok(()),
            for_cursor: false,
            values: &[],
        };
        let statement = Arc::new(parse_one(text)?.statement);
        Ok(prepare(&planning, &statement, &Arc::from(text), Params::fixed(params))?)
    }

    pub fn env(&self) -> ExecEnv {
        ExecEnv {
            session: Arc::new(NoSession),
            io: Arc::new(IoContext::default()),
            catalog: Arc::new(self.catalog.clone()),
            statement_timestamp: 0,
            transaction_timestamp: 0,
            work_mem_bytes: self.work_mem_bytes,
            temp: Arc::new(TempSpace::new(self.vfs.clone(), "temp")),
        }
    }

    pub fn begin(&mut self) {
        self.txn = Some(Transaction::new(Txn::begin(&self.session, self.isolation, false)));
    }

    pub fn commit(&mut self) {
        if let Some(Transaction { txn, .. }) = self.txn.take() {
            let _ = txn.commit().expect("commit");
        }
    }

    pub fn rollback(&mut self) {
        if let Some(Transaction { txn, .. }) = self.txn.take() {
            txn.rollback().expect("rollback");
        }
    }

    /// Runs one statement in its own transaction unless one is open; the rows and the count.
    pub fn run(&mut self, text: &str, params: Vec<(Oid, Datum)>) -> Result<(Vec<String>, u64)> {
        let types: Vec<Oid> = params.iter().map(|p| p.0).collect();
        let stmt = self.compile(text, &types)?;
        let params: Arc<[Datum]> = params.into_iter().map(|p| p.1).collect();
        let own = self.txn.is_none();
        if own {
            self.begin();
        }
        self.txn.as_mut().expect("a transaction").txn.start_statement()?;
        let result = self.run_compiled(&stmt, params);
        if let Some(Transaction { txn, .. }) = &mut self.txn {
            txn.end_statement();
        }
        match (own, result.is_ok()) {
            (true, true) => self.commit(),
            (true, false) => self.rollback(),
            _ => {}
        }
        result
    }

    fn run_compiled(
        &mut self,
        stmt: &Arc<CompiledStmt>,
        params: Arc<[Datum]>,
    ) -> Result<(Vec<String>, u64)> {
        let env = self.env();
        let mut sink = Rows::of(stmt);
        let mut txn = self.txn.take();
        let within = (&env, &*self.engine);
        let point = stmt.run_point((None, None), &params, within, &mut txn, &mut sink);
        let result = match point {
            Err(error) => Err(error),
            Ok(Some(ExecOutcome::Done { rows })) => Ok(rows),
            Ok(Some(ExecOutcome::MustWait(wait, _))) => panic!("unexpected wait {wait:?}"),
            Ok(None) => {
                let mut execution = Execution::start(stmt, params, &env, &mut txn)?;
                match execution.fetch(&mut txn, 0, &mut sink) {
                    Ok(FetchStatus::Done { rows }) => Ok(rows),
                    Ok(FetchStatus::Suspended { .. }) => panic!("suspended without a limit"),
                    Err(error) => Err(error),
                }
            }
        };
        self.txn = txn;
        result.map(|rows| (sink.rows, rows))
    }

    /// The rows of a statement that must succeed.
    pub fn rows(&mut self, text: &str) -> Vec<String> {
        match self.run(text, Vec::new()) {
            Ok((rows, _)) => rows,
            Err(error) => panic!("{text}: {error:?}"),
        }
    }

    /// The rows in order of their text.
    pub fn sorted(&mut self, text: &str) -> Vec<String> {
        let mut rows = self.rows(text);
        rows.sort();
        rows
    }

    /// The count of a statement that must succeed.
    pub fn count(&mut self, text: &str) -> u64 {
        match self.run(text, Vec::new()) {
            Ok((_, count)) => count,
            Err(error) => panic!("{text}: {error:?}"),
        }
    }

    /// SQLSTATE, message and detail of a statement that must fail.
    pub fn error(&mut self, text: &str) -> (String, String, String) {
        match self.run(text, Vec::new()) {
            Ok((rows, _)) => panic!("{text}: succeeded with {rows:?}"),
            Err(error) => {
                let fields = error.fields();
                (
                    fields.sqlstate.to_string(),
                    fields.message.clone(),
                    fields.detail.clone().unwrap_or_default(),
                )
            }
        }
    }

    /// EXPLAIN (COSTS OFF).
    pub fn explain(&self, text: &str) -> Vec<String> {
        let stmt = self.compile(text, &[]).expect("statement compiles");
        let options = ExplainOptions { costs: false, ..ExplainOptions::default() };
        let env = self.env();
        let explained = Explained {
            stmt: stmt.planned(),
            catalog: &self.catalog,
            env: &env,
            is_generic: false,
            params: &[],
            instruments: &[],
            leaf_runs: &[],
        };
        let text = explain(explained, options, &Surroundings::default());
        text.lines().map(str::to_owned).collect()
    }
}

pub fn int4(v: i32) -> (Oid, Datum) {
    (oid::INT4, Datum::Int4(v))
}
