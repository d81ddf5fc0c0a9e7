//! The shapes of the system catalogs and views (data/system_columns.tsv), and
//! the relations that the binder finds for them.

use crate::builtin::{self, Row};
use crate::relation::{Column, RelKind, Relation};
use crate::{INFORMATION_SCHEMA, PG_CATALOG};
use hashbrown::HashMap;
use std::sync::{Arc, OnceLock};
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// A system catalog or view.
#[derive(Debug)]
pub struct Shape {
    /// PostgreSQL's OID.
    pub oid: Oid,
    /// Schema OID.
    pub schema: Oid,
    /// Name.
    pub name: &'static str,
    /// pg_class.relkind: r or v.
    pub relkind: u8,
    /// Columns in order.
    pub columns: Vec<ShapeColumn>,
}

/// A column of a system catalog.
#[derive(Debug)]
pub struct ShapeColumn {
    /// Name.
    pub name: &'static str,
    /// The type that PostgreSQL declares.
    pub declared_type: Oid,
    /// Type of the values: the declared one, or its replacement.
    pub type_oid: Oid,
    /// Type modifier.
    pub typmod: i32,
    /// NOT NULL
    pub not_null: bool,
    /// Collation.
    pub collation: Oid,
}

/// The domains of information_schema, by OID.
const CARDINAL_NUMBER: Oid = 13158;
const CHARACTER_DATA: Oid = 13161;
const SQL_IDENTIFIER: Oid = 13163;
const TIME_STAMP: Oid = 13169;
const YES_OR_NO: Oid = 13171;

/// The type of the values for a declared type. Domains become their base types, which PostgreSQL
/// also sends to clients. Types that only the server reads become text.
fn representable(declared: Oid) -> Oid {
    match declared {
        CARDINAL_NUMBER => oid::INT4,
        CHARACTER_DATA | YES_OR_NO => oid::VARCHAR,
        SQL_IDENTIFIER => oid::NAME,
        TIME_STAMP => oid::TIMESTAMPTZ,
        oid::ANYARRAY => oid::ANYARRAY,
        other if Physical::of(other) == Physical::Any => oid::TEXT,
        other => other,
    }
}

impl Shape {
    /// Position of a column.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// XX000 if a row does not have this shape.
    pub fn check(&self, row: &[Datum]) -> Result<()> {
        if row.len() != self.columns.len() {
            return Err(Error::internal(format!("{} columns in {}", row.len(), self.name)));
        }
        for (column, datum) in self.columns.iter().zip(row) {
            if !Physical::of(column.type_oid).accepts(datum) || (column.not_null && datum.is_null())
            {
                return Err(Error::internal(format!("{}.{}: {datum:?}", self.name, column.name)));
            }
        }
        Ok(())
    }

    fn relation(&self) -> Relation {
        let mut relation = Relation::new(self.oid, self.schema, self.name, RelKind::Virtual);
        let column = |c: &ShapeColumn| Column {
            not_null: c.not_null,
            collation: c.collation,
            ..Column::new(c.name, c.type_oid, c.typmod)
        };
        relation.columns = self.columns.iter().map(column).collect();
        relation
    }
}

struct Shapes {
    shapes: Vec<Shape>,
    by_oid: HashMap<Oid, usize>,
}

fn shapes() -> &'static Shapes {
    static SHAPES: OnceLock<Shapes> = OnceLock::new();
    SHAPES.get_or_init(|| {
        let table = builtin::table("system_columns").expect("compiled in");
        let mut shapes: Vec<Shape> = Vec::new();
        for row in table.rows() {
            let oid = number(&row, "oid");
            if shapes.last().is_none_or(|s| s.oid != oid) {
                shapes.push(shape_of(oid, &row));
            }
            let shape = shapes.last_mut().expect("just pushed");
            shape.columns.push(column_of(&row));
        }
        let by_oid = shapes.iter().enumerate().map(|(i, s)| (s.oid, i)).collect();
        Shapes { shapes, by_oid }
    })
}

fn number<T: std::str::FromStr>(row: &Row<'_>, column: &str) -> T {
    let text = row.get(column).and_then(|text| text.parse().ok());
    text.unwrap_or_else(|| panic!("system_columns.tsv: unreadable {column}"))
}

fn shape_of(oid: Oid, row: &Row<'_>) -> Shape {
    let pg_catalog = row.get("nspname") == Some("pg_catalog");
    Shape {
        oid,
        schema: if pg_catalog { PG_CATALOG } else { INFORMATION_SCHEMA },
        name: row.get("relname").unwrap_or(""),
        relkind: row.get("relkind").map_or(b'r', |kind| kind.as_bytes()[0]),
        columns: Vec::new(),
    }
}

fn column_of(row: &Row<'_>) -> ShapeColumn {
    let declared_type = number(row, "atttypid");
    ShapeColumn {
        name: row.get("attname").unwrap_or(""),
        declared_type,
        type_oid: representable(declared_type),
        typmod: number(row, "atttypmod"),
        not_null: row.get("attnotnull") == Some("t"),
        collation: number(row, "attcollation"),
    }
}

/// All system catalogs and views, by OID.
pub fn all() -> &'static [Shape] {
    &shapes().shapes
}

/// A system catalog by OID.
pub fn by_oid(oid: Oid) -> Option<&'static Shape> {
    let shapes = shapes();
    shapes.by_oid.get(&oid).map(|i| &shapes.shapes[*i])
}

/// A system catalog by schema and name.
pub fn named(schema: &str, name: &str) -> Option<&'static Shape> {
    let schema = if schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA };
    all().iter().find(|s| s.schema == schema && s.name == name)
}

/// The system catalogs and their indexes as relations of every catalog version.
pub fn relations() -> &'static [Arc<Relation>] {
    static RELATIONS: OnceLock<Vec<Arc<Relation>>> = OnceLock::new();
    RELATIONS.get_or_init(|| {
        let mut catalogs: Vec<Relation> = all().iter().map(Shape::relation).collect();
        let indexes = super::indexes::attach(&mut catalogs);
        catalogs.into_iter().chain(indexes).map(Arc::new).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_postgresqls() {
        let class = by_oid(1259).expect("pg_class");
        assert_eq!((class.name, class.relkind, class.columns.len()), ("pg_class", b'r', 34));
        assert_eq!(class.position("relkind"), Some(17));
        assert_eq!(all().len(), 213 + 4, "and those that are not PostgreSQL's");
        for shape in all() {
            for column in &shape.columns {
                assert_ne!(Physical::of(column.type_oid), Physical::Any, "{}", column.name);
            }
        }
    }

    #[test]
    fn domains_and_trees_have_stand_ins() {
        let tables = named("information_schema", "tables").expect("a view");
        assert_eq!(tables.columns[0].type_oid, oid::NAME);
        let attrdef = named("pg_catalog", "pg_attrdef").expect("a table");
        // pg_node_tree is stored as text under its own name: pg_get_expr needs it.
        assert_eq!(attrdef.columns[3].type_oid, oid::PG_NODE_TREE);
    }
}
