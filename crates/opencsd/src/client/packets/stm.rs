//! Packets of STM, `ocsd_stm_pkt`.

use std::fmt::Write;

use tracewright_base::Fault;
use tracewright_protocols::stm::{Format, History, Packet, Size, Stamp};

/// A packet and what earlier packets established.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct StmPacket {
    kind: u32,
    master: u8,
    channel: u16,
    time: u64,
    time_bits: u8,
    has_time: u8,
    /// 1 natural binary, 2 Gray code.
    coding: u32,
    marker: u8,
    payload: u64,
    error_kind: u32,
}

const _: () = {
    assert!(size_of::<StmPacket>() == 48);
    assert!(std::mem::offset_of!(StmPacket, coding) == 20);
    assert!(std::mem::offset_of!(StmPacket, payload) == 32);
};

/// Kinds of packets.
#[allow(missing_docs, reason = "the names are those of the packets")]
mod kind {
    pub const NOT_SYNC: u32 = 0;
    pub const INCOMPLETE: u32 = 1;
    pub const NO_ERROR: u32 = 2;
    pub const ASYNC: u32 = 3;
    pub const VERSION: u32 = 4;
    pub const FREQUENCY: u32 = 5;
    pub const NULL: u32 = 6;
    pub const TRIGGER: u32 = 7;
    pub const GLOBAL_ERROR: u32 = 8;
    pub const MASTER_ERROR: u32 = 9;
    pub const MASTER: u32 = 10;
    pub const CHANNEL_8: u32 = 11;
    pub const CHANNEL_16: u32 = 12;
    pub const FLAG: u32 = 13;
    pub const DATA_4: u32 = 14;
    pub const DATA_64: u32 = 18;
    pub const BAD_SEQUENCE: u32 = 19;
    pub const RESERVED: u32 = 20;
}

/// Names and descriptions of the kinds.
const TITLES: [(&str, &str); 21] = [
    ("NOTSYNC", "STM not synchronised"),
    ("INCOMPLETE_EOT", "Incomplete packet flushed at end of trace"),
    ("NO_ERR_TYPE", "Error type not set"),
    ("ASYNC", "Alignment synchronisation packet"),
    ("VERSION", "Version packet"),
    ("FREQ", "Frequency packet"),
    ("NULL", "Null packet"),
    ("TRIG", "Trigger packet"),
    ("GERR", "Global Error"),
    ("MERR", "Master Error"),
    ("M8", "Set current master"),
    ("C8", "Set current channel"),
    ("C16", "Set current channel"),
    ("FLAG", "Flag packet"),
    ("D4", "4 bit data"),
    ("D8", "8 bit data"),
    ("D16", "16 bit data"),
    ("D32", "32 bit data"),
    ("D64", "64 bit data"),
    ("BAD_SEQUENCE", "Invalid sequence in packet"),
    ("RESERVED", "Reserved Packet Header"),
];

fn title(kind: u32) -> (&'static str, &'static str) {
    TITLES.get(kind as usize).copied().unwrap_or(("UNKNOWN", "Unknown packet type."))
}

/// Makes the packets of a source.
#[derive(Clone, Debug, Default)]
pub struct StmMaker {
    history: History,
    made: StmPacket,
}

impl StmMaker {
    fn begin(&mut self, kind: u32) {
        let made = &mut self.made;
        (made.kind, made.error_kind, made.payload) = (kind, kind::NO_ERROR, 0);
        (made.time_bits, made.has_time, made.marker) = (0, 0, 0);
    }

    /// The packet as a client receives it. OpenCSD has no kind for the packets that an Arm STM
    /// does not emit: they are reserved.
    pub fn packet(&mut self, packet: &Packet) -> &StmPacket {
        self.history.packet(packet);
        self.begin(packet_kind(packet));
        let made = &mut self.made;
        let mut time = None;
        match *packet {
            Packet::Version { format, revision } => {
                let (number, coding) = match format {
                    Format::Delta => (2, 0),
                    Format::Natural => (3, 1),
                    Format::Gray => (4, 2),
                };
                made.payload = number | u64::from(revision.is_some()) << 3;
                (made.coding, made.master, made.channel) = (coding, 0, 0);
            }
            Packet::Master8(_) | Packet::Master16(_) => {
                made.master = self.history.master.unwrap_or(0) as u8;
                made.channel = 0;
            }
            Packet::Channel8(_) | Packet::Channel16(_) => {
                made.channel = self.history.channel.unwrap_or(0);
            }
            Packet::MasterError(code) | Packet::GlobalError(code) | Packet::ChannelError(code) => {
                made.payload = code.into();
            }
            Packet::Data { bits, marker, time: stamp, .. } => {
                (made.payload, made.marker) = (bits, marker.into());
                time = stamp;
            }
            Packet::Trigger { id, time: stamp } => {
                made.payload = id.into();
                time = stamp;
            }
            Packet::Frequency { hertz, time: stamp } => {
                made.payload = hertz.into();
                time = stamp;
            }
            Packet::Flag { time: stamp } | Packet::Null { time: stamp } => time = stamp,
            _ => {}
        }
        if let Some(Stamp { nibbles, .. }) = time {
            (made.time, made.time_bits, made.has_time) = (self.history.time, nibbles * 4, 1);
        }
        &self.made
    }

