//! A constraint's name, and that of its index.

use super::super::DdlContext;
use super::relation::rename_relation;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::{Error, Result, SqlState};

pub(super) fn rename_constraint(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    constraint: &str,
    new: String,
) -> Result<()> {
    use steppe_catalog::ConstraintKind::{Primary, Unique};
    let Some(at) = relation.constraints.iter().position(|c| *c.name == *constraint) else {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("constraint \"{constraint}\" for table \"{}\" does not exist", relation.name),
        ));
    };
    if let Primary { index } | Unique { index } = relation.constraints[at].kind {
        let catalog = ctx.catalog();
        let index = catalog.relation(index).ok_or_else(|| Error::internal("index has gone"))?;
        return rename_relation(ctx, index, new);
    }
    let mut renamed = (**relation).clone();
    renamed.constraints[at].name = new.as_str().into();
    ctx.put(renamed)
}
