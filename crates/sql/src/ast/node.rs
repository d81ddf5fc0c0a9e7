//! Nodes, groups of nodes, and the distribution of a table's rows over them: Postgres-XL's
//! statements and clauses (parsenodes.h of Postgres-XL 10).

use super::Location;

/// CREATE NODE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateNodeStmt {
    /// The node.
    pub name: String,
    /// WITH (…).
    pub options: Vec<NodeOption>,
}

/// ALTER NODE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterNodeStmt {
    /// The node.
    pub name: String,
    /// WITH (…).
    pub options: Vec<NodeOption>,
}

/// An option of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeOption {
    /// The option.
    pub name: String,
    /// Its value as text; `None` if the option is written without one.
    pub value: Option<String>,
    /// The place of the option.
    pub location: Location,
}

/// DROP NODE.
#[derive(Clone, Debug, PartialEq)]
pub struct DropNodeStmt {
    /// The node.
    pub name: String,
}

/// CREATE NODE GROUP.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateNodeGroupStmt {
    /// The group.
    pub name: String,
    /// Its nodes, in the order written.
    pub members: Vec<String>,
}

/// DROP NODE GROUP.
#[derive(Clone, Debug, PartialEq)]
pub struct DropNodeGroupStmt {
    /// The group.
    pub name: String,
}

/// EXECUTE DIRECT.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteDirectStmt {
    /// ON: the nodes that run the query.
    pub nodes: Vec<String>,
    /// The query.
    pub query: String,
    /// The place of the string that is the query.
    pub query_location: Location,
}

/// DISTRIBUTE BY … TO … of a new table. At least one of both is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// DISTRIBUTE BY.
    pub by: Option<DistributeBy>,
    /// TO.
    pub to: Option<NodeSet>,
    /// The place of the first word.
    pub location: Location,
}

/// DISTRIBUTE BY: how the node of a row is found.
#[derive(Clone, Debug, PartialEq)]
pub struct DistributeBy {
    /// The method.
    pub method: DistributionMethod,
    /// The column of HASH, MODULO and RANGE.
    pub column: Option<String>,
    /// The place of the column, or of the method if it has none.
    pub location: Location,
}

/// How the node of a row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DistributionMethod {
    /// By the hash of the column.
    Hash,
    /// By the column modulo the number of nodes.
    Modulo,
    /// By ranges of the column.
    Range,
    /// Each row on the next node.
    RoundRobin,
    /// Each row on every node.
    Replication,
}

/// TO: the nodes that have a table's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSet {
    /// NODE (…).
    Nodes(Vec<String>),
    /// GROUP.
    Group(String),
}
