//! Expressions and types.

use pg_raw_parse::list::NodeList;
use pg_raw_parse::nodes::{self, A_Expr_Kind as Kind, BoolTestType, SQLValueFunctionOp as Svf};
use pg_raw_parse::{ConstValue, Node};
use steppe_types::{Error, SqlState};

use super::{Lower, Lowered, object_name, text, unexpected, unsupported};
use crate::ast::*;

impl Lower {
    /// An expression.
    pub(super) fn expr(&mut self, node: Node<'_>) -> Lowered<Expr> {
        self.nested(|lower| lower.expr_kind(node))
    }

    /// An expression behind a pointer.
    pub(super) fn boxed(&mut self, node: Node<'_>) -> Lowered<Box<Expr>> {
        self.expr(node).map(Box::new)
    }

    /// An expression that may be missing.
    pub(super) fn optional_expr(&mut self, node: Node<'_>) -> Lowered<Option<Expr>> {
        if matches!(node, Node::None) { Ok(None) } else { self.expr(node).map(Some) }
    }

    /// A list of expressions.
    pub(super) fn exprs(&mut self, list: &NodeList) -> Lowered<Vec<Expr>> {
        list.iter().map(|node| self.expr(node)).collect()
    }

    fn expr_kind(&mut self, node: Node<'_>) -> Lowered<Expr> {
        let (kind, location) = match node {
            Node::ColumnRef(column) => (column_ref(column)?, column.location),
            Node::ParamRef(param) => (ExprKind::Param(param.number), param.location),
            Node::A_Const(value) => (ExprKind::Const(literal(value)?), value.location),
            Node::A_Expr(expr) => (self.operator_expr(expr)?, expr.location),
            Node::BoolExpr(expr) => (self.bool_expr(expr)?, expr.location),
            Node::TypeCast(cast) => (self.type_cast(cast)?, cast.location),
            Node::FuncCall(call) => {
                (ExprKind::FuncCall(Box::new(self.func_call(call)?)), call.location)
            }
            Node::SubLink(link) => (self.sub_link(link)?, link.location),
            Node::CaseExpr(case) => (self.case(case)?, case.location),
            Node::A_Indirection(indirection) => {
                let arg = self.boxed(indirection.arg())?;
                let path = self.indirection(indirection.indirection())?;
                let location = arg.location;
                return Ok(Expr::new(ExprKind::Indirection { arg, path }, location));
            }
            Node::CollateClause(clause) => (self.collate(clause)?, clause.location),
            other => return self.test_or_constructor(other),
        };
        Ok(Expr::new(kind, Location::from_raw(location)))
    }

    /// The rarer half of [`Self::expr_kind`].
    fn test_or_constructor(&mut self, node: Node<'_>) -> Lowered<Expr> {
        let (kind, location) = match node {
            Node::NullTest(test) => {
                let negated = test.nulltesttype == nodes::NullTestType::IS_NOT_NULL;
                (ExprKind::NullTest { arg: self.boxed(test.arg())?, negated }, test.location)
            }
            Node::BooleanTest(test) => (self.boolean_test(test)?, test.location),
            Node::CoalesceExpr(expr) => {
                (ExprKind::Coalesce(self.exprs(expr.args())?), expr.location)
            }
            Node::MinMaxExpr(expr) => {
                let args = self.exprs(expr.args())?;
                let greatest = expr.op == nodes::MinMaxOp::IS_GREATEST;
                let kind = if greatest { ExprKind::Greatest(args) } else { ExprKind::Least(args) };
                (kind, expr.location)
            }
            Node::A_ArrayExpr(array) => {
                (ExprKind::Array(self.exprs(array.elements())?), array.location)
            }
            Node::RowExpr(row) => {
                let explicit = row.row_format == nodes::CoercionForm::COERCE_EXPLICIT_CALL;
                (ExprKind::Row { fields: self.exprs(row.args())?, explicit }, row.location)
            }
            Node::SQLValueFunction(function) => (sql_value_function(function)?, function.location),
            Node::SetToDefault(default) => (ExprKind::Default, default.location),
            Node::CurrentOfExpr(current) => (ExprKind::CurrentOf(text(current.cursor_name())), -1),
            Node::GroupingFunc(grouping) => {
                (ExprKind::Grouping(self.exprs(grouping.args())?), grouping.location)
            }
            Node::MergeSupportFunc(function) => (ExprKind::MergeAction, function.location),
            other => return Err(unsupported_expr(other)),
        };
        Ok(Expr::new(kind, Location::from_raw(location)))
    }

