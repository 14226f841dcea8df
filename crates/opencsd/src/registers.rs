//! The registers that OpenCSD's decoders are created with.

use tracewright_protocols::registry::AnyProtocol;

/// A decoder of OpenCSD, and what the structure that it is created with holds.
#[derive(Clone, Copy, Debug)]
pub struct DecoderRegisters {
    /// The name of the decoder.
    pub name: &'static str,
    /// The protocol that it decodes.
    pub protocol: AnyProtocol,
    /// The registers in its structure, in 32-bit words. An empty name is a word that decoding does
    /// not need.
    pub registers: &'static [&'static str],
    /// Architecture version and profile of the core follow the registers.
    pub has_core: bool,
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

/// The decoders of OpenCSD 1.8.0 that Tracewright has, too.
pub const DECODERS: [DecoderRegisters; 6] = [
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
) -> DecoderRegisters {
    DecoderRegisters { name, protocol, registers, has_core }
}

impl DecoderRegisters {
    /// The decoder with a name.
    pub fn named(name: &[u8]) -> Option<&'static DecoderRegisters> {
        DECODERS.iter().find(|decoder| decoder.name.as_bytes() == name)
    }

    /// The decoder of a protocol.
    pub fn of(protocol: AnyProtocol) -> Option<&'static DecoderRegisters> {
        DECODERS.iter().find(|decoder| decoder.protocol == protocol)
    }

    /// The length of its structure, in 32-bit words.
    pub const fn words(&self) -> usize {
        self.registers.len() + if self.has_core { 2 } else { 0 }
    }
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
            let decoder = DecoderRegisters::named(name.as_bytes()).unwrap();
            assert_eq!(decoder.words() * 4, bytes, "{name}");
            assert_eq!(DecoderRegisters::of(decoder.protocol).unwrap().name, name);
        }
        assert!(DecoderRegisters::named(b"ETMV4").is_none());
    }
}
