//! The operating system of a capture.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tracewright_base::Space;
use tracewright_capture::{Capture, Form};
use tracewright_image::{Bytes, Image};
use tracewright_symbols::{DataObjects, MemberOfType, Variable};

use super::names::is_like;
use super::orti::bare;
use super::system::{Current, NameAt, Offset, Place, listed};
use super::{NamedBy, System, TaskFile, TaskName, TaskThread};
use crate::code::{Code, FunctionId};
use crate::running::{EventTasks, RunningEvents, Watched, comparators};
use crate::stacks::SWITCHES;
use crate::stored::Stores;

/// Where a control block has the name of its task.
#[derive(Clone, Copy, Debug)]
struct NameField {
    offset: u64,
    is_pointer: bool,
    length: usize,
}

/// The operating system of a capture, and what its trace may show of tasks.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    system: Option<Arc<System>>,
    watched: Arc<[Watched]>,
    switches: Arc<[u32]>,
    idle: Arc<HashSet<u32>>,
    blocking: Arc<HashSet<u32>>,
    wrappers: Arc<HashSet<u32>>,
    /// What names the running task in the trace of an ITM or STM.
    events: EventTasks,
    /// Only events are traced, and no instructions.
    of_events: bool,
    /// What handlers store, by the trace of an ITM.
    stores: Option<Stores>,
    objects: Arc<DataObjects>,
    image: Arc<Image>,
    given: Arc<BTreeMap<u64, String>>,
    field: Option<NameField>,
    pointer: u64,
    big_endian: bool,
}

/// The ELF files of a capture, and the load bias of each.
fn elf_files(capture: &Capture) -> Vec<(&Bytes, u64)> {
    let files = capture.memory.iter().filter(|dump| dump.form == Form::Elf);
    files.filter_map(|dump| Some((dump.bytes.as_ref()?, dump.address))).collect()
}

impl Tasks {
    /// What the functions of `code` and the variables of `capture` show. `image` is the memory in
    /// which names are. Systems of `files` come before those that are known.
    pub fn of_capture(
        capture: &Capture,
        image: Option<&Arc<Image>>,
        code: &Code,
        files: &[TaskFile],
    ) -> Tasks {
        let switches = || SWITCHES.iter().flat_map(|name| code.named(name));
        // Threads of Linux have names in the capture.
        if capture.linux.is_some() {
            return Tasks { switches: switches().collect(), ..Tasks::default() };
        }
        let elf = elf_files(capture);
        let objects = DataObjects::of_files(elf.iter().copied());
        let header = elf.first().and_then(|(file, _)| file.get(4..6));
        let is_64_bit = header.is_some_and(|bytes| bytes.first() == Some(&2));
        let big_endian = header.is_some_and(|bytes| bytes.last() == Some(&2));
        let program = Program { elf: &elf, objects: &objects };
        let system = program.system(code, files);
        let pointer = if is_64_bit { 8 } else { 4 };
        let mut given = BTreeMap::new();
        for file in files {
            given.extend(file.names.iter().map(|(value, name)| (*value, name.clone())));
            for (expression, name) in &file.expressions {
                if let Some(value) = program.value(expression) {
                    given.insert(value, name.clone());
                }
            }
        }
        let own = system.as_ref().and_then(|system| system.events.clone());
        let running: Option<RunningEvents> = files.iter().find_map(|f| f.events.clone()).or(own);
        let mut tasks = Tasks {
            given: Arc::new(given),
            image: image.cloned().unwrap_or_default(),
            pointer,
            big_endian,
            ..Tasks::default()
        };
        let mut numbers: Vec<u32> = switches().collect();
        if let Some(system) = system {
            let functions = |names: &[String]| -> HashSet<u32> {
                names.iter().flat_map(|name| code.named(name)).collect()
            };
            numbers.extend(functions(&system.switch_at));
            tasks.idle = Arc::new(functions(&system.idle));
            tasks.blocking = Arc::new(functions(&system.blocking));
            tasks.wrappers = Arc::new(functions(&system.wrappers));
            let current = system.current.as_ref();
            let watched = current.map(|own| program.watched(own, pointer, &tasks));
            tasks.watched = watched.unwrap_or_default().into();
            tasks.field = system.name.as_ref().and_then(|own| program.field(own, &tasks));
            tasks.system = Some(Arc::new(system));
        }
        let watched = Arc::clone(&tasks.watched);
        tasks.events = EventTasks::new(watched, comparators(capture), running);
        numbers.sort_unstable();
        numbers.dedup();
        tasks.switches = numbers.into();
        tasks.objects = Arc::new(objects);
        tasks
    }

    /// Tasks that wait in these functions.
    #[cfg(test)]
    pub(crate) fn of_blocking(functions: impl IntoIterator<Item = u32>) -> Tasks {
        Tasks { blocking: Arc::new(functions.into_iter().collect()), ..Tasks::default() }
    }

