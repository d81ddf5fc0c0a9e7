//! Names of new objects: the schema that they go to, names that are free, types by name.

use super::DdlContext;
use steppe_catalog::{
    Catalog, NAME_BYTES_MAX, ObjectId, PG_CATALOG, Relation, TEMPORARY_SCHEMA, object_name,
};
use steppe_sql::ast::{self, RangeVar, TypeName};
use steppe_sql::bind::typename::TypeNames;
use steppe_sql::expr::TypeRef;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// The parts of a name that the server makes up: `t_a_b_key`.
#[derive(Clone, Copy)]
pub(crate) struct NameParts<'a> {
    pub(crate) table: &'a str,
    /// Names of columns, joined by underscores; empty if the name has none.
    pub(crate) columns: &'a str,
    pub(crate) label: &'a str,
}

impl DdlContext<'_> {
    /// The schema a new object goes to, locked: named, or the first of the search path.
    pub(crate) fn target_schema(&mut self, name: &RangeVar) -> Result<Oid> {
        loop {
            let schema = self.find_target_schema(name)?;
            if self.lock_schema(schema)? {
                return Ok(schema);
            }
        }
    }

    /// Keeps other transactions from dropping a schema until this one ends. False: another one has
    /// dropped it.
    pub(crate) fn lock_schema(&mut self, schema: Oid) -> Result<bool> {
        self.lock_object(ObjectId::Schema(schema), RelationLockMode::AccessShare)?;
        let is_there = self.catalog().schema(schema).is_some();
        if !is_there && self.creation_schema == Some(schema) {
            // The search path was resolved before.
            let path = std::mem::take(&mut self.search_path);
            let catalog = self.catalog();
            self.search_path = path.into_iter().filter(|s| catalog.schema(*s).is_some()).collect();
            let takes_objects = |s: &&Oid| {
                **s != PG_CATALOG && catalog.schema(**s).is_some_and(|s| !s.is_temporary())
            };
            self.creation_schema = self.search_path.iter().find(takes_objects).copied();
        }
        Ok(is_there)
    }

    fn find_target_schema(&mut self, name: &RangeVar) -> Result<Oid> {
        name.check_database()?;
        let temporary = name.persistence == ast::Persistence::Temporary;
        let own =
            |schema: &String| *schema == TEMPORARY_SCHEMA || **schema == *self.temporary_schema;
        match &name.schema {
            Some(schema) if own(schema) && name.persistence == ast::Persistence::Unlogged => {
                Err(self.error(
                    SqlState::INVALID_TABLE_DEFINITION,
                    "only temporary relations may be created in temporary schemas",
                    name.location,
                ))
            }
            Some(schema) if own(schema) => self.own_temporary_schema(),
            None if temporary || self.creates_temporary => self.own_temporary_schema(),
            Some(_) if temporary => Err(self.error(
                SqlState::INVALID_TABLE_DEFINITION,
                "cannot create temporary relation in non-temporary schema",
                name.location,
            )),
            Some(schema) => {
                let found = self.catalog().schema_named(schema).map(|s| s.oid);
                let oid = found.ok_or_else(|| {
                    self.error(
                        SqlState::INVALID_SCHEMA_NAME,
                        format!("schema \"{schema}\" does not exist"),
                        name.location,
                    )
                })?;
                if oid == PG_CATALOG {
                    return Err(Error::new(
                        SqlState::INSUFFICIENT_PRIVILEGE,
                        format!("permission denied to create \"pg_catalog.{}\"", name.name),
                    )
                    .detail("System catalog modifications are currently disallowed."));
                }
                Ok(oid)
            }
            None => self.creation_schema.ok_or_else(|| {
                self.error(
                    SqlState::INVALID_SCHEMA_NAME,
                    "no schema has been selected to create in",
                    name.location,
                )
            }),
        }
    }

    /// Reserves a new relation's name. `None` if it exists and `if_not_exists` allows that.
    pub(crate) fn new_name(
        &mut self,
        name: &RangeVar,
        if_not_exists: bool,
    ) -> Result<Option<(Oid, String)>> {
        let schema = self.target_schema(name)?;
        let short = truncate_name(&name.name).to_string();
        self.lock_name(schema, &short)?;
        if self.catalog().relation_named(schema, &short).is_none() {
            return Ok(Some((schema, short)));
        }
        self.skip_present(if_not_exists, relation_exists(&short))?;
        Ok(None)
    }

    /// Keeps other transactions from using a name that is free, until this one ends.
    pub(crate) fn lock_name(&self, schema: Oid, name: &str) -> Result<()> {
        match self.store.lock_name(self.txn, schema, name)? {
            Some(wait) => self.session.block_on(wait),
            None => Ok(()),
        }
    }

    /// A free name made of parts, as PostgreSQL's ChooseRelationName: `t_a_key`, `t_a_key1` ….
    pub(crate) fn choose_name(&mut self, schema: Oid, parts: NameParts<'_>) -> Result<String> {
        self.choose_free_name(schema, parts, |catalog, name| {
            catalog.relation_named(schema, name).is_none()
        })
    }

    /// As [`DdlContext::choose_name`], for the index of a constraint that is called the same. The
    /// table may have constraints that are not in the catalog yet.
    pub(crate) fn choose_key_name(
        &mut self,
        table: &Relation,
        columns: &str,
        label: &str,
    ) -> Result<String> {
        let (schema, parts) = (table.schema, NameParts { table: &table.name, columns, label });
        self.choose_free_name(schema, parts, |catalog, name| {
            let is_own = table.constraints.iter().any(|own| *own.name == *name);
            !is_own && catalog.is_free_for_key(schema, name)
        })
    }

    fn choose_free_name(
        &mut self,
        schema: Oid,
        parts: NameParts<'_>,
        is_free: impl Fn(&Catalog, &str) -> bool,
    ) -> Result<String> {
        for pass in 0u32.. {
            let label = match pass {
                0 => parts.label.to_string(),
                n => format!("{}{n}", parts.label),
            };
            let name = object_name(parts.table, parts.columns, &label);
            self.lock_name(schema, &name)?;
            if is_free(&self.catalog(), &name) {
                return Ok(name);
            }
        }
        Err(Error::internal("no free name was found"))
    }

    /// A type by its name as written: 42704.
    pub(crate) fn resolve_type(&mut self, name: &TypeName) -> Result<TypeRef> {
        let catalog = self.catalog();
        TypeNames { catalog: &catalog, path: &self.search_path }.resolve(name)
    }

    /// The SQL name of a type, for messages.
    pub(crate) fn format_type(&mut self, type_oid: Oid) -> String {
        let catalog = self.catalog();
        TypeNames { catalog: &catalog, path: &self.search_path }.format(type_oid, -1)
    }
}

/// Names are cut to 63 bytes, at a character's start.
pub(crate) fn truncate_name(name: &str) -> &str {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let end = (0..=NAME_BYTES_MAX).rev().find(|i| name.is_char_boundary(*i)).unwrap_or(0);
    &name[..end]
}

/// 42P07: a relation has the name already.
pub(crate) fn relation_exists(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}
