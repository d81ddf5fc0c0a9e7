//! Names of OIDs: input and output of regclass, regtype, regproc and the rest of the `reg*` types
//! (src/backend/utils/adt/regproc.c).
//!
//! [`CatalogNames`] is a session's view of one catalog version; The session puts it into its
//! [`steppe_types::io::IoContext`], and the functions of this module make one from their context. A
//! name is printed with its schema if the search path would not find the same object without it.

use crate::FnContext;
use std::sync::Arc;
use steppe_catalog::objects::{function_signature, operator_signature};
use steppe_catalog::{
    Catalog, DATABASE_NAME, FunctionRef, OperatorRef, PG_CATALOG, Relation, builtin, system,
};
use steppe_sql::ast::{ExprKind, TypeName, other_database};
use steppe_sql::bind::typename::{TypeNames, format_type};
use steppe_sql::bind::{
    is_own, own_element, parse_expression, read_label, read_of_domain, read_row,
};
use steppe_sql::deparse::quote_identifier;
use steppe_sql::expr::TypeRef;
use steppe_types::io::{IoContext, TypeCatalog};
use steppe_types::text_io::truncate_name;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// A session's view of the names in one catalog version.
#[derive(Clone)]
pub struct CatalogNames {
    catalog: Arc<Catalog>,
    /// Schemas searched for unqualified names, in order, pg_catalog included.
    path: Arc<[Oid]>,
    /// Name and OID of the session's role.
    role: (Arc<str>, Oid),
}

impl CatalogNames {
    /// A view of `catalog` by a search path (schema OIDs with pg_catalog in its
    /// place) for the given role.
    pub fn new(
        catalog: Arc<Catalog>,
        path: impl Into<Arc<[Oid]>>,
        role: (Arc<str>, Oid),
    ) -> CatalogNames {
        CatalogNames { catalog, path: path.into(), role }
    }

    /// The view of the session that calls a function.
    pub(crate) fn of(cx: &FnContext) -> CatalogNames {
        let names = cx.host().search_path(true);
        let mut path: Vec<Oid> =
            names.iter().filter_map(|name| cx.catalog.schema_named(name)).map(|s| s.oid).collect();
        // Searched first unless the path names it elsewhere.
        if !path.contains(&PG_CATALOG) {
            path.insert(0, PG_CATALOG);
        }
        let identity = cx.host().identity();
        CatalogNames::new(cx.catalog.clone(), path, (Arc::clone(&identity.user), identity.user_oid))
    }

    /// The catalog version.
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The functions that a name may mean: of those with the same arguments, the first in the
    /// search path.
    fn functions(&self, schema: Option<&str>, name: &str) -> Vec<FunctionRef> {
        let mut found: Vec<(usize, FunctionRef)> = Vec::new();
        self.catalog.functions_in(schema, name, &self.path, &mut |at, f| found.push((at, f)));
        found.sort_by_key(|(place, _)| *place);
        let mut visible: Vec<FunctionRef> = Vec::with_capacity(found.len());
        for (_, function) in found {
            if !visible.iter().any(|earlier| earlier.args == function.args) {
                visible.push(function);
            }
        }
        visible
    }

    /// The operators that a symbol may mean: of those over the same types, the first in the search
    /// path.
    fn operators(&self, schema: Option<&str>, symbol: &str) -> Vec<OperatorRef> {
        let mut found: Vec<(usize, OperatorRef)> = Vec::new();
        self.catalog.operators_in(schema, symbol, &self.path, &mut |at, o| found.push((at, o)));
        found.sort_by_key(|(place, _)| *place);
        let mut visible: Vec<OperatorRef> = Vec::with_capacity(found.len());
        for (_, operator) in found {
            let hides = |o: &OperatorRef| (o.left, o.right) == (operator.left, operator.right);
            if !visible.iter().any(hides) {
                visible.push(operator);
            }
        }
        visible
    }

    /// The name alone where it means but one object, else behind its schema's.
    fn bare_or_qualified(&self, name: String, schema: Option<Oid>, is_only: bool) -> String {
        let schema = schema.filter(|_| !is_only).and_then(|schema| self.catalog.schema(schema));
        match schema {
            Some(schema) => format!("{}.{name}", quote_identifier(&schema.name)),
            None => name,
        }
    }

