//! Schema objects that are stored as relations: tables, indexes, sequences, views (PostgreSQL's
//! pg_class and related catalogs).
//!
//! An object is immutable; DDL replaces it by a new version. Expressions
//! (defaults, checks, index expressions, view bodies) are kept as SQL text and
//! bound when a statement that needs them is planned.
//!
//! There may be a hundred thousand of them, partitions and their indexes. So properties that few
//! objects have are boxed and not stored if they are absent. A partition shares properties that
//! equal its parent's ([`Relation::compact`]).

use crate::builtin;
use crate::distribution::Distribution;
use crate::extended_statistics::ExtendedStatistics;
use crate::extension::KeptByExtension;
use crate::foreign_key::{ForeignKey, KeyTriggers};
use crate::partition::{PartitionKey, PartitionOf};
use crate::statistics::Statistics;
use crate::trigger::Trigger;
use crate::{Oids, RareText, Shared};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_partition::make_exact;
use steppe_txn::{DatabaseId, FileId, Persistence};
use steppe_types::{Oid, oid};

/// pg_class.relkind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RelKind {
    /// r
    Table,
    /// i
    Index,
    /// S
    Sequence,
    /// v
    View,
    /// p
    PartitionedTable,
    /// I
    PartitionedIndex,
    /// c: a composite type, which has columns but no rows.
    Composite,
    /// A catalog table with rows that are computed from the catalog in memory (shown as r).
    Virtual,
}

/// A table, index, sequence, view or virtual catalog table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Relation {
    /// Its OID.
    pub oid: Oid,
    /// Schema OID.
    pub schema: Oid,
    /// Name.
    pub name: Arc<str>,
    /// Kind.
    pub kind: RelKind,
    /// Owner (role OID).
    pub owner: Oid,
    /// Columns by attribute number, dropped ones included.
    pub columns: Shared<Column>,
    /// Constraints of a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
    /// Triggers by name.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub triggers: Shared<Trigger>,
    /// The foreign keys' triggers of the table that ALTER TABLE has switched. All others fire unless
    /// the session replays a publisher's changes.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub key_triggers: Shared<KeyTriggers>,
    /// Index OIDs of a table, the primary key's first, then by OID.
    #[serde(default, skip_serializing_if = "Oids::is_empty")]
    pub indexes: Oids,
    /// The properties of an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Box<IndexInfo>>,
    /// The properties of a sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Box<SequenceInfo>>,
    /// The SELECT text of a view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<RareText>,
    /// The relations (attribute number 0) and columns that a view reads. If its grouping depends on
    /// primary keys, also their constraints (0).
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub reads: Shared<(Oid, i16)>,
    /// The file of its rows or entries, if its kind has any.
    #[serde(default, with = "file_number", skip_serializing_if = "Option::is_none")]
    pub storage: Option<FileId>,
    /// The file of a table's large values.
    #[serde(default, with = "file_number", skip_serializing_if = "Option::is_none")]
    pub overflow: Option<FileId>,
    /// PARTITION BY.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<Arc<PartitionKey>>,
    /// PARTITION OF. For an index: its parent index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_of: Option<PartitionOf>,
    /// An extension's data about it. (Rows from versions before the data was text are refused, not
    /// ignored.)
    #[serde(default, alias = "pathman", skip_serializing_if = "Option::is_none")]
    pub kept: Option<Arc<KeptByExtension>>,
    /// INHERITS: the parents in order.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub inherits: Shared<Oid>,
    /// ANALYZE's results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Arc<Statistics>>,
    /// The statistics objects of its columns (CREATE STATISTICS).
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub extended: Shared<ExtendedStatistics>,
    /// WITH (…) options as written.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub options: Shared<(Arc<str>, Arc<str>)>,
    /// COMMENT ON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<RareText>,
    /// The effect of a commit on a temporary table.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_commit: OnCommit,
    /// DISTRIBUTE BY: the nodes that have its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Arc<Distribution>>,
}

/// ON COMMIT of a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnCommit {
    /// Keeps the rows.
    #[default]
    PreserveRows,
    /// Deletes the rows.
    DeleteRows,
    /// Drops the table.
    Drop,
}

