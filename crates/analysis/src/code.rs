//! The functions that the sources of a capture execute.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use tracewright_base::{Dwt, Element, ExceptionStep, Space};
use tracewright_capture::{Capture, Form};
use tracewright_decode::Program;
use tracewright_image::{Bytes, Image, MemoryId, Selection, Viewpoint};
use tracewright_symbols::{Found, Function, Functions, UnwindTargets};

/// A function of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FunctionId {
    /// The function with this number.
    Known(u32),
    /// Code without a symbol that was called at this address.
    At(u64),
    /// The handler of an exception with this number of an M-profile processor, of which only the
    /// entry and the exit were traced; 0 is Thread mode.
    Handler(u16),
    /// Code without a symbol whose first instruction is not known.
    #[default]
    Unknown,
}

/// The functions of all sources. A function has one number, whichever source executes it.
#[derive(Clone, Debug, Default)]
pub struct Code {
    functions: Arc<Vec<Known>>,
    /// The functions of the ELF files of the capture.
    flat: Arc<Functions>,
    /// The functions of each file that a process has mapped, or of each part of the memory where
    /// some have conditions, and the number of its first one.
    modules: Arc<Vec<(Functions, u32)>>,
    tables: Vec<Table>,
    unwind_targets: Arc<UnwindTargets>,
}

/// A function, and the file that has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The function. Its addresses are those in memory, or in the file where a process has mapped
    /// it.
    pub function: Function,
    /// The path of the file, where processes have mapped it.
    pub module: Option<Arc<str>>,
}

/// The name of an exception of an M-profile processor.
fn handler_name(number: u16) -> String {
    let text = Dwt::Exception { number, step: ExceptionStep::Exited }.to_string();
    text.strip_prefix("exited ").unwrap_or(&text).to_owned()
}

/// How the functions of one source are found.
#[derive(Clone, Debug)]
enum Table {
    /// The same at all times.
    Flat,
    /// By the files that are mapped.
    Spaces(Viewpoint),
}

impl Code {
    /// The functions of sources with these programs: those of the files of `capture`.
    pub fn new(capture: &Capture, programs: impl IntoIterator<Item = Program>) -> Code {
        Code::of_capture(capture).with_programs(programs)
    }

    /// The functions of the files of `capture`, without sources.
    pub fn of_capture(capture: &Capture) -> Code {
        let flat = of_dumps(capture);
        let known = |f: &Function| Known { function: f.clone(), module: None };
        let mut functions: Vec<Known> = flat.iter().map(known).collect();
        let mut modules = Vec::new();
        for file in capture.linux.iter().flat_map(|linux| linux.spaces.modules()) {
            let own = Functions::of_symbols(&file.symbols);
            let (path, first): (Arc<str>, _) = (file.path.as_str().into(), functions.len() as u32);
            functions.extend(
                own.iter().map(|f| Known { function: f.clone(), module: Some(Arc::clone(&path)) }),
            );
            modules.push((own, first));
        }
        if capture.linux.is_none() && capture.memory.iter().any(|dump| !dump.when.is_always()) {
            for dump in &capture.memory {
                let bytes = dump.bytes.as_ref().filter(|_| dump.form == Form::Elf);
                let own = bytes.map(Functions::of_elf).unwrap_or_default();
                let first = functions.len() as u32;
                let loaded = own.iter().map(|function| Function {
                    start: function.start.wrapping_add(dump.address),
                    end: function.end.wrapping_add(dump.address),
                    ..function.clone()
                });
                functions.extend(loaded.map(|function| Known { function, module: None }));
                modules.push((own, first));
            }
        }
        Code {
            functions: Arc::new(functions),
            flat: Arc::new(flat),
            modules: Arc::new(modules),
            tables: Vec::new(),
            unwind_targets: Arc::new(UnwindTargets::of_files(elf_files(capture))),
        }
    }

    /// The same functions for sources with these programs.
    #[must_use]
    pub fn with_programs(&self, programs: impl IntoIterator<Item = Program>) -> Code {
        let table = |program| match program {
            Program::Image(_) => Table::Flat,
            Program::Spaces(viewpoint) => Table::Spaces(viewpoint),
        };
        Code { tables: programs.into_iter().map(table).collect(), ..self.clone() }
    }

    /// The functions of `functions` for each of `sources` sources, for programs that are not in a
    /// capture.
    pub fn of(functions: Functions, sources: usize) -> Code {
        let known = |f: &Function| Known { function: f.clone(), module: None };
        Code {
            functions: Arc::new(functions.iter().map(known).collect()),
            flat: Arc::new(functions),
            modules: Arc::default(),
            tables: vec![Table::Flat; sources],
            unwind_targets: Arc::default(),
        }
    }

    /// The function with this number.
    pub fn get(&self, number: u32) -> Option<&Known> {
        self.functions.get(number as usize)
    }

    /// All functions in order of their numbers.
    pub fn functions(&self) -> &[Known] {
        &self.functions
    }

