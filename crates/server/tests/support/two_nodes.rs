//! A coordinator over two data nodes, which are databases of one PostgreSQL 15.

use super::postgres::Postgres;
use super::{TestServer, rows_of};
use tokio_postgres::Client;

/// The nodes' names, and their databases'.
pub const NODES: [&str; 2] = ["n1", "n2"];

/// The coordinator and its nodes.
pub struct TwoNodes {
    pub server: TestServer,
    /// A client of each node itself.
    pub direct: Vec<Client>,
    node: Postgres,
}

impl TwoNodes {
    /// Starts them; `None` where PostgreSQL 15 is not installed.
    pub async fn start() -> Option<(TwoNodes, Client)> {
        let node = Postgres::start(&["max_prepared_transactions=20"])?;
        let server = TestServer::start();
        let client = server.client().await;
        for name in NODES {
            node.query(&format!("CREATE DATABASE {name}"));
            rows_of(&client, &node.create_node_in(name, name)).await;
        }
        let mut cluster = TwoNodes { server, direct: Vec::new(), node };
        for name in NODES {
            let direct = cluster.client_of(name).await;
            cluster.direct.push(direct);
        }
        Some((cluster, client))
    }

    /// A client of a node itself.
    pub async fn client_of(&self, node: &str) -> Client {
        let port = self.node.port;
        let options = format!("host=127.0.0.1 port={port} user=postgres dbname={node}");
        let connected = tokio_postgres::connect(&options, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the node takes a client");
        tokio::spawn(connection);
        client
    }

    /// The port of the server of all nodes.
    pub fn port(&self) -> u16 {
        self.node.port
    }

    /// The answer of a node itself.
    pub fn on(&self, node: &str, sql: &str) -> String {
        self.node.query_in(node, sql)
    }
}
