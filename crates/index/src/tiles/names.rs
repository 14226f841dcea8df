//! The functions, threads and series that tiles, frames and sums number.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use tracewright_analysis::stacks::FunctionId;

use super::shares::Spread;
use super::values::{MOST_SERIES, Series, put_series, read_series};
use crate::bytes::{Reader, put, put_option};

/// A thread of the call stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewThread {
    /// The number of its source in the plan of the buffer.
    pub source: u16,
    /// Its identifier in the trace.
    pub id: Option<u64>,
}

/// The functions that were executed, in order of their first frames, the threads, and the series
/// of values.
#[derive(Clone, Debug, Default)]
pub struct Names {
    functions: Vec<FunctionId>,
    /// By address, and of the others: their numbers here.
    addresses: HashMap<u64, u32, BuildHasherDefault<Spread>>,
    others: HashMap<FunctionId, u32>,
    /// By number of a known function below `DIRECT`: its number here plus 1, or 0.
    known: Vec<u32>,
    threads: Vec<Option<ViewThread>>,
    /// The series of values, each with its source.
    series: Vec<(u16, Series)>,
    /// The functions and series that were written, and the threads that were changed since.
    written: usize,
    written_series: usize,
    changed: Vec<u32>,
    /// By thread: its outermost function, where the index has tasks.
    outermost: Vec<Option<FunctionId>>,
}

impl Names {
    /// The functions, in order of their numbers here.
    pub fn functions(&self) -> &[FunctionId] {
        &self.functions
    }

    /// The threads, in order of their numbers. `None` for numbers that no thread has.
    pub fn threads(&self) -> &[Option<ViewThread>] {
        &self.threads
    }

    /// The outermost function of a thread, where the index has [tasks](crate::Index::tasks), the
    /// function is known and there is only one.
    pub fn outermost(&self, thread: usize) -> Option<FunctionId> {
        self.outermost.get(thread).copied().flatten()
    }

    /// The outermost functions of all threads.
    pub(crate) fn set_outermost(&mut self, outermost: Vec<Option<FunctionId>>) {
        self.outermost = outermost;
    }

    /// Appends the outermost functions.
    pub(crate) fn put_outermost(&self, out: &mut Vec<u8>) {
        put(out, self.outermost.len() as u64);
        for function in &self.outermost {
            out.push(function.is_some().into());
            function.iter().for_each(|function| put_function(out, *function));
        }
    }

    fn read_outermost(&mut self, from: &mut Reader<'_>) -> Option<()> {
        let mut all = Vec::new();
        for _ in 0..from.count()? {
            all.push(match from.u8()? {
                0 => None,
                _ => Some(read_function(from)?),
            });
        }
        if !all.is_empty() {
            self.outermost = all;
        }
        Some(())
    }

    /// The series of values, each with its source, in order of their numbers here: the first
    /// [`MOST_SERIES`] of each source.
    pub fn series(&self) -> &[(u16, Series)] {
        &self.series
    }

    /// The number of a series, which gets one where it has none and there is room.
    pub(crate) fn add_series(&mut self, source: u16, series: Series) -> Option<u32> {
        let known = self.series.iter().position(|own| *own == (source, series));
        if known.is_none() {
            let of_source = self.series.iter().filter(|own| own.0 == source).count();
            if of_source >= MOST_SERIES {
                return None;
            }
            self.series.push((source, series));
        }
        u32::try_from(known.unwrap_or(self.series.len() - 1)).ok()
    }

    /// The number of a function that was executed.
    pub fn number(&self, function: FunctionId) -> Option<u32> {
        match function {
            FunctionId::Known(n) if n < DIRECT => self.known.get(n as usize)?.checked_sub(1),
            FunctionId::At(address) => self.addresses.get(&address).copied(),
            _ => self.others.get(&function).copied(),
        }
    }

