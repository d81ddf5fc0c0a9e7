//! pg_describe_object: the name of an object in messages (src/backend/catalog/objectaddress.c).

use super::args::{int4, oid as oid_at, text_datum};
use super::reg::CatalogNames;
use super::{Entry, scalar};
use crate::FnContext;
use steppe_catalog::objects::{self, Node, NodeGroup, Object, UserCast};
use steppe_catalog::system::extended_statistics::statistics_object;
use steppe_catalog::{PLPGSQL, builtin};
use steppe_types::io::TypeCatalog;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// By prosrc.
pub(super) const TABLE: &[Entry] = &[("pg_describe_object", scalar(describe))];

/// Classes of objects: OIDs of their catalogs.
const PG_TYPE: Oid = 1247;
const PG_PROC: Oid = 1255;
const PG_CLASS: Oid = 1259;
const PG_CAST: Oid = 2605;
const PG_CONSTRAINT: Oid = 2606;
const PG_LANGUAGE: Oid = 2612;
const PG_NAMESPACE: Oid = 2615;
const PG_OPERATOR: Oid = 2617;
const PG_EXTENSION: Oid = 3079;
const PG_STATISTIC_EXT: Oid = 3381;
const PGXC_GROUP: Oid = 9014;
const PGXC_NODE: Oid = 9015;

/// `pg_describe_object(class, object, column)`; NULL for an object that does not exist.
fn describe(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let (class, object, column) = (oid_at(args, 0)?, oid_at(args, 1)?, int4(args, 2)?);
    if class == oid::INVALID_OID && object == oid::INVALID_OID {
        return Ok(Datum::Null);
    }
    let names = CatalogNames::of(cx);
    let types = |ty: Oid| names.types().format(ty, -1);
    let named = |object| objects::describe(&cx.catalog, names.path(), &types, object);
    let found = match class {
        PG_CLASS => relation(object, column, cx).map(named),
        PG_CONSTRAINT => constraint(object, cx).map(named),
        PG_NAMESPACE => cx.catalog.schema(object).map(|_| named(Object::Schema(object))),
        PG_EXTENSION => {
            let mut extensions = cx.catalog.extensions();
            let extension = extensions.find(|extension| extension.oid == object);
            let name = match object == PLPGSQL.oid {
                true => Some(PLPGSQL.name),
                false => extension.map(|extension| &*extension.name),
            };
            name.map(|name| format!("extension {name}"))
        }
        PG_LANGUAGE => builtin::language_name(object).map(|name| format!("language {name}")),
        PG_CAST => cast(object, cx).map(|types_of| {
            let [source, target] = types_of.map(types);
            format!("cast from {source} to {target}")
        }),
        PG_OPERATOR => cx.catalog.operator(object).map(|_| named(Object::Operator(object))),
        PG_PROC => function(object, &names)?,
        PG_STATISTIC_EXT => {
            let found = statistics_object(&cx.catalog, object);
            found.map(|(table, _)| named(Object::Statistics(table.oid, object)))
        }
        PGXC_NODE => cx.catalog.stored::<Node>().get(object).map(|_| named(Object::Node(object))),
        PGXC_GROUP => {
            cx.catalog.stored::<NodeGroup>().get(object).map(|_| named(Object::NodeGroup(object)))
        }
        PG_TYPE => {
            let is_there = cx.catalog.has_type(object);
            is_there.then(|| format!("type {}", names.types().format(object, -1)))
        }
        other => return Err(Error::not_supported(format!("descriptions of the class {other}"))),
    };
    found.map_or(Ok(Datum::Null), text_datum)
}

/// A relation, or a column of it.
fn relation(oid: Oid, column: i32, cx: &FnContext) -> Option<Object> {
    let relation = cx.catalog.relation(oid)?;
    let attnum = i16::try_from(column).ok()?;
    match usize::try_from(attnum) {
        Ok(0) => Some(Object::Relation(oid)),
        Ok(number) => relation.columns.get(number - 1).map(|_| Object::Column(oid, attnum)),
        Err(_) => None,
    }
}

/// The types of a cast.
fn cast(oid: Oid, cx: &FnContext) -> Option<[Oid; 2]> {
    if let Some(own) = cx.catalog.stored::<UserCast>().get(oid) {
        return Some([own.source, own.target]);
    }
    let mut built_in = builtin::table("pg_cast")?.rows();
    let shown = oid.to_string();
    let found = built_in.find(|row| row.get("oid") == Some(&shown))?;
    let ty = |column| found.get(column)?.parse().ok();
    Some([ty("castsource")?, ty("casttarget")?])
}

fn constraint(oid: Oid, cx: &FnContext) -> Option<Object> {
    let mut tables = cx.catalog.relations();
    let table = tables.find(|table| table.constraints.iter().any(|c| c.oid == oid))?;
    Some(Object::Constraint(table.oid, oid))
}

fn function(function: Oid, names: &CatalogNames) -> Result<Option<String>> {
    let mut signature = Vec::new();
    if !names.reg_output(oid::REGPROCEDURE, function, &mut signature) {
        return Ok(None);
    }
    let signature = String::from_utf8(signature);
    let signature = signature.map_err(|_| Error::internal("a function's name is not UTF-8"))?;
    Ok(Some(format!("function {signature}")))
}
