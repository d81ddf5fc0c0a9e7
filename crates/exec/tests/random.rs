//! The same query through different nodes, and with too little memory, must give
//! the same rows as a naive evaluation.

#![allow(missing_docs)]

mod support;

use std::collections::BTreeMap;
use steppe_vfs::SeededRandom;
use support::World;

struct Data {
    left: Vec<(i32, Option<i32>)>,
    right: Vec<(i32, Option<i32>)>,
}

fn world(seed: u64, rows: usize, keys: u64) -> (World, Data) {
    let random = SeededRandom::new(seed);
    let mut w = World::new();
    w.table("l", &["id int4", "k int4"], &[]);
    w.table("r", &["id int4", "k int4"], &[("r_k", false, &["k"])]);
    let draw = |n: usize| -> Vec<(i32, Option<i32>)> {
        let key = || (random.below(10) > 0).then(|| random.below(keys) as i32);
        (0..n as i32).map(|id| (id, key())).collect()
    };
    let data = Data { left: draw(rows), right: draw(rows / 2) };
    for (table, rows) in [("l", &data.left), ("r", &data.right)] {
        let value = |(id, k): &(i32, Option<i32>)| match k {
            Some(k) => format!("({id},{k})"),
            None => format!("({id},null)"),
        };
        for chunk in rows.chunks(500) {
            let values: Vec<String> = chunk.iter().map(value).collect();
            w.rows(&format!("insert into {table} values {}", values.join(",")));
        }
    }
    (w, data)
}

/// Naive joins: `kind` as SQL names it.
fn naive(data: &Data, kind: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut right_matched = vec![false; data.right.len()];
    for (id, k) in &data.left {
        let mut matched = false;
        for (i, (rid, rk)) in data.right.iter().enumerate() {
            if k.is_some() && k == rk {
                matched = true;
                right_matched[i] = true;
                out.push(format!("{id}|{rid}"));
            }
        }
        if !matched && matches!(kind, "left" | "full") {
            out.push(format!("{id}|~"));
        }
    }
    if matches!(kind, "right" | "full") {
        for (i, (rid, _)) in data.right.iter().enumerate() {
            if !right_matched[i] {
                out.push(format!("~|{rid}"));
            }
        }
    }
    out.sort();
    out
}

#[test]
fn joins_agree_with_the_model() {
    for seed in 1..=4 {
        let (mut w, data) = world(seed, 600, 1 + seed * 40);
        for kind in ["inner", "left", "right", "full"] {
            let expected = naive(&data, kind);
            let sql = format!("select l.id, r.id from l {kind} join r on l.k = r.k");
            for (hash, merge, nest) in
                [(true, false, false), (false, true, false), (false, false, true)]
            {
                w.settings.hashjoin = hash;
                w.settings.mergejoin = merge;
                w.settings.nestloop = nest;
                for work_mem in [4 << 20, 4096] {
                    w.work_mem_bytes = work_mem;
                    assert_eq!(
                        w.sorted(&sql),
                        expected,
                        "seed {seed} {kind} {hash}/{merge}/{nest} {work_mem}"
                    );
                }
            }
        }
        w.settings.hashjoin = true;
        let matched: Vec<i32> = data
            .left
            .iter()
            .filter(|(_, k)| k.is_some() && data.right.iter().any(|(_, rk)| rk == k))
            .map(|(id, _)| *id)
            .collect();
        let ids = |v: &[i32]| v.iter().map(i32::to_string).collect::<Vec<_>>();
        for work_mem in [4 << 20, 4096] {
            w.work_mem_bytes = work_mem;
            let semi =
                "select id from l where exists (select 1 from r where r.k = l.k) order by id";
            assert_eq!(w.rows(semi), ids(&matched));
            let anti =
                "select id from l where not exists (select 1 from r where r.k = l.k) order by id";
            let rest: Vec<i32> =
                data.left.iter().map(|l| l.0).filter(|id| !matched.contains(id)).collect();
            assert_eq!(w.rows(anti), ids(&rest));
        }
    }
}

#[test]
fn aggregates_agree_with_the_model() {
    for seed in 1..=3 {
        let (mut w, data) = world(seed, 3000, 700);
        let mut model: BTreeMap<Option<i32>, (u64, i64)> = BTreeMap::new();
        for (id, k) in &data.left {
            let entry = model.entry(*k).or_default();
            entry.0 += 1;
            entry.1 += i64::from(*id);
        }
        let mut expected: Vec<String> = model
            .iter()
            .map(|(k, (n, s))| format!("{}|{n}|{s}", k.map_or("~".into(), |k| k.to_string())))
            .collect();
        expected.sort();
        let sql = "select k, count(*), sum(id) from l group by k";
        for hashagg in [true, false] {
            w.settings.hashagg = hashagg;
            for work_mem in [4 << 20, 2048] {
                w.work_mem_bytes = work_mem;
                assert_eq!(w.sorted(sql), expected, "seed {seed} hash {hashagg} {work_mem}");
            }
        }
    }
}

#[test]
fn sorts_agree_with_the_model() {
    for seed in 1..=3 {
        let (mut w, data) = world(seed, 2500, 300);
        let mut model = data.left.clone();
        model.sort_by_key(|(id, k)| (k.is_some(), std::cmp::Reverse(*k), *id));
        let expected: Vec<String> = model.iter().map(|(id, _)| id.to_string()).collect();
        for work_mem in [4 << 20, 8192] {
            w.work_mem_bytes = work_mem;
            assert_eq!(w.rows("select id from l order by k desc, id"), expected);
            assert_eq!(w.rows("select id from l order by k desc, id limit 37"), expected[..37]);
            assert_eq!(
                w.rows("select id from l order by k desc, id limit 30 offset 2000"),
                expected[2000..2030]
            );
        }
    }
}

#[test]
fn materialised_rows_survive_spilling() {
    let (mut w, _) = world(9, 2000, 100);
    let sql = "with c as materialized (select id, k from l)
               select count(*), sum(a.id) from c a join c b on a.id = b.id + 1";
    let expected = w.rows(sql);
    w.work_mem_bytes = 1024;
    assert_eq!(w.rows(sql), expected);
}
