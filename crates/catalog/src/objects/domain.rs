//! Domains: a type with conditions (the domain's columns of pg_type, and its rows of pg_constraint).
//!
//! A value of a domain is stored as a value of its base type, in memory and on disk. Where an
//! expression becomes a value of the domain, the executor checks the conditions.

use crate::{Catalog, Column, builtin};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::Oid;
use steppe_types::oid::is_domain;

/// The definition of a domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Domain {
    /// The type below it, which may be a domain.
    pub base: Oid,
    /// The modifier of that, or -1.
    pub modifier: i32,
    /// Its collation, or 0.
    pub collation: Oid,
    /// The NOT NULL constraint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_null: Option<DomainNotNull>,
    /// DEFAULT, as a stored text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Arc<str>>,
    /// CHECK constraints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<DomainCheck>,
}

/// A NOT NULL constraint of a domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DomainNotNull {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
}

/// A CHECK constraint of a domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DomainCheck {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
    /// The condition over VALUE, as a stored text.
    pub expression: Arc<str>,
    /// Whether existing values are known to fulfil it.
    pub validated: bool,
}

/// A type that is no domain, with the modifier that a domain gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseType {
    /// The type.
    pub oid: Oid,
    /// Its modifier, or -1.
    pub modifier: i32,
}

impl Domain {
    /// The domain's conditions hold for every value.
    pub fn is_unconstrained(&self) -> bool {
        self.not_null.is_none() && self.checks.is_empty()
    }

    /// The names of its constraints.
    pub fn constraint_names(&self) -> impl Iterator<Item = &Arc<str>> {
        let checks = self.checks.iter().map(|check| &check.name);
        self.not_null.iter().map(|not_null| &not_null.name).chain(checks)
    }
}

impl Catalog {
    /// A domain by OID.
    pub fn domain(&self, type_oid: Oid) -> Option<&Domain> {
        match is_domain(type_oid) {
            true => self.user_type(type_oid)?.domain(),
            false => None,
        }
    }

    /// A domain, and those below it: the outermost first.
    pub fn domains_down(&self, type_oid: Oid) -> impl Iterator<Item = (Oid, &Domain)> {
        let with = |oid: Oid| Some((oid, self.domain(oid)?));
        std::iter::successors(with(type_oid), move |(_, domain)| with(domain.base))
    }

    /// The type below all domains; a type that is no domain is its own (getBaseTypeAndTypmod).
    pub fn base_type(&self, type_oid: Oid) -> BaseType {
        let plain = BaseType { oid: type_oid, modifier: -1 };
        self.domains_down(type_oid)
            .last()
            .map_or(plain, |(_, d)| BaseType { oid: d.base, modifier: d.modifier })
    }

    /// The type as which values of a type are stored: without domains, also as elements of an
    /// array.
    pub fn held_type(&self, type_oid: Oid) -> BaseType {
        let base = self.base_type(type_oid);
        let array = builtin::ty(base.oid).filter(|ty| ty.is_true_array() && is_domain(ty.element));
        let Some(array) = array else { return base };
        let element = self.held_type(array.element);
        let over = builtin::ty(element.oid).map_or(0, |ty| ty.array);
        BaseType { oid: over, modifier: element.modifier }
    }

    /// A column that is declared with a type. It stores values of the type below domains.
    pub fn column(&self, name: impl Into<Arc<str>>, type_oid: Oid, typmod: i32) -> Column {
        let held = self.held_type(type_oid);
        if held.oid == type_oid {
            return Column::new(name, type_oid, typmod);
        }
        let column = Column::new(name, held.oid, held.modifier);
        let collation = self.domain(type_oid).map_or(column.collation, |domain| domain.collation);
        Column { domain: type_oid, collation, ..column }
    }

    /// Whether a type has conditions that not every value of the type below it fulfils.
    pub fn is_constrained(&self, type_oid: Oid) -> bool {
        let of = |oid| self.domains_down(oid).any(|(_, domain)| !domain.is_unconstrained());
        let base = self.base_type(type_oid).oid;
        let element = builtin::ty(base).filter(|ty| ty.is_true_array()).map(|ty| ty.element);
        of(type_oid) || element.is_some_and(|element| self.is_constrained(element))
    }

    /// typcategory; a domain's is its base type's.
    pub fn type_category(&self, type_oid: Oid) -> u8 {
        builtin::ty(self.base_type(type_oid).oid).map_or(b'X', |ty| ty.category)
    }
}
