//! A scan's conditions as predicates on a partition key.
//!
//! A partitioned table's scan keeps its conditions. The remaining partitions are found when the
//! scan starts, level by level, since each level has a key of its own. Here an expression becomes a
//! [`Predicate`] over such a key: values known now stay constants, all other operands are numbered
//! slots, whose expressions the executor evaluates. A condition that is not understood is
//! [`Predicate::Unknown`], which prunes no partition. An operator counts only if it is one of the
//! ordering of the key's type, and an operand only if it is no volatile function's.

mod bounds;

use crate::bind::stored_key;
use crate::expr::{BoolTest, CallSyntax, Expr, RowCompareOp, SortKey};
use crate::implies::equivalent;
use crate::planner::{is_volatile, rtes_of, same_ordering, strip};
use std::sync::Arc;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{Catalog, OperatorRef, PartitionKey, Relation, builtin};
use steppe_partition::{Comparison, KeyOrder, Operand, Predicate};
use steppe_types::{Datum, Oid, Result, oid};

pub use bounds::{Bounds, Reachable};

/// A partition key over the columns of the table that is scanned, which a level below has by
/// name.
#[derive(Debug)]
pub struct KeyOfScan {
    columns: Vec<(Expr, Oid)>,
}

/// The predicate that conditions imply for a key, and the expressions of its slots.
#[derive(Debug)]
pub struct Pruning {
    /// All conditions together.
    pub predicate: Predicate,
    /// The sources of the slots' values.
    pub slots: Vec<Slot>,
}

/// The source of a slot's value.
#[derive(Debug)]
pub enum Slot {
    /// An expression over parameters alone.
    Value(Expr),
    /// A test, whose own slots have lower numbers.
    Test(Reachable),
}

impl KeyOfScan {
    /// The key of `parent`, the scanned table or a partition below it.
    pub fn new(
        catalog: &Catalog,
        scanned: &Arc<Relation>,
        parent: &Relation,
        key: &PartitionKey,
    ) -> Result<KeyOfScan> {
        let exprs = stored_key(catalog, scanned, parent, key)?;
        let types = key.columns.iter().map(|column| column.type_oid);
        Ok(KeyOfScan { columns: exprs.into_iter().zip(types).collect() })
    }

