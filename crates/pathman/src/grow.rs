//! New partitions for rows beyond the ends of a range-partitioned table.
//!
//! They are made in a transaction of their own, as by pg_pathman's background worker. If many
//! sessions insert beyond the end, one makes the partition. The others wait only for that and find
//! it. It is committed at once: a rollback of the row keeps it.
//!
//! The inserter holds ROW EXCLUSIVE on the parent. Therefore the other transaction takes SHARE
//! UPDATE EXCLUSIVE, which excludes other sessions that add partitions, but no session that reads
//! or writes rows. Rows of the new range cannot exist yet, because the range had no partition. A
//! statement whose snapshot sees a new partition's rows finds the partition, because it looks
//! whether the catalog has moved once it has the snapshot.
//!
//! The deadlock detector cannot see that the inserter waits for the other transaction. Therefore
//! that transaction waits for a lock for deadlock_timeout at most. The inserter's transaction makes
//! the partitions itself when the other one gives up, or if the inserter's own locks on the parent
//! conflict with it (it has created the table, say). It takes ACCESS EXCLUSIVE, as CREATE TABLE …
//! PARTITION OF would, and the detector sees every wait.

use super::kept::Pathman;
use super::ranges::{
    Range, compare, in_schema_of, is_range, key_column, literal, range_in, sequence_name,
    takes_intervals,
};
use super::{invalid, output, raised, relation_in};
use steppe_catalog::system::definitions::{qualified_name, simple_quote_literal};
use steppe_catalog::{Catalog, Relation};
use steppe_ddl::of_function::{SpiDdl, apart};
use steppe_ddl::{self as ddl, DdlContext};
use steppe_exec::Spi;
use steppe_partition::{BoundValue, PartitionMap, RangeDatum};
use steppe_sql::bind::typename::format_type;
use steppe_sql::parser;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// Makes the partitions up to a key that no partition of `parent` takes. Returns false if the table
/// does not grow. Otherwise the row must be routed again, by the catalog then in force.
pub(super) fn grow(spi: &mut Spi<'_>, parent: Oid, key: &[Datum]) -> Result<bool> {
    let catalog = spi.catalog_in_force()?;
    let Some(relation) = catalog.relation(parent) else { return Ok(false) };
    let grows = Pathman::of(relation)?.is_some_and(|pathman| pathman.auto) && is_range(relation);
    let [value] = key else { return Ok(false) };
    if !grows || value.is_null() || ends(&catalog, parent)?.is_none() {
        return Ok(false);
    }
    let key = BoundValue::new(key_column(relation)?.type_oid, value.clone());
    let growth = Growth { parent, key };
    if apart(spi.session(), parent, |ctx| growth.run(ctx))?.is_some() {
        return Ok(true);
    }
    spi.ddl("CREATE TABLE", "", |ctx| growth.run(ctx))?;
    Ok(true)
}

/// A table that is to grow up to a key.
struct Growth {
    parent: Oid,
    key: BoundValue,
}

/// The direction, and the edge to start from.
struct Step {
    up: bool,
    from: BoundValue,
}

impl Growth {
    fn run(&self, ctx: &mut DdlContext<'_>) -> Result<()> {
        ctx.lock(self.parent, ctx.parent_lock)?;
        loop {
            ctx.session.check_interrupts()?;
            let catalog = ctx.catalog();
            let parent = relation_in(&catalog, self.parent)?;
            // Other sessions may have changed it while this one waited for its lock.
            let Some(pathman) = Pathman::of(parent)? else { return Ok(()) };
            match self.step(ctx, &catalog)? {
                Some(step) => self.add(ctx, parent, &pathman, &step)?,
                None => return Ok(()),
            }
        }
    }

