//! The names of a printed query's entries and columns (ruleutils.c's deparse_namespace).
//!
//! Bound expressions name columns of tables only: a join's merged columns, the columns of its
//! alias and whole rows are expanded. Here they are recognised again:
//!
//! - outside of a join with an alias, its tables' columns are the alias's;
//! - `COALESCE(t.a, u.a)` of `t FULL JOIN u USING (a)` is `a`, where nothing else has that name;
//! - the row of all columns of `t` is `t.*`.

use super::changes::has_fixed_name;
use super::query::Printer;
use super::quote_identifier;
use crate::bind::{UNNAMED_JOIN, relation_of};
use crate::expr::{CallSyntax, Expr, Place, SubLinkKind};
use crate::plan::ROW_MARK;
use crate::query::*;
use crate::walk::{moved_out, visit_levels};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::{Datum, oid};

/// One query level: its range table and the entries' names in the text.
#[derive(Clone)]
pub(super) struct Level {
    pub(super) entries: Arc<[Entry]>,
    /// WITH queries and their columns.
    pub(super) ctes: Arc<[WithQuery]>,
    /// Columns are written with their entry's name.
    pub(super) prefix: bool,
    /// The names of the output columns.
    outputs: Arc<[(Arc<str>, Expr)]>,
}

/// A WITH query's name and columns.
pub(super) type WithQuery = (Arc<str>, Vec<Arc<str>>);

pub(super) struct Entry {
    pub(super) name: String,
    columns: Vec<Arc<str>>,
    /// Positions of the columns that are not dropped.
    live: Vec<usize>,
    /// The relation or view behind it.
    relation: Option<Arc<Relation>>,
    /// A join's columns, over the entries below it.
    joined: Option<Vec<Expr>>,
    /// A join without an alias: its columns have no prefix.
    unnamed: bool,
    /// The tables below a join.
    leaves: Vec<usize>,
    /// Joins with an alias around it, innermost first: outside of them it has no name.
    around: Vec<usize>,
    /// The columns of those of its columns that are rows.
    records: Vec<Option<Vec<Arc<str>>>>,
    /// A function's only column is its row, too.
    scalar: bool,
}

