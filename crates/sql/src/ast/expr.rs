//! Expressions.

use super::{Location, ObjectName, OperatorName, SelectStmt, SortBy, TypeName, WindowDef};

/// An expression with its place in the source. For a binary operator the place is
/// the operator's, for a function call the name's, as PostgreSQL reports them.
#[derive(Debug, PartialEq)]
pub struct Expr {
    /// The kind, with its parts.
    pub kind: ExprKind,
    /// Its place.
    pub location: Location,
}

impl Clone for Expr {
    /// Every deep tree repeats this node or another with such a clone.
    fn clone(&self) -> Expr {
        super::deeper(|| Expr { kind: self.kind.clone(), location: self.location })
    }
}

impl Expr {
    /// An expression at a place.
    pub fn new(kind: ExprKind, location: Location) -> Expr {
        Expr { kind, location }
    }

    /// The beginning of the expression, which PostgreSQL's errors about a whole expression point at
    /// (exprLocation): `a` in `a + 1`, whose own place is the operator's.
    pub fn leftmost(&self) -> Location {
        super::deeper(|| match &self.kind {
            ExprKind::Cast { arg, .. }
            | ExprKind::Unary { arg, .. }
            | ExprKind::Not(arg)
            | ExprKind::NullTest { arg, .. }
            | ExprKind::BooleanTest { arg, .. }
            | ExprKind::In { arg, .. }
            | ExprKind::Between { arg, .. }
            | ExprKind::Collate { arg, .. } => self.location.first(arg.leftmost()),
            ExprKind::Indirection { arg, .. } => arg.leftmost(),
            ExprKind::Binary { left, right, .. }
            | ExprKind::ArrayOp { left, right, .. }
            | ExprKind::Distinct { left, right, .. }
            | ExprKind::NullIf { left, right }
            | ExprKind::Like { arg: left, pattern: right, .. } => {
                self.location.first(left.leftmost()).first(right.leftmost())
            }
            ExprKind::And(args) | ExprKind::Or(args) => {
                args.iter().fold(self.location, |at, arg| at.first(arg.leftmost()))
            }
            ExprKind::FuncCall(call) => {
                call.args.iter().fold(self.location, |at, arg| at.first(arg.value.leftmost()))
            }
            ExprKind::SubLink(link) => match &link.test {
                Some(test) => self.location.first(test.leftmost()),
                None => self.location,
            },
            _ => self.location,
        })
    }
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `a`, `t.a`, `t.*`, `*`.
    ColumnRef(ColumnRef),
    /// `$n`.
    Param(i32),
    /// A literal.
    Const(Literal),
    /// `CAST(arg AS type)`, `arg::type`, `type 'literal'`.
    Cast {
        /// The operand.
        arg: Box<Expr>,
        /// The target type.
        type_name: Box<TypeName>,
    },
    /// A prefix operator. (`+1` and `-1` on number literals are folded into the literal.)
    Unary {
        /// The operator.
        op: OperatorName,
        /// Its operand.
        arg: Box<Expr>,
    },
    /// An infix operator.
    Binary {
        /// The operator.
        op: OperatorName,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `left op ANY (array)` and `left op ALL (array)`.
    ArrayOp {
        /// The operator.
        op: OperatorName,
        /// ANY or ALL.
        quantifier: Quantifier,
        /// Left operand.
        left: Box<Expr>,
        /// The array.
        right: Box<Expr>,
    },
    /// Two or more terms joined by AND.
    And(Vec<Expr>),
    /// Two or more terms joined by OR.
    Or(Vec<Expr>),
    /// `NOT`.
    Not(Box<Expr>),
    /// IS \[NOT\] NULL.
    NullTest {
        /// The tested operand.
        arg: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// IS \[NOT\] TRUE, FALSE, UNKNOWN.
    BooleanTest {
        /// The tested operand.
        arg: Box<Expr>,
        /// The value that it is tested for.
        test: TruthValue,
        /// IS NOT.
        negated: bool,
    },
    /// IS \[NOT\] DISTINCT FROM.
    Distinct {
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
        /// IS NOT DISTINCT FROM.
        negated: bool,
    },
    /// NULLIF(left, right).
    NullIf {
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `arg [NOT] IN (list)`; IN (SELECT …) is a [`SubLink`].
    In {
        /// The operand that is searched.
        arg: Box<Expr>,
        /// Among these.
        list: Vec<Expr>,
        /// `NOT IN`.
        negated: bool,
    },
    /// \[NOT\] BETWEEN \[SYMMETRIC\].
    Between {
        /// The tested operand.
        arg: Box<Expr>,
        /// First bound.
        low: Box<Expr>,
        /// Second bound.
        high: Box<Expr>,
        /// SYMMETRIC.
        symmetric: bool,
        /// `NOT`.
        negated: bool,
    },
    /// LIKE, ILIKE, SIMILAR TO. An ESCAPE clause is a call of
    /// `pg_catalog.like_escape` (SIMILAR TO: always `similar_to_escape`) around
    /// the pattern.
    Like {
        /// LIKE, ILIKE or SIMILAR TO.
        kind: LikeKind,
        /// `NOT`.
        negated: bool,
        /// The matched text.
        arg: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
    },
    /// A call of a function, aggregate or window function.
    FuncCall(Box<FuncCall>),
    /// CASE.
    Case {
        /// `CASE arg WHEN …`.
        arg: Option<Box<Expr>>,
        /// WHEN … THEN ….
        whens: Vec<CaseWhen>,
        /// ELSE.
        default: Option<Box<Expr>>,
    },
    /// COALESCE.
    Coalesce(Vec<Expr>),
    /// GREATEST.
    Greatest(Vec<Expr>),
    /// LEAST.
    Least(Vec<Expr>),
    /// `ARRAY[…]`.
    Array(Vec<Expr>),
    /// `ROW(…)` or `(a, b)`.
    Row {
        /// The fields.
        fields: Vec<Expr>,
        /// Whether ROW was written.
        explicit: bool,
    },
    /// A subquery in an expression.
    SubLink(Box<SubLink>),
    /// `arg.field`, `arg[1]`, `(arg).*`.
    Indirection {
        /// The operand that the path is applied to.
        arg: Box<Expr>,
        /// The steps, outermost last; never empty.
        path: Vec<Indirection>,
    },
    /// `arg COLLATE name`.
    Collate {
        /// The operand.
        arg: Box<Expr>,
        /// The collation.
        collation: ObjectName,
    },
    /// CURRENT_DATE and its like, with their precision where one was written.
    SqlValueFunction {
        /// The function.
        function: SqlValueFunction,
        /// `CURRENT_TIMESTAMP(3)`.
        precision: Option<i32>,
    },
    /// DEFAULT in VALUES and SET.
    Default,
    /// WHERE CURRENT OF cursor.
    CurrentOf(String),
    /// GROUPING(…).
    Grouping(Vec<Expr>),
    /// MERGE_ACTION().
    MergeAction,
}

/// A column reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef {
    /// The names before a possible star, outermost first; empty for a bare `*`.
    pub parts: Vec<String>,
    /// Whether it ends in `*`.
    pub star: bool,
}

/// A literal as the lexer saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A number that fits int4.
    Integer(i32),
    /// Any other number, as written: int8 if it is an integer that fits, else
    /// numeric. May carry a minus, and PostgreSQL 16's 0x, 0o, 0b and `_`.
    Float(String),
    /// A string, with escapes resolved: of type unknown.
    String(String),
    /// `b…` or `x…`: the digits after the letter that names the base.
    BitString(String),
    /// TRUE, FALSE.
    Boolean(bool),
    /// NULL.
    Null,
}

/// ANY or ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// ANY, SOME.
    Any,
    /// ALL.
    All,
}

