//! Joins the software writes of a program to lines of text, in the order of the trace: an event of
//! the DWT between two writes ends a line. (`tracewright itm` joins the parts.)

use tracewright_base::{Channel, Element, Software};

/// The longest line, in bytes. A longer line is divided.
const LONGEST: usize = 240;

/// The most incomplete lines of a source: more channels than programs write to at once.
const MAX_OPEN: usize = 256;

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The offset of its last character.
    pub at: u64,
    /// The port or channel.
    pub channel: Channel,
    /// The text, with its line feed.
    pub text: Vec<u8>,
}

/// The incomplete lines of one source, one for each channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ports {
    open: Vec<Line>,
}

impl Ports {
    /// Takes the next element, and passes the lines that it ends to `done`.
    pub fn element(&mut self, at: u64, element: &Element, mut done: impl FnMut(Line)) {
        match element {
            Element::SoftwareWrite(write) => self.write(at, write, done),
            // The rest of an incomplete line may be lost.
            Element::Gap(_) | Element::End | Element::DwtEvent(_) => {
                self.open.drain(..).for_each(&mut done);
            }
            _ => {}
        }
    }

    fn write(&mut self, at: u64, write: &Software, mut done: impl FnMut(Line)) {
        let channel = write.channel;
        let open = self.open.iter().position(|line| line.channel == channel);
        let bytes = write.value().to_le_bytes();
        let bytes = bytes.get(..usize::from(write.bits / 8)).unwrap_or_default();
        let text = bytes.iter().all(|b| b.is_ascii_graphic() || b" \r\n\t".contains(b));
        if !text || bytes.is_empty() {
            // A message of a System Trace Macrocell may end with a flag, that of a port with a 0.
            if let Some(n) = open {
                done(self.open.swap_remove(n));
            }
            return;
        }
        let n = open.unwrap_or_else(|| {
            if self.open.len() >= MAX_OPEN {
                done(self.open.remove(0));
            }
            self.open.push(Line { at, channel, text: Vec::new() });
            self.open.len() - 1
        });
        for &byte in bytes {
            let Some(line) = self.open.get_mut(n) else { return };
            line.at = at;
            line.text.push(byte);
            if byte == b'\n' || line.text.len() >= LONGEST {
                done(line.clone());
                line.text.clear();
            }
        }
        if self.open.get(n).is_some_and(|line| line.text.is_empty()) {
            self.open.swap_remove(n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_base::DwtEvent;

    const PORT: Channel = Channel::Port { page: Some(0), port: 0 };
    const OTHER: Channel = Channel::Port { page: Some(0), port: 1 };

    fn lines(writes: &[(Channel, u8, u64)]) -> Vec<(u64, String)> {
        let (mut ports, mut lines) = (Ports::default(), Vec::new());
        let writes =
            writes.iter().map(|&(c, bits, v)| Element::SoftwareWrite(Software::new(c, bits, v)));
        for (at, element) in (0..).zip(writes.chain([Element::End])) {
            ports.element(at, &element, |line| {
                lines.push((line.at, line.text.escape_ascii().to_string()));
            });
        }
        lines
    }

    #[test]
    fn writes_become_lines() {
        // "On\n", "x" on another port in between, and an incomplete line.
        let got = lines(&[
            (PORT, 8, 0x4f),
            (OTHER, 8, 0x78),
            (PORT, 16, 0x0a6e),
            (PORT, 32, 0x2164_6e65),
            (OTHER, 8, 0x00),
        ]);
        let want = [(2, "On\\n"), (1, "x"), (3, "end!")].map(|(at, text)| (at, text.to_owned()));
        assert_eq!(got, want);
    }

    /// An event between two writes ends the line, so that lines are in the order of the trace.
    #[test]
    fn events_end_lines() {
        let event = DwtEvent { discriminator: 2, size: 4, value: 0x100, after_overflow: false };
        let mut ports = Ports::default();
        let mut lines = Vec::new();
        let elements = [
            Element::SoftwareWrite(Software::new(PORT, 8, 0x4f)),
            Element::SoftwareWrite(Software::new(PORT, 8, 0x6e)),
            Element::DwtEvent(event),
            Element::SoftwareWrite(Software::new(PORT, 8, 0x21)),
        ];
        for (at, element) in (0..).zip(elements) {
            ports.element(at, &element, |line| lines.push((line.at, line.text)));
        }
        assert_eq!(lines, [(1, b"On".to_vec())]);
    }

    #[test]
    fn incomplete_lines_are_bounded() {
        let port = |page, port| Channel::Port { page: Some(page), port };
        let channels = (0..=u8::MAX).flat_map(|page| (0..32).map(move |n| port(page, n)));
        let writes: Vec<_> = channels.map(|channel| (channel, 8, 0x41)).collect();
        let mut ports = Ports::default();
        let mut ended = 0;
        for &(channel, bits, value) in &writes {
            let write = Element::SoftwareWrite(Software::new(channel, bits, value));
            ports.element(0, &write, |_| ended += 1);
            assert!(ports.open.len() <= MAX_OPEN);
        }
        assert_eq!(ended + ports.open.len(), writes.len());
    }

    #[test]
    fn numbers_are_not_text() {
        assert_eq!(lines(&[(PORT, 32, 0x0000_0041), (PORT, 8, 0x07)]), []);
    }
}
