//! What is shown.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use tracewright::Trace;
use tracewright::analysis::coverage::{ProgramFile, program_files};
use tracewright::analysis::tasks::TaskFile;
use tracewright::analysis::{Code, FunctionId};
use tracewright::decode::Plan;
use tracewright::index::view::View;
use tracewright::index::{Checksum, Index, IndexError, IndexedBuffer};
use tracewright::symbols::Lines;
use tracewright::views::Source;

use crate::answer::Problem;

/// Saves bytes.
pub type Save<'a> = dyn Fn(&[u8]) -> io::Result<()> + Sync + 'a;

/// What the server reads and writes beside the trace. The server itself opens no file.
pub struct Files<'a> {
    /// Where source files are: on the disk, or in memory.
    pub disk: tracewright::Files,
    /// The contents of a source file, of at most a number of bytes.
    pub read: &'a (dyn Fn(&Path, u64) -> io::Result<Vec<u8>> + Sync),
    /// The bookmarks that were saved. `None` where there are none.
    pub notes: &'a (dyn Fn() -> io::Result<Option<Vec<u8>>> + Sync),
    /// Saves bookmarks, where that is wanted.
    pub save: Option<&'a Save<'a>>,
    /// The folders with source files. Others are not shown, unless `any_source`.
    pub source_roots: Vec<PathBuf>,
    /// Each file that a line table names is shown.
    pub any_source: bool,
}

impl fmt::Debug for Files<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("source_roots", &self.source_roots).finish_non_exhaustive()
    }
}

/// A trace with its index, which has a view.
#[derive(Debug)]
pub struct Served<'a> {
    /// The trace.
    pub trace: &'a Trace,
    pub(crate) index: &'a Index,
    pub(crate) buffers: Vec<ServedBuffer<'a>>,
    /// The trace is being recorded: a later one has more of it.
    pub growing: bool,
    /// What lacks, a sentence each.
    pub notes: Vec<String>,
    pub(crate) files: Files<'a>,
    /// Systems and names of tasks.
    pub(crate) tasks: &'a [TaskFile],
    program: OnceLock<ProgramLines>,
    /// The answer of `api/capture`.
    pub(crate) about: OnceLock<Result<String, Problem>>,
    /// Identifies the trace and how it is decoded.
    pub(crate) checksum: String,
}

/// A buffer.
#[derive(Debug)]
pub(crate) struct ServedBuffer<'a> {
    pub(crate) number: usize,
    pub(crate) plan: &'a Plan,
    pub(crate) sources: &'a [Source],
    pub(crate) view: View<'a>,
    pub(crate) code: Code,
    /// The names of threads that are tasks, by their numbers in the view.
    pub(crate) threads: Vec<Option<String>>,
    /// First address, address after the last one, and number in the view, of functions with fixed
    /// addresses.
    functions: Vec<(u64, u64, u32)>,
}

/// The source lines of the program.
#[derive(Debug, Default)]
pub(crate) struct ProgramLines {
    /// Paths of source files, and the folder that they may be in.
    pub(crate) files: Vec<SourceFile>,
    /// First address, last address, file, line; in order.
    pub(crate) rows: Vec<(u64, u64, u32, u32)>,
}

/// A source file of a line table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceFile {
    pub(crate) path: String,
    /// The folder of its program.
    pub(crate) folder: Option<PathBuf>,
}

