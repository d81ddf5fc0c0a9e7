//! SELECT, VALUES, set operations and WITH (analyze.c, parse_cte.c, parse_clause.c).

use super::coerce::is_row;
use super::from::output_columns;
use super::func::figure_column_name;
use super::{Binder, ExprPlace, TARGETS_MAX};
use crate::ast::{self, ExprKind, Literal, Location};
use crate::expr::{Expr, Place, TypeRef};
use crate::query::*;
use std::sync::Arc;
use steppe_catalog::builtin::{self, Strategy};
use steppe_types::{Error, Oid, Result, SqlState, oid};

impl Query {
    /// An empty query of a kind.
    pub fn new(command: Command) -> Query {
        Query {
            on_nodes: false,
            command,
            rtes: Vec::new(),
            from: Vec::new(),
            filter: None,
            targets: Vec::new(),
            group_by: Vec::new(),
            grouping_sets: None,
            has_aggregates: false,
            determining_keys: Vec::new(),
            having: None,
            distinct: Distinct::No,
            order_by: Vec::new(),
            limit: None,
            offset: None,
            with_ties: false,
            windows: Vec::new(),
            row_locks: Vec::new(),
            set_operation: None,
            ctes: Vec::new(),
            result_relation: None,
            current_of: None,
            assignments: Vec::new(),
            overriding: Overriding::None,
            view_checks: Vec::new(),
            on_conflict: None,
            returning: Vec::new(),
            returning_versions: None,
        }
    }
}

