//! Whether captures are of the same programs, so that their results may be summed or compared.

use std::fmt;

use tracewright_capture::{Capture, Dump};
use tracewright_image::{ModuleFile, ProgramDifference, ProgramId};

use crate::coverage::program_files;

/// A program of a capture.
#[derive(Clone, Debug)]
struct Program {
    /// The capture.
    capture: String,
    /// The path in the capture.
    path: String,
    id: ProgramId,
    /// Processes map it. Otherwise it is in the memory of the capture.
    mapped: bool,
    /// The load bias; 0 where processes map it.
    bias: u64,
    /// Its memory was added by the user (`true`), or is that of the capture (`false`). `None` where
    /// processes map it, and where it is in memory under conditions.
    given: Option<bool>,
}

/// Whether the user added the memory of `dump`; `None` where it has conditions.
fn given(dump: &Dump) -> Option<bool> {
    dump.when.is_always().then_some(dump.given)
}

impl Program {
    fn name(&self) -> &str {
        self.path.rsplit(['/', '\\']).next().unwrap_or(&self.path)
    }

    /// Its code at the addresses in memory.
    fn placed(&self) -> ProgramId {
        self.id.clone().moved(self.bias)
    }
}

/// The program, and its capture.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.given == Some(true) { "added to" } else { "of" };
        write!(f, "{} {of} {} ({})", self.path, self.capture, self.id)
    }
}

/// The programs of captures.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    all: Vec<Program>,
}

/// Two captures are of different programs.
#[derive(Clone, Debug)]
pub struct DifferentPrograms {
    programs: Box<[Program; 2]>,
    why: ProgramDifference,
}

impl fmt::Display for DifferentPrograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &*self.programs;
        write!(f, "different programs: {a}, and {b}: {}", self.why)
    }
}

impl Programs {
    /// The program files of `capture`, which is shown as `name`.
    pub fn of_capture(name: &str, capture: &Capture) -> Programs {
        let program = |file: crate::coverage::ProgramFile| Program {
            capture: name.to_owned(),
            path: file.path,
            id: file.id,
            mapped: file.module.is_some(),
            bias: file.bias,
            given: file.dump.and_then(|n| capture.memory.get(n as usize)).and_then(given),
        };
        Programs { all: program_files(capture).into_iter().map(program).collect() }
    }

    /// The file `file` that processes map, of the capture that is shown as `name`.
    pub fn of_module(name: &str, file: &ModuleFile) -> Programs {
        let mut programs = Programs::default();
        if let Some(bytes) = &file.content {
            let id = ProgramId::of_file(bytes);
            let (capture, path) = (name.to_owned(), file.path.clone());
            let all = &mut programs.all;
            all.push(Program { capture, path, id, mapped: true, bias: 0, given: None });
        }
        programs
    }

    /// Adds memory without a file, which was executed in the capture that is shown as `name`: code
    /// of `dump`.
    pub fn add_memory(&mut self, name: &str, dump: &Dump, id: ProgramId) {
        let (capture, path, given) = (name.to_owned(), dump.file.clone(), given(dump));
        self.all.push(Program { capture, path, id, mapped: false, bias: 0, given });
    }

    /// Adds those of another capture.
    pub fn add(&mut self, other: Programs) {
        for program in other.all {
            let known = |own: &Program| {
                own.path == program.path
                    && own.mapped == program.mapped
                    && own.id.is_file() == program.id.is_file()
                    && own.id.difference(&program.id).is_none()
            };
            if !program.id.is_file() || !self.all.iter().any(known) {
                self.all.push(program);
            }
        }
    }

