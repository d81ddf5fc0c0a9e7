//! The bound of one partition (FOR VALUES), its stored form and its text.

use crate::exact::make_exact;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use steppe_types::io::IoContext;
use steppe_types::oid::{self, Oid};
use steppe_types::text_io::{input, output_string};
use steppe_types::{Datum, Result};

/// A partition's bound (PostgreSQL's PartitionBoundSpec, after analysis).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionBound {
    /// `FROM (lower) TO (upper)`: lower is included, upper is not.
    Range {
        /// One datum a key column.
        lower: Vec<RangeDatum>,
        /// One datum a key column.
        upper: Vec<RangeDatum>,
    },
    /// `IN (values)`; NULL may be one of them.
    List {
        /// The values, in the order written.
        values: Vec<BoundValue>,
    },
    /// `WITH (modulus, remainder)`.
    Hash {
        /// Greater than zero.
        modulus: u32,
        /// Less than the modulus.
        remainder: u32,
    },
    /// `DEFAULT`: the rows that no other partition takes.
    Default,
}

impl PartitionBound {
    /// Gives up memory that it does not use.
    pub fn shrink_to_fit(&mut self) {
        match self {
            PartitionBound::Range { lower, upper } => {
                make_exact(lower);
                make_exact(upper);
            }
            PartitionBound::List { values } => make_exact(values),
            PartitionBound::Hash { .. } | PartitionBound::Default => {}
        }
    }
}

/// One column of a range bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RangeDatum {
    /// Below every value.
    MinValue,
    /// A value, never NULL.
    Value(BoundValue),
    /// Above every value.
    MaxValue,
}

/// A value in a bound, with the type of its key column.
///
/// It is stored as its type's text, written under fixed settings: text outlives a
/// change of the representation, and is read without the session that wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundValue {
    type_oid: Oid,
    datum: Datum,
}

impl BoundValue {
    /// A value of the key column's type.
    pub fn new(type_oid: Oid, datum: Datum) -> BoundValue {
        BoundValue { type_oid, datum }
    }

    /// The type of the key column.
    pub fn type_oid(&self) -> Oid {
        self.type_oid
    }

    /// The value.
    pub fn datum(&self) -> &Datum {
        &self.datum
    }

    /// Writes the value as an expression in a bound (get_const_expr without a type label): plain
    /// numbers and booleans are bare, all other values are quoted.
    fn write_text(&self, context: &IoContext, out: &mut String) -> Result<()> {
        if self.datum.is_null() {
            out.push_str("NULL");
            return Ok(());
        }
        let text = match &self.datum {
            Datum::Enum(_, order) if context.catalog.is_none() => order.to_string(),
            datum => output_string(self.type_oid, datum, context)?,
        };
        let digit_first = text.starts_with(|c: char| c.is_ascii_digit());
        match self.type_oid {
            oid::BOOL => out.push_str(if text == "t" { "true" } else { "false" }),
            oid::INT4 if digit_first => out.push_str(&text),
            oid::NUMERIC if digit_first && text.contains(['e', 'E', '.']) => out.push_str(&text),
            _ => {
                out.push('\'');
                out.push_str(&text.replace('\'', "''"));
                out.push('\'');
            }
        }
        Ok(())
    }
}

impl Serialize for BoundValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match &self.datum {
            Datum::Null => None,
            // Labels may be renamed; the place of one in the order stays.
            Datum::Enum(_, order) => Some(order.to_string()),
            datum => Some(
                output_string(self.type_oid, datum, &IoContext::default())
                    .map_err(ser::Error::custom)?,
            ),
        };
        (self.type_oid, text).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BoundValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BoundValue, D::Error> {
        let (type_oid, text) = <(Oid, Option<String>)>::deserialize(deserializer)?;
        let datum = match text {
            None => Datum::Null,
            Some(order) if oid::is_enum_type(type_oid) => {
                Datum::Enum(type_oid, order.parse().map_err(de::Error::custom)?)
            }
            Some(text) => {
                input(type_oid, -1, &text, &IoContext::default()).map_err(de::Error::custom)?
            }
        };
        Ok(BoundValue { type_oid, datum })
    }
}

impl PartitionBound {
    /// As `pg_get_expr(relpartbound, oid)` prints it, under a session's settings.
    pub fn text(&self, context: &IoContext) -> Result<String> {
        let mut out = String::new();
        match self {
            PartitionBound::Default => out.push_str("DEFAULT"),
            PartitionBound::Hash { modulus, remainder } => {
                out = format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})");
            }
            PartitionBound::List { values } => {
                out.push_str("FOR VALUES IN (");
                for (n, value) in values.iter().enumerate() {
                    out.push_str(if n > 0 { ", " } else { "" });
                    value.write_text(context, &mut out)?;
                }
                out.push(')');
            }
            PartitionBound::Range { lower, upper } => {
                let (lower, upper) = (range_text(lower, context)?, range_text(upper, context)?);
                out = format!("FOR VALUES FROM {lower} TO {upper}");
            }
        }
        Ok(out)
    }
}

/// `(1, MINVALUE)`: one side of a range (get_range_partbound_string).
pub(crate) fn range_text(datums: &[RangeDatum], context: &IoContext) -> Result<String> {
    let mut out = String::from("(");
    for (n, datum) in datums.iter().enumerate() {
        out.push_str(if n > 0 { ", " } else { "" });
        match datum {
            RangeDatum::MinValue => out.push_str("MINVALUE"),
            RangeDatum::MaxValue => out.push_str("MAXVALUE"),
            RangeDatum::Value(value) => value.write_text(context, &mut out)?,
        }
    }
    out.push(')');
    Ok(out)
}
