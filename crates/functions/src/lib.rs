//! Built-in functions, attached to pg_proc rows by their C symbol (prosrc), and the services that
//! they and the executor need from the session.
//!
//! ```text
//!   functions ──▶ Host            notices, settings, sequences, clock, chance
//!                  ▲ is also
//!   executor ──▶ SessionHost      locks, catalogs in force, progress, statements of functions
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `host/mod` | what a function may ask of the session |
//! | `host/session` | what the executor and DDL ask besides |
//! | `context` | what a function is called with |
//! | `builtin` | what a function is |
//! | any other | a family of functions, or what several share |
//!
//! Each family has a static table of `(prosrc, Builtin)`. The executor's registry searches these
//! tables before those of crates above it. A call of a function without an entry is refused when
//! the statement is compiled. The crate guarantees that a function runs no statements, and sees
//! only [`Host`] of a session.
//!
//! The default comparisons (`int4eq`, `text_lt`, `numeric_ge` …) are entries of their own kind,
//! [`Builtin::Compare`]: the compiler turns them into an inlined comparison that reads its operands
//! in place.

mod acl;
pub mod args;
mod array;
mod array_search;
pub mod as_text;
mod bits;
mod boolean;
mod builtin;
mod bytea;
mod cast;
mod compare;
pub mod compare_rows;
mod context;
mod date_compare;
mod date_functions;
mod date_operators;
mod degrees;
mod describe;
mod enums;
mod float;
mod float_math;
mod function_definition;
mod hash;
mod host;
mod in_range;
mod int;
mod json;
mod numeric;
mod partition;
mod pattern;
mod pg_lsn;
mod privilege;
mod random;
pub mod reg;
mod reg_functions;
pub mod rules;
pub mod series;
mod session;
pub mod sha2;
mod signature;
mod size;
pub mod sql_bodies;
mod text;
mod text_variadic;
pub mod type_info;
mod uuid;
mod visibility;
mod xids;

pub use builtin::{
    Builtin, CallInfo, CmpOp, Entry, ScalarFn, SetFn, SetRows, TypedFn, arg, as_one_value, scalar,
    set, typed,
};
pub use context::FnContext;
pub use date_compare::order as order_of_times;
pub use host::{
    CountedCall, Frame, Host, Identity, KeyCheck, NoSession, SessionHost, TransitionRows,
    TransitionTable, UtilityCall,
};
pub use json::escape_json;
pub use partition::{Lists, bound_condition, partition_condition};
pub use session::transaction_id;

use hashbrown::HashMap;
use std::sync::OnceLock;

/// The families.
const FAMILIES: &[&[Entry]] = &[
    acl::TABLE,
    array::TABLE,
    array_search::TABLE,
    bits::TABLE,
    boolean::TABLE,
    bytea::TABLE,
    cast::TABLE,
    compare::TABLE,
    date_compare::TABLE,
    date_functions::TABLE,
    date_operators::TABLE,
    degrees::TABLE,
    describe::TABLE,
    enums::TABLE,
    float::TABLE,
    float_math::TABLE,
    function_definition::TABLE,
    hash::TABLE,
    in_range::TABLE,
    int::TABLE,
    json::TABLE,
    numeric::TABLE,
    pattern::TABLE,
    pg_lsn::TABLE,
    xids::TABLE,
    privilege::TABLE,
    random::TABLE,
    reg_functions::TABLE,
    partition::TABLE,
    rules::TABLE,
    series::TABLE,
    session::TABLE,
    signature::TABLE,
    size::TABLE,
    text::TABLE,
    text_variadic::TABLE,
    type_info::TABLE,
    uuid::TABLE,
    visibility::TABLE,
];

/// The implementation behind a prosrc name.
pub fn lookup(source: &str) -> Option<Builtin> {
    static INDEX: OnceLock<HashMap<&'static str, Builtin>> = OnceLock::new();
    let index =
        INDEX.get_or_init(|| FAMILIES.iter().flat_map(|table| table.iter().copied()).collect());
    index.get(source).copied()
}