    /// The numbers of the threads of a source, in order.
    pub fn threads_of(&self, source: usize) -> impl Iterator<Item = u32> + '_ {
        let threads = (0..).zip(&self.threads);
        let own = move |thread: &ViewThread| usize::from(thread.source) == source;
        threads.filter_map(move |(n, thread)| thread.filter(own).map(|_| n))
    }

    /// The number of a function, which gets one where it has none.
    #[inline]
    pub(crate) fn add(&mut self, function: FunctionId) -> u32 {
        match self.number(function) {
            Some(number) => number,
            None => self.push(function),
        }
    }

    #[cold]
    fn push(&mut self, function: FunctionId) -> u32 {
        let number = u32::try_from(self.functions.len()).unwrap_or(u32::MAX - 1);
        self.functions.push(function);
        match function {
            FunctionId::Known(n) if n < DIRECT => {
                let n = n as usize;
                if self.known.len() <= n {
                    self.known.resize(n + 1, 0);
                }
                if let Some(own) = self.known.get_mut(n) {
                    *own = number + 1;
                }
            }
            FunctionId::At(address) => {
                self.addresses.insert(address, number);
            }
            _ => {
                self.others.insert(function, number);
            }
        }
        number
    }

    /// A thread, or its identifier.
    pub(crate) fn thread(&mut self, number: usize, thread: ViewThread) {
        if self.threads.len() <= number {
            self.threads.resize(number + 1, None);
        }
        if let Some(own) = self.threads.get_mut(number) {
            *own = Some(thread);
        }
        if let Ok(number) = u32::try_from(number) {
            self.changed.push(number);
        }
    }

    /// Appends what was added since the last call.
    pub(crate) fn put_new(&mut self, out: &mut Vec<u8>) {
        let new = self.functions.get(self.written..).unwrap_or_default();
        put(out, new.len() as u64);
        new.iter().for_each(|function| put_function(out, *function));
        self.written = self.functions.len();
        let changed = std::mem::take(&mut self.changed);
        put(out, changed.len() as u64);
        for number in changed {
            let Some(Some(thread)) = self.threads.get(number as usize) else { continue };
            put(out, number.into());
            put(out, thread.source.into());
            put_option(out, thread.id);
        }
        let new = self.series.get(self.written_series..).unwrap_or_default();
        put(out, new.len() as u64);
        for (source, series) in new {
            put(out, (*source).into());
            put_series(*series, out);
        }
        self.written_series = self.series.len();
    }

    /// Reads what a batch adds. `tasks`: with the outermost functions.
    pub(crate) fn read(&mut self, tasks: bool, from: &mut Reader<'_>) -> Option<()> {
        for _ in 0..from.count()? {
            let function = read_function(from)?;
            if self.number(function).is_some() {
                return None;
            }
            self.push(function);
        }
        let changed = from.count()?;
        // Threads have numbers in order.
        let most = self.threads.len() + changed;
        for _ in 0..changed {
            let number = usize::try_from(from.number()?).ok().filter(|n| *n < most)?;
            let source = u16::try_from(from.number()?).ok()?;
            self.thread(number, ViewThread { source, id: from.option()? });
        }
        for _ in 0..from.count()? {
            let source = u16::try_from(from.number()?).ok()?;
            self.series.push((source, read_series(from)?));
        }
        if tasks {
            self.read_outermost(from)?;
        }
        self.changed.clear();
        self.written = self.functions.len();
        self.written_series = self.series.len();
        from.0.is_empty().then_some(())
    }
}

/// The numbers of known functions that are found in a table.
const DIRECT: u32 = 1 << 20;

/// Appends a function.
pub(crate) fn put_function(out: &mut Vec<u8>, function: FunctionId) {
    match function {
        FunctionId::Known(number) => {
            put(out, 0);
            put(out, number.into());
        }
        FunctionId::At(address) => {
            put(out, 1);
            put(out, address);
        }
        FunctionId::Handler(number) => {
            put(out, 2);
            put(out, number.into());
        }
        FunctionId::Unknown => put(out, 3),
    }
}

/// Reads a function.
pub(crate) fn read_function(from: &mut Reader<'_>) -> Option<FunctionId> {
    Some(match from.number()? {
        0 => FunctionId::Known(u32::try_from(from.number()?).ok()?),
        1 => FunctionId::At(from.number()?),
        2 => FunctionId::Handler(u16::try_from(from.number()?).ok()?),
        3 => FunctionId::Unknown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_written() {
        let mut names = Names::default();
        let functions = [
            FunctionId::Known(7),
            FunctionId::At(u64::MAX),
            FunctionId::Handler(15),
            FunctionId::Unknown,
            FunctionId::Known(0),
        ];
        assert_eq!(functions.map(|function| names.add(function)), [0, 1, 2, 3, 4]);
        assert_eq!(functions.map(|function| names.add(function)), [0, 1, 2, 3, 4]);
        names.thread(0, ViewThread { source: 0, id: None });
        let (mut first, mut second) = (Vec::new(), Vec::new());
        names.put_new(&mut first);
        names.thread(0, ViewThread { source: 0, id: Some(4) });
        names.thread(1, ViewThread { source: 1, id: None });
        names.add(FunctionId::At(3));
        assert_eq!(names.add_series(1, Series::Write(3)), Some(0));
        names.put_new(&mut second);
        let mut read = Names::default();
        let mut third = Vec::new();
        for (source, number) in [(1, Some(0)), (0, Some(1))] {
            assert_eq!(names.add_series(source, Series::Write(3)), number);
        }
        names.put_new(&mut third);
        for bytes in [first, second, third] {
            assert_eq!(read.read(false, &mut Reader(&bytes)), Some(()));
        }
        names.set_outermost(vec![None, Some(FunctionId::Known(7))]);
        let mut fourth = Vec::new();
        names.put_new(&mut fourth);
        names.put_outermost(&mut fourth);
        assert_eq!(read.read(true, &mut Reader(&fourth)), Some(()));
        assert_eq!([0, 1, 2].map(|n| read.outermost(n)), [0, 1, 2].map(|n| names.outermost(n)));
        assert_eq!(read.outermost(1), Some(FunctionId::Known(7)));
        assert_eq!(read.functions(), names.functions());
        assert_eq!(read.threads(), names.threads());
        assert_eq!(read.series(), [(1, Series::Write(3)), (0, Series::Write(3))]);
        for key in 0..2 * MOST_SERIES as u64 {
            let number = names.add_series(5, Series::Write(key));
            assert_eq!(number.is_some(), key < MOST_SERIES as u64);
        }
        assert_eq!(read.number(FunctionId::At(3)), Some(5));
        assert_eq!(read.threads_of(1).collect::<Vec<_>>(), [1]);
    }
}
