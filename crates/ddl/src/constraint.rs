//! Table constraints: NOT NULL, CHECK, PRIMARY KEY, UNIQUE, and FOREIGN KEY when the others are there.

use super::alter::Reach;
use super::foreign_key::{self, PendingForeignKey};
use super::index::{self, IndexBuilder};
use super::inherit::invalid_table;
use super::not_null::{self, NotNullPlace, PendingNotNull};
use super::reloptions::{self, Options, Owner};
use super::{
    DdlContext, distribution, generated, partition, relation_exists, truncate_name, validate,
};
use std::sync::Arc;
use steppe_catalog::{Constraint, ConstraintKind, Deferral, IndexKey, RareText, Relation};
use steppe_sql::ast;
use steppe_sql::bind::index::columns_of;
use steppe_sql::bind::{ExprPlace, bind_table_condition, parse_expression};
use steppe_sql::deparse;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// The table that gets constraints, as the statement finds it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum TableStage {
    /// CREATE TABLE makes it: it has no rows and no children, may have its parents' constraints
    /// written again, and is put when it has all constraints.
    New,
    /// It is in the catalog: each constraint is put, and goes down to the children.
    #[default]
    Existing,
}

/// Constraints of a CREATE or ALTER TABLE that are added once the columns are there.
#[derive(Default)]
pub(crate) struct PendingConstraints {
    stage: TableStage,
    /// Whether keys are made on partitions, too.
    pub(crate) reach: Reach,
    keys: Vec<PendingKey>,
    checks: Vec<PendingCheck>,
    not_nulls: Vec<PendingNotNull>,
    foreign_keys: Vec<PendingForeignKey>,
}

struct PendingKey {
    name: Option<String>,
    columns: Vec<String>,
    primary: bool,
    nulls_not_distinct: bool,
    deferral: Deferral,
    include: Vec<String>,
    options: Options,
    using_index: Option<String>,
    /// Where it was written, for errors.
    location: ast::Location,
}

/// The table that gets a key, as the statement finds it.
#[derive(Clone, Copy)]
struct KeyPlace {
    /// The table had a primary key before the statement.
    had_primary: bool,
    /// Whether partitions get the key.
    reach: Reach,
    stage: TableStage,
}

struct PendingCheck {
    name: Option<String>,
    expr: ast::Expr,
    not_valid: bool,
    /// The rows are known to satisfy it.
    is_known: bool,
    comment: Option<RareText>,
    /// It comes from a parent.
    inherited: bool,
    no_inherit: bool,
    /// One of the same name that is inherited may be there already.
    merges: bool,
}

impl PendingConstraints {
    /// The constraints of a CREATE TABLE.
    pub(crate) fn of_new_table() -> PendingConstraints {
        PendingConstraints { stage: TableStage::New, ..PendingConstraints::default() }
    }

    fn is_new(&self) -> bool {
        self.stage == TableStage::New
    }

