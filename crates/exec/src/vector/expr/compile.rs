//! From bound expressions to those over columns.
//!
//! An expression is refused if it may not be evaluated twice, in another order, or for rows that
//! are not wanted. Every other expression has a form, even if it is only a call for each row.

use super::VExpr;
use super::arithmetic::Operator;
use super::rowwise::{Call, Kernel};
use crate::constants::is_pure_function;
use crate::expr::{CExpr, Compiler};
use crate::registry::{self, Native};
use crate::vector::IntKind;
use std::convert::Infallible;
use steppe_catalog::objects::Function;
use steppe_functions::{Builtin, CmpOp, compare_rows};
use steppe_sql::expr::{Expr, SubLinkKind, TypeRef};
use steppe_types::oid::{self, container_element_type};
use steppe_types::physical::Physical;
use steppe_types::{Error, Result};

impl VExpr {
    /// Compiles an expression; `None` if it has to be evaluated row by row.
    pub(crate) fn compile(expr: &Expr, compiler: &mut Compiler<'_>) -> Result<Option<VExpr>> {
        if !is_pure(expr, false) {
            return Ok(None);
        }
        node(expr.clone(), compiler).map(Some)
    }

    /// Compiles a list; `None` if one of it has to be evaluated row by row.
    pub(crate) fn compile_list(
        exprs: &[Expr],
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<Box<[VExpr]>>> {
        exprs.iter().map(|expr| VExpr::compile(expr, compiler)).collect()
    }
}

/// Whether an expression has no effects. It may have sub-selects of one value that depend on no
/// row, if it is compiled part by part. `has_operand`: it is in a CASE with an operand.
fn is_pure(expr: &Expr, has_operand: bool) -> bool {
    let is_pure_call = |func: &Function| is_pure_function(func, false);
    let itself = match expr {
        Expr::Const(..) | Expr::Param { .. } | Expr::ExecParam { .. } | Expr::Slot { .. } => true,
        Expr::SubPlan(_) => return is_of_no_row(expr),
        Expr::CaseOperand(_) => has_operand,
        Expr::Func { func, .. } | Expr::ScalarArrayOp { func, .. } => is_pure_call(func),
        Expr::Distinct { eq, .. } | Expr::NullIf { eq, .. } => is_pure_call(eq),
        Expr::Case { operand: Some(operand), whens, otherwise, .. } => {
            let each = |(when, then): &(Expr, Expr)| is_pure(when, true) && is_pure(then, true);
            return !has_sub_select(expr)
                && is_pure(operand, has_operand)
                && whens.iter().all(each)
                && is_pure(otherwise, true);
        }
        Expr::ArrayCoerce { arg, element, .. } => {
            return !has_sub_select(expr) && is_pure(arg, has_operand) && is_pure(element, true);
        }
        Expr::And(_)
        | Expr::Or(_)
        | Expr::Not(_)
        | Expr::IsNull { .. }
        | Expr::BoolTest { .. }
        | Expr::Case { operand: None, .. }
        | Expr::Coalesce { .. }
        | Expr::MinMax { .. }
        | Expr::RowCompare { .. }
        | Expr::Field { .. }
        | Expr::Relabel { .. }
        | Expr::CoerceViaIo { .. } => true,
        Expr::Array { .. } | Expr::Subscript { .. } | Expr::Row(..) => !has_sub_select(expr),
        _ => false,
    };
    itself && expr.children().into_iter().all(|child| is_pure(child, has_operand))
}

/// Whether the expression or a part of it satisfies `is_one`.
fn has(expr: &Expr, is_one: fn(&Expr) -> bool) -> bool {
    let visit = &mut |child: &Expr| if has(child, is_one) { Err(()) } else { Ok(()) };
    is_one(expr) || expr.try_for_each_child(visit).is_err()
}

/// Whether it differs from row to row, or is known only after the first row.
fn has_slot(expr: &Expr) -> bool {
    has(expr, |expr| matches!(expr, Expr::Slot { .. } | Expr::SubPlan(_)))
}

fn has_sub_select(expr: &Expr) -> bool {
    has(expr, |expr| matches!(expr, Expr::SubPlan(_)))
}

/// Whether it is a sub-select of one value that is the same for all rows.
fn is_of_no_row(expr: &Expr) -> bool {
    matches!(expr, Expr::SubPlan(sub) if sub.kind == SubLinkKind::Scalar && sub.args.is_empty())
}

/// Whether its value is known without evaluating anything.
fn is_leaf(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(..) | Expr::Param { .. } | Expr::ExecParam { .. })
}

