//! Definitions of schema objects as SQL text, as PostgreSQL's ruleutils.c prints
//! them: pg_get_indexdef, pg_get_constraintdef, pg_get_viewdef, pg_get_expr.
//!
//! Expressions are stored as canonical text, with every operator in parentheses. The plain forms
//! are composed of it. The pretty forms for psql are the same text without unneeded parentheses
//! (pretty.rs).

use super::facts;
pub use super::facts::{OpclassId, OpclassMethod};
use super::keywords::is_reserved_word;
use super::pretty::{called_name, is_sql_call, pretty_expression};
use crate::builtin;
use crate::foreign_key::{ForeignKey, ReferentialAction};
use crate::objects::Function;
use crate::relation::{
    Constraint, ConstraintKind, Deferral, IndexInfo, IndexKey, RelKind, Relation,
};
use crate::snapshot::Catalog;
use crate::type_spelling::function_spelling;
use crate::{PG_CATALOG, PUBLIC};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_types::Oid;

/// The style of a printed definition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style<'a> {
    /// Whether to omit unneeded parentheses (the `pretty` argument).
    pub pretty: bool,
    /// Schemas of relations that a pretty definition prints without a schema.
    pub search_path: &'a [Oid],
}

impl Style<'_> {
    /// Canonical text with qualified names.
    pub const PLAIN: Style<'static> = Style { pretty: false, search_path: &[] };
    /// psql's style with the default search path.
    pub const PRETTY: Style<'static> = Style { pretty: true, search_path: &[PG_CATALOG, PUBLIC] };

    pub(super) fn expression<'t>(self, catalog: &Catalog, text: &'t str) -> Cow<'t, str> {
        let text = catalog.with_names(text, self.search_path);
        if self.pretty { Cow::Owned(pretty_expression(&text)) } else { text }
    }
}

/// A name in SQL syntax. It is quoted if it would otherwise be read as something else
/// (quote_identifier). A lower-case word that is in no way reserved needs no quotes.
pub fn quote_identifier(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_lowercase() || c == '_';
    let safe = name.starts_with(plain)
        && name.chars().all(|c| plain(c) || c.is_ascii_digit())
        && !is_reserved_word(name);
    if safe {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    }
}

/// A string constant in a definition (simple_quote_literal). standard_conforming_strings is always
/// on, so a backslash is an ordinary character.
pub fn simple_quote_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `schema.name`, both quoted as needed.
pub fn qualified_name(catalog: &Catalog, relation: &Relation) -> String {
    name_in_schema(catalog, relation.schema, &relation.name)
}

/// `schema.name`, quoted (quote_qualified_identifier).
pub(crate) fn name_in_schema(catalog: &Catalog, schema: Oid, name: &str) -> String {
    let name = quote_identifier(name);
    match catalog.schema(schema) {
        Some(schema) => format!("{}.{name}", quote_identifier(&schema.name)),
        None => name.into_owned(),
    }
}

/// `schema.name` of a function, both quoted as needed; for an extension's function the schema that
/// it was installed in. `None`: the schema is pg_catalog, or the extension is not installed.
pub fn qualified_function_name(catalog: &Catalog, function: &Function) -> Option<String> {
    let schema = catalog.schema_of(function).filter(|schema| *schema != PG_CATALOG)?;
    catalog.schema(schema)?;
    Some(name_in_schema(catalog, schema, &function.name))
}

/// The name of a function in stored texts: a user's by its OID, an extension's with its schema.
/// `None`: its name alone.
pub fn kept_function_name(catalog: &Catalog, function: &Function) -> Option<String> {
    match catalog.stored::<Function>().get(function.oid) {
        Some(_) => Some(function_spelling(function.oid)),
        None => qualified_function_name(catalog, function),
    }
}

/// The name alone if it finds the relation in the search path, otherwise `schema.name`
/// (generate_relation_name; regclass prints this).
pub fn visible_name(catalog: &Catalog, relation: &Relation, search_path: &[Oid]) -> String {
    let found = catalog.relation_in(None, &relation.name, search_path);
    match found {
        Some(first) if first.oid == relation.oid => quote_identifier(&relation.name).into_owned(),
        _ => qualified_name(catalog, relation),
    }
}

