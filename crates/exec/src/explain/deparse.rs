//! Names for what only a plan knows: slots of a node's input row, sub-plans. The
//! printing itself is [`steppe_sql::deparse`]'s.

use std::sync::Arc;
use steppe_sql::deparse::expression;
use steppe_sql::expr::{Aggregate, Expr, SortKey, SubLinkKind, SubPlan};

/// Names of an input row's slots.
pub(super) struct Names<'a> {
    pub(super) slots: &'a [Arc<str>],
    /// A qualification (`t.`) to leave out.
    pub(super) unqualified: Option<&'a str>,
}

impl Names<'_> {
    /// A name as it is printed.
    pub(super) fn shown(&self, name: &str) -> String {
        match self.unqualified {
            Some(prefix) => name.replace(prefix, ""),
            None => name.to_owned(),
        }
    }
}

/// Prints an expression over a node's input row.
pub(super) fn deparse(expr: &Expr, names: &Names<'_>) -> String {
    expression(expr, &|e| match e {
        Expr::Slot { index, .. } => names.slots.get(*index).map(|n| names.shown(n)),
        Expr::SubPlan(sub) => Some(sub_plan(sub, names)),
        _ => None,
    })
}

fn sub_plan(sub: &SubPlan, names: &Names<'_>) -> String {
    let number = sub.plan + 1;
    match (sub.kind, sub.args.is_empty()) {
        (SubLinkKind::Any, _) if sub.hash_keys.is_some() => format!("(hashed SubPlan {number})"),
        (SubLinkKind::Scalar | SubLinkKind::Array | SubLinkKind::Exists, true) => {
            format!("(InitPlan {number}).col1")
        }
        (SubLinkKind::Any | SubLinkKind::All, _) => {
            let word = if sub.kind == SubLinkKind::Any { "ANY" } else { "ALL" };
            let test = sub.test.as_ref().map(|t| deparse(t, names)).unwrap_or_default();
            format!("(SubPlan {number} {word} {test})")
        }
        _ => format!("(SubPlan {number})"),
    }
}

/// Prints an aggregate call.
pub(super) fn aggregate(call: &Aggregate, names: &Names<'_>) -> String {
    deparse(&Expr::Aggregate(Box::new(call.clone())), names)
}

/// A sort key with its direction where it is not the default.
pub(super) fn sort_key(key: &SortKey, names: &Names<'_>) -> String {
    let text = deparse(&key.expr, names);
    let tail = match (key.descending, key.nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    };
    text + tail
}
