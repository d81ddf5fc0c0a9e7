//! Column look-up (parse_relation.c, transformColumnRef in parse_expr.c).
//!
//! The binder searches a name level by level, innermost first. On a level, it searches an
//! unqualified name in every item whose columns are visible, and must find it once. A qualified
//! name names its item first. Items that only LATERAL may see are passed over unless LATERAL is in
//! force. If the name is not found, the error explains which item is out of reach
//! ([`super::misspelt`]).

use super::returning::if_version;
use super::{Binder, ExprPlace, NamespaceItem};
use crate::ast::{self, Location};
use crate::expr::{Expr, Place, TypeRef};
use crate::plan::ROW_MARK;
use crate::query::{Rte, RteKind};
use std::sync::Arc;
use steppe_catalog::{Relation, row_type_of};
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// System columns with their attribute numbers and types.
pub(crate) const SYSTEM_COLUMNS: [(&str, i32, steppe_types::Oid); 6] = [
    ("ctid", -1, oid::TID),
    ("xmin", -2, oid::XID),
    ("cmin", -3, oid::CID),
    ("xmax", -4, oid::XID),
    ("cmax", -5, oid::CID),
    ("tableoid", -6, oid::OID),
];

/// The attribute number of a system column.
fn system_column(name: &str) -> Option<i32> {
    SYSTEM_COLUMNS.iter().find(|(n, ..)| *n == name).map(|(_, number, _)| *number)
}

/// An item of a query level and the level's distance from the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Query levels out.
    pub(crate) levels: usize,
    /// Range-table entry there.
    pub(crate) rte: usize,
}

