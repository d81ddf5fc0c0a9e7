//! Statements as instructions: IF, CASE, loops, EXIT and CONTINUE become jumps.
//!
//! ```text
//!   FOR i IN 1..n LOOP      1  CountFrom  ── no round ──────▶ 5
//!       IF c THEN           2  JumpIf not c ─▶ 3
//!           EXIT;              Jump ──────────▶ 4
//!       END IF;
//!   END LOOP;               3  Count ── another round ─▶ 2
//!                           4  Found
//!                           5  …
//! ```
//!
//! Only [`Act::Again`] and [`Act::Count`], at a loop's end, jump back: they count for the checks of
//! interrupts. A running script needs no stack of its own, and a loop's round makes no call. A statement with a
//! query's rows or with an exception section runs its statements as a script of their own. An EXIT
//! that leaves such a script is a [`Flow`], and the script around it goes on where that leads.
//!
//! A FOR sets FOUND when it is left: EXIT and CONTINUE that leave one for an outer label do so, too.

use steppe_types::oid;

use super::build::Builder;
use super::code::*;
use super::walk::Flow;
use crate::tree::{self, StatementKind};

/// A place in a script that gets its address later.
#[derive(Clone, Copy)]
struct Mark(u32);

/// A script that is being written. Its instructions and regions refer to marks.
#[derive(Default)]
struct Writer {
    instructions: Vec<Instruction>,
    regions: Vec<Region>,
    within: Option<u32>,
    addresses: Vec<Address>,
}

impl Writer {
    fn here(&self) -> Address {
        self.instructions.len() as Address
    }

    fn put(&mut self, place: u32, act: Act) {
        self.instructions.push(Instruction { place, within: self.within, act });
    }

    fn mark(&mut self) -> Mark {
        self.addresses.push(0);
        Mark(self.addresses.len() as u32 - 1)
    }

    /// A mark at the next instruction.
    fn mark_here(&mut self) -> Mark {
        let mark = self.mark();
        self.set(mark);
        mark
    }

    fn set(&mut self, mark: Mark) {
        self.addresses[mark.0 as usize] = self.here();
    }

    fn jump_unless(&mut self, place: u32, condition: SqlNumber, to: Mark) {
        self.put(place, Act::JumpIf { is_true: false, condition, to: to.0 });
    }

    /// Enters a region. EXIT and CONTINUE in it go to the marks.
    fn enter(&mut self, label: Label, of: RegionOf, exit: Mark, again: Mark) {
        let outer = self.within;
        self.within = Some(self.regions.len() as u32);
        self.regions.push(Region { label, of, outer, exit: exit.0, again: again.0 });
    }

    fn leave(&mut self) {
        self.within = self.within.and_then(|at| self.regions[at as usize].outer);
    }

    /// The regions from the inside.
    fn around(&self) -> impl Iterator<Item = &Region> {
        let region = |at: &u32| &self.regions[*at as usize];
        std::iter::successors(self.within, move |at| region(at).outer).map(move |at| region(&at))
    }

    /// Replaces the marks by their addresses.
    fn finish(mut self, number: u32) -> Script {
        self.put(0, Act::End);
        let address = |mark: &mut Address| *mark = self.addresses[*mark as usize];
        for instruction in &mut self.instructions {
            match &mut instruction.act {
                Act::JumpIf { to, .. } | Act::Jump(to) | Act::Again(to) => address(to),
                Act::CountFrom { after, .. } => address(after),
                Act::Count { to, .. } => address(to),
                _ => {}
            }
        }
        for region in &mut self.regions {
            address(&mut region.exit);
            address(&mut region.again);
        }
        let (instructions, regions) = (self.instructions.into(), self.regions.into());
        Script { number, instructions, regions }
    }
}

