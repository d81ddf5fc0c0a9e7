//! Names for slots of a node's input row, for parameters that an enclosing node sets, and for
//! sub-plans. [`steppe_sql::deparse`] prints the expressions.

use super::plan::Builder;
use crate::partition::slot_name_parts;
use std::sync::Arc;
use steppe_sql::deparse::{quote_identifier, shown_expression, window_call};
use steppe_sql::expr::{Aggregate, Expr, SortKey, SubLinkKind, SubPlan};
use steppe_sql::plan::{AggMode, ModifyTable, Plan, PlanNode, ScanRelation, VersionOf};
use steppe_sql::query::{Command, JoinKind};

/// The prefix of a call whose result is a state.
const PARTIAL: &str = "PARTIAL ";

/// The name of a slot of a node's input row.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// The name in the node itself.
    pub(super) own: Arc<str>,
    /// The name in a node above. A name that is not a plain column has parentheses there.
    above: Arc<str>,
}

impl Name {
    /// A plain column.
    pub(super) fn column(name: impl Into<Arc<str>>) -> Name {
        let own = name.into();
        Name { above: own.clone(), own }
    }

    /// A computed value.
    fn computed(text: String) -> Name {
        Name { above: format!("({text})").into(), own: text.into() }
    }

    /// The name of a partial aggregate's final result; other names stay unchanged.
    fn finalized(&self) -> Name {
        let bare = self.own.strip_prefix('(').and_then(|own| own.strip_suffix(')'));
        match bare.unwrap_or(&self.own).strip_prefix(PARTIAL) {
            Some(call) => Name::computed(call.to_owned()),
            None => self.clone(),
        }
    }

    /// The same value, seen from the node above.
    fn lifted(&self) -> Name {
        Name::column(self.above.clone())
    }
}

