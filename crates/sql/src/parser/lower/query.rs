//! SELECT.

use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::{Node, nodes, raw};

use super::{
    Lower, Lowered, alias, items, object_name, optional, range_var, range_vars, strings, text,
    unexpected, unsupported,
};
use crate::ast::*;

impl Lower {
    /// A SELECT.
    pub(super) fn select(&mut self, stmt: &nodes::SelectStmt) -> Lowered<SelectStmt> {
        self.nested(|lower| lower.select_parts(stmt))
    }

    /// A node that must be a SELECT.
    pub(super) fn subquery(&mut self, node: Node<'_>) -> Lowered<SelectStmt> {
        match node {
            Node::SelectStmt(stmt) => self.select(stmt),
            other => Err(unexpected("a subquery", other)),
        }
    }

    fn select_parts(&mut self, stmt: &nodes::SelectStmt) -> Lowered<SelectStmt> {
        let with = self.with(stmt.with_clause())?;
        let body = if stmt.op != nodes::SetOperation::SETOP_NONE {
            SelectBody::SetOp(Box::new(self.set_operation(stmt)?))
        } else if !stmt.values_lists().is_empty() {
            SelectBody::Values(self.values(stmt.values_lists())?)
        } else {
            SelectBody::Select(Box::new(self.select_core(stmt)?))
        };
        let mut locking = Vec::with_capacity(stmt.locking_clause().len());
        for clause in items(stmt.locking_clause()) {
            locking.push(locking_clause(clause?)?);
        }
        Ok(SelectStmt {
            with,
            body,
            order_by: self.sort_list(stmt.sort_clause())?,
            offset: self.optional_expr(stmt.limit_offset())?.map(Box::new),
            limit: self.optional_expr(stmt.limit_count())?.map(Box::new),
            with_ties: stmt.limit_option == nodes::LimitOption::LIMIT_OPTION_WITH_TIES,
            locking,
        })
    }

    fn set_operation(&mut self, stmt: &nodes::SelectStmt) -> Lowered<SetOperation> {
        use nodes::SetOperation as Op;
        let (Some(left), Some(right)) = (stmt.larg(), stmt.rarg()) else {
            return Err(unexpected("a set operation", Node::None));
        };
        Ok(SetOperation {
            op: match stmt.op {
                Op::SETOP_UNION => SetOperator::Union,
                Op::SETOP_INTERSECT => SetOperator::Intersect,
                _ => SetOperator::Except,
            },
            all: stmt.all,
            left: self.select(left)?,
            right: self.select(right)?,
        })
    }

    fn values(&mut self, lists: &NodeList) -> Lowered<Vec<Vec<Expr>>> {
        lists
            .iter()
            .map(|row| match row.as_node_list() {
                Some(row) => self.exprs(row),
                None => Err(unexpected("VALUES", row)),
            })
            .collect()
    }

    fn select_core(&mut self, stmt: &nodes::SelectStmt) -> Lowered<SelectCore> {
        // The grammar marks plain DISTINCT with a list of one null pointer.
        let distinct = match stmt.distinct_clause().first() {
            None => Distinct::No,
            Some(Node::None) => Distinct::Rows,
            Some(_) => Distinct::On(self.exprs(stmt.distinct_clause())?),
        };
        Ok(SelectCore {
            distinct,
            targets: self.targets(stmt.target_list())?,
            into: stmt.into_clause().map(|into| self.select_into(into)).transpose()?,
            from: self.range_list(stmt.from_clause())?,
            where_clause: self.optional_expr(stmt.where_clause())?,
            group_by: self.group_items(stmt.group_clause())?,
            group_distinct: stmt.group_distinct,
            having: self.optional_expr(stmt.having_clause())?,
            windows: stmt
                .window_clause()
                .iter()
                .map(|node| match node {
                    Node::WindowDef(window) => self.window(window),
                    other => Err(unexpected("WINDOW", other)),
                })
                .collect::<Lowered<_>>()?,
        })
    }

    fn targets(&mut self, list: &CastNodeList<nodes::ResTarget>) -> Lowered<Vec<ResTarget>> {
        items(list).map(|target| self.target(target?)).collect()
    }

    /// An output column.
    pub(super) fn target(&mut self, target: &nodes::ResTarget) -> Lowered<ResTarget> {
        Ok(ResTarget {
            name: optional(target.name()),
            value: self.expr(target.val())?,
            location: Location::from_raw(target.location),
        })
    }