/// Whether a value is its type's default, which is not stored.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The stored form of a file: its number. A catalog has only files of its own database, which
/// [`Relation::set_database`] adds after the read.
mod file_number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use steppe_txn::{DatabaseId, FileId, RelFileNumber};

    pub(super) fn serialize<S: Serializer>(
        file: &Option<FileId>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        file.map(|file| { file.number }.0).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<FileId>, D::Error> {
        let file = |number| FileId { database: DatabaseId::SHARED, number: RelFileNumber(number) };
        Ok(Option::<u64>::deserialize(deserializer)?.map(file))
    }
}

/// A column (pg_attribute).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name; "........pg.dropped.N........" for a dropped column.
    pub name: Arc<str>,
    /// Type.
    pub type_oid: Oid,
    /// Type modifier or -1.
    pub typmod: i32,
    /// The domain, or the array type over one, that the column was declared with; 0 for any other
    /// type. Values are stored as values of `type_oid`, the type below it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub domain: Oid,
    /// Whether the column is NOT NULL. A user's table also has a constraint for it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_null: bool,
    /// DEFAULT expression as SQL text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Arc<str>>,
    /// Whether ALTER TABLE DROP COLUMN has dropped it; its position remains.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: bool,
    /// The value for rows written before ADD COLUMN … DEFAULT, in the type's text form; `None` is
    /// NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Arc<str>>,
    /// Collation OID or 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub collation: Oid,
    /// GENERATED … AS IDENTITY: 'a' always, 'd' by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<char>,
    /// GENERATED ALWAYS AS (`default`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub generated: bool,
    /// VIRTUAL, not STORED: rows contain NULL there, and readers compute the value.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_virtual: bool,
    /// COMMENT ON COLUMN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<RareText>,
    /// ALTER COLUMN … SET STATISTICS: the number of values that ANALYZE keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<i16>,
    /// ALTER COLUMN … SET STORAGE, if it differs from the type's: pg_attribute.attstorage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<char>,
    /// COMPRESSION: pg_attribute.attcompression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<char>,
    /// ALTER COLUMN … SET (…): pg_attribute.attoptions, names and values.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub options: Shared<(Arc<str>, Arc<str>)>,
    /// The number of parents that it is inherited from, without the parent of a partition: see
    /// [`Relation::inherit_count`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub inherit_count: i16,
    /// Whether the table's own definition has it, in addition to parents: see
    /// [`Relation::is_local`].
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub local: bool,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// A table constraint (pg_constraint).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Constraint {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
    /// Kind with its properties.
    pub kind: ConstraintKind,
    /// Attribute numbers, 1-based.
    pub columns: Shared<i16>,
    /// COMMENT ON CONSTRAINT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<RareText>,
    /// The number of parents that it is inherited from (pg_constraint.coninhcount).
    #[serde(default, skip_serializing_if = "is_default")]
    pub inherit_count: i16,
    /// Whether the table's own definition has it, in addition to parents
    /// (pg_constraint.conislocal).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub local: bool,
    /// NO INHERIT
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_inherit: bool,
    /// The key of the partitioned parent that this one belongs to (conparentid), or 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub parent: Oid,
    /// Whether it is NOT VALID: older rows may violate it (not pg_constraint.convalidated).
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_valid: bool,
    /// The OIDs that a foreign key's internal triggers have in pg_trigger: of DELETE and UPDATE of the
    /// referenced table, of INSERT and UPDATE of the referencing one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_triggers: Option<Box<[Oid; 4]>>,
}

/// Kinds of constraints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ConstraintKind {
    /// PRIMARY KEY with its index.
    Primary {
        /// Index OID.
        index: Oid,
    },
    /// UNIQUE with its index.
    Unique {
        /// Index OID.
        index: Oid,
    },
    /// CHECK (expression as SQL text).
    Check {
        /// The expression.
        expression: RareText,
    },
    /// Its one column is NOT NULL.
    NotNull,
    /// FOREIGN KEY
    ForeignKey(Arc<ForeignKey>),
}