    fn operator_expr(&mut self, expr: &nodes::A_Expr) -> Lowered<ExprKind> {
        Ok(match expr.kind {
            Kind::AEXPR_OP => {
                let op = object_name(expr.name())?;
                if matches!(expr.lexpr(), Node::None) {
                    ExprKind::Unary { op, arg: self.boxed(expr.rexpr())? }
                } else {
                    let left = self.boxed(expr.lexpr())?;
                    ExprKind::Binary { op, left, right: self.boxed(expr.rexpr())? }
                }
            }
            Kind::AEXPR_OP_ANY | Kind::AEXPR_OP_ALL => ExprKind::ArrayOp {
                op: object_name(expr.name())?,
                quantifier: if expr.kind == Kind::AEXPR_OP_ANY {
                    Quantifier::Any
                } else {
                    Quantifier::All
                },
                left: self.boxed(expr.lexpr())?,
                right: self.boxed(expr.rexpr())?,
            },
            Kind::AEXPR_DISTINCT | Kind::AEXPR_NOT_DISTINCT => ExprKind::Distinct {
                left: self.boxed(expr.lexpr())?,
                right: self.boxed(expr.rexpr())?,
                negated: expr.kind == Kind::AEXPR_NOT_DISTINCT,
            },
            Kind::AEXPR_NULLIF => ExprKind::NullIf {
                left: self.boxed(expr.lexpr())?,
                right: self.boxed(expr.rexpr())?,
            },
            Kind::AEXPR_IN => {
                let Some(list) = expr.rexpr().as_node_list() else {
                    return Err(unexpected("IN", expr.rexpr()));
                };
                ExprKind::In {
                    arg: self.boxed(expr.lexpr())?,
                    list: self.exprs(list)?,
                    negated: object_name(expr.name())?.name() == "<>",
                }
            }
            Kind::AEXPR_LIKE | Kind::AEXPR_ILIKE | Kind::AEXPR_SIMILAR => ExprKind::Like {
                kind: match expr.kind {
                    Kind::AEXPR_LIKE => LikeKind::Like,
                    Kind::AEXPR_ILIKE => LikeKind::ILike,
                    _ => LikeKind::SimilarTo,
                },
                negated: object_name(expr.name())?.name().starts_with('!'),
                arg: self.boxed(expr.lexpr())?,
                pattern: self.boxed(expr.rexpr())?,
            },
            _ => return self.between(expr),
        })
    }

    fn between(&mut self, expr: &nodes::A_Expr) -> Lowered<ExprKind> {
        let bounds = expr.rexpr().as_node_list();
        let (Some(low), Some(high)) =
            (bounds.and_then(|list| list.get(0)), bounds.and_then(|list| list.get(1)))
        else {
            return Err(unexpected("BETWEEN", expr.rexpr()));
        };
        Ok(ExprKind::Between {
            arg: self.boxed(expr.lexpr())?,
            low: self.boxed(low)?,
            high: self.boxed(high)?,
            symmetric: matches!(expr.kind, Kind::AEXPR_BETWEEN_SYM | Kind::AEXPR_NOT_BETWEEN_SYM),
            negated: matches!(expr.kind, Kind::AEXPR_NOT_BETWEEN | Kind::AEXPR_NOT_BETWEEN_SYM),
        })
    }

    fn bool_expr(&mut self, expr: &nodes::BoolExpr) -> Lowered<ExprKind> {
        use nodes::BoolExprType as Type;
        let mut args = self.exprs(expr.args())?;
        match expr.boolop {
            Type::AND_EXPR => Ok(ExprKind::And(args)),
            Type::OR_EXPR => Ok(ExprKind::Or(args)),
            _ => match args.pop() {
                Some(arg) if args.is_empty() => Ok(ExprKind::Not(Box::new(arg))),
                _ => Err(unexpected("NOT", Node::None)),
            },
        }
    }

    fn boolean_test(&mut self, test: &nodes::BooleanTest) -> Lowered<ExprKind> {
        let (value, negated) = match test.booltesttype {
            BoolTestType::IS_TRUE => (TruthValue::True, false),
            BoolTestType::IS_NOT_TRUE => (TruthValue::True, true),
            BoolTestType::IS_FALSE => (TruthValue::False, false),
            BoolTestType::IS_NOT_FALSE => (TruthValue::False, true),
            BoolTestType::IS_UNKNOWN => (TruthValue::Unknown, false),
            _ => (TruthValue::Unknown, true),
        };
        Ok(ExprKind::BooleanTest { arg: self.boxed(test.arg())?, test: value, negated })
    }

    fn type_cast(&mut self, cast: &nodes::TypeCast) -> Lowered<ExprKind> {
        let arg = self.boxed(cast.arg())?;
        Ok(ExprKind::Cast { arg, type_name: Box::new(self.type_name(cast.type_name())?) })
    }

    fn collate(&mut self, clause: &nodes::CollateClause) -> Lowered<ExprKind> {
        let arg = self.boxed(clause.arg())?;
        Ok(ExprKind::Collate { arg, collation: object_name(clause.collname())? })
    }

