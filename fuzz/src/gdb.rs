//! What must hold of any bytes that a server of gdb receives.

use std::path::Path;

use tracewright::Trace;
use tracewright::capture::Bytes;
use tracewright::index::view::View;
use tracewright::index::{Index, Making, Shape};
use tracewright_gdb::{Framer, MOST, Received, Server, emit};
use tracewright_replay::Machine;

/// The most bytes of the answers to one byte that is received: the text of `monitor`, as packets.
const MOST_ANSWERS: usize = 8 * MOST;

/// A trace of an ETMv4, and its index.
pub struct Replayed {
    trace: Trace,
    index: Index,
}

impl Replayed {
    /// The trace in `tests/captures` of the tree that `folder` is in.
    pub fn open(folder: &str) -> Replayed {
        let mut folders = Path::new(folder).ancestors();
        let path = folders.find_map(|folder| {
            let path = folder.join("tests/captures/etmv4/capture");
            path.is_dir().then_some(path)
        });
        let trace = tracewright::open(path.expect("the folder of captures")).expect("a capture");
        let making = Making { shape: Shape::new(256, 4), view: true, jobs: 1, ..Making::default() };
        let mut file = Vec::new();
        let write = |part: &[u8], _: u64| {
            file.extend_from_slice(part);
            Ok(true)
        };
        trace.subject().make(trace.plans(), &making, write).expect("bytes in memory");
        let index = Index::read(Bytes::from(file)).expect("its own index");
        Replayed { trace, index }
    }

    /// Calls `then` with a server at the beginning of the trace.
    pub fn serve<T>(&self, then: impl FnOnce(&mut Server<'_>) -> T) -> T {
        let (plan, buffer) = (&self.trace.plans()[0], &self.index.buffers()[0]);
        let view = View::new(&self.index, buffer).expect("an index").expect("a view");
        let subject = self.trace.subject();
        let machine =
            Machine::new(subject, plan, &self.index, &view, &[]).expect("bytes in memory");
        then(&mut Server::new(machine.expect("instructions"), self.trace.capture()))
    }
}

/// The packets of lines, each with its checksum.
pub fn packets(lines: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        emit(line, &mut bytes);
    }
    bytes
}

/// The first byte: bit \[0], lines that become packets, else bytes of a connection; the others,
/// where the bytes are cut.
///
/// No panic. The answers are acknowledgements and packets with their checksums, which do not depend
/// on the cut, and of bounded length; and the machine stands at an instruction.
pub fn gdb(replayed: &Replayed, data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else { return };
    let bytes = if how & 1 != 0 { packets(rest) } else { rest.to_vec() };
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    let end = replayed.serve(|server| {
        for byte in &bytes {
            let before = whole.len();
            server.feed(&[*byte], &mut whole);
            assert!(whole.len() - before <= MOST_ANSWERS, "{} bytes", whole.len() - before);
        }
        server.machine().here()
    });
    let end_of_parts = replayed.serve(|server| {
        let (first, second) = bytes.split_at(usize::from(how >> 1).min(bytes.len()));
        server.feed(first, &mut parts);
        server.feed(second, &mut parts);
        server.machine().here()
    });
    assert_eq!(whole, parts);
    assert_eq!(end, end_of_parts);
    let mut framer = Framer::default();
    let mut covered = 0;
    for (n, byte) in (1..).zip(&whole) {
        match framer.byte(*byte) {
            Some(Received::Packet(_)) => covered = n,
            // Both acknowledgements: `-` of a packet that is damaged.
            Some(Received::Again) if whole[n - 1] == b'-' => covered = n,
            Some(other) => panic!("{other:?} in {}", String::from_utf8_lossy(&whole)),
            None if framer == Framer::default() && *byte == b'+' => covered = n,
            None => {}
        }
    }
    assert_eq!(covered, whole.len(), "{}", String::from_utf8_lossy(&whole));
}
