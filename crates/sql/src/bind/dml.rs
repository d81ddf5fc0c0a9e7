//! INSERT, UPDATE and DELETE (analyze.c, parse_target.c).

use super::element::Assigned;
use super::instead::has_instead_of;
use super::view::ViewAction;
use super::{Binder, ExprPlace};
use crate::ast::{self, ExprKind, Location, RangeVar};
use crate::expr::{Expr, TypeRef};
use crate::query::*;
use std::sync::Arc;
use steppe_catalog::{Column, RelKind, Relation, TRANSITION_SCHEMA};
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// The parts of UPDATE and DELETE.
struct ChangeParts<'a> {
    command: Command,
    with: Option<&'a ast::WithClause>,
    relation: &'a RangeVar,
    /// FROM or USING.
    from: &'a [ast::FromItem],
    set: &'a [ast::SetClause],
    where_clause: Option<&'a ast::Expr>,
    returning: Option<&'a ast::Returning>,
}

impl Binder<'_> {
    /// INSERT.
    pub(crate) fn insert(&mut self, insert: &ast::InsertStmt) -> Result<Query> {
        self.push_scope();
        let bound = self.insert_body(insert);
        self.finish_dml(bound)
    }

    fn finish_dml(&mut self, bound: Result<Query>) -> Result<Query> {
        let scope = self.pop_scope();
        let mut query = bound?;
        query.rtes = scope.rtes;
        query.ctes = scope.ctes;
        Ok(query)
    }

    fn insert_body(&mut self, insert: &ast::InsertStmt) -> Result<Query> {
        if let Some(with) = &insert.with {
            self.with_clause(with)?;
        }
        let mut query = Query::new(Command::Insert);
        query.overriding = insert.overriding;
        let relation = self.target_table(&insert.relation, ViewAction::Insert, &mut query)?;
        let columns = self.insert_columns(&relation, insert)?;
        match &insert.source {
            None if self.to_print => {}
            None => query.targets = self.full_row(&relation, &[], Vec::new())?,
            Some(source) => self.insert_source(&mut query, &relation, &columns, insert, source)?,
        }
        if let Some(conflict) = &insert.on_conflict {
            query.on_conflict = Some(self.on_conflict(&relation, &query, conflict)?);
        }
        if let Some(returning) = &insert.returning {
            // It sees only the target table.
            self.scope().namespace.clear();
            self.show_target(&query);
            self.returning(&mut query, &relation, returning)?;
        }
        Ok(query)
    }

    /// Finds the table whose rows are changed, perhaps through a view; adds its entry.
    fn target_table(
        &mut self,
        range_var: &RangeVar,
        action: ViewAction,
        query: &mut Query,
    ) -> Result<Arc<Relation>> {
        let relation = self.relation(range_var)?;
        let is_view = relation.kind == RelKind::View;
        if !(is_view && self.to_print) && has_instead_of(&relation, action) {
            self.instead_of_target(&relation, range_var, action, query)?;
            return Ok(relation);
        }
        if is_view && !self.to_print {
            return self.view_target(&relation, range_var, action, query);
        }
        let alias = range_var.alias.as_ref();
        let relation = match is_view {
            true => relation,
            false => self.changeable(relation, range_var)?,
        };
        let inherit = range_var.inherit && action != ViewAction::Insert;
        let target = self.add_relation_rte(relation.clone(), alias, inherit)?;
        query.result_relation = Some(target);
        Ok(relation)
    }

    /// Makes the target's columns visible.
    pub(super) fn show_target(&mut self, query: &Query) {
        let scope = self.scope();
        let view = scope.target_view.as_ref().map(|v| v.rte).or(scope.instead_rows);
        if let Some(entry) = view.or(query.result_relation) {
            self.make_visible(entry);
        }
    }

    fn changeable(&self, relation: Arc<Relation>, range_var: &RangeVar) -> Result<Arc<Relation>> {
        let refused = |message: String| {
            Err(self.error(SqlState::WRONG_OBJECT_TYPE, message, range_var.location))
        };
        match relation.kind {
            RelKind::Table | RelKind::PartitionedTable => Ok(relation),
            RelKind::Virtual if relation.schema == TRANSITION_SCHEMA => {
                let name = &relation.name;
                let message =
                    format!("relation \"{name}\" cannot be the target of a modifying statement");
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            RelKind::Virtual => Err(self.error(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied: \"{}\" is a system catalog", relation.name),
                range_var.location,
            )),
            RelKind::Composite => Err(self
                .error(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("cannot open relation \"{}\"", relation.name),
                    range_var.location,
                )
                .detail("This operation is not supported for composite types.")),
            RelKind::Index | RelKind::PartitionedIndex => {
                refused(format!("cannot open relation \"{}\"", relation.name))
            }
            RelKind::Sequence => refused(format!("cannot change sequence \"{}\"", relation.name)),
            RelKind::View => Err(Error::internal("a view is changed through its table")),
        }
    }

    /// The columns, or parts of them, that the source gives, in its order.
    fn insert_columns(
        &mut self,
        relation: &Relation,
        insert: &ast::InsertStmt,
    ) -> Result<Vec<Assigned>> {
        if let Some(view) = self.scope().target_view.clone()
            && insert.columns.is_empty()
        {
            let given = match insert.source.as_ref().map(|source| &source.body) {
                // DEFAULT VALUES
                None => Some(0),
                Some(ast::SelectBody::Values(rows)) => rows.first().map(Vec::len),
                Some(_) => None,
            };
            let names = view.columns.iter().take(given.unwrap_or(usize::MAX));
            let column = |name| self.view_column(&view, name, Location::NONE).map(Assigned::whole);
            return names.map(|(name, _)| column(name)).collect();
        }
        if insert.columns.is_empty() {
            return Ok((0..relation.columns.len())
                .filter(|i| !relation.columns[*i].dropped)
                .map(Assigned::whole)
                .collect());
        }
        let mut targets: Vec<Assigned> = Vec::with_capacity(insert.columns.len());
        for named in &insert.columns {
            let location = named.location;
            let column = self.target_column(relation, &named.name, location)?;
            let place = ExprPlace::InsertTargets;
            let target = &relation.columns[column];
            let part = self.assigned_part(target, &named.indirection, place, location)?;
            // Several parts of one column may be given.
            let is_again =
                |t: &Assigned| t.column == column && (t.part.is_none() || part.is_none());
            if targets.iter().any(is_again) {
                return Err(self.error(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", named.name),
                    location,
                ));
            }
            targets.push(Assigned { column, part, location });
        }
        Ok(targets)
    }

    pub(super) fn target_column(
        &mut self,
        relation: &Relation,
        name: &str,
        location: Location,
    ) -> Result<usize> {
        if let Some(view) = self.scope().target_view.clone() {
            return self.view_column(&view, name, location);
        }
        relation.column_index(name).ok_or_else(|| {
            self.error(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" of relation \"{}\" does not exist", relation.name),
                location,
            )
        })
    }

    fn insert_source(
        &mut self,
        query: &mut Query,
        relation: &Arc<Relation>,
        columns: &[Assigned],
        insert: &ast::InsertStmt,
        source: &ast::SelectStmt,
    ) -> Result<()> {
        let plain_values = source.order_by.is_empty()
            && source.limit.is_none()
            && source.offset.is_none()
            && source.with.is_none();
        match &source.body {
            ast::SelectBody::Values(rows) if plain_values => {
                let rows = &*self.without_stars(rows)?;
                let place =
                    if rows.len() == 1 { ExprPlace::InsertTargets } else { ExprPlace::Values };
                let mut lists = Vec::with_capacity(rows.len());
                if let Some(row) = rows.iter().find(|row| row.len() != rows[0].len()) {
                    let location = row.first().map_or(Location::NONE, ast::Expr::leftmost);
                    return Err(self.error(
                        SqlState::SYNTAX_ERROR,
                        "VALUES lists must all be the same length",
                        location,
                    ));
                }
                for row in rows {
                    let extra = row.get(columns.len()).map(ast::Expr::leftmost);
                    self.check_insert_width(row, row.len(), columns.len(), insert, extra)?;
                    let values = self.assigned_values(relation, columns, row, place, insert)?;
                    if self.to_print {
                        lists.push(values);
                        continue;
                    }
                    let full = self.full_row(relation, columns, values)?;
                    lists.push(full.into_iter().map(|t| t.expr).collect::<Vec<Expr>>());
                }
                if self.to_print {
                    let values = match lists.len() {
                        1 => lists.remove(0),
                        _ => self.written_lists(query, lists),
                    };
                    query.assignments = self.written_columns(relation, columns, values);
                    return Ok(());
                }
                if lists.len() == 1 {
                    let names = relation.columns.iter().map(|c| c.name.clone());
                    let exprs = lists.remove(0).into_iter().zip(names);
                    query.targets = exprs.map(|(e, name)| Target::plain(e, name)).collect();
                    return Ok(());
                }
                let rte = self.values_rte(relation, lists);
                query.from = vec![FromItem::Rte(rte)];
                query.targets = self.all_columns_of(relation, rte);
                Ok(())
            }
            _ => self.insert_select(query, relation, columns, insert, source),
        }
    }

    /// As many values as columns, or fewer if the statement names no columns. `extra` is the place
    /// of the first value without a column. `row` has the values as written, if there are any.
    fn check_insert_width(
        &self,
        row: &[ast::Expr],
        given: usize,
        width: usize,
        insert: &ast::InsertStmt,
        extra: Option<Location>,
    ) -> Result<()> {
        if given > width {
            return Err(self.error(
                SqlState::SYNTAX_ERROR,
                "INSERT has more expressions than target columns",
                extra.unwrap_or_default(),
            ));
        }
        if given == width || insert.columns.is_empty() {
            return Ok(());
        }
        let error = self.error(
            SqlState::SYNTAX_ERROR,
            "INSERT has more target columns than expressions",
            insert.columns.get(given).map_or(Location::NONE, |c| c.location),
        );
        Err(match row {
            [ast::Expr { kind: ExprKind::Row { fields, .. }, .. }] if fields.len() == width => {
                error.hint(
                    "The insertion source is a row expression containing the same number of \
                     columns expected by the INSERT. Did you accidentally use extra parentheses?",
                )
            }
            _ => error,
        })
    }

    /// One VALUES row coerced to its columns; DEFAULT takes the column's default.
    fn assigned_values(
        &mut self,
        relation: &Arc<Relation>,
        columns: &[Assigned],
        row: &[ast::Expr],
        place: ExprPlace,
        insert: &ast::InsertStmt,
    ) -> Result<Vec<Expr>> {
        // An error in an expression itself comes before one of its coercion to the column.
        let bound = row.iter().map(|expr| match expr.kind {
            ExprKind::Default => Ok(None),
            _ => self.expr(expr, place).map(Some),
        });
        let bound = bound.collect::<Result<Vec<_>>>()?;
        let mut values = Vec::with_capacity(row.len());
        for ((expr, bound), target) in row.iter().zip(bound).zip(columns) {
            let column = &relation.columns[target.column];
            let Some(bound) = bound else {
                self.check_whole(target)?;
                values.push(self.column_default(relation, column)?);
                continue;
            };
            self.check_identity(column, insert)?;
            let assigned = self.assign_to(bound, column, target, expr.leftmost())?;
            values.push(match is_overridden(column, insert) && !self.to_print {
                true => self.column_default(relation, column)?,
                false => assigned,
            });
        }
        Ok(values)
    }

    /// An identity column GENERATED ALWAYS takes a value only with OVERRIDING, and a generated
    /// column takes none.
    fn check_identity(&self, column: &Column, insert: &ast::InsertStmt) -> Result<()> {
        if column.generated {
            return Err(Error::new(
                SqlState::GENERATED_ALWAYS,
                format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
            )
            .detail(format!("Column \"{}\" is a generated column.", column.name)));
        }
        if column.identity == Some('a') && insert.overriding == ast::Overriding::None {
            return Err(Error::new(
                SqlState::GENERATED_ALWAYS,
                format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
            )
            .detail(format!(
                "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                column.name
            ))
            .hint("Use OVERRIDING SYSTEM VALUE to override."));
        }
        Ok(())
    }

    pub(super) fn assign(
        &mut self,
        value: Expr,
        column: &Column,
        location: Location,
    ) -> Result<Expr> {
        let to = TypeRef::of(column);
        self.coerce_assignment(value, to, &column.name, location, ExprPlace::InsertTargets)
    }

    /// A full row in column order: given values, defaults for the rest.
    fn full_row(
        &mut self,
        relation: &Arc<Relation>,
        columns: &[Assigned],
        values: Vec<Expr>,
    ) -> Result<Vec<Target>> {
        let mut given: Vec<Option<Expr>> = vec![None; relation.columns.len()];
        for (target, value) in columns.iter().zip(values) {
            let column = &relation.columns[target.column];
            let ty = TypeRef::of(column);
            let before = given[target.column].take();
            given[target.column] = Some(match target.part.clone() {
                None => value,
                Some(part) => part.set(before.unwrap_or(Expr::Const(Datum::Null, ty)), ty, value),
            });
        }
        let mut row = Vec::with_capacity(given.len());
        for (column, value) in relation.columns.iter().zip(given) {
            let expr = match value {
                Some(value) => value,
                None => self.column_default(relation, column)?,
            };
            row.push(Target::plain(expr, column.name.clone()));
        }
        Ok(row)
    }

    /// The bound DEFAULT of a column, or NULL.
    pub(crate) fn column_default(&mut self, relation: &Relation, column: &Column) -> Result<Expr> {
        let ty = TypeRef::of(column);
        if self.to_print {
            return Ok(Expr::Default(ty));
        }
        // What is generated is computed when the rest of the row is known.
        let has_default = !column.dropped && !column.generated;
        let of_domain = self.domain_default(column.domain);
        let text = column.default.as_ref().or(of_domain.as_ref()).filter(|_| has_default);
        let Some(text) = text else { return self.null_of(column, ty) };
        let parsed = super::parse_expression(text).map_err(|e| {
            e.context(format!("default of column \"{}\" of \"{}\"", column.name, relation.name))
        })?;
        let ctx = super::BindContext { source: text, ..*self.ctx };
        super::bind_assigned_expr(&ctx, None, &parsed, ExprPlace::ColumnDefault, ty, &column.name)
    }

    fn values_rte(&mut self, relation: &Relation, lists: Vec<Vec<Expr>>) -> usize {
        let columns = relation
            .columns
            .iter()
            .map(|c| RteColumn { name: c.name.clone(), ty: TypeRef::of(c), dropped: false })
            .collect();
        let alias = "*VALUES*".into();
        self.push_rte(Rte {
            alias,
            has_alias: false,
            kind: RteKind::Values(lists),
            inherit: false,
            columns,
        })
    }

    pub(super) fn all_columns_of(&mut self, relation: &Relation, rte: usize) -> Vec<Target> {
        let column = |(i, c): (usize, &Column)| {
            let ty = TypeRef::of(c);
            Target::plain(Expr::var(rte, i, ty), c.name.clone())
        };
        relation.columns.iter().enumerate().map(column).collect()
    }

    fn insert_select(
        &mut self,
        query: &mut Query,
        relation: &Arc<Relation>,
        columns: &[Assigned],
        insert: &ast::InsertStmt,
        source: &ast::SelectStmt,
    ) -> Result<()> {
        let mut select = self.select(source)?;
        let visible: Vec<usize> =
            (0..select.targets.len()).filter(|i| !select.targets[*i].hidden).collect();
        let written: Vec<ast::Expr> = match &source.body {
            ast::SelectBody::Select(core) => core.targets.iter().map(|t| t.value.clone()).collect(),
            _ => Vec::new(),
        };
        let places: Vec<Location> = visible.iter().map(|i| select.targets[*i].at.0).collect();
        let extra = places.get(columns.len()).copied();
        self.check_insert_width(&written, visible.len(), columns.len(), insert, extra)?;
        // Untyped literals take the column's type directly.
        for (target, assigned) in visible.iter().zip(columns) {
            let column = &relation.columns[assigned.column];
            let target = &mut select.targets[*target];
            if target.expr.ty().oid == oid::UNKNOWN {
                let taken = std::mem::replace(&mut target.expr, Expr::Default(TypeRef::plain(0)));
                target.expr = self.assign_to(taken, column, assigned, target.at.0)?;
            }
        }
        let kind = RteKind::Subquery { query: Box::new(select), lateral: false, view: None };
        let alias = ast::Alias { name: "*SELECT*".into(), columns: Vec::new() };
        let rte = self.add_derived_rte(&alias, false, kind, Vec::new())?;
        query.from = vec![FromItem::Rte(rte)];
        let mut values = Vec::with_capacity(columns.len());
        for (i, target) in columns.iter().enumerate().take(visible.len()) {
            let column = &relation.columns[target.column];
            self.check_identity(column, insert)?;
            let ty = self.scope().rtes[rte].columns[i].ty;
            let assigned = self.assign_to(Expr::var(rte, i, ty), column, target, places[i])?;
            values.push(match is_overridden(column, insert) && !self.to_print {
                true => self.column_default(relation, column)?,
                false => assigned,
            });
        }
        match self.to_print {
            true => query.assignments = self.written_columns(relation, columns, values),
            false => query.targets = self.full_row(relation, columns, values)?,
        }
        Ok(())
    }

    /// UPDATE.
    pub(crate) fn update(&mut self, update: &ast::UpdateStmt) -> Result<Query> {
        let parts = ChangeParts {
            command: Command::Update,
            with: update.with.as_ref(),
            relation: &update.relation,
            from: &update.from,
            set: &update.set,
            where_clause: update.where_clause.as_ref(),
            returning: update.returning.as_ref(),
        };
        self.push_scope();
        let bound = self.change_rows(&parts);
        self.finish_dml(bound)
    }

    /// DELETE.
    pub(crate) fn delete(&mut self, delete: &ast::DeleteStmt) -> Result<Query> {
        let parts = ChangeParts {
            command: Command::Delete,
            with: delete.with.as_ref(),
            relation: &delete.relation,
            from: &delete.using,
            set: &[],
            where_clause: delete.where_clause.as_ref(),
            returning: delete.returning.as_ref(),
        };
        self.push_scope();
        let bound = self.change_rows(&parts);
        self.finish_dml(bound)
    }

    /// UPDATE and DELETE. The target joins the FROM (USING) items, and its rows that WHERE keeps
    /// are changed.
    fn change_rows(&mut self, parts: &ChangeParts<'_>) -> Result<Query> {
        if let Some(with) = parts.with {
            self.with_clause(with)?;
        }
        let action = match parts.command {
            Command::Update => ViewAction::Update,
            _ => ViewAction::Delete,
        };
        let mut query = Query::new(parts.command);
        let relation = self.target_table(parts.relation, action, &mut query)?;
        self.show_target(&query);
        let scope = self.scope();
        let read = scope.instead_rows.or(query.result_relation);
        scope.target = read;
        for name in &mut scope.namespace {
            (name.lateral_only, name.lateral_ok) = (true, false);
        }
        query.from = self.bind_from(parts.from)?;
        self.scope().target = None;
        query.from.splice(0..0, read.map(FromItem::Rte));
        let (assignments, sources) = self.set_clauses(&relation, parts.set)?;
        query.assignments = assignments;
        self.assign_over_rows_read(&mut query);
        query.from.extend(sources.into_iter().map(FromItem::Rte));
        self.changed_rows(&mut query, parts.where_clause)?;
        if let Some(returning) = parts.returning {
            self.show_returned_rows(&query);
            self.returning(&mut query, &relation, returning)?;
        }
        Ok(query)
    }

    /// WHERE, besides the conditions of a view on its rows.
    fn changed_rows(&mut self, query: &mut Query, condition: Option<&ast::Expr>) -> Result<()> {
        let Some(condition) = condition else { return Ok(()) };
        if let ExprKind::CurrentOf(cursor) = &condition.kind {
            let scope = self.scope();
            if scope.target_view.is_some() || scope.instead_rows.is_some() {
                let message = "WHERE CURRENT OF on a view is not implemented";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            query.current_of = Some(self.cursor_name(cursor, condition.location)?);
            return Ok(());
        }
        let condition = self.condition(condition, "WHERE", ExprPlace::Where)?;
        query.filter = Some(match query.filter.take() {
            Some(of_view) => Expr::And(vec![of_view, condition]),
            None => condition,
        });
        Ok(())
    }
}

/// OVERRIDING USER VALUE: an identity column takes its sequence's value instead of a given one.
fn is_overridden(column: &Column, insert: &ast::InsertStmt) -> bool {
    insert.overriding == ast::Overriding::User && column.identity.is_some()
}
