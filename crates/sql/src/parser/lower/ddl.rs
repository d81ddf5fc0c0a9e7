//! CREATE TABLE, CREATE INDEX, CREATE VIEW and their parts.

use pg_raw_parse::list::NodeList;
use pg_raw_parse::{Node, nodes, raw};
use steppe_types::SqlState;

use super::query::{nulls_order, sort_direction};
use super::{
    Failure, Lower, Lowered, items, object_name, optional, optional_name, range_var, range_vars,
    refused, strings, text, unexpected,
};
use crate::ast::*;

impl Lower {
    /// CREATE TABLE and its relatives; `None` for any other statement.
    pub(super) fn ddl_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::CreateStmt(stmt) => Statement::CreateTable(Box::new(self.create_table(stmt)?)),
            Node::CreateTableAsStmt(stmt) => {
                Statement::CreateTableAs(Box::new(self.create_table_as(stmt)?))
            }
            Node::IndexStmt(stmt) => Statement::CreateIndex(Box::new(self.create_index(stmt)?)),
            Node::ViewStmt(stmt) => Statement::CreateView(Box::new(self.create_view(stmt)?)),
            _ => return Ok(None),
        }))
    }

    fn create_table(&mut self, stmt: &nodes::CreateStmt) -> Lowered<CreateTableStmt> {
        let mut elements = Vec::with_capacity(stmt.table_elts().len());
        for node in stmt.table_elts() {
            elements.push(self.table_element(node)?);
        }
        Ok(CreateTableStmt {
            relation: range_var(stmt.relation())?,
            if_not_exists: stmt.if_not_exists,
            elements,
            inherits: range_vars(stmt.inh_relations())?,
            partition_bound: stmt
                .partbound()
                .map(|bound| self.partition_bound(bound))
                .transpose()?,
            partition_by: stmt.partspec().map(|spec| self.partition_spec(spec)).transpose()?,
            of_type: stmt.of_typename().map(|name| self.type_name_of(name)).transpose()?,
            options: self.def_elems(stmt.options())?,
            on_commit: on_commit(stmt.oncommit),
            tablespace: optional(stmt.tablespacename()),
            access_method: optional(stmt.access_method()),
            distribution: None,
        })
    }

    fn table_element(&mut self, node: Node<'_>) -> Lowered<TableElement> {
        Ok(match node {
            Node::ColumnDef(column) => TableElement::Column(Box::new(self.column_def(column)?)),
            Node::Constraint(constraint) => {
                TableElement::Constraint(Box::new(self.constraint(constraint)?))
            }
            Node::TableLikeClause(like) => TableElement::Like(LikeClause {
                relation: range_var(like.relation())?,
                including: like_options(like.options),
            }),
            other => return Err(unexpected("CREATE TABLE", other)),
        })
    }

    /// A column definition.
    pub(super) fn column_def(&mut self, column: &nodes::ColumnDef) -> Lowered<ColumnDef> {
        Ok(ColumnDef {
            name: text(column.colname()),
            type_name: column.type_name().map(|name| self.type_name_of(name)).transpose()?,
            collation: column.coll_clause().map(collate_clause).transpose()?,
            compression: optional(column.compression()),
            storage: optional(column.storage_name()),
            constraints: self.column_constraints(column.constraints())?,
            options: self.def_elems(column.fdwoptions())?,
            location: Location::from_raw(column.location),
        })
    }

    /// A column's constraints. DEFERRABLE and its like arrive as constraints of
    /// their own and belong to the one before (transformConstraintAttrs).
    fn column_constraints(&mut self, list: &NodeList) -> Lowered<Vec<Constraint>> {
        let mut constraints: Vec<Constraint> = Vec::with_capacity(list.len());
        let mut seen = SeenAttributes::default();
        for node in list {
            let Node::Constraint(constraint) = node else {
                return Err(unexpected("a column constraint", node));
            };
            if is_attribute(constraint.contype) {
                seen.apply(constraint.contype, constraints.last_mut())?;
            } else {
                seen = SeenAttributes::default();
                constraints.push(self.constraint(constraint)?);
            }
        }
        Ok(constraints)
    }

    /// A constraint.
    pub(super) fn constraint(&mut self, constraint: &nodes::Constraint) -> Lowered<Constraint> {
        use nodes::ConstrType as Type;
        let enforceable = matches!(constraint.contype, Type::CONSTR_CHECK | Type::CONSTR_FOREIGN);
        Ok(Constraint {
            name: optional(constraint.conname()),
            kind: self.constraint_kind(constraint)?,
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initdeferred,
            not_valid: constraint.skip_validation,
            enforced: !enforceable || constraint.is_enforced,
            no_inherit: constraint.is_no_inherit,
            location: Location::from_raw(constraint.location),
        })
    }

    fn constraint_kind(&mut self, constraint: &nodes::Constraint) -> Lowered<ConstraintKind> {
        use nodes::ConstrType as Type;
        Ok(match constraint.contype {
            Type::CONSTR_NULL => ConstraintKind::Null,
            Type::CONSTR_NOTNULL => {
                ConstraintKind::NotNull { column: strings(constraint.keys())?.pop() }
            }
            Type::CONSTR_DEFAULT => ConstraintKind::Default(self.expr(constraint.raw_expr())?),
            Type::CONSTR_IDENTITY => ConstraintKind::Identity {
                always: constraint.generated_when as u8 == b'a',
                options: self.def_elems(constraint.options())?,
            },
            Type::CONSTR_GENERATED => ConstraintKind::Generated {
                expr: self.expr(constraint.raw_expr())?,
                stored: constraint.generated_kind as u8 == b's',
            },
            Type::CONSTR_CHECK => ConstraintKind::Check(self.expr(constraint.raw_expr())?),
            Type::CONSTR_PRIMARY => ConstraintKind::PrimaryKey(self.index_constraint(constraint)?),
            Type::CONSTR_UNIQUE => ConstraintKind::Unique {
                index: self.index_constraint(constraint)?,
                nulls_not_distinct: constraint.nulls_not_distinct,
            },
            Type::CONSTR_EXCLUSION => {
                ConstraintKind::Exclude(Box::new(self.exclude_constraint(constraint)?))
            }
            Type::CONSTR_FOREIGN => ConstraintKind::ForeignKey(Box::new(foreign_key(constraint)?)),
            // DEFERRABLE, ENFORCED: a domain's stand beside the constraint.
            _ => {
                let location = Location::from_raw(constraint.location);
                return Err(Failure::Unsupported("attributes of constraints".into(), location));
            }
        })
    }

    fn index_constraint(&mut self, constraint: &nodes::Constraint) -> Lowered<IndexConstraint> {
        Ok(IndexConstraint {
            columns: strings(constraint.keys())?,
            include: strings(constraint.including())?,
            without_overlaps: constraint.without_overlaps,
            options: self.def_elems(constraint.options())?,
            using_index: optional(constraint.indexname()),
            tablespace: optional(constraint.indexspace()),
        })
    }

    /// The elements are pairs (index element, operator).
    fn exclude_constraint(&mut self, constraint: &nodes::Constraint) -> Lowered<ExcludeConstraint> {
        let mut elements = Vec::with_capacity(constraint.exclusions().len());
        for item in constraint.exclusions() {
            let pair = item.as_node_list();
            let (Some(Node::IndexElem(elem)), Some(Node::NodeList(op))) =
                (pair.and_then(|pair| pair.get(0)), pair.and_then(|pair| pair.get(1)))
            else {
                return Err(unexpected("EXCLUDE", item));
            };
            elements.push((self.index_elem(elem)?, object_name(op)?));
        }
        Ok(ExcludeConstraint {
            elements,
            include: strings(constraint.including())?,
            access_method: optional(constraint.access_method()),
            options: self.def_elems(constraint.options())?,
            tablespace: optional(constraint.indexspace()),
            where_clause: self.optional_expr(constraint.where_clause())?,
        })
    }

    fn partition_spec(&mut self, spec: &nodes::PartitionSpec) -> Lowered<PartitionSpec> {
        use nodes::PartitionStrategy as Strategy;
        let mut elements = Vec::with_capacity(spec.part_params().len());
        for elem in items(spec.part_params()) {
            let elem = elem?;
            elements.push(PartitionElem {
                key: self.index_key(elem.name(), elem.expr())?,
                collation: optional_name(elem.collation())?,
                opclass: optional_name(elem.opclass())?,
                location: Location::from_raw(elem.location),
            });
        }
        Ok(PartitionSpec {
            strategy: match spec.strategy {
                Strategy::PARTITION_STRATEGY_LIST => PartitionStrategy::List,
                Strategy::PARTITION_STRATEGY_RANGE => PartitionStrategy::Range,
                _ => PartitionStrategy::Hash,
            },
            elements,
            location: Location::from_raw(spec.location),
        })
    }

    /// FOR VALUES, DEFAULT.
    pub(super) fn partition_bound(
        &mut self,
        bound: &nodes::PartitionBoundSpec,
    ) -> Lowered<PartitionBound> {
        let spec = if bound.is_default {
            PartitionBoundSpec::Default
        } else {
            match bound.strategy as u8 {
                b'h' => {
                    PartitionBoundSpec::Hash { modulus: bound.modulus, remainder: bound.remainder }
                }
                b'l' => PartitionBoundSpec::List(self.exprs(bound.listdatums())?),
                _ => PartitionBoundSpec::Range {
                    from: self.exprs(bound.lowerdatums())?,
                    to: self.exprs(bound.upperdatums())?,
                },
            }
        };
        Ok(PartitionBound { spec, location: Location::from_raw(bound.location) })
    }

    fn create_table_as(&mut self, stmt: &nodes::CreateTableAsStmt) -> Lowered<CreateTableAsStmt> {
        let Some(into) = stmt.into() else {
            return Err(unexpected("CREATE TABLE AS", Node::None));
        };
        Ok(CreateTableAsStmt {
            into: self.select_into(into)?,
            query: Box::new(self.statement(stmt.query())?),
            with_no_data: into.skip_data,
            if_not_exists: stmt.if_not_exists,
            materialized_view: stmt.objtype == nodes::ObjectType::OBJECT_MATVIEW,
        })
    }

    fn create_index(&mut self, stmt: &nodes::IndexStmt) -> Lowered<CreateIndexStmt> {
        let elements = items(stmt.index_params()).map(|elem| self.index_elem(elem?));
        let elements = elements.collect::<Lowered<_>>()?;
        Ok(CreateIndexStmt {
            name: optional(stmt.idxname()),
            relation: range_var(stmt.relation())?,
            access_method: stmt.access_method().unwrap_or("btree").to_owned(),
            elements,
            include: self.index_elems(stmt.index_including_params())?,
            unique: stmt.unique,
            nulls_not_distinct: stmt.nulls_not_distinct,
            concurrently: stmt.concurrent,
            if_not_exists: stmt.if_not_exists,
            options: self.def_elems_of(stmt.options())?,
            tablespace: optional(stmt.table_space()),
            where_clause: self.optional_expr(stmt.where_clause())?,
        })
    }

    /// A list of index elements.
    pub(super) fn index_elems(&mut self, list: &NodeList) -> Lowered<Vec<IndexElem>> {
        list.iter()
            .map(|node| match node {
                Node::IndexElem(elem) => self.index_elem(elem),
                other => Err(unexpected("an index", other)),
            })
            .collect()
    }

    fn index_elem(&mut self, elem: &nodes::IndexElem) -> Lowered<IndexElem> {
        Ok(IndexElem {
            key: self.index_key(elem.name(), elem.expr())?,
            collation: optional_name(elem.collation())?,
            opclass: optional_name(elem.opclass())?,
            opclass_options: self.def_elems(elem.opclassopts())?,
            direction: sort_direction(elem.ordering),
            nulls: nulls_order(elem.nulls_ordering),
        })
    }

    /// A column by name, or an expression.
    pub(super) fn index_key(&mut self, name: Option<&str>, expr: Node<'_>) -> Lowered<IndexKey> {
        Ok(match name {
            Some(name) => IndexKey::Column(name.to_owned()),
            None => IndexKey::Expr(self.expr(expr)?),
        })
    }

    fn create_view(&mut self, stmt: &nodes::ViewStmt) -> Lowered<CreateViewStmt> {
        use nodes::ViewCheckOption as Check;
        Ok(CreateViewStmt {
            relation: range_var(stmt.view())?,
            columns: strings(stmt.aliases())?,
            query: self.subquery(stmt.query())?,
            replace: stmt.replace,
            options: self.def_elems(stmt.options())?,
            check_option: match stmt.with_check_option {
                Check::LOCAL_CHECK_OPTION => ViewCheckOption::Local,
                Check::CASCADED_CHECK_OPTION => ViewCheckOption::Cascaded,
                _ => ViewCheckOption::None,
            },
        })
    }
}

