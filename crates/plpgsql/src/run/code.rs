//! The executable form of a body: instructions over slots, with every piece of SQL by its number.
//!
//! [`super::build`] makes it of the parser's tree. It is immutable; the plans of its SQL are kept
//! beside it ([`super::plans`]), by the same numbers.
//!
//! IF, CASE, the loops that run no query, EXIT and CONTINUE are jumps among the instructions of a
//! [`Script`]. The other statements that contain statements have scripts of their own.

use std::collections::HashMap;
use std::sync::Arc;

use steppe_types::{Oid, SqlState};

use super::context::Shown;
use super::frame::Shape;
use super::walk::Flow;
use crate::conditions::Condition;
use crate::names::{Names, Scope};
use crate::tree::{DiagnosticsItem, Direction, Promise, RaiseLevel, RaiseOption, Scroll, SlotId};
use crate::types::{RoutineKind, Type, VariableConflict};

/// A piece of SQL, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SqlNumber(pub(super) u32);

/// The use of a piece of SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// A whole statement.
    Statement,
    /// The query of a cursor with a name.
    Cursor,
    /// An expression.
    Expression,
    /// An expression that becomes a value of this type, as assignments do.
    Assigned(Oid, i32),
    /// An expression that is assigned to this field of a record.
    Field(SlotId),
}

/// A piece of SQL.
#[derive(Debug)]
pub(super) struct Piece {
    /// Its text, as the binder gets it: what precedes an expression is not in it.
    pub(super) text: Arc<str>,
    /// Its text as errors show it.
    pub(super) shown: Shown,
    /// Its use.
    pub(super) of: Use,
    /// The names that are visible in it.
    pub(super) scope: Scope,
}

/// A variable.
#[derive(Debug)]
pub(super) enum Var {
    /// One value.
    Scalar(Scalar),
    /// A row.
    Record(Record),
    /// A field of a record.
    Field { record: SlotId, name: Arc<str> },
    /// Variables that take a row's columns.
    Row(Box<[(Arc<str>, SlotId)]>),
}

/// A variable of a scalar type.
#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) name: Arc<str>,
    pub(super) line: u32,
    pub(super) ty: Type,
    pub(super) not_null: bool,
    pub(super) default: Option<SqlNumber>,
    pub(super) cursor: Option<BoundCursor>,
    pub(super) promise: Option<Promise>,
}

/// A record variable.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: Arc<str>,
    pub(super) line: u32,
    pub(super) ty: Type,
    pub(super) not_null: bool,
    pub(super) default: Option<SqlNumber>,
}

/// A cursor's query.
#[derive(Clone, Debug)]
pub(super) struct BoundCursor {
    pub(super) query: SqlNumber,
    pub(super) arguments: Option<SlotId>,
    pub(super) scroll: Scroll,
}

