//! FROM items and the namespaces they make (parse_clause.c, parse_relation.c).

use super::coerce::is_row;
use super::names::rte_column;
use super::row::out_columns;
use super::{BindContext, Binder, ExprPlace, NamespaceItem};
use crate::ast::other_database;
use crate::ast::{self, Alias, JoinCondition, Location, RangeVar};
use crate::expr::{CallSyntax, Expr, Place, TypeRef};
use crate::plan::RelationLock;
use crate::query::{FromItem, JoinKind, Rte, RteColumn, RteKind};
use std::sync::Arc;
use steppe_catalog::{
    DATABASE_NAME, Function, PG_CATALOG, RelKind, Relation, builtin, is_row_type,
};
use steppe_types::io::IoContext;
use steppe_types::{Error, Result, SqlState, oid};

/// The name of a join's entry without an alias.
pub(crate) const UNNAMED_JOIN: &str = "unnamed_join";

/// Splits `schema.name` as regclass input does: quoted parts keep their case.
pub(crate) fn parse_qualified_name(text: &str) -> Result<Vec<String>> {
    let invalid = || Error::new(SqlState::INVALID_NAME, "invalid name syntax");
    let mut parts = Vec::new();
    let mut chars = text.trim().chars().peekable();
    loop {
        let mut part = String::new();
        if chars.peek() == Some(&'"') {
            chars.next();
            loop {
                match chars.next().ok_or_else(invalid)? {
                    '"' if chars.peek() == Some(&'"') => {
                        chars.next();
                        part.push('"');
                    }
                    '"' => break,
                    c => part.push(c),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '$')) {
                part.extend(c.to_lowercase());
            }
        }
        if part.is_empty() {
            return Err(invalid());
        }
        parts.push(part);
        match chars.next() {
            None => return Ok(parts),
            Some('.') => {}
            Some(_) => return Err(invalid()),
        }
    }
}