impl ProgramLines {
    fn of(trace: &Trace) -> ProgramLines {
        let mut own = ProgramLines::default();
        let mut numbers = BTreeMap::<(String, Option<PathBuf>), u32>::new();
        let memory = &trace.capture().memory;
        // Code that is not always at the same address has no line by its address.
        let is_fixed = |program: &ProgramFile| {
            let dump = program.dump.and_then(|dump| memory.get(dump as usize));
            program.module.is_none() && dump.is_none_or(|dump| dump.when.is_always())
        };
        for program in program_files(trace.capture()).into_iter().filter(is_fixed) {
            let bytes = program.debug.as_ref().unwrap_or(&program.bytes);
            let Some(lines) = Lines::of_elf(bytes) else { continue };
            for row in lines.rows().iter().filter(|row| row.location.line > 0) {
                let Some(path) = lines.file(row.location.file) else { continue };
                let key = (path.to_owned(), program.folder.clone());
                let next = u32::try_from(own.files.len()).unwrap_or(u32::MAX);
                let file = *numbers.entry(key).or_insert(next);
                if file == next {
                    let (path, folder) = (path.to_owned(), program.folder.clone());
                    own.files.push(SourceFile { path, folder });
                }
                let (start, last) =
                    (row.start.wrapping_add(program.bias), row.last.wrapping_add(program.bias));
                own.rows.push((start, last, file, row.location.line));
            }
        }
        own.rows.sort_unstable();
        own
    }

    /// The file and the line with code at `address`.
    pub(crate) fn at(&self, address: u64) -> Option<(u32, u32)> {
        let next = self.rows.partition_point(|row| row.0 <= address);
        let &(_, last, file, line) = self.rows.get(next.checked_sub(1)?)?;
        (address <= last).then_some((file, line))
    }
}

impl<'a> Served<'a> {
    /// The buffers of `trace` that `index` has, which has a view of each. Buffers without sources
    /// are left out.
    ///
    /// # Errors
    /// Where the index is damaged.
    pub fn new(trace: &'a Trace, index: &'a Index, files: Files<'a>) -> Result<Self, IndexError> {
        let subject = trace.subject();
        let mut buffers = Vec::new();
        let mut sum = Checksum::default();
        for indexed in index.buffers() {
            let number = indexed.number();
            identify(trace, indexed, &mut sum).map_err(|_| IndexError::Damaged { at: 0 })?;
            let Some(plan) = trace.plans().get(number) else { continue };
            if let Some(damage) = indexed.damage() {
                return Err(damage);
            }
            if plan.sources.is_empty() {
                continue;
            }
            let Some(view) = View::new(index, indexed)? else { continue };
            let (sources, code) = (trace.sources_of(number), subject.code(plan));
            let functions = fixed(&view, &code);
            let threads = task_names(trace, plan, (&view, &code), &[]);
            buffers.push(ServedBuffer { number, plan, sources, view, code, threads, functions });
        }
        let (notes, program, about) = (Vec::new(), OnceLock::new(), OnceLock::new());
        let checksum = format!("{:016x}", sum.value());
        let growing = false;
        let tasks = &[];
        Ok(Served { trace, index, buffers, growing, notes, files, tasks, program, about, checksum })
    }

    /// The same, with the systems and names of tasks with which the index was made.
    #[must_use]
    pub fn with_tasks(mut self, tasks: &'a [TaskFile]) -> Self {
        for ServedBuffer { plan, view, code, threads, .. } in &mut self.buffers {
            *threads = task_names(self.trace, plan, (view, code), tasks);
        }
        Served { tasks, ..self }
    }

    /// Whether no buffer can be shown.
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// The source lines, which are read when they are needed first.
    pub(crate) fn program(&self) -> &ProgramLines {
        self.program.get_or_init(|| ProgramLines::of(self.trace))
    }

    /// Where the source file with this number is, if it may be shown.
    pub(crate) fn source_path(&self, file: &SourceFile) -> Option<PathBuf> {
        let path = Path::new(&file.path);
        let mut named: Vec<PathBuf> = Vec::new();
        if path.is_absolute() {
            named.push(path.to_owned());
        }
        // The program may have been built elsewhere: the last parts of the path are sought.
        let parts: Vec<_> =
            path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        for root in self.files.source_roots.iter().chain(&file.folder) {
            for first in 0..parts.len() {
                let rest = parts.get(first..).unwrap_or_default();
                named.push(rest.iter().fold(root.clone(), |path, part| path.join(part)));
            }
        }
        named.into_iter().find_map(|path| {
            // Links and `..` lead elsewhere: what counts is where the file is.
            let disk = &self.files.disk;
            let real = disk.canonical(&path).filter(|real| disk.is_file(real))?;
            let roots = self.files.source_roots.iter().chain(&file.folder);
            let inside =
                |root: &PathBuf| disk.canonical(root).is_some_and(|root| real.starts_with(root));
            (self.files.any_source || roots.into_iter().any(inside)).then_some(real)
        })
    }
}

