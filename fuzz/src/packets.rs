//! What must hold of the bytes at any place: packet or not, they are read and written as the same.

use tracewright::base::{Parse, Wire};
use tracewright::protocols::registry::{AnyConfig, AnyProtocol};
use tracewright::protocols::{Protocol, TraceForm, for_each_protocol};

use crate::properties::config;

/// A packet begins at every byte, or not: no panic; what is read is within the bytes, and is
/// written so that it is read again as the same.
///
/// The first bytes choose the protocol and its configuration.
pub fn packets(data: &[u8]) {
    let Some((&[protocol, seed, ..], bytes)) = data.split_first_chunk::<2>() else { return };
    let all = AnyProtocol::ALL;
    let Some(config) = config(all[usize::from(protocol) % all.len()], seed) else { return };
    at_each_byte_of(bytes, &config);
}

macro_rules! dispatch {
    ($($(#[$doc:meta])* $name:ident: $protocol:ty,)*) => {
        /// [`at_each_byte`] for the protocol of `config`.
        fn at_each_byte_of(bytes: &[u8], config: &AnyConfig) {
            match config {
                $(AnyConfig::$name(config) => at_each_byte::<$protocol>(bytes, config),)*
                // None of another crate is registered here.
                AnyConfig::External(_) => {}
            }
        }
    };
}

for_each_protocol!(dispatch);

/// The same for bytes of one protocol. Where its packets are of half bytes, the bytes are halved
/// first.
pub fn at_each_byte<P: Protocol>(bytes: &[u8], config: &P::Config) {
    let halves: Vec<u8>;
    let mut units = bytes;
    if P::FORM == TraceForm::HalfBytes {
        halves = bytes.iter().flat_map(|byte| [byte & 0xf, byte >> 4]).collect();
        units = &halves;
    }
    for at in 0..units.len() {
        packet::<P>(&units[at..], config);
    }
}

/// What begins `bytes`.
fn packet<P: Protocol>(bytes: &[u8], config: &P::Config) {
    let (packet, len) = match P::Packet::parse(bytes, config) {
        Parse::Packet(packet, len) => (packet, len),
        Parse::Bad(len, _) => {
            assert!((1..=bytes.len()).contains(&len), "{len} of {bytes:02x?} are bad");
            return;
        }
        Parse::Partial => return,
    };
    assert!((1..=bytes.len()).contains(&len), "{packet:?} is {len} of {bytes:02x?}");
    let own = &bytes[..len];
    // Some packets end where the byte after them begins another; that does not change what they
    // are.
    let alone = P::Packet::parse(own, config);
    let same = [Parse::Packet(packet, len), Parse::Partial].contains(&alone);
    assert!(same, "{alone:?}, not {packet:?}, of {own:02x?} {config:?}");
    let mut again = Vec::new();
    packet.emit(config, &mut again);
    let written = again.len();
    again.extend_from_slice(&bytes[len..]);
    let read = P::Packet::parse(&again, config);
    assert_eq!(read, Parse::Packet(packet, written), "{bytes:02x?} as {again:02x?} {config:?}");
    for end in 0..written {
        let part = P::Packet::parse(&again[..end], config);
        assert_eq!(part, Parse::Partial, "{end} of {again:02x?}, {packet:?} {config:?}");
    }
    assert!(!packet.to_string().is_empty(), "{packet:?} has no words");
    P::explain(config, own, &mut |_| {});
}
