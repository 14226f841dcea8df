//! Program memory of a decode tree: files, buffers, and callbacks of the client.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

use tracewright_base::{
    Block, BlockCache, Code, Context, Instruction, Isa, Miss, Pc, Reserve, Space, Waypoints,
};
use tracewright_image::{
    BlockMaker, Bytes, Cache, CacheOptions, Image, OpcodeCheck, ReadCode, Region, SpaceMask, View,
};
use tracewright_opencsd::client::codes::Error;
use tracewright_opencsd::client::element::memory_space;

/// Reads memory for the client's `context` at an address of a memory space.
pub type ReadMemory = unsafe extern "C" fn(*const c_void, u64, u32, u32, *mut u8) -> u32;

/// The same, with the trace ID of the source.
pub type ReadMemoryOfSource =
    unsafe extern "C" fn(*const c_void, u64, u32, u8, u32, *mut u8) -> u32;

/// A callback of the client and its context.
#[derive(Clone, Copy, Debug)]
pub struct Callback<F> {
    /// The function.
    pub function: F,
    /// What it is called with.
    pub context: *const c_void,
}

/// Where the bytes of an accessor are.
#[derive(Clone, Debug)]
pub enum Content {
    /// In this library.
    Bytes(Bytes),
    /// The client reads them.
    Read(Callback<ReadMemory>),
    /// The client reads them, and wants the trace ID.
    ReadOfSource(Callback<ReadMemoryOfSource>),
}

/// A range of addresses.
#[derive(Clone, Debug)]
pub struct Accessor {
    /// The first address.
    pub first: u64,
    /// The last address.
    pub last: u64,
    /// Bits of `ocsd_mem_space_acc_t`.
    pub spaces: u32,
    /// The bytes.
    pub content: Content,
    /// The name of the file that they were read from.
    pub file: Option<Arc<str>>,
    /// Ranges of one call have the same number and are removed together.
    pub group: usize,
}

/// Every space, in headers before 1.4.2.
const OLD_ANY: u32 = 0x1f;
/// Every space.
const ANY: u32 = 0xff;

/// The program memory of a tree.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    accessors: Vec<Accessor>,
    groups: usize,
    /// Counts changes.
    version: u64,
    has_callbacks: bool,
    image: Option<Arc<Image>>,
    caches: Vec<SharedCache>,
}

/// The block cache of the decoders whose blocks end at the same instructions.
#[derive(Clone, Debug)]
struct SharedCache {
    waypoints: Waypoints,
    check: OpcodeCheck,
    cache: Cache,
    /// The version of the memory that its blocks are of.
    version: Option<u64>,
}

impl Memory {
    /// Adds ranges that belong together, of `file` if they are those of a file: first address, last
    /// address, content.
    ///
    /// # Errors
    /// Invalid or overlapping ranges. Nothing is added then.
    pub fn add(
        &mut self,
        ranges: Vec<(u64, u64, Content)>,
        spaces: u32,
        file: Option<&str>,
    ) -> Result<(), Error> {
        let spaces = if spaces == OLD_ANY { ANY } else { spaces };
        for (n, (first, last, _)) in ranges.iter().enumerate() {
            // Instructions are halfwords.
            if first >= last || !first.is_multiple_of(2) || last.is_multiple_of(2) {
                return Err(Error::MEM_ACC_RANGE_INVALID);
            }
            let overlaps = |a: u64, b: u64| a <= *last && *first <= b;
            let old = self.accessors.iter().any(|accessor| {
                accessor.spaces & spaces != 0 && overlaps(accessor.first, accessor.last)
            });
            if old || ranges.iter().take(n).any(|&(first, last, _)| overlaps(first, last)) {
                return Err(Error::MEM_ACC_OVERLAP);
            }
        }
        self.groups += 1;
        let group = self.groups;
        let file: Option<Arc<str>> = file.map(Arc::from);
        self.accessors.extend(ranges.into_iter().map(|(first, last, content)| Accessor {
            first,
            last,
            spaces,
            content,
            file: file.clone(),
            group,
        }));
        self.changed();
        Ok(())
    }

