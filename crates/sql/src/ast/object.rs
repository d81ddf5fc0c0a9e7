//! Objects other than tables and indexes: sequences, schemas, functions, types, roles, grants,
//! triggers. Also DROP and COMMENT.

use super::{
    ColumnDefItem, Constraint, DefElem, DropBehavior, Expr, Location, ObjectName, ObjectWithArgs,
    RangeVar, RoleSpec, Statement, TypeName,
};

/// The kind of object that a statement names (PostgreSQL's ObjectType).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// ACCESS METHOD.
    AccessMethod,
    /// AGGREGATE.
    Aggregate,
    /// ATTRIBUTE of a composite type.
    Attribute,
    /// CAST.
    Cast,
    /// COLLATION.
    Collation,
    /// COLUMN.
    Column,
    /// CONVERSION.
    Conversion,
    /// DATABASE.
    Database,
    /// DOMAIN.
    Domain,
    /// CONSTRAINT on a domain.
    DomainConstraint,
    /// EVENT TRIGGER.
    EventTrigger,
    /// EXTENSION.
    Extension,
    /// FOREIGN DATA WRAPPER.
    ForeignDataWrapper,
    /// SERVER.
    ForeignServer,
    /// FOREIGN TABLE.
    ForeignTable,
    /// FUNCTION.
    Function,
    /// INDEX.
    Index,
    /// LANGUAGE.
    Language,
    /// LARGE OBJECT.
    LargeObject,
    /// MATERIALIZED VIEW.
    MaterializedView,
    /// OPERATOR CLASS.
    OperatorClass,
    /// OPERATOR.
    Operator,
    /// OPERATOR FAMILY.
    OperatorFamily,
    /// PARAMETER (GRANT … ON PARAMETER).
    Parameter,
    /// POLICY.
    Policy,
    /// PROCEDURE.
    Procedure,
    /// PUBLICATION.
    Publication,
    /// ROLE, USER.
    Role,
    /// ROUTINE.
    Routine,
    /// RULE.
    Rule,
    /// SCHEMA.
    Schema,
    /// SEQUENCE.
    Sequence,
    /// STATISTICS.
    Statistics,
    /// SUBSCRIPTION.
    Subscription,
    /// TABLE.
    Table,
    /// CONSTRAINT on a table.
    TableConstraint,
    /// TABLESPACE.
    Tablespace,
    /// TRANSFORM.
    Transform,
    /// TRIGGER.
    Trigger,
    /// TEXT SEARCH CONFIGURATION.
    TextSearchConfiguration,
    /// TEXT SEARCH DICTIONARY.
    TextSearchDictionary,
    /// TEXT SEARCH PARSER.
    TextSearchParser,
    /// TEXT SEARCH TEMPLATE.
    TextSearchTemplate,
    /// TYPE.
    Type,
    /// VIEW.
    View,
}

