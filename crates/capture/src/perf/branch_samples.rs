//! Samples with the branches before each: of a branch record buffer (LBR, BRBE), or made of a
//! trace. (perf_event_open(2), PERF_RECORD_SAMPLE)

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tracewright_base::Space;
use tracewright_image::AddressSpaces;

use super::attr::Attr;
use super::data::{PerfData, RawSample};
use super::fields::{Fields, Reader};
use super::find::{Finder, Search};
use super::listed_samples::{FileAddress, ListedSample, ListedSamples, SampledBinary};
use super::record::{Body, Record};
use super::{features, processes};
use crate::problem::{OpenError, Problem};

/// The fields of a sample: `sample_type`.
const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const BRANCH_STACK: u64 = 1 << 11;
const IDENTIFIER: u64 = 1 << 16;
/// `branch_sample_type`: the number of the newest entry in hardware precedes the entries.
const HW_INDEX: u64 = 1 << 17;
/// The flag of a branch that was not taken, which leads to the next instruction: bit 33, behind
/// `priv`. perf writes it for Arm SPE. (Linux 6.15, tools/perf/util/branch.h, `branch_flags`)
const NOT_TAKEN: u32 = 33;
/// `read_format`.
const TOTAL_TIMES: [u64; 2] = [1, 1 << 1];
const READ_ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const LOST: u64 = 1 << 4;
/// The most branches of one sample. An entry has 24 bytes, and the size of a record 16 bits.
const MOST: u64 = (1 << 16) / 24;

/// A sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchSample {
    /// The process and the thread, where they are recorded.
    pub task: Option<(u32, u32)>,
    /// The moment: the time, or the position in the file.
    pub moment: u64,
    /// The address of the instruction at which it was taken, where that is recorded.
    pub address: Option<u64>,
    /// The branches: address, and address of the next instruction; the newest first.
    pub branches: Vec<(u64, u64)>,
}

/// The samples of a file, and the system that was sampled.
#[derive(Clone, Debug)]
pub struct BranchSamples {
    /// The samples, in the order of the file.
    pub samples: Vec<BranchSample>,
    /// The memory of the processes over time.
    pub spaces: Arc<AddressSpaces>,
    /// The machine is an AArch64, as far as the file states it.
    pub arm64: Option<bool>,
    /// What the file lacks: it is cut, or has damaged records.
    pub damage: Vec<String>,
    /// What is wrong with its program files.
    pub problems: Vec<String>,
}

/// The samples with branches in the `perf.data` file at `path`, whose program files `search` finds.
/// `None`: the file has no such samples, or it has trace.
///
/// # Errors
/// [`OpenError`] where the file cannot be read.
pub fn branch_samples(path: &Path, search: &Search) -> Option<Result<BranchSamples, OpenError>> {
    if !search.files.is_file(path) {
        return None;
    }
    let mut files = search.open_files();
    let (bytes, _) = files.trace(path).ok()?;
    let head = bytes.head(8);
    if !head.starts_with(b"PERFILE2") && !head.starts_with(b"2ELIFREP") {
        return None;
    }
    if !PerfData::may_have_branches(&bytes) {
        return None;
    }
    let data = PerfData::read_samples(&bytes).ok()?;
    let branches = data.attrs.iter().any(|attr| attr.sample_type & BRANCH_STACK != 0);
    let traced = data.records.iter().any(|r| matches!(r.body, Body::AuxTraceInfo { .. }));
    if !branches || traced {
        return None;
    }
    let (samples, Found { mut damage, others }) = samples(&data);
    if samples.is_empty() {
        let why = match damage.first().or(others.as_ref()) {
            Some(first) => format!("it has no samples with branches: {first}"),
            None => "it has no samples with branches".into(),
        };
        return Some(Err(OpenError::new(path, Problem::Perf(why))));
    }
    let timed = timed(&data);
    let moment = |n: usize, record: &Record| match &record.body {
        Body::Fork(task) | Body::Exit(task) if timed => task.time,
        _ if timed => record.id.time.unwrap_or(0),
        _ => n as u64,
    };
    let mut finder = Finder::new(search, path, &mut files);
    let (spaces, notes) = processes::address_spaces(&data, &mut finder, &moment, None);
    damage.extend(data.problems.iter().cloned());
    let problems = others.into_iter().chain(finder.problems.drain(..)).chain(notes).collect();
    let machine = features::machine(&data.features, data.big);
    let arm64 = machine.map(|machine| machine == "aarch64" || machine == "arm64");
    Some(Ok(BranchSamples { samples, spaces: Arc::new(spaces), arm64, damage, problems }))
}

