//! The partitions of a partitioned table, one by one: append, prepend, add, drop, attach, detach,
//! split, merge, replace.

use super::ranges::{
    Placement, Range, bound_text, check_available, check_compatible, compare,
    create_range_partition, edge, edge_shown, is_range, key_column, moved, range_of, ranges,
};
use super::{
    Parent, column_list, copy_rows, invalid, not_a_partition, qualified, raised, relation,
    required, required_relation, shown,
};
use steppe_catalog::system::partitions::key_name;
use steppe_exec::Spi;
use steppe_functions::CallInfo;
use steppe_functions::args::{array, boolean, given, text_datum};
use steppe_partition::{PartitionBound, RangeDatum};
use steppe_types::error::Severity;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// The optional name and tablespace at `i` and behind it.
fn placement(args: &[Datum], i: usize) -> Placement<'_> {
    let text = |i: usize| match given(args, i) {
        Some(Datum::Text(text)) => Some(&**text),
        _ => None,
    };
    Placement { name: text(i), tablespace: text(i + 1) }
}

/// The parent that a function is called for, which must be partitioned by range.
fn range_parent(spi: &Spi<'_>, args: &[Datum]) -> Result<Parent> {
    let parent = Parent::open(spi, required_relation(args, 0, "parent_relid")?)?;
    check_range(spi, &parent, parent.relation.oid)?;
    Ok(parent)
}

fn check_range(spi: &Spi<'_>, parent: &Parent, named: Oid) -> Result<()> {
    match is_range(&parent.relation) {
        true => Ok(()),
        false => Err(raised(format!("\"{}\" is not a RANGE partition", shown(spi, named)?))),
    }
}

fn answer(spi: &Spi<'_>, partition: Oid) -> Result<Datum> {
    text_datum(shown(spi, partition)?)
}

/// `append_range_partition(parent, name, tablespace)`
pub(super) fn append(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let parent = range_parent(spi, args)?;
    let all = ranges(&spi.frame()?.names.catalog, &parent.relation)?;
    let Some(last) = all.last() else {
        return Err(raised("cannot append to empty partitions set"));
    };
    let RangeDatum::Value(end) = &last.upper else {
        return Err(raised("Cannot append partition because last partition's range is half open"));
    };
    let upper = moved(spi, &parent, end.datum(), true)?;
    let made = create_range_partition(spi, &parent, (&last.upper, &upper), placement(args, 1))?;
    answer(spi, made)
}

/// `prepend_range_partition(parent, name, tablespace)`
pub(super) fn prepend(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let parent = range_parent(spi, args)?;
    let all = ranges(&spi.frame()?.names.catalog, &parent.relation)?;
    let Some(first) = all.first() else {
        return Err(raised("cannot prepend to empty partitions set"));
    };
    let RangeDatum::Value(start) = &first.lower else {
        return Err(raised(
            "Cannot prepend partition because first partition's range is half open",
        ));
    };
    let lower = moved(spi, &parent, start.datum(), false)?;
    let made = create_range_partition(spi, &parent, (&lower, &first.lower), placement(args, 1))?;
    answer(spi, made)
}

/// The range in the arguments from `i` on.
fn written_range(
    spi: &mut Spi<'_>,
    parent: &Parent,
    args: &[Datum],
    call: &CallInfo,
    i: usize,
) -> Result<(RangeDatum, RangeDatum)> {
    let edge_at = |spi: &mut Spi<'_>, i: usize, infinite| {
        let value = given(args, i).unwrap_or(&Datum::Null);
        let ty = call.args.get(i).copied().unwrap_or(oid::UNKNOWN);
        edge(spi, &parent.relation, value, ty, infinite)
    };
    let lower = edge_at(spi, i, RangeDatum::MinValue)?;
    let upper = edge_at(spi, i + 1, RangeDatum::MaxValue)?;
    Ok((lower, upper))
}

/// `add_range_partition(parent, start, end, name, tablespace)`
pub(super) fn add(args: &[Datum], call: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let parent = range_parent(spi, args)?;
    let (lower, upper) = written_range(spi, &parent, args, call, 1)?;
    let type_oid = key_column(&parent.relation)?.type_oid;
    if compare(type_oid, &lower, &upper).is_ge() {
        return Err(raised("failed to create partition: start_value is greater than end_value"));
    }
    check_available(spi, &parent.relation, &lower, &upper)?;
    let made = create_range_partition(spi, &parent, (&lower, &upper), placement(args, 3))?;
    answer(spi, made)
}

