//! Sequences, schemas, functions, types, roles, grants, triggers; DROP and COMMENT.

use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::{Node, nodes};

use steppe_types::SqlState;

use super::{
    Lower, Lowered, cast_name, cast_strings, drop_behavior, items, object_name, optional,
    range_var, range_vars, refused, role_spec, role_specs, string, strings, text, unexpected,
    unsupported,
};
use crate::ast::*;

impl Lower {
    /// Statements about objects other than tables; `None` for any other.
    pub(super) fn object_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::DropStmt(stmt) => Statement::Drop(Box::new(DropStmt {
                kind: object_kind(stmt.remove_type)?,
                objects: self.object_refs(stmt.objects())?,
                behavior: drop_behavior(stmt.behavior),
                if_exists: stmt.missing_ok,
                concurrently: stmt.concurrent,
            })),
            Node::CommentStmt(stmt) => Statement::Comment(Box::new(CommentStmt {
                kind: object_kind(stmt.objtype)?,
                object: self.object_ref(stmt.object())?,
                comment: optional(stmt.comment()),
            })),
            Node::TruncateStmt(stmt) => Statement::Truncate(Box::new(TruncateStmt {
                relations: range_vars(stmt.relations())?,
                restart_identity: stmt.restart_seqs,
                behavior: drop_behavior(stmt.behavior),
            })),
            Node::CreateSeqStmt(stmt) => Statement::CreateSequence(Box::new(CreateSequenceStmt {
                relation: range_var(stmt.sequence())?,
                options: self.def_elems(stmt.options())?,
                if_not_exists: stmt.if_not_exists,
            })),
            Node::CreateSchemaStmt(stmt) => Statement::CreateSchema(Box::new(CreateSchemaStmt {
                name: optional(stmt.schemaname()),
                authorization: stmt.authrole().map(role_spec),
                elements: self.statements(stmt.schema_elts())?,
                if_not_exists: stmt.if_not_exists,
            })),
            Node::CreateFunctionStmt(stmt) => {
                Statement::CreateFunction(Box::new(self.create_function(stmt)?))
            }
            Node::CreateTrigStmt(stmt) => {
                Statement::CreateTrigger(Box::new(self.create_trigger(stmt)?))
            }
            Node::CreateStatsStmt(stmt) => {
                Statement::CreateStatistics(Box::new(self.create_statistics(stmt)?))
            }
            Node::RefreshMatViewStmt(stmt) => {
                Statement::RefreshMatView(Box::new(RefreshMatViewStmt {
                    relation: range_var(stmt.relation())?,
                    concurrently: stmt.concurrent,
                    with_no_data: stmt.skip_data,
                }))
            }
            other => match self.type_statement(other)? {
                Some(statement) => statement,
                None => return self.role_statement(other),
            },
        }))
    }

    /// CREATE TYPE, DOMAIN and other definitions.
    fn type_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::CreateEnumStmt(stmt) => Statement::CreateEnum(CreateEnumStmt {
                name: cast_name(stmt.type_name())?,
                labels: cast_strings(stmt.vals())?,
            }),
            Node::CompositeTypeStmt(stmt) => {
                let columns = items(stmt.coldeflist()).map(|column| self.column_def_item(column?));
                let columns = columns.collect::<Lowered<_>>()?;
                let relation = range_var(stmt.typevar())?;
                Statement::CreateComposite(Box::new(CreateCompositeStmt { relation, columns }))
            }
            Node::CreateRangeStmt(stmt) => Statement::CreateRange(Box::new(CreateRangeStmt {
                name: cast_name(stmt.type_name())?,
                options: self.def_elems_of(stmt.params())?,
            })),
            Node::DefineStmt(stmt) => {
                let kind = object_kind(stmt.kind)?;
                let has_arguments = kind == ObjectKind::Aggregate && !stmt.oldstyle;
                Statement::Define(Box::new(DefineStmt {
                    kind,
                    name: cast_name(stmt.defnames())?,
                    arguments: match has_arguments {
                        true => Some(self.aggregate_arguments(stmt.args())?),
                        false => None,
                    },
                    definition: self.def_elems_of(stmt.definition())?,
                    if_not_exists: stmt.if_not_exists,
                    replace: stmt.replace,
                }))
            }
            Node::CreateCastStmt(stmt) => {
                let function = stmt.func().map(|function| self.object_with_args(Some(function)));
                Statement::CreateCast(Box::new(CreateCastStmt {
                    source: self.type_name(stmt.sourcetype())?,
                    target: self.type_name(stmt.targettype())?,
                    function: function.transpose()?,
                    in_out: stmt.inout,
                    context: match stmt.context {
                        nodes::CoercionContext::COERCION_IMPLICIT => CastUse::Implicit,
                        nodes::CoercionContext::COERCION_ASSIGNMENT => CastUse::Assignment,
                        _ => CastUse::Explicit,
                    },
                }))
            }
            Node::CreateDomainStmt(stmt) => {
                let collation = stmt.coll_clause().map(|clause| object_name(clause.collname()));
                let type_name = self.type_name(stmt.type_name())?;
                let constraints = items(stmt.constraints()).map(|item| self.constraint(item?));
                Statement::CreateDomain(Box::new(CreateDomainStmt {
                    name: cast_name(stmt.domainname())?,
                    type_name,
                    collation: collation.transpose()?,
                    constraints: constraints.collect::<Lowered<_>>()?,
                }))
            }
            _ => return Ok(None),
        }))
    }

    /// Roles, privileges, databases, extensions and foreign servers.
    fn role_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::GrantStmt(stmt) => Statement::Grant(Box::new(grant(stmt)?)),
            Node::GrantRoleStmt(stmt) => Statement::GrantRole(Box::new(GrantRoleStmt {
                is_grant: stmt.is_grant,
                roles: privileges(stmt.granted_roles())?,
                grantees: role_specs(stmt.grantee_roles())?,
                options: self.def_elems(stmt.opt())?,
                grantor: stmt.grantor().map(role_spec),
                behavior: drop_behavior(stmt.behavior),
            })),
            Node::CreateRoleStmt(stmt) => Statement::CreateRole(Box::new(CreateRoleStmt {
                kind: match stmt.stmt_type {
                    nodes::RoleStmtType::ROLESTMT_USER => RoleStmtKind::User,
                    nodes::RoleStmtType::ROLESTMT_GROUP => RoleStmtKind::Group,
                    _ => RoleStmtKind::Role,
                },
                name: text(stmt.role()),
                options: self.def_elems_of(stmt.options())?,
            })),
            Node::AlterRoleStmt(stmt) => Statement::AlterRole(Box::new(AlterRoleStmt {
                role: required_role(stmt.role())?,
                options: self.def_elems_of(stmt.options())?,
                drop_members: stmt.action < 0,
            })),
            Node::AlterRoleSetStmt(stmt) => Statement::AlterRoleSet(Box::new(AlterRoleSetStmt {
                role: stmt.role().map(role_spec),
                database: optional(stmt.database()),
                setting: self.required_setting(stmt.setstmt())?,
            })),
            Node::DropRoleStmt(stmt) => Statement::DropRole(DropRoleStmt {
                roles: role_specs(stmt.roles())?,
                if_exists: stmt.missing_ok,
            }),
            Node::DropOwnedStmt(stmt) => Statement::DropOwned(DropOwnedStmt {
                roles: role_specs(stmt.roles())?,
                behavior: drop_behavior(stmt.behavior),
            }),
            Node::ReassignOwnedStmt(stmt) => Statement::ReassignOwned(ReassignOwnedStmt {
                roles: role_specs(stmt.roles())?,
                new_role: required_role(stmt.newrole())?,
            }),
            other => return self.database_statement(other),
        }))
    }

    fn database_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::CreatedbStmt(stmt) => Statement::CreateDatabase(Box::new(CreateDatabaseStmt {
                name: text(stmt.dbname()),
                options: self.def_elems_of(stmt.options())?,
            })),
            Node::DropdbStmt(stmt) => Statement::DropDatabase(Box::new(DropDatabaseStmt {
                name: text(stmt.dbname()),
                if_exists: stmt.missing_ok,
                options: self.def_elems(stmt.options())?,
            })),
            Node::AlterDatabaseStmt(stmt) => {
                Statement::AlterDatabase(Box::new(AlterDatabaseStmt {
                    name: text(stmt.dbname()),
                    options: self.def_elems_of(stmt.options())?,
                }))
            }
            Node::AlterDatabaseSetStmt(stmt) => {
                Statement::AlterRoleSet(Box::new(AlterRoleSetStmt {
                    role: None,
                    database: optional(stmt.dbname()),
                    setting: self.required_setting(stmt.setstmt())?,
                }))
            }
            Node::AlterSystemStmt(stmt) => Statement::AlterSystem(Box::new(AlterSystemStmt {
                setting: self.required_setting(stmt.setstmt())?,
            })),
            Node::CreateExtensionStmt(stmt) => {
                Statement::CreateExtension(Box::new(CreateExtensionStmt {
                    name: text(stmt.extname()),
                    if_not_exists: stmt.if_not_exists,
                    options: self.def_elems_of(stmt.options())?,
                }))
            }
            Node::CreateForeignServerStmt(stmt) => {
                Statement::CreateServer(Box::new(CreateServerStmt {
                    name: text(stmt.servername()),
                    server_type: optional(stmt.servertype()),
                    version: optional(stmt.version()),
                    wrapper: text(stmt.fdwname()),
                    if_not_exists: stmt.if_not_exists,
                    options: self.def_elems(stmt.options())?,
                }))
            }
            Node::CreateUserMappingStmt(stmt) => {
                Statement::UserMapping(Box::new(UserMappingStmt {
                    alter: false,
                    user: required_role(stmt.user())?,
                    server: text(stmt.servername()),
                    if_not_exists: stmt.if_not_exists,
                    options: self.def_elems(stmt.options())?,
                }))
            }
            Node::AlterUserMappingStmt(stmt) => Statement::UserMapping(Box::new(UserMappingStmt {
                alter: true,
                user: required_role(stmt.user())?,
                server: text(stmt.servername()),
                if_not_exists: false,
                options: self.def_elems(stmt.options())?,
            })),
            _ => return Ok(None),
        }))
    }

    fn statements(&mut self, list: &NodeList) -> Lowered<Vec<Statement>> {
        list.iter().map(|node| self.statement(node)).collect()
    }

    fn parameter(&mut self, parameter: &nodes::FunctionParameter) -> Lowered<FunctionParameter> {
        Ok(FunctionParameter {
            name: optional(parameter.name()),
            type_name: self.type_name(parameter.arg_type())?,
            mode: parameter_mode(parameter.mode),
            default: self.optional_expr(parameter.defexpr())?,
            location: Location::from_raw(parameter.location),
        })
    }

    /// The grammar's list of the arguments and of the number before ORDER BY, or -1.
    fn aggregate_arguments(&mut self, list: &NodeList) -> Lowered<AggregateArguments> {
        let parameters = match list.get(0) {
            None | Some(Node::None) => Vec::new(),
            Some(Node::NodeList(parameters)) => {
                let parameter = |node| match node {
                    Node::FunctionParameter(parameter) => self.parameter(parameter),
                    other => Err(unexpected("an aggregate's arguments", other)),
                };
                parameters.iter().map(parameter).collect::<Lowered<_>>()?
            }
            Some(other) => return Err(unexpected("an aggregate's arguments", other)),
        };
        let direct = match list.get(1) {
            Some(Node::Integer(number)) => usize::try_from(number.ival).ok(),
            _ => None,
        };
        Ok(AggregateArguments { parameters, direct })
    }

    fn create_function(&mut self, stmt: &nodes::CreateFunctionStmt) -> Lowered<CreateFunctionStmt> {
        let mut parameters = Vec::with_capacity(stmt.parameters().len());
        for parameter in items(stmt.parameters()) {
            parameters.push(self.parameter(parameter?)?);
        }
        let (options, settings) = self.function_options(stmt.options())?;
        let sql_body = match stmt.sql_body() {
            Node::None => None,
            Node::ReturnStmt(stmt) => Some(SqlBody::Return(self.expr(stmt.returnval())?)),
            // BEGIN ATOMIC is a list of one list of statements.
            Node::NodeList(list) => match list.first() {
                Some(Node::NodeList(body)) => Some(SqlBody::Atomic(self.statements(body)?)),
                Some(Node::None) | None => Some(SqlBody::Atomic(Vec::new())),
                Some(other) => return Err(unexpected("a function body", other)),
            },
            other => return Err(unexpected("a function body", other)),
        };
        Ok(CreateFunctionStmt {
            is_procedure: stmt.is_procedure,
            replace: stmt.replace,
            name: object_name(stmt.funcname())?,
            parameters,
            return_type: stmt.return_type().map(|name| self.type_name_of(name)).transpose()?,
            options,
            settings,
            sql_body,
        })
    }

    /// Splits a function's attributes from its SET clauses.
    pub(super) fn function_options(
        &mut self,
        list: &CastNodeList<nodes::DefElem>,
    ) -> Lowered<(Vec<DefElem>, Vec<SetStmt>)> {
        let (mut options, mut settings) = (Vec::new(), Vec::new());
        for elem in items(list) {
            let elem = elem?;
            match elem.arg() {
                Node::VariableSetStmt(stmt) => settings.push(self.set(stmt)?),
                _ => options.push(self.def_elem(elem)?),
            }
        }
        Ok((options, settings))
    }

    fn create_trigger(&mut self, stmt: &nodes::CreateTrigStmt) -> Lowered<CreateTriggerStmt> {
        // TRIGGER_TYPE_* of catalog/pg_trigger.h.
        let event = |bit: i16| stmt.events & bit != 0;
        let mut transitions = Vec::with_capacity(stmt.transition_rels().len());
        for node in stmt.transition_rels() {
            let Node::TriggerTransition(transition) = node else {
                return Err(unexpected("REFERENCING", node));
            };
            transitions.push(TriggerTransition {
                is_new: transition.is_new,
                is_table: transition.is_table,
                name: text(transition.name()),
            });
        }
        let constraint_relation = match stmt.constrrel() {
            None => None,
            relation => Some(range_var(relation)?),
        };
        Ok(CreateTriggerStmt {
            replace: stmt.replace,
            is_constraint: stmt.isconstraint,
            name: text(stmt.trigname()),
            relation: range_var(stmt.relation())?,
            function: object_name(stmt.funcname())?,
            args: cast_strings(stmt.args())?,
            for_each_row: stmt.row,
            timing: match stmt.timing {
                2 => TriggerTiming::Before,
                64 => TriggerTiming::InsteadOf,
                _ => TriggerTiming::After,
            },
            events: TriggerEvents {
                insert: event(4),
                delete: event(8),
                update: event(16),
                truncate: event(32),
            },
            columns: strings(stmt.columns())?,
            when: self.optional_expr(stmt.when_clause())?,
            transitions,
            constraint_relation,
            deferrable: stmt.deferrable,
            initially_deferred: stmt.initdeferred,
        })
    }

    fn create_statistics(
        &mut self,
        stmt: &nodes::CreateStatsStmt,
    ) -> Lowered<CreateStatisticsStmt> {
        let mut elements = Vec::with_capacity(stmt.exprs().len());
        for node in stmt.exprs() {
            let Node::StatsElem(elem) = node else {
                return Err(unexpected("CREATE STATISTICS", node));
            };
            elements.push(self.index_key(elem.name(), elem.expr())?);
        }
        let name = cast_name(stmt.defnames())?;
        let relations = items(stmt.relations()).map(|relation| match relation {
            Ok(relation) => range_var(Some(relation)),
            Err(_) => Err(refused(
                SqlState::FEATURE_NOT_SUPPORTED,
                "CREATE STATISTICS only supports relation names in the FROM clause",
            )),
        });
        Ok(CreateStatisticsStmt {
            name: (!name.0.is_empty()).then_some(name),
            kinds: cast_strings(stmt.stat_types())?,
            elements,
            relations: relations.collect::<Lowered<_>>()?,
            if_not_exists: stmt.if_not_exists,
        })
    }

    fn object_refs(&mut self, list: &NodeList) -> Lowered<Vec<ObjectRef>> {
        list.iter().map(|node| self.object_ref(node)).collect()
    }

    /// An object in the several shapes that the grammar names one.
    pub(super) fn object_ref(&mut self, node: Node<'_>) -> Lowered<ObjectRef> {
        Ok(match node {
            Node::String(name) => ObjectRef::Name(ObjectName::from(text(name.sval()))),
            Node::TypeName(name) => ObjectRef::Type(self.type_name_of(name)?),
            Node::RangeVar(relation) => ObjectRef::Relation(range_var(Some(relation))?),
            Node::ObjectWithArgs(object) => {
                ObjectRef::Function(self.object_with_args(Some(object))?)
            }
            Node::Integer(number) => ObjectRef::LargeObject(number.ival.to_string()),
            Node::Float(number) => ObjectRef::LargeObject(text(number.fval())),
            Node::NodeList(list) => match (list.get(0), list.get(1)) {
                (Some(Node::TypeName(source)), Some(Node::TypeName(target))) => {
                    ObjectRef::Cast(self.type_name_of(source)?, self.type_name_of(target)?)
                }
                (Some(Node::TypeName(domain)), Some(name)) => {
                    ObjectRef::DomainConstraint(self.type_name_of(domain)?, string(name)?)
                }
                _ => ObjectRef::Name(object_name(list)?),
            },
            other => return Err(unexpected("an object's name", other)),
        })
    }

    /// A function with its argument types.
    pub(super) fn object_with_args(
        &mut self,
        object: Option<&nodes::ObjectWithArgs>,
    ) -> Lowered<ObjectWithArgs> {
        let Some(object) = object else { return Err(unexpected("a function", Node::None)) };
        let args = object.objargs().iter().map(|node| match node {
            Node::None => Ok(None),
            Node::TypeName(name) => self.type_name_of(name).map(Some),
            other => Err(unexpected("argument types", other)),
        });
        let args = args.collect::<Lowered<_>>()?;
        let (mut all_args, mut has_modes) = (Vec::new(), false);
        for parameter in items(object.objfuncargs()) {
            let parameter = parameter?;
            has_modes |= parameter.mode != nodes::FunctionParameterMode::FUNC_PARAM_DEFAULT;
            all_args.push(self.type_name(parameter.arg_type())?);
        }
        Ok(ObjectWithArgs {
            name: object_name(object.objname())?,
            args,
            all_args: (!has_modes && !all_args.is_empty()).then_some(all_args),
            args_unspecified: object.args_unspecified,
        })
    }

    fn required_setting(&mut self, stmt: Option<&nodes::VariableSetStmt>) -> Lowered<SetStmt> {
        match stmt {
            Some(stmt) => self.set(stmt),
            None => Err(unexpected("SET", Node::None)),
        }
    }
}