    /// Its columns over range-table entry 0.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.columns.iter().map(|(expr, _)| expr)
    }

    /// The number of its columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether it has none, which no key is.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The predicate on the key that all of `conditions` (over range-table entry 0) imply.
    pub fn pruning(&self, conditions: &[Expr]) -> Pruning {
        self.pruning_within(conditions, &Bounds::default(), false)
    }

    /// The predicate on the rows within the bounds of the partition whose key it is. If it has a
    /// DEFAULT partition, the bounds themselves exclude values of that partition.
    pub fn pruning_within(
        &self,
        conditions: &[Expr],
        bounds: &Bounds,
        has_default: bool,
    ) -> Pruning {
        let mut slots = Vec::new();
        let mut parts: Vec<Predicate> =
            conditions.iter().map(|c| self.predicate(c, &mut slots, bounds)).collect();
        if has_default && !conditions.is_empty() {
            parts.extend(bounds.of_key(self));
        }
        Pruning { predicate: Predicate::And(parts), slots }
    }

    /// The order of the key that gives the order wanted (build_partition_pathkeys): the one is
    /// the beginning of the other. What `conditions` fix to one value is in any order.
    pub fn order(&self, wanted: &[SortKey], conditions: &[Expr]) -> Option<KeyOrder> {
        let is_free = |expr: &Expr| !conditions.iter().any(|condition| fixes(condition, expr));
        let columns = self.columns.iter().map(|(expr, _)| expr).filter(|expr| is_free(expr));
        let wanted = wanted.iter().filter(|key| is_free(&key.expr));
        let mut order = None;
        for (column, key) in columns.zip(wanted) {
            let of_key = KeyOrder { descending: key.descending, nulls_first: key.nulls_first };
            if !is_same(&key.expr, column) || *order.get_or_insert(of_key) != of_key {
                return None;
            }
        }
        Some(order.unwrap_or_default())
    }

    /// The key column that an expression is.
    fn column(&self, expr: &Expr) -> Option<usize> {
        self.columns.iter().position(|(key, _)| is_same(expr, key))
    }

    /// The boolean key column that an expression is.
    fn boolean(&self, expr: &Expr) -> Option<usize> {
        self.column(expr).filter(|column| self.columns[*column].1 == oid::BOOL)
    }

    /// The key column that is NOT an expression.
    fn opposite(&self, expr: &Expr) -> Option<usize> {
        let is_it = |key: &Expr| matches!(key, Expr::Not(arg) if is_same(expr, arg));
        self.columns.iter().position(|(key, _)| is_it(key))
    }

    fn predicate(&self, condition: &Expr, slots: &mut Vec<Slot>, bounds: &Bounds) -> Predicate {
        if let Some(column) = self.boolean(condition) {
            return Predicate::IsBool { column, value: true, negated: false };
        }
        if let Some(column) = self.opposite(condition) {
            return Predicate::IsBool { column, value: false, negated: false };
        }
        let found = match condition {
            Expr::Const(Datum::Bool(value), _) => Some(Predicate::Constant(*value)),
            Expr::Const(Datum::Null, _) => Some(Predicate::Constant(false)),
            Expr::And(parts) => {
                let parts = parts.iter().map(|part| self.predicate(part, slots, bounds));
                Some(Predicate::And(parts.collect()))
            }
            Expr::Or(parts) => {
                let parts = parts.iter().map(|part| self.alternative(part, slots, bounds));
                Some(Predicate::Or(parts.collect()))
            }
            Expr::Not(arg) => self.boolean(arg).map(|column| Predicate::IsBool {
                column,
                value: false,
                negated: false,
            }),
            Expr::IsNull { arg, negated } => self.column(arg).map(|column| match negated {
                false => Predicate::IsNull { column },
                true => Predicate::IsNotNull { column },
            }),
            Expr::BoolTest { arg, test } => self.bool_test(arg, *test),
            Expr::Func { syntax: CallSyntax::Operator(op), args, .. } => {
                self.comparison(op, args, slots)
            }
            Expr::ScalarArrayOp { all, left, array, syntax: CallSyntax::Operator(op), .. } => {
                self.array_comparison(op, *all, left, array, slots)
            }
            Expr::RowCompare { op, left, right, .. } => {
                self.row_comparison(*op, left, right, slots)
            }
            _ => None,
        };
        found.unwrap_or(Predicate::Unknown)
    }

    /// A part of an OR, which counts only if rows within the bounds can satisfy it.
    fn alternative(&self, part: &Expr, slots: &mut Vec<Slot>, bounds: &Bounds) -> Predicate {
        let reachable = bounds.reachable(part, slots);
        let predicate = self.predicate(part, slots, bounds);
        if reachable.is_empty() {
            return predicate;
        }
        match add_slot(slots, Slot::Test(reachable)) {
            Some(value) => Predicate::And(vec![predicate, Predicate::Known { value }]),
            None => predicate,
        }
    }

    fn bool_test(&self, arg: &Expr, test: BoolTest) -> Option<Predicate> {
        let column = self.boolean(arg)?;
        let is = |value, negated| Predicate::IsBool { column, value, negated };
        Some(match test {
            BoolTest::True => is(true, false),
            BoolTest::NotTrue => is(true, true),
            BoolTest::False => is(false, false),
            BoolTest::NotFalse => is(false, true),
            BoolTest::Unknown => Predicate::IsNull { column },
            BoolTest::NotUnknown => Predicate::IsNotNull { column },
        })
    }

    fn comparison(
        &self,
        op: &OperatorRef,
        args: &[Expr],
        slots: &mut Vec<Slot>,
    ) -> Option<Predicate> {
        let [left, right] = args else { return None };
        let (column, value, op) = match (self.column(left), self.column(right)) {
            (Some(column), _) => (column, right, op.clone()),
            (None, Some(column)) => (column, left, OperatorRef::built_in(op.commutator)?),
            (None, None) => return None,
        };
        let operator = self.operator(column, &op)?;
        Some(Predicate::Compare { column, operator, operand: operand(value, slots)? })
    }

    fn array_comparison(
        &self,
        op: &OperatorRef,
        all: bool,
        left: &Expr,
        array: &Expr,
        slots: &mut Vec<Slot>,
    ) -> Option<Predicate> {
        let column = self.column(left)?;
        let operator = self.operator(column, op)?;
        let array = operand(array, slots)?;
        Some(match all {
            false => Predicate::Any { column, operator, array },
            true => Predicate::All { column, operator, array },
        })
    }

    fn row_comparison(
        &self,
        op: RowCompareOp,
        left: &[Expr],
        right: &[Expr],
        slots: &mut Vec<Slot>,
    ) -> Option<Predicate> {
        let operator = match op {
            RowCompareOp::Lt => Comparison::Less,
            RowCompareOp::Le => Comparison::LessEqual,
            RowCompareOp::Gt => Comparison::Greater,
            RowCompareOp::Ge => Comparison::GreaterEqual,
        };
        let columns: Vec<Option<usize>> = left.iter().map(|expr| self.column(expr)).collect();
        let alike = left.iter().zip(right).all(|(l, r)| same_ordering(l.ty().oid, r.ty().oid));
        if !alike || columns.first().is_none_or(Option::is_none) {
            return None;
        }
        let operands = right.iter().map(|value| operand(value, slots));
        let operands = operands.collect::<Option<Vec<_>>>()?;
        Some(Predicate::Row { columns, operator, operands })
    }

    /// The comparison that an operator makes, if it is one of the key column's ordering.
    fn operator(&self, column: usize, operator: &OperatorRef) -> Option<Comparison> {
        if !same_ordering(self.columns[column].1, operator.left) {
            return None;
        }
        match operator.strategy() {
            Some(strategy) => Some(match strategy {
                Strategy::Less => Comparison::Less,
                Strategy::LessEqual => Comparison::LessEqual,
                Strategy::Equal => Comparison::Equal,
                Strategy::GreaterEqual => Comparison::GreaterEqual,
                Strategy::Greater => Comparison::Greater,
            }),
            None => {
                let negated = builtin::strategy(operator.negator);
                (negated == Some(Strategy::Equal)).then_some(Comparison::NotEqual)
            }
        }
    }
}

