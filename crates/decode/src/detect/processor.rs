//! The traced processors, as far as the name of a core or the machine of a program states them, and
//! the protocols that such a processor can have.

use tracewright_base::{CoreType, Profile, take_uleb128};
use tracewright_capture::{Capture, Form};
use tracewright_image::{Elf, Load};
use tracewright_protocols::registry::AnyProtocol;

use super::known_units;

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processor {
    /// Arm, in AArch32 state, with its profile where that is known.
    Arm(Option<Profile>),
    /// Arm, in AArch64 state.
    Aarch64,
    /// `true`: RV64.
    RiscV(bool),
}

/// Whether a processor can have a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It has no such trace unit.
    No,
    /// Only another processor beside it, or a unit of the system, sends such trace.
    Beside,
    /// It can have such a unit.
    Yes,
}

impl Processor {
    /// The processor of a core type; both states of an Armv8-A.
    fn of_core(core: CoreType) -> Processor {
        Processor::Arm(Some(core.profile))
    }

    /// Whether the processor can have a trace unit of `protocol`.
    fn fit(self, protocol: AnyProtocol) -> Fit {
        use AnyProtocol::{Etmv1, Etmv2, Etmv3, Etmv4, Etrace, Itm, Mtb, Ntrace, Ptm, Stm};
        let profile = match self {
            Processor::RiscV(_) => {
                return if matches!(protocol, Etrace | Ntrace) { Fit::Yes } else { Fit::No };
            }
            // Neither ETMv3 nor PTM knows A64.
            Processor::Aarch64 => {
                return match protocol {
                    Etrace | Ntrace | Mtb | Etmv1 | Etmv2 => Fit::No,
                    Etmv3 | Ptm | Itm => Fit::Beside,
                    _ => Fit::Yes,
                };
            }
            Processor::Arm(profile) => profile,
        };
        match (profile, protocol) {
            (_, Etrace | Ntrace) => Fit::No,
            (None, _) => Fit::Yes,
            (Some(Profile::Microcontroller), Etmv3 | Etmv4 | Itm | Mtb | Stm) => Fit::Yes,
            (Some(Profile::Microcontroller), _) => Fit::No,
            (Some(_), Mtb) => Fit::No,
            // An ITM of the system: the DWT belongs to the M profile.
            (Some(_), Itm) => Fit::Beside,
            (Some(_), _) => Fit::Yes,
        }
    }
}

/// The traced processors; empty where nothing states them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Processors {
    all: Vec<Processor>,
    /// The protocol of the instruction trace of the named core.
    unit: Option<AnyProtocol>,
}

impl Processors {
    /// Those that `core`, the name of a core, states; without one, those of the ELF files of
    /// `capture`.
    pub(super) fn new(capture: &Capture, core: Option<&str>) -> Processors {
        if let Some(name) = core
            && let Some(core) = tracewright_capture::core_type(name)
        {
            let unit = known_units::protocol(name);
            return Processors { all: vec![Processor::of_core(core)], unit };
        }
        let all = capture.memory.iter().filter_map(|dump| {
            let bytes = dump.bytes.as_ref().filter(|_| dump.form == Form::Elf)?;
            let elf = Elf::read(bytes, "", Load::default()).ok()?;
            match elf.machine {
                40 => Some(Processor::Arm(profile(&bytes.head(usize::MAX)))),
                183 => Some(Processor::Aarch64),
                243 => Some(Processor::RiscV(elf.bits64)),
                _ => None,
            }
        });
        Processors { all: all.collect(), unit: None }
    }

    /// The first one.
    pub(super) fn first(&self) -> Option<Processor> {
        self.all.first().copied()
    }

    /// Whether the first RISC-V processor is RV64; `None` where there is none.
    pub(super) fn rv64(&self) -> Option<bool> {
        self.all.iter().find_map(|processor| match processor {
            Processor::RiscV(rv64) => Some(*rv64),
            _ => None,
        })
    }

    /// Whether the profile of each is known.
    pub(super) fn profile_is_known(&self) -> bool {
        !self.all.is_empty() && !self.all.contains(&Processor::Arm(None))
    }

    /// Whether the first one has the M profile.
    pub(super) fn is_m(&self) -> bool {
        self.first() == Some(Processor::Arm(Some(Profile::Microcontroller)))
    }

    /// Whether one of them can have a trace unit of `protocol`.
    pub(super) fn fit(&self, protocol: AnyProtocol) -> Fit {
        let is_other = |unit| unit != protocol && protocol != AnyProtocol::Mtb;
        if protocol.traces_instructions() && self.unit.is_some_and(is_other) {
            return Fit::No;
        }
        self.all.iter().map(|processor| processor.fit(protocol)).max().unwrap_or(Fit::Yes)
    }

    /// Whether one of them can have a DWT.
    pub(super) fn may_have_dwt(&self) -> bool {
        use Processor::Arm;
        let may = |p: &Processor| matches!(p, Arm(None | Some(Profile::Microcontroller)));
        self.all.is_empty() || self.all.iter().any(may)
    }
}