/// The properties of an index (pg_index).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IndexInfo {
    /// Table OID.
    pub table: Oid,
    /// Key columns.
    pub keys: Shared<IndexKey>,
    /// INCLUDE columns: attribute numbers.
    #[serde(default, skip_serializing_if = "Shared::is_empty")]
    pub include: Shared<i16>,
    /// UNIQUE
    #[serde(default, skip_serializing_if = "is_default")]
    pub unique: bool,
    /// PRIMARY KEY
    #[serde(default, skip_serializing_if = "is_default")]
    pub primary: bool,
    /// NULLS NOT DISTINCT
    #[serde(default, skip_serializing_if = "is_default")]
    pub nulls_not_distinct: bool,
    /// CLUSTER ON: the index by which CLUSTER would order the table.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clustered: bool,
    /// When the index's constraint is checked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deferral: Deferral,
    /// WHERE … as SQL text (partial index).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<Arc<str>>,
}

/// When a constraint is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deferral {
    /// For each row when it is stored.
    #[default]
    NotDeferrable,
    /// At the end of the statement, unless SET CONSTRAINTS changes that.
    InitiallyImmediate,
    /// At the end of the transaction, unless SET CONSTRAINTS changes that.
    InitiallyDeferred,
}

impl Deferral {
    /// DEFERRABLE
    pub fn is_deferrable(self) -> bool {
        self != Deferral::NotDeferrable
    }

    /// INITIALLY DEFERRED
    pub fn is_deferred(self) -> bool {
        self == Deferral::InitiallyDeferred
    }
}

impl IndexInfo {
    /// Whether two rows can never have the same key. Rows under a DEFERRABLE constraint can until
    /// it is checked, so its index is stored and read as a non-unique one.
    pub fn is_unique_now(&self) -> bool {
        self.unique && !self.deferral.is_deferrable()
    }
}

/// One key of an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexKey {
    /// Attribute number 1-based, or 0 for an expression.
    pub attnum: i16,
    /// The expression as SQL text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<Arc<str>>,
    /// Key type.
    pub type_oid: Oid,
    /// DESC
    #[serde(default, skip_serializing_if = "is_default")]
    pub descending: bool,
    /// NULLS FIRST
    #[serde(default, skip_serializing_if = "is_default")]
    pub nulls_first: bool,
    /// Operator class name as written, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opclass: Option<Arc<str>>,
    /// COLLATE, if it differs from the collation of the column or expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<Oid>,
}

impl IndexKey {
    /// A column in ascending order, or an expression (number 0) that is set later.
    pub fn ascending(attnum: i16, type_oid: Oid) -> IndexKey {
        IndexKey {
            attnum,
            expression: None,
            type_oid,
            descending: false,
            nulls_first: false,
            opclass: None,
            collation: None,
        }
    }

    /// The collation of the key's values in an index of this table, or 0.
    pub fn collation(&self, table: &Relation) -> Oid {
        self.collation.unwrap_or_else(|| self.source_collation(table))
    }

    /// The collation of the key's column or expression, or 0.
    pub fn source_collation(&self, table: &Relation) -> Oid {
        table.collation_of_key(self.attnum, self.type_oid)
    }
}

/// The properties of a sequence (pg_sequence). The current value is in the engine's durable cells,
/// not here: nextval is not transactional.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceInfo {
    /// smallint, integer or bigint
    pub type_oid: Oid,
    /// START
    pub start: i64,
    /// INCREMENT
    pub increment: i64,
    /// MINVALUE
    pub min: i64,
    /// MAXVALUE
    pub max: i64,
    /// CACHE
    pub cache: i64,
    /// CYCLE
    pub cycle: bool,
    /// OWNED BY table, attribute number.
    pub owned_by: Option<(Oid, i16)>,
    /// The number of the durable cell with the current value. ALTER SEQUENCE uses another cell, so
    /// that its change is undone with the version that names that cell (PostgreSQL's relfilenode).
    #[serde(default, skip_serializing_if = "is_default")]
    pub cell: u32,
    /// UNLOGGED: a crash resets it to the value that it had when the cell was begun.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unlogged: bool,
}

impl Relation {
    /// Sets the database of its files, after it was read from that database's catalog.
    pub(crate) fn set_database(&mut self, database: DatabaseId) {
        for file in [&mut self.storage, &mut self.overflow].into_iter().flatten() {
            file.database = database;
        }
    }

