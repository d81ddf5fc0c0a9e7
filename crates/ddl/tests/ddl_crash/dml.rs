//! Random changes of rows, with what they must come to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use steppe_types::SqlState;

use crate::model::{KEYS, Key, Op, Row, State};
use crate::statement::{Effect, Look, Statement};

/// Ids are below this: few enough to meet again.
const IDS: i32 = 160;
/// Values of v, which indexes are on.
const VALUES: i32 = 12;
/// The rows of a table that inserts stop at.
const ROWS_MAX: usize = 220;

/// Some INSERT, UPDATE or DELETE, if one of the kind that is drawn makes sense.
pub(crate) fn any(look: &Look<'_>) -> Option<Statement> {
    // Mostly by the root, as applications do.
    let wants_root = look.random.chance(3, 4);
    let is_root = |table: &crate::model::Table| table.of.is_none() && table.rows().is_none();
    let table = look.some_table(|table| is_root(table) == wants_root)?;
    match look.random.below(100) {
        0..46 => insert(look, &table),
        46..58 => update(look, &table),
        58..84 => move_rows(look, &table),
        _ => delete(look, &table),
    }
}

fn text(look: &Look<'_>) -> String {
    // Some are too long for a row.
    let bytes = if look.random.chance(1, 24) { 2200 + look.below(3000) } else { look.below(40) };
    let letter = |_| char::from(b'a' + look.random.below(26) as u8);
    (0..bytes).map(letter).collect()
}

fn insert(look: &Look<'_>, table: &str) -> Option<Statement> {
    let state = look.state;
    let present: BTreeSet<Key> = state.rows(table).into_iter().map(|(_, key, _)| key).collect();
    if present.len() > ROWS_MAX {
        return None;
    }
    let places: BTreeMap<i32, String> =
        (0..KEYS).filter_map(|k| Some((k, state.place(table, k)?))).collect();
    if places.len() < KEYS as usize && look.random.chance(1, 30) {
        let k = (0..KEYS).find(|k| !places.contains_key(k))?;
        let sql = format!("INSERT INTO {table} (id, k, v, t) VALUES (1, {k}, 1, 'lost')");
        return Some(Statement::refused(sql, SqlState::CHECK_VIOLATION));
    }
    let keys: Vec<i32> = places.keys().copied().collect();
    let many = look.random.chance(1, 8);
    let count = 1 + if many { look.below(60) } else { look.below(6) };
    let (mut ops, mut written, mut used) = (Vec::new(), Vec::new(), present.clone());
    for _ in 0..count {
        let key = (look.below(IDS), *look.some_of(&keys)?);
        if !used.insert(key) {
            continue;
        }
        let (v, t) = (look.below(VALUES), text(look));
        written.push(format!("({}, {}, {v}, '{t}')", key.0, key.1));
        let row = Row { v, t: t.into(), added: state.table(table).added.clone() };
        ops.push(Op::Put(places[&key.1].clone(), key, row));
    }
    if written.is_empty() {
        return None;
    }
    if look.random.chance(1, 40)
        && let Some((id, k)) = present.first()
    {
        written.push(format!("({id}, {k}, 0, 'twice')"));
        return Some(Statement::refused(insert_sql(table, &written), SqlState::UNIQUE_VIOLATION));
    }
    let count = Some(ops.len() as u64);
    Some(Statement::done(insert_sql(table, &written), Effect { ops, count }))
}

fn insert_sql(table: &str, rows: &[String]) -> String {
    format!("INSERT INTO {table} (id, k, v, t) VALUES {}", rows.join(", "))
}

/// A row that a statement concerns, with the leaf that it is in.
type Found<'s> = (String, Key, &'s Row);