impl Printer<'_> {
    /// The level of a query; `names` are its output columns' if they are not as in the query.
    pub(super) fn level(&self, query: &Query, names: Option<&[Arc<str>]>) -> Level {
        let mut entries = self.entries(query);
        if self.style.using {
            let mut around = Vec::new();
            for item in &query.from {
                note_joins(item, &mut around, &mut entries);
            }
        }
        let visible = query.targets.iter().filter(|t| !t.hidden).enumerate();
        let named = |(i, t): (usize, &Target)| {
            let name = names.and_then(|n| n.get(i)).unwrap_or(&t.name);
            (name.clone(), t.expr.clone())
        };
        let tables = query.rtes.iter().filter(|rte| !matches!(rte.kind, RteKind::Join { .. }));
        Level {
            // A function around it has names, too.
            prefix: self.style.parameter.is_some()
                || !self.levels.borrow().is_empty()
                || tables.count() != 1,
            entries: entries.into(),
            ctes: query.ctes.iter().map(|c| (c.name.clone(), cte_columns(c))).collect(),
            outputs: visible.map(named).collect(),
        }
    }

    fn entries(&self, query: &Query) -> Vec<Entry> {
        let levels = self.levels.borrow();
        let taken = |name: &str, here: &[Entry]| {
            here.iter().any(|e| e.name == name)
                || levels.iter().any(|l| l.entries.iter().any(|e| e.name == name))
        };
        let mut entries: Vec<Entry> = Vec::with_capacity(query.rtes.len());
        for (i, rte) in query.rtes.iter().enumerate() {
            let relation = relation_of(rte).map(self.style.current);
            let wanted = match &relation {
                Some(relation) if !rte.has_alias => relation.name.to_string(),
                _ => rte.alias.to_string(),
            };
            let numbered = |n: u32| match n {
                0 => wanted.clone(),
                n => format!("{wanted}_{n}"),
            };
            let unnamed = matches!(rte.kind, RteKind::Join { .. }) && !rte.has_alias;
            let name = match unnamed && *rte.alias == *UNNAMED_JOIN {
                true => String::new(),
                false if has_fixed_name(query, i) => wanted.clone(),
                false => (0..).map(numbered).find(|n| !taken(n, &entries)).unwrap_or_default(),
            };
            let live = (0..rte.columns.len()).filter(|i| !rte.columns[*i].dropped).collect();
            entries.push(Entry {
                name,
                columns: column_names(rte, relation.as_deref()),
                live,
                relation,
                joined: match &rte.kind {
                    RteKind::Join { columns } => Some(columns.clone()),
                    _ => None,
                },
                unnamed,
                leaves: Vec::new(),
                around: Vec::new(),
                records: self.records(query, rte),
                scalar: matches!(&rte.kind, RteKind::Function { calls, ordinality: false }
                    if calls.len() == 1 && rte.columns.len() == 1),
            });
        }
        entries
    }

    /// The columns of the rows among an entry's columns.
    fn records(&self, query: &Query, rte: &Rte) -> Vec<Option<Vec<Arc<str>>>> {
        let below = match &rte.kind {
            RteKind::Subquery { query, .. } => query,
            RteKind::Cte { index, levels_up: 0 } => match query.ctes.get(*index) {
                Some(cte) if !cte.recursive => &cte.query,
                _ => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        if rte.columns.iter().all(|column| column.ty.oid != oid::RECORD) {
            return Vec::new();
        }
        let entries = self.entries(below);
        let shown = below.output().iter().filter(|t| !t.hidden);
        shown.map(|t| self.row_names(&t.expr, &|up| (up == 0).then_some(&entries[..]))).collect()
    }

    /// The names of the columns of a row, among the entries of the levels in `entries`.
    fn row_names<'e>(
        &self,
        expr: &Expr,
        entries: &dyn Fn(usize) -> Option<&'e [Entry]>,
    ) -> Option<Vec<Arc<str>>> {
        match expr {
            Expr::Row(fields, _) => Some(match whole_row(expr, entries) {
                Some((_, entry)) => entry.live.iter().map(|i| entry.columns[*i].clone()).collect(),
                None => (1..=fields.len()).map(|n| format!("f{n}").into()).collect(),
            }),
            Expr::Case { otherwise, .. } => {
                whole_row(expr, entries).and_then(|_| self.row_names(otherwise, entries))
            }
            Expr::Func { func, .. } => {
                Some(func.out_columns().map(|(name, _)| Arc::from(name)).collect())
            }
            Expr::Var { rte, column, levels_up, .. } => {
                let entry = entries(*levels_up)?.get(*rte)?;
                entry.records.get(usize::try_from(*column).ok()?)?.clone()
            }
            Expr::SubLink { kind: SubLinkKind::Scalar, query, .. } => {
                let below = self.entries(query);
                let target = query.targets.iter().find(|t| !t.hidden)?;
                self.row_names(&target.expr, &|up| (up == 0).then_some(&below[..]))
            }
            _ => None,
        }
    }

    /// The name of a row's column.
    pub(super) fn field_name(&self, row: &Expr, index: usize) -> Option<Arc<str>> {
        let levels = self.levels.borrow().clone();
        let entries = |up: usize| Some(&*levels[levels.len().checked_sub(up + 1)?].entries);
        match (whole_row(row, &entries), self.relation_of_row_type(row.ty().oid)) {
            (None, Some(relation)) => {
                let mut live =
                    (0..relation.columns.len()).filter(|i| !relation.columns[*i].dropped);
                let at = live.nth(index)?;
                self.note(relation.oid, at as i16 + 1);
                Some(relation.columns[at].name.clone())
            }
            _ => self.row_names(row, &entries)?.get(index).cloned(),
        }
    }

    /// A whole row's `t.*`, with its type where it is an output column: `t.*::t`.
    pub(super) fn row(&self, expr: &Expr, is_output: bool) -> Option<String> {
        if !matches!(expr, Expr::Row(..) | Expr::Case { .. }) {
            return None;
        }
        let levels = self.levels.borrow().clone();
        let entries = |up: usize| Some(&*levels[levels.len().checked_sub(up + 1)?].entries);
        let (_, entry) = whole_row(expr, &entries)?;
        let row = format!("{}.*", quote_identifier(&entry.name));
        if let Some(relation) = &entry.relation {
            let all = entry.live.iter().map(|i| *i as i16 + 1);
            all.for_each(|attnum| self.note(relation.oid, attnum));
        }
        // A descendant's row as one of its ancestor.
        if let Some(to) = self.relation_of_row_type(expr.ty().oid)
            && entry.relation.as_ref().is_some_and(|own| own.oid != to.oid)
        {
            self.note(to.oid, 0);
            return Some(format!("({row})::{}", (self.style.relation_name)(&to)));
        }
        Some(match (&entry.relation, is_output) {
            (_, false) => row,
            (Some(relation), true) => format!("{row}::{}", (self.style.relation_name)(relation)),
            (None, true) => format!("{row}::record"),
        })
    }

    /// The entry and column that a variable names; `None` if the query does not have them.
    pub(super) fn var(&self, rte: usize, column: i32, levels_up: usize) -> Option<String> {
        // Whether names are qualified is the innermost query's affair.
        let (at, level, prefix) = {
            let levels = self.levels.borrow();
            let at = levels.len().checked_sub(levels_up + 1)?;
            (at, levels[at].clone(), levels.last()?.prefix)
        };
        let entry = level.entries.get(rte)?;
        let qualified = |entry: &Entry, name: String| match prefix {
            true => format!("{}.{name}", quote_identifier(&entry.name)),
            false => name,
        };
        let Ok(position) = usize::try_from(column) else {
            if let Some(relation) = &entry.relation {
                self.note(relation.oid, 0);
            }
            return Some(qualified(entry, crate::bind::system_column(column)?.0.to_owned()));
        };
        if let Some(relation) = &entry.relation {
            self.note(relation.oid, position as i16 + 1);
        }
        let hidden_by = self.hidden_by(at, entry).map(|join| &level.entries[join]);
        let is_it = |e: &Expr| {
            matches!(e, Expr::Var { rte: r, column: c, levels_up: 0, .. }
            if (*r, *c) == (rte, column))
        };
        let in_join = hidden_by.and_then(|join| {
            let position = join.joined.iter().flatten().position(is_it)?;
            Some((join, position))
        });
        let (entry, position) = in_join.unwrap_or((entry, position));
        Some(qualified(entry, quote_identifier(entry.columns.get(position)?)))
    }

    /// The join whose alias stands for an entry where the text is being written.
    fn hidden_by(&self, level: usize, entry: &Entry) -> Option<usize> {
        let inside = self.inside.borrow();
        entry.around.iter().rev().copied().find(|join| !inside.contains(&(level, *join)))
    }

    /// The name of a merged column that is an expression over both sides.
    pub(super) fn merged(&self, expr: &Expr) -> Option<String> {
        use CallSyntax::ImplicitCast;
        let is_candidate = matches!(
            expr,
            Expr::Coalesce { .. }
                | Expr::Func { syntax: ImplicitCast, .. }
                | Expr::Relabel { implicit: true, .. }
                | Expr::CoerceViaIo { implicit: true, .. }
        );
        if !is_candidate || !self.style.using {
            return None;
        }
        let up = only_level(expr)?;
        let levels = self.levels.borrow();
        let at = levels.len().checked_sub(up + 1)?;
        let over = moved_out(expr.clone(), up);
        let level = &levels[at];
        let found = level.entries.iter().enumerate().find_map(|(i, join)| {
            let position = join.joined.iter().flatten().position(|column| *column == over)?;
            let name = join.columns.get(position)?;
            let hidden = self.hidden_by(at, join).is_some();
            let inner = levels[at + 1..].iter().flat_map(|l| l.entries.iter());
            let shadowed = join.unnamed && inner.clone().any(|e| e.columns.contains(name));
            (!hidden && !shadowed && (!join.unnamed || is_only(level, i, name)))
                .then(|| (join, name.clone()))
        });
        let (join, name) = found?;
        let (join_name, unnamed) = (join.name.clone(), join.unnamed);
        drop(levels);
        self.note_columns(expr);
        Some(match unnamed {
            true => quote_identifier(&name),
            false => format!("{}.{}", quote_identifier(&join_name), quote_identifier(&name)),
        })
    }

    /// Notes the columns in an expression that is printed by another name.
    fn note_columns(&self, expr: &Expr) {
        match expr {
            Expr::Var { rte, column, levels_up, .. } => {
                self.var(*rte, *column, *levels_up);
            }
            other => other.children().into_iter().for_each(|child| self.note_columns(child)),
        }
    }

    /// Whether ORDER BY would take a column's bare name for another output column's.
    pub(super) fn is_output_of_another(&self, column: &Expr, text: &str) -> bool {
        let levels = self.levels.borrow();
        let Some(level) = levels.last().filter(|level| !level.prefix) else { return false };
        level.outputs.iter().any(|(name, expr)| quote_identifier(name) == text && expr != column)
    }

    /// A column with its entry's name, whether it needs it or not.
    pub(super) fn qualified(&self, column: &Expr, text: String) -> String {
        let Expr::Var { rte, levels_up: 0, .. } = column else { return text };
        let levels = self.levels.borrow();
        match levels.last().and_then(|level| level.entries.get(*rte)) {
            Some(entry) => format!("{}.{text}", quote_identifier(&entry.name)),
            None => text,
        }
    }
}

