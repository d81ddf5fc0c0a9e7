//! INSERT, UPDATE and DELETE (get_insert_query_def, get_update_query_def and get_delete_query_def in
//! ruleutils.c), bound to be printed ([`crate::bind::written`]).

use super::clauses::is_call;
use super::layout::{INDENT, Layout};
use super::query::{Printer, has_sub_select};
use super::quote_identifier;
use crate::bind::relation_of;
use crate::expr::{Expr, SubLinkKind};
use crate::query::*;
use steppe_catalog::{Relation, builtin};

impl Printer<'_> {
    /// A statement that changes rows, after its WITH.
    pub(super) fn change(&self, query: &Query, named: bool, out: &mut Layout) {
        let target = query.result_relation.and_then(|rte| query.rtes.get(rte));
        let Some(relation) = target.and_then(relation_of).map(self.style.current) else {
            return self.unknown("a statement without a table");
        };
        self.note(relation.oid, 0);
        out.indent += INDENT;
        match query.command {
            Command::Insert => self.insert(query, &relation, out),
            Command::Update => {
                self.changed_table(" UPDATE ", " ", query, &relation, out);
                out.push(" SET ");
                self.set_list(&relation, &query.assignments, out);
                self.print_from(query, query.from.get(1..).unwrap_or_default(), " FROM ", out);
            }
            Command::Delete => {
                self.changed_table(" DELETE FROM ", " ", query, &relation, out);
                self.print_from(query, query.from.get(1..).unwrap_or_default(), " USING ", out);
            }
            Command::Select => return self.unknown("a SELECT as a change"),
        }
        if let Some(filter) = &query.filter {
            out.clause(" WHERE ", 1);
            out.push(&self.expr(filter));
        }
        if let Some(cursor) = &query.current_of {
            out.clause(" WHERE ", 1);
            out.push(&cursor.to_string());
        }
        self.returning_clause(query, named, out);
    }

    /// The keywords and the table. `before_alias` is what INSERT has more than the others.
    fn changed_table(
        &self,
        keywords: &str,
        before_alias: &str,
        query: &Query,
        relation: &Relation,
        out: &mut Layout,
    ) {
        let entry = query.result_relation.unwrap_or_default();
        out.push(keywords);
        if query.command != Command::Insert && !query.rtes[entry].inherit {
            out.push("ONLY ");
        }
        out.push(&(self.style.relation_name)(relation));
        let name = self.entry_name(entry).unwrap_or_default();
        if query.rtes[entry].has_alias || *relation.name != *name {
            out.push(&format!("{before_alias}{}", quote_identifier(&name)));
        }
    }

    fn insert(&self, query: &Query, relation: &Relation, out: &mut Layout) {
        self.changed_table(" INSERT INTO ", " AS ", query, relation, out);
        out.push(" ");
        let assigned: Vec<(String, &Expr)> =
            query.assignments.iter().map(|a| self.assigned(relation, a)).collect();
        if !assigned.is_empty() {
            let names: Vec<&str> = assigned.iter().map(|(name, _)| &**name).collect();
            out.push(&format!("({}) ", names.join(", ")));
        }
        out.push(match query.overriding {
            Overriding::None => "",
            Overriding::User => "OVERRIDING USER VALUE ",
            Overriding::System => "OVERRIDING SYSTEM VALUE ",
        });
        let source = match query.from.first() {
            Some(FromItem::Rte(rte)) => query.rtes.get(*rte).map(|rte| &rte.kind),
            _ => None,
        };
        match source {
            Some(RteKind::Subquery { query, .. }) => self.query(query, None, false, out),
            Some(RteKind::Values(lists)) => self.values(lists, out),
            Some(_) => self.unknown("the source of an INSERT"),
            None if assigned.is_empty() => out.push("DEFAULT VALUES"),
            None => {
                out.clause("VALUES (", 2);
                let values: Vec<String> = assigned.iter().map(|(_, e)| self.expr(e)).collect();
                out.push(&format!("{})", values.join(", ")));
            }
        }
        if let Some(conflict) = &query.on_conflict {
            self.on_conflict(conflict, relation, out);
        }
    }

    fn on_conflict(&self, conflict: &OnConflict, relation: &Relation, out: &mut Layout) {
        out.push(" ON CONFLICT");
        match conflict.written.as_deref() {
            None | Some(Arbiters::Any) => {}
            Some(Arbiters::Named { constraint, .. }) => {
                let found = relation.constraints.iter().find(|c| c.oid == *constraint);
                let Some(found) = found else { return self.unknown("a constraint") };
                self.note(found.oid, 0);
                out.push(&format!(" ON CONSTRAINT {}", quote_identifier(&found.name)));
            }
            Some(Arbiters::Inferred { elements, condition }) => self.without_prefix(|| {
                let elements: Vec<String> = elements.iter().map(|e| self.element(e)).collect();
                out.push(&format!("({})", elements.join(", ")));
                if let Some(condition) = condition {
                    out.clause(" WHERE ", 1);
                    out.push(&self.expr(condition));
                }
            }),
        }
        let Some((assignments, filter)) = &conflict.update else {
            return out.push(" DO NOTHING");
        };
        out.push(" DO UPDATE SET ");
        self.set_list(relation, assignments, out);
        if let Some(filter) = filter {
            out.clause(" WHERE ", 1);
            out.push(&self.expr(filter));
        }
    }

    /// An element of ON CONFLICT's target (T_InferenceElem).
    fn element(&self, element: &ConflictElement) -> String {
        let key = self.arg(&element.key);
        let mut text = match &element.key {
            Expr::Var { .. } => key,
            call if is_call(call) && !has_sub_select(call) => key,
            _ => format!("({key})"),
        };
        if let Some(name) = element.collation.and_then(builtin::collation_name) {
            text.push_str(&format!(" COLLATE {}", quote_identifier(name)));
        }
        if let Some(name) = &element.opclass_name {
            text.push_str(&format!(" {}", quote_identifier(name)));
        }
        text
    }

    /// The assignments of SET (get_update_query_targetlist_def).
    fn set_list(&self, relation: &Relation, assignments: &Assignments, out: &mut Layout) {
        for (i, assignment) in assignments.iter().enumerate() {
            let (name, value) = self.assigned(relation, assignment);
            out.push(if i > 0 { ", " } else { "" });
            match field_of_row(value) {
                None => out.push(&format!("{name} = {}", self.expr(value))),
                Some((row, index)) => {
                    out.push(if index == 0 { "(" } else { "" });
                    out.push(&name);
                    if index + 1 == row.output().iter().filter(|t| !t.hidden).count() {
                        out.push(&format!(") = {}", self.sub_link(SubLinkKind::Scalar, None, row)));
                    }
                }
            }
        }
    }

    /// The column, or the part of one, that is assigned, and the value (processIndirection).
    fn assigned<'e>(
        &self,
        relation: &Relation,
        (column, value): &'e (usize, Expr),
    ) -> (String, &'e Expr) {
        let Some(named) = relation.columns.get(*column) else {
            self.unknown("a column");
            return (String::new(), value);
        };
        self.note(relation.oid, *column as i16 + 1);
        let (mut name, mut value) = (quote_identifier(&named.name), value);
        loop {
            match value {
                Expr::Subscript { array, indices, slice, assigned: Some(assigned), .. }
                    if is_assigned_to(array) =>
                {
                    for (lower, upper) in indices {
                        let shown = |bound: &Option<Expr>| bound.as_ref().map(|e| self.expr(e));
                        let colon = if *slice { ":" } else { "" };
                        let (lower, upper) = (shown(lower), shown(upper));
                        let lower = lower.unwrap_or_default();
                        name.push_str(&format!("[{lower}{colon}{}]", upper.unwrap_or_default()));
                    }
                    value = assigned;
                }
                Expr::Row(fields, ty) => {
                    let Some((field, index)) = assigned_field(fields) else { break };
                    let row = self.relation_of_row_type(*ty);
                    let row_column = row.as_ref().and_then(|row| {
                        let mut live = (0..row.columns.len()).filter(|i| !row.columns[*i].dropped);
                        live.nth(index).map(|at| (at, row.columns[at].name.clone()))
                    });
                    let (Some(row), Some((at, field_name))) = (row, row_column) else {
                        self.unknown("a field of a row");
                        break;
                    };
                    self.note(row.oid, at as i16 + 1);
                    name.push_str(&format!(".{}", quote_identifier(&field_name)));
                    value = field;
                }
                _ => break,
            }
        }
        (name, value)
    }

    /// RETURNING (get_returning_clause).
    fn returning_clause(&self, query: &Query, named: bool, out: &mut Layout) {
        if query.returning.is_empty() {
            return;
        }
        out.clause(" RETURNING", 1);
        let versions = query.returning_versions;
        let given = |version: Option<usize>, word: &str, default: &str| {
            let name = version.map(|rte| query.rtes[rte].alias.clone())?;
            (*name != *default).then(|| format!("{word} AS {}", quote_identifier(&name)))
        };
        let old = given(versions.and_then(|v| v.old), "OLD", "old");
        let new = given(versions.and_then(|v| v.new), "NEW", "new");
        let given: Vec<String> = old.into_iter().chain(new).collect();
        if !given.is_empty() {
            out.push(&format!(" WITH ({})", given.join(", ")));
        }
        self.target_list(&query.returning, None, named, out);
    }

    /// Prints with the level's columns by their bare names.
    fn without_prefix(&self, print: impl FnOnce()) {
        let set = |prefix: bool| {
            let mut levels = self.levels.borrow_mut();
            levels.last_mut().map(|level| std::mem::replace(&mut level.prefix, prefix))
        };
        let before = set(false);
        print();
        if let Some(before) = before {
            set(before);
        }
    }
}

