//! Units by name, with their identification registers.
//!
//! The resources of the units for ARM7 and ARM9 are in IHI 0014, Tables 2-19 and 2-20. Those of
//! later units are in their technical reference manuals (DDI 0344 for Cortex-A8, DDI 0440 for
//! Cortex-M4, DDI 0337 for Cortex-M3), or in captures of them (Cortex-A7, Cortex-R5).

use super::resources::{DataTracing, Identification, Resources};
use super::version::Version;

/// A unit by name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Names of the unit and of its cores.
    pub names: &'static [&'static str],
    /// Version of the architecture.
    pub version: Version,
    /// Registers that identify the unit.
    pub registers: Identification,
    /// Data tracing.
    pub data: DataTracing,
    /// Size of the FIFO in bytes, where it is known.
    pub fifo: Option<u8>,
    /// Registers are reached through JTAG only.
    pub jtag_only: bool,
    /// EmbeddedICE inputs of units before ETMv3.4.
    pub ice_inputs: u8,
}

const fn arm7_9(names: &'static [&'static str], code: u32, fifo: u8) -> Preset {
    Preset {
        names,
        version: Version::V1_3,
        registers: Identification {
            configuration: Some(0x3000_0000 | code),
            id: None,
            extension: None,
            system: None,
        },
        data: DataTracing::Full,
        fifo: Some(fifo),
        jtag_only: true,
        ice_inputs: 2,
    }
}

const fn later(
    names: &'static [&'static str],
    version: Version,
    configuration: u32,
    id: u32,
    extension: Option<u32>,
    system: Option<u32>,
) -> Preset {
    Preset {
        names,
        version,
        registers: Identification {
            configuration: Some(configuration),
            id: Some(id),
            extension,
            system,
        },
        data: DataTracing::Full,
        fifo: None,
        jtag_only: false,
        ice_inputs: 0,
    }
}

/// The presets.
pub const PRESETS: &[Preset] = &[
    // Table 2-19: ETM7 has ETMv1.2 in its last revision, ETM9 ETMv1.3.
    Preset {
        version: Version::V1_2,
        registers: Identification {
            configuration: Some(0x4084_2401),
            id: None,
            extension: None,
            system: None,
        },
        ..arm7_9(&["ETM7-small"], 0, 10)
    },
    Preset {
        version: Version::V1_2,
        registers: Identification {
            configuration: Some(0x4099_4824),
            id: None,
            extension: None,
            system: None,
        },
        ..arm7_9(&["ETM7-medium", "ETM7"], 0, 20)
    },
    Preset {
        version: Version::V1_2,
        registers: Identification {
            configuration: Some(0x40c9_9088),
            id: None,
            extension: None,
            system: None,
        },
        ..arm7_9(&["ETM7-large"], 0, 45)
    },
    arm7_9(&["ETM9-small"], 0x0084_2401, 9),
    arm7_9(&["ETM9-medium", "ETM9"], 0x0099_4824, 18),
    arm7_9(&["ETM9-mediumplus"], 0x0099_4824, 45),
    arm7_9(&["ETM9-large"], 0x00c9_9088, 45),
    later(&["ETM-A8", "Cortex-A8"], Version::V3_3, 0x8d29_4024, 0x410c_f230, None, None),
    later(
        &["ETM-A5", "Cortex-A5"],
        Version::V3_5,
        0x8d29_4024,
        0x410c_f250,
        Some(0x3440_08f2),
        None,
    ),
    later(
        &["ETM-A7", "Cortex-A7"],
        Version::V3_5,
        0x8d29_4024,
        0x410c_f250,
        Some(0x3440_08f2),
        None,
    ),
    later(
        &["ETM-R4", "Cortex-R4"],
        Version::V3_3,
        0x8d25_4024,
        0x4104_f230,
        Some(0x0000_09ba),
        Some(0x0002_0c0c),
    ),
    later(
        &["ETM-R5", "Cortex-R5"],
        Version::V3_3,
        0x8d25_4024,
        0x4104_f230,
        Some(0x0000_09ba),
        Some(0x0002_0c0c),
    ),
    Preset {
        data: DataTracing::None,
        fifo: Some(24),
        ..later(
            &["ETM-M3", "Cortex-M3"],
            Version::V3_5,
            0x8c80_2000,
            0x4114_f253,
            Some(0x1854_1800),
            Some(0x0002_0d09),
        )
    },
    Preset {
        data: DataTracing::None,
        fifo: Some(24),
        ..later(
            &["ETM-M4", "Cortex-M4"],
            Version::V3_5,
            0x8c80_2000,
            0x4114_f250,
            Some(0x1854_1800),
            Some(0x0002_0d09),
        )
    },
];

