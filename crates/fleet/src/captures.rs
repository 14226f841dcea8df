//! The captures of a plan or a part, of which there may be many thousands.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright::analysis::coverage_runs::Digest;
use tracewright::base::{put_uleb128, take_uleb128};

use crate::capture::{CaptureIdentity, Extent};
use crate::unit_id::UnitId;

/// The most captures of a run.
const RUN: usize = 256;
/// The captures that a full run gets space for at once.
const SPACE: usize = 32;
/// The most values that are looked up: more of them are not the same for many captures.
const KNOWN: usize = 4096;

/// Captures by the digests of their data, and the unit that each is whole in.
///
/// A capture takes 70 to 100 bytes: its digest, and a record that refers to what captures have in
/// common.
#[derive(Clone, Debug, Default)]
pub struct Captures {
    /// In the order of the digests. A new capture moves those of one run.
    runs: Vec<Vec<Entry>>,
    /// Digests of programs and options.
    digests: Values<Digest>,
    /// Numbers and names of buffers.
    buffers: Values<Arc<[Name]>>,
    units: Values<UnitId>,
    /// Numbers in LEB128: digests, buffers, bytes and segments of each, path.
    records: Vec<u8>,
}

/// The number and the name of a buffer.
type Name = (usize, Arc<str>);

/// A capture.
#[derive(Clone, Debug)]
struct Entry {
    data: Digest,
    unit: Mark,
    /// Where its record begins.
    record: usize,
}

/// The unit that has all buffers of a capture, none of which is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// There is no such unit.
    None,
    /// That of this capture only, whose identifier is computed.
    Own,
    /// One of the units.
    Of(u32),
}

/// The unit that a capture is whole in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// That of this capture only.
    Own,
    /// A unit of several captures.
    Of(UnitId),
}

/// Where a capture is; places are in the order of the captures until there is another one.
pub(crate) type Place = (u32, u32);

/// Values that many captures have in common.
#[derive(Clone, Debug)]
struct Values<T> {
    all: Vec<T>,
    known: BTreeMap<T, u32>,
}

