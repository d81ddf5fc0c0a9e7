//! numeric: arbitrary precision decimal (replaced by the numeric slice).

/// An arbitrary-precision decimal.
#[derive(Clone, Debug)]
pub struct Numeric(pub std::sync::Arc<str>);
