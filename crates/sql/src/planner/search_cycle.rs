//! SEARCH and CYCLE of a recursive WITH query, as columns that its terms compute
//! (rewriteSearchCycle.c).
//!
//! ```text
//!   SEARCH DEPTH FIRST BY k SET s      ARRAY[ROW(k)]     s || ARRAY[ROW(k)]
//!   SEARCH BREADTH FIRST BY k SET s    ROW(0, k)         ROW(depth of s + 1, k)
//!   CYCLE k SET m … USING p            default           value where ROW(k) = ANY (p), or default
//!                                      ARRAY[ROW(k)]     p || ARRAY[ROW(k)]
//! ```
//!
//! Each term becomes a sub-select of a query that adds them; that of the recursive one is given
//! the columns of the row that it comes from, and leaves out rows after a marked one.

use super::inline::deepened;
use crate::expr::{CallSyntax, Expr, TypeRef};
use crate::query::*;
use steppe_catalog::{FunctionRef, OperatorRef, builtin};
use steppe_types::{Datum, Error, Oid, Result, oid};

/// pg_proc's array_cat and int8inc.
const ARRAY_CAT: Oid = 383;
const INT8INC: Oid = 1219;

/// Makes the query at `index` of its level compute the columns that its SEARCH and CYCLE add.
pub(super) fn add_columns(cte: &mut Cte, index: usize) -> Result<()> {
    let added = cte.added_columns();
    if added.is_empty() {
        return Ok(());
    }
    let (search, cycle) = (cte.search.take(), cte.cycle.take());
    let lost = || Error::internal("a recursive query has lost its terms");
    let operation = cte.query.set_operation.as_mut().ok_or_else(lost)?;
    let columns: Vec<(TypeRef, Target)> =
        operation.types.iter().copied().zip(cte.query.targets.iter().cloned()).collect();
    let own = columns.len();
    let types: Vec<TypeRef> = operation.types.clone();
    let clauses = Clauses { search: search.as_ref(), cycle: cycle.as_deref(), own, types: &types };

    let left = std::mem::take(&mut operation.left);
    let first = around(left, "*TLOCRN*", &columns, &[], clauses.first());
    *operation.left = first;

    let mut right = std::mem::take(&mut operation.right);
    let entry = recursive_entry(&right, index).ok_or_else(lost)?;
    for (i, column) in added.iter().enumerate() {
        let before = Expr::var(entry, own + i, column.ty);
        right.targets.push(Target::plain(before, column.name.clone()));
    }
    let mut next = around(right, "*TROCRN*", &columns, &added, clauses.next()?);
    if let Some(cycle) = &cycle {
        let mark = clauses.mark_at();
        next.filter = Some(over_mark(cycle, mark));
    }
    *operation.right = next;

    for (i, column) in added.into_iter().enumerate() {
        operation.types.push(column.ty);
        let expr = Expr::var(0, own + i, column.ty);
        cte.query.targets.push(Target::plain(expr, column.name.clone()));
        cte.query.rtes[0].columns.push(column);
    }
    Ok(())
}

/// A query over a term, with the term's columns and `computed` as its own.
fn around(
    term: Box<Query>,
    alias: &str,
    columns: &[(TypeRef, Target)],
    added: &[RteColumn],
    computed: Vec<Expr>,
) -> Query {
    let mut query = Query::new(Command::Select);
    let own = |(ty, target): &(TypeRef, Target)| RteColumn {
        name: target.name.clone(),
        ty: *ty,
        dropped: false,
    };
    let columns: Vec<RteColumn> = columns.iter().map(own).collect();
    for (i, column) in columns.iter().enumerate() {
        let expr = Expr::var(0, i, column.ty);
        query.targets.push(Target::plain(expr, column.name.clone()));
    }
    let named = |expr| Target::plain(expr, "?column?".into());
    query.targets.extend(computed.into_iter().map(named));
    query.rtes.push(Rte {
        alias: alias.into(),
        has_alias: true,
        kind: RteKind::Subquery { query: deepened(term, 1), lateral: false, view: None },
        inherit: false,
        columns: columns.into_iter().chain(added.iter().cloned()).collect(),
    });
    query.from.push(FromItem::Rte(0));
    query
}