impl<T> Default for Values<T> {
    fn default() -> Values<T> {
        Values { all: Vec::new(), known: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Values<T> {
    fn put(&mut self, value: T) -> u32 {
        if let Some(n) = self.known.get(&value) {
            return *n;
        }
        let n = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        if self.known.len() < KNOWN {
            self.known.insert(value.clone(), n);
        }
        self.all.push(value);
        n
    }
}

impl Captures {
    /// No captures.
    pub fn new() -> Captures {
        Captures::default()
    }

    /// The number of captures.
    pub fn len(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Removes all captures.
    pub fn clear(&mut self) {
        *self = Captures::default();
    }

    /// Adds a capture. `false`: one with the same data is there, and stays.
    pub fn insert(&mut self, own: &CaptureIdentity) -> bool {
        self.insert_at(own, "")
    }

    /// Adds a capture, which is at `path`.
    pub fn insert_at(&mut self, own: &CaptureIdentity, path: &str) -> bool {
        let Err((run, at)) = self.find(&own.data) else { return false };
        let record = self.record(own, path);
        let entry = Entry { data: own.data, unit: Mark::None, record };
        let last = self.runs.len().saturating_sub(1);
        let Some(entries) = self.runs.get_mut(run) else {
            self.runs.push(vec![entry]);
            return true;
        };
        if entries.len() == entries.capacity() {
            entries.reserve_exact(SPACE);
        }
        entries.insert(at, entry);
        if entries.len() > RUN {
            // Captures that come in order fill their runs.
            let is_last = at == RUN && run == last;
            let half = if is_last { RUN } else { RUN / 2 };
            let mut later = entries.split_off(half);
            later.shrink_to_fit();
            entries.shrink_to(if is_last { RUN } else { half + SPACE });
            self.runs.insert(run + 1, later);
        }
        true
    }

    /// The capture with these data.
    pub fn get(&self, data: &Digest) -> Option<CaptureIdentity> {
        self.entry(data).and_then(|own| self.read(own))
    }

    /// The digests of the programs and the options of a capture.
    pub(crate) fn decoder(&self, data: &Digest) -> Option<[Digest; 2]> {
        let mut record = self.fields(self.entry(data)?);
        Some([self.digest(&mut record)?, self.digest(&mut record)?])
    }

    /// Whether the capture is there.
    pub fn contains(&self, data: &Digest) -> bool {
        self.find(data).is_ok()
    }

    /// The path of a capture, if it is known.
    pub fn path(&self, data: &Digest) -> Option<&str> {
        let mut record = self.fields(self.entry(data)?);
        let (_, _) = (self.digest(&mut record)?, self.digest(&mut record)?);
        let buffers = self.buffers.all.get(record.index()?)?;
        for _ in 0..2 * buffers.len() {
            record.number()?;
        }
        let len = record.index()?;
        std::str::from_utf8(record.0.get(..len)?).ok().filter(|path| !path.is_empty())
    }

    /// Removes a capture. Its record remains.
    pub fn remove(&mut self, data: &Digest) {
        let Ok((run, at)) = self.find(data) else { return };
        if let Some(entries) = self.runs.get_mut(run) {
            entries.remove(at);
            if entries.is_empty() {
                self.runs.remove(run);
            }
        }
    }

    /// Removes the captures that `chosen` does not choose, and their records.
    pub fn retain(&mut self, chosen: &dyn Fn(&Digest) -> bool) {
        let mut rest = Captures::default();
        for own in self.iter().filter(|own| chosen(&own.data)) {
            rest.insert_at(&own, self.path(&own.data).unwrap_or_default());
            if let Some(unit) = self.unit(&own.data) {
                rest.set_unit(&own.data, unit);
            }
        }
        *self = rest;
    }

    /// The digests of the data, in order.
    pub fn keys(&self) -> impl Iterator<Item = Digest> + '_ {
        self.runs.iter().flatten().map(|own| own.data)
    }

    /// The captures, in the order of the digests of their data.
    pub fn iter(&self) -> impl Iterator<Item = CaptureIdentity> + '_ {
        self.runs.iter().flatten().filter_map(|own| self.read(own))
    }

    /// The captures, and the units that they are whole in.
    pub(crate) fn whole(&self) -> impl Iterator<Item = (Place, Digest, Option<Whole>)> + '_ {
        self.runs.iter().zip(0..).flat_map(move |(entries, run)| {
            entries.iter().zip(0..).map(move |(own, at)| ((run, at), own.data, self.mark(own)))
        })
    }

    /// The capture at a place.
    pub(crate) fn at(&self, (run, at): Place) -> Option<CaptureIdentity> {
        self.runs.get(run as usize)?.get(at as usize).and_then(|own| self.read(own))
    }

    /// The unit that a capture is whole in.
    pub(crate) fn unit(&self, data: &Digest) -> Option<Whole> {
        self.mark(self.entry(data)?)
    }

    /// Notes the unit that a capture is whole in.
    pub(crate) fn set_unit(&mut self, data: &Digest, unit: Whole) {
        let mark = match unit {
            Whole::Own => Mark::Own,
            Whole::Of(id) => Mark::Of(self.units.put(id)),
        };
        if let Ok((run, at)) = self.find(data)
            && let Some(own) = self.runs.get_mut(run).and_then(|run| run.get_mut(at))
        {
            own.unit = mark;
        }
    }

    fn mark(&self, own: &Entry) -> Option<Whole> {
        match own.unit {
            Mark::None => None,
            Mark::Own => Some(Whole::Own),
            Mark::Of(n) => self.units.all.get(n as usize).copied().map(Whole::Of),
        }
    }

    fn entry(&self, data: &Digest) -> Option<&Entry> {
        let (run, at) = self.find(data).ok()?;
        self.runs.get(run)?.get(at)
    }

    /// The run and the position of a capture, or where it is inserted.
    fn find(&self, data: &Digest) -> Result<(usize, usize), (usize, usize)> {
        let begins = |run: &Vec<Entry>| run.first().is_some_and(|own| own.data <= *data);
        let run = self.runs.partition_point(begins).saturating_sub(1);
        let entries = self.runs.get(run).map_or(&[][..], Vec::as_slice);
        match entries.binary_search_by(|own| own.data.cmp(data)) {
            Ok(at) => Ok((run, at)),
            Err(at) => Err((run, at)),
        }
    }

    /// Writes the record of a capture. Returns where it begins.
    fn record(&mut self, own: &CaptureIdentity, path: &str) -> usize {
        let CaptureIdentity { data: _, programs, options, buffers } = own;
        let begin = self.records.len();
        let names = buffers.iter().map(|own| (own.number, Arc::clone(&own.name))).collect();
        let numbers = [self.digests.put(*programs), self.digests.put(*options)];
        let numbers = numbers.into_iter().chain([self.buffers.put(names)]).map(u64::from);
        let extents = buffers.iter().flat_map(|own| [own.bytes, own.segments as u64]);
        let mut record = Vec::new();
        for number in numbers.chain(extents).chain([path.len() as u64]) {
            put_uleb128(&mut record, number);
        }
        record.extend(path.as_bytes());
        if self.records.capacity() - begin < record.len() {
            self.records.reserve_exact(record.len() + begin / 8);
        }
        self.records.append(&mut record);
        begin
    }

    fn fields(&self, own: &Entry) -> Record<'_> {
        Record(self.records.get(own.record..).unwrap_or_default())
    }

