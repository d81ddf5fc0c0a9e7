//! Compares each kernel with the row path, by random expressions over random columns.
//!
//! Everything is drawn from a seed, which a failure names. A column is NULL never, sometimes or
//! always. It holds small values, the ends of its type, or values that do not fit its
//! representation (a numeric NaN, other scales). So the same kernel gets typed vectors and datums.

use super::compare::DAY;
use super::*;
use crate::expr::Compiler;
use std::sync::Arc;
use steppe_catalog::{Catalog, FunctionRef, builtin};
use steppe_functions::FnContext;
use steppe_sql::expr::{CallSyntax, Expr, Place, RowCompareOp, TypeRef};
use steppe_sql::plan::PlannedStmt;
use steppe_types::datum::Array;
use steppe_types::numeric::Numeric;
use steppe_types::{Oid, oid};

/// Types of the columns, two of each.
const TYPES: [Oid; 10] = [
    oid::BOOL,
    oid::INT2,
    oid::INT4,
    oid::INT8,
    oid::FLOAT8,
    oid::NUMERIC,
    oid::TEXT,
    oid::BPCHAR,
    oid::DATE,
    oid::TIMESTAMP,
];

/// Steele's splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn small(&mut self) -> i64 {
        self.below(7) as i64 - 2
    }

    /// A value of a type. A `wild` one may be any value of the type.
    fn value(&mut self, ty: Oid, wild: bool) -> Datum {
        let small = self.small();
        let wild = wild && self.one_in(3);
        match ty {
            oid::BOOL => Datum::Bool(small > 0),
            oid::INT2 if wild => Datum::Int2(self.of(&[i16::MIN, i16::MAX, 181, -182])),
            oid::INT2 => Datum::Int2(small as i16),
            oid::INT4 if wild => Datum::Int4(self.of(&[i32::MIN, i32::MAX, 46341, 1 << 30])),
            oid::INT4 => Datum::Int4(small as i32),
            oid::INT8 if wild => Datum::Int8(self.of(&[i64::MIN, i64::MAX, 1 << 40, -1 << 62])),
            oid::INT8 => Datum::Int8(small),
            oid::FLOAT8 if wild => Datum::Float8(self.of(&[
                f64::NAN,
                -f64::NAN,
                f64::from_bits(0x7ff0_0000_0000_0001),
                f64::INFINITY,
                f64::NEG_INFINITY,
                -0.0,
                f64::MAX,
                f64::MIN_POSITIVE,
                -1e300,
            ])),
            oid::FLOAT8 => Datum::Float8(small as f64 / 2.0),
            oid::NUMERIC if wild => self.wild_numeric(),
            oid::NUMERIC => Datum::Numeric(Numeric::from_small(50 * small, 2)),
            oid::DATE if wild => {
                Datum::Date(self.of(&[i32::MIN, i32::MAX, -2451545, 2145031948, 106_751_983]))
            }
            oid::DATE => Datum::Date(small as i32),
            oid::TIMESTAMP if wild => {
                Datum::Timestamp(self.of(&[i64::MIN, i64::MAX, 1, -1, 9_223_371_331_199_999_999]))
            }
            oid::TIMESTAMP => Datum::Timestamp(small * 43_200_000_000),
            _ => self.text(wild),
        }
    }

    fn wild_numeric(&mut self) -> Datum {
        let scale = self.of(&[0, 1, 2, 9, 18]);
        Datum::Numeric(match self.below(5) {
            0 => Numeric::NAN,
            1 => Numeric::INFINITY,
            2 => Numeric::from_small(self.of(&[i64::MIN, i64::MAX, 1, -1, 0]), scale),
            3 => Numeric::from_small(10 * self.small(), scale),
            _ => "-12345678901234567890.5".parse().unwrap(),
        })
    }

    fn text(&mut self, wild: bool) -> Datum {
        let length = if wild { self.below(20) } else { self.below(4) };
        let text: String = (0..length).map(|_| self.of(&['a', 'b', ' ', 'é'])).collect();
        Datum::text(text)
    }

    /// A column of a type, as a producer may hand it up.
    fn column(&mut self, ty: Oid, rows: usize) -> Vector {
        let null_of = self.of(&[0, 0, 4, 1]);
        let wild = self.one_in(3);
        let mut value = || match null_of != 0 && self.one_in(null_of) {
            true => Datum::Null,
            false => self.value(ty, wild),
        };
        let values: Vec<Datum> = (0..rows).map(|_| value()).collect();
        match self.below(4) {
            0 => Vector::datums(values),
            1 => {
                let mut vector = Vector::default();
                values.iter().for_each(|value| vector.push(value));
                vector
            }
            _ => Vector::of(values),
        }
    }
}