/// The value that IS tests for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TruthValue {
    /// TRUE.
    True,
    /// FALSE.
    False,
    /// UNKNOWN.
    Unknown,
}

/// The pattern-matching constructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LikeKind {
    /// LIKE.
    Like,
    /// ILIKE.
    ILike,
    /// SIMILAR TO.
    SimilarTo,
}

impl LikeKind {
    /// The operator that the construct stands for.
    pub fn operator(self, negated: bool) -> &'static str {
        match (self, negated) {
            (LikeKind::Like, false) => "~~",
            (LikeKind::Like, true) => "!~~",
            (LikeKind::ILike, false) => "~~*",
            (LikeKind::ILike, true) => "!~~*",
            (LikeKind::SimilarTo, false) => "~",
            (LikeKind::SimilarTo, true) => "!~",
        }
    }
}

/// A function call.
#[derive(Clone, Debug, PartialEq)]
pub struct FuncCall {
    /// The function's name.
    pub name: ObjectName,
    /// Positional arguments first, then named ones.
    pub args: Vec<FuncArg>,
    /// ORDER BY inside the parentheses, or WITHIN GROUP's.
    pub order_by: Vec<SortBy>,
    /// FILTER (WHERE …).
    pub filter: Option<Expr>,
    /// OVER name or OVER (…).
    pub over: Option<WindowDef>,
    /// `order_by` was written as WITHIN GROUP.
    pub within_group: bool,
    /// `f(*)`.
    pub star: bool,
    /// `f(DISTINCT …)`.
    pub distinct: bool,
    /// The last argument was marked VARIADIC.
    pub variadic: bool,
    /// Written in SQL's own syntax (EXTRACT, POSITION, TRIM, AT TIME ZONE …):
    /// deparse it that way, and resolve in pg_catalog.
    pub sql_syntax: bool,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct FuncArg {
    /// `name => value`.
    pub name: Option<String>,
    /// The value.
    pub value: Expr,
}

/// WHEN … THEN ….
#[derive(Clone, Debug, PartialEq)]
pub struct CaseWhen {
    /// The condition, or the value compared with CASE's argument.
    pub condition: Expr,
    /// The result.
    pub result: Expr,
    /// The place of WHEN.
    pub location: Location,
}

/// A subquery inside an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct SubLink {
    /// The use of its rows.
    pub kind: SubLinkKind,
    /// Left side of IN, ANY, ALL.
    pub test: Option<Expr>,
    /// The operator of ANY and ALL; `None` means IN, that is `= ANY`.
    pub op: Option<OperatorName>,
    /// The subquery.
    pub query: SelectStmt,
}

