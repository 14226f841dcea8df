//! The resources of a unit, which differ between implementations. (IHI 0014, Appendix A, Table
//!

use super::version::Version;

/// Which data a unit can trace. (IHI 0014, 7.9.2)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataTracing {
    /// Addresses, values, coprocessor transfers, and data without instructions from ETMv3.1.
    Full,
    /// Addresses only.
    Addresses,
    /// Values and coprocessor transfers only.
    Values,
    /// None.
    None,
}

/// The resources of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Version of the architecture.
    pub version: Version,
    /// Pairs of address comparators: 0 to 8.
    pub pairs: u8,
    /// Data value comparators: 0 to 8.
    pub data_comparators: u8,
    /// Context ID comparators: 0 to 3, from ETMv2.0.
    pub context_comparators: u8,
    /// Memory map decodes: 0 to 16.
    pub memory_map: u8,
    /// Counters: 0 to 4.
    pub counters: u8,
    /// The sequencer.
    pub sequencer: bool,
    /// The start/stop block.
    pub start_stop: bool,
    /// External inputs: 0 to 4.
    pub inputs: u8,
    /// External outputs: 0 to 4.
    pub outputs: u8,
    /// Extended external input selectors: 0 to 4, from ETMv3.1.
    pub selectors: u8,
    /// Width of the extended external input bus: 0 to 255.
    pub bus: u8,
    /// EmbeddedICE watchpoint inputs: 0 to 8; 0 or 2 before ETMv3.4.
    pub ice_inputs: u8,
    /// ETMEIBCR, from ETMv3.4.
    pub ice_behaviour: bool,
    /// EmbeddedICE inputs can start and stop tracing, from ETMv3.4.
    pub ice_start_stop: bool,
    /// Instrumentation resources: 0 to 4, from ETMv3.3.
    pub instrumentation: u8,
    /// Address comparators compare data addresses.
    pub data_addresses: bool,
    /// Address comparators compare instruction fetches.
    pub fetches: bool,
    /// The unit has FIFOFULL: ETMCCR bit \[23].
    pub fifofull: bool,
    /// The system supports FIFOFULL: ETMSCR bit \[8], from ETMv1.3.
    pub system_fifofull: bool,
    /// Data suppression, from ETMv3.0.
    pub suppression: bool,
    /// Cycle-accurate tracing.
    pub cycles: bool,
    /// Data tracing.
    pub data: DataTracing,
    /// Branch output.
    pub branch_output: bool,
    /// Context IDs are traced, from ETMv1.2.
    pub context_ids: bool,
    /// The Security Extensions, from ETMv3.2.
    pub security: bool,
    /// A 32-bit T32 instruction is traced as one instruction, from ETMv3.2: ETMIDR bit \[18].
    /// Otherwise it is two, of a halfword each. (4.5.4)
    pub thumb32_is_one: bool,
    /// Size of the FIFO in bytes, where it is known.
    pub fifo: Option<u8>,
    /// Code of the largest port size, as in ETMCR bits \[21, 6:4], where it is known.
    pub max_port: Option<u8>,
    /// ETMSYNCFR is read-only, from ETMv3.4.
    pub fixed_sync: bool,
    /// All registers can be read: ETMCCER bit \[11].
    pub readable: bool,
    /// The OS lock and ETMOSSRR, from ETMv3.3.
    pub os_lock: bool,
    /// Registers are memory-mapped, from ETMv3.2.
    pub memory_mapped: bool,
    /// Registers are reached through a JTAG scan chain.
    pub jtag: bool,
    /// Cores that share the unit: 1 to 8.
    pub cores: u8,
    /// Timestamps, from ETMv3.5.
    pub timestamps: bool,
    /// Virtual machine IDs, from ETMv3.5.
    pub virtualization: bool,
    /// Counter 1 always counts and has no enabling event, from ETMv3.5.
    pub reduced_counter: bool,
}

