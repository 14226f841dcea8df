//! The fields of a message: one description reads, writes, lists and prints them.
//!
//! Fields of fixed width follow one another bit by bit. A field of variable width ends with its
//! byte, whose MSEO is 01, or 11 at the end of the message. ("N-Trace Transmission Protocol")

use core::fmt;

use tracewright_base::Fault;

use super::{END_OF_FIELD, END_OF_MESSAGE, MAX_LEN, mseo};
use crate::bits::sign_extend;
use crate::ntrace::config::Config;
use crate::ntrace::names;
use crate::protocol::Field;

/// Data bits of a byte.
const BITS: u32 = 6;

/// A reader or a writer of fields. Each method is given the field's value, which a writer writes,
/// and returns it, which a reader has read.
pub trait Fields {
    /// A number of `width` bits, 0 to 64.
    fn fixed(&mut self, name: &'static str, value: u64, width: u32) -> u64;

    /// A number without leading zeros, of at most 64 bits.
    fn variable(&mut self, name: &'static str, value: u64) -> u64;

    /// An address without bit 0. Its top bits may be omitted. ("Virtual Addresses Optimization")
    fn address(&mut self, name: &'static str, value: u64) -> u64;

    /// TSTAMP, which is the last field, or missing.
    fn time(&mut self, value: Option<u64>) -> Option<u64>;

    /// A number of at most 8 bits.
    #[inline]
    fn byte(&mut self, name: &'static str, value: u8, width: u32) -> u8 {
        self.fixed(name, value.into(), width) as u8
    }
}

/// The address field of `count` bits sent, extended to `width` bits; 0 if it is not.
#[inline]
pub const fn extend(value: u64, count: u32, width: u32) -> u64 {
    match width {
        0 => value,
        width if count == 0 || count >= width => value & !(u64::MAX << width),
        width => sign_extend(value, count) & !(u64::MAX << width),
    }
}

/// Reads the fields of one message.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    /// The message.
    bytes: &'a [u8],
    /// The byte of the next field.
    at: usize,
    /// The data bit of that byte, 0 to 5.
    bit: u32,
    /// Fields of fixed width ended with a byte that ends a field: the field of variable width that
    /// follows has no bits.
    closed: bool,
    fault: Option<Fault>,
    /// The bits sent of the last field.
    sent: u32,
    /// The width to which addresses are sign-extended; 0 if they are not.
    extended: u32,
}

impl<'a> Reader<'a> {
    /// Reads the message `bytes`.
    pub const fn new(bytes: &'a [u8], config: &Config) -> Reader<'a> {
        let extended = config.extended();
        Reader { bytes, at: 0, bit: 0, closed: false, fault: None, sent: 0, extended }
    }

    /// Why the bytes are not the message whose fields were read. `open`: more fields may follow.
    pub fn fault(&self, open: bool) -> Option<Fault> {
        match self.fault {
            None if !open && self.at < self.bytes.len() => Some(Fault::BytesAfterFields),
            fault => fault,
        }
    }

    /// The data bits before the next field.
    fn position(&self) -> u32 {
        self.at as u32 * BITS + self.bit
    }

    fn fail(&mut self, fault: Fault) -> u64 {
        self.fault = self.fault.or(Some(fault));
        0
    }

    /// A field up to the byte that ends it: its value and its width.
    #[inline]
    fn until_end(&mut self) -> (u64, u32) {
        if core::mem::take(&mut self.closed) {
            return (0, 0);
        }
        let (mut value, mut count) = (0, 0);
        loop {
            let Some(&byte) = self.bytes.get(self.at) else {
                return (self.fail(Fault::FieldsAfterBytes), count);
            };
            let data = u64::from(byte >> 2 >> self.bit);
            match count {
                0..64 if data << count >> count == data => value |= data << count,
                // Zeros after 64 bits are padding.
                _ if data == 0 => {}
                _ => {
                    self.fail(Fault::Overlong);
                }
            }
            count += BITS - self.bit;
            self.bit = 0;
            self.at += 1;
            if mseo(byte) != 0 {
                return (value, count);
            }
        }
    }
}

impl Fields for Reader<'_> {
    #[inline]
    fn fixed(&mut self, _: &'static str, _: u64, width: u32) -> u64 {
        let (mut value, mut count) = (0, 0);
        while count < width {
            if self.closed {
                return self.fail(Fault::FieldsAfterBytes);
            }
            let Some(&byte) = self.bytes.get(self.at) else {
                return self.fail(Fault::FieldsAfterBytes);
            };
            let take = (BITS - self.bit).min(width - count);
            value |= (u64::from(byte >> 2 >> self.bit) & !(u64::MAX << take)) << count;
            count += take;
            self.bit += take;
            if self.bit == BITS {
                self.bit = 0;
                self.at += 1;
                self.closed = mseo(byte) != 0;
            } else if count < width {
                return self.fail(Fault::FieldsAfterBytes);
            }
        }
        self.sent = width;
        value
    }

    #[inline]
    fn variable(&mut self, _: &'static str, _: u64) -> u64 {
        let (value, count) = self.until_end();
        self.sent = count;
        value
    }

    #[inline]
    fn address(&mut self, _: &'static str, _: u64) -> u64 {
        let (value, count) = self.until_end();
        self.sent = count;
        extend(value, count, self.extended)
    }

    #[inline]
    fn time(&mut self, _: Option<u64>) -> Option<u64> {
        let is_there = self.fault.is_none() && self.at < self.bytes.len();
        is_there.then(|| self.variable("TSTAMP", 0))
    }
}

/// Writes the fields of one message.
#[derive(Clone, Debug)]
pub struct Writer {
    bytes: [u8; MAX_LEN],
    at: usize,
    bit: u32,
    extended: u32,
}

impl Writer {
    /// Writes a message.
    pub const fn new(config: &Config) -> Writer {
        let extended = config.extended();
        Writer { bytes: [0; MAX_LEN], at: 0, bit: 0, extended }
    }

    /// Ends the message: its bytes.
    pub fn finish(&mut self) -> &[u8] {
        if self.bit > 0 {
            (self.at, self.bit) = (self.at + 1, 0);
        }
        let len = self.at.min(MAX_LEN);
        if let Some(last) = len.checked_sub(1).and_then(|last| self.bytes.get_mut(last)) {
            *last |= END_OF_MESSAGE;
        }
        self.bytes.get(..len).unwrap_or_default()
    }

    fn put(&mut self, value: u64, width: u32) {
        let (mut value, mut left) = (value, width);
        while left > 0 {
            let take = (BITS - self.bit).min(left);
            if let Some(byte) = self.bytes.get_mut(self.at) {
                *byte |= ((value & !(u64::MAX << take)) << self.bit << 2) as u8;
            }
            value = value.checked_shr(take).unwrap_or(0);
            left -= take;
            self.bit += take;
            if self.bit == BITS {
                (self.at, self.bit) = (self.at + 1, 0);
            }
        }
    }

    /// Writes the low `width` bits, at least 1, and ends the field.
    fn end(&mut self, value: u64, width: u32) {
        self.put(value, width.max(1));
        if self.bit > 0 {
            (self.at, self.bit) = (self.at + 1, 0);
        }
        if let Some(last) = self.at.checked_sub(1).and_then(|last| self.bytes.get_mut(last)) {
            *last |= END_OF_FIELD;
        }
    }
}

impl Fields for Writer {
    fn fixed(&mut self, _: &'static str, value: u64, width: u32) -> u64 {
        self.put(value, width);
        value
    }

    fn variable(&mut self, _: &'static str, value: u64) -> u64 {
        self.end(value, u64::BITS - value.leading_zeros());
        value
    }

    fn address(&mut self, name: &'static str, value: u64) -> u64 {
        if self.extended == 0 {
            return self.variable(name, value);
        }
        let mut width = BITS - self.bit;
        let omits = |width: u32| sign_extend(value, width) & !(u64::MAX << self.extended) == value;
        while width < self.extended && !omits(width) {
            width += BITS;
        }
        self.end(value, width.min(u64::BITS));
        value
    }

    fn time(&mut self, value: Option<u64>) -> Option<u64> {
        value.map(|value| self.variable("TSTAMP", value))
    }
}

/// Reads fields and lists each of them.
pub struct Namer<'a> {
    reader: Reader<'a>,
    each: &'a mut dyn FnMut(Field),
}

impl<'a> Namer<'a> {
    /// Lists the fields that `reader` reads.
    pub fn new(reader: Reader<'a>, each: &'a mut dyn FnMut(Field)) -> Self {
        Namer { reader, each }
    }