/// The profile that the attributes of a 32-bit Arm program state: Tag_CPU_arch_profile, 7. (Addenda
/// to the ABI for the Arm architecture, "Target-related attributes")
pub fn profile(file: &[u8]) -> Option<Profile> {
    const NAME: &[u8] = b"aeabi\0";
    memchr::memmem::find_iter(file, NAME).find_map(|at| {
        // Tag_File, and the size of what follows in bytes with these 5.
        let (&tag, rest) = file.get(at + NAME.len()..)?.split_first()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size).min(MAX_ATTRIBUTES) as usize;
        let attributes = rest.get(..size.checked_sub(5)?).unwrap_or(rest);
        (tag == 1).then_some(attributes).and_then(profile_of)
    })
}

/// Bytes of attributes that are read.
const MAX_ATTRIBUTES: u32 = 1 << 12;

/// The profile in a list of attributes: numbers in ULEB128, and text that ends with a zero.
fn profile_of(mut attributes: &[u8]) -> Option<Profile> {
    /// Tag_CPU_raw_name, Tag_CPU_name and Tag_compatibility have text, as odd tags from 32 on.
    const TEXTS: [u64; 4] = [4, 5, 65, 67];
    const COMPATIBILITY: u64 = 32;
    const PROFILE: u64 = 7;
    loop {
        let tag = take_uleb128(&mut attributes)?;
        if tag == COMPATIBILITY {
            take_uleb128(&mut attributes)?;
        }
        if tag == COMPATIBILITY || TEXTS.contains(&tag) || tag > COMPATIBILITY && tag % 2 == 1 {
            let end = attributes.iter().position(|byte| *byte == 0)?;
            attributes = attributes.get(end + 1..)?;
            continue;
        }
        let value = take_uleb128(&mut attributes)?;
        if tag == PROFILE {
            return match u8::try_from(value).ok()? {
                b'A' => Some(Profile::Application),
                b'R' => Some(Profile::RealTime),
                b'M' => Some(Profile::Microcontroller),
                _ => None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attributes of a program whose profile is `profile`, before and after other ones.
    fn attributes(profile: u8) -> Vec<u8> {
        let list = [b"\x05cortex-r5\0\x06\x0a\x07".as_slice(), &[profile], b"\x08\x01"].concat();
        let mut file = b"code aeabi\0 code, aeabi\0\x01".to_vec();
        file.extend((list.len() as u32 + 5).to_le_bytes());
        file.extend(list);
        file
    }

    #[test]
    fn attributes_state_the_profile() {
        for (letter, want) in [
            (b'A', Some(Profile::Application)),
            (b'R', Some(Profile::RealTime)),
            (b'M', Some(Profile::Microcontroller)),
            (b'S', None),
        ] {
            assert_eq!(profile(&attributes(letter)), want);
        }
        let whole = attributes(b'R');
        for cut in 0..whole.len() {
            let _ = profile(&whole[..cut]);
        }
    }

    #[test]
    fn cores_have_their_protocols() {
        use AnyProtocol::{Ete, Etmv3, Etmv4, Etrace, Itm, Mtb, Ptm};
        for (core, yes, beside, no) in [
            ("Cortex-M33", vec![Etmv4, Itm, Mtb], vec![], vec![Ete, Etmv3, Ptm, Etrace]),
            ("Cortex-M3", vec![Etmv3, Itm], vec![], vec![Ete, Etmv4, Ptm, Etrace]),
            ("ARMv8-M", vec![Etmv3, Etmv4, Itm, Mtb], vec![], vec![Ete, Ptm]),
            ("Cortex-R5F", vec![Etmv3], vec![Itm], vec![Etmv4, Ptm, Mtb, Etrace]),
            ("Cortex-A9", vec![Ptm], vec![Itm], vec![Etmv3, Ete]),
            ("Cortex-A710", vec![Ete], vec![Itm], vec![Etmv4]),
            ("unknown", vec![Ete, Etmv3, Etrace, Mtb], vec![], vec![]),
        ] {
            let processors = Processors::new(&Capture::default(), Some(core));
            for (fit, protocols) in [(Fit::Yes, yes), (Fit::Beside, beside), (Fit::No, no)] {
                for protocol in protocols {
                    assert_eq!(processors.fit(protocol), fit, "{core} {protocol:?}");
                }
            }
        }
        let riscv = Processor::RiscV(true);
        assert_eq!((riscv.fit(Etrace), riscv.fit(Itm)), (Fit::Yes, Fit::No));
        assert_eq!(Processor::Aarch64.fit(Etmv3), Fit::Beside);
        // Of two programs, either may be traced.
        let both = Processors { all: vec![riscv, Processor::Aarch64], unit: None };
        assert_eq!((both.fit(Etrace), both.fit(Etmv4)), (Fit::Yes, Fit::Yes));
    }
}
