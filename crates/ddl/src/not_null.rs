//! Constraints of the kind NOT NULL (AddRelationNotNullConstraints, AdjustNotNullInheritance,
//! ATExecSetNotNull and ATExecDropNotNull in heap.c and tablecmds.c).
//!
//! A NOT NULL column has a flag and one constraint. This module sets and clears both together.
//! Keys, identities and parents that imply NOT NULL call it. A constraint counts the parents that
//! have it, too; it goes down to children unless it is NO INHERIT, and is called there as the
//! parent's is, or as the child has called its own.

use super::alter::{Reach, Scope, column_position, no_constraint};
use super::constraint::PendingConstraints;
use super::drop_constraint::{DropConstraint, drop_constraint};
use super::inherit::invalid_table;
use super::scan::{evaluator, scan_rows};
use super::{DdlContext, partition, truncate_name, validate};
use std::sync::Arc;
use steppe_catalog::{Constraint, ConstraintKind, RareText, RelKind, Relation};
use steppe_exec::stored::TableAccess;
use steppe_sql::ast;
use steppe_sql::bind::{of_stored, virtual_value};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// The place of a statement where a NOT NULL is written.
#[derive(Clone, Copy)]
pub(crate) enum NotNullPlace {
    /// The column's own definition.
    Column,
    /// A constraint of the table.
    Table,
}

/// A column that is to be NOT NULL.
pub(crate) struct PendingNotNull {
    name: Option<Arc<str>>,
    column: String,
    place: NotNullPlace,
    no_inherit: bool,
    /// The rows that are there need not comply.
    not_valid: bool,
    comment: Option<RareText>,
}

impl PendingNotNull {
    /// A NOT NULL that a primary key, an identity or a serial type implies.
    pub(crate) fn implied(column: &str, place: NotNullPlace) -> PendingNotNull {
        let (name, column) = (None, column.to_string());
        let (no_inherit, not_valid, comment) = (false, false, None);
        PendingNotNull { name, column, place, no_inherit, not_valid, comment }
    }

    /// `[CONSTRAINT name] NOT NULL` of a column. (A new table has no rows for NOT VALID.)
    pub(crate) fn written(
        column: &str,
        c: &ast::Constraint,
        place: NotNullPlace,
    ) -> PendingNotNull {
        let name = c.name.as_deref().map(|name| truncate_name(name).into());
        let (no_inherit, not_valid) = (c.no_inherit, c.not_valid);
        let implied = PendingNotNull::implied(column, place);
        PendingNotNull { name, no_inherit, not_valid, ..implied }
    }

    /// A NOT NULL that LIKE copies.
    pub(crate) fn copied(
        column: &str,
        model: &Constraint,
        comment: Option<RareText>,
    ) -> PendingNotNull {
        let (name, no_inherit) = (Some(model.name.clone()), model.no_inherit);
        PendingNotNull {
            name,
            no_inherit,
            comment,
            ..PendingNotNull::implied(column, NotNullPlace::Table)
        }
    }

    /// Takes over what another one says of the same column.
    fn merge(&mut self, other: PendingNotNull) -> Result<()> {
        if self.no_inherit != other.no_inherit {
            let place = match other.place {
                NotNullPlace::Column => self.place,
                NotNullPlace::Table => NotNullPlace::Table,
            };
            return Err(conflicting_inheritance(&self.column, place));
        }
        match (&self.name, &other.name) {
            (Some(own), Some(other)) if own != other => {
                let message =
                    format!("conflicting not-null constraint names \"{own}\" and \"{other}\"");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            _ => {}
        }
        self.name = self.name.take().or(other.name);
        self.comment = self.comment.take().or(other.comment);
        Ok(())
    }
}

fn conflicting_inheritance(column: &str, place: NotNullPlace) -> Error {
    let what = match place {
        NotNullPlace::Column => "declarations for not-null constraints",
        NotNullPlace::Table => "declaration for not-null constraint",
    };
    let message = format!("conflicting NO INHERIT {what} on column \"{column}\"");
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// 0A000 for NO INHERIT on a partitioned table: its partitions always inherit.
pub(super) fn check_partitioned(table: &Relation, no_inherit: bool) -> Result<()> {
    let message = "not-null constraints on partitioned tables cannot be NO INHERIT";
    match table.kind == RelKind::PartitionedTable && no_inherit {
        true => Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)),
        false => Ok(()),
    }
}

