//! Memory that a caller reads while a trace is decoded, such as that of a connected target.

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::bytes::{Bytes, OnDemand};
use crate::region::Region;
use crate::space::SpaceMask;

/// What is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// The address of the first byte.
    pub address: u64,
    /// The address space, one bit; [`SpaceMask::ANY`] where the reader does not
    /// [depend on it](ReadMemory::by_space).
    pub space: SpaceMask,
    /// The index of the source in the capture, where the answer depends on it.
    pub source: Option<usize>,
}

/// The answer to a [`ReadRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAnswer {
    /// As many bytes from the address on were read, perhaps fewer than there was room for; 0 is
    /// [`Absent`](ReadAnswer::Absent).
    Bytes(usize),
    /// There is no memory at the address.
    Absent,
    /// The byte at the address is not known yet: the reader is to be asked again.
    Later,
}

/// Reads memory for decoders, perhaps from several threads at once.
pub trait ReadMemory: Debug + Send + Sync {
    /// Reads bytes from an address on into `into`.
    fn read(&self, request: ReadRequest, into: &mut [u8]) -> ReadAnswer;

    /// Whether the answer depends on the address space.
    fn by_space(&self) -> bool {
        false
    }

    /// Whether the answer depends on the source.
    fn by_source(&self) -> bool {
        false
    }
}

/// The memory of a [`ReadMemory`], and what was read of it. What was read stays, and so does the
/// answer that there is none, until all is [forgotten](LiveMemory::forget).
#[derive(Debug)]
pub struct LiveMemory {
    reader: Arc<dyn ReadMemory>,
    late: Arc<AtomicU64>,
    /// The regions of each source; of all sources, where they have the same.
    regions: Mutex<Vec<(Option<usize>, Vec<Region>)>>,
}

impl LiveMemory {
    /// Nothing is read yet.
    pub fn new(reader: Arc<dyn ReadMemory>) -> LiveMemory {
        LiveMemory { reader, late: Arc::default(), regions: Mutex::default() }
    }

    /// The number of answers [`ReadAnswer::Later`] so far. Where it changes while a part of a trace
    /// is decoded, that part may lack code.
    pub fn late(&self) -> u64 {
        self.late.load(Ordering::Acquire)
    }

    /// `source`, where the answer depends on it.
    pub fn source(&self, source: usize) -> Option<usize> {
        self.reader.by_source().then_some(source)
    }