/// `drop_range_partition(partition, delete_data)`
pub(super) fn drop_range(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let partition = required_relation(args, 0, "partition_relid")?;
    let parent = Parent::of_partition(spi, partition)?;
    check_range(spi, &parent, partition)?;
    let (name, table) = (shown(spi, partition)?, qualified(spi, partition)?);
    if !boolean(args, 1)? {
        // pg_pathman copies the rows to the parent, which cannot store rows in Steppe.
        let rows = spi.execute(&format!("SELECT count(*) FROM {table}"))?.value()?;
        if rows != Datum::Int8(0) {
            return Err(Error::not_supported(
                "drop_range_partition of a partition with rows without delete_data",
            ));
        }
        let message = format!("0 rows copied from {name}");
        let notice = Error::new(SqlState::SUCCESSFUL_COMPLETION, message);
        spi.session().notice(notice.severity(Severity::Notice));
    }
    spi.execute(&format!("DROP TABLE {table}"))?;
    text_datum(name)
}

/// `attach_range_partition(parent, table, start, end)`
pub(super) fn attach(args: &[Datum], call: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let parent = range_parent(spi, args)?;
    let table = required_relation(args, 1, "partition_relid")?;
    check_attachable(spi, table)?;
    let (lower, upper) = written_range(spi, &parent, args, call, 2)?;
    check_available(spi, &parent.relation, &lower, &upper)?;
    check_compatible(spi, &parent.relation, table)?;
    attach_as(spi, &parent, table, &bound_text(&lower, &upper))?;
    answer(spi, table)
}

fn check_attachable(spi: &Spi<'_>, table: Oid) -> Result<()> {
    let found = relation(spi, table)?;
    match spi.frame()?.names.catalog.is_temporary(&found) {
        true => {
            let name = shown(spi, table)?;
            Err(raised(format!("temporary table \"{name}\" cannot be used as a partition")))
        }
        false => Ok(()),
    }
}

fn attach_as(spi: &mut Spi<'_>, parent: &Parent, table: Oid, bound: &str) -> Result<()> {
    let (parent, table) = (qualified(spi, parent.relation.oid)?, qualified(spi, table)?);
    spi.execute(&format!("ALTER TABLE {parent} ATTACH PARTITION {table} {bound}")).map(drop)
}

fn detach_from(spi: &mut Spi<'_>, parent: &Parent, partition: Oid) -> Result<()> {
    let (parent, partition) = (qualified(spi, parent.relation.oid)?, qualified(spi, partition)?);
    spi.execute(&format!("ALTER TABLE {parent} DETACH PARTITION {partition}")).map(drop)
}

/// `detach_range_partition(partition)`
pub(super) fn detach(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let partition = required_relation(args, 0, "partition_relid")?;
    let parent = Parent::of_partition(spi, partition)?;
    check_range(spi, &parent, partition)?;
    detach_from(spi, &parent, partition)?;
    answer(spi, partition)
}

/// `split_range_partition(partition, value, name, tablespace)`: rows that are not below the value
/// move to a new partition, which is returned.
pub(super) fn split(args: &[Datum], call: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let partition = required_relation(args, 0, "partition1")?;
    required(args, 1, "split_value")?;
    let parent = Parent::of_partition(spi, partition)?;
    check_range(spi, &parent, partition)?;
    if spi.frame()?.names.catalog.children(partition).next().is_some() {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot split partition that has children",
        ));
    }
    let Range { lower, upper, .. } = range_of(spi, &parent, partition)?;
    let ty = call.args.get(1).copied().unwrap_or(oid::UNKNOWN);
    let at = edge(spi, &parent.relation, &args[1], ty, RangeDatum::MinValue)?;
    let key = key_column(&parent.relation)?.clone();
    if compare(key.type_oid, &at, &lower).is_le() || compare(key.type_oid, &at, &upper).is_ge() {
        let io = spi.frame()?.io;
        let (lower, upper) = (edge_shown(&lower, &io)?, edge_shown(&upper, &io)?);
        let message = format!("specified value does not fit into the range ({lower}, {upper})");
        return Err(invalid(message));
    }
    let RangeDatum::Value(value) = &at else {
        return Err(Error::internal("a value within a range is infinite"));
    };
    detach_from(spi, &parent, partition)?;
    let made = create_range_partition(spi, &parent, (&at, &upper), placement(args, 2))?;
    let columns = column_list(&parent.relation);
    let (from, to) = (qualified(spi, partition)?, qualified(spi, made)?);
    let moved = format!(
        "WITH moved AS (DELETE FROM {from} WHERE ({}) >= $1 RETURNING *) \
         INSERT INTO {to} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM moved",
        key_name(&parent.relation, &key),
    );
    let mut moved = spi.prepare(&moved, &[key.type_oid])?;
    spi.run(&mut moved, &[value.datum().clone()])?;
    attach_as(spi, &parent, partition, &bound_text(&lower, &at))?;
    Ok(Datum::Oid(made))
}

