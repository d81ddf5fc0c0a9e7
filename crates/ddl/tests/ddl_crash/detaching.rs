//! DETACH PARTITION … CONCURRENTLY, which is two transactions: what other sessions do in between
//! is drawn as anything else is, and the power cut may come there, too.

use steppe_catalog::PUBLIC;
use steppe_ddl::Detaching;
use steppe_types::{Oid, Result, SqlState};

use crate::ddl;
use crate::model::Op;
use crate::statement::{Effect, Look};
use crate::world::World;

/// A DETACH CONCURRENTLY whose first transaction has committed.
pub(crate) struct Begun {
    detaching: Detaching,
    parent: Oid,
    partition: Oid,
}

impl World<'_> {
    /// The first transaction of a session that has none.
    pub(crate) fn begin_detach(&mut self, who: usize) -> Result<()> {
        let (state, catalog) = (self.state_of(who), self.clients[who].session.catalog());
        let look = Look { random: self.random, state: &state, catalog: &catalog };
        let Some(statement) = ddl::begin_detach(&look) else { return Ok(()) };
        let oid_of = |name: &str| catalog.relation_named(PUBLIC, name).expect("is there").oid;
        let oids = statement.outcome.as_ref().ok().and_then(|effect| match &effect.ops[..] {
            [Op::Mark(name, _)] => {
                let (parent, _) = state.table(name).of.as_ref()?;
                Some((oid_of(parent), oid_of(name)))
            }
            _ => None,
        });
        self.tell(who, &statement.sql);
        let session = &mut self.clients[who].session;
        session.begin();
        let mut begun = None;
        let done = session.begin_detach(&statement.sql).map(|detaching| {
            begun = oids.map(|(parent, partition)| Begun { detaching, parent, partition });
            None
        });
        self.settle(who, &statement.sql, done, statement.outcome)?;
        if begun.is_some() {
            self.commit(who)?;
            self.clients[who].begun = begun;
        }
        if self.is_open(who) { self.roll_back(who) } else { Ok(()) }
    }

    /// The second transaction, sometimes: others come first, and it may be cancelled.
    pub(crate) fn go_on_detaching(&mut self, who: usize) -> Result<()> {
        if self.random.chance(1, 2) {
            return Ok(());
        }
        let Some(begun) = self.clients[who].begun.take() else { return Ok(()) };
        if self.random.chance(1, 5) {
            self.tell(who, "DETACH CONCURRENTLY is cancelled");
            return Ok(());
        }
        self.tell(who, "the second half of DETACH CONCURRENTLY");
        let outcome = self.foretell(who, &begun);
        let session = &mut self.clients[who].session;
        session.begin();
        let done = session.finish_detach(&begun.detaching).map(|()| None);
        self.settle(who, "DETACH CONCURRENTLY", done, outcome)?;
        match self.is_open(who) {
            true => self.commit(who),
            // Another session held a lock.
            false => {
                self.clients[who].begun = Some(begun);
                Ok(())
            }
        }
    }

    /// The result of the second transaction: others may have ended what the first began, and either
    /// table may have gone.
    fn foretell(&mut self, who: usize, begun: &Begun) -> Result<Effect, SqlState> {
        let (state, catalog) = (self.state_of(who), self.clients[who].session.catalog());
        let name_of = |oid| catalog.relation(oid).map(|relation| relation.name.to_string());
        let names = (name_of(begun.parent), name_of(begun.partition));
        let (Some(parent), Some(name)) = names else {
            return Err(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        };
        let table = state.table(&name);
        let is_theirs = table.of.as_ref().is_some_and(|(of, _)| *of == parent);
        match table.detaching && is_theirs {
            true => Ok(Effect::of(vec![Op::Place(name, None)])),
            false => Ok(Effect::default()),
        }
    }
}
