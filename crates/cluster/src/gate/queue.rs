//! The order of the requests at the gate, without waiting.

use std::collections::BTreeMap;

use crate::NodeSet;

/// Names a request, in the order of coming.
pub(super) type Ticket = u64;

/// The aim of a request.
#[derive(Clone, Debug)]
pub(super) enum Claim {
    /// Takes snapshots on these nodes.
    Read(NodeSet),
    /// Commits on `nodes` (any, if `None`), of which `pending` may not have done so yet.
    Commit { nodes: Option<NodeSet>, pending: NodeSet },
}

impl Claim {
    pub(super) fn excludes(&self, other: &Claim) -> bool {
        let (read, nodes, pending) = match (self, other) {
            (Claim::Read(read), Claim::Commit { nodes, pending })
            | (Claim::Commit { nodes, pending }, Claim::Read(read)) => (read, nodes, pending),
            _ => return false,
        };
        let shared = nodes.as_ref().map_or(read.len(), |nodes| read.shared_with(nodes));
        shared >= 2 && read.shared_with(pending) > 0
    }
}

#[derive(Debug)]
struct Waiting {
    claim: Claim,
    /// The moment in which later requests entered before this one.
    passed_over: Option<u64>,
}

/// The requests inside and in front of the gate.
#[derive(Debug, Default)]
pub(super) struct Queue {
    next: Ticket,
    /// Counts the moments in which requests were let in from the queue.
    moment: u64,
    inside: BTreeMap<Ticket, Claim>,
    waiting: BTreeMap<Ticket, Waiting>,
}

impl Queue {
    fn ticket(&mut self) -> Ticket {
        self.next += 1;
        self.next
    }

    /// A request comes. True: it is inside.
    pub(super) fn enter(&mut self, claim: Claim) -> (Ticket, bool) {
        let ticket = self.ticket();
        let waiting = self.waiting.values().map(|waiting| &waiting.claim);
        let is_free = !self.inside.values().chain(waiting).any(|other| claim.excludes(other));
        if is_free {
            self.inside.insert(ticket, claim);
        } else {
            self.waiting.insert(ticket, Waiting { claim, passed_over: None });
        }
        (ticket, is_free)
    }

    /// A request that is inside at once.
    pub(super) fn hold(&mut self, claim: Claim) -> Ticket {
        let ticket = self.ticket();
        self.inside.insert(ticket, claim);
        ticket
    }

    /// A request leaves the gate, with its claim, or the queue. Returns the requests that
    /// enter now.
    pub(super) fn leave(&mut self, ticket: Ticket) -> (Option<Claim>, Vec<Ticket>) {
        let left = self.inside.remove(&ticket);
        let is_known = left.is_some() || self.waiting.remove(&ticket).is_some();
        debug_assert!(is_known, "a request leaves once");
        (left, self.let_in())
    }

    /// A commit inside has fewer nodes that may not have committed. Returns all its nodes, and the
    /// requests that enter now.
    pub(super) fn narrow(&mut self, ticket: Ticket, fewer: NodeSet) -> (NodeSet, Vec<Ticket>) {
        let Some(Claim::Commit { nodes, pending }) = self.inside.get_mut(&ticket) else {
            debug_assert!(false, "only a commit inside has nodes to answer");
            return (fewer, Vec::new());
        };
        let all = nodes.as_ref().unwrap_or(pending).clone();
        *pending = fewer;
        (all, self.let_in())
    }

    /// Lets in all that can enter, in the order of their coming.
    fn let_in(&mut self) -> Vec<Ticket> {
        let mut entered = Vec::new();
        if self.waiting.is_empty() {
            return entered;
        }
        self.moment += 1;
        // The requests that stay, in order.
        let mut staying: Vec<Ticket> = Vec::new();
        let tickets: Vec<Ticket> = self.waiting.keys().copied().collect();
        for ticket in tickets {
            if !self.may_enter(ticket, &staying) {
                staying.push(ticket);
                continue;
            }
            let Some(Waiting { claim, .. }) = self.waiting.remove(&ticket) else { continue };
            for earlier in &staying {
                if let Some(earlier) = self.waiting.get_mut(earlier)
                    && earlier.claim.excludes(&claim)
                {
                    earlier.passed_over = Some(self.moment);
                }
            }
            self.inside.insert(ticket, claim);
            entered.push(ticket);
        }
        entered
    }

    /// Whether it excludes no request inside, and no earlier one that was passed over at another
    /// moment.
    fn may_enter(&self, ticket: Ticket, staying: &[Ticket]) -> bool {
        let Some(Waiting { claim, .. }) = self.waiting.get(&ticket) else { return false };
        let mut earlier = staying.iter().filter_map(|earlier| self.waiting.get(earlier));
        !self.inside.values().any(|other| claim.excludes(other))
            && earlier.all(|earlier| {
                let moment = earlier.passed_over.unwrap_or(self.moment);
                moment == self.moment || !earlier.claim.excludes(claim)
            })
    }
}