    /// SELECT INTO, CREATE TABLE AS.
    pub(super) fn select_into(&mut self, into: &nodes::IntoClause) -> Lowered<IntoClause> {
        Ok(IntoClause {
            relation: range_var(into.rel())?,
            columns: strings(into.col_names())?,
            access_method: optional(into.access_method()),
            options: self.def_elems(into.options())?,
            on_commit: super::ddl::on_commit(into.on_commit),
            tablespace: optional(into.table_space_name()),
            distribution: None,
        })
    }

    /// FROM.
    pub(super) fn range_list(&mut self, list: &NodeList) -> Lowered<Vec<FromItem>> {
        list.iter().map(|node| self.range_item(node)).collect()
    }

    /// An item of FROM.
    pub(super) fn range_item(&mut self, node: Node<'_>) -> Lowered<FromItem> {
        self.nested(|lower| lower.range_item_kind(node))
    }

    fn range_item_kind(&mut self, node: Node<'_>) -> Lowered<FromItem> {
        Ok(match node {
            Node::RangeVar(relation) => FromItem::Table(range_var(Some(relation))?),
            Node::JoinExpr(join) => FromItem::Join(Box::new(self.join(join)?)),
            Node::RangeSubselect(subselect) => FromItem::Subquery(Box::new(RangeSubselect {
                lateral: subselect.lateral,
                query: self.subquery(subselect.subquery())?,
                alias: alias(subselect.alias())?,
            })),
            Node::RangeFunction(function) => {
                FromItem::Function(Box::new(self.range_function(function)?))
            }
            Node::RangeTableSample(sample) => {
                return Err(unsupported("TABLESAMPLE", Location::from_raw(sample.location)));
            }
            Node::RangeTableFunc(table) => {
                return Err(unsupported("XMLTABLE", Location::from_raw(table.location)));
            }
            Node::JsonTable(table) => {
                return Err(unsupported("JSON_TABLE", Location::from_raw(table.location)));
            }
            other => return Err(unexpected("FROM", other)),
        })
    }

    fn join(&mut self, join: &nodes::JoinExpr) -> Lowered<JoinExpr> {
        use nodes::JoinType as Type;
        let columns = super::cast_strings(join.using_clause())?;
        let condition = if join.is_natural {
            JoinCondition::Natural
        } else if !columns.is_empty() {
            let alias = join.join_using_alias().map(|alias| text(alias.aliasname()));
            JoinCondition::Using { columns, alias }
        } else {
            match self.optional_expr(join.quals())? {
                Some(condition) => JoinCondition::On(condition),
                None => JoinCondition::Cross,
            }
        };
        Ok(JoinExpr {
            kind: match join.jointype {
                Type::JOIN_LEFT => JoinKind::Left,
                Type::JOIN_FULL => JoinKind::Full,
                Type::JOIN_RIGHT => JoinKind::Right,
                _ => JoinKind::Inner,
            },
            left: self.range_item(join.larg())?,
            right: self.range_item(join.rarg())?,
            condition,
            alias: alias(join.alias())?,
        })
    }

    /// The grammar gives a list of pairs (call, column definitions).
    fn range_function(&mut self, function: &nodes::RangeFunction) -> Lowered<RangeFunction> {
        let mut functions = Vec::with_capacity(function.functions().len());
        for item in function.functions() {
            let pair = item.as_node_list();
            let Some(call) = pair.and_then(|pair| pair.get(0)) else {
                return Err(unexpected("a function in FROM", item));
            };
            let column_defs = match pair.and_then(|pair| pair.get(1)) {
                Some(Node::NodeList(list)) => self.column_def_items(list)?,
                _ => Vec::new(),
            };
            functions.push(RangeFunctionItem { call: self.expr(call)?, column_defs });
        }
        let mut column_defs = Vec::with_capacity(function.coldeflist().len());
        for column in items(function.coldeflist()) {
            column_defs.push(self.column_def_item(column?)?);
        }
        Ok(RangeFunction {
            lateral: function.lateral,
            ordinality: function.ordinality,
            rows_from: function.is_rowsfrom,
            functions,
            alias: alias(function.alias())?,
            column_defs,
        })
    }

    fn column_def_items(&mut self, list: &NodeList) -> Lowered<Vec<ColumnDefItem>> {
        list.iter()
            .map(|node| match node {
                Node::ColumnDef(column) => self.column_def_item(column),
                other => Err(unexpected("a column definition list", other)),
            })
            .collect()
    }

