//! How many rows conditions leave (clausesel.c, selfuncs.c).
//!
//! ```text
//!   clauses   lists of conditions; two bounds of one expression are a range
//! ```

mod clauses;