    /// Regions, the whole address space, whose bytes are read when they are needed.
    pub fn regions(&self, source: usize) -> Vec<Region> {
        let source = self.source(source);
        let mut known = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, regions)) = known.iter().find(|(own, _)| *own == source) {
            return regions.clone();
        }
        // Where the context is not known, the last region is read: Non-secure EL1.
        const SPACES: [SpaceMask; 8] = [
            SpaceMask::ROOT,
            SpaceMask::EL2R,
            SpaceMask::EL1R,
            SpaceMask::EL3,
            SpaceMask::EL2S,
            SpaceMask::EL1S,
            SpaceMask::EL2N,
            SpaceMask::EL1N,
        ];
        let spaces = if self.reader.by_space() { &SPACES[..] } else { &[SpaceMask::ANY] };
        let halves = spaces.iter().flat_map(|space| [(*space, 0), (*space, 1 << 63)]);
        let regions: Vec<_> = halves
            .map(|(space, start)| {
                let (reader, late) = (Arc::clone(&self.reader), Arc::clone(&self.late));
                let first = ReadRequest { address: start, space, source };
                let half = Half { reader, late, first, pages: Slots::default() };
                Region::new("memory that is read", start, Bytes::on_demand(Arc::new(half)))
                    .within(space)
            })
            .collect();
        known.push((source, regions.clone()));
        regions
    }

    /// Forgets what was read. The regions so far have it: the images and caches that have them are
    /// to be replaced.
    pub fn forget(&self) {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The length of a page, which is read at once.
const PAGE: u64 = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 10;

/// A page that the reader does not have as a whole is read in parts of this length: that of the
/// shortest instruction.
const PART: usize = 2;

/// Number of bits of a page's number that each level of the tree takes.
const LEVEL_BITS: u32 = 9;
const SLOTS: usize = 1 << LEVEL_BITS;

/// Half of an address space. What is read of it is added to a tree, and never removed.
#[derive(Debug)]
struct Half {
    reader: Arc<dyn ReadMemory>,
    late: Arc<AtomicU64>,
    first: ReadRequest,
    pages: Slots,
}

/// The bytes of a part, and how many of them are known.
type Part = OnceLock<([u8; PART], usize)>;

/// A node of the tree. Most of them are empty.
#[derive(Debug, Default)]
struct Slots(OnceLock<Box<[OnceLock<Slot>]>>);

#[derive(Debug)]
enum Slot {
    Slots(Slots),
    /// All bytes of a page.
    Page(Box<[u8]>),
    /// The parts of a page, each with the number of known bytes.
    Parts(Box<[Part]>),
}

impl Slots {
    fn slot(&self, index: u64) -> Option<&OnceLock<Slot>> {
        let slots = self.0.get_or_init(|| (0..SLOTS).map(|_| OnceLock::new()).collect());
        slots.get(index as usize % SLOTS)
    }
}

impl Half {
    /// Reads `into` from `offset` on. `None` where it is not known yet, otherwise the number of
    /// bytes.
    fn request(&self, offset: u64, into: &mut [u8]) -> Option<usize> {
        let address = self.first.address.wrapping_add(offset);
        match self.reader.read(ReadRequest { address, ..self.first }, into) {
            ReadAnswer::Bytes(count) => Some(count.min(into.len())),
            ReadAnswer::Absent => Some(0),
            ReadAnswer::Later => {
                self.late.fetch_add(1, Ordering::AcqRel);
                None
            }
        }
    }

    /// The slot of the page at `offset`. `None` where it is not known yet.
    fn page(&self, offset: u64) -> Option<&Slot> {
        let number = offset >> PAGE_BITS;
        let mut slots = &self.pages;
        for level in (1..6).rev() {
            let slot = slots.slot(number >> (level * LEVEL_BITS))?;
            match slot.get_or_init(|| Slot::Slots(Slots::default())) {
                Slot::Slots(below) => slots = below,
                _ => return None,
            }
        }
        let slot = slots.slot(number)?;
        if let Some(page) = slot.get() {
            return Some(page);
        }
        let mut page = vec![0; PAGE as usize];
        let count = self.request(offset / PAGE * PAGE, &mut page);
        let parts = || (0..PAGE as usize / PART).map(|_| OnceLock::new()).collect();
        match count {
            Some(count) if count == page.len() => {
                Some(slot.get_or_init(|| Slot::Page(page.into())))
            }
            Some(_) => Some(slot.get_or_init(|| Slot::Parts(parts()))),
            None => None,
        }
    }
}

impl OnDemand for Half {
    fn size(&self) -> u64 {
        1 << 63
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let run = self.run(offset);
        let len = run.len().min(into.len());
        if let (Some(into), Some(run)) = (into.get_mut(..len), run.get(..len)) {
            into.copy_from_slice(run);
        }
        Ok(len)
    }

    /// Nothing: there is no room for half an address space.
    fn all(&self) -> &[u8] {
        &[]
    }

    fn run(&self, offset: u64) -> &[u8] {
        let within = (offset % PAGE) as usize;
        match self.page(offset) {
            Some(Slot::Page(page)) => page.get(within..).unwrap_or_default(),
            Some(Slot::Parts(parts)) => {
                let Some(part) = parts.get(within / PART) else { return &[] };
                if part.get().is_none() {
                    let mut bytes = [0; PART];
                    let start = offset / PART as u64 * PART as u64;
                    let Some(count) = self.request(start, &mut bytes) else { return &[] };
                    // Another thread may have been faster.
                    let _ = part.set((bytes, count));
                }
                let known = part.get().and_then(|(bytes, count)| bytes.get(..*count));
                known.and_then(|known| known.get(within % PART..)).unwrap_or_default()
            }
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use tracewright_base::{Security, Space};

    use super::*;
    use crate::image::Image;

    /// Bytes at 0x1003..0x2005, and at the top; in EL2, other ones.
    #[derive(Debug, Default)]
    struct Target {
        late: AtomicBool,
        requests: AtomicU64,
    }

    impl ReadMemory for Target {
        fn read(&self, request: ReadRequest, into: &mut [u8]) -> ReadAnswer {
            self.requests.fetch_add(1, Ordering::Relaxed);
            if self.late.load(Ordering::Relaxed) {
                return ReadAnswer::Later;
            }
            let other = u8::from(request.space == SpaceMask::EL2N);
            let known = |at: u64| (0x1003..0x2005).contains(&at) || at >= u64::MAX - 7;
            let mut count = 0;
            for (at, byte) in (request.address..=u64::MAX).zip(into) {
                if !known(at) {
                    break;
                }
                *byte = at as u8 ^ other;
                count += 1;
            }
            if count == 0 { ReadAnswer::Absent } else { ReadAnswer::Bytes(count) }
        }

        fn by_space(&self) -> bool {
            true
        }
    }

    fn read(image: &Image, space: Space, address: u64) -> Vec<u8> {
        let mut out = [0; 8];
        let count = image.read(image.view(space), address, u64::MAX, &mut out);
        out[..count].to_vec()
    }

    #[test]
    fn memory_is_read_where_it_is_and_once() {
        let target = Arc::new(Target::default());
        let live = LiveMemory::new(target.clone());
        let image = Image::new(live.regions(0));
        let el1 = Space::new(Some(1), Some(Security::NonSecure));
        let el2 = Space::new(Some(2), Some(Security::NonSecure));
        let bytes = |from: u64, len: u64| (from..from + len).map(|at| at as u8).collect::<Vec<_>>();
        // The first part with a known byte begins before it: parts are as long as an instruction.
        for (address, len) in [(0x1004, 8), (0x13fe, 8), (0x1800, 8), (0x1ffc, 8), (0x2004, 1)] {
            assert_eq!(read(&image, el1, address), bytes(address, len), "{address:#x}");
        }
        assert_eq!(read(&image, el1, 0x1000), []);
        assert_eq!(read(&image, el1, 0x2006), []);
        assert_eq!(read(&image, Space::ANY, 0x1800), bytes(0x1800, 8));
        assert_eq!(read(&image, el2, 0x1800)[..2], [1, 0]);
        assert_eq!(read(&image, el1, u64::MAX - 3), [0xfc, 0xfd, 0xfe, 0xff]);
        let before = target.requests.load(Ordering::Relaxed);
        assert_eq!(read(&image, el1, 0x1800), bytes(0x1800, 8));
        assert_eq!(read(&image, el1, 0x1000), []);
        assert_eq!(target.requests.load(Ordering::Relaxed), before);
        assert_eq!(live.late(), 0);
    }

    #[test]
    fn late_answers_are_counted_and_asked_for_again() {
        let target = Arc::new(Target::default());
        let live = LiveMemory::new(target.clone());
        let image = Image::new(live.regions(0));
        target.late.store(true, Ordering::Relaxed);
        assert_eq!(read(&image, Space::ANY, 0x1804), []);
        assert!(live.late() > 0);
        target.late.store(false, Ordering::Relaxed);
        assert_eq!(read(&image, Space::ANY, 0x1804).len(), 8);
        // What was read stays, until it is forgotten.
        target.late.store(true, Ordering::Relaxed);
        assert_eq!(read(&Image::new(live.regions(0)), Space::ANY, 0x1804).len(), 8);
        live.forget();
        assert_eq!(read(&Image::new(live.regions(0)), Space::ANY, 0x1804), []);
    }
}