    /// Whether none is pending.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.checks.is_empty() && self.not_nulls.is_empty()
    }

    /// The foreign keys, which are not pending any more.
    pub(super) fn take_foreign_keys(&mut self) -> Vec<PendingForeignKey> {
        std::mem::take(&mut self.foreign_keys)
    }

    /// A constraint written behind a column.
    pub(crate) fn add_column_constraint(
        &mut self,
        column: &str,
        c: &ast::Constraint,
    ) -> Result<()> {
        self.add(c, Some(column))
    }

    /// A constraint of its own.
    pub(crate) fn add_table_constraint(&mut self, c: &ast::Constraint) -> Result<()> {
        self.add(c, None)
    }

    /// A CHECK copied from another table, under its name there.
    pub(crate) fn add_copied_check(
        &mut self,
        model: &Constraint,
        expr: ast::Expr,
        comment: Option<RareText>,
    ) {
        self.checks.push(PendingCheck {
            name: Some(model.name.to_string()),
            expr,
            not_valid: false,
            is_known: false,
            comment,
            inherited: false,
            no_inherit: model.no_inherit,
            merges: self.is_new(),
        });
    }

    /// A key copied from another table; its name is made up anew.
    pub(crate) fn add_copied_key(
        &mut self,
        columns: Vec<String>,
        index: &Relation,
        info: &steppe_catalog::IndexInfo,
        include: Vec<String>,
    ) {
        self.keys.push(PendingKey {
            name: None,
            columns,
            primary: info.primary,
            nulls_not_distinct: info.nulls_not_distinct,
            deferral: info.deferral,
            include,
            options: index.options.to_vec(),
            using_index: None,
            location: ast::Location::NONE,
        });
    }

    /// Adds a NOT NULL of a column, from any source.
    pub(crate) fn add_not_null(&mut self, not_null: PendingNotNull) {
        self.not_nulls.push(not_null);
    }

    /// The NOT NULLs, which are not pending any more.
    pub(super) fn take_not_nulls(&mut self) -> Vec<PendingNotNull> {
        std::mem::take(&mut self.not_nulls)
    }

    /// The names of the pending CHECKs that have one.
    pub(super) fn check_names(&self) -> impl Iterator<Item = &str> {
        self.checks.iter().filter_map(|check| check.name.as_deref())
    }

    /// The columns of the primary key.
    pub(super) fn primary_columns(&self) -> impl Iterator<Item = &String> {
        self.keys.iter().filter(|key| key.primary).flat_map(|key| &key.columns)
    }

    fn add(&mut self, c: &ast::Constraint, column: Option<&str>) -> Result<()> {
        let deferral = match (c.deferrable, c.initially_deferred) {
            (_, true) => Deferral::InitiallyDeferred,
            (true, false) => Deferral::InitiallyImmediate,
            (false, false) => Deferral::NotDeferrable,
        };
        let name = c.name.as_deref().map(|n| truncate_name(n).to_string());
        if let ast::ConstraintKind::ForeignKey(key) = &c.kind {
            foreign_key::check_clause(key)?;
            let columns = match column {
                Some(column) => vec![column.to_string()],
                None => key.columns.iter().map(|c| truncate_name(c).to_string()).collect(),
            };
            self.foreign_keys.push(PendingForeignKey {
                name,
                columns,
                key: (**key).clone(),
                deferral,
                enforced: c.enforced,
                not_valid: c.not_valid,
                is_new: self.is_new(),
            });
            return Ok(());
        }
        if !c.enforced {
            return Err(Error::not_supported("NOT ENFORCED constraints"));
        }
        let (index, primary, nulls_not_distinct) = match &c.kind {
            ast::ConstraintKind::Check(expr) => {
                self.checks.push(PendingCheck {
                    name,
                    expr: expr.clone(),
                    // A new table has no rows that could break it.
                    not_valid: c.not_valid && !self.is_new(),
                    is_known: false,
                    comment: None,
                    inherited: false,
                    no_inherit: c.no_inherit,
                    merges: self.is_new(),
                });
                return Ok(());
            }
            ast::ConstraintKind::PrimaryKey(index) => (index, true, false),
            ast::ConstraintKind::Unique { index, nulls_not_distinct } => {
                (index, false, *nulls_not_distinct)
            }
            ast::ConstraintKind::Exclude(_) => {
                return Err(Error::not_supported("exclusion constraints"));
            }
            ast::ConstraintKind::NotNull { column: Some(column) } => {
                self.not_nulls.push(PendingNotNull::written(
                    truncate_name(column),
                    c,
                    NotNullPlace::Table,
                ));
                return Ok(());
            }
            _ => return Err(Error::internal("unexpected table constraint")),
        };
        if index.without_overlaps {
            return Err(Error::not_supported("WITHOUT OVERLAPS"));
        }
        let columns = match column {
            Some(column) => vec![column.to_string()],
            None => index.columns.iter().map(|c| truncate_name(c).to_string()).collect(),
        };
        self.keys.push(PendingKey {
            name,
            columns,
            primary,
            nulls_not_distinct,
            deferral,
            include: index.include.clone(),
            options: reloptions::of_new(Owner::Index, &index.options)?,
            using_index: index.using_index.clone(),
            location: c.location,
        });
        Ok(())
    }
}

