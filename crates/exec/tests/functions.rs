//! Built-in functions, operators and casts against PostgreSQL's own answers.
//!
//! `functions/answers.tsv` and `functions/edges.tsv` hold an expression a line, and after a tab the
//! result of PostgreSQL 18: the text of its rows, or the SQLSTATE and message of its error. The
//! first was chosen by hand, the second drawn from a seed. The second has every function of the
//! supported types over their edge values (nothing, the bounds, infinities, NaN, characters of
//! several bytes), then operators over random values. To write the answers again, name a psql
//! command that reaches a server:
//!
//! ```text
//! STEPPE_ANSWERS_FROM="psql -h 127.0.0.1 -U postgres" cargo test -p steppe-exec --test functions
//! ```
//!
//! `functions/missing.txt` lists the functions that operators and casts of the
//! supported types, or psql, could reach and that have no implementation; the
//! variable `STEPPE_REWRITE` writes it anew.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use steppe_catalog::builtin::CastMethod;
use steppe_catalog::{Catalog, FunctionRef, PG_CATALOG, PUBLIC, builtin};
use steppe_exec::registry::native;
use steppe_exec::{CompiledStmt, ExecEnv, Execution, RowSink};
use steppe_functions::reg::CatalogNames;
use steppe_functions::{Host, SessionHost};
use steppe_spill::TempSpace;
use steppe_sql::bind::{BindContext, Params, bind_query};
use steppe_sql::planner::{PlannerContext, PlannerSettings, TableSizes, plan};
use steppe_types::datetime::TimeZone;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, text_io};
use steppe_vfs::CrashVfs;

const ANSWERS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/functions/answers.tsv"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/functions/edges.tsv"),
];
const MISSING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/functions/missing.txt");
const ZONE: &str = "America/New_York";

struct Sizes;

impl TableSizes for Sizes {
    fn size(&self, _: &steppe_catalog::Relation) -> (f64, f64) {
        (1.0, 1.0)
    }
}

struct Session;

impl Host for Session {
    fn random(&self) -> f64 {
        0.25
    }

    fn setting(&self, name: &str) -> Result<Option<String>> {
        Ok((name == "client_encoding").then(|| "UTF8".to_string()))
    }
}

impl SessionHost for Session {}

/// Collects rows as psql prints them unaligned.
struct Rows {
    types: Vec<Oid>,
    io: Arc<IoContext>,
    lines: Vec<String>,
}

impl RowSink for Rows {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        let column = |(ty, value): (&Oid, &Datum)| match value {
            Datum::Null => Ok("~".to_string()),
            value => text_io::output_string(*ty, value, &self.io),
        };
        let columns = self.types.iter().zip(row).map(column).collect::<Result<Vec<_>>>()?;
        self.lines.push(columns.join("|"));
        Ok(())
    }
}

struct World {
    catalog: Arc<Catalog>,
    io: Arc<IoContext>,
    temp: Arc<TempSpace>,
}

impl World {
    fn new() -> World {
        let catalog = Arc::new(Catalog::default());
        let role = (Arc::from("postgres"), steppe_catalog::BOOTSTRAP_SUPERUSER);
        let names = CatalogNames::new(catalog.clone(), vec![PG_CATALOG, PUBLIC], role);
        let mut io = IoContext { catalog: Some(Arc::new(names)), ..IoContext::default() };
        io.datetime.time_zone = TimeZone::by_name(ZONE).expect("the zone is known");
        let temp = Arc::new(TempSpace::new(Arc::new(CrashVfs::new(1)), "temp"));
        World { catalog, io: Arc::new(io), temp }
    }

    fn run(&self, text: &str) -> Result<Vec<String>> {
        let parsed = steppe_sql::parser::parse(text)?;
        let ctx = BindContext {
            catalog: &self.catalog,
            search_path: &[PG_CATALOG, PUBLIC],
            io: &self.io,
            source: text,
        };
        let bound = bind_query(&ctx, &parsed[0].statement, Params::none())?;
        let settings = PlannerSettings::default();
        let ctx = PlannerContext {
            older: None,
            catalog: &self.catalog,
            search_path: ctx.search_path,
            settings: &settings,
            sizes: &Sizes,
            io: &self.io,
            interrupts: &|| Ok(()),
            may_fail: &|_| false,
            values: &[],
        };
        let planned = Arc::new(plan(&ctx, bound)?);
        let types = planned.columns.iter().map(|c| c.ty.oid).collect();
        let stmt = Arc::new(CompiledStmt::compile_without_tables(planned, &self.catalog)?);
        let env = ExecEnv {
            session: Arc::new(Session),
            io: self.io.clone(),
            catalog: self.catalog.clone(),
            statement_timestamp: 0,
            transaction_timestamp: 0,
            work_mem_bytes: 4 << 20,
            temp: self.temp.clone(),
        };
        let mut rows = Rows { types, io: self.io.clone(), lines: Vec::new() };
        let mut txn = None;
        let mut execution = Execution::start(&stmt, Arc::new([]), &env, &mut txn)?;
        execution.fetch(&mut txn, 0, &mut rows)?;
        Ok(rows.lines)
    }

    /// The answer in the form of the file.
    fn answer(&self, expression: &str) -> String {
        let shown = |error: &Error| {
            let message = error.message().replace('\n', "\\n");
            format!("ERROR {}: {message}", error.sqlstate())
        };
        match self.run(&format!("SELECT {expression}")) {
            Ok(lines) => lines.join("\n").replace('\n', "\\n"),
            Err(error) => shown(&error),
        }
    }
}