fn of_other_session() -> Error {
    let message = "cannot access temporary tables of other sessions";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

impl Binder<'_> {
    /// FROM clause: each item with its visible columns.
    pub(crate) fn bind_from(&mut self, items: &[ast::FromItem]) -> Result<Vec<FromItem>> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            let (item, names) = self.bind_from_item(item)?;
            self.check_alias_conflicts(&names)?;
            // Items to the right see this one only if they are LATERAL.
            let names = names.into_iter().map(|n| NamespaceItem { lateral_only: true, ..n });
            self.scope().namespace.extend(names);
            bound.push(item);
        }
        for name in &mut self.scope().namespace {
            name.lateral_only = false;
            name.lateral_ok = true;
        }
        Ok(bound)
    }

    fn check_alias_conflicts(&mut self, names: &[NamespaceItem]) -> Result<()> {
        let scope = self.scope();
        for new in names.iter().filter(|n| n.relation_visible) {
            let alias = scope.rtes[new.rte].alias.clone();
            let clash =
                |old: &&NamespaceItem| old.relation_visible && scope.rtes[old.rte].alias == alias;
            if scope.namespace.iter().find(clash).is_some() {
                return Err(Error::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{alias}\" specified more than once"),
                ));
            }
        }
        Ok(())
    }

    fn bind_from_item(&mut self, item: &ast::FromItem) -> Result<(FromItem, Vec<NamespaceItem>)> {
        match item {
            ast::FromItem::Table(range_var) => {
                let rte = self.table(range_var)?;
                Ok((FromItem::Rte(rte), vec![namespace_item(rte)]))
            }
            ast::FromItem::Subquery(subselect) => {
                let rte = self.subquery(subselect)?;
                let visible = subselect.alias.is_some();
                let item = NamespaceItem { relation_visible: visible, ..namespace_item(rte) };
                Ok((FromItem::Rte(rte), vec![item]))
            }
            ast::FromItem::Function(function) => {
                let rte = self.range_function(function)?;
                Ok((FromItem::Rte(rte), vec![namespace_item(rte)]))
            }
            ast::FromItem::Join(join) => self.join(join),
        }
    }

    /// A table, view or CTE by name.
    fn table(&mut self, range_var: &RangeVar) -> Result<usize> {
        if range_var.schema.is_none()
            && let Some(rte) = self.cte_reference(range_var)?
        {
            return Ok(rte);
        }
        let relation = self.relation(range_var)?;
        match relation.kind {
            RelKind::View => self.view(&relation, range_var),
            RelKind::Composite => Err(self
                .error(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("cannot open relation \"{}\"", relation.name),
                    range_var.location,
                )
                .detail("This operation is not supported for composite types.")),
            RelKind::Index | RelKind::PartitionedIndex => Err(self
                .error(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("cannot open relation \"{}\"", relation.name),
                    range_var.location,
                )
                .detail("This operation is not supported for indexes.")),
            _ => self.add_relation_rte(relation, range_var.alias.as_ref(), range_var.inherit),
        }
    }

    /// A view is its query as a sub-select.
    pub(super) fn view(&mut self, view: &Arc<Relation>, range_var: &RangeVar) -> Result<usize> {
        let query = self.view_query(view)?;
        let default = Alias { name: view.name.to_string(), columns: Vec::new() };
        let mut alias = range_var.alias.clone().unwrap_or(default);
        if alias.columns.is_empty() {
            alias.columns = view.columns.iter().map(|c| c.name.to_string()).collect();
        }
        let (query, view) = (Box::new(query), Some(view.clone()));
        let kind = RteKind::Subquery { query, lateral: false, view };
        self.add_derived_rte(&alias, range_var.alias.is_some(), kind, Vec::new())
    }

    /// Binds a view's text on its own: the statement around it is invisible there, and so are the
    /// session's search path and settings.
    fn view_query(&mut self, view: &Relation) -> Result<crate::query::Query> {
        let text = view.view.as_deref().map_or("", String::as_str);
        let (select, io) = (super::view::stored_select(text)?, IoContext::default());
        let catalog = self.ctx.catalog;
        let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
        let mut binder = self.inside_view(view, RelationLock::AccessShare, &ctx)?;
        let mut query = binder.select(&select)?;
        binder.settle_unknown_targets(&mut query)?;
        // A sub-select of a lasting view may read one.
        let read = binder.mentioned.borrow();
        let mut read = read.iter().filter_map(|oid| catalog.relation(*oid));
        let path = self.ctx.search_path;
        if !self.reads_view() && read.any(|read| catalog.is_of_other_session(read, path)) {
            return Err(of_other_session());
        }
        Ok(query)
    }

    /// Finds a relation: 42P01 with its position.
    pub(crate) fn relation(&self, range_var: &RangeVar) -> Result<Arc<Relation>> {
        let parts = range_var.object_name();
        let found = self
            .lookup_relation_parts(parts.parts())
            .map_err(|e| e.at(self.position(range_var.location)))?;
        found.ok_or_else(|| {
            let error = self.error(
                SqlState::UNDEFINED_TABLE,
                format!("relation \"{parts}\" does not exist"),
                range_var.location,
            );
            match parts.parts() {
                [name] if self.scopes.iter().any(|s| s.later_queries.contains(name)) => error
                    .detail(format!(
                        "There is a WITH item named \"{name}\", but it cannot be referenced from \
                         this part of the query."
                    ))
                    .hint(
                        "Use WITH RECURSIVE, or re-order the WITH items to remove forward references.",
                    ),
                _ => error,
            }
        })
    }

    /// Looks a (qualified) name up along the search path.
    pub(crate) fn lookup_relation_parts(&self, parts: &[String]) -> Result<Option<Arc<Relation>>> {
        let found = self.relation_of_parts(parts)?;
        if let Some(relation) = &found {
            self.mentions(relation.oid);
        }
        Ok(found)
    }

    fn relation_of_parts(&self, parts: &[String]) -> Result<Option<Arc<Relation>>> {
        let (catalog, path) = (self.ctx.catalog, self.ctx.search_path);
        match parts {
            [name] => Ok(catalog.relation_in(None, name, path).cloned()),
            [database, _, _] if database != DATABASE_NAME => Err(other_database(&parts.join("."))),
            [schema, name] | [_, schema, name] => {
                let found = catalog.relation_in(Some(schema), name, path);
                // What reads a temporary table is temporary itself, so that the statement has been
                // asked about the view.
                let is_asked = !self.reads_view();
                if found.is_some_and(|f| is_asked && catalog.is_of_other_session(f, path)) {
                    return Err(of_other_session());
                }
                Ok(found.cloned())
            }
            _ => Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "improper qualified name (too many dotted names)",
            )),
        }
    }

    /// Adds a base relation to the range table, with its inheritance children or without.
    pub(crate) fn add_relation_rte(
        &mut self,
        relation: Arc<Relation>,
        alias: Option<&Alias>,
        inherit: bool,
    ) -> Result<usize> {
        let mut columns: Vec<RteColumn> = relation
            .columns
            .iter()
            .map(|c| RteColumn { name: c.name.clone(), ty: TypeRef::of(c), dropped: c.dropped })
            .collect();
        let name: Arc<str> = match alias {
            Some(alias) => alias.name.as_str().into(),
            None => relation.name.clone(),
        };
        if let Some(alias) = alias {
            apply_column_aliases(&mut columns, alias)?;
        }
        let kind = RteKind::Relation(relation);
        let has_alias = alias.is_some();
        Ok(self.push_rte(Rte { alias: name, has_alias, kind, inherit, columns }))
    }

    /// Adds an entry; its position is returned.
    pub(crate) fn push_rte(&mut self, rte: Rte) -> usize {
        let rtes = &mut self.scope().rtes;
        rtes.push(rte);
        rtes.len() - 1
    }

    /// Adds a sub-select, function … with an alias. Without `columns` they come from a query.
    pub(crate) fn add_derived_rte(
        &mut self,
        alias: &Alias,
        has_alias: bool,
        kind: RteKind,
        columns: Vec<RteColumn>,
    ) -> Result<usize> {
        let mut columns = match &kind {
            RteKind::Subquery { query, .. } => output_columns(query),
            _ => columns,
        };
        apply_column_aliases(&mut columns, alias)?;
        let alias = alias.name.as_str().into();
        Ok(self.push_rte(Rte { alias, has_alias, kind, inherit: false, columns }))
    }

    /// Makes an entry visible with all its columns.
    pub(crate) fn make_visible(&mut self, rte: usize) {
        let item = namespace_item(rte);
        self.scope().namespace.push(item);
    }

    fn subquery(&mut self, subselect: &ast::RangeSubselect) -> Result<usize> {
        let outer_active = self.scope().lateral_active;
        // A sub-select that is not LATERAL sees the outer levels but not its siblings.
        self.scope().lateral_active = subselect.lateral;
        let query = self.select(&subselect.query);
        self.scope().lateral_active = outer_active;
        let mut query = query?;
        self.settle_unknown_targets(&mut query)?;
        let unnamed = Alias { name: "unnamed_subquery".into(), columns: Vec::new() };
        let alias = subselect.alias.as_ref().unwrap_or(&unnamed);
        let kind =
            RteKind::Subquery { query: Box::new(query), lateral: subselect.lateral, view: None };
        self.add_derived_rte(alias, subselect.alias.is_some(), kind, Vec::new())
    }

    /// Functions in FROM are implicitly LATERAL.
    fn range_function(&mut self, function: &ast::RangeFunction) -> Result<usize> {
        let outer_active = std::mem::replace(&mut self.scope().lateral_active, true);
        let bound = self.range_function_calls(function);
        self.scope().lateral_active = outer_active;
        let (calls, mut columns) = bound?;
        if function.ordinality {
            columns.push(column("ordinality", oid::INT8));
        }
        let name = function
            .functions
            .first()
            .and_then(|f| f.func_call())
            .map_or_else(|| "function".to_string(), |c| c.name.name().to_string());
        let alias = match &function.alias {
            Some(alias) => alias.clone(),
            None => Alias { name, columns: Vec::new() },
        };
        // `FROM f() AS x` names a single scalar column x, too.
        let scalar = calls.len() == 1 && calls[0].1 == 1 && !function.ordinality;
        if scalar
            && function.alias.is_some()
            && alias.columns.is_empty()
            && columns[0].name.is_empty()
        {
            columns[0].name = alias.name.as_str().into();
        }
        for c in columns.iter_mut().filter(|c| c.name.is_empty()) {
            c.name = alias.name.as_str().into();
        }
        let kind = RteKind::Function { calls, ordinality: function.ordinality };
        self.add_derived_rte(&alias, function.alias.is_some(), kind, columns)
    }

    #[allow(clippy::type_complexity)]
    fn range_function_calls(
        &mut self,
        function: &ast::RangeFunction,
    ) -> Result<(Vec<(Expr, usize)>, Vec<RteColumn>)> {
        let (mut calls, mut columns) = (Vec::new(), Vec::new());
        let spread = spread_unnest(function);
        let items = spread.as_deref().unwrap_or(&function.functions);
        let is_single = function.functions.len() == 1 && spread.is_none();
        self.check_definitions(function, spread.is_some())?;
        for item in items {
            let definitions = match is_single && item.column_defs.is_empty() {
                true => &function.column_defs[..],
                false => &item.column_defs[..],
            };
            let call = self.expr(&item.call, ExprPlace::FromFunction)?;
            let before = columns.len();
            let proc = match &call {
                Expr::Func {
                    func,
                    syntax: CallSyntax::Function | CallSyntax::Defaulted(_),
                    ..
                } => Some(func),
                _ => None,
            };
            if let Some(first) = definitions.first() {
                self.check_defines(proc.map(|p| &**p), call.ty().oid, first.location)?;
                for definition in definitions {
                    let ty = self.type_name(&definition.type_name)?;
                    let name = definition.name.as_str().into();
                    columns.push(RteColumn { name, ty, dropped: false });
                }
                calls.push((call, columns.len() - before));
                continue;
            }
            match proc {
                Some(p) if p.out_columns().next().is_none() && is_row(call.ty().oid) => {
                    let ty = call.ty().oid;
                    if is_row_type(ty) && p.is_built_in() {
                        let what = "a table's rows from an array in FROM";
                        return Err(self.unsupported(what, item.call.location));
                    }
                    let Some(shape) = self.shape_of_type(ty) else {
                        let message = "a column definition list is required for functions \
                                       returning \"record\"";
                        let location = item.call.location;
                        return Err(self.error(SqlState::SYNTAX_ERROR, message, location));
                    };
                    let shown = shape.columns.into_iter();
                    columns.extend(shown.map(|(name, ty)| RteColumn { name, ty, dropped: false }));
                }
                Some(p) if p.out_columns().nth(1).is_some() => {
                    let args = match &call {
                        Expr::Func { args, .. } => &args[..],
                        _ => &[],
                    };
                    columns
                        .extend(out_columns(self.ctx.catalog, p, args).map(|(n, t)| column(n, t)));
                }
                Some(p) if let Some((name, _)) = p.out_columns().next() => {
                    columns.push(column(name, call.ty().oid));
                }
                Some(p) => {
                    self.check_returns_values(p, call.ty().oid, item.call.location)?;
                    // The column is named after the function unless it is the only one and has
                    // an alias.
                    let is_renamed = function.alias.is_some() && items.len() == 1;
                    let name = if is_renamed { "" } else { &p.name };
                    columns.push(RteColumn { ty: call.ty(), ..column(name, 0) });
                }
                None => columns.push(RteColumn { ty: call.ty(), ..column("", 0) }),
            }
            calls.push((call, columns.len() - before));
        }
        Ok((calls, columns))
    }

    /// 42804 for a function whose result is no value, as that of a trigger's function
    /// (addRangeTableEntryForFunction; TYPEFUNC_OTHER).
    fn check_returns_values(
        &self,
        function: &Function,
        ty: steppe_types::Oid,
        location: ast::Location,
    ) -> Result<()> {
        let is_pseudo = builtin::ty(ty).is_some_and(|ty| ty.kind == b'p');
        if !is_pseudo || [oid::VOID, oid::CSTRING, oid::RECORD, oid::UNKNOWN].contains(&ty) {
            return Ok(());
        }
        let (name, ty) = (&function.name, self.format_type(ty, -1));
        let message = format!("function \"{name}\" in FROM has unsupported return type {ty}");
        Err(self.error(SqlState::DATATYPE_MISMATCH, message, location))
    }

    /// 42601 for a column definition list that does not belong to exactly one function.
    fn check_definitions(&self, function: &ast::RangeFunction, is_unnest: bool) -> Result<()> {
        let Some(first) = function.column_defs.first() else { return Ok(()) };
        let refused = |message: &str, hint: &str| {
            Err(self.error(SqlState::SYNTAX_ERROR, message, first.location).hint(hint))
        };
        if is_unnest {
            return refused(
                "UNNEST() with multiple arguments cannot have a column definition list",
                "Use separate UNNEST() calls inside ROWS FROM(), and attach a column definition \
                 list to each one.",
            );
        }
        if function.functions.len() > 1 {
            return refused(
                "ROWS FROM() with multiple functions cannot have a column definition list",
                "Put a separate column definition list for each function inside ROWS FROM().",
            );
        }
        if function.ordinality {
            return refused(
                "WITH ORDINALITY cannot be used with a column definition list",
                "Put the column definition list inside ROWS FROM().",
            );
        }
        Ok(())
    }

    /// 42601 for a column definition list of a function whose result type already has columns.
    fn check_defines(
        &self,
        function: Option<&Function>,
        ty: steppe_types::Oid,
        location: ast::Location,
    ) -> Result<()> {
        let has_out = function.is_some_and(|f| f.out_columns().next().is_some());
        let message = match (has_out && is_row(ty), is_row_type(ty), ty == oid::RECORD) {
            (true, ..) => {
                "a column definition list is redundant for a function with OUT parameters"
            }
            (_, true, _) => {
                "a column definition list is redundant for a function returning a named composite \
                 type"
            }
            (_, _, true) => return Ok(()),
            _ => "a column definition list is only allowed for functions returning \"record\"",
        };
        Err(self.error(SqlState::SYNTAX_ERROR, message, location))
    }

    fn join(&mut self, join: &ast::JoinExpr) -> Result<(FromItem, Vec<NamespaceItem>)> {
        const OUTER: Option<&str> = Some("an outer join");
        let (of_left, of_right) = match join.kind {
            ast::JoinKind::Inner => (None, None),
            ast::JoinKind::Left => (None, OUTER),
            ast::JoinKind::Right => (OUTER, None),
            ast::JoinKind::Full => (OUTER, OUTER),
        };
        let (left, mut left_names) = self.within(of_left, |b| b.bind_from_item(&join.left))?;
        // The right side may refer to the left one laterally (not under RIGHT and FULL).
        let depth = self.scope().namespace.len();
        let lateral_ok = matches!(join.kind, ast::JoinKind::Inner | ast::JoinKind::Left);
        let exposed = left_names
            .iter()
            .map(|n| NamespaceItem { lateral_only: true, lateral_ok, ..n.clone() })
            .collect::<Vec<_>>();
        self.scope().namespace.extend(exposed);
        let right = self.within(of_right, |b| b.bind_from_item(&join.right));
        self.scope().namespace.truncate(depth);
        let (right, mut right_names) = right?;
        self.check_join_aliases(&left_names, &right_names)?;

        let kind = match join.kind {
            ast::JoinKind::Inner => JoinKind::Inner,
            ast::JoinKind::Left => JoinKind::Left,
            ast::JoinKind::Right => JoinKind::Right,
            ast::JoinKind::Full => JoinKind::Full,
        };
        let using = match &join.condition {
            JoinCondition::Using { columns, .. } => Some(columns.clone()),
            JoinCondition::Natural => Some(self.common_columns(&left_names, &right_names)),
            _ => None,
        };
        if let Some(columns) = using {
            let sides = (left_names.as_mut_slice(), right_names.as_mut_slice());
            let (on, merged) = self.using_join(kind, sides, &columns)?;
            let using = merged.iter().map(|(name, _)| name.clone()).collect();
            let (left, right) = (Box::new(left), Box::new(right));
            let (entry, names) = self.finish_join(join, left_names, right_names, Some(merged))?;
            return Ok((FromItem::Join { kind, left, right, on, using, entry }, names));
        }
        let on = match &join.condition {
            JoinCondition::On(condition) => {
                // The condition sees the join's own tables only.
                let both = left_names.iter().chain(&right_names).cloned().collect();
                let outer = std::mem::replace(&mut self.scope().namespace, both);
                let bound = self.condition(condition, "JOIN/ON", ExprPlace::JoinOn);
                self.scope().namespace = outer;
                Some(bound?)
            }
            _ => None,
        };
        let (left, right) = (Box::new(left), Box::new(right));
        let (entry, names) = self.finish_join(join, left_names, right_names, None)?;
        Ok((FromItem::Join { kind, left, right, on, using: Vec::new(), entry }, names))
    }

    fn check_join_aliases(
        &mut self,
        left: &[NamespaceItem],
        right: &[NamespaceItem],
    ) -> Result<()> {
        let rtes = &self.scope().rtes;
        let visible = |n: &&NamespaceItem| n.relation_visible;
        for l in left.iter().filter(visible) {
            if right.iter().filter(visible).any(|r| rtes[r.rte].alias == rtes[l.rte].alias) {
                return Err(Error::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{}\" specified more than once", rtes[l.rte].alias),
                ));
            }
        }
        Ok(())
    }

    /// Adds the join's own range-table entry where it has an alias or merged columns. Returns the
    /// visible columns.
    fn finish_join(
        &mut self,
        join: &ast::JoinExpr,
        left: Vec<NamespaceItem>,
        right: Vec<NamespaceItem>,
        merged: Option<Vec<(Arc<str>, Expr)>>,
    ) -> Result<(Option<usize>, Vec<NamespaceItem>)> {
        let filled = |side: &[NamespaceItem]| side.iter().map(|n| n.rte).collect::<Vec<_>>();
        if matches!(join.kind, ast::JoinKind::Right | ast::JoinKind::Full) {
            self.scope().nullable.extend(filled(&left));
        }
        if matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Full) {
            self.scope().nullable.extend(filled(&right));
        }
        let joined = |name| NamespaceItem { joined: true, ..name };
        let mut names: Vec<NamespaceItem> = left.into_iter().chain(right).map(joined).collect();
        if let Some(alias) = &join.alias {
            let mut columns: Vec<(Arc<str>, Expr)> = merged.unwrap_or_default();
            for name in &names {
                columns.extend(self.visible_columns(name, Place::NONE));
            }
            let rte = self.join_rte(alias, true, columns)?;
            return Ok((Some(rte), vec![namespace_item(rte)]));
        }
        let Some(merged) = merged else { return Ok((None, names)) };
        let own_name = match &join.condition {
            JoinCondition::Using { alias, .. } => alias.as_deref(),
            _ => None,
        };
        let name = own_name.unwrap_or(UNNAMED_JOIN).to_owned();
        let rte = self.join_rte(&Alias { name, columns: Vec::new() }, false, merged)?;
        let relation_visible = own_name.is_some();
        // Merged columns come first in `*` and hide the inputs' own. `USING … AS name` names
        // just them.
        let merged = NamespaceItem { relation_visible, ..namespace_item(rte) };
        self.check_join_aliases(std::slice::from_ref(&merged), &names)?;
        names.insert(0, merged);
        Ok((Some(rte), names))
    }

    fn join_rte(
        &mut self,
        alias: &Alias,
        has_alias: bool,
        merged: Vec<(Arc<str>, Expr)>,
    ) -> Result<usize> {
        let columns: Vec<RteColumn> = merged
            .iter()
            .map(|(name, e)| RteColumn { name: name.clone(), ty: e.ty(), dropped: false })
            .collect();
        let kind = RteKind::Join { columns: merged.into_iter().map(|(_, e)| e).collect() };
        self.add_derived_rte(alias, has_alias, kind, columns)
    }

    /// The columns of an item that unqualified names and `*` see.
    pub(crate) fn visible_columns(
        &mut self,
        item: &NamespaceItem,
        at: Place,
    ) -> Vec<(Arc<str>, Expr)> {
        if !item.columns_visible {
            return Vec::new();
        }
        let scope = self.scopes.len() - 1;
        let rte = &self.scopes[scope].rtes[item.rte];
        let shown = rte.columns.len() - self.columns_not_in_star(scope, rte);
        let visible = |(i, c): &(usize, &RteColumn)| !c.dropped && !item.hidden_columns.contains(i);
        rte.columns[..shown]
            .iter()
            .enumerate()
            .filter(visible)
            .map(|(i, c)| (c.name.clone(), rte_column(rte, item.rte, i, 0, at)))
            .collect()
    }

    /// Names that both sides of a NATURAL join have.
    fn common_columns(&mut self, left: &[NamespaceItem], right: &[NamespaceItem]) -> Vec<String> {
        let mut names = |items: &[NamespaceItem]| -> Vec<Arc<str>> {
            let columns = items.iter().flat_map(|i| self.visible_columns(i, Place::NONE));
            columns.map(|(n, _)| n).collect()
        };
        let (left, right) = (names(left), names(right));
        left.iter().filter(|n| right.contains(n)).map(|n| n.to_string()).collect()
    }

    /// The condition and the merged columns of USING; the inputs' columns are hidden.
    #[allow(clippy::type_complexity)]
    fn using_join(
        &mut self,
        kind: JoinKind,
        (left, right): (&mut [NamespaceItem], &mut [NamespaceItem]),
        columns: &[String],
    ) -> Result<(Option<Expr>, Vec<(Arc<str>, Expr)>)> {
        let (mut conditions, mut merged) = (Vec::new(), Vec::new());
        for name in columns {
            let l = self.using_column(left, name, "left")?;
            let r = self.using_column(right, name, "right")?;
            let equal = ast::ObjectName::from("=");
            let condition = self.operator(&equal, Some(l.clone()), r.clone(), Location::NONE)?;
            conditions.push(self.coerce_boolean(condition, "JOIN/USING", Location::NONE)?);
            let mut both = [l, r];
            let ty = self.coerce_common(&mut both, "JOIN/USING", &[])?;
            let [l, r] = both;
            let is_column = |e: &Expr| matches!(e, Expr::Var { .. });
            let value = match kind {
                // The column has the common type, without a modifier that only one side has.
                JoinKind::Right if r.ty() != ty => {
                    Expr::Relabel { arg: Box::new(r), ty, implicit: true }
                }
                JoinKind::Right => r,
                // Either one will do: that which no cast is around.
                JoinKind::Inner if !is_column(&l) && is_column(&r) => r,
                JoinKind::Full => Expr::Coalesce { args: vec![l, r], ty },
                _ if l.ty() != ty => Expr::Relabel { arg: Box::new(l), ty, implicit: true },
                _ => l,
            };
            merged.push((Arc::from(name.as_str()), value));
        }
        let on = match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Expr::And(conditions)),
        };
        Ok((on, merged))
    }

    fn using_column(
        &mut self,
        items: &mut [NamespaceItem],
        name: &str,
        side: &str,
    ) -> Result<Expr> {
        let mut found: Option<(usize, usize)> = None;
        for (at, item) in items.iter().enumerate().filter(|(_, i)| i.columns_visible) {
            let columns = &self.scope().rtes[item.rte].columns;
            let position = columns.iter().enumerate().position(|(i, c)| {
                !c.dropped && &*c.name == name && !item.hidden_columns.contains(&i)
            });
            let Some(position) = position else { continue };
            if found.is_some() {
                return Err(Error::new(
                    SqlState::AMBIGUOUS_COLUMN,
                    format!("common column name \"{name}\" appears more than once in {side} table"),
                ));
            }
            found = Some((at, position));
        }
        let Some((at, position)) = found else {
            return Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!(
                    "column \"{name}\" specified in USING clause does not exist in {side} table"
                ),
            ));
        };
        items[at].hidden_columns.push(position);
        let rte = items[at].rte;
        Ok(rte_column(&self.scope().rtes[rte], rte, position, 0, Place::NONE))
    }
}

