//! The use of a partitioned partition's bounds when it is pruned by a key of its own.
//!
//! ```text
//!   t RANGE (a) ── p FROM (10) TO (20), LIST (b) ─┬─ p1 IN (1)       a = 3 OR b = 1
//!                                                 └─ p2 DEFAULT         ╰── none of it is in p
//! ```
//!
//! Two things follow (gen_partprune_steps). The part of an OR that no row in the bounds satisfies
//! does not restrict the level's key. It must not keep all of the partitions, as a condition on
//! other columns does. And values beyond the bounds need no DEFAULT partition.

use super::KeyOfScan;
use crate::expr::Expr;
use crate::planner::same_ordering;
use std::sync::Arc;
use steppe_catalog::{Catalog, PartitionKey, Relation};
use steppe_partition::{
    Comparison, Operand, PartitionBound, PartitionMap, Predicate, PruningSteps, RangeDatum,
};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Result};

/// The bounds of a partition, and of the partitions that it is in, up to the scanned table. HASH
/// bounds are left out: they give no predicate on a column.
#[derive(Debug, Default)]
pub struct Bounds(Vec<Bound>);

#[derive(Debug)]
struct Bound {
    /// The parent's key.
    key: KeyOfScan,
    bound: PartitionBound,
    rows: Rows,
}

/// The rows that are within a bound.
#[derive(Clone, Debug)]
enum Rows {
    /// The rows that the map's only partition takes.
    Of(PartitionMap),
    /// The rows that the map's default partition takes.
    OfDefault(PartitionMap),
}

/// Whether a row within all bounds may satisfy a condition: a slot of pruning that is a test.
#[derive(Debug)]
pub struct Reachable(Vec<(Rows, PruningSteps)>);

impl Bounds {
    /// The bounds of `partition`, which is the table scanned or below it.
    pub fn of(catalog: &Catalog, scanned: &Arc<Relation>, partition: &Relation) -> Result<Bounds> {
        let mut bounds = Vec::new();
        let mut partition = partition;
        while partition.oid != scanned.oid
            && let Some(of) = partition.attached()
            && let Some(parent) = catalog.relation(of.parent)
            && let (Some(key), Some(bound)) = (&parent.partition_key, &of.bound)
        {
            if let Some(rows) = Rows::within(catalog, partition, (parent, key), bound)? {
                let key = KeyOfScan::new(catalog, scanned, parent, key)?;
                bounds.push(Bound { key, bound: bound.clone(), rows });
            }
            partition = parent;
        }
        Ok(Bounds(bounds))
    }

    /// The tests of the keys above that a condition implies.
    pub(super) fn reachable(&self, condition: &Expr, slots: &mut Vec<super::Slot>) -> Reachable {
        let said = self.0.iter().filter_map(|bound| {
            let first = slots.len();
            let predicate = bound.key.predicate(condition, slots, &Bounds::default());
            let steps = PruningSteps::compile(&predicate, bound.key.len());
            if steps.keep_everything() {
                slots.truncate(first);
                return None;
            }
            Some((bound.rows.clone(), steps))
        });
        Reachable(said.collect())
    }

    /// The predicates on a key below them that the bounds imply.
    pub(super) fn of_key(&self, key: &KeyOfScan) -> Vec<Predicate> {
        self.0.iter().flat_map(|bound| bound.of_key(key)).collect()
    }
}

impl Rows {
    fn within(
        catalog: &Catalog,
        partition: &Relation,
        (parent, key): (&Relation, &PartitionKey),
        bound: &PartitionBound,
    ) -> Result<Option<Rows>> {
        Ok(match bound {
            PartitionBound::Hash { .. } => None,
            PartitionBound::Default => {
                catalog.partition_map(parent.oid)?.map(|map| Rows::OfDefault(map.clone()))
            }
            bound => {
                let mut map = key.empty_map()?;
                map.attach(partition.oid, bound).is_ok().then_some(Rows::Of(map))
            }
        })
    }

    /// Whether some of them may satisfy the steps.
    fn may_satisfy(
        &self,
        steps: &PruningSteps,
        slot: &dyn Fn(u32) -> Result<Option<Datum>>,
        io: &IoContext,
    ) -> Result<bool> {
        Ok(match self {
            Rows::Of(map) => map.select(&steps.evaluate(map, slot, io)?).next().is_some(),
            Rows::OfDefault(map) => map.keeps_default(&steps.evaluate(map, slot, io)?),
        })
    }
}

impl Bound {
    fn of_key(&self, key: &KeyOfScan) -> Vec<Predicate> {
        match &self.bound {
            PartitionBound::List { values } => {
                let column = self.first_column_in(key);
                let one = |column, value: &Datum| match value {
                    Datum::Null => Predicate::IsNull { column },
                    value => compare(column, Comparison::Equal, value),
                };
                let any = |column| values.iter().map(|v| one(column, v.datum())).collect();
                column.map(|column| Predicate::Or(any(column))).into_iter().collect()
            }
            PartitionBound::Range { lower, upper } => {
                [(lower, Comparison::GreaterEqual), (upper, Comparison::LessEqual)]
                    .into_iter()
                    .flat_map(|(end, with_ties)| self.end_of_range(key, end, with_ties))
                    .collect()
            }
            PartitionBound::Hash { .. } | PartitionBound::Default => Vec::new(),
        }
    }

    /// The column of a key below that is this one's first column, and sorted as that is.
    fn first_column_in(&self, key: &KeyOfScan) -> Option<usize> {
        let (expr, ty) = self.key.columns.first()?;
        key.column(expr).filter(|column| same_ordering(*ty, key.columns[*column].1))
    }

    /// The predicates on a key that one end of a range implies. They are on its first column only.
    fn end_of_range(
        &self,
        key: &KeyOfScan,
        end: &[RangeDatum],
        with_ties: Comparison,
    ) -> Vec<Predicate> {
        let column = self.first_column_in(key);
        let (Some(column), Some(RangeDatum::Value(value))) = (column, end.first()) else {
            return Vec::new();
        };
        let without_ties = match with_ties {
            Comparison::LessEqual if end.len() == 1 => Comparison::Less,
            other => other,
        };
        vec![Predicate::IsNotNull { column }, compare(column, without_ties, value.datum())]
    }
}

fn compare(column: usize, operator: Comparison, value: &Datum) -> Predicate {
    Predicate::Compare { column, operator, operand: Operand::Constant(value.clone()) }
}

impl Reachable {
    /// Whether it has no test of the keys above.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// FALSE if no row within the bounds satisfies the condition, else `None`: not known.
    pub fn value(
        &self,
        slot: &dyn Fn(u32) -> Result<Option<Datum>>,
        io: &IoContext,
    ) -> Result<Option<Datum>> {
        for (rows, steps) in &self.0 {
            if !rows.may_satisfy(steps, slot, io)? {
                return Ok(Some(Datum::Bool(false)));
            }
        }
        Ok(None)
    }
}