/// Adds all pending constraints to a table whose columns are complete. A new table is put by the
/// caller.
pub(crate) fn add_all(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    pending: PendingConstraints,
) -> Result<()> {
    let (stage, reach) = (pending.stage, pending.reach);
    let place =
        KeyPlace { had_primary: table.primary_key().is_some(), reach: pending.reach, stage };
    for check in pending.checks {
        add_check(ctx, table, check, stage)?;
    }
    for not_null in pending.not_nulls {
        not_null::add(ctx, table, not_null)?;
    }
    // The primary key comes first, as its index does.
    let (primary, others): (Vec<_>, Vec<_>) = pending.keys.into_iter().partition(|k| k.primary);
    primary.into_iter().chain(others).try_for_each(|key| add_key(ctx, table, key, place))?;
    let foreign_keys = pending.foreign_keys.iter();
    foreign_keys.into_iter().try_for_each(|key| foreign_key::add(ctx, table, key, reach))
}

/// Adds a CHECK that the rows are known to satisfy, unless the table has it.
pub(crate) fn add_implied(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    expr: ast::Expr,
) -> Result<()> {
    let shared = Arc::new(table.clone());
    let place = ExprPlace::Check;
    let bound = ctx.binding(|b| bind_table_condition(b, &shared, &expr, "CHECK", place))?;
    let expression = deparse::table_expression(&bound, Some(table), &ctx.catalog()).into();
    let kind = ConstraintKind::Check { expression };
    if table.constraints.iter().any(|own| own.kind == kind) {
        return Ok(());
    }
    let check = PendingCheck {
        name: None,
        expr,
        not_valid: false,
        is_known: true,
        comment: None,
        inherited: false,
        no_inherit: false,
        merges: false,
    };
    add_check(ctx, table, check, TableStage::Existing)
}

/// Adds a CHECK. Only CREATE TABLE says the position of an error of the condition.
fn add_check(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    check: PendingCheck,
    stage: TableStage,
) -> Result<()> {
    let shared = Arc::new(table.clone());
    let place = ExprPlace::Check;
    let expr = ctx
        .binding(|b| bind_table_condition(b, &shared, &check.expr, "CHECK", place))
        .map_err(|error| match stage {
            TableStage::New => error,
            TableStage::Existing => error.without_position(),
        })?;
    let columns = columns_of(&expr);
    if check.no_inherit && table.partition_key.is_some() {
        return Err(invalid_table(format!(
            "cannot add NO INHERIT constraint to partitioned table \"{}\"",
            table.name
        )));
    }
    let expression: RareText = deparse::table_expression(&expr, Some(table), &ctx.catalog()).into();
    let kind = ConstraintKind::Check { expression: expression.clone() };
    let name = match &check.name {
        Some(name) => {
            if let Some(at) = table.constraints.iter().position(|c| *c.name == *name) {
                merge_check(ctx, table, at, &check, &kind)?;
                return if stage == TableStage::New { Ok(()) } else { ctx.put(table.clone()) };
            }
            name.clone()
        }
        None => check_name(ctx, table, &columns),
    };
    if !check.not_valid && !check.is_known {
        validate::check(ctx, &shared, &name, &expr)?;
    }
    let own = Constraint::new(ctx.store.new_oid()?, name.as_str(), kind, columns);
    let own = if check.inherited { own.inherited() } else { own };
    let (comment, no_inherit) = (check.comment.clone(), check.no_inherit);
    let not_valid = check.not_valid;
    table.constraints.push(Constraint { comment, no_inherit, not_valid, ..own });
    if stage == TableStage::New {
        return Ok(());
    }
    ctx.put(table.clone())?;
    match check.no_inherit {
        true => Ok(()),
        false => add_check_below(ctx, table, &name, &expression, &check),
    }
}

