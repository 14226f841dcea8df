//! How many instructions and ranges real packets have for each of their bytes, against the limit.

use tracewright::base::{Element, MAX_EXPANSION, Sink, Turns};
use tracewright::protocols::{Observer, StreamEvent};

use tracewright_testing::sample;

use crate::decode::elf;
use crate::run::{cache, elements, program};
use crate::streams::{self, read};

/// What a range costs of the limit in addition to its instructions, where a packet can have any
/// number of them.
const RANGE: u64 = 64;

/// The instructions of the last packet, and the packet with the most for each byte.
#[derive(Debug, Default)]
struct Packets {
    len: usize,
    instructions: u64,
    ranges: u64,
    /// Instructions and bytes.
    worst: (u64, usize),
    /// The most of the limit, in instructions, that a byte costs.
    most: u64,
    /// Turns that a listing does not have.
    unlisted: u64,
}

impl Packets {
    fn end(&mut self) {
        let (most, len) = self.worst;
        if self.instructions * len.max(1) as u64 > most * self.len as u64 {
            self.worst = (self.instructions, self.len);
        }
        let cost = self.instructions + RANGE * self.ranges;
        self.most = self.most.max(cost / self.len.max(1) as u64);
        (self.instructions, self.ranges, self.len) = (0, 0, 0);
    }
}

impl Sink for Packets {
    fn element(&mut self, _: u64, element: Element) {
        if let Element::Range(range) = element {
            self.instructions += u64::from(range.instructions);
            self.ranges += 1;
        }
    }

    fn turns(&mut self, turns: Turns<'_>) {
        if !turns.listed {
            self.unlisted += turns.times;
            return;
        }
        for range in (0..turns.times).flat_map(|_| turns.ranges) {
            self.element(turns.at, Element::Range(*range));
        }
    }
}

impl Observer for Packets {
    fn event(&mut self, event: StreamEvent<'_>) {
        if let StreamEvent::Packet { bytes, .. } = event {
            self.end();
            self.len = bytes.span.len();
        }
    }

    fn wants_each_packet(&self) -> bool {
        true
    }
}

/// The packets of real streams need less than a hundredth of the limit, and a tenth of it with what
/// their ranges cost; a listing has all turns of their loops.
#[test]
fn real_packets_are_far_below_the_limit() {
    let Some(root) = streams::shared() else { return };
    let small = streams::reference(&root).into_iter().chain(streams::optional(&root));
    let small = sample(2, streams::up_to(20_000, small.collect()));
    let small = small.map(|stream| (elf(&root, &stream), stream));
    let large = sample(4, streams::large(&root)).map(|stream| {
        let elf = root.join(format!("etrace-ref-large/{}.riscv.xz", stream.program));
        (read(&elf), stream)
    });
    for (elf, stream) in small.chain(large) {
        let image = program(elf, stream.params.rv64);
        let mut packets = Packets::default();
        let mut code = cache(&image, &stream.params);
        elements(&stream.bytes, &stream.params, &mut code, &mut packets);
        packets.end();
        let (instructions, len) = packets.worst;
        let path = stream.path.display();
        println!(
            "{} {path}: {instructions} of {len} bytes; {}",
            instructions / len.max(1) as u64,
            packets.most
        );
        assert_eq!(packets.unlisted, 0, "{path}");
        assert!(packets.most * 10 <= u64::from(MAX_EXPANSION), "{path}: {}", packets.most);
        assert!(instructions * 100 <= u64::from(MAX_EXPANSION) * len as u64, "{path}");
    }
}
