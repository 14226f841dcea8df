//! Whether captures are of the same programs, so that their results may be summed or compared.

use std::fmt;

use tracewright_capture::Capture;
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
}

impl Program {
    fn name(&self) -> &str {
        self.path.rsplit(['/', '\\']).next().unwrap_or(&self.path)
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
        write!(
            f,
            "different programs: {} of {} ({}), and {} of {} ({}): {}",
            a.path, a.capture, a.id, b.path, b.capture, b.id, self.why
        )
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
        };
        Programs { all: program_files(capture).into_iter().map(program).collect() }
    }

    /// The file `file` that processes map, of the capture that is shown as `name`.
    pub fn of_module(name: &str, file: &ModuleFile) -> Programs {
        let mut programs = Programs::default();
        if let Some(bytes) = &file.content {
            let id = ProgramId::of_file(bytes);
            let (capture, path) = (name.to_owned(), file.path.clone());
            programs.all.push(Program { capture, path, id, mapped: true });
        }
        programs
    }

    /// Adds memory without a file, which was executed in the capture that is shown as `name`.
    pub fn add_memory(&mut self, name: &str, path: &str, id: ProgramId) {
        let (capture, path) = (name.to_owned(), path.to_owned());
        self.all.push(Program { capture, path, id, mapped: false });
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
    /// must not be in its place. Memory without a file must be the same where both have it.
    pub fn difference(&self, other: &Programs) -> Option<DifferentPrograms> {
        let differ = |a: &Program, b: &Program| {
            let why = a.id.difference(&b.id)?;
            Some(DifferentPrograms { programs: Box::new([a.clone(), b.clone()]), why })
        };
        let pairs = || self.all.iter().flat_map(|a| other.all.iter().map(move |b| (a, b)));
        let in_place = pairs().filter(|(a, b)| {
            let files = a.id.is_file() && b.id.is_file();
            if files { a.mapped && b.mapped && a.path == b.path } else { a.id.overlaps(&b.id) }
        });
        if let Some(found) = in_place.into_iter().find_map(|(a, b)| differ(a, b)) {
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
}
