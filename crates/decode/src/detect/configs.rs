//! Configurations with which trials are made where no registers are given.
//!
//! A register that the bytes determine is tried with the values that change how they are read. The
//! others have the value of a unit that can trace all that packets of its version express, so that
//! the packets of every unit are accepted.

use tracewright_base::CoreType;
use tracewright_frames::cycles::Width;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::known_units;

/// A configuration: registers or parameters by name, and the core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Names and values.
    pub registers: Vec<(&'static str, u64)>,
    /// The core, where the configuration depends on it.
    pub core: Option<&'static str>,
}

impl Setting {
    fn of(registers: &[(&'static str, u64)]) -> Setting {
        Setting { registers: registers.to_vec(), core: None }
    }

    /// The value of register `name`.
    pub fn get(&self, name: &str) -> Option<u64> {
        let mut registers = self.registers.iter();
        registers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// Sets register `name`.
    pub(super) fn set(&mut self, name: &'static str, value: u64) {
        match self.registers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.registers.push((name, value)),
        }
    }

    /// The configuration of `protocol`. `given` are registers of the user, which have priority.
    pub(super) fn config(
        &self,
        protocol: AnyProtocol,
        core: Option<CoreType>,
        given: &dyn Fn(&str) -> Option<u64>,
    ) -> Option<AnyConfig> {
        let core = core.or_else(|| tracewright_capture::core_type(self.core?));
        // The trace ID does not change how bytes are read.
        let id = protocol.id_register().map(|(name, _)| name);
        let id = |name: &str| id.filter(|id| *id == name).map(|_| 0);
        let value = |name: &str| given(name).or_else(|| self.get(name)).or_else(|| id(name));
        protocol.configure(core, &value).ok()
    }
}

/// TRCIDR0 of a unit that has all options but Q elements: branch broadcast, cycle counts in commit
/// mode 1, return stack, four events, 64-bit timestamps.
const TRCIDR0: u64 = 0x2800_0ea1;

/// TRCIDR0.QSUPP, bits \[16:15]: Q elements of both forms. Without them the headers of Q packets
/// are reserved.
const Q_ELEMENTS: u64 = 0b11 << 15;

/// TRCIDR2: 64-bit addresses, 32-bit context IDs, 8-bit virtual machine IDs.
const TRCIDR2: u64 = 0x488;

/// TRCIDR8: the most P0 elements that are not committed.
const MAX_SPECULATION: u64 = 0xff;

/// TRCCONFIGR: instruction trace with the return stack. A unit without the return stack traces the
/// address of each return, which a decoder with the return stack accepts.
const TRCCONFIGR: u64 = 0x1001;

/// TRCCONFIGR of a microcontroller: instruction trace.
const PLAIN: u64 = 1;

/// The unit of a microcontroller: 32-bit addresses, no context IDs, nothing speculative.
fn microcontroller() -> Setting {
    let unit = [
        ("TRCCONFIGR", PLAIN),
        ("TRCIDR0", TRCIDR0),
        ("TRCIDR1", 0x4100_f450),
        ("TRCIDR2", 4),
        ("TRCIDR8", 0),
    ];
    Setting { core: Some("ARMv8-M"), ..Setting::of(&unit) }
}

/// The configurations of `protocol` that read the same bytes differently, the most common first.
/// `core` is the name of the traced core, and `is_m` whether it has the M profile.
pub(super) fn variants(protocol: AnyProtocol, core: Option<&str>, is_m: bool) -> Vec<Setting> {
    let mut all = match protocol {
        // The name of the core states what the setting would.
        AnyProtocol::Etmv4 if is_m => {
            vec![Setting { core: core.map_or(Some("ARMv8-M"), |_| None), ..microcontroller() }]
        }
        _ => any_core(protocol),
    };
    for register in core.map_or(&[][..], |core| known_units::of(core, protocol)) {
        all.iter_mut().for_each(|setting| setting.set(register.name, register.value));
    }
    all.dedup();
    all
}

fn any_core(protocol: AnyProtocol) -> Vec<Setting> {
    match protocol {
        AnyProtocol::Etmv4 => {
            let unit = |idr2| {
                Setting::of(&[
                    ("TRCCONFIGR", TRCCONFIGR),
                    ("TRCIDR0", TRCIDR0),
                    ("TRCIDR1", 0x4100_f450),
                    ("TRCIDR2", idr2),
                ])
            };
            let mut all: Vec<_> = [TRCIDR2, 0x1088, 0x88].map(unit).into();
            // Speculative elements, which later packets commit or cancel.
            let speculative = all.first().cloned();
            all.extend(speculative.map(|mut unit| {
                unit.set("TRCIDR8", MAX_SPECULATION);
                unit
            }));
            all.push(microcontroller());
            let mut counting = unit(TRCIDR2);
            counting.set("TRCIDR0", TRCIDR0 | Q_ELEMENTS);
            all.push(counting);
            all
        }
        AnyProtocol::Ete => {
            let unit = |(speculation, q_elements)| {
                Setting::of(&[
                    ("TRCCONFIGR", TRCCONFIGR),
                    ("TRCIDR0", TRCIDR0 | 1 << 23 | q_elements),
                    ("TRCIDR2", 0x1088),
                    ("TRCIDR8", speculation),
                    ("TRCDEVARCH", 0x4775_5a13),
                ])
            };
            let q = Q_ELEMENTS;
            [(0, 0), (MAX_SPECULATION, 0), (0, q), (MAX_SPECULATION, q)].map(unit).into()
        }
        AnyProtocol::Etmv3 => {
            let mut all = Vec::new();
            for data in [0, 1 << 2, 1 << 3, 0b11 << 2] {
                for context in [0, 3, 1, 2] {
                    for cycles in [0, 1] {
                        // With and without the alternative encoding of branch addresses.
                        for id in [0x4114_f250, 0x410c_f250] {
                            let control = data | cycles << 12 | context << 14;
                            let unit = [("ETMCR", control), ("ETMIDR", id), ("ETMCCER", WIDE)];
                            all.push(Setting::of(&unit));
                        }
                    }
                }
            }
            all
        }
        AnyProtocol::Ptm => {
            let mut all = Vec::new();
            for context in [0, 3, 1, 2] {
                for cycles in [0, 1] {
                    // Timestamps and the return stack, without which none are traced.
                    let control = cycles << 12 | context << 14 | 0b11 << 28;
                    let unit = [("ETMCR", control), ("ETMCCER", WIDE), ("ETMIDR", 0x411c_f310)];
                    all.push(Setting::of(&unit));
                }
            }
            all
        }
        _ => vec![Setting::default()],
    }
}

/// The configurations of an ETMv1 or ETMv2 whose port has `width` that read the same cycles
/// differently, the most common first.
pub(super) fn port_variants(protocol: AnyProtocol, width: Width) -> Vec<Setting> {
    // The latest version, which has all that the others have.
    let version = match protocol {
        AnyProtocol::Etmv1 => ("ETMCCR", 0x3000_0000),
        _ => ("ETMIDR", 0x4100_2100),
    };
    let size = match width {
        Width::W4 => 0,
        Width::W8 => 1 << 4,
        Width::W16 => 2 << 4,
    };
    let mut all = Vec::new();
    for context in [0, 3, 1, 2] {
        for data in [0b11, 0, 0b01, 0b10] {
            let control = size | data << 2 | context << 14;
            all.push(Setting::of(&[("ETMCR", control), version]));
        }
    }
    all
}

/// ETMCCER: timestamps have 64 bits and are natural binary numbers.
const WIDE: u64 = 0x3000_0000;

/// The configurations with each form of timestamps: those of ETMCCER, bits \[29:28].
pub(super) fn with_timestamps(protocol: AnyProtocol, setting: &Setting) -> Vec<Setting> {
    if !matches!(protocol, AnyProtocol::Etmv3 | AnyProtocol::Ptm) {
        return Vec::new();
    }
    let form = |bits: u64| {
        let mut setting = setting.clone();
        setting.set("ETMCCER", bits << 28);
        setting
    };
    // 64 bits before 48, natural binary numbers before Gray code.
    [0b11, 0b10, 0b01, 0b00].map(form).into()
}

impl Setting {
    /// The rare options that the unit has: it traces what is not committed, and Q elements.
    pub(super) fn rarities(&self) -> i64 {
        let speculative = self.is_speculative();
        let counting = self.get("TRCIDR0").is_some_and(|options| options & Q_ELEMENTS != 0);
        i64::from(speculative) + i64::from(counting)
    }

    /// Whether the unit traces what is not committed.
    pub(super) fn is_speculative(&self) -> bool {
        self.get("TRCIDR8").is_some_and(|elements| elements > 0)
    }
}

/// Further configurations, which only the program distinguishes.
pub(super) fn with_code(protocol: AnyProtocol, setting: &Setting, is_m: bool) -> Vec<Setting> {
    let mut all = vec![setting.clone()];
    match protocol {
        AnyProtocol::Etmv4 if setting.core.is_none() && !is_m => {
            all.push(Setting { core: Some("ARMv8-M"), ..setting.clone() });
        }
        AnyProtocol::Etmv4 => {
            let mut other = setting.clone();
            // With the return stack.
            other.set("TRCCONFIGR", TRCCONFIGR);
            all.push(other);
        }
        AnyProtocol::Etmv3 => {
            let id = setting.get("ETMIDR").unwrap_or(0);
            let mut other = setting.clone();
            // Bit 18: a 32-bit T32 instruction is one atom, or two.
            other.set("ETMIDR", id ^ 1 << 18);
            all.push(other);
            let on_m = |setting: &Setting| Setting { core: Some("ARMv7-M"), ..setting.clone() };
            all.extend(all.iter().map(on_m).collect::<Vec<_>>());
        }
        AnyProtocol::Ptm => {
            let mut other = setting.clone();
            // Without the return stack.
            other.set("ETMCR", setting.get("ETMCR").unwrap_or(0) & !(1 << 29));
            all.push(other);
        }
        _ => {}
    }
    all
}