    /// Whether a crash empties it, as for temporary tables. Its file's number or its sequence's
    /// properties contain that.
    pub fn is_unlogged(&self) -> bool {
        self.persistence() == Persistence::Unlogged
    }

    /// The persistence of its files.
    pub fn persistence(&self) -> Persistence {
        let of_file = self.storage.is_some_and(FileId::is_unlogged);
        match of_file || self.sequence.as_ref().is_some_and(|sequence| sequence.unlogged) {
            true => Persistence::Unlogged,
            false => Persistence::Logged,
        }
    }

    /// The collation of a column, or of an expression of this type (number 0); 0 for none.
    pub fn collation_of_key(&self, attnum: i16, type_oid: Oid) -> Oid {
        let column = usize::try_from(attnum - 1).ok().and_then(|i| self.columns.get(i));
        column.map_or_else(|| builtin::collation_of(type_oid), |c| c.collation)
    }

    /// A relation with this identity and no other properties.
    pub fn new(oid: Oid, schema: Oid, name: impl Into<Arc<str>>, kind: RelKind) -> Relation {
        Relation {
            oid,
            schema,
            name: name.into(),
            kind,
            owner: crate::BOOTSTRAP_SUPERUSER,
            columns: Shared::default(),
            constraints: Vec::new(),
            triggers: Shared::default(),
            key_triggers: Shared::default(),
            indexes: Oids::default(),
            index: None,
            sequence: None,
            view: None,
            reads: Shared::default(),
            storage: None,
            overflow: None,
            partition_key: None,
            partition_of: None,
            kept: None,
            inherits: Shared::default(),
            statistics: None,
            extended: Shared::default(),
            options: Shared::default(),
            comment: None,
            on_commit: OnCommit::default(),
            distribution: None,
        }
    }

    /// Whether it is a system catalog or an index of one.
    pub fn is_system(&self) -> bool {
        self.oid < oid::FIRST_NORMAL_OID
    }