    /// Schemas searched for unqualified names, in order.
    pub(crate) fn path(&self) -> &[Oid] {
        &self.path
    }

    /// The relation that a name finds.
    pub(crate) fn relation(&self, name: &str) -> Result<Option<&Arc<Relation>>> {
        let parts = split_qualified(name)?;
        Ok(match parts.as_slice() {
            [table] => self.visible_relation(table),
            [database, _, _] if database != DATABASE_NAME => {
                return Err(other_database(&parts.join(".")));
            }
            [schema, table] | [_, schema, table] => {
                self.catalog.relation_in(Some(schema), table, &self.path)
            }
            _ => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("improper relation name (too many dotted names): {name}"),
                ));
            }
        })
    }

    fn visible_relation(&self, name: &str) -> Option<&Arc<Relation>> {
        self.catalog.relation_in(None, name, &self.path)
    }

    /// [`Self::relation`], or 42P01.
    pub(crate) fn existing_relation(&self, name: &str) -> Result<&Arc<Relation>> {
        self.relation(name)?.ok_or_else(|| {
            let parts = split_qualified(name).unwrap_or_default().join(".");
            Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{parts}\" does not exist"))
        })
    }

    /// [`Self::existing_relation`], or 3F000 if the name's schema is missing. Casts from text use
    /// it, but the input function does not.
    pub(crate) fn relation_in_schema(&self, name: &str) -> Result<&Arc<Relation>> {
        let parts = split_qualified(name)?;
        if let [schema, _] = parts.as_slice()
            && self.catalog.schema_named(schema).is_none()
        {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
        }
        self.existing_relation(name)
    }

    /// Whether the relation's bare name finds it.
    pub(crate) fn is_visible(&self, relation: &Relation) -> bool {
        self.visible_relation(&relation.name).is_some_and(|found| found.oid == relation.oid)
    }

    /// A relation's name, with its schema where needed.
    pub(crate) fn relation_name(&self, relation: &Relation) -> String {
        if self.is_visible(relation) {
            quote_identifier(&relation.name)
        } else {
            self.qualified_name(relation)
        }
    }

    /// A relation's name with its schema.
    pub(crate) fn qualified_name(&self, relation: &Relation) -> String {
        let schema = self.catalog.schema(relation.schema).map_or("???", |s| &*s.name);
        format!("{}.{}", quote_identifier(schema), quote_identifier(&relation.name))
    }

    /// The types, as this session names them.
    pub(crate) fn types(&self) -> TypeNames<'_> {
        TypeNames { catalog: &self.catalog, path: &self.path }
    }

    /// A type by its SQL name, with modifier (parseTypeString).
    pub(crate) fn parse_type(&self, text: &str) -> Result<TypeRef> {
        let invalid = || error(SqlState::SYNTAX_ERROR, format!("invalid type name \"{text}\""));
        if text.trim_matches(is_space).is_empty() {
            return Err(invalid());
        }
        let name = parse_type_name(text)
            .map_err(|e| e.context(format!("invalid type name \"{text}\"")).at(None))?
            .filter(|name| !name.setof)
            .ok_or_else(invalid)?;
        self.types().resolve(&name).map_err(|e| e.at(None))
    }

    /// A role by name.
    pub(crate) fn role_named(&self, name: &str) -> Option<Oid> {
        match *self.role.0 == *name {
            true => Some(self.role.1),
            false => system::role_named(name),
        }
    }

    /// A role's name.
    pub(crate) fn name_of_role(&self, role: Oid) -> Option<&str> {
        match self.role.1 == role {
            true => Some(&*self.role.0),
            false => system::predefined_role(role),
        }
    }
}

#[cold]
fn error(state: SqlState, message: impl Into<String>) -> Error {
    Error::new(state, message)
}