impl Builder<'_> {
    /// The script of some statements.
    pub(super) fn script(&mut self, list: &[tree::Statement]) -> Script {
        let number = self.scripts;
        self.scripts += 1;
        let mut out = Writer::default();
        self.write(&mut out, list);
        out.finish(number)
    }

    fn write(&mut self, out: &mut Writer, list: &[tree::Statement]) {
        // Bodies nest as deep as the parser lets them.
        stacker::maybe_grow(128 << 10, 1 << 20, || {
            list.iter().for_each(|statement| self.write_statement(out, statement));
        });
    }

    fn write_statement(&mut self, out: &mut Writer, statement: &tree::Statement) {
        let place = self.place(statement.line, statement.kind.name());
        match &statement.kind {
            StatementKind::Assign { slot, sql } => {
                let act = self.assignment(*slot, sql);
                out.put(place, act);
            }
            StatementKind::If { branches, otherwise } => {
                let end = out.mark();
                self.write_branches(out, place, branches, (None, end));
                self.write(out, otherwise);
                out.set(end);
            }
            StatementKind::Case(case) => self.write_case(out, place, case),
            StatementKind::Loop { label, body } => {
                self.write_loop(out, place, label, (None, body));
            }
            StatementKind::While { label, condition, body } => {
                self.write_loop(out, place, label, (Some(condition), body));
            }
            StatementKind::ForInteger(of) => self.write_for(out, place, of),
            StatementKind::Block(block) if block.exceptions.is_none() => {
                self.write_block(out, place, block);
            }
            StatementKind::Exit { exit, label, condition } => {
                let label = self.label(label);
                let condition = self.optional(condition);
                write_exit(out, place, (*exit, label), condition);
            }
            kind => {
                let act = Act::Statement(self.kind(kind));
                out.put(place, act);
            }
        }
    }

    /// Branches, which go to the end; then follows what runs if no condition is true.
    fn write_branches(
        &mut self,
        out: &mut Writer,
        place: u32,
        branches: &[tree::Branch],
        (subject, end): (Option<tree::SlotId>, Mark),
    ) {
        for branch in branches {
            let next = out.mark();
            let condition = self.sql(&branch.condition);
            out.jump_unless(place, condition, next);
            if let Some(slot) = subject {
                out.put(place, Act::Compared(slot));
            }
            self.write(out, &branch.body);
            out.put(place, Act::Jump(end.0));
            out.set(next);
        }
    }

    fn write_case(&mut self, out: &mut Writer, place: u32, case: &tree::Case) {
        let end = out.mark();
        let subject = case.subject.as_ref().map(|(sql, slot)| (self.sql(sql), *slot));
        if let Some((value, slot)) = subject {
            out.put(place, Act::Subject { value, slot });
        }
        let slot = subject.map(|(_, slot)| slot);
        self.write_branches(out, place, &case.branches, (slot, end));
        if let Some(slot) = slot {
            out.put(place, Act::Compared(slot));
        }
        match &case.otherwise {
            Some(list) => self.write(out, list),
            None => out.put(place, Act::NoCase),
        }
        out.set(end);
    }

    /// LOOP, and WHILE with its condition.
    fn write_loop(
        &mut self,
        out: &mut Writer,
        place: u32,
        label: &Option<String>,
        (condition, body): (Option<&tree::Sql>, &[tree::Statement]),
    ) {
        let (top, again, exit) = (out.mark_here(), out.mark(), out.mark());
        let label = self.label(label);
        if let Some(condition) = condition {
            let condition = self.sql(condition);
            out.jump_unless(place, condition, exit);
        }
        out.enter(label, RegionOf::Loop, exit, again);
        self.write(out, body);
        out.leave();
        out.set(again);
        out.put(place, Act::Again(top.0));
        out.set(exit);
    }

    fn write_for(&mut self, out: &mut Writer, place: u32, of: &tree::ForInteger) {
        let counter = self.counters;
        self.counters += 1;
        let (label, variable) = (self.label(&of.label), of.variable);
        let (first, last) = (self.sql(&of.first), self.sql(&of.last));
        let (reverse, step) = (of.reverse, self.optional(&of.step));
        let (again, exit, after) = (out.mark(), out.mark(), out.mark());
        let of_loop = ForInteger { counter, variable, reverse, first, last, step };
        out.put(place, Act::CountFrom { of: Box::new(of_loop), after: after.0 });
        let body = out.mark_here();
        out.enter(label, RegionOf::For, exit, again);
        self.write(out, &of.body);
        out.leave();
        out.set(again);
        out.put(place, Act::Count { counter, variable, to: body.0 });
        out.set(exit);
        out.put(place, Act::Found);
        out.set(after);
    }

    /// A block without an exception section.
    fn write_block(&mut self, out: &mut Writer, place: u32, block: &tree::Block) {
        let label = self.label(&block.label);
        if !block.declared.is_empty() {
            out.put(place, Act::Declare(block.declared.as_slice().into()));
        }
        let exit = out.mark();
        out.enter(label, RegionOf::Block, exit, exit);
        self.write(out, &block.body);
        out.leave();
        out.set(exit);
    }

    /// An assignment: to a whole variable, or to a part of it.
    fn assignment(&mut self, target: tree::SlotId, sql: &tree::Sql) -> Act {
        let tree::SqlKind::Assignment(parts) = sql.kind else {
            return Act::Assign { target, value: self.sql(sql) };
        };
        let (steps, right) = self.left_side(sql, self.parts_of(target, sql, usize::from(parts)));
        let of = match (&self.slots[target.0 as usize], steps.is_empty()) {
            (tree::Slot::Scalar(scalar), true) if scalar.data_type.oid != oid::VOID => {
                Use::Assigned(scalar.data_type.oid, scalar.data_type.modifier)
            }
            (tree::Slot::Scalar(scalar), false) => part_of(&scalar.data_type, &steps),
            (tree::Slot::Field(_), true) => Use::Field(target),
            _ => Use::Expression,
        };
        // Positions in errors count the whole assignment.
        let blank = " ".repeat(sql.text[..right].chars().count());
        let text = format!("{blank}{}", &sql.text[right..]);
        let value = self.piece(&text, &sql.text, of, sql.scope);
        if steps.is_empty() {
            return Act::Assign { target, value };
        }
        let part = AssignPart { target, path: steps.into(), value };
        Act::Statement(Kind::AssignPart(Box::new(part)))
    }
}

