//! From PostgreSQL's raw parse tree to [`crate::ast`].
//!
//! One method a grammar node. The walk is recursive and safe at any depth that the parser hands
//! over. Every node that can nest passes through [`Lower::nested`]. It counts, returns "too deep"
//! past [`MAX_DEPTH`](super::MAX_DEPTH), and moves to a fresh piece of stack when the present one
//! runs low. A construct that the tree cannot express gives [`Failure::Unsupported`] and makes the
//! whole statement unsupported.

mod alter;
mod ddl;
mod dml;
mod expr;
mod items;
mod object;
mod query;
mod utility;

use std::borrow::Cow;

use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::{Node, nodes};
use steppe_types::{Error, SqlState};

use self::items::items;
use crate::ast::*;

/// Why a statement could not be lowered.
#[derive(Debug)]
pub(super) enum Failure {
    /// It nests deeper than [`super::MAX_DEPTH`].
    TooDeep,
    /// The tree has no place for this construct.
    Unsupported(Cow<'static, str>, Location),
    /// A text that the parser accepts and PostgreSQL's own does not (a `$n` where only a literal
    /// may stand): a syntax error at this place.
    Syntax(Location),
    /// PostgreSQL refuses it later than its grammar does, but needs no catalog to.
    Refused(Error, Location),
}

/// The result of lowering a node.
pub(super) type Lowered<T> = Result<T, Failure>;

/// The state of one statement's lowering.
pub(super) struct Lower {
    depth: usize,
}

impl Lower {
    pub(super) fn new() -> Lower {
        Lower { depth: 0 }
    }

    /// Runs `step` one level deeper.
    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        if self.depth >= super::MAX_DEPTH {
            return Err(Failure::TooDeep);
        }
        self.depth += 1;
        let result = deeper(|| step(self));
        self.depth -= 1;
        result
    }

    /// A statement, at the top or inside another one.
    pub(super) fn statement(&mut self, node: Node<'_>) -> Lowered<Statement> {
        self.nested(|lower| lower.statement_kind(node))
    }

    fn statement_kind(&mut self, node: Node<'_>) -> Lowered<Statement> {
        if let Some(statement) = self.query_statement(node)? {
            return Ok(statement);
        }
        if let Some(statement) = self.utility_statement(node)? {
            return Ok(statement);
        }
        if let Some(statement) = self.ddl_statement(node)? {
            return Ok(statement);
        }
        if let Some(statement) = self.object_statement(node)? {
            return Ok(statement);
        }
        if let Some(statement) = self.alter_statement(node)? {
            return Ok(statement);
        }
        Err(unsupported(command_name(node), Location::NONE))
    }

    /// SELECT and the statements that change rows.
    fn query_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::SelectStmt(stmt) => Statement::Select(Box::new(self.select(stmt)?)),
            Node::InsertStmt(stmt) => Statement::Insert(Box::new(self.insert(stmt)?)),
            Node::UpdateStmt(stmt) => Statement::Update(Box::new(self.update(stmt)?)),
            Node::DeleteStmt(stmt) => Statement::Delete(Box::new(self.delete(stmt)?)),
            Node::MergeStmt(stmt) => Statement::Merge(Box::new(self.merge(stmt)?)),
            Node::CopyStmt(stmt) => Statement::Copy(Box::new(self.copy(stmt)?)),
            Node::CallStmt(stmt) => Statement::Call(Box::new(self.call(stmt)?)),
            _ => return Ok(None),
        }))
    }
}

/// [`Failure::Unsupported`].
fn unsupported(what: impl Into<Cow<'static, str>>, location: Location) -> Failure {
    Failure::Unsupported(what.into(), location)
}

/// A node that the grammar cannot put where it was found.
fn unexpected(place: &str, node: Node<'_>) -> Failure {
    match node {
        Node::ParamRef(param) => Failure::Syntax(Location::from_raw(param.location)),
        _ => Failure::Refused(
            Error::internal(format!("unexpected parse node in {place}")),
            Location::NONE,
        ),
    }
}

/// A refusal with a SQLSTATE.
fn refused(sqlstate: SqlState, message: impl Into<String>) -> Failure {
    Failure::Refused(Error::new(sqlstate, message), Location::NONE)
}

/// A string that the grammar always gives.
fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

/// A string that may be missing.
fn optional(value: Option<&str>) -> Option<String> {
    value.map(str::to_owned)
}

/// A list of string nodes.
fn strings(list: &NodeList) -> Lowered<Vec<String>> {
    list.iter().map(|node| string(node)).collect()
}

/// One string node.
fn string(node: Node<'_>) -> Lowered<String> {
    match node {
        Node::String(value) => Ok(text(value.sval())),
        other => Err(unexpected("a list of names", other)),
    }
}

/// A qualified name.
fn object_name(list: &NodeList) -> Lowered<ObjectName> {
    strings(list).map(ObjectName)
}

/// A qualified name that may be missing.
fn optional_name(list: &NodeList) -> Lowered<Option<ObjectName>> {
    if list.is_empty() { Ok(None) } else { object_name(list).map(Some) }
}

/// A qualified name in a typed list.
fn cast_name(list: &CastNodeList<nodes::String>) -> Lowered<ObjectName> {
    cast_strings(list).map(ObjectName)
}

/// The strings of a typed list.
fn cast_strings(list: &CastNodeList<nodes::String>) -> Lowered<Vec<String>> {
    items(list).map(|value| Ok(text(value?.sval()))).collect()
}

/// A table alias.
fn alias(alias: Option<&nodes::Alias>) -> Lowered<Option<Alias>> {
    let Some(alias) = alias else { return Ok(None) };
    Ok(Some(Alias { name: text(alias.aliasname()), columns: strings(alias.colnames())? }))
}

