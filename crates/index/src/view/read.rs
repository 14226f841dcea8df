//! Reads a view from an index.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tracewright_analysis::Code;
use tracewright_analysis::tasks::TaskFile;
use tracewright_decode::Plan;

use crate::batch_summary::BatchSummary;
use crate::bytes::Reader;
use crate::error::IndexError;
use crate::format::Section;
use crate::index::{Index, IndexedBuffer};
use crate::tiles::frame::{self, ViewFrame};
use crate::tiles::granule::{
    CallLengths, FunctionSums, GRANULE_TILES, Granule, read_lengths, read_sums,
};
use crate::tiles::tile::{self, Tile};
use crate::tiles::{Names, SavedView, ViewShape, ViewThread};
use crate::writer::Subject;

/// What an index has of one buffer for a picture of it.
#[derive(Clone, Debug)]
pub struct View<'a> {
    index: &'a Index,
    buffer: &'a IndexedBuffer,
    shape: ViewShape,
    names: Arc<Names>,
}

/// The sums of functions, in order of their numbers.
pub type FunctionsOf = Vec<(u32, FunctionSums)>;

/// The sums of the functions of a part of a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The part that the sums are of: whole granules.
    pub offsets: Range<u64>,
    /// The functions of each source, in order of their numbers.
    pub functions: Vec<FunctionsOf>,
}

