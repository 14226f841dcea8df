//! A recording whose trace is replaced by samples with the branches before each, as `perf inject`
//! writes it. (Linux 6.1.192, tools/perf/util/cs-etm.c:1044 and 1373, `cs_etm__inject_event` and
//! `cs_etm__synth_events`)

use super::attr::{Attr, SampleId};
use super::data::{Form, PerfData};
use super::features;
use super::fields::{Fields, Reader};
use super::record::{Body, HEADER, Record};

/// PERF_TYPE_HARDWARE, and its event PERF_COUNT_HW_INSTRUCTIONS.
const HARDWARE: u32 = 0;
const INSTRUCTIONS: u64 = 1;
/// The size of the structure of an event with the fields up to `clockid`, and without those behind
/// them: perf 6.1 refuses the file of an event with 136 bytes, though they be 0.
/// (include/uapi/linux/perf_event.h, PERF_ATTR_SIZE_VER3)
const ATTR: u32 = 96;
/// PERF_SAMPLE_BRANCH_USER, KERNEL and ANY.
const BRANCHES: [u64; 3] = [1, 1 << 1, 1 << 3];
/// The features that do not describe the events or the trace.
const FEATURES: [u32; 7] = [
    features::BUILD_ID,
    features::HOSTNAME,
    features::OS_RELEASE,
    features::VERSION,
    features::ARCH,
    features::CPU_COUNT,
    features::COMMAND_LINE,
];

impl PerfData {
    /// The same recording with `samples` in place of the trace: records of kind SAMPLE,
    /// little-endian, with the fields `sample_type`. There is one sample of `period` instructions;
    /// 1 where they have no fixed period.
    #[must_use]
    pub fn with_samples(&self, samples: &[u8], sample_type: u64, period: u64) -> PerfData {
        let traced = self.attrs.first().cloned().unwrap_or_default();
        let excluded = Attr::EXCLUDE_USER | Attr::EXCLUDE_KERNEL | Attr::EXCLUDE_HYPERVISOR;
        let [user, kernel, any] = BRANCHES;
        let mut branches = any;
        for (flag, mode) in [(Attr::EXCLUDE_USER, user), (Attr::EXCLUDE_KERNEL, kernel)] {
            branches |= if traced.flags & flag == 0 { mode } else { 0 };
        }
        let attr = Attr {
            kind: HARDWARE,
            size: ATTR,
            config: INSTRUCTIONS,
            sample_period: period,
            sample_type,
            flags: traced.flags & (excluded | Attr::USE_CLOCK_ID) | Attr::SAMPLE_ID_ALL,
            branch_sample_type: branches,
            clock: traced.clock,
            ids: vec![1],
            ..Attr::default()
        };
        let needed = |record: &&Record| {
            matches!(record.body, Body::Mmap(_) | Body::Comm { .. } | Body::Fork(_) | Body::Exit(_))
        };
        let mut data = PerfData { attrs: vec![attr], form: Form::File, ..PerfData::default() };
        // `perf report` shows branches where it is.
        // (Linux, tools/perf/builtin-inject.c, `__cmd_inject`)
        data.features.insert(features::BRANCH_STACK, Vec::new());
        for (number, bytes) in &self.features {
            match (*number, self.big) {
                (features::BUILD_ID, big) => {
                    let ids = features::build_ids(bytes, big);
                    data.features.insert(*number, features::write_build_ids(&ids, false));
                }
                (number, false) if FEATURES.contains(&number) => {
                    data.features.insert(number, bytes.clone());
                }
                _ => {}
            }
        }
        data.records = self.records.iter().filter(needed).cloned().collect();
        for record in &mut data.records {
            let SampleId { task, time, cpu, .. } = record.id;
            record.id = SampleId { task, time, cpu, ..SampleId::default() };
        }
        let mut rest = samples;
        while let Some((record, after)) = sample(rest) {
            data.records.push(record);
            rest = after;
        }
        data
    }
}

/// The first record of `bytes`, and what follows it.
fn sample(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (mut number, mut misc, mut size) = (0, 0, 0);
    let mut head = Reader::new(bytes, false);
    head.u32(&mut number)?;
    head.u16(&mut misc)?;
    head.u16(&mut size)?;
    let (record, after) = bytes.split_at_checked(usize::from(size))?;
    let body = Body::Other { number, bytes: record.get(HEADER..)?.to_vec() };
    Some((Record { misc, ..Record::new(body) }, after))
}
