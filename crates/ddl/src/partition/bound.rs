//! FOR VALUES: a bound as values, against the other partitions and against rows.
//!
//! Bounds are values by the time they reach the catalog: they are evaluated here, and checked
//! against the parent's map.

use super::super::DdlContext;
use super::super::scan::{evaluator, scan_rows};
use super::{children, invalid, leaves, map_of};
use std::sync::Arc;
use steppe_catalog::{PartitionKey, PartitionOf, Relation};
use steppe_exec::stored::TableAccess;
use steppe_functions::bound_condition;
use steppe_partition::{
    BoundError, BoundPlace, BoundValue, PartitionBound, PartitionStrategy, RangeDatum,
};
use steppe_sql::ast::{self, Location, PartitionBoundSpec};
use steppe_sql::bind::typename::format_type;
use steppe_sql::bind::{ExprPlace, bind_assigned_expr, stored_key};
use steppe_sql::constraints::constraints_imply;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_txn::RelationLockMode;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// FOR VALUES … as values, checked against the partitions there are.
pub(crate) fn partition_of(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    partition: &Relation,
    written: &ast::PartitionBound,
) -> Result<PartitionOf> {
    let key = key_of(parent)?;
    let bound = Bounds { ctx, parent, key, written }.evaluate()?;
    check_fits(ctx, parent, partition, written, &bound)?;
    Ok(PartitionOf { parent: parent.oid, bound: Some(bound), detach_pending: false })
}

/// A bound on its way from the statement to values (transformPartitionBound).
struct Bounds<'b, 'c> {
    ctx: &'b mut DdlContext<'c>,
    parent: &'b Relation,
    key: &'b PartitionKey,
    written: &'b ast::PartitionBound,
}

impl Bounds<'_, '_> {
    fn evaluate(&mut self) -> Result<PartitionBound> {
        let strategy = self.key.strategy;
        match (&self.written.spec, strategy) {
            (PartitionBoundSpec::Default, PartitionStrategy::Hash) => {
                Err(bad_bound("a hash-partitioned table may not have a default partition"))
            }
            (PartitionBoundSpec::Default, _) => Ok(PartitionBound::Default),
            (PartitionBoundSpec::Hash { modulus, remainder }, PartitionStrategy::Hash) => {
                hash_bound(*modulus, *remainder)
            }
            (PartitionBoundSpec::List(exprs), PartitionStrategy::List) => self.list(exprs),
            (PartitionBoundSpec::Range { from, to }, PartitionStrategy::Range) => {
                self.range(from, to)
            }
            _ => {
                let kind = match strategy {
                    PartitionStrategy::Hash => "hash",
                    PartitionStrategy::List => "list",
                    PartitionStrategy::Range => "range",
                };
                let message = format!("invalid bound specification for a {kind} partition");
                let location = self.written.location;
                Err(self.ctx.error(SqlState::INVALID_TABLE_DEFINITION, message, location))
            }
        }
    }

    fn list(&mut self, exprs: &[ast::Expr]) -> Result<PartitionBound> {
        let mut values: Vec<BoundValue> = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let value = self.value(0, expr)?;
            // A value written twice counts once.
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Ok(PartitionBound::List { values })
    }

    fn range(&mut self, from: &[ast::Expr], to: &[ast::Expr]) -> Result<PartitionBound> {
        for (side, exprs) in [("FROM", from), ("TO", to)] {
            if exprs.len() != self.key.columns.len() {
                let message =
                    format!("{side} must specify exactly one value per partitioning column");
                return Err(bad_bound(&message));
            }
        }
        Ok(PartitionBound::Range { lower: self.side(from)?, upper: self.side(to)? })
    }

    fn side(&mut self, exprs: &[ast::Expr]) -> Result<Vec<RangeDatum>> {
        let mut datums: Vec<RangeDatum> = Vec::with_capacity(exprs.len());
        for (column, expr) in exprs.iter().enumerate() {
            let datum = match keyword(expr) {
                Some(datum) => datum,
                None => {
                    let value = self.value(column, expr)?;
                    if value.datum().is_null() {
                        return Err(invalid("cannot specify NULL in range bound"));
                    }
                    RangeDatum::Value(value)
                }
            };
            self.check_after_infinite(&datums, &datum, expr)?;
            datums.push(datum);
        }
        Ok(datums)
    }