impl Preset {
    /// The preset of the unit or core `name`, in any letter case.
    pub fn named(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.names.iter().any(|n| n.eq_ignore_ascii_case(name)))
    }

    /// The resources.
    pub fn resources(&self) -> Resources {
        let m_profile = matches!(self.data, DataTracing::None);
        let base = Resources {
            data: self.data,
            fifo: self.fifo,
            jtag: self.jtag_only,
            memory_mapped: !self.jtag_only,
            ice_inputs: self.ice_inputs,
            // Neither is reported: the units of the M profile have none of them.
            suppression: !m_profile && self.version.since(Version::V3_0),
            cycles: !m_profile,
            context_ids: !m_profile && self.version.since(Version::V1_2),
            fixed_sync: m_profile,
            os_lock: false,
            selectors: 0,
            bus: 0,
            instrumentation: 0,
            ..Resources::largest(self.version)
        };
        base.reported(&self.registers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IHI 0014, Tables 2-19 and 2-20: pairs, data comparators, memory map decodes, counters,
    /// sequencer, external inputs and outputs, size of the FIFO.
    #[test]
    fn standard_configurations() {
        for (name, pairs, data, map, counters, sequencer, inputs, outputs, fifo) in [
            ("ETM7-small", 1, 0, 4, 1, false, 2, 0, 10),
            ("ETM7-medium", 4, 2, 8, 2, true, 4, 1, 20),
            ("ETM7-large", 8, 8, 16, 4, true, 4, 4, 45),
            ("ETM9-small", 1, 0, 4, 1, false, 2, 0, 9),
            ("ETM9-medium", 4, 2, 8, 2, true, 4, 1, 18),
            ("ETM9-mediumplus", 4, 2, 8, 2, true, 4, 1, 45),
            ("ETM9-large", 8, 8, 16, 4, true, 4, 4, 45),
        ] {
            let unit = Preset::named(name).unwrap().resources();
            let got = (unit.pairs, unit.data_comparators, unit.memory_map, unit.counters);
            assert_eq!(got, (pairs, data, map, counters), "{name}");
            let got = (unit.sequencer, unit.inputs, unit.outputs, unit.fifo);
            assert_eq!(got, (sequencer, inputs, outputs, Some(fifo)), "{name}");
        }
    }

    /// The technical reference manuals of the units.
    #[test]
    fn later_units() {
        let a8 = Preset::named("cortex-a8").unwrap().resources();
        assert_eq!((a8.pairs, a8.data_comparators, a8.counters, a8.sequencer), (4, 2, 2, true));
        assert_eq!((a8.inputs, a8.outputs, a8.context_comparators), (4, 2, 1));
        let m4 = Preset::named("Cortex-M4").unwrap().resources();
        assert_eq!((m4.pairs, m4.counters, m4.start_stop, m4.fifofull), (0, 1, true, true));
        assert_eq!((m4.ice_inputs, m4.ice_start_stop, m4.data_addresses), (4, true, false));
        assert!(m4.readable && m4.reduced_counter && m4.timestamps && !m4.virtualization);
        let a7 = Preset::named("Cortex-A7").unwrap().resources();
        assert_eq!((a7.selectors, a7.bus, a7.virtualization, a7.timestamps), (2, 30, true, true));
    }

    #[test]
    fn registers_report_the_versions() {
        for preset in PRESETS {
            assert_eq!(preset.registers.version(), Some(preset.version), "{:?}", preset.names);
        }
    }
}