fn apply_column_aliases(columns: &mut [RteColumn], alias: &Alias) -> Result<()> {
    let live = columns.iter().filter(|c| !c.dropped).count();
    if alias.columns.len() > live {
        return Err(Error::new(
            SqlState::INVALID_COLUMN_REFERENCE,
            format!(
                "table \"{}\" has {live} columns available but {} columns specified",
                alias.name,
                alias.columns.len()
            ),
        ));
    }
    let live = columns.iter_mut().filter(|c| !c.dropped);
    for (column, name) in live.zip(&alias.columns) {
        column.name = name.as_str().into();
    }
    Ok(())
}

fn namespace_item(rte: usize) -> NamespaceItem {
    NamespaceItem {
        rte,
        relation_visible: true,
        columns_visible: true,
        lateral_only: false,
        lateral_ok: true,
        joined: false,
        hidden_columns: Vec::new(),
    }
}

fn column(name: &str, ty: steppe_types::Oid) -> RteColumn {
    RteColumn { name: name.into(), ty: TypeRef::plain(ty), dropped: false }
}

/// The visible output columns of a query.
pub(crate) fn output_columns(query: &crate::query::Query) -> Vec<RteColumn> {
    query
        .output()
        .iter()
        .filter(|t| !t.hidden)
        .map(|t| RteColumn { name: t.name.clone(), ty: t.expr.ty(), dropped: false })
        .collect()
}

