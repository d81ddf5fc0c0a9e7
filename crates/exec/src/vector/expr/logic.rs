//! Three-valued logic over truth values.

use super::{GiveUp, Input, Truths, VExpr, Value, places};
use crate::context::ExecContext;
use crate::expr::{is_null_test, truth};
use crate::vector::{Data, IntKind, Nulls};
use steppe_sql::expr::BoolTest;
use steppe_types::Datum;

/// AND, which `false` decides, or OR, which `true` decides. An operand is evaluated for the rows
/// that the operands before it have not decided.
pub(super) fn junction(
    args: &[VExpr],
    decides: bool,
    cx: &mut ExecContext,
    input: Input<'_>,
) -> Result<Truths, GiveUp> {
    let mut out = Truths::repeat(Some(!decides), input.len());
    let mut undecided = input.len();
    for arg in args {
        if undecided == 0 {
            break;
        }
        if undecided == input.len() || undecided > input.len() / 4 * 3 && arg.never_fails() {
            let more = arg.truths(cx, input)?;
            combine(&mut out, &more, decides);
        } else {
            let is_open = |i: usize| out.values[i] != decides || out.nulls.get(i);
            let open = places((0..input.len()).map(is_open));
            let rows = input.numbers(open.clone());
            let more = arg.truths(cx, input.of_rows(&rows))?;
            combine_at(&mut out, &more, decides, &open);
        }
        let nulls = out.nulls.flags().iter().filter(|null| **null).count();
        // NULL has false in its place.
        let decided = out.values.iter().filter(|value| **value == decides).count();
        undecided = input.len() - decided + if decides { 0 } else { nulls };
    }
    Ok(out)
}

fn combine(out: &mut Truths, more: &Truths, decides: bool) {
    if out.nulls.none() && more.nulls.none() {
        let pairs = out.values.iter_mut().zip(&more.values);
        match decides {
            true => pairs.for_each(|(a, b)| *a |= b),
            false => pairs.for_each(|(a, b)| *a &= b),
        }
        return;
    }
    let rows = out.values.len();
    let mut nulls = vec![false; rows];
    for (i, null) in nulls.iter_mut().enumerate() {
        let (a, b) = (out.values[i], more.values[i]);
        let (a_null, b_null) = (out.nulls.get(i), more.nulls.get(i));
        let decided = !a_null && a == decides || !b_null && b == decides;
        *null = !decided && (a_null || b_null);
        out.values[i] = decided == decides && !*null;
    }
    out.nulls = Nulls::from_flags(nulls);
}

/// [`combine`] with the values of some places only.
fn combine_at(out: &mut Truths, more: &Truths, decides: bool, at: &[u32]) {
    let mut all = Truths::repeat(Some(!decides), out.values.len());
    let mut nulls = vec![false; if more.nulls.none() { 0 } else { out.values.len() }];
    for (k, i) in at.iter().enumerate() {
        all.values[*i as usize] = more.values[k];
        if let Some(null) = nulls.get_mut(*i as usize) {
            *null = more.nulls.get(k);
        }
    }
    all.nulls = Nulls::from_flags(nulls);
    combine(out, &all, decides);
}

/// The negation of truth values.
pub(super) fn not(mut truths: Truths) -> Truths {
    truths.values.iter_mut().for_each(|value| *value = !*value);
    Truths::new(truths.values, truths.nulls)
}

/// IS [NOT] NULL
pub(super) fn is_null(value: &Value<'_>, negated: bool, rows: usize) -> Truths {
    let values = match value {
        Value::Same(value) => vec![is_null_test(value, negated); rows],
        Value::Each(vector) => match &vector.data {
            Data::Datums(values) => values.iter().map(|v| is_null_test(v, negated)).collect(),
            _ if vector.nulls.none() => vec![negated; rows],
            _ => vector.nulls.flags().iter().map(|null| *null != negated).collect(),
        },
    };
    Truths { values, nulls: Nulls::default() }
}

/// IS TRUE, IS FALSE, IS UNKNOWN and their negations.
pub(super) fn bool_test(truths: Truths, test: BoolTest) -> Truths {
    let Truths { values, nulls } = truths;
    let null = |i: usize| nulls.get(i);
    let rows = values.iter().enumerate();
    let values = match test {
        BoolTest::True => values,
        BoolTest::NotTrue => values.iter().map(|v| !v).collect(),
        BoolTest::False => rows.map(|(i, v)| !v && !null(i)).collect(),
        BoolTest::NotFalse => rows.map(|(i, v)| *v || null(i)).collect(),
        BoolTest::Unknown => rows.map(|(i, _)| null(i)).collect(),
        BoolTest::NotUnknown => rows.map(|(i, _)| !null(i)).collect(),
    };
    Truths { values, nulls: Nulls::default() }
}

/// Boolean values as truth values.
pub(super) fn truths_of(value: &Value<'_>, rows: usize) -> Result<Truths, GiveUp> {
    let vector = match value {
        Value::Same(value) => return Ok(Truths::repeat(truth(value).map_err(GiveUp::on)?, rows)),
        Value::Each(vector) => vector,
    };
    match &vector.data {
        Data::Ints(IntKind::Bool, values) => {
            let values = values.iter().map(|value| *value != 0).collect();
            Ok(Truths::new(values, vector.nulls.clone()))
        }
        Data::Datums(values) => truths_of_datums(values),
        _ => Err(GiveUp),
    }
}

fn truths_of_datums(values: &[Datum]) -> Result<Truths, GiveUp> {
    let is_true = |value: &Datum| match value {
        Datum::Bool(value) => Ok(*value),
        Datum::Null => Ok(false),
        _ => Err(GiveUp),
    };
    let nulls = Nulls::from_flags(values.iter().map(Datum::is_null).collect());
    Ok(Truths { values: values.iter().map(is_true).collect::<Result<_, _>>()?, nulls })
}
