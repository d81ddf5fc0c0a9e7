//! Functions, procedures, aggregates and window functions: rows of pg_proc and pg_aggregate.
//!
//! An expression holds the function that it calls as a [`FunctionRef`], so that the planner and the
//! executor need no catalog for the function's properties. Code that decides by a function's name or
//! source asks [`Function::built_in_name`] or [`Function::built_in_source`]: a user's function may
//! have the same name or source.

use super::Text;
use super::stored::{Objects, StoredKind};
use crate::builtin;
use crate::object_id::ObjectId;
use crate::{Catalog, RareText};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use steppe_types::Oid;
use steppe_types::oid::FIRST_NORMAL_OID;

/// A row of pg_proc, and of pg_aggregate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    /// OID.
    pub oid: Oid,
    /// The schema; 0 for what an extension brings, which has one when that is installed.
    pub schema: Oid,
    /// Name.
    pub name: Text,
    /// The extension that brings it, into the schema that CREATE EXTENSION names.
    #[serde(skip)]
    pub brought_by: Option<&'static str>,
    /// Owner.
    pub owner: Oid,
    /// Function, procedure, aggregate or window function (prokind).
    pub kind: FunctionKind,
    /// Input argument types: what a call is resolved by.
    pub args: Box<[Oid]>,
    /// All arguments and the columns of the result. Empty if all are input arguments without
    /// names, which `args` has.
    pub declared: Box<[Argument]>,
    /// Return type.
    pub ret: Oid,
    /// Returns a set.
    pub retset: bool,
    /// Returns NULL on NULL input.
    pub strict: bool,
    /// LEAKPROOF
    pub leakproof: bool,
    /// SECURITY DEFINER
    pub security_definer: bool,
    /// provolatile
    pub volatility: Volatility,
    /// proparallel
    pub parallel: Parallel,
    /// procost
    pub cost: f32,
    /// Estimated rows of a set-returning function.
    pub rows: f32,
    /// Element type of a VARIADIC last argument, or 0.
    pub variadic: Oid,
    /// The planner's support function, or 0.
    pub support: Oid,
    /// Defaults of the last input arguments, as SQL text.
    pub defaults: Box<[Text]>,
    /// Its code.
    pub body: Body,
    /// Settings that hold while it runs (SET clauses).
    pub config: Box<[(Text, Text)]>,
    /// COMMENT ON FUNCTION.
    pub comment: Option<RareText>,
    /// The relations (column 0), their columns and the functions (column 0) that a body in SQL's
    /// own syntax reads, and the functions of an aggregate: it depends on them.
    #[serde(default)]
    pub reads: Box<[(Oid, i16)]>,
}

/// prokind
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FunctionKind {
    /// A function.
    Plain,
    /// A procedure.
    Procedure,
    /// A window function.
    Window,
    /// An aggregate.
    Aggregate(Box<Aggregate>),
}

/// A row of pg_aggregate. Functions and types that it does not have are 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Aggregate {
    /// aggkind
    pub kind: AggregateKind,
    /// Direct arguments before WITHIN GROUP; a VARIADIC one counts once.
    pub direct_args: usize,
    /// The transition function.
    pub transition: Oid,
    /// The type of the state.
    pub state: Oid,
    /// The state before the first row, as text; none is NULL.
    pub initial: Option<Text>,
    /// The final function.
    pub finish: Oid,
    /// Whether the final function gets the arguments' types, too.
    pub finish_extra: bool,
    /// The effect of the final function on the state.
    pub finish_modify: FinishModify,
    /// The function that combines two states.
    pub combine: Oid,
    /// The function that makes bytes of a state of type internal.
    pub serialize: Oid,
    /// The function that reads them.
    pub deserialize: Oid,
    /// Sort operator for min/max by index.
    pub sort_operator: Oid,
    /// The size of a state in bytes, for the planner; 0 is a default.
    pub space: i32,
    /// The functions for a frame that moves.
    pub moving: Option<Moving>,
}

/// How an aggregate is computed over a frame that moves (the columns of pg_aggregate with an m).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Moving {
    /// The transition function.
    pub transition: Oid,
    /// The function that removes a row.
    pub inverse: Oid,
    /// The type of the state.
    pub state: Oid,
    /// The state before the first row, as text; none is NULL.
    pub initial: Option<Text>,
    /// The final function.
    pub finish: Oid,
    /// Whether the final function gets the arguments' types, too.
    pub finish_extra: bool,
    /// The effect of the final function on the state.
    pub finish_modify: FinishModify,
    /// The size of a state in bytes, for the planner; 0 is a default.
    pub space: i32,
}

