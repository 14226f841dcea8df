//! From the names of a query to addresses.

use std::ops::Range;

use tracewright_analysis::coverage::program_files;
use tracewright_decode::{Plan, Program};
use tracewright_symbols::{Lines, is_named};

use crate::error::FindError;
use crate::query::Condition;
use crate::writer::Subject;

/// The addresses that a condition names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    /// The condition names none.
    None,
    /// The addresses of a function by source, in order.
    Starts(Vec<Vec<u64>>),
    /// The code of a source line, or given ranges: in order, and none touches another one.
    Code(Vec<Range<u64>>),
}

impl Addresses {
    /// Those of `condition` in the programs of the sources of `plan`.
    pub(crate) fn of(
        condition: &Condition,
        subject: &Subject<'_>,
        plan: &Plan,
    ) -> Result<Addresses, FindError> {
        match condition {
            Condition::Function(name) => starts(name, subject, plan).map(Addresses::Starts),
            Condition::Line { file, line } => code(file, *line, subject, plan).map(Addresses::Code),
            Condition::Addresses(ranges) => Ok(Addresses::Code(joined(ranges.clone()))),
            _ => Ok(Addresses::None),
        }
    }

    /// The addresses of a function in the program of `source`.
    pub(crate) fn starts(&self, source: usize) -> &[u64] {
        match self {
            Addresses::Starts(all) => all.get(source).map_or(&[], |starts| starts),
            Addresses::None | Addresses::Code(_) => &[],
        }
    }

    /// The code of a line.
    pub(crate) fn code(&self) -> &[Range<u64>] {
        match self {
            Addresses::Code(ranges) => ranges,
            Addresses::None | Addresses::Starts(_) => &[],
        }
    }

    /// Whether an address of the code is between `first` and `last`.
    pub(crate) fn touches(&self, first: u64, last: u64) -> bool {
        let code = self.code();
        let n = code.partition_point(|range| range.end <= first);
        code.get(n).is_some_and(|range| range.start <= last)
    }
}

/// The addresses of the functions with this name in the program of each source.
fn starts(name: &str, subject: &Subject<'_>, plan: &Plan) -> Result<Vec<Vec<u64>>, FindError> {
    let mut all = Vec::new();
    for planned in &plan.sources {
        let program = subject.memory.seen_by(subject.capture, plan.buffer, planned.source);
        let Program::Image(image) = program else { return Err(FindError::NoFixedAddresses) };
        let named = image.symbols().iter().filter(|symbol| is_named(symbol.name, name));
        let mut starts: Vec<u64> = named.map(|symbol| symbol.start).collect();
        starts.sort_unstable();
        starts.dedup();
        all.push(starts);
    }
    if all.iter().all(Vec::is_empty) {
        return Err(FindError::UnknownFunction(name.to_owned()));
    }
    Ok(all)
}

/// The code of a line in the program files of the capture.
fn code(
    file: &str,
    line: u32,
    subject: &Subject<'_>,
    plan: &Plan,
) -> Result<Vec<Range<u64>>, FindError> {
    for planned in &plan.sources {
        let program = subject.memory.seen_by(subject.capture, plan.buffer, planned.source);
        if !matches!(program, Program::Image(_)) {
            return Err(FindError::NoFixedAddresses);
        }
    }
    let (mut ranges, mut any_lines, mut any_file) = (Vec::new(), false, false);
    for program in program_files(subject.capture) {
        let Some(lines) = Lines::of_elf(&program.bytes) else { continue };
        any_lines = true;
        let is = |number: u32| lines.file(number).is_some_and(|path| is_path(path, file));
        let files: Vec<bool> = (0..lines.files()).map(|n| u32::try_from(n).is_ok_and(is)).collect();
        any_file |= files.contains(&true);
        for row in lines.rows() {
            let named = files.get(row.location.file as usize) == Some(&true);
            if named && row.location.line == line {
                let start = row.start.wrapping_add(program.bias);
                ranges.push(start..row.last.wrapping_add(program.bias).saturating_add(1));
            }
        }
    }
    match (ranges.is_empty(), any_lines, any_file) {
        (false, ..) => Ok(joined(ranges)),
        (_, false, _) => Err(FindError::NoLines),
        (.., false) => Err(FindError::UnknownFile(file.to_owned())),
        _ => Err(FindError::NoCode { file: file.to_owned(), line }),
    }
}

/// Whether `path` is `name`, or ends with it after a separator.
fn is_path(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|before| {
        before.is_empty() || before.ends_with(['/', '\\']) || name.starts_with('/')
    })
}

/// The ranges in order, each joined with those that touch it.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_end_with_names() {
        for (path, name, same) in [
            ("/src/main.c", "main.c", true),
            ("main.c", "main.c", true),
            ("/src/main.c", "src/main.c", true),
            ("/src/main.c", "/src/main.c", true),
            ("C:\\src\\main.c", "main.c", true),
            ("/src/domain.c", "main.c", false),
            ("/src/main.c", "main.cc", false),
            ("main.c", "src/main.c", false),
        ] {
            assert_eq!(is_path(path, name), same, "{path} {name}");
        }
    }

    #[test]
    fn code_that_touches_is_joined() {
        let code = joined(vec![8..12, 0..4, 4..8, 20..24, 22..23, 30..30]);
        assert_eq!(code, [0..12, 20..24]);
        let code = Addresses::Code(code);
        for (first, last, touches) in
            [(0, 0, true), (11, 11, true), (12, 19, false), (12, 20, true), (24, 99, false)]
        {
            assert_eq!(code.touches(first, last), touches, "{first}..={last}");
        }
    }
}
