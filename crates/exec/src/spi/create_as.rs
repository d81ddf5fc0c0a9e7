//! CREATE TABLE AS and SELECT INTO in a function (createas.c): the session makes the table, with the
//! columns of the query's plan, and an `INSERT … SELECT` of the query stores its rows.

use super::Spi;
use super::prepared::Way;
use super::utility::Run;
use crate::sink::RowSink;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_functions::UtilityCall;
use steppe_sql::ast::{
    CreateTableAsStmt, InsertStmt, IntoClause, Overriding, RangeVar, SelectBody, SelectStmt,
    Statement,
};
use steppe_sql::bind::Params;
use steppe_types::{Datum, Error, Result};

impl Spi<'_> {
    pub(super) fn create_table_as(
        &mut self,
        create: &CreateTableAsStmt,
        params: &Params,
        run: &Run<'_>,
    ) -> Result<u64> {
        if create.materialized_view {
            return Err(Error::not_supported("CREATE MATERIALIZED VIEW"));
        }
        let query = match &*create.query {
            Statement::Select(query) => query,
            Statement::Execute(execute) => {
                return self.create_table_as_execute(create, execute, run);
            }
            _ => return Err(Error::internal("CREATE TABLE AS without a query")),
        };
        let how = (create.with_no_data, create.if_not_exists);
        self.create_from(&create.into, (query, params, Way::default()), how, run)
    }

    pub(super) fn select_into(
        &mut self,
        select: &SelectStmt,
        params: &Params,
        run: &Run<'_>,
    ) -> Result<u64> {
        let mut query = select.clone();
        let into = take_into(&mut query).ok_or_else(|| Error::internal("SELECT without INTO"))?;
        self.create_from(&into, (&query, params, Way::default()), (false, false), run)
    }

    /// Makes a table, and stores the rows of a query over these parameters.
    pub(super) fn create_from(
        &mut self,
        into: &IntoClause,
        (query, params, way): (&SelectStmt, &Params, Way),
        (with_no_data, if_not_exists): (bool, bool),
        run: &Run<'_>,
    ) -> Result<u64> {
        let select = Arc::new(Statement::Select(Box::new(query.clone())));
        let columns = self.prepared_query(&select, run.source, params, way)?.columns().to_vec();
        let (statement, source) = (&*select, &**run.source);
        let is_read_only = self.is_read_only;
        let made = self.in_transaction(|session, transaction| {
            let (txn, pending) = transaction.for_ddl();
            let in_use = Vec::new();
            let call =
                UtilityCall { session, txn, pending, statement, source, in_use, is_read_only };
            session.create_table_as(call, into, &columns, if_not_exists)
        })?;
        let Some(table) = made.filter(|_| !with_no_data) else { return Ok(0) };
        let catalog = self.catalog_in_force()?;
        let insert = Arc::new(insert_into(&table, into, query.clone(), &catalog));
        let mut insert = self.prepared_query(&insert, run.source, params, way)?;
        self.run_limited(&mut insert, run.values, 0, &mut NoRows)
    }
}

/// `INSERT INTO table query`, for a table that was just made.
pub fn insert_into(
    table: &Relation,
    into: &IntoClause,
    query: SelectStmt,
    catalog: &Catalog,
) -> Statement {
    let schema = catalog.schema(table.schema).map(|schema| schema.name.to_string());
    Statement::Insert(Box::new(InsertStmt {
        with: None,
        relation: RangeVar { schema, name: table.name.to_string(), ..into.relation.clone() },
        columns: Vec::new(),
        overriding: Overriding::None,
        source: Some(query),
        on_conflict: None,
        returning: None,
    }))
}

/// Takes INTO out of a SELECT. With set operations, INTO is in the first of them.
pub fn take_into(select: &mut SelectStmt) -> Option<IntoClause> {
    match &mut select.body {
        SelectBody::Select(core) => core.into.take(),
        SelectBody::SetOp(operation) => take_into(&mut operation.left),
        SelectBody::Values(_) => None,
    }
}

struct NoRows;

impl RowSink for NoRows {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        Ok(())
    }

    fn take_back(&mut self) -> bool {
        true
    }
}
