//! The syntax tree of a body, made for execution.
//!
//! A variable is a slot of one [frame](frame). SQL stays text ([`Sql`]), with the names visible
//! where it stands. A statement has its line and its name for the CONTEXT of an error.

pub mod frame;
pub mod sql;
pub mod statement;

pub use self::frame::{BoundCursor, Field, Promise, Record, Row, Scalar, Scroll, Slot, SlotId};
pub use self::sql::{Sql, SqlKind};
pub use self::statement::*;

use crate::names::Names;
use crate::types::VariableConflict;
use steppe_types::Error;

/// A function's program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its outermost block.
    pub body: Block,
    /// Its frame.
    pub slots: Vec<Slot>,
    /// All names: the scope of each SQL text points into it.
    pub names: Names,
    /// The slots that the arguments given by the caller go to, in their order.
    pub arguments: Vec<SlotId>,
    /// The slot of the OUT argument, or of the row of them.
    pub out: Option<SlotId>,
    /// `FOUND`.
    pub found: SlotId,
    /// `NEW`, in a trigger function.
    pub new: Option<SlotId>,
    /// `OLD`, in a trigger function.
    pub old: Option<SlotId>,
    /// Which of two things of one name is meant in SQL.
    pub variable_conflict: VariableConflict,
    /// Whether an INTO STRICT that fails shows its parameters.
    pub print_strict_params: bool,
    /// Whether `#option dump` asks for the tree in the server's log.
    pub dump: bool,
    /// Warnings of the compilation, in order. Their positions count the characters of the body.
    pub warnings: Vec<Error>,
}
