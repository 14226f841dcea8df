//! Decodes each case of `tests/cases` in every way. See `tests/cases/README.md`.
#![forbid(unsafe_code)]

mod case;
mod chunks;
mod pushed;
mod steps;
mod ways;

use std::fs;
use std::path::Path;

use case::Case;

/// The least number of cases. With fewer, the folder was not found.
const AT_LEAST: usize = 185;

#[test]
fn cases() {
    let bless = std::env::var_os("BLESS").is_some();
    let root = case::root();
    let paths = case::files(&root);
    let mut wrong = Vec::new();
    for path in &paths {
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        if let Err(why) = run(path, bless) {
            wrong.push(format!("{name}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases\n{}", wrong.len(), paths.len(), wrong.join("\n"));
    assert!(paths.len() >= AT_LEAST, "only {} cases in {}", paths.len(), root.display());
    eprintln!("{} cases", paths.len());
}

fn run(path: &Path, bless: bool) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut case = Case::parse(&text)?;
    if !case.steps.is_empty() {
        if bless && case.bytes.is_empty() {
            case.with_bytes(&steps::encode(&case)?.0);
        }
        steps::check(&case)?;
    }
    let output = ways::every_way(&case)?;
    if bless {
        let text = case.blessed(&output.packets(), &output.elements(), &output.committed());
        return fs::write(path, text).map_err(|error| error.to_string());
    }
    compare("packets", &case.packets, &output.packets())?;
    compare("elements", &case.elements, &output.elements())?;
    match &case.committed {
        Some(want) => compare("committed", want, &output.committed()),
        None => Ok(()),
    }
}

fn compare(what: &str, want: &[String], got: &[String]) -> Result<(), String> {
    if want == got {
        return Ok(());
    }
    let same = want.iter().zip(got).take_while(|(want, got)| want == got).count();
    let line = |lines: &[String]| lines.get(same).cloned().unwrap_or_else(|| "(no more)".into());
    let n = same + 1;
    Err(format!("{what}, line {n}\n    want {}\n    got  {}", line(want), line(got)))
}
