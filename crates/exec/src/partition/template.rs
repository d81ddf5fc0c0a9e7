//! A leaf's scan, made from the scan of its parent.
//!
//! The planner writes one scan against the partitioned table; columns are found in
//! the leaf by name, and of an index the one that was made or attached for it. A
//! leaf that has no such index (CREATE INDEX ON ONLY) is read from end to end.

use super::{ColumnMap, index_above};
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_sql::deparse::quote_identifier;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{Plan, PlanNode, ScanRelation};
use steppe_types::{Error, Oid, Result};

/// The template of a partitioned table's scan with what the scan itself filters and computes,
/// which each leaf's scan does at once. `None`: the template computes something before that.
pub(crate) fn whole_template(plan: &Plan) -> Option<Plan> {
    let PlanNode::PartitionScan { template, .. } = &plan.node else { return None };
    if template.project.is_some() && !plan.is_plain() {
        return None;
    }
    let mut whole = (**template).clone();
    if !plan.is_plain() {
        whole.filter = all_of(whole.filter.into_iter().chain(plan.filter.clone()).collect());
        whole.project = plan.project.clone();
        whole.types = plan.types.clone();
    }
    Some(whole)
}

fn all_of(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(Expr::And(conditions)),
    }
}

/// The number of nodes in a template.
pub(crate) fn size_of(template: &Plan) -> usize {
    let mut size = 1;
    crate::deps::for_each_child(template, &mut |child| size += size_of(child));
    size
}

/// The scan of a leaf, whose `alias` EXPLAIN shows.
pub(crate) fn leaf_plan(
    template: &Plan,
    catalog: &Catalog,
    leaf: &Arc<Relation>,
    alias: &Arc<str>,
) -> Result<Plan> {
    let mut plan = template.clone();
    let names = template.slot_names.iter();
    plan.slot_names = names.map(|name| renamed(name, alias)).collect();
    plan.node = match &template.node {
        PlanNode::SeqScan { rel, columns } => {
            let map = ColumnMap::new(&rel.relation, leaf)?;
            let rel = ScanRelation { relation: leaf.clone(), alias: alias.clone() };
            PlanNode::SeqScan { rel, columns: attributes(columns, map.as_ref())? }
        }
        PlanNode::IndexScan { rel, index, range, backward, index_only, columns } => {
            let Some(index) = index_in_leaf(catalog, leaf, index.oid) else {
                return without_index(template, leaf, alias);
            };
            let map = ColumnMap::new(&rel.relation, leaf)?;
            let mut range = range.clone();
            if let Some(map) = &map {
                let conditions = range.conditions.into_iter().map(|c| over_leaf(c, map));
                range.conditions = conditions.collect::<Result<_>>()?;
            }
            PlanNode::IndexScan {
                rel: ScanRelation { relation: leaf.clone(), alias: alias.clone() },
                index,
                range,
                backward: *backward,
                index_only: *index_only,
                columns: attributes(columns, map.as_ref())?,
            }
        }
        PlanNode::Append(children) => {
            let children = children.iter().map(|c| leaf_plan(c, catalog, leaf, alias));
            PlanNode::Append(children.collect::<Result<_>>()?)
        }
        _ => return Err(Error::internal("a partitioned table's scan is of another kind")),
    };
    Ok(plan)
}

/// A slot's name (`alias.column`, either perhaps quoted) under another alias.
fn renamed(name: &str, alias: &str) -> Arc<str> {
    let mut quoted = false;
    let end = name.find(|c| {
        quoted ^= c == '"';
        c == '.' && !quoted
    });
    let column = end.map_or(name, |end| &name[end + 1..]);
    format!("{}.{column}", quote_identifier(alias)).into()
}

fn attributes(columns: &[i16], map: Option<&ColumnMap>) -> Result<Vec<i16>> {
    match map {
        None => Ok(columns.to_vec()),
        Some(map) => columns.iter().map(|attribute| map.attribute(*attribute)).collect(),
    }
}

/// A condition whose slots are the parent's columns, with the leaf's.
fn over_leaf(condition: Expr, map: &ColumnMap) -> Result<Expr> {
    condition.transform(&mut |e| match e {
        Expr::Slot { index, ty } => Ok(Expr::Slot { index: map.in_leaf(index)?, ty }),
        other => Ok(other),
    })
}

/// The leaf's index that belongs to a partitioned one.
fn index_in_leaf(catalog: &Catalog, leaf: &Relation, above: Oid) -> Option<Arc<Relation>> {
    catalog.indexes_of(leaf).find(|index| index_above(catalog, index, above)).cloned()
}

/// An index scan as a scan of all rows, with what the index would have decided in the filter.
fn without_index(template: &Plan, leaf: &Arc<Relation>, alias: &Arc<str>) -> Result<Plan> {
    let PlanNode::IndexScan { rel, range, columns, .. } = &template.node else {
        return Err(Error::internal("not an index scan"));
    };
    let mut plan = template.clone();
    let (mut read, wanted) = (columns.clone(), columns.len());
    let mut conditions = Vec::with_capacity(range.conditions.len() + 1);
    for condition in &range.conditions {
        conditions.push(condition.clone().transform(&mut |e| match e {
            Expr::Slot { index: column, ty } => {
                let attribute = column as i16 + 1;
                let found = read.iter().position(|a| *a == attribute);
                let index = found.unwrap_or_else(|| {
                    read.push(attribute);
                    read.len() - 1
                });
                Ok::<_, Error>(Expr::Slot { index, ty })
            }
            other => Ok(other),
        })?);
    }
    conditions.extend(plan.filter.take());
    plan.filter = all_of(conditions);
    if read.len() > wanted && plan.project.is_none() {
        let slot = |(index, ty): (usize, &_)| Expr::Slot { index, ty: *ty };
        plan.project = Some(plan.types.iter().enumerate().map(slot).collect());
    }
    let added = read[wanted..].iter().filter_map(|a| rel.relation.columns.get(*a as usize - 1));
    let added = added.map(|column| renamed(&quote_identifier(&column.name), alias));
    let names = template.slot_names.iter().map(|name| renamed(name, alias));
    plan.slot_names = names.chain(added).collect();
    let map = ColumnMap::new(&rel.relation, leaf)?;
    let rel = ScanRelation { relation: leaf.clone(), alias: alias.clone() };
    plan.node = PlanNode::SeqScan { rel, columns: attributes(&read, map.as_ref())? };
    Ok(plan)
}
