//! INSERT of rows of any source into a distributed table.
//!
//! The coordinator computes the whole rows: their source, defaults, sequences and volatile functions.
//! The executor finds each row's node, and hands a node its rows a batch at a time:
//!
//! ```text
//!   INSERT INTO s.t (a, b) SELECT r.c1, r.c2
//!     FROM ROWS FROM (unnest($1::int4[]), unnest($2::text[])) AS r(c1, c2)
//!     ON CONFLICT … RETURNING …
//! ```
//!
//! One text is for any number of rows, so that a node plans it once. unnest() would split
//! values that are arrays, so these are sent as texts.
//!
//! The node computes ON CONFLICT and RETURNING, as in a statement of one row ([`super::values`]).

use super::values::Values;
use super::{ROUND_TRIP, check_unchanged_key, contains_sublink, every, refused, text};
use crate::expr::{Expr, Place, TypeRef};
use crate::plan::{Cost, Plan, PlanNode, RemoteConflict, RemoteInsert, ScanRelation};
use crate::planner::{Planner, node};
use crate::query::{Command, Overriding, Query, Rte, RteKind, Target};
use std::sync::Arc;
use steppe_catalog::system::definitions::quote_identifier;
use steppe_catalog::{Relation, builtin};
use steppe_types::{Error, Oid, Result, oid};

/// A type whose arrays do not separate elements by a comma.
const BOX: Oid = 603;

/// Whether a statement inserts rows that only the coordinator can make, or into more than one node.
pub(super) fn is_of_rows(query: &Query) -> bool {
    let Some(relation) = target(query).filter(|_| query.command == Command::Insert) else {
        return false;
    };
    let Some(distribution) = &relation.distribution else { return false };
    distribution.key().is_none()
        // COPY has this.
        || query.overriding == Overriding::System
        || !query.from.is_empty()
        || !query.ctes.is_empty()
        || query.targets.iter().any(|target| contains_sublink(&target.expr))
}

/// The query whose rows are inserted.
pub(super) fn source_of(query: &Query) -> Query {
    let excluded = query.on_conflict.as_ref().map(|conflict| conflict.excluded);
    let mut source = query.clone();
    for rte in source.result_relation.into_iter().chain(excluded) {
        source.rtes[rte] = nothing();
    }
    source.command = Command::Select;
    source.result_relation = None;
    source.on_conflict = None;
    source.returning = Vec::new();
    source
}

/// 0A000 for a source that the coordinator cannot read.
pub(super) fn unreadable(query: &Query) -> Error {
    match target(query) {
        Some(relation) => refused(relation, "the source of an INSERT into distributed table"),
        None => Error::internal("an INSERT has no table"),
    }
}

fn target(query: &Query) -> Option<&Arc<Relation>> {
    match &query.rtes.get(query.result_relation?)?.kind {
        RteKind::Relation(relation) => Some(relation),
        _ => None,
    }
}

/// The statement for a node.
struct Sent {
    text: String,
    /// The table's columns that the first parameters have the values of.
    columns: Vec<usize>,
    /// The other parameters.
    params: Vec<Expr>,
    types: Vec<TypeRef>,
    names: Arc<[Arc<str>]>,
}