/// The effect of a final function on the state (aggfinalmodify).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinishModify {
    /// The state stays as it is.
    #[default]
    ReadOnly,
    /// It may be called again, but no row may be added.
    Shareable,
    /// The state is of no further use.
    ReadWrite,
}

impl FinishModify {
    /// That of a letter in pg_aggregate.
    pub fn of(letter: u8) -> FinishModify {
        match letter {
            b's' => FinishModify::Shareable,
            b'w' => FinishModify::ReadWrite,
            _ => FinishModify::ReadOnly,
        }
    }

    /// Its letter in pg_aggregate.
    pub fn letter(self) -> u8 {
        match self {
            FinishModify::ReadOnly => b'r',
            FinishModify::Shareable => b's',
            FinishModify::ReadWrite => b'w',
        }
    }
}

impl AggregateKind {
    /// Its letter in pg_aggregate.
    pub fn letter(self) -> u8 {
        match self {
            AggregateKind::Normal => b'n',
            AggregateKind::OrderedSet => b'o',
            AggregateKind::HypotheticalSet => b'h',
        }
    }
}

/// aggkind
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AggregateKind {
    /// Over rows in any order.
    Normal,
    /// WITHIN GROUP.
    OrderedSet,
    /// WITHIN GROUP, with a row that is not there.
    HypotheticalSet,
}

/// provolatile
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Volatility {
    /// The same for the same arguments.
    Immutable,
    /// The same within a statement.
    Stable,
    /// Another one for each call.
    Volatile,
}

/// proparallel
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Parallel {
    /// Runs anywhere.
    Safe,
    /// Runs in the leader.
    Restricted,
    /// Keeps the statement from being parallel.
    Unsafe,
}

/// An argument, or a column of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// Its name, or the empty one.
    pub name: Text,
    /// Its mode.
    pub mode: ArgumentMode,
    /// Its type.
    pub ty: Oid,
}

/// proargmodes
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArgumentMode {
    /// IN
    In,
    /// OUT
    Out,
    /// INOUT
    InOut,
    /// VARIADIC
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

/// The code of a function, and its language (prolang, prosrc, prosqlbody).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Body {
    /// Language internal or c: this program has the code, under the name of its source.
    Native {
        /// pg_language OID.
        language: Oid,
        /// prosrc
        source: Text,
    },
    /// Language SQL, from a string.
    Sql {
        /// The statements.
        text: Text,
    },
    /// Language SQL: BEGIN ATOMIC, or RETURN.
    SqlStandard {
        /// The body, with qualified names.
        text: Text,
    },
    /// A procedural language.
    Procedural {
        /// pg_language OID.
        language: Oid,
        /// prosrc
        source: Text,
    },
}

impl ArgumentMode {
    /// The mode of a letter in proargmodes.
    pub fn of(letter: &str) -> ArgumentMode {
        match letter {
            "o" => ArgumentMode::Out,
            "b" => ArgumentMode::InOut,
            "v" => ArgumentMode::Variadic,
            "t" => ArgumentMode::Table,
            _ => ArgumentMode::In,
        }
    }

    /// Its letter in proargmodes.
    pub fn letter(self) -> u8 {
        match self {
            ArgumentMode::In => b'i',
            ArgumentMode::Out => b'o',
            ArgumentMode::InOut => b'b',
            ArgumentMode::Variadic => b'v',
            ArgumentMode::Table => b't',
        }
    }

    /// Whether a call gives it.
    pub fn is_input(self) -> bool {
        matches!(self, ArgumentMode::In | ArgumentMode::InOut | ArgumentMode::Variadic)
    }

    /// Whether the result has it.
    pub fn is_output(self) -> bool {
        matches!(self, ArgumentMode::Out | ArgumentMode::InOut | ArgumentMode::Table)
    }
}

impl Function {
    /// Whether PostgreSQL has it built in.
    pub fn is_built_in(&self) -> bool {
        self.oid < FIRST_NORMAL_OID && self.brought_by.is_none()
    }

    /// The name of a built-in function: what decides by a name asks for this one.
    pub fn built_in_name(&self) -> Option<&str> {
        self.is_built_in().then_some(&*self.name)
    }

    /// The source of a built-in function: what decides by a source asks for this one.
    pub fn built_in_source(&self) -> Option<&str> {
        self.is_built_in().then_some(self.source())
    }

    /// prosrc: the name of the code, or the code.
    pub fn source(&self) -> &str {
        match &self.body {
            Body::Native { source, .. } | Body::Procedural { source, .. } => source,
            Body::Sql { text } | Body::SqlStandard { text } => text,
        }
    }

