//! Which names mean what, at every place of a body.
//!
//! Names are kept in one list for the whole function; each knows the one before it that is visible.
//! A [`Scope`] is a number in that list, which an expression keeps. The binder looks names up from
//! there as PostgreSQL does: innermost block first, and a block's variables before its label.
//!
//! While the body is parsed, names are found through a table of those visible at that moment, so
//! that a body of many variables takes linear time.

use std::collections::HashMap;

use crate::tree::{Label, SlotId};

/// The names visible at a place: everything up to this entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope(u32);

/// An entry that ends a chain.
const NONE: u32 = u32::MAX;

/// The meaning of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The start of a block, a loop or the function, with a label or without.
    Label(Label),
    /// A variable of a scalar type.
    Scalar(SlotId),
    /// A record: its fields can be named.
    Record(SlotId),
}

#[derive(Clone, Debug)]
struct Entry {
    named: Named,
    /// Empty for a block with no label.
    name: Box<str>,
    /// The entry before it.
    before: u32,
    /// How many blocks it is in.
    level: u32,
}

/// A variable that a name means, and how many of the name's parts it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The variable.
    pub named: Named,
    /// 1 where the first part is the variable, 2 where the first is a label and the second the
    /// variable.
    pub parts: usize,
}

/// All names of a function.
#[derive(Clone, Debug, Default)]
pub struct Names {
    entries: Vec<Entry>,
}

impl Names {
    /// The variable that a name means at a place. `parts` are one to three names; a scalar is never
    /// followed by a field.
    pub fn find(&self, scope: Scope, parts: &[&str]) -> Option<Found> {
        let (first, rest) = parts.split_first()?;
        let mut at = scope.0;
        // Where the present block's names begin: its label looks from there.
        let mut block = at;
        while let Some(entry) = self.entries.get(at as usize) {
            match entry.named {
                Named::Label(_) => {
                    if let [second, third @ ..] = rest
                        && &*entry.name == *first
                        && let Some(found) = self.in_block(block, second, third.is_empty())
                    {
                        return Some(Found { named: found, parts: 2 });
                    }
                    block = entry.before;
                }
                named if matches(named, &entry.name, first, rest.is_empty()) => {
                    return Some(Found { named, parts: 1 });
                }
                _ => {}
            }
            at = entry.before;
        }
        None
    }

    /// A variable of one block, from its last name to its label.
    fn in_block(&self, from: u32, name: &str, whole: bool) -> Option<Named> {
        let mut at = from;
        while let Some(entry) = self.entries.get(at as usize) {
            match entry.named {
                Named::Label(_) => return None,
                named if matches(named, &entry.name, name, whole) => return Some(named),
                _ => at = entry.before,
            }
        }
        None
    }

    fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)
    }
}

/// Whether an entry is what a name says, where `whole` is: no field follows.
fn matches(named: Named, entry: &str, name: &str, whole: bool) -> bool {
    entry == name && (whole || matches!(named, Named::Record(_)))
}

/// The names while the body is parsed.
#[derive(Debug, Default)]
pub(crate) struct Visible {
    names: Names,
    /// The entries of each name that are visible, outermost first; labels among them.
    table: HashMap<Box<str>, Vec<u32>>,
    /// The labels of the blocks that are open, outermost first.
    blocks: Vec<u32>,
    last: u32,
}

impl Visible {
    pub(crate) fn new() -> Visible {
        Visible { last: NONE, ..Visible::default() }
    }

    /// The present place.
    pub(crate) fn scope(&self) -> Scope {
        Scope(self.last)
    }

    /// The whole list.
    pub(crate) fn finish(self) -> Names {
        self.names
    }

    /// Opens a block.
    pub(crate) fn open(&mut self, label: Option<&str>, kind: Label) {
        let at = self.push(Named::Label(kind), label.unwrap_or_default());
        self.blocks.push(at);
        self.names.entries[at as usize].level = self.blocks.len() as u32;
    }