// ----- new tables -----

/// Gives a new table the NOT NULLs that were written, those of its primary key and its parents'.
pub(super) fn create(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    parents: &[Arc<Relation>],
    pending: &mut PendingConstraints,
) -> Result<()> {
    let mut inherited = of_parents(relation, parents)?;
    for not_null in once_each(relation, pending)? {
        let position = existing_column(relation, &not_null.column)?;
        let inherit_count = take_column(&mut inherited, position);
        if not_null.no_inherit && inherit_count > 0 {
            return Err(has_inherited(&not_null.column));
        }
        let name = match not_null.name {
            Some(name) if relation.constraints.iter().any(|own| own.name == name) => {
                return Err(already_exists(relation, &name));
            }
            Some(name) => name,
            None => free_name(ctx, relation, position, pending),
        };
        let own = new_constraint(ctx, name, position)?;
        let (no_inherit, comment) = (not_null.no_inherit, not_null.comment);
        store(relation, position, Constraint { inherit_count, no_inherit, comment, ..own });
    }
    while let Some((position, theirs)) = inherited.first().copied() {
        let inherit_count = take_column(&mut inherited, position);
        let is_taken = relation.constraints.iter().any(|own| own.name == theirs.name)
            || pending.check_names().any(|name| *name == *theirs.name);
        let name = match is_taken {
            true => free_name(ctx, relation, position, pending),
            false => theirs.name.clone(),
        };
        let own = new_constraint(ctx, name, position)?;
        store(relation, position, Constraint { inherit_count, ..own.inherited() });
    }
    Ok(())
}

/// Takes a column out of the inherited ones. Returns the number of parents that it had.
fn take_column(inherited: &mut Vec<(usize, &Constraint)>, position: usize) -> i16 {
    let before = inherited.len();
    inherited.retain(|(at, _)| *at != position);
    (before - inherited.len()) as i16
}

/// The written NOT NULLs, merged for each column, and those of the primary key.
fn once_each(relation: &Relation, pending: &mut PendingConstraints) -> Result<Vec<PendingNotNull>> {
    let mut written: Vec<PendingNotNull> = Vec::new();
    for not_null in pending.take_not_nulls() {
        match written.iter_mut().find(|known| known.column == not_null.column) {
            Some(known) => known.merge(not_null)?,
            None => written.push(not_null),
        }
    }
    // One that is not there is found to be missing with its key.
    let columns = pending.primary_columns().filter(|name| relation.column_index(name).is_some());
    for column in columns {
        match written.iter().find(|known| known.column == *column) {
            Some(known) if known.no_inherit => {
                return Err(conflicting_inheritance(column, NotNullPlace::Table));
            }
            Some(_) => {}
            None => written.push(PendingNotNull::implied(column, NotNullPlace::Table)),
        }
    }
    Ok(written)
}

/// The NOT NULLs that a new table has from its parents, and where its columns are.
fn of_parents<'p>(
    relation: &Relation,
    parents: &'p [Arc<Relation>],
) -> Result<Vec<(usize, &'p Constraint)>> {
    let mut found = Vec::new();
    for parent in parents {
        for theirs in parent.constraints.iter().filter(|theirs| !theirs.no_inherit) {
            if let Some(at) = theirs.not_null_column() {
                let position = partition::attnum_in(relation, parent, at)? as usize - 1;
                found.push((position, theirs));
            }
        }
    }
    Ok(found)
}

fn has_inherited(column: &str) -> Error {
    let message =
        format!("cannot define not-null constraint with NO INHERIT on column \"{column}\"");
    Error::new(SqlState::DATATYPE_MISMATCH, message)
        .detail("The column has an inherited not-null constraint.")
}

// ----- what the constraint is -----

