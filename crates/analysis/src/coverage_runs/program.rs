//! The programs of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::digest::{Digest, Digester};
use crate::coverage::{LinesOfFile, ProgramCoverage, ProgramFile, SourceFile};

/// What makes a program the same in several runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramKey {
    /// The processor architecture, `e_machine`.
    pub machine: u16,
    /// The file is of class ELFCLASS64.
    pub bits64: bool,
    /// Of its code: of each part the address and the size, as numbers of 8 bytes, the lowest first,
    /// and the bytes.
    pub code: Digest,
    /// Of the lines, branches and functions that its debug information has.
    pub obligations: Digest,
}

/// A program of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunProgram {
    /// What makes it the same in several runs.
    pub key: ProgramKey,
    /// Its paths in the captures.
    pub paths: BTreeSet<String>,
    /// Its build identifiers, in hexadecimal digits.
    pub build_ids: BTreeSet<String>,
    /// The address and the size of each part of its code, in order.
    pub parts: Vec<(u64, u64)>,
    /// Processes map it, in some of the runs.
    pub mapped: bool,
    /// It is in the memory of a capture, in some of the runs.
    pub in_memory: bool,
}

/// Of a source file's lines, branches and functions, whether they were executed or not.
fn obligations(sources: &BTreeMap<String, SourceFile>) -> Digest {
    let mut all = Digester::default();
    for (path, source) in sources {
        all.text(path);
        all.number(source.lines.len() as u64);
        for (number, line) in &source.lines {
            all.number((*number).into());
            all.number(line.branches.len() as u64);
            line.branches.iter().for_each(|branch| all.number(branch.address));
        }
        all.number(source.functions.len() as u64);
        for function in &source.functions {
            all.text(&function.symbol);
            all.number(function.lines.0.into());
            all.number(function.lines.1.into());
        }
    }
    all.finish()
}

impl RunProgram {
    /// The program of a file.
    pub fn of(file: &ProgramFile) -> RunProgram {
        let mut code = Digester::default();
        for (address, bytes) in file.id.code() {
            code.number(*address);
            code.number(bytes.len() as u64);
            code.add(bytes);
        }
        let mut sources = BTreeMap::new();
        // What was executed in a run may add to the lines and branches: what the file has by itself
        // is the same in each.
        let _: LinesOfFile = ProgramCoverage::default().lines(file, &mut sources);
        let (code, obligations) = (code.finish(), obligations(&sources));
        let bits64 = file.bytes.head(5).get(4) == Some(&2);
        let digits = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        RunProgram {
            key: ProgramKey { machine: file.machine, bits64, code, obligations },
            paths: BTreeSet::from([file.path.clone()]),
            build_ids: file.id.build_id().map(digits).into_iter().collect(),
            parts: file.id.code().iter().map(|(at, bytes)| (*at, bytes.len() as u64)).collect(),
            mapped: file.module.is_some(),
            in_memory: file.module.is_none(),
        }
    }

    /// Adds what other runs know of the same program.
    pub(super) fn add(&mut self, other: RunProgram) {
        self.paths.extend(other.paths);
        self.build_ids.extend(other.build_ids);
        self.mapped |= other.mapped;
        self.in_memory |= other.in_memory;
    }

    /// Whether two different programs are in one another's place.
    pub(super) fn is_in_place_of(&self, other: &RunProgram) -> bool {
        let mapped = self.mapped && other.mapped;
        if mapped && self.paths.intersection(&other.paths).next().is_some() {
            return true;
        }
        let name = |path: &String| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        let names = |own: &RunProgram| own.paths.iter().map(name).collect::<BTreeSet<_>>();
        let overlap = || {
            self.parts.iter().any(|(at, size)| {
                let end = at.saturating_add(*size);
                let meets =
                    |(there, its): &(u64, u64)| *there < end && *at < there.saturating_add(*its);
                other.parts.iter().any(meets)
            })
        };
        self.in_memory
            && other.in_memory
            && (overlap() || names(self).intersection(&names(other)).next().is_some())
    }
}

/// Its path, and the beginning of the digest of its code.
impl fmt::Display for RunProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.paths.first().map_or("a program", String::as_str);
        let code = self.key.code.to_string();
        write!(f, "{path} (code {}", code.get(..12).unwrap_or_default())?;
        if let Some(id) = self.build_ids.first() {
            write!(f, ", build ID {id}")?;
        }
        f.write_str(")")
    }
}