/// Notes which entries a join, and joins with an alias, are around. Gives the tables below.
fn note_joins(item: &FromItem, around: &mut Vec<usize>, entries: &mut [Entry]) -> Vec<usize> {
    let (left, right, entry) = match item {
        FromItem::Rte(rte) => {
            entries[*rte].around = around.iter().rev().copied().collect();
            return vec![*rte];
        }
        FromItem::Join { left, right, entry, .. } => (left, right, entry),
    };
    let named = entry.filter(|join| !entries[*join].unnamed);
    around.extend(named);
    let mut leaves = note_joins(left, around, entries);
    leaves.extend(note_joins(right, around, entries));
    if named.is_some() {
        around.pop();
    }
    if let Some(join) = entry {
        entries[*join].leaves = leaves.clone();
        entries[*join].around = around.iter().rev().copied().collect();
    }
    leaves
}

/// Whether a bare name can only be that of a join's merged column.
fn is_only(level: &Level, join: usize, name: &Arc<str>) -> bool {
    let leaves = &level.entries[join].leaves;
    level.entries.iter().enumerate().all(|(i, other)| {
        let below = match other.joined {
            None => leaves.contains(&i),
            Some(_) => i == join || other.leaves.iter().all(|leaf| leaves.contains(leaf)),
        };
        below || !other.columns.contains(name)
    })
}