    /// Tasks of a trace without instructions.
    #[cfg(test)]
    pub(crate) fn with_events(events: EventTasks) -> Tasks {
        Tasks { events, of_events: true, ..Tasks::default() }
    }

    /// Tasks that are switched in these functions, too.
    #[must_use]
    pub fn with_switches(self, functions: impl IntoIterator<Item = u32>) -> Tasks {
        let switches = self.switches.iter().copied().chain(functions).collect();
        Tasks { switches, ..self }
    }

    /// Tasks of a trace without instructions, that of an ITM or STM.
    #[must_use]
    pub fn of_events(self) -> Tasks {
        // In which function a task waits is not in the trace.
        Tasks { of_events: true, blocking: Arc::default(), ..self }
    }

    /// What names the running task in a trace without instructions; `None` for a trace that has
    /// them.
    pub fn events(&self) -> Option<&EventTasks> {
        self.of_events.then_some(&self.events)
    }

    /// With what the handlers of a source store, by the trace of an ITM.
    #[must_use]
    pub fn with_stores(self, stores: Stores) -> Tasks {
        Tasks { stores: Some(stores), ..self }
    }

    /// What the handlers of a source store, where another trace states it.
    pub fn stores(&self) -> Option<&Stores> {
        self.stores.as_ref()
    }

    /// What names the running task in the trace of an ITM or STM.
    pub fn running_events(&self) -> &EventTasks {
        &self.events
    }

    /// Whether a value is that of the idle task or of none, or the name that of the idle task of
    /// the system.
    pub fn is_idle_task(&self, thread: &TaskThread) -> bool {
        let patterns = self.system.iter().flat_map(|system| &system.idle_tasks);
        let named = |pattern: &String| {
            thread.name.as_ref().is_some_and(|name| is_like(pattern, &name.text))
        };
        let is_none = |id: u64| id == 0 && !self.given.contains_key(&0);
        thread.id.is_some_and(|id| is_none(id) || self.events.is_idle(id))
            || patterns.into_iter().any(named)
    }

    /// The system.
    pub fn system(&self) -> Option<&System> {
        self.system.as_deref()
    }

    /// The variables whose stores name the running task.
    pub fn watched(&self) -> &[Watched] {
        &self.watched
    }

    /// The numbers of functions that switch tasks by a return.
    pub fn switches(&self) -> &[u32] {
        &self.switches
    }

    /// The numbers of functions that run where no task does.
    pub fn idle(&self) -> impl Iterator<Item = u32> + '_ {
        self.idle.iter().copied()
    }

    /// Whether a task waits in a function.
    pub fn is_blocking(&self, function: FunctionId) -> bool {
        matches!(function, FunctionId::Known(number) if self.blocking.contains(&number))
    }

    /// Whether functions are known in which tasks wait.
    pub fn has_blocking(&self) -> bool {
        !self.blocking.is_empty()
    }

    /// Whether a function is beneath the function of a task.
    pub fn is_wrapper(&self, function: FunctionId) -> bool {
        matches!(function, FunctionId::Known(number) if self.wrappers.contains(&number))
    }

    /// The name of the task that a value identifies: the one that was given, that in memory, or the
    /// variable at the address.
    pub fn name(&self, id: u64) -> Option<TaskName> {
        let named = |text: String, by| Some(TaskName { text, by });
        if let Some(name) = self.given.get(&id) {
            return named(name.clone(), NamedBy::User);
        }
        if let Some(name) = self.name_in_memory(id) {
            return named(name, NamedBy::Memory);
        }
        let object = self.objects.at(id).filter(|_| id != 0)?;
        // The first task of a memory that has others, too.
        let strip = self.system.iter().flat_map(|system| &system.strip);
        let stripped = strip.filter_map(|prefix| object.name.strip_prefix(prefix.as_str())).next();
        named(stripped.unwrap_or(&object.name).to_owned(), NamedBy::Symbol)
    }

    /// The name in a control block. Memory of the capture has one only if it is a text.
    fn name_in_memory(&self, block: u64) -> Option<String> {
        let field = self.field.filter(|_| block != 0)?;
        let mut at = block.wrapping_add(field.offset);
        if field.is_pointer {
            at = self.read(at, self.pointer).filter(|at| *at != 0)?;
        }
        let view = self.image.view(Space::default());
        let mut bytes = vec![0; field.length];
        let len = self.image.read(view, at, self.mask(), &mut bytes);
        let known = bytes.get(..len)?;
        let end = known.iter().position(|byte| *byte == 0)?;
        let text = std::str::from_utf8(known.get(..end)?).ok()?;
        let is_name = !text.is_empty() && text.chars().all(|c| !c.is_control());
        is_name.then(|| text.to_owned())
    }

    fn mask(&self) -> u64 {
        if self.pointer == 8 { u64::MAX } else { u32::MAX.into() }
    }

    /// A number in memory.
    fn read(&self, address: u64, size: u64) -> Option<u64> {
        let view = self.image.view(Space::default());
        let mut bytes = [0; 8];
        let out = bytes.get_mut(..size as usize)?;
        if self.image.read(view, address, self.mask(), out) < out.len() {
            return None;
        }
        let number = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(match self.big_endian {
            true => out.iter().fold(0, number),
            false => out.iter().rev().fold(0, number),
        })
    }
}

