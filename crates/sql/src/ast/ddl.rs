//! CREATE TABLE, its columns, constraints and partitions; CREATE INDEX.

pub use steppe_catalog::ReferentialAction;

use super::{
    DefElem, Distribution, Expr, Location, NullsOrder, ObjectName, RangeVar, SelectStmt,
    SortDirection, TypeName,
};

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableStmt {
    /// The new table. Its `persistence` is TEMP or UNLOGGED.
    pub relation: RangeVar,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Columns, LIKE clauses and table constraints in the order written.
    pub elements: Vec<TableElement>,
    /// INHERITS; for PARTITION OF the parent.
    pub inherits: Vec<RangeVar>,
    /// PARTITION OF … FOR VALUES: which rows belong here.
    pub partition_bound: Option<PartitionBound>,
    /// PARTITION BY.
    pub partition_by: Option<PartitionSpec>,
    /// `OF` composite type.
    pub of_type: Option<TypeName>,
    /// WITH (…).
    pub options: Vec<DefElem>,
    /// ON COMMIT.
    pub on_commit: OnCommit,
    /// TABLESPACE.
    pub tablespace: Option<String>,
    /// USING.
    pub access_method: Option<String>,
    /// DISTRIBUTE BY, TO.
    pub distribution: Option<Box<Distribution>>,
}

/// An element between CREATE TABLE's parentheses.
#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    /// A column.
    Column(Box<ColumnDef>),
    /// A table constraint.
    Constraint(Box<Constraint>),
    /// LIKE table.
    Like(LikeClause),
}

/// COLLATE of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct CollateClause {
    /// The collation.
    pub name: ObjectName,
    /// The place of the word COLLATE.
    pub location: Location,
}

/// A column definition.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// Name.
    pub name: String,
    /// Type; `None` in OF type and PARTITION OF, where the parent gives it.
    pub type_name: Option<TypeName>,
    /// COLLATE.
    pub collation: Option<CollateClause>,
    /// COMPRESSION.
    pub compression: Option<String>,
    /// STORAGE.
    pub storage: Option<String>,
    /// Column constraints in the order written.
    pub constraints: Vec<Constraint>,
    /// OPTIONS of a foreign table's column.
    pub options: Vec<DefElem>,
    /// The place of the name.
    pub location: Location,
}

/// LIKE table INCLUDING ….
#[derive(Clone, Debug, PartialEq)]
pub struct LikeClause {
    /// The model.
    pub relation: RangeVar,
    /// The parts copied besides names, types and NOT NULL.
    pub including: LikeOptions,
}

/// The parts that LIKE copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LikeOptions {
    /// COMMENTS.
    pub comments: bool,
    /// COMPRESSION.
    pub compression: bool,
    /// CONSTRAINTS.
    pub constraints: bool,
    /// DEFAULTS.
    pub defaults: bool,
    /// GENERATED.
    pub generated: bool,
    /// IDENTITY.
    pub identity: bool,
    /// INDEXES.
    pub indexes: bool,
    /// STATISTICS.
    pub statistics: bool,
    /// STORAGE.
    pub storage: bool,
}

/// A column or table constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// CONSTRAINT name.
    pub name: Option<String>,
    /// The condition that it sets.
    pub kind: ConstraintKind,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
    /// `NOT VALID`.
    pub not_valid: bool,
    /// ENFORCED (the default) or NOT ENFORCED.
    pub enforced: bool,
    /// `NO INHERIT`.
    pub no_inherit: bool,
    /// Its place.
    pub location: Location,
}

/// The kinds of constraints, and the clauses that the grammar treats as one.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// NULL.
    Null,
    /// `NOT NULL`. As a table constraint it has its column.
    NotNull {
        /// The column; empty in a column constraint.
        column: Option<String>,
    },
    /// DEFAULT.
    Default(Expr),
    /// GENERATED … AS IDENTITY (options).
    Identity {
        /// ALWAYS rather than BY DEFAULT.
        always: bool,
        /// Sequence options.
        options: Vec<DefElem>,
    },
    /// GENERATED ALWAYS AS (expr).
    Generated {
        /// The expression.
        expr: Expr,
        /// STORED rather than VIRTUAL.
        stored: bool,
    },
    /// CHECK.
    Check(Expr),
    /// PRIMARY KEY.
    PrimaryKey(IndexConstraint),
    /// UNIQUE.
    Unique {
        /// The key.
        index: IndexConstraint,
        /// NULLS NOT DISTINCT.
        nulls_not_distinct: bool,
    },
    /// EXCLUDE.
    Exclude(Box<ExcludeConstraint>),
    /// REFERENCES, FOREIGN KEY.
    ForeignKey(Box<ForeignKey>),
}

/// The index behind PRIMARY KEY and UNIQUE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexConstraint {
    /// Key columns; empty in a column constraint and with USING INDEX.
    pub columns: Vec<String>,
    /// INCLUDE columns.
    pub include: Vec<String>,
    /// WITHOUT OVERLAPS on the last column.
    pub without_overlaps: bool,
    /// WITH (…).
    pub options: Vec<DefElem>,
    /// USING INDEX name.
    pub using_index: Option<String>,
    /// USING INDEX TABLESPACE.
    pub tablespace: Option<String>,
}

