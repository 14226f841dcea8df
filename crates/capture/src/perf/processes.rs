//! The memory of the processes over time, from the records of mappings and threads.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tracewright_base::remedy::BINARY;
use tracewright_image::{
    AddressSpaces, Change, Dump, Module, ModuleFile, ObjectFile, Region, Symbol, Symbols, Thread,
};

use super::bpf;
use super::data::PerfData;
use super::features::{self, RecordedFile};
use super::find::{self, Code, Finder, Found, hex};
use super::generated;
use super::kernel::{self, KERNEL, KernelSymbols, Text, kernel};
use super::limits::{MAX_CHANGES, MAX_MODULES};
use super::record::{Body, Mmap, Record};

/// mmap(2): code of the mapping may be executed.
const EXECUTABLE: u32 = 4;

/// The most steps of searches in program files, for all mappings: for one, the segments and, of the
/// kernel, the symbols of its file.
const MAX_STEPS: usize = 1 << 27;
/// The most bytes of memory for files that are mapped from several paths.
const MAX_REPEATED: usize = 1 << 28;
/// The greatest distance in bytes between the beginning and the end of a change of the kernel's
/// code.
const MAX_POKE: u64 = 1 << 16;

/// The name of the kernel of guests.
const GUEST_KERNEL: &str = "[guest.kernel.kallsyms]";

/// The path and the build identifier of a file.
type ModuleKey = (String, Option<Vec<u8>>);

/// Makes address spaces of records.
struct Builder<'a, 'b> {
    finder: &'a mut Finder<'b>,
    spaces: AddressSpaces,
    /// Index and content of each module, by path and build identifier.
    modules: HashMap<ModuleKey, (u32, Option<Found>)>,
    /// Build identifiers by path.
    ids: HashMap<String, Vec<u8>>,
    recorded: HashMap<String, RecordedFile>,
    /// The later changes of the kernel's code by their addresses: the moment, and the old bytes.
    pokes: BTreeMap<u64, VecDeque<(u64, Region)>>,
    /// The number of changes and of regions in them.
    changes: usize,
    /// The number of steps of searches.
    steps: usize,
    /// The files that were found, and the memory of those that were found again.
    read: HashSet<std::path::PathBuf>,
    repeated: usize,
    notes: Vec<String>,
    /// The addresses of the kernel's symbols.
    kernel: KernelSymbols,
    /// Mappings of guests, which are not used.
    guests: usize,
    /// The symbols of the kernel of each guest that is used, by the process of its virtual machine.
    guest_kernels: HashMap<Option<u32>, KernelSymbols>,
    /// The notes about files.
    noted: HashSet<(String, String)>,
}

/// The type of a record with a build ID: PERF_RECORD_HEADER_BUILD_ID.
const HEADER_BUILD_ID: u32 = 67;

