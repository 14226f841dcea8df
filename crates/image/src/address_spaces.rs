//! Program memory by address space and time: processes whose mappings change while they run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tracewright_base::{Context, Element};

use crate::bytes::Bytes;
use crate::conditions::{Conditions, Selection};
use crate::host::Host;
use crate::image::Image;
use crate::memory_id::{IMAGES, MemoryId, NO_SPACE, OUTSIDE};
use crate::missing_files::MissingFiles;
use crate::region::Region;
use crate::symbols::Symbols;
use crate::time_conversion::TimeConversion;

/// A file that is mapped into an address space.
#[derive(Clone, Debug, Default)]
pub struct ModuleFile {
    /// The path as the capture records it.
    pub path: String,
    /// The build identifier, where the capture records it.
    pub build_id: Option<Vec<u8>>,
    /// The file that was read; `None` where none was found.
    pub found: Option<PathBuf>,
    /// The bytes of the file that was read.
    pub content: Option<Bytes>,
    /// The bytes of the separate file with its debug information, where that was read.
    pub debug: Option<Bytes>,
    /// Its symbols, at the addresses in the file.
    pub symbols: Arc<Symbols>,
    /// LOAD segments: address in the file's address space, offset in the file, bytes, and whether
    /// they may be executed.
    pub segments: Vec<crate::elf::Segment>,
    /// It may be loaded anywhere (ET_DYN).
    pub movable: bool,
    /// The module is the kernel or a part of it.
    pub kernel: bool,
}

impl ModuleFile {
    /// The file with its debug information.
    pub fn debug_info(&self) -> Option<&Bytes> {
        self.debug.as_ref().or(self.content.as_ref())
    }

    /// The offset in the file of an address of an executable segment.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let segment = self.segments.iter().find(|segment| {
            segment.executable
                && address.checked_sub(segment.address).is_some_and(|at| at < segment.file_size)
        })?;
        Some(address - segment.address + segment.offset)
    }
}

/// A change of an address space.
#[derive(Clone, Debug)]
pub enum Change {
    /// Memory is loaded, over what is at its addresses.
    Load(Vec<Region>),
    /// All memory is unloaded: the process executes another program.
    Clear,
}

/// A thread, from the moment on at which it has this name and this address space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its identifier.
    pub id: u32,
    /// The identifier of its process.
    pub process: u32,
    /// Its name, where it is known.
    pub name: Option<String>,
}

/// The memory of one process or other address space over time.
#[derive(Clone, Debug, Default)]
struct Space {
    /// The process; `None` for the memory that is common to all, and for that of a guest.
    process: Option<u32>,
    /// It is the memory of the kernel of a guest.
    guest: bool,
    /// The changes and the moments of them, in order.
    changes: Vec<(u64, Change)>,
}

/// Which identifier of a context is that of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextKey {
    /// The context ID: CONTEXTIDR_EL1.
    #[default]
    ContextId,
    /// The VMID, in whose place CONTEXTIDR_EL2 is traced.
    Vmid,
}

/// The most images that are stored for later use, and the most regions of all of them.
const MAX_IMAGES: usize = if cfg!(test) { 1 << 4 } else { 1 << 10 };
const MAX_REGIONS: usize = 1 << 20;
/// The most regions of all images that are made, those included that are made again, or changes
/// where there are more of them. An image takes time for each of its regions and of the changes,
/// and memory may change at each byte of a trace.
pub const MAX_IMAGE_REGIONS: usize = if cfg!(test) { 1 << 10 } else { 1 << 24 };

/// What is made of the changes when it is first needed.
#[derive(Debug, Default)]
struct Made {
    images: HashMap<MemoryId, Arc<Image>>,
    /// The number of regions of `images`, and of all images that were made.
    regions: usize,
    total: usize,
    /// An image was needed beyond [`MAX_IMAGE_REGIONS`].
    exceeded: bool,
    /// The moments of all changes, in order.
    moments: Option<Vec<u64>>,
}

