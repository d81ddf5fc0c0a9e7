//! The frame of a function: every variable has a slot.

use crate::tree::Sql;
use crate::types::Type;

/// A slot of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub u32);

/// A variable, and what its slot is for.
#[derive(Clone, Debug)]
pub enum Slot {
    /// One value.
    Scalar(Scalar),
    /// A record or a row of a composite type.
    Record(Record),
    /// A field of a record, which has its slot because the body names it.
    Field(Field),
    /// Scalars that take the columns of a row, or the OUT arguments.
    Row(Row),
}

/// A variable of a scalar type.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// Its name; `$1` for an argument without one.
    pub name: String,
    /// The line of its declaration; 0 for one that no line declares.
    pub line: u32,
    /// Its type.
    pub data_type: Type,
    /// Whether it may be assigned only where it is declared.
    pub constant: bool,
    /// Whether it may not be NULL.
    pub not_null: bool,
    /// Its value when its block is entered.
    pub default: Option<Sql>,
    /// The query that is bound to it, if it was declared as a cursor.
    pub cursor: Option<BoundCursor>,
    /// A value that is fetched when it is first asked for.
    pub promise: Option<Promise>,
}

/// A record variable.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// The line of its declaration.
    pub line: u32,
    /// `record`, or the composite type.
    pub data_type: Type,
    /// Whether it may be assigned only where it is declared.
    pub constant: bool,
    /// Whether it may not be NULL.
    pub not_null: bool,
    /// Its value when its block is entered.
    pub default: Option<Sql>,
}

/// A field of a record.
#[derive(Clone, Debug)]
pub struct Field {
    /// The record's slot.
    pub record: SlotId,
    /// The field's name. Whether the record has it is known when it runs.
    pub name: String,
}

/// A list of variables.
#[derive(Clone, Debug)]
pub struct Row {
    /// The line where it stands; 0 for OUT arguments.
    pub line: u32,
    /// The variables, with the names that they were written with.
    pub fields: Vec<(String, SlotId)>,
}

/// A cursor's query.
#[derive(Clone, Debug)]
pub struct BoundCursor {
    /// The query.
    pub query: Sql,
    /// The row of its arguments.
    pub arguments: Option<SlotId>,
    /// Whether it can move backward.
    pub scroll: Scroll,
}

/// Whether a cursor can move backward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scroll {
    /// If its plan can.
    #[default]
    Unsaid,
    /// `SCROLL`.
    Yes,
    /// `NO SCROLL`.
    No,
}

/// The values that a trigger function is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// `TG_NAME`
    Name,
    /// `TG_WHEN`
    When,
    /// `TG_LEVEL`
    Level,
    /// `TG_OP`
    Operation,
    /// `TG_RELID`
    RelationId,
    /// `TG_TABLE_NAME` and `TG_RELNAME`
    TableName,
    /// `TG_TABLE_SCHEMA`
    TableSchema,
    /// `TG_NARGS`
    ArgumentCount,
    /// `TG_ARGV`
    Arguments,
    /// `TG_EVENT`
    Event,
    /// `TG_TAG`
    Tag,
}
