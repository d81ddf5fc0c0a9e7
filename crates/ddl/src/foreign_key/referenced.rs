//! The key that a foreign key refers to: a unique index over exactly the named columns, and how its
//! values compare with the referencing ones.

use super::super::DdlContext;
use super::column_list;
use steppe_catalog::{Catalog, Column, Constraint, IndexInfo, KeyOperators, Relation, builtin};
use steppe_exec::stored::converts;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The referenced columns with their index.
pub(super) struct ReferencedKey {
    pub(super) index: Oid,
    pub(super) columns: Vec<i16>,
}

impl ReferencedKey {
    /// The primary key if no columns are named (transformFkeyGetPrimaryKey), or the unique index of
    /// the columns (transformFkeyCheckAttrs).
    pub(super) fn find(
        ctx: &mut DdlContext<'_>,
        table: &Relation,
        names: &[String],
    ) -> Result<ReferencedKey> {
        match names {
            [] => Self::primary(ctx, table),
            names => Self::of_columns(ctx, table, column_list(table, names)?),
        }
    }

    fn primary(ctx: &mut DdlContext<'_>, table: &Relation) -> Result<ReferencedKey> {
        let none = || {
            let message =
                format!("there is no primary key for referenced table \"{}\"", table.name);
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        };
        let index = table.primary_key().and_then(Constraint::index).ok_or_else(none)?;
        let catalog = ctx.catalog();
        let info = catalog.relation(index).and_then(|index| index.index.as_ref());
        let info = info.ok_or_else(none)?;
        if info.deferral.is_deferrable() {
            return Err(deferrable("primary key", table));
        }
        let columns = info.keys.iter().map(|key| key.attnum).collect();
        Ok(ReferencedKey { index, columns })
    }

    fn of_columns(
        ctx: &mut DdlContext<'_>,
        table: &Relation,
        columns: Vec<i16>,
    ) -> Result<ReferencedKey> {
        let mut sorted = columns.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            let message = "foreign key referenced-columns list must not contain duplicates";
            return Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message));
        }
        let catalog = ctx.catalog();
        let mut found_deferrable = false;
        for index in catalog.indexes_of(table) {
            let Some(info) = &index.index else { continue };
            if !is_over(info, &sorted) || !catalog.is_valid_index(index) {
                continue;
            }
            if info.deferral.is_deferrable() {
                found_deferrable = true;
                continue;
            }
            return Ok(ReferencedKey { index: index.oid, columns });
        }
        if found_deferrable {
            return Err(deferrable("unique constraint", table));
        }
        Err(Error::new(
            SqlState::INVALID_FOREIGN_KEY,
            format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                table.name
            ),
        ))
    }

    /// The operators of each column pair: 42804 if there are none.
    pub(super) fn operators(
        &self,
        table: &Relation,
        columns: &[i16],
        (referenced, name): (&Relation, &str),
        catalog: &Catalog,
    ) -> Result<Box<[KeyOperators]>> {
        let base = |column: &Column| catalog.base_type(column.type_oid).oid;
        let pair = |(own, theirs): (&i16, &i16)| {
            let own = &table.columns[*own as usize - 1];
            let theirs = &referenced.columns[*theirs as usize - 1];
            let found = operators(base(theirs), base(own), catalog).ok_or_else(|| {
                let shown =
                    |column: &Column| steppe_sql::bind::typename::format_type(column.type_oid, -1);
                let message = format!("foreign key constraint \"{name}\" cannot be implemented");
                Error::new(SqlState::DATATYPE_MISMATCH, message).detail(format!(
                    "Key columns \"{}\" of the referencing table and \"{}\" of the referenced \
                     table are of incompatible types: {} and {}.",
                    own.name,
                    theirs.name,
                    shown(own),
                    shown(theirs)
                ))
            })?;
            if converts(base(own), base(theirs)) {
                return Ok(found);
            }
            let shown = |ty| steppe_sql::bind::typename::format_type(ty, -1);
            let (from, to) = (shown(own.type_oid), shown(theirs.type_oid));
            Err(Error::not_supported(format!("foreign keys from type {from} to type {to}")))
        };
        columns.iter().zip(&self.columns).map(pair).collect()
    }
}

/// Whether an index can be referred to by these columns, sorted, in any order.
fn is_over(info: &IndexInfo, sorted: &[i16]) -> bool {
    let mut keys: Vec<i16> = info.keys.iter().map(|key| key.attnum).collect();
    keys.sort_unstable();
    info.unique && info.predicate.is_none() && keys == sorted
}

fn deferrable(what: &str, table: &Relation) -> Error {
    Error::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("cannot use a deferrable {what} for referenced table \"{}\"", table.name),
    )
}

/// The equality operators of a referenced and a referencing type.
fn operators(referenced: Oid, referencing: Oid, catalog: &Catalog) -> Option<KeyOperators> {
    let equal = |ty: Oid| match catalog.ty(ty).map(|ty| ty.kind) {
        Some(b'e') => builtin::ordering(oid::ANYENUM).map(|ordering| ordering.eq),
        Some(b'c') => builtin::ordering(oid::RECORD).map(|ordering| ordering.eq),
        _ => builtin::ordering(ty).map(|ordering| ordering.eq),
    };
    let pp = equal(referenced)?;
    if referenced == referencing {
        return Some(KeyOperators { pf: pp, pp, ff: pp });
    }
    let is_general = |ty: Oid| {
        catalog.ty(ty).is_some_and(|ty| ty.is_true_array() || matches!(ty.kind, b'e' | b'c'))
    };
    if is_general(referenced) || is_general(referencing) {
        return None;
    }
    let of = |left: Oid, right: Oid| {
        let operator = builtin::operator_of("=", left, right)?;
        (builtin::strategy(operator.oid) == Some(builtin::Strategy::Equal)).then_some(operator.oid)
    };
    if let (Some(pf), Some(ff)) = (of(referenced, referencing), equal(referencing)) {
        return Some(KeyOperators { pf, pp, ff });
    }
    let is_implicit = builtin::cast(referencing, referenced)
        .is_some_and(|cast| cast.context == builtin::CastContext::Implicit);
    // varchar is compared as text.
    let is_same = equal(referencing) == Some(pp);
    (is_implicit || is_same).then_some(KeyOperators { pf: pp, pp, ff: pp })
}
