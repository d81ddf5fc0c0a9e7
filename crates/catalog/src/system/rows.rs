//! The rows of a system catalog: their providers, and a builder for them.

use super::facts::{self, Rows};
use super::session::SystemContext;
use super::shape::{self, Shape};
use super::{
    acls, aggregates, casts, classes, cluster, constraints, depends, extended_statistics,
    extensions, functions, information_schema, nodes, operators, partitions, row_types, statistics,
    triggers, views,
};
use crate::PG_CATALOG;
use std::sync::Arc;
use steppe_types::datum::Array;
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// Adds the rows of one catalog.
pub(super) type Provider = fn(&SystemContext<'_>, &mut RowsBuilder);

/// The rows of a system catalog, with its columns in order. `None`: the rows are unknown.
pub fn rows(relation: Oid, context: &SystemContext<'_>) -> Result<Option<Rows>> {
    let shape = shape::by_oid(relation)
        .ok_or_else(|| Error::internal(format!("{relation} is no system catalog")))?;
    if shape.schema == PG_CATALOG {
        if let Some(rows) = context.session.rows(shape.name)? {
            return Ok(Some(Arc::new(rows)));
        }
        if shape.name == "pg_proc" {
            return functions::pg_proc(shape, context);
        }
        if shape.name == "pg_cast" {
            return casts::pg_cast(shape, context);
        }
        if shape.name == "pg_operator" {
            return operators::pg_operator(shape, context);
        }
        if shape.name == "pg_aggregate" {
            return aggregates::pg_aggregate(shape, context);
        }
        if shape.name != "pg_type"
            && let Some(rows) = facts::rows(shape)?
        {
            return Ok(Some(rows));
        }
    }
    let (provider, empty) = if shape.schema == PG_CATALOG {
        (catalog_provider(shape.name), EMPTY.contains(&shape.name))
    } else {
        (information_schema::provider(shape.name), information_schema::EMPTY.contains(&shape.name))
    };
    let mut builder = RowsBuilder::of(shape);
    match provider {
        Some(provider) => provider(context, &mut builder),
        None if empty => {}
        None => return Ok(None),
    }
    Ok(Some(Arc::new(builder.finish()?)))
}

fn catalog_provider(name: &str) -> Option<Provider> {
    Some(match name {
        "pg_class" => classes::pg_class,
        "pg_type" => row_types::pg_type,
        "pg_enum" => row_types::pg_enum,
        "pg_attribute" => classes::pg_attribute,
        "pg_attrdef" => classes::pg_attrdef,
        "pg_sequence" => classes::pg_sequence,
        "pg_description" => classes::pg_description,
        "pg_rewrite" => classes::pg_rewrite,
        "pg_init_privs" => acls::pg_init_privs,
        "pg_index" => constraints::pg_index,
        "pg_constraint" => constraints::pg_constraint,
        "pg_depend" => depends::pg_depend,
        "pg_extension" => extensions::pg_extension,
        "pg_available_extensions" => extensions::pg_available_extensions,
        "pg_available_extension_versions" => extensions::pg_available_extension_versions,
        "pg_trigger" => triggers::pg_trigger,
        "pg_inherits" => partitions::pg_inherits,
        "pg_partitioned_table" => partitions::pg_partitioned_table,
        "pg_namespace" => cluster::pg_namespace,
        "pg_database" => cluster::pg_database,
        "pg_tablespace" => cluster::pg_tablespace,
        "pg_authid" => cluster::pg_authid,
        "pg_roles" => cluster::pg_roles,
        "pg_auth_members" => cluster::pg_auth_members,
        "pg_user" => cluster::pg_user,
        "pg_shadow" => cluster::pg_shadow,
        "pg_group" => cluster::pg_group,
        "pg_settings" => cluster::pg_settings,
        "pg_tables" => views::pg_tables,
        "pg_indexes" => views::pg_indexes,
        "pg_views" => views::pg_views,
        "pg_sequences" => views::pg_sequences,
        "pg_statistic" => statistics::pg_statistic,
        "pg_stats" => statistics::pg_stats,
        "pg_statistic_ext" => extended_statistics::pg_statistic_ext,
        "pg_statistic_ext_data" => extended_statistics::pg_statistic_ext_data,
        "pg_stats_ext" => extended_statistics::pg_stats_ext,
        "pg_stats_ext_exprs" => extended_statistics::pg_stats_ext_exprs,
        "pgxc_class" => nodes::pgxc_class,
        "pgxc_group" => nodes::pgxc_group,
        "pgxc_node" => nodes::pgxc_node,
        _ => return None,
    })
}

/// Catalogs of features that Steppe does not have, or not yet: such objects cannot exist, so an
/// empty catalog is right.
const EMPTY: &[&str] = &[
    "pg_aios",
    "pg_conversion",
    "pg_db_role_setting",
    "pg_default_acl",
    "pg_event_trigger",
    "pg_foreign_data_wrapper",
    "pg_foreign_server",
    "pg_foreign_table",
    "pg_ident_file_mappings",
    "pg_largeobject",
    "pg_largeobject_metadata",
    "pg_matviews",
    "pg_parameter_acl",
    "pg_policies",
    "pg_policy",
    "pg_publication",
    "pg_publication_namespace",
    "pg_publication_rel",
    "pg_publication_tables",
    "pg_replication_origin",
    "pg_replication_origin_status",
    "pg_replication_slots",
    "pg_rules",
    "pg_seclabel",
    "pg_seclabels",
    "pg_shdepend",
    "pg_shdescription",
    "pg_shseclabel",
    "pg_stat_progress_analyze",
    "pg_stat_progress_basebackup",
    "pg_stat_progress_cluster",
    "pg_stat_progress_copy",
    "pg_stat_progress_create_index",
    "pg_stat_progress_vacuum",
    "pg_stat_replication",
    "pg_stat_replication_slots",
    "pg_stat_subscription",
    "pg_stat_subscription_stats",
    "pg_stat_user_functions",
    "pg_stat_wal_receiver",
    "pg_stat_xact_user_functions",
    "pg_subscription",
    "pg_subscription_rel",
    "pg_transform",
    "pg_ts_config",
    "pg_ts_config_map",
    "pg_ts_dict",
    "pg_ts_parser",
    "pg_ts_template",
    "pg_user_mapping",
    "pg_user_mappings",
];

/// Whether a system catalog is about a feature that Steppe does not have: it is empty, unless the
/// session has rows for it.
pub fn is_of_an_absent_feature(relation: Oid) -> bool {
    shape::by_oid(relation).is_some_and(|shape| match shape.schema == PG_CATALOG {
        true => EMPTY.contains(&shape.name),
        false => information_schema::EMPTY.contains(&shape.name),
    })
}

/// Builds rows of a system catalog from named columns. Other columns are NULL, or zero if they may
/// not be NULL.
pub struct RowsBuilder {
    shape: &'static Shape,
    template: Vec<Datum>,
    rows: Vec<Vec<Datum>>,
    /// The number of rows at the front that have been checked against the shape.
    checked: usize,
    /// The columns of the last row: most rows name the same ones in the same order.
    last: Vec<(&'static str, usize)>,
    error: Option<Error>,
}

impl RowsBuilder {
    /// A builder for the catalog of this name in pg_catalog.
    pub fn new(name: &str) -> Result<RowsBuilder> {
        let shape = shape::named("pg_catalog", name);
        shape.map(RowsBuilder::of).ok_or_else(|| Error::internal(format!("no catalog {name}")))
    }

    pub(super) fn of(shape: &'static Shape) -> RowsBuilder {
        let template = shape.columns.iter().map(|c| match c.not_null {
            true => zero(c.type_oid),
            false => Datum::Null,
        });
        RowsBuilder {
            shape,
            template: template.collect(),
            rows: Vec::new(),
            checked: 0,
            last: Vec::new(),
            error: None,
        }
    }

    /// Adds a row.
    pub fn row(&mut self, fields: impl IntoIterator<Item = (&'static str, Datum)>) {
        let mut row = self.template.clone();
        for (i, (name, value)) in fields.into_iter().enumerate() {
            match self.position(i, name) {
                Some(at) => row[at] = value,
                None => {
                    let message = format!("{} has no column {name}", self.shape.name);
                    self.error.get_or_insert_with(|| Error::internal(message));
                }
            }
        }
        self.rows.push(row);
    }

    /// Another builder for the same catalog.
    pub(super) fn empty(&self) -> RowsBuilder {
        RowsBuilder::of(self.shape)
    }

    /// Starts with rows of another builder for the same catalog.
    pub(super) fn start_with(&mut self, rows: &[Vec<Datum>]) {
        self.rows = rows.to_vec();
        self.checked = rows.len();
    }

    fn position(&mut self, i: usize, name: &'static str) -> Option<usize> {
        if let Some((_, at)) = self.last.get(i).filter(|(last, _)| *last == name) {
            return Some(*at);
        }
        let at = self.shape.position(name)?;
        self.last.truncate(i);
        if self.last.len() == i {
            self.last.push((name, at));
        }
        Some(at)
    }

    /// The rows. XX000 if one does not have the catalog's shape.
    pub fn finish(self) -> Result<Vec<Vec<Datum>>> {
        if let Some(error) = self.error {
            return Err(error);
        }
        for row in &self.rows[self.checked..] {
            self.shape.check(row)?;
        }
        Ok(self.rows)
    }
}

/// The empty value for a column that may not be NULL.
fn zero(type_oid: Oid) -> Datum {
    match Physical::of(type_oid) {
        Physical::Bool => Datum::Bool(false),
        Physical::Char => Datum::Char(0),
        Physical::Int2 => Datum::Int2(0),
        Physical::Int4 => Datum::Int4(0),
        Physical::Int8 => Datum::Int8(0),
        Physical::Float4 => Datum::Float4(0.0),
        Physical::Float8 => Datum::Float8(0.0),
        Physical::Oid => Datum::Oid(0),
        Physical::Text => Datum::text(""),
        _ => Datum::Null,
    }
}

/// A text or name.
pub(super) fn text(value: impl Into<Arc<str>>) -> Datum {
    Datum::Text(value.into())
}

/// A text, or NULL.
pub(super) fn optional(value: Option<impl Into<Arc<str>>>) -> Datum {
    value.map_or(Datum::Null, text)
}

/// An int2vector or oidvector, with indexes from 0.
pub(super) fn vector(element_type: Oid, elements: Vec<Datum>) -> Datum {
    let dimensions = vec![(elements.len() as i32, 0)];
    Datum::Array(Arc::new(Array { element_type, dimensions, elements }))
}

/// A one-dimensional array.
pub(super) fn array(element_type: Oid, elements: Vec<Datum>) -> Datum {
    let dimensions =
        if elements.is_empty() { Vec::new() } else { vec![(elements.len() as i32, 1)] };
    Datum::Array(Arc::new(Array { element_type, dimensions, elements }))
}

/// text[]
pub(super) fn text_array(elements: impl Iterator<Item = String>) -> Datum {
    array(oid::TEXT, elements.map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let mut builder = RowsBuilder::new("pg_namespace").expect("a catalog");
        builder.row([("oid", Datum::Oid(1)), ("nspname", text("a"))]);
        builder.row([("nspname", text("b")), ("oid", Datum::Oid(2))]);
        builder.row([("oid", Datum::Oid(3)), ("nspname", text("c"))]);
        let rows = builder.finish().expect("well-formed");
        assert_eq!(rows[1][..2], [Datum::Oid(2), text("b")]);
        assert_eq!(rows[2], [Datum::Oid(3), text("c"), Datum::Oid(0), Datum::Null]);
    }

    #[test]
    fn mistakes_are_reported() {
        let mut builder = RowsBuilder::new("pg_namespace").expect("a catalog");
        builder.row([("nosuch", Datum::Null)]);
        assert!(builder.finish().is_err());
        let mut builder = RowsBuilder::new("pg_namespace").expect("a catalog");
        builder.row([("oid", text("not an oid"))]);
        assert!(builder.finish().is_err());
        assert!(RowsBuilder::new("nosuch").is_err());
    }
}