/// `unnest(a, b, …)` in FROM is short for one call for each array, side by side.
fn spread_unnest(function: &ast::RangeFunction) -> Option<Vec<ast::RangeFunctionItem>> {
    let is_spread = |item: &ast::RangeFunctionItem| {
        item.column_defs.is_empty()
            && item.func_call().is_some_and(|call| {
                let plain = !call.star && !call.distinct && !call.variadic && !call.within_group;
                let bare = call.order_by.is_empty() && call.filter.is_none() && call.over.is_none();
                let name = &call.name;
                name.schema().is_none()
                    && name.name() == "unnest"
                    && call.args.len() > 1
                    && plain
                    && bare
            })
    };
    if !function.functions.iter().any(is_spread) {
        return None;
    }
    let mut items = Vec::new();
    for item in &function.functions {
        match item.func_call().filter(|_| is_spread(item)) {
            None => items.push(item.clone()),
            Some(call) => items.extend(call.args.iter().map(|arg| {
                let call = ast::FuncCall { args: vec![arg.clone()], ..call.clone() };
                let kind = ast::ExprKind::FuncCall(Box::new(call));
                ast::RangeFunctionItem {
                    call: ast::Expr { kind, location: item.call.location },
                    column_defs: Vec::new(),
                }
            })),
        }
    }
    Some(items)
}
