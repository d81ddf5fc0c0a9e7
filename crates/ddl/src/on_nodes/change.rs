//! The statements that make one value of a table on nodes of another.

use super::table::{NodeColumn, NodePart, NodeTable, option_name, option_text};
use steppe_catalog::system::definitions::{quote_identifier as quoted, simple_quote_literal};
use steppe_types::{Error, Result, SqlState};

/// The schema that each database has.
const PUBLIC: &str = "public";

/// The statements for a table that was `before` and is `after`; none if nothing is to be done.
/// Error 42P16: the key was dropped. Error 0A000: the nodes cannot follow the change.
pub(super) fn statements(
    before: Option<&NodeTable>,
    after: Option<&NodeTable>,
    cascades: bool,
) -> Result<Vec<String>> {
    match (before, after) {
        (None, None) => Ok(Vec::new()),
        (None, Some(new)) => Ok(created(new)),
        (Some(old), None) => {
            Ok(vec![format!("DROP TABLE {}{}", old.full_name(), cascade(cascades))])
        }
        (Some(before), Some(after)) => {
            let mut change = Change { before, after, cascades, out: Vec::new() };
            change.check_key()?;
            change.check_parts()?;
            change.moves();
            change.drops();
            change.renames();
            change.columns()?;
            change.adds();
            change.options();
            Ok(change.out)
        }
    }
}

/// The statements that drop a table which has no rows. A node that has some fails with 0A000.
pub(super) fn drop_empty(old: &NodeTable) -> [String; 3] {
    let name = old.full_name();
    let message = format!("redistribution of table \"{}\", which has rows", old.name);
    let message = simple_quote_literal(&format!("not supported yet: {message}"));
    let body = format!(
        "BEGIN IF EXISTS (SELECT FROM {name}) THEN RAISE EXCEPTION USING ERRCODE = '0A000', \
         MESSAGE = {message}; END IF; END"
    );
    [
        format!("LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE"),
        format!("DO {}", simple_quote_literal(&body)),
        format!("DROP TABLE {name}"),
    ]
}

fn cascade(cascades: bool) -> &'static str {
    if cascades { " CASCADE" } else { "" }
}

fn created(new: &NodeTable) -> Vec<String> {
    let mut out = Vec::new();
    make_schema(new, &mut out);
    let columns = new.columns.iter().flatten().map(NodeColumn::definition);
    let parts: Vec<String> = columns.chain(new.constraints.iter().map(NodePart::named)).collect();
    let options: Vec<String> = new.options.iter().map(option_text).collect();
    let with = match options.is_empty() {
        true => String::new(),
        false => format!(" WITH ({})", options.join(", ")),
    };
    out.push(format!("CREATE TABLE {} ({}){with}", new.full_name(), parts.join(", ")));
    out.extend(new.indexes.iter().map(|index| index.definition.clone()));
    out
}

/// A node may lack the table's schema. (IF NOT EXISTS would ask for the right to make schemas, and
/// give a notice.)
fn make_schema(table: &NodeTable, out: &mut Vec<String>) {
    if *table.schema == *PUBLIC {
        return;
    }
    let (name, literal) = (quoted(&table.schema), simple_quote_literal(&table.schema));
    let is_there = format!("SELECT FROM pg_catalog.pg_namespace WHERE nspname = {literal}");
    let body = format!("BEGIN IF NOT EXISTS ({is_there}) THEN CREATE SCHEMA {name}; END IF; END");
    out.push(format!("DO {}", simple_quote_literal(&body)));
}

/// A table that stays.
struct Change<'a> {
    before: &'a NodeTable,
    after: &'a NodeTable,
    cascades: bool,
    out: Vec<String>,
}