fn ty(oid: Oid) -> TypeRef {
    TypeRef::plain(oid)
}

/// The function of that name for arguments of those types.
fn function(name: &str, args: &[Oid]) -> (FunctionRef, Oid) {
    let found = builtin::functions_named(name).find(|proc| *proc.args == *args);
    let proc = found.unwrap_or_else(|| panic!("no function {name} of {args:?}"));
    let ret = proc.ret;
    (proc, ret)
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types: Vec<Oid> = args.iter().map(|arg| arg.ty().oid).collect();
    let (func, ret) = function(name, &types);
    Expr::Func { func, args, ty: ty(ret), syntax: CallSyntax::Function }
}

fn slot(type_oid: Oid, second: bool) -> Expr {
    let place = TYPES.iter().position(|ty| *ty == type_oid).unwrap();
    Expr::Slot { index: 2 * place + usize::from(second), ty: ty(type_oid) }
}

/// The stem of a type's comparison functions, its separator.
fn comparison(type_oid: Oid, op: &str) -> FunctionRef {
    let name = match type_oid {
        oid::BOOL => format!("bool{op}"),
        oid::INT2 => format!("int2{op}"),
        oid::INT4 => format!("int4{op}"),
        oid::INT8 => format!("int8{op}"),
        oid::FLOAT8 => format!("float8{op}"),
        oid::NUMERIC => format!("numeric_{op}"),
        oid::TEXT if matches!(op, "eq" | "ne") => format!("text{op}"),
        oid::TEXT => format!("text_{op}"),
        oid::BPCHAR => format!("bpchar{op}"),
        oid::DATE => format!("date_{op}"),
        _ => format!("timestamp_{op}"),
    };
    function(&name, &[type_oid, type_oid]).0
}

const OPS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

impl Random {
    /// A constant, the type's parameter or one of its columns.
    fn leaf(&mut self, type_oid: Oid) -> Expr {
        if self.one_in(3) {
            let value = match self.one_in(8) {
                true => Datum::Null,
                false => self.value(type_oid, true),
            };
            return Expr::Const(value, ty(type_oid));
        }
        if self.one_in(6) {
            let index = TYPES.iter().position(|ty| *ty == type_oid).unwrap();
            return Expr::Param { index, ty: ty(type_oid), at: Place::NONE };
        }
        slot(type_oid, self.one_in(2))
    }