fn required_role(role: Option<&nodes::RoleSpec>) -> Lowered<RoleSpec> {
    role.map(role_spec).ok_or_else(|| unexpected("a role", Node::None))
}

fn parameter_mode(mode: nodes::FunctionParameterMode::Type) -> ParameterMode {
    use nodes::FunctionParameterMode as Mode;
    match mode {
        Mode::FUNC_PARAM_OUT => ParameterMode::Out,
        Mode::FUNC_PARAM_INOUT => ParameterMode::InOut,
        Mode::FUNC_PARAM_VARIADIC => ParameterMode::Variadic,
        Mode::FUNC_PARAM_TABLE => ParameterMode::Table,
        _ => ParameterMode::In,
    }
}

/// GRANT on objects. The parser's binding types the object list as relations, so
/// that only relations can be read from it.
fn grant(stmt: &nodes::GrantStmt) -> Lowered<GrantStmt> {
    use nodes::{GrantTargetType as Target, ObjectType as Type};
    let kind = object_kind(stmt.objtype)?;
    let verb = if stmt.is_grant { "GRANT" } else { "REVOKE" };
    if stmt.targtype != Target::ACL_TARGET_OBJECT {
        return Err(unsupported(format!("{verb} ON ALL IN SCHEMA"), Location::NONE));
    }
    if !matches!(stmt.objtype, Type::OBJECT_TABLE | Type::OBJECT_SEQUENCE) {
        return Err(unsupported(format!("{verb} ON {}", kind.as_str()), Location::NONE));
    }
    let objects =
        items(stmt.objects()).map(|object| range_var(Some(object?)).map(ObjectRef::Relation));
    Ok(GrantStmt {
        is_grant: stmt.is_grant,
        privileges: items(stmt.privileges())
            .map(|item| privilege(item?))
            .collect::<Lowered<_>>()?,
        kind,
        all_in_schema: false,
        objects: objects.collect::<Lowered<_>>()?,
        grantees: items(stmt.grantees()).map(|role| role.map(role_spec)).collect::<Lowered<_>>()?,
        grant_option: stmt.grant_option,
        grantor: stmt.grantor().map(role_spec),
        behavior: drop_behavior(stmt.behavior),
    })
}

