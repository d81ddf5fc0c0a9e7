//! The executor's interface for languages of functions: SQL over variables, expressions, cursors,
//! savepoints, ends of transactions. A small language of this test uses it in DO.

mod support;

use parking_lot::Mutex;
use std::sync::Arc;
use steppe_catalog::FunctionRef;
use steppe_catalog::objects::Function;
use steppe_exec::registry::register_language;
use steppe_exec::routine::{CallTypes, Language, Routine};
use steppe_exec::{Answer, Spi, SqlKind};
use steppe_functions::{Frame, SessionHost};
use steppe_sql::bind::{Conflict, Variable, Variables};
use steppe_types::{Datum, Error, Result, oid};
use support::{TestServer, run};
use tokio_postgres::Client;

/// Each line is a command. The variables are `x`, an integer, and the record `r`.
struct Probe;

/// One test at a time has the output.
static ALONE: Mutex<()> = Mutex::new(());

/// The output of the last DO.
static OUTPUT: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Names(Conflict);

impl Variables for Names {
    fn find(&self, parts: &[&str]) -> Result<Option<Variable>> {
        let variable = |param, ty, record| Variable {
            param,
            ty,
            modifier: -1,
            collation: 0,
            parts: 1,
            record,
        };
        let columns = [("a".into(), oid::INT4, -1), ("b".into(), oid::TEXT, -1)];
        Ok(match parts {
            ["x"] => Some(variable(0, oid::INT4, None)),
            ["r", ..] => Some(variable(1, oid::RECORD, Some(columns.into()))),
            _ => None,
        })
    }

    fn numbered(&self, n: u32) -> Result<Option<Variable>> {
        if n == 1 { self.find(&["x"]) } else { Ok(None) }
    }

    fn conflict(&self) -> Conflict {
        self.0
    }
}

fn shown(rows: &[Box<[Datum]>]) -> String {
    format!("{rows:?}")
}

impl Language for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }

    fn compile(
        &self,
        _: &FunctionRef,
        _: &Arc<CallTypes>,
        _: &mut Spi<'_>,
    ) -> Result<Arc<dyn Routine>> {
        Err(Error::not_supported("functions in probe"))
    }

    fn validate(&self, _: &Function, _: &Frame, _: &Arc<dyn SessionHost>) -> Result<()> {
        Ok(())
    }

    fn run_inline(&self, source: &str, atomic: bool, spi: &mut Spi<'_>) -> Result<()> {
        assert_eq!(atomic, spi.is_atomic());
        OUTPUT.lock().clear();
        let mut conflict = Conflict::Error;
        let mut frame =
            vec![Datum::Int4(7), Datum::Record(vec![Datum::Int4(1), Datum::text("one")].into())];
        let mut savepoints = Vec::new();
        for line in source.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
            let names = || Arc::new(Names(conflict));
            match command {
                "prefer_column" => conflict = Conflict::PreferColumn,
                "prefer_variable" => conflict = Conflict::PreferVariable,
                "run" => {
                    let mut prepared = spi.prepare_with(rest, SqlKind::Statement, names())?;
                    let answer = spi.run(&mut prepared, &frame)?;
                    OUTPUT.lock().push(format!("{} {}", answer.processed, shown(&answer.rows)));
                }
                "x" => {
                    let kind = SqlKind::Assignment { ty: oid::INT4, modifier: -1 };
                    let mut prepared = spi.prepare_with(rest, kind, names())?;
                    frame[0] = match spi.simple(&prepared) {
                        Some(simple) => {
                            OUTPUT.lock().push("simple".to_owned());
                            spi.evaluate(&simple, &frame)?
                        }
                        None => spi.run(&mut prepared, &frame)?.value()?,
                    };
                }
                "loop" => {
                    let mut prepared = spi.prepare_with(rest, SqlKind::Statement, names())?;
                    let mut cursor = spi.open(&mut prepared, &frame, Some(false))?;
                    loop {
                        let mut answer = Answer::default();
                        if cursor.fetch(spi, 2, &mut answer)? == 0 {
                            break;
                        }
                        OUTPUT.lock().push(shown(&answer.rows));
                    }
                    cursor.close(spi);
                }
                "show" => OUTPUT.lock().push(format!("{:?}", frame[0])),
                "savepoint" => savepoints.push(spi.savepoint()?),
                "undo" => spi.rollback_to(savepoints.pop().expect("a savepoint"))?,
                "release" => spi.release(savepoints.pop().expect("a savepoint")),
                "commit" => spi.commit(rest == "chain")?,
                "rollback" => spi.rollback(rest == "chain")?,
                other => return Err(Error::internal(format!("no such command: {other}"))),
            }
        }
        Ok(())
    }
}

async fn run_do(client: &Client, source: &str) -> Vec<String> {
    let text = format!("DO LANGUAGE probe $$ {source} $$");
    client.batch_execute(&text).await.expect(source);
    OUTPUT.lock().clone()
}