impl Binder<'_> {
    /// Binds a SELECT of any shape on a new query level.
    pub(crate) fn select(&mut self, select: &ast::SelectStmt) -> Result<Query> {
        self.push_scope();
        // Sets multiply the rows of their own query only.
        let last_set = self.last_set.take();
        let bound = ast::deeper(|| self.select_body(select));
        self.last_set = last_set;
        let scope = self.pop_scope();
        let mut query = bound?;
        query.rtes = scope.rtes;
        query.ctes = scope.ctes;
        query.has_aggregates |= scope.has_aggregates;
        Ok(query)
    }

    fn select_body(&mut self, select: &ast::SelectStmt) -> Result<Query> {
        if let Some(with) = &select.with {
            self.with_clause(with)?;
        }
        let query = match &select.body {
            ast::SelectBody::Select(core) => self.plain_select(select, core),
            ast::SelectBody::Values(rows) => self.values(select, rows),
            ast::SelectBody::SetOp(operation) => self.set_operation(select, operation),
        }?;
        if has_too_many_targets(&query) {
            let message = format!("target lists can have at most {TARGETS_MAX} entries");
            return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        Ok(query)
    }

    fn plain_select(&mut self, select: &ast::SelectStmt, core: &ast::SelectCore) -> Result<Query> {
        if let Some(into) = &core.into {
            let message = "SELECT ... INTO is not allowed here";
            return Err(self.error(SqlState::SYNTAX_ERROR, message, into.relation.location));
        }
        self.scope().window_defs.clone_from(&core.windows);
        let mut query = Query::new(Command::Select);
        query.from = self.bind_from(&core.from)?;
        query.targets = self.targets(&core.targets, ExprPlace::Targets)?;
        query.filter = match &core.where_clause {
            Some(e) => Some(self.condition(e, "WHERE", ExprPlace::Where)?),
            None => None,
        };
        query.having = match &core.having {
            Some(e) => Some(self.condition(e, "HAVING", ExprPlace::Having)?),
            None => None,
        };
        query.order_by = self.order_by(&select.order_by, &mut query.targets, false)?;
        self.group_by(core, &mut query)?;
        query.distinct = self.distinct_clause(core, &mut query)?;
        self.limit_clause(select, &mut query)?;
        self.window_clauses(&mut query)?;
        query.has_aggregates =
            self.scope().has_aggregates || !core.group_by.is_empty() || query.having.is_some();
        if query.has_aggregates {
            self.check_grouping(&mut query)?;
        }
        self.locking(select, &mut query)?;
        Ok(query)
    }

    /// The select list, with stars expanded.
    pub(crate) fn targets(
        &mut self,
        targets: &[ast::ResTarget],
        place: ExprPlace,
    ) -> Result<Vec<Target>> {
        let mut out = Vec::with_capacity(targets.len());
        for target in targets {
            if let Some(columns) = self.expand(&target.value, place)? {
                out.extend(columns);
                continue;
            }
            let expr = self.expr(&target.value, place)?;
            let name = match &target.name {
                Some(name) => name.clone(),
                None => figure_column_name(&target.value),
            };
            out.push(self.target(expr, name.into(), target.value.leftmost()));
        }
        Ok(out)
    }

    /// An output column; plain table columns remember where they come from.
    pub(crate) fn target(&mut self, expr: Expr, name: Arc<str>, location: Location) -> Target {
        let origin = match &expr {
            Expr::Var { rte, column, levels_up: 0, .. } => match &self.scope().rtes[*rte].kind {
                RteKind::Relation(r) => {
                    let number = if *column < 0 { *column } else { *column + 1 };
                    Some((r.oid, number as i16))
                }
                RteKind::Subquery { query, .. } => usize::try_from(*column)
                    .ok()
                    .and_then(|c| query.targets.iter().filter(|t| !t.hidden).nth(c))
                    .and_then(|t| t.origin),
                _ => None,
            },
            _ => None,
        };
        Target { expr, name, hidden: false, origin, at: Place(location) }
    }

    /// `*` and `t.*`.
    pub(crate) fn expand_star(
        &mut self,
        column: &ast::ColumnRef,
        location: Location,
        out: &mut Vec<Target>,
    ) -> Result<()> {
        let items = self.scope().namespace.clone();
        match column.parts.as_slice() {
            [] => {
                if items.is_empty() {
                    return Err(self.error(
                        SqlState::SYNTAX_ERROR,
                        "SELECT * with no tables specified is not valid",
                        location,
                    ));
                }
                for item in &items {
                    for (name, expr) in self.visible_columns(item, Place(location)) {
                        let target = self.target(expr, name, location);
                        out.push(target);
                    }
                }
            }
            [rest @ .., table] => {
                if let Some(row) = self.variable_before(column, location)? {
                    return self.expand_row(row, location, out);
                }
                let schema = rest.last().map(String::as_str);
                let Some(found) = self.find_relation(schema, table, location)? else {
                    return match self.variable_after(column, location)? {
                        Some(row) => self.expand_row(row, location, out),
                        None => Err(self.missing_from(schema, table, location)),
                    };
                };
                self.check_no_variable(column, location)?;
                self.expand_entry(found, location, out);
            }
        }
        Ok(())
    }

    /// ORDER BY: an output name, a position, or an expression (then perhaps a hidden target).
    fn order_by(
        &mut self,
        items: &[ast::SortBy],
        targets: &mut Vec<Target>,
        outputs_only: bool,
    ) -> Result<Vec<OrderBy>> {
        let mut out: Vec<OrderBy> = Vec::with_capacity(items.len());
        for item in items {
            let target = self.sort_target(
                &item.expr,
                targets,
                "ORDER BY",
                ExprPlace::OrderBy,
                outputs_only,
            )?;
            self.settle_sort_type(&mut targets[target])?;
            let ty = targets[target].expr.ty().oid;
            self.check_ordering(ty, item.expr.leftmost())?;
            let descending = match &item.direction {
                ast::SortDirection::Default | ast::SortDirection::Asc => false,
                ast::SortDirection::Desc => true,
                ast::SortDirection::Using(op) => self.sorts_descending(op, ty, item.location)?,
            };
            let nulls_first = match item.nulls {
                ast::NullsOrder::Default => descending,
                ast::NullsOrder::First => true,
                ast::NullsOrder::Last => false,
            };
            if out.iter().all(|o| o.target != target) {
                out.push(OrderBy { target, descending, nulls_first });
            }
        }
        Ok(out)
    }

    /// Whether an operator of ORDER BY USING sorts from the greatest value on. The error is 42809 for an
    /// operator that belongs to no ordering.
    pub(super) fn sorts_descending(
        &self,
        op: &ast::ObjectName,
        ty: Oid,
        location: Location,
    ) -> Result<bool> {
        match self.resolve_operator(op, ty, ty, location)?.strategy() {
            Some(Strategy::Less) => Ok(false),
            Some(Strategy::Greater) => Ok(true),
            _ => {
                let message = format!("operator {op} is not a valid ordering operator");
                let hint =
                    "Ordering operators must be \"<\" or \">\" members of btree operator families.";
                Err(self.error(SqlState::WRONG_OBJECT_TYPE, message, location).hint(hint))
            }
        }
    }

    pub(crate) fn settle_sort_type(&mut self, target: &mut Target) -> Result<()> {
        if target.expr.ty().oid == oid::UNKNOWN {
            let taken = std::mem::replace(&mut target.expr, Expr::Default(TypeRef::plain(0)));
            target.expr = self.coerce_implicit(taken, TypeRef::plain(oid::TEXT))?;
        }
        Ok(())
    }

    /// The SQL92 rules of ORDER BY, GROUP BY and DISTINCT ON items (findTargetlistEntrySQL92).
    pub(crate) fn sort_target(
        &mut self,
        expr: &ast::Expr,
        targets: &mut Vec<Target>,
        clause: &str,
        place: ExprPlace,
        outputs_only: bool,
    ) -> Result<usize> {
        if let ExprKind::ColumnRef(column) = &expr.kind
            && let ([name], false) = (column.parts.as_slice(), column.star)
        {
            // GROUP BY prefers an input column of that name, ORDER BY the output column.
            let prefer_input = place == ExprPlace::GroupBy
                && self.unqualified_at(0, name, expr.location)?.is_some();
            if !prefer_input
                && let Some(found) = self.output_named(name, targets, clause, expr.location)?
            {
                return Ok(found);
            }
        }
        if let ExprKind::Const(literal) = &expr.kind {
            let Literal::Integer(n) = literal else {
                return Err(self.error(
                    SqlState::SYNTAX_ERROR,
                    format!("non-integer constant in {clause}"),
                    expr.location,
                ));
            };
            let visible = targets.iter().filter(|t| !t.hidden).count();
            return match usize::try_from(*n).ok().and_then(|n| n.checked_sub(1)) {
                Some(i) if i < visible => Ok(i),
                _ => Err(self.error(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("{clause} position {n} is not in select list"),
                    expr.location,
                )),
            };
        }
        let bound = self.expr(expr, place)?;
        if let Some(same) = targets.iter().position(|t| t.expr == bound) {
            return Ok(same);
        }
        if outputs_only {
            return Err(self
                .error(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                    expr.leftmost(),
                )
                .detail("Only result column names can be used, not expressions or functions.")
                .hint(
                    "Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
                ));
        }
        let name = figure_column_name(expr).into();
        let at = Place(expr.leftmost());
        targets.push(Target { expr: bound, name, hidden: true, origin: None, at });
        Ok(targets.len() - 1)
    }

    /// 42883 for a type whose values have no order.
    pub(super) fn check_ordering(&self, ty: Oid, location: Location) -> Result<()> {
        self.check_sorted(ty, location)
            .map_err(|error| error.hint("Use an explicit ordering operator or modify the query."))
    }

    /// [`Self::check_ordering`] without the hint.
    pub(super) fn check_sorted(&self, ty: Oid, location: Location) -> Result<()> {
        if is_row(ty) || builtin::ordering(self.base_of(ty)).is_some() {
            return Ok(());
        }
        let shown = self.format_type(ty, -1);
        let message = format!("could not identify an ordering operator for type {shown}");
        Err(self.error(SqlState::UNDEFINED_FUNCTION, message, location))
    }

    fn output_named(
        &mut self,
        name: &str,
        targets: &[Target],
        clause: &str,
        location: Location,
    ) -> Result<Option<usize>> {
        let mut found: Option<usize> = None;
        for (i, target) in targets.iter().enumerate() {
            if target.hidden || &*target.name != name {
                continue;
            }
            match found {
                None => found = Some(i),
                Some(first) if targets[first].expr == target.expr => {}
                Some(_) => {
                    return Err(self.error(
                        SqlState::AMBIGUOUS_COLUMN,
                        format!("{clause} \"{name}\" is ambiguous"),
                        location,
                    ));
                }
            }
        }
        Ok(found)
    }

    fn distinct_clause(&mut self, core: &ast::SelectCore, query: &mut Query) -> Result<Distinct> {
        match &core.distinct {
            ast::Distinct::No => Ok(Distinct::No),
            ast::Distinct::Rows => {
                let mut sorted = query.order_by.iter().map(|o| &query.targets[o.target]);
                if let Some(missing) = sorted.find(|t| t.hidden) {
                    return Err(self.error(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                        missing.at.0,
                    ));
                }
                Ok(Distinct::All)
            }
            ast::Distinct::On(exprs) => {
                let mut on = Vec::with_capacity(exprs.len());
                for expr in exprs {
                    let targets = &mut query.targets;
                    let target = self.sort_target(
                        expr,
                        targets,
                        "DISTINCT ON",
                        ExprPlace::DistinctOn,
                        false,
                    )?;
                    on.push(target);
                }
                self.check_distinct_on(exprs, &on, &query.order_by)?;
                Ok(Distinct::On(on))
            }
        }
    }

    /// Checks that ORDER BY begins with DISTINCT ON's expressions (transformDistinctOnClause).
    fn check_distinct_on(
        &self,
        exprs: &[ast::Expr],
        on: &[usize],
        order_by: &[OrderBy],
    ) -> Result<()> {
        let mismatch = |expr: &ast::Expr| {
            self.error(
                SqlState::INVALID_COLUMN_REFERENCE,
                "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                expr.leftmost(),
            )
        };
        let mut skipped = false;
        for item in order_by {
            match on.iter().position(|target| *target == item.target) {
                Some(i) if skipped => return Err(mismatch(&exprs[i])),
                Some(_) => {}
                None => skipped = true,
            }
        }
        let sorted = |target: &usize| order_by.iter().any(|item| item.target == *target);
        match on.iter().position(|target| !sorted(target)) {
            Some(i) if skipped => Err(mismatch(&exprs[i])),
            _ => Ok(()),
        }
    }

    fn limit_clause(&mut self, select: &ast::SelectStmt, query: &mut Query) -> Result<()> {
        let mut bind = |e: &Option<Box<ast::Expr>>, place: ExprPlace| -> Result<Option<Expr>> {
            let Some(e) = e else { return Ok(None) };
            let bound = self.expr(e, place)?;
            let bound = self.coerce_bigint(bound, place.name(), e.leftmost())?;
            match super::group::own_column(&bound) {
                None => Ok(Some(bound)),
                Some(at) => Err(self.error(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("argument of {} must not contain variables", place.name()),
                    at.0,
                )),
            }
        };
        let is_null = |e: &ast::Expr| matches!(e.kind, ExprKind::Const(Literal::Null));
        if select.with_ties && select.limit.as_deref().is_some_and(is_null) {
            return Err(Error::new(
                SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
                "row count cannot be null in FETCH FIRST ... WITH TIES clause",
            ));
        }
        query.limit = bind(&select.limit, ExprPlace::Limit)?;
        query.offset = bind(&select.offset, ExprPlace::Offset)?;
        query.with_ties = select.with_ties;
        if select.with_ties && select.order_by.is_empty() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "WITH TIES cannot be specified without ORDER BY clause",
            ));
        }
        Ok(())
    }

    /// VALUES as a query: one entry in the range table, selected from.
    fn values(&mut self, select: &ast::SelectStmt, rows: &[Vec<ast::Expr>]) -> Result<Query> {
        let lists = self.value_lists(rows, ExprPlace::Values)?;
        // A column keeps a type modifier only if every row has it.
        let type_of = |i: usize| {
            let first = lists[0][i].ty();
            let agreed = lists.iter().all(|row| row[i].ty() == first);
            if agreed { first } else { TypeRef::plain(first.oid) }
        };
        let columns = (0..lists[0].len())
            .map(|i| RteColumn {
                name: format!("column{}", i + 1).into(),
                ty: type_of(i),
                dropped: false,
            })
            .collect();
        let alias = "*VALUES*".into();
        let rte = self.push_rte(Rte {
            alias,
            has_alias: false,
            kind: RteKind::Values(lists),
            inherit: false,
            columns,
        });
        self.make_visible(rte);
        let mut query = Query::new(Command::Select);
        query.from = vec![FromItem::Rte(rte)];
        let star = ast::ColumnRef { parts: Vec::new(), star: true };
        self.expand_star(&star, Location::NONE, &mut query.targets)?;
        query.order_by = self.order_by(&select.order_by, &mut query.targets, false)?;
        self.limit_clause(select, &mut query)?;
        if let Some(clause) = select.locking.first() {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("{} cannot be applied to VALUES", clause.strength.as_str()),
            ));
        }
        Ok(query)
    }

    /// Rows of equal width, each column coerced to its common type.
    pub(crate) fn value_lists(
        &mut self,
        rows: &[Vec<ast::Expr>],
        place: ExprPlace,
    ) -> Result<Vec<Vec<Expr>>> {
        let mut lists = Vec::with_capacity(rows.len());
        for row in rows {
            lists.push(self.expr_list(row, place)?);
        }
        let width = lists.first().map_or(0, Vec::len);
        if let Some((row, _)) = rows.iter().zip(&lists).find(|(_, list)| list.len() != width) {
            let location = row.first().map_or(Location::NONE, ast::Expr::leftmost);
            return Err(self.error(
                SqlState::SYNTAX_ERROR,
                "VALUES lists must all be the same length",
                location,
            ));
        }
        let mut columns: Vec<Vec<Expr>> = vec![Vec::with_capacity(rows.len()); width];
        for (i, expr) in lists.into_iter().flat_map(|list| list.into_iter().enumerate()) {
            columns[i].push(expr);
        }
        for (i, column) in columns.iter_mut().enumerate() {
            let at = |row: &Vec<ast::Expr>| row.get(i).map_or(Location::NONE, ast::Expr::leftmost);
            let locations: Vec<Location> = rows.iter().map(at).collect();
            self.coerce_common(column, "VALUES", &locations)?;
        }
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        Ok(rows.iter().map(|_| columns.iter_mut().filter_map(Iterator::next).collect()).collect())
    }

    /// UNION, INTERSECT, EXCEPT: both sides as queries with common column types.
    fn set_operation(
        &mut self,
        select: &ast::SelectStmt,
        operation: &ast::SetOperation,
    ) -> Result<Query> {
        let clauses = [&operation.left, &operation.right].map(|side| side.locking.first());
        if let Some(clause) = clauses.into_iter().flatten().next() {
            let clause = clause.strength.as_str();
            let message = format!("{clause} is not allowed with UNION/INTERSECT/EXCEPT");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let (of_left, of_right) = match operation.op {
            ast::SetOperator::Intersect if operation.all => (Some("INTERSECT"), Some("INTERSECT")),
            ast::SetOperator::Union | ast::SetOperator::Intersect => (None, None),
            ast::SetOperator::Except => (operation.all.then_some("EXCEPT"), Some("EXCEPT")),
        };
        let mut left = self.within(of_left, |b| b.select(&operation.left))?;
        let mut right = self.within(of_right, |b| b.select(&operation.right))?;
        let name = match operation.op {
            ast::SetOperator::Union => "UNION",
            ast::SetOperator::Intersect => "INTERSECT",
            ast::SetOperator::Except => "EXCEPT",
        };
        let (types, places) = self.common_columns_of(&mut left, &mut right, name)?;
        let keeps_all = operation.op == ast::SetOperator::Union && operation.all;
        self.check_set_collations(&left, &right, keeps_all)?;
        let mut query = Query::new(Command::Select);
        let columns: Vec<RteColumn> = output_columns(&left)
            .into_iter()
            .zip(&types)
            .map(|(c, ty)| RteColumn { ty: *ty, ..c })
            .collect();
        // A stand-in entry: the operation's output columns.
        let rte = self.push_rte(Rte {
            alias: "*SETOP*".into(),
            has_alias: false,
            kind: RteKind::Values(Vec::new()),
            inherit: false,
            columns: columns.clone(),
        });
        for (i, column) in columns.iter().enumerate() {
            let expr = Expr::var(rte, i, column.ty);
            let at = places.get(i).copied().unwrap_or_default();
            query.targets.push(Target { at, ..Target::plain(expr, column.name.clone()) });
        }
        let op = match operation.op {
            ast::SetOperator::Union => SetOp::Union,
            ast::SetOperator::Intersect => SetOp::Intersect,
            ast::SetOperator::Except => SetOp::Except,
        };
        query.set_operation = Some(SetOperation {
            op,
            all: operation.all,
            left: Box::new(left),
            right: Box::new(right),
            types,
        });
        query.order_by = self.set_operation_order(&select.order_by, &mut query)?;
        self.limit_clause(select, &mut query)?;
        self.locking(select, &mut query)?;
        Ok(query)
    }

    /// ORDER BY of a set operation: its names are the output columns, and its hints speak of
    /// the operation's inputs.
    fn set_operation_order(
        &mut self,
        items: &[ast::SortBy],
        query: &mut Query,
    ) -> Result<Vec<OrderBy>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let kept = self.scope().rtes.len();
        let mut leaves = Vec::new();
        leaf_columns(query, &mut leaves);
        for (i, columns) in leaves.into_iter().enumerate() {
            let alias = format!("*SELECT* {}", i + 1).as_str().into();
            let kind = RteKind::Cte { index: 0, levels_up: 0 };
            self.push_rte(Rte { alias, has_alias: true, kind, inherit: false, columns });
        }
        let outputs = query.targets.iter();
        let columns = outputs.clone().map(|t| RteColumn {
            name: t.name.clone(),
            ty: t.expr.ty(),
            dropped: false,
        });
        let rte = Rte {
            alias: super::UNNAMED_JOIN.into(),
            has_alias: false,
            columns: columns.collect(),
            inherit: false,
            kind: RteKind::Join { columns: outputs.map(|t| t.expr.clone()).collect() },
        };
        let rte = self.push_rte(rte);
        self.make_visible(rte);
        let bound = self.order_by(items, &mut query.targets, true);
        self.scope().namespace.clear();
        self.scope().rtes.truncate(kept);
        bound
    }

    /// The common types of two queries' columns, to which both are coerced, and where each
    /// column's type was decided.
    fn common_columns_of(
        &mut self,
        left: &mut Query,
        right: &mut Query,
        name: &str,
    ) -> Result<(Vec<TypeRef>, Vec<Place>)> {
        let count = |q: &Query| q.targets.iter().filter(|t| !t.hidden).count();
        if count(left) != count(right) {
            let visible = right.targets.iter().filter(|t| !t.hidden);
            let location = visible.map(|t| t.at.0).find(|at| *at != Location::NONE);
            return Err(self.error(
                SqlState::SYNTAX_ERROR,
                format!("each {name} query must have the same number of columns"),
                location.unwrap_or_default(),
            ));
        }
        let visible =
            |q: &Query| (0..q.targets.len()).filter(|i| !q.targets[*i].hidden).collect::<Vec<_>>();
        let pairs: Vec<(usize, usize)> = visible(left).into_iter().zip(visible(right)).collect();
        let (mut types, mut places) = (Vec::new(), Vec::new());
        for (l, r) in pairs {
            let mut both = [left.targets[l].expr.clone(), right.targets[r].expr.clone()];
            let before = [both[0].ty(), both[1].ty()];
            let at = [left.targets[l].at, right.targets[r].at];
            let ty = self.coerce_common(&mut both, name, &[at[0].0, at[1].0])?;
            types.push(ty);
            places.push(if before[0].oid == ty.oid { at[0] } else { at[1] });
            let [a, b] = both;
            for (query, index, coerced, old) in
                [(&mut *left, l, a, before[0]), (&mut *right, r, b, before[1])]
            {
                if old != ty {
                    coerce_output(query, index, coerced);
                }
            }
        }
        Ok((types, places))
    }
}