/// ON COMMIT.
pub(super) fn on_commit(action: nodes::OnCommitAction::Type) -> OnCommit {
    use nodes::OnCommitAction as Action;
    match action {
        Action::ONCOMMIT_PRESERVE_ROWS => OnCommit::PreserveRows,
        Action::ONCOMMIT_DELETE_ROWS => OnCommit::DeleteRows,
        Action::ONCOMMIT_DROP => OnCommit::Drop,
        _ => OnCommit::Noop,
    }
}

fn like_options(bits: u32) -> LikeOptions {
    use raw::TableLikeOption as Bit;
    let has = |bit| bits & bit != 0;
    LikeOptions {
        comments: has(Bit::CREATE_TABLE_LIKE_COMMENTS),
        compression: has(Bit::CREATE_TABLE_LIKE_COMPRESSION),
        constraints: has(Bit::CREATE_TABLE_LIKE_CONSTRAINTS),
        defaults: has(Bit::CREATE_TABLE_LIKE_DEFAULTS),
        generated: has(Bit::CREATE_TABLE_LIKE_GENERATED),
        identity: has(Bit::CREATE_TABLE_LIKE_IDENTITY),
        indexes: has(Bit::CREATE_TABLE_LIKE_INDEXES),
        statistics: has(Bit::CREATE_TABLE_LIKE_STATISTICS),
        storage: has(Bit::CREATE_TABLE_LIKE_STORAGE),
    }
}

