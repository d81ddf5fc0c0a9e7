//! The details and hints for a name that is not found (errorMissingColumn and errorMissingRTE in
//! parse_relation.c).
//!
//! Every entry of every range table is considered, whether the name could refer to it or not. One
//! that has the very column is out of reach, and the error explains why. Otherwise the one or two
//! columns whose names are nearest by Levenshtein distance are suggested, if they are near at all.

use super::names::{Found, SYSTEM_COLUMNS};
use super::view::TARGET;
use super::{Binder, NamespaceItem};
use crate::ast::Location;
use crate::query::{Rte, RteKind};
use steppe_types::{Error, SqlState};

/// A name farther off than this is not suggested.
const MAX_DISTANCE: usize = 3;

/// The nearest columns seen so far (FuzzyAttrMatchState).
struct Nearest<'a> {
    distance: usize,
    first: Option<(&'a Rte, &'a str)>,
    second: Option<(&'a Rte, &'a str)>,
}

impl<'a> Nearest<'a> {
    /// Considers a column, of a table whose own name is `penalty` off.
    fn consider(&mut self, rte: &'a Rte, actual: &'a str, wanted: &str, penalty: usize) {
        if penalty > self.distance || actual.is_empty() {
            return;
        }
        let distance = levenshtein(actual, wanted);
        // More than half of it would be different.
        if distance > wanted.len() / 2 {
            return;
        }
        let distance = distance + penalty;
        if distance < self.distance {
            *self = Nearest { distance, first: Some((rte, actual)), second: None };
        } else if distance == self.distance {
            match (self.first, self.second) {
                // Too many at this distance: only nearer ones are of interest now.
                (_, Some(_)) => (self.first, self.second) = (None, None),
                (Some(_), None) => self.second = Some((rte, actual)),
                (None, None) => {}
            }
        }
    }

    fn hint(&self) -> Option<String> {
        let shown = |(rte, column): (&Rte, &str)| format!("column \"{}.{column}\"", rte.alias);
        let first = shown(self.first?);
        Some(match self.second {
            Some(second) => {
                format!("Perhaps you meant to reference the {first} or the {}.", shown(second))
            }
            None => format!("Perhaps you meant to reference the {first}."),
        })
    }
}