/// The address spaces of a system. A moment is a number that grows with time.
///
/// Memory that is unloaded without a record of it stays until other memory is loaded over it.
/// Memory that was loaded at a later moment, or before the process executed its current program, is
/// used only where there is no other: a trace buffer may contain instructions that are older or
/// younger than the moment of its record.
#[derive(Debug, Default)]
pub struct AddressSpaces {
    spaces: Vec<Space>,
    common: Space,
    /// The index of the space of each process.
    processes: HashMap<u32, u32>,
    /// The index of the space of each guest, by the process of its virtual machine; for `None`, of
    /// all others.
    guests: HashMap<Option<u32>, u32>,
    /// The states of each thread in order of their moments.
    threads: BTreeMap<u32, Vec<(u64, Thread)>>,
    modules: Vec<ModuleFile>,
    /// Memory over all other, the highest first: that of a process, or for `None` of all code.
    added: Vec<(Option<u32>, Vec<Region>)>,
    missing: MissingFiles,
    /// Images that are loaded in a context, at a time, or when they are selected. Where there are
    /// some, the memory of processes is not used.
    conditions: Conditions,
    images: Mutex<Made>,
    /// The threads of traces that no record has.
    unknown: Mutex<BTreeSet<u32>>,
    /// The threads of traces, virtual CPUs, that execute EL0 of a guest.
    guest_users: Mutex<BTreeSet<u32>>,
}

/// The images that are stored for later use are not copied.
impl Clone for AddressSpaces {
    fn clone(&self) -> Self {
        AddressSpaces {
            spaces: self.spaces.clone(),
            common: self.common.clone(),
            processes: self.processes.clone(),
            guests: self.guests.clone(),
            threads: self.threads.clone(),
            modules: self.modules.clone(),
            added: self.added.clone(),
            missing: self.missing.clone(),
            conditions: self.conditions.clone(),
            images: Mutex::default(),
            unknown: Mutex::default(),
            guest_users: Mutex::default(),
        }
    }
}

/// The most threads that are listed: without a record, or in EL0 of a guest.
const MAX_UNKNOWN: usize = 1 << 6;

/// Adds a thread to a list of at most [`MAX_UNKNOWN`].
fn insert(threads: &Mutex<BTreeSet<u32>>, id: u32) {
    if let Ok(mut threads) = threads.lock() {
        threads.insert(id);
        // The same ones are left in whatever order buffers are decoded.
        if threads.len() > MAX_UNKNOWN {
            threads.pop_last();
        }
    }
}

impl AddressSpaces {
    /// Adds a file, and returns its index.
    pub fn add_module(&mut self, module: ModuleFile) -> u32 {
        self.modules.push(module);
        self.modules.len() as u32 - 1
    }

    /// The files that are mapped.
    pub fn modules(&self) -> &[ModuleFile] {
        &self.modules
    }

    /// The first and the last address of all memory that was loaded from each of
    /// [`modules`](Self::modules), in order, without what contains no bytes.
    pub fn loaded(&self) -> Vec<BTreeSet<(u64, u64)>> {
        let mut loaded = vec![BTreeSet::new(); self.modules.len()];
        let changes = self.spaces.iter().chain([&self.common]).flat_map(|s| &s.changes);
        let changed = changes.filter_map(|(_, change)| match change {
            Change::Load(regions) => Some(regions),
            Change::Clear => None,
        });
        for regions in changed.chain(self.added.iter().map(|(_, regions)| regions)) {
            for region in regions {
                let index = region.module().map_or(usize::MAX, |module| module.index as usize);
                if let (Some(parts), Some(last)) = (loaded.get_mut(index), region.last()) {
                    parts.insert((region.start(), last));
                }
            }
        }
        loaded
    }

