//! Shared bytes.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The owner of shared bytes in memory.
pub type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Bytes outside of memory, such as a large file, which are read when they are needed.
pub trait OnDemand: fmt::Debug + Send + Sync {
    /// The number of bytes.
    fn size(&self) -> u64;

    /// Reads bytes from `offset` on into `into`, and returns their number; 0 only at the end.
    ///
    /// # Errors
    /// Where the bytes cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// All bytes, which stay in memory from the first call on. Bytes that cannot be read are
    /// missing at the end, and so are those of which there are more than memory has addresses.
    fn all(&self) -> &[u8];

    /// Bytes from `offset` on, at least one, which stay in memory from the first call on. Empty at
    /// the end, and where they cannot be read.
    fn run(&self, offset: u64) -> &[u8] {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        self.all().get(offset..).unwrap_or_default()
    }
}

/// A part of shared bytes. A clone copies no bytes.
#[derive(Clone)]
pub struct Bytes {
    holder: Holder,
    start: u64,
    len: u64,
}

#[derive(Clone)]
enum Holder {
    Memory(Owner),
    OnDemand(Arc<dyn OnDemand>),
}

impl Bytes {
    /// All bytes of `owner`.
    pub fn new(owner: Owner) -> Self {
        let len = (*owner).as_ref().len() as u64;
        Bytes { holder: Holder::Memory(owner), start: 0, len }
    }

    /// All bytes of `source`, which are read into memory as a whole at the first access to any of
    /// them. [`Bytes::head`] and [`Bytes::reader`] read only what is requested.
    pub fn on_demand(source: Arc<dyn OnDemand>) -> Self {
        let len = source.size();
        Bytes { holder: Holder::OnDemand(source), start: 0, len }
    }

    /// The number of bytes. Reads nothing.
    pub fn size(&self) -> u64 {
        self.len
    }

    /// The number of bytes, or the greatest number of bytes that memory can have. Reads nothing.
    /// [`Bytes::size`] is exact on machines of 32 bits, too.
    pub fn len(&self) -> usize {
        in_memory(self.len)
    }

    /// Whether there are no bytes. Reads nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes from `offset` on, at most `len` of them. The part ends at the end of the bytes.
    #[must_use]
    pub fn part(&self, offset: u64, len: u64) -> Bytes {
        let Range { start, end } = clip(self.len, offset, len);
        Bytes { holder: self.holder.clone(), start: self.start + start, len: end - start }
    }

    /// The first bytes: at most `most`, fewer where they cannot be read.
    pub fn head(&self, most: usize) -> Cow<'_, [u8]> {
        match &self.holder {
            Holder::Memory(_) => Cow::Borrowed((**self).get(..most).unwrap_or(self)),
            Holder::OnDemand(_) => {
                let mut head = Vec::new();
                // Bytes that were read before an error remain.
                let _ = self.reader().take(most as u64).read_to_end(&mut head);
                Cow::Owned(head)
            }
        }
    }

    /// Whether the bytes are in memory from the beginning.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.holder, Holder::Memory(_))
    }

    /// Bytes from `offset` on: at least one, possibly not all. Of bytes outside of memory, only
    /// some around `offset` are read. Empty at the end.
    pub fn run(&self, offset: u64) -> &[u8] {
        let Holder::OnDemand(source) = &self.holder else {
            return self.get(in_memory(offset)..).unwrap_or_default();
        };
        let Some(left) = self.len.checked_sub(offset) else { return &[] };
        let run = source.run(self.start + offset);
        usize::try_from(left).ok().and_then(|left| run.get(..left)).unwrap_or(run)
    }

    /// A reader of the bytes.
    pub fn reader(&self) -> BytesReader {
        BytesReader { bytes: self.clone(), at: 0 }
    }
}

/// A reader of [`Bytes`]. Bytes outside of memory are read as they are requested.
#[derive(Clone, Debug)]
pub struct BytesReader {
    bytes: Bytes,
    at: u64,
}

impl Read for BytesReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Bytes { holder, start, len } = &self.bytes;
        let room = in_memory(len - self.at.min(*len)).min(into.len());
        let Some(into) = into.get_mut(..room).filter(|into| !into.is_empty()) else {
            return Ok(0);
        };
        let read = match holder {
            Holder::OnDemand(source) => source.read_at(start + self.at, into)?.min(room),
            Holder::Memory(_) => {
                let from = self.bytes.get(in_memory(self.at)..).unwrap_or_default();
                let some = room.min(from.len());
                if let (Some(into), Some(from)) = (into.get_mut(..some), from.get(..some)) {
                    into.copy_from_slice(from);
                }
                some
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}

/// The part of `0..size` that `len` bytes from `offset` cover.
fn clip(size: u64, offset: u64, len: u64) -> Range<u64> {
    let start = offset.min(size);
    start..start + len.min(size - start)
}

/// A number of bytes as one of bytes in memory, of which there are at most `usize::MAX`.
fn in_memory(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all = match &self.holder {
            Holder::Memory(owner) => (**owner).as_ref(),
            Holder::OnDemand(source) => source.all(),
        };
        // The owner may have become shorter.
        let end = all.len().min(in_memory(self.start + self.len));
        all.get(in_memory(self.start)..end).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Bytes::from(Vec::new())
    }
}