    fn digest(&self, record: &mut Record<'_>) -> Option<Digest> {
        self.digests.all.get(record.index()?).copied()
    }

    fn read(&self, own: &Entry) -> Option<CaptureIdentity> {
        let mut record = self.fields(own);
        let (programs, options) = (self.digest(&mut record)?, self.digest(&mut record)?);
        let names = self.buffers.all.get(record.index()?)?;
        let mut extent = |(number, name): &Name| {
            let (number, name) = (*number, Arc::clone(name));
            Some(Extent { number, name, bytes: record.number()?, segments: record.index()? })
        };
        let buffers = names.iter().map(&mut extent).collect::<Option<_>>()?;
        Some(CaptureIdentity { data: own.data, programs, options, buffers })
    }
}

impl PartialEq for Captures {
    fn eq(&self, other: &Captures) -> bool {
        let whole = |own: &Captures| own.whole().map(|(_, _, unit)| unit).collect::<Vec<_>>();
        self.iter().eq(other.iter())
            && self.keys().all(|data| self.path(&data) == other.path(&data))
            && whole(self) == whole(other)
    }
}

impl Eq for Captures {}

impl FromIterator<CaptureIdentity> for Captures {
    fn from_iter<I: IntoIterator<Item = CaptureIdentity>>(all: I) -> Captures {
        let mut captures = Captures::default();
        for own in all {
            captures.insert(&own);
        }
        captures
    }
}

/// What is left of a record.
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn number(&mut self) -> Option<u64> {
        take_uleb128(&mut self.0)
    }

    fn index(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use tracewright_testing::Random;

    use super::*;

    fn identity(n: u64) -> CaptureIdentity {
        let extent = |number: usize| Extent {
            number,
            name: format!("cpu {number}").into(),
            bytes: n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 64),
            segments: number * 1000 + 1,
        };
        CaptureIdentity {
            data: Digest::of(&n.to_le_bytes()),
            programs: Digest::of(&(n % 5).to_le_bytes()),
            options: Digest::of(b"options"),
            buffers: (0..n as usize % 4).map(extent).collect(),
        }
    }

    /// In any order, with and without paths, captures are those that were added.
    #[test]
    fn captures_are_those_that_were_added() {
        let mut random = Random::new(3);
        let mut known = BTreeMap::new();
        let mut own = Captures::new();
        for _ in 0..6_000 {
            let n = random.below(3_000);
            let (identity, path) = (identity(n), format!("{}", n % 3 * n));
            let path = if n.is_multiple_of(3) { "" } else { &path };
            if random.one_in(4) {
                own.remove(&identity.data);
                known.remove(&identity.data);
            } else {
                let is_new = !known.contains_key(&identity.data);
                assert_eq!(own.insert_at(&identity, path), is_new);
                known.insert(identity.data, (identity, path.to_owned()));
            }
        }
        assert!(own.len() == known.len() && own.len() > 4 * RUN);
        assert!(own.keys().eq(known.keys().copied()));
        for (found, (identity, path)) in own.iter().zip(known.values()) {
            assert_eq!(found, *identity);
            assert_eq!(own.path(&identity.data).unwrap_or_default(), path);
            assert_eq!(own.decoder(&identity.data), Some([identity.programs, identity.options]));
        }
        let ordered: Captures = own.iter().collect();
        assert!(ordered.runs.iter().rev().skip(1).all(|run| run.len() == RUN));
    }
}