/// Whether an expression is the column that is assigned to, or a part of it on the way to the part
/// that is.
fn is_assigned_to(expr: &Expr) -> bool {
    match expr {
        Expr::Default(_) => true,
        Expr::Subscript { array: arg, assigned: None, .. } | Expr::Field { arg, .. } => {
            is_assigned_to(arg)
        }
        _ => false,
    }
}

/// The field that is new in a row whose others are as they were.
fn assigned_field(fields: &[Expr]) -> Option<(&Expr, usize)> {
    let is_old = |field: &Expr| matches!(field, Expr::Field { arg, .. } if is_assigned_to(arg));
    fields.iter().any(is_old).then_some(())?;
    let index = fields.iter().position(|field| !is_old(field))?;
    Some((&fields[index], index))
}

/// The row, and the position in it, of a value of `(a, b) = (SELECT …)`.
fn field_of_row(value: &Expr) -> Option<(&Query, usize)> {
    match value {
        Expr::Field { arg, index, .. } => match &**arg {
            Expr::SubLink { kind: SubLinkKind::Row, test: None, query, .. } => {
                Some((query, *index))
            }
            _ => field_of_row(arg),
        },
        other => other.children().into_iter().find_map(field_of_row),
    }
}

/// The entries whose names are fixed: `excluded`, and RETURNING's versions of the row.
pub(crate) fn has_fixed_name(query: &Query, rte: usize) -> bool {
    query.on_conflict.as_ref().is_some_and(|conflict| conflict.excluded == rte)
        || query.returning_versions.is_some_and(|versions| versions.entries().any(|v| v == rte))
}
