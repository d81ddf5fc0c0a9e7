//! Predicates compiled into steps.
//!
//! A conjunction has, for each column, all conditions on that column alone. They are combined when
//! they have values: `a = 1 AND b IN (2, 3)` are the two keys (1, 2) and (1, 3).

use super::{Comparison, Operand, Predicate};
use steppe_types::Datum;

/// A compiled predicate: [`PruningSteps::evaluate`] it with the values of its slots.
#[derive(Clone, Debug, PartialEq)]
pub struct PruningSteps {
    pub(super) root: Step,
    /// The value of each column of the key, if the predicate fixes all of them.
    pub(super) key: Option<Vec<Operand>>,
}

/// A set of keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Keys that every part allows.
    Conjunction(Conjunction),
    /// Keys in any of the sets.
    Union(Vec<Step>),
    /// Every key or none, by a boolean.
    Known(Operand),
}

/// Conditions that must hold together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Conjunction {
    /// Conditions on single columns; a column may occur more than once.
    pub(super) columns: Vec<(usize, ColumnStep)>,
    /// Conditions on the first columns of the key together.
    pub(super) rows: Vec<RowStep>,
    /// Other sets that the keys are in.
    pub(super) sets: Vec<Step>,
}

/// A set of values of one column, NULL among them or not.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ColumnStep {
    Compare(Comparison, Operand),
    Any(Comparison, Operand),
    All(Comparison, Operand),
    IsNull,
    IsNotNull,
    And(Vec<ColumnStep>),
    Or(Vec<ColumnStep>),
}

/// `(first columns of the key) operator (operands)`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowStep {
    pub(super) operator: Comparison,
    pub(super) operands: Vec<Operand>,
}

impl PruningSteps {
    /// Compiles a predicate over a key of `columns` columns.
    pub fn compile(predicate: &Predicate, columns: usize) -> PruningSteps {
        let root = compile(predicate, columns);
        let key = match &root {
            Step::Conjunction(parts) => whole_key(parts, columns),
            Step::Union(_) | Step::Known(_) => None,
        };
        PruningSteps { root, key }
    }

    /// Whether the steps prune nothing for any values, so that they need not be evaluated.
    pub fn keep_everything(&self) -> bool {
        self.root.is_everything()
    }

    /// Whether the steps select one key only, so that one partition is left.
    pub fn fix_the_key(&self) -> bool {
        self.key.is_some()
    }

    /// Whether the steps have slots, so that each binding gives another set.
    pub fn have_slots(&self) -> bool {
        self.root.has_slots()
    }
}

impl Step {
    fn everything() -> Step {
        Step::Conjunction(Conjunction::default())
    }

    fn is_everything(&self) -> bool {
        *self == Step::everything()
    }

    fn has_slots(&self) -> bool {
        match self {
            Step::Union(sets) => sets.iter().any(Step::has_slots),
            Step::Known(value) => is_slot(value),
            Step::Conjunction(parts) => {
                parts.columns.iter().any(|(_, step)| step.has_slots())
                    || parts.rows.iter().any(|row| row.operands.iter().any(is_slot))
                    || parts.sets.iter().any(Step::has_slots)
            }
        }
    }
}

fn whole_key(parts: &Conjunction, columns: usize) -> Option<Vec<Operand>> {
    let equals = |n: usize| {
        let mut steps = parts.columns.iter().filter(|(column, _)| *column == n);
        steps.find_map(|(_, step)| step.equal_to()).cloned()
    };
    (0..columns).map(equals).collect()
}

fn is_slot(operand: &Operand) -> bool {
    matches!(operand, Operand::Slot(_))
}

impl ColumnStep {
    /// The value that the column must equal, if the step has one.
    fn equal_to(&self) -> Option<&Operand> {
        match self {
            ColumnStep::Compare(Comparison::Equal, operand) => Some(operand),
            ColumnStep::And(steps) => steps.iter().find_map(ColumnStep::equal_to),
            _ => None,
        }
    }

    /// The value that the column is compared with by an operator, if the step has one.
    fn compared(&self, by: Comparison) -> Option<&Operand> {
        match self {
            ColumnStep::Compare(operator, operand) if *operator == by => Some(operand),
            ColumnStep::And(steps) => steps.iter().find_map(|step| step.compared(by)),
            _ => None,
        }
    }

    fn has_slots(&self) -> bool {
        match self {
            ColumnStep::Compare(_, operand)
            | ColumnStep::Any(_, operand)
            | ColumnStep::All(_, operand) => is_slot(operand),
            ColumnStep::IsNull | ColumnStep::IsNotNull => false,
            ColumnStep::And(steps) | ColumnStep::Or(steps) => {
                steps.iter().any(ColumnStep::has_slots)
            }
        }
    }
}

fn compile(predicate: &Predicate, columns: usize) -> Step {
    if let Some((column, step)) = single_column(predicate, columns) {
        let columns = vec![(column, step)];
        return Step::Conjunction(Conjunction { columns, ..Conjunction::default() });
    }
    match predicate {
        Predicate::And(parts) => {
            let mut conjunction = Conjunction::default();
            parts.iter().for_each(|part| add(compile(part, columns), &mut conjunction));
            for toward in [Comparison::Less, Comparison::Greater] {
                let row = row_of_columns(&conjunction, toward, columns);
                conjunction.rows.extend(row);
            }
            Step::Conjunction(conjunction)
        }
        Predicate::Or(parts) => {
            let sets: Vec<Step> = parts.iter().map(|part| compile(part, columns)).collect();
            if sets.iter().any(Step::is_everything) {
                Step::everything()
            } else {
                Step::Union(sets)
            }
        }
        Predicate::Constant(false) => Step::Union(Vec::new()),
        Predicate::Known { value } => Step::Known(value.clone()),
        Predicate::Row { columns: keys, operator, operands } => {
            row_comparison(keys, *operator, operands, columns)
        }
        _ => Step::everything(),
    }
}