/// A function without its arguments, as a call names it: with its schema if the search path would
/// not find it for a call without arguments (generate_function_name).
pub fn function_reference(catalog: &Catalog, function: Oid, search_path: &[Oid]) -> String {
    let Some(function) = catalog.function(function) else { return function.to_string() };
    let mut first: Option<(usize, Oid)> = None;
    catalog.functions_in(None, &function.name, search_path, &mut |place, found| {
        let is_earlier = first.is_none_or(|(earlier, _)| place < earlier);
        if *found.args == *function.args && is_earlier {
            first = Some((place, found.oid));
        }
    });
    match (first, catalog.schema_of(&function)) {
        (Some((_, found)), _) if found == function.oid => {
            quote_identifier(&function.name).into_owned()
        }
        (_, Some(schema)) => name_in_schema(catalog, schema, &function.name),
        (_, None) => quote_identifier(&function.name).into_owned(),
    }
}

/// pg_get_indexdef(index): the CREATE INDEX statement. `None`: the relation is not an index.
pub fn index_definition(catalog: &Catalog, index: &Relation, style: Style<'_>) -> Option<String> {
    let info = index.index.as_ref()?;
    let table = catalog.relation(info.table)?;
    let mut out = String::from(if info.unique { "CREATE UNIQUE INDEX " } else { "CREATE INDEX " });
    out.push_str(&quote_identifier(&index.name));
    out.push_str(" ON ");
    if index.kind == RelKind::PartitionedIndex {
        out.push_str("ONLY ");
    }
    out.push_str(&if style.pretty {
        visible_name(catalog, table, style.search_path)
    } else {
        qualified_name(catalog, table)
    });
    out.push_str(" USING btree (");
    let keys =
        info.keys.iter().map(|key| key_text(catalog, table, key, style) + &key_options(table, key));
    out.push_str(&keys.collect::<Vec<_>>().join(", "));
    out.push(')');
    out.push_str(&include_clause(table, info));
    if info.nulls_not_distinct {
        out.push_str(" NULLS NOT DISTINCT");
    }
    if !index.options.is_empty() {
        let option = |(name, value): &(Arc<str>, Arc<str>)| {
            // A value that is a plain word stays unquoted (flatten_reloptions).
            let value = match quote_identifier(value) {
                Cow::Borrowed(word) => word.into(),
                Cow::Owned(_) => simple_quote_literal(value),
            };
            format!("{}={value}", quote_identifier(name))
        };
        let options = index.options.iter().map(option);
        out.push_str(&format!(" WITH ({})", options.collect::<Vec<_>>().join(", ")));
    }
    if let Some(predicate) = &info.predicate {
        out.push_str(" WHERE ");
        out.push_str(&style.expression(catalog, predicate));
    }
    Some(catalog.with_names(&out, style.search_path).into_owned())
}

/// pg_get_indexdef(index, column, pretty): one column of an index, counted from 1, without its
/// options. Past the last column it is empty. `None`: the relation is not an index.
pub fn index_column_definition(
    catalog: &Catalog,
    index: &Relation,
    column: usize,
    style: Style<'_>,
) -> Option<String> {
    let info = index.index.as_ref()?;
    let table = catalog.relation(info.table)?;
    let Some(position) = column.checked_sub(1) else {
        return index_definition(catalog, index, style);
    };
    if let Some(key) = info.keys.get(position) {
        return Some(key_text(catalog, table, key, style));
    }
    let included = info.include.get(position - info.keys.len());
    Some(included.map_or(String::new(), |attnum| column_name(table, *attnum)))
}

