//! Comparison of rows and of arrays of rows, which may be impossible (rowtypes.c).
//!
//! Rows keep no column types: columns are distinguished by the representation of their values.

use super::{CmpOp, ScalarFn};
use std::cmp::Ordering;
use steppe_catalog::{builtin, is_row_type};
use steppe_sql::bind::typename::format_type;
use steppe_types::array_io::default_type_of;
use steppe_types::compare::{check_comparable_records, compare};
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// Whether values of a type are rows or arrays of them.
pub fn has_rows(ty: Oid) -> bool {
    let is_row = |ty| ty == oid::RECORD || is_row_type(ty);
    is_row(ty) || builtin::ty(ty).is_some_and(|ty| is_row(ty.element))
}

/// The comparison of two rows or arrays of rows. It fails with 42804 at columns of different types,
/// or if both are equal up to the end of the shorter one.
pub fn comparison(op: CmpOp) -> ScalarFn {
    match op {
        CmpOp::Eq => |args, _| test(CmpOp::Eq, args),
        CmpOp::Ne => |args, _| test(CmpOp::Ne, args),
        CmpOp::Lt => |args, _| test(CmpOp::Lt, args),
        CmpOp::Le => |args, _| test(CmpOp::Le, args),
        CmpOp::Gt => |args, _| test(CmpOp::Gt, args),
        CmpOp::Ge => |args, _| test(CmpOp::Ge, args),
    }
}

fn test(op: CmpOp, args: &[Datum]) -> Result<Datum> {
    let [left, right] = args else {
        return Err(Error::internal("comparison without two operands"));
    };
    Ok(Datum::Bool(op.accepts(order(left, right)?)))
}

fn order(left: &Datum, right: &Datum) -> Result<Ordering> {
    match (left, right) {
        (Datum::Record(left), Datum::Record(right)) => {
            for (i, (l, r)) in left.iter().zip(right.iter()).enumerate() {
                check_types(l, r, i + 1)?;
                let order = order(l, r)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            check_comparable_records(left, right)?;
            Ok(Ordering::Equal)
        }
        (Datum::Array(l), Datum::Array(r)) if has_rows(l.element_type) => {
            for (l, r) in l.elements.iter().zip(&r.elements) {
                let order = order(l, r)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            Ok(compare(left, right))
        }
        _ => Ok(compare(left, right)),
    }
}

fn check_types(left: &Datum, right: &Datum, column: usize) -> Result<()> {
    match (Physical::of_datum(left), Physical::of_datum(right)) {
        (Some(l), Some(r)) if l != r => {
            let [l, r] = [left, right].map(|value| format_type(default_type_of(value), -1));
            let message = format!(
                "cannot compare dissimilar column types {l} and {r} at record column {column}"
            );
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
        }
        _ => Ok(()),
    }
}
