//! GROUP BY with grouping sets, WINDOW and OVER, FOR UPDATE.

use super::layout::Layout;
use super::levels::list;
use super::query::Printer;
use super::{quote_identifier, sort_suffix};
use crate::expr::{Expr, WindowCall};
use crate::query::*;
use std::sync::Arc;
use steppe_catalog::Function;

impl Printer<'_> {
    pub(super) fn group_by(&self, query: &Query, out: &mut Layout) {
        let keys: Vec<String> = query.group_by.iter().map(|key| self.sort_expr(key)).collect();
        let set = |set: &[usize]| match set {
            [key] => format!("({})", keys[*key]),
            set => format!("({})", set.iter().map(|k| &*keys[*k]).collect::<Vec<_>>().join(", ")),
        };
        let text = match &query.grouping_sets {
            None if keys.is_empty() => return,
            None => keys.join(", "),
            Some(sets) => match (&sets[..], rolled_up(sets)) {
                ([only], _) if only.is_empty() => "()".to_owned(),
                (_, Some(parts)) => {
                    let part = |part: &Vec<usize>| match part[..] {
                        [key] => keys[key].clone(),
                        _ => set(part),
                    };
                    format!("ROLLUP({})", parts.iter().map(part).collect::<Vec<_>>().join(", "))
                }
                (sets, None) => {
                    let sets: Vec<String> = sets.iter().map(|s| set(s)).collect();
                    format!("GROUPING SETS ({})", sets.join(", "))
                }
            },
        };
        out.clause(" GROUP BY ", 1);
        out.push(&text);
    }

    /// WINDOW: the windows that have names.
    pub(super) fn window_clause(&self, windows: &[WindowClause], out: &mut Layout) {
        let mut is_first = true;
        for window in windows {
            let Some(name) = &window.name else { continue };
            match is_first {
                true => out.clause(" WINDOW ", 1),
                false => out.push(", "),
            }
            is_first = false;
            out.push(&format!("{} AS ({})", quote_identifier(name), self.window(window)));
        }
    }

    /// A call with its window, by name or in full.
    pub(super) fn window_call(&self, call: &WindowCall) -> String {
        let functions = |function: &Function| self.function_name(function);
        let (names, io) = (|leaf: &Expr| self.leaf(leaf), self.style.io);
        let mut out = super::printed_window_call(call, &names, &functions, io);
        let windows = self.windows.borrow();
        match windows.last().and_then(|windows| windows.get(call.window)) {
            Some((Some(name), _)) => out.push_str(&format!(" OVER {}", quote_identifier(name))),
            Some((None, text)) => out.push_str(&format!(" OVER ({text})")),
            None => self.unknown("a window"),
        }
        out
    }

    /// A window as OVER and WINDOW have it in parentheses.
    pub(super) fn window(&self, window: &WindowClause) -> String {
        let mut parts = Vec::new();
        let keys: Vec<String> = window.partition_by.iter().map(|e| self.sort_expr(e)).collect();
        if !keys.is_empty() {
            parts.push(format!("PARTITION BY {}", keys.join(", ")));
        }
        let key = |key: &crate::expr::SortKey| {
            self.sort_expr(&key.expr) + sort_suffix(key.descending, key.nulls_first)
        };
        let keys: Vec<String> = window.order_by.iter().map(key).collect();
        if !keys.is_empty() {
            parts.push(format!("ORDER BY {}", keys.join(", ")));
        }
        if window.frame.explicit {
            parts.push(self.frame(&window.frame));
        }
        parts.join(" ")
    }

    fn frame(&self, frame: &Frame) -> String {
        let bound = |bound: &FrameBound| match bound {
            FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
            FrameBound::Preceding(offset) => format!("{} PRECEDING", self.expr(&offset.value)),
            FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
            FrameBound::Following(offset) => format!("{} FOLLOWING", self.expr(&offset.value)),
            FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
        };
        let mode = match frame.mode {
            FrameMode::Range => "RANGE",
            FrameMode::Rows => "ROWS",
            FrameMode::Groups => "GROUPS",
        };
        let exclusion = match frame.exclusion {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        };
        let start = bound(&frame.start);
        match frame.between {
            true => format!("{mode} BETWEEN {start} AND {}{exclusion}", bound(&frame.end)),
            false => format!("{mode} {start}{exclusion}"),
        }
    }

    /// FOR UPDATE and its kin: each table is named.
    pub(super) fn row_locks(&self, clauses: &[RowLockClause], out: &mut Layout) {
        for clause in clauses.iter().filter(|clause| !clause.pushed_down) {
            for rte in &clause.rtes {
                let name = self
                    .levels
                    .borrow()
                    .last()
                    .and_then(|l| l.entries.get(*rte))
                    .map_or(String::new(), |entry| entry.name.clone());
                out.clause(&format!(" {} OF ", clause.strength.as_str()), 0);
                out.push(&list(&[Arc::from(name)]));
                out.push(match clause.wait {
                    WaitPolicy::Block => "",
                    WaitPolicy::SkipLocked => " SKIP LOCKED",
                    WaitPolicy::NoWait => " NOWAIT",
                });
            }
        }
    }
}

/// The arguments of ROLLUP, if the sets are one: each has the next one and some more keys.
fn rolled_up(sets: &[Vec<usize>]) -> Option<Vec<Vec<usize>>> {
    if sets.len() < 2 || !sets.last()?.is_empty() {
        return None;
    }
    let mut parts = Vec::with_capacity(sets.len() - 1);
    for (longer, shorter) in sets.iter().zip(&sets[1..]).rev() {
        let part = longer.strip_prefix(&shorter[..]).filter(|rest| !rest.is_empty())?;
        parts.push(part.to_vec());
    }
    Some(parts)
}

/// Whether an expression is printed as a call.
pub(super) fn is_call(expr: &Expr) -> bool {
    use crate::expr::CallSyntax::{Operator, SqlValue};
    match expr {
        Expr::Func { syntax, .. } => !matches!(syntax, Operator(_) | SqlValue(_)),
        other => matches!(other, Expr::Aggregate(_) | Expr::Window(_)),
    }
}
