//! Statements of functions in SQL: the names of arguments in them, and the result that the last one
//! must have (sql_fn_post_column_ref and check_sql_fn_retval in functions.c).
//!
//! A column hides an argument of the same name. The last statement's columns are coerced to
//! the declared result as an assignment coerces them. A plan of the statement that is made again
//! gets the same coercions.

use super::coerce::{self, CoercionContext};
use super::{Binder, Conflict, RecordColumns, Variable, Variables, result_columns};
use crate::ast::Statement;
use crate::expr::{CallSyntax, Expr, TypeRef};
use crate::parser;
use crate::query::{Command, Distinct, Query, Rte, RteColumn, RteKind, Target};
use std::sync::Arc;
use steppe_catalog::objects::{Body, Function};
use steppe_catalog::{Catalog, builtin};
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The result that a function in SQL is declared to return, for a call with these types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Its type.
    pub ty: Oid,
    /// The columns of a composite result, if they are known.
    pub columns: Option<RecordColumns>,
    /// A procedure's row is never one column that has the row's type.
    pub is_procedure: bool,
}

/// How a statement's rows become a function's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultShape {
    /// The function returns nothing: rows are dropped.
    Nothing,
    /// The one column is the value.
    Value,
    /// The columns are a row.
    Row,
}

/// The arguments of a function, as its statements name them.
#[derive(Debug)]
pub struct Arguments {
    function: Arc<str>,
    /// Name, which may be empty, and type.
    arguments: Box<[(Arc<str>, Oid)]>,
    /// The result that the last statement must return. The others have none.
    returned: Option<Returned>,
}

impl Arguments {
    /// The arguments of a call with these types.
    pub fn of(function: &Function, types: &[Oid], returned: Option<Returned>) -> Arguments {
        let mut names = function.input_names();
        let named = types.iter().map(|ty| (names.next().unwrap_or_default().into(), *ty));
        Arguments { function: (&*function.name).into(), arguments: named.collect(), returned }
    }

    fn numbered(&self, index: usize, parts: usize) -> Option<Variable> {
        let (_, ty) = self.arguments.get(index)?;
        Some(Variable { param: index, ty: *ty, modifier: -1, collation: 0, parts, record: None })
    }

    fn named(&self, name: &str, parts: usize) -> Option<Variable> {
        let index = self.arguments.iter().position(|(known, _)| **known == *name)?;
        self.numbered(index, parts)
    }
}

impl Variables for Arguments {
    fn find(&self, parts: &[&str]) -> Result<Option<Variable>> {
        Ok(match parts {
            [function, name, ..] if **function == *self.function => {
                self.named(name, 2).or_else(|| match parts.len() {
                    2 => self.named(function, 1),
                    _ => None,
                })
            }
            [name] | [name, _] => self.named(name, 1),
            _ => None,
        })
    }

    fn numbered(&self, n: u32) -> Result<Option<Variable>> {
        let index = usize::try_from(n).ok().and_then(|n| n.checked_sub(1));
        Ok(index.and_then(|index| Arguments::numbered(self, index, 1)))
    }

    fn conflict(&self) -> Conflict {
        Conflict::PreferColumn
    }

    fn returned(&self) -> Option<&Returned> {
        self.returned.as_ref()
    }
}

/// A statement of a function's body.
#[derive(Clone, Debug)]
pub struct BodyStatement {
    /// Its text.
    pub text: Arc<str>,
    /// The number of characters before it in the body.
    pub before: u32,
    /// Its tree; locations are offsets into the body.
    pub statement: Arc<Statement>,
}

/// A body in SQL.
#[derive(Clone, Debug)]
pub struct SqlFunctionBody {
    /// The whole text.
    pub text: Arc<str>,
    /// Its statements.
    pub statements: Vec<BodyStatement>,
}