    /// Uses images with conditions, over the memory that is common to all.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.conditions = conditions;
    }

    /// Adds memory over all that changes load: in `process`, or for `None` in every process and in
    /// code that is not of the system. What was added before is over it.
    pub fn add_image(&mut self, process: Option<u32>, regions: Vec<Region>) {
        if let Some(process) = process {
            // A process without mappings has an address space, too.
            self.space_of(process);
        }
        self.added.push((process, regions));
        self.images = Mutex::default();
    }

    /// The memory that was added, the highest first, and the process of each.
    pub fn added(&self) -> &[(Option<u32>, Vec<Region>)] {
        &self.added
    }

    /// `module` is mapped in `process` (`None`: in all of them), and was not found.
    pub fn add_missing(&mut self, process: Option<u32>, first: u64, len: u64, module: u32) {
        self.missing.add(process, first, len, module);
    }

    /// The file that was mapped at `address` of `memory`, and was not found: its index in
    /// [`modules`](Self::modules).
    pub fn missing_at(&self, memory: MemoryId, address: u64) -> Option<u32> {
        self.missing.at(self.process(memory), address)
    }

    /// Adds a change of the memory of `process` (`None`: of all of them). Changes are added in
    /// order of their moments.
    pub fn change(&mut self, process: Option<u32>, moment: u64, change: Change) {
        let space = match process {
            Some(process) => self.space_of(process),
            None => Some(&mut self.common),
        };
        let loads_nothing = matches!(&change, Change::Load(regions) if regions.is_empty());
        if let Some(space) = space.filter(|_| !loads_nothing) {
            space.changes.push((moment, change));
            self.images = Mutex::default();
        }
    }

    /// Adds a change of the memory of the guest's kernel with the virtual machine `machine`
    /// (`None`: of all guests without one of their own). Changes are added in order of their
    /// moments.
    pub fn change_guest(&mut self, machine: Option<u32>, moment: u64, change: Change) {
        let next = self.spaces.len() as u32;
        let index = *self.guests.entry(machine).or_insert(next);
        if index == next {
            self.spaces.push(Space { guest: true, ..Space::default() });
        }
        if let Some(space) = self.spaces.get_mut(index as usize) {
            space.changes.push((moment, change));
            self.images = Mutex::default();
        }
    }

    /// The number of changes, and of regions in them, that a child of `process` begins with.
    pub fn inherited(&self, process: u32) -> usize {
        let index = self.processes.get(&process);
        let space = index.and_then(|index| self.spaces.get(*index as usize));
        space.map_or(0, |space| space.current().iter().map(|(_, change)| change.count()).sum())
    }

    /// `child` begins with the memory that `parent` has: [`inherited`](Self::inherited) is what is
    /// stored for it.
    pub fn fork(&mut self, parent: u32, child: u32, moment: u64) {
        let inherited: Vec<_> = self.space_of(parent).map_or_else(Vec::new, |space| {
            space.current().iter().map(|(_, change)| (moment, change.clone())).collect()
        });
        if let Some(space) = self.space_of(child) {
            if !space.changes.is_empty() {
                space.changes.push((moment, Change::Clear));
            }
            space.changes.extend(inherited);
        }
        self.images = Mutex::default();
    }

    fn space_of(&mut self, process: u32) -> Option<&mut Space> {
        let next = self.spaces.len() as u32;
        let index = *self.processes.entry(process).or_insert(next);
        if index == next {
            self.spaces.push(Space { process: Some(process), ..Space::default() });
        }
        self.spaces.get_mut(index as usize)
    }

    /// `thread` is in this state from `moment` on.
    pub fn add_thread(&mut self, moment: u64, thread: Thread) {
        let states = self.threads.entry(thread.id).or_insert_with(|| Vec::with_capacity(1));
        if states.last().is_none_or(|(_, last)| *last != thread) {
            states.push((moment, thread));
        }
    }

    /// The state of thread `id` at `moment`; before the first record, its first state.
    pub fn thread(&self, id: u32, moment: u64) -> Option<&Thread> {
        let states = self.threads.get(&id)?;
        let n = states.partition_point(|(since, _)| *since <= moment);
        states.get(n.saturating_sub(1)).map(|(_, thread)| thread)
    }

    /// A trace has thread `id`.
    fn traced(&self, id: u32) {
        if self.threads.contains_key(&id) || self.processes.contains_key(&id) {
            return;
        }
        insert(&self.unknown, id);
    }

    /// The threads that no record has, of the traces that were followed.
    pub fn unknown_threads(&self) -> Vec<u32> {
        self.unknown.lock().map(|unknown| unknown.iter().copied().collect()).unwrap_or_default()
    }

    /// The threads, virtual CPUs, that execute EL0 of a guest in the traces that were followed. The
    /// processes of guests are not recorded.
    pub fn guest_users(&self) -> Vec<u32> {
        self.guest_users.lock().map(|users| users.iter().copied().collect()).unwrap_or_default()
    }

    /// All threads in their last states.
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.threads.values().filter_map(|states| states.last().map(|(_, thread)| thread))
    }

    /// The memory of `thread` at `moment`. A thread without a record has the memory of the process
    /// with its number, if there is one, else the common memory only.
    pub fn memory(&self, thread: Option<u32>, moment: u64) -> MemoryId {
        let process = thread.map(|id| self.thread(id, moment).map_or(id, |thread| thread.process));
        let space = process.and_then(|process| self.processes.get(&process)).copied();
        let count = |space: &Space| space.changes.partition_point(|(at, _)| *at <= moment) as u32;
        let changes = space.and_then(|n| self.spaces.get(n as usize)).map_or(0, count);
        MemoryId { space: space.unwrap_or(NO_SPACE), changes, common: count(&self.common) }
    }

    /// The memory of the guest that `thread`, a virtual CPU, executes at `moment`.
    fn guest_memory(&self, thread: Option<u32>, moment: u64) -> MemoryId {
        let machine = thread.map(|id| self.thread(id, moment).map_or(id, |thread| thread.process));
        let own = machine.and_then(|machine| self.guests.get(&Some(machine)));
        let Some(&space) = own.or_else(|| self.guests.get(&None)) else { return MemoryId::OUTSIDE };
        let changes = self
            .spaces
            .get(space as usize)
            .map_or(0, |space| space.changes.partition_point(|(at, _)| *at <= moment) as u32);
        MemoryId { space, changes, common: 0 }
    }

    /// Whether memory changes after `from`, up to and including `to`.
    pub fn changes_between(&self, from: u64, to: u64) -> bool {
        let Ok(mut made) = self.images.lock() else { return true };
        let moments = made.moments.get_or_insert_with(|| {
            let changes = self.spaces.iter().chain([&self.common]).flat_map(|s| &s.changes);
            let mut moments: Vec<_> = changes.map(|(moment, _)| *moment).collect();
            moments.sort_unstable();
            moments.dedup();
            moments
        });
        let first = moments.partition_point(|at| *at <= from);
        moments.get(first).is_some_and(|at| *at <= to)
    }

    /// The process whose memory is `memory`; `None` for the common memory only.
    pub fn process(&self, memory: MemoryId) -> Option<u32> {
        self.spaces.get(memory.space as usize)?.process
    }

    /// Whether more than [`MAX_IMAGE_REGIONS`] regions were needed, so that images had no memory.
    pub fn needed_too_many(&self) -> bool {
        self.images.lock().is_ok_and(|made| made.exceeded)
    }

    /// The image of `memory`. It is made at the first call. Where images with more than
    /// [`MAX_IMAGE_REGIONS`] regions were made, it has no memory.
    pub fn image(&self, memory: MemoryId) -> Arc<Image> {
        if let Ok(mut made) = self.images.lock() {
            if let Some(image) = made.images.get(&memory) {
                return Arc::clone(image);
            }
            if made.total > MAX_IMAGE_REGIONS {
                made.exceeded = true;
                return Arc::default();
            }
        }
        let is_guest = self.spaces.get(memory.space as usize).is_some_and(|space| space.guest);
        let mut regions = match memory.space {
            OUTSIDE => Vec::new(),
            _ if is_guest => Vec::new(),
            IMAGES => self.common.regions(u32::MAX),
            _ => self.common.regions(memory.common),
        };
        regions.extend(self.conditions.regions(memory).cloned());
        if let Some(space) = self.spaces.get(memory.space as usize) {
            regions.extend(space.regions(memory.changes));
        }
        let own = self.spaces.get(memory.space as usize).map_or(0, |space| space.changes.len());
        let changes = self.common.changes.len() + own;
        let here = |process: &Option<u32>| match process {
            Some(process) => self.processes.get(process) == Some(&memory.space),
            None => true,
        };
        let added = self.added.iter().rev().filter(|(process, _)| here(process));
        regions.extend(added.flat_map(|(_, regions)| regions).cloned());
        let image = Arc::new(Image::new(regions));
        if let Ok(mut made) = self.images.lock() {
            if made.images.len() >= MAX_IMAGES || made.regions > MAX_REGIONS {
                made.images.clear();
                made.regions = 0;
            }
            made.regions += image.regions().len();
            made.total = made.total.saturating_add(image.regions().len().max(changes) + 1);
            made.images.insert(memory, Arc::clone(&image));
        }
        image
    }
}