/// Puts a coerced expression in an output column's place. Below a set operation the column is a
/// reference: the planner then coerces around the whole sub-query.
pub(super) fn coerce_output(query: &mut Query, target: usize, coerced: Expr) {
    query.targets[target].expr = coerced;
    query.targets[target].origin = None;
}

/// Whether there are more targets than there may be. Targets that only ORDER BY, GROUP BY and
/// windows name count too, each once.
fn has_too_many_targets(query: &Query) -> bool {
    let windows = query.windows.iter().flat_map(WindowClause::keys);
    let keys: Vec<&Expr> = query.group_by.iter().chain(windows).collect();
    let targets = query.targets.len();
    if targets > TARGETS_MAX || targets + keys.len() <= TARGETS_MAX {
        return targets > TARGETS_MAX;
    }
    let is_new = |(i, key): &(usize, &&Expr)| {
        !keys[..*i].contains(*key) && !query.targets.iter().any(|target| target.expr == ***key)
    };
    targets + keys.iter().enumerate().filter(is_new).count() > TARGETS_MAX
}

/// The columns of each input of a set operation, from left to right.
fn leaf_columns(query: &Query, out: &mut Vec<Vec<RteColumn>>) {
    match &query.set_operation {
        Some(operation) => {
            leaf_columns(&operation.left, out);
            leaf_columns(&operation.right, out);
        }
        None => out.push(output_columns(query)),
    }
}
