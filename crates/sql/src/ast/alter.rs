//! ALTER of every kind.

use super::{
    CollateClause, ColumnDef, Constraint, DefElem, DistributeBy, DropBehavior, Expr, Location,
    NodeSet, ObjectKind, ObjectName, ObjectRef, ObjectWithArgs, PartitionBound, RangeVar, RoleSpec,
    TypeName,
};

/// ALTER TABLE, and ALTER INDEX, SEQUENCE, VIEW … with table subcommands.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTableStmt {
    /// The kind of relation that the statement names.
    pub kind: ObjectKind,
    /// The relation.
    pub relation: RangeVar,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The subcommands in the order written.
    pub commands: Vec<AlterTableCommand>,
}

/// A subcommand of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterTableCommand {
    /// ADD COLUMN.
    AddColumn {
        /// The column.
        column: Box<ColumnDef>,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// DROP COLUMN.
    DropColumn {
        /// The column.
        name: String,
        /// CASCADE, RESTRICT.
        behavior: DropBehavior,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ALTER COLUMN … TYPE.
    AlterColumnType {
        /// The column.
        name: String,
        /// The new type.
        type_name: TypeName,
        /// COLLATE.
        collation: Option<CollateClause>,
        /// USING.
        using: Option<Expr>,
        /// The place of the column's name.
        location: Location,
    },
    /// ALTER COLUMN … SET DEFAULT, or DROP DEFAULT (`None`).
    ColumnDefault {
        /// The column.
        name: String,
        /// The default.
        default: Option<Expr>,
    },
    /// ALTER COLUMN … SET NOT NULL.
    SetNotNull(String),
    /// ALTER COLUMN … DROP NOT NULL.
    DropNotNull(String),
    /// ALTER COLUMN … SET EXPRESSION AS (…).
    SetExpression {
        /// The column.
        name: String,
        /// The expression.
        expr: Expr,
    },
    /// ALTER COLUMN … DROP EXPRESSION.
    DropExpression {
        /// The column.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ALTER COLUMN … SET STATISTICS; `None` is DEFAULT.
    SetStatistics {
        /// The column, by name or (indexes) by number.
        column: ColumnAddress,
        /// The target.
        target: Option<i32>,
    },
    /// ALTER COLUMN … SET (…).
    SetColumnOptions {
        /// The column.
        name: String,
        /// The options.
        options: Vec<DefElem>,
    },
    /// ALTER COLUMN … RESET (…).
    ResetColumnOptions {
        /// The column.
        name: String,
        /// The options.
        options: Vec<DefElem>,
    },
    /// ALTER COLUMN … SET STORAGE.
    SetStorage {
        /// The column.
        name: String,
        /// The strategy.
        storage: String,
    },
    /// ALTER COLUMN … SET COMPRESSION.
    SetCompression {
        /// The column.
        name: String,
        /// The method.
        method: String,
    },
    /// ALTER COLUMN … ADD GENERATED … AS IDENTITY.
    AddIdentity {
        /// The column.
        name: String,
        /// The identity constraint.
        constraint: Box<Constraint>,
    },
    /// ALTER COLUMN … SET GENERATED / SET sequence option / RESTART.
    SetIdentity {
        /// The column.
        name: String,
        /// The options.
        options: Vec<DefElem>,
    },
    /// ALTER COLUMN … DROP IDENTITY.
    DropIdentity {
        /// The column.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ADD table constraint.
    AddConstraint(Box<Constraint>),
    /// ALTER CONSTRAINT.
    AlterConstraint {
        /// The constraint.
        name: String,
        /// \[NOT\] DEFERRABLE, when written.
        deferrable: Option<bool>,
        /// INITIALLY DEFERRED.
        initially_deferred: bool,
        /// \[NOT\] ENFORCED, when written.
        enforced: Option<bool>,
        /// \[NO\] INHERIT, when written: `Some(true)` is NO INHERIT.
        no_inherit: Option<bool>,
    },
    /// VALIDATE CONSTRAINT.
    ValidateConstraint(String),
    /// DROP CONSTRAINT.
    DropConstraint {
        /// The constraint.
        name: String,
        /// CASCADE, RESTRICT.
        behavior: DropBehavior,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// OWNER TO.
    ChangeOwner(RoleSpec),
    /// CLUSTER ON index.
    ClusterOn(String),
    /// SET WITHOUT CLUSTER.
    DropCluster,
    /// SET LOGGED (true), SET UNLOGGED (false).
    SetLogged(bool),
    /// SET ACCESS METHOD; `None` is DEFAULT.
    SetAccessMethod(Option<String>),
    /// SET TABLESPACE.
    SetTablespace(String),
    /// SET (…).
    SetOptions(Vec<DefElem>),
    /// RESET (…).
    ResetOptions(Vec<DefElem>),
    /// ENABLE or DISABLE TRIGGER, RULE.
    Trigger {
        /// RULE rather than TRIGGER.
        rule: bool,
        /// The triggers.
        which: TriggerSet,
        /// The sessions in which they fire from now on.
        firing: TriggerFiring,
    },
    /// INHERIT.
    Inherit(RangeVar),
    /// `NO INHERIT`.
    NoInherit(RangeVar),
    /// `OF` type.
    Of(TypeName),
    /// `NOT OF`.
    NotOf,
    /// REPLICA IDENTITY.
    ReplicaIdentity(ReplicaIdentity),
    /// ENABLE, DISABLE, FORCE, NO FORCE ROW LEVEL SECURITY.
    RowSecurity(RowSecurity),
    /// ATTACH PARTITION (also ALTER INDEX … ATTACH PARTITION, without a bound).
    AttachPartition {
        /// The partition.
        partition: RangeVar,
        /// Its bound.
        bound: Option<PartitionBound>,
    },
    /// DETACH PARTITION.
    DetachPartition {
        /// The partition.
        partition: RangeVar,
        /// CONCURRENTLY.
        concurrently: bool,
        /// FINALIZE.
        finalize: bool,
    },
    /// OPTIONS (…) of a foreign table.
    Options(Vec<DefElem>),
    /// DISTRIBUTE BY.
    DistributeBy(DistributeBy),
    /// TO NODE, TO GROUP.
    ToNodes(NodeSet),
    /// ADD NODE.
    AddNodes(Vec<String>),
    /// DELETE NODE.
    DeleteNodes(Vec<String>),
}

/// A column by name or by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnAddress {
    /// By name.
    Name(String),
    /// By number, from 1.
    Number(i16),
}

/// The triggers of an ENABLE or DISABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerSet {
    /// One.
    Named(String),
    /// ALL.
    All,
    /// USER.
    User,
}

/// The sessions in which a trigger or rule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TriggerFiring {
    /// ENABLE.
    Origin,
    /// ENABLE ALWAYS.
    Always,
    /// ENABLE REPLICA.
    Replica,
    /// DISABLE.
    Disabled,
}

/// REPLICA IDENTITY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaIdentity {
    /// `NOTHING`.
    Nothing,
    /// FULL.
    Full,
    /// DEFAULT.
    Default,
    /// USING INDEX.
    Index(String),
}