fn privilege(privilege: &nodes::AccessPriv) -> Lowered<Privilege> {
    let columns = cast_strings(privilege.cols())?;
    Ok(Privilege { name: optional(privilege.priv_name()), columns })
}

fn privileges(list: &NodeList) -> Lowered<Vec<Privilege>> {
    list.iter()
        .map(|node| match node {
            Node::AccessPriv(item) => privilege(item),
            other => Err(unexpected("a list of privileges", other)),
        })
        .collect()
}

/// The kind of an object.
pub(super) fn object_kind(kind: nodes::ObjectType::Type) -> Lowered<ObjectKind> {
    use nodes::ObjectType as Type;
    Ok(match kind {
        Type::OBJECT_ACCESS_METHOD => ObjectKind::AccessMethod,
        Type::OBJECT_AGGREGATE => ObjectKind::Aggregate,
        Type::OBJECT_ATTRIBUTE => ObjectKind::Attribute,
        Type::OBJECT_CAST => ObjectKind::Cast,
        Type::OBJECT_COLUMN => ObjectKind::Column,
        Type::OBJECT_COLLATION => ObjectKind::Collation,
        Type::OBJECT_CONVERSION => ObjectKind::Conversion,
        Type::OBJECT_DATABASE => ObjectKind::Database,
        Type::OBJECT_DOMAIN => ObjectKind::Domain,
        Type::OBJECT_DOMCONSTRAINT => ObjectKind::DomainConstraint,
        Type::OBJECT_EVENT_TRIGGER => ObjectKind::EventTrigger,
        Type::OBJECT_EXTENSION => ObjectKind::Extension,
        Type::OBJECT_FDW => ObjectKind::ForeignDataWrapper,
        Type::OBJECT_FOREIGN_SERVER => ObjectKind::ForeignServer,
        Type::OBJECT_FOREIGN_TABLE => ObjectKind::ForeignTable,
        Type::OBJECT_FUNCTION => ObjectKind::Function,
        Type::OBJECT_INDEX => ObjectKind::Index,
        Type::OBJECT_LANGUAGE => ObjectKind::Language,
        Type::OBJECT_LARGEOBJECT => ObjectKind::LargeObject,
        Type::OBJECT_MATVIEW => ObjectKind::MaterializedView,
        Type::OBJECT_OPCLASS => ObjectKind::OperatorClass,
        Type::OBJECT_OPERATOR => ObjectKind::Operator,
        Type::OBJECT_OPFAMILY => ObjectKind::OperatorFamily,
        Type::OBJECT_PARAMETER_ACL => ObjectKind::Parameter,
        Type::OBJECT_POLICY => ObjectKind::Policy,
        Type::OBJECT_PROCEDURE => ObjectKind::Procedure,
        Type::OBJECT_PUBLICATION => ObjectKind::Publication,
        Type::OBJECT_ROLE => ObjectKind::Role,
        Type::OBJECT_ROUTINE => ObjectKind::Routine,
        Type::OBJECT_RULE => ObjectKind::Rule,
        Type::OBJECT_SCHEMA => ObjectKind::Schema,
        Type::OBJECT_SEQUENCE => ObjectKind::Sequence,
        Type::OBJECT_SUBSCRIPTION => ObjectKind::Subscription,
        Type::OBJECT_STATISTIC_EXT => ObjectKind::Statistics,
        Type::OBJECT_TABCONSTRAINT => ObjectKind::TableConstraint,
        Type::OBJECT_TABLE => ObjectKind::Table,
        Type::OBJECT_TABLESPACE => ObjectKind::Tablespace,
        Type::OBJECT_TRANSFORM => ObjectKind::Transform,
        Type::OBJECT_TRIGGER => ObjectKind::Trigger,
        Type::OBJECT_TSCONFIGURATION => ObjectKind::TextSearchConfiguration,
        Type::OBJECT_TSDICTIONARY => ObjectKind::TextSearchDictionary,
        Type::OBJECT_TSPARSER => ObjectKind::TextSearchParser,
        Type::OBJECT_TSTEMPLATE => ObjectKind::TextSearchTemplate,
        Type::OBJECT_TYPE => ObjectKind::Type,
        Type::OBJECT_VIEW => ObjectKind::View,
        _ => return Err(unexpected("an object's kind", Node::None)),
    })
}
