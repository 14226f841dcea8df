//! FIFO output to packets, in the order of the cycles that they belong to. It needs no program
//! image. (IHI 0014, 6.3 to 6.5)

use alloc::collections::VecDeque;

use tracewright_base::Parse;
use tracewright_frames::cycles::Width;

use super::packet::{Item, Offset, Status, Tfo};
use super::{Config, Packet};

/// Cycles to packets. By default it looks for a trace FIFO offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fifo {
    /// The position in the FIFO output is known.
    synced: bool,
    pins: Pins,
    /// The low half of the next byte of a 4-bit port.
    half: Option<u8>,
    /// The bytes of the packet that is being received.
    bytes: Bytes,
    /// The groups of packets in the FIFO, and the offsets of their cycles.
    groups: VecDeque<(u64, Group)>,
}

/// The content of TRACEPKT in the next cycle that is not Trace Disabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pins {
    /// FIFO output, or nothing.
    #[default]
    Fifo,
    /// An offset that a trigger deferred.
    DeferredOffset,
    /// Bits \[3:0] of an offset on a 4-bit port; the value has bits \[6:4].
    UpperHalf(u8),
    /// Half a byte of padding.
    Gap,
}

/// The packets of one cycle, in the FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// The packets of a status with a D in its name.
    Status,
    /// A TFO packet, and the number of bytes before it where known.
    Tfo(Option<u8>),
}

/// What one cycle completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// A packet of the first group. The group ends with it unless bit C is set.
    Item(Item),
    /// The TFO packet of the first group.
    Tfo(Tfo),
    /// An offset: the number of bytes before its packet.
    Offset(u8),
    /// A byte of statuses before synchronisation.
    Stray,
    /// Statuses and FIFO output are inconsistent: decoding restarts at the offset in the cycle that
    /// this belongs to.
    Restart,
    /// Statuses and FIFO output are inconsistent: decoding restarts at the next offset.
    Lost,
}

/// The output of one cycle, each with the offset of the cycle that it belongs to. Two bytes of a
/// 16-bit port may end two packets.
pub type Outs = [Option<(u64, Out)>; 2];

/// Bytes of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bytes {
    bytes: [u8; 16],
    len: u8,
}