/// The position of a column: 42703 if it is not there.
fn existing_column(relation: &Relation, column: &str) -> Result<usize> {
    if let Some(position) = relation.column_index(column) {
        return Ok(position);
    }
    let (state, message) = match steppe_sql::bind::is_system_column(column) {
        true => (
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("cannot add not-null constraint on system column \"{column}\""),
        ),
        false => (
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" of relation \"{}\" does not exist", relation.name),
        ),
    };
    Err(Error::new(state, message))
}

fn already_exists(relation: &Relation, name: &str) -> Error {
    let message =
        format!("constraint \"{name}\" for relation \"{}\" already exists", relation.name);
    Error::new(SqlState::DUPLICATE_OBJECT, message)
}

fn free_name(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    position: usize,
    pending: &PendingConstraints,
) -> Arc<str> {
    let parts = (&*relation.name, &*relation.columns[position].name, "not_null");
    let own = relation.constraints.iter().map(|own| &*own.name);
    let taken: Vec<&str> = own.chain(pending.check_names()).collect();
    ctx.catalog().free_constraint_name(relation.schema, parts, &taken).into()
}

fn new_constraint(ctx: &DdlContext<'_>, name: Arc<str>, position: usize) -> Result<Constraint> {
    let columns = vec![position as i16 + 1];
    Ok(Constraint::new(ctx.store.new_oid()?, name, ConstraintKind::NotNull, columns))
}

/// The constraint and the mark.
fn store(relation: &mut Relation, position: usize, constraint: Constraint) {
    relation.constraints.push(constraint);
    relation.columns[position].not_null = true;
}

// ----- tables that are there -----

/// A column of a table, or of one below it, that is to be NOT NULL.
struct Wanted {
    position: usize,
    name: Option<Arc<str>>,
    no_inherit: bool,
    /// The rows that are there need not comply.
    not_valid: bool,
}

impl Wanted {
    fn new(position: usize) -> Wanted {
        Wanted { position, name: None, no_inherit: false, not_valid: false }
    }
}

/// Why a column is to be NOT NULL: the command, and whether the command was given for a parent.
#[derive(Clone, Copy)]
struct Origin {
    source: Source,
    inherited: bool,
}

impl Origin {
    fn written(source: Source) -> Origin {
        Origin { source, inherited: false }
    }
}

/// The command that makes a column NOT NULL.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// ADD CONSTRAINT, ADD COLUMN, or a primary key.
    Add,
    /// SET NOT NULL.
    Set,
}

/// `[CONSTRAINT name] NOT NULL column` of ALTER TABLE, and of a new column.
pub(super) fn add(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    pending: PendingNotNull,
) -> Result<()> {
    let PendingNotNull { name, column, no_inherit, not_valid, .. } = pending;
    check_partitioned(relation, no_inherit)?;
    let position = existing_column(relation, &column)?;
    let wanted = Wanted { position, name, no_inherit, not_valid };
    require(ctx, relation, vec![wanted], Origin::written(Source::Add))
}

/// SET NOT NULL.
pub(super) fn set(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    position: usize,
    reach: Reach,
) -> Result<()> {
    let existing = relation.not_null_constraint(position);
    // With ONLY, children do not get the constraint. (A partitioned table cannot use ONLY.)
    let no_inherit = match existing {
        Some(at) => reach.is_only() && relation.constraints[at].no_inherit,
        None => reach.is_only() && !partition::children(ctx, relation.oid)?.is_empty(),
    };
    if let Some(at) = existing.filter(|at| relation.constraints[*at].not_valid) {
        validate::at(ctx, relation, at, reach)?;
    }
    let wanted = vec![Wanted { no_inherit, ..Wanted::new(position) }];
    require(ctx, relation, wanted, Origin::written(Source::Set))
}