fn node(expr: Expr, compiler: &mut Compiler<'_>) -> Result<VExpr> {
    if !has_slot(&expr) {
        return compiler.expr(&expr).map(VExpr::Same);
    }
    let kernel = match &expr {
        Expr::Func { func, args, ty, .. } => kernel(func, args, *ty),
        Expr::Distinct { eq, left, negated, .. } => {
            equality(eq, left).map(|bpchar| Kernel::Distinct { negated: *negated, bpchar })
        }
        Expr::NullIf { eq, left, .. } => equality(eq, left).map(|bpchar| Kernel::NullIf { bpchar }),
        Expr::ScalarArrayOp { func, all, left, array, .. } => in_list(func, *all, left, array),
        _ => None,
    };
    Ok(match expr {
        Expr::Slot { index, .. } => VExpr::Slot(index),
        Expr::SubPlan(_) => match compiler.expr(&expr)? {
            CExpr::SubPlan(sub) => VExpr::SubSelect(sub),
            _ => return Err(Error::internal("a sub-select was compiled to something else")),
        },
        Expr::And(args) => VExpr::And(nodes(args, compiler)?),
        Expr::Or(args) => VExpr::Or(nodes(args, compiler)?),
        Expr::Not(arg) => VExpr::Not(Box::new(node(*arg, compiler)?)),
        Expr::IsNull { arg, negated } => {
            VExpr::IsNull { arg: Box::new(node(*arg, compiler)?), negated }
        }
        Expr::BoolTest { arg, test } => {
            VExpr::BoolTest { arg: Box::new(node(*arg, compiler)?), test }
        }
        Expr::Coalesce { args, .. } => VExpr::Coalesce(nodes(args, compiler)?),
        Expr::Case { .. } => return case(expr, compiler),
        Expr::Relabel { arg, ty, .. } if is_same_value(arg.ty(), ty) => {
            return node(*arg, compiler);
        }
        Expr::Func { .. }
        | Expr::Distinct { .. }
        | Expr::NullIf { .. }
        | Expr::ScalarArrayOp { .. }
        | Expr::MinMax { .. }
        | Expr::RowCompare { .. }
        | Expr::Field { .. }
        | Expr::Relabel { .. }
        | Expr::CoerceViaIo { .. } => return call(expr, kernel, compiler),
        _ => return over_columns(expr, compiler),
    })
}

fn nodes(exprs: Vec<Expr>, compiler: &mut Compiler<'_>) -> Result<Box<[VExpr]>> {
    exprs.into_iter().map(|expr| node(expr, compiler)).collect()
}

/// Whether a value has the same representation in both types.
fn is_same_value(from: TypeRef, to: TypeRef) -> bool {
    let is_array = |ty: TypeRef| container_element_type(ty.oid).is_some();
    Physical::of(from.oid) == Physical::of(to.oid) && !is_array(from) && !is_array(to)
}

/// A call whose operands are separate columns.
fn call(mut expr: Expr, kernel: Option<Kernel>, compiler: &mut Compiler<'_>) -> Result<VExpr> {
    let mut args = Vec::new();
    expr.for_each_child_mut(&mut |child| {
        args.push(if is_leaf(child) || is_constant_list(child) {
            VExpr::Same(compiler.expr(child)?)
        } else {
            let column = Expr::Slot { index: args.len(), ty: child.ty() };
            node(std::mem::replace(child, column), compiler)?
        });
        Ok::<(), Error>(())
    })?;
    let by_row = compiler.expr(&expr)?;
    Ok(VExpr::Call(Box::new(Call { kernel, args: args.into(), by_row })))
}

/// An array that is built when the statement is compiled.
fn is_constant_list(expr: &Expr) -> bool {
    let Expr::Array { elements, .. } = expr else { return false };
    elements.iter().all(|element| matches!(element, Expr::Const(..)))
}

/// Any expression, row by row over the columns that it reads.
fn over_columns(expr: Expr, compiler: &mut Compiler<'_>) -> Result<VExpr> {
    let mut columns = Vec::new();
    let Ok(by_row) = expr.transform(&mut |node| -> std::result::Result<_, Infallible> {
        Ok(match node {
            Expr::Slot { index, ty } => {
                let place = columns.iter().position(|column| *column == index);
                let place = place.unwrap_or_else(|| {
                    columns.push(index);
                    columns.len() - 1
                });
                Expr::Slot { index: place, ty }
            }
            other => other,
        })
    });
    let by_row = compiler.expr(&by_row)?;
    let args = columns.into_iter().map(VExpr::Slot).collect();
    Ok(VExpr::Call(Box::new(Call { kernel: None, args, by_row })))
}

/// CASE. An operand that costs nothing is put in the place of its references.
fn case(expr: Expr, compiler: &mut Compiler<'_>) -> Result<VExpr> {
    let costs_nothing = |expr: &Expr| is_leaf(expr) || matches!(expr, Expr::Slot { .. });
    let (operand, whens, otherwise) = match expr {
        Expr::Case { operand: Some(ref operand), .. } if !costs_nothing(operand) => {
            return over_columns(expr, compiler);
        }
        Expr::Case { operand, whens, otherwise, .. } => (operand, whens, otherwise),
        other => return over_columns(other, compiler),
    };
    let mut branch = |mut expr: Expr| {
        if let Some(operand) = &operand {
            put_operand(&mut expr, operand);
        }
        node(expr, compiler)
    };
    let whens = whens
        .into_iter()
        .map(|(when, then)| Ok((branch(when)?, branch(then)?)))
        .collect::<Result<_>>()?;
    Ok(VExpr::Case { whens, otherwise: Box::new(branch(*otherwise)?) })
}

