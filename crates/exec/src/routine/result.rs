//! The columns of a function's result (get_call_result_type in funcapi.c).

use steppe_catalog::Catalog;
use steppe_catalog::objects::Function;
use steppe_sql::bind::result_columns as out_columns;
use steppe_types::{Oid, oid};

pub use steppe_sql::bind::RecordColumns as Columns;

/// The columns of a composite result, where the types of the arguments are these. `None`: the
/// result is one value, or a record whose columns the call must define.
pub fn result_columns(
    function: &Function,
    args: &[Oid],
    ret: Oid,
    catalog: &Catalog,
) -> Option<Columns> {
    let outs: Vec<(&str, Oid)> = out_columns(catalog, function, args).collect();
    // One OUT argument of a function is the result itself.
    if outs.len() > usize::from(!function.is_procedure()) {
        return Some(outs.into_iter().map(|(name, ty)| (name.into(), ty, -1)).collect());
    }
    if ret == oid::RECORD {
        return None;
    }
    let relation = catalog.relation_of_row_type(ret)?;
    let live = relation.columns.iter().filter(|column| !column.dropped);
    Some(live.map(|c| (c.name.clone(), c.type_oid, c.typmod)).collect())
}