/// Expressions with their answers; lines that begin with `#` are headings.
fn read_answers(path: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).expect("the answers can be read");
    let split = |line: &str| match line.split_once('\t') {
        Some((expression, answer)) => (expression.to_string(), answer.to_string()),
        None => (line.to_string(), String::new()),
    };
    text.lines().map(split).collect()
}

fn is_heading(expression: &str) -> bool {
    expression.starts_with('#') || expression.is_empty()
}

/// The answers of a live server to all expressions, in order.
fn ask(command: &str, expressions: &[String]) -> Vec<String> {
    let mut script = format!(
        "\\set VERBOSITY verbose\n\\pset null '~'\nSET timezone = '{ZONE}';\n\
         \\o\n\\echo #start#\n"
    );
    for expression in expressions {
        script.push_str(&format!("SELECT {expression};\n\\echo #end#\n"));
    }
    let psql = format!("{command} -XAtq 2>&1");
    let mut child = Command::new("sh")
        .args(["-c", &psql])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("psql starts");
    let mut stdin = child.stdin.take().expect("psql's input is piped");
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = child.wait_with_output().expect("psql ends");
    writer.join().expect("the writer ends").expect("psql reads its input");
    let text = String::from_utf8(output.stdout).expect("psql prints UTF-8");
    let (_, text) = text.split_once("#start#\n").expect("psql ran the script");
    let mut parts: Vec<&str> = text.split("#end#\n").collect();
    parts.pop();
    parts.iter().map(|part| squeeze(part)).collect()
}

/// One answer on a line. For an error it is the code and message.
fn squeeze(part: &str) -> String {
    match part.strip_prefix("ERROR:  ") {
        Some(error) => format!("ERROR {}", error.lines().next().unwrap_or_default()),
        None => part.trim_end_matches('\n').replace('\n', "\\n"),
    }
}

fn rewrite(command: &str, path: &str, answers: &[(String, String)]) {
    let expressions: Vec<String> =
        answers.iter().map(|(e, _)| e.clone()).filter(|e| !is_heading(e)).collect();
    let mut fresh = ask(command, &expressions).into_iter();
    let mut out = String::new();
    for (expression, _) in answers {
        out.push_str(expression);
        if !is_heading(expression) {
            out.push('\t');
            out.push_str(&fresh.next().expect("an answer for each expression"));
        }
        out.push('\n');
    }
    std::fs::write(path, out).expect("the answers can be written");
}

#[test]
fn answers_are_postgresqls() {
    let world = World::new();
    let mut wrong = Vec::new();
    for path in ANSWERS {
        let mut answers = read_answers(path);
        if let Ok(command) = std::env::var("STEPPE_ANSWERS_FROM") {
            rewrite(&command, path, &answers);
            answers = read_answers(path);
        }
        for (expression, expected) in answers.iter().filter(|(e, _)| !is_heading(e)) {
            let found = world.answer(expression);
            if found != *expected {
                wrong.push(format!("{expression}\n  expected {expected}\n  found    {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

/// The types of the first releases.
const TYPES: &str = "bool int2 int4 int8 float4 float8 numeric text varchar bpchar name char bytea \
    date time timetz timestamp timestamptz interval uuid oid regproc regprocedure regoper \
    regoperator regclass regtype regrole regnamespace regcollation xid xid8 cid tid int2vector \
    oidvector anyelement anyarray anynonarray anycompatible anycompatiblearray \
    anycompatiblenonarray record";

#[test]
fn every_operator_and_cast_of_the_supported_types_is_attached() {
    let supported = |ty: Oid| {
        ty == 0
            || builtin::ty(ty).is_some_and(|ty| {
                let name = ty.name.strip_prefix('_').unwrap_or(ty.name);
                TYPES.split_ascii_whitespace().any(|known| known == name)
            })
    };
    let mut functions: Vec<Oid> = Vec::new();
    for row in builtin::table("pg_operator").expect("the operators").rows() {
        let field = |name: &str| row.get(name).and_then(|v| v.parse().ok()).unwrap_or(0);
        if supported(field("oprleft")) && supported(field("oprright")) {
            functions.push(field("oprcode"));
        }
    }
    for row in builtin::table("pg_cast").expect("the casts").rows() {
        let field = |name: &str| row.get(name).and_then(|v| v.parse().ok()).unwrap_or(0);
        let (from, to) = (field("castsource"), field("casttarget"));
        if supported(from)
            && supported(to)
            && let Some(cast) = builtin::cast(from, to)
            && let CastMethod::Function(function) = cast.method
        {
            functions.push(function);
        }
    }
    functions.sort_unstable();
    functions.dedup();
    let missing: Vec<String> = functions
        .iter()
        .filter_map(|oid| FunctionRef::built_in(*oid))
        .filter(|proc| native(proc).is_none())
        .map(|proc| format!("{} {}", proc.oid, proc.name))
        .collect();
    println!("{} functions behind operators and casts", functions.len());
    assert!(functions.len() > 500, "only {} functions were looked at", functions.len());
    compare_with_golden(&missing);
}

fn compare_with_golden(missing: &[String]) {
    let text = missing.iter().map(|line| format!("{line}\n")).collect::<String>();
    if std::env::var_os("STEPPE_REWRITE").is_some() {
        std::fs::write(MISSING, &text).expect("the list can be written");
    }
    let known = std::fs::read_to_string(MISSING).expect("the list can be read");
    assert_eq!(text, known, "what is missing has changed");
}
