//! Why a bound was refused.

use crate::bound::{PartitionBound, range_text};
use steppe_types::io::IoContext;
use steppe_types::oid::Oid;
use steppe_types::{Error, Result, SqlState};

/// A bound that conflicts with the existing partitions.
#[derive(Debug)]
pub enum BoundError {
    /// There is a default partition already.
    SecondDefault {
        /// The existing default partition.
        existing: Oid,
    },
    /// The lower bound is not below the upper one.
    EmptyRange {
        /// The part of the bound in which they differ.
        place: BoundPlace,
    },
    /// Some key would belong to two partitions.
    Overlap {
        /// The partition that has the key.
        existing: Oid,
        /// The part of the new bound that reaches into it.
        place: BoundPlace,
    },
    /// Hash moduli must form a chain of factors.
    Modulus {
        /// The new partition's modulus.
        modulus: u32,
        /// The modulus that conflicts with it.
        other: u32,
        /// A partition that has it.
        existing: Oid,
        /// Whether the other one is the greater.
        other_is_greater: bool,
    },
    /// Anything else: a value that is not of its column's type.
    Other(Error),
}

impl From<Error> for BoundError {
    fn from(error: Error) -> BoundError {
        BoundError::Other(error)
    }
}

/// The part of a bound that an error points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundPlace {
    /// The bound as a whole.
    Whole,
    /// A datum of FROM.
    Lower(usize),
    /// A datum of TO.
    Upper(usize),
    /// A value of IN.
    Value(usize),
}

impl BoundError {
    /// The part of the bound that the error's cursor position points at, if it has one.
    pub fn place(&self) -> Option<BoundPlace> {
        match self {
            BoundError::SecondDefault { .. } => Some(BoundPlace::Whole),
            BoundError::EmptyRange { place } | BoundError::Overlap { place, .. } => Some(*place),
            BoundError::Modulus { .. } | BoundError::Other(_) => None,
        }
    }

    /// PostgreSQL's error for the new partition `relation` with `bound`
    /// (check_new_partition_bound), still without its position.
    pub fn report(
        self,
        relation: &str,
        bound: &PartitionBound,
        name_of: impl Fn(Oid) -> String,
        context: &IoContext,
    ) -> Error {
        let error = |message: String| Error::new(SqlState::INVALID_OBJECT_DEFINITION, message);
        match self {
            BoundError::Other(error) => error,
            BoundError::SecondDefault { existing } => error(format!(
                "partition \"{relation}\" conflicts with existing default partition \"{}\"",
                name_of(existing)
            )),
            BoundError::Overlap { existing, .. } => error(format!(
                "partition \"{relation}\" would overlap partition \"{}\"",
                name_of(existing)
            )),
            BoundError::EmptyRange { .. } => {
                let reported =
                    error(format!("empty range bound specified for partition \"{relation}\""));
                match empty_range_detail(bound, context) {
                    Ok(detail) => reported.detail(detail),
                    Err(error) => error,
                }
            }
            BoundError::Modulus { modulus, other, existing, other_is_greater } => {
                let relation = if other_is_greater { "a factor of" } else { "divisible by" };
                error(
                    "every hash partition modulus must be a factor of the next larger modulus"
                        .into(),
                )
                .detail(format!(
                    "The new modulus {modulus} is not {relation} {other}, the modulus of \
                     existing partition \"{}\".",
                    name_of(existing)
                ))
            }
        }
    }
}

fn empty_range_detail(bound: &PartitionBound, context: &IoContext) -> Result<String> {
    let PartitionBound::Range { lower, upper } = bound else {
        return Err(Error::internal("an empty range is not the bound of a range partition"));
    };
    Ok(format!(
        "Specified lower bound {} is greater than or equal to upper bound {}.",
        range_text(lower, context)?,
        range_text(upper, context)?
    ))
}
