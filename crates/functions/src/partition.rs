//! Partitioned tables in SQL: pg_get_partkeydef, the partition tree, and partition constraints as
//! conditions (partitionfuncs.c, partbounds.c, ruleutils.c).

use super::args::{int4, oid, text_datum, text_or_null};
use super::reg::CatalogNames;
use super::rules::styled;
use super::signature::shown;
use super::{CallInfo, Entry, scalar, series, set, typed};
use crate::FnContext;
use std::sync::Arc;
use steppe_catalog::system::definitions::collate_clause;
use steppe_catalog::system::partitions::{key_name, partition_key_definition};
use steppe_catalog::{Catalog, PartitionKey, Relation, builtin};
use steppe_partition::{BoundValue, KeySet, PartitionBound, PartitionStrategy, RangeDatum};
use steppe_sql::bind::typename::format_type;
use steppe_sql::deparse;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_types::datum::Array;
use steppe_types::hashfuncs::partition_hash;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// Functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_get_partkeydef", scalar(key_definition)),
    ("pg_get_partition_constraintdef", scalar(constraint_definition)),
    ("pg_partition_ancestors", set(|args, _, cx| Ok(series::values(ancestors_of(args, cx)?)))),
    ("pg_partition_tree", set(|args, _, cx| Ok(series::rows(tree(args, cx)?)))),
    ("pg_partition_root", scalar(root)),
    ("satisfies_hash_partition", typed(satisfies_hash_partition)),
];

fn key_definition(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let table = cx.catalog.relation(oid(args, 0)?);
    text_or_null(table.and_then(|table| {
        styled(cx, false, |style| partition_key_definition(&cx.catalog, table, style))
    }))
}

// ----- the tree -----

/// The relation, if it is in a partition tree.
fn in_tree(catalog: &Catalog, oid: Oid) -> Option<&Arc<Relation>> {
    use steppe_catalog::RelKind::{PartitionedIndex, PartitionedTable};
    let partitioned = |r: &&Arc<Relation>| matches!(r.kind, PartitionedTable | PartitionedIndex);
    catalog.relation(oid).filter(|r| r.partition_of.is_some() || partitioned(r))
}

/// A relation and its ancestors, upwards; a partition that is being detached has none.
fn ancestors(catalog: &Catalog, relation: Oid) -> Vec<Oid> {
    let mut found = Vec::new();
    let mut at = in_tree(catalog, relation);
    while let Some(relation) = at {
        found.push(relation.oid);
        at = relation.attached().and_then(|of| catalog.relation(of.parent));
    }
    found
}

fn ancestors_of(args: &[Datum], cx: &FnContext) -> Result<Vec<Datum>> {
    let found = ancestors(&cx.catalog, oid(args, 0)?);
    Ok(found.into_iter().map(Datum::Oid).collect())
}

fn root(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let last = ancestors(&cx.catalog, oid(args, 0)?).last().copied();
    Ok(last.map_or(Datum::Null, Datum::Oid))
}