impl Change {
    /// The number of regions, at least 1.
    pub fn count(&self) -> usize {
        match self {
            Change::Load(regions) => regions.len().max(1),
            Change::Clear => 1,
        }
    }
}

impl Space {
    /// The changes since the process executes its current program.
    fn current(&self) -> &[(u64, Change)] {
        let clear = |(_, change): &(u64, Change)| matches!(change, Change::Clear);
        let since = self.changes.iter().rposition(clear).map_or(0, |n| n + 1);
        self.changes.get(since..).unwrap_or_default()
    }

    /// The regions after `count` changes, the lowest first.
    fn regions(&self, count: u32) -> Vec<Region> {
        let (past, future) =
            self.changes.split_at_checked(count as usize).unwrap_or((&self.changes, &[]));
        let since = past.iter().rposition(|(_, change)| matches!(change, Change::Clear));
        let (old, current) = past.split_at(since.unwrap_or(0));
        let in_order = future.iter().rev().chain(old).chain(current);
        let loaded = in_order.filter_map(|(_, change)| match change {
            Change::Load(regions) => Some(regions),
            Change::Clear => None,
        });
        loaded.flatten().cloned().collect()
    }
}

/// What a trace source sees of the address spaces in one buffer.
#[derive(Clone, Debug)]
pub struct Viewpoint {
    /// The address spaces.
    pub spaces: Arc<AddressSpaces>,
    /// The identifier that selects the thread.
    pub key: ContextKey,
    /// The contexts that execute the system.
    pub host: Host,
    /// The thread that runs until the trace reports another.
    pub thread: Option<u32>,
    /// The moment of the buffer.
    pub moment: u64,
    /// The memory is that of the times in the trace, where they are known.
    pub clock: Option<Clock>,
}

