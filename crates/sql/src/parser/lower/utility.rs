//! Transactions, settings, prepared statements, cursors, upkeep.

use pg_raw_parse::list::NodeList;
use pg_raw_parse::{Node, nodes, raw};
use steppe_types::SqlState;

use super::expr::literal;
use super::{
    Lower, Lowered, items, optional, range_var, range_vars, refused, strings, text, unexpected,
};
use crate::ast::*;

impl Lower {
    /// Statements about sessions; `None` for any other.
    pub(super) fn utility_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::TransactionStmt(stmt) => Statement::Transaction(self.transaction(stmt)?),
            Node::VariableSetStmt(stmt) => Statement::Set(Box::new(self.set(stmt)?)),
            Node::VariableShowStmt(stmt) => Statement::Show(text(stmt.name())),
            Node::ConstraintsSetStmt(stmt) => Statement::SetConstraints(SetConstraintsStmt {
                constraints: range_vars(stmt.constraints())?,
                deferred: stmt.deferred,
            }),
            Node::DiscardStmt(stmt) => Statement::Discard(match stmt.target {
                nodes::DiscardMode::DISCARD_PLANS => DiscardTarget::Plans,
                nodes::DiscardMode::DISCARD_SEQUENCES => DiscardTarget::Sequences,
                nodes::DiscardMode::DISCARD_TEMP => DiscardTarget::Temp,
                _ => DiscardTarget::All,
            }),
            Node::PrepareStmt(stmt) => {
                let types = items(stmt.argtypes()).map(|name| self.type_name_of(name?));
                let arg_types = types.collect::<Lowered<_>>()?;
                let query = Box::new(self.statement(stmt.query())?);
                Statement::Prepare(Box::new(PrepareStmt {
                    name: text(stmt.name()),
                    arg_types,
                    query,
                }))
            }
            Node::ExecuteStmt(stmt) => Statement::Execute(Box::new(ExecuteStmt {
                name: text(stmt.name()),
                args: self.exprs(stmt.params())?,
            })),
            Node::DeallocateStmt(stmt) => Statement::Deallocate(DeallocateStmt {
                name: optional(stmt.name()),
                location: Location::from_raw(stmt.location),
            }),
            Node::DeclareCursorStmt(stmt) => {
                Statement::DeclareCursor(Box::new(self.declare_cursor(stmt)?))
            }
            Node::FetchStmt(stmt) => Statement::Fetch(fetch(stmt)),
            Node::ClosePortalStmt(stmt) => Statement::Close(optional(stmt.portalname())),
            Node::ListenStmt(stmt) => Statement::Listen(text(stmt.conditionname())),
            Node::UnlistenStmt(stmt) => Statement::Unlisten(optional(stmt.conditionname())),
            Node::NotifyStmt(stmt) => Statement::Notify(NotifyStmt {
                channel: text(stmt.conditionname()),
                payload: optional(stmt.payload()),
            }),
            other => return self.upkeep_statement(other),
        }))
    }

    fn upkeep_statement(&mut self, node: Node<'_>) -> Lowered<Option<Statement>> {
        Ok(Some(match node {
            Node::ExplainStmt(stmt) => Statement::Explain(Box::new(ExplainStmt {
                query: Box::new(self.statement(stmt.query())?),
                options: self.def_elems_of(stmt.options())?,
            })),
            Node::VacuumStmt(stmt) => Statement::Vacuum(Box::new(self.vacuum(stmt)?)),
            Node::ClusterStmt(stmt) => {
                let relation = match stmt.relation() {
                    None => None,
                    relation => Some(range_var(relation)?),
                };
                Statement::Cluster(Box::new(ClusterStmt {
                    relation,
                    index: optional(stmt.indexname()),
                    options: self.def_elems_of(stmt.params())?,
                }))
            }
            Node::ReindexStmt(stmt) => Statement::Reindex(Box::new(self.reindex(stmt)?)),
            Node::CheckPointStmt(_) => Statement::Checkpoint,
            Node::LockStmt(stmt) => Statement::Lock(Box::new(LockStmt {
                relations: range_vars(stmt.relations())?,
                mode: lock_mode(stmt.mode),
                nowait: stmt.nowait,
            })),
            Node::LoadStmt(stmt) => Statement::Load(text(stmt.filename())),
            Node::DoStmt(stmt) => {
                let (mut language, mut body) = (None, None);
                for elem in items(stmt.args()) {
                    let elem = elem?;
                    let value = Some(super::string(elem.arg())?);
                    match elem.defname() {
                        Some("language") => language = value,
                        _ => body = value,
                    }
                }
                let Some(body) = body else {
                    return Err(refused(SqlState::SYNTAX_ERROR, "no inline code specified"));
                };
                Statement::Do(DoStmt { language, body })
            }
            _ => return Ok(None),
        }))
    }

    fn transaction(&mut self, stmt: &nodes::TransactionStmt) -> Lowered<TransactionStmt> {
        use nodes::TransactionStmtKind as Kind;
        let savepoint = || text(stmt.savepoint_name());
        let gid = || text(stmt.gid());
        Ok(match stmt.kind {
            Kind::TRANS_STMT_BEGIN | Kind::TRANS_STMT_START => TransactionStmt::Begin {
                modes: transaction_modes(stmt.options())?,
                start: stmt.kind == Kind::TRANS_STMT_START,
            },
            Kind::TRANS_STMT_COMMIT => TransactionStmt::Commit { chain: stmt.chain },
            Kind::TRANS_STMT_ROLLBACK => TransactionStmt::Rollback { chain: stmt.chain },
            Kind::TRANS_STMT_SAVEPOINT => TransactionStmt::Savepoint(savepoint()),
            Kind::TRANS_STMT_RELEASE => TransactionStmt::Release(savepoint()),
            Kind::TRANS_STMT_ROLLBACK_TO => TransactionStmt::RollbackTo(savepoint()),
            Kind::TRANS_STMT_PREPARE => TransactionStmt::Prepare(gid()),
            Kind::TRANS_STMT_COMMIT_PREPARED => TransactionStmt::CommitPrepared(gid()),
            Kind::TRANS_STMT_ROLLBACK_PREPARED => TransactionStmt::RollbackPrepared(gid()),
            _ => return Err(unexpected("a transaction statement", Node::None)),
        })
    }

    /// SET, RESET.
    pub(super) fn set(&mut self, stmt: &nodes::VariableSetStmt) -> Lowered<SetStmt> {
        use nodes::VariableSetKind as Kind;
        let name = text(stmt.name());
        Ok(match stmt.kind {
            Kind::VAR_SET_VALUE => {
                let values = stmt.args().iter().map(|node| self.set_value(node));
                let values = values.collect::<Lowered<_>>()?;
                SetStmt::Value { name, values, local: stmt.is_local }
            }
            Kind::VAR_SET_DEFAULT => SetStmt::Default { name, local: stmt.is_local },
            Kind::VAR_SET_CURRENT => SetStmt::Current { name },
            Kind::VAR_RESET => SetStmt::Reset(name),
            Kind::VAR_RESET_ALL => SetStmt::ResetAll,
            _ => match name.as_str() {
                "TRANSACTION" => SetStmt::Transaction(transaction_modes(stmt.args())?),
                "SESSION CHARACTERISTICS" => {
                    SetStmt::SessionCharacteristics(transaction_modes(stmt.args())?)
                }
                _ => match stmt.args().first() {
                    Some(Node::A_Const(value)) => match literal(value)? {
                        Literal::String(snapshot) => SetStmt::TransactionSnapshot(snapshot),
                        _ => return Err(unexpected("SET TRANSACTION SNAPSHOT", Node::None)),
                    },
                    _ => return Err(unexpected("SET", Node::None)),
                },
            },
        })
    }

    fn set_value(&mut self, node: Node<'_>) -> Lowered<SetValue> {
        match node {
            Node::A_Const(value) => Ok(match literal(value)? {
                Literal::Integer(value) => SetValue::Integer(value),
                Literal::Float(value) => SetValue::Float(value),
                Literal::String(value) => SetValue::String(value),
                _ => return Err(unexpected("a setting", node)),
            }),
            Node::TypeCast(cast) => match cast.arg() {
                Node::A_Const(value) => match literal(value)? {
                    Literal::String(value) => Ok(SetValue::Interval {
                        value,
                        type_name: Box::new(self.type_name(cast.type_name())?),
                    }),
                    _ => Err(unexpected("a setting", node)),
                },
                other => Err(unexpected("a setting", other)),
            },
            other => Err(unexpected("a setting", other)),
        }
    }

    fn declare_cursor(&mut self, stmt: &nodes::DeclareCursorStmt) -> Lowered<DeclareCursorStmt> {
        let has = |bit: u32| stmt.options as u32 & bit != 0;
        let (scroll, no_scroll) = (has(raw::CURSOR_OPT_SCROLL), has(raw::CURSOR_OPT_NO_SCROLL));
        let insensitive = has(raw::CURSOR_OPT_INSENSITIVE);
        let asensitive = has(raw::CURSOR_OPT_ASENSITIVE);
        let conflict = |first: &str, second: &str| {
            let message = format!("cannot specify both {first} and {second}");
            Err(refused(SqlState::INVALID_CURSOR_DEFINITION, message))
        };
        if scroll && no_scroll {
            return conflict("SCROLL", "NO SCROLL");
        }
        if insensitive && asensitive {
            return conflict("ASENSITIVE", "INSENSITIVE");
        }
        Ok(DeclareCursorStmt {
            name: text(stmt.portalname()),
            binary: has(raw::CURSOR_OPT_BINARY),
            scroll: (scroll || no_scroll).then_some(scroll),
            sensitivity: match (insensitive, asensitive) {
                (true, _) => CursorSensitivity::Insensitive,
                (_, true) => CursorSensitivity::Asensitive,
                _ => CursorSensitivity::Default,
            },
            hold: has(raw::CURSOR_OPT_HOLD),
            query: Box::new(self.statement(stmt.query())?),
        })
    }

    fn vacuum(&mut self, stmt: &nodes::VacuumStmt) -> Lowered<VacuumStmt> {
        let mut relations = Vec::with_capacity(stmt.rels().len());
        for item in items(stmt.rels()) {
            let item = item?;
            relations.push(VacuumRelation {
                relation: range_var(item.relation())?,
                columns: strings(item.va_cols())?,
            });
        }
        Ok(VacuumStmt {
            is_vacuum: stmt.is_vacuumcmd,
            options: self.def_elems_of(stmt.options())?,
            relations,
        })
    }

    fn reindex(&mut self, stmt: &nodes::ReindexStmt) -> Lowered<ReindexStmt> {
        use nodes::ReindexObjectType as Type;
        let target = match stmt.kind {
            Type::REINDEX_OBJECT_INDEX => ReindexTarget::Index(range_var(stmt.relation())?),
            Type::REINDEX_OBJECT_TABLE => ReindexTarget::Table(range_var(stmt.relation())?),
            Type::REINDEX_OBJECT_SCHEMA => ReindexTarget::Schema(text(stmt.name())),
            Type::REINDEX_OBJECT_SYSTEM => ReindexTarget::System(optional(stmt.name())),
            _ => ReindexTarget::Database(optional(stmt.name())),
        };
        Ok(ReindexStmt { target, options: self.def_elems_of(stmt.params())? })
    }
}