impl ObjectKind {
    /// The words that name the kind in SQL: `DROP {words}`.
    pub fn as_str(self) -> &'static str {
        match self {
            ObjectKind::AccessMethod => "ACCESS METHOD",
            ObjectKind::Aggregate => "AGGREGATE",
            ObjectKind::Attribute => "ATTRIBUTE",
            ObjectKind::Cast => "CAST",
            ObjectKind::Collation => "COLLATION",
            ObjectKind::Column => "COLUMN",
            ObjectKind::Conversion => "CONVERSION",
            ObjectKind::Database => "DATABASE",
            ObjectKind::Domain => "DOMAIN",
            ObjectKind::DomainConstraint | ObjectKind::TableConstraint => "CONSTRAINT",
            ObjectKind::EventTrigger => "EVENT TRIGGER",
            ObjectKind::Extension => "EXTENSION",
            ObjectKind::ForeignDataWrapper => "FOREIGN DATA WRAPPER",
            ObjectKind::ForeignServer => "SERVER",
            ObjectKind::ForeignTable => "FOREIGN TABLE",
            ObjectKind::Function => "FUNCTION",
            ObjectKind::Index => "INDEX",
            ObjectKind::Language => "LANGUAGE",
            ObjectKind::LargeObject => "LARGE OBJECT",
            ObjectKind::MaterializedView => "MATERIALIZED VIEW",
            ObjectKind::OperatorClass => "OPERATOR CLASS",
            ObjectKind::Operator => "OPERATOR",
            ObjectKind::OperatorFamily => "OPERATOR FAMILY",
            ObjectKind::Parameter => "PARAMETER",
            ObjectKind::Policy => "POLICY",
            ObjectKind::Procedure => "PROCEDURE",
            ObjectKind::Publication => "PUBLICATION",
            ObjectKind::Role => "ROLE",
            ObjectKind::Routine => "ROUTINE",
            ObjectKind::Rule => "RULE",
            ObjectKind::Schema => "SCHEMA",
            ObjectKind::Sequence => "SEQUENCE",
            ObjectKind::Statistics => "STATISTICS",
            ObjectKind::Subscription => "SUBSCRIPTION",
            ObjectKind::Table => "TABLE",
            ObjectKind::Tablespace => "TABLESPACE",
            ObjectKind::Transform => "TRANSFORM",
            ObjectKind::Trigger => "TRIGGER",
            ObjectKind::TextSearchConfiguration => "TEXT SEARCH CONFIGURATION",
            ObjectKind::TextSearchDictionary => "TEXT SEARCH DICTIONARY",
            ObjectKind::TextSearchParser => "TEXT SEARCH PARSER",
            ObjectKind::TextSearchTemplate => "TEXT SEARCH TEMPLATE",
            ObjectKind::Type => "TYPE",
            ObjectKind::View => "VIEW",
        }
    }
}

/// An object as DROP, COMMENT, RENAME and their like name it.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectRef {
    /// By name. What belongs to a table (column, constraint, trigger, rule, policy)
    /// has its own name as the last part.
    Name(ObjectName),
    /// A relation whose statement carries ONLY or a location.
    Relation(RangeVar),
    /// A type or domain.
    Type(TypeName),
    /// A function, aggregate or operator with its argument types.
    Function(ObjectWithArgs),
    /// A constraint of a domain.
    DomainConstraint(TypeName, String),
    /// A cast from one type to another.
    Cast(TypeName, TypeName),
    /// A large object's number, as written.
    LargeObject(String),
}

/// DROP.
#[derive(Clone, Debug, PartialEq)]
pub struct DropStmt {
    /// The kind of the objects.
    pub kind: ObjectKind,
    /// The objects.
    pub objects: Vec<ObjectRef>,
    /// CASCADE, RESTRICT.
    pub behavior: DropBehavior,
    /// IF EXISTS.
    pub if_exists: bool,
    /// CONCURRENTLY.
    pub concurrently: bool,
}

/// COMMENT ON.
#[derive(Clone, Debug, PartialEq)]
pub struct CommentStmt {
    /// The kind of the object.
    pub kind: ObjectKind,
    /// The object.
    pub object: ObjectRef,
    /// IS. `None` is NULL, which removes the comment.
    pub comment: Option<String>,
}

/// TRUNCATE.
#[derive(Clone, Debug, PartialEq)]
pub struct TruncateStmt {
    /// The tables.
    pub relations: Vec<RangeVar>,
    /// RESTART IDENTITY.
    pub restart_identity: bool,
    /// CASCADE, RESTRICT.
    pub behavior: DropBehavior,
}

/// CREATE SEQUENCE. Options: `as`, `cache`, `cycle`, `increment`, `maxvalue`, `minvalue` (without a
/// value for NO MAXVALUE and NO MINVALUE), `owned_by`, `start`, `restart`, `sequence_name`,
/// `logged`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequenceStmt {
    /// The sequence.
    pub relation: RangeVar,
    /// Its options.
    pub options: Vec<DefElem>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}

/// ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequenceStmt {
    /// The sequence.
    pub relation: RangeVar,
    /// Its options, as in [`CreateSequenceStmt`].
    pub options: Vec<DefElem>,
    /// IF EXISTS.
    pub if_exists: bool,
}

/// CREATE SCHEMA.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchemaStmt {
    /// Its name; the role's when not given.
    pub name: Option<String>,
    /// AUTHORIZATION.
    pub authorization: Option<RoleSpec>,
    /// Statements that create its objects.
    pub elements: Vec<Statement>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}

/// CREATE FUNCTION, CREATE PROCEDURE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunctionStmt {
    /// PROCEDURE rather than FUNCTION.
    pub is_procedure: bool,
    /// OR REPLACE.
    pub replace: bool,
    /// The name.
    pub name: ObjectName,
    /// The parameters; RETURNS TABLE's columns are among them.
    pub parameters: Vec<FunctionParameter>,
    /// RETURNS.
    pub return_type: Option<TypeName>,
    /// LANGUAGE (`language`), AS (`as`: a list of one or two strings), volatility
    /// (`volatility`), `strict`, `security`, `leakproof`, `cost`, `rows`,
    /// `support`, `set`, `parallel`, `window`, `transform`.
    pub options: Vec<DefElem>,
    /// SET clauses.
    pub settings: Vec<super::SetStmt>,
    /// A body in SQL's own syntax.
    pub sql_body: Option<SqlBody>,
}

/// A function body written as SQL rather than as a string.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlBody {
    /// RETURN expr.
    Return(Expr),
    /// BEGIN ATOMIC … END.
    Atomic(Vec<Statement>),
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionParameter {
    /// Its name.
    pub name: Option<String>,
    /// Its type.
    pub type_name: TypeName,
    /// IN, OUT and so on.
    pub mode: ParameterMode,
    /// DEFAULT.
    pub default: Option<Expr>,
    /// Its place.
    pub location: Location,
}

/// The mode of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ParameterMode {
    /// IN, or no mode.
    #[default]
    In,
    /// OUT.
    Out,
    /// INOUT.
    InOut,
    /// VARIADIC.
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

/// CREATE TYPE … AS ENUM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateEnumStmt {
    /// The type.
    pub name: ObjectName,
    /// Its labels, in order.
    pub labels: Vec<String>,
}

/// CREATE TYPE … AS (…).
#[derive(Clone, Debug, PartialEq)]
pub struct CreateCompositeStmt {
    /// The type.
    pub relation: RangeVar,
    /// Its attributes.
    pub columns: Vec<ColumnDefItem>,
}

/// CREATE TYPE … AS RANGE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRangeStmt {
    /// The type.
    pub name: ObjectName,
    /// `subtype` and the rest.
    pub options: Vec<DefElem>,
}

/// CREATE AGGREGATE, OPERATOR, TYPE (base or shell), COLLATION, TEXT SEARCH ….
#[derive(Clone, Debug, PartialEq)]
pub struct DefineStmt {
    /// The kind of the object.
    pub kind: ObjectKind,
    /// Its name.
    pub name: ObjectName,
    /// The arguments of an aggregate, if they are before the definition.
    pub arguments: Option<AggregateArguments>,
    /// The definition.
    pub definition: Vec<DefElem>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// OR REPLACE.
    pub replace: bool,
}

/// CREATE CAST.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateCastStmt {
    /// The type that it casts from.
    pub source: TypeName,
    /// The type that it casts to.
    pub target: TypeName,
    /// WITH FUNCTION.
    pub function: Option<ObjectWithArgs>,
    /// WITH INOUT.
    pub in_out: bool,
    /// AS IMPLICIT, AS ASSIGNMENT.
    pub context: CastUse,
}

