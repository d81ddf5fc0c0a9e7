//! Sequences: a value that a committed transaction has used is never handed out again, unless
//! RESTART has been committed since.

use std::collections::BTreeMap;

use steppe_types::{Result, SqlState};

use crate::model::{Op, State, Used};
use crate::statement::{Effect, Look, Statement};
use crate::world::World;

/// Few, so that they are often gone on with.
const NAMES: u64 = 3;

/// CREATE, ALTER or DROP SEQUENCE.
pub(crate) fn any(look: &Look<'_>) -> Option<Statement> {
    let name = format!("q{}", look.random.below(NAMES));
    if !look.state.sequences.contains_key(&name) {
        let sql = format!("CREATE SEQUENCE {name}");
        return Some(Statement::done(sql, Effect::of(vec![Op::Restart(name, 1)])));
    }
    Some(match look.random.below(6) {
        0..3 => {
            let first = look.below(1000);
            let sql = format!("ALTER SEQUENCE {name} RESTART WITH {first}");
            let op = Op::Restart(name, i64::from(first));
            match first {
                0 => Statement::refused(sql, SqlState::INVALID_PARAMETER_VALUE),
                _ => Statement::done(sql, Effect::of(vec![op])),
            }
        }
        3..5 => {
            let by = 1 + look.below(3);
            Statement::done(format!("ALTER SEQUENCE {name} INCREMENT {by}"), Effect::default())
        }
        _ => Statement::done(
            format!("DROP SEQUENCE {name}"),
            Effect::of(vec![Op::DropSequence(name)]),
        ),
    })
}

impl World<'_> {
    /// Some nextvals of some sequence.
    pub(crate) fn draw_values(&mut self, who: usize) -> Result<()> {
        let state = self.state_of(who);
        let names: Vec<&String> = state.sequences.keys().collect();
        if names.is_empty() {
            return Ok(());
        }
        let name = names[self.random.below(names.len() as u64) as usize].clone();
        for _ in 0..1 + self.random.below(20) {
            let sql = format!("nextval('{name}')");
            let drawn = self.clients[who].session.nextval(&name);
            self.tell(who, &format!("{sql}: {:?}", drawn.as_ref().ok()));
            let effect = drawn.as_ref().map_or_else(
                |_| Effect::default(),
                |value| {
                    let used = self.state_of(who).sequences[&name].0;
                    assert!(*value > used, "{sql} is {value} again, after {used}");
                    Effect::of(vec![Op::Use(name.clone(), *value)])
                },
            );
            let failed = drawn.is_err();
            self.settle(who, &sql, drawn.map(|_| None), Ok(effect))?;
            if failed {
                break;
            }
        }
        Ok(())
    }
}

/// Whether each sequence has come as far as it had.
pub(crate) fn have_come_as_far(now: &State, then: &State) -> bool {
    let used = |sequences: &BTreeMap<String, Used>, name: &String| sequences[name].0;
    then.sequences.keys().all(|name| used(&now.sequences, name) >= used(&then.sequences, name))
}
