//! CREATE, ALTER and DROP NODE, CREATE and DROP NODE GROUP, EXECUTE DIRECT (gram.y of
//! Postgres-XL 10).

use steppe_types::Result;

use super::reader::{Reader, location};
use super::split::Tokens;
use crate::ast::{
    AlterNodeStmt, CreateNodeGroupStmt, CreateNodeStmt, DropNodeGroupStmt, DropNodeStmt,
    ExecuteDirectStmt, Statement,
};

/// The statements, by their first words. PostgreSQL's grammar refuses each at its last word here.
/// (EXECUTE direct runs a prepared statement of this name.)
const STATEMENTS: &[(&[&str], Read)] = &[
    (&["create", "node", "group"], create_group),
    (&["create", "node"], create_node),
    (&["alter", "node"], alter_node),
    (&["drop", "node", "group"], drop_group),
    (&["drop", "node"], drop_node),
    (&["execute", "direct", "on"], execute_direct),
];

/// Reads a statement after its first words, up to its end.
type Read = fn(&mut Reader<'_>) -> Result<Statement>;

/// The statement if it is one of these; 42601 if it goes on in another way than they do.
pub(super) fn read(source: &str, tokens: &Tokens) -> Option<Result<Statement>> {
    let mut reader = Reader::new(source, tokens, 0);
    let (_, read) = STATEMENTS.iter().find(|(words, _)| reader.skip(words))?;
    Some(read(&mut reader).and_then(|statement| reader.expect_end().map(|()| statement)))
}

fn create_node(reader: &mut Reader<'_>) -> Result<Statement> {
    let name = reader.name()?;
    let options = reader.options()?;
    Ok(Statement::CreateNode(Box::new(CreateNodeStmt { name, options })))
}

fn alter_node(reader: &mut Reader<'_>) -> Result<Statement> {
    let name = reader.name()?;
    let options = reader.options()?;
    Ok(Statement::AlterNode(Box::new(AlterNodeStmt { name, options })))
}

fn drop_node(reader: &mut Reader<'_>) -> Result<Statement> {
    Ok(Statement::DropNode(DropNodeStmt { name: reader.name()? }))
}

fn create_group(reader: &mut Reader<'_>) -> Result<Statement> {
    let name = reader.name()?;
    reader.expect("with")?;
    let members = reader.names()?;
    Ok(Statement::CreateNodeGroup(CreateNodeGroupStmt { name, members }))
}

fn drop_group(reader: &mut Reader<'_>) -> Result<Statement> {
    Ok(Statement::DropNodeGroup(DropNodeGroupStmt { name: reader.name()? }))
}

fn execute_direct(reader: &mut Reader<'_>) -> Result<Statement> {
    let nodes = reader.names_in_parentheses()?;
    let query_location = location(reader.start());
    let query = reader.string()?;
    let statement = ExecuteDirectStmt { nodes, query, query_location };
    Ok(Statement::ExecuteDirect(Box::new(statement)))
}