/// A name for a CHECK that has none.
fn check_name(ctx: &mut DdlContext<'_>, table: &Relation, columns: &[i16]) -> String {
    // The column that it reads names it, if that is only one.
    let column = match columns {
        [only] => table.columns[*only as usize - 1].name.to_string(),
        _ => String::new(),
    };
    let parts = (&*table.name, &*column, "check");
    let own: Vec<&str> = table.constraints.iter().map(|own| &*own.name).collect();
    ctx.catalog().free_constraint_name(table.schema, parts, &own)
}

/// Adds a table's new CHECK to its children.
fn add_check_below(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    name: &str,
    expression: &str,
    check: &PendingCheck,
) -> Result<()> {
    for child in partition::children(ctx, table.oid)? {
        // A scan of rows is what keeps writers out.
        let mode = match check.is_known {
            true => RelationLockMode::ShareUpdateExclusive,
            false => RelationLockMode::AccessExclusive,
        };
        let child = ctx.lock_current(child.oid, mode)?;
        let theirs = PendingCheck {
            name: Some(name.to_string()),
            // The parent's name does not stand for the child.
            expr: parse_expression(expression)?,
            not_valid: check.not_valid,
            is_known: check.is_known,
            comment: None,
            inherited: true,
            no_inherit: false,
            merges: true,
        };
        let done = add_check(ctx, &mut (*child).clone(), theirs, TableStage::Existing);
        ctx.naming(&child, done)?;
    }
    Ok(())
}

/// A CHECK that the table has under that name already, from a parent or for one
/// (MergeWithExistingConstraint).
fn merge_check(
    ctx: &DdlContext<'_>,
    relation: &mut Relation,
    at: usize,
    check: &PendingCheck,
    kind: &ConstraintKind,
) -> Result<()> {
    let is_partition = relation.partition_of.is_some();
    let (table, own) = (relation.name.clone(), &mut relation.constraints[at]);
    let merges = check.inherited || !own.local && (check.merges || !is_partition);
    if own.kind != *kind || !merges {
        return Err(Error::new(
            SqlState::DUPLICATE_OBJECT,
            format!("constraint \"{}\" for relation \"{table}\" already exists", own.name),
        ));
    }
    let conflicts = |with: &str| {
        let message =
            format!("constraint \"{}\" conflicts with {with} constraint on relation", own.name);
        let message = format!("{message} \"{table}\"");
        Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message))
    };
    if own.no_inherit && !check.no_inherit {
        return conflicts("non-inherited");
    }
    if own.is_inherited() && check.no_inherit {
        return conflicts("inherited");
    }
    if own.not_valid && !check.not_valid {
        return conflicts("NOT VALID");
    }
    ctx.notice(format!("merging constraint \"{}\" with inherited definition", own.name));
    if is_partition {
        (own.inherit_count, own.local) = (1, false);
    } else if check.inherited {
        own.inherit_count += 1;
    } else {
        own.local = true;
    }
    Ok(())
}

/// The columns of a parent's constraint as a child's.
pub(crate) fn columns_in(
    child: &Relation,
    parent: &Relation,
    constraint: &Constraint,
) -> Result<Vec<i16>> {
    let columns = constraint.columns.iter();
    columns.map(|attnum| partition::attnum_in(child, parent, *attnum as usize - 1)).collect()
}