/// pg_get_constraintdef: the text after the constraint's name in CREATE TABLE.
pub fn constraint_definition(
    catalog: &Catalog,
    table: &Relation,
    constraint: &Constraint,
    style: Style<'_>,
) -> String {
    let key_constraint = |index: Oid, words: &str| {
        let info = catalog.relation(index).and_then(|i| i.index.as_ref());
        let distinct = info.is_some_and(|i| i.nulls_not_distinct);
        let deferral = match info.map(|i| i.deferral).unwrap_or_default() {
            Deferral::NotDeferrable => "",
            Deferral::InitiallyImmediate => " DEFERRABLE",
            Deferral::InitiallyDeferred => " DEFERRABLE INITIALLY DEFERRED",
        };
        format!(
            "{words}{} ({}){}{deferral}",
            if distinct { " NULLS NOT DISTINCT" } else { "" },
            column_list(table, &constraint.columns),
            info.map_or(String::new(), |i| include_clause(table, i)),
        )
    };
    let no_inherit = if constraint.no_inherit { " NO INHERIT" } else { "" };
    let not_valid = if constraint.not_valid { " NOT VALID" } else { "" };
    match &constraint.kind {
        ConstraintKind::Primary { index } => key_constraint(*index, "PRIMARY KEY"),
        ConstraintKind::Unique { index } => key_constraint(*index, "UNIQUE"),
        ConstraintKind::Check { expression } => {
            format!("CHECK ({}){no_inherit}{not_valid}", style.expression(catalog, expression))
        }
        ConstraintKind::NotNull => {
            let column = column_list(table, &constraint.columns);
            format!("NOT NULL {column}{no_inherit}{not_valid}")
        }
        ConstraintKind::ForeignKey(key) => {
            foreign_key_definition(catalog, (table, constraint), key, style)
        }
    }
}

/// FOREIGN KEY (…) REFERENCES … with its clauses that differ from the defaults.
fn foreign_key_definition(
    catalog: &Catalog,
    (table, constraint): (&Relation, &Constraint),
    key: &ForeignKey,
    style: Style<'_>,
) -> String {
    let mut out = format!("FOREIGN KEY ({}) REFERENCES ", column_list(table, &constraint.columns));
    match catalog.relation(key.table) {
        Some(referenced) => {
            out.push_str(&visible_name(catalog, referenced, style.search_path));
            out.push_str(&format!("({})", column_list(referenced, &key.columns)));
        }
        None => out.push('?'),
    }
    if key.match_full {
        out.push_str(" MATCH FULL");
    }
    for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        if action != ReferentialAction::NoAction {
            out.push_str(&format!(" ON {event} {}", action.words()));
        }
    }
    if !key.set_columns.is_empty() {
        out.push_str(&format!(" ({})", column_list(table, &key.set_columns)));
    }
    if key.deferral.is_deferrable() {
        out.push_str(" DEFERRABLE");
    }
    if key.deferral.is_deferred() {
        out.push_str(" INITIALLY DEFERRED");
    }
    if key.not_enforced {
        out.push_str(" NOT ENFORCED");
    } else if constraint.not_valid {
        out.push_str(" NOT VALID");
    }
    out
}

/// The table and the constraint with a pg_constraint OID.
pub fn find_constraint(catalog: &Catalog, oid: Oid) -> Option<(&Arc<Relation>, &Constraint)> {
    catalog.relations().find_map(|r| Some((r, r.constraints.iter().find(|c| c.oid == oid)?)))
}

/// The canonical text of an expression without parentheses that the reader does not need.
pub fn pretty_definition(text: &str) -> String {
    pretty_expression(text)
}

/// A default in pg_get_expr's form. Relations are stored by OID and shown by name, which depends on
/// the search path.
pub fn default_definition(catalog: &Catalog, text: &str, style: Style<'_>) -> String {
    style.expression(catalog, &with_relation_names(catalog, text, style.search_path)).into_owned()
}

/// The relations that a stored text names by OID: `'OID'::regclass`.
pub fn named_relations(text: &str) -> impl Iterator<Item = Oid> {
    text.split("::regclass").filter_map(|before| {
        let number = before.strip_suffix('\'')?;
        number[number.rfind('\'')? + 1..].parse().ok()
    })
}