/// The address spaces of the processes in `data`. `moment` is that of a record, by its index.
pub(super) fn address_spaces(
    data: &PerfData,
    finder: &mut Finder<'_>,
    moment: &dyn Fn(usize, &Record) -> u64,
    kcore: Option<&tracewright_image::Elf>,
) -> (AddressSpaces, Vec<String>) {
    let mut ids = HashMap::new();
    if let Some(bytes) = data.features.get(&features::BUILD_ID) {
        ids.extend(features::build_ids(bytes, data.big));
    }
    for record in &data.records {
        if let Body::Other { number: HEADER_BUILD_ID, bytes } = &record.body {
            ids.extend(features::build_id(record.misc, bytes));
        }
    }
    let recorded = features::recorded_files(&data.features, data.big);
    let unread = recorded.len() >= MAX_MODULES;
    let recorded = recorded.into_iter().map(|file| (file.path.clone(), file)).collect();
    let mut order: Vec<(u64, usize)> =
        data.records.iter().enumerate().map(|(n, record)| (moment(n, record), n)).collect();
    order.sort_unstable();
    let mut pokes: BTreeMap<u64, VecDeque<_>> = BTreeMap::new();
    for (moment, n) in &order {
        if let Some(Body::TextPoke { address, old, .. }) = data.records.get(*n).map(|r| &r.body) {
            let name = "code that the kernel changes later";
            let region = Region::new(name, *address, old.clone());
            pokes.entry(*address).or_default().push_back((*moment, region));
        }
    }
    let spaces = AddressSpaces::default();
    let (modules, notes) = (HashMap::new(), Vec::new());
    let kernel = KernelSymbols::default();
    let mut builder = Builder {
        finder,
        spaces,
        modules,
        ids,
        recorded,
        pokes,
        changes: 0,
        steps: 0,
        read: HashSet::new(),
        repeated: 0,
        notes,
        kernel,
        guests: 0,
        guest_kernels: HashMap::new(),
        noted: HashSet::new(),
    };
    if unread {
        builder.notes.push(format!("only the first {MAX_MODULES} recorded files are read"));
    }
    builder.kernel = builder.kernel_symbols(data);
    if let Some(kcore) = kcore {
        builder.kcore(kcore);
    }
    builder.bpf(data);
    let generated = generated::code(builder.finder, &mut builder.spaces, data, moment);
    builder.notes.extend(generated.notes);
    for (path, index) in generated.files {
        // A mapping of it has no code of its own.
        builder.modules.insert((path, None), (index, None));
    }
    let mut code = generated.loaded.into_iter().peekable();
    for (moment, n) in order {
        while let Some((at, process, region)) = code.next_if(|(at, ..)| *at < moment) {
            builder.change(Some(process), at, Change::Load(vec![region]));
        }
        if let Some(record) = data.records.get(n) {
            builder.record(moment, record, kcore.is_some());
        }
    }
    for (at, process, region) in code {
        builder.change(Some(process), at, Change::Load(vec![region]));
    }
    builder.finder.report_unused(kcore.is_some());
    builder.end_guests();
    if builder.guests > 0 {
        builder.notes.push(format!(
            "mappings of guests are not used ({}): the code of a guest is not known",
            builder.guests
        ));
    }
    (builder.spaces, builder.notes)
}

impl Builder<'_, '_> {
    fn change(&mut self, process: Option<u32>, moment: u64, change: Change) {
        if self.has_room(change.count()) {
            self.spaces.change(process, moment, change);
        }
    }

    /// Counts changes. Returns `false` where there are too many.
    fn has_room(&mut self, count: usize) -> bool {
        let before = self.changes;
        self.changes = before.saturating_add(count);
        if before <= MAX_CHANGES && self.changes > MAX_CHANGES {
            // Nothing after the first change that is left out is used.
            self.changes = usize::MAX;
            self.notes.push(format!(
                "the address spaces have more than {MAX_CHANGES} changes and regions, and later \
                 mappings are not used"
            ));
        }
        self.changes <= MAX_CHANGES
    }

    /// Counts steps of a search. Returns `false` where there are too many.
    fn has_time(&mut self, count: usize) -> bool {
        let before = self.steps;
        self.steps = before.saturating_add(count);
        if before <= MAX_STEPS && self.steps > MAX_STEPS {
            self.notes.push(format!(
                "the mappings need more than {MAX_STEPS} steps to be found in their files, and \
                 later mappings are not used"
            ));
        }
        self.steps <= MAX_STEPS
    }

    fn record(&mut self, moment: u64, record: &Record, kcore: bool) {
        match &record.body {
            Body::Mmap(mmap) => {
                let prevented = mmap.file.as_ref().is_some_and(|f| f.protection & EXECUTABLE == 0);
                if record.is_data() || prevented || mmap.len == 0 {
                    return;
                }
                if record.is_guest() || kernel::guest(&mmap.path) {
                    self.map_of_guest(moment, record, mmap);
                    return;
                }
                let common = mmap.process == u32::MAX || record.is_kernel();
                if common && kcore {
                    return;
                }
                if self.changes > MAX_CHANGES || !self.has_time(1) {
                    return;
                }
                let regions = self.map(record, mmap, common);
                let ranges = common.then(|| ranges(&regions));
                self.change((!common).then_some(mmap.process), moment, Change::Load(regions));
                if let Some(ranges) = ranges {
                    self.unpoke(moment, &ranges);
                }
            }
            Body::Comm { process, thread, name } => {
                let (id, process, name) = (*thread, *process, Some(name.clone()));
                self.spaces.add_thread(moment, Thread { id, process, name });
                if record.is_exec() {
                    self.change(Some(process), moment, Change::Clear);
                }
            }
            Body::Fork(task) => {
                let parent = self.spaces.thread(task.parent_thread, moment);
                let name = parent.and_then(|parent| parent.name.clone());
                let (id, process) = (task.thread, task.process);
                self.spaces.add_thread(moment, Thread { id, process, name });
                if process != task.parent_process && self.changes <= MAX_CHANGES {
                    let inherited = self.spaces.inherited(task.parent_process);
                    if self.has_room(inherited + 1) {
                        self.spaces.fork(task.parent_process, process, moment);
                    }
                }
            }
            Body::TraceStart { process, thread } | Body::Switch { process, thread }
                if self.spaces.thread(*thread, moment).is_none() =>
            {
                let thread = Thread { id: *thread, process: *process, name: None };
                self.spaces.add_thread(moment, thread);
            }
            Body::TextPoke { address, new, .. } => {
                if let Some(later) = self.pokes.get_mut(address) {
                    later.pop_front();
                }
                let region = Region::new("code that the kernel changed", *address, new.clone());
                self.change(None, moment, Change::Load(vec![region]));
            }
            _ => {}
        }
    }