/// The columns of a primary key. If it is one of ONLY a parent, those of its children must be NOT
/// NULL already.
pub(super) fn of_key(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    columns: &[i16],
    reach: Reach,
) -> Result<()> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for position in columns.iter().map(|attnum| *attnum as usize - 1) {
        match relation.not_null_constraint(position) {
            Some(at) => check_for_key(relation, position, at)?,
            None => wanted.push(Wanted::new(position)),
        }
    }
    let below = match reach.is_only() && !wanted.is_empty() {
        true => partition::children(ctx, relation.oid)?,
        false => Vec::new(),
    };
    for (child, Wanted { position, .. }) in
        below.iter().flat_map(|child| wanted.iter().map(move |wanted| (child, wanted)))
    {
        let position = partition::attnum_in(child, relation, *position)? as usize - 1;
        let Some(at) = child.not_null_constraint(position) else {
            let (column, table) = (&child.columns[position].name, &child.name);
            let message =
                format!("column \"{column}\" of table \"{table}\" is not marked NOT NULL");
            return Err(Error::internal(message));
        };
        check_for_key(child, position, at)?;
    }
    match wanted.is_empty() {
        true => Ok(()),
        false => require(ctx, relation, wanted, Origin::written(Source::Add)),
    }
}

/// 55000 for a primary key over a column that rows or children may have as NULL.
fn check_for_key(table: &Relation, position: usize, at: usize) -> Result<()> {
    let constraint = &table.constraints[at];
    let (marked, hint) = match (constraint.no_inherit, constraint.not_valid) {
        (true, _) => ("NO INHERIT", MAKE_INHERITABLE),
        (false, true) => ("NOT VALID", MAKE_VALID),
        (false, false) => return Ok(()),
    };
    let (column, name) = (&table.columns[position].name, &constraint.name);
    let message = format!("cannot create primary key on column \"{column}\"");
    Err(not_in_state(message)
        .detail(format!(
            "The constraint \"{name}\" on column \"{column}\" of table \"{}\", marked {marked}, is \
             incompatible with a primary key.",
            table.name
        ))
        .hint(hint))
}

/// 55000 if a column is NOT NULL only for rows that have come since.
pub(super) fn check_valid(table: &Relation, position: usize) -> Result<()> {
    let Some(own) = table.not_null_constraint(position).map(|at| &table.constraints[at]) else {
        return Ok(());
    };
    match own.not_valid {
        true => {
            let (name, table) = (&own.name, &table.name);
            let message =
                format!("incompatible NOT VALID constraint \"{name}\" on relation \"{table}\"");
            Err(not_in_state(message).hint(MAKE_VALID))
        }
        false => Ok(()),
    }
}

const MAKE_VALID: &str = "You might need to validate it using ALTER TABLE ... VALIDATE CONSTRAINT.";

const MAKE_INHERITABLE: &str = "You might need to make the existing constraint inheritable using \
    ALTER TABLE ... ALTER CONSTRAINT ... INHERIT.";

/// Makes columns NOT NULL, or knows one more reason why they are; here and below.
fn require(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    wanted: Vec<Wanted>,
    origin: Origin,
) -> Result<()> {
    let Origin { source, inherited } = origin;
    let mut new: Vec<Wanted> = Vec::new();
    for wanted in wanted {
        match relation.not_null_constraint(wanted.position) {
            Some(at) => {
                // SET NOT NULL on a parent holds for all rows below: PostgreSQL counts such a
                // constraint as it is, and then misses the NULLs that are there.
                if source == Source::Set && relation.constraints[at].not_valid {
                    validate::at(ctx, relation, at, Reach::WithChildren)?;
                }
                adjust(relation, at, &wanted, origin)?;
            }
            None => new.push(wanted),
        }
    }
    let checked = new.iter().filter(|wanted| !wanted.not_valid).map(|wanted| wanted.position);
    check_rows(ctx, relation, &checked.collect::<Vec<_>>())?;
    for wanted in &mut new {
        let name = match wanted.name.take() {
            Some(name) if relation.constraints.iter().any(|own| own.name == name) => {
                return Err(already_exists(relation, &name));
            }
            Some(name) => name,
            None => free_name(ctx, relation, wanted.position, &PendingConstraints::default()),
        };
        wanted.name = Some(name.clone());
        let own = new_constraint(ctx, name, wanted.position)?;
        let own = if inherited { own.inherited() } else { own };
        let (no_inherit, not_valid) = (wanted.no_inherit, wanted.not_valid);
        store(relation, wanted.position, Constraint { no_inherit, not_valid, ..own });
    }
    ctx.put(relation.clone())?;
    new.retain(|wanted| !wanted.no_inherit);
    match new.is_empty() {
        true => Ok(()),
        false => require_below(ctx, relation, &new, source),
    }
}