/// A condition, and the rows of a table that meet it.
pub(crate) fn condition<'s>(look: &Look<'s>, table: &str) -> Option<(String, Vec<Found<'s>>)> {
    let state: &'s State = look.state;
    let mut rows = state.rows(table);
    let (_, (id, k), row) = look.some_of(&rows)?;
    let (id, k, v) = (*id, *k, row.v);
    let text = match look.random.below(8) {
        0..3 => {
            rows.retain(|(_, key, _)| *key == (id, k));
            format!(" WHERE id = {id} AND k = {k}")
        }
        3..5 => {
            rows.retain(|(_, key, _)| key.0 == id);
            format!(" WHERE id = {id}")
        }
        5 => {
            rows.retain(|(_, key, _)| key.1 == k);
            format!(" WHERE k = {k}")
        }
        6 => {
            rows.retain(|(_, _, row)| row.v == v);
            format!(" WHERE v = {v}")
        }
        _ => {
            rows.retain(|(_, key, _)| key.1 >= k && key.1 < k + 3);
            format!(" WHERE k >= {k} AND k < {}", k + 3)
        }
    };
    Some((text, rows))
}

/// UPDATE of columns that no row moves for.
fn update(look: &Look<'_>, table: &str) -> Option<Statement> {
    let (condition, rows) = condition(look, table)?;
    let added: Vec<&String> = look.state.table(table).added.keys().collect();
    let (v, t) = (look.below(VALUES), text(look));
    let column = look.some_of(&added).filter(|_| look.random.chance(1, 3));
    let new_text = look.random.chance(1, 2);
    let mut sql = format!("UPDATE {table} SET v = {v}");
    if new_text {
        write!(sql, ", t = '{t}'").expect("a string takes all");
    }
    let value = look.random.chance(3, 4).then(|| look.below(100));
    if let Some(column) = column {
        let value = value.map_or("NULL".to_owned(), |value| value.to_string());
        write!(sql, ", {column} = {value}").expect("a string takes all");
    }
    let t: Rc<str> = t.into();
    let ops = rows.into_iter().map(|(leaf, key, row)| {
        let mut row = Row { v, ..row.clone() };
        if new_text {
            row.t = Rc::clone(&t);
        }
        if let Some(column) = column {
            row.added.insert((*column).clone(), value);
        }
        Op::Put(leaf, key, row)
    });
    let ops: Vec<Op> = ops.collect();
    let count = Some(ops.len() as u64);
    Some(Statement::done(format!("{sql}{condition}"), Effect { ops, count }))
}

/// UPDATE of the partition key: rows go to other leaves, if those may take them.
fn move_rows(look: &Look<'_>, table: &str) -> Option<Statement> {
    let (condition, rows) = condition(look, table)?;
    let to = look.below(KEYS);
    let sql = format!("UPDATE {table} SET k = {to}, v = v + 1{condition}");
    // Each row is asked on its own way down: the leaf's own bound if the statement names it.
    let Some(place) = look.state.place(table, to) else {
        return Some(Statement::refused(sql, SqlState::CHECK_VIOLATION));
    };
    let mut taken: BTreeSet<i32> = look
        .state
        .rows(&place)
        .iter()
        .map(|(_, key, _)| *key)
        .filter(|key| key.1 == to)
        .map(|key| key.0)
        .collect();
    for (_, key, _) in &rows {
        if key.1 != to && !taken.insert(key.0) {
            return Some(Statement::refused(sql, SqlState::UNIQUE_VIOLATION));
        }
    }
    let count = Some(rows.len() as u64);
    // First all that go, then all that come: one may come to where another has been.
    let (mut ops, mut arrivals) = (Vec::new(), Vec::new());
    for (leaf, key, row) in rows {
        ops.push(Op::Remove(leaf, key));
        let row = Row { v: row.v + 1, ..row.clone() };
        arrivals.push(Op::Put(place.clone(), (key.0, to), row));
    }
    ops.extend(arrivals);
    Some(Statement::done(sql, Effect { ops, count }))
}

fn delete(look: &Look<'_>, table: &str) -> Option<Statement> {
    let (condition, rows) = condition(look, table)?;
    let count = Some(rows.len() as u64);
    let ops = rows.into_iter().map(|(leaf, key, _)| Op::Remove(leaf, key)).collect();
    Some(Statement::done(format!("DELETE FROM {table}{condition}"), Effect { ops, count }))
}
