//! Every packet of every stream is parsed, and emits the same bytes.

use tracewright::base::{Parse, Wire};
use tracewright::protocols::etrace::Packet;

use tracewright_testing::short_or_long;

use crate::streams::{self, Stream, up_to};

#[test]
fn packets_emit_their_bytes() {
    let Some(root) = streams::shared() else { return };
    let exact = [
        streams::reference(&root),
        streams::optional(&root),
        streams::draft(&root),
        streams::data(&root),
        streams::large(&root),
    ];
    let mut packets = 0;
    for stream in up_to(30_000, exact.into_iter().flatten().collect()) {
        packets += written(&stream, true);
    }
    // PULP's unit retains more bits of an address than necessary.
    for stream in &streams::pulp(&root) {
        packets += written(stream, false);
    }
    eprintln!("{packets} packets");
    assert!(packets > short_or_long(30_000, 100_000), "{packets}");
}

fn written(stream: &Stream, exact: bool) -> usize {
    let Stream { path, params, bytes, .. } = stream;
    let (mut at, mut packets) = (0, 0);
    while at < bytes.len() {
        let Parse::Packet(packet, len) = Packet::parse(&bytes[at..], params) else {
            panic!("{}, {}: no packet at {at}", path.display(), stream.program);
        };
        let mut again = Vec::new();
        packet.emit(params, &mut again);
        if exact {
            assert_eq!(again, bytes[at..at + len], "{} at {at}: {packet}", path.display());
        }
        assert_eq!(Packet::parse(&again, params), Parse::Packet(packet, again.len()));
        at += len;
        packets += 1;
    }
    packets
}