    /// VOLATILE
    pub fn is_volatile(&self) -> bool {
        self.volatility == Volatility::Volatile
    }

    /// IMMUTABLE
    pub fn is_immutable(&self) -> bool {
        self.volatility == Volatility::Immutable
    }

    /// Its row of pg_aggregate, if it is an aggregate.
    pub fn aggregate(&self) -> Option<&Aggregate> {
        match &self.kind {
            FunctionKind::Aggregate(aggregate) => Some(aggregate),
            _ => None,
        }
    }

    /// Whether it is an aggregate.
    pub fn is_aggregate(&self) -> bool {
        matches!(self.kind, FunctionKind::Aggregate(_))
    }

    /// Whether it is an aggregate with WITHIN GROUP.
    pub fn is_ordered_set(&self) -> bool {
        self.aggregate().is_some_and(|aggregate| aggregate.kind != AggregateKind::Normal)
    }

    /// Whether it is a window function.
    pub fn is_window(&self) -> bool {
        matches!(self.kind, FunctionKind::Window)
    }

    /// Whether it is a procedure.
    pub fn is_procedure(&self) -> bool {
        matches!(self.kind, FunctionKind::Procedure)
    }

    /// All arguments, with the columns of the result, whether they have names or not.
    pub fn arguments(&self) -> Cow<'_, [Argument]> {
        let unnamed = |ty: &Oid| Argument { name: "".into(), mode: ArgumentMode::In, ty: *ty };
        match self.declared.is_empty() {
            true => self.args.iter().map(unnamed).collect(),
            false => Cow::Borrowed(&self.declared),
        }
    }

    /// The default of an input argument, which are counted from 1.
    pub fn default_of(&self, input: usize) -> Option<&str> {
        let first = self.args.len() - self.defaults.len() + 1;
        self.defaults.get(input.checked_sub(first)?).map(|text| &**text)
    }

    /// The names of the input arguments; none where they have no names.
    pub fn input_names(&self) -> impl Iterator<Item = &str> {
        self.declared.iter().filter(|a| a.mode.is_input()).map(|a| &*a.name)
    }

    /// OUT and TABLE columns: their names and types.
    pub fn out_columns(&self) -> impl Iterator<Item = (&str, Oid)> + Clone {
        self.declared.iter().filter(|a| a.mode.is_output()).map(|a| (&*a.name, a.ty))
    }
}

impl StoredKind for Function {
    fn oid(&self) -> Oid {
        self.oid
    }

    fn schema(&self) -> Oid {
        self.schema
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn id(oid: Oid) -> ObjectId {
        ObjectId::Function(oid)
    }

    fn of(catalog: &Catalog) -> &Objects<Function> {
        &catalog.functions
    }

    fn of_mut(catalog: &mut Catalog) -> &mut Objects<Function> {
        &mut catalog.functions
    }
}

/// A function as expressions and plans hold it. A built-in one is cloned, compared and dropped
/// without a change to memory that others read: sessions that plan the same share no counter.
#[derive(Clone)]
pub struct FunctionRef(Held);

#[derive(Clone)]
enum Held {
    BuiltIn(&'static Function),
    Own(Arc<Function>),
}

impl FunctionRef {
    /// A built-in function, or one that an extension brings, by OID.
    pub fn built_in(oid: Oid) -> Option<FunctionRef> {
        builtin::function(oid)
    }

    /// Whether both are the same version of the same function: one object, not equal ones.
    pub fn is_version(&self, other: &FunctionRef) -> bool {
        std::ptr::eq::<Function>(&**self, &**other)
    }
}

impl From<&'static Function> for FunctionRef {
    fn from(function: &'static Function) -> FunctionRef {
        FunctionRef(Held::BuiltIn(function))
    }
}

impl From<Arc<Function>> for FunctionRef {
    fn from(function: Arc<Function>) -> FunctionRef {
        FunctionRef(Held::Own(function))
    }
}

impl Deref for FunctionRef {
    type Target = Function;

    #[inline]
    fn deref(&self) -> &Function {
        match &self.0 {
            Held::BuiltIn(function) => function,
            Held::Own(function) => function,
        }
    }
}

/// A plan never mixes versions of the catalog: the OID says which function it is.
impl PartialEq for FunctionRef {
    fn eq(&self, other: &FunctionRef) -> bool {
        self.oid == other.oid
    }
}

impl Eq for FunctionRef {}

impl fmt::Debug for FunctionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.oid)
    }
}