    fn case(&mut self, case: &nodes::CaseExpr) -> Lowered<ExprKind> {
        let arg = self.optional_expr(case.arg())?.map(Box::new);
        let mut whens = Vec::with_capacity(case.args().len());
        for node in case.args() {
            let Node::CaseWhen(when) = node else { return Err(unexpected("CASE", node)) };
            whens.push(CaseWhen {
                condition: self.expr(when.expr())?,
                result: self.expr(when.result())?,
                location: Location::from_raw(when.location),
            });
        }
        let default = self.optional_expr(case.defresult())?.map(Box::new);
        Ok(ExprKind::Case { arg, whens, default })
    }

    fn sub_link(&mut self, link: &nodes::SubLink) -> Lowered<ExprKind> {
        use nodes::SubLinkType as Type;
        let kind = match link.sub_link_type {
            Type::EXISTS_SUBLINK => SubLinkKind::Exists,
            Type::ANY_SUBLINK => SubLinkKind::Any,
            Type::ALL_SUBLINK => SubLinkKind::All,
            Type::ARRAY_SUBLINK => SubLinkKind::Array,
            Type::EXPR_SUBLINK => SubLinkKind::Expr,
            _ => return Err(unexpected("a subquery expression", Node::None)),
        };
        Ok(ExprKind::SubLink(Box::new(SubLink {
            kind,
            test: self.optional_expr(link.testexpr())?,
            op: super::optional_name(link.oper_name())?,
            query: self.subquery(link.subselect())?,
        })))
    }

    /// A function call.
    pub(super) fn func_call(&mut self, call: &nodes::FuncCall) -> Lowered<FuncCall> {
        let mut args = Vec::with_capacity(call.args().len());
        for node in call.args() {
            args.push(match node {
                Node::NamedArgExpr(named) => {
                    let name = text(named.name());
                    check_new_name(&args, &name, Location::from_raw(named.location))?;
                    FuncArg { name: Some(name), value: self.expr(named.arg())? }
                }
                other => FuncArg { name: None, value: self.expr(other)? },
            });
        }
        check_named_last(&args)?;
        Ok(FuncCall {
            name: object_name(call.funcname())?,
            args,
            order_by: self.sort_list(call.agg_order())?,
            filter: self.optional_expr(call.agg_filter())?,
            over: call.over().map(|window| self.window(window)).transpose()?,
            within_group: call.agg_within_group,
            star: call.agg_star,
            distinct: call.agg_distinct,
            variadic: call.func_variadic,
            sql_syntax: call.funcformat == nodes::CoercionForm::COERCE_SQL_SYNTAX,
        })
    }

    /// Field selections and subscripts.
    pub(super) fn indirection(&mut self, list: &NodeList) -> Lowered<Vec<Indirection>> {
        let mut path = Vec::with_capacity(list.len());
        for node in list {
            path.push(match node {
                Node::String(name) => Indirection::Field(text(name.sval())),
                Node::A_Star(_) => Indirection::Star,
                Node::A_Indices(indices) if indices.is_slice => Indirection::Slice {
                    lower: self.optional_expr(indices.lidx())?,
                    upper: self.optional_expr(indices.uidx())?,
                },
                Node::A_Indices(indices) => Indirection::Subscript(self.expr(indices.uidx())?),
                other => return Err(unexpected("a subscript", other)),
            });
        }
        Ok(path)
    }

    /// A type that the grammar always gives.
    pub(super) fn type_name(&mut self, name: Option<&nodes::TypeName>) -> Lowered<TypeName> {
        match name {
            Some(name) => self.type_name_of(name),
            None => Err(unexpected("a type name", Node::None)),
        }
    }

    /// A type.
    pub(super) fn type_name_of(&mut self, name: &nodes::TypeName) -> Lowered<TypeName> {
        let bounds = name.array_bounds().iter().map(|bound| match bound {
            Node::Integer(bound) => Ok((bound.ival >= 0).then_some(bound.ival)),
            other => Err(unexpected("an array bound", other)),
        });
        Ok(TypeName {
            name: super::cast_name(name.names())?,
            setof: name.setof,
            percent_type: name.pct_type,
            typmods: self.exprs(name.typmods())?,
            array_bounds: bounds.collect::<Lowered<_>>()?,
            location: Location::from_raw(name.location),
        })
    }
}

/// Refuses a second argument of one name.
fn check_new_name(args: &[FuncArg], name: &str, location: Location) -> Lowered<()> {
    if args.iter().all(|arg| arg.name.as_deref() != Some(name)) {
        return Ok(());
    }
    let message = format!("argument name \"{name}\" used more than once");
    Err(super::Failure::Refused(Error::new(SqlState::SYNTAX_ERROR, message), location))
}