impl Planner<'_> {
    /// An INSERT into a distributed table. Error 0A000: a node cannot compute a part of it as the
    /// coordinator would.
    pub(in crate::planner) fn remote_insert(
        &mut self,
        query: &mut Query,
        target: usize,
        relation: Arc<Relation>,
    ) -> Result<Plan> {
        check(query, &relation)?;
        let lock = every::lock(query, &relation);
        let conflict = match &query.on_conflict {
            None => RemoteConflict::Error,
            Some(conflict) if conflict.update.is_none() => RemoteConflict::Nothing,
            Some(_) => RemoteConflict::Update,
        };
        let sent = self.sent(query, target, &relation)?;
        query.on_conflict = None;
        query.returning = Vec::new();
        let child = self.insert_source(query)?;
        self.use_relation(relation.oid, lock);
        let Cost { total, rows, width, .. } = child.cost;
        let rows = if sent.types.is_empty() { 0.0 } else { rows };
        let total = total + ROUND_TRIP;
        let cost = Cost { startup: total, total, rows, width };
        let alias = Arc::clone(&query.rtes[target].alias);
        let insert = RemoteInsert {
            rel: ScanRelation { relation, alias },
            child,
            text: sent.text.into(),
            columns: sent.columns.into(),
            params: sent.params,
            conflict,
        };
        let insert = PlanNode::RemoteInsert(Box::new(insert));
        Ok(node(insert, sent.types, sent.names, cost))
    }

    fn sent(&self, query: &Query, target: usize, relation: &Arc<Relation>) -> Result<Sent> {
        let mut printed = Query::new(Command::Insert);
        let excluded = query.on_conflict.as_ref().map(|conflict| conflict.excluded);
        let is_named = |rte| rte == target || Some(rte) == excluded;
        let rtes = query.rtes.iter().enumerate();
        printed.rtes =
            rtes.map(|(at, rte)| if is_named(at) { rte.clone() } else { nothing() }).collect();
        printed.result_relation = Some(target);
        printed.on_conflict.clone_from(&query.on_conflict);
        printed.returning.clone_from(&query.returning);
        // The client's parameters, a row's columns, what the coordinator computes.
        let own = self.param_types.len();
        let columns = relation.columns.iter().enumerate();
        printed.targets = columns
            .map(|(at, column)| {
                let ty = TypeRef { oid: column.type_oid, typmod: column.typmod };
                let value = Expr::Param { index: own + at, ty, at: Place::NONE };
                Target::plain(value, Arc::clone(&column.name))
            })
            .collect();
        let mut values = Values::new(own + relation.columns.len());
        super::parts::separate(&mut printed);
        values.hoist(&mut printed, relation)?;
        let columns: Vec<usize> = printed.assignments.iter().map(|(at, _)| *at).collect();
        let (text, params) =
            Values::numbered(0, |name| text::of(self.ctx.catalog, &mut printed, name))?;
        if columns.is_empty() {
            return Err(refused(relation, "INSERT without columns into distributed table"));
        }
        let first = params.iter().take(columns.len()).copied();
        if !first.eq(columns.iter().map(|at| own + at)) {
            return Err(Error::internal("the columns of an INSERT are not its first parameters"));
        }
        let text = of_arrays(&text, &columns, relation)?;
        let params = params.into_iter().skip(columns.len());
        let params = params.map(|index| values.value(index, &self.param_types)).collect();
        let visible = || printed.returning.iter().filter(|target| !target.hidden);
        let types = visible().map(|target| target.expr.ty()).collect();
        let names = visible().map(|target| Arc::clone(&target.name)).collect();
        Ok(Sent { text, columns, params, types, names })
    }
}

/// 0A000 for parts that the rows' path does not have.
fn check(query: &Query, relation: &Relation) -> Result<()> {
    let Some(distribution) = &relation.distribution else {
        return Err(Error::internal("the table is not distributed"));
    };
    let mut named: Vec<&Expr> = query.returning.iter().map(|target| &target.expr).collect();
    if let Some((assignments, filter)) = query.on_conflict.as_ref().and_then(|c| c.update.as_ref())
    {
        named.extend(assignments.iter().map(|(_, value)| value).chain(filter));
    }
    let what = if query.returning_versions.is_some() {
        "OLD or NEW in RETURNING of distributed table"
    } else if !query.view_checks.is_empty() {
        "WITH CHECK OPTION over distributed table"
    } else if named.into_iter().any(contains_sublink) {
        "a sub-select in ON CONFLICT or RETURNING of distributed table"
    } else {
        return check_unchanged_key(query, relation, distribution);
    };
    Err(refused(relation, what))
}

/// An entry of the source, which the node does not see.
fn nothing() -> Rte {
    Rte {
        alias: "".into(),
        has_alias: false,
        kind: RteKind::Values(Vec::new()),
        inherit: false,
        columns: Vec::new(),
    }
}

/// An INSERT of one row of parameters as one of rows from arrays.
fn of_arrays(text: &str, columns: &[usize], relation: &Relation) -> Result<String> {
    let numbers: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
    let one = format!("VALUES ({})", numbers.join(", "));
    let mut pieces = text.split(&one);
    let (Some(before), Some(after), None) = (pieces.next(), pieces.next(), pieces.next()) else {
        return Err(refused(relation, "INSERT of more than one row into distributed table"));
    };
    let (mut values, mut arrays, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (number, at) in columns.iter().enumerate() {
        let (number, type_oid) = (number + 1, relation.columns[*at].type_oid);
        let name = type_name(type_oid)?;
        let has_array = oid::array_type_of(type_oid).is_some_and(|array| array != 0);
        match has_array && type_oid != BOX {
            true => {
                arrays.push(format!("pg_catalog.unnest(${number}::{name}[])"));
                values.push(format!("r.c{number}"));
            }
            false => {
                arrays.push(format!("pg_catalog.unnest(${number}::pg_catalog.text[])"));
                values.push(format!("r.c{number}::{name}"));
            }
        }
        names.push(format!("c{number}"));
    }
    Ok(format!(
        "{before}SELECT {} FROM ROWS FROM ({}) AS r({}){after}",
        values.join(", "),
        arrays.join(", "),
        names.join(", ")
    ))
}

/// The name of a built-in type without a modifier.
fn type_name(type_oid: Oid) -> Result<String> {
    if let Some(element) = oid::element_type_of(type_oid) {
        return type_name(element).map(|name| format!("{name}[]"));
    }
    let ty =
        builtin::ty(type_oid).ok_or_else(|| Error::internal("a column's type is not built in"))?;
    Ok(format!("pg_catalog.{}", quote_identifier(ty.name)))
}
