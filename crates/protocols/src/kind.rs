//! Names of packet kinds.

use core::fmt::{self, Write};

/// The kind of a packet: the name of its enum variant in lower case with hyphens, `trace-info`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PacketKind {
    text: [u8; Self::MAX_LEN],
    len: u8,
}

impl PacketKind {
    const MAX_LEN: usize = 31;

    /// The kind of `packet`, which must be an enum.
    pub fn of(packet: &impl fmt::Debug) -> Self {
        let mut kind = PacketKind { text: [0; Self::MAX_LEN], len: 0 };
        // `write_str` returns an error after the name, which stops the formatter.
        let _ = write!(kind, "{packet:?}");
        kind
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let text = self.text.get(..usize::from(self.len)).unwrap_or_default();
        str::from_utf8(text).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) -> fmt::Result {
        let slot = self.text.get_mut(usize::from(self.len)).ok_or(fmt::Error)?;
        *slot = byte;
        self.len += 1;
        Ok(())
    }
}

impl Write for PacketKind {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut before = b'-';
        for byte in text.bytes() {
            let word = match byte {
                b'A'..=b'Z' => before.is_ascii_lowercase(),
                b'0'..=b'9' => before.is_ascii_alphabetic(),
                b'a'..=b'z' => false,
                _ => return Err(fmt::Error),
            };
            if word {
                self.push(b'-')?;
            }
            self.push(byte.to_ascii_lowercase())?;
            before = byte;
        }
        // The derived `Debug` writes a variant's name in one call.
        Err(fmt::Error)
    }
}

impl fmt::Display for PacketKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for PacketKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[expect(dead_code, reason = "only its Debug text is read")]
    enum Packet {
        Discard,
        TraceInfo(u8),
        CycleCount12 { cycles: u8 },
    }

    #[test]
    fn names_are_words() {
        for (packet, want) in [
            (Packet::Discard, "discard"),
            (Packet::TraceInfo(1), "trace-info"),
            (Packet::CycleCount12 { cycles: 1 }, "cycle-count-12"),
        ] {
            assert_eq!(PacketKind::of(&packet).as_str(), want);
        }
    }
}