    /// Restores the code that the kernel changes after `moment` in `ranges`: the first and the last
    /// address of each.
    fn unpoke(&mut self, moment: u64, ranges: &[(u64, u64)]) {
        let room = MAX_CHANGES.saturating_sub(self.changes);
        let pokes = ranges.iter().flat_map(|(first, last)| {
            let nearby = self.pokes.range(first.saturating_sub(MAX_POKE)..=*last);
            nearby.flat_map(|(_, later)| later.iter().rev())
        });
        let mut pokes: Vec<_> = pokes.take(room + 1).cloned().collect();
        // The earliest one is visible.
        pokes.sort_by_key(|(at, _)| Reverse(*at));
        if !pokes.is_empty() {
            let regions = pokes.into_iter().map(|(_, region)| region).collect();
            self.change(None, moment, Change::Load(regions));
        }
    }

    /// The addresses of the kernel's symbols: from a list of them, else from the kernel's file and
    /// its first mapping.
    fn kernel_symbols(&mut self, data: &PerfData) -> KernelSymbols {
        let mapped = data.records.iter().find_map(|record| match &record.body {
            Body::Mmap(mmap) if kernel(&mmap.path) && mmap.len > 0 => Some((record, mmap)),
            _ => None,
        });
        if let Some(list) = self.finder.kallsyms() {
            match mapped.and_then(|(_, mmap)| list.contradiction(mmap)) {
                None => return list,
                Some(why) => self.notes.push(why),
            }
        }
        // Only modules need them.
        let module = data
            .records
            .iter()
            .any(|record| matches!(&record.body, Body::Mmap(mmap) if mmap.path.contains(".ko")));
        let Some((record, mmap)) = mapped.filter(|_| module) else {
            return KernelSymbols::default();
        };
        let id = record.build_id().map(<[u8]>::to_vec);
        let id = id.or_else(|| self.ids.get(&mmap.path).cloned());
        let id = id.or_else(|| self.ids.get(KERNEL).cloned());
        let Some(found) = self.finder.find(KERNEL, id.as_deref()) else {
            return KernelSymbols::default();
        };
        match (&found.code, kernel::bias(found.symbol_file(), mmap, &KernelSymbols::default())) {
            (Code::Elf(elf), Ok(bias)) => KernelSymbols::of_file(elf, bias),
            _ => KernelSymbols::default(),
        }
    }

    /// The machine code of BPF programs, which are in the memory of the kernel. The file has those
    /// that were there at the end of the recording, and no moment at which they were loaded.
    fn bpf(&mut self, data: &PerfData) {
        let section = data.features.get(&features::BPF_PROGRAMS).map(Vec::as_slice);
        let functions = bpf::programs(section.unwrap_or_default(), data.big);
        if functions.len() >= bpf::MAX_FUNCTIONS {
            let most = bpf::MAX_FUNCTIONS;
            self.notes.push(format!("only the first {most} functions of BPF programs are read"));
        }
        for code in functions {
            let path = format!("[bpf_{}]", code.name);
            let symbol =
                Symbol { name: &code.name, start: code.address, size: code.bytes.len() as u64 };
            let index = self.spaces.add_module(ModuleFile {
                path: path.clone(),
                found: Some("BPF_PROG_INFO".into()),
                symbols: Arc::new(Symbols::new([symbol])),
                kernel: true,
                ..ModuleFile::default()
            });
            let region = Region::new(path, code.address, code.bytes);
            let region = region.of_module(Module { index, bias: 0 });
            self.change(None, 0, Change::Load(vec![region]));
        }
    }