/// Switches of row-level security.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowSecurity {
    /// ENABLE.
    Enable,
    /// DISABLE.
    Disable,
    /// FORCE.
    Force,
    /// `NO FORCE`.
    NoForce,
}

/// ALTER … RENAME.
#[derive(Clone, Debug, PartialEq)]
pub struct RenameStmt {
    /// The kind of the renamed object. `Column`, `Constraint` and `Attribute` are parts of
    /// `object`.
    pub kind: ObjectKind,
    /// The object; for a part, the relation, domain or type that has it.
    pub object: ObjectRef,
    /// The kind of the object that has the part.
    pub relation_kind: Option<ObjectKind>,
    /// The part's present name.
    pub part: Option<String>,
    /// The new name.
    pub new_name: String,
    /// CASCADE, for attributes of composite types.
    pub behavior: DropBehavior,
    /// IF EXISTS.
    pub if_exists: bool,
}

/// ALTER OPERATOR … SET (…).
#[derive(Clone, Debug, PartialEq)]
pub struct AlterOperatorStmt {
    /// The operator.
    pub operator: ObjectWithArgs,
    /// The attributes. One without a value is set to NONE.
    pub options: Vec<DefElem>,
}

/// ALTER … OWNER TO.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterOwnerStmt {
    /// The kind of object.
    pub kind: ObjectKind,
    /// The object.
    pub object: ObjectRef,
    /// OWNER TO.
    pub new_owner: RoleSpec,
}

/// ALTER … SET SCHEMA.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSchemaStmt {
    /// The kind of object.
    pub kind: ObjectKind,
    /// The object.
    pub object: ObjectRef,
    /// The new schema.
    pub new_schema: String,
    /// IF EXISTS.
    pub if_exists: bool,
}

/// ALTER DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDomainStmt {
    /// The domain.
    pub name: ObjectName,
    /// The change.
    pub action: AlterDomainAction,
}

/// The change of an ALTER DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterDomainAction {
    /// SET DEFAULT, DROP DEFAULT (`None`).
    Default(Option<Expr>),
    /// SET NOT NULL.
    SetNotNull,
    /// DROP NOT NULL.
    DropNotNull,
    /// ADD constraint.
    AddConstraint(Box<Constraint>),
    /// VALIDATE CONSTRAINT.
    ValidateConstraint(String),
    /// DROP CONSTRAINT.
    DropConstraint {
        /// The constraint.
        name: String,
        /// CASCADE, RESTRICT.
        behavior: DropBehavior,
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// ALTER TYPE … ADD VALUE, RENAME VALUE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterEnumStmt {
    /// The type.
    pub name: ObjectName,
    /// RENAME VALUE: the present label.
    pub old_value: Option<String>,
    /// The new label.
    pub new_value: String,
    /// BEFORE or AFTER: the neighbour.
    pub neighbor: Option<String>,
    /// AFTER rather than BEFORE.
    pub after: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}

/// ALTER FUNCTION, PROCEDURE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterFunctionStmt {
    /// FUNCTION, PROCEDURE, ROUTINE.
    pub kind: ObjectKind,
    /// The function.
    pub function: super::ObjectWithArgs,
    /// The attributes, named as in [`super::CreateFunctionStmt`].
    pub actions: Vec<DefElem>,
    /// SET and RESET clauses.
    pub settings: Vec<super::SetStmt>,
}