impl Change<'_> {
    fn alter(&mut self, action: impl AsRef<str>) {
        self.out.push(format!("ALTER TABLE {} {}", self.after.full_name(), action.as_ref()));
    }

    /// Rows would not be where the key says if it changed.
    fn check_key(&self) -> Result<()> {
        if self.before.distribution != self.after.distribution {
            return Err(Error::internal("a table has another distribution"));
        }
        let Some(key) = self.after.distribution.key() else { return Ok(()) };
        let column = |table: &NodeTable| {
            let position = usize::try_from(key - 1).ok()?;
            table.columns.get(position)?.as_ref().map(|column| column.type_text.clone())
        };
        match (column(self.before), column(self.after)) {
            (_, None) => {
                let message = "Distribution column cannot be dropped";
                Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
            }
            (before, after) if before != after => {
                let message = "changing the type of a distribution column is not supported";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            _ => Ok(()),
        }
    }

    /// The definition of a part that stays follows names and types alone.
    fn check_parts(&self) -> Result<()> {
        let (before, after) = (self.before, self.after);
        let outline = |table: &NodeTable| {
            let column = |own: &NodeColumn| (own.name.clone(), own.type_text.clone());
            let columns = table.columns.iter().map(|own| own.as_ref().map(column));
            (table.full_name(), columns.take(before.columns.len()).collect::<Vec<_>>())
        };
        if outline(before) != outline(after) {
            return Ok(());
        }
        let is_other = |(old, new): &(&NodePart, &NodePart)| {
            old.definition != new.definition
                && old.name == new.name
                && old.not_valid == new.not_valid
        };
        let constraints = both(&before.constraints, &after.constraints);
        match constraints.chain(both(&before.indexes, &after.indexes)).find(is_other) {
            Some((part, _)) => {
                let what = format!("changing \"{}\" on nodes", part.name);
                Err(Error::not_supported(what))
            }
            None => Ok(()),
        }
    }

    fn moves(&mut self) {
        let (before, after) = (self.before, self.after);
        if before.schema != after.schema {
            make_schema(after, &mut self.out);
            let schema = quoted(&after.schema);
            self.out.push(format!("ALTER TABLE {} SET SCHEMA {schema}", before.full_name()));
        }
        if before.name != after.name {
            let (old, new) = (after.beside(&before.name), quoted(&after.name));
            self.out.push(format!("ALTER TABLE {old} RENAME TO {new}"));
        }
    }

    fn drops(&mut self) {
        let (before, after) = (self.before, self.after);
        for gone in without(&before.constraints, &after.constraints) {
            let (name, cascade) = (quoted(&gone.name), cascade(self.cascades));
            self.alter(format!("DROP CONSTRAINT {name}{cascade}"));
        }
        for gone in without(&before.indexes, &after.indexes) {
            let (name, cascade) = (after.beside(&gone.name), cascade(self.cascades));
            self.out.push(format!("DROP INDEX {name}{cascade}"));
        }
        for (column, now) in before.columns.iter().zip(&after.columns) {
            if let (Some(column), None) = (column, now) {
                let (name, cascade) = (quoted(&column.name), cascade(self.cascades));
                self.alter(format!("DROP COLUMN {name}{cascade}"));
            }
        }
    }

    fn renames(&mut self) {
        let (before, after) = (self.before, self.after);
        for (old, new) in before.columns.iter().zip(&after.columns) {
            if let (Some(old), Some(new)) = (old, new)
                && old.name != new.name
            {
                let (old, new) = (quoted(&old.name), quoted(&new.name));
                self.alter(format!("RENAME COLUMN {old} TO {new}"));
            }
        }
        for (old, new) in both(&before.constraints, &after.constraints) {
            if old.name != new.name {
                let (old, new) = (quoted(&old.name), quoted(&new.name));
                self.alter(format!("RENAME CONSTRAINT {old} TO {new}"));
            }
        }
        for (old, new) in both(&before.indexes, &after.indexes) {
            if old.name != new.name {
                let (old, new) = (after.beside(&old.name), quoted(&new.name));
                self.out.push(format!("ALTER INDEX {old} RENAME TO {new}"));
            }
        }
    }

    /// Types, new columns, NOT NULL.
    fn columns(&mut self) -> Result<()> {
        let (before, after) = (self.before, self.after);
        for (i, new) in after.columns.iter().enumerate() {
            let Some(new) = new else { continue };
            let name = quoted(&new.name);
            let Some(old) = before.columns.get(i) else {
                self.add_column(new);
                continue;
            };
            let Some(old) = old else {
                return Err(Error::internal("a dropped column is there again"));
            };
            if old.not_null && !new.not_null {
                self.alter(format!("ALTER COLUMN {name} DROP NOT NULL"));
            }
            if old.type_text != new.type_text {
                self.alter(format!("ALTER COLUMN {name} TYPE {}", new.type_text));
            }
            if !old.not_null && new.not_null {
                self.alter(format!("ALTER COLUMN {name} SET NOT NULL"));
            }
        }
        Ok(())
    }

    /// The value of old rows is given as a default, which is dropped at once.
    fn add_column(&mut self, new: &NodeColumn) {
        let Some(missing) = &new.missing else {
            return self.alter(format!("ADD COLUMN {}", new.definition()));
        };
        self.alter(format!("ADD COLUMN {} DEFAULT {missing}", new.definition()));
        self.alter(format!("ALTER COLUMN {} DROP DEFAULT", quoted(&new.name)));
    }

    fn adds(&mut self) {
        let (before, after) = (self.before, self.after);
        for (old, new) in both(&before.constraints, &after.constraints) {
            if old.not_valid && !new.not_valid {
                self.alter(format!("VALIDATE CONSTRAINT {}", quoted(&new.name)));
            }
        }
        for new in without(&after.constraints, &before.constraints) {
            self.alter(format!("ADD {}", new.named()));
        }
        for new in without(&after.indexes, &before.indexes) {
            self.out.push(new.definition.clone());
        }
    }

    fn options(&mut self) {
        let (before, after) = (&self.before.options, &self.after.options);
        for gone in before.iter().filter(|old| after.iter().all(|new| new.0 != old.0)) {
            self.alter(format!("RESET ({})", option_name(&gone.0)));
        }
        for new in after.iter().filter(|new| !before.contains(new)) {
            self.alter(format!("SET ({})", option_text(new)));
        }
    }
}

