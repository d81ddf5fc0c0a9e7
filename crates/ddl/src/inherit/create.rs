//! CREATE TABLE … INHERITS: the parents' columns and constraints, merged with each other and with
//! the statement's own (MergeAttributes).

use super::super::constraint::columns_in;
use super::super::table::TableParts;
use super::super::{DdlContext, truncate_name};
use super::{check_parent, inherited_column, more_than_once, versus, wrong_type};
use std::sync::Arc;
use steppe_catalog::system::type_storage;
use steppe_catalog::{Column, Constraint, ConstraintKind, RelKind, Relation, builtin};
use steppe_sql::ast::{ColumnDef, ConstraintKind as AstConstraint, CreateTableStmt, TableElement};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// The tables that a CREATE TABLE inherits from, locked; none of a partition.
pub(crate) fn parents_of_new(
    ctx: &mut DdlContext<'_>,
    create: &CreateTableStmt,
    relation: &Relation,
) -> Result<Vec<Arc<Relation>>> {
    let mut parents: Vec<Arc<Relation>> = Vec::new();
    if create.partition_bound.is_some() {
        return Ok(parents);
    }
    if create.partition_by.is_some() && !create.inherits.is_empty() {
        return Err(Error::new(
            SqlState::INVALID_OBJECT_DEFINITION,
            "cannot create partitioned table as inheritance child",
        ));
    }
    let is_temporary = ctx.catalog().is_temporary(relation);
    for name in &create.inherits {
        let parent = ctx.open(name, RelationLockMode::ShareUpdateExclusive)?;
        if !matches!(parent.kind, RelKind::Table | RelKind::PartitionedTable) {
            return Err(wrong_type(format!(
                "inherited relation \"{}\" is not a table or foreign table",
                parent.name
            )));
        }
        parent.refuse_distributed("INHERITS")?;
        let partition = format!("partition \"{}\"", parent.name);
        check_parent(ctx, &parent, is_temporary, &partition)?;
        if parents.iter().any(|known| known.oid == parent.oid) {
            return Err(more_than_once(&parent));
        }
        parents.push(parent);
    }
    Ok(parents)
}

/// 42701 for a column that is written or copied twice. That is checked before columns are merged.
pub(crate) fn check_written_once(
    ctx: &mut DdlContext<'_>,
    elements: &[TableElement],
) -> Result<()> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for element in elements {
        let start = names.len();
        match element {
            TableElement::Column(def) => names.push(truncate_name(&def.name).into()),
            TableElement::Like(like) => {
                let model = ctx.find(&like.relation)?;
                let columns = model.iter().flat_map(|model| model.columns.iter());
                names.extend(columns.filter(|c| !c.dropped).map(|column| column.name.clone()));
            }
            TableElement::Constraint(_) => {}
        }
        let (before, new) = names.split_at(start);
        if let Some(name) = new.iter().find(|name| before.contains(name)) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
    }
    Ok(())
}

/// The columns of a new table that come from its parents.
#[derive(Default)]
pub(crate) struct Merged {
    count: usize,
    /// Positions of columns whose parents have different defaults.
    conflicts: Vec<usize>,
    /// How many columns the statement has named so far.
    written: usize,
}

/// A column that the statement writes, and that comes from a parent as well.
struct Written<'a> {
    new: Column,
    def: &'a ColumnDef,
    /// Its default is a sequence: it is serial or an identity column.
    has_sequence: bool,
}

impl Merged {
    /// Gives a new table, or a new partition, its parents' columns.
    pub(crate) fn new(
        ctx: &mut DdlContext<'_>,
        parents: &[Arc<Relation>],
        relation: &mut Relation,
        is_partition: bool,
    ) -> Result<Merged> {
        let mut merged = Merged::default();
        for parent in parents {
            for column in parent.columns.iter().filter(|column| !column.dropped) {
                match relation.column_index(&column.name) {
                    None => relation.columns.push(inherited_column(column, is_partition)),
                    Some(at) => merged.merge_parents(ctx, &mut relation.columns[at], column, at)?,
                }
            }
        }
        merged.count = relation.columns.len();
        Ok(merged)
    }

