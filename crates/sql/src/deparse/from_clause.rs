//! FROM: tables, sub-selects, functions and joins with their aliases.

use super::layout::Layout;
use super::levels::{list, output_names};
use super::query::{INDENT_LIST, Printer};
use super::quote_identifier;
use super::user_types::type_text;
use crate::expr::Expr;
use crate::query::*;
use crate::walk::visit_levels;
use std::sync::Arc;
use steppe_types::oid;

/// ruleutils' PRETTYINDENT_JOIN.
const INDENT_JOIN: usize = 4;

impl Printer<'_> {
    /// FROM, or USING of DELETE, unless there are no items.
    pub(super) fn print_from(
        &self,
        query: &Query,
        items: &[FromItem],
        keyword: &str,
        out: &mut Layout,
    ) {
        for (i, item) in items.iter().enumerate() {
            match i {
                0 => out.clause(keyword, 2),
                _ => {
                    out.push(", ");
                    out.clause("", INDENT_LIST);
                }
            }
            self.item(query, item, out);
        }
    }

    pub(super) fn item(&self, query: &Query, item: &FromItem, out: &mut Layout) {
        match item {
            FromItem::Rte(rte) => self.entry(query, *rte, out),
            FromItem::Join { kind, left, right, on, using, entry } => {
                let entry = entry.filter(|_| self.style.using);
                let alias = entry.map(|join| &query.rtes[join]).filter(|join| join.has_alias);
                let paren = !self.style.pretty || alias.is_some();
                let level = self.levels.borrow().len().saturating_sub(1);
                self.inside.borrow_mut().extend(entry.map(|join| (level, join)));
                if paren {
                    out.push("(");
                }
                self.item(query, left, out);
                let word = match (kind, on) {
                    (JoinKind::Inner, None) if using.is_empty() => " CROSS JOIN ",
                    (JoinKind::Inner, _) => " JOIN ",
                    (JoinKind::Left, _) => " LEFT JOIN ",
                    (JoinKind::Right, _) => " RIGHT JOIN ",
                    (JoinKind::Full, _) => " FULL JOIN ",
                    (
                        JoinKind::Semi | JoinKind::Anti | JoinKind::RightSemi | JoinKind::RightAnti,
                        _,
                    ) => return self.unknown("a semi-join"),
                };
                out.clause(word, INDENT_JOIN);
                let right_paren = self.style.pretty && self.is_bare_join(query, right);
                if right_paren {
                    out.push("(");
                }
                self.item(query, right, out);
                if right_paren {
                    out.push(")");
                }
                self.join_condition(*kind, on.as_ref(), using, out);
                let name = entry.and_then(|join| self.entry_name(join));
                if let Some(name) = name.as_ref().filter(|_| alias.is_none()) {
                    out.push(&format!(" AS {}", quote_identifier(name)));
                }
                if paren {
                    out.push(")");
                }
                if let (Some(alias), Some(name)) = (alias, name) {
                    out.push(&format!(" {}", quote_identifier(&name)));
                    if self.renames(query, left, right, using, alias) {
                        let names: Vec<_> = alias.columns.iter().map(|c| c.name.clone()).collect();
                        out.push(&format!("({})", list(&names)));
                    }
                }
                if entry.is_some() {
                    self.inside.borrow_mut().pop();
                }
            }
        }
    }

    fn join_condition(
        &self,
        kind: JoinKind,
        on: Option<&Expr>,
        using: &[Arc<str>],
        out: &mut Layout,
    ) {
        match on {
            Some(_) if self.style.using && !using.is_empty() => {
                out.push(&format!(" USING ({})", list(using)));
            }
            Some(on) if self.style.pretty => out.push(&format!(" ON {}", self.expr(on))),
            Some(on) => out.push(&format!(" ON ({})", self.expr(on))),
            None if kind != JoinKind::Inner => out.push(" ON TRUE"),
            None => {}
        }
    }

    fn entry(&self, query: &Query, rte: usize, out: &mut Layout) {
        let entry = &query.rtes[rte];
        let name = {
            let levels = self.levels.borrow();
            levels.last().map_or(String::new(), |l| l.entries[rte].name.clone())
        };
        // The name that it has without an alias.
        let own = match &entry.kind {
            RteKind::Relation(relation) | RteKind::Subquery { view: Some(relation), .. } => {
                let relation = (self.style.current)(relation);
                self.note(relation.oid, 0);
                if !entry.inherit && matches!(entry.kind, RteKind::Relation(_)) {
                    out.push("ONLY ");
                }
                out.push(&(self.style.relation_name)(&relation));
                Some(relation.name.to_string())
            }
            RteKind::Subquery { query, lateral, view: None } => {
                out.push(if *lateral { "LATERAL (" } else { "(" });
                self.query(query, None, true, out);
                out.push(")");
                None
            }
            // Always with an alias: the names of a function's columns depend on it.
            RteKind::Function { calls, ordinality } => {
                if calls.iter().any(|(call, _)| is_lateral(call)) {
                    out.push("LATERAL ");
                }
                self.function(entry, calls, *ordinality, out);
                None
            }
            RteKind::Values(lists) => {
                out.push("(");
                self.values(lists, out);
                out.push(")");
                None
            }
            RteKind::Cte { index, levels_up } => {
                let levels = self.levels.borrow();
                let level = levels.len().checked_sub(levels_up + 1).map(|at| &levels[at]);
                let Some((cte, _)) = level.and_then(|l| l.ctes.get(*index)) else {
                    return self.unknown("a reference to WITH");
                };
                out.push(&quote_identifier(cte));
                Some(cte.to_string())
            }
            RteKind::Join { .. } => return self.unknown("a join's entry"),
        };
        if entry.has_alias || own.as_ref() != Some(&name) {
            out.push(&format!(" {}", quote_identifier(&name)));
        }
        match &entry.kind {
            RteKind::Function { calls, ordinality: false } if let [(call, _)] = &calls[..] => {
                match has_definitions(call) {
                    true => out.push(&format!("({})", self.definitions(&entry.columns))),
                    false => self.aliases(entry, out),
                }
            }
            _ => self.aliases(entry, out),
        }
    }

    fn aliases(&self, entry: &Rte, out: &mut Layout) {
        if let Some(columns) = self.column_aliases(entry) {
            out.push(&format!("({})", list(&columns)));
        }
    }

    /// A column definition list without its parentheses.
    fn definitions(&self, columns: &[RteColumn]) -> String {
        let definition = |column: &RteColumn| {
            let name = quote_identifier(&column.name);
            format!("{name} {}", type_text(column.ty, self.style.io))
        };
        columns.iter().map(definition).collect::<Vec<_>>().join(", ")
    }

    /// The calls of an entry. Several, or WITH ORDINALITY, have column definition lists of their
    /// own; the list of a single one follows the entry's name.
    fn function(&self, entry: &Rte, calls: &[(Expr, usize)], ordinality: bool, out: &mut Layout) {
        match calls {
            [(call, _)] if !(ordinality && has_definitions(call)) => out.push(&self.expr(call)),
            calls if calls.iter().all(|(call, _)| unnested(call).is_some()) => {
                let arrays = calls.iter().filter_map(|(call, _)| unnested(call));
                let arrays: Vec<String> = arrays.map(|array| self.expr(array)).collect();
                out.push(&format!("UNNEST({})", arrays.join(", ")));
            }
            _ => {
                let mut columns = &entry.columns[..];
                let mut call = |(call, count): &(Expr, usize)| {
                    let (own, others) = columns.split_at(*count);
                    columns = others;
                    match has_definitions(call) {
                        true => format!("{} AS ({})", self.expr(call), self.definitions(own)),
                        false => self.expr(call),
                    }
                };
                let calls: Vec<String> = calls.iter().map(&mut call).collect();
                out.push(&format!("ROWS FROM({})", calls.join(", ")));
            }
        }
        if ordinality {
            out.push(" WITH ORDINALITY");
        }
    }

    /// The name of an entry of this level, if it has one.
    pub(super) fn entry_name(&self, rte: usize) -> Option<String> {
        let levels = self.levels.borrow();
        let name = levels.last()?.entries.get(rte)?.name.clone();
        (!name.is_empty()).then_some(name)
    }

    /// A join that is printed without parentheses of its own.
    fn is_bare_join(&self, query: &Query, item: &FromItem) -> bool {
        let FromItem::Join { entry, .. } = item else { return false };
        !entry.is_some_and(|join| self.style.using && query.rtes[join].has_alias)
    }

    /// Whether a join's alias gives its columns other names than they have.
    fn renames(
        &self,
        query: &Query,
        left: &FromItem,
        right: &FromItem,
        using: &[Arc<str>],
        alias: &Rte,
    ) -> bool {
        let sides = [columns_of(query, left), columns_of(query, right)];
        let rest = sides.into_iter().flatten().filter(|name| !using.contains(name));
        let own: Vec<Arc<str>> = using.iter().cloned().chain(rest).collect();
        !alias.columns.iter().map(|c| &c.name).eq(own.iter())
    }

    /// The column aliases to print behind an entry's name.
    fn column_aliases(&self, entry: &Rte) -> Option<Vec<Arc<str>>> {
        let names: Vec<Arc<str>> =
            entry.columns.iter().filter(|c| !c.dropped).map(|c| c.name.clone()).collect();
        let own: Vec<Arc<str>> = match &entry.kind {
            RteKind::Relation(r) | RteKind::Subquery { view: Some(r), .. } => {
                r.columns.iter().filter(|c| !c.dropped).map(|c| c.name.clone()).collect()
            }
            RteKind::Subquery { query, view: None, .. } => output_names(query),
            // Names of VALUES and function columns are always spelled out.
            RteKind::Values(_) | RteKind::Function { .. } => return Some(names),
            RteKind::Cte { index, levels_up } => {
                let levels = self.levels.borrow();
                let level = levels.len().checked_sub(levels_up + 1).map(|at| &levels[at]);
                level?.ctes.get(*index)?.1.clone()
            }
            RteKind::Join { .. } => return None,
        };
        (own != names).then_some(names)
    }
}

