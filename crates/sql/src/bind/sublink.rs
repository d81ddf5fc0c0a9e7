//! Sub-selects in expressions (transformSubLink in parse_expr.c).

use super::coerce::element_of;
use super::{Binder, ExprPlace};
use crate::ast::{self, ExprKind, Location, ObjectName};
use crate::expr::{Expr, SubLinkKind, TypeRef};
use crate::query::Query;
use steppe_types::{Error, Result, SqlState, oid};

impl Binder<'_> {
    /// A sub-select as an expression.
    pub(super) fn sub_link(
        &mut self,
        link: &ast::SubLink,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let (query, columns) = self.sub_select(&link.query, place, location)?;
        let one_column = |b: &Self| match columns.as_slice() {
            [ty] => Ok(*ty),
            _ => Err(b.error(
                SqlState::SYNTAX_ERROR,
                "subquery must return only one column",
                location,
            )),
        };
        let boolean = TypeRef::plain(oid::BOOL);
        let (kind, test, ty) = match link.kind {
            ast::SubLinkKind::Exists => (SubLinkKind::Exists, None, boolean),
            ast::SubLinkKind::Expr => (SubLinkKind::Scalar, None, one_column(self)?),
            ast::SubLinkKind::Array => {
                let element = one_column(self)?;
                // An array has no array type: the sub-select's arrays become a dimension.
                let array = match self.ctx.catalog.ty(element.oid).map_or(0, |t| t.array) {
                    0 if element_of(element.oid).is_some() => element.oid,
                    array => array,
                };
                (SubLinkKind::Array, None, TypeRef { oid: array, typmod: element.typmod })
            }
            ast::SubLinkKind::Any | ast::SubLinkKind::All => {
                let kind = match link.kind {
                    ast::SubLinkKind::Any => SubLinkKind::Any,
                    _ => SubLinkKind::All,
                };
                let test = self.quantified_test(link, &columns, place, location)?;
                (kind, Some(Box::new(test)), boolean)
            }
        };
        Ok(Expr::SubLink { kind, test, query: Box::new(query), ty })
    }

    /// Binds a sub-select where the place allows one, with the types of its columns.
    pub(super) fn sub_select(
        &mut self,
        select: &ast::SelectStmt,
        place: ExprPlace,
        location: Location,
    ) -> Result<(Query, Vec<TypeRef>)> {
        let refused = match place {
            ExprPlace::Check => Some("check constraint"),
            ExprPlace::ColumnDefault | ExprPlace::FunctionDefault => Some("DEFAULT expression"),
            ExprPlace::GeneratedColumn => Some("column generation expression"),
            ExprPlace::PartitionKey => Some("partition key expression"),
            ExprPlace::PartitionBound => Some("partition bound"),
            ExprPlace::IndexExpression => Some("index expression"),
            ExprPlace::IndexPredicate => Some("index predicate"),
            ExprPlace::StatisticsExpression => Some("statistics expression"),
            ExprPlace::CopyWhere => Some("COPY FROM WHERE condition"),
            ExprPlace::TriggerWhen => Some("trigger WHEN condition"),
            ExprPlace::ExecuteParameter => Some("EXECUTE parameter"),
            ExprPlace::AlterType => Some("transform expression"),
            ExprPlace::CallArgument => Some("CALL argument"),
            _ => None,
        };
        if let Some(what) = refused {
            return Err(self.error(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot use subquery in {what}"),
                location,
            ));
        }
        let outer = self.scope().sub_select_place.replace(place);
        let bound = self.within(Some("a subquery"), |b| b.select(select));
        self.scope().sub_select_place = outer;
        let mut query = bound?;
        self.settle_unknown_targets(&mut query)?;
        let visible = query.targets.iter().filter(|t| !t.hidden);
        let columns = visible.map(|t| t.expr.ty()).collect();
        Ok((query, columns))
    }

    /// The comparison of `x op ANY (SELECT …)`.
    fn quantified_test(
        &mut self,
        link: &ast::SubLink,
        columns: &[TypeRef],
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let equal = ObjectName::from("=");
        let op = link.op.as_ref().unwrap_or(&equal);
        let Some(test) = &link.test else {
            return Err(Error::internal("ANY/ALL sub-select without a left side"));
        };
        let left = match &test.kind {
            ExprKind::Row { fields, .. } => self.row_fields(fields, place, test.location)?,
            _ => vec![self.expr(test, place)?],
        };
        self.sub_select_test(op, left, columns, location)
    }
}