    fn expr(&mut self, type_oid: Oid, depth: usize) -> Expr {
        if depth == 0 || self.one_in(5) {
            return self.leaf(type_oid);
        }
        let d = depth - 1;
        match self.below(8) {
            0 => return self.case(type_oid, d),
            1 => {
                let args = vec![self.expr(type_oid, d), self.expr(type_oid, d)];
                return Expr::Coalesce { args, ty: ty(type_oid) };
            }
            2 => {
                return Expr::NullIf {
                    eq: comparison(type_oid, "eq"),
                    left: Box::new(self.expr(type_oid, d)),
                    right: Box::new(self.expr(type_oid, d)),
                    ty: ty(type_oid),
                };
            }
            3 if self.one_in(2) => {
                let args = vec![self.expr(type_oid, d), self.expr(type_oid, d)];
                return Expr::MinMax { greatest: self.one_in(2), args, ty: ty(type_oid) };
            }
            _ => {}
        }
        match type_oid {
            oid::BOOL => self.condition(d),
            oid::INT2 => self.integer("int2", oid::INT2, d),
            oid::INT4 if self.one_in(4) => call("int4", vec![self.expr(oid::INT8, d)]),
            oid::INT4 => self.integer("int4", oid::INT4, d),
            oid::INT8 if self.one_in(4) => call("int8", vec![self.expr(oid::INT4, d)]),
            oid::INT8 if self.one_in(4) => {
                call("int48pl", vec![self.expr(oid::INT4, d), self.expr(oid::INT8, d)])
            }
            oid::INT8 => self.integer("int8", oid::INT8, d),
            oid::FLOAT8 if self.one_in(4) => call("float8", vec![self.expr(oid::INT4, d)]),
            oid::FLOAT8 => self.integer("float8", oid::FLOAT8, d),
            oid::NUMERIC if self.one_in(4) => call("numeric", vec![self.expr(oid::INT4, d)]),
            oid::NUMERIC if self.one_in(4) => self.extract(d),
            oid::NUMERIC => {
                let op = self.of(&["add", "sub", "mul", "uminus", "div"]);
                let args = self.operands(oid::NUMERIC, op == "uminus", d);
                call(&format!("numeric_{op}"), args)
            }
            oid::DATE => {
                let name = self.of(&["date_pli", "date_mii"]);
                call(name, vec![self.expr(oid::DATE, d), self.expr(oid::INT4, d)])
            }
            oid::TIMESTAMP => call("timestamp", vec![self.expr(oid::DATE, d)]),
            oid::TEXT if self.one_in(3) => call("lower", vec![self.expr(oid::TEXT, d)]),
            oid::TEXT if self.one_in(2) => call("text", vec![self.expr(oid::BPCHAR, d)]),
            oid::TEXT => {
                let numbers = [self.leaf(oid::INT4), self.leaf(oid::INT4)];
                let count = 1 + self.below(2);
                let args = [self.expr(oid::TEXT, d)].into_iter();
                call("substring", args.chain(numbers.into_iter().take(count)).collect())
            }
            _ => self.leaf(type_oid),
        }
    }

    fn extract(&mut self, depth: usize) -> Expr {
        let of = self.of(&[oid::DATE, oid::TIMESTAMP]);
        let field = self.of(&["year", "month", "quarter", "epoch", "day", "second", "what"]);
        let field = Expr::Const(Datum::text(field), ty(oid::TEXT));
        call("extract", vec![field, self.expr(of, depth)])
    }

    fn operands(&mut self, type_oid: Oid, unary: bool, depth: usize) -> Vec<Expr> {
        (0..if unary { 1 } else { 2 }).map(|_| self.expr(type_oid, depth)).collect()
    }

    fn integer(&mut self, prefix: &str, type_oid: Oid, depth: usize) -> Expr {
        let op = self.of(&["pl", "mi", "mul", "um", "div"]);
        let args = self.operands(type_oid, op == "um", depth);
        call(&format!("{prefix}{op}"), args)
    }

    fn case(&mut self, type_oid: Oid, depth: usize) -> Expr {
        let otherwise = Box::new(self.expr(type_oid, depth));
        if self.one_in(2) {
            let when = self.expr(oid::BOOL, depth);
            let whens = vec![(when, self.expr(type_oid, depth))];
            return Expr::Case { operand: None, whens, otherwise, ty: ty(type_oid) };
        }
        let of = self.of(&TYPES);
        let operand = Some(Box::new(self.expr(of, self.0 as usize % 2)));
        let whens = (0..2)
            .map(|_| {
                let args = vec![Expr::CaseOperand(ty(of)), self.leaf(of)];
                let func = comparison(of, "eq");
                let when =
                    Expr::Func { func, args, ty: ty(oid::BOOL), syntax: CallSyntax::Function };
                (when, self.expr(type_oid, depth))
            })
            .collect();
        Expr::Case { operand, whens, otherwise, ty: ty(type_oid) }
    }