impl Builder<'_> {
    /// The slots of the row that a node's own expressions read. For a join it is its condition's
    /// row, for an aggregation that of its keys and arguments.
    pub(super) fn own_input(&self, plan: &Plan, qualified: bool) -> Vec<Name> {
        match &plan.node {
            PlanNode::NestLoop { outer, inner, .. }
            | PlanNode::HashJoin { outer, inner, .. }
            | PlanNode::MergeJoin { outer, inner, .. } => {
                let mut names = self.output(outer, qualified);
                names.extend(self.output(inner, qualified));
                names
            }
            PlanNode::Agg { child, .. } => self.output(child, qualified),
            _ => self.input(plan, qualified),
        }
    }

    /// The slots of a node's input row, with or without their relations' names.
    pub(super) fn input(&self, plan: &Plan, qualified: bool) -> Vec<Name> {
        match &plan.node {
            // Only the inner side's rows are handed up.
            PlanNode::HashJoin {
                kind: JoinKind::RightSemi | JoinKind::RightAnti, inner, ..
            } => self.output(inner, qualified),
            PlanNode::NestLoop { .. } | PlanNode::HashJoin { .. } | PlanNode::MergeJoin { .. } => {
                self.own_input(plan, qualified)
            }
            PlanNode::Agg { child, mode, keys, aggregates, .. } => {
                let slots = self.output(child, qualified);
                if *mode == AggMode::Finalize {
                    return slots.iter().map(Name::finalized).collect();
                }
                let keys = keys.iter().map(|key| match key {
                    Expr::Slot { index, .. } if *index < slots.len() => slots[*index].clone(),
                    other => Name::computed(self.text(other, &slots)),
                });
                let calls = aggregates.iter();
                let before = if *mode == AggMode::Partial { PARTIAL } else { "" };
                let named = |call| format!("{before}{}", self.aggregate(call, &slots));
                let calls = calls.map(|call| Name::computed(named(call)));
                keys.chain(calls).collect()
            }
            PlanNode::Expand { child, keys, .. } => {
                let mut slots = self.output(child, qualified);
                let keys: Vec<Name> =
                    self.list(keys, &slots).into_iter().map(Name::column).collect();
                slots.extend(keys);
                slots.resize(plan.types.len(), Name::column("GROUPING"));
                slots
            }
            PlanNode::WindowAgg { child, name, calls, .. } => {
                let mut slots = self.output(child, qualified);
                let shown = |call| {
                    let io = &self.explained.env.io;
                    let call = window_call(call, &|leaf| self.leaf(leaf, &slots), io);
                    Name::computed(format!("{call} OVER {}", quote_identifier(name)))
                };
                let calls: Vec<Name> = calls.iter().map(shown).collect();
                slots.extend(calls);
                slots
            }
            // The columns of a table with descendants have the table's name.
            PlanNode::Append(children) | PlanNode::MergeAppend { children, .. } => {
                match children.first() {
                    Some(first) if !is_scan(first) => self.output(first, qualified),
                    _ => planned_names(plan, qualified),
                }
            }
            PlanNode::SetOp { left, .. } | PlanNode::RecursiveUnion { left, .. } => {
                self.output(left, qualified)
            }
            PlanNode::Modify(modify) => self.modified(modify, qualified),
            PlanNode::Result { child: Some(child), .. }
            | PlanNode::Materialize(child)
            | PlanNode::ProjectSet(child)
            | PlanNode::Memoize { child, .. }
            | PlanNode::Sort { child, .. }
            | PlanNode::Gather { child, .. }
            | PlanNode::Limit { child, .. }
            | PlanNode::Unique { child, .. }
            | PlanNode::LockRows { child, .. } => self.output(child, qualified),
            // The template's names, with those of the tables.
            PlanNode::PartitionScan { template, .. } => self.output(template, qualified),
            // The leaves.
            _ => planned_names(plan, qualified),
        }
    }

    /// The input of RETURNING: the changed row, the versions that it names, system columns.
    fn modified(&self, modify: &ModifyTable, qualified: bool) -> Vec<Name> {
        let mut names = self.columns(&modify.rel, qualified);
        if modify.command != Command::Insert {
            names.extend(self.output(&modify.child, qualified));
        } else if modify.rel.relation.partition_key.is_some() {
            let alias = quote_identifier(&modify.rel.alias);
            names.push(Name::column(match qualified {
                true => format!("{alias}.tableoid"),
                false => "tableoid".to_string(),
            }));
        }
        for alias in modify.returning_versions.iter().flatten() {
            let version = ScanRelation { alias: alias.clone(), ..modify.rel.clone() };
            names.extend(self.columns(&version, true));
            names.push(Name::column(format!("{}.tableoid", quote_identifier(alias))));
        }
        for (of, column) in &modify.returning_system {
            let column = steppe_sql::bind::system_column((*column).into());
            let column = column.map_or("?", |(name, _)| name);
            let versions = modify.returning_versions.as_ref();
            let alias = match (of, versions) {
                (VersionOf::Old, Some([old, _])) => old,
                (VersionOf::New, Some([_, new])) => new,
                _ => &modify.rel.alias,
            };
            let of_target = *of == VersionOf::Target;
            names.push(Name::column(match qualified || !of_target {
                true => format!("{}.{column}", quote_identifier(alias)),
                false => column.to_string(),
            }));
        }
        names
    }

    /// The columns of a node's output row, as a node above calls them.
    pub(super) fn output(&self, plan: &Plan, qualified: bool) -> Vec<Name> {
        let input = self.input(plan, qualified);
        match &plan.project {
            // Semi joins hand up fewer columns than they read.
            None => input.iter().take(plan.types.len()).map(Name::lifted).collect(),
            Some(project) => project
                .iter()
                .map(|expr| match expr {
                    Expr::Slot { index, .. } if *index < input.len() => input[*index].lifted(),
                    other => Name::computed(self.text(other, &input)).lifted(),
                })
                .collect(),
        }
    }

    /// All columns of a table, in attribute order.
    pub(super) fn columns(&self, rel: &ScanRelation, qualified: bool) -> Vec<Name> {
        let prefix = match qualified {
            true => format!("{}.", quote_identifier(&rel.alias)),
            false => String::new(),
        };
        let columns = rel.relation.columns.iter();
        columns.map(|c| Name::column(format!("{prefix}{}", quote_identifier(&c.name)))).collect()
    }

    /// An expression over a node's input row.
    pub(super) fn text(&self, expr: &Expr, slots: &[Name]) -> String {
        shown_expression(expr, &|leaf| self.leaf(leaf, slots), &self.explained.env.io)
    }

    /// Several expressions, joined.
    pub(super) fn list<'e>(
        &self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        slots: &[Name],
    ) -> Vec<String> {
        exprs.into_iter().map(|expr| self.text(expr, slots)).collect()
    }

    fn leaf(&self, leaf: &Expr, slots: &[Name]) -> Option<String> {
        match leaf {
            Expr::Slot { index, .. } => slots.get(*index).map(|name| name.own.to_string()),
            Expr::Param { .. } if self.explained.is_generic => None,
            Expr::Param { index, ty, .. } => {
                let value = self.explained.params.get(*index)?;
                let value = Expr::Const(value.clone(), *ty);
                Some(shown_expression(&value, &|_| None, &self.explained.env.io))
            }
            Expr::ExecParam { id, .. } => self.exec_params.get(id).cloned(),
            Expr::SubPlan(sub) => Some(self.sub_plan(sub, slots)),
            _ => None,
        }
    }

    fn sub_plan(&self, sub: &SubPlan, slots: &[Name]) -> String {
        let number = sub.plan + 1;
        if sub.runs_once() {
            return format!("(InitPlan {number}).col1");
        }
        let word = match sub.kind {
            SubLinkKind::Exists => return format!("EXISTS(SubPlan {number})"),
            SubLinkKind::Array => return format!("ARRAY(SubPlan {number})"),
            SubLinkKind::Scalar => return format!("(SubPlan {number})"),
            SubLinkKind::Any => "ANY",
            SubLinkKind::All => "ALL",
            SubLinkKind::Row => "ROWCOMPARE",
        };
        let hashed = if sub.hash_keys.is_some() { "hashed " } else { "" };
        let Some(test) = &sub.test else { return format!("({word} {hashed}SubPlan {number})") };
        let names = |leaf: &Expr| match leaf {
            Expr::ExecParam { id, .. } if sub.columns.contains(id) => {
                let column = sub.columns.iter().position(|column| column == id)? + 1;
                Some(format!("({hashed}SubPlan {number}).col{column}"))
            }
            other => self.leaf(other, slots),
        };
        let test = shown_expression(test, &names, &self.explained.env.io);
        format!("({word} {test})")
    }

    /// An aggregate call.
    fn aggregate(&self, call: &Aggregate, slots: &[Name]) -> String {
        self.text(&Expr::Aggregate(Box::new(call.clone())), slots)
    }

    /// A sort key with its direction where it is not the default.
    pub(super) fn sort_key(&self, key: &SortKey, slots: &[Name]) -> String {
        let direction = steppe_sql::deparse::sort_suffix(key.descending, key.nulls_first);
        self.text(&key.expr, slots) + direction
    }
}

/// The planner's names for the columns of a node's input row: `alias.column`.
fn planned_names(plan: &Plan, qualified: bool) -> Vec<Name> {
    let names = plan.slot_names.iter();
    let shown = |name: &Arc<str>| match qualified {
        true => Arc::clone(name),
        false => {
            let (call, column) = slot_name_parts(name);
            Arc::from(format!("{call}{column}"))
        }
    };
    names.map(|name| Name::column(shown(name))).collect()
}

/// Whether a plan's rows are unchanged rows of a table.
fn is_scan(plan: &Plan) -> bool {
    let scans = matches!(
        plan.node,
        PlanNode::SeqScan { .. }
            | PlanNode::IndexScan { .. }
            | PlanNode::BitmapScan { .. }
            | PlanNode::TidScan { .. }
    );
    scans && plan.project.is_none()
}