    /// Position of a live column by name.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| !c.dropped && &*c.name == name)
    }

    /// The primary key's constraint.
    pub fn primary_key(&self) -> Option<&Constraint> {
        self.constraints.iter().find(|c| matches!(c.kind, ConstraintKind::Primary { .. }))
    }

    /// The position of the constraint that makes a column NOT NULL. It exists exactly if the column
    /// has the mark.
    pub fn not_null_constraint(&self, position: usize) -> Option<usize> {
        self.constraints.iter().position(|own| own.not_null_column() == Some(position))
    }

    /// The constraint that makes a column NOT NULL in the table and its children.
    pub fn inheritable_not_null(&self, position: usize) -> Option<&Constraint> {
        let own = &self.constraints[self.not_null_constraint(position)?];
        Some(own).filter(|own| !own.no_inherit)
    }

    /// Whether the table's own rows never have a NULL in the column at a position: it is NOT NULL,
    /// and not only for newer rows (NOT VALID).
    pub fn is_never_null(&self, position: usize) -> bool {
        self.is_marked_but(position, |constraint| constraint.not_valid)
    }

    /// Whether rows of the table and of its children never have a NULL in the column.
    pub fn is_not_null_below(&self, position: usize) -> bool {
        self.is_marked_but(position, |constraint| constraint.no_inherit || constraint.not_valid)
    }

    /// Whether a column is marked NOT NULL, and its constraint is not `limited`. (System catalogs
    /// have no constraint for it.)
    fn is_marked_but(&self, position: usize, limited: impl Fn(&Constraint) -> bool) -> bool {
        let is_limited = |c: &Constraint| limited(c) && c.not_null_column() == Some(position);
        self.columns.get(position).is_some_and(|column| column.not_null)
            && !self.constraints.iter().any(is_limited)
    }

    /// The parents of a partition or an inheriting child; for an index, the parent index.
    pub fn parents(&self) -> impl Iterator<Item = Oid> {
        let parent = self.partition_of.iter().map(|of| of.parent);
        parent.chain(self.inherits.iter().copied())
    }

    /// Its place in a partitioned relation, unless it is being detached.
    pub fn attached(&self) -> Option<&PartitionOf> {
        self.partition_of.as_ref().filter(|of| !of.detach_pending)
    }

    /// Whether DETACH CONCURRENTLY has marked this partition and not yet detached it.
    pub fn is_detaching(&self) -> bool {
        self.partition_of.as_ref().is_some_and(|of| of.detach_pending)
    }

    /// The number of parents that the column at a position is inherited from
    /// (pg_attribute.attinhcount). A partition inherits all its columns.
    pub fn inherit_count(&self, position: usize) -> i16 {
        match &self.partition_of {
            Some(_) if self.index.is_none() => 1,
            _ => self.columns.get(position).map_or(0, |column| column.inherit_count),
        }
    }

    /// Whether a column belongs to the table's own definition, in addition to parents
    /// (pg_attribute.attislocal).
    pub fn is_local(&self, position: usize) -> bool {
        let is_partition = self.partition_of.is_some() && self.index.is_none();
        !is_partition && self.columns.get(position).is_none_or(|column| column.local)
    }

    /// The relations and constraints that a view depends on, or the table that owns a sequence.
    pub fn refers_to(&self) -> impl Iterator<Item = Oid> {
        let owner = self.sequence.as_ref().and_then(|sequence| sequence.owned_by);
        let of_triggers = self.triggers.iter().filter_map(|trigger| trigger.constraint);
        let from = of_triggers.map(|constraint| constraint.from).filter(|from| *from != 0);
        self.reads.iter().copied().chain(owner).map(|(relation, _)| relation).chain(from)
    }

    /// The types of the columns that are not built in: users' types, row types, and arrays over
    /// them.
    pub fn own_types(&self) -> impl Iterator<Item = Oid> {
        let columns = self.columns.iter().filter(|column| !column.dropped && self.index.is_none());
        let types = columns.flat_map(|column| [column.type_oid, column.domain]);
        types.filter(|ty| *ty >= oid::FIRST_NORMAL_OID)
    }

    /// Frees unused memory, and shares properties that equal the parent's with it.
    pub(crate) fn compact(&mut self, parent: Option<&Relation>) {
        self.columns.shrink();
        make_exact(&mut self.constraints);
        if let Some(bound) = self.partition_of.as_mut().and_then(|of| of.bound.as_mut()) {
            bound.shrink_to_fit();
        }
        let Some(parent) = parent else { return };
        self.columns.share_with(&parent.columns);
        if let (Some(own), Some(of_parent)) = (&mut self.index, &parent.index) {
            own.keys.share_with(&of_parent.keys);
        }
        let mut next = 0;
        for own in &mut self.constraints {
            let is_named_so =
                |c: &Constraint| Arc::ptr_eq(&own.name, &c.name) || own.name == c.name;
            let same = |c: &&Constraint| is_named_so(c) || own.parent == c.oid;
            // Constraints are mostly in the same order.
            let (before, after) = parent.constraints.split_at(next);
            let found = (next..).zip(after).chain((0..).zip(before)).find(|(_, c)| same(c));
            let Some((at, of_parent)) = found else { continue };
            next = at + 1;
            own.columns.share_with(&of_parent.columns);
            if own.name == of_parent.name {
                own.name = of_parent.name.clone();
            }
            if own.kind == of_parent.kind {
                own.kind = of_parent.kind.clone();
            }
        }
    }

    /// Type OIDs of all columns in stored order (dropped ones keep their type).
    pub fn column_types(&self) -> Vec<Oid> {
        self.columns.iter().map(|c| c.type_oid).collect()
    }
}

impl Constraint {
    /// A constraint without a comment.
    pub fn new(
        oid: Oid,
        name: impl Into<Arc<str>>,
        kind: ConstraintKind,
        columns: impl Into<Shared<i16>>,
    ) -> Constraint {
        let (name, columns) = (name.into(), columns.into());
        Constraint {
            oid,
            name,
            kind,
            columns,
            comment: None,
            inherit_count: 0,
            local: true,
            no_inherit: false,
            parent: 0,
            not_valid: false,
            key_triggers: None,
        }
    }