    /// A column of a column definition list.
    pub(super) fn column_def_item(&mut self, column: &nodes::ColumnDef) -> Lowered<ColumnDefItem> {
        let collation = column.coll_clause().map(|clause| object_name(clause.collname()));
        Ok(ColumnDefItem {
            name: text(column.colname()),
            type_name: self.type_name(column.type_name())?,
            collation: collation.transpose()?,
            location: Location::from_raw(column.location),
        })
    }

    fn group_items(&mut self, list: &NodeList) -> Lowered<Vec<GroupItem>> {
        list.iter().map(|node| self.nested(|lower| lower.group_item(node))).collect()
    }

    fn group_item(&mut self, node: Node<'_>) -> Lowered<GroupItem> {
        use nodes::GroupingSetKind as Kind;
        let Node::GroupingSet(set) = node else { return self.expr(node).map(GroupItem::Expr) };
        let location = Location::from_raw(set.location);
        if set.kind == Kind::GROUPING_SET_EMPTY {
            return Ok(GroupItem::Empty);
        }
        let items = self.group_items(set.content())?;
        Ok(match set.kind {
            Kind::GROUPING_SET_ROLLUP => GroupItem::Rollup(items, location),
            Kind::GROUPING_SET_CUBE => GroupItem::Cube(items, location),
            _ => GroupItem::Sets(items, location),
        })
    }

    /// ORDER BY.
    pub(super) fn sort_list(&mut self, list: &CastNodeList<nodes::SortBy>) -> Lowered<Vec<SortBy>> {
        items(list).map(|sort| self.sort_by(sort?)).collect()
    }

    fn sort_by(&mut self, sort: &nodes::SortBy) -> Lowered<SortBy> {
        let direction = if sort.sortby_dir == nodes::SortByDir::SORTBY_USING {
            SortDirection::Using(object_name(sort.use_op())?)
        } else {
            sort_direction(sort.sortby_dir)
        };
        Ok(SortBy {
            expr: self.expr(sort.node())?,
            direction,
            nulls: nulls_order(sort.sortby_nulls),
            location: Location::from_raw(sort.location),
        })
    }

    /// A window.
    pub(super) fn window(&mut self, window: &nodes::WindowDef) -> Lowered<WindowDef> {
        let options = window.frame_options as u32;
        let start = self.frame_bound(
            options,
            [
                raw::FRAMEOPTION_START_UNBOUNDED_PRECEDING,
                raw::FRAMEOPTION_START_OFFSET_PRECEDING,
                raw::FRAMEOPTION_START_OFFSET_FOLLOWING,
                raw::FRAMEOPTION_START_UNBOUNDED_FOLLOWING,
            ],
            window.start_offset(),
        )?;
        let end = self.frame_bound(
            options,
            [
                raw::FRAMEOPTION_END_UNBOUNDED_PRECEDING,
                raw::FRAMEOPTION_END_OFFSET_PRECEDING,
                raw::FRAMEOPTION_END_OFFSET_FOLLOWING,
                raw::FRAMEOPTION_END_UNBOUNDED_FOLLOWING,
            ],
            window.end_offset(),
        )?;
        let frame = WindowFrame {
            explicit: options & raw::FRAMEOPTION_NONDEFAULT != 0,
            between: options & raw::FRAMEOPTION_BETWEEN != 0,
            mode: if options & raw::FRAMEOPTION_ROWS != 0 {
                FrameMode::Rows
            } else if options & raw::FRAMEOPTION_GROUPS != 0 {
                FrameMode::Groups
            } else {
                FrameMode::Range
            },
            start,
            end,
            exclusion: frame_exclusion(options),
        };
        Ok(WindowDef {
            name: optional(window.name()),
            refname: optional(window.refname()),
            partition_by: self.exprs(window.partition_clause())?,
            order_by: self.sort_list(window.order_clause())?,
            // `OVER name` carries no frame of its own.
            frame: if options == 0 { WindowFrame::default() } else { frame },
            location: Location::from_raw(window.location),
        })
    }

