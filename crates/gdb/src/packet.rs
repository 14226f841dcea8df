//! Packets: `$`, the data, `#`, and a checksum of two hexadecimal digits. (gdb, appendix E.1)

use crate::hex;

/// The most bytes of a packet that is received.
pub const MOST: usize = 0x4000;

/// Ctrl-C.
const INTERRUPT: u8 = 0x03;

/// The byte before one that stands for a byte of the protocol, and what that one is changed by.
const ESCAPE: u8 = b'}';
const ESCAPED: u8 = 0x20;

/// What is received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The data of a packet.
    Packet(Vec<u8>),
    /// A packet with another checksum than its own, or one that is too long.
    Damaged,
    /// The other side did not receive the last packet.
    Again,
    /// Ctrl-C.
    Interrupt,
}

/// Where the framer is in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between packets.
    #[default]
    Outside,
    /// In the data. The last byte was [`ESCAPE`].
    Data { escaped: bool },
    /// In the checksum: its first digit.
    Sum { first: Option<u8> },
}

/// Finds packets in bytes, which may be cut anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Framer {
    state: State,
    data: Vec<u8>,
    sum: u8,
    /// The packet is longer than [`MOST`].
    long: bool,
}

impl Framer {
    /// Takes the next byte, and returns what ends with it.
    pub fn byte(&mut self, byte: u8) -> Option<Received> {
        match self.state {
            State::Outside => match byte {
                b'$' => {
                    self.begin();
                    None
                }
                b'-' => Some(Received::Again),
                INTERRUPT => Some(Received::Interrupt),
                // Acknowledgements, and what is no packet.
                _ => None,
            },
            State::Data { escaped: false } if byte == b'#' => {
                self.state = State::Sum { first: None };
                None
            }
            // The packet before has no end.
            State::Data { escaped: false } if byte == b'$' => {
                self.begin();
                None
            }
            State::Data { escaped } => {
                self.sum = self.sum.wrapping_add(byte);
                let begins = !escaped && byte == ESCAPE;
                self.state = State::Data { escaped: begins };
                if self.data.len() >= MOST {
                    self.long = true;
                } else if !begins {
                    self.data.push(if escaped { byte ^ ESCAPED } else { byte });
                }
                None
            }
            State::Sum { first: None } => {
                self.state = State::Sum { first: Some(byte) };
                None
            }
            State::Sum { first: Some(first) } => {
                let sum = hex::digit(first).zip(hex::digit(byte)).map(|(a, b)| a << 4 | b);
                let packet = std::mem::take(self);
                let whole = sum == Some(packet.sum) && !packet.long;
                Some(if whole { Received::Packet(packet.data) } else { Received::Damaged })
            }
        }
    }

    fn begin(&mut self) {
        self.data.clear();
        (self.state, self.sum, self.long) = (State::Data { escaped: false }, 0, false);
    }
}

/// Appends a packet with this data.
pub fn emit(data: &[u8], out: &mut Vec<u8>) {
    out.push(b'$');
    let mut sum = 0u8;
    let mut put = |byte: u8| {
        sum = sum.wrapping_add(byte);
        out.push(byte);
    };
    for &byte in data {
        if matches!(byte, b'$' | b'#' | b'*' | ESCAPE) {
            put(ESCAPE);
            put(byte ^ ESCAPED);
        } else {
            put(byte);
        }
    }
    out.push(b'#');
    hex::put(&[sum], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Received> {
        let mut framer = Framer::default();
        bytes.iter().filter_map(|byte| framer.byte(*byte)).collect()
    }

    #[test]
    fn packets_and_back() {
        for data in [&b""[..], b"qSupported:xmlRegisters=i386", b"#$}*\x03\x00\xff", &[b'}'; 99]] {
            let mut bytes = Vec::new();
            emit(data, &mut bytes);
            assert_eq!(all(&bytes), [Received::Packet(data.to_vec())]);
        }
    }

    #[test]
    fn bytes_between_packets() {
        assert_eq!(
            all(b"+$g#67+\x03-$g#68$?#3f$m1$?#3F#zz"),
            [
                Received::Packet(b"g".to_vec()),
                Received::Interrupt,
                Received::Again,
                Received::Damaged,
                Received::Packet(b"?".to_vec()),
                Received::Packet(b"?".to_vec()),
            ]
        );
    }

    #[test]
    fn long_packets_are_refused_in_bounded_memory() {
        let mut framer = Framer::default();
        let mut bytes = Vec::new();
        emit(&vec![b'a'; 3 * MOST], &mut bytes);
        let mut got = None;
        for byte in bytes {
            got = got.or(framer.byte(byte));
            assert!(framer.data.len() <= MOST);
        }
        assert_eq!(got, Some(Received::Damaged));
        assert_eq!(framer.byte(INTERRUPT), Some(Received::Interrupt));
    }
}
