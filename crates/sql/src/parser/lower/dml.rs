//! INSERT, UPDATE, DELETE, MERGE, COPY, CALL, and option lists.

use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::{Node, nodes};

use super::{
    Failure, Lower, Lowered, items, optional, range_var, role_spec, strings, text, unexpected,
};
use crate::ast::*;
use steppe_types::{Error, SqlState};

impl Lower {
    pub(super) fn insert(&mut self, stmt: &nodes::InsertStmt) -> Lowered<InsertStmt> {
        let with = self.with(stmt.with_clause())?;
        let source = match stmt.select_stmt() {
            Node::None => None,
            query => Some(self.subquery(query)?),
        };
        Ok(InsertStmt {
            with,
            relation: range_var(stmt.relation())?,
            columns: self.insert_columns(stmt.cols())?,
            overriding: overriding(stmt.override_),
            source,
            on_conflict: stmt
                .on_conflict_clause()
                .map(|clause| self.on_conflict(clause))
                .transpose()?,
            returning: self.returning(stmt.returning_clause())?,
        })
    }

    fn insert_columns(&mut self, list: &NodeList) -> Lowered<Vec<InsertColumn>> {
        list.iter()
            .map(|node| match node {
                Node::ResTarget(target) => Ok(InsertColumn {
                    name: text(target.name()),
                    indirection: self.indirection(target.indirection())?,
                    location: Location::from_raw(target.location),
                }),
                other => Err(unexpected("a column list", other)),
            })
            .collect()
    }

    fn on_conflict(&mut self, clause: &nodes::OnConflictClause) -> Lowered<OnConflict> {
        let target = clause.infer().map(|infer| self.conflict_target(infer)).transpose()?;
        let action = if clause.action == nodes::OnConflictAction::ONCONFLICT_UPDATE {
            ConflictAction::Update {
                set: self.set_clauses(items(clause.target_list()))?,
                where_clause: self.optional_expr(clause.where_clause())?,
            }
        } else {
            ConflictAction::Nothing
        };
        Ok(OnConflict { target, action, location: Location::from_raw(clause.location) })
    }

    fn conflict_target(&mut self, infer: &nodes::InferClause) -> Lowered<ConflictTarget> {
        let location = Location::from_raw(infer.location);
        Ok(match infer.conname() {
            Some(name) => ConflictTarget::Constraint { name: name.to_owned(), location },
            None => ConflictTarget::Index {
                elements: self.index_elems(infer.index_elems())?,
                where_clause: self.optional_expr(infer.where_clause())?,
                location,
            },
        })
    }

    fn returning(&mut self, clause: Option<&nodes::ReturningClause>) -> Lowered<Option<Returning>> {
        let Some(clause) = clause else { return Ok(None) };
        let (mut old_alias, mut new_alias) = (None, None);
        for option in items(clause.options()) {
            let option = option?;
            let (alias, word) = match option.option {
                nodes::ReturningOptionKind::RETURNING_OPTION_OLD => (&mut old_alias, "OLD"),
                _ => (&mut new_alias, "NEW"),
            };
            let location = Location::from_raw(option.location);
            let given = ReturningAlias { name: text(option.value()), location };
            if alias.replace(given).is_some() {
                let message = format!("{word} cannot be specified multiple times");
                let error = Error::new(SqlState::SYNTAX_ERROR, message);
                return Err(Failure::Refused(error, location));
            }
        }
        let targets = clause.exprs().iter().map(|node| match node {
            Node::ResTarget(target) => self.target(target),
            other => Err(unexpected("RETURNING", other)),
        });
        Ok(Some(Returning { old_alias, new_alias, targets: targets.collect::<Lowered<_>>()? }))
    }

    pub(super) fn update(&mut self, stmt: &nodes::UpdateStmt) -> Lowered<UpdateStmt> {
        Ok(UpdateStmt {
            with: self.with(stmt.with_clause())?,
            relation: range_var(stmt.relation())?,
            set: self.set_clauses(items(stmt.target_list()))?,
            from: self.range_list(stmt.from_clause())?,
            where_clause: self.optional_expr(stmt.where_clause())?,
            returning: self.returning(stmt.returning_clause())?,
        })
    }

