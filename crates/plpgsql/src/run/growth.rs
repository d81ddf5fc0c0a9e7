//! `v := v || …`: texts and arrays that grow in their place.
//!
//! Evaluated as any expression, each step copies the whole value, and building one takes quadratic
//! time. Here the value that is appended is evaluated alone, and the variable takes it: a text in a
//! buffer with room ([`super::frame`]), an array if nothing else refers to it. (For arrays
//! PostgreSQL 18 does the same, by array_append's support function and read-write expanded
//! datums.)
//!
//! It is unnoticed, because
//!
//! * only textcat and array_append themselves are replaced, whose first argument is the variable
//!   that is assigned. The parts do not read it, and no expression changes a variable;
//! * the parts are evaluated in order, all of them also where one is NULL, as strict functions'
//!   arguments are. After an error the variable has the value that it had;
//! * parts that must see one snapshot are evaluated as one ([`steppe_exec::Spi::simple_part`]);
//! * the limit of a text's length is checked part by part, as concatenation does;
//! * a variable that may not be NULL, and a value that is short, NULL, shared or of another form is
//!   left to the general way, before a part is evaluated.

use std::sync::Arc;

use steppe_exec::{Prepared, SimpleExpression, Spi};
use steppe_sql::expr::Expr;
use steppe_types::{Datum, Error, Result, oid};

use super::array::may_push;
use super::fast::Fast;
use super::frame::Frame;
use crate::tree::SlotId;

/// An expression that appends to a variable.
#[derive(Clone)]
pub(super) struct Growth {
    /// The variable.
    pub(super) to: u32,
    what: What,
    /// The variables that the parts read.
    reads: Box<[u32]>,
}

#[derive(Clone)]
enum What {
    Text(Box<[Part]>),
    Element(Part),
}

/// An expression that is appended.
#[derive(Clone)]
enum Part {
    Constant(Datum),
    Expression(SimpleExpression),
}

impl Growth {
    /// An expression as one of these, if it is.
    pub(super) fn of(
        prepared: &Prepared,
        whole: &SimpleExpression,
        reads: &[u32],
        spi: &Spi<'_>,
    ) -> Option<Growth> {
        let part = |expr: &Expr| match expr {
            Expr::Const(value, _) => Some(Part::Constant(value.clone())),
            expr => spi.simple_part(prepared, whole, expr).map(Part::Expression),
        };
        let (to, what) = match whole.expr() {
            Expr::Func { func, args, .. } if func.built_in_source() == Some("array_append") => {
                let [Expr::Param { index, .. }, element] = args.as_slice() else { return None };
                let to = u32::try_from(*index).ok()?;
                (!mentions(element, *index)).then_some((to, What::Element(part(element)?)))?
            }
            expr => {
                let (to, parts) = text_parts(expr)?;
                if parts.iter().any(|part| mentions(part, to)) {
                    return None;
                }
                let parts = parts.into_iter().map(part).collect::<Option<_>>()?;
                (u32::try_from(to).ok()?, What::Text(parts))
            }
        };
        let reads = reads.iter().copied().filter(|slot| *slot != to).collect();
        Some(Growth { to, what, reads })
    }

    /// The integer that is appended to an array.
    pub(super) fn element(&self) -> Option<Fast> {
        match &self.what {
            What::Element(Part::Constant(value)) => Fast::constant(value),
            What::Element(Part::Expression(part)) => Fast::of(part.expr()),
            What::Text(_) => None,
        }
    }

    /// Appends to the variable, which may be NULL. False: that is left to the general way.
    pub(super) fn run(&self, frame: &mut Frame, spi: &mut Spi<'_>) -> Result<bool> {
        let slot = SlotId(self.to);
        match &self.what {
            What::Text(parts) => {
                let Some(text) = frame.growing(slot) else { return Ok(false) };
                let before = text.len();
                let done = self.append(parts, frame, spi);
                match done {
                    Ok(true) => {}
                    Ok(false) => frame.set(slot, Datum::Null),
                    Err(_) => {
                        if let Some(text) = frame.growing(slot) {
                            text.truncate(before);
                        }
                    }
                }
                done.map(|_| true)
            }
            What::Element(part) => {
                if !may_push(frame.place(slot)) {
                    return Ok(false);
                }
                let value = match part {
                    Part::Constant(value) => value.clone(),
                    Part::Expression(part) => spi.evaluate(part, frame.read(&self.reads)?)?,
                };
                if let Datum::Array(array) = frame.place(slot) {
                    let array = Arc::make_mut(array);
                    array.elements.push(value);
                    array.dimensions.iter_mut().for_each(|(length, _)| *length += 1);
                }
                Ok(true)
            }
        }
    }

    /// Appends the parts to a text. False: one of them is NULL.
    fn append(&self, parts: &[Part], frame: &mut Frame, spi: &mut Spi<'_>) -> Result<bool> {
        let mut is_null = false;
        for part in parts {
            let evaluated;
            let value = match part {
                Part::Constant(value) => value,
                Part::Expression(part) => {
                    evaluated = spi.evaluate(part, frame.read(&self.reads)?)?;
                    &evaluated
                }
            };
            match value {
                Datum::Text(_) if is_null => {}
                Datum::Text(more) => push(frame.growing(SlotId(self.to)), more)?,
                Datum::Null => is_null = true,
                _ => return Err(Error::internal("what is appended to a text is none")),
            }
        }
        Ok(!is_null)
    }
}

/// Appends to a text. Its room grows by halves, up to a text's greatest length.
#[inline]
fn push(text: Option<&mut String>, more: &str) -> Result<()> {
    let Some(text) = text else { return Err(Error::internal("a text that grows was lost")) };
    let length = text.len() + more.len();
    if length > text.capacity() {
        steppe_types::text::check_length(length)?;
        let roomy = length + length / 2;
        let wanted = match steppe_types::text::check_length(roomy) {
            Ok(()) => roomy,
            Err(_) => length,
        };
        text.reserve_exact(wanted - text.len());
    }
    text.push_str(more);
    Ok(())
}

/// The variable and the parts of `variable || part || …`.
fn text_parts(mut expr: &Expr) -> Option<(usize, Vec<&Expr>)> {
    let mut parts = Vec::new();
    loop {
        match expr {
            Expr::Func { func, args, .. } if func.built_in_source() == Some("textcat") => {
                let [left, right] = args.as_slice() else { return None };
                parts.push(right);
                expr = left;
            }
            Expr::Param { index, ty, .. } if ty.oid == oid::TEXT && !parts.is_empty() => {
                parts.reverse();
                return Some((*index, parts));
            }
            _ => return None,
        }
    }
}

/// Whether an expression reads a variable.
fn mentions(expr: &Expr, slot: usize) -> bool {
    matches!(expr, Expr::Param { index, .. } if *index == slot)
        || expr.children().into_iter().any(|child| mentions(child, slot))
}
