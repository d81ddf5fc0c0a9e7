//! Referenced keys that a statement has removed, and the actions on rows that refer to them
//! (RI_FKey_noaction_del and the like).
//!
//! Each action is a statement over the referencing table, planned once and kept with the compiled
//! command. The plan prefers an index. The events of the rows that an action changes run after the
//! events of the statement that has caused the action, so cascades do not nest.
//!
//! An action changes the rows that refer to the key now, in each isolation level. Above READ
//! COMMITTED it fails with 40001 if the transaction's snapshot does not see one of them (the
//! crosscheck snapshot of ri_PerformCheck).

use super::log::KeyChange;
use super::names::{column_name, key_query, table_name};
use super::set::positions;
use super::violation::{pick, still_referenced};
use crate::change::hooks::RowCommand;
use crate::context::ExecContext;
use crate::deferred::{DeferredEvent, KeyOfRow};
use crate::spi::{KeyStatement, RunOf, Spi};
use std::fmt::Write as _;
use std::sync::Arc;
use steppe_catalog::{Catalog, Deferral, Reference, ReferentialAction, Relation};
use steppe_types::{Datum, Error, Oid, Result};

/// A foreign key, on the side of the referenced table.
pub(in crate::change) struct Referenced {
    oid: Oid,
    name: Arc<str>,
    referencing: Arc<Relation>,
    action: ReferentialAction,
    deferral: Deferral,
    /// The referenced table is no partition.
    of_root: bool,
    /// The places of the key's columns among the columns of a queued key.
    places: Box<[usize]>,
    /// The positions of the columns in the table.
    columns: Box<[usize]>,
    /// Whether rows refer to the key.
    refers: KeyStatement,
    /// Whether the referenced table has the key.
    exists: KeyStatement,
    /// CASCADE and others.
    change: Option<KeyStatement>,
}

impl Referenced {
    /// `table`: the referenced table, whose columns are at `places` of a queued key.
    pub(super) fn new(
        Reference { table: referencing, constraint, key }: Reference<'_>,
        table: &Relation,
        places: Box<[usize]>,
        command: RowCommand,
    ) -> Referenced {
        let action = match command {
            RowCommand::Update => key.on_update,
            _ => key.on_delete,
        };
        let types: Vec<Oid> =
            key.columns.iter().map(|c| table.columns[*c as usize - 1].type_oid).collect();
        let of =
            Found { table: table.oid, referencing: referencing.oid, constraint: constraint.oid };
        let changes = changes_rows(action);
        Referenced {
            oid: constraint.oid,
            name: Arc::clone(&constraint.name),
            referencing: Arc::clone(referencing),
            action,
            deferral: key.deferral,
            of_root: table.partition_of.is_none(),
            places,
            columns: positions(&key.columns).into(),
            refers: KeyStatement::new(
                move |catalog| of.text(catalog, |texts| texts.refers()),
                types.clone(),
            ),
            exists: KeyStatement::new(
                move |catalog| of.text(catalog, |texts| texts.exists()),
                types.clone(),
            ),
            change: changes.then(|| {
                let cascades = action == ReferentialAction::Cascade;
                let twice = cascades && command == RowCommand::Update;
                let text = move |catalog: &Catalog| {
                    of.text(catalog, |texts| texts.change(action, command))
                };
                KeyStatement::new(text, if twice { types.repeat(2) } else { types })
            }),
        }
    }

    pub(super) fn oid(&self) -> Oid {
        self.oid
    }

    pub(super) fn is_of_root(&self) -> bool {
        self.of_root
    }

    /// Whether the change has removed the key (RI_FKey_pk_upd_check_required).
    pub(super) fn concerns(&self, change: KeyChange<'_>) -> bool {
        let Some(old) = change.old else { return false };
        let value = |version: &[Datum], at: &usize| version.get(*at).cloned();
        let has_null = self.places.iter().any(|at| old.get(*at).is_none_or(Datum::is_null));
        let is_kept = change
            .new
            .is_some_and(|new| self.places.iter().all(|at| value(old, at) == value(new, at)));
        !has_null && !is_kept
    }

    /// The constraint's deferral for NO ACTION. The other actions cannot be deferred.
    pub(super) fn deferral(&self) -> Deferral {
        match self.action {
            ReferentialAction::NoAction => self.deferral,
            _ => Deferral::NotDeferrable,
        }
    }

    /// Moves the check of a removed key to the transaction's deferred events.
    pub(super) fn defer(
        &self,
        relation: &Relation,
        change: KeyChange<'_>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let of = KeyOfRow {
            table: relation.oid,
            referencing: self.referencing.oid,
            constraint: self.oid,
            row: change.row,
            key: pick(&self.places, change.old.unwrap_or_default())?.into(),
            command: change.command,
        };
        cx.defer(DeferredEvent::Unreferenced(Box::new(of)), self.deferral)
    }

    /// Runs the action.
    pub(super) fn run(
        &self,
        relation: &Arc<Relation>,
        change: KeyChange<'_>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let key = pick(&self.places, change.old.unwrap_or_default())?;
        let Some(statement) = &self.change else { return self.refuse(relation, &key, cx) };
        let mut params = Vec::with_capacity(2 * key.len());
        if statement.params() > key.len() {
            params.extend(pick(&self.places, change.new.unwrap_or_default())?);
        }
        params.extend(key.iter().cloned());
        let session = Arc::clone(&cx.functions.session);
        // In PostgreSQL a trigger of the table runs the statement (pg_trigger_depth).
        session.enter_trigger(relation.oid, None);
        let ran = Spi::new(cx).run_for_key(statement, &params, RunOf::Action);
        session.leave_trigger();
        ran?;
        if self.action == ReferentialAction::SetDefault {
            // The default may be the removed key.
            return self.refuse(relation, &key, cx);
        }
        Ok(())
    }

    /// Fails if rows refer to the key and, unless the action is RESTRICT, no row has it.
    fn refuse(&self, relation: &Relation, key: &[Datum], cx: &mut ExecContext) -> Result<()> {
        if Spi::new(cx).run_for_key(&self.refers, key, RunOf::Check)? == 0 {
            return Ok(());
        }
        let restrict = self.action == ReferentialAction::Restrict;
        if !restrict && Spi::new(cx).run_for_key(&self.exists, key, RunOf::Check)? > 0 {
            return Ok(());
        }
        let of = (relation, &self.columns[..]);
        let by = (&*self.referencing, &*self.name);
        Err(still_referenced(of, key, by, restrict, &cx.functions))
    }
}

