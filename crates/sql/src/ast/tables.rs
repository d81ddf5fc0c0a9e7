//! The tables that a statement names, and that a WITH query around it may be
//! (makeDependencyGraphWalker in parse_cte.c).
//!
//! A name that a WITH inside the statement defines is left out where the WITH is visible.

use super::*;

/// Calls `f` on every unqualified table name that no WITH inside the statement defines.
pub fn each_free_table<'a>(statement: &'a Statement, f: &mut dyn FnMut(&'a RangeVar)) {
    Walk { inner: Vec::new(), f }.statement(statement);
}

/// [`each_free_table`] of a SELECT.
pub fn each_free_table_of_select<'a>(select: &'a SelectStmt, f: &mut dyn FnMut(&'a RangeVar)) {
    Walk { inner: Vec::new(), f }.select(select);
}

struct Walk<'a, 'f> {
    /// The names that each WITH around has defined so far, innermost last.
    inner: Vec<Vec<&'a str>>,
    f: &'f mut dyn FnMut(&'a RangeVar),
}

impl<'a> Walk<'a, '_> {
    fn table(&mut self, table: &'a RangeVar) {
        let name = table.name.as_str();
        if table.schema.is_none() && !self.inner.iter().any(|names| names.contains(&name)) {
            (self.f)(table);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match statement {
            Statement::Select(select) => self.select(select),
            Statement::Insert(insert) => self.with(&insert.with, |walk| {
                walk.table(&insert.relation);
                insert.columns.iter().for_each(|column| walk.path(&column.indirection));
                insert.source.iter().for_each(|source| walk.select(source));
                insert.on_conflict.iter().for_each(|conflict| walk.on_conflict(conflict));
                walk.returning(&insert.returning);
            }),
            Statement::Update(update) => self.with(&update.with, |walk| {
                walk.table(&update.relation);
                walk.assignments(&update.set);
                update.from.iter().for_each(|item| walk.item_in_from(item));
                walk.exprs(&update.where_clause);
                walk.returning(&update.returning);
            }),
            Statement::Delete(delete) => self.with(&delete.with, |walk| {
                walk.table(&delete.relation);
                delete.using.iter().for_each(|item| walk.item_in_from(item));
                walk.exprs(&delete.where_clause);
                walk.returning(&delete.returning);
            }),
            Statement::Merge(merge) => self.with(&merge.with, |walk| walk.merge(merge)),
            _ => {}
        }
    }

    /// The statement below a WITH sees its names. Each of its queries sees the queries before it,
    /// with RECURSIVE all.
    fn with(&mut self, with: &'a Option<WithClause>, below: impl FnOnce(&mut Self)) {
        let Some(with) = with else { return below(self) };
        let names = with.ctes.iter().map(|cte| cte.name.as_str());
        self.inner.push(if with.recursive { names.collect() } else { Vec::new() });
        for cte in &with.ctes {
            self.statement(&cte.query);
            if let Some(names) = self.inner.last_mut().filter(|_| !with.recursive) {
                names.push(&cte.name);
            }
        }
        below(self);
        self.inner.pop();
    }

    fn select(&mut self, select: &'a SelectStmt) {
        deeper(|| {
            self.with(&select.with, |walk| {
                match &select.body {
                    SelectBody::Select(core) => walk.core(core),
                    SelectBody::Values(rows) => walk.exprs(rows.iter().flatten()),
                    SelectBody::SetOp(operation) => {
                        walk.select(&operation.left);
                        walk.select(&operation.right);
                    }
                }
                walk.sort(&select.order_by);
                walk.exprs(select.offset.as_deref());
                walk.exprs(select.limit.as_deref());
            });
        });
    }

    fn core(&mut self, core: &'a SelectCore) {
        if let Distinct::On(exprs) = &core.distinct {
            self.exprs(exprs);
        }
        self.exprs(core.targets.iter().map(|target| &target.value));
        core.from.iter().for_each(|item| self.item_in_from(item));
        self.exprs(&core.where_clause);
        core.group_by.iter().for_each(|item| self.group_item(item));
        self.exprs(&core.having);
        core.windows.iter().for_each(|window| self.window(window));
    }

    fn item_in_from(&mut self, item: &'a FromItem) {
        match item {
            FromItem::Table(table) => self.table(table),
            FromItem::Subquery(subselect) => self.select(&subselect.query),
            FromItem::Function(function) => {
                self.exprs(function.functions.iter().map(|item| &item.call));
            }
            FromItem::Join(join) => deeper(|| {
                self.item_in_from(&join.left);
                self.item_in_from(&join.right);
                if let JoinCondition::On(condition) = &join.condition {
                    self.expr(condition);
                }
            }),
        }
    }

    fn group_item(&mut self, item: &'a GroupItem) {
        match item {
            GroupItem::Expr(expr) => self.expr(expr),
            GroupItem::Empty => {}
            GroupItem::Rollup(items, _) | GroupItem::Cube(items, _) | GroupItem::Sets(items, _) => {
                items.iter().for_each(|item| self.group_item(item));
            }
        }
    }

    fn window(&mut self, window: &'a WindowDef) {
        self.exprs(&window.partition_by);
        self.sort(&window.order_by);
        for bound in [&window.frame.start, &window.frame.end] {
            if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                self.expr(offset);
            }
        }
    }

    fn sort(&mut self, items: &'a [SortBy]) {
        self.exprs(items.iter().map(|item| &item.expr));
    }

    fn on_conflict(&mut self, conflict: &'a OnConflict) {
        if let ConflictAction::Update { set, where_clause } = &conflict.action {
            self.assignments(set);
            self.exprs(where_clause);
        }
    }

    fn assignments(&mut self, set: &'a [SetClause]) {
        for clause in set {
            match clause {
                SetClause::Single { target, value } => {
                    self.path(&target.indirection);
                    self.expr(value);
                }
                SetClause::Multi { targets, source } => {
                    targets.iter().for_each(|target| self.path(&target.indirection));
                    self.expr(source);
                }
            }
        }
    }

    fn merge(&mut self, merge: &'a MergeStmt) {
        self.table(&merge.relation);
        self.item_in_from(&merge.source);
        self.expr(&merge.condition);
        for when in &merge.whens {
            self.exprs(&when.condition);
            match &when.action {
                MergeAction::Update(set) => self.assignments(set),
                MergeAction::Insert { values, .. } => self.exprs(values),
                MergeAction::Nothing | MergeAction::Delete => {}
            }
        }
        self.returning(&merge.returning);
    }

    fn returning(&mut self, returning: &'a Option<Returning>) {
        let targets = returning.iter().flat_map(|returning| &returning.targets);
        self.exprs(targets.map(|target| &target.value));
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &'a Expr) {
        deeper(|| self.parts(expr));
    }

    fn parts(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Cast { arg, .. }
            | ExprKind::Unary { arg, .. }
            | ExprKind::Not(arg)
            | ExprKind::NullTest { arg, .. }
            | ExprKind::BooleanTest { arg, .. }
            | ExprKind::Collate { arg, .. } => self.expr(arg),
            ExprKind::Binary { left, right, .. }
            | ExprKind::ArrayOp { left, right, .. }
            | ExprKind::Distinct { left, right, .. }
            | ExprKind::NullIf { left, right }
            | ExprKind::Like { arg: left, pattern: right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::And(args)
            | ExprKind::Or(args)
            | ExprKind::Coalesce(args)
            | ExprKind::Greatest(args)
            | ExprKind::Least(args)
            | ExprKind::Array(args)
            | ExprKind::Row { fields: args, .. }
            | ExprKind::Grouping(args) => self.exprs(args),
            ExprKind::In { arg, list, .. } => {
                self.expr(arg);
                self.exprs(list);
            }
            ExprKind::Between { arg, low, high, .. } => {
                self.exprs([&**arg, &**low, &**high]);
            }
            ExprKind::FuncCall(call) => self.call(call),
            ExprKind::Case { arg, whens, default } => {
                self.exprs(arg.as_deref());
                self.exprs(whens.iter().flat_map(|when| [&when.condition, &when.result]));
                self.exprs(default.as_deref());
            }
            ExprKind::SubLink(link) => {
                self.exprs(&link.test);
                self.select(&link.query);
            }
            ExprKind::Indirection { arg, path } => {
                self.expr(arg);
                self.path(path);
            }
            ExprKind::ColumnRef(_)
            | ExprKind::Param(_)
            | ExprKind::Const(_)
            | ExprKind::SqlValueFunction { .. }
            | ExprKind::Default
            | ExprKind::CurrentOf(_)
            | ExprKind::MergeAction => {}
        }
    }

    fn call(&mut self, call: &'a FuncCall) {
        self.exprs(call.args.iter().map(|arg| &arg.value));
        self.sort(&call.order_by);
        self.exprs(&call.filter);
        call.over.iter().for_each(|window| self.window(window));
    }

    fn path(&mut self, path: &'a [Indirection]) {
        for step in path {
            match step {
                Indirection::Subscript(index) => self.expr(index),
                Indirection::Slice { lower, upper } => self.exprs(lower.iter().chain(upper)),
                Indirection::Field(_) | Indirection::Star => {}
            }
        }
    }
}
