//! create_range_partitions, create_hash_partitions; drop_partitions, which undoes them.

use super::kept::Pathman;
use super::ranges::{
    Placement, create_partition, create_range_partition, edge, in_schema_of, sequence_name,
    written_name,
};
use super::{
    Parent, copy_rows, invalid, output, qualified, raised, relation, required, required_relation,
    shown,
};
use std::sync::Arc;
use steppe_catalog::system::partitions::key_name;
use steppe_catalog::{PartitionKey, RelKind};
use steppe_ddl::convert::{check_convertible, make_partitioned, make_plain};
use steppe_ddl::of_function::SpiDdl;
use steppe_exec::Spi;
use steppe_functions::CallInfo;
use steppe_functions::args::{array, boolean, given, int4, text};
use steppe_partition::RangeDatum;
use steppe_sql::ast::{PartitionSpec, Statement};
use steppe_sql::bind::typename::format_type;
use steppe_sql::parser;
use steppe_types::datum::one_dimensional;
use steppe_types::error::Severity;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// A plain table that is going to be partitioned.
struct Plan {
    table: Oid,
    /// The expression as the caller wrote it.
    written: String,
    key: PartitionKey,
}

impl Plan {
    /// Makes pg_pathman's checks of a table and an expression, and locks the table.
    fn new(spi: &mut Spi<'_>, args: &[Datum], strategy: &str) -> Result<Plan> {
        let table = required_relation(args, 0, "parent_relid")?;
        required(args, 1, "expression")?;
        let written = text(args, 1)?.to_string();
        let spec = parse_key(&written, strategy)?;
        let frame = spi.frame()?;
        let found = relation(spi, table)?;
        if frame.names.catalog.is_temporary(&found) {
            let name = shown(spi, table)?;
            return Err(raised(format!("temporary table \"{name}\" cannot be partitioned")));
        }
        if found.kind == RelKind::PartitionedTable {
            let name = shown(spi, table)?;
            return Err(raised(format!("table \"{name}\" has already been partitioned")));
        }
        if found.kind != RelKind::Table {
            let message = format!("\"{}\" is not a table", found.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if found.partition_of.is_some() {
            return Err(Error::not_supported("partitioning a partition by pg_pathman"));
        }
        found.refuse_distributed("partitioning")?;
        if !found.inherits.is_empty() || frame.names.catalog.children(table).next().is_some() {
            return Err(Error::not_supported("partitioning a table with inheritance"));
        }
        let key = spi.ddl("ALTER TABLE", "", |ctx| check_convertible(ctx, table, &spec));
        let key = key.map_err(|error| match error.sqlstate() {
            SqlState::READ_ONLY_SQL_TRANSACTION => error,
            _ => invalid(format!("failed to analyze partitioning expression \"{written}\""))
                .detail(error.message().to_string()),
        })?;
        Ok(Plan { table, written, key })
    }

    /// `min(expr)` and the like over the table's rows.
    fn over_rows(
        &self,
        spi: &mut Spi<'_>,
        list: &str,
        params: &[(Oid, Datum)],
    ) -> Result<Vec<Datum>> {
        let text = format!("SELECT {list} FROM {}", qualified(spi, self.table)?);
        let (types, values): (Vec<Oid>, Vec<Datum>) = params.iter().cloned().unzip();
        let mut prepared = spi.prepare(&text, &types)?;
        let answer = spi.run(&mut prepared, &values)?;
        let row = answer.rows.into_iter().next();
        Ok(row.ok_or_else(|| Error::internal("an aggregate without a row"))?.into_vec())
    }

    /// The table's rows must be within `start` and `end` (check_boundaries).
    fn check_boundaries(
        &self,
        spi: &mut Spi<'_>,
        ty: Oid,
        start: &Datum,
        end: &Datum,
    ) -> Result<()> {
        let written = &self.written;
        let list = format!("min(({written})) < $1, max(({written})) >= $2");
        let params = [(ty, start.clone()), (ty, end.clone())];
        match self.over_rows(spi, &list, &params)?.as_slice() {
            [Datum::Bool(true), _] => {
                Err(raised(format!("start value is greater than min value of \"{written}\"")))
            }
            [_, Datum::Bool(true)] => {
                Err(raised(format!("not enough partitions to fit all values of \"{written}\"")))
            }
            _ => Ok(()),
        }
    }

    /// Makes the table partitioned. Returns the parent, and the table with the rows.
    fn convert(self, spi: &mut Spi<'_>, interval: Option<Arc<str>>) -> Result<(Parent, Oid)> {
        let plain = relation(spi, self.table)?;
        let column = self.key.columns.first();
        let column = column.ok_or_else(|| Error::internal("a partition key without columns"))?;
        let pathman = Pathman::new(key_name(&plain, column).into_owned(), interval);
        let (table, key) = (self.table, self.key);
        let keep = |own_constraints| Pathman { own_constraints, ..pathman }.into_kept();
        let rows = spi.ddl("ALTER TABLE", "", |ctx| make_partitioned(ctx, table, key, keep))?;
        Ok((Parent::open(spi, table)?, rows))
    }
}

/// An expression as a partition key of one column.
fn parse_key(expression: &str, strategy: &str) -> Result<PartitionSpec> {
    let text = format!("CREATE TABLE t () PARTITION BY {strategy} (({expression}))");
    let failed = || invalid(format!("failed to parse partitioning expression \"{expression}\""));
    let statements =
        parser::parse(&text).map_err(|error| failed().detail(error.message().to_string()))?;
    let mut statements = statements.into_iter();
    let (Some(parsed), None) = (statements.next(), statements.next()) else {
        return Err(failed());
    };
    let Statement::CreateTable(create) = parsed.statement else { return Err(failed()) };
    match create.partition_by {
        Some(spec) if spec.elements.len() == 1 => Ok(spec),
        _ => Err(failed()),
    }
}

/// A new sequence that numbers the partitions (create_naming_sequence).
fn create_sequence(spi: &mut Spi<'_>, table: Oid) -> Result<()> {
    drop_sequence(spi, table)?;
    let (catalog, table) = (spi.frame()?.names.catalog, relation(spi, table)?);
    let name = in_schema_of(&catalog, &table, &sequence_name(&table));
    spi.execute(&format!("CREATE SEQUENCE {name} START 1")).map(drop)
}

fn drop_sequence(spi: &mut Spi<'_>, table: Oid) -> Result<()> {
    let (catalog, table) = (spi.frame()?.names.catalog, relation(spi, table)?);
    let name = sequence_name(&table);
    if catalog.relation_named(table.schema, &name).is_none() {
        return Ok(());
    }
    let name = in_schema_of(&catalog, &table, &name);
    spi.execute(&format!("DROP SEQUENCE {name}")).map(drop)
}

/// Moves the rows of the former table into the partitions.
fn move_rows(spi: &mut Spi<'_>, rows: Oid, parent: Oid) -> Result<()> {
    copy_rows(spi, rows, parent)?;
    let rows = qualified(spi, rows)?;
    spi.execute(&format!("DROP TABLE {rows}")).map(drop)
}

/// In pg_pathman partition_data decides when rows are moved; Steppe always moves them.
fn check_partition_data(args: &[Datum], i: usize) -> Result<()> {
    required(args, i, "partition_data").map(drop)
}

// ----- range -----

/// `create_range_partitions(parent, expression, start, interval, count, partition_data)`
pub(super) fn create_range(args: &[Datum], call: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let plan = Plan::new(spi, args, "RANGE")?;
    check_partition_data(args, 5)?;
    let steps = Steps::of(args, call, 2)?;
    if matches!(given(args, 4), Some(Datum::Int4(count)) if *count < 0) {
        return Err(raised("partitions count must not be less than zero"));
    }
    let key = plan.key.columns.first().map_or(0, |column| column.type_oid);
    steps.check_interval(spi, key)?;
    let count = match given(args, 4) {
        Some(Datum::Int4(count)) => *count,
        _ => steps.count_for(spi, &plan)?,
    };
    let bounds = steps.bounds(spi, count)?;
    if let [first, .., last] = bounds.as_slice() {
        plan.check_boundaries(spi, steps.type_oid, first, last)?;
    }
    create_sequence(spi, plan.table)?;
    let interval = output(steps.interval_type, &steps.interval, &IoContext::default())?;
    let (parent, rows) = plan.convert(spi, Some(interval.into()))?;
    create_ranges(spi, &parent, steps.type_oid, &bounds, &Names::default())?;
    move_rows(spi, rows, parent.relation.oid)?;
    Ok(Datum::Int4(count))
}

/// A start and an interval.
struct Steps {
    type_oid: Oid,
    start: Datum,
    interval_type: Oid,
    interval: Datum,
}

impl Steps {
    /// Reads the arguments from `i` on.
    fn of(args: &[Datum], call: &CallInfo, i: usize) -> Result<Steps> {
        let type_of = |i: usize| {
            let ty = call.args.get(i).copied();
            ty.ok_or_else(|| Error::internal("an argument without a type"))
        };
        Ok(Steps {
            type_oid: type_of(i)?,
            start: required(args, i, "start_value")?.clone(),
            interval_type: type_of(i + 1)?,
            interval: required(args, i + 1, "p_interval")?.clone(),
        })
    }

    /// 22023 for an interval that adds nothing.
    fn check_interval(&self, spi: &mut Spi<'_>, key: Oid) -> Result<()> {
        let key = format_type(key, -1);
        let test = format!("($1::{key} + $2)::{key} <= $1::{key}");
        let params =
            [(self.type_oid, self.start.clone()), (self.interval_type, self.interval.clone())];
        match spi.value(&test, &params)? {
            Datum::Bool(false) => Ok(()),
            _ => Err(invalid("interval should not be trivial")),
        }
    }

    /// The number of intervals from the start that cover the table's rows.
    fn count_for(&self, spi: &mut Spi<'_>, plan: &Plan) -> Result<i32> {
        let ty = format_type(self.type_oid, -1);
        let list = format!("count(*), max(({}))::{ty}", plan.written);
        let found = plan.over_rows(spi, &list, &[])?;
        let [Datum::Int8(rows), max] = found.as_slice() else {
            return Err(Error::internal("count(*) is no bigint"));
        };
        if *rows == 0 {
            return Err(raised("cannot determine partitions count for empty table"));
        }
        if max.is_null() {
            let message = format!("expression \"{}\" can return NULL values", plan.written);
            return Err(raised(message));
        }
        let mut step = spi.prepare(
            &format!("SELECT $1 <= $3, ($1 + $2)::{ty}"),
            &[self.type_oid, self.interval_type, self.type_oid],
        )?;
        let (mut count, mut current) = (0, self.start.clone());
        loop {
            spi.session().check_interrupts()?;
            let params = [current, self.interval.clone(), max.clone()];
            let mut rows = spi.run(&mut step, &params)?.rows.into_iter();
            let row = rows.next().map(|row| row.into_vec());
            let Some([Datum::Bool(within), next]) = row.as_deref() else {
                return Err(Error::internal("a comparison without a result"));
            };
            if !within {
                return Ok(count);
            }
            (count, current) = (count + 1, next.clone());
        }
    }

    /// The edges of `count` ranges; none if `count` is 0.
    fn bounds(&self, spi: &mut Spi<'_>, count: i32) -> Result<Vec<Datum>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let ty = format_type(self.type_oid, -1);
        let types = [self.type_oid, self.interval_type];
        let mut step = spi.prepare(&format!("SELECT ($1 + $2)::{ty}"), &types)?;
        let mut bounds = vec![self.start.clone()];
        for _ in 0..count {
            spi.session().check_interrupts()?;
            let params = [bounds[bounds.len() - 1].clone(), self.interval.clone()];
            bounds.push(spi.run(&mut step, &params)?.value()?);
        }
        Ok(bounds)
    }
}

/// `generate_range_bounds(start, interval, count)`
pub(super) fn range_bounds(args: &[Datum], call: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let steps = Steps::of(args, call, 0)?;
    let count = int4(args, 2)?;
    if count <= 0 {
        return Err(invalid("'p_count' must be greater than zero"));
    }
    Ok(one_dimensional(steps.type_oid, steps.bounds(spi, count)?))
}

/// `create_range_partitions(parent, expression, bounds, names, tablespaces, partition_data)`
pub(super) fn create_range_bounds(
    args: &[Datum],
    _: &CallInfo,
    spi: &mut Spi<'_>,
) -> Result<Datum> {
    required(args, 2, "bounds")?;
    let bounds = array(args, 2)?.clone();
    if bounds.dimensions.len() > 1 {
        return Err(raised("Bounds array must be a one dimensional array"));
    }
    let [first, .., last] = bounds.elements.as_slice() else {
        return Err(raised("Bounds array must have at least two values"));
    };
    let plan = Plan::new(spi, args, "RANGE")?;
    check_partition_data(args, 5)?;
    let ty = bounds.element_type;
    if bounds.elements.iter().any(Datum::is_null) {
        return Err(invalid("only first bound can be NULL"));
    }
    check_ascending(&bounds.elements, ty)?;
    let count = bounds.elements.len() - 1;
    let names = Names::of(args, 3, count, "bounds")?;
    plan.check_boundaries(spi, ty, first, last)?;
    create_sequence(spi, plan.table)?;
    let (parent, rows) = plan.convert(spi, None)?;
    create_ranges(spi, &parent, ty, &bounds.elements, &names)?;
    move_rows(spi, rows, parent.relation.oid)?;
    Ok(Datum::Int4(i32::try_from(count).unwrap_or(i32::MAX)))
}

fn check_ascending(bounds: &[Datum], ty: Oid) -> Result<()> {
    let ascends =
        |pair: &[Datum]| steppe_types::compare::compare_as(ty, &pair[0], &pair[1]).is_lt();
    match bounds.windows(2).all(ascends) {
        true => Ok(()),
        false => Err(invalid("'bounds' array must be ascending")),
    }
}

/// Creates a partition between each two neighbours of `bounds`.
fn create_ranges(
    spi: &mut Spi<'_>,
    parent: &Parent,
    type_oid: Oid,
    bounds: &[Datum],
    names: &Names,
) -> Result<()> {
    for (i, pair) in bounds.windows(2).enumerate() {
        spi.session().check_interrupts()?;
        let lower = edge(spi, &parent.relation, &pair[0], type_oid, RangeDatum::MinValue)?;
        let upper = edge(spi, &parent.relation, &pair[1], type_oid, RangeDatum::MaxValue)?;
        create_range_partition(spi, parent, (&lower, &upper), names.placement(i))?;
    }
    Ok(())
}

/// partition_names and tablespaces.
#[derive(Default)]
struct Names {
    names: Vec<Arc<str>>,
    tablespaces: Vec<Arc<str>>,
}

impl Names {
    /// Reads the arguments from `i` on: each is NULL or has one element for each partition.
    fn of(args: &[Datum], i: usize, count: usize, of: &str) -> Result<Names> {
        let list = |i: usize, name: &str| -> Result<Vec<Arc<str>>> {
            if given(args, i).is_none_or(Datum::is_null) {
                return Ok(Vec::new());
            }
            let list = array(args, i)?;
            if list.elements.len() != count {
                return Err(invalid(format!("wrong length of '{name}' array"))
                    .detail(format!("number of partitions by '{of}' is {count}")));
            }
            let texts = list.elements.iter().map(|element| match element {
                Datum::Text(text) => Ok(text.clone()),
                _ => Err(invalid(format!("'{name}' should not contain NULLs"))),
            });
            texts.collect()
        };
        Ok(Names { names: list(i, "partition_names")?, tablespaces: list(i + 1, "tablespaces")? })
    }

    fn placement(&self, i: usize) -> Placement<'_> {
        Placement {
            name: self.names.get(i).map(|name| &**name),
            tablespace: self.tablespaces.get(i).map(|name| &**name),
        }
    }
}

// ----- hash -----

/// `create_hash_partitions(parent, expression, count, partition_data, names, tablespaces)`
pub(super) fn create_hash(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let plan = Plan::new(spi, args, "HASH")?;
    required(args, 2, "partitions_count")?;
    check_partition_data(args, 3)?;
    let count = int4(args, 2)?;
    let partitions = usize::try_from(count).ok().filter(|count| *count > 0);
    let Some(partitions) = partitions else {
        return Err(invalid("\"partitions_count\" must be greater than zero"));
    };
    let names = Names::of(args, 4, partitions, "partitions_count")?;
    let (parent, rows) = plan.convert(spi, None)?;
    for i in 0..partitions {
        spi.session().check_interrupts()?;
        let Placement { name, tablespace } = names.placement(i);
        let name = match name {
            Some(name) => written_name(spi, &parent.relation, name)?,
            None => {
                let catalog = spi.frame()?.names.catalog;
                let name = format!("{}_{i}", parent.relation.name);
                in_schema_of(&catalog, &parent.relation, &name)
            }
        };
        let bound = format!("FOR VALUES WITH (MODULUS {partitions}, REMAINDER {i})");
        create_partition(spi, &parent, &name, &bound, tablespace)?;
    }
    move_rows(spi, rows, parent.relation.oid)?;
    Ok(Datum::Int4(count))
}

// ----- undoing it -----

/// `drop_partitions(parent, delete_data)`: the table is a plain one again.
pub(super) fn drop_partitions(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let table = required_relation(args, 0, "parent_relid")?;
    let delete_data = boolean(args, 1)?;
    let Some(pathman) = Pathman::of(&*relation(spi, table)?)? else {
        let name = shown(spi, table)?;
        return Err(raised(format!("table \"{name}\" has no partitions")));
    };
    let name = qualified(spi, table)?;
    let children: Vec<Oid> = spi.frame()?.names.catalog.children(table).collect();
    for child in &children {
        let child = qualified(spi, *child)?;
        spi.execute(&format!("ALTER TABLE {name} DETACH PARTITION {child}"))?;
    }
    drop_sequence(spi, table)?;
    spi.ddl("ALTER TABLE", "", |ctx| make_plain(ctx, table))?;
    for constraint in &pathman.own_constraints {
        spi.execute(&format!("ALTER TABLE {name} ADD {constraint}"))?;
    }
    for child in &children {
        if !delete_data {
            let rows = copy_rows(spi, *child, table)?;
            let message = format!("{rows} rows copied from {}", shown(spi, *child)?);
            let notice = Error::new(SqlState::SUCCESSFUL_COMPLETION, message);
            spi.session().notice(notice.severity(Severity::Notice));
        }
        let child = qualified(spi, *child)?;
        spi.execute(&format!("DROP TABLE {child}"))?;
    }
    Ok(Datum::Int4(i32::try_from(children.len()).unwrap_or(i32::MAX)))
}
