//! What the last publications of the catalog have changed, for plans that want to live on.
//!
//! A plan is made for one version of the catalog. Were each change of it the end of all plans, every
//! session would plan all its statements anew while one drops a thousand tables, or makes
//! temporary ones. So a plan keeps what it was made of ([`Mentions`]), each publication what it
//! touched, and a plan goes on being what planning would come to now if no publication since has
//! touched it:
//!
//! - none of its relations, nor an index of theirs, was changed or dropped;
//! - nothing got a name that one of them is found by: it might be found first.
//!
//! Both sides are narrow where reasons are not so simple. Only plans over ordinary tables live
//! on, and only through changes to relations that stand by themselves: no partitions,
//! parents or children, views, extensions, renamed or dropped schemas. Any other change ends
//! all plans. PostgreSQL's `plancache.c` and `inval.c` do this with messages for each relation.

use crate::relation::{RelKind, Relation};
use crate::snapshot::Catalog;
use crate::store::ObjectId;
use std::collections::VecDeque;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use steppe_types::Oid;

/// Publications that are remembered. A plan that is not asked for during as many is made anew.
const PUBLICATIONS_MAX: usize = 1024;
/// What touches more relations than that touches everything.
const TOUCHED_MAX: usize = 64;

/// What a plan was made of.
#[derive(Clone, Debug)]
pub struct Mentions {
    /// Sorted.
    relations: Box<[Oid]>,
    /// Hashes of their names, whatever their schemas; sorted.
    names: Box<[u64]>,
}

impl Mentions {
    /// Of a plan over these relations. `None`: it is not to outlive the catalog's version.
    pub fn of(relations: &[Oid], catalog: &Catalog) -> Option<Mentions> {
        let mut names = Vec::with_capacity(relations.len());
        for oid in relations {
            let relation = catalog.relation(*oid)?;
            if relation.kind != RelKind::Table || !stands_alone(catalog, relation) {
                return None;
            }
            names.push(bare_name(relation));
        }
        let mut relations = relations.to_vec();
        relations.sort_unstable();
        names.sort_unstable();
        Some(Mentions { relations: relations.into(), names: names.into() })
    }

    fn are_touched(&self, by: &Touched) -> bool {
        by.relations.iter().any(|oid| self.relations.binary_search(oid).is_ok())
            || by.names.iter().any(|name| self.names.binary_search(name).is_ok())
    }
}

/// What a publication has changed.
#[derive(Debug, Default)]
struct Touched {
    /// Relations that are not as they were, and the tables of such indexes.
    relations: Vec<Oid>,
    /// Hashes of new names.
    names: Vec<u64>,
}

/// One version of the catalog.
struct Publication {
    epoch: u64,
    /// What was changed to come to it; `None`: perhaps everything.
    touched: Option<Touched>,
}

/// The last publications, by epoch.
#[derive(Default)]
pub(crate) struct History(VecDeque<Publication>);

impl History {
    /// A version of which it is not known what has changed.
    pub(crate) fn start_anew(&mut self, epoch: u64) {
        self.0.clear();
        self.0.push_back(Publication { epoch, touched: None });
    }

    /// One version has followed another.
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

    /// Whether what is mentioned is in the version `now` as it was in the version `then`. Not if it
    /// is not known any more, nor of versions that were never published.
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
            // A new one has no names that anything was found by, and does not change a search path
            // that is in use: a session that sees it there has another path.
            ObjectId::Schema(oid) if before.schema(oid).is_none() => {}
            ObjectId::Schema(_) | ObjectId::Extension(_) => return None,
        }
    }
    Some(touched)
}

impl Touched {
    /// `None`: too much.
    fn add(&mut self, before: &Catalog, after: &Catalog, oid: Oid) -> Option<()> {
        let (old, new) = (before.relation(oid), after.relation(oid));
        for (catalog, version) in [(before, old), (after, new)] {
            let Some(version) = version else { continue };
            let is_simple = match version.kind {
                RelKind::Table | RelKind::Index | RelKind::Sequence => true,
                // A view that is new is one more name.
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
            self.names.push(bare_name(new));
        }
        (self.relations.len() <= TOUCHED_MAX).then_some(())
    }
}

/// Whether a relation is nobody's partition, child or parent: what it is like says nothing of others.
fn stands_alone(catalog: &Catalog, relation: &Relation) -> bool {
    relation.parents().next().is_none() && catalog.children(relation.oid).next().is_none()
}

fn bare_name(relation: &Relation) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(&relation.name)
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

    /// Whether a plan over `TABLE` outlives a change of one object.
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
        let mentions = Mentions::of(&[TABLE], &before).expect("an ordinary table");
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
        assert!(Mentions::of(&[OTHER], &catalog).is_some());
        catalog.put_relation(child());
        assert!(Mentions::of(&[OTHER], &catalog).is_none(), "a parent");
        assert!(Mentions::of(&[NEW], &catalog).is_none(), "a child");
    }

    #[test]
    fn what_is_forgotten_may_have_mattered() {
        let mut catalog = Catalog::default();
        catalog.put_relation(table(TABLE, "table"));
        let mentions = Mentions::of(&[TABLE], &catalog).expect("an ordinary table");
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