    /// `bits`: unbounded preceding, offset preceding, offset following, unbounded following.
    fn frame_bound(
        &mut self,
        options: u32,
        bits: [u32; 4],
        offset: Node<'_>,
    ) -> Lowered<FrameBound> {
        Ok(match bits.map(|bit| options & bit != 0) {
            [true, ..] => FrameBound::UnboundedPreceding,
            [_, true, ..] => FrameBound::Preceding(self.boxed(offset)?),
            [_, _, true, _] => FrameBound::Following(self.boxed(offset)?),
            [.., true] => FrameBound::UnboundedFollowing,
            _ => FrameBound::CurrentRow,
        })
    }

    /// WITH.
    pub(super) fn with(&mut self, with: Option<&nodes::WithClause>) -> Lowered<Option<WithClause>> {
        let Some(with) = with else { return Ok(None) };
        let mut ctes = Vec::with_capacity(with.ctes().len());
        for cte in items(with.ctes()) {
            let cte = cte?;
            ctes.push(self.common_table_expr(cte)?);
        }
        Ok(Some(WithClause {
            recursive: with.recursive,
            ctes,
            location: Location::from_raw(with.location),
        }))
    }

    fn common_table_expr(&mut self, cte: &nodes::CommonTableExpr) -> Lowered<CommonTableExpr> {
        use nodes::CTEMaterialize as Materialize;
        let search = match cte.search_clause() {
            None => None,
            Some(search) => Some(CteSearch {
                columns: strings(search.search_col_list())?,
                breadth_first: search.search_breadth_first,
                set_column: text(search.search_seq_column()),
                location: Location::from_raw(search.location),
            }),
        };
        let cycle = match cte.cycle_clause() {
            None => None,
            Some(cycle) => Some(Box::new(CteCycle {
                columns: strings(cycle.cycle_col_list())?,
                mark_column: text(cycle.cycle_mark_column()),
                mark_value: self.expr(cycle.cycle_mark_value())?,
                mark_default: self.expr(cycle.cycle_mark_default())?,
                path_column: text(cycle.cycle_path_column()),
                location: Location::from_raw(cycle.location),
            })),
        };
        Ok(CommonTableExpr {
            name: text(cte.ctename()),
            columns: strings(cte.aliascolnames())?,
            materialized: match cte.ctematerialized {
                Materialize::CTEMaterializeAlways => Some(true),
                Materialize::CTEMaterializeNever => Some(false),
                _ => None,
            },
            query: Box::new(self.statement(cte.ctequery())?),
            search,
            cycle,
            location: Location::from_raw(cte.location),
        })
    }
}

/// ASC or DESC; USING is the caller's.
pub(super) fn sort_direction(direction: nodes::SortByDir::Type) -> SortDirection {
    match direction {
        nodes::SortByDir::SORTBY_ASC => SortDirection::Asc,
        nodes::SortByDir::SORTBY_DESC => SortDirection::Desc,
        _ => SortDirection::Default,
    }
}

/// NULLS FIRST or LAST.
pub(super) fn nulls_order(nulls: nodes::SortByNulls::Type) -> NullsOrder {
    match nulls {
        nodes::SortByNulls::SORTBY_NULLS_FIRST => NullsOrder::First,
        nodes::SortByNulls::SORTBY_NULLS_LAST => NullsOrder::Last,
        _ => NullsOrder::Default,
    }
}

fn frame_exclusion(options: u32) -> FrameExclusion {
    if options & raw::FRAMEOPTION_EXCLUDE_CURRENT_ROW != 0 {
        FrameExclusion::CurrentRow
    } else if options & raw::FRAMEOPTION_EXCLUDE_GROUP != 0 {
        FrameExclusion::Group
    } else if options & raw::FRAMEOPTION_EXCLUDE_TIES != 0 {
        FrameExclusion::Ties
    } else {
        FrameExclusion::NoOthers
    }
}

fn locking_clause(clause: &nodes::LockingClause) -> Lowered<LockingClause> {
    use nodes::{LockClauseStrength as Strength, LockWaitPolicy as Policy};
    Ok(LockingClause {
        of: range_vars(clause.locked_rels())?,
        strength: match clause.strength {
            Strength::LCS_FORKEYSHARE => LockStrength::KeyShare,
            Strength::LCS_FORSHARE => LockStrength::Share,
            Strength::LCS_FORNOKEYUPDATE => LockStrength::NoKeyUpdate,
            _ => LockStrength::Update,
        },
        wait_policy: match clause.wait_policy {
            Policy::LockWaitSkip => LockWaitPolicy::Skip,
            Policy::LockWaitError => LockWaitPolicy::Error,
            _ => LockWaitPolicy::Block,
        },
    })
}
