//! The partitions of a range-partitioned table, and new partitions.

use super::{Parent, invalid, output, qualified, raised, relation};
use std::cmp::Ordering;
use steppe_catalog::system::definitions::quote_identifier;
use steppe_catalog::{Catalog, PartitionColumn, Relation};
use steppe_exec::Spi;
use steppe_functions::reg::split_qualified;
use steppe_partition::{BoundValue, PartitionBound, PartitionStrategy, RangeDatum};
use steppe_sql::bind::typename::format_type;
use steppe_sql::deparse;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_types::compare::compare_as;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// A partition with its bounds.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) partition: Oid,
    pub(super) lower: RangeDatum,
    pub(super) upper: RangeDatum,
}

/// Whether intervals are added to values of a type, instead of values of the same type.
pub(super) fn takes_intervals(type_oid: Oid) -> bool {
    matches!(type_oid, oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ)
}

/// The one column of a parent's key.
pub(super) fn key_column(parent: &Relation) -> Result<&PartitionColumn> {
    let key = parent.partition_key.as_ref();
    let column = key.and_then(|key| key.columns.first());
    column.ok_or_else(|| Error::internal("a partitioned table has no key"))
}

pub(super) fn is_range(parent: &Relation) -> bool {
    let key = parent.partition_key.as_ref();
    key.is_some_and(|key| key.strategy == PartitionStrategy::Range)
}

/// The order of two edges of ranges.
pub(super) fn compare(type_oid: Oid, a: &RangeDatum, b: &RangeDatum) -> Ordering {
    let rank = |edge: &RangeDatum| match edge {
        RangeDatum::MinValue => 0,
        RangeDatum::Value(_) => 1,
        RangeDatum::MaxValue => 2,
    };
    match (a, b) {
        (RangeDatum::Value(a), RangeDatum::Value(b)) => compare_as(type_oid, a.datum(), b.datum()),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// The bounds of a partition, if they are a range of one column.
pub(super) fn range_in(catalog: &Catalog, partition: Oid) -> Option<Range> {
    let of = catalog.relation(partition)?.partition_of.as_ref()?;
    let PartitionBound::Range { lower, upper } = of.bound.as_ref()? else { return None };
    let ([lower], [upper]) = (&lower[..], &upper[..]) else { return None };
    Some(Range { partition, lower: lower.clone(), upper: upper.clone() })
}

/// The partitions of a range-partitioned table, in order.
pub(super) fn ranges(catalog: &Catalog, parent: &Relation) -> Result<Vec<Range>> {
    let children = catalog.children(parent.oid);
    let mut found: Vec<Range> = children.filter_map(|child| range_in(catalog, child)).collect();
    let type_oid = key_column(parent)?.type_oid;
    found.sort_by(|a, b| compare(type_oid, &a.lower, &b.lower));
    Ok(found)
}

/// The bounds of one partition.
pub(super) fn range_of(spi: &Spi<'_>, parent: &Parent, partition: Oid) -> Result<Range> {
    let all = ranges(&spi.frame()?.names.catalog, &parent.relation)?;
    let found = all.into_iter().find(|range| range.partition == partition);
    found.ok_or_else(|| raised("could not find specified partition"))
}

/// A constant that reads the same under any settings.
pub(super) fn literal(type_oid: Oid, value: &Datum) -> String {
    deparse::expression(&Expr::Const(value.clone(), TypeRef::plain(type_oid)), &|_| None)
}

/// An edge as FOR VALUES has it.
fn edge_text(edge: &RangeDatum) -> String {
    match edge {
        RangeDatum::MinValue => "MINVALUE".into(),
        RangeDatum::MaxValue => "MAXVALUE".into(),
        RangeDatum::Value(value) => literal(value.type_oid(), value.datum()),
    }
}

/// An edge as messages have it.
pub(super) fn edge_shown(edge: &RangeDatum, io: &IoContext) -> Result<String> {
    match edge {
        RangeDatum::MinValue => Ok("-infinity".into()),
        RangeDatum::MaxValue => Ok("+infinity".into()),
        RangeDatum::Value(value) => output(value.type_oid(), value.datum(), io),
    }
}

/// FOR VALUES FROM … TO ….
pub(super) fn bound_text(lower: &RangeDatum, upper: &RangeDatum) -> String {
    format!("FOR VALUES FROM ({}) TO ({})", edge_text(lower), edge_text(upper))
}

/// A value as one of the key's type; NULL stands for `infinite`.
pub(super) fn edge(
    spi: &mut Spi<'_>,
    parent: &Relation,
    value: &Datum,
    type_oid: Oid,
    infinite: RangeDatum,
) -> Result<RangeDatum> {
    if value.is_null() {
        return Ok(infinite);
    }
    let key = key_column(parent)?.type_oid;
    if key == type_oid {
        return Ok(RangeDatum::Value(BoundValue::new(key, value.clone())));
    }
    let cast = format!("$1::{}", format_type(key, -1));
    let value = spi.value(&cast, &[(type_oid, value.clone())])?;
    Ok(RangeDatum::Value(BoundValue::new(key, value)))
}

/// An edge moved by the parent's interval, up or down; without an interval it is infinite.
pub(super) fn moved(
    spi: &mut Spi<'_>,
    parent: &Parent,
    from: &Datum,
    up: bool,
) -> Result<RangeDatum> {
    let Some(interval) = &parent.pathman.range_interval else {
        return Ok(if up { RangeDatum::MaxValue } else { RangeDatum::MinValue });
    };
    let type_oid = key_column(&parent.relation)?.type_oid;
    let key = format_type(type_oid, -1);
    let by = if takes_intervals(type_oid) { "interval" } else { &key };
    let sign = if up { '+' } else { '-' };
    let text = format!("($1 {sign} $2::{by})::{key}");
    let params = [(type_oid, from.clone()), (oid::TEXT, Datum::Text(interval.clone()))];
    Ok(RangeDatum::Value(BoundValue::new(type_oid, spi.value(&text, &params)?)))
}

/// 22023 if a range overlaps one of the partitions.
pub(super) fn check_available(
    spi: &Spi<'_>,
    parent: &Relation,
    lower: &RangeDatum,
    upper: &RangeDatum,
) -> Result<()> {
    let frame = spi.frame()?;
    let type_oid = key_column(parent)?.type_oid;
    let meets = |range: &Range| {
        compare(type_oid, lower, &range.upper).is_lt()
            && compare(type_oid, &range.lower, upper).is_lt()
    };
    if !ranges(&frame.names.catalog, parent)?.iter().any(meets) {
        return Ok(());
    }
    Err(invalid(format!(
        "specified range [{}, {}) overlaps with existing partitions",
        edge_shown(lower, &frame.io)?,
        edge_shown(upper, &frame.io)?
    )))
}

// ----- new partitions -----

/// The name of the sequence that numbers a table's partitions.
pub(super) fn sequence_name(parent: &Relation) -> String {
    format!("{}_seq", parent.name)
}

/// The next free name of the form `parent_N`, quoted and qualified.
fn numbered_name(spi: &Spi<'_>, parent: &Relation) -> Result<String> {
    let catalog = spi.frame()?.names.catalog;
    let sequence = sequence_name(parent);
    let sequence = catalog
        .relation_named(parent.schema, &sequence)
        .ok_or_else(|| raised(format!("auto naming sequence \"{sequence}\" does not exist")))?;
    loop {
        let number = spi.session().nextval(sequence.oid)?;
        let name = format!("{}_{number}", parent.name);
        if catalog.relation_named(parent.schema, &name).is_none() {
            return Ok(in_schema_of(&catalog, parent, &name));
        }
    }
}

/// A name in the parent's schema, quoted and qualified.
pub(super) fn in_schema_of(catalog: &Catalog, parent: &Relation, name: &str) -> String {
    let schema = catalog.schema(parent.schema).map_or("public", |schema| &schema.name);
    format!("{}.{}", quote_identifier(schema), quote_identifier(name))
}

/// The name that a caller gives a new partition: in the parent's schema, unless the name has
/// another one.
pub(super) fn written_name(spi: &Spi<'_>, parent: &Relation, name: &str) -> Result<String> {
    let parts = split_qualified(name)?;
    Ok(match parts.as_slice() {
        [name] => in_schema_of(&spi.frame()?.names.catalog, parent, name),
        parts => parts.iter().map(|part| quote_identifier(part)).collect::<Vec<_>>().join("."),
    })
}

/// A new partition's name and place, as the caller gives them.
#[derive(Clone, Copy, Default)]
pub(super) struct Placement<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) tablespace: Option<&'a str>,
}

