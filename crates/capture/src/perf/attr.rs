//! `perf_event_attr`: how an event was recorded. (perf_event_open(2))

use super::fields::{Fields, Reader, Writer};

/// The size of the first version: the fields up to `config1`.
pub const MIN_SIZE: u32 = 64;
/// The size with all fields that are known here, up to `config3`.
pub const MAX_SIZE: u32 = 136;

/// How an event was recorded, and the identifiers of its instances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attr {
    /// The PMU: a number of the kernel that recorded.
    pub kind: u32,
    /// The size in bytes of the structure in the file, at least 64.
    pub size: u32,
    /// What is traced: see [`Attr::CONTEXT_ID_EL1`] and the other bits.
    pub config: u64,
    /// `sample_period` or `sample_freq`.
    pub sample_period: u64,
    /// The fields of samples, and of the identification of other records.
    pub sample_type: u64,
    /// `read_format`.
    pub read_format: u64,
    /// The flags, bit 0 `disabled` first.
    pub flags: u64,
    /// `wakeup_events` or `wakeup_watermark`.
    pub wakeup: u32,
    /// `bp_type`.
    pub breakpoint: u32,
    /// `config1`.
    pub config1: u64,
    /// `config2`: bits \[31:0] the sink, bits \[63:32] the configuration.
    pub config2: u64,
    /// `branch_sample_type`.
    pub branch_sample_type: u64,
    /// `sample_regs_user`.
    pub user_registers: u64,
    /// `sample_stack_user`.
    pub user_stack: u32,
    /// `clockid`.
    pub clock: u32,
    /// `sample_regs_intr`.
    pub interrupt_registers: u64,
    /// `aux_watermark`.
    pub aux_watermark: u32,
    /// `sample_max_stack`, and 16 reserved bits above.
    pub max_stack: u32,
    /// `aux_sample_size`.
    pub aux_sample_size: u32,
    /// `aux_action`.
    pub aux_action: u32,
    /// `sig_data`.
    pub signal_data: u64,
    /// `config3`.
    pub config3: u64,
    /// The fields that are not known here.
    pub rest: Vec<u8>,
    /// The identifiers of the event's instances.
    pub ids: Vec<u64>,
}

impl Attr {
    /// Sample type: address of the instruction. It is a part of samples only.
    pub const IP: u64 = 1;
    /// Sample type: process and thread.
    pub const TID: u64 = 1 << 1;
    /// Sample type: time.
    pub const TIME: u64 = 1 << 2;
    /// Sample type: identifier of the event's instance.
    pub const ID: u64 = 1 << 6;
    /// Sample type: CPU.
    pub const CPU: u64 = 1 << 7;
    /// Sample type: identifier of the event's stream.
    pub const STREAM_ID: u64 = 1 << 9;
    /// Sample type: the branches before a sample.
    pub const BRANCH_STACK: u64 = 1 << 11;
    /// Sample type: identifier at a fixed position.
    pub const IDENTIFIER: u64 = 1 << 16;
    /// Flag `sample_id_all`: records other than samples are identified, too.
    pub const SAMPLE_ID_ALL: u64 = 1 << 18;
    /// Flag `use_clockid`: times are those of the clock `clock`.
    pub const USE_CLOCK_ID: u64 = 1 << 25;
    /// Flag `exclude_kernel`.
    pub const EXCLUDE_KERNEL: u64 = 1 << 5;
    /// Flag `exclude_user`.
    pub const EXCLUDE_USER: u64 = 1 << 4;
    /// Flag `exclude_hv`.
    pub const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    /// Configuration of cs_etm: CONTEXTIDR_EL1 is traced.
    pub const CONTEXT_ID_EL1: u64 = 1 << 14;
    /// Configuration of cs_etm: CONTEXTIDR_EL2 is traced.
    pub const CONTEXT_ID_EL2: u64 = 1 << 15;
    /// Configuration of cs_etm: timestamps are traced.
    pub const TIMESTAMP: u64 = 1 << 28;

    /// The letters of the modes that are traced, as perf appends them to the name of an event;
    /// empty where all are.
    pub fn modes(&self) -> String {
        let modes = [
            (Attr::EXCLUDE_KERNEL, 'k'),
            (Attr::EXCLUDE_USER, 'u'),
            (Attr::EXCLUDE_HYPERVISOR, 'h'),
        ];
        let has = |flag: u64| self.flags & flag != 0;
        match modes.iter().any(|(flag, _)| has(*flag)) {
            true => modes.iter().filter(|(flag, _)| !has(*flag)).map(|(_, mode)| *mode).collect(),
            false => String::new(),
        }
    }

    /// Reads the `bytes` of one structure, without the identifiers. A structure of an older version
    /// has zeros in the fields that it lacks.
    pub(super) fn read(bytes: &[u8], big: bool) -> Option<Attr> {
        let mut head = Reader::new(bytes, big);
        let mut attr = Attr::default();
        head.u32(&mut attr.kind)?;
        head.u32(&mut attr.size)?;
        // The first version has a size of 0.
        let size = if attr.size == 0 { MIN_SIZE } else { attr.size };
        let bytes = bytes.get(..size as usize).filter(|_| size >= MIN_SIZE)?;
        let mut whole = bytes.to_vec();
        whole.resize(whole.len().max(MAX_SIZE as usize), 0);
        attr.fields(&mut Reader::new(&whole, big))?;
        attr.size = size;
        attr.rest = bytes.get(MAX_SIZE as usize..).unwrap_or_default().to_vec();
        if big {
            // The compiler of a big-endian machine allocates the flags from the top bit on.
            attr.flags = attr.flags.reverse_bits();
        }
        Some(attr)
    }

