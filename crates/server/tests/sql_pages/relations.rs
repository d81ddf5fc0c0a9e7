//! docs/sql/system-views.md: the relations of pg_catalog and information_schema.

use steppe_catalog::PG_CATALOG;
use steppe_catalog::system::is_of_an_absent_feature;
use steppe_catalog::system::shape::{self, Shape};

use crate::ask::Asker;
use crate::page::{Page, code};
use crate::words;

const PURPOSES: &str = include_str!("relations.txt");

/// The content of a relation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shown,
    /// Its feature does not exist here.
    Empty,
    NotYet,
}

#[test]
fn system_views_page() {
    let mut asker = Asker::start();
    let purposes = words::phrases(PURPOSES);
    let mut page = Page::new("system-views.md", "System catalogs and views");
    page.paragraph(
        "All relations of PostgreSQL 18's pg_catalog and information_schema have their names, columns and \
         types here, so that psql, pg_dump, drivers and tools find what they ask for. Those about \
         features that Steppe does not have are empty, since no such object can exist. A few that \
         would have rows in PostgreSQL are not there yet: asking them fails with 0A000 rather than with a wrong \
         answer. Relations whose names begin with pgxc_ are Postgres-XL's. The catalogs are read-only.",
    );
    for (of_catalog, title) in [(true, "pg_catalog"), (false, "information_schema")] {
        page.heading(title);
        let kinds: Vec<(&Shape, Kind)> = shape::all()
            .iter()
            .filter(|shape| matches!(shape.relkind, b'r' | b'v'))
            .filter(|shape| (shape.schema == PG_CATALOG) == of_catalog)
            .map(|shape| (shape, kind(&mut asker, title, shape, purposes.contains_key(shape.name))))
            .collect();
        let of = |wanted: Kind| {
            let meant = kinds.iter().filter(move |(_, kind)| *kind == wanted);
            let mut names: Vec<&str> = meant.map(|(shape, _)| shape.name).collect();
            names.sort_unstable();
            names
        };
        let list = |names: Vec<&str>| names.into_iter().map(code).collect::<Vec<_>>().join(", ");
        if of_catalog {
            check(&of(Kind::Shown), purposes.keys().copied().collect());
            let row = |name: &str| [code(name), purposes[name].to_owned()];
            let rows: Vec<_> = of(Kind::Shown).into_iter().map(row).collect();
            page.table(["Relation", "Shows"], &rows);
        } else {
            page.paragraph(&format!("Shown: {}.", list(of(Kind::Shown))));
        }
        page.paragraph(&format!("Empty: {}.", list(of(Kind::Empty))));
        page.paragraph(&format!("Not yet (0A000): {}.", list(of(Kind::NotYet))));
    }
    page.compare();
}

fn kind(asker: &mut Asker, schema: &str, shape: &Shape, has_purpose: bool) -> Kind {
    let example = format!("SELECT * FROM {schema}.{} LIMIT 1", shape.name);
    match asker.outcome(&example, true).as_deref() {
        None if is_of_an_absent_feature(shape.oid) && !has_purpose => Kind::Empty,
        None => Kind::Shown,
        Some("0A000") => Kind::NotYet,
        Some(sqlstate) => panic!("{example}: {sqlstate}"),
    }
}

/// Checks that relations.txt has a phrase for each relation that has rows, and for no other.
fn check(shown: &[&str], named: Vec<&str>) {
    assert_eq!(shown, named, "relations.txt has a phrase for each relation with rows");
}