/// Refuses a positional argument after a named one.
fn check_named_last(args: &[FuncArg]) -> Lowered<()> {
    let named = args.iter().skip_while(|arg| arg.name.is_none());
    match named.into_iter().find(|arg| arg.name.is_none()) {
        None => Ok(()),
        Some(arg) => Err(super::Failure::Refused(
            Error::new(SqlState::SYNTAX_ERROR, "positional argument cannot follow named argument"),
            arg.value.location,
        )),
    }
}

fn column_ref(column: &nodes::ColumnRef) -> Lowered<ExprKind> {
    let mut parts = Vec::with_capacity(column.fields().len());
    let mut star = false;
    for node in column.fields() {
        match node {
            Node::String(name) => parts.push(text(name.sval())),
            Node::A_Star(_) => star = true,
            other => return Err(unexpected("a column reference", other)),
        }
    }
    Ok(ExprKind::ColumnRef(ColumnRef { parts, star }))
}

/// A constant.
pub(super) fn literal(value: &nodes::A_Const) -> Lowered<Literal> {
    Ok(match value.val() {
        None => Literal::Null,
        Some(ConstValue::Integer(value)) => Literal::Integer(value),
        Some(ConstValue::Float(value)) => Literal::Float(value.to_owned()),
        Some(ConstValue::Boolean(value)) => Literal::Boolean(value),
        Some(ConstValue::String(value)) => Literal::String(value.to_owned()),
        Some(ConstValue::BitString(value)) => Literal::BitString(value.to_owned()),
        Some(_) => return Err(unexpected("a constant", Node::None)),
    })
}

fn sql_value_function(function: &nodes::SQLValueFunction) -> Lowered<ExprKind> {
    let kind = match function.op {
        Svf::SVFOP_CURRENT_DATE => SqlValueFunction::CurrentDate,
        Svf::SVFOP_CURRENT_TIME | Svf::SVFOP_CURRENT_TIME_N => SqlValueFunction::CurrentTime,
        Svf::SVFOP_CURRENT_TIMESTAMP | Svf::SVFOP_CURRENT_TIMESTAMP_N => {
            SqlValueFunction::CurrentTimestamp
        }
        Svf::SVFOP_LOCALTIME | Svf::SVFOP_LOCALTIME_N => SqlValueFunction::LocalTime,
        Svf::SVFOP_LOCALTIMESTAMP | Svf::SVFOP_LOCALTIMESTAMP_N => SqlValueFunction::LocalTimestamp,
        Svf::SVFOP_CURRENT_ROLE => SqlValueFunction::CurrentRole,
        Svf::SVFOP_CURRENT_USER => SqlValueFunction::CurrentUser,
        Svf::SVFOP_USER => SqlValueFunction::User,
        Svf::SVFOP_SESSION_USER => SqlValueFunction::SessionUser,
        Svf::SVFOP_CURRENT_CATALOG => SqlValueFunction::CurrentCatalog,
        Svf::SVFOP_CURRENT_SCHEMA => SqlValueFunction::CurrentSchema,
        _ => return Err(unexpected("a value function", Node::None)),
    };
    let precision = matches!(
        function.op,
        Svf::SVFOP_CURRENT_TIME_N
            | Svf::SVFOP_CURRENT_TIMESTAMP_N
            | Svf::SVFOP_LOCALTIME_N
            | Svf::SVFOP_LOCALTIMESTAMP_N
    );
    Ok(ExprKind::SqlValueFunction {
        function: kind,
        precision: precision.then_some(function.typmod),
    })
}

/// Names the expressions that have no place in the tree.
fn unsupported_expr(node: Node<'_>) -> super::Failure {
    let (what, location) = match node {
        Node::XmlExpr(expr) => ("an XML expression", expr.location),
        Node::XmlSerialize(expr) => ("XMLSERIALIZE", expr.location),
        Node::JsonIsPredicate(expr) => ("IS JSON", expr.location),
        Node::JsonFuncExpr(expr) => ("a JSON query function", expr.location),
        Node::JsonParseExpr(expr) => ("JSON()", expr.location),
        Node::JsonScalarExpr(expr) => ("JSON_SCALAR", expr.location),
        Node::JsonSerializeExpr(expr) => ("JSON_SERIALIZE", expr.location),
        Node::JsonObjectConstructor(expr) => ("JSON_OBJECT", expr.location),
        Node::JsonArrayConstructor(expr) => ("JSON_ARRAY", expr.location),
        Node::JsonArrayQueryConstructor(expr) => ("JSON_ARRAY", expr.location),
        Node::JsonObjectAgg(_) => ("JSON_OBJECTAGG", -1),
        Node::JsonArrayAgg(_) => ("JSON_ARRAYAGG", -1),
        other => return unexpected("an expression", other),
    };
    unsupported(what, Location::from_raw(location))
}