    /// Lists the field that was read from data bit `at` on.
    fn list(&mut self, name: &'static str, at: u32, value: u64) -> u64 {
        let sent = self.reader.sent;
        if self.reader.fault.is_none() && sent > 0 {
            (self.each)(Field { name, at, width: sent, sent, value });
        }
        value
    }
}

impl Fields for Namer<'_> {
    fn fixed(&mut self, name: &'static str, value: u64, width: u32) -> u64 {
        let at = self.reader.position();
        let value = self.reader.fixed(name, value, width);
        self.list(name, at, value)
    }

    fn variable(&mut self, name: &'static str, value: u64) -> u64 {
        let at = self.reader.position();
        let value = self.reader.variable(name, value);
        self.list(name, at, value)
    }

    fn address(&mut self, name: &'static str, value: u64) -> u64 {
        let at = self.reader.position();
        let value = self.reader.address(name, value);
        self.list(name, at, value)
    }

    fn time(&mut self, value: Option<u64>) -> Option<u64> {
        let at = self.reader.position();
        let value = self.reader.time(value);
        value.map(|value| self.list("TSTAMP", at, value))
    }
}

/// Prints fields: `SYNC 3 (exit from debug mode), I-CNT 0`.
pub struct Printer<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    tcode: u8,
    result: fmt::Result,
    first: bool,
}