    /// The name of a function: without a symbol, the address that was called.
    pub fn name(&self, function: FunctionId) -> Cow<'_, str> {
        let known = match function {
            FunctionId::Known(number) => self.get(number).map(|known| known.function.name.as_str()),
            FunctionId::At(address) => return Cow::Owned(format!("{address:#x}")),
            FunctionId::Handler(number) => return Cow::Owned(handler_name(number)),
            FunctionId::Unknown => None,
        };
        Cow::Borrowed(known.unwrap_or("[unknown]"))
    }

    /// The symbol of a function.
    pub fn symbol(&self, function: FunctionId) -> Option<&str> {
        match function {
            FunctionId::Known(number) => self.get(number).map(|known| &*known.function.symbol),
            FunctionId::At(_) | FunctionId::Handler(_) | FunctionId::Unknown => None,
        }
    }

    /// The functions whose name or symbol is `name`.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u32> + 'a {
        let known = (0..).zip(self.functions.iter());
        let is = move |known: &&Known| known.function.name == name || known.function.symbol == name;
        known.filter(move |(_, known)| is(known)).map(|(number, _)| number)
    }

    /// Where exceptions of C++ and panics of Rust continue, in the ELF files of the capture.
    pub fn unwind_targets(&self) -> Arc<UnwindTargets> {
        Arc::clone(&self.unwind_targets)
    }

    /// Whether exceptions of C++ or panics of Rust continue at `address`.
    pub(crate) fn is_unwind_target(&self, address: u64) -> bool {
        self.unwind_targets.is_target(address)
    }

    /// The number of sources.
    pub fn sources(&self) -> usize {
        self.tables.len()
    }

    /// The memory of a source at the beginning.
    pub(crate) fn start(&self, source: usize) -> MemoryId {
        match self.tables.get(source) {
            Some(Table::Spaces(viewpoint)) => viewpoint.start(),
            _ => MemoryId::default(),
        }
    }

    /// Follows what `element`, which is not a range, selects for a source. Returns whether it is
    /// other memory.
    pub(crate) fn follow(
        &self,
        source: usize,
        selection: &mut Option<Selection>,
        element: &Element,
    ) -> bool {
        let Some(Table::Spaces(viewpoint)) = self.tables.get(source) else { return false };
        viewpoint.follow(selection.get_or_insert_with(|| viewpoint.begin()), element)
    }
}

/// The functions of the ELF files of a capture.
fn of_dumps(capture: &Capture) -> Functions {
    Functions::of_files(elf_files(capture))
}

/// The ELF files of a capture, and the load bias of each.
fn elf_files(capture: &Capture) -> Vec<(&Bytes, u64)> {
    let files = capture.memory.iter().filter(|dump| dump.form == Form::Elf);
    files.filter_map(|dump| Some((dump.bytes.as_ref()?, dump.address))).collect()
}

/// Results that are looked up again soon, a power of two.
const RECENT: usize = 1 << 10;

/// A function at an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) found: Found,
    /// Its first address is that of the function: a part that is elsewhere has another one.
    pub(crate) whole: bool,
    /// The function is a stub.
    pub(crate) stub: bool,
}

/// Looks functions up, and stores the results.
#[derive(Clone, Debug)]
pub(crate) struct Finder {
    code: Code,
    recent: Vec<Option<(u16, MemoryId, u64, Place)>>,
    images: HashMap<MemoryId, Arc<Image>>,
}

/// Nothing is known of the code at `address`.
const fn nothing(address: u64) -> Found {
    Found { start: address, last: address, function: None }
}

impl Finder {
    pub(crate) fn new(code: Code) -> Finder {
        Finder { code, recent: Vec::new(), images: HashMap::new() }
    }

    pub(crate) fn code(&self) -> &Code {
        &self.code
    }

    /// The function with code at `address` in the `memory` of a source.
    #[inline]
    pub(crate) fn find(&mut self, source: usize, memory: MemoryId, address: u64) -> Place {
        if self.recent.is_empty() {
            self.recent = vec![None; RECENT];
        }
        let slot = (address >> 1 ^ address >> 11) as usize & (RECENT - 1);
        if let Some(Some((its, own, key, found))) = self.recent.get(slot)
            && *key == address
            && *own == memory
            && usize::from(*its) == source
        {
            return *found;
        }
        let found = self.look_up(source, memory, address);
        let known = found.function.and_then(|number| self.code.get(number));
        // In a process, the addresses of the function are those in its file: they differ by whole
        // pages.
        let whole =
            known.is_some_and(|known| found.start.wrapping_sub(known.function.start) & 0xfff == 0);
        let stub = known.is_some_and(|known| known.function.stub);
        let found = Place { found, whole, stub };
        if let Some(slot) = self.recent.get_mut(slot) {
            *slot = Some((source as u16, memory, address, found));
        }
        found
    }

    fn look_up(&mut self, source: usize, memory: MemoryId, address: u64) -> Found {
        let (viewpoint, files) = match self.code.tables.get(source) {
            Some(Table::Flat) => return self.code.flat.at(address),
            Some(Table::Spaces(viewpoint)) => (viewpoint, &self.code.modules),
            None => return nothing(address),
        };
        let image = self.images.entry(memory).or_insert_with(|| viewpoint.spaces.image(memory));
        let region = image.region(image.view(Space::ANY), address);
        let Some((region, module)) = region.and_then(|r| Some((r, r.module()?))) else {
            return nothing(address);
        };
        let Some((file, first)) = files.get(module.index as usize) else { return nothing(address) };
        let found = file.at(address.wrapping_sub(module.bias));
        let (start, last) = (found.start.wrapping_add(module.bias), found.last);
        // Code without a symbol extends to the ends of the region.
        let start = if start > address { region.start() } else { start.max(region.start()) };
        let last = last.saturating_add(module.bias);
        let last = last.min(region.last().unwrap_or(address));
        Found { start, last, function: found.function.map(|number| number + first) }
    }
}