    /// The kernel's memory as it was copied by `perf record --kcore`.
    fn kcore(&mut self, kcore: &tracewright_image::Elf) {
        let index = self.spaces.add_module(ModuleFile {
            path: "[kernel.kallsyms]".into(),
            found: Some("kcore".into()),
            kernel: true,
            ..ModuleFile::default()
        });
        let module = Module { index, bias: 0 };
        let regions = kcore.regions.iter().map(|region| region.clone().of_module(module));
        let regions: Vec<_> = regions.collect();
        let ranges = ranges(&regions);
        self.change(None, 0, Change::Load(regions));
        self.unpoke(0, &ranges);
    }

    /// The memory of a mapping; none where its file is not found.
    fn map(&mut self, record: &Record, mmap: &Mmap, common: bool) -> Vec<Region> {
        if let Some((path, start)) = self.finder.member_at(&mmap.path, mmap.offset) {
            let offset = mmap.offset.wrapping_sub(start);
            return self.map(record, &Mmap { path, offset, ..mmap.clone() }, common);
        }
        let id = record.build_id().map(<[u8]>::to_vec);
        let id = id.or_else(|| self.ids.get(&mmap.path).cloned());
        // A mapping of the kernel is named for a symbol: `[kernel.kallsyms]_text`.
        let path = if kernel(&mmap.path) { KERNEL } else { mmap.path.as_str() };
        let id = id.or_else(|| self.ids.get(path).cloned());
        let key = (path.to_owned(), id);
        if !self.modules.contains_key(&key) {
            if self.modules.len() >= MAX_MODULES {
                self.note_modules();
                return Vec::new();
            }
            let found = match self.repeated > MAX_REPEATED {
                true => None,
                false => self.finder.find(path, key.1.as_deref()),
            };
            let found = found.filter(|found| self.has_memory(found));
            let index = self.add_module(&key, found.as_ref(), common);
            self.modules.insert(key.clone(), (index, found));
        }
        let Some((index, found)) = self.modules.get(&key) else { return Vec::new() };
        let index = *index;
        let Some(found) = found else {
            let process = (!common).then_some(mmap.process);
            self.spaces.add_missing(process, mmap.address, mmap.len, index);
            return Vec::new();
        };
        let steps = found.steps(common);
        if !self.has_time(steps) {
            return Vec::new();
        }
        let Some((_, Some(found))) = self.modules.get(&key) else { return Vec::new() };
        let name: Arc<str> = Arc::from(path);
        match &found.code {
            Code::Object(object) => {
                let object = Arc::clone(object);
                let symbols = std::mem::take(&mut self.kernel);
                let regions = self.module(&object, path, mmap, index, &symbols);
                self.kernel = symbols;
                regions
            }
            _ if kernel(path) => {
                let (regions, note) = kernel_regions(found, mmap, index, &self.kernel);
                if let Some(note) = note {
                    self.note(path, note);
                }
                regions
            }
            Code::Elf(elf) => {
                let end = mmap.offset.saturating_add(mmap.len);
                let segment = elf.segments.iter().find(|segment| {
                    segment.executable
                        && segment.offset < end
                        && segment.offset.saturating_add(segment.file_size) > mmap.offset
                });
                let shift = segment.map_or(0, |s| s.address.wrapping_sub(s.offset));
                let bias = mmap.address.wrapping_sub(mmap.offset).wrapping_sub(shift);
                vec![file_region(&name, found, mmap, Module { index, bias })]
            }
            // The program reads it; its code is that of the records in it.
            Code::Jit(_) => Vec::new(),
            Code::Archive(_) => {
                let note = format!(
                    "{path}: no member of the archive that is not compressed has its offset {:#x}, \
                     which was mapped",
                    mmap.offset
                );
                self.note(path, note);
                Vec::new()
            }
            Code::Raw => {
                let bias = mmap.address.wrapping_sub(mmap.offset);
                vec![file_region(&name, found, mmap, Module { index, bias })]
            }
        }
    }