/// The clauses of a query that has `own` columns of its own.
struct Clauses<'c> {
    search: Option<&'c CteSearch>,
    cycle: Option<&'c CteCycle>,
    own: usize,
    types: &'c [TypeRef],
}

impl Clauses<'_> {
    /// The place of the mark's column: the search column comes before it.
    fn mark_at(&self) -> usize {
        self.own + usize::from(self.search.is_some())
    }

    /// The added columns of the non-recursive term.
    fn first(&self) -> Vec<Expr> {
        let mut added = Vec::new();
        if let Some(search) = self.search {
            added.push(match search.breadth_first {
                true => {
                    let depth = Expr::Const(Datum::Int8(0), TypeRef::plain(oid::INT8));
                    self.row(Some(depth), &search.columns)
                }
                false => one_row(self.row(None, &search.columns)),
            });
        }
        if let Some(cycle) = self.cycle {
            added.push(cycle.mark_default.clone());
            added.push(one_row(self.row(None, &cycle.columns)));
        }
        added
    }

    /// The columns of the recursive term, from the columns of the row before.
    fn next(&self) -> Result<Vec<Expr>> {
        let mut added = Vec::new();
        if let Some(search) = self.search {
            let before = Expr::var(0, self.own, search.ty());
            added.push(match search.breadth_first {
                true => {
                    let ty = TypeRef::plain(oid::INT8);
                    let depth = Expr::Field { arg: Box::new(before), index: 0, ty };
                    let deeper = call(INT8INC, vec![depth], ty)?;
                    self.row(Some(deeper), &search.columns)
                }
                false => longer(before, self.row(None, &search.columns))?,
            });
        }
        if let Some(cycle) = self.cycle {
            let path = Expr::var(0, self.mark_at() + 1, TypeRef::plain(oid::RECORD_ARRAY));
            let row = self.row(None, &cycle.columns);
            let (equal, equal_func) = record_equality()?;
            let seen = Expr::ScalarArrayOp {
                func: equal_func,
                all: false,
                left: Box::new(row.clone()),
                array: Box::new(path.clone()),
                syntax: CallSyntax::Operator(equal),
            };
            added.push(Expr::Case {
                operand: None,
                whens: vec![(seen, cycle.mark_value.clone())],
                otherwise: Box::new(cycle.mark_default.clone()),
                ty: cycle.mark_value.ty(),
            });
            added.push(longer(path, row)?);
        }
        Ok(added)
    }

    /// A row of columns, after its depth where that counts.
    fn row(&self, depth: Option<Expr>, columns: &[usize]) -> Expr {
        let column = |column: &usize| Expr::var(0, *column, self.types[*column]);
        Expr::Row(depth.into_iter().chain(columns.iter().map(column)).collect(), oid::RECORD)
    }
}

/// The condition that the mark at `column` is not set.
fn over_mark(cycle: &CteCycle, column: usize) -> Expr {
    let mark = Expr::var(0, column, cycle.mark_value.ty());
    let replaced: std::result::Result<Expr, std::convert::Infallible> =
        cycle.unmarked.clone().transform(&mut |expr| {
            Ok(match expr {
                Expr::CaseOperand(_) => mark.clone(),
                other => other,
            })
        });
    match replaced {
        Ok(condition) => condition,
        Err(never) => match never {},
    }
}

fn one_row(row: Expr) -> Expr {
    let ty = TypeRef::plain(oid::RECORD_ARRAY);
    Expr::Array { elements: vec![row], element: oid::RECORD, multidim: false, ty }
}

fn longer(path: Expr, row: Expr) -> Result<Expr> {
    call(ARRAY_CAT, vec![path, one_row(row)], TypeRef::plain(oid::RECORD_ARRAY))
}

fn call(func: Oid, args: Vec<Expr>, ty: TypeRef) -> Result<Expr> {
    let func = FunctionRef::built_in(func);
    let func = func.ok_or_else(|| Error::internal("a built-in function is lost"))?;
    Ok(Expr::Func { func, args, ty, syntax: CallSyntax::Function })
}

fn record_equality() -> Result<(OperatorRef, FunctionRef)> {
    let equal = builtin::operator_of("=", oid::RECORD, oid::RECORD);
    let found = equal.and_then(|equal| equal.built_in_function().map(|func| (equal, func)));
    found.ok_or_else(|| Error::internal("rows have no equality"))
}