/// SQLSTATE, message and detail of a DO that must fail.
async fn refused(client: &Client, source: &str) -> (String, String, String) {
    let text = format!("DO LANGUAGE probe $$ {source} $$");
    let error = client.batch_execute(&text).await.expect_err(source);
    let error = error.as_db_error().expect("an answer");
    let detail = error.detail().unwrap_or_default().to_owned();
    (error.code().code().to_owned(), error.message().to_owned(), detail)
}

async fn count(client: &Client, table: &str) -> i64 {
    let row = client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.expect("rows");
    row.get(0)
}

#[test]
fn languages_run_statements_over_variables() {
    let _alone = ALONE.lock();
    register_language(&Probe);
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        let made = "CREATE TABLE t (x int, n int); INSERT INTO t SELECT i, i FROM \
                    generate_series(1, 5) i";
        client.batch_execute(made).await.expect("a table");

        let out = run_do(&client, "run SELECT n + $1 FROM t WHERE n = r.a").await;
        assert_eq!(out, ["1 [[Int4(8)]]"]);
        let out = run_do(&client, "run SELECT r.*, (r).b, t.n FROM t WHERE n = 2").await;
        assert_eq!(out, ["1 [[Int4(1), Text(\"one\"), Text(\"one\"), Int4(2)]]"]);
        let (state, message, detail) = refused(&client, "run SELECT x FROM t").await;
        assert_eq!((&*state, &*message), ("42702", "column reference \"x\" is ambiguous"));
        assert_eq!(detail, "It could refer to either a PL/pgSQL variable or a table column.");
        let out = run_do(&client, "prefer_variable\nrun SELECT x FROM t WHERE n = 1").await;
        assert_eq!(out, ["1 [[Int4(7)]]"]);
        let out = run_do(&client, "prefer_column\nrun SELECT x FROM t WHERE n = 1").await;
        assert_eq!(out, ["1 [[Int4(1)]]"]);
        let (state, message, _) = refused(&client, "run SELECT r.c").await;
        assert_eq!((&*state, &*message), ("42703", "record \"r\" has no field \"c\""));

        let out = run_do(&client, "x x * 2 + r.a\nshow\nx '12'\nshow\nx 3.6\nshow").await;
        let simple = "simple";
        assert_eq!(out, [simple, "Int4(15)", simple, "Int4(12)", simple, "Int4(4)"]);
        let out = run_do(&client, "x (SELECT max(n) FROM t)\nshow").await;
        assert_eq!(out, ["Int4(5)"]);
        let out = run_do(&client, "loop SELECT n FROM t WHERE n > 2 ORDER BY n").await;
        assert_eq!(out, ["[[Int4(3)], [Int4(4)]]", "[[Int4(5)]]"]);
    });
}

#[test]
fn languages_take_back_and_end_transactions() {
    let _alone = ALONE.lock();
    register_language(&Probe);
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        client.batch_execute("CREATE TABLE t (n int)").await.expect("a table");
        let insert = "run INSERT INTO t VALUES (1)";

        let source = format!("{insert}\nsavepoint\n{insert}\n{insert}\nundo\n{insert}");
        run_do(&client, &source).await;
        assert_eq!(count(&client, "t").await, 2);
        run_do(&client, &format!("savepoint\n{insert}\nrelease")).await;
        assert_eq!(count(&client, "t").await, 3);
        // A function's next statement sees its changes of the catalog. A savepoint undoes them.
        let source = "savepoint\nrun CREATE TABLE u (a int)\nrun INSERT INTO u VALUES (1)\nundo\n\
                      run CREATE TABLE u (b text)\nrun INSERT INTO u VALUES ('two')";
        run_do(&client, source).await;
        assert_eq!(count(&client, "u").await, 1);

        let source = format!("{insert}\ncommit\n{insert}\nrollback\n{insert}\ncommit chain");
        run_do(&client, &source).await;
        assert_eq!(count(&client, "t").await, 5);
        let (state, message, _) =
            refused(&client, &format!("{insert}\ncommit\n{insert}\nrun SELECT 1/0")).await;
        assert_eq!((&*state, &*message), ("22012", "division by zero"));
        assert_eq!(count(&client, "t").await, 6);

        client.batch_execute("BEGIN").await.expect("a block");
        let (state, message, _) = refused(&client, "commit").await;
        assert_eq!((&*state, &*message), ("2D000", "invalid transaction termination"));
        client.batch_execute("ROLLBACK").await.expect("the end");
        let (_, message, _) = refused(&client, "savepoint\ncommit").await;
        assert_eq!(message, "cannot commit while a subtransaction is active");

        // A savepoint undoes a SET, too.
        let source = "savepoint\nrun SET work_mem = '77kB'\nundo\n\
                      run SELECT current_setting('work_mem')\nrun SET work_mem = '88kB'\n\
                      run SELECT current_setting('work_mem')";
        let out = run_do(&client, source).await;
        assert_eq!(out.len(), 4);
        assert_eq!((&*out[1], &*out[3]), ("1 [[Text(\"4MB\")]]", "1 [[Text(\"88kB\")]]"));
        let unknown = client.batch_execute("DO LANGUAGE nonsense 'x'").await.expect_err("unknown");
        let unknown = unknown.as_db_error().expect("an answer");
        assert_eq!(unknown.message(), "language \"nonsense\" does not exist");
    });
}