    /// The memory of a kernel module, which is mapped from `path`.
    fn module(
        &mut self,
        object: &ObjectFile,
        path: &str,
        mmap: &Mmap,
        index: u32,
        symbols: &KernelSymbols,
    ) -> Vec<Region> {
        let assume = self.finder.assumes_module_layout();
        let recorded = self.recorded.get(path);
        let start = match kernel::module_text(object, mmap, recorded, symbols, assume) {
            Text::At(start) => start,
            Text::Assumed(start) => {
                self.note(
                    path,
                    format!(
                        "{path}: its code is assumed to be at {start:#x}, as in its file; the \
                         sections before .text become larger when a module is loaded, so that other \
                         instructions may have been executed"
                    ),
                );
                start
            }
            Text::Unknown(why) => {
                self.note(
                    path,
                    format!(
                        "{path}: where its code was in memory is not known, and it is not used: \
                         {why}"
                    ),
                );
                return Vec::new();
            }
        };
        let (regions, unknown) = object.regions(&Arc::from(path), start, &symbols.for_module(path));
        if unknown > 0 {
            self.note(
                path,
                format!(
                    "{path}: {unknown} branches to other files or sections are not relocated, and \
                     decoding stops at them until the next address in the trace; the kernel's \
                     symbols ({BINARY} vmlinux or {BINARY} kallsyms) or a copy of its memory (perf \
                     record --kcore) have their targets"
                ),
            );
        }
        let last = mmap.address.saturating_add(mmap.len - 1);
        let regions = regions.into_iter().filter_map(|region| region.between(mmap.address, last));
        regions.map(|region| region.of_module(Module { index, bias: start })).collect()
    }

    /// A mapping of a guest: of its kernel, or of a module of that. The trace does not have the
    /// process of a guest.
    fn map_of_guest(&mut self, moment: u64, record: &Record, mmap: &Mmap) {
        let is_kernel = record.is_guest_kernel() || kernel::guest(&mmap.path);
        let found = match is_kernel && self.finder.knows_guests {
            true => self.finder.find_in_guest(&mmap.path),
            false => None,
        };
        let found = found.filter(|found| {
            let steps = found.steps(true);
            self.has_time(steps) && self.changes <= MAX_CHANGES
        });
        let Some(found) = found.filter(|found| self.has_memory(found)) else {
            self.guests += 1;
            return;
        };
        let machine = kernel::machine(mmap);
        let path = match kernel::guest(&mmap.path) {
            true => GUEST_KERNEL.to_owned(),
            false => format!("[guest]{}", mmap.path),
        };
        let key = (path.clone(), None);
        let known = self.modules.get(&key).map(|(index, _)| *index);
        if known.is_none() && self.modules.len() >= MAX_MODULES {
            return self.note_modules();
        }
        let index = known.unwrap_or_else(|| self.add_module(&key, Some(&found), true));
        self.modules.insert(key, (index, Some(found.clone())));
        let symbols = self.guest_kernels.remove(&machine).unwrap_or_default();
        let regions = match &found.code {
            Code::Object(object) => self.module(object, &path, mmap, index, &symbols),
            _ => {
                let (regions, note) = kernel_regions(&found, mmap, index, &symbols);
                if let Some(note) = note {
                    self.note(&path, note);
                }
                regions
            }
        };
        let kernel = match (&found.code, kernel::bias(found.symbol_file(), mmap, &symbols)) {
            (Code::Elf(elf), Ok(bias)) => KernelSymbols::of_file(elf, bias),
            _ => symbols,
        };
        self.guest_kernels.insert(machine, kernel);
        if self.has_room(regions.len().max(1)) {
            self.spaces.change_guest(machine, moment, Change::Load(regions));
        }
    }

    /// The kernel of guests that have no mapping of it, at the addresses of its file.
    fn end_guests(&mut self) {
        if !self.finder.has_guest_files() {
            return;
        }
        if !self.finder.knows_guests {
            self.notes.push(
                "files of guests are not used: the trace does not distinguish a guest from the \
                 host, which it does where the host's kernel is at EL2 and CONTEXTIDR_EL2 is traced"
                    .into(),
            );
            return;
        }
        if !self.guest_kernels.is_empty() {
            return;
        }
        let Some(found) = self.finder.find_in_guest(GUEST_KERNEL) else { return };
        let key = (GUEST_KERNEL.to_owned(), None);
        let known = self.modules.get(&key).map(|(index, _)| *index);
        let index = known.unwrap_or_else(|| self.add_module(&key, Some(&found), true));
        let regions = executable_regions(GUEST_KERNEL, &found, 0, index);
        if self.has_room(regions.len().max(1)) {
            self.spaces.change_guest(None, 0, Change::Load(regions));
            self.notes.push(format!(
                "{}: no mapping of a guest's kernel is recorded: it is assumed to be at the \
                 addresses of its file",
                found.path.display()
            ));
        }
    }