/// The parts of a dotted name, folded to lower case unless quoted, and cut to a name's length:
/// 42602 if it is no name (stringToQualifiedNameList).
pub fn split_qualified(text: &str) -> Result<Vec<String>> {
    let invalid = || error(SqlState::INVALID_NAME, "invalid name syntax");
    let (mut parts, mut rest) = (Vec::new(), text.trim_matches(is_space));
    loop {
        let (part, tail) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted).ok_or_else(invalid)?,
            None => {
                // Any character may occur but a blank and a dot.
                let end = rest.find(|c| is_space(c) || c == '.').unwrap_or(rest.len());
                if end == 0 {
                    return Err(invalid());
                }
                (rest[..end].to_ascii_lowercase(), &rest[end..])
            }
        };
        parts.push(truncate_name(&part).to_string());
        rest = tail.trim_start_matches(is_space);
        match rest.strip_prefix('.') {
            Some(tail) => rest = tail.trim_start_matches(is_space),
            None if rest.is_empty() => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// The parts of a dotted name, folded and unquoted. With `strict`, nothing may
/// follow the last one (parse_ident).
pub(super) fn split_identifiers(text: &str, strict: bool) -> Result<Vec<String>> {
    let invalid = |detail: &str| {
        let message = format!("string is not a valid identifier: \"{text}\"");
        let error = error(SqlState::INVALID_PARAMETER_VALUE, message);
        if detail.is_empty() { error } else { error.detail(detail) }
    };
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let is_part = |c: char| is_start(c) || c.is_ascii_digit() || c == '$';
    let (mut parts, mut rest) = (Vec::new(), text.trim_start_matches(is_space));
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (name, tail) =
                unquote(quoted).ok_or_else(|| invalid("String has unclosed double quotes."))?;
            if name.is_empty() {
                return Err(invalid("Quoted identifier must not be empty."));
            }
            parts.push(name);
            rest = tail;
        } else if rest.starts_with(is_start) {
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            parts.push(rest[..end].to_ascii_lowercase());
            rest = &rest[end..];
        } else if rest.starts_with('.') {
            return Err(invalid("No valid identifier before \".\"."));
        } else if !parts.is_empty() {
            return Err(invalid("No valid identifier after \".\"."));
        } else {
            return Err(invalid(""));
        }
        rest = rest.trim_start_matches(is_space);
        match rest.strip_prefix('.') {
            Some(tail) => rest = tail.trim_start_matches(is_space),
            None if strict && !rest.is_empty() => return Err(invalid("")),
            None => return Ok(parts),
        }
    }
}

/// The text up to the closing quote, with doubled quotes undone, and what follows.
fn unquote(text: &str) -> Option<(String, &str)> {
    let (mut name, mut rest) = (String::new(), text);
    loop {
        let at = rest.find('"')?;
        name.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(tail) => {
                name.push('"');
                rest = tail;
            }
            None => return Some((name, rest)),
        }
    }
}

/// The parser reads type names only inside a statement, here as the target of a cast. The cast is
/// in parentheses, because the parser could take following words for a column's label.
fn parse_type_name(text: &str) -> Result<Option<TypeName>> {
    let parsed = parse_expression(&format!("(NULL::{text})"))?;
    Ok(match parsed.kind {
        ExprKind::Cast { arg, type_name } if matches!(arg.kind, ExprKind::Const(_)) => {
            Some(*type_name)
        }
        _ => None,
    })
}

/// Functions a possibly qualified name may mean, and the name without schema.
fn functions(names: &CatalogNames, name: &str) -> Result<Vec<FunctionRef>> {
    let parts = split_qualified(name)?;
    Ok(match parts.as_slice() {
        [name] => names.functions(None, name),
        [schema, name] => names.functions(Some(schema), name),
        _ => Vec::new(),
    })
}

fn regproc_in(names: &CatalogNames, text: &str) -> Result<Oid> {
    match functions(names, text)?.as_slice() {
        [] => {
            Err(error(SqlState::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist")))
        }
        [proc] => Ok(proc.oid),
        _ => Err(error(
            SqlState::AMBIGUOUS_FUNCTION,
            format!("more than one function named \"{text}\""),
        )),
    }
}

/// `name(type, …)`; NONE as a type is 0 (operators without a left operand).
fn name_and_types<'t>(names: &CatalogNames, text: &'t str) -> Result<(&'t str, Vec<Oid>)> {
    let malformed = |message: &str| error(SqlState::INVALID_TEXT_REPRESENTATION, message);
    let open = text.find('(').ok_or_else(|| malformed("expected a left parenthesis"))?;
    let list = text[open + 1..]
        .trim_end()
        .strip_suffix(')')
        .ok_or_else(|| malformed("expected a right parenthesis"))?;
    let (mut types, mut depth, mut start) = (Vec::new(), 0, 0);
    let mut push = |part: &str| -> Result<()> {
        let part = part.trim();
        if part.is_empty() {
            return Err(malformed("expected a type name"));
        }
        let none = part.eq_ignore_ascii_case("none");
        types.push(if none { 0 } else { names.parse_type(part)?.oid });
        Ok(())
    };
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                push(&list[start..at])?;
                start = at + 1;
            }
            _ => {}
        }
    }
    if start > 0 || !list.trim().is_empty() {
        push(&list[start..])?;
    }
    Ok((text[..open].trim(), types))
}