    /// The bytes of the structure, without the identifiers.
    pub(super) fn write(&self, big: bool) -> Vec<u8> {
        let mut attr = self.clone();
        if big {
            attr.flags = attr.flags.reverse_bits();
        }
        let mut writer = Writer::new(big);
        // A writer takes every field.
        let _ = attr.fields(&mut writer);
        writer.out.extend_from_slice(&self.rest);
        writer.out.resize(self.size.max(MIN_SIZE) as usize, 0);
        writer.out
    }

    /// The order of these lines is the order in the file.
    fn fields(&mut self, f: &mut impl Fields) -> Option<()> {
        f.u32(&mut self.kind)?;
        f.u32(&mut self.size)?;
        f.u64(&mut self.config)?;
        f.u64(&mut self.sample_period)?;
        f.u64(&mut self.sample_type)?;
        f.u64(&mut self.read_format)?;
        f.u64(&mut self.flags)?;
        f.u32(&mut self.wakeup)?;
        f.u32(&mut self.breakpoint)?;
        f.u64(&mut self.config1)?;
        f.u64(&mut self.config2)?;
        f.u64(&mut self.branch_sample_type)?;
        f.u64(&mut self.user_registers)?;
        f.u32(&mut self.user_stack)?;
        f.u32(&mut self.clock)?;
        f.u64(&mut self.interrupt_registers)?;
        f.u32(&mut self.aux_watermark)?;
        f.u32(&mut self.max_stack)?;
        f.u32(&mut self.aux_sample_size)?;
        f.u32(&mut self.aux_action)?;
        f.u64(&mut self.signal_data)?;
        f.u64(&mut self.config3)
    }
}

/// The identification of a record: a part of it exists where the sample type has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleId {
    /// Process and thread.
    pub task: Option<(u32, u32)>,
    /// Time, in nanoseconds of perf's clock.
    pub time: Option<u64>,
    /// Identifier of the event's instance.
    pub id: Option<u64>,
    /// Identifier of the event's stream.
    pub stream: Option<u64>,
    /// CPU.
    pub cpu: Option<u32>,
    /// Identifier of the event's instance, at a fixed position.
    pub identifier: Option<u64>,
}

impl SampleId {
    /// The size in bytes for the events of `attr`.
    pub(super) fn size(attr: &Attr) -> usize {
        if attr.flags & Attr::SAMPLE_ID_ALL == 0 {
            return 0;
        }
        let parts = [Attr::TID, Attr::TIME, Attr::ID, Attr::STREAM_ID, Attr::CPU, Attr::IDENTIFIER];
        8 * parts.iter().filter(|part| attr.sample_type & **part != 0).count()
    }

    /// The order of these lines is the order in the file: the last bytes of a record.
    pub(super) fn fields(&mut self, sample_type: u64, f: &mut impl Fields) -> Option<()> {
        fn word(f: &mut impl Fields, value: &mut Option<u64>) -> Option<()> {
            let mut word = value.unwrap_or_default();
            f.u64(&mut word)?;
            *value = Some(word);
            Some(())
        }
        let has = |bit: u64| sample_type & bit != 0;
        if has(Attr::TID) {
            let (mut process, mut thread) = self.task.unwrap_or_default();
            f.u32(&mut process)?;
            f.u32(&mut thread)?;
            self.task = Some((process, thread));
        }
        if has(Attr::TIME) {
            word(f, &mut self.time)?;
        }
        if has(Attr::ID) {
            word(f, &mut self.id)?;
        }
        if has(Attr::STREAM_ID) {
            word(f, &mut self.stream)?;
        }
        if has(Attr::CPU) {
            let (mut cpu, mut reserved) = (self.cpu.unwrap_or_default(), 0);
            f.u32(&mut cpu)?;
            f.u32(&mut reserved)?;
            self.cpu = Some(cpu);
        }
        if has(Attr::IDENTIFIER) {
            word(f, &mut self.identifier)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_read_and_written() {
        let full = Attr {
            kind: 9,
            config: 0x4000,
            sample_type: 0x1_00c7,
            flags: Attr::SAMPLE_ID_ALL | 1,
            config1: 3,
            config2: 4,
            clock: 1,
            aux_watermark: 5,
            signal_data: 6,
            config3: 7,
            ..Attr::default()
        };
        for big in [false, true] {
            for size in [64, 72, 80, 96, 104, 112, 120, 128, 136, 144] {
                let attr = Attr { size, ..full.clone() };
                let bytes = attr.write(big);
                assert_eq!(bytes.len(), size as usize);
                let read = Attr::read(&bytes, big).unwrap();
                assert_eq!(read.config2, if size >= 72 { 4 } else { 0 });
                assert_eq!(read.config3, if size >= 136 { 7 } else { 0 });
                assert_eq!((read.kind, read.flags, read.size), (9, full.flags, size));
                assert_eq!(read.write(big), bytes);
            }
            assert_eq!(Attr::read(&Attr { size: 63, ..full.clone() }.write(big), big), None);
        }
    }
}