impl Binder<'_> {
    /// Resolves a column reference: `c`, `t.c`, `s.t.c`, or a whole row `t`.
    pub(crate) fn column_ref(
        &mut self,
        column: &ast::ColumnRef,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let refused = match place {
            ExprPlace::ColumnDefault => Some("DEFAULT"),
            ExprPlace::PartitionBound => Some("partition bound"),
            _ => None,
        };
        if let Some(what) = refused {
            return Err(self.error(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot use column reference in {what} expression"),
                location,
            ));
        }
        if let Some(variable) = self.variable_before(column, location)? {
            return Ok(variable);
        }
        let found = self.column_or_row(column, location)?;
        match found {
            Some(found) => self.check_no_variable(column, location).map(|()| found),
            None => match self.variable_after(column, location)? {
                Some(variable) => Ok(variable),
                None => Err(self.no_column(column, location)),
            },
        }
    }

    /// The column or the whole row that a column reference means.
    fn column_or_row(&self, column: &ast::ColumnRef, location: Location) -> Result<Option<Expr>> {
        let whole_row = |schema: Option<&str>, table: &str| {
            let found = self.find_relation(schema, table, location)?;
            Ok(found.map(|found| self.row_value(found, Place(location))))
        };
        match column.parts.as_slice() {
            [rest @ .., table] if column.star => whole_row(rest.last().map(String::as_str), table),
            [name] => match self.unqualified(name, location)? {
                Some(found) => Ok(Some(found)),
                None => whole_row(None, name),
            },
            [table, name] => self.qualified(None, table, name, location),
            [schema, table, name] => self.qualified(Some(schema), table, name, location),
            [_, schema, table, name] => self.qualified(Some(schema), table, name, location),
            _ => Ok(None),
        }
    }

    /// The error for a column reference that means nothing.
    fn no_column(&self, column: &ast::ColumnRef, location: Location) -> Error {
        let missing = |schema: Option<&str>, table: &str, name: &str| match self
            .find_relation(schema, table, location)
        {
            Ok(Some(_)) => self.missing_column(Some(table), name, location),
            Ok(None) => self.missing_from(schema, table, location),
            Err(error) => error,
        };
        match column.parts.as_slice() {
            [rest @ .., table] if column.star => {
                self.missing_from(rest.last().map(String::as_str), table, location)
            }
            [name] => self.missing_column(None, name, location),
            [table, name] => missing(None, table, name),
            [schema, table, name] | [_, schema, table, name] => missing(Some(schema), table, name),
            parts => self.error(
                SqlState::SYNTAX_ERROR,
                format!(
                    "improper qualified name (too many dotted names): {}",
                    ast::ObjectName(parts.to_vec())
                ),
                location,
            ),
        }
    }

    /// An unqualified name, innermost level first. If it is ambiguous, 42702.
    pub(crate) fn unqualified(&self, name: &str, location: Location) -> Result<Option<Expr>> {
        for levels in 0..self.scopes.len() {
            let found = self.unqualified_at(levels, name, location)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// An unqualified name on one query level.
    pub(crate) fn unqualified_at(
        &self,
        levels: usize,
        name: &str,
        location: Location,
    ) -> Result<Option<Expr>> {
        let scope = &self.scopes[self.scopes.len() - 1 - levels];
        let mut found: Option<(&NamespaceItem, i32)> = None;
        for item in &scope.namespace {
            if !item.columns_visible || (item.lateral_only && !scope.lateral_active) {
                continue;
            }
            let rte = &scope.rtes[item.rte];
            let Some(column) = self.unqualified_in(rte, item, name, location)? else { continue };
            if found.is_some() {
                return Err(self.ambiguous(name, location));
            }
            found = Some((item, column));
        }
        let Some((item, column)) = found else { return Ok(None) };
        self.check_lateral(levels, item, location)?;
        Ok(Some(self.var(Found { levels, rte: item.rte }, column, location)))
    }

    /// The position of a column in one item, as unqualified names see it.
    fn unqualified_in(
        &self,
        rte: &Rte,
        item: &NamespaceItem,
        name: &str,
        location: Location,
    ) -> Result<Option<i32>> {
        let mut found = None;
        for (i, column) in rte.columns.iter().enumerate() {
            if column.dropped || &*column.name != name || item.hidden_columns.contains(&i) {
                continue;
            }
            if found.is_some() {
                return Err(self.ambiguous(name, location));
            }
            found = Some(i as i32);
        }
        let is_table = matches!(rte.kind, RteKind::Relation(_)) && !item.joined;
        Ok(found.or_else(|| system_column(name).filter(|_| is_table)))
    }

    fn ambiguous(&self, name: &str, location: Location) -> Error {
        self.error(
            SqlState::AMBIGUOUS_COLUMN,
            format!("column reference \"{name}\" is ambiguous"),
            location,
        )
    }

    /// Finds a visible relation by alias.
    pub(crate) fn find_relation(
        &self,
        schema: Option<&str>,
        alias: &str,
        location: Location,
    ) -> Result<Option<Found>> {
        for levels in 0..self.scopes.len() {
            let scope = &self.scopes[self.scopes.len() - 1 - levels];
            let matches = |item: &&NamespaceItem| {
                let rte = &scope.rtes[item.rte];
                item.relation_visible
                    && (!item.lateral_only || scope.lateral_active)
                    && &*rte.alias == alias
                    && self.in_schema(rte, schema)
            };
            let mut matching = scope.namespace.iter().filter(matches);
            let Some(item) = matching.next() else { continue };
            if matching.next().is_some() {
                return Err(self.error(
                    SqlState(*b"42P09"),
                    format!("table reference \"{alias}\" is ambiguous"),
                    location,
                ));
            }
            self.check_lateral(levels, item, location)?;
            return Ok(Some(Found { levels, rte: item.rte }));
        }
        Ok(None)
    }

    /// Refuses a LATERAL reference from the wrong side of a join, or from FROM to the table that
    /// the statement changes (check_lateral_ref_ok).
    fn check_lateral(&self, levels: usize, item: &NamespaceItem, location: Location) -> Result<()> {
        if !item.lateral_only || item.lateral_ok {
            return Ok(());
        }
        let scope = &self.scopes[self.scopes.len() - 1 - levels];
        let alias = &scope.rtes[item.rte].alias;
        let error = self.error(
            SqlState::INVALID_COLUMN_REFERENCE,
            format!("invalid reference to FROM-clause entry for table \"{alias}\""),
            location,
        );
        Err(match scope.target {
            Some(target) if target == item.rte => error.hint(format!(
                "There is an entry for table \"{alias}\", but it cannot be referenced from this \
                 part of the query."
            )),
            _ => error
                .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference."),
        })
    }

    fn in_schema(&self, rte: &Rte, schema: Option<&str>) -> bool {
        let Some(schema) = schema else { return true };
        match &rte.kind {
            RteKind::Relation(relation) | RteKind::Subquery { view: Some(relation), .. }
                if !rte.has_alias =>
            {
                self.ctx.catalog.schema(relation.schema).is_some_and(|s| &*s.name == schema)
            }
            _ => false,
        }
    }

    /// `table.name`; `None` if there is no such table, or no such column of it.
    fn qualified(
        &self,
        schema: Option<&str>,
        table: &str,
        name: &str,
        location: Location,
    ) -> Result<Option<Expr>> {
        match self.find_relation(schema, table, location)? {
            Some(found) => self.column_of(found, name, location),
            None => Ok(None),
        }
    }

    /// A column of an entry that was found by name.
    pub(crate) fn column_of(
        &self,
        found: Found,
        name: &str,
        location: Location,
    ) -> Result<Option<Expr>> {
        let entry = self.entry(found);
        let mut matching =
            entry.columns.iter().enumerate().filter(|(_, c)| !c.dropped && &*c.name == name);
        if let Some((i, _)) = matching.next() {
            if matching.next().is_some() {
                return Err(self.ambiguous(name, location));
            }
            return Ok(Some(self.var(found, i as i32, location)));
        }
        if self.has_system_columns(found)
            && let Some(number) = system_column(name)
        {
            return Ok(Some(self.var(found, number, location)));
        }
        Ok(None)
    }

    /// Whether an entry is of rows that are in a table.
    pub(crate) fn has_system_columns(&self, found: Found) -> bool {
        let excluded = self.scopes[self.scopes.len() - 1 - found.levels].excluded;
        matches!(self.entry(found).kind, RteKind::Relation(_)) && excluded != Some(found.rte)
    }

    /// A range-table entry some levels out.
    pub(crate) fn entry(&self, found: Found) -> &Rte {
        &self.scopes[self.scopes.len() - 1 - found.levels].rtes[found.rte]
    }

    /// A reference to a column of an entry some levels out.
    fn var(&self, found: Found, column: i32, location: Location) -> Expr {
        let Found { levels, rte } = found;
        let at = Place(location);
        match usize::try_from(column) {
            Ok(column) => rte_column(self.entry(found), rte, column, levels, at),
            Err(_) => {
                let named = SYSTEM_COLUMNS.iter().find(|(_, number, _)| *number == column);
                let ty = TypeRef::plain(named.map_or(oid::OID, |(.., ty)| *ty));
                Expr::Var { rte, column, levels_up: levels, ty, at }
            }
        }
    }

    /// A reference to a whole row. It is NULL for a missing version of it, and where an outer join
    /// has no row.
    fn row_value(&self, found: Found, at: Place) -> Expr {
        let row = self.whole_row(found, at);
        let Found { levels, rte } = found;
        let scope = &self.scopes[self.scopes.len() - 1 - levels];
        let mut versions = scope.returning_versions.iter();
        if let Some((_, version)) = versions.find(|(shown, _)| *shown == rte) {
            return if_version(*version, levels, row, at);
        }
        if !scope.nullable.contains(&rte) || !matches!(row, Expr::Row(..)) {
            return row;
        }
        let mut rtes = vec![rte];
        if let RteKind::Join { columns } = &self.entry(found).kind {
            rtes = columns.iter().flat_map(rtes_of).collect();
            rtes.sort_unstable();
            rtes.dedup();
        }
        let ty = TypeRef::plain(oid::BOOL);
        let column = ROW_MARK.into();
        let marks =
            rtes.into_iter().map(|rte| Expr::Var { rte, column, levels_up: levels, ty, at });
        unless_null(marks, row)
    }

    /// `t` as a value: the row of its columns.
    pub(crate) fn whole_row(&self, found: Found, at: Place) -> Expr {
        let Found { levels, rte } = found;
        let entry = self.entry(found);
        // A function with one scalar column is its value.
        if let (RteKind::Function { calls, ordinality: false }, [_]) =
            (&entry.kind, &entry.columns[..])
            && calls.len() == 1
        {
            return rte_column(entry, rte, 0, levels, at);
        }
        let live = entry.columns.iter().enumerate().filter(|(_, c)| !c.dropped);
        let columns = live.map(|(i, _)| rte_column(entry, rte, i, levels, at)).collect();
        let ty = relation_of(entry).and_then(|relation| row_type_of(relation));
        Expr::Row(columns, ty.unwrap_or(oid::RECORD))
    }
}

/// The table, or the view, that an entry stands for.
pub(crate) fn relation_of(rte: &Rte) -> Option<&Arc<Relation>> {
    match &rte.kind {
        RteKind::Relation(relation) => Some(relation),
        RteKind::Subquery { view, .. } => view.as_ref(),
        _ => None,
    }
}

/// The entries whose columns occur in a join's column.
fn rtes_of(column: &Expr) -> Vec<usize> {
    match column {
        Expr::Var { rte, .. } => vec![*rte],
        other => other.children().into_iter().flat_map(rtes_of).collect(),
    }
}

/// A value that is NULL where all of `marks` are.
pub(super) fn unless_null(marks: impl Iterator<Item = Expr>, value: Expr) -> Expr {
    let is_null = |mark| Expr::IsNull { arg: Box::new(mark), negated: false };
    let mut absent: Vec<Expr> = marks.map(is_null).collect();
    let absent = if absent.len() == 1 { absent.remove(0) } else { Expr::And(absent) };
    let ty = value.ty();
    let whens = vec![(absent, Expr::Const(Datum::Null, ty))];
    Expr::Case { operand: None, whens, otherwise: Box::new(value), ty }
}

/// A column of an entry as an expression. A merged join column becomes its expression.
pub(crate) fn rte_column(
    entry: &Rte,
    rte: usize,
    column: usize,
    levels_up: usize,
    at: Place,
) -> Expr {
    match &entry.kind {
        RteKind::Join { columns } => moved(columns[column].clone(), levels_up, at),
        _ => Expr::Var { rte, column: column as i32, levels_up, ty: entry.columns[column].ty, at },
    }
}

/// An expression over columns, some levels further out and as if written at a place.
fn moved(expr: Expr, by: usize, place: Place) -> Expr {
    let moved: std::result::Result<Expr, std::convert::Infallible> = expr.transform(&mut |e| {
        Ok(match e {
            Expr::Var { rte, column, levels_up, ty, .. } => {
                Expr::Var { rte, column, levels_up: levels_up + by, ty, at: place }
            }
            other => other,
        })
    });
    match moved {
        Ok(e) => e,
        Err(never) => match never {},
    }
}