/// pg_partition_tree: relid, parentrelid, isleaf, level. The rows are in the order of levels, and
/// by OID in each.
fn tree(args: &[Datum], cx: &FnContext) -> Result<Vec<Vec<Datum>>> {
    let catalog = &cx.catalog;
    let mut rows = Vec::new();
    let mut level: Vec<Oid> = in_tree(catalog, oid(args, 0)?).iter().map(|r| r.oid).collect();
    for depth in 0.. {
        let mut below = Vec::new();
        for relation in level.iter().filter_map(|oid| catalog.relation(*oid)) {
            let parent = relation.attached().map(|of| Datum::Oid(of.parent));
            use steppe_catalog::RelKind::{PartitionedIndex, PartitionedTable};
            let leaf = !matches!(relation.kind, PartitionedTable | PartitionedIndex);
            rows.push(vec![
                Datum::Oid(relation.oid),
                parent.unwrap_or(Datum::Null),
                Datum::Bool(leaf),
                Datum::Int4(depth),
            ]);
            let is_detaching =
                |child: &Oid| catalog.relation(*child).is_some_and(|child| child.is_detaching());
            below.extend(catalog.children(relation.oid).filter(|child| !is_detaching(child)));
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    Ok(rows)
}

// ----- satisfies_hash_partition -----

/// `satisfies_hash_partition(parent, modulus, remainder, VARIADIC key)`.
fn satisfies_hash_partition(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    if args.iter().take(3).any(Datum::is_null) {
        return Ok(Datum::Bool(false));
    }
    let (parent, modulus, remainder) = (oid(args, 0)?, int4(args, 1)?, int4(args, 2)?);
    let Some(table) = cx.catalog.relation(parent) else {
        return Err(Error::internal(format!("could not open relation with OID {parent}")));
    };
    let invalid = |message: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    let hashed = |key: &&PartitionKey| key.strategy == PartitionStrategy::Hash;
    let Some(key) = table.partition_key.as_deref().filter(hashed) else {
        return invalid(format!("\"{}\" is not a hash partitioned table", table.name));
    };
    if modulus <= 0 {
        return invalid(
            "modulus for hash partition must be an integer value greater than zero".into(),
        );
    }
    if remainder < 0 {
        let rule = "must be an integer value greater than or equal to zero";
        return invalid(format!("remainder for hash partition {rule}"));
    }
    if remainder >= modulus {
        return invalid("remainder for hash partition must be less than modulus".into());
    }
    let Some((values, value_types)) = hashed_values(args, call)? else {
        return Ok(Datum::Bool(false));
    };
    let given = values.len();
    if given != key.columns.len() {
        return invalid(format!(
            "number of partitioning columns ({}) does not match number of partition keys provided \
             ({given})",
            key.columns.len()
        ));
    }
    // The message quotes the types of an array's elements.
    let quote = if call.variadic { "\"" } else { "" };
    for (i, (column, given)) in key.columns.iter().zip(value_types).enumerate() {
        if !same_hash_type(column.type_oid, given) {
            return invalid(format!(
                "column {} of the partition key has type {quote}{}{quote}, but supplied value is of \
                 type {quote}{}{quote}",
                i + 1,
                format_type(column.type_oid, -1),
                format_type(given, -1)
            ));
        }
    }
    let types = key.columns.iter().map(|column| column.type_oid);
    let hash = partition_hash(types.zip(values))?;
    Ok(Datum::Bool(hash % modulus as u64 == remainder as u64))
}

/// The key's values with their types: arguments, or the elements of the array that was written
/// VARIADIC. `None` if that array is NULL.
fn hashed_values<'a>(
    args: &'a [Datum],
    call: &CallInfo,
) -> Result<Option<(&'a [Datum], Vec<Oid>)>> {
    if !call.variadic {
        return Ok(Some((&args[3..], call.args.iter().skip(3).copied().collect())));
    }
    Ok(match args.last() {
        None | Some(Datum::Null) => None,
        Some(array) => {
            let array = array.as_array()?;
            Some((&array.elements, vec![array.element_type; array.elements.len()]))
        }
    })
}

/// Whether values of the two types have the same hash function.
fn same_hash_type(column: Oid, given: Oid) -> bool {
    let base = |ty| if ty == oid::VARCHAR { oid::TEXT } else { ty };
    base(column) == base(given)
}

// ----- partition constraints -----

/// `pg_get_partition_constraintdef(relation)`: the conditions of all levels, or NULL without any.
fn constraint_definition(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    match partition_condition(&cx.catalog, oid(args, 0)?, Lists::Written)? {
        None => Ok(Datum::Null),
        Some(condition) => text_datum(shown(&CatalogNames::of(cx), &condition)),
    }
}

/// How a list of values is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// `ARRAY[1, 2]`
    Written,
    /// `'{1,2}'::integer[]`, as a constant.
    Folded,
}

/// The conditions on a partition's rows, by its bound and those of all ancestors.
pub fn partition_condition(
    catalog: &Catalog,
    partition: Oid,
    lists: Lists,
) -> Result<Option<String>> {
    let mut conditions: Vec<String> = Vec::new();
    for oid in ancestors(catalog, partition).into_iter().rev() {
        let Some(relation) = catalog.relation(oid) else { continue };
        if relation.index.is_some() {
            return Ok(None);
        }
        conditions.extend(conditions_of(catalog, relation, lists)?);
    }
    Ok(all_of(conditions))
}

