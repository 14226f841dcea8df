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
        let mut name = Name(PacketKind::named(""));
        // `write_str` returns an error after the name, which stops the formatter.
        let _ = write!(name, "{packet:?}");
        name.0
    }

    /// The kind of the variant with which `text` begins: `TraceInfo`.
    pub const fn named(text: &str) -> Self {
        let mut kind = PacketKind { text: [0; Self::MAX_LEN], len: 0 };
        let (mut rest, mut before) = (text.as_bytes(), b'-');
        while let [byte, after @ ..] = rest
            && byte.is_ascii_alphanumeric()
        {
            let begins_word = match byte {
                b'A'..=b'Z' => before.is_ascii_lowercase(),
                b'0'..=b'9' => before.is_ascii_alphabetic(),
                _ => false,
            };
            if begins_word {
                kind.push(b'-');
            }
            kind.push(byte.to_ascii_lowercase());
            (rest, before) = (after, *byte);
        }
        kind
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let text = self.text.get(..usize::from(self.len)).unwrap_or_default();
        str::from_utf8(text).unwrap_or_default()
    }

    const fn push(&mut self, byte: u8) {
        if let Some((_, [slot, ..])) = self.text.split_at_mut_checked(self.len as usize) {
            *slot = byte;
            self.len += 1;
        }
    }
}

/// Receives the `Debug` text of a variant.
struct Name(PacketKind);

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = PacketKind::named(text);
        // The derived `Debug` writes a variant's name in one call.
        Err(fmt::Error)
    }
}

/// The packets of a protocol, by kind.
pub trait PacketKinds {
    /// Every kind.
    const KINDS: &'static [PacketKind];

    /// The kind of the packet.
    fn kind(&self) -> PacketKind;
}

/// Implements [`PacketKinds`](crate::kind::PacketKinds) for an enum with these variants: all of
/// them, or it does not compile.
///
/// ```
/// use tracewright_protocols::kind::PacketKinds;
///
/// enum Message {
///     Sync(u64),
///     EventCount { count: u8 },
/// }
/// tracewright_protocols::packet_kinds!(Message: Sync, EventCount);
///
/// assert_eq!(Message::EventCount { count: 1 }.kind().as_str(), "event-count");
/// assert_eq!(Message::KINDS[0], Message::Sync(0).kind());
/// ```
#[macro_export]
macro_rules! packet_kinds {
    ($packet:ty: $($variant:ident),* $(,)?) => {
        impl $crate::kind::PacketKinds for $packet {
            const KINDS: &'static [$crate::PacketKind] =
                &[$($crate::PacketKind::named(stringify!($variant))),*];

            fn kind(&self) -> $crate::PacketKind {
                match self {
                    $(Self::$variant { .. } => {
                        const { $crate::PacketKind::named(stringify!($variant)) }
                    })*
                }
            }
        }
    };
}
pub(crate) use packet_kinds;

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
    #[expect(dead_code, reason = "the fields are only in the Debug text")]
    enum Packet {
        Discard,
        TraceInfo(u8),
        CycleCount12 { cycles: u8 },
    }

    packet_kinds!(Packet: Discard, TraceInfo, CycleCount12);

    #[test]
    fn names_are_words() {
        for (n, (packet, want)) in [
            (Packet::Discard, "discard"),
            (Packet::TraceInfo(1), "trace-info"),
            (Packet::CycleCount12 { cycles: 1 }, "cycle-count-12"),
        ]
        .iter()
        .enumerate()
        {
            assert_eq!(PacketKind::of(packet).as_str(), *want);
            assert_eq!(packet.kind().as_str(), *want);
            assert_eq!(Packet::KINDS[n].as_str(), *want);
        }
    }

    #[test]
    fn long_names_are_cut() {
        let name = "A123456789b123456789c123456789d1";
        let kind = PacketKind::named(name);
        assert_eq!(kind.as_str(), "a-123456789b-123456789c-1234567");
    }
}