/// A routine's code.
#[derive(Debug)]
pub(super) struct Code {
    /// Its name with the types of its arguments, as errors name it.
    pub(super) signature: Arc<str>,
    /// Its name.
    pub(super) name: Arc<str>,
    /// Its OID; 0 for DO.
    pub(super) oid: Oid,
    pub(super) kind: RoutineKind,
    /// Its result's type.
    pub(super) result: Type,
    /// Whether a result is a row.
    pub(super) returns_row: bool,
    /// The columns of the rows that it returns, if they are known.
    pub(super) expected: Option<Arc<Shape>>,
    pub(super) vars: Box<[Var]>,
    pub(super) names: Names,
    /// The slots of records' fields.
    pub(super) fields: HashMap<SlotId, HashMap<Arc<str>, SlotId>>,
    pub(super) pieces: Box<[Piece]>,
    /// Line and name of each statement.
    pub(super) places: Box<[(u32, &'static str)]>,
    pub(super) body: Block,
    /// The number of its scripts, and of its FOR loops over integers.
    pub(super) scripts: u32,
    pub(super) counters: u32,
    pub(super) arguments: Box<[SlotId]>,
    pub(super) found: SlotId,
    pub(super) new: Option<SlotId>,
    pub(super) old: Option<SlotId>,
    pub(super) conflict: VariableConflict,
    pub(super) print_strict_params: bool,
    /// Whether a variable is a record.
    pub(super) has_records: bool,
    /// The slots of the values that a trigger function is given.
    pub(super) promises: Box<[(SlotId, Promise)]>,
}

impl Code {
    /// A variable.
    pub(super) fn var(&self, slot: SlotId) -> &Var {
        &self.vars[slot.0 as usize]
    }

    /// Whether a variable is a record that takes rows of any columns.
    #[inline]
    pub(super) fn takes_any_row(&self, slot: SlotId) -> bool {
        matches!(self.var(slot), Var::Record(record) if record.ty.oid == steppe_types::oid::RECORD)
    }
}

/// A label, by its number; equal names of one function have equal numbers.
pub(super) type Label = u32;

/// A loop's or a block's label where it has none.
pub(super) const UNLABELLED: Label = 0;

/// The place of an instruction in its script.
pub(super) type Address = u32;

/// Statements in order, as instructions. The last one is [`Act::End`].
#[derive(Debug)]
pub(super) struct Script {
    /// Its number in the routine.
    pub(super) number: u32,
    pub(super) instructions: Box<[Instruction]>,
    /// The loops and blocks whose statements are among the instructions.
    pub(super) regions: Box<[Region]>,
}

/// A loop or a block, as the target of EXIT and CONTINUE.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) label: Label,
    pub(super) of: RegionOf,
    /// The region around it.
    pub(super) outer: Option<u32>,
    /// The address behind it, for EXIT.
    pub(super) exit: Address,
    /// The address of its next round, for CONTINUE.
    pub(super) again: Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegionOf {
    Block,
    Loop,
    /// A FOR, which sets FOUND when it is left.
    For,
}

impl Region {
    /// Whether an EXIT or a CONTINUE with this label means it.
    pub(super) fn is_meant(&self, exit: bool, label: Label) -> bool {
        let is_loop = self.of != RegionOf::Block;
        match label {
            UNLABELLED => is_loop,
            label => label == self.label && (is_loop || exit),
        }
    }
}

/// An instruction.
#[derive(Debug)]
pub(super) struct Instruction {
    /// The number of its statement in [`Code::places`].
    pub(super) place: u32,
    /// The innermost region that it is in.
    pub(super) within: Option<u32>,
    pub(super) act: Act,
}

/// The action of an instruction. The next one follows it, unless it jumps.
#[derive(Debug)]
pub(super) enum Act {
    /// `target := value`
    Assign {
        target: SlotId,
        value: SqlNumber,
    },
    /// Jumps if the condition is as said: true, or false or NULL.
    JumpIf {
        is_true: bool,
        condition: SqlNumber,
        to: Address,
    },
    Jump(Address),
    /// Jumps back, to the next round of a loop.
    Again(Address),
    /// Begins a FOR over integers. Without a round it goes on at `after`.
    CountFrom {
        of: Box<ForInteger>,
        after: Address,
    },
    /// The next round of a FOR, if there is one.
    Count {
        counter: u32,
        variable: SlotId,
        to: Address,
    },
    /// FOUND becomes true.
    Found,
    /// The subject of a CASE gets its value.
    Subject {
        value: SqlNumber,
        slot: SlotId,
    },
    /// The subject of a CASE has been compared.
    Compared(SlotId),
    /// The end of a CASE without ELSE: every branch was false.
    NoCase,
    /// The variables of a block get their first values.
    Declare(Box<[SlotId]>),
    /// EXIT and CONTINUE to a label outside the script.
    Leave(Flow),
    /// Any other statement.
    Statement(Kind),
    /// The end of the script.
    End,
}

/// Statements that are one instruction, by kind.
#[derive(Debug)]
pub(super) enum Kind {
    /// A block with an exception section.
    Block(Box<Block>),
    AssignPart(Box<AssignPart>),
    ForQuery(Box<ForQuery>),
    ForCursor(Box<ForCursor>),
    ForEach(Box<ForEach>),
    Return(Returned),
    ReturnNext(Returned),
    ReturnQuery(Query),
    Raise(Box<Raise>),
    Assert {
        condition: SqlNumber,
        message: Option<SqlNumber>,
    },
    Execute {
        sql: SqlNumber,
        into: Option<Into>,
    },
    ExecuteDynamic {
        query: SqlNumber,
        into: Option<Into>,
        parameters: Box<[SqlNumber]>,
    },
    Perform(SqlNumber),
    Call {
        sql: SqlNumber,
        call: bool,
    },
    GetDiagnostics {
        stacked: bool,
        items: Box<[(SlotId, DiagnosticsItem)]>,
    },
    Open {
        cursor: SlotId,
        query: OpenQuery,
    },
    Fetch(Box<Fetch>),
    Close(SlotId),
    EndTransaction {
        commit: bool,
        chain: bool,
    },
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) label: Label,
    pub(super) declared: Box<[SlotId]>,
    pub(super) body: Script,
    pub(super) exceptions: Option<Exceptions>,
}

#[derive(Debug)]
pub(super) struct Exceptions {
    pub(super) sqlstate: SlotId,
    pub(super) sqlerrm: SlotId,
    pub(super) handlers: Box<[Handler]>,
}

#[derive(Debug)]
pub(super) struct Handler {
    pub(super) conditions: Box<[Condition]>,
    pub(super) body: Script,
}

/// An assignment to a part of a variable.
#[derive(Debug)]
pub(super) struct AssignPart {
    pub(super) target: SlotId,
    pub(super) path: Box<[Step]>,
    pub(super) value: SqlNumber,
}

/// A step from a value to a part of it.
#[derive(Debug)]
pub(super) enum Step {
    /// Subscripts of an array, all of its dimensions.
    Elements(Box<[SqlNumber]>),
    /// Bounds of slices of an array.
    Slices(Box<[(Option<SqlNumber>, Option<SqlNumber>)]>),
    /// A field of a composite value.
    Field(Arc<str>),
}

#[derive(Debug)]
pub(super) struct ForInteger {
    /// The number of its counter in the routine.
    pub(super) counter: u32,
    pub(super) variable: SlotId,
    pub(super) reverse: bool,
    pub(super) first: SqlNumber,
    pub(super) last: SqlNumber,
    pub(super) step: Option<SqlNumber>,
}

#[derive(Debug)]
pub(super) struct ForQuery {
    pub(super) label: Label,
    pub(super) target: SlotId,
    pub(super) query: Query,
    pub(super) body: Script,
}

#[derive(Debug)]
pub(super) struct ForCursor {
    pub(super) label: Label,
    pub(super) target: SlotId,
    pub(super) cursor: SlotId,
    /// The cursor's query, if nothing in the loop can name the cursor.
    pub(super) query: Option<SqlNumber>,
    pub(super) arguments: Option<SqlNumber>,
    pub(super) body: Script,
}

#[derive(Debug)]
pub(super) struct ForEach {
    pub(super) label: Label,
    pub(super) target: SlotId,
    pub(super) slice: i32,
    pub(super) array: SqlNumber,
    pub(super) body: Script,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Returned {
    Nothing,
    Variable(SlotId),
    Expression(SqlNumber),
}

#[derive(Debug)]
pub(super) enum Query {
    Static(SqlNumber),
    Dynamic { text: SqlNumber, parameters: Box<[SqlNumber]> },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Into {
    pub(super) target: SlotId,
    pub(super) strict: bool,
}

#[derive(Debug)]
pub(super) struct Raise {
    pub(super) level: RaiseLevel,
    pub(super) again: bool,
    pub(super) condition: Option<(String, SqlState)>,
    pub(super) format: Option<String>,
    pub(super) parameters: Box<[SqlNumber]>,
    pub(super) options: Box<[(RaiseOption, SqlNumber)]>,
}

#[derive(Debug)]
pub(super) enum OpenQuery {
    Bound { arguments: Option<SqlNumber> },
    Given { scroll: Scroll, query: Query },
}

#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) cursor: SlotId,
    pub(super) target: Option<SlotId>,
    pub(super) direction: Direction,
    pub(super) count: FetchCount,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum FetchCount {
    Number(i64),
    All,
    Expression(SqlNumber),
}