/// Replaces `'OID'::regclass` by `'name'::regclass`.
fn with_relation_names<'t>(catalog: &Catalog, text: &'t str, search_path: &[Oid]) -> Cow<'t, str> {
    const CAST: &str = "'::regclass";
    let mut out = String::new();
    let mut rest = text;
    while let Some(end) = rest.find(CAST) {
        let (before, after) = rest.split_at(end);
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let oid = before[digits..].parse::<Oid>().ok().filter(|_| before[..digits].ends_with('\''));
        match oid.and_then(|oid| catalog.relation(oid)) {
            Some(relation) => {
                let name = visible_name(catalog, relation, search_path);
                out.push_str(&before[..digits - 1]);
                out.push_str(&simple_quote_literal(&name));
            }
            None => {
                out.push_str(before);
                out.push('\'');
            }
        }
        out.push_str(&CAST[1..]);
        rest = &after[CAST.len()..];
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether the operator class of this name accepts a type. `None`: the class does not exist.
pub fn opclass_accepts(method: OpclassMethod, name: &str, type_oid: Oid) -> Option<bool> {
    facts::opclass_accepts(method, name, type_oid)
}

/// The family and input type of the btree operator class of a name.
pub fn btree_opclass(name: &str) -> Option<OpclassId> {
    facts::opclass_named(OpclassMethod::Btree, name).map(|(_, id)| id)
}

/// The family and input type of an index key's operator class.
pub fn btree_opclass_of_key(key: &IndexKey) -> Option<OpclassId> {
    facts::btree_opclass_id(super::constraints::key_opclass(key))
}

/// pg_get_serial_sequence: the sequence owned by a column.
pub fn owned_sequence(catalog: &Catalog, table: Oid, attnum: i16) -> Option<&Relation> {
    catalog
        .referrers(table)
        .find(|r| r.sequence.as_ref().is_some_and(|s| s.owned_by == Some((table, attnum))))
        .map(|r| &**r)
}

/// A key column in CREATE INDEX's form: an expression other than a function call is in parentheses.
fn key_text(catalog: &Catalog, table: &Relation, key: &IndexKey, style: Style<'_>) -> String {
    key_part(catalog, table, key.attnum, key.expression.as_deref(), style)
}

/// ` COLLATE "C"`, unless `own`, the collation of the column or expression, is the same.
pub fn collate_clause(collation: Oid, own: Oid) -> String {
    let name = builtin::collation_name(collation).filter(|_| collation != own);
    name.map_or(String::new(), |name| format!(" COLLATE {}", quote_identifier(name)))
}

/// The columns and expressions of a partitioned table's key in PARTITION BY's form.
pub fn partition_key_columns(
    catalog: &Catalog,
    table: &Relation,
    style: Style<'_>,
) -> Option<Vec<String>> {
    let columns = table.partition_key.as_ref()?.columns.iter();
    Some(
        columns
            .map(|c| key_part(catalog, table, c.attnum, c.expression.as_deref(), style))
            .collect(),
    )
}

/// A column or expression of an index or a partition key.
pub(super) fn key_part(
    catalog: &Catalog,
    table: &Relation,
    attnum: i16,
    expression: Option<&str>,
    style: Style<'_>,
) -> String {
    match expression {
        None => column_name(table, attnum),
        Some(text) => {
            let text = style.expression(catalog, text);
            if is_function_call(&text) { text.into_owned() } else { format!("({text})") }
        }
    }
}

/// Collation and operator class (unless they are the key's default ones) and order.
fn key_options(table: &Relation, key: &IndexKey) -> String {
    let mut out = collate_clause(key.collation(table), key.source_collation(table));
    if let Some(name) = key.opclass.as_deref() {
        let class = facts::opclass_named(OpclassMethod::Btree, name).map(|(class, _)| class);
        if class.is_none() || class != facts::default_opclass(OpclassMethod::Btree, key.type_oid) {
            out.push(' ');
            out.push_str(&quote_identifier(name));
        }
    }
    out.push_str(match (key.descending, key.nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    });
    out
}

fn include_clause(table: &Relation, info: &IndexInfo) -> String {
    if info.include.is_empty() {
        return String::new();
    }
    format!(" INCLUDE ({})", column_list(table, &info.include))
}

fn column_list(table: &Relation, columns: &[i16]) -> String {
    columns.iter().map(|c| column_name(table, *c)).collect::<Vec<_>>().join(", ")
}

fn column_name(table: &Relation, attnum: i16) -> String {
    let column = usize::try_from(attnum - 1).ok().and_then(|i| table.columns.get(i));
    column.map_or(String::new(), |c| quote_identifier(&c.name).into_owned())
}

/// Whether the whole text is one call `name(…)`, or a call with special syntax in parentheses
/// (looks_like_function).
fn is_function_call(text: &str) -> bool {
    is_sql_call(text) || called_name(text).is_some()
}

#[cfg(test)]
#[path = "definitions_tests.rs"]
mod tests;