/// Where a cast that is created applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastUse {
    /// AS IMPLICIT.
    Implicit,
    /// AS ASSIGNMENT.
    Assignment,
    /// Only where it is written.
    Explicit,
}

/// The arguments of CREATE AGGREGATE.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateArguments {
    /// All arguments; none for `(*)`.
    pub parameters: Vec<FunctionParameter>,
    /// The number of arguments before ORDER BY; `None` without ORDER BY.
    pub direct: Option<usize>,
}

/// CREATE DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomainStmt {
    /// The domain.
    pub name: ObjectName,
    /// AS.
    pub type_name: TypeName,
    /// COLLATE.
    pub collation: Option<ObjectName>,
    /// DEFAULT, NOT NULL, CHECK ….
    pub constraints: Vec<Constraint>,
}

/// GRANT and REVOKE on objects.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantStmt {
    /// GRANT rather than REVOKE.
    pub is_grant: bool,
    /// Privileges; empty is ALL.
    pub privileges: Vec<Privilege>,
    /// The kind of the objects.
    pub kind: ObjectKind,
    /// ON ALL … IN SCHEMA: then `objects` names schemas.
    pub all_in_schema: bool,
    /// The objects.
    pub objects: Vec<ObjectRef>,
    /// TO, FROM.
    pub grantees: Vec<RoleSpec>,
    /// WITH GRANT OPTION, GRANT OPTION FOR.
    pub grant_option: bool,
    /// GRANTED BY.
    pub grantor: Option<RoleSpec>,
    /// CASCADE, RESTRICT.
    pub behavior: DropBehavior,
}

/// A privilege of GRANT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// Lower case; `None` is ALL with a column list.
    pub name: Option<String>,
    /// Its columns.
    pub columns: Vec<String>,
}

/// GRANT role TO role.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRoleStmt {
    /// GRANT rather than REVOKE.
    pub is_grant: bool,
    /// The roles given.
    pub roles: Vec<Privilege>,
    /// The roles that get or lose them.
    pub grantees: Vec<RoleSpec>,
    /// `admin`, `inherit`, `set`.
    pub options: Vec<DefElem>,
    /// GRANTED BY.
    pub grantor: Option<RoleSpec>,
    /// CASCADE, RESTRICT.
    pub behavior: DropBehavior,
}

/// CREATE ROLE, USER, GROUP.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRoleStmt {
    /// ROLE, USER or GROUP: USER implies LOGIN.
    pub kind: RoleStmtKind,
    /// Its name.
    pub name: String,
    /// `superuser`, `createdb`, `canlogin`, `password` …, as PostgreSQL names them.
    pub options: Vec<DefElem>,
}

/// The word after CREATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoleStmtKind {
    /// ROLE.
    Role,
    /// USER.
    User,
    /// GROUP.
    Group,
}

/// ALTER ROLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoleStmt {
    /// The role.
    pub role: RoleSpec,
    /// The options; ALTER GROUP's members come as `rolemembers`.
    pub options: Vec<DefElem>,
    /// ALTER GROUP … DROP USER rather than add.
    pub drop_members: bool,
}

/// ALTER ROLE … SET, ALTER DATABASE … SET.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoleSetStmt {
    /// The role; `None` is ALL.
    pub role: Option<RoleSpec>,
    /// The database; `None` is all.
    pub database: Option<String>,
    /// The setting.
    pub setting: super::SetStmt,
}

/// DROP ROLE.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRoleStmt {
    /// The roles.
    pub roles: Vec<RoleSpec>,
    /// IF EXISTS.
    pub if_exists: bool,
}