fn cannot_merge(detail: impl Into<String>) -> Error {
    invalid("cannot merge partitions").detail(detail.into())
}

/// `merge_range_partitions(partitions …)`: all rows move to the first, which is returned.
pub(super) fn merge(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let mut partitions: Vec<Oid> = Vec::new();
    for element in &array(args, 0)?.elements {
        match element {
            Datum::Oid(oid) if !partitions.contains(oid) => partitions.push(*oid),
            _ => {}
        }
    }
    let [first, others @ ..] = partitions.as_slice() else {
        return Err(cannot_merge("there must be at least two partitions"));
    };
    if others.is_empty() {
        return Err(cannot_merge("there must be at least two partitions"));
    }
    let parent = common_parent(spi, &partitions)?;
    check_range(spi, &parent, *first)?;
    let (lower, upper) = joined_range(spi, &parent, &partitions)?;
    for partition in &partitions {
        detach_from(spi, &parent, *partition)?;
    }
    for other in others {
        copy_rows(spi, *other, *first)?;
        let other = qualified(spi, *other)?;
        spi.execute(&format!("DROP TABLE {other}"))?;
    }
    attach_as(spi, &parent, *first, &bound_text(&lower, &upper))?;
    Ok(Datum::Oid(*first))
}

/// The parent of all of them.
fn common_parent(spi: &Spi<'_>, partitions: &[Oid]) -> Result<Parent> {
    let mut parent = None;
    for partition in partitions {
        let table = relation(spi, *partition)?;
        let Some(of) = &table.partition_of else {
            return Err(cannot_merge(not_a_partition(&table).message().to_string()));
        };
        if *parent.get_or_insert(of.parent) != of.parent {
            return Err(cannot_merge("all relations must share the same parent"));
        }
    }
    Parent::open(spi, parent.ok_or_else(|| Error::internal("no partition to merge"))?)
}

/// The range of neighbours taken together.
fn joined_range(
    spi: &Spi<'_>,
    parent: &Parent,
    partitions: &[Oid],
) -> Result<(RangeDatum, RangeDatum)> {
    let catalog = spi.frame()?.names.catalog;
    let mut all = ranges(&catalog, &parent.relation)?;
    all.retain(|range| partitions.contains(&range.partition));
    let type_oid = key_column(&parent.relation)?.type_oid;
    for pair in all.windows(2) {
        if compare(type_oid, &pair[0].upper, &pair[1].lower).is_ne() {
            let name = |range: &Range| {
                catalog.relation(range.partition).map_or("?".into(), |r| r.name.clone())
            };
            let (left, right) = (name(&pair[0]), name(&pair[1]));
            return Err(invalid(format!("partitions \"{left}\" and \"{right}\" are not adjacent")));
        }
    }
    match all.as_slice() {
        [first, .., last] => Ok((first.lower.clone(), last.upper.clone())),
        _ => Err(Error::internal("partitions without ranges")),
    }
}

/// `replace_hash_partition(old, new, lock_parent)`: the rows of neither move.
pub(super) fn replace_hash(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let old = required_relation(args, 0, "old_partition")?;
    let new = required_relation(args, 1, "new_partition")?;
    let parent = Parent::of_partition(spi, old)?;
    check_attachable(spi, new)?;
    check_compatible(spi, &parent.relation, new)?;
    let of = relation(spi, old)?.partition_of.clone();
    let Some(PartitionBound::Hash { modulus, remainder }) = of.and_then(|of| of.bound) else {
        return Err(raised(format!("\"{}\" is not a HASH partition", shown(spi, old)?)));
    };
    detach_from(spi, &parent, old)?;
    let bound = format!("FOR VALUES WITH (MODULUS {modulus}, REMAINDER {remainder})");
    attach_as(spi, &parent, new, &bound)?;
    Ok(Datum::Oid(new))
}