fn foreign_key(constraint: &nodes::Constraint) -> Lowered<ForeignKey> {
    Ok(ForeignKey {
        columns: strings(constraint.fk_attrs())?,
        with_period: constraint.fk_with_period,
        references: range_var(constraint.pktable())?,
        referenced_columns: strings(constraint.pk_attrs())?,
        match_type: match constraint.fk_matchtype as u8 {
            b'f' => MatchType::Full,
            b'p' => MatchType::Partial,
            _ => MatchType::Simple,
        },
        on_update: referential_action(constraint.fk_upd_action as u8),
        on_delete: referential_action(constraint.fk_del_action as u8),
        on_delete_columns: strings(constraint.fk_del_set_cols())?,
    })
}

fn referential_action(code: u8) -> ReferentialAction {
    match code {
        b'r' => ReferentialAction::Restrict,
        b'c' => ReferentialAction::Cascade,
        b'n' => ReferentialAction::SetNull,
        b'd' => ReferentialAction::SetDefault,
        _ => ReferentialAction::NoAction,
    }
}

/// Whether a "constraint" is an attribute of the one before it.
fn is_attribute(contype: nodes::ConstrType::Type) -> bool {
    contype >= nodes::ConstrType::CONSTR_ATTR_DEFERRABLE
}

/// The attributes that a column constraint has been given so far.
#[derive(Default)]
struct SeenAttributes {
    deferrability: bool,
    timing: bool,
    enforcement: bool,
}

