//! pgxc_prepared_xacts: the parts of transactions over nodes that are prepared, and that no client waits
//! for. The server ends them by itself; `mixed` ones wait for a person.
//!
//! In Postgres-XL the view has the identifiers alone.

use std::sync::Arc;

use steppe_catalog::objects::Node;
use steppe_catalog::system::RowsBuilder;
use steppe_cluster::commit::{InDoubt, InDoubtState};
use steppe_types::{Datum, Result};

use crate::server::Server;
use crate::services::micros_at_epoch;

/// The rows of pgxc_prepared_xacts.
pub(super) fn in_doubt(server: &Arc<Server>) -> Result<Vec<Vec<Datum>>> {
    let catalog = server.catalog.published();
    let mut builder = RowsBuilder::new("pgxc_prepared_xacts")?;
    for InDoubt { gid, state, since, reason } in server.cluster.in_doubt() {
        let is_its = |node: &&Arc<Node>| node.identity == gid.participant.0;
        // The part in this server's own database has no name.
        let node = catalog.stored::<Node>().iter().find(is_its);
        let state = match state {
            InDoubtState::Undecided => "undecided",
            InDoubtState::Committing => "committing",
            InDoubtState::RollingBack => "rolling back",
            InDoubtState::Mixed => "mixed",
        };
        let text = |text: Option<String>| text.map_or(Datum::Null, Datum::text);
        builder.row([
            ("gid", Datum::text(gid.to_string())),
            ("node_name", node.map_or(Datum::Null, |node| Datum::Text(Arc::clone(&node.name)))),
            ("state", Datum::text(state)),
            ("since", since.map_or(Datum::Null, |at| Datum::TimestampTz(micros_at_epoch(at)))),
            ("detail", text(reason)),
        ]);
    }
    builder.finish()
}
