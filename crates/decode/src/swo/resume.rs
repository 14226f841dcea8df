//! Where the packets of an ITM begin after damage.

use super::grammar::packets;
use super::packet_evidence::better_start;

/// The bytes in which the first packet after damage is searched for.
const LOOK: usize = 64;

/// A run of this byte is a line that does not change, and no packets.
const IDLE: u8 = 0xff;
const RUN: usize = 8;

/// The most bytes of a run that wait for its end.
const LONGEST_RUN: usize = 1 << 12;

/// The offset behind the first bytes in `bytes` that are no packet; `None` where there are none.
pub(super) fn damage_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    packets(bytes).find_map(|parsed| {
        at += parsed.len;
        parsed.packet.is_none().then_some(at)
    })
}

/// The offset of the first packet in `bytes`, which follow damage: 0 but where packets from another
/// byte on have far more evidence. `None`: that depends on the bytes that follow, unless these are
/// the `last`.
pub(super) fn resume(bytes: &[u8], last: bool) -> Option<usize> {
    let run = bytes.iter().take_while(|byte| **byte == IDLE).count();
    let run = if run < RUN { 0 } else { run };
    let rest = bytes.get(run..).unwrap_or_default();
    let waits = !last && rest.len() < LOOK && run < LONGEST_RUN;
    let rest = rest.get(..LOOK).unwrap_or(rest);
    (!waits).then(|| run + better_start(rest, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_found_after_damage() {
        let text = b"\x01a\x01f\x01t\x01e\x01r\x01 \x01a\x01l\x01l";
        for (before, want) in [
            (&b""[..], 0),
            // The rest of a timestamp without an end.
            (b"\x80\x80\x80\x05", 4),
            // A reserved header is skipped anyway.
            (b"\x80", 0),
            (&[0xff; 300], 300),
        ] {
            let bytes = [before, text].concat();
            assert_eq!(resume(&bytes, true), Some(want), "{before:?}");
        }
        assert_eq!(resume(text, false), None);
        assert_eq!(resume(&[0xff; 100], false), None);
        assert_eq!(resume(&[], true), Some(0));
        assert_eq!(damage_end(text), None);
        assert_eq!(damage_end(b"\x01a\x80\x01f"), Some(3));
    }
}