/// CREATE TRIGGER.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTriggerStmt {
    /// OR REPLACE.
    pub replace: bool,
    /// CONSTRAINT TRIGGER.
    pub is_constraint: bool,
    /// Its name.
    pub name: String,
    /// ON.
    pub relation: RangeVar,
    /// EXECUTE FUNCTION.
    pub function: ObjectName,
    /// Its arguments.
    pub args: Vec<String>,
    /// FOR EACH ROW.
    pub for_each_row: bool,
    /// BEFORE, AFTER, INSTEAD OF.
    pub timing: TriggerTiming,
    /// On which events.
    pub events: TriggerEvents,
    /// UPDATE OF columns.
    pub columns: Vec<String>,
    /// WHEN.
    pub when: Option<Expr>,
    /// REFERENCING.
    pub transitions: Vec<TriggerTransition>,
    /// FROM referenced table.
    pub constraint_relation: Option<RangeVar>,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
}

/// The time when a trigger runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TriggerTiming {
    /// BEFORE.
    Before,
    /// AFTER.
    After,
    /// INSTEAD OF.
    InsteadOf,
}

/// The events that fire a trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TriggerEvents {
    /// INSERT.
    pub insert: bool,
    /// DELETE.
    pub delete: bool,
    /// UPDATE.
    pub update: bool,
    /// TRUNCATE.
    pub truncate: bool,
}

/// REFERENCING OLD|NEW TABLE AS name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerTransition {
    /// NEW rather than OLD.
    pub is_new: bool,
    /// TABLE rather than ROW.
    pub is_table: bool,
    /// The name.
    pub name: String,
}

/// CREATE EXTENSION.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateExtensionStmt {
    /// The extension.
    pub name: String,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// `schema`, `new_version`, `cascade`.
    pub options: Vec<DefElem>,
}

/// CREATE DATABASE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabaseStmt {
    /// The database.
    pub name: String,
    /// Its options.
    pub options: Vec<DefElem>,
}

/// DROP DATABASE.
#[derive(Clone, Debug, PartialEq)]
pub struct DropDatabaseStmt {
    /// The database.
    pub name: String,
    /// IF EXISTS.
    pub if_exists: bool,
    /// `force`.
    pub options: Vec<DefElem>,
}

/// CREATE STATISTICS.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateStatisticsStmt {
    /// Its name; made up when not given.
    pub name: Option<ObjectName>,
    /// The kinds; empty is all.
    pub kinds: Vec<String>,
    /// On columns or expressions.
    pub elements: Vec<super::IndexKey>,
    /// FROM.
    pub relations: Vec<RangeVar>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}

/// ALTER STATISTICS … SET STATISTICS.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterStatisticsStmt {
    /// The object.
    pub name: ObjectName,
    /// The target; `None` is DEFAULT.
    pub target: Option<i32>,
    /// IF EXISTS.
    pub if_exists: bool,
}

/// CREATE SERVER.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateServerStmt {
    /// The server.
    pub name: String,
    /// TYPE.
    pub server_type: Option<String>,
    /// VERSION.
    pub version: Option<String>,
    /// FOREIGN DATA WRAPPER.
    pub wrapper: String,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// OPTIONS.
    pub options: Vec<DefElem>,
}

/// CREATE and ALTER USER MAPPING.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMappingStmt {
    /// ALTER rather than CREATE.
    pub alter: bool,
    /// FOR.
    pub user: RoleSpec,
    /// SERVER.
    pub server: String,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// OPTIONS.
    pub options: Vec<DefElem>,
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct RefreshMatViewStmt {
    /// The view.
    pub relation: RangeVar,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// WITH NO DATA.
    pub with_no_data: bool,
}

/// A statement that this tree does not express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedStmt {
    /// The missing feature, as the 0A000 message names it: a command ("CREATE OPERATOR CLASS") or a
    /// construct ("TABLESAMPLE").
    pub what: String,
    /// Its place.
    pub location: Location,
}

impl UnsupportedStmt {
    /// The error that the statement raises when it is run.
    pub fn error(&self, source: &str) -> steppe_types::Error {
        steppe_types::Error::not_supported(&self.what).at(self.location.position(source))
    }
}