    /// Closes the innermost block: its names are no longer visible.
    pub(crate) fn close(&mut self) {
        let Some(label) = self.blocks.pop() else { return };
        loop {
            let at = self.last;
            let Some(entry) = self.names.entry(at) else { return };
            self.last = entry.before;
            if let Some(visible) = self.table.get_mut(&entry.name) {
                visible.pop();
            }
            if at == label {
                return;
            }
        }
    }

    /// Adds a variable to the innermost block.
    pub(crate) fn add(&mut self, named: Named, name: &str) {
        self.push(named, name);
    }

    fn push(&mut self, named: Named, name: &str) -> u32 {
        let at = self.names.entries.len() as u32;
        let level = self.blocks.len() as u32;
        self.names.entries.push(Entry { named, name: name.into(), before: self.last, level });
        self.table.entry(name.into()).or_default().push(at);
        self.last = at;
        at
    }

    /// The variable that a name means here: [`Names::find`], by the table.
    pub(crate) fn find(&self, parts: &[&str]) -> Option<Found> {
        let (first, rest) = parts.split_first()?;
        for &at in self.table.get(*first)?.iter().rev() {
            let entry = self.names.entry(at)?;
            match (entry.named, rest) {
                (Named::Label(_), [second, third @ ..]) => {
                    if let Some(named) = self.at_level(entry.level, second, third.is_empty()) {
                        return Some(Found { named, parts: 2 });
                    }
                }
                (Named::Label(_), _) => {}
                (named, _) if matches(named, &entry.name, first, rest.is_empty()) => {
                    return Some(Found { named, parts: 1 });
                }
                _ => {}
            }
        }
        None
    }

    /// The variable of a name in the block at a level.
    fn at_level(&self, level: u32, name: &str, whole: bool) -> Option<Named> {
        let visible = self.table.get(name)?.iter().rev();
        let mut inside = visible.filter_map(|&at| self.names.entry(at)).filter(|entry| {
            entry.level == level
                && !matches!(entry.named, Named::Label(_))
                && matches(entry.named, &entry.name, name, whole)
        });
        inside.next().map(|entry| entry.named)
    }

    /// The variable of this name that the innermost block has.
    pub(crate) fn in_innermost(&self, name: &str) -> Option<Named> {
        self.at_level(self.blocks.len() as u32, name, true)
    }

    /// The nearest label of this name.
    pub(crate) fn label(&self, name: &str) -> Option<Label> {
        let visible = self.table.get(name)?.iter().rev();
        visible.filter_map(|&at| self.names.entry(at)).find_map(|entry| match entry.named {
            Named::Label(label) => Some(label),
            _ => None,
        })
    }

    /// Whether a loop is open.
    pub(crate) fn in_loop(&self) -> bool {
        let mut open = self.blocks.iter().rev().filter_map(|&at| self.names.entry(at));
        open.any(|entry| entry.named == Named::Label(Label::Loop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_names_first_and_labels_after_variables() {
        let mut visible = Visible::new();
        visible.open(Some("f"), Label::Other);
        visible.add(Named::Scalar(SlotId(0)), "a");
        visible.open(Some("b"), Label::Block);
        visible.add(Named::Record(SlotId(1)), "a");
        visible.add(Named::Scalar(SlotId(2)), "f");
        let inner = visible.scope();
        let cases = [
            (vec!["a"], Some((1, 1))),
            (vec!["f", "a"], Some((0, 2))),
            (vec!["b", "a"], Some((1, 2))),
            (vec!["a", "x"], Some((1, 1))),
            (vec!["b", "a", "x"], Some((1, 2))),
            (vec!["f", "a", "x"], None),
        ];
        let slot = |found: Found| match found.named {
            Named::Scalar(slot) | Named::Record(slot) => (slot.0, found.parts),
            Named::Label(_) => (u32::MAX, 0),
        };
        for (parts, expected) in cases {
            assert_eq!(visible.find(&parts).map(slot), expected, "{parts:?}");
            assert_eq!(visible.names.find(inner, &parts).map(slot), expected, "{parts:?}");
        }
        visible.close();
        assert_eq!(visible.find(&["a"]).map(slot), Some((0, 1)));
        assert!(visible.label("b").is_none() && visible.label("f").is_some());
    }
}