    fn condition(&mut self, d: usize) -> Expr {
        let of = self.of(&TYPES);
        match self.below(14) {
            0 => Expr::And((0..3).map(|_| self.expr(oid::BOOL, d)).collect()),
            1 => Expr::Or((0..3).map(|_| self.expr(oid::BOOL, d)).collect()),
            2 => Expr::Not(Box::new(self.expr(oid::BOOL, d))),
            3 => Expr::IsNull { arg: Box::new(self.expr(of, d)), negated: self.one_in(2) },
            4 => {
                let test = self.of(&[
                    BoolTest::True,
                    BoolTest::NotTrue,
                    BoolTest::False,
                    BoolTest::NotFalse,
                    BoolTest::Unknown,
                    BoolTest::NotUnknown,
                ]);
                Expr::BoolTest { arg: Box::new(self.expr(oid::BOOL, d)), test }
            }
            5 => Expr::Distinct {
                eq: comparison(of, "eq"),
                left: Box::new(self.expr(of, d)),
                right: Box::new(self.expr(of, d)),
                negated: self.one_in(2),
            },
            6 => self.in_list(of, d),
            7 | 8 => self.like(d),
            9 | 10 => self.mixed_comparison(d),
            _ => {
                let op = self.of(&OPS);
                let args = vec![self.expr(of, d), self.expr(of, d)];
                let (func, ty) = (comparison(of, op), ty(oid::BOOL));
                Expr::Func { func, args, ty, syntax: CallSyntax::Function }
            }
        }
    }

    fn mixed_comparison(&mut self, d: usize) -> Expr {
        let op = self.of(&OPS);
        match self.below(4) {
            0 => {
                call(&format!("int48{op}"), vec![self.expr(oid::INT4, d), self.expr(oid::INT8, d)])
            }
            1 => {
                let args = vec![self.expr(oid::DATE, d), self.expr(oid::TIMESTAMP, d)];
                call(&format!("date_{op}_timestamp"), args)
            }
            2 => {
                let args = vec![self.expr(oid::TIMESTAMP, d), self.expr(oid::DATE, d)];
                call(&format!("timestamp_{op}_date"), args)
            }
            _ => Expr::RowCompare {
                op: RowCompareOp::Lt,
                lt: vec![comparison(oid::INT4, "lt"), comparison(oid::TEXT, "lt")],
                eq: vec![comparison(oid::INT4, "eq"), comparison(oid::TEXT, "eq")],
                left: vec![self.expr(oid::INT4, d), self.leaf(oid::TEXT)],
                right: vec![self.leaf(oid::INT4), self.expr(oid::TEXT, d)],
            },
        }
    }

    fn in_list(&mut self, of: Oid, d: usize) -> Expr {
        let length = self.of(&[0, 1, 3, 12]);
        let with_null = self.one_in(4);
        let wild = self.one_in(2);
        let elements: Vec<Datum> = (0..length)
            .map(|i| if with_null && i == 0 { Datum::Null } else { self.value(of, wild) })
            .collect();
        let array_type = builtin::ty(of).unwrap().array;
        let dimensions = if length == 0 { Vec::new() } else { vec![(length, 1)] };
        let array = Array { element_type: of, dimensions, elements };
        let all = self.one_in(2);
        Expr::ScalarArrayOp {
            func: comparison(of, if all { "ne" } else { "eq" }),
            all,
            left: Box::new(self.expr(of, d)),
            array: Box::new(Expr::Const(Datum::Array(Arc::new(array)), ty(array_type))),
            syntax: CallSyntax::Function,
        }
    }

    fn like(&mut self, d: usize) -> Expr {
        let length = self.below(6);
        let letters: &[char] = match self.one_in(2) {
            true => &['a', 'b', '%', '%'],
            false => &['a', 'b', ' ', 'é', '%', '%', '_', '\\'],
        };
        let pattern: String = (0..length).map(|_| self.of(letters)).collect();
        let pattern = match self.one_in(8) {
            true => self.expr(oid::TEXT, d),
            false => Expr::Const(Datum::text(pattern), ty(oid::TEXT)),
        };
        let name = self.of(&["textlike", "textnlike"]);
        call(name, vec![self.expr(oid::TEXT, d), pattern])
    }
}