impl BranchSamples {
    /// The samples at the addresses in their program files, as far as these were found, and the
    /// number of addresses that are in none: as simpleperf lists them.
    /// (simpleperf/cmd_inject.cpp at 04d07ac1, `LBRPerfDataReader::ProcessRecord`)
    pub fn listed(&self) -> (ListedSamples, u64) {
        let (mut list, mut numbers, mut outside) = (ListedSamples::default(), HashMap::new(), 0);
        let modules = self.spaces.modules();
        for sample in &self.samples {
            let thread = sample.task.map(|(_, thread)| thread);
            let image = self.spaces.image(self.spaces.memory(thread, sample.moment));
            let mut place = |address: u64| {
                let region = image.region(image.view(Space::ANY), address);
                let module = region.and_then(|region| region.module());
                let found = module.and_then(|module| {
                    let file =
                        modules.get(module.index as usize).filter(|file| file.found.is_some());
                    Some((file?, module))
                });
                let Some((file, module)) = found else {
                    outside += 1;
                    return FileAddress::default();
                };
                let binary = *numbers.entry(module.index).or_insert_with(|| {
                    let build_id = file.build_id.clone().unwrap_or_default();
                    list.binaries.push(SampledBinary { path: file.path.clone(), build_id });
                    list.binaries.len() as u32
                });
                FileAddress { binary, address: address.wrapping_sub(module.bias) }
            };
            let branches = sample.branches.iter().map(|(from, to)| (place(*from), place(*to)));
            let branches: Vec<_> = branches.collect();
            let at = sample.address.map(&mut place).unwrap_or_default();
            let places = branches.iter().flat_map(|(from, to)| [from, to]).chain([&at]);
            let known = places.into_iter().any(|place| place.binary != 0);
            if known {
                list.samples.push(ListedSample { at, branches });
            }
        }
        (list, outside)
    }
}

/// Whether the records have times.
fn timed(data: &PerfData) -> bool {
    let timed = |attr: &Attr| attr.sample_type & TIME != 0 && attr.flags & Attr::SAMPLE_ID_ALL != 0;
    !data.attrs.is_empty() && data.attrs.iter().all(timed)
}

/// What was found beside samples.
struct Found {
    /// What is wrong with them.
    damage: Vec<String>,
    /// The text about branches that were not taken.
    others: Option<String>,
}

/// The samples, and what is wrong with them.
fn samples(data: &PerfData) -> (Vec<BranchSample>, Found) {
    let ids = data.attrs.iter().enumerate().flat_map(|(n, a)| a.ids.iter().map(move |id| (*id, n)));
    let ids: HashMap<u64, usize> = ids.collect();
    let timed = timed(data);
    let (mut all, mut damaged, mut not_taken) = (Vec::new(), 0, 0u64);
    for raw in &data.samples {
        let Some(attr) = event(data, &ids, raw) else { continue };
        if attr.sample_type & BRANCH_STACK == 0 {
            continue;
        }
        match fields(attr, &raw.bytes, data.big) {
            Some((mut sample, others)) => {
                not_taken += others;
                if !timed {
                    sample.moment = raw.after as u64;
                }
                if !sample.branches.is_empty() {
                    all.push(sample);
                }
            }
            None => damaged += 1,
        }
    }
    let damage = (damaged > 0)
        .then(|| format!("{damaged} samples are shorter than their fields, and are not used"));
    let others = (not_taken > 0).then(|| {
        format!(
            "{not_taken} entries of samples are branches that were not taken, and are not counted"
        )
    });
    (all, Found { damage: damage.into_iter().collect(), others })
}