/// Equal if the contents are. Equal parts of the same owner are equal without a comparison.
impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        if let (Holder::OnDemand(mine), Holder::OnDemand(its)) = (&self.holder, &other.holder)
            && Arc::ptr_eq(mine, its)
            && (self.start, self.len) == (other.start, other.len)
        {
            return true;
        }
        if self.len != other.len {
            return false;
        }
        let (mine, its): (&[u8], &[u8]) = (self, other);
        std::ptr::eq(mine, its) || mine == its
    }
}

impl Eq for Bytes {}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Self {
        Bytes::new(Arc::new(bytes))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::new(Arc::new(bytes))
    }
}

impl From<Arc<[u8]>> for Bytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Bytes::new(Arc::new(bytes))
    }
}

impl From<Owner> for Bytes {
    fn from(owner: Owner) -> Self {
        Bytes::new(owner)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn parts_stay_within_their_whole() {
        let whole = Bytes::from(vec![0, 1, 2, 3, 4, 5, 6, 7]);
        let inner = whole.part(2, 4);
        for (bytes, offset, len, want) in [
            (&whole, 0, u64::MAX, &[0, 1, 2, 3, 4, 5, 6, 7][..]),
            (&whole, 6, 4, &[6, 7]),
            (&whole, 8, 1, &[]),
            (&whole, u64::MAX, u64::MAX, &[]),
            (&inner, 0, u64::MAX, &[2, 3, 4, 5]),
            (&inner, 1, 2, &[3, 4]),
            (&inner, 3, 4, &[5]),
        ] {
            assert_eq!(&*bytes.part(offset, len), want, "{len} from {offset} of {bytes:?}");
        }
    }
    /// Counts how often all bytes are requested.
    #[derive(Debug)]
    struct Counted(Vec<u8>, AtomicUsize);

    impl OnDemand for Counted {
        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
            // Short reads are valid.
            let from = self.0.get(offset as usize..).unwrap_or_default();
            let len = from.len().min(into.len()).min(3);
            into[..len].copy_from_slice(&from[..len]);
            Ok(len)
        }

        fn all(&self) -> &[u8] {
            self.1.fetch_add(1, Ordering::Relaxed);
            &self.0
        }

        fn run(&self, offset: u64) -> &[u8] {
            // Blocks of four bytes.
            let offset = offset as usize;
            let end = (offset / 4 * 4 + 4).min(self.0.len());
            self.0.get(offset..end).unwrap_or_default()
        }
    }

    #[test]
    fn bytes_on_demand_are_those_in_memory() {
        let all: Vec<u8> = (0..20).collect();
        let source = Arc::new(Counted(all.clone(), AtomicUsize::new(0)));
        let (here, there) = (Bytes::from(all), Bytes::on_demand(source.clone()));
        for (offset, len) in [(0, u64::MAX), (0, 0), (3, 9), (19, 5), (20, 1), (21, 1)] {
            let (mine, its) = (here.part(offset, len), there.part(offset, len));
            let (mut one, mut other) = (Vec::new(), Vec::new());
            mine.reader().read_to_end(&mut one).unwrap();
            its.reader().read_to_end(&mut other).unwrap();
            assert_eq!(one, other, "{len} from {offset}");
            assert_eq!((mine.len(), mine.is_empty()), (its.len(), its.is_empty()));
            assert_eq!(mine.head(4), its.head(4));
            for at in 0..=mine.size() + 1 {
                assert_eq!(mine.run(at), mine.get(at as usize..).unwrap_or_default());
                let run = its.run(at);
                assert!(mine.run(at).starts_with(run), "{at}");
                assert_eq!(run.is_empty(), at >= mine.size());
            }
            assert_eq!(source.1.load(Ordering::Relaxed), 0, "read as a whole");
            assert_eq!(mine, its);
            source.1.store(0, Ordering::Relaxed);
        }
    }

    /// 16 TiB, of which each byte is bits \[47:40] of its offset.
    #[derive(Debug)]
    struct Large;

    impl OnDemand for Large {
        fn size(&self) -> u64 {
            1 << 44
        }

        fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
            into.fill((offset >> 40) as u8);
            Ok(into.len())
        }

        fn all(&self) -> &[u8] {
            panic!("read as a whole")
        }

        fn run(&self, offset: u64) -> &[u8] {
            const BYTES: [[u8; 2]; 16] = [
                [0; 2], [1; 2], [2; 2], [3; 2], [4; 2], [5; 2], [6; 2], [7; 2], [8; 2], [9; 2],
                [10; 2], [11; 2], [12; 2], [13; 2], [14; 2], [15; 2],
            ];
            BYTES.get((offset >> 40) as usize).map_or(&[], |bytes| bytes)
        }
    }

    #[test]
    fn sizes_and_offsets_have_64_bits() {
        let whole = Bytes::on_demand(Arc::new(Large));
        assert_eq!(whole.size(), 1 << 44);
        let part = whole.part(5 << 40, u64::MAX);
        assert_eq!(part.size(), 11 << 40);
        let inner = part.part(2 << 40, 3);
        assert_eq!((inner.size(), &*inner.head(9)), (3, &[7; 3][..]));
        assert_eq!(part.run(10 << 40), [15; 2]);
        assert_eq!(part.run((11 << 40) - 1), [15; 1]);
        assert_eq!(part.run(11 << 40), []);
    }
}