/// The times of a trace whose memory changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// How timestamps are converted to moments.
    pub conversion: TimeConversion,
    /// The moment before the trace: it is the time up to the first timestamp.
    pub since: u64,
}

impl Viewpoint {
    /// The memory at the beginning of the buffer.
    pub fn start(&self) -> MemoryId {
        self.begin().memory
    }

    /// The selection of the memory at the beginning of the buffer.
    pub fn begin(&self) -> Selection {
        if self.spaces.conditions.is_empty() {
            let time = self.clock.map_or(self.moment, |clock| clock.since);
            let memory = self.spaces.memory(self.thread, time);
            return Selection { memory, time, ..Selection::default() };
        }
        self.spaces.conditions.begin()
    }

    /// Whether `element`, which is not a range, may select other memory.
    pub fn watches(&self, element: &Element) -> bool {
        match self.spaces.conditions.is_empty() {
            true => match element {
                Element::Context(_) => true,
                Element::Timestamp { .. } => self.clock.is_some(),
                _ => false,
            },
            false => self.spaces.conditions.watches(element),
        }
    }

    /// Whether the execution of a range may select other memory.
    pub fn watches_addresses(&self) -> bool {
        self.spaces.conditions.watches_addresses()
    }

    fn has_conditions(&self) -> bool {
        !self.spaces.conditions.is_empty()
    }