fn require_below(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    new: &[Wanted],
    source: Source,
) -> Result<()> {
    for child in partition::children(ctx, relation.oid)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let theirs = |wanted: &Wanted| -> Result<Wanted> {
            let position = partition::attnum_in(&child, relation, wanted.position)? as usize - 1;
            let (name, not_valid) = (wanted.name.clone(), wanted.not_valid);
            Ok(Wanted { name, not_valid, ..Wanted::new(position) })
        };
        let theirs = new.iter().map(theirs).collect::<Result<Vec<_>>>()?;
        let done = require(ctx, &mut (*child).clone(), theirs, Origin { source, inherited: true });
        ctx.naming(&child, done)?;
    }
    Ok(())
}

/// A constraint that is there has one more reason (AdjustNotNullInheritance).
fn adjust(
    relation: &mut Relation,
    at: usize,
    wanted: &Wanted,
    Origin { source, inherited }: Origin,
) -> Result<()> {
    let table = relation.name.clone();
    let own = &relation.constraints[at];
    if own.no_inherit != wanted.no_inherit {
        let message = format!(
            "cannot change NO INHERIT status of NOT NULL constraint \"{}\" on relation \"{table}\"",
            own.name
        );
        return Err(match source {
            Source::Add => not_in_state(message).hint(MAKE_INHERITABLE),
            Source::Set => Error::new(SqlState::FEATURE_NOT_SUPPORTED, message),
        });
    }
    if !wanted.not_valid {
        check_valid(relation, wanted.position)?;
    }
    let own = &mut relation.constraints[at];
    if inherited {
        own.inherit_count += 1;
        return Ok(());
    }
    if let Some(name) = wanted.name.as_ref().filter(|name| **name != own.name) {
        let column = &relation.columns[wanted.position].name;
        let message =
            format!("cannot create not-null constraint \"{name}\" on column \"{column}\"");
        return Err(not_in_state(format!("{message} of table \"{table}\"")).detail(format!(
            "A not-null constraint named \"{}\" already exists for this column.",
            own.name
        )));
    }
    own.local = true;
    Ok(())
}

fn not_in_state(message: String) -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// ALTER CONSTRAINT … [NO] INHERIT. There are no foreign keys, which all else is for.
pub(super) fn alter_constraint(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    name: &str,
    changes: Changes,
) -> Result<()> {
    let refused = |what: String| Err(Error::new(SqlState::WRONG_OBJECT_TYPE, what));
    let Some(at) = table.constraints.iter().position(|own| *own.name == *name) else {
        return Err(no_constraint(&table, name));
    };
    let named = format!("constraint \"{name}\" of relation \"{}\"", table.name);
    if changes.deferrability {
        return refused(format!("{named} is not a foreign key constraint"));
    }
    if changes.enforceability {
        return refused(format!("cannot alter enforceability of {named}"));
    }
    let Some(no_inherit) = changes.no_inherit else { return Ok(()) };
    let constraint = &table.constraints[at];
    let Some(position) = constraint.not_null_column() else {
        return refused(format!("{named} is not a not-null constraint"));
    };
    if no_inherit && constraint.is_inherited() {
        return Err(not_in_state(format!(
            "cannot alter inherited constraint \"{name}\" on relation \"{}\"",
            table.name
        )));
    }
    if no_inherit == constraint.no_inherit {
        return Ok(());
    }
    let mut table = table;
    table.constraints[at].no_inherit = no_inherit;
    ctx.put(table.clone())?;
    if no_inherit {
        return leave_to_children(ctx, &table, position);
    }
    let name = Some(table.constraints[at].name.clone());
    let theirs = Wanted { name, ..Wanted::new(position) };
    require_below(ctx, &table, &[theirs], Source::Set)
}