impl<'a, 'f> Printer<'a, 'f> {
    /// Prints the fields of a message with this TCODE.
    pub fn new(f: &'a mut fmt::Formatter<'f>, tcode: u8) -> Self {
        Printer { f, tcode, result: Ok(()), first: true }
    }

    /// The result of printing.
    pub fn finish(self) -> fmt::Result {
        self.result
    }

    fn print(&mut self, name: &str, value: impl fmt::Display) {
        let separator = if core::mem::take(&mut self.first) { "" } else { "," };
        self.result = self.result.and_then(|()| write!(self.f, "{separator} {name} {value}"));
    }
}

impl Fields for Printer<'_, '_> {
    fn fixed(&mut self, name: &'static str, value: u64, _: u32) -> u64 {
        match names::value(name, value) {
            Some(word) => self.print(name, format_args!("{value} ({word})")),
            None => self.print(name, value),
        }
        value
    }

    fn variable(&mut self, name: &'static str, value: u64) -> u64 {
        match name {
            "I-CNT" | "B-CNT" | "HREPEAT" | "RCNT" => self.print(name, value),
            "PROCESS" => self.print(name, super::Process(value)),
            _ => self.print(name, format_args!("0x{value:x}")),
        }
        value
    }

    fn address(&mut self, name: &'static str, value: u64) -> u64 {
        self.print(name, format_args!("0x{value:x}"));
        value
    }

    fn time(&mut self, value: Option<u64>) -> Option<u64> {
        if let Some(value) = value {
            let absolute = names::has_absolute_time(self.tcode);
            let sign = if absolute { "" } else { "+" };
            self.print("TSTAMP", format_args!("{sign}{value}"));
        }
        value
    }
}
