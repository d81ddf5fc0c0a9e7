//! ALTER.

use pg_raw_parse::{Node, nodes};
use steppe_types::SqlState;

use super::ddl::collate_clause;
use super::object::object_kind;
use super::{
    Lower, Lowered, cast_name, drop_behavior, object_name, optional, range_var, refused, role_spec,
    text, unexpected,
};
use crate::ast::*;

impl Lower {
    /// ALTER; `None` for any other statement.
    pub(super) fn alter_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::AlterTableStmt(stmt) => Statement::AlterTable(Box::new(self.alter_table(stmt)?)),
            Node::AlterSeqStmt(stmt) => Statement::AlterSequence(Box::new(AlterSequenceStmt {
                relation: range_var(stmt.sequence())?,
                options: self.def_elems(stmt.options())?,
                if_exists: stmt.missing_ok,
            })),
            Node::AlterDomainStmt(stmt) => {
                Statement::AlterDomain(Box::new(self.alter_domain(stmt)?))
            }
            Node::AlterEnumStmt(stmt) => Statement::AlterEnum(AlterEnumStmt {
                name: super::cast_name(stmt.type_name())?,
                old_value: optional(stmt.old_val()),
                new_value: text(stmt.new_val()),
                neighbor: optional(stmt.new_val_neighbor()),
                after: stmt.new_val_is_after,
                if_not_exists: stmt.skip_if_new_val_exists,
            }),
            Node::AlterFunctionStmt(stmt) => {
                let (actions, settings) = self.function_options(stmt.actions())?;
                Statement::AlterFunction(Box::new(AlterFunctionStmt {
                    kind: object_kind(stmt.objtype)?,
                    function: self.object_with_args(stmt.func())?,
                    actions,
                    settings,
                }))
            }
            Node::AlterOperatorStmt(stmt) => {
                Statement::AlterOperator(Box::new(AlterOperatorStmt {
                    operator: self.object_with_args(stmt.opername())?,
                    options: self.def_elems_of(stmt.options())?,
                }))
            }
            Node::AlterStatsStmt(stmt) => {
                Statement::AlterStatistics(Box::new(AlterStatisticsStmt {
                    name: cast_name(stmt.defnames())?,
                    target: statistics_target(stmt.stxstattarget()),
                    if_exists: stmt.missing_ok,
                }))
            }
            Node::RenameStmt(stmt) => Statement::Rename(Box::new(self.rename(stmt)?)),
            Node::AlterOwnerStmt(stmt) => {
                let Some(owner) = stmt.newowner() else {
                    return Err(unexpected("OWNER TO", Node::None));
                };
                Statement::AlterOwner(Box::new(AlterOwnerStmt {
                    kind: object_kind(stmt.object_type)?,
                    object: self.relation_or_object(stmt.relation(), stmt.object())?,
                    new_owner: role_spec(owner),
                }))
            }
            Node::AlterObjectSchemaStmt(stmt) => {
                Statement::AlterSchema(Box::new(AlterSchemaStmt {
                    kind: object_kind(stmt.object_type)?,
                    object: self.relation_or_object(stmt.relation(), stmt.object())?,
                    new_schema: text(stmt.newschema()),
                    if_exists: stmt.missing_ok,
                }))
            }
            _ => return Ok(None),
        }))
    }

    fn alter_table(&mut self, stmt: &nodes::AlterTableStmt) -> Lowered<AlterTableStmt> {
        let mut commands = Vec::with_capacity(stmt.cmds().len());
        for node in stmt.cmds() {
            let Node::AlterTableCmd(command) = node else {
                return Err(unexpected("ALTER TABLE", node));
            };
            // SET WITHOUT OIDS has no effect: there are no OIDs.
            if command.subtype != nodes::AlterTableType::AT_DropOids {
                commands.push(self.alter_table_command(command)?);
            }
        }
        Ok(AlterTableStmt {
            kind: object_kind(stmt.objtype)?,
            relation: range_var(stmt.relation())?,
            if_exists: stmt.missing_ok,
            commands,
        })
    }

    fn alter_table_command(&mut self, cmd: &nodes::AlterTableCmd) -> Lowered<AlterTableCommand> {
        use nodes::AlterTableType as Type;
        match cmd.subtype {
            Type::AT_AddColumn
            | Type::AT_DropColumn
            | Type::AT_AlterColumnType
            | Type::AT_ColumnDefault
            | Type::AT_SetNotNull
            | Type::AT_DropNotNull
            | Type::AT_SetExpression
            | Type::AT_DropExpression
            | Type::AT_SetStatistics
            | Type::AT_SetOptions
            | Type::AT_ResetOptions
            | Type::AT_SetStorage
            | Type::AT_SetCompression
            | Type::AT_AddIdentity
            | Type::AT_SetIdentity
            | Type::AT_DropIdentity
            | Type::AT_AlterColumnGenericOptions => self.alter_column(cmd),
            Type::AT_AddConstraint
            | Type::AT_AlterConstraint
            | Type::AT_ValidateConstraint
            | Type::AT_DropConstraint => self.alter_constraint(cmd),
            Type::AT_EnableTrig
            | Type::AT_EnableAlwaysTrig
            | Type::AT_EnableReplicaTrig
            | Type::AT_DisableTrig
            | Type::AT_EnableTrigAll
            | Type::AT_DisableTrigAll
            | Type::AT_EnableTrigUser
            | Type::AT_DisableTrigUser
            | Type::AT_EnableRule
            | Type::AT_EnableAlwaysRule
            | Type::AT_EnableReplicaRule
            | Type::AT_DisableRule => Ok(trigger_command(cmd)),
            _ => self.alter_relation(cmd),
        }
    }

    /// Subcommands about one column.
    fn alter_column(&mut self, cmd: &nodes::AlterTableCmd) -> Lowered<AlterTableCommand> {
        use AlterTableCommand as Command;
        use nodes::AlterTableType as Type;
        let name = text(cmd.name());
        Ok(match (cmd.subtype, cmd.def()) {
            (Type::AT_AddColumn, Node::ColumnDef(column)) => Command::AddColumn {
                column: Box::new(self.column_def(column)?),
                if_not_exists: cmd.missing_ok,
            },
            (Type::AT_DropColumn, _) => Command::DropColumn {
                name,
                behavior: drop_behavior(cmd.behavior),
                if_exists: cmd.missing_ok,
            },
            (Type::AT_AlterColumnType, Node::ColumnDef(column)) => Command::AlterColumnType {
                name,
                type_name: self.type_name(column.type_name())?,
                collation: column.coll_clause().map(collate_clause).transpose()?,
                using: self.optional_expr(column.raw_default())?,
                location: Location::from_raw(column.location),
            },
            (Type::AT_ColumnDefault, expr) => {
                Command::ColumnDefault { name, default: self.optional_expr(expr)? }
            }
            (Type::AT_SetNotNull, _) => Command::SetNotNull(name),
            (Type::AT_DropNotNull, _) => Command::DropNotNull(name),
            (Type::AT_SetExpression, expr) => {
                Command::SetExpression { name, expr: self.expr(expr)? }
            }
            (Type::AT_DropExpression, _) => {
                Command::DropExpression { name, if_exists: cmd.missing_ok }
            }
            (Type::AT_SetStatistics, target) => Command::SetStatistics {
                column: match cmd.name() {
                    Some(name) => ColumnAddress::Name(name.to_owned()),
                    None => ColumnAddress::Number(cmd.num),
                },
                target: statistics_target(target),
            },
            (Type::AT_SetOptions, Node::NodeList(list)) => {
                Command::SetColumnOptions { name, options: self.def_elems(list)? }
            }
            (Type::AT_ResetOptions, Node::NodeList(list)) => {
                Command::ResetColumnOptions { name, options: self.def_elems(list)? }
            }
            (Type::AT_SetStorage, storage) => {
                Command::SetStorage { name, storage: super::string(storage)? }
            }
            (Type::AT_SetCompression, method) => {
                Command::SetCompression { name, method: super::string(method)? }
            }
            (Type::AT_AddIdentity, Node::Constraint(constraint)) => {
                Command::AddIdentity { name, constraint: Box::new(self.constraint(constraint)?) }
            }
            (Type::AT_SetIdentity, Node::NodeList(list)) => {
                Command::SetIdentity { name, options: self.def_elems(list)? }
            }
            (Type::AT_DropIdentity, _) => Command::DropIdentity { name, if_exists: cmd.missing_ok },
            (Type::AT_AlterColumnGenericOptions, _) => {
                return Err(super::unsupported("ALTER COLUMN ... OPTIONS", Location::NONE));
            }
            (_, def) => return Err(unexpected("ALTER COLUMN", def)),
        })
    }

    /// Subcommands about one constraint.
    fn alter_constraint(&mut self, cmd: &nodes::AlterTableCmd) -> Lowered<AlterTableCommand> {
        use AlterTableCommand as Command;
        use nodes::AlterTableType as Type;
        Ok(match (cmd.subtype, cmd.def()) {
            (Type::AT_AddConstraint, Node::Constraint(constraint)) => {
                Command::AddConstraint(Box::new(self.constraint(constraint)?))
            }
            (Type::AT_AlterConstraint, Node::ATAlterConstraint(alter)) => {
                Command::AlterConstraint {
                    name: text(alter.conname()),
                    deferrable: alter.alter_deferrability.then_some(alter.deferrable),
                    initially_deferred: alter.initdeferred,
                    enforced: alter.alter_enforceability.then_some(alter.is_enforced),
                    no_inherit: alter.alter_inheritability.then_some(alter.noinherit),
                }
            }
            (Type::AT_ValidateConstraint, _) => Command::ValidateConstraint(text(cmd.name())),
            (Type::AT_DropConstraint, _) => Command::DropConstraint {
                name: text(cmd.name()),
                behavior: drop_behavior(cmd.behavior),
                if_exists: cmd.missing_ok,
            },
            (_, def) => return Err(unexpected("ALTER CONSTRAINT", def)),
        })
    }

    /// Subcommands about the relation as a whole.
    fn alter_relation(&mut self, cmd: &nodes::AlterTableCmd) -> Lowered<AlterTableCommand> {
        use AlterTableCommand as Command;
        use nodes::AlterTableType as Type;
        Ok(match (cmd.subtype, cmd.def()) {
            (Type::AT_ChangeOwner, def) => match cmd.newowner() {
                Some(owner) => Command::ChangeOwner(role_spec(owner)),
                None => return Err(unexpected("OWNER TO", def)),
            },
            (Type::AT_ClusterOn, _) => Command::ClusterOn(text(cmd.name())),
            (Type::AT_DropCluster, _) => Command::DropCluster,
            (Type::AT_SetLogged, _) => Command::SetLogged(true),
            (Type::AT_SetUnLogged, _) => Command::SetLogged(false),
            (Type::AT_SetAccessMethod, _) => Command::SetAccessMethod(optional(cmd.name())),
            (Type::AT_SetTableSpace, _) => Command::SetTablespace(text(cmd.name())),
            (Type::AT_SetRelOptions, Node::NodeList(list)) => {
                Command::SetOptions(self.def_elems(list)?)
            }
            (Type::AT_ResetRelOptions, Node::NodeList(list)) => {
                Command::ResetOptions(self.def_elems(list)?)
            }
            (Type::AT_AddInherit, Node::RangeVar(parent)) => {
                Command::Inherit(range_var(Some(parent))?)
            }
            (Type::AT_DropInherit, Node::RangeVar(parent)) => {
                Command::NoInherit(range_var(Some(parent))?)
            }
            (Type::AT_AddOf, Node::TypeName(name)) => Command::Of(self.type_name_of(name)?),
            (Type::AT_DropOf, _) => Command::NotOf,
            (Type::AT_ReplicaIdentity, Node::ReplicaIdentityStmt(identity)) => {
                Command::ReplicaIdentity(match identity.identity_type as u8 {
                    b'n' => ReplicaIdentity::Nothing,
                    b'f' => ReplicaIdentity::Full,
                    b'i' => ReplicaIdentity::Index(text(identity.name())),
                    _ => ReplicaIdentity::Default,
                })
            }
            (Type::AT_EnableRowSecurity, _) => Command::RowSecurity(RowSecurity::Enable),
            (Type::AT_DisableRowSecurity, _) => Command::RowSecurity(RowSecurity::Disable),
            (Type::AT_ForceRowSecurity, _) => Command::RowSecurity(RowSecurity::Force),
            (Type::AT_NoForceRowSecurity, _) => Command::RowSecurity(RowSecurity::NoForce),
            (Type::AT_AttachPartition, Node::PartitionCmd(partition)) => Command::AttachPartition {
                partition: range_var(partition.name())?,
                bound: partition.bound().map(|bound| self.partition_bound(bound)).transpose()?,
            },
            (
                Type::AT_DetachPartition | Type::AT_DetachPartitionFinalize,
                Node::PartitionCmd(partition),
            ) => Command::DetachPartition {
                partition: range_var(partition.name())?,
                concurrently: partition.concurrent,
                finalize: cmd.subtype == Type::AT_DetachPartitionFinalize,
            },
            (Type::AT_GenericOptions, Node::NodeList(list)) => {
                Command::Options(self.def_elems(list)?)
            }
            (_, def) => return Err(unexpected("ALTER TABLE", def)),
        })
    }

    fn alter_domain(&mut self, stmt: &nodes::AlterDomainStmt) -> Lowered<AlterDomainStmt> {
        let action = match stmt.subtype as u8 {
            b'T' => AlterDomainAction::Default(self.optional_expr(stmt.def())?),
            b'N' => AlterDomainAction::DropNotNull,
            b'O' => AlterDomainAction::SetNotNull,
            b'C' => match stmt.def() {
                Node::Constraint(constraint) => {
                    AlterDomainAction::AddConstraint(Box::new(self.constraint(constraint)?))
                }
                other => return Err(unexpected("ALTER DOMAIN", other)),
            },
            b'X' => AlterDomainAction::DropConstraint {
                name: text(stmt.name()),
                behavior: drop_behavior(stmt.behavior),
                if_exists: stmt.missing_ok,
            },
            b'V' => AlterDomainAction::ValidateConstraint(text(stmt.name())),
            _ => return Err(refused(SqlState::INTERNAL_ERROR, "unexpected ALTER DOMAIN")),
        };
        Ok(AlterDomainStmt { name: object_name(stmt.type_name())?, action })
    }

    fn rename(&mut self, stmt: &nodes::RenameStmt) -> Lowered<RenameStmt> {
        use nodes::ObjectType as Type;
        let is_part = matches!(
            stmt.rename_type,
            Type::OBJECT_COLUMN
                | Type::OBJECT_ATTRIBUTE
                | Type::OBJECT_TABCONSTRAINT
                | Type::OBJECT_DOMCONSTRAINT
                | Type::OBJECT_TRIGGER
                | Type::OBJECT_RULE
                | Type::OBJECT_POLICY
        );
        // Objects that have neither schema nor parts are named by the sub-name alone.
        let object = match (stmt.relation(), stmt.object()) {
            (None, Node::None) => ObjectRef::Name(ObjectName::from(text(stmt.subname()))),
            (relation, object) => self.relation_or_object(relation, object)?,
        };
        let has_relation = matches!(stmt.rename_type, Type::OBJECT_COLUMN | Type::OBJECT_ATTRIBUTE);
        Ok(RenameStmt {
            kind: object_kind(stmt.rename_type)?,
            object,
            relation_kind: has_relation.then(|| object_kind(stmt.relation_type)).transpose()?,
            part: if is_part { optional(stmt.subname()) } else { None },
            new_name: text(stmt.newname()),
            behavior: drop_behavior(stmt.behavior),
            if_exists: stmt.missing_ok,
        })
    }

    fn relation_or_object(
        &mut self,
        relation: Option<&nodes::RangeVar>,
        object: Node<'_>,
    ) -> Lowered<ObjectRef> {
        match relation {
            Some(relation) => range_var(Some(relation)).map(ObjectRef::Relation),
            None => self.object_ref(object),
        }
    }
}

