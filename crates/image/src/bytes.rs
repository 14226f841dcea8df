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
    fn size(&self) -> usize;

    /// Reads bytes from `offset` on into `into`, and returns their number; 0 only at the end.
    ///
    /// # Errors
    /// Where the bytes cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// All bytes, which stay in memory from the first call on. Bytes that cannot be read are
    /// missing at the end.
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
    start: usize,
    len: usize,
}

#[derive(Clone)]
enum Holder {
    Memory(Owner),
    OnDemand(Arc<dyn OnDemand>),
}

impl Bytes {
    /// All bytes of `owner`.
    pub fn new(owner: Owner) -> Self {
        let len = (*owner).as_ref().len();
        Bytes { holder: Holder::Memory(owner), start: 0, len }
    }

    /// All bytes of `source`, which are read into memory as a whole at the first access to any of
    /// them. [`Bytes::head`] and [`Bytes::reader`] read only what is requested.
    pub fn on_demand(source: Arc<dyn OnDemand>) -> Self {
        let len = source.size();
        Bytes { holder: Holder::OnDemand(source), start: 0, len }
    }

    /// The number of bytes. Reads nothing.
    pub fn len(&self) -> usize {
        self.len
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
    pub fn run(&self, offset: usize) -> &[u8] {
        let Holder::OnDemand(source) = &self.holder else {
            return self.get(offset..).unwrap_or_default();
        };
        let Some(left) = self.len.checked_sub(offset) else { return &[] };
        let run = source.run((self.start + offset) as u64);
        run.get(..left).unwrap_or(run)
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
    at: usize,
}

impl Read for BytesReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Bytes { holder, start, len } = &self.bytes;
        let room = (len - self.at.min(*len)).min(into.len());
        let Some(into) = into.get_mut(..room).filter(|into| !into.is_empty()) else {
            return Ok(0);
        };
        let read = match holder {
            Holder::OnDemand(source) => source.read_at((start + self.at) as u64, into)?.min(room),
            Holder::Memory(_) => {
                let from = self.bytes.get(self.at..).unwrap_or_default();
                let some = room.min(from.len());
                if let (Some(into), Some(from)) = (into.get_mut(..some), from.get(..some)) {
                    into.copy_from_slice(from);
                }
                some
            }
        };
        self.at += read;
        Ok(read)
    }
}

/// The part of `0..size` that `len` bytes from `offset` cover.
fn clip(size: usize, offset: u64, len: u64) -> Range<usize> {
    let start = usize::try_from(offset).map_or(size, |offset| offset.min(size));
    let len = usize::try_from(len).map_or(size, |len| len.min(size));
    start..(start + len.min(size - start))
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all = match &self.holder {
            Holder::Memory(owner) => (**owner).as_ref(),
            Holder::OnDemand(source) => source.all(),
        };
        // The owner may have become shorter.
        let end = all.len().min(self.start + self.len);
        all.get(self.start..end).unwrap_or_default()
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
        fn size(&self) -> usize {
            self.0.len()
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
            for at in 0..=mine.len() + 1 {
                assert_eq!(mine.run(at), mine.get(at..).unwrap_or_default());
                let run = its.run(at);
                assert!(mine.run(at).starts_with(run), "{at}");
                assert_eq!(run.is_empty(), at >= mine.len());
            }
            assert_eq!(source.1.load(Ordering::Relaxed), 0, "read as a whole");
            assert_eq!(mine, its);
            source.1.store(0, Ordering::Relaxed);
        }
    }
}