    /// SET. `(a, b) = source` arrives as one target a column, each of which points
    /// at the same source with its number.
    fn set_clauses<'a>(
        &mut self,
        targets: impl Iterator<Item = Lowered<&'a nodes::ResTarget>>,
    ) -> Lowered<Vec<SetClause>> {
        let mut clauses = Vec::new();
        for node in targets {
            let node = node?;
            let target = SetTarget {
                name: text(node.name()),
                indirection: self.indirection(node.indirection())?,
                location: Location::from_raw(node.location),
            };
            let Node::MultiAssignRef(multi) = node.val() else {
                clauses.push(SetClause::Single { target, value: self.expr(node.val())? });
                continue;
            };
            match clauses.last_mut() {
                Some(SetClause::Multi { targets, .. }) if multi.colno > 1 => targets.push(target),
                _ => clauses.push(SetClause::Multi {
                    targets: vec![target],
                    source: self.expr(multi.source())?,
                }),
            }
        }
        Ok(clauses)
    }

    pub(super) fn delete(&mut self, stmt: &nodes::DeleteStmt) -> Lowered<DeleteStmt> {
        Ok(DeleteStmt {
            with: self.with(stmt.with_clause())?,
            relation: range_var(stmt.relation())?,
            using: self.range_list(stmt.using_clause())?,
            where_clause: self.optional_expr(stmt.where_clause())?,
            returning: self.returning(stmt.returning_clause())?,
        })
    }

    pub(super) fn merge(&mut self, stmt: &nodes::MergeStmt) -> Lowered<MergeStmt> {
        let with = self.with(stmt.with_clause())?;
        let source = self.range_item(stmt.source_relation())?;
        let condition = self.expr(stmt.join_condition())?;
        let mut whens = Vec::with_capacity(stmt.merge_when_clauses().len());
        for when in items(stmt.merge_when_clauses()) {
            whens.push(self.merge_when(when?)?);
        }
        let relation = range_var(stmt.relation())?;
        let returning = self.returning(stmt.returning_clause())?;
        Ok(MergeStmt { with, relation, source, condition, whens, returning })
    }

    fn merge_when(&mut self, when: &nodes::MergeWhenClause) -> Lowered<MergeWhen> {
        use nodes::{CmdType, MergeMatchKind as Kind};
        let action = match when.command_type {
            CmdType::CMD_INSERT => MergeAction::Insert {
                columns: self.insert_columns(when.target_list())?,
                overriding: overriding(when.override_),
                values: self.exprs(when.values())?,
            },
            CmdType::CMD_UPDATE => {
                let targets = when.target_list().iter().map(|node| match node {
                    Node::ResTarget(target) => Ok(target),
                    other => Err(unexpected("MERGE", other)),
                });
                MergeAction::Update(self.set_clauses(targets)?)
            }
            CmdType::CMD_DELETE => MergeAction::Delete,
            _ => MergeAction::Nothing,
        };
        Ok(MergeWhen {
            kind: match when.match_kind {
                Kind::MERGE_WHEN_MATCHED => MergeMatchKind::Matched,
                Kind::MERGE_WHEN_NOT_MATCHED_BY_SOURCE => MergeMatchKind::NotMatchedBySource,
                _ => MergeMatchKind::NotMatchedByTarget,
            },
            condition: self.optional_expr(when.condition())?,
            action,
        })
    }

    pub(super) fn copy(&mut self, stmt: &nodes::CopyStmt) -> Lowered<CopyStmt> {
        let query = match stmt.query() {
            Node::None => None,
            query => Some(Box::new(self.statement(query)?)),
        };
        let relation = match stmt.relation() {
            None => None,
            relation => Some(range_var(relation)?),
        };
        Ok(CopyStmt {
            relation,
            query,
            columns: strings(stmt.attlist())?,
            is_from: stmt.is_from,
            endpoint: match (stmt.filename(), stmt.is_program) {
                (None, _) => CopyEndpoint::Stdio,
                (Some(command), true) => CopyEndpoint::Program(command.to_owned()),
                (Some(file), false) => CopyEndpoint::File(file.to_owned()),
            },
            options: self.def_elems_of(stmt.options())?,
            where_clause: self.optional_expr(stmt.where_clause())?,
        })
    }

    pub(super) fn call(&mut self, stmt: &nodes::CallStmt) -> Lowered<CallStmt> {
        let Some(call) = stmt.funccall() else { return Err(unexpected("CALL", Node::None)) };
        Ok(CallStmt { call: self.func_call(call)?, location: Location::from_raw(call.location) })
    }

    /// An option list.
    pub(super) fn def_elems(&mut self, list: &NodeList) -> Lowered<Vec<DefElem>> {
        list.iter()
            .map(|node| match node {
                Node::DefElem(elem) => self.def_elem(elem),
                other => Err(unexpected("an option list", other)),
            })
            .collect()
    }

    /// An option list that is typed as one.
    pub(super) fn def_elems_of(
        &mut self,
        list: &CastNodeList<nodes::DefElem>,
    ) -> Lowered<Vec<DefElem>> {
        items(list).map(|elem| self.def_elem(elem?)).collect()
    }

    /// An option.
    pub(super) fn def_elem(&mut self, elem: &nodes::DefElem) -> Lowered<DefElem> {
        use nodes::DefElemAction as Action;
        Ok(DefElem {
            namespace: optional(elem.defnamespace()),
            name: text(elem.defname()),
            value: match elem.arg() {
                Node::None => None,
                arg => Some(self.nested(|lower| lower.def_value(arg))?),
            },
            action: match elem.defaction {
                Action::DEFELEM_SET => DefElemAction::Set,
                Action::DEFELEM_ADD => DefElemAction::Add,
                Action::DEFELEM_DROP => DefElemAction::Drop,
                _ => DefElemAction::Unspecified,
            },
            location: Location::from_raw(elem.location),
        })
    }

    fn def_value(&mut self, node: Node<'_>) -> Lowered<DefValue> {
        Ok(match node {
            Node::Integer(value) => DefValue::Integer(value.ival),
            Node::Float(value) => DefValue::Float(text(value.fval())),
            Node::Boolean(value) => DefValue::Boolean(value.boolval),
            Node::String(value) => DefValue::String(text(value.sval())),
            Node::BitString(value) => DefValue::String(text(value.bsval())),
            Node::A_Star(_) => DefValue::Star,
            Node::TypeName(name) => DefValue::TypeName(Box::new(self.type_name_of(name)?)),
            Node::RoleSpec(role) => DefValue::Role(role_spec(role)),
            Node::NodeList(list) => {
                let values = list.iter().map(|node| self.nested(|lower| lower.def_value(node)));
                DefValue::List(values.collect::<Lowered<_>>()?)
            }
            // An option's value is never a parameter in PostgreSQL's grammar.
            Node::ParamRef(_) => return Err(unexpected("an option", node)),
            other => DefValue::Expr(self.boxed(other)?),
        })
    }
}

fn overriding(kind: nodes::OverridingKind::Type) -> Overriding {
    match kind {
        nodes::OverridingKind::OVERRIDING_USER_VALUE => Overriding::User,
        nodes::OverridingKind::OVERRIDING_SYSTEM_VALUE => Overriding::System,
        _ => Overriding::None,
    }
}