/// Creates a range partition; returns its OID.
pub(super) fn create_range_partition(
    spi: &mut Spi<'_>,
    parent: &Parent,
    (lower, upper): (&RangeDatum, &RangeDatum),
    placement: Placement<'_>,
) -> Result<Oid> {
    let name = match placement.name {
        Some(name) => written_name(spi, &parent.relation, name)?,
        None => numbered_name(spi, &parent.relation)?,
    };
    create_partition(spi, parent, &name, &bound_text(lower, upper), placement.tablespace)
}

/// Creates a partition, with the constraints that each has for itself.
pub(super) fn create_partition(
    spi: &mut Spi<'_>,
    parent: &Parent,
    name: &str,
    bound: &str,
    tablespace: Option<&str>,
) -> Result<Oid> {
    let place = tablespace.map(|t| format!(" TABLESPACE {}", quote_identifier(t)));
    let table = qualified(spi, parent.relation.oid)?;
    let place = place.unwrap_or_default();
    spi.execute(&format!("CREATE TABLE {name} PARTITION OF {table} {bound}{place}"))?;
    for constraint in &parent.pathman.own_constraints {
        spi.execute(&format!("ALTER TABLE {name} ADD {constraint}"))?;
    }
    // OIDs ascend, and the lock on the parent keeps other sessions from adding a partition
    // meanwhile.
    let made = spi.frame()?.names.catalog.children(parent.relation.oid).next_back();
    made.ok_or_else(|| Error::internal("a new partition is not there"))
}

/// Whether a table has the columns of another, so that it can be its partition.
pub(super) fn check_compatible(spi: &Spi<'_>, parent: &Relation, table: Oid) -> Result<()> {
    let table = relation(spi, table)?;
    let live = |r: &Relation| r.columns.iter().filter(|column| !column.dropped).count();
    let mut columns = parent.columns.iter().filter(|column| !column.dropped);
    let same = columns.all(|column| {
        let own = table.column_index(&column.name).map(|at| &table.columns[at]);
        own.is_some_and(|own| (own.type_oid, own.typmod) == (column.type_oid, column.typmod))
    });
    match same && live(parent) == live(&table) {
        true => Ok(()),
        false => Err(raised("partition must have a compatible tuple format")),
    }
}
