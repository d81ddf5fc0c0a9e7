//! The names and properties of each kind of plan node.

use super::document::{Node, Value};
use super::names::Name;
use super::plan::Builder;
use crate::context::{Instrument, Note, SortGroups};
use steppe_sql::deparse::quote_identifier;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{
    AggMode, AggStrategy, InnerRows, ModifyTable, Plan, PlanNode, ScanRelation, TidRows,
    is_dealt_out,
};
use steppe_sql::query::{Command, Frame, FrameBound, FrameExclusion, FrameMode, JoinKind, SetOp};

/// The name of a kind of join, on its own and between the words of a headline.
fn join_words(kind: JoinKind) -> (&'static str, &'static str) {
    match kind {
        JoinKind::Inner => ("Inner", ""),
        JoinKind::Left => ("Left", " Left"),
        JoinKind::Right => ("Right", " Right"),
        JoinKind::Full => ("Full", " Full"),
        JoinKind::Semi => ("Semi", " Semi"),
        JoinKind::Anti => ("Anti", " Anti"),
        JoinKind::RightSemi => ("Right Semi", " Right Semi"),
        JoinKind::RightAnti => ("Right Anti", " Right Anti"),
    }
}

fn set_operation(op: SetOp, all: bool) -> String {
    let op = match op {
        SetOp::Union => "Union",
        SetOp::Intersect => "Intersect",
        SetOp::Except => "Except",
    };
    format!("{op}{}", if all { " All" } else { "" })
}

fn operation(modify: &ModifyTable) -> &'static str {
    match modify.command {
        Command::Insert => "Insert",
        Command::Update => "Update",
        _ => "Delete",
    }
}