/// Whether a call's columns come from a column definition list.
fn has_definitions(call: &Expr) -> bool {
    let Expr::Func { func, .. } = call else { return false };
    call.ty().oid == oid::RECORD && func.out_columns().next().is_none()
}

/// The columns that `*` gives of an item, by name.
fn columns_of(query: &Query, item: &FromItem) -> Vec<Arc<str>> {
    let of_entry = |rte: usize| {
        let live = query.rtes[rte].columns.iter().filter(|c| !c.dropped);
        live.map(|c| c.name.clone()).collect()
    };
    match item {
        FromItem::Rte(rte) => of_entry(*rte),
        FromItem::Join { entry: Some(join), .. } if query.rtes[*join].has_alias => of_entry(*join),
        FromItem::Join { left, right, using, .. } => {
            let sides = [columns_of(query, left), columns_of(query, right)];
            let rest = sides.into_iter().flatten().filter(|name| !using.contains(name));
            using.iter().cloned().chain(rest).collect()
        }
    }
}

/// Whether a function in FROM reads columns of items beside it.
fn is_lateral(call: &Expr) -> bool {
    let mut found = false;
    visit_levels(call, 0, &mut |node, depth| {
        found |= matches!(node, Expr::Var { levels_up, .. } if *levels_up == depth);
        !found
    });
    found
}

/// The array of `unnest(array)`.
fn unnested(call: &Expr) -> Option<&Expr> {
    match call {
        Expr::Func { func, args, .. } if args.len() == 1 => {
            (func.built_in_name() == Some("unnest")).then(|| &args[0])
        }
        _ => None,
    }
}
