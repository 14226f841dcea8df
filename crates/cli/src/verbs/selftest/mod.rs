//! `tracewright selftest`: what this program makes of captures whose results are known.
//!
//! | file | contents |
//! |---|---|
//! | `checks.rs` | the requirements |
//! | `captures.bin` | the captures of `tests/captures`, one after the other |
//! | `suite.rs` | reads them |
//! | `decoding.rs` | their elements, and those of a damaged trace |
//! | `coverage.rs` | the coverage of the built-in example |
//! | `results.txt` | the SHA-256 digest of each result |
//! | `found.rs` | the result of a check |
//!
//! `docs/qualification.md` has the requirements; `tests/cli/selftest.rs` compares it with the
//! checks, and the digests of elements with the listings of `tests/captures`.

mod checks;
mod coverage;
mod decoding;
mod found;
mod independence;
mod suite;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use tracewright::analysis::coverage_runs::Digest;
use tracewright::capture::{plain, read_regular};

use crate::args::SelftestArgs;
use crate::fail::Fail;
use crate::inputs::Inputs;
use crate::output::Output;
use checks::{CHECKS, Check, RESULTS};

/// The most bytes of a file of results.
const MAX_FILE: u64 = 1 << 20;

/// Runs the verb.
pub fn run(args: &SelftestArgs) -> Result<bool, Fail> {
    let wanted = |check: &&Check| {
        args.only.is_empty() || args.only.iter().any(|which| is_of(check.number, which))
    };
    let checks: Vec<&Check> = CHECKS.iter().filter(wanted).collect();
    let matches = |which: &&String| checks.iter().any(|own| is_of(own.number, which));
    if let Some(which) = args.only.iter().find(|which| !matches(which)) {
        let why = "no requirement that is executed here has this number, and no group this name; \
                   docs/qualification.md has all of them";
        return Err(Fail::option("--only", &plain::line(which), why));
    }
    let text = match &args.results {
        None => RESULTS.to_owned(),
        Some(path) => {
            let bytes = read_regular(path, MAX_FILE);
            let bytes = bytes.map_err(|why| Fail::input(path, &why.to_string()))?;
            String::from_utf8(bytes).map_err(|_| Fail::input(path, "not text"))?
        }
    };
    let stored = results(&text).map_err(|line| {
        let path = args.results.as_deref().unwrap_or(Path::new("results.txt"));
        let why =
            "expected the number of a requirement and a SHA-256 digest, as --save writes them";
        Fail::input(path, &format!("line {line}: {why}"))
    })?;
    let inputs = Inputs::of_files(args.results.iter().cloned().collect());
    if let Some(save) = &args.save {
        inputs.refuse_as("--save", Some(save))?;
    }
    let saved = args.save.as_deref().map(|path| Output::open(Some(path), &inputs)).transpose()?;
    let mut output = Output::standard()?;
    let mut digests = String::new();
    let mut met = 0;
    for check in &checks {
        let found = (check.run)().map(|text| Digest::of(text.as_bytes()).to_string());
        if let Ok(digest) = &found {
            let _ = writeln!(digests, "{} {digest}", check.number);
        }
        let why = match (found, stored.get(check.number)) {
            (Ok(digest), Some(other)) if digest == *other => None,
            (Ok(digest), Some(other)) => Some(format!("digest {digest}, stored {other}")),
            (Ok(_), None) => Some("no result is stored".to_owned()),
            (Err(why), _) => Some(why),
        };
        met += usize::from(why.is_none());
        let verdict = if why.is_none() { "ok" } else { "FAILED" };
        output.print(&format!("{verdict:<7} {:<7} {}\n", check.number, check.requirement))?;
        if let Some(why) = why {
            output.print(&format!("                {}\n", plain::line(&why)))?;
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    let good = met == checks.len();
    let verdict = if good { "passed" } else { "FAILED" };
    output.print(&format!(
        "{verdict}: tracewright {version}, requirements {}, met {met}\n",
        checks.len()
    ))?;
    if let Some(mut saved) = saved {
        saved.put(digests.as_bytes());
        saved.failed()?;
        saved.close()?;
    }
    output.close()?;
    Ok(good)
}

/// Whether `which` is the number of a requirement, such as `DEC-1`, or its group, such as `DEC`.
fn is_of(number: &str, which: &str) -> bool {
    let rest = number.strip_prefix(which);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-') && !which.is_empty())
}

/// The digest of each requirement, or the number of a line that is none.
fn results(text: &str) -> Result<BTreeMap<&str, &str>, usize> {
    let mut all = BTreeMap::new();
    for (n, line) in (1..).zip(text.lines()) {
        let (number, digest) = line.split_once(' ').ok_or(n)?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if number.is_empty() || !is_digest {
            return Err(n);
        }
        all.insert(number, digest);
    }
    Ok(all)
}