    /// The index of a primary key or unique constraint.
    pub fn index(&self) -> Option<Oid> {
        match self.kind {
            ConstraintKind::Primary { index } | ConstraintKind::Unique { index } => Some(index),
            ConstraintKind::Check { .. }
            | ConstraintKind::NotNull
            | ConstraintKind::ForeignKey(_) => None,
        }
    }

    /// The position of the column that it makes NOT NULL, if it is a NOT NULL constraint.
    pub fn not_null_column(&self) -> Option<usize> {
        let column = self.columns.first().filter(|_| self.kind == ConstraintKind::NotNull);
        column.map(|attnum| *attnum as usize - 1)
    }

    /// Whether a parent has it, too.
    pub fn is_inherited(&self) -> bool {
        self.inherit_count > 0
    }

    /// The same constraint, inherited from one parent and without a definition of its own.
    pub fn inherited(self) -> Constraint {
        Constraint { inherit_count: 1, local: false, ..self }
    }
}

impl Column {
    /// The type that it was declared with, and its modifier.
    pub fn declared_type(&self) -> (Oid, i32) {
        if self.domain == 0 { (self.type_oid, self.typmod) } else { (self.domain, -1) }
    }

    /// pg_attribute.attgenerated: 's' stored, 'v' virtual, 0 not generated.
    pub fn generation(&self) -> u8 {
        match (self.generated, self.is_virtual) {
            (false, _) => 0,
            (true, false) => b's',
            (true, true) => b'v',
        }
    }

    /// A nullable column without default.
    pub fn new(name: impl Into<Arc<str>>, type_oid: Oid, typmod: i32) -> Column {
        Column {
            name: name.into(),
            type_oid,
            typmod,
            domain: 0,
            not_null: false,
            default: None,
            dropped: false,
            missing: None,
            collation: builtin::collation_of(type_oid),
            identity: None,
            generated: false,
            is_virtual: false,
            comment: None,
            statistics: None,
            storage: None,
            compression: None,
            options: Shared::default(),
            inherit_count: 0,
            local: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Catalog;
    use steppe_types::oid;

    /// The sizes of a partition's objects: its table, its key's index and its two constraints.
    /// There may be a hundred thousand partitions.
    #[test]
    fn what_there_are_many_of_is_small() {
        // With its counts, an `Arc` of 241 to 304 bytes takes an allocator's size class of 320
        // bytes.
        assert_eq!((size_of::<Relation>(), size_of::<Constraint>()), (280, 72));
    }

    #[test]
    fn a_partition_shares_what_it_has_like_its_parent() {
        let mut parent = Relation::new(20_000, 2200, "parent", RelKind::PartitionedTable);
        parent.columns = vec![Column::new("a", oid::INT4, -1)].into();
        parent.columns[0].not_null = true;
        let check = ConstraintKind::Check { expression: "(a > 0)".to_string().into() };
        parent.constraints = vec![
            Constraint::new(20_001, "parent_a_not_null", ConstraintKind::NotNull, vec![1]),
            Constraint::new(20_002, "parent_a_check", check, vec![1]),
        ];
        // The leaf in the form in which it is read from disk.
        let json = serde_json::to_string(&parent).expect("serializable");
        let mut leaf: Relation = serde_json::from_str(&json).expect("readable");
        (leaf.oid, leaf.name) = (20_003, "leaf".into());
        leaf.partition_of =
            Some(PartitionOf { parent: 20_000, bound: None, detach_pending: false });
        let mut catalog = Catalog::default();
        catalog.put_relation(parent);
        catalog.put_relation(leaf);
        let [parent, leaf] = [20_000, 20_003].map(|oid| catalog.relation(oid).expect("there"));
        assert_eq!(parent.columns.as_ptr(), leaf.columns.as_ptr());
        for (theirs, own) in parent.constraints.iter().zip(&leaf.constraints) {
            assert!(Arc::ptr_eq(&theirs.name, &own.name), "{}", own.name);
            assert_eq!(theirs.columns.as_ptr(), own.columns.as_ptr());
        }
        let expressions = [parent, leaf].map(|table| match &table.constraints[1].kind {
            ConstraintKind::Check { expression } => expression.as_ptr(),
            kind => panic!("{kind:?}"),
        });
        assert_eq!(expressions[0], expressions[1]);
    }
}