impl Builder<'_> {
    /// The node's kind: the beginning of the headline, and the first items of the structured
    /// formats.
    pub(super) fn kind(&self, plan: &Plan, id: usize, node: &mut Node) {
        let (kind, headline): (&str, String) = match &plan.node {
            PlanNode::Result { .. } => ("Result", "Result".into()),
            PlanNode::Values(_) => ("Values Scan", "Values Scan".into()),
            PlanNode::RemoteQuery(remote) => {
                let kind = match remote.is_whole {
                    true => "Remote Fast Query Execution",
                    false => "Remote Subquery",
                };
                (kind, kind.into())
            }
            PlanNode::RemoteInsert(_) => ("Remote Insert", "Remote Insert".into()),
            PlanNode::FunctionScan { .. } => ("Function Scan", "Function Scan".into()),
            PlanNode::SeqScan { cursor: Some(_), .. } => ("Tid Scan", "Tid Scan".into()),
            PlanNode::SeqScan { parallel: true, .. } => ("Seq Scan", "Parallel Seq Scan".into()),
            PlanNode::SeqScan { .. } => ("Seq Scan", "Seq Scan".into()),
            PlanNode::Gather { order, .. } if !order.is_empty() => {
                ("Gather Merge", "Gather Merge".into())
            }
            PlanNode::Gather { .. } => ("Gather", "Gather".into()),
            PlanNode::IndexScan { backward, index_only, .. } => {
                let kind = if *index_only { "Index Only Scan" } else { "Index Scan" };
                (kind, format!("{kind}{}", if *backward { " Backward" } else { "" }))
            }
            PlanNode::TidScan { rows: TidRows::Named(_), .. } => ("Tid Scan", "Tid Scan".into()),
            PlanNode::TidScan { .. } => ("Tid Range Scan", "Tid Range Scan".into()),
            PlanNode::BitmapScan { .. } => ("Bitmap Heap Scan", "Bitmap Heap Scan".into()),
            PlanNode::BitmapIndexScan { .. } => ("Bitmap Index Scan", "Bitmap Index Scan".into()),
            PlanNode::BitmapAnd(_) => ("BitmapAnd", "BitmapAnd".into()),
            PlanNode::BitmapOr(_) => ("BitmapOr", "BitmapOr".into()),
            PlanNode::NestLoop { kind: JoinKind::Inner, .. } => {
                ("Nested Loop", "Nested Loop".into())
            }
            PlanNode::NestLoop { kind, .. } => {
                ("Nested Loop", format!("Nested Loop{} Join", join_words(*kind).1))
            }
            PlanNode::HashJoin { kind, inner_rows, .. } => {
                let before = if *inner_rows == InnerRows::Together { "Parallel " } else { "" };
                ("Hash Join", format!("{before}Hash{} Join", join_words(*kind).1))
            }
            PlanNode::MergeJoin { kind, .. } => {
                ("Merge Join", format!("Merge{} Join", join_words(*kind).1))
            }
            PlanNode::Materialize(_) => ("Materialize", "Materialize".into()),
            PlanNode::Memoize { .. } => ("Memoize", "Memoize".into()),
            PlanNode::Sort { presorted: 1.., .. } => {
                ("Incremental Sort", "Incremental Sort".into())
            }
            PlanNode::Sort { .. } => ("Sort", "Sort".into()),
            PlanNode::Limit { .. } => ("Limit", "Limit".into()),
            PlanNode::Agg { strategy, mode, keys, aggregates, .. } => {
                let is_bare = aggregates.is_empty();
                return self.aggregate_kind((*strategy, *mode), keys, is_bare, node);
            }
            PlanNode::Expand { .. } => ("Expand", "Expand".into()),
            PlanNode::WindowAgg { .. } => ("WindowAgg", "WindowAgg".into()),
            PlanNode::Unique { .. } => ("Unique", "Unique".into()),
            PlanNode::PartitionScan { .. } if self.is_merge(id) => {
                ("Merge Append", "Merge Append".into())
            }
            PlanNode::MergeAppend { .. } => ("Merge Append", "Merge Append".into()),
            PlanNode::Append(_) | PlanNode::PartitionScan { .. } if is_dealt_out(plan) => {
                ("Append", "Parallel Append".into())
            }
            PlanNode::Append(_) | PlanNode::PartitionScan { .. } => ("Append", "Append".into()),
            PlanNode::SetOp { op, all, order, .. } => {
                let hash = if order.is_empty() { "Hash" } else { "" };
                ("SetOp", format!("{hash}SetOp {}", set_operation(*op, *all)))
            }
            PlanNode::SubqueryScan { .. } => ("Subquery Scan", "Subquery Scan".into()),
            PlanNode::ProjectSet(_) => ("ProjectSet", "ProjectSet".into()),
            PlanNode::LockRows { .. } => ("LockRows", "LockRows".into()),
            PlanNode::CteScan { .. } => ("CTE Scan", "CTE Scan".into()),
            PlanNode::RecursiveUnion { .. } => ("Recursive Union", "Recursive Union".into()),
            PlanNode::WorkTableScan { .. } => ("WorkTable Scan", "WorkTable Scan".into()),
            PlanNode::Modify(modify) => ("ModifyTable", operation(modify).into()),
        };
        node.headline = headline;
        node.detail("Node Type", kind);
        match &plan.node {
            PlanNode::SetOp { order, .. } => {
                node.detail("Strategy", if order.is_empty() { "Hashed" } else { "Sorted" });
            }
            PlanNode::Modify(modify) => node.detail("Operation", operation(modify)),
            _ => {}
        }
    }

    fn aggregate_kind(
        &self,
        (strategy, mode): (AggStrategy, AggMode),
        keys: &[Expr],
        is_bare: bool,
        node: &mut Node,
    ) {
        let (strategy, headline) = match strategy {
            AggStrategy::Sorted if is_bare && !keys.is_empty() => {
                node.headline = "Group".to_owned();
                return node.detail("Node Type", "Group");
            }
            AggStrategy::Plain => ("Plain", "Aggregate"),
            AggStrategy::Sorted => ("Sorted", "GroupAggregate"),
            AggStrategy::Hashed => ("Hashed", "HashAggregate"),
        };
        let (mode, before) = match mode {
            AggMode::Simple => ("Simple", ""),
            AggMode::Partial => ("Partial", "Partial "),
            AggMode::Finalize => ("Finalize", "Finalize "),
        };
        node.headline = format!("{before}{headline}");
        node.detail("Node Type", "Aggregate");
        node.detail("Strategy", strategy);
        node.detail("Partial Mode", mode);
    }

    /// The object that the node works on: the rest of the headline.
    pub(super) fn identity(&self, plan: &Plan, node: &mut Node) {
        match &plan.node {
            PlanNode::SeqScan { rel, .. }
            | PlanNode::BitmapScan { rel, .. }
            | PlanNode::TidScan { rel, .. } => {
                self.target(rel, node);
            }
            PlanNode::BitmapIndexScan { index, .. } => {
                node.headline.push_str(&format!(" on {}", quote_identifier(&index.name)));
                node.detail("Index Name", index.name.to_string());
            }
            PlanNode::IndexScan { rel, index, backward, .. } => {
                node.headline.push_str(&format!(" using {}", quote_identifier(&index.name)));
                node.detail("Scan Direction", if *backward { "Backward" } else { "Forward" });
                node.detail("Index Name", index.name.to_string());
                self.target(rel, node);
            }
            PlanNode::FunctionScan { calls, alias, .. } => {
                self.function_target(calls, alias, node);
            }
            PlanNode::Values(_) => {
                node.headline.push_str(" on \"*VALUES*\"");
                node.detail("Alias", "*VALUES*");
            }
            PlanNode::SubqueryScan { alias, .. } => {
                node.headline.push_str(&format!(" on {}", quote_identifier(alias)));
                node.detail("Alias", alias.to_string());
            }
            PlanNode::CteScan { name, .. } | PlanNode::WorkTableScan { name, .. } => {
                node.headline.push_str(&format!(" on {}", quote_identifier(name)));
                node.detail("CTE Name", name.to_string());
                node.detail("Alias", name.to_string());
            }
            PlanNode::Modify(modify) => self.target(&modify.rel, node),
            PlanNode::RemoteInsert(insert) => self.target(&insert.rel, node),
            PlanNode::NestLoop { kind, .. }
            | PlanNode::HashJoin { kind, .. }
            | PlanNode::MergeJoin { kind, .. } => node.detail("Join Type", join_words(*kind).0),
            PlanNode::SetOp { op, all, .. } => {
                node.detail("Command", set_operation(*op, *all));
            }
            _ => {}
        }
    }

    /// ` on schema.table alias`, the schema with VERBOSE.
    pub(super) fn target(&self, rel: &ScanRelation, node: &mut Node) {
        let name = &rel.relation.name;
        let schema = self.explained.catalog.schema(rel.relation.schema);
        let schema = schema.filter(|_| self.options.verbose).map(|schema| schema.name.to_string());
        node.headline.push_str(" on ");
        if let Some(schema) = &schema {
            node.headline.push_str(&format!("{}.", quote_identifier(schema)));
        }
        node.headline.push_str(&quote_identifier(name));
        if *name != rel.alias {
            node.headline.push_str(&format!(" {}", quote_identifier(&rel.alias)));
        }
        node.detail("Relation Name", name.to_string());
        if let Some(schema) = schema {
            node.detail("Schema", schema);
        }
        node.detail("Alias", rel.alias.to_string());
    }

    /// ` on function alias`; several functions have no common name.
    fn function_target(&self, calls: &[(Expr, usize)], alias: &str, node: &mut Node) {
        let function = match calls {
            [(Expr::Func { func, .. }, _)] => Some(&*func.name),
            _ => None,
        };
        node.headline.push_str(" on ");
        if let Some(function) = function {
            let schema = if self.options.verbose { "pg_catalog." } else { "" };
            node.headline.push_str(&format!("{schema}{}", quote_identifier(function)));
            node.detail("Function Name", function);
            if self.options.verbose {
                node.detail("Schema", "pg_catalog");
            }
        }
        if function != Some(alias) {
            let space = if function.is_some() { " " } else { "" };
            node.headline.push_str(&format!("{space}{}", quote_identifier(alias)));
        }
        node.detail("Alias", alias);
    }

    /// Conditions, keys, and the figures of ANALYZE.
    pub(super) fn properties(&self, plan: &Plan, id: usize, node: &mut Node) {
        self.conditions_and_keys(plan, id, node);
        // As in explain.c, a scan's own condition names no relation unless it must.
        let qualified = match &plan.node {
            PlanNode::SubqueryScan { .. } => true,
            PlanNode::SeqScan { .. }
            | PlanNode::IndexScan { .. }
            | PlanNode::BitmapScan { .. }
            | PlanNode::TidScan { .. }
            | PlanNode::Values(_)
            | PlanNode::CteScan { .. }
            | PlanNode::WorkTableScan { .. }
            | PlanNode::FunctionScan { .. } => self.options.verbose,
            _ => self.is_qualified(),
        };
        let slots = self.input(plan, qualified);
        if let PlanNode::TidScan { condition, .. } = &plan.node {
            node.property("TID Cond", self.text(condition, &slots));
        }
        if let PlanNode::BitmapScan { recheck, .. } = &plan.node {
            node.property("Recheck Cond", self.text(recheck, &slots));
            self.removed("Rows Removed by Index Recheck", id, |done| done.rechecked, node);
        }
        self.filter(plan, id, &slots, node);
        self.workers(plan, id, node);
        self.found(plan, id, node);
    }

    /// The number of helpers that a Gather wants, and has had.
    fn workers(&self, plan: &Plan, id: usize, node: &mut Node) {
        let PlanNode::Gather { workers, order, .. } = &plan.node else { return };
        node.property("Workers Planned", *workers as u64);
        if self.options.analyze {
            let launched = match self.instrument(id).and_then(|done| done.note.as_ref()) {
                Some(Note::Gather { launched }) => *launched,
                _ => 0,
            };
            node.property("Workers Launched", launched);
        }
        if order.is_empty() {
            node.detail("Single Copy", Value::Bool(false));
        }
    }

    /// The figures of ANALYZE about how a scan found its rows.
    fn found(&self, plan: &Plan, id: usize, node: &mut Node) {
        if !self.options.analyze {
            return;
        }
        let none = Instrument::default();
        let done = self.instrument(id).unwrap_or(&none);
        match &plan.node {
            PlanNode::BitmapIndexScan { .. } => node.property("Index Searches", done.searches),
            PlanNode::BitmapScan { .. } => {
                let counted = [("exact", done.exact_blocks), ("lossy", done.lossy_blocks)];
                let counted = counted.iter().filter(|(_, blocks)| *blocks > 0);
                let shown: Vec<String> = counted.map(|(kind, n)| format!("{kind}={n}")).collect();
                if !shown.is_empty() {
                    node.line(format!("Heap Blocks: {}", shown.join(" ")));
                }
                node.detail("Exact Heap Blocks", done.exact_blocks);
                node.detail("Lossy Heap Blocks", done.lossy_blocks);
            }
            _ => self.index_found(plan, id, node),
        }
    }

    fn index_found(&self, plan: &Plan, id: usize, node: &mut Node) {
        if let PlanNode::IndexScan { index_only, .. } = &plan.node
            && self.options.analyze
        {
            let (fetches, searches) =
                self.instrument(id).map_or((0, 0), |done| (done.fetches, done.searches));
            if *index_only {
                node.property("Heap Fetches", fetches);
            }
            node.property("Index Searches", searches);
        }
    }

    /// Whether columns above the scans are shown with their relations.
    fn is_qualified(&self) -> bool {
        self.many_relations || self.options.verbose
    }

    fn conditions_and_keys(&self, plan: &Plan, id: usize, node: &mut Node) {
        let qualified = self.is_qualified();
        match &plan.node {
            PlanNode::Result { one_time_filter: Some(filter), .. } => {
                node.property("One-Time Filter", self.text(filter, &[]));
            }
            PlanNode::RemoteQuery(remote) => {
                self.nodes_of(remote, node);
            }
            PlanNode::RemoteInsert(insert) => {
                if let Some(distribution) = &insert.rel.relation.distribution {
                    node.property("Node/s", self.names_of(distribution.nodes.iter()));
                }
                if self.options.verbose {
                    node.property("Remote query", insert.text.to_string());
                }
            }
            PlanNode::FunctionScan { calls, .. } if self.options.verbose => {
                let calls = self.list(calls.iter().map(|(call, _)| call), &[]);
                node.property("Function Call", calls.join(", "));
            }
            PlanNode::SeqScan { cursor: Some(cursor), .. } => {
                node.property("TID Cond", cursor.to_string());
            }
            PlanNode::IndexScan { rel, range, .. }
            | PlanNode::BitmapIndexScan { rel, range, .. }
                if !range.conditions.is_empty() =>
            {
                let columns = self.columns(rel, self.options.verbose);
                node.property("Index Cond", joined(self.list(&range.conditions, &columns)));
            }
            PlanNode::HashJoin { outer, inner, keys, on, .. } => {
                let keys = keys.iter().map(|(a, b, _)| (a, b));
                self.join(id, Some("Hash Cond"), (keys, outer, inner), on, node);
            }
            PlanNode::MergeJoin { outer, inner, keys, on, .. } => {
                let keys = keys.iter().map(|(a, b)| (a, b));
                self.join(id, Some("Merge Cond"), (keys, outer, inner), on, node);
            }
            PlanNode::NestLoop { outer, inner, on, .. } => {
                self.join(id, None, (std::iter::empty(), outer, inner), on, node);
            }
            PlanNode::Memoize { keys, is_binary, .. } => {
                node.property("Cache Key", self.list(keys, &[]).join(", "));
                node.property("Cache Mode", if *is_binary { "binary" } else { "logical" });
            }
            PlanNode::Sort { child, keys, presorted, .. } => {
                let slots = self.output(child, qualified);
                let shown: Vec<String> =
                    keys.iter().map(|key| self.sort_key(key, &slots)).collect();
                node.property("Sort Key", Value::List(shown));
                if *presorted > 0 {
                    // As in explain.c, without directions.
                    let known = keys.iter().take(*presorted).map(|key| &key.expr);
                    node.property("Presorted Key", Value::List(self.list(known, &slots)));
                }
            }
            PlanNode::Agg { child, keys, .. } if !keys.is_empty() => {
                let slots = self.output(child, qualified);
                node.property("Group Key", Value::List(self.list(keys, &slots)));
            }
            PlanNode::Expand { child, keys, sets, .. } => {
                let slots = self.output(child, qualified);
                let set = |set: &Vec<bool>| {
                    let keys = keys.iter().zip(set).filter(|(_, has)| **has).map(|(k, _)| k);
                    format!("({})", self.list(keys, &slots).join(", "))
                };
                node.property("Grouping Sets", Value::List(sets.iter().map(set).collect()));
            }
            PlanNode::WindowAgg {
                child,
                name,
                partition_by,
                order_by,
                frame,
                run_condition,
                ..
            } => {
                let slots = self.output(child, qualified);
                let mut parts = Vec::new();
                if !partition_by.is_empty() {
                    let keys = self.list(partition_by, &slots).join(", ");
                    parts.push(format!("PARTITION BY {keys}"));
                }
                if !order_by.is_empty() {
                    let keys: Vec<String> =
                        order_by.iter().map(|key| self.sort_key(key, &slots)).collect();
                    parts.push(format!("ORDER BY {}", keys.join(", ")));
                }
                parts.extend(self.frame(frame));
                let name = quote_identifier(name);
                node.property("Window", format!("{name} AS ({})", parts.join(" ")));
                if let Some(condition) = run_condition {
                    node.property(
                        "Run Condition",
                        self.text(condition, &self.input(plan, qualified)),
                    );
                }
            }
            PlanNode::Modify(modify) => {
                self.target_leaves(modify, operation(modify), id, node);
                self.conflict(modify, node);
            }
            PlanNode::Append(_) => node.detail("Subplans Removed", 0),
            PlanNode::MergeAppend { keys, .. } => {
                let slots = self.input(plan, qualified);
                let keys = keys.iter().map(|key| self.sort_key(key, &slots)).collect();
                node.property("Sort Key", Value::List(keys));
                node.detail("Subplans Removed", 0);
            }
            PlanNode::PartitionScan { .. } => {
                if self.is_merge(id) {
                    self.merge_keys(plan, node);
                }
                self.put_removed(id, node);
            }
            _ => {}
        }
    }

    /// A frame as it would be written, if it is not the default one.
    fn frame(&self, frame: &Frame) -> Option<String> {
        if !frame.explicit {
            return None;
        }
        let bound = |bound: &FrameBound| match bound {
            FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
            FrameBound::Preceding(o) => format!("{} PRECEDING", self.text(&o.value, &[])),
            FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
            FrameBound::Following(o) => format!("{} FOLLOWING", self.text(&o.value, &[])),
            FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
        };
        let mode = match frame.mode {
            FrameMode::Range => "RANGE",
            FrameMode::Rows => "ROWS",
            FrameMode::Groups => "GROUPS",
        };
        let exclude = match frame.exclusion {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        };
        Some(match &frame.end {
            FrameBound::CurrentRow => format!("{mode} {}{exclude}", bound(&frame.start)),
            end => format!("{mode} BETWEEN {} AND {}{exclude}", bound(&frame.start), bound(end)),
        })
    }

    fn filter(&self, plan: &Plan, id: usize, slots: &[Name], node: &mut Node) {
        if let Some(filter) = &plan.filter {
            node.property("Filter", self.text(filter, slots));
        }
        self.put_note(id, node);
        if plan.filter.is_some() {
            self.removed("Rows Removed by Filter", id, |done| done.filtered, node);
        }
    }

    fn removed(
        &self,
        label: &'static str,
        id: usize,
        rows: fn(&Instrument) -> u64,
        node: &mut Node,
    ) {
        let Some(done) = self.instrument(id) else { return };
        let average = rows(done) as f64 / done.loops.max(1) as f64;
        let shown = Value::Number(format!("{average:.0}"));
        match average > 0.0 {
            true => node.property(label, shown),
            false => node.detail(label, shown),
        }
    }

    fn join<'p>(
        &self,
        id: usize,
        label: Option<&'static str>,
        (keys, outer, inner): (impl Iterator<Item = (&'p Expr, &'p Expr)>, &Plan, &Plan),
        on: &Option<Expr>,
        node: &mut Node,
    ) {
        let qualified = self.is_qualified();
        node.detail("Inner Unique", Value::Bool(false));
        let (mut outer, inner) = (self.output(outer, qualified), self.output(inner, qualified));
        if let Some(label) = label {
            let pair = |(a, b)| format!("({} = {})", self.text(a, &outer), self.text(b, &inner));
            node.property(label, joined(keys.map(pair).collect()));
        }
        if let Some(on) = on {
            outer.extend(inner);
            node.property("Join Filter", self.text(on, &outer));
            self.removed("Rows Removed by Join Filter", id, |done| done.join_filtered, node);
        }
    }

    fn conflict(&self, modify: &ModifyTable, node: &mut Node) {
        let Some(conflict) = &modify.on_conflict else { return };
        let word = if conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
        node.property("Conflict Resolution", word);
        let arbiters = modify.indexes.iter().filter(|index| conflict.arbiters.contains(&index.oid));
        let arbiters: Vec<String> = arbiters.map(|index| quote_identifier(&index.name)).collect();
        if !arbiters.is_empty() {
            node.property("Conflict Arbiter Indexes", Value::List(arbiters));
        }
        if let Some((_, Some(filter))) = &conflict.update {
            let mut slots = self.columns(&modify.rel, true);
            let columns = modify.rel.relation.columns.iter();
            slots.extend(columns.map(|column| {
                Name::column(format!("excluded.{}", quote_identifier(&column.name)))
            }));
            node.property("Conflict Filter", self.text(filter, &slots));
        }
    }

    /// Details of the memory of a node that has its own.
    pub(super) fn put_note(&self, id: usize, node: &mut Node) {
        match self.instrument(id).and_then(|done| done.note.as_ref()) {
            None => {}
            Some(Note::Sort { method, on_disk, kilobytes }) => {
                let space = if *on_disk { "Disk" } else { "Memory" };
                node.line(format!("Sort Method: {method}  {space}: {kilobytes}kB"));
                node.detail("Sort Method", *method);
                node.detail("Sort Space Used", *kilobytes);
                node.detail("Sort Space Type", space);
            }
            Some(Note::IncrementalSort { full, prefix }) => {
                sort_groups("Full-sort Groups", full, node);
                sort_groups("Pre-sorted Groups", prefix, node);
            }
            Some(Note::HashAggregate { batches, memory_kilobytes, disk_kilobytes }) => {
                let mut line = format!("Batches: {batches}  Memory Usage: {memory_kilobytes}kB");
                if *disk_kilobytes > 0 {
                    line.push_str(&format!("  Disk Usage: {disk_kilobytes}kB"));
                }
                node.line(line);
                node.detail("Planned Partitions", 0);
                node.detail("HashAgg Batches", *batches);
                node.detail("Peak Memory Usage", *memory_kilobytes);
                node.detail("Disk Usage", *disk_kilobytes);
            }
            Some(Note::Memoize { hits, misses, evictions, overflows, kilobytes }) => {
                node.line(format!(
                    "Hits: {hits}  Misses: {misses}  Evictions: {evictions}  \
                     Overflows: {overflows}  Memory Usage: {kilobytes}kB"
                ));
                node.detail("Cache Hits", *hits);
                node.detail("Cache Misses", *misses);
                node.detail("Cache Evictions", *evictions);
                node.detail("Cache Overflows", *overflows);
                node.detail("Peak Memory Usage", *kilobytes);
            }
            // Printed after the planned number.
            Some(Note::Gather { .. }) => {}
            Some(Note::Hash { buckets, batches, memory_kilobytes }) => {
                node.line(format!(
                    "Buckets: {buckets}  Batches: {batches}  Memory Usage: {memory_kilobytes}kB"
                ));
                node.detail("Hash Buckets", *buckets);
                node.detail("Original Hash Buckets", *buckets);
                node.detail("Hash Batches", *batches);
                node.detail("Original Hash Batches", *batches);
                node.detail("Peak Memory Usage", *memory_kilobytes);
            }
        }
    }
}

/// Details of the groups that an incremental sort sorted in one way.
fn sort_groups(label: &'static str, groups: &SortGroups, node: &mut Node) {
    if groups.count == 0 {
        return;
    }
    let several = if groups.methods.len() > 1 { "s" } else { "" };
    let methods = groups.methods.join(", ");
    let mut line = format!("{label}: {}  Sort Method{several}: {methods}", groups.count);
    let spaces = [("Memory", groups.memory), ("Disk", groups.disk)];
    for (name, space) in spaces.into_iter().filter(|(_, space)| space.peak > 0) {
        let average = space.total / groups.count;
        line.push_str(&format!("  Average {name}: {average}kB  Peak {name}: {}kB", space.peak));
    }
    node.line(line);
    node.detail(label, groups.count);
}

/// Conditions that all hold.
fn joined(mut conditions: Vec<String>) -> String {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => format!("({})", conditions.join(" AND ")),
    }
}
