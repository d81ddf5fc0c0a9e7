//! The changes of the catalog's recent publications. They decide whether an existing plan is still
//! valid.
//!
//! A plan is made for one version of the catalog. If each change of the catalog ended all plans,
//! every session would plan all its statements again while another one drops a thousand tables, or
//! creates temporary ones. So a plan stores what it depends on ([`Mentions`]), and each publication
//! stores what it changed. A plan stays valid if no later publication has touched it. That is so
//! if:
//!
//! - its relations and their indexes were neither changed nor dropped;
//! - the names of its relations were not given to other objects, which might be found first;
//! - functions that were created or dropped since have other names than the functions it calls.
//!
//! Both sides are narrow for other kinds of changes. Only plans over ordinary tables stay valid, and
//! only after changes to independent relations: no partitions, parents or children, and no views. A
//! changed extension, type, cast, operator or schema ends all plans. So does a replaced or altered function: a stored
//! expression may call it without naming it in the statement. PostgreSQL's
//! `plancache.c` and `inval.c` send messages for each relation instead.

use crate::object_id::ObjectId;
use crate::objects::Function;
use crate::relation::{RelKind, Relation};
use crate::snapshot::Catalog;
use crate::type_spelling::spelled_function_name;
use std::collections::VecDeque;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use steppe_types::Oid;

/// The most publications that are kept. A plan that is unused during this many publications is made
/// again.
const PUBLICATIONS_MAX: usize = 1024;
/// A publication that touches more relations than this counts as touching everything.
const TOUCHED_MAX: usize = 64;

/// The relations and functions that a plan depends on.
#[derive(Clone, Debug)]
pub struct Mentions {
    /// Their OIDs, sorted.
    relations: Box<[Oid]>,
    /// Hashes of their names without schemas, sorted.
    names: Box<[u64]>,
    /// Hashes of the names of functions that were looked up, without schemas, sorted.
    functions: Box<[u64]>,
}

impl Mentions {
    /// The mentions of a plan over these relations, in which functions with these names
    /// ([`function_name`]) were looked up. `None`: the plan ends with the catalog's version.
    pub fn of(relations: &[Oid], functions: &[u64], catalog: &Catalog) -> Option<Mentions> {
        let mut names = Vec::with_capacity(relations.len());
        for oid in relations {
            let relation = catalog.relation(*oid)?;
            if relation.kind != RelKind::Table || !stands_alone(catalog, relation) {
                return None;
            }
            names.push(bare_name(&relation.name));
        }
        let mut relations = relations.to_vec();
        relations.sort_unstable();
        names.sort_unstable();
        let mut functions = functions.to_vec();
        functions.sort_unstable();
        let functions = functions.into();
        Some(Mentions { relations: relations.into(), names: names.into(), functions })
    }

    fn are_touched(&self, by: &Touched) -> bool {
        by.relations.iter().any(|oid| self.relations.binary_search(oid).is_ok())
            || by.names.iter().any(|name| self.names.binary_search(name).is_ok())
            || by.functions.iter().any(|name| self.functions.binary_search(name).is_ok())
    }
}

/// The changes of a publication.
#[derive(Debug, Default)]
struct Touched {
    /// Changed relations, and the tables of changed indexes.
    relations: Vec<Oid>,
    /// Hashes of new names.
    names: Vec<u64>,
    /// Hashes of the names of new and dropped functions.
    functions: Vec<u64>,
}

/// One version of the catalog.
struct Publication {
    epoch: u64,
    /// The changes since the version before. `None`: perhaps everything has changed.
    touched: Option<Touched>,
}

/// The last publications, by epoch.
#[derive(Default)]
pub(crate) struct History(VecDeque<Publication>);

impl History {
    /// Restarts the history at a version whose changes are unknown.
    pub(crate) fn start_anew(&mut self, epoch: u64) {
        self.0.clear();
        self.0.push_back(Publication { epoch, touched: None });
    }