/// The event of a sample: by its identifier, which is its first field, or follows others.
fn event<'a>(data: &'a PerfData, ids: &HashMap<u64, usize>, raw: &RawSample) -> Option<&'a Attr> {
    let [first, rest @ ..] = data.attrs.as_slice() else { return None };
    if rest.is_empty() {
        return Some(first);
    }
    let before = [IP, TID, TIME, ADDR].iter().filter(|field| first.sample_type & **field != 0);
    let at = match first.sample_type {
        fields if fields & IDENTIFIER != 0 => 0,
        fields if fields & ID != 0 => 8 * before.count(),
        _ => return Some(first),
    };
    let mut id = 0;
    Reader::new(raw.bytes.get(at..)?, data.big).u64(&mut id)?;
    data.attrs.get(*ids.get(&id)?)
}

/// The fields of a sample, in the order of the file, and the number of its branches that were not
/// taken, which are not among its branches.
fn fields(attr: &Attr, bytes: &[u8], big: bool) -> Option<(BranchSample, u64)> {
    let (mut f, mut not_taken) = (Reader::new(bytes, big), 0);
    let has = |field: u64| attr.sample_type & field != 0;
    let mut sample = BranchSample::default();
    let skip = |f: &mut Reader<'_>, words: u64| {
        (0..words).try_for_each(|_| f.u64(&mut 0)).filter(|()| words <= 1 << 13)
    };
    skip(&mut f, has(IDENTIFIER).into())?;
    if has(IP) {
        f.u64(sample.address.insert(0))?;
    }
    if has(TID) {
        let (mut process, mut thread) = (0, 0);
        f.u32(&mut process)?;
        f.u32(&mut thread)?;
        sample.task = Some((process, thread));
    }
    if has(TIME) {
        f.u64(&mut sample.moment)?;
    }
    let words = [ADDR, ID, STREAM_ID, CPU, PERIOD].iter().filter(|field| has(**field)).count();
    skip(&mut f, words as u64)?;
    if has(READ) {
        let words = read_words(attr, &f)?;
        skip(&mut f, words)?;
    }
    if has(CALLCHAIN) {
        let mut count = 0;
        f.u64(&mut count)?;
        skip(&mut f, count)?;
    }
    if has(RAW) {
        let mut size = 0;
        f.u32(&mut size)?;
        let mut raw = vec![0; usize::try_from(size).ok().filter(|size| *size <= f.left())?];
        f.raw(&mut raw)?;
    }
    let mut count = 0;
    f.u64(&mut count)?;
    if count > MOST {
        return None;
    }
    if attr.branch_sample_type & HW_INDEX != 0 {
        f.u64(&mut 0)?;
    }
    for _ in 0..count {
        let (mut from, mut to) = (0, 0);
        f.u64(&mut from)?;
        f.u64(&mut to)?;
        let mut flags = 0;
        f.u64(&mut flags)?;
        // Compilers for big-endian machines put the first field into the most significant bits.
        let bit = if f.big() { 63 - NOT_TAKEN } else { NOT_TAKEN };
        match flags >> bit & 1 {
            1 => not_taken += 1,
            _ => sample.branches.push((from, to)),
        }
    }
    Some((sample, not_taken))
}

