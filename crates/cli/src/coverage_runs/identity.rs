//! What identifies a run beside its programs: its files, and its options.

use std::io::Read;
use std::path::Path;

use tracewright::analysis::coverage_runs::{Digester, RunInput};
use tracewright::capture::read_file;

use crate::fail::Fail;

/// Options with a value that only choose what is written, and from where the same counts come.
const VALUES: [&str; 16] = [
    "--save",
    "--load",
    "--older",
    "--tag",
    "--output",
    "-o",
    "--format",
    "--by",
    "--annotate",
    "--fail-under",
    "--jobs",
    "--function",
    "--justify",
    "--color",
    "--index",
    "--parts",
];

/// The same without a value.
const FLAGS: [&str; 9] = [
    "--uncovered",
    "--justify-comments",
    "--force",
    "--quiet",
    "-q",
    "--verbose",
    "-v",
    "--strict",
    "--no-index",
];

/// The arguments of the command that may change what is measured.
pub fn options() -> Vec<String> {
    measuring(&crate::arguments::texts())
}

fn measuring(all: &[String]) -> Vec<String> {
    let mut own = Vec::new();
    let mut all = all.iter();
    while let Some(text) = all.next() {
        let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
        let joined = text.starts_with("-o") && text.len() > 2;
        if VALUES.contains(&text.as_str()) {
            all.next();
        } else if !(joined || VALUES.contains(&name) || FLAGS.contains(&text.as_str())) {
            own.push(text.clone());
        }
    }
    if own.first().is_some_and(|verb| verb == "coverage") {
        own.remove(0);
    }
    own
}

/// The bytes that are digested at once.
const PART: usize = 1 << 16;

/// A file that was read; `None` of a folder. A pipe has been read already: it has no digest.
pub fn input_of(path: &Path) -> Result<Option<RunInput>, Fail> {
    let name = path.to_string_lossy().into_owned();
    let about = std::fs::metadata(path);
    if about.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
        return Ok(None);
    }
    if !about.is_ok_and(|about| about.is_file()) {
        return Ok(Some(RunInput { path: name, content: None }));
    }
    let bytes = read_file(path).map_err(|why| Fail::input(path, &why.to_string()))?;
    let (mut reader, mut digester, mut size) = (bytes.reader(), Digester::default(), 0);
    let mut part = vec![0; PART];
    loop {
        let count =
            reader.read(&mut part).map_err(|error| Fail::input(path, &error.to_string()))?;
        if count == 0 {
            break;
        }
        digester.add(part.get(..count).unwrap_or_default());
        size += count as u64;
    }
    Ok(Some(RunInput { path: name, content: Some((size, digester.finish())) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_measure() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let all = words(
            "coverage trace --save a.json --tag T1 --image x.elf --by=run --jobs 2 -oout --task t \
             --uncovered -o y --parts a.part --parts=b.part --index i --no-index",
        );
        assert_eq!(measuring(&all), words("trace --image x.elf --task t"));
    }
}