fn functions() -> FnContext {
    FnContext::pure(Arc::new(Catalog::default()))
}

/// The row path's result for each row.
fn by_row(expr: &CExpr, cx: &mut ExecContext, batch: &ColumnBatch) -> Vec<Option<Datum>> {
    let each = |i: usize| {
        let mut row = Vec::new();
        batch.row_into(i, &mut row).unwrap();
        expr.eval(cx, Row::of(&row)).ok()
    };
    (0..batch.len()).map(each).collect()
}

/// Compares one random expression; returns whether it gave up although no row fails.
fn check(seed: u64) -> bool {
    let mut random = Random(seed);
    let rows = random.of(&[0, 1, 7, 40, 40, 40]);
    let columns = TYPES.iter().flat_map(|ty| [*ty, *ty]);
    let columns: Vec<Vector> = columns.map(|ty| random.column(ty, rows)).collect();
    let mut batch = ColumnBatch::new(columns.len());
    batch.set(rows, columns);

    let type_oid = random.of(&TYPES);
    let depth = 1 + random.below(4);
    let expr = random.expr(type_oid, depth);
    let stmt = PlannedStmt::nothing();
    let mut compiler = Compiler::new(&stmt, functions());
    let compiled = compiler.expr(&expr).unwrap();
    let by_column = VExpr::compile(&expr, &mut compiler).unwrap().expect("it has no effects");

    let mut cx = ExecContext::for_folding(functions());
    let params =
        TYPES.map(|ty| if random.one_in(6) { Datum::Null } else { random.value(ty, true) });
    cx.set_params(Arc::new(params));
    let expected = by_row(&compiled, &mut cx, &batch);
    let fails = expected.contains(&None);
    let got = by_column.eval(&mut cx, &batch);
    if let Ok(vector) = &got {
        assert_eq!(vector.len(), rows, "seed {seed}: {expr:?}");
        for (i, expected) in expected.iter().enumerate() {
            let got = vector.datum(i).unwrap();
            assert_eq!(Some(&got), expected.as_ref(), "seed {seed}, row {i}: {expr:?} {batch:?}");
            assert_eq!(vector.is_null(i), got.is_null(), "seed {seed}, row {i}: {expr:?}");
        }
    }
    if type_oid == oid::BOOL
        && let Ok(selected) = by_column.select(&mut cx, &batch)
    {
        // A conjunct that comes after one that is not true may fail on the row path alone.
        let holds = |i: &u32| matches!(expected[*i as usize], Some(Datum::Bool(true)));
        let expected: Vec<u32> = (0..rows as u32).filter(holds).collect();
        assert_eq!(selected, expected, "seed {seed}: {expr:?} {batch:?}");
    }
    got.is_err() && !fails
}

#[test]
fn columns_agree_with_rows() {
    let count = 15_000;
    let needless = (0..count).filter(|seed| check(*seed)).count();
    // A strict call whose first operand is NULL, and whose second one fails.
    assert!(needless < count as usize / 50, "{needless} of {count} gave up for nothing");
}

/// A CASE guards its branches: the rows that do not take one cannot make it give up.
#[test]
fn a_branch_is_evaluated_for_its_own_rows() {
    let zero = || Expr::Const(Datum::Int4(0), ty(oid::INT4));
    let column = || Expr::Slot { index: 0, ty: ty(oid::INT4) };
    let quotient = call("int4div", vec![zero(), column()]);
    let whens = vec![(call("int4ne", vec![column(), zero()]), quotient.clone())];
    let otherwise = Box::new(zero());
    let case = Expr::Case { operand: None, whens, otherwise, ty: ty(oid::INT4) };

    let mut batch = ColumnBatch::new(1);
    (-2..2).for_each(|value| batch.push_row(&[Datum::Int4(value)]));
    let stmt = PlannedStmt::nothing();
    let mut compiler = Compiler::new(&stmt, functions());
    let mut cx = ExecContext::for_folding(functions());
    let mut eval =
        |expr: &Expr| VExpr::compile(expr, &mut compiler).unwrap().unwrap().eval(&mut cx, &batch);
    assert_eq!(eval(&case).map(|values| values.len()), Ok(4));
    assert_eq!(eval(&quotient).err(), Some(GiveUp));
}