    /// The next step; `None` if a partition takes the key, or if there is none to extend.
    fn step(&self, ctx: &DdlContext<'_>, catalog: &Catalog) -> Result<Option<Step>> {
        let Some(map) = catalog.partition_map(self.parent)? else { return Ok(None) };
        if map.route(std::slice::from_ref(self.key.datum()), &mut Vec::new())?.is_some() {
            return Ok(None);
        }
        let Some((first, last)) = ends(catalog, self.parent)? else { return Ok(None) };
        let key = RangeDatum::Value(self.key.clone());
        let order = |a: &RangeDatum, b: &RangeDatum| compare(self.key.type_oid(), a, b);
        let (up, edge) = match (&last.upper, &first.lower) {
            (RangeDatum::Value(edge), _) if order(&key, &last.upper).is_ge() => (true, edge),
            (_, RangeDatum::Value(edge)) if order(&key, &first.lower).is_lt() => (false, edge),
            _ => return Err(self.cannot_spawn(ctx)?),
        };
        Ok(Some(Step { up, from: edge.clone() }))
    }

    #[cold]
    fn cannot_spawn(&self, ctx: &DdlContext<'_>) -> Result<Error> {
        let key = output(self.key.type_oid(), self.key.datum(), &ctx.io)?;
        let detail = format!("there is a gap at key '{key}'");
        Ok(invalid("cannot spawn a partition").detail(detail))
    }

    /// Adds the partition next to an edge.
    fn add(
        &self,
        ctx: &mut DdlContext<'_>,
        parent: &Relation,
        pathman: &Pathman,
        step: &Step,
    ) -> Result<()> {
        let Some(interval) = &pathman.range_interval else {
            let key = output(self.key.type_oid(), self.key.datum(), &ctx.io)?;
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot spawn new partition for key '{key}'"),
            )
            .detail("default range interval is NULL"));
        };
        let type_oid = self.key.type_oid();
        let (from, key_type) = (literal(type_oid, step.from.datum()), format_type(type_oid, -1));
        let by = if takes_intervals(type_oid) { "interval" } else { &key_type };
        let sign = if step.up { '+' } else { '-' };
        let to = format!("(({from}) {sign} {}::{by})::{key_type}", simple_quote_literal(interval));
        let (lower, upper) = if step.up { (&from, &to) } else { (&to, &from) };
        let name = free_name(ctx, parent)?;
        let table = qualified_name(&ctx.catalog(), parent);
        let bound = format!("FOR VALUES FROM ({lower}) TO ({upper})");
        execute(ctx, &format!("CREATE TABLE {name} PARTITION OF {table} {bound}"))?;
        for constraint in &pathman.own_constraints {
            execute(ctx, &format!("ALTER TABLE {name} ADD {constraint}"))?;
        }
        Ok(())
    }
}

/// The partitions at both ends. The cost does not depend on the number of partitions.
fn ends(catalog: &Catalog, parent: Oid) -> Result<Option<(Range, Range)>> {
    let ends = catalog.partition_map(parent)?.and_then(PartitionMap::range_ends);
    let range = |partition| range_in(catalog, partition);
    Ok(ends.and_then(|(first, last)| range(first).zip(range(last))))
}

/// The next name from the parent's sequence that no relation has, quoted and qualified.
fn free_name(ctx: &mut DdlContext<'_>, parent: &Relation) -> Result<String> {
    let catalog = ctx.catalog();
    let sequence = sequence_name(parent);
    let sequence = catalog
        .relation_named(parent.schema, &sequence)
        .ok_or_else(|| raised(format!("auto naming sequence \"{sequence}\" does not exist")))?;
    loop {
        let number = ctx.session.nextval(sequence.oid)?;
        let name = format!("{}_{number}", parent.name);
        if catalog.relation_named(parent.schema, &name).is_none() {
            return Ok(in_schema_of(&catalog, parent, &name));
        }
    }
}

fn execute(ctx: &mut DdlContext<'_>, text: &str) -> Result<()> {
    for parsed in parser::parse(text)? {
        ddl::execute(&parsed.statement, ctx)?;
    }
    Ok(())
}