    /// Why the results of another capture, with the programs `other`, may not be summed with those
    /// of these, or compared.
    ///
    /// A file that processes map is the same where its path is; other files of the captures may
    /// differ. Of programs in the memory of the captures at least one must be the same, and others
    /// must not be in its place. Memory without a file must be the same where both have it: as one
    /// of the programs there, of several.
    pub fn difference(&self, other: &Programs) -> Option<DifferentPrograms> {
        let differ = |a: &Program, b: &Program| {
            let why = a.id.difference(&b.id)?;
            Some(DifferentPrograms { programs: Box::new([a.clone(), b.clone()]), why })
        };
        let pairs = || self.all.iter().flat_map(|a| other.all.iter().map(move |b| (a, b)));
        let in_place = pairs().filter(|(a, b)| a.mapped && b.mapped && a.path == b.path);
        let found = in_place.into_iter().find_map(|(a, b)| differ(a, b));
        if let Some(found) = found.or_else(|| self.different_memory(other)) {
            return Some(found);
        }
        // The programs that only one of them has.
        let only = |own: &[Program], others: &[Program]| -> Vec<Program> {
            let known = |a: &Program| others.iter().any(|b| a.id.difference(&b.id).is_none());
            own.iter().filter(|a| a.id.is_file() && !known(a)).cloned().collect()
        };
        let (mine, its) = (only(&self.all, &other.all), only(&other.all, &self.all));
        let count = |all: &[Program]| all.iter().filter(|program| program.id.is_file()).count();
        let shared = mine.len() < count(&self.all);
        let pairs = || mine.iter().flat_map(|a| its.iter().map(move |b| (a, b)));
        let conflict = |(a, b): &(&Program, &Program)| {
            let both = a.mapped && b.mapped;
            let place = !a.mapped && !b.mapped && (a.id.overlaps(&b.id) || a.name() == b.name());
            place || !both && !shared || !shared && !a.id.has_machine_of(&b.id)
        };
        pairs().find(conflict).and_then(|(a, b)| differ(a, b))
    }

    fn different_memory(&self, other: &Programs) -> Option<DifferentPrograms> {
        let placed = |all: &Programs| -> (Vec<Program>, Vec<ProgramId>) {
            let all = all.all.iter().filter(|program| !program.mapped);
            all.map(|program| (program.clone(), program.placed())).unzip()
        };
        let (mine, its) = (placed(self), placed(other));
        let find = |a: &(Vec<Program>, Vec<ProgramId>), b: &(Vec<Program>, Vec<ProgramId>)| {
            let memory = a.0.iter().zip(&a.1).filter(|(program, _)| !program.id.is_file());
            memory.into_iter().find_map(|(program, id)| {
                let (n, why) = id.contradiction(&b.1)?;
                Some((program.clone(), b.0.get(n)?.clone(), why))
            })
        };
        let found = find(&mine, &its);
        let (a, b, why) =
            found.or_else(|| find(&its, &mine).map(|(its, own, why)| (own, its, why)))?;
        Some(DifferentPrograms { programs: Box::new([a, b]), why })
    }

    /// A program in the memory of a capture, whose code is other than that of a program which the
    /// user added at the same addresses.
    pub fn contradiction(&self) -> Option<DifferentPrograms> {
        let all = |given| self.all.iter().filter(move |program| program.given == Some(given));
        all(false).find_map(|own| {
            let id = own.placed();
            let others = all(true).filter(|other| other.capture == own.capture);
            others.into_iter().find_map(|other| {
                let (_, why) = id.contradiction(&[other.placed()])?;
                Some(DifferentPrograms { programs: Box::new([own.clone(), other.clone()]), why })
            })
        })
    }

    /// Whether memory without a file is at the addresses of another program of these or `other`.
    pub fn share_memory(&self, other: &Programs) -> bool {
        let all: Vec<(bool, ProgramId)> = [self, other]
            .iter()
            .flat_map(|programs| &programs.all)
            .filter(|program| !program.mapped)
            .map(|program| (program.id.is_file(), program.placed()))
            .collect();
        let memory = all.iter().enumerate().filter(|(_, (is_file, _))| !is_file);
        memory.into_iter().any(|(n, (_, id))| {
            all.iter().enumerate().any(|(other, (_, its))| other != n && id.overlaps(its))
        })
    }
}
