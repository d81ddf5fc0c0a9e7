//! Privileges in the system catalogs. Until GRANT exists, they are the ones that initdb grants
//! (data/initial_acls.tsv). Other objects have no list: NULL.

use super::cluster;
use super::rows::RowsBuilder;
use super::session::SystemContext;
use crate::builtin;
use crate::{BOOTSTRAP_SUPERUSER, INFORMATION_SCHEMA, PG_CATALOG};
use hashbrown::HashMap;
use std::sync::OnceLock;
use steppe_types::acl::{self, AclItem};
use steppe_types::{Datum, Error, Oid, Result};

/// An object's class, its OID and a column's number or 0.
type Object = (Oid, Oid, i32);

struct InitialAcl {
    acl: Datum,
    /// The privtype in pg_init_privs, if it has this list.
    recorded: Option<u8>,
}

/// The access control list of an object, or NULL.
pub(super) fn of(class: Oid, object: Oid, column: i32) -> Datum {
    // The schema information_schema has the list of pg_catalog.
    let object = if object == INFORMATION_SCHEMA { PG_CATALOG } else { object };
    initial().get(&(class, object, column)).map_or(Datum::Null, |initial| initial.acl.clone())
}

/// pg_init_privs
pub(super) fn pg_init_privs(_: &SystemContext<'_>, out: &mut RowsBuilder) {
    let mut objects: Vec<&Object> = initial().keys().collect();
    objects.sort();
    for object in objects {
        let (class, oid, column) = *object;
        let InitialAcl { acl, recorded: Some(privtype) } = &initial()[object] else { continue };
        out.row([
            ("objoid", Datum::Oid(oid)),
            ("classoid", Datum::Oid(class)),
            ("objsubid", Datum::Int4(column)),
            ("privtype", Datum::Char(*privtype)),
            ("initprivs", acl.clone()),
        ]);
    }
}

/// All lists that initdb creates.
fn initial() -> &'static HashMap<Object, InitialAcl> {
    static INITIAL: OnceLock<HashMap<Object, InitialAcl>> = OnceLock::new();
    INITIAL.get_or_init(|| {
        let table = builtin::table("initial_acls");
        let rows = table.into_iter().flat_map(|table| table.rows());
        let read = rows.filter_map(|row| {
            let number = |column| row.get(column)?.parse::<Oid>().ok();
            let object = (number("classoid")?, number("objoid")?, number("objsubid")? as i32);
            let recorded = row.get("privtype").and_then(|kind| kind.bytes().next());
            Some((object, InitialAcl { acl: list(row.get("acl")?).ok()?, recorded }))
        });
        read.collect()
    })
}

/// An aclitem[] of items without quotes.
fn list(text: &str) -> Result<Datum> {
    let items = text.trim_matches(['{', '}']).split(',');
    let items: Result<Vec<AclItem>> = items.map(|item| acl::parse(item, role)).collect();
    items.map(acl::array)
}

fn role(name: &str) -> Result<Oid> {
    match name == crate::SUPERUSER_NAME {
        true => Ok(BOOTSTRAP_SUPERUSER),
        false => cluster::role_named(name)
            .ok_or_else(|| Error::internal(format!("no role {name} among the predefined ones"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::classes::PG_NAMESPACE;
    use super::*;

    #[test]
    fn every_list_is_read() {
        let table = builtin::table("initial_acls").expect("compiled in");
        assert_eq!(initial().len(), table.rows().count());
        assert!(initial().len() > 200);
        assert!(!of(PG_NAMESPACE, PG_CATALOG, 0).is_null());
        assert!(!of(PG_NAMESPACE, INFORMATION_SCHEMA, 0).is_null());
    }
}