fn regprocedure_in(names: &CatalogNames, text: &str) -> Result<Oid> {
    let (name, types) = name_and_types(names, text)?;
    let found = functions(names, name)?.into_iter().find(|proc| *proc.args == *types);
    found.map(|proc| proc.oid).ok_or_else(|| {
        error(SqlState::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist"))
    })
}

/// Operators that a symbol, with its schema or without, may mean.
fn operators(names: &CatalogNames, text: &str) -> Vec<OperatorRef> {
    match text.trim().rsplit_once('.') {
        Some((schema, symbol)) => names.operators(Some(schema), symbol),
        None => names.operators(None, text.trim()),
    }
}

fn regoper_in(names: &CatalogNames, text: &str) -> Result<Oid> {
    if text == "0" {
        return Ok(0);
    }
    match operators(names, text).as_slice() {
        [] => Err(error(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {text}"))),
        [operator] => Ok(operator.oid),
        _ => {
            Err(error(SqlState::AMBIGUOUS_FUNCTION, format!("more than one operator named {text}")))
        }
    }
}

fn regoperator_in(names: &CatalogNames, text: &str) -> Result<Oid> {
    if text == "0" {
        return Ok(0);
    }
    let (name, types) = name_and_types(names, text)?;
    let [left, right] = types[..] else {
        let hint = match types.len() {
            1 => {
                return Err(error(SqlState::UNDEFINED_PARAMETER, "missing argument")
                    .hint("Use NONE to denote the missing argument of a unary operator."));
            }
            _ => "Provide two argument types for operator.",
        };
        return Err(error(SqlState::TOO_MANY_ARGUMENTS, "too many arguments").hint(hint));
    };
    operators(names, name)
        .iter()
        .find(|o| o.left == left && o.right == right)
        .map(|o| o.oid)
        .ok_or_else(|| {
            error(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {text}"))
        })
}

/// A collation's row by name.
fn regcollation_in(text: &str) -> Result<Oid> {
    let parts = split_qualified(text)?;
    let name = match parts.as_slice() {
        [name] => name,
        [schema, name] if schema == "pg_catalog" => name,
        _ => text,
    };
    builtin::collation_named(name).ok_or_else(|| {
        error(
            SqlState::UNDEFINED_OBJECT,
            format!("collation \"{text}\" for encoding \"UTF8\" does not exist"),
        )
    })
}

impl TypeCatalog for CatalogNames {
    /// Called only for types that have no representation here: PostgreSQL's types are named in the
    /// error.
    fn input(
        &self,
        type_oid: Oid,
        _: i32,
        text: &str,
        context: &IoContext,
    ) -> Option<Result<Datum>> {
        if let Some(row) = read_row(&self.catalog, type_oid, text, context) {
            return Some(row);
        }
        if let Some(value) = read_of_domain(&self.catalog, type_oid, text, context) {
            return Some(value);
        }
        if let Some(label) = read_label(&self.catalog, type_oid, text, &self.path) {
            return Some(label);
        }
        let ty = builtin::ty(type_oid)?;
        let is_pseudo = ty.category == b'P';
        (!is_pseudo)
            .then(|| Err(Error::not_supported(format!("type {}", format_type(type_oid, -1)))))
    }

    fn element_type(&self, array: Oid) -> Option<Oid> {
        own_element(array)
    }

    fn type_name(&self, type_oid: Oid) -> Option<String> {
        is_own(type_oid).then(|| self.types().format(type_oid, -1))
    }

    fn operator_name(&self, operator: Oid) -> Option<String> {
        let operator = self.catalog.operator(operator)?;
        Some(self.catalog.operator_reference(&operator, &self.path))
    }

    fn enum_label(&self, type_oid: Oid, order: f64) -> Option<Arc<str>> {
        self.catalog.enum_labels(type_oid)?.at(order).map(|label| label.name.clone())
    }

    fn row_columns(&self, type_oid: Oid) -> Option<Vec<(Oid, i32)>> {
        self.catalog.row_columns(type_oid)
    }

    fn row_names(&self, type_oid: Oid) -> Option<Vec<Arc<str>>> {
        self.catalog.row_names(type_oid)
    }

    fn reg_input(&self, type_oid: Oid, text: &str) -> Result<Oid> {
        let single = |text: &str| -> Result<String> {
            let invalid = || error(SqlState::INVALID_NAME, "invalid name syntax");
            let mut parts = split_qualified(text)?;
            if parts.len() == 1 { parts.pop().ok_or_else(invalid) } else { Err(invalid()) }
        };
        match type_oid {
            oid::REGCLASS => self.existing_relation(text).map(|relation| relation.oid),
            oid::REGTYPE => self.parse_type(text).map(|ty| ty.oid),
            oid::REGPROC => regproc_in(self, text),
            oid::REGPROCEDURE => regprocedure_in(self, text),
            oid::REGOPER => regoper_in(self, text),
            oid::REGOPERATOR => regoperator_in(self, text),
            oid::REGCOLLATION => regcollation_in(text),
            oid::REGNAMESPACE => {
                let name = single(text)?;
                self.catalog.schema_named(&name).map(|schema| schema.oid).ok_or_else(|| {
                    let message = format!("schema \"{name}\" does not exist");
                    error(SqlState::INVALID_SCHEMA_NAME, message)
                })
            }
            oid::REGROLE => self.role(&single(text)?),
            _ => Err(Error::not_supported(format_args!(
                "input of type {}",
                format_type(type_oid, -1)
            ))),
        }
    }

    fn role(&self, name: &str) -> Result<Oid> {
        self.role_named(name).ok_or_else(|| {
            error(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
        })
    }

    fn role_name(&self, role: Oid) -> Option<String> {
        self.name_of_role(role).map(str::to_owned)
    }

    fn reg_output(&self, type_oid: Oid, value: Oid, out: &mut Vec<u8>) -> bool {
        let name = match type_oid {
            oid::REGCLASS => self.catalog.relation(value).map(|r| self.relation_name(r)),
            oid::REGTYPE => self.catalog.has_type(value).then(|| self.types().format(value, -1)),
            oid::REGPROC => self.catalog.function(value).map(|proc| {
                let named = self.functions(None, &proc.name);
                let is_only = matches!(named.as_slice(), [only] if only.oid == value);
                let schema = self.catalog.schema_of(&proc);
                self.bare_or_qualified(quote_identifier(&proc.name), schema, is_only)
            }),
            oid::REGPROCEDURE => self.catalog.function(value).map(|proc| {
                let types = |ty: Oid| self.types().format(ty, -1);
                function_signature(&self.catalog, &self.path, &types, &proc)
            }),
            oid::REGOPER => self.catalog.operator(value).map(|operator| {
                let named = self.operators(None, &operator.name);
                let is_only = matches!(named.as_slice(), [only] if only.oid == value);
                let schema = Some(operator.schema);
                self.bare_or_qualified(operator.name.to_string(), schema, is_only)
            }),
            oid::REGOPERATOR => self.catalog.operator(value).map(|operator| {
                let types = |ty: Oid| self.types().format(ty, -1);
                operator_signature(&self.catalog, &self.path, &types, &operator)
            }),
            oid::REGCOLLATION => builtin::collation_name(value).map(quote_identifier),
            oid::REGNAMESPACE => self.catalog.schema(value).map(|s| quote_identifier(&s.name)),
            oid::REGROLE => self.name_of_role(value).map(quote_identifier),
            _ => None,
        };
        let found = name.is_some();
        out.extend_from_slice(name.unwrap_or_default().as_bytes());
        found
    }
}