/// Calls that have effects, or run statements, are not compiled to columns.
#[test]
fn calls_with_effects_are_refused() {
    let stmt = PlannedStmt::nothing();
    let mut compiler = Compiler::new(&stmt, functions());
    for name in ["random", "txid_current", "clock_timestamp", "pg_backend_pid"] {
        let volatile = call(name, Vec::new());
        let is_stable = name == "pg_backend_pid";
        assert_eq!(
            VExpr::compile(&volatile, &mut compiler).unwrap().is_some(),
            is_stable,
            "{name}"
        );
    }
}

/// Every pair of the values that are special to a type, as columns and as constants.
#[test]
fn special_values_compare_as_by_row() {
    let dates = [i32::MIN, -2451545, -1, 0, 1, 106_751_983, 106_751_984, i32::MAX];
    let times = [i64::MIN, i64::MIN + 1, -DAY - 1, -DAY, -1, 0, 1, DAY, i64::MAX - 1, i64::MAX];
    let floats = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, f64::INFINITY, f64::NAN, -f64::NAN];
    let numbers = [(i64::MIN, 0), (i64::MAX, 18), (10, 1), (1, 0), (1, 18), (0, 3), (-1, 0)];
    let dates = dates.map(Datum::Date);
    let times = times.map(Datum::Timestamp);
    let floats = floats.map(Datum::Float8);
    let numbers = numbers.map(|(m, scale)| Datum::Numeric(Numeric::from_small(m, scale)));
    for op in OPS {
        compare_all(&format!("date_{op}_timestamp"), [oid::DATE, oid::TIMESTAMP], &dates, &times);
        compare_all(&format!("timestamp_{op}_date"), [oid::TIMESTAMP, oid::DATE], &times, &dates);
        compare_all(&format!("float8{op}"), [oid::FLOAT8; 2], &floats, &floats);
        compare_all(&format!("numeric_{op}"), [oid::NUMERIC; 2], &numbers, &numbers);
    }
}

fn compare_all(name: &str, types: [Oid; 2], left: &[Datum], right: &[Datum]) {
    let stmt = PlannedStmt::nothing();
    let mut compiler = Compiler::new(&stmt, functions());
    let mut cx = ExecContext::for_folding(functions());
    let (func, ret) = function(name, &types);
    let column = |index: usize| Expr::Slot { index, ty: ty(types[index]) };
    for (a, b) in left.iter().flat_map(|a| right.iter().map(move |b| (a, b))) {
        let mut batch = ColumnBatch::new(2);
        batch.push_row(&[a.clone(), b.clone()]);
        let constant = |value: &Datum, i: usize| Expr::Const(value.clone(), ty(types[i]));
        let shapes = [
            vec![column(0), column(1)],
            vec![column(0), constant(b, 1)],
            vec![constant(a, 0), column(1)],
        ];
        for args in shapes {
            let syntax = CallSyntax::Function;
            let expr = Expr::Func { func: func.clone(), args, ty: ty(ret), syntax };
            let expected = by_row(&compiler.expr(&expr).unwrap(), &mut cx, &batch);
            let by_column = VExpr::compile(&expr, &mut compiler).unwrap().unwrap();
            let got = by_column.eval(&mut cx, &batch).unwrap().datum(0).unwrap();
            assert_eq!(Some(&got), expected[0].as_ref(), "{a:?} {name} {b:?}: {expr:?}");
        }
    }
}
