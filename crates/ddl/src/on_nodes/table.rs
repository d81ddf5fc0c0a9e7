//! A distributed table's table on its nodes, as a value.

use std::sync::Arc;
use steppe_catalog::system::definitions::{
    Style, collate_clause, constraint_definition, index_definition, quote_identifier,
    simple_quote_literal,
};
use steppe_catalog::{
    Catalog, Column, Constraint, ConstraintKind, Distribution, PG_CATALOG, Relation,
};
use steppe_sql::bind::typename::TypeNames;
use steppe_types::Oid;

/// The definition of a table on nodes. Its parts keep their identities when they are renamed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeTable {
    pub(super) distribution: Arc<Distribution>,
    pub(super) schema: Arc<str>,
    pub(super) name: Arc<str>,
    /// By attribute number; `None` is one that has been dropped.
    pub(super) columns: Vec<Option<NodeColumn>>,
    /// CHECKs and keys.
    pub(super) constraints: Vec<NodePart>,
    /// The indexes that serve no constraint.
    pub(super) indexes: Vec<NodePart>,
    /// Storage parameters.
    pub(super) options: Vec<(Arc<str>, Arc<str>)>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeColumn {
    pub(super) name: Arc<str>,
    /// Its type with COLLATE.
    pub(super) type_text: String,
    pub(super) not_null: bool,
    /// The value that rows before ADD COLUMN have, as an expression.
    pub(super) missing: Option<String>,
}

/// A constraint or an index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodePart {
    pub(super) oid: Oid,
    pub(super) name: Arc<str>,
    /// A constraint after its name in CREATE TABLE, or CREATE INDEX.
    pub(super) definition: String,
    /// Rows need not satisfy it.
    pub(super) not_valid: bool,
}

impl NodeTable {
    /// The value for a table as the catalog has it; `None` if it is not distributed.
    pub(super) fn of(catalog: &Catalog, table: &Relation) -> Option<NodeTable> {
        let distribution = table.distribution.clone()?;
        let constraints = || table.constraints.iter();
        let part = |own: &Constraint| NodePart {
            oid: own.oid,
            name: own.name.clone(),
            definition: constraint_definition(catalog, table, own, Style::PLAIN),
            not_valid: own.not_valid,
        };
        let is_behind = |index: &Relation| constraints().any(|c| c.index() == Some(index.oid));
        let indexes = catalog.indexes_of(table).filter(|index| !is_behind(index));
        let indexes = indexes.map(|index| NodePart {
            oid: index.oid,
            name: index.name.clone(),
            definition: index_definition(catalog, index, Style::PLAIN).unwrap_or_default(),
            not_valid: false,
        });
        let is_kept = |own: &&Constraint| !matches!(own.kind, ConstraintKind::NotNull);
        Some(NodeTable {
            distribution,
            schema: catalog.schema(table.schema).map_or("public".into(), |s| s.name.clone()),
            name: table.name.clone(),
            columns: table.columns.iter().map(|own| column(catalog, own)).collect(),
            constraints: constraints().filter(is_kept).map(part).collect(),
            indexes: indexes.collect(),
            options: table.options.to_vec(),
        })
    }

    /// Its name with the schema's.
    pub(super) fn full_name(&self) -> String {
        self.beside(&self.name)
    }

    /// The full name of a relation in the table's schema.
    pub(super) fn beside(&self, name: &str) -> String {
        format!("{}.{}", quote_identifier(&self.schema), quote_identifier(name))
    }
}

fn column(catalog: &Catalog, column: &Column) -> Option<NodeColumn> {
    if column.dropped {
        return None;
    }
    let (ty, typmod) = column.declared_type();
    let names = TypeNames { catalog, path: &[PG_CATALOG] };
    let type_name = names.format_with_typmod(ty, typmod);
    let usual = catalog.column("", ty, typmod).collation;
    let missing = column.missing.as_ref();
    Some(NodeColumn {
        name: column.name.clone(),
        not_null: column.not_null,
        missing: missing.map(|text| format!("{}::{type_name}", simple_quote_literal(text))),
        type_text: type_name + &collate_clause(column.collation, usual),
    })
}

/// A storage parameter in WITH or SET.
pub(super) fn option_text((name, value): &(Arc<str>, Arc<str>)) -> String {
    format!("{} = {}", option_name(name), simple_quote_literal(value))
}

/// Its name, which may be one of the table for large values.
pub(super) fn option_name(name: &str) -> String {
    name.split('.').map(quote_identifier).collect::<Vec<_>>().join(".")
}

impl NodeColumn {
    /// The column in CREATE TABLE or ADD COLUMN.
    pub(super) fn definition(&self) -> String {
        let not_null = if self.not_null { " NOT NULL" } else { "" };
        format!("{} {}{not_null}", quote_identifier(&self.name), self.type_text)
    }
}

impl NodePart {
    /// A constraint in CREATE TABLE or ADD.
    pub(super) fn named(&self) -> String {
        format!("CONSTRAINT {} {}", quote_identifier(&self.name), self.definition)
    }
}