/// The attributes that an ALTER CONSTRAINT changes.
pub(super) struct Changes {
    pub(super) deferrability: bool,
    pub(super) enforceability: bool,
    pub(super) no_inherit: Option<bool>,
}

/// After NO INHERIT the children own their copies.
fn leave_to_children(ctx: &mut DdlContext<'_>, table: &Relation, position: usize) -> Result<()> {
    for child in partition::children(ctx, table.oid)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let place = partition::attnum_in(&child, table, position)? as usize - 1;
        let mut child = (*child).clone();
        let at = child.not_null_constraint(place).ok_or_else(lacks_constraint)?;
        child.constraints[at].inherit_count -= 1;
        child.constraints[at].local = true;
        ctx.put(child)?;
    }
    Ok(())
}

fn lacks_constraint() -> Error {
    Error::internal("NOT NULL without a constraint")
}

/// 23502 if a row has a NULL at one of these positions. The nodes check those of a distributed table.
pub(super) fn check_rows(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    positions: &[usize],
) -> Result<()> {
    if positions.is_empty() || relation.is_distributed() {
        return Ok(());
    }
    let shared = Arc::new(relation.clone());
    let (mut stored, mut computed, mut exprs) = (Vec::new(), Vec::new(), Vec::new());
    for at in positions {
        match virtual_value(&ctx.catalog(), &shared, *at)? {
            None => stored.push(*at),
            Some(value) => {
                computed.push(*at);
                exprs.push(of_stored(&ctx.catalog(), &shared, value)?);
            }
        }
    }
    let mut evaluator = evaluator(ctx, &exprs)?;
    let table = TableAccess::open(ctx.store.engine(), &shared)?;
    scan_rows(ctx, &table, &mut |_, values| {
        let mut found = stored.iter().find(|at| values[**at].is_null());
        if found.is_none() && !computed.is_empty() {
            let mut columns = computed.iter().zip(evaluator.evaluate(values)?);
            found = columns.find(|(_, value)| value.is_null()).map(|(at, _)| at);
        }
        match found {
            None => Ok(()),
            Some(at) => Err(validate::contains_nulls(&shared, *at)),
        }
    })
}

/// DROP NOT NULL.
pub(super) fn drop(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    column: &str,
    reach: Reach,
) -> Result<()> {
    let position = column_position(&table, column)?;
    if !table.columns[position].not_null {
        return Ok(());
    }
    refuse_identity(&table, position, SqlState::SYNTAX_ERROR)?;
    let catalog = ctx.catalog();
    let parent = table.partition_of.as_ref().and_then(|of| catalog.relation(of.parent));
    let is_theirs = |parent: &Arc<Relation>| {
        parent.column_index(column).is_some_and(|at| parent.columns[at].not_null)
    };
    if parent.is_some_and(is_theirs) {
        let message = format!("column \"{column}\" is marked NOT NULL in parent table");
        return Err(invalid_table(message));
    }
    let at = table.not_null_constraint(position).ok_or_else(lacks_constraint)?;
    let name = table.constraints[at].name.clone();
    let constraint = DropConstraint { name: &name, if_exists: false };
    drop_constraint(ctx, table, constraint, Scope { reach, recursing: false })
}

/// A primary key's and an identity's columns stay NOT NULL.
pub(super) fn check_droppable(table: &Relation, position: usize) -> Result<()> {
    let name = &table.columns[position].name;
    if table.primary_key().is_some_and(|k| k.columns.contains(&(position as i16 + 1))) {
        return Err(invalid_table(format!("column \"{name}\" is in a primary key")));
    }
    refuse_identity(table, position, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE)
}

fn refuse_identity(table: &Relation, position: usize, state: SqlState) -> Result<()> {
    let column = &table.columns[position];
    let message =
        format!("column \"{}\" of relation \"{}\" is an identity column", column.name, table.name);
    if column.identity.is_some() { Err(Error::new(state, message)) } else { Ok(()) }
}