/// Values of the registers that identify a unit and its resources. `None` where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identification {
    /// ETMCCR.
    pub configuration: Option<u32>,
    /// ETMIDR.
    pub id: Option<u32>,
    /// ETMCCER.
    pub extension: Option<u32>,
    /// ETMSCR.
    pub system: Option<u32>,
}

impl Identification {
    /// The version that the registers report.
    pub fn version(&self) -> Option<Version> {
        if let Some(id) = self.id.filter(|id| *id != 0) {
            return Version::of_id(id);
        }
        let code = self.configuration?;
        (code >> 31 == 0).then(|| Version::of_protocol(code >> 28 & 0b111)).flatten()
    }
}

impl Resources {
    /// The largest unit of `version`: everything that is optional is there.
    pub const fn largest(version: Version) -> Resources {
        let v = version;
        Resources {
            version,
            pairs: 8,
            data_comparators: 8,
            context_comparators: if v.since(Version::V2_0) { 3 } else { 0 },
            memory_map: 16,
            counters: 4,
            sequencer: true,
            start_stop: v.since(Version::V1_2),
            inputs: 4,
            outputs: 4,
            selectors: if v.since(Version::V3_1) { 4 } else { 0 },
            bus: if v.since(Version::V3_1) { 255 } else { 0 },
            ice_inputs: if v.since(Version::V3_4) { 8 } else { 2 },
            ice_behaviour: v.since(Version::V3_4),
            ice_start_stop: v.since(Version::V3_4),
            instrumentation: if v.since(Version::V3_3) { 4 } else { 0 },
            data_addresses: true,
            fetches: true,
            fifofull: true,
            system_fifofull: true,
            suppression: v.since(Version::V3_0),
            cycles: true,
            data: DataTracing::Full,
            branch_output: true,
            context_ids: v.since(Version::V1_2),
            security: v.since(Version::V3_2),
            thumb32_is_one: v.since(Version::V3_2),
            fifo: None,
            max_port: None,
            fixed_sync: false,
            readable: v.since(Version::V3_1),
            os_lock: v.since(Version::V3_3),
            memory_mapped: v.since(Version::V3_2),
            // Where power can be removed, JTAG is not permitted. (3.2.5)
            jtag: !v.since(Version::V3_3),
            cores: 1,
            timestamps: v.since(Version::V3_5),
            virtualization: v.since(Version::V3_5),
            reduced_counter: false,
        }
    }

    /// The resources that `registers` report, and `self` for those that they do not report.
    #[must_use]
    pub fn reported(mut self, registers: &Identification) -> Resources {
        let v = self.version;
        let field =
            |value: u32, high: u32, low: u32| (value >> low & ((2 << (high - low)) - 1)) as u8;
        if let Some(code) = registers.configuration {
            self.pairs = field(code, 3, 0).min(8);
            self.data_comparators = field(code, 7, 4).min(8);
            self.memory_map = field(code, 12, 8).min(16);
            self.counters = field(code, 15, 13).min(4);
            self.sequencer = code >> 16 & 1 != 0;
            self.inputs = field(code, 19, 17).min(4);
            self.outputs = field(code, 22, 20).min(4);
            self.fifofull = code >> 23 & 1 != 0;
            if v.since(Version::V2_0) {
                self.context_comparators = field(code, 25, 24);
                self.start_stop = code >> 26 & 1 != 0;
            }
        }
        if let Some(code) = registers.extension.filter(|_| v.since(Version::V3_1)) {
            self.selectors = field(code, 2, 0).min(4);
            self.bus = field(code, 10, 3);
            self.readable = code >> 11 & 1 != 0;
            if v.since(Version::V3_3) {
                self.data_addresses = code >> 12 & 1 == 0;
                self.instrumentation = field(code, 15, 13).min(4);
            }
            if v.since(Version::V3_4) {
                self.ice_inputs = field(code, 19, 16).min(8);
                self.ice_start_stop = code >> 20 & 1 != 0;
                self.ice_behaviour = code >> 21 & 1 != 0;
            }
            if v.since(Version::V3_5) {
                self.timestamps = code >> 22 & 1 != 0;
                self.virtualization = code >> 26 & 1 != 0;
                self.reduced_counter = code >> 27 & 1 != 0;
            }
        }
        if let Some(id) = registers.id.filter(|_| v.since(Version::V3_2)) {
            self.security = id >> 19 & 1 != 0;
            self.thumb32_is_one = id >> 18 & 1 != 0;
        }
        if let Some(system) = registers.system.filter(|_| v.since(Version::V1_2)) {
            let high = if v.since(Version::V3_0) { (system >> 9 & 1) << 3 } else { 0 };
            self.max_port = Some((high | system & 0b111) as u8);
            if v.since(Version::V1_3) {
                self.system_fifofull = system >> 8 & 1 != 0;
            }
            if v.since(Version::V2_1) {
                self.fetches = system >> 17 & 1 == 0;
            }
            if v.since(Version::V3_2) {
                self.cores = field(system, 14, 12) + 1;
            }
        }
        self
    }

