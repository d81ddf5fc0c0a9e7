//! Operators: rows of pg_operator.

use super::{FunctionRef, Text};
use crate::builtin::{self, Estimate, Strategy};
use std::fmt;
use std::ops::Deref;
use steppe_types::Oid;
use steppe_types::oid::FIRST_NORMAL_OID;

/// A row of pg_operator. Operators and functions that it does not have are 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// OID.
    pub oid: Oid,
    /// The schema.
    pub schema: Oid,
    /// Symbol.
    pub name: Text,
    /// Left operand type, 0 for a prefix operator.
    pub left: Oid,
    /// Right operand type.
    pub right: Oid,
    /// Result type.
    pub result: Oid,
    /// The function that computes it.
    pub func: Oid,
    /// Commutator operator.
    pub commutator: Oid,
    /// Negator operator.
    pub negator: Oid,
    /// oprcanhash
    pub can_hash: bool,
    /// oprcanmerge
    pub can_merge: bool,
    /// How many rows it selects (oprrest).
    pub estimate: Estimate,
    /// How many pairs of rows it selects (oprjoin).
    pub join_estimate: Estimate,
}

impl Operator {
    /// Whether PostgreSQL has it built in.
    pub fn is_built_in(&self) -> bool {
        self.oid < FIRST_NORMAL_OID
    }

    /// The symbol of a built-in operator: what decides by a symbol asks for this one.
    pub fn built_in_name(&self) -> Option<&str> {
        self.is_built_in().then_some(&*self.name)
    }

    /// The function of a built-in operator.
    pub fn built_in_function(&self) -> Option<FunctionRef> {
        FunctionRef::built_in(self.func)
    }

    /// The btree strategy that it stands for in a default operator family.
    pub fn strategy(&self) -> Option<Strategy> {
        builtin::strategy(self.oid)
    }
}

/// An operator as expressions hold it: what is built in stays as long as the process runs.
#[derive(Clone, Copy)]
pub struct OperatorRef(&'static Operator);

impl OperatorRef {
    /// A built-in operator by OID.
    pub fn built_in(oid: Oid) -> Option<OperatorRef> {
        builtin::operator(oid)
    }

    /// The operator, for as long as the process runs.
    pub fn get(self) -> &'static Operator {
        self.0
    }
}

impl From<&'static Operator> for OperatorRef {
    fn from(operator: &'static Operator) -> OperatorRef {
        OperatorRef(operator)
    }
}

impl Deref for OperatorRef {
    type Target = Operator;

    #[inline]
    fn deref(&self) -> &Operator {
        self.0
    }
}

/// A plan never mixes versions of the catalog: the OID says which operator it is.
impl PartialEq for OperatorRef {
    fn eq(&self, other: &OperatorRef) -> bool {
        self.0.oid == other.0.oid
    }
}

impl Eq for OperatorRef {}

impl fmt::Debug for OperatorRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.oid)
    }
}
