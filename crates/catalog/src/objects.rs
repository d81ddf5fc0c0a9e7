//! The objects besides relations, and how messages name them.
//!
//! The name of an object is PostgreSQL's (getObjectDescription), as the search path shows it.

mod domain;
mod enum_labels;
mod function;
mod lookup;
mod node;
mod operator;
mod stored;
mod user_cast;
mod user_type;

pub use domain::{BaseType, Domain, DomainCheck, DomainNotNull};
pub use enum_labels::{EnumLabel, EnumLabels};
pub use function::{
    Aggregate, AggregateKind, Argument, ArgumentMode, Body, FinishModify, Function, FunctionKind,
    FunctionRef, Moving, Parallel, Volatility,
};
pub use node::{ConnectionOptions, Node, NodeGroup, NodeKind};
pub use operator::{Operator, OperatorRef};
pub use stored::{Objects, StoredKind};
pub use user_cast::UserCast;
pub use user_type::{TypeDefinition, UserType};

use crate::system::definitions::{name_in_schema, quote_identifier, visible_name};
use crate::system::extended_statistics::{statistics_object, visible_object_name};
use crate::{Catalog, RelKind};
use std::borrow::Cow;
use steppe_types::Oid;

/// A name or another text of an object: a built-in one's is part of the program.
pub type Text = Cow<'static, str>;

/// An object that others depend on, or that depends on others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A schema.
    Schema(Oid),
    /// A table, view, sequence or index.
    Relation(Oid),
    /// A column of a table, by attribute number.
    Column(Oid, i16),
    /// The default of a column.
    Default(Oid, i16),
    /// A constraint of a table or a domain, by its OID.
    Constraint(Oid, Oid),
    /// A statistics object of a table, by its OID.
    Statistics(Oid, Oid),
    /// A trigger of a table or view, by its OID.
    Trigger(Oid, Oid),
    /// A function, procedure or aggregate.
    Function(Oid),
    /// A type.
    Type(Oid),
    /// A user's cast.
    Cast(Oid),
    /// A user's operator.
    Operator(Oid),
    /// A node of the cluster.
    Node(Oid),
    /// A group of nodes.
    NodeGroup(Oid),
}

/// The kind of a relation, in words.
pub fn kind_word(kind: RelKind) -> &'static str {
    match kind {
        RelKind::Index | RelKind::PartitionedIndex => "index",
        RelKind::Sequence => "sequence",
        RelKind::View => "view",
        RelKind::Composite => "type",
        RelKind::Table | RelKind::PartitionedTable | RelKind::Virtual => "table",
    }
}

/// An object as messages name it (getObjectDescription): names of schemas, columns and constraints
/// are not quoted. `types` names types.
pub fn describe(
    catalog: &Catalog,
    path: &[Oid],
    types: &dyn Fn(Oid) -> String,
    object: Object,
) -> String {
    let relation = |oid: Oid| match catalog.relation(oid) {
        Some(relation) => {
            format!("{} {}", kind_word(relation.kind), visible_name(catalog, relation, path))
        }
        None => format!("relation {oid}"),
    };
    let column = |oid: Oid, attnum: i16| {
        let column = catalog.relation(oid).and_then(|r| r.columns.get(attnum as usize - 1));
        let column = column.map_or("?", |c| &*c.name);
        let is_composite = catalog.relation(oid).is_some_and(|r| r.kind == RelKind::Composite);
        let before = if is_composite { "composite " } else { "" };
        format!("column {column} of {before}{}", relation(oid))
    };
    match object {
        Object::Schema(oid) => {
            let name = catalog.schema(oid).map_or("?", |s| &*s.name);
            format!("schema {name}")
        }
        Object::Relation(oid) => relation(oid),
        Object::Column(oid, attnum) => column(oid, attnum),
        Object::Default(oid, attnum) => format!("default value for {}", column(oid, attnum)),
        Object::Constraint(domain, constraint) if catalog.domain(domain).is_some() => {
            let checks = catalog.domain(domain).into_iter().flat_map(|domain| &domain.checks);
            let found = checks.into_iter().find(|check| check.oid == constraint);
            format!("constraint {}", found.map_or("?", |check| &*check.name))
        }
        Object::Constraint(oid, constraint) => {
            let table = catalog.relation(oid);
            let found = table.and_then(|t| t.constraints.iter().find(|c| c.oid == constraint));
            let name = found.map_or("?", |constraint| &*constraint.name);
            format!("constraint {name} on {}", relation(oid))
        }
        Object::Trigger(oid, trigger) => {
            let table = catalog.relation(oid);
            let found = table.and_then(|t| t.triggers.iter().find(|own| own.oid == trigger));
            let name = found.map_or("?", |trigger| &*trigger.name);
            format!("trigger {name} on {}", relation(oid))
        }
        Object::Statistics(_, oid) => match statistics_object(catalog, oid) {
            Some((_, object)) => {
                format!("statistics object {}", visible_object_name(catalog, object, path))
            }
            None => format!("statistics object {oid}"),
        },
        Object::Type(oid) => format!("type {}", types(oid)),
        Object::Cast(oid) => match catalog.stored::<UserCast>().get(oid) {
            Some(cast) => format!("cast from {} to {}", types(cast.source), types(cast.target)),
            None => format!("cast {oid}"),
        },
        Object::Operator(oid) => match catalog.operator(oid) {
            Some(operator) => {
                format!("operator {}", operator_signature(catalog, path, types, &operator))
            }
            None => format!("operator {oid}"),
        },
        Object::Node(oid) => match catalog.stored::<Node>().get(oid) {
            Some(node) => format!("node {}", node.name),
            None => format!("node {oid}"),
        },
        Object::NodeGroup(oid) => match catalog.stored::<NodeGroup>().get(oid) {
            Some(group) => format!("node group {}", group.name),
            None => format!("node group {oid}"),
        },
        Object::Function(oid) => match catalog.function(oid) {
            Some(function) => {
                format!("function {}", function_signature(catalog, path, types, &function))
            }
            None => format!("function {oid}"),
        },
    }
}

/// An operator with the types of its operands (format_operator): with its schema, unless the search
/// path finds it. `types` names types.
pub fn operator_signature(
    catalog: &Catalog,
    path: &[Oid],
    types: &dyn Fn(Oid) -> String,
    operator: &Operator,
) -> String {
    let operand = |ty: Oid| if ty == 0 { "NONE".to_owned() } else { types(ty) };
    let schema = catalog.schema(operator.schema);
    let schema = schema.filter(|_| !catalog.operator_is_visible(operator, path));
    let schema = schema.map_or(String::new(), |s| format!("{}.", quote_identifier(&s.name)));
    format!("{schema}{}({},{})", operator.name, operand(operator.left), operand(operator.right))
}

/// A function with the types of its input arguments (format_procedure): with its schema, unless the
/// search path finds it. `types` names types.
pub fn function_signature(
    catalog: &Catalog,
    path: &[Oid],
    types: &dyn Fn(Oid) -> String,
    function: &Function,
) -> String {
    let name = match catalog.schema_of(function) {
        Some(schema) if !catalog.function_is_visible(function, path) => {
            name_in_schema(catalog, schema, &function.name)
        }
        _ => quote_identifier(&function.name).into_owned(),
    };
    let args: Vec<String> = function.args.iter().map(|ty| types(*ty)).collect();
    format!("{name}({})", args.join(","))
}
