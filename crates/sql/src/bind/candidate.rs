//! The overloads that a call can mean, and the choice among them (FuncnameGetCandidates in
//! namespace.c, func_select_candidate in parse_func.c).

use super::coerce::{can_coerce, category, is_preferred};
use steppe_catalog::builtin::CastContext;
use steppe_catalog::{Catalog, FunctionRef};
use steppe_types::{Oid, oid};

/// The properties of a call by which its overloads are found.
pub(super) struct Call<'a> {
    /// The number of arguments.
    pub(super) given: usize,
    /// Their names; those without a name come first.
    pub(super) names: &'a [Option<String>],
    /// The last one is written with VARIADIC.
    pub(super) variadic: bool,
}

/// An overload that takes the arguments of a call, as far as their number and names tell.
pub(super) struct Candidate {
    /// The function.
    pub(super) proc: FunctionRef,
    /// The place of its schema in the search path.
    place: usize,
    /// The types of the call's arguments, in their order; VARIADIC ones are spread out.
    pub(super) args: Vec<Oid>,
    /// The parameters that the arguments are for, unless they are in the order of these.
    pub(super) numbers: Option<Vec<usize>>,
    /// VARIADIC arguments are collected into an array from this position.
    pub(super) variadic_from: Option<usize>,
    /// Another function takes the same arguments, and nothing tells which one is meant.
    pub(super) is_ambiguous: bool,
}

impl Call<'_> {
    /// The overload for this call, if it takes the call's number of arguments with these names.
    pub(super) fn candidate(&self, proc: FunctionRef, place: usize) -> Option<Candidate> {
        let arity = proc.args.len();
        let is_ambiguous = false;
        let is_named = self.names.iter().any(Option::is_some);
        if proc.variadic != 0 && !self.variadic && (is_named || self.given >= arity) {
            // Names cannot mean the elements of an array.
            if is_named {
                return None;
            }
            let mut args = proc.args[..arity - 1].to_vec();
            let spread = self.given - args.len();
            args.extend(std::iter::repeat_n(proc.variadic, spread));
            let variadic_from = Some(arity - 1);
            return Some(Candidate {
                proc,
                place,
                args,
                numbers: None,
                variadic_from,
                is_ambiguous,
            });
        }
        if self.given > arity || self.given + proc.defaults.len() < arity {
            return None;
        }
        let numbers = if is_named { Some(self.numbers(&proc)?) } else { None };
        let args = match &numbers {
            Some(numbers) => numbers.iter().map(|number| proc.args[*number]).collect(),
            None => proc.args[..self.given].to_vec(),
        };
        Some(Candidate { proc, place, args, numbers, variadic_from: None, is_ambiguous })
    }

    /// The parameters of the arguments by their names (MatchNamedCall). Each argument must have its
    /// own parameter, and each parameter that is left out a default.
    fn numbers(&self, proc: &FunctionRef) -> Option<Vec<usize>> {
        let mut is_given = vec![false; proc.args.len()];
        let mut numbers = Vec::with_capacity(self.given);
        for (i, name) in self.names.iter().enumerate() {
            let number = match name {
                None => i,
                Some(name) => proc.input_names().position(|found| found == name)?,
            };
            if std::mem::replace(is_given.get_mut(number)?, true) {
                return None;
            }
            numbers.push(number);
        }
        let first_default = proc.args.len() - proc.defaults.len();
        if is_given[..first_default].contains(&false) {
            return None;
        }
        // VARIADIC belongs to the last parameter.
        match self.variadic && numbers.last() != proc.args.len().checked_sub(1).as_ref() {
            true => None,
            false => Some(numbers),
        }
    }
}

/// Keeps one of the candidates that take the same arguments: the first in the search path, or the
/// one that is not VARIADIC. Where nothing tells, the one that is kept is ambiguous.
pub(super) fn settle_equal(candidates: &mut Vec<Candidate>) {
    let mut settled: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for new in candidates.drain(..) {
        let Some(old) = settled.iter_mut().find(|old| old.args == new.args) else {
            settled.push(new);
            continue;
        };
        let rank = |c: &Candidate| (c.place, c.variadic_from.is_some());
        match rank(&new).cmp(&rank(old)) {
            std::cmp::Ordering::Less => *old = new,
            std::cmp::Ordering::Equal => old.is_ambiguous = true,
            std::cmp::Ordering::Greater => {}
        }
    }
    *candidates = settled;
}

/// The result of choosing among candidates.
pub(super) enum Selection<T> {
    /// There is no fitting one.
    None,
    /// The best one.
    One(T),
    /// Several are as good.
    Ambiguous,
}

