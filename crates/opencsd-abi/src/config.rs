//! The configurations of trace units, as OpenCSD's structures hold them.

use tracewright_base::{CoreType, Profile};
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use crate::codes::create;

/// A decoder of this library.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    protocol: AnyProtocol,
    /// The registers in its structure, in 32-bit words. An empty name is a word that decoding does
    /// not need.
    registers: &'static [&'static str],
    /// Architecture version and profile of the core follow the registers.
    has_core: bool,
}

const ETMV3: &[&str] = &["ETMIDR", "ETMCR", "ETMCCER", "ETMTRACEIDR"];
const ETMV4: &[&str] = &[
    "TRCIDR0",
    "TRCIDR1",
    "TRCIDR2",
    "TRCIDR8",
    "TRCIDR9",
    "TRCIDR10",
    "TRCIDR11",
    "TRCIDR12",
    "TRCIDR13",
    "TRCCONFIGR",
    "TRCTRACEIDR",
];
const ETE: &[&str] =
    &["TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCDEVARCH", "TRCCONFIGR", "TRCTRACEIDR"];
const STM: &[&str] = &["STMTCSR", "STMSPFEAT3R", "STMDEVID", "STMSPFEAT1R", "STMHEMASTR", ""];

/// The decoders of this library.
pub const BUILTIN: [Builtin; 6] = [
    decoder("ETMV3", AnyProtocol::Etmv3, ETMV3, true),
    decoder("ETMV4I", AnyProtocol::Etmv4, ETMV4, true),
    decoder("PTM", AnyProtocol::Ptm, ETMV3, true),
    decoder("STM", AnyProtocol::Stm, STM, false),
    decoder("ETE", AnyProtocol::Ete, ETE, true),
    decoder("ITM", AnyProtocol::Itm, &["ITMTCR"], false),
];

const fn decoder(
    name: &'static str,
    protocol: AnyProtocol,
    registers: &'static [&'static str],
    has_core: bool,
) -> Builtin {
    Builtin { name, protocol, registers, has_core }
}

impl Builtin {
    /// The decoder of this name.
    pub fn named(name: &[u8]) -> Option<&'static Builtin> {
        BUILTIN.iter().find(|builtin| builtin.name.as_bytes() == name)
    }

    /// The length of its structure, in 32-bit words.
    pub const fn words(&self) -> usize {
        self.registers.len() + if self.has_core { 2 } else { 0 }
    }

    /// The configuration that the `words` of the structure are. `None` where they are too few.
    pub fn configure(&self, words: &[u32], flags: u32) -> Option<AnyConfig> {
        let registers = words.get(..self.registers.len())?;
        let core = match words.get(self.registers.len()..) {
            Some(&[version, profile, ..]) if self.has_core => core(version, profile),
            _ => None,
        };
        let register = |name: &str| {
            let at = self.registers.iter().position(|own| *own == name)?;
            registers.get(at).map(|&value| value.into())
        };
        let mut config = self.protocol.configure(core, &register).ok()?;
        if let AnyConfig::Ete(config) = &mut config {
            config.split_source_ranges = flags & create::SPLIT_SOURCE_RANGES != 0;
        }
        Some(config)
    }
}

/// The core that `ocsd_arch_version_t` and `ocsd_core_profile_t` describe.
const fn core(version: u32, profile: u32) -> Option<CoreType> {
    let profile = match profile {
        1 => Profile::Microcontroller,
        2 => Profile::RealTime,
        3 => Profile::Application,
        _ => return None,
    };
    Some(CoreType { profile, version: (version >> 8) as u8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the structures in OpenCSD's headers.
    #[test]
    fn structures_have_the_sizes_of_the_headers() {
        for (name, bytes) in
            [("ETMV3", 24), ("ETMV4I", 52), ("PTM", 24), ("STM", 24), ("ETE", 36), ("ITM", 4)]
        {
            assert_eq!(Builtin::named(name.as_bytes()).unwrap().words() * 4, bytes, "{name}");
        }
        assert!(Builtin::named(b"ETMV4").is_none());
    }

    #[test]
    fn trace_ids_come_from_the_registers() {
        for builtin in &BUILTIN {
            let words: Vec<u32> = builtin
                .registers
                .iter()
                .map(|name| match *name {
                    "STMTCSR" | "ITMTCR" => 0x12 << 16,
                    "TRCTRACEIDR" | "ETMTRACEIDR" => 0x12,
                    _ => 0,
                })
                .chain([0x800, 3])
                .collect();
            let config = builtin.configure(&words, 0).unwrap();
            assert_eq!(config.trace_id(), 0x12, "{}", builtin.name);
            assert!(builtin.configure(&words[..1], 0).is_none() || builtin.words() == 1);
        }
    }
}