/// SET STATISTICS; `None` is DEFAULT.
fn statistics_target(target: Node<'_>) -> Option<i32> {
    match target {
        Node::Integer(target) => Some(target.ival),
        _ => None,
    }
}

/// ENABLE and DISABLE TRIGGER, RULE.
fn trigger_command(cmd: &nodes::AlterTableCmd) -> AlterTableCommand {
    use nodes::AlterTableType as Type;
    let rule = cmd.subtype >= Type::AT_EnableRule;
    let which = match cmd.subtype {
        Type::AT_EnableTrigAll | Type::AT_DisableTrigAll => TriggerSet::All,
        Type::AT_EnableTrigUser | Type::AT_DisableTrigUser => TriggerSet::User,
        _ => TriggerSet::Named(text(cmd.name())),
    };
    let firing = match cmd.subtype {
        Type::AT_EnableAlwaysTrig | Type::AT_EnableAlwaysRule => TriggerFiring::Always,
        Type::AT_EnableReplicaTrig | Type::AT_EnableReplicaRule => TriggerFiring::Replica,
        Type::AT_DisableTrig
        | Type::AT_DisableTrigAll
        | Type::AT_DisableTrigUser
        | Type::AT_DisableRule => TriggerFiring::Disabled,
        _ => TriggerFiring::Origin,
    };
    AlterTableCommand::Trigger { rule, which, firing }
}