/// EXIT and CONTINUE.
fn write_exit(
    out: &mut Writer,
    place: u32,
    (exit, label): (bool, Label),
    condition: Option<SqlNumber>,
) {
    let mut leaves_for = false;
    let mut target = None;
    for region in out.around() {
        if region.is_meant(exit, label) {
            target = Some(if exit { region.exit } else { region.again });
            break;
        }
        leaves_for |= region.of == RegionOf::For;
    }
    let skip = out.mark();
    match (condition, target) {
        (Some(condition), Some(to)) if !leaves_for => {
            return out.put(place, Act::JumpIf { is_true: true, condition, to });
        }
        (Some(condition), _) => out.jump_unless(place, condition, skip),
        (None, _) => {}
    }
    if leaves_for {
        out.put(place, Act::Found);
    }
    out.put(
        place,
        match target {
            Some(to) => Act::Jump(to),
            None if exit => Act::Leave(Flow::Exit(label)),
            None => Act::Leave(Flow::Continue(label)),
        },
    );
    out.set(skip);
}

/// How the value for a part is used. For an element or a slice of a built-in array type, the
/// expression itself coerces its value.
fn part_of(array: &crate::types::Type, steps: &[Step]) -> Use {
    let element = steppe_catalog::builtin::ty(array.oid).filter(|ty| ty.is_true_array());
    match (element, steps) {
        (Some(ty), [Step::Elements(_)]) => Use::Assigned(ty.element, array.modifier),
        (Some(_), [Step::Slices(_)]) => Use::Assigned(array.oid, array.modifier),
        _ => Use::Expression,
    }
}
