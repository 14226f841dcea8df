//! OpenCSD's names of packets.

use tracewright_base::{Parse, Wire};
use tracewright_protocols::etmv4::{Address, Conditional, Config, Exception, Packet, SubIsa};

/// Name and description of a packet.
pub(super) fn title(config: &Config, packet: &Packet) -> (&'static str, &'static str) {
    use SubIsa::{Is0, Is1};
    match *packet {
        Packet::AlignSync => ("I_ASYNC", "Alignment Synchronisation."),
        Packet::Discard => ("I_DISCARD", "Discard."),
        Packet::Overflow => ("I_OVERFLOW", "Overflow."),
        Packet::TraceInfo(_) => ("I_TRACE_INFO", "Trace Info."),
        Packet::Timestamp { .. } => ("I_TIMESTAMP", "Timestamp."),
        Packet::TraceOn => ("I_TRACE_ON", "Trace On."),
        Packet::FunctionReturn => ("I_FUNC_RET", "V8M - function return."),
        Packet::Exception(exception) => {
            special(config, exception).unwrap_or(("I_EXCEPT", "Exception."))
        }
        Packet::ExceptionReturn => ("I_EXCEPT_RTN", "Exception Return."),
        Packet::Instrumentation { .. } => ("I_ITE", "Instrumentation"),
        Packet::TransactionStart => ("I_TRANS_ST", "Transaction Start."),
        Packet::TransactionCommit => ("I_TRANS_COMMIT", "Transaction Commit."),
        Packet::CycleCount1 { .. } => ("I_CCNT_F1", "Cycle Count format 1."),
        Packet::CycleCount2 { .. } => ("I_CCNT_F2", "Cycle Count format 2."),
        Packet::CycleCount3 { .. } => ("I_CCNT_F3", "Cycle Count format 3."),
        Packet::NumberedSync(_) => ("I_NUM_DS_MKR", "Data Synchronisation Marker - Numbered."),
        Packet::UnnumberedSync(_) => {
            ("I_UNNUM_DS_MKR", "Data Synchronisation Marker - Unnumbered.")
        }
        Packet::Commit(_) => ("I_COMMIT", "Commit"),
        Packet::Cancel1 { mispredict: false, .. } => ("I_CANCEL_F1", "Cancel Format 1."),
        Packet::Cancel1 { mispredict: true, .. } => {
            ("I_CANCEL_F1_MISPRED", "Cancel Format 1 + Mispredict.")
        }
        Packet::Mispredict(_) => ("I_MISPREDICT", "Mispredict."),
        Packet::Cancel2(_) => ("I_CANCEL_F2", "Cancel Format 2."),
        Packet::Cancel3 { .. } => ("I_CANCEL_F3", "Cancel Format 3."),
        Packet::Conditional(conditional) => match conditional {
            Conditional::Instruction1 { .. } => {
                ("I_COND_I_F1", "Conditional Instruction, format 1.")
            }
            Conditional::Instruction2(_) => ("I_COND_I_F2", "Conditional Instruction, format 2."),
            Conditional::Instruction3 { .. } => {
                ("I_COND_I_F3", "Conditional Instruction, format 3.")
            }
            Conditional::Flush => ("I_COND_FLUSH", "Conditional Flush."),
            Conditional::Result1 { .. } => ("I_COND_RES_F1", "Conditional Result, format 1."),
            Conditional::Result2 { .. } => ("I_COND_RES_F2", "Conditional Result, format 2."),
            Conditional::Result3 { .. } => ("I_COND_RES_F3", "Conditional Result, format 3."),
            Conditional::Result4 { .. } => ("I_COND_RES_F4", "Conditional Result, format 4."),
        },
        Packet::Ignore => ("I_IGNORE", "Ignore."),
        Packet::Event(_) => ("I_EVENT", "Trace Event."),
        Packet::Context(_) => ("I_CTXT", "Context Packet."),
        Packet::AddressContext(Address::Long64 { is: Is0, .. }, _) => {
            ("I_ADDR_CTXT_L_64IS0", "Address & Context, Long, 64 bit, IS0.")
        }
        Packet::AddressContext(Address::Long64 { is: Is1, .. }, _) => {
            ("I_ADDR_CTXT_L_64IS1", "Address & Context, Long, 64 bit, IS1.")
        }
        Packet::AddressContext(Address::Long32 { is: Is1, .. }, _) => {
            ("I_ADDR_CTXT_L_32IS1", "Address & Context, Long, 32 bit, IS1.")
        }
        Packet::AddressContext(..) => {
            ("I_ADDR_CTXT_L_32IS0", "Address & Context, Long, 32 bit, IS0.")
        }
        Packet::TimestampMarker => ("I_TS_MARKER", "Timestamp Marker"),
        Packet::Address(address) => match address {
            Address::Match(_) => ("I_ADDR_MATCH", "Exact Address Match."),
            Address::Short { is: Is0, .. } => ("I_ADDR_S_IS0", "Address, Short, IS0."),
            Address::Short { is: Is1, .. } => ("I_ADDR_S_IS1", "Address, Short, IS1."),
            Address::Long32 { is: Is0, .. } => ("I_ADDR_L_32IS0", "Address, Long, 32 bit, IS0."),
            Address::Long32 { is: Is1, .. } => ("I_ADDR_L_32IS1", "Address, Long, 32 bit, IS1."),
            Address::Long64 { is: Is0, .. } => ("I_ADDR_L_64IS0", "Address, Long, 64 bit, IS0."),
            Address::Long64 { is: Is1, .. } => ("I_ADDR_L_64IS1", "Address, Long, 64 bit, IS1."),
        },
        Packet::Q(_) => ("I_Q", "Q Packet."),
        Packet::SourceAddress(address) => match address {
            Address::Match(_) => ("I_SRC_ADDR_MATCH", "Exact Source Address Match."),
            Address::Short { is: Is0, .. } => ("I_SRC_ADDR_S_IS0", "Source Address, Short, IS0."),
            Address::Short { is: Is1, .. } => ("I_SRC_ADDR_S_IS1", "Source Address, Short, IS1."),
            // This is OpenCSD's spelling.
            Address::Long32 { is: Is0, .. } => {
                ("I_SCR_ADDR_L_32IS0", "Source Address, Long, 32 bit, IS0.")
            }
            Address::Long32 { is: Is1, .. } => {
                ("I_SRC_ADDR_L_32IS1", "Source Address, Long, 32 bit, IS1.")
            }
            Address::Long64 { is: Is0, .. } => {
                ("I_SRC_ADDR_L_64IS0", "Source Address, Long, 64 bit, IS0.")
            }
            Address::Long64 { is: Is1, .. } => {
                ("I_SRC_ADDR_L_64IS1", "Source Address, Long, 64 bit, IS1.")
            }
        },
        Packet::Atoms(atoms) => match atoms.format() {
            1 => ("I_ATOM_F1", "Atom format 1."),
            2 => ("I_ATOM_F2", "Atom format 2."),
            3 => ("I_ATOM_F3", "Atom format 3."),
            4 => ("I_ATOM_F4", "Atom format 4."),
            5 => ("I_ATOM_F5", "Atom format 5."),
            _ => ("I_ATOM_F6", "Atom format 6."),
        },
    }
}