impl Bytes {
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(usize::from(self.len)) {
            *slot = byte;
            self.len += 1;
        }
    }

    fn get(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Limit of the waiting groups. None waits longer than the FIFO takes to drain.
const GROUPS: usize = 1024;
/// The upper byte of a 16-bit port beside a single FIFO byte. (6.2)
const PADDING: u8 = 0x66;
/// The padding of a 4-bit port between an offset and the second half of a byte. (6.5.1)
const GAP: u8 = 0x6;
/// PIPESTAT of Trace Disabled. (Table 6-1)
const DISABLED: u8 = 0b0111;

impl Fifo {
    /// Whether the position in the FIFO output is known.
    pub const fn synced(&self) -> bool {
        self.synced
    }

    /// Whether no packet is in the FIFO.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Takes the cycle at `at`.
    pub fn cycle(&mut self, at: u64, packet: &Packet, config: &Config) -> Outs {
        match *packet {
            Packet::Cycle { status, pins } => {
                self.status(at, status);
                self.shown(at, status, pins, config)
            }
            Packet::Disabled { pins } => [self.disabled(at, pins, config), None],
            Packet::Trigger { pins } => {
                match Status::of_pipestat(pins as u8 & 0xf) {
                    Some(status) => self.status(at, status),
                    // A trigger replaces a Trace Disabled status only where that has an offset.
                    // (6.1.7)
                    None if pins as u8 & 0xf == DISABLED => {
                        self.offset_begins(at);
                        self.pins = Pins::DeferredOffset;
                    }
                    None => {}
                }
                [None; 2]
            }
        }
    }

    fn status(&mut self, at: u64, status: Status) {
        if self.synced && status.data {
            self.groups.push_back((at, Group::Status));
        }
    }

    fn lose(&mut self, at: u64) -> Option<(u64, Out)> {
        *self = Fifo::default();
        Some((at, Out::Lost))
    }

    /// The packets before an offset were decoded wrongly. Where its number of bytes is known,
    /// decoding restarts at the next offset in the FIFO.
    fn restart(&mut self, at: u64) -> Option<(u64, Out)> {
        let known = |(_, group): &(u64, Group)| matches!(group, Group::Tfo(Some(_)));
        // The packet that is wrong may be that of the first offset.
        match self.groups.iter().skip(1).position(known) {
            Some(n) => self.restart_from(n + 1),
            None => self.lose(at),
        }
    }

    /// Restarts decoding at the offset of group `n`. The next byte is the first after those that
    /// the offset has counted.
    fn restart_from(&mut self, n: usize) -> Option<(u64, Out)> {
        self.groups.drain(..n);
        (self.half, self.bytes) = (None, Bytes::default());
        self.groups.front().map(|&(of, _)| (of, Out::Restart))
    }

    /// Takes a Trace Disabled cycle.
    fn disabled(&mut self, at: u64, pins: u16, config: &Config) -> Option<(u64, Out)> {
        match Offset::of_pins(pins as u8) {
            Offset::Nothing | Offset::Filler if !self.groups.is_empty() => self.lose(at),
            Offset::Nothing | Offset::Filler => None,
            Offset::Reserved => self.lose(at),
            Offset::Bytes(bytes) => {
                self.offset_begins(at);
                self.offset_shown(at, bytes, config)
            }
        }
    }

    /// Records that the packet of an offset goes into the FIFO in the cycle at `at`.
    fn offset_begins(&mut self, at: u64) {
        if !self.synced {
            // The packets before the offset are unknown. A byte begins right after the offset.
            *self = Fifo { synced: true, ..Fifo::default() };
        }
        self.groups.push_back((at, Group::Tfo(None)));
    }

    /// Takes an offset, or its upper half on a 4-bit port.
    fn offset_shown(&mut self, at: u64, bytes: u8, config: &Config) -> Option<(u64, Out)> {
        if config.width() == Width::W4 {
            self.pins = Pins::UpperHalf(bytes >> 4);
            return None;
        }
        self.offset(at, bytes)
    }

    /// Takes a complete offset.
    fn offset(&mut self, at: u64, bytes: u8) -> Option<(u64, Out)> {
        let mut groups = self.groups.iter_mut().rev().map(|(_, group)| group);
        if let Some(Group::Tfo(ahead @ None)) = groups.find(|group| **group != Group::Status) {
            *ahead = Some(bytes);
        }
        self.pins = if self.half.is_some() { Pins::Gap } else { Pins::Fifo };
        Some((at, Out::Offset(bytes)))
    }

    /// Takes TRACEPKT of a cycle that is not Trace Disabled.
    fn shown(&mut self, at: u64, status: Status, pins: u16, config: &Config) -> Outs {
        if !self.synced {
            return [None; 2];
        }
        if self.groups.len() > GROUPS {
            return [self.lose(at), None];
        }
        let (low, high) = (pins as u8, (pins >> 8) as u8);
        let one = match (self.pins, config.width()) {
            (Pins::DeferredOffset, _) => match Offset::of_pins(low) {
                Offset::Bytes(bytes) => self.offset_shown(at, bytes, config),
                _ => self.lose(at),
            },
            (Pins::UpperHalf(upper), _) => self.offset(at, upper << 4 | low & 0xf),
            (Pins::Gap, _) if low == GAP => {
                self.pins = Pins::Fifo;
                None
            }
            (Pins::Gap, _) => {
                let out = self.restart(at);
                if self.synced {
                    (self.pins, self.half) = (Pins::Fifo, Some(low));
                }
                out
            }
            (Pins::Fifo, _) if self.groups.is_empty() => {
                // A wait status requires FIFO output.
                if status.passed.is_none() && !status.data { self.lose(at) } else { None }
            }
            (Pins::Fifo, Width::W4) => match self.half.take() {
                Some(half) => self.byte(at, half | low << 4, config),
                None => {
                    self.half = Some(low);
                    None
                }
            },
            (Pins::Fifo, Width::W8) => self.byte(at, low, config),
            (Pins::Fifo, Width::W16) => {
                let first = self.byte(at, low, config);
                let second = match self.groups.is_empty() {
                    false => self.byte(at, high, config),
                    true if self.synced && high != PADDING => self.lose(at),
                    true => None,
                };
                return [first, second];
            }
        };
        [one, None]
    }

    /// Takes a byte of FIFO output.
    fn byte(&mut self, at: u64, byte: u8, config: &Config) -> Option<(u64, Out)> {
        let &(of, first) = self.groups.front()?;
        // Every pending offset counts the byte.
        let mut overrun = None;
        for (n, (_, group)) in self.groups.iter_mut().enumerate() {
            match group {
                Group::Tfo(Some(0)) if n > 0 => overrun = Some(n),
                Group::Tfo(Some(ahead @ 1..)) => *ahead -= 1,
                _ => {}
            }
        }
        if let Some(n) = overrun {
            // The byte is the header of the TFO packet.
            let out = self.restart_from(n);
            self.bytes.push(byte);
            return out;
        }
        match first {
            // Bytes before the TFO packet belong to statuses before synchronisation.
            Group::Tfo(None | Some(1..)) => return Some((at, Out::Stray)),
            Group::Tfo(Some(0)) | Group::Status => self.bytes.push(byte),
        }
        let bytes = self.bytes.get();
        let parsed = match first {
            Group::Status => match Item::parse(bytes, config) {
                Parse::Packet(item, _) => Some((Out::Item(item), !item.more())),
                Parse::Partial => return None,
                Parse::Bad(..) => None,
            },
            Group::Tfo(_) => match Tfo::parse(bytes, config) {
                Parse::Packet(tfo, _) => Some((Out::Tfo(tfo), true)),
                Parse::Partial => return None,
                Parse::Bad(..) => None,
            },
        };
        let Some((out, last)) = parsed else { return self.restart(at) };
        self.bytes = Bytes::default();
        if last {
            self.groups.pop_front();
        }
        Some((of, out))
    }
}
