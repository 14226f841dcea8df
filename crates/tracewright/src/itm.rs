//! What software writes to the stimulus ports of an ITM, as it arrives.

use std::collections::VecDeque;
use std::io::{self, Read};

use tracewright_base::{Channel, Element};
use tracewright_decode::swo::{Receiver, Wanted};

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 12;

/// The ports of a page.
const PAGE: u32 = 32;

/// The bytes that software writes to one stimulus port, from trace that `R` reads: a serial port, a
/// socket, a file, a pipe. A write of several bytes has the lowest one first.
///
/// How the trace is framed is found from its first bytes, as [`Receiver`] describes.
///
/// ```
/// use std::io::Read;
///
/// let trace: &[u8] = b"\x01H\x01i\x09!\x0a..\x01\n";
/// let mut text = String::new();
/// tracewright::itm::PortReader::new(trace, 0).read_to_string(&mut text)?;
/// assert_eq!(text, "Hi\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PortReader<R> {
    trace: R,
    port: u32,
    receiver: Receiver,
    elements: Vec<(u64, Element)>,
    waiting: VecDeque<u8>,
    ended: bool,
}

impl<R: Read> PortReader<R> {
    /// The writes to `port`: from 32 on, those of the pages after the first one.
    pub fn new(trace: R, port: u32) -> PortReader<R> {
        PortReader::with(trace, port, Wanted::default())
    }

    /// As [`new`](Self::new), where the framing or the trace ID is known.
    pub fn with(trace: R, port: u32, wanted: Wanted) -> PortReader<R> {
        PortReader {
            trace,
            port,
            receiver: Receiver::new(wanted),
            elements: Vec::new(),
            waiting: VecDeque::new(),
            ended: false,
        }
    }

    /// Takes the writes of the elements that were decoded.
    fn take(&mut self) {
        for (_, element) in self.elements.drain(..) {
            let Element::SoftwareWrite(write) = element else { continue };
            let Channel::Port { page, port } = write.channel else { continue };
            if PAGE * u32::from(page.unwrap_or(0)) + u32::from(port) == self.port {
                let bytes = write.value().to_le_bytes();
                self.waiting.extend(bytes.iter().take(usize::from(write.bits / 8)));
            }
        }
    }
}

impl<R: Read> Read for PortReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut block = [0; BLOCK];
        while self.waiting.is_empty() && !self.ended && !into.is_empty() {
            match self.trace.read(&mut block)? {
                0 => {
                    self.ended = true;
                    self.receiver.finish(&mut self.elements);
                }
                len => {
                    let bytes = block.get(..len).unwrap_or_default();
                    self.receiver.feed(bytes, &mut self.elements);
                    // A read returns what has arrived.
                    if len < BLOCK {
                        self.receiver.pause(&mut self.elements);
                    }
                }
            }
            self.take();
        }
        self.waiting.read(into)
    }
}