    /// Whether the memory depends on more than the context.
    pub(crate) fn is_watched(&self) -> bool {
        self.has_conditions() || self.clock.is_some()
    }

    /// Follows what `element` selects. Returns whether it is other memory.
    pub fn follow(&self, selection: &mut Selection, element: &Element) -> bool {
        let before = selection.memory;
        if self.has_conditions() {
            self.spaces.conditions.follow(selection, element);
        } else {
            match (element, &self.clock) {
                (Element::Context(context), clock) => {
                    self.host.enter(selection, context);
                    if selection.in_guest && context.el == Some(0) {
                        insert(&self.spaces.guest_users, self.traced_id(context).unwrap_or(0));
                    }
                    if let Some(id) = self.traced_id(context).filter(|_| !selection.outside) {
                        self.spaces.traced(id);
                    }
                    if clock.is_some() {
                        (selection.context_id, selection.vmid) = (context.context_id, context.vmid);
                    }
                    let time = clock.map_or(self.moment, |_| selection.time);
                    let thread = self.thread_id(context);
                    selection.memory = self.memory_at(selection, thread, time);
                }
                (Element::Timestamp { value, .. }, Some(clock)) => {
                    let (context_id, vmid) = (selection.context_id, selection.vmid);
                    let context = Context { context_id, vmid, ..Context::default() };
                    // The record is later than its trace.
                    selection.time = clock.conversion.nanoseconds(*value).min(self.moment);
                    let thread = self.thread_id(&context);
                    selection.memory = self.memory_at(selection, thread, selection.time);
                }
                _ => {}
            }
        }
        selection.memory != before
    }

    /// Follows what the execution of `bytes` bytes of code from `start` on selects.
    pub(crate) fn executed(&self, selection: &mut Selection, start: u64, bytes: u32) {
        self.spaces.conditions.executed(selection, start, bytes);
    }

    /// The memory of `context` at the moment of the buffer, whatever precedes it.
    pub fn memory(&self, context: &Context) -> MemoryId {
        let mut selection = Selection::default();
        self.host.enter(&mut selection, context);
        self.memory_at(&selection, self.thread_id(context), self.moment)
    }

    fn memory_at(&self, selection: &Selection, thread: Option<u32>, time: u64) -> MemoryId {
        match (selection.outside, selection.in_guest) {
            (true, true) => self.spaces.guest_memory(thread, time),
            (true, false) => MemoryId::OUTSIDE,
            (false, _) => self.spaces.memory(thread, time),
        }
    }

    /// The number of the thread that executes in `context`. Number 0 is not that of a thread: it is
    /// traced for tasks whose number is not traced.
    pub fn thread_id(&self, context: &Context) -> Option<u32> {
        self.traced_id(context).or(self.thread)
    }

    /// The number of the thread in `context`.
    fn traced_id(&self, context: &Context) -> Option<u32> {
        let id = match self.key {
            ContextKey::ContextId => context.context_id,
            ContextKey::Vmid => context.vmid,
        };
        id.filter(|&id| id != 0)
    }

    /// The thread that executes in `context`.
    pub fn thread(&self, context: &Context) -> Option<&Thread> {
        self.spaces.thread(self.thread_id(context)?, self.moment)
    }
}

#[cfg(test)]
mod tests;