/// The conditions on a partition's rows, by its own bound; the bounds of its ancestors may add
/// more.
pub fn bound_condition(catalog: &Catalog, partition: &Relation) -> Result<Option<String>> {
    Ok(all_of(conditions_of(catalog, partition, Lists::Folded)?))
}

/// The conjunction of conditions; `None` if there are none.
fn all_of(conditions: Vec<String>) -> Option<String> {
    (!conditions.is_empty()).then(|| joined(conditions, " AND "))
}

/// Conditions joined by AND or OR, in parentheses if there are several.
fn joined(conditions: Vec<String>, word: &str) -> String {
    match conditions.as_slice() {
        [one] => one.clone(),
        _ => format!("({})", conditions.join(word)),
    }
}

/// A parent's key: the text and the types of its columns.
struct Key<'k> {
    parent: &'k Relation,
    key: &'k PartitionKey,
    lists: Lists,
}

fn conditions_of(catalog: &Catalog, partition: &Relation, lists: Lists) -> Result<Vec<String>> {
    let Some(of) = &partition.partition_of else { return Ok(Vec::new()) };
    let parent = catalog.relation(of.parent);
    let found = parent.and_then(|p| Some((p, p.partition_key.as_ref()?)));
    let (Some((parent, key)), Some(bound)) = (found, &of.bound) else {
        return Err(Error::internal("a partition without parent or bound"));
    };
    let key = Key { parent, key, lists };
    match bound {
        PartitionBound::Default => key.default_conditions(catalog, partition.oid),
        bound => key.conditions(bound, true),
    }
}