/// Name and description of exceptions that OpenCSD lists as other packets.
pub(super) fn special(
    config: &Config,
    exception: Exception,
) -> Option<(&'static str, &'static str)> {
    match exception.number {
        Exception::PE_RESET if config.is_ete() => Some(("I_PE_RESET", "PE Reset.")),
        Exception::TRANSACTION_FAILURE if config.is_ete() => {
            Some(("I_TRANS_FAIL", "Transaction Fail."))
        }
        _ => None,
    }
}

/// Name and description of the packets of `header` of an ETMv4 or ETE that has every feature.
pub fn title_of(header: u8, ete: bool) -> (&'static str, &'static str) {
    let read = |_: &str| Some(u64::MAX);
    let config = if ete { Config::ete(None, &read) } else { Config::etmv4(None, &read) };
    let mut whole = [0; 24];
    whole[0] = header;
    if header == 0x06 {
        whole[1] = 0x01 << 1 | 1;
    }
    let unknown = ("I_UNKNOWN", "Unknown Packet Header");
    match config.map(|config| (Packet::parse(&whole, &config), config)) {
        Ok((Parse::Packet(packet, _), config)) => title(&config, &packet),
        // A header of another profile, or of packets that this library does not decode.
        Ok((_, config)) => match begun(&config, &whole) {
            "I_RESERVED" => unknown,
            name => (name, ""),
        },
        Err(_) => unknown,
    }
}

/// The name of the packet that `bytes` begin.
pub(super) fn begun(config: &Config, bytes: &[u8]) -> &'static str {
    match *bytes {
        [0x00, 0x00, ..] => "I_ASYNC",
        [0x00, ..] => "I_EXTENSION",
        [0x07, ..] => "I_EXCEPT_RTN",
        [0x20..=0x27, ..] => "I_NUM_DS_MKR",
        [0x28..=0x2c, ..] => "I_UNNUM_DS_MKR",
        [0x40..=0x42, ..] => "I_COND_I_F2",
        [0x43, ..] => "I_COND_FLUSH",
        [0x44..=0x46, ..] => "I_COND_RES_F4",
        [0x48..=0x4a | 0x4c..=0x4e, ..] => "I_COND_RES_F2",
        [0x50..=0x5f, ..] => "I_COND_RES_F3",
        [0x6c, ..] => "I_COND_I_F1",
        [0x6d, ..] => "I_COND_I_F3",
        [0x68..=0x6b | 0x6e..=0x6f, ..] => "I_COND_RES_F1",
        [header, ..] => {
            // The header alone determines the name, so the payload does not matter.
            let mut whole = [0; 24];
            whole[0] = header;
            if header == 0x06 {
                whole[1] = 0x01 << 1 | 1;
            }
            match Packet::parse(&whole, config) {
                Parse::Packet(packet, _) => title(config, &packet).0,
                _ => "I_RESERVED",
            }
        }
        [] => "I_NO_ERR_TYPE",
    }
}