/// The parts that the other list does not have.
fn without<'a>(list: &'a [NodePart], other: &'a [NodePart]) -> impl Iterator<Item = &'a NodePart> {
    list.iter().filter(|part| other.iter().all(|own| own.oid != part.oid))
}

/// The parts that are in both lists, old and new.
fn both<'a>(
    before: &'a [NodePart],
    after: &'a [NodePart],
) -> impl Iterator<Item = (&'a NodePart, &'a NodePart)> {
    before.iter().filter_map(|old| Some((old, after.iter().find(|new| new.oid == old.oid)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use steppe_catalog::{Distribution, DistributionMethod};

    fn column(name: &str, type_text: &str, not_null: bool) -> Option<NodeColumn> {
        let (name, type_text) = (name.into(), type_text.to_owned());
        Some(NodeColumn { name, type_text, not_null, missing: None })
    }

    fn part(oid: u32, name: &str, definition: &str) -> NodePart {
        let (name, definition) = (name.into(), definition.to_owned());
        NodePart { oid, name, definition, not_valid: false }
    }

    fn table() -> NodeTable {
        NodeTable {
            distribution: Arc::new(Distribution::new(DistributionMethod::Hash, 1, [1, 2])),
            schema: "public".into(),
            name: "t".into(),
            columns: vec![column("a", "integer", true), column("Two", "text COLLATE \"C\"", false)],
            constraints: vec![part(20, "t_pkey", "PRIMARY KEY (a)")],
            indexes: vec![part(30, "i", "CREATE INDEX i ON public.t USING btree (\"Two\")")],
            options: vec![("fillfactor".into(), "70".into())],
        }
    }

    /// The statements of a change.
    fn change(change: impl FnOnce(&mut NodeTable)) -> Vec<String> {
        let (before, mut after) = (table(), table());
        change(&mut after);
        statements(Some(&before), Some(&after), false).unwrap()
    }

    #[test]
    fn tables_are_made_and_dropped() {
        let made = "CREATE TABLE public.t (a integer NOT NULL, \"Two\" text COLLATE \"C\", \
                    CONSTRAINT t_pkey PRIMARY KEY (a)) WITH (fillfactor = '70')";
        let index = "CREATE INDEX i ON public.t USING btree (\"Two\")";
        assert_eq!(statements(None, Some(&table()), false).unwrap(), [made, index]);
        let other = NodeTable { schema: "S".into(), indexes: vec![], ..table() };
        let made = statements(None, Some(&other), false).unwrap();
        let schema = "DO 'BEGIN IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = \
                      ''S'') THEN CREATE SCHEMA \"S\"; END IF; END'";
        assert_eq!(made[0], schema);
        assert_eq!(statements(Some(&other), None, false).unwrap(), ["DROP TABLE \"S\".t"]);
        assert_eq!(
            statements(Some(&table()), None, true).unwrap(),
            ["DROP TABLE public.t CASCADE"]
        );
        assert!(statements(None, None, true).unwrap().is_empty());
        assert!(change(|_| {}).is_empty());
    }

    #[test]
    fn parts_follow_their_identities() {
        let found = change(|t| {
            (t.schema, t.name) = ("s".into(), "u".into());
            t.columns[1] = column("c", "text COLLATE \"C\"", false);
            t.constraints[0].name = "key".into();
            t.indexes[0].name = "j".into();
        });
        let expected = [
            "DO 'BEGIN IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = ''s'') \
             THEN CREATE SCHEMA s; END IF; END'",
            "ALTER TABLE public.t SET SCHEMA s",
            "ALTER TABLE s.t RENAME TO u",
            "ALTER TABLE s.u RENAME COLUMN \"Two\" TO c",
            "ALTER TABLE s.u RENAME CONSTRAINT t_pkey TO key",
            "ALTER INDEX s.i RENAME TO j",
        ];
        assert_eq!(found, expected);
        // A part of the same name that is another one.
        let found = change(|t| {
            t.indexes[0].oid = 31;
            t.columns[1] = None;
            t.columns.push(column("Two", "bigint", true));
        });
        let expected = [
            "DROP INDEX public.i",
            "ALTER TABLE public.t DROP COLUMN \"Two\"",
            "ALTER TABLE public.t ADD COLUMN \"Two\" bigint NOT NULL",
            "CREATE INDEX i ON public.t USING btree (\"Two\")",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn columns_and_constraints_change() {
        let found = change(|t| {
            t.columns[0] = column("a", "integer", false);
            t.columns[1] = column("Two", "varchar(3)", true);
            let missing = Some("'x'::text".to_owned());
            t.columns.push(column("d", "text", false).map(|c| NodeColumn { missing, ..c }));
            t.options = vec![("autovacuum_enabled".into(), "false".into())];
            t.constraints = vec![part(21, "t_check", "CHECK (a > 0) NOT VALID")];
        });
        let expected = [
            "ALTER TABLE public.t DROP CONSTRAINT t_pkey",
            "ALTER TABLE public.t ALTER COLUMN a DROP NOT NULL",
            "ALTER TABLE public.t ALTER COLUMN \"Two\" TYPE varchar(3)",
            "ALTER TABLE public.t ALTER COLUMN \"Two\" SET NOT NULL",
            "ALTER TABLE public.t ADD COLUMN d text DEFAULT 'x'::text",
            "ALTER TABLE public.t ALTER COLUMN d DROP DEFAULT",
            "ALTER TABLE public.t ADD CONSTRAINT t_check CHECK (a > 0) NOT VALID",
            "ALTER TABLE public.t RESET (fillfactor)",
            "ALTER TABLE public.t SET (autovacuum_enabled = 'false')",
        ];
        assert_eq!(found, expected);
        let mut before = table();
        before.constraints[0].not_valid = true;
        let found = statements(Some(&before), Some(&table()), false).unwrap();
        assert_eq!(found, ["ALTER TABLE public.t VALIDATE CONSTRAINT t_pkey"]);
    }

    #[test]
    fn a_key_stays() {
        for (column, code) in [(None, "42P16"), (column("a", "bigint", true), "0A000")] {
            let after = NodeTable { columns: vec![column], ..table() };
            let error = statements(Some(&table()), Some(&after), true).unwrap_err();
            assert_eq!(error.sqlstate().as_str(), code);
        }
        let mut other = table();
        other.indexes[0].definition.push_str(" WHERE a > 0");
        let error = statements(Some(&table()), Some(&other), true).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
        let moved = Distribution { key: 2, ..(*table().distribution).clone() };
        let after = NodeTable { distribution: Arc::new(moved), ..table() };
        assert!(statements(Some(&table()), Some(&after), true).is_err());
    }
}