impl Key<'_> {
    fn column(&self, i: usize) -> String {
        key_name(self.parent, &self.key.columns[i]).into_owned()
    }

    /// A column as an operand of the key's comparisons, with the key's collation if the column has
    /// another one.
    fn operand(&self, i: usize) -> String {
        let column = &self.key.columns[i];
        if column.collation == column.source_collation(self.parent) {
            return self.column(i);
        }
        format!("({})::{}", self.column(i), format_type(column.type_oid, -1))
    }

    /// A bound's value, or several as an array, with the key's collation where the type has
    /// another one.
    fn collated(&self, i: usize, value: String) -> String {
        let column = &self.key.columns[i];
        let own = builtin::collation_of(column.type_oid);
        value + &collate_clause(column.collation, own)
    }

    /// The value of a bound. It does not depend on settings of the session, so that it may be kept.
    fn constant(&self, i: usize, value: &BoundValue) -> String {
        let ty = TypeRef::plain(value.type_oid());
        let shown = deparse::expression(&Expr::Const(value.datum().clone(), ty), &|_| None);
        self.collated(i, shown)
    }

    fn conditions(&self, bound: &PartitionBound, null_tests: bool) -> Result<Vec<String>> {
        Ok(match bound {
            PartitionBound::Hash { modulus, remainder } => {
                let columns: Vec<String> =
                    (0..self.key.columns.len()).map(|i| self.column(i)).collect();
                vec![format!(
                    "satisfies_hash_partition('{}'::oid, {modulus}, {remainder}, {})",
                    self.parent.oid,
                    columns.join(", ")
                )]
            }
            PartitionBound::List { values } => self.list(values),
            PartitionBound::Range { lower, upper } => {
                let mut conditions = if null_tests { self.null_tests() } else { Vec::new() };
                conditions.extend(self.range(lower, upper));
                conditions
            }
            PartitionBound::Default => Vec::new(),
        })
    }

    fn null_tests(&self) -> Vec<String> {
        (0..self.key.columns.len()).map(|i| format!("({} IS NOT NULL)", self.column(i))).collect()
    }

    /// get_qual_for_list
    fn list(&self, values: &[BoundValue]) -> Vec<String> {
        let column = self.column(0);
        let with_null = values.iter().any(|v| v.datum().is_null());
        let some: Vec<&BoundValue> = values.iter().filter(|v| !v.datum().is_null()).collect();
        let equal = match some.as_slice() {
            [] => None,
            [one] => Some(format!("({} = {})", self.operand(0), self.constant(0, one))),
            _ => Some(self.equals_any(&self.operand(0), &some)),
        };
        match (with_null, equal) {
            (true, None) => vec![format!("({column} IS NULL)")],
            (true, Some(equal)) => vec![format!("(({column} IS NULL) OR {equal})")],
            (false, equal) => {
                std::iter::once(format!("({column} IS NOT NULL)")).chain(equal).collect()
            }
        }
    }

    fn equals_any(&self, column: &str, values: &[&BoundValue]) -> String {
        let all = || values.iter().map(|value| self.constant(0, value));
        let element = values.first().map_or(oid::UNKNOWN, |value| value.type_oid());
        // There are no arrays of arrays.
        let Some(array_type) = oid::array_type_of(element) else {
            return joined(all().map(|value| format!("({column} = {value})")).collect(), " OR ");
        };
        let array = match self.lists {
            Lists::Written => format!("ARRAY[{}]", all().collect::<Vec<_>>().join(", ")),
            Lists::Folded => {
                let elements: Vec<Datum> = values.iter().map(|v| v.datum().clone()).collect();
                let dimensions = vec![(elements.len() as i32, 1)];
                let array = Array { element_type: element, dimensions, elements };
                let value = Expr::Const(Datum::Array(array.into()), TypeRef::plain(array_type));
                self.collated(0, deparse::expression(&value, &|_| None))
            }
        };
        format!("({column} = ANY ({array}))")
    }

    /// get_qual_for_range: equal columns first, then one arm for each column that decides.
    fn range(&self, lower: &[RangeDatum], upper: &[RangeDatum]) -> Vec<String> {
        let mut conditions = Vec::new();
        let mut start = 0;
        while let (Some(RangeDatum::Value(l)), Some(RangeDatum::Value(u))) =
            (lower.get(start), upper.get(start))
            && l == u
        {
            conditions.push(format!("({} = {})", self.operand(start), self.constant(start, l)));
            start += 1;
        }
        for (datums, side) in [(lower, Side::Lower), (upper, Side::Upper)] {
            let arms = self.arms(datums, start, side);
            if !arms.is_empty() {
                conditions.push(joined(arms, " OR "));
            }
        }
        conditions
    }

    /// `a > 1`, `a = 1 AND b >= 2`: the ways to be on the right side of a bound.
    fn arms(&self, datums: &[RangeDatum], start: usize, side: Side) -> Vec<String> {
        let mut arms = Vec::new();
        let mut equal: Vec<String> = Vec::new();
        for i in start..datums.len() {
            let RangeDatum::Value(value) = &datums[i] else { break };
            let (column, value) = (self.operand(i), self.constant(i, value));
            let inclusive = matches!(
                (datums.get(i + 1), side),
                (None | Some(RangeDatum::MinValue), Side::Lower)
                    | (Some(RangeDatum::MaxValue), Side::Upper)
            );
            let operator = match (side, inclusive) {
                (Side::Lower, true) => ">=",
                (Side::Lower, false) => ">",
                (Side::Upper, true) => "<=",
                (Side::Upper, false) => "<",
            };
            let mut arm = equal.clone();
            arm.push(format!("({column} {operator} {value})"));
            arms.push(joined(arm, " AND "));
            equal.push(format!("({column} = {value})"));
        }
        arms
    }

    /// The rows that no other partition takes.
    fn default_conditions(&self, catalog: &Catalog, default: Oid) -> Result<Vec<String>> {
        let mut values: Vec<BoundValue> = Vec::new();
        let mut ranges: Vec<String> = Vec::new();
        let map = catalog.map_of_taken(self.parent.oid)?;
        for sibling in map.select(&KeySet::all()).filter(|oid| *oid != default) {
            let sibling = catalog.relation(sibling).and_then(|r| r.partition_of.as_ref());
            match sibling.and_then(|of| of.bound.as_ref()) {
                Some(PartitionBound::List { values: some }) => values.extend(some.iter().cloned()),
                Some(bound) => ranges.push(joined(self.conditions(bound, false)?, " AND ")),
                None => {}
            }
        }
        map.sort_values(&mut values)?;
        if !values.is_empty() {
            return Ok(vec![format!("(NOT {})", joined(self.list(&values), " AND "))]);
        }
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let mut all = self.null_tests();
        all.push(joined(ranges, " OR "));
        Ok(vec![format!("(NOT {})", joined(all, " AND "))])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}