/// Whether an expression is a key column.
pub(crate) fn is_same(expr: &Expr, key: &Expr) -> bool {
    let is_relabelled = |expr: &Expr| matches!(expr, Expr::Relabel { .. });
    equivalent(expr, key)
        || (is_relabelled(expr) || is_relabelled(key)) && equivalent(strip(expr), strip(key))
}

/// Whether a condition lets an expression have one value only.
pub(crate) fn fixes(condition: &Expr, expr: &Expr) -> bool {
    // A boolean is fixed by itself, or by NOT.
    if is_same(condition, expr) || matches!(condition, Expr::Not(arg) if is_same(arg, expr)) {
        return true;
    }
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else {
        return false;
    };
    let [left, right] = args.as_slice() else { return false };
    let is_value = |value: &Expr| rtes_of(value).is_empty() && !is_volatile(value);
    op.strategy() == Some(Strategy::Equal)
        && (is_same(left, expr) && is_value(right) || is_same(right, expr) && is_value(left))
}

/// A value that no row decides.
fn operand(value: &Expr, slots: &mut Vec<Slot>) -> Option<Operand> {
    if let Expr::Const(datum, _) = value {
        return Some(Operand::Constant(datum.clone()));
    }
    if !rtes_of(value).is_empty() || is_volatile(value) || has_sub_plan(value) {
        return None;
    }
    add_slot(slots, Slot::Value(value.clone()))
}

fn add_slot(slots: &mut Vec<Slot>, slot: Slot) -> Option<Operand> {
    let number = u32::try_from(slots.len()).ok()?;
    slots.push(slot);
    Some(Operand::Slot(number))
}

/// A sub-select that is run once is run when its value is first needed, which may be here; one
/// that is run for each row is not run for pruning alone.
fn has_sub_plan(expr: &Expr) -> bool {
    match expr {
        Expr::SubPlan(sub) => !sub.runs_once(),
        Expr::SubLink { .. } => true,
        other => other.any_child(has_sub_plan),
    }
}
