//! Queries through the whole pipeline, against answers known from PostgreSQL.

#![allow(missing_docs)]

mod support;

use support::World;

fn people() -> World {
    let mut w = World::new();
    w.table(
        "people",
        &["id int4 not-null", "name text", "age int4", "city text"],
        &[("people_pkey", true, &["id"]), ("people_age", false, &["age"])],
    );
    w.table("city", &["name text", "country text"], &[]);
    w.rows(
        "insert into people values (1,'ann',30,'oslo'),(2,'bob',25,'rome'),(3,'cid',30,null),
         (4,'dan',null,'oslo'),(5,'eve',41,'bern')",
    );
    w.rows("insert into city values ('oslo','no'),('rome','it'),('kyiv','ua')");
    w
}

#[test]
fn expressions() {
    let mut w = World::new();
    let one = |w: &mut World, e: &str, expected: &str| {
        assert_eq!(w.rows(&format!("select {e}")), vec![expected.to_owned()], "{e}");
    };
    one(&mut w, "1+2*3", "7");
    one(&mut w, "7/2, 7%2, -7/2, 2147483647::int8 + 1", "3|1|-3|2147483648");
    one(&mut w, "null and false, null or true, not null::bool", "f|t|~");
    one(&mut w, "1 in (1,2,null), 3 in (1,2,null), 3 not in (1,2)", "t|~|t");
    one(&mut w, "5 in (1,2,3,4,5,6,7,8,9,10), 50 in (1,2,3,4,5,6,7,8,9,10,null)", "t|~");
    one(&mut w, "case 2 when 1 then 'a' when 2 then 'b' else 'c' end", "b");
    one(&mut w, "case when 1=2 then 1/0 else 5 end", "5");
    one(&mut w, "coalesce(null, 3), nullif(1,1), greatest(1,null,3), least(2,1)", "3|~|3|1");
    one(&mut w, "1 is distinct from null, null is not distinct from null", "t|t");
    one(&mut w, "(1,2) < (1,3), (1,null) < (2,1), (1,null) < (1,3)", "t|t|~");
    one(&mut w, "(array[1,2,3])[2], (array[1,2,3])[5], array[[1,2],[3,4]]", "2|~|{{1,2},{3,4}}");
    one(&mut w, "(array[1,2,3,4])[2:3], 2 = any(array[1,2]), 2 < all(array[3,null])", "{2,3}|t|~");
    one(&mut w, "'abc'::text || 'def', 1.5 + 1", "abcdef|2.5");
    one(&mut w, "(select 5), exists (select 1 where false), array(select 1)", "5|f|{1}");
    one(
        &mut w,
        "1 in (select 2), 1 in (select null::int), 1 = all (select 1 where false)",
        "f|~|t",
    );
    assert_eq!(w.error("select 1/0").0, "22012");
    assert_eq!(w.error("select 2147483647 + 1"), {
        ("22003".into(), "integer out of range".into(), String::new())
    });
    assert_eq!(
        w.error("select (select generate_series(1,2))").1,
        "more than one row returned by a subquery used as an expression"
    );
}

#[test]
fn joins_and_filters() {
    let mut w = people();
    assert_eq!(w.rows("select name from people where id = 3"), ["cid"]);
    assert_eq!(w.rows("select name from people where age = 30 order by id"), ["ann", "cid"]);
    assert_eq!(
        w.rows("select id from people where age > 28 and age <= 41 order by id"),
        ["1", "3", "5"]
    );
    assert_eq!(
        w.rows("select p.name, c.country from people p join city c on c.name = p.city order by 1"),
        ["ann|no", "bob|it", "dan|no"]
    );
    assert_eq!(
        w.sorted("select p.name, c.country from people p left join city c on c.name = p.city"),
        ["ann|no", "bob|it", "cid|~", "dan|no", "eve|~"]
    );
    assert_eq!(
        w.sorted("select p.name, c.name from people p full join city c on c.name = p.city"),
        ["ann|oslo", "bob|rome", "cid|~", "dan|oslo", "eve|~", "~|kyiv"]
    );
    assert_eq!(
        w.rows("select name from city c where exists (select 1 from people p where p.city = c.name) order by 1"),
        ["oslo", "rome"]
    );
    assert_eq!(
        w.rows("select name from city where name not in (select city from people where city is not null)"),
        ["kyiv"]
    );
    assert_eq!(
        w.rows("select name from city where name not in (select city from people)"),
        [""; 0]
    );
    assert_eq!(
        w.rows("select name, (select count(*) from people p where p.city = c.name) from city c order by 1"),
        ["kyiv|0", "oslo|2", "rome|1"]
    );
}