    /// After MINVALUE or MAXVALUE all further bounds must be the same (validateInfiniteBounds).
    fn check_after_infinite(
        &self,
        before: &[RangeDatum],
        datum: &RangeDatum,
        expr: &ast::Expr,
    ) -> Result<()> {
        let word = match (before.last(), datum) {
            (Some(RangeDatum::MinValue), d) if *d != RangeDatum::MinValue => "MINVALUE",
            (Some(RangeDatum::MaxValue), d) if *d != RangeDatum::MaxValue => "MAXVALUE",
            _ => return Ok(()),
        };
        let message = format!("every bound following {word} must also be {word}");
        Err(self.ctx.error(SqlState::DATATYPE_MISMATCH, message, expr.leftmost()))
    }

    /// The value of an expression in a bound (transformPartitionBoundValue).
    fn value(&mut self, column: usize, expr: &ast::Expr) -> Result<BoundValue> {
        let key = &self.key.columns[column];
        let (name, typmod) = match key.attnum {
            0 => (key.expression.as_deref().unwrap_or("").to_string(), -1),
            attnum => {
                let column = &self.parent.columns[attnum as usize - 1];
                (column.name.to_string(), column.typmod)
            }
        };
        let to = TypeRef { oid: key.type_oid, typmod };
        let place = ExprPlace::PartitionBound;
        let bound = self.ctx.binding(|b| bind_assigned_expr(b, None, expr, place, to, &name));
        let bound =
            bound.map_err(|error| match error.sqlstate() == SqlState::DATATYPE_MISMATCH {
                true => {
                    let ty = format_type(key.type_oid, typmod);
                    let message = format!(
                        "specified value cannot be cast to type {ty} for column \"{name}\""
                    );
                    self.ctx.error(SqlState::DATATYPE_MISMATCH, message, expr.leftmost())
                }
                false => error,
            })?;
        let datum = match bound {
            Expr::Const(value, _) => value,
            bound => {
                let mut evaluator = evaluator(self.ctx, &[bound])?;
                evaluator.evaluate(&[])?.first().cloned().unwrap_or(Datum::Null)
            }
        };
        Ok(BoundValue::new(key.type_oid, datum))
    }
}

/// MINVALUE and MAXVALUE reach us as columns of that name.
fn keyword(expr: &ast::Expr) -> Option<RangeDatum> {
    let ast::ExprKind::ColumnRef(column) = &expr.kind else { return None };
    match column.parts.as_slice() {
        [name] if name == "minvalue" => Some(RangeDatum::MinValue),
        [name] if name == "maxvalue" => Some(RangeDatum::MaxValue),
        _ => None,
    }
}

fn hash_bound(modulus: i32, remainder: i32) -> Result<PartitionBound> {
    let positive = u32::try_from(modulus).ok().filter(|modulus| *modulus > 0);
    let Some(modulus) = positive else {
        return Err(bad_bound(
            "modulus for hash partition must be an integer value greater than zero",
        ));
    };
    let Ok(remainder) = u32::try_from(remainder) else {
        return Err(bad_bound(
            "remainder for hash partition must be an integer value greater than or equal to zero",
        ));
    };
    if remainder >= modulus {
        return Err(bad_bound("remainder for hash partition must be less than modulus"));
    }
    Ok(PartitionBound::Hash { modulus, remainder })
}

fn bad_bound(message: &str) -> Error {
    Error::new(SqlState::INVALID_TABLE_DEFINITION, message)
}

/// Whether a bound fits beside the others: 42P17.
fn check_fits(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    partition: &Relation,
    written: &ast::PartitionBound,
    bound: &PartitionBound,
) -> Result<()> {
    let catalog = ctx.catalog();
    // Older snapshots still have what is being detached.
    let map = catalog.map_of_taken(parent.oid)?;
    let Err(refused) = map.check(partition.oid, bound) else { return Ok(()) };
    let location = place_of(written, &refused);
    let name_of = |oid: Oid| catalog.relation(oid).map_or("?".into(), |r| r.name.to_string());
    let error = refused.report(&partition.name, bound, name_of, &ctx.io);
    Err(match location {
        Some(location) => error.at(location.position(ctx.source)),
        None => error,
    })
}

/// Where in the statement the part of a bound is that is refused.
fn place_of(written: &ast::PartitionBound, refused: &BoundError) -> Option<Location> {
    let at = |exprs: &Vec<ast::Expr>, i: usize| exprs.get(i).map(ast::Expr::leftmost);
    match (refused.place()?, &written.spec) {
        (BoundPlace::Lower(i), PartitionBoundSpec::Range { from, .. }) => at(from, i),
        (BoundPlace::Upper(i), PartitionBoundSpec::Range { to, .. }) => at(to, i),
        (BoundPlace::Value(i), PartitionBoundSpec::List(exprs)) => at(exprs, i),
        _ => Some(written.location),
    }
}