    /// Adds the publication of `after`, which follows `before`.
    pub(crate) fn add<'i>(
        &mut self,
        before: &Catalog,
        after: &Catalog,
        changed: impl Iterator<Item = &'i ObjectId>,
    ) {
        debug_assert!(self.0.back().is_some_and(|last| last.epoch < after.epoch), "in order");
        if self.0.len() == PUBLICATIONS_MAX {
            self.0.pop_front();
        }
        let touched = touched(before, after, changed);
        self.0.push_back(Publication { epoch: after.epoch, touched });
    }

    /// Whether the mentioned relations are the same in the versions `then` and `now`. False if the
    /// history no longer contains a version, or the version was never published.
    pub(crate) fn is_untouched(&self, then: u64, now: u64, mentions: &Mentions) -> bool {
        let position = |epoch| self.0.binary_search_by_key(&epoch, |publication| publication.epoch);
        let (Ok(then), Ok(now)) = (position(then), position(now)) else { return false };
        then <= now
            && self.0.range(then + 1..=now).all(|publication| {
                publication.touched.as_ref().is_some_and(|touched| !mentions.are_touched(touched))
            })
    }
}

fn touched<'i>(
    before: &Catalog,
    after: &Catalog,
    changed: impl Iterator<Item = &'i ObjectId>,
) -> Option<Touched> {
    let mut touched = Touched::default();
    for id in changed {
        match *id {
            ObjectId::Relation(oid) => touched.add(before, after, oid)?,
            // A new schema has no names that a plan was resolved by. It does not change a search
            // path in use: a session that sees the schema in its path has another path.
            ObjectId::Schema(oid) if before.schema(oid).is_none() => {}
            ObjectId::Function(oid) => touched.add_function(before, after, oid)?,
            ObjectId::Schema(_)
            | ObjectId::Extension(_)
            | ObjectId::Type(_)
            | ObjectId::Cast(_)
            | ObjectId::Operator(_)
            | ObjectId::Node(_)
            | ObjectId::NodeGroup(_) => return None,
        }
    }
    Some(touched)
}

impl Touched {
    /// Adds a changed relation. `None`: the change ends all plans.
    fn add(&mut self, before: &Catalog, after: &Catalog, oid: Oid) -> Option<()> {
        let (old, new) = (before.relation(oid), after.relation(oid));
        for (catalog, version) in [(before, old), (after, new)] {
            let Some(version) = version else { continue };
            let is_simple = match version.kind {
                RelKind::Table | RelKind::Index | RelKind::Sequence => true,
                // A new view only adds a name.
                _ => old.is_none() && version.parents().next().is_none(),
            };
            if !is_simple || !stands_alone(catalog, version) {
                return None;
            }
            self.relations.extend(version.index.as_ref().map(|index| index.table));
        }
        self.relations.push(oid);
        let place = |relation: &Relation| (relation.schema, relation.name.clone());
        if let Some(new) = new.filter(|new| old.is_none_or(|old| place(old) != place(new))) {
            self.names.push(bare_name(&new.name));
        }
        (self.relations.len() <= TOUCHED_MAX).then_some(())
    }

    /// Adds a new or a dropped function. `None`: the change ends all plans.
    fn add_function(&mut self, before: &Catalog, after: &Catalog, oid: Oid) -> Option<()> {
        let [old, new] = [before, after].map(|catalog| catalog.stored::<Function>().get(oid));
        match (old, new) {
            (Some(_), Some(_)) => return None,
            (old, new) => {
                let changed = old.or(new).into_iter();
                self.functions.extend(changed.flat_map(|function| {
                    let spelled = spelled_function_name(oid);
                    [function_name(&function.name), function_name(&spelled)]
                }));
            }
        }
        (self.functions.len() <= TOUCHED_MAX).then_some(())
    }
}

/// Whether a relation is not a partition, child or parent: its properties then affect no other
/// relation.
fn stands_alone(catalog: &Catalog, relation: &Relation) -> bool {
    relation.parents().next().is_none() && catalog.children(relation.oid).next().is_none()
}