/// The names of the threads of a view that are tasks, as they are shown.
fn task_names(
    trace: &Trace,
    plan: &Plan,
    (view, code): (&View<'_>, &Code),
    files: &[TaskFile],
) -> Vec<Option<String>> {
    let names = view.task_names(trace.subject(), plan, code, files).into_iter();
    let show = |name: String| crate::shown::shown(&name, crate::shown::LONGEST);
    names.map(|name| name.map(show)).collect()
}

/// The bytes at the beginning and at the end of a file that identify it.
const COMPARED: u64 = 1 << 20;

/// Adds what identifies a buffer, and how it is decoded: properties of the trace, which do not
/// depend on how it is divided into segments.
fn identify(trace: &Trace, indexed: &IndexedBuffer, sum: &mut Checksum) -> io::Result<()> {
    let mut add = |number: u64| sum.add(&number.to_le_bytes());
    indexed.identity().into_iter().for_each(&mut add);
    add(indexed.covered());
    let mut sources = vec![(0u64, 0u64); indexed.sources().len()];
    for stream in indexed.sums() {
        if let Some(own) = sources.get_mut(usize::from(stream.source)) {
            own.0 = own.0.wrapping_add(stream.elements);
            own.1 = own.1.wrapping_add(stream.instructions);
        }
    }
    sources.into_iter().flat_map(|own| [own.0, own.1]).for_each(&mut add);
    let (first, last) = indexed.times().unwrap_or_default();
    [first, last].into_iter().for_each(&mut add);
    let Some(buffer) = trace.capture().buffers.get(indexed.number()) else { return Ok(()) };
    for file in &buffer.files {
        let len = file.len();
        for from in [0, len.saturating_sub(COMPARED)] {
            let mut bytes = Vec::new();
            file.bytes.part(from, COMPARED.min(len)).reader().read_to_end(&mut bytes)?;
            add(Checksum::of(&bytes));
        }
    }
    Ok(())
}

/// The functions with fixed addresses, in order.
fn fixed(view: &View<'_>, code: &Code) -> Vec<(u64, u64, u32)> {
    let functions = (0..).zip(view.names().functions());
    let known = functions.filter_map(|(number, function)| match function {
        FunctionId::Known(own) => code.get(*own).map(|known| (number, known)),
        _ => None,
    });
    let mut all: Vec<(u64, u64, u32)> = known
        .filter(|(_, known)| known.module.is_none())
        .map(|(number, known)| (known.function.start, known.function.end, number))
        .collect();
    all.sort_unstable();
    all
}

impl ServedBuffer<'_> {
    /// The number of the function with code at `address`.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let next = self.functions.partition_point(|own| own.0 <= address);
        let &(_, end, number) = self.functions.get(next.checked_sub(1)?)?;
        (address < end).then_some(number)
    }

    /// The address of a function.
    pub(crate) fn start_of(&self, function: u32) -> Option<u64> {
        self.functions.iter().find(|own| own.2 == function).map(|own| own.0)
    }

    /// The addresses of the functions with fixed addresses.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> {
        self.functions.iter().map(|own| own.0)
    }

    /// The name of the function with this number of the view.
    pub(crate) fn name(&self, function: u32) -> String {
        let known = self.view.names().functions().get(function as usize);
        let name = known.map(|function| self.code.name(*function).into_owned());
        crate::shown::shown(&name.unwrap_or_default(), crate::shown::LONGEST)
    }

    /// The first timestamp of the buffer.
    pub(crate) fn first_time(&self) -> Option<u64> {
        self.view.buffer().times().map(|(first, _)| first)
    }
}
