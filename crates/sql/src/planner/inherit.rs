//! Scans of tables that others inherit from, and of partitioned tables alone.
//!
//! A table's rows include the rows of its descendants, unless ONLY is written. The scan is an
//! Append of each table's own scan. Each scan is planned by itself, since a descendant has its own
//! indexes, statistics and column places. In an order that each table has an index for, it is a
//! Merge Append. These tables are known when the statement is planned; all of them are locked
//! before it runs.

use super::scan::{ScanRequest, row_of};
use super::{ColumnId, Planner, PlannerContext, Rel, RteSet, cost, node};
use crate::expr::{Expr, SortKey, TypeRef};
use crate::plan::*;
use crate::query::{OrderBy, Rte, RteColumn, RteKind, Target};
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_types::{Error, Result};

impl Planner<'_> {
    /// Whether an entry's rows are those of a table and of others that inherit from it.
    pub(super) fn is_inherited(&self, entry: &Rte) -> bool {
        let RteKind::Relation(relation) = &entry.kind else { return false };
        entry.inherit
            && relation.kind == RelKind::Table
            && self.ctx.catalog.children(relation.oid).next().is_some()
    }

    /// Whether only a row's `tableoid` determines the table that stores it.
    pub(super) fn is_in_many_tables(&self, entry: &Rte) -> bool {
        let RteKind::Relation(relation) = &entry.kind else { return false };
        entry.inherit && relation.partition_key.is_some() || self.is_inherited(entry)
    }

    /// The tables whose rows an entry's are, under the names that EXPLAIN gives them. The list is
    /// empty for a single table, or a partitioned one.
    pub(super) fn members(&self, entry: &Rte) -> Vec<ScanRelation> {
        let RteKind::Relation(relation) = &entry.kind else { return Vec::new() };
        if !self.is_inherited(entry) {
            return Vec::new();
        }
        let PlannerContext { catalog, search_path, .. } = *self.ctx;
        let all = catalog.descendants(relation).into_iter();
        let members = all.filter(|t| !catalog.is_of_other_session(t, search_path)).enumerate();
        let member = |(i, relation)| ScanRelation { relation, alias: member_alias(entry, i) };
        members.map(member).collect()
    }

    /// The scan of a table with its descendants, except tables whose constraints exclude the wanted
    /// rows.
    pub(super) fn inheritance_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        let (mut children, mut cost) = (Vec::new(), Cost::default());
        for member in self.members_read(request)? {
            let child = self.for_member(request, &member, |p, member| p.table_scan(member))?.plan;
            cost.total += child.cost.total;
            cost.rows += child.cost.rows;
            cost.width = child.cost.width;
            children.push(child);
        }
        let (types, names) = row_of(request);
        let plan = match children.len() {
            0 => return self.no_rows(request),
            1 => children.remove(0),
            _ => node(PlanNode::Append(children), types, names, cost),
        };
        let rtes = RteSet::one(request.rte);
        Ok(Rel { plan, layout: request.columns.to_vec(), rtes })
    }

    /// The rows in an order that each table has an index for, merged. `None`: a table has no such
    /// index. `order`: the order over entry 0.
    pub(super) fn merged_inheritance_scan(
        &mut self,
        request: &ScanRequest<'_>,
        targets: &[Target],
        order_by: &[OrderBy],
        order: &[SortKey],
    ) -> Result<Option<Rel>> {
        let keys = order.iter().map(|key| key_over_output(key, request));
        let Some(keys) = keys.collect::<Option<Vec<SortKey>>>() else { return Ok(None) };
        let (mut children, mut cost) = (Vec::new(), Cost::default());
        for member in self.members_read(request)? {
            let attribute = |a: i16| attribute_in(request.relation, &member.relation, a);
            let of_member = |target: &Target| {
                let expr = over_member(&target.expr, request.rte, &attribute)?;
                Ok(Target { expr, ..target.clone() })
            };
            let targets = targets.iter().map(of_member).collect::<Result<Vec<_>>>()?;
            let in_order = self.for_member(request, &member, |p, member| {
                p.ordered_scan(member, &targets, order_by)
            })?;
            let Some(Rel { plan: child, .. }) = in_order else { return Ok(None) };
            cost.startup += child.cost.startup;
            cost.total += child.cost.total;
            cost.rows += child.cost.rows;
            cost.width = child.cost.width;
            children.push(child);
        }
        let (types, names) = row_of(request);
        let plan = match children.len() {
            0 => return self.no_rows(request).map(Some),
            1 => children.remove(0),
            tables => {
                cost::add_merge(&mut cost, tables as f64, self.costs());
                node(PlanNode::MergeAppend { children, keys }, types, names, cost)
            }
        };
        let rtes = RteSet::one(request.rte);
        Ok(Some(Rel { plan, layout: request.columns.to_vec(), rtes }))
    }

    /// The tables that are read, under the names that EXPLAIN gives them. Tables excluded by
    /// constraints are left out.
    fn members_read(&mut self, request: &ScanRequest<'_>) -> Result<Vec<ScanRelation>> {
        let entry = &request.rtes[request.rte];
        let mut members = Vec::new();
        for member in self.members(entry) {
            match self.for_member(request, &member, |p, member| p.is_excluded(member, true))? {
                false => members.push(member),
                // It must not change meanwhile.
                true => self.use_relation(member.relation.oid, RelationLock::AccessShare),
            }
        }
        // What is changed has the entry's own name.
        let is_alone = members.len() == 1 && self.changed != Some(request.rte);
        for (place, member) in members.iter_mut().enumerate() {
            member.alias = if is_alone { entry.alias.clone() } else { member_alias(entry, place) };
        }
        Ok(members)
    }

    /// Does something for one of the tables, with its columns in the parent's place.
    fn for_member<T>(
        &mut self,
        request: &ScanRequest<'_>,
        member: &ScanRelation,
        f: impl FnOnce(&mut Self, &ScanRequest<'_>) -> Result<T>,
    ) -> Result<T> {
        let (parent, relation) = (request.relation, &member.relation);
        let attribute = |attribute: i16| attribute_in(parent, relation, attribute);
        let columns = request.columns.iter().map(|(rte, a)| Ok((*rte, attribute(*a)?)));
        let columns = columns.collect::<Result<Vec<ColumnId>>>()?;
        let moved = |condition: &Expr| over_member(condition, request.rte, &attribute);
        let conditions = request.conditions.iter().map(moved).collect::<Result<Vec<_>>>()?;
        let mut rtes = request.rtes.to_vec();
        let entry = &mut rtes[request.rte];
        entry.alias = member.alias.clone();
        entry.kind = RteKind::Relation(relation.clone());
        entry.inherit = false;
        let column = |c: &steppe_catalog::Column| RteColumn {
            name: c.name.clone(),
            ty: TypeRef { oid: c.type_oid, typmod: c.typmod },
            dropped: c.dropped,
        };
        entry.columns = relation.columns.iter().map(column).collect();
        let (columns, conditions) = (&columns, &conditions);
        f(self, &ScanRequest { rtes: &rtes, relation, columns, conditions, ..*request })
    }

    /// ONLY a partitioned table: it has no rows of its own.
    pub(super) fn no_rows(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        self.use_relation(request.relation.oid, RelationLock::AccessShare);
        let (types, names) = row_of(request);
        let never = Some(Expr::boolean(false));
        let result = PlanNode::Result { one_time_filter: never, child: None };
        let cost = Cost { rows: 1.0, ..Cost::default() };
        let plan = node(result, types, names, cost);
        let rtes = RteSet::one(request.rte);
        Ok(Rel { plan, layout: request.columns.to_vec(), rtes })
    }
}