/// BEGIN's and SET TRANSACTION's modes. As in PostgreSQL, the last of several
/// contradicting ones counts.
fn transaction_modes(list: &NodeList) -> Lowered<TransactionModes> {
    let mut modes = TransactionModes::default();
    for node in list {
        let Node::DefElem(elem) = node else { return Err(unexpected("transaction modes", node)) };
        let Node::A_Const(value) = elem.arg() else {
            return Err(unexpected("transaction modes", elem.arg()));
        };
        match (elem.defname(), literal(value)?) {
            (Some("transaction_isolation"), Literal::String(level)) => {
                modes.isolation = Some(match level.as_str() {
                    "read uncommitted" => IsolationLevel::ReadUncommitted,
                    "read committed" => IsolationLevel::ReadCommitted,
                    "repeatable read" => IsolationLevel::RepeatableRead,
                    _ => IsolationLevel::Serializable,
                });
            }
            (Some("transaction_read_only"), Literal::Integer(flag)) => {
                modes.read_only = Some(flag != 0);
            }
            (Some("transaction_deferrable"), Literal::Integer(flag)) => {
                modes.deferrable = Some(flag != 0);
            }
            _ => return Err(unexpected("transaction modes", Node::None)),
        }
    }
    Ok(modes)
}

fn fetch(stmt: &nodes::FetchStmt) -> FetchStmt {
    use nodes::FetchDirection as Direction;
    FetchStmt {
        is_move: stmt.ismove,
        cursor: text(stmt.portalname()),
        direction: match stmt.direction {
            Direction::FETCH_BACKWARD => FetchDirection::Backward,
            Direction::FETCH_ABSOLUTE => FetchDirection::Absolute,
            Direction::FETCH_RELATIVE => FetchDirection::Relative,
            _ => FetchDirection::Forward,
        },
        count: stmt.how_many,
    }
}

/// LOCK TABLE's mode: the number is PostgreSQL's.
fn lock_mode(mode: i32) -> LockMode {
    match mode {
        1 => LockMode::AccessShare,
        2 => LockMode::RowShare,
        3 => LockMode::RowExclusive,
        4 => LockMode::ShareUpdateExclusive,
        5 => LockMode::Share,
        6 => LockMode::ShareRowExclusive,
        7 => LockMode::Exclusive,
        _ => LockMode::AccessExclusive,
    }
}