/// EXCLUDE.
#[derive(Clone, Debug, PartialEq)]
pub struct ExcludeConstraint {
    /// Elements with their operators.
    pub elements: Vec<(IndexElem, ObjectName)>,
    /// INCLUDE columns.
    pub include: Vec<String>,
    /// USING method.
    pub access_method: Option<String>,
    /// WITH (…).
    pub options: Vec<DefElem>,
    /// USING INDEX TABLESPACE.
    pub tablespace: Option<String>,
    /// WHERE.
    pub where_clause: Option<Expr>,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Referencing columns; empty in a column constraint.
    pub columns: Vec<String>,
    /// The last referencing column is a PERIOD.
    pub with_period: bool,
    /// The referenced table.
    pub references: RangeVar,
    /// Referenced columns; empty means its primary key.
    pub referenced_columns: Vec<String>,
    /// MATCH.
    pub match_type: MatchType,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON DELETE SET NULL|DEFAULT (columns).
    pub on_delete_columns: Vec<String>,
}

/// MATCH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatchType {
    /// SIMPLE.
    #[default]
    Simple,
    /// FULL.
    Full,
    /// PARTIAL.
    Partial,
}

/// ON COMMIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnCommit {
    /// The clause is absent.
    #[default]
    Noop,
    /// PRESERVE ROWS.
    PreserveRows,
    /// DELETE ROWS.
    DeleteRows,
    /// DROP.
    Drop,
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionSpec {
    /// LIST, RANGE, HASH.
    pub strategy: PartitionStrategy,
    /// The key.
    pub elements: Vec<PartitionElem>,
    /// Its place.
    pub location: Location,
}

/// The strategy of a partitioned table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartitionStrategy {
    /// LIST.
    List,
    /// RANGE.
    Range,
    /// HASH.
    Hash,
}

/// A column or expression of a partition key.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionElem {
    /// Column or expression.
    pub key: IndexKey,
    /// COLLATE.
    pub collation: Option<ObjectName>,
    /// Operator class.
    pub opclass: Option<ObjectName>,
    /// Its place.
    pub location: Location,
}

/// FOR VALUES, or DEFAULT.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBound {
    /// The bound.
    pub spec: PartitionBoundSpec,
    /// Its place.
    pub location: Location,
}

/// The forms of a partition bound.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBoundSpec {
    /// DEFAULT.
    Default,
    /// WITH (MODULUS m, REMAINDER r).
    Hash {
        /// MODULUS.
        modulus: i32,
        /// REMAINDER.
        remainder: i32,
    },
    /// IN (…).
    List(Vec<Expr>),
    /// FROM (…) TO (…); MINVALUE and MAXVALUE are column references of that name.
    Range {
        /// Inclusive lower bound.
        from: Vec<Expr>,
        /// Exclusive upper bound.
        to: Vec<Expr>,
    },
}

/// CREATE TABLE AS, CREATE MATERIALIZED VIEW, SELECT INTO.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAsStmt {
    /// The new relation.
    pub into: super::IntoClause,
    /// SELECT or EXECUTE.
    pub query: Box<super::Statement>,
    /// WITH NO DATA.
    pub with_no_data: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// CREATE MATERIALIZED VIEW.
    pub materialized_view: bool,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndexStmt {
    /// Its name; made up when not given.
    pub name: Option<String>,
    /// The table.
    pub relation: RangeVar,
    /// USING; btree when not given.
    pub access_method: String,
    /// Key elements.
    pub elements: Vec<IndexElem>,
    /// INCLUDE columns.
    pub include: Vec<IndexElem>,
    /// UNIQUE.
    pub unique: bool,
    /// NULLS NOT DISTINCT.
    pub nulls_not_distinct: bool,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// WITH (…).
    pub options: Vec<DefElem>,
    /// TABLESPACE.
    pub tablespace: Option<String>,
    /// WHERE.
    pub where_clause: Option<Expr>,
}

/// An element of an index, or of ON CONFLICT's target.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexElem {
    /// Column or expression.
    pub key: IndexKey,
    /// COLLATE.
    pub collation: Option<ObjectName>,
    /// Operator class.
    pub opclass: Option<ObjectName>,
    /// Operator class options.
    pub opclass_options: Vec<DefElem>,
    /// ASC, DESC.
    pub direction: SortDirection,
    /// NULLS FIRST, NULLS LAST.
    pub nulls: NullsOrder,
}

/// The key of an index element.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexKey {
    /// A column.
    Column(String),
    /// An expression.
    Expr(Expr),
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateViewStmt {
    /// The view.
    pub relation: RangeVar,
    /// Column names; empty when not given.
    pub columns: Vec<String>,
    /// AS.
    pub query: SelectStmt,
    /// OR REPLACE.
    pub replace: bool,
    /// WITH (…).
    pub options: Vec<DefElem>,
    /// WITH CHECK OPTION.
    pub check_option: ViewCheckOption,
}

/// WITH CHECK OPTION.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewCheckOption {
    /// The clause is absent.
    #[default]
    None,
    /// LOCAL.
    Local,
    /// CASCADED.
    Cascaded,
}