fn bare_name(name: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

/// A function's name without its schema, as [`Mentions`] has it.
pub fn function_name(name: &str) -> u64 {
    bare_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relation::IndexInfo;
    use crate::{PUBLIC, Schema};

    const TABLE: Oid = 20_000;
    const OTHER: Oid = 20_001;
    const NEW: Oid = 20_002;

    fn table(oid: Oid, name: &str) -> Relation {
        Relation::new(oid, PUBLIC, name, RelKind::Table)
    }

    /// Whether a plan over `TABLE` stays valid after a change of one object.
    fn is_outlived(id: ObjectId, change: impl FnOnce(&mut Catalog)) -> bool {
        let mut before = Catalog::default();
        before.epoch = 10;
        before.put_relation(table(TABLE, "table"));
        before.put_relation(table(OTHER, "other"));
        before.put_schema(Schema::new(30_000, "schema"));
        let mut after = before.clone();
        after.epoch = 12;
        change(&mut after);
        let mut history = History::default();
        history.start_anew(10);
        history.add(&before, &after, [id].iter());
        let mentions =
            Mentions::of(&[TABLE], &[function_name("called")], &before).expect("an ordinary table");
        assert!(history.is_untouched(10, 10, &mentions) && history.is_untouched(12, 12, &mentions));
        assert!(!history.is_untouched(11, 12, &mentions), "never published");
        assert!(!history.is_untouched(12, 10, &mentions), "the wrong way round");
        history.is_untouched(10, 12, &mentions)
    }

    #[test]
    fn what_others_are_does_not_matter() {
        let other = ObjectId::Relation(OTHER);
        assert!(is_outlived(other, |c| drop(c.remove_relation(OTHER))));
        assert!(is_outlived(other, |c| c.put_relation(table(OTHER, "renamed"))));
        let new = ObjectId::Relation(NEW);
        assert!(is_outlived(new, |c| c.put_relation(table(NEW, "new"))));
        let view = Relation::new(NEW, PUBLIC, "new", RelKind::View);
        assert!(is_outlived(new, |c| c.put_relation(view)));
        assert!(is_outlived(ObjectId::Schema(NEW), |c| c.put_schema(Schema::new(NEW, "new"))));
    }

    #[test]
    fn what_may_matter_does() {
        let of = ObjectId::Relation;
        assert!(!is_outlived(of(TABLE), |c| drop(c.remove_relation(TABLE))));
        assert!(!is_outlived(of(TABLE), |c| c.put_relation(table(TABLE, "renamed"))));
        assert!(!is_outlived(of(OTHER), |c| c.put_relation(table(OTHER, "table"))), "same name");
        let elsewhere = Relation { schema: 30_000, ..table(NEW, "table") };
        assert!(!is_outlived(of(NEW), |c| c.put_relation(elsewhere)), "same name elsewhere");
        let mut index = Relation::new(NEW, PUBLIC, "index", RelKind::Index);
        index.index = Some(Box::new(IndexInfo {
            table: TABLE,
            keys: Vec::new().into(),
            include: Vec::new().into(),
            unique: false,
            primary: false,
            clustered: false,
            deferral: Default::default(),
            nulls_not_distinct: false,
            predicate: None,
        }));
        assert!(!is_outlived(of(NEW), |c| c.put_relation(index)), "an index of it");
        let child = || Relation { inherits: vec![OTHER].into(), ..table(NEW, "child") };
        assert!(!is_outlived(of(NEW), |c| c.put_relation(child())), "a child of another");
        let renamed = Schema::new(30_000, "renamed");
        assert!(!is_outlived(ObjectId::Schema(30_000), |c| c.put_schema(renamed)));
        let mut catalog = Catalog::default();
        catalog.put_relation(table(OTHER, "other"));
        assert!(Mentions::of(&[OTHER], &[], &catalog).is_some());
        catalog.put_relation(child());
        assert!(Mentions::of(&[OTHER], &[], &catalog).is_none(), "a parent");
        assert!(Mentions::of(&[NEW], &[], &catalog).is_none(), "a child");
    }

    #[test]
    fn what_is_forgotten_may_have_mattered() {
        let mut catalog = Catalog::default();
        catalog.put_relation(table(TABLE, "table"));
        let mentions = Mentions::of(&[TABLE], &[], &catalog).expect("an ordinary table");
        let mut history = History::default();
        history.start_anew(0);
        for epoch in 1..=PUBLICATIONS_MAX as u64 {
            assert!(history.is_untouched(0, epoch - 1, &mentions));
            let before = catalog.clone();
            catalog.epoch = epoch;
            history.add(&before, &catalog, [].iter());
        }
        let last = PUBLICATIONS_MAX as u64;
        assert!(!history.is_untouched(0, last, &mentions));
        assert!(history.is_untouched(1, last, &mentions));
        assert_eq!(history.0.len(), PUBLICATIONS_MAX);
    }
}
