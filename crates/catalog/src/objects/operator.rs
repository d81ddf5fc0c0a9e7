//! Operators: rows of pg_operator.
//!
//! An expression holds the operator that it applies as an [`OperatorRef`]. Code that decides by an
//! operator's symbol asks [`Operator::built_in_name`], and code that decides by its meaning
//! [`Operator::strategy`]: a user's operator may have the symbol of a built-in one, but it belongs to
//! no operator family.

use super::stored::{Objects, StoredKind};
use super::{FunctionRef, Text};
use crate::builtin::{self, Estimate, Strategy};
use crate::object_id::ObjectId;
use crate::{Catalog, RareText};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use steppe_types::Oid;
use steppe_types::oid::FIRST_NORMAL_OID;

/// A row of pg_operator. Operators and functions that it does not have are 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Operator {
    /// OID.
    pub oid: Oid,
    /// The schema.
    pub schema: Oid,
    /// Symbol.
    pub name: Text,
    /// Owner.
    pub owner: Oid,
    /// Left operand type, 0 for a prefix operator.
    pub left: Oid,
    /// Right operand type.
    pub right: Oid,
    /// Result type.
    pub result: Oid,
    /// The function that computes it; 0 for a shell, which only another operator names so far.
    pub func: Oid,
    /// Commutator operator.
    pub commutator: Oid,
    /// Negator operator.
    pub negator: Oid,
    /// oprcanhash
    pub can_hash: bool,
    /// oprcanmerge
    pub can_merge: bool,
    /// oprrest
    pub restrict: Oid,
    /// oprjoin
    pub join: Oid,
    /// COMMENT ON OPERATOR.
    pub comment: Option<RareText>,
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

    /// How many rows it selects.
    pub fn estimate(&self) -> Estimate {
        self.estimate_by(self.restrict)
    }

    /// How many pairs of rows it selects.
    pub fn join_estimate(&self) -> Estimate {
        self.estimate_by(self.join)
    }

    /// The estimator of a function. A user's operator may name one of another kind of operator:
    /// statistics tell of it only what they tell of an equality.
    fn estimate_by(&self, function: Oid) -> Estimate {
        let estimate = Estimate::of(function);
        let is_equality = matches!(estimate, Estimate::Equal | Estimate::NotEqual);
        match self.is_built_in() || is_equality && self.left == self.right {
            true => estimate,
            false => estimate.without_statistics(),
        }
    }

    /// Whether it only holds the place of an operator that others name.
    pub fn is_shell(&self) -> bool {
        self.func == 0
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

impl StoredKind for Operator {
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
        ObjectId::Operator(oid)
    }

    fn of(catalog: &Catalog) -> &Objects<Operator> {
        &catalog.operators
    }

    fn of_mut(catalog: &mut Catalog) -> &mut Objects<Operator> {
        &mut catalog.operators
    }
}

/// An operator as expressions and plans hold it. As with [`FunctionRef`], a built-in one is cloned and
/// dropped without a change to memory that others read.
#[derive(Clone)]
pub struct OperatorRef(Held);

#[derive(Clone)]
enum Held {
    BuiltIn(&'static Operator),
    Own(Arc<Operator>),
}

impl OperatorRef {
    /// A built-in operator by OID.
    pub fn built_in(oid: Oid) -> Option<OperatorRef> {
        builtin::operator(oid)
    }
}

impl From<&'static Operator> for OperatorRef {
    fn from(operator: &'static Operator) -> OperatorRef {
        OperatorRef(Held::BuiltIn(operator))
    }
}

impl From<Arc<Operator>> for OperatorRef {
    fn from(operator: Arc<Operator>) -> OperatorRef {
        OperatorRef(Held::Own(operator))
    }
}

impl Deref for OperatorRef {
    type Target = Operator;

    #[inline]
    fn deref(&self) -> &Operator {
        match &self.0 {
            Held::BuiltIn(operator) => operator,
            Held::Own(operator) => operator,
        }
    }
}

/// A plan never mixes versions of the catalog: the OID says which operator it is.
impl PartialEq for OperatorRef {
    fn eq(&self, other: &OperatorRef) -> bool {
        self.oid == other.oid
    }
}

impl Eq for OperatorRef {}

impl fmt::Debug for OperatorRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.oid)
    }
}