/// A new partition takes keys away from the default one, which must not have any such row: 23514.
/// `named` chooses between the default partition and the leaf that has the row.
pub(crate) fn check_default_partition(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    named: for<'n> fn(&'n Relation, &'n Relation) -> &'n Relation,
) -> Result<()> {
    let catalog = ctx.catalog();
    let Some(default) = map_of(&catalog, parent.oid)?.default_partition() else { return Ok(()) };
    let Some(default) = catalog.relation(default).cloned() else {
        return Err(Error::internal("the default partition has gone"));
    };
    ctx.lock(default.oid, RelationLockMode::AccessExclusive)?;
    let level = (parent.clone(), default.oid);
    check_rows(ctx, &default, &[level], &|leaf| {
        let Relation { name, schema, .. } = named(&default, leaf);
        let message = format!(
            "updated partition constraint for default partition \"{name}\" would be violated by some row"
        );
        let schema = catalog.schema(*schema).map_or("public", |s| &s.name);
        Error::new(SqlState::CHECK_VIOLATION, message).table(schema, name)
    })
}

/// Locks the partitions below a locked table, because a statement may insert into a leaf under a
/// lock on the leaf alone.
fn lock_below(ctx: &mut DdlContext<'_>, table: Oid) -> Result<()> {
    for child in children(ctx, table)? {
        ctx.lock(child.oid, RelationLockMode::AccessExclusive)?;
        lock_below(ctx, child.oid)?;
    }
    Ok(())
}

/// A parent of partitions, and one of these.
pub(super) type Level = (Relation, Oid);

/// Every row of `partition` must be routed, at each level by the parent's map, to the partition that
/// it is or is in: 23514. Tables whose constraints say so are not read.
pub(super) fn check_rows(
    ctx: &mut DdlContext<'_>,
    partition: &Arc<Relation>,
    levels: &[Level],
    refused: &dyn Fn(&Relation) -> Error,
) -> Result<()> {
    lock_below(ctx, partition.oid)?;
    if is_kept_by_constraints(ctx, partition, levels)? {
        return Ok(());
    }
    for leaf in leaves(ctx, partition)? {
        if leaf.oid != partition.oid && is_kept_by_constraints(ctx, &leaf, levels)? {
            continue;
        }
        let checked = check_leaf(ctx, &leaf, levels, refused);
        ctx.naming(&leaf, checked)?;
    }
    Ok(())
}

fn check_leaf(
    ctx: &mut DdlContext<'_>,
    leaf: &Arc<Relation>,
    levels: &[Level],
    refused: &dyn Fn(&Relation) -> Error,
) -> Result<()> {
    let catalog = ctx.catalog();
    let mut routes = Vec::with_capacity(levels.len());
    for (parent, child) in levels {
        let exprs = stored_key(&catalog, leaf, parent, key_of(parent)?)?;
        routes.push((evaluator(ctx, &exprs)?, catalog.map_of_taken(parent.oid)?, *child));
    }
    let table = TableAccess::open(ctx.store.engine(), leaf)?;
    let mut scratch = Vec::new();
    scan_rows(ctx, &table, &mut |_, row| {
        for (evaluator, map, child) in &mut routes {
            if map.route(evaluator.evaluate(row)?, &mut scratch)? != Some(*child) {
                return Err(refused(leaf));
            }
        }
        Ok(())
    })
}

fn key_of(parent: &Relation) -> Result<&PartitionKey> {
    let key = parent.partition_key.as_deref();
    key.ok_or_else(|| Error::internal("partitioned table without a key"))
}

/// Whether a table's own constraints keep its rows within the bounds.
fn is_kept_by_constraints(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    levels: &[Level],
) -> Result<bool> {
    let catalog = ctx.catalog();
    for (parent, partition) in levels {
        let partition = catalog.relation(*partition);
        let partition = partition.ok_or_else(|| Error::internal("a partition has gone"))?;
        let bound = partition.partition_of.as_ref().and_then(|of| of.bound.as_ref());
        // An expression may be NULL without a constraint that says so.
        let is_expression = key_of(parent)?.columns.iter().any(|column| column.attnum == 0);
        if is_expression || bound == Some(&PartitionBound::Default) {
            return Ok(false);
        }
        let Some(condition) = bound_condition(&catalog, partition)? else { continue };
        if !constraints_imply(&catalog, table, &condition)? {
            return Ok(false);
        }
    }
    ctx.debug(format!(
        "partition constraint for table \"{}\" is implied by existing constraints",
        table.name
    ));
    Ok(true)
}
