//! Built-in functions, attached to pg_proc rows by their C symbol (prosrc).
//!
//! One file a family, each with a static table of `(prosrc, Builtin)`. They are found through
//! [`crate::registry`]; a call of a function that has no entry anywhere is refused when the
//! statement is compiled.
//!
//! The default comparisons (`int4eq`, `text_lt`, `numeric_ge` …) are entries of
//! their own kind, [`Builtin::Compare`]: the compiler turns them into an inlined
//! comparison that looks at its operands where they are.

mod acl;
pub(crate) mod args;
mod array;
mod array_search;
mod bits;
mod boolean;
mod builtin;
mod bytea;
mod cast;
mod compare;
pub(crate) mod compare_rows;
mod date_compare;
mod date_functions;
mod date_operators;
mod degrees;
mod describe;
mod float;
mod float_math;
mod function_definition;
mod hash;
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
pub(crate) mod sha2;
mod signature;
mod size;
pub(crate) mod sql_bodies;
mod text;
mod text_variadic;
pub(crate) mod type_info;
mod uuid;
mod visibility;
mod xids;

pub use builtin::{
    Builtin, CallInfo, CmpOp, Entry, ScalarFn, SetFn, SetRows, TypedFn, arg, as_one_value, scalar,
    set, typed,
};
pub(crate) use date_compare::order as order_of_times;
pub(crate) use json::escape_json;
pub(crate) use partition::{Lists, bound_condition, partition_condition};
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
pub(crate) fn lookup(source: &str) -> Option<Builtin> {
    static INDEX: OnceLock<HashMap<&'static str, Builtin>> = OnceLock::new();
    let index =
        INDEX.get_or_init(|| FAMILIES.iter().flat_map(|table| table.iter().copied()).collect());
    index.get(source).copied()
}