/// The number of words of the field READ, which `f` is at.
fn read_words(attr: &Attr, f: &Reader<'_>) -> Option<u64> {
    let format = attr.read_format;
    let times = TOTAL_TIMES.iter().filter(|bit| format & **bit != 0).count() as u64;
    let each = 1 + [READ_ID, LOST].iter().filter(|bit| format & **bit != 0).count() as u64;
    if format & GROUP == 0 {
        return Some(times + each);
    }
    let mut count = 0;
    f.clone().u64(&mut count)?;
    Some((1 + times).saturating_add(count.saturating_mul(each)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Laid out as perf_event_open(2) lists the fields.
    #[test]
    fn the_fields_before_the_branches_are_skipped() {
        let words = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let stack = [2, 0x10, 0x20, 0, 0x30, 0x40, 2];
        let want = vec![(0x10, 0x20), (0x30, 0x40)];
        let ip = 9;
        for (sample_type, read_format, branches, before, task, moment) in [
            (BRANCH_STACK, 0, 0, vec![], None, 0),
            (IP | TID | TIME | BRANCH_STACK, 0, 0, vec![ip, 7 | 8 << 32, 99], Some((7, 8)), 99),
            (
                IDENTIFIER | IP | ADDR | ID | STREAM_ID | CPU | PERIOD | BRANCH_STACK,
                0,
                0,
                vec![9; 7],
                None,
                0,
            ),
            (READ | CALLCHAIN | BRANCH_STACK, 7 | LOST, 0, vec![1, 2, 3, 4, 5, 2, 8, 8], None, 0),
            (READ | BRANCH_STACK, GROUP | READ_ID, 0, vec![2, 1, 1, 1, 1], None, 0),
            // The size of RAW and its bytes are a multiple of eight bytes.
            (RAW | BRANCH_STACK, 0, 0, vec![4 | 0xaa << 32], None, 0),
            (BRANCH_STACK, 0, HW_INDEX, vec![], None, 0),
        ] {
            let attr =
                Attr { sample_type, read_format, branch_sample_type: branches, ..Attr::default() };
            let mut all = before;
            all.push(stack[0]);
            all.extend((branches != 0).then_some(u64::MAX));
            all.extend(&stack[1..]);
            let bytes = words(&all);
            let sample = fields(&attr, &bytes, false).unwrap().0;
            let address = (sample_type & IP != 0).then_some(ip);
            assert_eq!(sample, BranchSample { task, moment, address, branches: want.clone() });
            for len in 0..bytes.len() {
                assert_eq!(fields(&attr, &bytes[..len], false), None, "{sample_type:#x} {len}");
            }
        }
        let attr = Attr { sample_type: CALLCHAIN | BRANCH_STACK, ..Attr::default() };
        assert_eq!(fields(&attr, &words(&[u64::MAX, 1, 2]), false), None);
    }
    /// Entries as perf writes them of Arm SPE: type, speculation and privilege have no meaning
    /// here.
    #[test]
    fn branches_that_were_not_taken_are_no_branches() {
        let attr = Attr { sample_type: BRANCH_STACK, ..Attr::default() };
        let others = 0xf << 20 | 0x3 << 24 | 0xf << 26 | 0x7 << 30;
        let stack = [3, 0x10, 0x20, others, 0x30, 0x34, others | 1 << 33, 0x40, 0x50, 1];
        let little: Vec<u8> = stack.iter().flat_map(|w: &u64| w.to_le_bytes()).collect();
        let flag = |n: &u64| n.reverse_bits().to_be_bytes();
        let plain = |n: &u64| n.to_be_bytes();
        let big: Vec<u8> = stack[..1].iter().flat_map(plain).collect();
        let entries = stack[1..].chunks(3);
        let entry = |e: &[u64]| [plain(&e[0]), plain(&e[1]), flag(&e[2])].concat();
        let big = big.into_iter().chain(entries.flat_map(entry)).collect::<Vec<u8>>();
        for (bytes, is_big) in [(little, false), (big, true)] {
            let (sample, not_taken) = fields(&attr, &bytes, is_big).unwrap();
            assert_eq!(sample.branches, [(0x10, 0x20), (0x40, 0x50)]);
            assert_eq!(not_taken, 1);
        }
    }
}
