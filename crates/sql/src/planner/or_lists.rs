//! ORs of comparisons with one key as a comparison with an array (match_orclause_to_indexcol in
//! indxpath.c).
//!
//! ```text
//!   a = 1 OR a = 2 OR 3 = a       an index on a looks up      a = ANY ('{1,2,3}')
//!   a = u.x OR a = u.y            for each row of u           a = ANY (ARRAY[u.x, u.y])
//! ```
//!
//! A filter keeps the OR as it was written: only an index search takes the other form. Both are
//! true for the same rows: an element that is NULL equals no value, as its arm did.
//!
//! It takes time by the number of arms, of which a client may send tens of thousands.

use crate::expr::{CallSyntax, Expr, TypeRef};
use std::sync::Arc;
use steppe_catalog::{OperatorRef, is_row_type};
use steppe_types::datum::Array;
use steppe_types::{Datum, Oid, interrupt, oid};

/// `key op ANY (array)` for an OR whose arms all compare the same key by one operator with values
/// of one type. `value_of` returns the value that an arm compares the key with, and the operator
/// with the key on the left.
pub(super) fn as_any<'a>(
    arms: &'a [Expr],
    value_of: impl Fn(&'a Expr) -> Option<(&'a Expr, OperatorRef, &'a Expr)>,
) -> Option<Expr> {
    let (key, op, first) = value_of(arms.first()?)?;
    let element = first.ty().oid;
    let ty = TypeRef::plain(oid::array_type_of(element)?);
    if element == oid::RECORD || is_row_type(element) {
        return None;
    }
    let mut elements = Vec::with_capacity(arms.len());
    for arm in arms {
        interrupt::check_unwinding();
        let (_, other, value) = value_of(arm)?;
        if other != op || value.ty().oid != element {
            return None;
        }
        elements.push(value.clone());
    }
    let array = Box::new(array_of(elements, element, ty));
    let func = op.built_in_function()?;
    let (left, syntax) = (Box::new(key.clone()), CallSyntax::Operator(op));
    Some(Expr::ScalarArrayOp { func, all: false, left, array, syntax })
}

/// An array of these elements: a constant if all of them are.
pub(super) fn array_of(elements: Vec<Expr>, element: Oid, ty: TypeRef) -> Expr {
    let known = |e: &Expr| match e {
        Expr::Const(value, _) => Some(value.clone()),
        _ => None,
    };
    match elements.iter().map(known).collect::<Option<Vec<Datum>>>() {
        Some(values) => {
            let dimensions = vec![(values.len() as i32, 1)];
            let array = Array { element_type: element, dimensions, elements: values };
            Expr::Const(Datum::Array(Arc::new(array)), ty)
        }
        None => Expr::Array { elements, element, multidim: false, ty },
    }
}
