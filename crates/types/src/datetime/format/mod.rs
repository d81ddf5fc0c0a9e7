//! Pictures: to_char, to_date, to_timestamp and to_number (formatting.c).
//!
//! A picture such as `FMDay, DD "of" Month` is parsed into nodes: fields with
//! their modifiers, and the text between. Writing replaces each field by its value;
//! reading takes each field's value from the input. Names are English.

mod from_char;
mod keyword;
mod number;
mod to_char;
mod to_number;

pub use from_char::{to_date, to_timestamp};
pub use number::{float_to_char, numeric_to_char};
pub use to_char::{interval_to_char, timestamp_to_char, timestamptz_to_char};
pub use to_number::to_number;