    /// Undecodable `nibbles` as a client receives them.
    pub fn bad(&mut self, nibbles: &[u8], fault: Fault) -> &StmPacket {
        let kind = match fault {
            Fault::Unsynchronised => kind::NOT_SYNC,
            Fault::Truncated => kind::INCOMPLETE,
            Fault::Reserved(_) => kind::RESERVED,
            _ => kind::BAD_SEQUENCE,
        };
        if fault != Fault::Truncated {
            self.history = History::default();
        }
        self.begin(kind);
        if matches!(kind, kind::INCOMPLETE | kind::BAD_SEQUENCE) {
            let name = crate::stm::begun(nibbles);
            let kind_of = |name| TITLES.iter().position(|(own, _)| *own == name);
            let marked = kind_of(name).is_none().then(|| name.strip_suffix('M')).flatten();
            let found = kind_of(marked.unwrap_or(name));
            self.made.marker = marked.is_some().into();
            self.made.error_kind = found.map_or(kind::NO_ERROR, |at| at as u32);
        }
        &self.made
    }
}

const fn packet_kind(packet: &Packet) -> u32 {
    match packet {
        Packet::Async => kind::ASYNC,
        Packet::Version { .. } => kind::VERSION,
        Packet::Null { .. } => kind::NULL,
        Packet::Master8(_) => kind::MASTER,
        Packet::Channel8(_) => kind::CHANNEL_8,
        Packet::Channel16(_) => kind::CHANNEL_16,
        Packet::MasterError(_) => kind::MASTER_ERROR,
        Packet::GlobalError(_) => kind::GLOBAL_ERROR,
        Packet::Data { size, .. } => match size {
            Size::Nibble => kind::DATA_4,
            Size::Byte => kind::DATA_4 + 1,
            Size::Half => kind::DATA_4 + 2,
            Size::Word => kind::DATA_4 + 3,
            Size::Double => kind::DATA_64,
        },
        Packet::Flag { .. } => kind::FLAG,
        Packet::Trigger { .. } => kind::TRIGGER,
        Packet::Frequency { .. } => kind::FREQUENCY,
        Packet::Master16(_)
        | Packet::ChannelError(_)
        | Packet::User { .. }
        | Packet::Frequency40 { .. }
        | Packet::CrossSync { .. } => kind::RESERVED,
    }
}

impl StmPacket {
    /// The text of the packet.
    pub fn text(&self) -> String {
        let (name, description) = title(self.kind);
        let is_data = matches!(self.kind, kind::DATA_4..=kind::DATA_64);
        let (marker, time) = (is_data && self.marker != 0, self.has_time != 0);
        let may_have_time = is_data || matches!(self.kind, kind::FLAG | kind::TRIGGER);
        let named_time = time && may_have_time;
        let mut out = format!(
            "{name}{}{}:{description}{}{}",
            if marker { "M" } else { "" },
            if named_time { "TS" } else { "" },
            if marker { " + marker" } else { "" },
            if named_time { " + timestamp" } else { "" },
        );
        let payload = self.payload;
        // Writing to a string does not fail.
        let _ = match self.kind {
            kind::INCOMPLETE | kind::BAD_SEQUENCE => {
                let marker = if self.marker != 0 { "M" } else { "" };
                write!(out, "[{}{marker}]", title(self.error_kind).0)
            }
            kind::VERSION => write!(out, "; Ver={}", payload as u8),
            kind::FREQUENCY => write!(out, "; Freq={}Hz", payload as u32),
            kind::TRIGGER => write!(out, "; TrigData=0x{:02x}", payload as u8),
            kind::MASTER => write!(out, "; Master=0x{:02x}", self.master),
            kind::CHANNEL_8 | kind::CHANNEL_16 => write!(out, "; Chan=0x{:04x}", self.channel),
            kind::DATA_4..=kind::DATA_64 => {
                let width = 1 << (self.kind - kind::DATA_4);
                let bits = width * 4;
                let value = if bits < 64 { payload & ((1 << bits) - 1) } else { payload };
                write!(out, "; Data=0x{value:0width$x}", width = width as usize)
            }
            _ => Ok(()),
        };
        if time {
            out.push_str("; TS=");
            super::common::value(64, 64, self.time, self.time_bits, &mut out);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with a marker has it also where the trace ends inside of it. (D32MTS, D32, D32TS)
    #[test]
    fn incomplete_packets_have_their_marker() {
        let mut maker = StmMaker::default();
        for (nibbles, want) in [(&[0xa, 8], "[D32M]"), (&[6, 1], "[D32]"), (&[0xf, 6], "[D32]")] {
            let text = maker.bad(nibbles, Fault::Truncated).text();
            assert!(text.ends_with(want), "{nibbles:x?}: {text}");
        }
    }
}