/// Parses a function's body. An error is one of the grammar.
pub fn parse_body(function: &Function) -> Result<SqlFunctionBody> {
    let text: Arc<str> = match &function.body {
        Body::Sql { text } => (&**text).into(),
        Body::SqlStandard { text } => standard_body(text)?.into(),
        Body::Native { .. } | Body::Procedural { .. } => {
            return Err(Error::internal("a function's body is not in SQL"));
        }
    };
    let mut statements = Vec::new();
    for parsed in parser::parse(&text)? {
        let before = text.get(..parsed.range.start).map_or(0, |before| before.chars().count());
        statements.push(BodyStatement {
            text: parsed.text(&text).into(),
            before: u32::try_from(before).unwrap_or(u32::MAX),
            statement: Arc::new(parsed.statement),
        });
    }
    Ok(SqlFunctionBody { text, statements })
}

/// The columns of a composite result, for arguments of these types and a result of this one.
/// `None`: the result is one value, or a record whose columns the call must define.
pub fn composite_result(
    function: &Function,
    args: &[Oid],
    ret: Oid,
    catalog: &Catalog,
) -> Option<RecordColumns> {
    let outs: Vec<(&str, Oid)> = result_columns(catalog, function, args).collect();
    // The only OUT argument of a function is its result, not a column.
    if outs.len() > usize::from(!function.is_procedure()) {
        return Some(outs.into_iter().map(|(name, ty)| (name.into(), ty, -1)).collect());
    }
    if ret == oid::RECORD {
        return None;
    }
    let relation = catalog.relation_of_row_type(ret)?;
    let live = relation.columns.iter().filter(|column| !column.dropped);
    Some(live.map(|c| (c.name.clone(), c.type_oid, c.typmod)).collect())
}

/// The statements of a stored body in SQL's own syntax.
fn standard_body(text: &str) -> Result<String> {
    if let Some(value) = text.strip_prefix("RETURN ") {
        return Ok(format!("SELECT {value}"));
    }
    let inner = text.strip_prefix("BEGIN ATOMIC").and_then(|rest| rest.strip_suffix("END"));
    inner.map(str::to_owned).ok_or_else(|| Error::internal("unreadable body of a function"))
}

/// The shape of the rows that a function's statement gives it, whose visible columns have these
/// types. 42P13 if the statement cannot return what the function must.
pub fn result_shape(catalog: &Catalog, returned: &Returned, columns: &[Oid]) -> ResultShape {
    if returned.ty == oid::VOID {
        return ResultShape::Nothing;
    }
    match columns {
        [one] if is_composite(returned.ty) => {
            let same = *one == returned.ty
                || coerce::can_coerce(
                    catalog,
                    &[*one],
                    &[returned.ty],
                    CoercionContext::Assignment,
                );
            match same && !returned.is_procedure {
                true => ResultShape::Value,
                false => ResultShape::Row,
            }
        }
        _ if is_composite(returned.ty) => ResultShape::Row,
        _ => ResultShape::Value,
    }
}

fn is_composite(ty: Oid) -> bool {
    coerce::is_row(ty)
}