impl Binder<'_> {
    /// 42703 for a column that no reference could mean.
    pub(super) fn missing_column(
        &self,
        table: Option<&str>,
        name: &str,
        location: Location,
    ) -> Error {
        let message = match table {
            Some(table) => format!("column {table}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = self.error(SqlState::UNDEFINED_COLUMN, message, location);
        let (exact, nearest) = self.search_column(table, name);
        match exact[..] {
            [] => match nearest.hint() {
                Some(hint) => error.hint(hint),
                None => error,
            },
            [found] => self.out_of_reach(error, found, table.is_some(), name),
            [..] => {
                let error = error.detail(format!(
                    "There are columns named \"{name}\", but they are in tables that cannot be \
                     referenced from this part of the query."
                ));
                match table {
                    Some(_) => error,
                    None => error.hint("Try using a table-qualified name."),
                }
            }
        }
    }

    /// Entries that have the column, and the nearest columns of all (searchRangeTableForCol).
    fn search_column(&self, table: Option<&str>, name: &str) -> (Vec<Found>, Nearest<'_>) {
        let mut exact = Vec::new();
        let mut nearest = Nearest { distance: MAX_DISTANCE + 1, first: None, second: None };
        for (found, rte) in self.all_entries() {
            match &rte.kind {
                // A join repeats the columns of its inputs, and so does a set operation.
                RteKind::Join { .. } => continue,
                RteKind::Values(rows) if rows.is_empty() => continue,
                _ => {}
            }
            let penalty =
                table.map_or(0, |table| levenshtein(table, &rte.alias).min(MAX_DISTANCE + 2));
            let mut has_it =
                self.has_system_columns(found) && SYSTEM_COLUMNS.iter().any(|(n, ..)| *n == name);
            for column in rte.columns.iter().filter(|c| !c.dropped) {
                has_it |= &*column.name == name;
                nearest.consider(rte, &column.name, name, penalty);
            }
            if has_it && penalty == 0 {
                exact.push(found);
            }
        }
        (exact, nearest)
    }

    /// Explains why the one entry that has the column cannot be referred to.
    fn out_of_reach(&self, error: Error, found: Found, qualified: bool, name: &str) -> Error {
        let alias = &self.entry(found).alias;
        let error = error.detail(format!(
            "There is a column named \"{name}\" in table \"{alias}\", but it cannot be referenced \
             from this part of the query."
        ));
        if self.visible_if_lateral(found) {
            return error
                .hint("To reference that column, you must mark this subquery with LATERAL.");
        }
        let by_table =
            |item: &NamespaceItem| item.relation_visible && (!item.columns_visible || item.joined);
        if !qualified && self.namespace_item(found).is_some_and(by_table) {
            return error.hint("To reference that column, you must use a table-qualified name.");
        }
        error
    }

    /// 42P01 for a qualified name whose table is not in FROM.
    pub(super) fn missing_from(
        &self,
        schema: Option<&str>,
        table: &str,
        location: Location,
    ) -> Error {
        let error = |message: &str| {
            let message = format!("{message} FROM-clause entry for table \"{table}\"");
            self.error(SqlState::UNDEFINED_TABLE, message, location)
        };
        let Some(found) = self.search_relation(schema, table) else { return error("missing") };
        let error = error("invalid reference to");
        let rte = self.entry(found);
        if rte.has_alias
            && &*rte.alias != table
            && matches!(self.find_relation(None, &rte.alias, location), Ok(Some(f)) if f == found)
        {
            return error.hint(format!(
                "Perhaps you meant to reference the table alias \"{}\".",
                rte.alias
            ));
        }
        let error = error.detail(format!(
            "There is an entry for table \"{}\", but it cannot be referenced from this part of \
             the query.",
            rte.alias
        ));
        if self.visible_if_lateral(found) {
            return error
                .hint("To reference that table, you must mark this subquery with LATERAL.");
        }
        error
    }

    /// An entry for the relation of that name, or with that alias (searchRangeTableForRel).
    fn search_relation(&self, schema: Option<&str>, table: &str) -> Option<Found> {
        let parts: Vec<String> = schema.into_iter().chain([table]).map(str::to_owned).collect();
        let relation = self.lookup_relation_parts(&parts).ok().flatten();
        let matches = |rte: &Rte| {
            let same_relation = match (&rte.kind, &relation) {
                (RteKind::Relation(of), Some(relation)) => of.oid == relation.oid,
                _ => false,
            };
            same_relation || &*rte.alias == table
        };
        self.all_entries().find(|(_, rte)| matches(rte)).map(|(found, _)| found)
    }

    /// The range tables of all levels, innermost first.
    fn all_entries(&self) -> impl Iterator<Item = (Found, &Rte)> {
        self.scopes.iter().rev().enumerate().flat_map(|(levels, scope)| {
            // RETURNING's old and new are the target once more.
            let is_version = |rte: usize| {
                scope.returning_versions.iter().any(|(shown, of)| rte == *shown || rte == *of)
            };
            // Below a view that is changed, names cannot refer to the table.
            let is_below_view = |rte: usize| {
                scope.target_view.is_some() && (rte == TARGET || scope.excluded == Some(rte))
            };
            let is_known = move |rte: usize| !is_version(rte) && !is_below_view(rte);
            let entries = scope.rtes.iter().enumerate().filter(move |(rte, _)| is_known(*rte));
            entries.map(move |(rte, entry)| (Found { levels, rte }, entry))
        })
    }

    fn namespace_item(&self, found: Found) -> Option<&NamespaceItem> {
        let scope = &self.scopes[self.scopes.len() - 1 - found.levels];
        scope.namespace.iter().find(|item| item.rte == found.rte)
    }

    fn visible_if_lateral(&self, found: Found) -> bool {
        let active = self.scopes.last().is_some_and(|scope| scope.lateral_active);
        !active
            && self.namespace_item(found).is_some_and(|item| item.lateral_only && item.lateral_ok)
    }
}

/// The number of characters to insert, delete or replace to make one text of the other.
fn levenshtein(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::levenshtein;

    #[test]
    fn counts_edits() {
        assert_eq!(levenshtein("", ""), 0);
        assert_eq!(levenshtein("", "abc"), 3);
        assert_eq!(levenshtein("kitten", "sitting"), 3);
        assert_eq!(levenshtein("idd", "id"), 1);
        assert_eq!(levenshtein("naïve", "naive"), 1);
        assert_eq!(levenshtein("title", "name"), 4);
    }
}
