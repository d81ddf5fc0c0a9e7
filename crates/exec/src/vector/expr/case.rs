//! CASE and COALESCE: each row takes its value from the branch that applies to it.
//!
//! A branch is evaluated only for the rows that take it, since it may fail for others.

use super::{GiveUp, Input, VExpr, Value, places};
use crate::context::ExecContext;
use crate::vector::{Data, Nulls, Texts, Vector};
use steppe_types::Datum;

/// The values of the branches so far, and the place of each row's value.
struct Branches {
    values: Vec<Vector>,
    /// The branch, and the place in it.
    taken: Vec<(u32, u32)>,
}

/// CASE
pub(super) fn case(
    whens: &[(VExpr, VExpr)],
    otherwise: &VExpr,
    cx: &mut ExecContext,
    input: Input<'_>,
) -> Result<Vector, GiveUp> {
    let mut branches = Branches::new(input.len());
    let mut left: Vec<u32> = (0..input.len() as u32).collect();
    for (when, then) in whens {
        if left.is_empty() {
            break;
        }
        let rows = input.numbers(left.clone());
        let truths = match left.len() == input.len() {
            true => when.truths(cx, input)?,
            false => when.truths(cx, input.of_rows(&rows))?,
        };
        let taken: Vec<u32> = truths.places().iter().map(|k| left[*k as usize]).collect();
        left = places(truths.values.iter().map(|held| !held))
            .iter()
            .map(|k| left[*k as usize])
            .collect();
        branches.take(then, &taken, cx, input)?;
    }
    branches.take(otherwise, &left, cx, input)?;
    branches.merge()
}

/// COALESCE
pub(super) fn coalesce(
    args: &[VExpr],
    cx: &mut ExecContext,
    input: Input<'_>,
) -> Result<Vector, GiveUp> {
    let mut branches = Branches::new(input.len());
    let mut left: Vec<u32> = (0..input.len() as u32).collect();
    for arg in args {
        if left.is_empty() {
            break;
        }
        branches.take(arg, &left, cx, input)?;
        let branch = branches.values.len() - 1;
        let is_null = |row: &u32| {
            let (_, place) = branches.taken[*row as usize];
            branches.values[branch].is_null(place as usize)
        };
        left.retain(is_null);
    }
    branches.merge()
}

impl Branches {
    fn new(rows: usize) -> Branches {
        Branches { values: Vec::new(), taken: vec![(0, 0); rows] }
    }

    /// Evaluates a branch for the rows at these places of the input.
    fn take(
        &mut self,
        branch: &VExpr,
        at: &[u32],
        cx: &mut ExecContext,
        input: Input<'_>,
    ) -> Result<(), GiveUp> {
        if at.is_empty() {
            return Ok(());
        }
        let number = self.values.len() as u32;
        let rows = input.numbers(at.to_vec());
        let values = match at.len() == input.len() {
            true => branch.values(cx, input)?,
            false => branch.values(cx, input.of_rows(&rows))?,
        };
        let is_same = matches!(values, Value::Same(_));
        for (k, row) in at.iter().enumerate() {
            self.taken[*row as usize] = (number, if is_same { 0 } else { k as u32 });
        }
        self.values.push(match values {
            Value::Same(value) => Vector::of(vec![value]),
            Value::Each(vector) => vector.into_owned(),
        });
        Ok(())
    }

    /// One value a row. The column is typed if all branches except NULL ones have one
    /// representation.
    fn merge(self) -> Result<Vector, GiveUp> {
        let Branches { mut values, taken } = self;
        if values.len() == 1 && values[0].len() == taken.len() {
            return Ok(values.swap_remove(0));
        }
        let is_null = |vector: &Vector| match &vector.data {
            Data::Datums(values) => values.iter().all(Datum::is_null),
            _ => false,
        };
        let typed: Vec<Option<&Vector>> =
            values.iter().map(|v| (!is_null(v)).then_some(v)).collect();
        let Some(data) = merge_typed(&typed, &taken) else { return merge_datums(&values, &taken) };
        let null = |(branch, place): &(u32, u32)| values[*branch as usize].is_null(*place as usize);
        let some_null = values.iter().any(|v| is_null(v) || !v.nulls.none());
        let nulls = match some_null {
            true => Nulls::from_flags(taken.iter().map(null).collect()),
            false => Nulls::default(),
        };
        Ok(Vector { data, nulls })
    }
}

fn merge_datums(values: &[Vector], taken: &[(u32, u32)]) -> Result<Vector, GiveUp> {
    let datum = |(branch, place): &(u32, u32)| {
        values[*branch as usize].datum(*place as usize).map_err(GiveUp::on)
    };
    Ok(Vector::of(taken.iter().map(datum).collect::<Result<_, _>>()?))
}

/// `None` if the branches differ in their representation.
fn merge_typed(branches: &[Option<&Vector>], taken: &[(u32, u32)]) -> Option<Data> {
    let first = branches.iter().flatten().next()?;
    macro_rules! merged {
        ($pattern:pat $(if $guard:expr)? => $slice:expr, $missing:expr) => {{
            let slices = branches
                .iter()
                .map(|branch| match branch.map(|vector| &vector.data) {
                    None => Some(None),
                    Some($pattern) $(if $guard)? => Some(Some($slice)),
                    Some(_) => None,
                })
                .collect::<Option<Vec<_>>>()?;
            let pick = |(branch, place): &(u32, u32)| match &slices[*branch as usize] {
                None => $missing,
                Some(slice) => slice[*place as usize],
            };
            taken.iter().map(pick).collect()
        }};
    }
    Some(match &first.data {
        Data::Ints(kind, _) => Data::Ints(*kind, merged!(Data::Ints(k, v) if k == kind => v, 0)),
        Data::Floats(_) => Data::Floats(merged!(Data::Floats(v) => v, 0.0)),
        Data::Decimals(scale, _) => {
            Data::Decimals(*scale, merged!(Data::Decimals(s, v) if s == scale => v, 0))
        }
        Data::Texts(_) => Data::Texts(merge_texts(branches, taken)?),
        Data::Datums(_) => return None,
    })
}

fn merge_texts(branches: &[Option<&Vector>], taken: &[(u32, u32)]) -> Option<Texts> {
    let texts = branches
        .iter()
        .map(|branch| match branch.map(|vector| &vector.data) {
            None => Some(None),
            Some(Data::Texts(texts)) => Some(Some(texts)),
            Some(_) => None,
        })
        .collect::<Option<Vec<_>>>()?;
    let mut out = Texts::default();
    for (branch, place) in taken {
        out.push(texts[*branch as usize].map_or(&[][..], |texts| texts.get(*place as usize)));
    }
    Some(out)
}