/// The number of levels out of all columns of an expression, if it is one level.
fn only_level(expr: &Expr) -> Option<usize> {
    let (mut level, mut mixed) = (None, false);
    visit_levels(expr, 0, &mut |node, depth| {
        if let Expr::Var { levels_up, .. } = node {
            mixed |= depth > 0 || level.is_some_and(|level| level != *levels_up);
            level = Some(*levels_up);
        }
        true
    });
    level.filter(|_| !mixed)
}

/// The entry, and how many levels out, of which an expression is the row of all columns. They were
/// written at one place; those of `ROW(a, b)` were not.
fn whole_row<'e>(
    expr: &Expr,
    entries: &dyn Fn(usize) -> Option<&'e [Entry]>,
) -> Option<(usize, &'e Entry)> {
    let fields = match expr {
        Expr::Row(fields, _) => fields,
        Expr::Case { operand: None, whens, otherwise, .. } => match &whens[..] {
            [(absent, Expr::Const(Datum::Null, _))] if has_row_mark(absent) => {
                return whole_row(otherwise, entries);
            }
            _ => return None,
        },
        _ => return None,
    };
    let place = |e: &Expr| match e {
        Expr::Var { at: Place(location), .. } => Some(*location),
        _ => None,
    };
    let first = fields.iter().find_map(place)?;
    if fields.iter().filter_map(place).any(|location| location != first) {
        return None;
    }
    let up = fields.iter().find_map(only_level)?;
    let is_row_of = |(rte, entry): &(usize, &Entry)| {
        fields.len() == entry.live.len()
            && !entry.scalar
            && fields.iter().zip(&entry.live).all(|(field, at)| match &entry.joined {
                Some(columns) => moved_out(field.clone(), up) == columns[*at],
                None => matches!(field, Expr::Var { rte: r, column, levels_up, .. }
                    if (r, *levels_up) == (rte, up) && usize::try_from(*column) == Ok(*at)),
            })
    };
    let (_, entry) = entries(up)?.iter().enumerate().find(is_row_of)?;
    Some((up, entry)).filter(|(_, entry)| !entry.name.is_empty())
}

/// Whether an expression tests if there is a row at all.
fn has_row_mark(expr: &Expr) -> bool {
    matches!(expr, Expr::Var { column, .. } if *column == i32::from(ROW_MARK))
        || expr.any_child(has_row_mark)
}

/// The names of an entry's columns: a relation's current ones, unless the query gave them names of
/// its own.
fn column_names(rte: &Rte, current: Option<&Relation>) -> Vec<Arc<str>> {
    let bound = relation_of(rte);
    let name = |(i, column): (usize, &RteColumn)| {
        let was = bound.and_then(|r| r.columns.get(i));
        match (was, current.and_then(|r| r.columns.get(i))) {
            (Some(was), Some(is)) if was.name == column.name => is.name.clone(),
            _ => column.name.clone(),
        }
    };
    rte.columns.iter().enumerate().map(name).collect()
}

/// The names of a query's columns.
pub(super) fn output_names(query: &Query) -> Vec<Arc<str>> {
    query.output().iter().filter(|t| !t.hidden).map(|t| t.name.clone()).collect()
}

/// Names, quoted where they need it.
pub(super) fn list(names: &[Arc<str>]) -> String {
    names.iter().map(|n| quote_identifier(n)).collect::<Vec<_>>().join(", ")
}

/// The names of a WITH query's columns.
pub(super) fn cte_columns(cte: &Cte) -> Vec<Arc<str>> {
    let mut names = output_names(&cte.query);
    names.iter_mut().zip(&cte.columns).for_each(|(name, given)| *name = given.clone());
    names.extend(cte.added_columns().into_iter().map(|column| column.name));
    names
}