impl<'a> View<'a> {
    /// The view of a buffer. `None` where the index has none, or does not have the whole buffer.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn new(index: &'a Index, buffer: &'a IndexedBuffer) -> Result<Option<Self>, IndexError> {
        let Some(log2) = index.head().view.filter(|_| buffer.is_complete()) else {
            return Ok(None);
        };
        let shape = ViewShape::new(log2, buffer.covered());
        let mut own = View { index, buffer, shape, names: Arc::default() };
        let mut names = Names::default();
        let tasks = index.tasks().is_some();
        for batch in buffer.batches() {
            own.read(batch, Section::Names, |from| names.read(tasks, from))?;
        }
        own.names = Arc::new(names);
        Ok(Some(own))
    }

    /// What systems name tasks in the index: see [`Index::tasks`].
    pub(crate) fn tasks(&self) -> Option<u64> {
        self.index.tasks()
    }

    /// How the buffer is divided.
    pub fn shape(&self) -> ViewShape {
        self.shape
    }

    /// The names of the threads that are tasks, by their numbers: without that of the source.
    /// `code` is that of the plan, and `files` are those with which the index was made.
    pub fn task_names(
        &self,
        subject: Subject<'_>,
        plan: &Plan,
        code: &Code,
        files: &[TaskFile],
    ) -> Vec<Option<String>> {
        let tasks = subject.tasks(plan, code, files);
        let mut counts = vec![0; plan.sources.len()];
        let name = |(n, thread): (usize, &Option<ViewThread>)| {
            let ViewThread { source, id } = (*thread)?;
            let own = plan.sources.get(usize::from(source))?;
            let count = counts.get_mut(usize::from(source))?;
            *count += 1;
            let outermost = self.names().outermost(n);
            let outermost = outermost.filter(|function| !tasks.is_wrapper(*function));
            let function = outermost.map(|function| code.name(function).into_owned());
            let (name, text) = tasks.text(&own.name, id, *count, function);
            let is_known = name.is_some() || tasks.system().is_some();
            let text = text.strip_prefix(own.name.as_str())?.trim_start();
            (is_known && !text.is_empty()).then(|| text.to_owned())
        };
        self.names().threads().iter().enumerate().map(name).collect()
    }

    /// The functions and threads.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The same, shared.
    pub(crate) fn shared_names(&self) -> Arc<Names> {
        Arc::clone(&self.names)
    }

    /// The buffer.
    pub fn buffer(&self) -> &'a IndexedBuffer {
        self.buffer
    }

    /// Reads a section of a batch.
    fn read<T>(
        &self,
        batch: &BatchSummary,
        section: Section,
        read: impl FnOnce(&mut Reader<'_>) -> Option<T>,
    ) -> Result<T, IndexError> {
        let bytes = self.index.section(batch, section)?;
        let damaged = || IndexError::Damaged { at: batch.at + batch.batch.section(section).start };
        read(&mut Reader(&bytes)).ok_or_else(damaged)
    }

    /// The number of the batch in which a tile or a granule that ends at `offset` was written: the
    /// one with the byte there, or the last one.
    fn written(&self, offset: u64) -> usize {
        let batches = self.buffer.batches();
        let n = batches.partition_point(|batch| batch.end <= offset);
        n.min(batches.len().saturating_sub(1))
    }

    /// The batches with what ends in `ends`, and the last of which may have more.
    fn batches(&self, ends: Range<u64>) -> impl Iterator<Item = &'a BatchSummary> + use<'a> {
        let (first, last) = (self.written(ends.start), self.written(ends.end));
        self.buffer.batches().iter().take(last + 1).skip(first)
    }

    /// The tiles of a source with numbers in `numbers`, in order. Those without anything are left
    /// out.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn tiles(
        &self,
        source: usize,
        level: u8,
        numbers: Range<u64>,
    ) -> Result<Vec<Tile>, IndexError> {
        let mut tiles = Vec::new();
        if numbers.is_empty() || level >= self.shape.levels {
            return Ok(tiles);
        }
        let width = self.shape.tile(level);
        let ends = numbers.start.saturating_add(1).saturating_mul(width)
            ..numbers.end.saturating_mul(width);
        let place = source * usize::from(self.shape.levels) + usize::from(level);
        for batch in self.batches(ends) {
            self.read(batch, Section::Tiles, |from| {
                for _ in 0..place {
                    from.number()?;
                    let len = from.count()?;
                    from.bytes(len)?;
                }
                let (count, len) = (from.number()?, from.count()?);
                let (mut own, mut before) = (Reader(from.bytes(len)?), tile::Before::default());
                for _ in 0..count {
                    let tile = before.read(&mut own)?;
                    if numbers.contains(&tile.number) {
                        tiles.push(tile);
                    }
                }
                own.0.is_empty().then_some(())
            })?;
        }
        Ok(tiles)
    }

    /// The long frames of a source that overlap `offsets` and last at least `least` bytes, in order
    /// of their begin. `each` returns whether more are wanted.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn frames(
        &self,
        source: usize,
        offsets: Range<u64>,
        least: u64,
    ) -> Result<Vec<ViewFrame>, IndexError> {
        let mut frames = Vec::new();
        let from = self.buffer.batches().partition_point(|batch| batch.end <= offsets.start);
        // Frames are in the batch in which they end.
        for batch in self.buffer.batches().iter().skip(from) {
            self.read(batch, Section::Frames, |from| {
                for n in 0..=source {
                    let (count, mut before) = (from.number()?, frame::Before::default());
                    for _ in 0..count {
                        let frame = before.read(from)?;
                        let overlaps =
                            frame.offsets.0 < offsets.end && frame.offsets.1 >= offsets.start;
                        if n == source && overlaps && frame.len() >= least {
                            frames.push(frame);
                        }
                    }
                }
                Some(())
            })?;
        }
        frames.sort_by_key(|frame| (frame.offsets.0, frame.depth));
        Ok(frames)
    }

    /// Passes the granules of a source with numbers in `numbers` to `each`, in order.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn granules(
        &self,
        source: usize,
        numbers: Range<u64>,
        mut each: impl FnMut(Granule),
    ) -> Result<(), IndexError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let width = self.granule();
        let ends = numbers.start.saturating_add(1).saturating_mul(width)
            ..numbers.end.saturating_mul(width);
        for batch in self.batches(ends) {
            self.read(batch, Section::Sums, |from| {
                for _ in 0..source {
                    from.number()?;
                    let len = from.count()?;
                    from.bytes(len)?;
                }
                let (count, len) = (from.number()?, from.count()?);
                let (mut own, mut before) = (Reader(from.bytes(len)?), 0);
                for _ in 0..count {
                    let granule = Granule::read(&mut before, &mut own)?;
                    if numbers.contains(&granule.number) {
                        each(granule);
                    }
                }
                own.0.is_empty().then_some(())
            })?;
        }
        Ok(())
    }

    /// The length of a granule, in bytes.
    pub fn granule(&self) -> u64 {
        self.shape.tile(0).saturating_mul(GRANULE_TILES)
    }

    /// The number of batches.
    pub fn batch_count(&self) -> usize {
        self.buffer.batches().len()
    }

    /// The numbers of the granules that end in a batch.
    pub fn granules_of(&self, batch: usize) -> Range<u64> {
        let batches = self.buffer.batches();
        let Some(own) = batches.get(batch) else { return 0..0 };
        let width = self.granule();
        let before = |offset: u64| offset.div_ceil(width).saturating_sub(1);
        // The last granule ends with the buffer.
        let last = self.buffer.covered() / width + 1;
        let end = if batch + 1 == batches.len() { last } else { before(own.end) };
        let first =
            if batch == 0 { 0 } else { before(batches.get(batch - 1).map_or(0, |b| b.end)) };
        first..end
    }

    /// The sums of the functions of each source in the granules that end in a batch, in order of
    /// their numbers.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn batch_sums(&self, batch: usize) -> Result<Vec<FunctionsOf>, IndexError> {
        let sources = self.buffer.sources().len();
        let Some(batch) = self.buffer.batches().get(batch) else {
            return Ok(vec![Vec::new(); sources]);
        };
        self.read(batch, Section::Functions, |from| {
            let own = |_| {
                let sums = read_sums(from)?;
                read_lengths(from)?;
                Some(sums)
            };
            (0..sources).map(own).collect()
        })
    }

    /// The sums of the granules that are inside `offsets`.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn sums(&self, offsets: Range<u64>) -> Result<Sums, IndexError> {
        let (width, sources) = (self.granule(), self.buffer.sources().len());
        let first = offsets.start.div_ceil(width);
        // The last granule ends with the buffer.
        let end = match offsets.end >= self.buffer.covered() {
            true => self.buffer.covered() / width + 1,
            false => offsets.end / width,
        };
        if first >= end {
            let functions = vec![Vec::new(); sources];
            return Ok(Sums { offsets: offsets.start..offsets.start, functions });
        }
        let known = self.names.functions().len();
        let mut sums = vec![Vec::new(); sources];
        let mut add = |source: usize, functions: &[(u32, FunctionSums)]| {
            let sums: &mut Vec<FunctionSums> = sums.get_mut(source)?;
            if !functions.is_empty() && sums.is_empty() {
                sums.resize_with(known, FunctionSums::default);
            }
            for (function, own) in functions {
                sums.get_mut(*function as usize)?.add(own);
            }
            Some(())
        };
        for (n, batch) in self.buffer.batches().iter().enumerate() {
            let own = self.granules_of(n);
            let (from, to) = (own.start.max(first), own.end.min(end));
            if from >= to {
                continue;
            }
            let mut whole = Some(());
            if (from..to) == own {
                for (source, functions) in self.batch_sums(n)?.iter().enumerate() {
                    whole = whole.and(add(source, functions));
                }
            } else {
                for source in 0..sources {
                    self.granules(source, from..to, |granule| {
                        whole = whole.and(add(source, &granule.functions));
                    })?;
                }
            }
            whole.ok_or(IndexError::Damaged { at: batch.at })?;
        }
        let offsets = first * width..end.saturating_mul(width).min(self.buffer.covered());
        let executed = |own: &(u32, FunctionSums)| own.1 != FunctionSums::default();
        let functions = sums.into_iter().map(|own| (0..).zip(own).filter(executed).collect());
        Ok(Sums { offsets, functions: functions.collect() })
    }

    /// How long whole calls take, of all functions of a source.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn lengths(&self, source: usize) -> Result<CallLengths, IndexError> {
        let mut all = BTreeMap::<(u32, u8), u64>::new();
        for batch in self.buffer.batches() {
            let lengths = self.read(batch, Section::Functions, |from| {
                for _ in 0..source {
                    read_sums(from)?;
                    read_lengths(from)?;
                }
                read_sums(from)?;
                read_lengths(from)
            })?;
            for (function, class, count) in lengths {
                let sum = all.entry((function, class)).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(all.into_iter().map(|((function, class), count)| (function, class, count)).collect())
    }

    /// The segment with the element of this number.
    pub fn segment_of(&self, element: u64) -> usize {
        let batches = self.buffer.batches();
        let after = batches.partition_point(|batch| batch.after.elements <= element);
        let Some(batch) = batches.get(after) else { return self.buffer.len().saturating_sub(1) };
        let own = batch.entries().partition_point(|entry| entry.elements <= element);
        batch.first + own.saturating_sub(1)
    }

    /// The offset of the first tile of level 0 from `offset` on, of any source, in which the count
    /// at position `count` of [`Counts`](super::Counts) is not 0; `offset` itself where it is in the
    /// tile.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn next_with(&self, offset: u64, count: usize) -> Result<Option<u64>, IndexError> {
        let mut first = None;
        for source in 0..self.buffer.sources().len() {
            let level = self.shape.levels.saturating_sub(1);
            let found = self.next_of(source, count, level, 0..u64::MAX, offset)?;
            first = first.into_iter().chain(found).min();
        }
        Ok(first)
    }

    /// The same in the tiles `numbers` of a level.
    fn next_of(
        &self,
        source: usize,
        count: usize,
        level: u8,
        numbers: Range<u64>,
        offset: u64,
    ) -> Result<Option<u64>, IndexError> {
        let width = self.shape.tile(level);
        let first = numbers.start.max(offset / width);
        for tile in self.tiles(source, level, first..numbers.end.max(first))? {
            if tile.counts.get(count).is_none_or(|count| *count == 0) {
                continue;
            }
            if level == 0 {
                return Ok(Some(tile.number.saturating_mul(width).max(offset)));
            }
            let own = tile.number.saturating_mul(4);
            let found =
                self.next_of(source, count, level - 1, own..own.saturating_add(4), offset)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The last stacks that are stored at or before the beginning of segment `n`, in its batch, and
    /// the number of their segment.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn stacks(&self, n: usize) -> Result<Option<(usize, SavedView)>, IndexError> {
        let batches = self.buffer.batches();
        let after = batches.partition_point(|batch| batch.first + batch.count <= n);
        let Some(batch) = batches.get(after) else { return Ok(None) };
        let tasks = self.index.tasks().is_some();
        self.read(batch, Section::Stacks, |from| {
            let mut found: Option<(usize, SavedView)> = None;
            for _ in 0..from.count()? {
                let since = usize::try_from(from.number()?).ok()?;
                let len = from.count()?;
                let mut own = Reader(from.bytes(len)?);
                let before = found.as_ref().map_or(0, |(segment, _)| *segment);
                let segment = before.checked_add(since)?;
                if segment > n {
                    break;
                }
                let mut saved = found.take().map(|(_, saved)| saved).unwrap_or_default();
                saved.read(self.buffer.begin(segment)?, tasks, &mut own)?;
                own.0.is_empty().then_some(())?;
                found = Some((segment, saved));
            }
            Some(found)
        })
    }
}