/// Adds a primary key or a unique constraint, with its index.
fn add_key(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    key: PendingKey,
    place: KeyPlace,
) -> Result<()> {
    if key.using_index.is_some() {
        return Err(Error::not_supported("constraints USING INDEX"));
    }
    if key.primary && table.primary_key().is_some() {
        // The error has a position only if the statement has both.
        let location = if place.had_primary { ast::Location::NONE } else { key.location };
        return Err(ctx.error(
            SqlState::INVALID_TABLE_DEFINITION,
            format!("multiple primary keys for table \"{}\" are not allowed", table.name),
            location,
        ));
    }
    let columns = key_columns(ctx, table, &key, place)?;
    let type_of = |attnum: &i16| table.columns[*attnum as usize - 1].type_oid;
    let keys = columns.iter().map(|attnum| IndexKey::ascending(*attnum, type_of(attnum))).collect();
    let include = index::include_columns(table, &key.include)?;
    let what = if key.primary { "primary keys" } else { "unique constraints" };
    generated::check_indexed(table, columns.iter().chain(&include).copied(), what)?;
    if key.primary {
        not_null::of_key(ctx, table, &columns, place.reach)?;
    }
    let name = key_name(ctx, table, &key)?;
    let what = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
    partition::check_unique_covers_key(table, &columns, what)?;
    if place.stage == TableStage::New {
        distribution::check_key_of_new(table, &columns)?;
    }
    let new = IndexBuilder {
        name: name.clone(),
        keys,
        key_names: key.columns,
        predicate: None,
        include,
        unique: true,
        primary: key.primary,
        nulls_not_distinct: key.nulls_not_distinct,
        deferral: key.deferral,
        options: key.options,
        parent: None,
        comment: None,
    };
    let index = new.finish(ctx, table)?;
    let kind = match key.primary {
        true => ConstraintKind::Primary { index },
        false => ConstraintKind::Unique { index },
    };
    let oid = ctx.store.new_oid()?;
    table.constraints.push(Constraint::new(oid, name, kind, columns));
    if place.stage == TableStage::New {
        return Ok(());
    }
    ctx.put(table.clone())?;
    match place.reach.is_only() {
        true => Ok(()),
        false => partition::spread_index(ctx, table, index),
    }
}

/// The attribute numbers of a key's columns: 42703, 42701.
fn key_columns(
    ctx: &DdlContext<'_>,
    table: &Relation,
    key: &PendingKey,
    place: KeyPlace,
) -> Result<Vec<i16>> {
    let is_new = place.stage == TableStage::New;
    let mut columns = Vec::with_capacity(key.columns.len());
    for name in &key.columns {
        let Some(position) = table.column_index(name) else {
            if key.primary && !is_new {
                // NOT NULL would come first.
                let message =
                    format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            }
            return Err(ctx.error(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" named in key does not exist"),
                if is_new { key.location } else { ast::Location::NONE },
            ));
        };
        let attnum = position as i16 + 1;
        if columns.contains(&attnum) {
            let kind = if key.primary { "primary key" } else { "unique" };
            return Err(ctx.error(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{name}\" appears twice in {kind} constraint"),
                key.location,
            ));
        }
        columns.push(attnum);
    }
    Ok(columns)
}

/// The name of a key and its index, as written or a free one.
fn key_name(ctx: &mut DdlContext<'_>, table: &Relation, key: &PendingKey) -> Result<String> {
    let Some(name) = &key.name else {
        let names: Vec<&str> = key.columns.iter().chain(&key.include).map(String::as_str).collect();
        let (columns, label) = match key.primary {
            true => (String::new(), "pkey"),
            false => (names.join("_"), "key"),
        };
        return ctx.choose_key_name(table, &columns, label);
    };
    ctx.lock_name(table.schema, name)?;
    if ctx.catalog().relation_named(table.schema, name).is_some() {
        return Err(relation_exists(name));
    }
    if table.constraints.iter().any(|own| *own.name == *name) {
        return Err(Error::new(
            SqlState::DUPLICATE_OBJECT,
            format!("constraint \"{name}\" for relation \"{}\" already exists", table.name),
        ));
    }
    Ok(name.clone())
}