#[test]
fn grouping_sorting_and_sets() {
    let mut w = people();
    assert_eq!(
        w.rows("select city, count(*), sum(age), avg(age), max(name) from people group by city order by city"),
        [
            "bern|1|41|41.0000000000000000|eve",
            "oslo|2|30|30.0000000000000000|dan",
            "rome|1|25|25.0000000000000000|bob",
            "~|1|30|30.0000000000000000|cid"
        ]
    );
    assert_eq!(
        w.rows("select age, count(*) from people group by age having count(*) > 1"),
        ["30|2"]
    );
    assert_eq!(w.rows("select count(distinct age), count(age), count(*) from people"), ["3|4|5"]);
    assert_eq!(
        w.rows(
            "select string_agg(name, ',' order by id desc), array_agg(id order by id) from people"
        ),
        ["eve,dan,cid,bob,ann|{1,2,3,4,5}"]
    );
    assert_eq!(
        w.rows("select count(*) filter (where age > 28), bool_and(age > 20), sum(age) from people where false"),
        ["0|~|~"]
    );
    assert_eq!(w.rows("select id from people order by age desc, id desc limit 2"), ["4", "5"]);
    assert_eq!(
        w.rows("select id from people order by age nulls first, id limit 2 offset 1"),
        ["2", "1"]
    );
    assert_eq!(w.rows("select distinct age from people order by age"), ["25", "30", "41", "~"]);
    assert_eq!(
        w.sorted("select city from people union select name from city"),
        ["bern", "kyiv", "oslo", "rome", "~"]
    );
    assert_eq!(
        w.sorted("select city from people intersect select name from city"),
        ["oslo", "rome"]
    );
    assert_eq!(
        w.sorted("select city from people except all select name from city"),
        ["bern", "oslo", "~"]
    );
    assert_eq!(
        w.rows("select age from people order by age fetch first 2 rows with ties"),
        ["25", "30", "30"]
    );
    let e = w.error("select 1 limit -1");
    assert_eq!((e.0.as_str(), e.1.as_str()), ("2201W", "LIMIT must not be negative"));
}

#[test]
fn series_ctes_and_recursion() {
    let mut w = World::new();
    assert_eq!(w.rows("select * from generate_series(1,3)"), ["1", "2", "3"]);
    assert_eq!(w.rows("select generate_series(1,2), generate_series(1,3)"), ["1|1", "2|2", "~|3"]);
    assert_eq!(
        w.rows("with recursive t(n) as (values (1) union all select n+1 from t where n < 5) select sum(n) from t"),
        ["15"]
    );
    assert_eq!(
        w.rows("with recursive t(n) as (values (1) union select (n*3)%7 from t) select n from t order by 1"),
        ["1", "2", "3", "4", "5", "6"]
    );
    assert_eq!(
        w.rows("with c as materialized (select * from generate_series(1,4) g) select a.g, b.g from c a, c b where a.g + 2 = b.g order by 1"),
        ["1|3", "2|4"]
    );
    assert_eq!(
        w.rows("select u, o from unnest(array['a','b']) with ordinality x(u,o)"),
        ["a|1", "b|2"]
    );
    assert_eq!(
        w.rows(
            "select x, y from generate_series(1,2) x, lateral generate_series(1,x) y order by 1,2"
        ),
        ["1|1", "2|1", "2|2"]
    );
    assert_eq!(w.rows("select 1 from generate_series(1, 1000000000000) limit 1"), ["1"]);
}

#[test]
fn explain_is_postgresqls() {
    let w = people();
    assert_eq!(
        w.explain("select * from people where id = 1"),
        ["Index Scan using people_pkey on people", "  Index Cond: (id = 1)"]
    );
    assert_eq!(
        w.explain("select city, count(*) from people where name > 'a' group by city order by 1"),
        [
            "Sort",
            "  Sort Key: city",
            "  ->  HashAggregate",
            "        Group Key: city",
            "        ->  Seq Scan on people",
            "              Filter: (name > 'a'::text)"
        ]
    );
    let join = "select p.id from people p join city c on p.city = c.name where p.age > (select 5)";
    let lines = w.explain(join);
    assert!(lines.contains(&"  InitPlan 1".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"    ->  Result".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"  Hash Cond: (c.name = p.city)".to_owned()), "{lines:#?}");
}