/// A key over entry 0 as one over a scan's output. `None`: it is no column of that.
fn key_over_output(key: &SortKey, request: &ScanRequest<'_>) -> Option<SortKey> {
    let Expr::Var { rte: 0, column, levels_up: 0, ty, .. } = &key.expr else { return None };
    let wanted = (request.rte, *column as i16 + 1);
    let index = request.columns.iter().position(|column| *column == wanted)?;
    Some(SortKey { expr: Expr::Slot { index, ty: *ty }, ..key.clone() })
}

/// The name that EXPLAIN gives one of an entry's tables.
fn member_alias(entry: &Rte, place: usize) -> Arc<str> {
    format!("{}_{}", entry.alias, place + 1).into()
}

/// A parent's attribute number as a descendant's, which has the column by name; system columns
/// keep theirs.
fn attribute_in(parent: &Relation, child: &Relation, attribute: i16) -> Result<i16> {
    let Some(at) = attribute.checked_sub(1).and_then(|at| usize::try_from(at).ok()) else {
        return StoredForm::moved(attribute, |column| attribute_in(parent, child, column));
    };
    let name = parent.columns.get(at).map_or("?", |column| &column.name);
    let found = child.column_index(name).map(|at| at as i16 + 1);
    let lost = || format!("table \"{}\" has not inherited column \"{name}\"", child.name);
    found.ok_or_else(|| Error::internal(lost()))
}

/// A condition over the parent's entry with the columns of a descendant.
fn over_member(
    condition: &Expr,
    entry: usize,
    attribute: &dyn Fn(i16) -> Result<i16>,
) -> Result<Expr> {
    condition.clone().transform(&mut |e| match e {
        Expr::Var { rte, column, levels_up: 0, ty, at } if rte == entry => {
            let column = match super::column_id(rte, column).1 {
                own @ 1.. => i32::from(attribute(own)?) - 1,
                system => i32::from(attribute(system)?),
            };
            Ok(Expr::Var { rte, column, levels_up: 0, ty, at })
        }
        other => Ok(other),
    })
}
