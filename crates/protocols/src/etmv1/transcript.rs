//! Describes cycles as text, in order: the meaning of each status and of TRACEPKT. It needs no
//! program image.

use core::fmt::{self, Write};

use tracewright_base::Parse;
use tracewright_frames::cycles::{Cycle, DISABLED, TRIGGER, Width};

use super::packet::{Address, MAX_ADDRESS_LEN};
use super::{Config, History, Packet};

/// The state that cycles leave for the description of the next one. By default no cycle has come.
///
/// Only the program distinguishes data bytes from idle pins. So the description of pins that are
/// not part of an address is "data or nothing", unless the status proves FIFO output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// Cycles left that show bits of the last branch status's offset, and the bits so far.
    offset: (u8, u8),
    /// The bytes of the address that is being sent.
    bytes: [u8; MAX_ADDRESS_LEN],
    len: usize,
    /// An address is being sent.
    open: bool,
    /// The low half of its next byte.
    half: Option<u8>,
    history: History,
}

/// Descriptions of the statuses. (Table 5-1)
const STATUSES: [&str; 8] = [
    "instruction executed",
    "instruction executed with data",
    "instruction not executed",
    "wait",
    "branch executed",
    "branch executed with data",
    "trigger",
    "trace disabled",
];

const WAIT: u8 = 3;
/// The offset value for "too large to encode". (5.6.1)
const TOO_LARGE: u8 = 15;

impl Transcript {
    /// Appends the description of the next cycle.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn cycle(&mut self, packet: &Packet, config: &Config, out: &mut impl Write) -> fmt::Result {
        let cycle = packet.cycle();
        let trigger = cycle.status == TRIGGER;
        let status = if trigger { cycle.packet as u8 & 0b111 } else { cycle.status };
        if trigger {
            out.write_str("trigger, replaces: ")?;
        }
        let in_offset = self.offset.0 > 0 && status <= WAIT;
        if in_offset {
            self.offset_bits(status, out)?;
        } else {
            self.offset = if matches!(status, 4 | 5) { (2, 0) } else { (0, 0) };
            out.write_str(STATUSES.get(usize::from(status)).unwrap_or(&"reserved"))?;
        }
        match (trigger, status) {
            (true, _) => Ok(()),
            (false, DISABLED) if cycle.packet & 1 != 0 => out.write_str(", the cycle counts"),
            (false, DISABLED) => Ok(()),
            (false, _) => self.pins(cycle, status == WAIT && !in_offset, config, out),
        }
    }

    /// Two bits of an address packet offset. (5.6.1)
    fn offset_bits(&mut self, bits: u8, out: &mut impl Write) -> fmt::Result {
        let (left, before) = self.offset;
        if left == 2 {
            self.offset = (1, bits);
            return write!(out, "address packet offset [1:0] = {bits}");
        }
        self.offset = (0, 0);
        write!(out, "address packet offset [3:2] = {bits}: ")?;
        match before | bits << 2 {
            TOO_LARGE => out.write_str("too large to encode"),
            0 => out.write_str("no address before its own"),
            1 => out.write_str("1 address before its own"),
            more => write!(out, "{more} addresses before its own"),
        }
    }

    /// Describes TRACEPKT. `valid`: the status proves that it shows FIFO output.
    fn pins(
        &mut self,
        cycle: Cycle,
        valid: bool,
        config: &Config,
        out: &mut impl Write,
    ) -> fmt::Result {
        let (low, high) = (cycle.packet as u8, (cycle.packet >> 8) as u8);
        // TRACESYNC of a 4-bit port may stay high for the second half of a byte.
        if cycle.sync && self.half.is_none() {
            (self.len, self.open) = (0, true);
        }
        let moves = config.control.values() || config.control.addresses();
        match config.width() {
            Width::W4 if self.open => match self.half.take() {
                Some(half) => self.byte(half | low << 4, config, out),
                None => {
                    self.half = Some(low);
                    out.write_str("; address, half a byte")
                }
            },
            Width::W4 if valid => write!(out, "; data, half a byte: {low:x}"),
            Width::W4 if moves => write!(out, "; half a byte of data or nothing: {low:x}"),
            Width::W8 | Width::W16 if self.open => {
                self.byte(low, config, out)?;
                match config.width() {
                    Width::W16 if self.open => self.byte(high, config, out),
                    Width::W16 if moves => write!(out, "; data or nothing: {high:02x}"),
                    _ => Ok(()),
                }
            }
            Width::W8 if valid => write!(out, "; data: {low:02x}"),
            // The upper byte may be padding.
            Width::W16 if valid => write!(out, "; data: {low:02x}, data or nothing: {high:02x}"),
            Width::W8 if moves => write!(out, "; data or nothing: {low:02x}"),
            Width::W16 if moves => write!(out, "; data or nothing: {low:02x} {high:02x}"),
            Width::W4 | Width::W8 | Width::W16 => Ok(()),
        }
    }

    /// Takes a byte of an address.
    fn byte(&mut self, byte: u8, config: &Config, out: &mut impl Write) -> fmt::Result {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        let Parse::Packet(address, _) = Address::parse(bytes, config) else {
            return write!(out, "; address, byte {}", self.len);
        };
        (self.open, self.len, self.bytes) = (false, 0, [0; MAX_ADDRESS_LEN]);
        let target = self.history.branch(&address);
        let (whole, isa) = (target.address, target.isa);
        match (target.known, address.last) {
            (_, Some(last)) => write!(out, "; branch address {whole:#010x} {isa}{last}"),
            (32.., None) => write!(out, "; branch address {address}: {whole:#010x} {isa}"),
            (_, None) => {
                write!(out, "; branch address {address}, its upper bits are not known yet")
            }
        }
    }
}
