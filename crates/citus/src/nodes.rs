//! Nodes by host and port, and statements that run on all of them.

use super::{catalog, text};
use std::sync::Arc;
use steppe_catalog::objects::{Node, NodeKind};
use steppe_catalog::system::definitions::{quote_identifier, simple_quote_literal};
use steppe_catalog::{Catalog, NAME_BYTES_MAX};
use steppe_exec::Spi;
use steppe_functions::args::{int4, text as text_arg, void};
use steppe_functions::{CallInfo, FnContext, SetRows, series};
use steppe_types::error::Severity;
use steppe_types::{Datum, Error, Result, SqlState};

/// The data nodes in the order in which they were made.
pub(super) fn data_nodes(catalog: &Catalog) -> Vec<Arc<Node>> {
    let is_data = |node: &&Arc<Node>| node.kind == NodeKind::DataNode;
    let mut nodes: Vec<Arc<Node>> =
        catalog.stored::<Node>().iter().filter(is_data).cloned().collect();
    nodes.sort_unstable_by_key(|node| node.oid);
    nodes
}

/// pg_dist_node.nodeid
pub(super) fn node_id(node: &Node) -> i32 {
    node.oid.cast_signed()
}

fn at(catalog: &Catalog, host: &str, port: i32) -> Option<Arc<Node>> {
    let is_it = |node: &Arc<Node>| *node.host == *host && i32::from(node.port) == port;
    data_nodes(catalog).into_iter().find(is_it)
}

/// The name that a node gets: its host and port, as an identifier that needs no quotes.
fn name_of(host: &str, port: i32) -> String {
    let keep = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '_',
    };
    let port = format!("_{port}");
    let mut name: String = "worker_".chars().chain(host.chars().map(keep)).collect();
    name.truncate(NAME_BYTES_MAX - port.len());
    name + &port
}

/// `citus_add_node(host, port)`: the identifier of the node, which may have been there.
pub(super) fn add(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let (host, port) = (text_arg(args, 0)?, int4(args, 1)?);
    if let Some(node) = at(&spi.frame()?.names.catalog, host, port) {
        return Ok(Datum::Int4(node_id(&node)));
    }
    spi.execute(&format!(
        "CREATE NODE {} WITH (TYPE = 'datanode', HOST = {}, PORT = {port})",
        quote_identifier(&name_of(host, port)),
        simple_quote_literal(host)
    ))?;
    let node = at(&spi.frame()?.names.catalog, host, port);
    let node = node.ok_or_else(|| Error::internal("the new node is not in the catalog"))?;
    Ok(Datum::Int4(node_id(&node)))
}

/// `citus_remove_node(host, port)`
pub(super) fn remove(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    let (host, port) = (text_arg(args, 0)?, int4(args, 1)?);
    let Some(node) = at(&spi.frame()?.names.catalog, host, port) else {
        let message = format!("node at \"{host}:{port}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    };
    spi.execute(&format!("DROP NODE {}", quote_identifier(&node.name)))?;
    void()
}

/// `citus_set_coordinator_host(host, port)`: nodes never call the coordinator.
pub(super) fn set_coordinator_host(_: &[Datum], _: &mut FnContext) -> Result<Datum> {
    void()
}

/// `citus_get_active_worker_nodes()`
pub(super) fn active(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let row = |node: Arc<Node>| vec![text(node.host.clone()), Datum::Int8(node.port.into())];
    Ok(series::rows(data_nodes(&catalog(cx)).into_iter().map(row).collect()))
}

/// `run_command_on_workers(command)`: on one node after the other, outside the transaction. An error
/// of a node is its result.
pub(super) fn run_on_workers(
    args: &[Datum],
    _: &CallInfo,
    cx: &mut FnContext,
) -> Result<Box<dyn SetRows>> {
    let command = text_arg(args, 0)?;
    let mut rows = Vec::new();
    for node in data_nodes(&catalog(cx)) {
        let (success, result) = match cx.session.run_on_node(&node, command) {
            Ok(result) => (true, result),
            Err(error) if is_of_statement(&error) => return Err(error),
            Err(error) => (false, Some(format!("ERROR:  {}", error.message()))),
        };
        rows.push(vec![
            text(node.host.clone()),
            Datum::Int4(node.port.into()),
            Datum::Bool(success),
            result.map_or(Datum::Null, text),
        ]);
    }
    Ok(series::rows(rows))
}

/// Whether the error is the interrupt of the statement that calls the function.
fn is_of_statement(error: &Error) -> bool {
    error.sqlstate() == SqlState::QUERY_CANCELED || error.fields().severity == Severity::Fatal
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn names_need_no_quotes() {
        assert_eq!(name_of("10.0.0.7", 5432), "worker_10_0_0_7_5432");
        assert_eq!(name_of("Db-1.Example", 1), "worker_db_1_example_1");
        assert_eq!(name_of(&"é".repeat(90), 65535).len(), 63);
    }
}