    /// Removes the ranges that were added with one at `address`.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self, address: u64, spaces: u32) -> Result<(), Error> {
        let found = self.find(address, spaces).ok_or(Error::INVALID_PARAM_VAL)?.group;
        self.accessors.retain(|accessor| accessor.group != found);
        self.changed();
        Ok(())
    }

    fn changed(&mut self) {
        self.version += 1;
        self.image = None;
        self.has_callbacks =
            self.accessors.iter().any(|accessor| !matches!(accessor.content, Content::Bytes(_)));
    }

    fn find(&self, address: u64, spaces: u32) -> Option<&Accessor> {
        self.accessors.iter().find(|accessor| {
            (accessor.first..=accessor.last).contains(&address) && accessor.spaces & spaces != 0
        })
    }

    /// Whether memory was ever added.
    pub fn was_added(&self) -> bool {
        self.groups > 0
    }

    /// The ranges.
    pub fn accessors(&self) -> &[Accessor] {
        &self.accessors
    }

    /// Whether the client reads some of the memory.
    pub fn has_callbacks(&self) -> bool {
        self.has_callbacks
    }

    /// Reads memory of a space at `address` for source `id`. Returns the number of known bytes.
    pub fn read(&self, address: u64, space: u32, id: u8, out: &mut [u8]) -> usize {
        let pages = std::cell::RefCell::default();
        let reader = PageReader { memory: self, pages, space, id };
        reader.read(View::ONLY, address, u64::MAX, out)
    }

    /// Makes a cache of the blocks of a decoder, where no other decoder has the same one. Returns
    /// its number, for [`cache`](Self::cache).
    pub fn share_cache(&mut self, waypoints: Waypoints, check: OpcodeCheck) -> usize {
        let same = |own: &SharedCache| (own.waypoints, own.check) == (waypoints, check);
        self.caches.iter().position(same).unwrap_or_else(|| {
            let options = CacheOptions { check_opcodes: check, ..CacheOptions::default() };
            let cache = Cache::new(Arc::default(), waypoints, options);
            self.caches.push(SharedCache { waypoints, check, cache, version: None });
            self.caches.len() - 1
        })
    }

    /// The cache with a number, of the memory that is in this library.
    pub fn cache(&mut self, number: usize) -> Option<&mut Cache> {
        let version = Some(self.version);
        if self.caches.get(number)?.version != version {
            let image = Arc::clone(self.image());
            let shared = self.caches.get_mut(number)?;
            shared.cache.set_image(image);
            shared.version = version;
        }
        Some(&mut self.caches.get_mut(number)?.cache)
    }

    /// All of the memory that is in this library.
    fn image(&mut self) -> &Arc<Image> {
        let accessors = &self.accessors;
        self.image.get_or_insert_with(|| {
            Arc::new(Image::new(accessors.iter().filter_map(|accessor| match &accessor.content {
                Content::Bytes(bytes) => {
                    let region = Region::new("memory", accessor.first, bytes.clone());
                    Some(region.within(space_mask(accessor.spaces)))
                }
                _ => None,
            })))
        })
    }
}

/// The set of spaces that the bits are.
fn space_mask(bits: u32) -> SpaceMask {
    const EACH: [SpaceMask; 8] = [
        SpaceMask::EL1S,
        SpaceMask::EL1N,
        SpaceMask::EL2N,
        SpaceMask::EL3,
        SpaceMask::EL2S,
        SpaceMask::EL1R,
        SpaceMask::EL2R,
        SpaceMask::ROOT,
    ];
    let none = SpaceMask::EL1S & SpaceMask::EL1N;
    EACH.iter()
        .filter(|space| u32::from(space.bits()) & bits != 0)
        .fold(none, |set, &space| set | space)
}

/// Memory is read in pieces that do not cross multiples of this.
const PAGE: u64 = 1 << 10;

/// The pieces of each page of a space, each with the address of its first byte.
type Pages = HashMap<(u64, u32), Vec<(u64, Vec<u8>)>>;

/// The most pieces and blocks that are stored. Beyond it they are dropped.
const MAX_PAGES: usize = 1 << 14;
const MAX_BLOCKS: usize = 1 << 17;

/// The memory of one context that a client has read, and its blocks.
///
/// It is dropped at each change of the context, because the client may select other memory then.
#[derive(Clone, Debug)]
pub struct Fetched {
    maker: BlockMaker,
    checks_opcodes: bool,
    pages: Pages,
    blocks: HashMap<(u64, Isa, Space), Block>,
    context: Option<Context>,
    version: u64,
    result: Block,
    reserve: Reserve,
}

impl Fetched {
    /// Nothing was read.
    pub fn new(waypoints: Waypoints, check: OpcodeCheck) -> Self {
        Fetched {
            maker: BlockMaker::new(waypoints, check),
            checks_opcodes: check == OpcodeCheck::Undefined,
            pages: HashMap::new(),
            blocks: HashMap::new(),
            context: None,
            version: 0,
            result: Block::default(),
            reserve: Reserve::default(),
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.blocks.clear();
        self.context = None;
    }
}

/// Program memory for a decoder, some of which the client reads.
#[derive(Debug)]
pub struct ClientCode<'a> {
    memory: &'a Memory,
    fetched: &'a mut Fetched,
    id: u8,
    /// Whether the client waits for a flush: memory of a context that it has not received is not
    /// read.
    waits: &'a std::cell::Cell<bool>,
    /// A context was decoded that the client has not received.
    ahead: bool,
    /// Memory of such a context was asked for.
    pub blocked: &'a std::cell::Cell<bool>,
}

impl<'a> ClientCode<'a> {
    /// The memory of source `id`.
    pub fn new(
        memory: &'a Memory,
        fetched: &'a mut Fetched,
        id: u8,
        waits: &'a std::cell::Cell<bool>,
        blocked: &'a std::cell::Cell<bool>,
    ) -> Self {
        if fetched.version != memory.version {
            fetched.clear();
            fetched.version = memory.version;
        }
        ClientCode { memory, fetched, id, waits, ahead: false, blocked }
    }