    /// Adds a note about the file that is mapped from `path`, once.
    fn note(&mut self, path: &str, note: String) {
        if self.noted.insert((path.to_owned(), note.clone())) {
            self.notes.push(note);
        }
    }

    fn note_modules(&mut self) {
        let note = format!("there are more than {MAX_MODULES} mapped files: {NOT_USED}");
        if self.notes.last() != Some(&note) {
            self.notes.push(note);
        }
    }

    /// Whether there is memory for a file. Only for those that are mapped from several paths it is
    /// bounded: the others are as many as the files.
    fn has_memory(&mut self, found: &Found) -> bool {
        let path = self.finder.canonical(&found.path);
        if self.read.insert(path) {
            return true;
        }
        let before = self.repeated;
        self.repeated = before.saturating_add(found.memory());
        if before <= MAX_REPEATED && self.repeated > MAX_REPEATED {
            self.notes.push(format!(
                "files that are mapped from several paths take more than {MAX_REPEATED} bytes: \
                 {NOT_USED}"
            ));
        }
        self.repeated <= MAX_REPEATED
    }

    fn add_module(&mut self, (path, id): &ModuleKey, found: Option<&Found>, kernel: bool) -> u32 {
        self.spaces.add_module(find::module_file(path, id.as_deref(), found, kernel))
    }
}

/// What a note on files beyond a limit ends with.
const NOT_USED: &str = "the code of further ones is not used";

/// The first and the last address of each region.
fn ranges(regions: &[Region]) -> Vec<(u64, u64)> {
    regions.iter().filter_map(|region| Some((region.start(), region.last()?))).collect()
}

/// The code of the kernel that `found` has, where it was in memory, and a note about what is not
/// known.
fn kernel_regions(
    found: &Found,
    mmap: &Mmap,
    index: u32,
    symbols: &KernelSymbols,
) -> (Vec<Region>, Option<String>) {
    let file = found.path.display();
    let bias = match kernel::bias(found.symbol_file(), mmap, symbols) {
        Ok(bias) => bias,
        Err(why) => {
            let note = format!(
                "{file}: where the kernel was in memory is not known, and its code is not used: {why}"
            );
            return (Vec::new(), Some(note));
        }
    };
    let name = if kernel::guest(&mmap.path) { GUEST_KERNEL } else { KERNEL };
    let note = kernel::is_unnamed(found.symbol_file(), mmap).then(|| {
        format!(
            "{file}: the mapping of the kernel names neither _text nor _stext, and is assumed to \
             begin at _text"
        )
    });
    (executable_regions(name, found, bias, index), note)
}

/// The code of a kernel, moved by `bias`.
fn executable_regions(name: &str, found: &Found, bias: u64, index: u32) -> Vec<Region> {
    let executable = found.segments().into_iter().filter(|segment| segment.executable);
    let moved = executable.map(|segment| {
        let dump = Dump {
            address: segment.address.wrapping_add(bias),
            offset: segment.offset,
            length: Some(segment.file_size),
            ..Dump::default()
        };
        Region::dump(name, &found.bytes, dump).of_module(Module { index, bias })
    });
    moved.collect()
}

/// The bytes of a file that are mapped.
fn file_region(name: &Arc<str>, found: &Found, mmap: &Mmap, module: Module) -> Region {
    let dump = Dump {
        address: mmap.address,
        offset: mmap.offset,
        length: Some(mmap.len),
        ..Dump::default()
    };
    Region::dump(Arc::clone(name), &found.bytes, dump).of_module(module)
}

/// A sentence about a file that was not found.
pub(super) fn missing(module: &ModuleFile) -> String {
    let id = match &module.build_id {
        Some(id) => format!("build ID {}", hex(id)),
        None => "no build ID is recorded".into(),
    };
    format!("{} was not found ({id})", module.path)
}