impl SeenAttributes {
    /// Gives the attribute to the constraint, or refuses as PostgreSQL does.
    fn apply(
        &mut self,
        attribute: nodes::ConstrType::Type,
        constraint: Option<&mut Constraint>,
    ) -> Lowered<()> {
        use nodes::ConstrType as Type;
        let (word, group, seen) = match attribute {
            Type::CONSTR_ATTR_DEFERRABLE => {
                ("DEFERRABLE", "DEFERRABLE/NOT DEFERRABLE", &mut self.deferrability)
            }
            Type::CONSTR_ATTR_NOT_DEFERRABLE => {
                ("NOT DEFERRABLE", "DEFERRABLE/NOT DEFERRABLE", &mut self.deferrability)
            }
            Type::CONSTR_ATTR_DEFERRED => {
                ("INITIALLY DEFERRED", "INITIALLY IMMEDIATE/DEFERRED", &mut self.timing)
            }
            Type::CONSTR_ATTR_IMMEDIATE => {
                ("INITIALLY IMMEDIATE", "INITIALLY IMMEDIATE/DEFERRED", &mut self.timing)
            }
            Type::CONSTR_ATTR_ENFORCED => {
                ("ENFORCED", "ENFORCED/NOT ENFORCED", &mut self.enforcement)
            }
            _ => ("NOT ENFORCED", "ENFORCED/NOT ENFORCED", &mut self.enforcement),
        };
        let constraint = constraint.filter(|constraint| takes(&constraint.kind, attribute));
        let Some(constraint) = constraint else {
            return Err(refused(SqlState::SYNTAX_ERROR, format!("misplaced {word} clause")));
        };
        if std::mem::replace(seen, true) {
            let message = format!("multiple {group} clauses not allowed");
            return Err(refused(SqlState::SYNTAX_ERROR, message));
        }
        match attribute {
            Type::CONSTR_ATTR_DEFERRABLE => constraint.deferrable = true,
            Type::CONSTR_ATTR_NOT_DEFERRABLE => constraint.deferrable = false,
            Type::CONSTR_ATTR_DEFERRED => {
                constraint.initially_deferred = true;
                // INITIALLY DEFERRED alone implies DEFERRABLE.
                constraint.deferrable |= !self.deferrability;
            }
            Type::CONSTR_ATTR_NOT_ENFORCED => {
                constraint.enforced = false;
                constraint.not_valid = true;
            }
            _ => {}
        }
        if constraint.initially_deferred && !constraint.deferrable {
            return Err(refused(
                SqlState::SYNTAX_ERROR,
                "constraint declared INITIALLY DEFERRED must be DEFERRABLE",
            ));
        }
        Ok(())
    }
}

/// Whether a kind of constraint takes an attribute.
fn takes(kind: &ConstraintKind, attribute: nodes::ConstrType::Type) -> bool {
    if attribute >= nodes::ConstrType::CONSTR_ATTR_ENFORCED {
        return matches!(kind, ConstraintKind::Check(_) | ConstraintKind::ForeignKey(_));
    }
    matches!(
        kind,
        ConstraintKind::PrimaryKey(_)
            | ConstraintKind::Unique { .. }
            | ConstraintKind::Exclude(_)
            | ConstraintKind::ForeignKey(_)
    )
}

/// COLLATE of a column.
pub(super) fn collate_clause(clause: &nodes::CollateClause) -> Lowered<CollateClause> {
    let location = Location::from_raw(clause.location);
    Ok(CollateClause { name: object_name(clause.collname())?, location })
}