impl Binder<'_> {
    /// Coerces the columns of a function's last statement to the result that is declared.
    pub(super) fn return_from_function(&mut self, query: &mut Query) -> Result<()> {
        let Some(returned) = self.params.returned().cloned() else { return Ok(()) };
        if returned.ty == oid::VOID {
            return Ok(());
        }
        let shown = self.format_type(returned.ty, -1);
        let mismatch = |detail: String| {
            let message = format!("return type mismatch in function declared to return {shown}");
            Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).detail(detail))
        };
        if query.command != Command::Select && query.returning.is_empty() {
            return mismatch(NO_ROWS.into());
        }
        let types: Vec<Oid> = visible(query).map(|target| target.expr.ty().oid).collect();
        if !is_composite(returned.ty) {
            if is_pseudo(returned.ty) {
                let message = format!("return type {shown} is not supported for SQL functions");
                return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
            }
            if types.len() != 1 {
                return mismatch("Final statement must return exactly one column.".into());
            }
            let to = TypeRef::plain(returned.ty);
            return match self.coerce_columns(query, &[to])? {
                Ok(()) => Ok(()),
                Err(_) => {
                    let actual = self.format_type(types[0], -1);
                    mismatch(format!("Actual return type is {actual}."))
                }
            };
        }
        if types.len() == 1
            && !returned.is_procedure
            && self.coerce_columns(query, &[TypeRef::plain(returned.ty)])?.is_ok()
        {
            return Ok(());
        }
        let Some(columns) = &returned.columns else { return Ok(()) };
        let to = columns.iter().map(|(_, oid, typmod)| TypeRef { oid: *oid, typmod: *typmod });
        let to: Vec<TypeRef> = to.collect();
        if types.len() > to.len() {
            return mismatch("Final statement returns too many columns.".into());
        }
        if let Err(at) = self.coerce_columns(query, &to[..types.len()])? {
            let (actual, wanted) =
                (self.format_type(types[at], -1), self.format_type(to[at].oid, -1));
            return mismatch(format!(
                "Final statement returns {actual} instead of {wanted} at column {}.",
                at + 1
            ));
        }
        if types.len() < to.len() {
            return mismatch("Final statement returns too few columns.".into());
        }
        Ok(())
    }

    /// Coerces the visible columns of a query as assignments. `Err`: the first one that cannot be.
    fn coerce_columns(&mut self, query: &mut Query, to: &[TypeRef]) -> Result<Result<(), usize>> {
        let values: Vec<Expr> = visible(query).map(|target| target.expr.clone()).collect();
        let mut coerced = Vec::with_capacity(values.len());
        for (at, (value, to)) in values.iter().zip(to).enumerate() {
            match self.coerce_result(value.clone(), *to)? {
                Some(value) => coerced.push(value),
                None => return Ok(Err(at)),
            }
        }
        if coerced == values {
            return Ok(Ok(()));
        }
        if has_plain_targets(query) {
            let targets = query.output_mut().iter_mut().filter(|target| !target.hidden);
            targets.zip(coerced).for_each(|(target, value)| target.expr = value);
            return Ok(Ok(()));
        }
        // ORDER BY and the rest refer to the columns as they are.
        let outer = above(std::mem::take(query));
        *query = outer;
        for (position, to) in to.iter().enumerate() {
            let value = query.targets[position].expr.clone();
            if let Some(value) = self.coerce_result(value, *to)? {
                query.targets[position].expr = value;
            }
        }
        Ok(Ok(()))
    }

    fn coerce_result(&mut self, value: Expr, to: TypeRef) -> Result<Option<Expr>> {
        self.coerce(value, to, CoercionContext::Assignment, CallSyntax::ImplicitCast)
    }
}

/// The detail of 42P13 for a last statement without rows.
const NO_ROWS: &str =
    "Function's final statement must be SELECT or INSERT/UPDATE/DELETE/MERGE RETURNING.";

/// 42P13: a function's last statement is none that returns rows, or there is none.
pub fn returns_no_rows(shown_type: &str) -> Error {
    let message = format!("return type mismatch in function declared to return {shown_type}");
    Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).detail(NO_ROWS)
}

fn visible(query: &Query) -> impl Iterator<Item = &Target> {
    query.output().iter().filter(|target| !target.hidden)
}

fn is_pseudo(ty: Oid) -> bool {
    builtin::ty(ty).is_some_and(|ty| ty.kind == b'p')
}

/// Whether nothing else in the query refers to its columns.
fn has_plain_targets(query: &Query) -> bool {
    query.command != Command::Select
        || (query.set_operation.is_none()
            && query.distinct == Distinct::No
            && query.order_by.is_empty()
            && query.group_by.is_empty())
}

/// `SELECT * FROM (query)`
fn above(query: Query) -> Query {
    let shown: Vec<(Arc<str>, TypeRef)> =
        visible(&query).map(|target| (target.name.clone(), target.expr.ty())).collect();
    let column = |(name, ty): &(Arc<str>, TypeRef)| RteColumn {
        name: name.clone(),
        ty: *ty,
        dropped: false,
    };
    let rte = Rte {
        alias: "*SELECT*".into(),
        has_alias: false,
        columns: shown.iter().map(column).collect(),
        kind: RteKind::Subquery { query: Box::new(query), lateral: false, view: None },
        inherit: false,
    };
    let targets = shown.into_iter().enumerate();
    let targets = targets.map(|(i, (name, ty))| Target::plain(Expr::var(0, i, ty), name));
    Query {
        targets: targets.collect(),
        rtes: vec![rte],
        from: vec![crate::query::FromItem::Rte(0)],
        ..Query::default()
    }
}