/// Chooses the best candidate by PostgreSQL's rules (func_select_candidate): most exact matches,
/// then preferred types, then the category that unknown literals suggest, then the type that all
/// known arguments share.
pub(super) fn select_candidate<T>(
    types: &Catalog,
    inputs: &[Oid],
    mut candidates: Vec<(Vec<Oid>, T)>,
) -> Selection<T> {
    fn single<T>(mut candidates: Vec<(Vec<Oid>, T)>) -> Result<T, Vec<(Vec<Oid>, T)>> {
        if candidates.len() == 1
            && let Some((_, only)) = candidates.pop()
        {
            return Ok(only);
        }
        Err(candidates)
    }
    if candidates.is_empty() {
        return Selection::None;
    }
    let exact = |args: &[Oid]| {
        inputs.iter().zip(args).filter(|(i, a)| i == a && **i != oid::UNKNOWN).count()
    };
    keep_best(&mut candidates, &exact);
    candidates = match single(candidates) {
        Ok(one) => return Selection::One(one),
        Err(many) => many,
    };
    let preferred = |args: &[Oid]| {
        let scored = |(i, a): &(&Oid, &Oid)| {
            **i != oid::UNKNOWN && (i == a || (category(**i) == category(**a) && is_preferred(**a)))
        };
        inputs.iter().zip(args).filter(scored).count()
    };
    keep_best(&mut candidates, &preferred);
    candidates = match single(candidates) {
        Ok(one) => return Selection::One(one),
        Err(many) => many,
    };
    let unknowns = inputs.iter().filter(|t| **t == oid::UNKNOWN).count();
    if unknowns == 0 {
        return Selection::Ambiguous;
    }
    if keep_by_unknown_category(inputs, &mut candidates) {
        candidates = match single(candidates) {
            Ok(one) => return Selection::One(one),
            Err(many) => many,
        };
    }
    // All known arguments of one type: suppose the unknown ones are of it, too.
    let mut known = inputs.iter().filter(|t| **t != oid::UNKNOWN);
    if let Some(first) = known.next()
        && known.all(|t| t == first)
    {
        let supposed = vec![*first; inputs.len()];
        candidates.retain(|(args, _)| can_coerce(types, &supposed, args, CastContext::Implicit));
        // Exact matches of the supposed types first, as PostgreSQL's last heuristic.
        if candidates.len() > 1 && candidates.iter().any(|(args, _)| *args == supposed) {
            candidates.retain(|(args, _)| *args == supposed);
        }
        if let Ok(one) = single(candidates) {
            return Selection::One(one);
        }
    }
    Selection::Ambiguous
}

fn keep_best<T>(candidates: &mut Vec<(Vec<Oid>, T)>, score: &dyn Fn(&[Oid]) -> usize) {
    let best = candidates.iter().map(|(args, _)| score(args)).max().unwrap_or(0);
    if best > 0 {
        candidates.retain(|(args, _)| score(args) == best);
    }
}

/// Unknown literals look like strings. If any candidate takes a string at such a place, keep such
/// candidates. Otherwise all must agree on one category, of which preferred types win.
fn keep_by_unknown_category<T>(inputs: &[Oid], candidates: &mut Vec<(Vec<Oid>, T)>) -> bool {
    let mut slots: Vec<(usize, u8, bool)> = Vec::new();
    for (i, _) in inputs.iter().enumerate().filter(|(_, t)| **t == oid::UNKNOWN) {
        let mut slot_category = None;
        let mut has_preferred = false;
        let mut conflict = false;
        for (args, _) in candidates.iter() {
            let this = category(args[i]);
            match slot_category {
                None => slot_category = Some(this),
                Some(c) if c == this => {}
                Some(_) if this == b'S' => {
                    slot_category = Some(b'S');
                    has_preferred = false;
                }
                Some(b'S') => continue,
                Some(_) => conflict = true,
            }
            has_preferred |= is_preferred(args[i]);
        }
        let Some(c) = slot_category else { return false };
        if conflict && c != b'S' {
            return false;
        }
        slots.push((i, c, has_preferred));
    }
    let fits = |args: &[Oid]| {
        slots.iter().all(|(i, c, preferred)| {
            category(args[*i]) == *c && (!preferred || is_preferred(args[*i]))
        })
    };
    if candidates.iter().any(|(args, _)| fits(args)) {
        candidates.retain(|(args, _)| fits(args));
        return true;
    }
    false
}