/// `a >= 1 AND b > 2` implies `(a, b) > (1, 2)` for the key (a, b): conditions of the first columns
/// in one direction are combined, as long as ties are allowed.
fn row_of_columns(parts: &Conjunction, toward: Comparison, columns: usize) -> Option<RowStep> {
    let with_ties = match toward {
        Comparison::Less => Comparison::LessEqual,
        _ => Comparison::GreaterEqual,
    };
    let (mut operands, mut operator, mut are_equal) = (Vec::new(), with_ties, true);
    for column in 0..columns {
        let wanted = [Comparison::Equal, with_ties, toward];
        let bounds = wanted.into_iter().find_map(|wanted| {
            let steps = parts.columns.iter().filter(|(of, _)| *of == column);
            let operand = steps.filter_map(|(_, step)| step.compared(wanted)).next();
            operand.map(|operand| (wanted, operand.clone()))
        });
        let Some((comparison, operand)) = bounds else { break };
        operands.push(operand);
        are_equal &= comparison == Comparison::Equal;
        if comparison == toward {
            operator = toward;
            break;
        }
    }
    // A single column has this condition already. Columns that must all be equal form a prefix when
    // they have values.
    (operands.len() > 1 && !are_equal).then_some(RowStep { operator, operands })
}

/// Adds a conjunct; conjunctions within conjunctions are one.
fn add(step: Step, to: &mut Conjunction) {
    match step {
        Step::Union(_) | Step::Known(_) => to.sets.push(step),
        Step::Conjunction(parts) => {
            to.columns.extend(parts.columns);
            to.rows.extend(parts.rows);
            to.sets.extend(parts.sets);
        }
    }
}

/// The predicate as a set of values of one column, if it has no other column.
fn single_column(predicate: &Predicate, columns: usize) -> Option<(usize, ColumnStep)> {
    let (column, step) = match predicate {
        Predicate::Compare { column, operator, operand } => {
            (*column, ColumnStep::Compare(*operator, operand.clone()))
        }
        Predicate::Any { column, operator, array } => {
            (*column, ColumnStep::Any(*operator, array.clone()))
        }
        Predicate::All { column, operator, array } => {
            (*column, ColumnStep::All(*operator, array.clone()))
        }
        Predicate::IsNull { column } => (*column, ColumnStep::IsNull),
        Predicate::IsNotNull { column } => (*column, ColumnStep::IsNotNull),
        Predicate::IsBool { column, value, negated } => {
            let is = |value| {
                ColumnStep::Compare(Comparison::Equal, Operand::Constant(Datum::Bool(value)))
            };
            let step = match negated {
                false => is(*value),
                true => ColumnStep::Or(vec![is(!*value), ColumnStep::IsNull]),
            };
            (*column, step)
        }
        Predicate::And(parts) => {
            let (column, steps) = same_column(parts, columns)?;
            (column, ColumnStep::And(steps))
        }
        Predicate::Or(parts) => {
            let (column, steps) = same_column(parts, columns)?;
            (column, ColumnStep::Or(steps))
        }
        Predicate::Row { .. }
        | Predicate::Known { .. }
        | Predicate::Constant(_)
        | Predicate::Unknown => return None,
    };
    (column < columns).then_some((column, step))
}

fn same_column(parts: &[Predicate], columns: usize) -> Option<(usize, Vec<ColumnStep>)> {
    let mut steps = Vec::with_capacity(parts.len());
    let mut common = None;
    for part in parts {
        let (column, step) = single_column(part, columns)?;
        if *common.get_or_insert(column) != column {
            return None;
        }
        steps.push(step);
    }
    common.map(|column| (column, steps))
}

/// The comparison counts for the columns with which the key begins, or only for its first column if
/// it begins elsewhere in the key.
fn row_comparison(
    keys: &[Option<usize>],
    operator: Comparison,
    operands: &[Operand],
    columns: usize,
) -> Step {
    // The columns that were left out decide about ties.
    let with_ties = match operator {
        Comparison::Less | Comparison::LessEqual => Comparison::LessEqual,
        Comparison::Greater | Comparison::GreaterEqual => Comparison::GreaterEqual,
        Comparison::Equal | Comparison::NotEqual => return Step::everything(),
    };
    let length = keys.len().min(operands.len());
    let prefix = (0..length.min(columns)).take_while(|n| keys[*n] == Some(*n)).count();
    let mut conjunction = Conjunction::default();
    if prefix > 0 {
        let operator = if prefix == length { operator } else { with_ties };
        conjunction.rows.push(RowStep { operator, operands: operands[..prefix].to_vec() });
    } else if let (Some(Some(column)), Some(operand)) = (keys.first(), operands.first())
        && *column < columns
    {
        let operator = if length == 1 { operator } else { with_ties };
        conjunction.columns.push((*column, ColumnStep::Compare(operator, operand.clone())));
    }
    Step::Conjunction(conjunction)
}