/// A relation that the grammar always gives.
fn range_var(relation: Option<&nodes::RangeVar>) -> Lowered<RangeVar> {
    let Some(relation) = relation else {
        return Err(unexpected("a relation", Node::None));
    };
    Ok(RangeVar {
        catalog: optional(relation.catalogname()),
        schema: optional(relation.schemaname()),
        name: text(relation.relname()),
        inherit: relation.inh,
        persistence: match relation.relpersistence as u8 {
            b't' => Persistence::Temporary,
            b'u' => Persistence::Unlogged,
            _ => Persistence::Permanent,
        },
        alias: alias(relation.alias())?,
        location: Location::from_raw(relation.location),
    })
}

/// A list of relations.
fn range_vars(list: &NodeList) -> Lowered<Vec<RangeVar>> {
    list.iter()
        .map(|node| match node {
            Node::RangeVar(relation) => range_var(Some(relation)),
            other => Err(unexpected("a list of relations", other)),
        })
        .collect()
}

/// CASCADE or RESTRICT.
fn drop_behavior(behavior: nodes::DropBehavior::Type) -> DropBehavior {
    if behavior == nodes::DropBehavior::DROP_CASCADE {
        DropBehavior::Cascade
    } else {
        DropBehavior::Restrict
    }
}

/// A role.
fn role_spec(role: &nodes::RoleSpec) -> RoleSpec {
    use nodes::RoleSpecType as Kind;
    RoleSpec {
        kind: match role.roletype {
            Kind::ROLESPEC_CURRENT_ROLE => RoleKind::CurrentRole,
            Kind::ROLESPEC_CURRENT_USER => RoleKind::CurrentUser,
            Kind::ROLESPEC_SESSION_USER => RoleKind::SessionUser,
            Kind::ROLESPEC_PUBLIC => RoleKind::Public,
            _ => RoleKind::Named(text(role.rolename())),
        },
        location: Location::from_raw(role.location),
    }
}

/// A list of roles.
fn role_specs(list: &NodeList) -> Lowered<Vec<RoleSpec>> {
    list.iter()
        .map(|node| match node {
            Node::RoleSpec(role) => Ok(role_spec(role)),
            other => Err(unexpected("a list of roles", other)),
        })
        .collect()
}

/// The command's name for the 0A000 message, as in PostgreSQL's command tags.
fn command_name(node: Node<'_>) -> &'static str {
    match node {
        Node::RuleStmt(_) => "CREATE RULE",
        Node::CreatePolicyStmt(_) => "CREATE POLICY",
        Node::AlterPolicyStmt(_) => "ALTER POLICY",
        Node::CreateConversionStmt(_) => "CREATE CONVERSION",
        Node::CreateTransformStmt(_) => "CREATE TRANSFORM",
        Node::CreateOpClassStmt(_) => "CREATE OPERATOR CLASS",
        Node::CreateOpFamilyStmt(_) => "CREATE OPERATOR FAMILY",
        Node::AlterOpFamilyStmt(_) => "ALTER OPERATOR FAMILY",
        Node::AlterTypeStmt(_) => "ALTER TYPE",
        Node::AlterCollationStmt(_) => "ALTER COLLATION",
        Node::AlterExtensionStmt(_) | Node::AlterExtensionContentsStmt(_) => "ALTER EXTENSION",
        Node::AlterObjectDependsStmt(_) => "ALTER ... DEPENDS ON EXTENSION",
        Node::AlterDefaultPrivilegesStmt(_) => "ALTER DEFAULT PRIVILEGES",
        Node::CreateAmStmt(_) => "CREATE ACCESS METHOD",
        Node::CreatePLangStmt(_) => "CREATE LANGUAGE",
        Node::CreateEventTrigStmt(_) => "CREATE EVENT TRIGGER",
        Node::AlterEventTrigStmt(_) => "ALTER EVENT TRIGGER",
        Node::CreateTableSpaceStmt(_) => "CREATE TABLESPACE",
        Node::DropTableSpaceStmt(_) => "DROP TABLESPACE",
        Node::AlterTableSpaceOptionsStmt(_) => "ALTER TABLESPACE",
        Node::AlterTableMoveAllStmt(_) => "ALTER TABLE ALL IN TABLESPACE",
        Node::CreateFdwStmt(_) => "CREATE FOREIGN DATA WRAPPER",
        Node::AlterFdwStmt(_) => "ALTER FOREIGN DATA WRAPPER",
        Node::AlterForeignServerStmt(_) => "ALTER SERVER",
        Node::DropUserMappingStmt(_) => "DROP USER MAPPING",
        Node::ImportForeignSchemaStmt(_) => "IMPORT FOREIGN SCHEMA",
        Node::SecLabelStmt(_) => "SECURITY LABEL",
        Node::AlterDatabaseRefreshCollStmt(_) => "ALTER DATABASE REFRESH COLLATION VERSION",
        Node::CreatePublicationStmt(_) => "CREATE PUBLICATION",
        Node::AlterPublicationStmt(_) => "ALTER PUBLICATION",
        Node::CreateSubscriptionStmt(_) => "CREATE SUBSCRIPTION",
        Node::AlterSubscriptionStmt(_) => "ALTER SUBSCRIPTION",
        Node::DropSubscriptionStmt(_) => "DROP SUBSCRIPTION",
        Node::AlterTSDictionaryStmt(_) => "ALTER TEXT SEARCH DICTIONARY",
        Node::AlterTSConfigurationStmt(_) => "ALTER TEXT SEARCH CONFIGURATION",
        Node::Invalid(raw) if raw.type_ == pg_raw_parse::raw::NodeTag::T_CreateForeignTableStmt => {
            "CREATE FOREIGN TABLE"
        }
        _ => "this statement",
    }
}