    fn is_blocked(&self) -> bool {
        if self.ahead {
            self.blocked.set(true);
        }
        self.ahead
    }

    /// Calls `make` with the memory of `pc`.
    fn read<T>(&mut self, pc: Pc, make: impl FnOnce(&BlockMaker, &PageReader<'_>) -> T) -> T {
        if self.fetched.pages.len() > MAX_PAGES {
            self.fetched.pages.clear();
        }
        let reader = PageReader {
            memory: self.memory,
            pages: std::cell::RefCell::new(std::mem::take(&mut self.fetched.pages)),
            space: memory_space(pc.space),
            id: self.id,
        };
        let made = make(&self.fetched.maker, &reader);
        self.fetched.pages = reader.pages.into_inner();
        made
    }
}

impl Code for ClientCode<'_> {
    fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
        if self.is_blocked() {
            return Err(Miss { address: pc.address });
        }
        let key = (pc.address & pc.isa.address_mask(), pc.isa, pc.space);
        if let Some(block) = self.fetched.blocks.get(&key) {
            self.fetched.result = *block;
            return Ok(&self.fetched.result);
        }
        let block = self.read(pc, |maker, reader| maker.block(reader, pc))?;
        if self.fetched.blocks.len() > MAX_BLOCKS {
            self.fetched.blocks.clear();
        }
        if block.end == tracewright_base::End::Waypoint {
            self.fetched.blocks.insert(key, block);
        }
        self.fetched.result = block;
        Ok(&self.fetched.result)
    }

    fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
        if self.is_blocked() {
            return Err(Miss { address: pc.address });
        }
        self.read(pc, |maker, reader| maker.instruction(reader, pc))
    }

    fn opcode(&mut self, pc: Pc) -> Option<u32> {
        if self.is_blocked() {
            return None;
        }
        self.read(pc, |maker, reader| maker.opcode(reader, pc))
    }

    fn checks_opcodes(&self) -> bool {
        self.fetched.checks_opcodes
    }

    fn enter_context(&mut self, context: &Context) {
        if self.fetched.context == Some(*context) {
            return;
        }
        self.fetched.clear();
        self.fetched.context = Some(*context);
        self.ahead |= self.waits.get();
    }

    fn work_reserve(&self) -> Reserve {
        self.fetched.reserve
    }

    fn set_work_reserve(&mut self, reserve: Reserve) {
        self.fetched.reserve = reserve;
    }
}

impl BlockCache for ClientCode<'_> {}

/// Reads memory and stores what was read.
struct PageReader<'a> {
    memory: &'a Memory,
    pages: std::cell::RefCell<Pages>,
    space: u32,
    id: u8,
}

impl ReadCode for PageReader<'_> {
    fn read(&self, _: View, address: u64, mask: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let copied = self.copy(address.wrapping_add(done as u64) & mask, rest);
            if copied == 0 {
                break;
            }
            done += copied;
        }
        done
    }
}

impl PageReader<'_> {
    /// Copies bytes from `at` on, as far as they are in one piece.
    fn copy(&self, at: u64, out: &mut [u8]) -> usize {
        let Some(accessor) = self.memory.find(at, self.space) else { return 0 };
        if let Content::Bytes(bytes) = &accessor.content {
            return copy(bytes.run(at - accessor.first), out);
        }
        let page = at & !(PAGE - 1);
        let mut pages = self.pages.borrow_mut();
        let pieces = pages.entry((page, self.space)).or_default();
        for (start, bytes) in pieces.iter() {
            if let Some(offset) = at.checked_sub(*start)
                && let Some(known @ [_, ..]) = bytes.get(offset as usize..)
            {
                return copy(known, out);
            }
        }
        let last = accessor.last.min(page | (PAGE - 1));
        // Memory may be known from an address inside the page on.
        for start in [accessor.first.max(page), at] {
            let bytes = self.call(accessor, start, (last - start + 1) as usize);
            let known = bytes.get((at - start) as usize..).unwrap_or_default();
            if !known.is_empty() {
                let copied = copy(known, out);
                pieces.push((start, bytes));
                return copied;
            }
        }
        0
    }

    /// Asks the client for `len` bytes at `start`.
    fn call(&self, accessor: &Accessor, start: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let buffer = bytes.as_mut_ptr();
        let read = match accessor.content {
            Content::Bytes(_) => 0,
            Content::Read(Callback { function, context }) => {
                // SAFETY: the client passed this function with this context for as long as the tree
                // exists; `buffer` has room for `len` bytes.
                unsafe { function(context, start, self.space, len as u32, buffer) }
            }
            Content::ReadOfSource(Callback { function, context }) => {
                // SAFETY: as above.
                unsafe { function(context, start, self.space, self.id, len as u32, buffer) }
            }
        };
        // A client that claims more than it was asked for has written past the buffer, or lies.
        bytes.truncate(if read as usize > len { 0 } else { read as usize });
        bytes
    }
}

fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let len = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
        to.copy_from_slice(from);
    }
    len
}