/// Checks a removed key of a deferred constraint: rows may refer to it only if the key exists
/// again.
pub(in crate::change) fn run_unreferenced(of: &KeyOfRow, cx: &mut ExecContext) -> Result<()> {
    let catalog = Arc::clone(&cx.functions.catalog);
    // The constraint may have been dropped.
    let referencing = catalog.relation(of.referencing);
    let own = referencing.and_then(|table| {
        let constraint = table.constraints.iter().find(|own| own.oid == of.constraint)?;
        Some(Reference { table, constraint, key: constraint.foreign_key()? })
    });
    let Some(reference) = own else { return Ok(()) };
    let Some(table) = catalog.relation(reference.key.table) else { return Ok(()) };
    let places = (0..of.key.len()).collect();
    let key = Referenced::new(reference, table, places, RowCommand::Delete);
    let relation = catalog.relation(of.table).unwrap_or(table);
    let refused = Referenced { action: ReferentialAction::NoAction, ..key };
    refused.refuse(relation, &of.key, cx)
}

/// Whether an action is more than an error.
fn changes_rows(action: ReferentialAction) -> bool {
    !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict)
}

/// A foreign key by numbers: its tables and columns may get other names.
#[derive(Clone, Copy)]
struct Found {
    table: Oid,
    referencing: Oid,
    constraint: Oid,
}

impl Found {
    /// A statement's text with the names of a version of the catalog.
    fn text(self, catalog: &Catalog, text: impl FnOnce(&Texts<'_>) -> String) -> Result<String> {
        let gone =
            || Error::internal("a foreign key has gone while its referenced table is locked");
        let table = catalog.relation(self.table).ok_or_else(gone)?;
        let referencing = catalog.relation(self.referencing).ok_or_else(gone)?;
        let mut keys = referencing.foreign_keys();
        let found = keys.find(|(own, _)| own.oid == self.constraint);
        let (constraint, key) = found.ok_or_else(gone)?;
        let reference = (&constraint.columns[..], &**key);
        Ok(text(&Texts { catalog, table, referencing, reference }))
    }
}

/// Makes the texts of the statements, as PostgreSQL does.
struct Texts<'a> {
    catalog: &'a Catalog,
    table: &'a Relation,
    referencing: &'a Relation,
    reference: (&'a [i16], &'a steppe_catalog::ForeignKey),
}

impl Texts<'_> {
    fn referencing_columns(&self) -> impl Iterator<Item = String> {
        self.reference.0.iter().map(|attnum| column_name(self.referencing, *attnum))
    }

    /// `WHERE $1 OPERATOR(pg_catalog.=) "a" AND …`, with parameters after the first `skipped`.
    fn condition(&self, out: &mut String, skipped: usize) {
        for (n, column) in self.referencing_columns().enumerate() {
            let word = if n == 0 { "WHERE" } else { "AND" };
            let _ = write!(out, " {word} ${} OPERATOR(pg_catalog.=) {column}", n + 1 + skipped);
        }
    }

    fn refers(&self) -> String {
        let mut out = format!("SELECT 1 FROM {} x", table_name(self.catalog, self.referencing));
        self.condition(&mut out, 0);
        out.push_str(" FOR KEY SHARE OF x");
        out
    }

    fn exists(&self) -> String {
        key_query(self.catalog, self.table, self.reference.1.columns.iter().copied())
    }

    /// The statement of an action that [`changes_rows`].
    fn change(&self, action: ReferentialAction, command: RowCommand) -> String {
        let name = table_name(self.catalog, self.referencing);
        let value = match action {
            ReferentialAction::Cascade if command == RowCommand::Delete => {
                let mut out = format!("DELETE FROM {name}");
                self.condition(&mut out, 0);
                return out;
            }
            ReferentialAction::SetNull => Some("NULL"),
            ReferentialAction::SetDefault => Some("DEFAULT"),
            _ => None,
        };
        let of_delete = command == RowCommand::Delete;
        let set = match &self.reference.1.set_columns[..] {
            columns if of_delete && !columns.is_empty() => columns,
            _ => self.reference.0,
        };
        let mut out = format!("UPDATE {name} SET");
        for (n, attnum) in set.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let column = column_name(self.referencing, *attnum);
            let _ = match value {
                Some(value) => write!(out, "{comma} {column} = {value}"),
                None => write!(out, "{comma} {column} = ${}", n + 1),
            };
        }
        let skipped = if value.is_none() { set.len() } else { 0 };
        self.condition(&mut out, skipped);
        out
    }
}
