//! The configurations of trace units, as OpenCSD's structures hold them.

use tracewright_base::{CoreType, Profile};
use tracewright_protocols::registry::AnyConfig;

use crate::client::codes::create;
use crate::registers::DecoderRegisters;

/// The configuration that the `words` of the structure of `decoder` are. `None` where they are too
/// few.
pub fn configure(decoder: &DecoderRegisters, words: &[u32], flags: u32) -> Option<AnyConfig> {
    let count = decoder.registers.len();
    let registers = words.get(..count)?;
    let core = match words.get(count..) {
        Some(&[version, profile, ..]) if decoder.has_core => core(version, profile),
        _ => None,
    };
    let register = |name: &str| {
        let at = decoder.registers.iter().position(|own| *own == name)?;
        registers.get(at).map(|&value| value.into())
    };
    let mut config = decoder.protocol.configure(core, &register).ok()?;
    if let AnyConfig::Ete(config) = &mut config {
        config.split_source_ranges = flags & create::SPLIT_SOURCE_RANGES != 0;
    }
    Some(config)
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
    use crate::registers::DECODERS;

    #[test]
    fn trace_ids_come_from_the_registers() {
        for decoder in &DECODERS {
            let words: Vec<u32> = decoder
                .registers
                .iter()
                .map(|name| match *name {
                    "STMTCSR" | "ITMTCR" => 0x12 << 16,
                    "TRCTRACEIDR" | "ETMTRACEIDR" => 0x12,
                    _ => 0,
                })
                .chain([0x800, 3])
                .collect();
            let config = configure(decoder, &words, 0).unwrap();
            assert_eq!(config.trace_id(), 0x12, "{}", decoder.name);
            assert!(configure(decoder, &words[..1], 0).is_none() || decoder.words() == 1);
        }
    }
}