    /// Single address comparators.
    pub const fn comparators(&self) -> u8 {
        self.pairs * 2
    }

    /// The processor can be stalled.
    pub const fn stalls(&self) -> bool {
        self.fifofull && self.system_fifofull
    }

    /// Whether TraceEnable has comparators or memory map decodes to include or exclude.
    pub const fn selects(&self) -> bool {
        self.pairs > 0 || self.memory_map > 0
    }

    /// Value of ETMCCR that reports these resources. (IHI 0014, Table 3-10)
    pub fn configuration(&self) -> u32 {
        let v = self.version;
        let mut code = u32::from(self.pairs)
            | u32::from(self.data_comparators) << 4
            | u32::from(self.memory_map) << 8
            | u32::from(self.counters) << 13
            | u32::from(self.sequencer) << 16
            | u32::from(self.inputs) << 17
            | u32::from(self.outputs) << 20
            | u32::from(self.fifofull) << 23;
        if v.since(Version::V2_0) {
            code |= 1 << 31
                | u32::from(self.context_comparators) << 24
                | u32::from(self.start_stop) << 26;
        } else {
            code |= u32::from(v.minor()) << 28;
        }
        if v.since(Version::V3_1) {
            code |= u32::from(self.memory_mapped || !self.jtag) << 27;
        }
        code
    }

    /// Value of ETMCCER that reports these resources. (IHI 0014, Table 3-48) `None` before ETMv3.1.
    pub fn extension(&self) -> Option<u32> {
        let v = self.version;
        if !v.since(Version::V3_1) {
            return None;
        }
        let bit = |set: bool, at: u32, first: Version| u32::from(set && v.since(first)) << at;
        let mut code = u32::from(self.selectors)
            | u32::from(self.bus) << 3
            | bit(self.readable, 11, Version::V3_1)
            | bit(!self.data_addresses, 12, Version::V3_3)
            | u32::from(self.instrumentation) << 13
            | bit(self.ice_start_stop, 20, Version::V3_4)
            | bit(self.ice_behaviour, 21, Version::V3_4)
            | bit(self.timestamps, 22, Version::V3_5)
            | bit(self.virtualization, 26, Version::V3_5)
            | bit(self.reduced_counter, 27, Version::V3_5);
        if v.since(Version::V3_4) {
            code |= u32::from(self.ice_inputs) << 16;
        }
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The resources that ETMCCR and ETMCCER report are those that they were made of.
    #[test]
    fn reported_and_made() {
        for version in Version::ALL {
            let all = Resources::largest(version);
            let small = Resources {
                pairs: 1,
                data_comparators: 0,
                memory_map: 4,
                counters: 1,
                sequencer: false,
                inputs: 2,
                outputs: 0,
                ..all
            };
            for unit in [all, small] {
                let registers = Identification {
                    configuration: Some(unit.configuration()),
                    extension: unit.extension(),
                    ..Identification::default()
                };
                assert_eq!(all.reported(&registers), unit, "{version}");
            }
        }
    }
}