/// The variables of a program.
struct Program<'a> {
    elf: &'a [(&'a Bytes, u64)],
    objects: &'a DataObjects,
}

impl Program<'_> {
    /// The system of the program: the first one that it has a name of.
    fn system(&self, code: &Code, files: &[TaskFile]) -> Option<System> {
        let has = |system: &&System| {
            system.detect.iter().any(|name| self.objects.has(name))
                || system.detect_functions.iter().any(|name| code.named(name).next().is_some())
        };
        let given = files.iter().flat_map(|file| &file.systems).find(has);
        if given.is_some() {
            return given.cloned();
        }
        let known = listed("detect").any(|name| self.objects.has(name))
            || listed("detect_functions").any(|name| code.named(name).next().is_some());
        let known = if known { System::known() } else { Vec::new() };
        known.iter().find(has).cloned()
    }

    /// The address of a variable by its path in DWARF.
    fn variable(&self, path: &str) -> Option<(u64, Option<u64>)> {
        self.elf.iter().find_map(|(file, bias)| {
            let found = Variable::of_elf(file, path).ok().flatten()?;
            Some((found.address.wrapping_add(*bias), found.kind.size()))
        })
    }

    /// The value of an expression: an address, such as `&(OsTask[3])`, or `OsTask`.
    fn value(&self, expression: &str) -> Option<u64> {
        let text = bare(expression);
        let text = bare(text.strip_prefix('&').unwrap_or(text));
        match self.objects.named(text) {
            Some(object) => Some(object.address),
            None => Some(self.variable(text)?.0),
        }
    }

    fn offset(&self, offset: &Offset, tasks: &Tasks) -> Option<u64> {
        let (array, index, size) = match offset {
            Offset::At(at) => return Some(*at),
            Offset::Element { array, index, size } => (array, index, size),
        };
        let variable = |name: &str| self.objects.named(name);
        let size = variable(size).and_then(|own| tasks.read(own.address, 1));
        let size = size.filter(|size| [1, 2, 4, 8].contains(size))?;
        let array = variable(array)?;
        let at = index.checked_mul(size).filter(|at| at + size <= array.size)?;
        let value = tasks.read(array.address.wrapping_add(at), size)?;
        // A field that the configuration leaves out is as large as its type allows.
        let absent = u64::MAX >> (64 - 8 * size);
        (value != absent && value < 1 << 16).then_some(value)
    }

    fn watched(&self, current: &Current, pointer: u64, tasks: &Tasks) -> Vec<Watched> {
        let places = std::iter::once(&current.place).chain(&current.others);
        places.flat_map(|place| self.watched_at(place, current, pointer, tasks)).collect()
    }

    fn watched_at(
        &self,
        place: &Place,
        current: &Current,
        pointer: u64,
        tasks: &Tasks,
    ) -> Vec<Watched> {
        let (address, own, room) = match place {
            Place::Symbol(name, offset) => {
                let Some(object) = self.objects.named(name) else { return Vec::new() };
                let Some(offset) = self.offset(offset, tasks) else { return Vec::new() };
                let room = object.size.saturating_sub(offset);
                // A variable that has a number is no larger than it.
                let is_whole = current.is_number && offset == 0 && current.cores == 1;
                let own = Some(object.size).filter(|size| is_whole && *size > 0);
                (object.address.wrapping_add(offset), own, room)
            }
            Place::Variable(path) => {
                let Some((address, size)) = self.variable(path) else { return Vec::new() };
                (address, size, u64::MAX)
            }
        };
        let size = current.size.or(own).unwrap_or(pointer);
        if ![1, 2, 4, 8].contains(&size) {
            return Vec::new();
        }
        let cores = if current.cores > 1 { current.cores.min(room / size) } else { 1 };
        (0..cores)
            .map(|core| Watched { address: address.wrapping_add(core * size), size })
            .collect()
    }

    fn field(&self, name: &NameAt, tasks: &Tasks) -> Option<NameField> {
        let in_dwarf = name.member.as_ref().and_then(|(kind, member)| {
            self.elf.iter().find_map(|(file, _)| MemberOfType::of_elf(file, kind, member))
        });
        let length = in_dwarf.as_ref().and_then(|own| own.kind.size()).filter(|_| !name.is_pointer);
        let length = length.map_or(name.length, |size| (size as usize).min(256));
        let offset = match in_dwarf {
            Some(own) => own.offset,
            None => self.offset(name.offset.as_ref()?, tasks)?,
        };
        Some(NameField { offset, is_pointer: name.is_pointer, length })
    }
}
