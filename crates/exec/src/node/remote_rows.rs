//! Rows of a data node, from their messages to values.

use steppe_cluster::Format;
use steppe_cluster::transaction::{first_row, malformed};
use steppe_sql::expr::TypeRef;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Result, binary_io, text_io};

/// The columns that a node sends.
pub(crate) struct RemoteColumns {
    pub(crate) types: Box<[TypeRef]>,
    pub(crate) formats: Box<[Format]>,
}

impl RemoteColumns {
    /// The columns, each in the format that is read fastest.
    pub(crate) fn new(types: &[TypeRef]) -> RemoteColumns {
        let formats = types.iter().map(|ty| super::remote_query::format(ty.oid)).collect();
        RemoteColumns { types: types.into(), formats }
    }

    /// Decodes the first of some rows. `first` is the position of the columns in a row that has others,
    /// too. Returns the bytes that it took. Error 08P01: they are no row of these columns.
    pub(crate) fn decode(
        &self,
        rows: &[u8],
        first: Option<usize>,
        io: &IoContext,
        row: &mut Vec<Datum>,
    ) -> Result<usize> {
        let (values, bytes) = first_row(rows)?;
        row.clear();
        let own = values.iter().skip(first.unwrap_or(0));
        for ((value, column), format) in own.zip(&self.types).zip(&self.formats) {
            row.push(match (value, format) {
                (None, _) => Datum::Null,
                (Some(bytes), Format::Binary) => {
                    binary_io::receive(column.oid, column.typmod, bytes, io)?
                }
                (Some(bytes), Format::Text) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
                    text_io::input(column.oid, column.typmod, text, io)?
                }
            });
        }
        let is_complete = first.is_some() || values.len() == row.len();
        match row.len() == self.types.len() && is_complete {
            true => Ok(bytes),
            false => Err(malformed()),
        }
    }
}
