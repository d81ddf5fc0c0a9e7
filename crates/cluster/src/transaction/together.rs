//! Exchanges with several nodes at once.

use std::time::Instant;

use steppe_types::{Error, Result, SqlState};

use super::exchange::Exchange;
use super::participants::Participants;
use super::session::NodeSession;
use crate::connection::Step;
use crate::wait::{self, Heed, Watched};
use crate::{Interest, NodeId};

/// A node in an exchange.
struct Member<'s, T> {
    session: &'s mut NodeSession,
    exchange: Exchange,
    answer: Option<Result<T>>,
    interest: Interest,
}

impl Participants {
    /// Waits until `advance` is done on each of the nodes. The answers are in the order of the nodes'
    /// identities. If a connection breaks or the statement is to end, what still runs is canceled.
    pub(super) fn run<T>(
        &mut self,
        nodes: &[NodeId],
        deadline: Instant,
        advance: impl Fn(&mut NodeSession, &mut Exchange) -> Result<Step<Result<T>>>,
    ) -> Result<Vec<Result<T>>> {
        let member = |session| {
            let (exchange, answer, interest) = (Exchange::default(), None, Interest::Both);
            Member { session, exchange, answer, interest }
        };
        let mut members: Vec<Member<'_, T>> = self.of(nodes).map(member).collect();
        if let Err(error) = all_answer(&mut members, deadline, advance) {
            for member in members.iter_mut().filter(|member| member.answer.is_none()) {
                member.session.settle(&error);
            }
            return Err(error);
        }
        Ok(members.into_iter().filter_map(|member| member.answer).collect())
    }
}

fn all_answer<T>(
    members: &mut [Member<'_, T>],
    deadline: Instant,
    advance: impl Fn(&mut NodeSession, &mut Exchange) -> Result<Step<Result<T>>>,
) -> Result<()> {
    loop {
        let mut failed = None;
        for member in members.iter_mut().filter(|member| member.answer.is_none()) {
            match advance(member.session, &mut member.exchange) {
                Ok(Step::Ready(answer)) => {
                    member.answer = Some(answer.map_err(|error| member.session.named(error)));
                }
                Ok(Step::Waits(interest)) => member.interest = interest,
                Err(error) => failed = Some(member.session.named(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let mut watched = Vec::new();
        for member in members.iter_mut().filter(|member| member.answer.is_none()) {
            let descriptor = member.session.connection().descriptor();
            watched.push(Watched::new(descriptor, member.interest));
        }
        if watched.is_empty() {
            return Ok(());
        }
        if !wait::any(&mut watched, Some(deadline), Heed::Statement)? {
            let message = "a node has not answered in time";
            return Err(Error::new(SqlState::CONNECTION_FAILURE, message));
        }
    }
}