/// The use of a [`SubLink`]'s rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubLinkKind {
    /// EXISTS (…).
    Exists,
    /// `test op ANY (…)`, IN.
    Any,
    /// `test op ALL (…)`.
    All,
    /// `(…)` as one value.
    Expr,
    /// ARRAY(…).
    Array,
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Indirection {
    /// `.name`.
    Field(String),
    /// `.*`.
    Star,
    /// `[index]`.
    Subscript(Expr),
    /// `[lower:upper]`.
    Slice {
        /// Lower bound.
        lower: Option<Expr>,
        /// Upper bound.
        upper: Option<Expr>,
    },
}

/// The parameterless functions of the SQL standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlValueFunction {
    /// CURRENT_DATE.
    CurrentDate,
    /// CURRENT_TIME.
    CurrentTime,
    /// CURRENT_TIMESTAMP.
    CurrentTimestamp,
    /// LOCALTIME.
    LocalTime,
    /// LOCALTIMESTAMP.
    LocalTimestamp,
    /// CURRENT_ROLE.
    CurrentRole,
    /// CURRENT_USER.
    CurrentUser,
    /// USER.
    User,
    /// SESSION_USER.
    SessionUser,
    /// CURRENT_CATALOG.
    CurrentCatalog,
    /// CURRENT_SCHEMA.
    CurrentSchema,
}