/// Replaces references to the operand of the CASE around `expr`.
fn put_operand(expr: &mut Expr, operand: &Expr) {
    match expr {
        Expr::CaseOperand(_) => *expr = operand.clone(),
        Expr::Case { operand: Some(own), .. } => put_operand(own, operand),
        Expr::ArrayCoerce { arg, .. } => put_operand(arg, operand),
        other => {
            let put = &mut |child: &mut Expr| -> std::result::Result<(), Infallible> {
                put_operand(child, operand);
                Ok(())
            };
            let Ok(()) = other.for_each_child_mut(put);
        }
    }
}

/// The operator of a function that is a type's default comparison, not of rows, and whether the
/// type is char(n).
fn comparison(func: &Function, left: &Expr) -> Option<(CmpOp, bool)> {
    match registry::native(func) {
        Some(Native::Builtin(Builtin::Compare { op, bpchar }))
            if !compare_rows::has_rows(left.ty().oid) =>
        {
            Some((op, bpchar))
        }
        _ => None,
    }
}

fn equality(func: &Function, left: &Expr) -> Option<bool> {
    comparison(func, left).and_then(|(op, bpchar)| (op == CmpOp::Eq).then_some(bpchar))
}

fn in_list(func: &Function, all: bool, left: &Expr, array: &Expr) -> Option<Kernel> {
    if has_slot(array) {
        return None;
    }
    match comparison(func, left)? {
        (CmpOp::Eq, bpchar) if !all => Some(Kernel::InList { negated: false, bpchar }),
        (CmpOp::Ne, bpchar) if all => Some(Kernel::InList { negated: true, bpchar }),
        _ => None,
    }
}

/// The kernel of a function, if it has one.
fn kernel(proc: &Function, args: &[Expr], ret: TypeRef) -> Option<Kernel> {
    if let Some(Native::Builtin(Builtin::Compare { op, bpchar })) = registry::native(proc) {
        let is_row = args.first().is_some_and(|arg| compare_rows::has_rows(arg.ty().oid));
        return (!is_row).then_some(Kernel::Compare { op, bpchar });
    }
    let result = match ret.oid {
        oid::INT2 => IntKind::Int2,
        oid::INT4 => IntKind::Int4,
        _ => IntKind::Int8,
    };
    Some(match proc.built_in_source()? {
        "int2um" | "int4um" | "int8um" | "float8um" | "numeric_uminus" => Kernel::Negate { result },
        "date_pli" => Kernel::DatePlus { minus: false },
        "date_mii" => Kernel::DatePlus { minus: true },
        "i4toi2" | "int28" | "int82" | "int48" | "int84" => Kernel::ToInt(result),
        "i2toi4" if ret.oid == oid::INT4 => Kernel::ToInt(result),
        "i2tod" | "i4tod" | "i8tod" => Kernel::IntToFloat,
        "int2_numeric" | "int4_numeric" | "int8_numeric" => Kernel::IntToNumeric,
        "date_timestamp" => Kernel::DateToTimestamp,
        "extract_date" | "extract_timestamp" => Kernel::Extract,
        "rtrim1" if args.len() == 1 => Kernel::TrimBlanks,
        "text_substr" | "text_substr_no_len" => Kernel::Substring,
        "textlike" | "namelike" => Kernel::Like { expected: true },
        "textnlike" | "namenlike" => Kernel::Like { expected: false },
        source => {
            return arithmetic(source)
                .map(|op| Kernel::Arithmetic { op, result })
                .or_else(|| date_comparison(source));
        }
    })
}

/// `int4pl`, `int28mul`, `float8mi`, `numeric_add` and their like.
fn arithmetic(source: &str) -> Option<Operator> {
    let op = match source.strip_prefix("int") {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => source.strip_prefix("float8").or_else(|| source.strip_prefix("numeric_"))?,
    };
    Some(match (op, source.starts_with("numeric_")) {
        ("pl", false) | ("add", true) => Operator::Plus,
        ("mi", false) | ("sub", true) => Operator::Minus,
        ("mul", _) => Operator::Times,
        _ => return None,
    })
}

/// `date_lt_timestamp`, `timestamp_ge_date` and their like.
fn date_comparison(source: &str) -> Option<Kernel> {
    let (op, date_first) = match source.strip_prefix("date_") {
        Some(rest) => (rest.strip_suffix("_timestamp")?, true),
        None => (source.strip_prefix("timestamp_")?.strip_suffix("_date")?, false),
    };
    let op = match op {
        "eq" => CmpOp::Eq,
        "ne" => CmpOp::Ne,
        "lt" => CmpOp::Lt,
        "le" => CmpOp::Le,
        "gt" => CmpOp::Gt,
        "ge" => CmpOp::Ge,
        _ => return None,
    };
    Some(Kernel::CompareDate { op, date_first })
}
