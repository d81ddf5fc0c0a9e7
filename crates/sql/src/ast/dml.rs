//! INSERT, UPDATE, DELETE, MERGE and COPY.

use super::{
    DefElem, Expr, FromItem, Indirection, Location, ObjectName, RangeVar, ResTarget, SelectStmt,
    WithClause,
};

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// INTO table AS alias.
    pub relation: RangeVar,
    /// The column list; empty when not given.
    pub columns: Vec<InsertColumn>,
    /// OVERRIDING.
    pub overriding: Overriding,
    /// VALUES or SELECT; `None` is DEFAULT VALUES.
    pub source: Option<SelectStmt>,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// A target column of INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertColumn {
    /// The column.
    pub name: String,
    /// Field or element of it; empty for the column itself.
    pub indirection: Vec<Indirection>,
    /// Its place.
    pub location: Location,
}

/// OVERRIDING … VALUE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overriding {
    /// The clause is absent.
    #[default]
    None,
    /// OVERRIDING USER VALUE.
    User,
    /// OVERRIDING SYSTEM VALUE.
    System,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// The arbiter; `None` where DO NOTHING takes any.
    pub target: Option<ConflictTarget>,
    /// DO.
    pub action: ConflictAction,
    /// Its place.
    pub location: Location,
}

/// The arbiter of conflicts.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    /// (columns or expressions) WHERE ….
    Index {
        /// The index's elements.
        elements: Vec<super::IndexElem>,
        /// The partial index's predicate.
        where_clause: Option<Expr>,
        /// Its place.
        location: Location,
    },
    /// ON CONSTRAINT name.
    Constraint {
        /// The constraint.
        name: String,
        /// Its place.
        location: Location,
    },
}

/// The action of ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictAction {
    /// DO NOTHING.
    Nothing,
    /// DO UPDATE SET … WHERE ….
    Update {
        /// SET.
        set: Vec<SetClause>,
        /// WHERE.
        where_clause: Option<Expr>,
    },
}

/// RETURNING.
#[derive(Clone, Debug, PartialEq)]
pub struct Returning {
    /// WITH (OLD AS o): the name for the old row.
    pub old_alias: Option<ReturningAlias>,
    /// WITH (NEW AS n): the name for the new row.
    pub new_alias: Option<ReturningAlias>,
    /// The output columns.
    pub targets: Vec<ResTarget>,
}

/// A name that RETURNING WITH (…) gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturningAlias {
    /// The name.
    pub name: String,
    /// Its place.
    pub location: Location,
}

/// One assignment of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetClause {
    /// `column = value`.
    Single {
        /// The assigned column.
        target: SetTarget,
        /// The value, or DEFAULT.
        value: Expr,
    },
    /// `(a, b) = (…)`: the value is a row, or a subquery of as many columns.
    Multi {
        /// The assigned columns.
        targets: Vec<SetTarget>,
        /// The source.
        source: Expr,
    },
}

/// The target of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct SetTarget {
    /// The column.
    pub name: String,
    /// Field or element of it; empty for the column itself.
    pub indirection: Vec<Indirection>,
    /// Its place.
    pub location: Location,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// The table.
    pub relation: RangeVar,
    /// SET.
    pub set: Vec<SetClause>,
    /// FROM.
    pub from: Vec<FromItem>,
    /// WHERE.
    pub where_clause: Option<Expr>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// The table.
    pub relation: RangeVar,
    /// USING.
    pub using: Vec<FromItem>,
    /// WHERE.
    pub where_clause: Option<Expr>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// INTO.
    pub relation: RangeVar,
    /// USING.
    pub source: FromItem,
    /// ON.
    pub condition: Expr,
    /// WHEN ….
    pub whens: Vec<MergeWhen>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// A WHEN of MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeWhen {
    /// MATCHED, NOT MATCHED BY SOURCE, NOT MATCHED \[BY TARGET\].
    pub kind: MergeMatchKind,
    /// AND condition.
    pub condition: Option<Expr>,
    /// THEN.
    pub action: MergeAction,
}

/// The rows that a WHEN applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeMatchKind {
    /// WHEN MATCHED.
    Matched,
    /// WHEN NOT MATCHED BY SOURCE.
    NotMatchedBySource,
    /// WHEN NOT MATCHED.
    NotMatchedByTarget,
}

/// The action of a WHEN.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// DO NOTHING.
    Nothing,
    /// UPDATE SET ….
    Update(Vec<SetClause>),
    /// DELETE.
    Delete,
    /// INSERT (…) VALUES (…); no values is DEFAULT VALUES.
    Insert {
        /// The column list; empty when not given.
        columns: Vec<InsertColumn>,
        /// OVERRIDING.
        overriding: Overriding,
        /// The values; empty is DEFAULT VALUES.
        values: Vec<Expr>,
    },
}

/// COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyStmt {
    /// The table, unless a query is copied out.
    pub relation: Option<RangeVar>,
    /// COPY (query) TO.
    pub query: Option<Box<super::Statement>>,
    /// The column list; empty when not given.
    pub columns: Vec<String>,
    /// FROM rather than TO.
    pub is_from: bool,
    /// The source or target of the data.
    pub endpoint: CopyEndpoint,
    /// The options, old syntax translated to the new one.
    pub options: Vec<DefElem>,
    /// WHERE.
    pub where_clause: Option<Expr>,
}

/// The source or target of COPY's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyEndpoint {
    /// STDIN, STDOUT.
    Stdio,
    /// A file on the server.
    File(String),
    /// PROGRAM 'command'.
    Program(String),
}

/// CALL.
#[derive(Clone, Debug, PartialEq)]
pub struct CallStmt {
    /// The procedure and its arguments.
    pub call: super::FuncCall,
    /// The place of the name.
    pub location: Location,
}

/// DO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoStmt {
    /// LANGUAGE; plpgsql when not given.
    pub language: Option<String>,
    /// The body.
    pub body: String,
}

/// A function with the argument types that identify an overload (ObjectWithArgs).
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectWithArgs {
    /// The name.
    pub name: ObjectName,
    /// Input argument types; `None` stands for NONE in an operator's list.
    pub args: Vec<Option<super::TypeName>>,
    /// The types of all arguments, if there is a list and none of them has a mode: those of a
    /// procedure may be OUT arguments.
    pub all_args: Option<Vec<super::TypeName>>,
    /// The argument list is absent.
    pub args_unspecified: bool,
}
