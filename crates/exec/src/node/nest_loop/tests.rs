//! Compares random pairs, found in steps of any size, with the loop over all of them.

use super::pairs::{Pairs, Resolving};
use crate::vector::NO_ROW;
use steppe_sql::query::JoinKind;
use steppe_vfs::SeededRandom;

const KINDS: [JoinKind; 4] = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti];

/// Whether the inner rows that an outer row finds satisfy the conditions.
type Row = Vec<bool>;

fn expected(kind: JoinKind, rows: &[Row]) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    for (o, row) in rows.iter().enumerate() {
        let matches = row.iter().enumerate().filter(|(_, holds)| **holds);
        let pairs: Vec<_> = matches.map(|(i, _)| (o as u32, i as u32)).collect();
        match kind {
            JoinKind::Semi => out.extend(pairs.first()),
            JoinKind::Anti if pairs.is_empty() => out.push((o as u32, NO_ROW)),
            JoinKind::Anti => {}
            JoinKind::Left if pairs.is_empty() => out.push((o as u32, NO_ROW)),
            _ => out.extend(pairs),
        }
    }
    out
}

/// The same in steps, each of which ends anywhere.
fn in_steps(kind: JoinKind, rows: &[Row], random: &SeededRandom) -> Vec<(u32, u32)> {
    let (mut out, mut pairs) = (Vec::new(), Pairs::default());
    let (mut row, mut position, mut is_matched) = (0, 0, false);
    while row < rows.len() {
        let (from, mut room) = (row, random.below(9) + 1);
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        while row < rows.len() && room > 0 {
            room -= 1;
            match position < rows[row].len() {
                true => {
                    outer.push(row as u32);
                    inner.push(position as u32);
                    position += 1;
                }
                false => (row, position) = (row + 1, 0),
            }
        }
        pairs.begin((&outer, &inner), 0);
        let holds = |k: &u32| rows[outer[*k as usize] as usize][inner[*k as usize] as usize];
        let places: Vec<u32> = (0..outer.len() as u32).filter(holds).collect();
        pairs.keep(&places, |_| false);
        let done = from as u32..row as u32;
        is_matched = pairs.resolve(&Resolving { kind, done, is_matched });
        out.extend(pairs.outer.iter().copied().zip(pairs.inner.iter().copied()));
        if is_matched && matches!(kind, JoinKind::Semi | JoinKind::Anti) && row < rows.len() {
            (row, position, is_matched) = (row + 1, 0, false);
        }
    }
    out
}

#[test]
fn steps_hand_up_what_the_loop_does_wherever_they_end() {
    for seed in 1..=2000u64 {
        let random = SeededRandom::new(seed);
        let (count, most, rate) = (random.below(12), random.below(7) + 1, random.below(4) + 1);
        let row = || (0..random.below(most)).map(|_| random.below(4) < rate).collect();
        let rows: Vec<Row> = (0..count).map(|_| row()).collect();
        for kind in KINDS {
            let found = in_steps(kind, &rows, &random);
            // A pair without an inner row names none.
            assert_eq!(found, expected(kind, &rows), "seed {seed}, {kind:?} over {rows:?}");
        }
    }
}