    /// A column that an earlier parent has, too.
    fn merge_parents(
        &mut self,
        ctx: &DdlContext<'_>,
        own: &mut Column,
        column: &Column,
        position: usize,
    ) -> Result<()> {
        let name = &column.name;
        ctx.notice(format!("merging multiple inherited definitions of column \"{name}\""));
        if own.declared_type() != column.declared_type() {
            let message = format!("inherited column \"{name}\" has a type conflict");
            return Err(conflict(message, own, column));
        }
        check_collation(own, column, format!("inherited column \"{name}\""))?;
        let storages = [own, column].map(storage_name);
        if storages[0] != storages[1] {
            let message = format!("inherited column \"{name}\" has a storage parameter conflict");
            let detail = format!("{} versus {}", storages[0], storages[1]);
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).detail(detail));
        }
        own.compression = own.compression.or(column.compression);
        if own.generation() != column.generation() {
            let message = format!("inherited column \"{name}\" has a generation conflict");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        own.inherit_count += 1;
        let default = column.default.as_ref().filter(|_| column.identity.is_none());
        match (&own.default, default) {
            (None, Some(_)) => own.default = default.cloned(),
            (Some(own), Some(other)) if own != other => self.conflicts.push(position),
            _ => {}
        }
        Ok(())
    }

    /// Merges a column of the statement with the parent's column of that name. False if no parent
    /// has one.
    pub(crate) fn merge_written(
        &mut self,
        ctx: &mut DdlContext<'_>,
        parts: &mut TableParts,
        def: &ColumnDef,
    ) -> Result<bool> {
        let Some(at) = self.next(&parts.table, truncate_name(&def.name)) else {
            return Ok(false);
        };
        // As if the column were written in the parent's place.
        let whole = parts.table.clone();
        parts.table.columns.truncate(at);
        let sequences = parts.sequences.len();
        parts.add_column(ctx, def)?;
        let has_sequence = parts.sequences.len() > sequences;
        let mut written = std::mem::replace(&mut parts.table, whole);
        let Some(new) = written.columns.pop() else {
            return Err(Error::internal("a written column was not added"));
        };
        self.say(ctx, &new.name, at);
        self.adopt(&mut parts.table, at, Written { new, def, has_sequence })?;
        Ok(true)
    }

    /// Where the next column that the statement names has been inherited.
    fn next(&mut self, relation: &Relation, name: &str) -> Option<usize> {
        self.written += 1;
        let found = relation.column_index(name).filter(|at| *at < self.count);
        found.filter(|at| !relation.columns[*at].local)
    }

    fn say(&self, ctx: &DdlContext<'_>, name: &str, at: usize) {
        if self.written == at + 1 {
            ctx.notice(format!("merging column \"{name}\" with inherited definition"));
        } else {
            ctx.notice_with(
                format!("moving and merging column \"{name}\" with inherited definition"),
                "User-specified column moved to the position of the inherited column.".into(),
            );
        }
    }

    /// A column that LIKE copies, if it is one of a parent's: where that is. `None`: it is none.
    ///
    /// The copied default comes after all else: it takes the place of the parents', but does not
    /// settle what they disagree about.
    pub(crate) fn merge_copied(
        &mut self,
        ctx: &DdlContext<'_>,
        relation: &mut Relation,
        copied: &Column,
    ) -> Result<Option<usize>> {
        let Some(at) = self.next(relation, &copied.name) else { return Ok(None) };
        self.say(ctx, &copied.name, at);
        let table = relation.name.clone();
        let own = &mut relation.columns[at];
        check_agreement(own, copied)?;
        if own.generated && copied.identity.is_some() {
            return Err(specifies_identity(own));
        }
        if own.generated && copied.default.is_some() {
            let column = format!("column {} of table {table}", own.name);
            let message =
                format!("cannot drop default value for {column} because {column} requires it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .hint(format!("You can drop {column} instead.")));
        }
        own.identity = copied.identity;
        own.local = true;
        own.comment = copied.comment.clone();
        if copied.default.is_some() {
            own.default = copied.default.clone();
        }
        Ok(Some(at))
    }

    /// Gives an inherited column the clauses that the statement has for it.
    fn adopt(
        &mut self,
        table: &mut Relation,
        at: usize,
        Written { new, def, has_sequence }: Written<'_>,
    ) -> Result<()> {
        let own = &mut table.columns[at];
        check_agreement(own, &new)?;
        let says =
            |wanted: fn(&AstConstraint) -> bool| def.constraints.iter().any(|c| wanted(&c.kind));
        let defaults = says(|kind| matches!(kind, AstConstraint::Default(_)));
        let generates = says(|kind| matches!(kind, AstConstraint::Generated { .. }));
        check_generation(own, def)?;
        if defaults || generates || has_sequence {
            own.default = None;
            self.conflicts.retain(|position| *position != at);
        }
        own.identity = new.identity;
        own.compression = own.compression.or(new.compression);
        own.local = true;
        Ok(())
    }

    /// 42611 if parents disagree about a default that the statement does not give.
    pub(crate) fn check_defaults(&self, relation: &Relation) -> Result<()> {
        let Some(column) = self.conflicts.first().and_then(|at| relation.columns.get(*at)) else {
            return Ok(());
        };
        let (what, give) = match column.generated {
            true => ("generation expressions", "generation expression"),
            false => ("default values", "default"),
        };
        Err(Error::new(
            SqlState::INVALID_COLUMN_DEFINITION,
            format!("column \"{}\" inherits conflicting {what}", column.name),
        )
        .hint(format!("To resolve the conflict, specify a {give} explicitly.")))
    }
}

