//! Functions, operators, casts and types as a version of the catalog knows them: those of users,
//! and behind them the built-in ones.

use super::{Function, FunctionRef, Operator, OperatorRef, StoredKind, UserCast};
use crate::builtin::{self, Cast, Type};
use crate::type_spelling::{Spelled, spelled};
use crate::{Catalog, INFORMATION_SCHEMA, PG_CATALOG};
use std::sync::Arc;
use steppe_types::Oid;

/// The schemas in which a name is looked for, in their order.
struct Places<'a> {
    /// The one schema that is named.
    named: Option<Oid>,
    path: &'a [Oid],
}

impl Places<'_> {
    /// The place of a schema: what is earlier hides what takes the same arguments. The built-in
    /// schema comes first where the path does not have it.
    fn of(&self, schema: Oid) -> Option<usize> {
        match self.named {
            Some(named) => (named == schema).then_some(0),
            None => match self.path.iter().position(|place| *place == schema) {
                Some(place) => Some(place + 1),
                None => (schema == PG_CATALOG).then_some(0),
            },
        }
    }

    /// The schemas themselves.
    fn schemas(&self) -> impl Iterator<Item = Oid> {
        let path = if self.named.is_some() { &[] } else { self.path };
        self.named.into_iter().chain(path.iter().copied())
    }

    /// Whether a look-up finds functions and operators of a schema. It finds those of a temporary schema only if
    /// the name is qualified with the schema.
    fn has_functions(&self, catalog: &Catalog, schema: Oid) -> bool {
        self.named.is_some() || catalog.schema(schema).is_some_and(|s| !s.is_temporary())
    }
}

impl Catalog {
    /// A function by OID; also one that an extension brings, installed or not.
    pub fn function(&self, oid: Oid) -> Option<FunctionRef> {
        match self.stored::<Function>().get(oid) {
            Some(function) => Some(FunctionRef::from(function.clone())),
            None => builtin::function(oid),
        }
    }

    /// An operator by OID.
    pub fn operator(&self, oid: Oid) -> Option<OperatorRef> {
        match self.stored::<Operator>().get(oid) {
            Some(operator) => Some(OperatorRef::from(operator.clone())),
            None => builtin::operator(oid),
        }
    }

    /// The cast from one type to another, if pg_cast has one.
    pub fn cast(&self, from: Oid, to: Oid) -> Option<Cast> {
        let own = || UserCast::find(self, from, to);
        let of_user = || own().map(|cast| Cast { context: cast.context, method: cast.method });
        builtin::cast(from, to).or_else(of_user)
    }

    /// A type by OID.
    pub fn ty(&self, oid: Oid) -> Option<Type> {
        builtin::ty(oid)
    }

    /// Calls `f` with each function that a name, with its schema or without, can mean to a session
    /// with this search path, and with the place of the function's schema in that. A stored text has
    /// the function's OID in the name ([`crate::type_spelling`]).
    pub fn functions_in(
        &self,
        schema: Option<&str>,
        name: &str,
        path: &[Oid],
        f: &mut dyn FnMut(usize, FunctionRef),
    ) {
        if schema == Some("pg_catalog")
            && let Some(Spelled::Function(oid)) = spelled(name)
        {
            let function = self.stored::<Function>().get(oid);
            return function.into_iter().for_each(|function| f(0, function.clone().into()));
        }
        let Some(places) = self.places(schema, path) else { return };
        let (of_system, of_schema) = (places.of(PG_CATALOG), places.of(INFORMATION_SCHEMA));
        for function in builtin::functions_named(name) {
            let place = if function.schema == PG_CATALOG { of_system } else { of_schema };
            if let Some(place) = place {
                f(place, function);
            }
        }
        if self.extensions().next().is_some() {
            for function in builtin::extension_functions_named(name) {
                let place = self.schema_of(&function).and_then(|schema| places.of(schema));
                if let Some(place) = place {
                    f(place, function);
                }
            }
        }
        self.each_stored(&places, name, &mut |place, function: &Arc<Function>| {
            f(place, FunctionRef::from(function.clone()));
        });
    }

    /// Calls `f` with each of users' objects of a kind that a name can mean, and with the place of its
    /// schema.
    fn each_stored<T: StoredKind>(
        &self,
        places: &Places<'_>,
        name: &str,
        f: &mut dyn FnMut(usize, &Arc<T>),
    ) {
        let stored = self.stored::<T>();
        if stored.is_empty() {
            return;
        }
        for schema in places.schemas() {
            if let Some(place) = places.of(schema).filter(|_| places.has_functions(self, schema)) {
                stored.named(schema, name).for_each(|object| f(place, object));
            }
        }
    }

    /// The same for operators.
    pub fn operators_in(
        &self,
        schema: Option<&str>,
        name: &str,
        path: &[Oid],
        f: &mut dyn FnMut(usize, OperatorRef),
    ) {
        let Some(places) = self.places(schema, path) else { return };
        if let Some(place) = places.of(PG_CATALOG) {
            builtin::operators_named(name).for_each(|operator| f(place, operator));
        }
        self.each_stored(&places, name, &mut |place, operator: &Arc<Operator>| {
            f(place, OperatorRef::from(operator.clone()));
        });
    }

    /// The operator that a name and exactly these operand types find first in the search path
    /// (OpernameGetOprid). The left type of a prefix operator is 0.
    pub fn operator_in(
        &self,
        schema: Option<&str>,
        name: &str,
        (left, right): (Oid, Oid),
        path: &[Oid],
    ) -> Option<OperatorRef> {
        let mut first: Option<(usize, OperatorRef)> = None;
        self.operators_in(schema, name, path, &mut |place, found| {
            let is_earlier = first.as_ref().is_none_or(|(at, _)| place < *at);
            if (found.left, found.right) == (left, right) && is_earlier {
                first = Some((place, found));
            }
        });
        first.map(|(_, operator)| operator)
    }

    /// Whether an operator's bare name finds it (OperatorIsVisible).
    pub fn operator_is_visible(&self, operator: &Operator, path: &[Oid]) -> bool {
        let types = (operator.left, operator.right);
        let found = self.operator_in(None, &operator.name, types, path);
        found.is_some_and(|found| found.oid == operator.oid)
    }

    /// Whether a function's bare name finds it, where there is none with the same arguments earlier
    /// in the search path (FunctionIsVisible).
    pub fn function_is_visible(&self, function: &Function, path: &[Oid]) -> bool {
        let mut first: Option<(usize, Oid)> = None;
        self.functions_in(None, &function.name, path, &mut |place, found| {
            if found.args == function.args && first.is_none_or(|(at, _)| place < at) {
                first = Some((place, found.oid));
            }
        });
        first.is_some_and(|(_, oid)| oid == function.oid)
    }

    /// The schema that a function is in: an extension's is where that put it.
    pub fn schema_of(&self, function: &Function) -> Option<Oid> {
        match function.brought_by {
            Some(extension) => Some(self.extension_named(extension)?.schema),
            None => Some(function.schema),
        }
    }

    fn places<'a>(&self, schema: Option<&str>, path: &'a [Oid]) -> Option<Places<'a>> {
        let named = match schema {
            Some(schema) => Some(self.schema_in(schema, path)?.oid),
            None => None,
        };
        Some(Places { named, path })
    }
}
