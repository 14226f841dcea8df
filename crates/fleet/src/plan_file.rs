//! Plans as files: lines of JSON. `docs/units.md` describes them.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};
use tracewright::analysis::coverage_runs::Digest;

use crate::captures::Captures;
use crate::error::FleetError;
use crate::lines::{
    Expected, Lines, capture, digest, is_at, number, other, read, read_capture, refused,
};
use crate::plan::{self, Job, Piece, Plan, TOOL};

/// The type of the first line.
const TYPE: &str = "tracewright-plan";
/// The version of the format.
const VERSION: u64 = 1;
const EXPECTED: Expected = Expected { of: TYPE, version: VERSION, what: "plan" };

/// A plan, whose captures have paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile(pub Plan);

impl PlanFile {
    /// Whether a file with these first bytes is a plan.
    pub fn is_at(head: &[u8]) -> bool {
        is_at(head, TYPE)
    }

    /// Writes the file of `plan`; `path` gives those of its captures. A plan of the same captures
    /// at the same paths has the same bytes, in whatever order they are named.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_to<'a>(
        plan: &'a Plan,
        path: &dyn Fn(&Digest) -> Option<&'a str>,
        to: impl Write,
    ) -> io::Result<()> {
        let mut lines = Lines::new(to);
        lines.put(format_args!(
            "{{\"type\":\"{TYPE}\",\"version\":{VERSION},\"tool\":{},\"job\":{},\"divides\":{},\
             \"plan\":\"{}\",\"captures\":{}}}",
            json!(TOOL),
            json!(plan.job.name),
            plan.job.divides,
            plan.digest,
            plan.total,
        ))?;
        for own in plan.captures.iter() {
            lines.put(format_args!("{}", capture(&own, path(&own.data))))?;
        }
        for unit in &plan.units {
            let pieces = plan.pieces(unit).into_iter().map(|own| {
                let Piece { capture, buffer, segments: (begin, end) } = own;
                json!([capture.to_string(), buffer, begin, end])
            });
            lines.put(format_args!(
                "{{\"type\":\"unit\",\"id\":{},\"bytes\":{},\"pieces\":{}}}",
                json!(unit.id),
                unit.bytes,
                pieces.collect::<Value>()
            ))?;
        }
        lines.end()
    }

    /// Reads a file. An extract has the first line, and any captures and units of a plan.
    ///
    /// # Errors
    /// [`FleetError::NotAPart`], also where the file was cut or altered; [`FleetError::Different`]
    /// where another version made it; those of `from`.
    pub fn read_from(from: &mut dyn BufRead) -> Result<PlanFile, FleetError> {
        let mut file = None;
        read(from, &EXPECTED, &mut |n, line| {
            let Some(file) = &mut file else {
                file = Some(PlanFile(first(line)?));
                return Ok(());
            };
            PlanFile::line(file, line).ok_or_else(|| other(n, "plan"))
        })?;
        let file = file.ok_or_else(|| other(1, "plan"))?;
        let plan = &file.0;
        if plan.captures.len() == plan.total
            && plan::digest(&plan.job, &plan.captures) != plan.digest
        {
            return Err(refused(1, &"the digest is not that of the captures"));
        }
        Ok(file)
    }

    /// Adds what a line has. `None` where it is no line of a plan.
    fn line(&mut self, line: &Value) -> Option<()> {
        match line.get("type")?.as_str()? {
            "capture" => {
                let own = read_capture(line)?;
                let path = line.get("path")?.as_str()?;
                self.0.captures.insert_at(&own, path).then_some(())
            }
            "unit" => {
                let pieces = line.get("pieces")?.as_array()?.iter();
                let pieces = pieces.map(|own| self.piece(own)).collect::<Option<Vec<_>>>()?;
                let id = line.get("id")?.as_str()?.to_owned();
                let bytes = line.get("bytes")?.as_u64()?;
                let is_own = !pieces.is_empty() && self.0.identifier(&pieces).to_string() == id;
                is_own.then(|| self.0.push(&pieces, bytes))
            }
            _ => None,
        }
    }

    /// A piece of a capture of the file.
    fn piece(&self, value: &Value) -> Option<Piece> {
        let [capture, buffer, begin, end] = value.as_array()?.as_slice() else { return None };
        let (capture, buffer) = (digest(capture)?, number(buffer)?);
        let segments = (number(begin)?, number(end)?);
        let own = self.0.captures.get(&capture)?;
        let own = own.buffer(buffer)?;
        let inside = segments.0 <= segments.1 && segments.1 <= own.segments;
        inside.then_some(Piece { capture, buffer, segments })
    }
}

/// A plan without captures and units, of the first line.
fn first(line: &Value) -> Result<Plan, FleetError> {
    let tool = line.get("tool").and_then(Value::as_str).unwrap_or_default();
    if tool != TOOL {
        let values = [tool.to_owned(), TOOL.to_owned()];
        return Err(FleetError::Different { what: "version", values });
    }
    empty(line).ok_or_else(|| other(1, "plan"))
}

fn empty(line: &Value) -> Option<Plan> {
    let name = line.get("job")?.as_str()?.to_owned();
    Some(Plan {
        job: Job { name, divides: line.get("divides")?.as_bool()? },
        digest: digest(line.get("plan")?)?,
        total: number(line.get("captures")?)?,
        captures: Captures::new(),
        units: Vec::new(),
        listed: None,
    })
}