/// attstorage, as ALTER COLUMN … SET STORAGE calls it.
fn storage_name(column: &Column) -> &'static str {
    match column.storage.unwrap_or_else(|| char::from(type_storage(column.type_oid))) {
        'p' => "PLAIN",
        'e' => "EXTERNAL",
        'm' => "MAIN",
        _ => "EXTENDED",
    }
}

/// The column that the statement writes has the inherited column's type, 42804, and collation,
/// 42P21.
fn check_agreement(own: &Column, new: &Column) -> Result<()> {
    let name = &own.name;
    if (own.type_oid, own.typmod) != (new.type_oid, new.typmod) {
        return Err(conflict(format!("column \"{name}\" has a type conflict"), own, new));
    }
    check_collation(own, new, format!("column \"{name}\""))
}

fn specifies_identity(own: &Column) -> Error {
    let message =
        format!("column \"{}\" inherits from generated column but specifies identity", own.name);
    Error::new(SqlState::INVALID_COLUMN_DEFINITION, message)
}

/// A column is generated exactly if its parent's is: 42611.
pub(crate) fn check_generation(own: &Column, def: &ColumnDef) -> Result<()> {
    let name = &own.name;
    for constraint in &def.constraints {
        let refused = |message| Error::new(SqlState::INVALID_COLUMN_DEFINITION, message);
        match (&constraint.kind, own.generated) {
            (AstConstraint::Default(_), true) => {
                let inherits = format!("column \"{name}\" inherits from generated column");
                return Err(refused(format!("{inherits} but specifies default")));
            }
            (AstConstraint::Identity { .. }, true) => {
                return Err(specifies_identity(own));
            }
            (AstConstraint::Generated { .. }, false) => {
                let message = format!("child column \"{name}\" specifies generation expression");
                return Err(refused(message).hint(
                    "A child table column cannot be generated unless its parent column is.",
                ));
            }
            (AstConstraint::Generated { stored, .. }, true) if *stored == own.is_virtual => {
                let state = SqlState::INVALID_COLUMN_DEFINITION;
                return Err(of_different_kind(own, state));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The parent's column, which a child has as the other kind.
pub(super) fn of_different_kind(parent: &Column, state: SqlState) -> Error {
    let (name, kinds) = (&parent.name, ["STORED", "VIRTUAL"]);
    let [theirs, own] = [parent.is_virtual, !parent.is_virtual].map(|at| kinds[usize::from(at)]);
    let message = format!("column \"{name}\" inherits from generated column of different kind");
    let detail = format!("Parent column is {theirs}, child column is {own}.");
    Error::new(state, message).detail(detail)
}

fn conflict(message: String, own: &Column, other: &Column) -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, message).detail(versus(own, other))
}

/// 42P21 unless both have one collation.
fn check_collation(own: &Column, other: &Column, what: String) -> Result<()> {
    if own.collation == other.collation {
        return Ok(());
    }
    let [a, b] =
        [own, other].map(|column| builtin::collation_name(column.collation).unwrap_or_default());
    Err(Error::new(SqlState::COLLATION_MISMATCH, format!("{what} has a collation conflict"))
        .detail(format!("\"{a}\" versus \"{b}\"")))
}

/// Gives a new table its parents' CHECK constraints.
pub(crate) fn merge_checks(
    ctx: &mut DdlContext<'_>,
    parents: &[Arc<Relation>],
    relation: &mut Relation,
) -> Result<()> {
    for parent in parents {
        for theirs in parent.constraints.iter().filter(|theirs| !theirs.no_inherit) {
            if matches!(theirs.kind, ConstraintKind::Check { .. }) {
                merge_check(ctx, parent, theirs, relation)?;
            }
        }
    }
    Ok(())
}

fn merge_check(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    theirs: &Constraint,
    relation: &mut Relation,
) -> Result<()> {
    let columns = columns_in(relation, parent, theirs)?;
    if let Some(own) = relation.constraints.iter_mut().find(|own| own.name == theirs.name) {
        if own.kind != theirs.kind {
            return Err(Error::new(
                SqlState::DUPLICATE_OBJECT,
                format!(
                    "check constraint name \"{}\" appears multiple times but with different \
                     expressions",
                    theirs.name
                ),
            ));
        }
        own.inherit_count += 1;
        return Ok(());
    }
    let (name, kind) = (theirs.name.clone(), theirs.kind.clone());
    let own = Constraint::new(ctx.store.new_oid()?, name, kind, columns);
    relation.constraints.push(own.inherited());
    Ok(())
}
