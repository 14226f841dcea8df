//! The listing, line for line as the reference's packet lister prints it.

use std::io;
use std::ops::Range;

use tracewright_base::{Doubt, Element, Fault, Gap, Places};
use tracewright_decode::{Listener, Plan};
use tracewright_frames::{Event, Frame, Framing};
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::element::{Style, cycle_count, element};
use super::frames::RawFrames;
use super::source::SourceText;
use super::text::{decimal, hex, hex_padded};

/// What is listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Packets.
    pub packets: bool,
    /// The bytes of each packet.
    pub bytes: bool,
    /// Elements.
    pub elements: bool,
    /// Frames as they are in the capture.
    pub packed: bool,
    /// What frames hold for each id.
    pub unpacked: bool,
}

/// Writes a listing. Errors of the writer end it: see [`Listing::finish`].
#[derive(Debug)]
pub struct Listing<W> {
    out: W,
    shown: Shown,
    framed: bool,
    frames: RawFrames,
    sources: Vec<Source>,
    line: String,
    error: Option<io::Error>,
}

/// One source of the listing.
#[derive(Debug)]
struct Source {
    id: u8,
    config: AnyConfig,
    text: SourceText,
    style: Style,
    /// The reference says that it is lost when the next packet comes.
    lost: Option<Gap>,
    /// Bytes before a synchronisation that do not fill a line yet, and the place of the first.
    unsynced: Option<u64>,
    waiting: Vec<u8>,
    /// The place after the last of them in a full line.
    follows: Option<u64>,
}

impl<W: io::Write> Listing<W> {
    /// A listing of `plan`'s sources. `again`: a buffer was listed before this one.
    pub fn new(out: W, plan: &Plan, shown: Shown, again: bool) -> Self {
        let lost = if again { Gap::Reset } else { Gap::Start };
        let sources = plan.sources.iter().map(|planned| Source {
            id: planned.id,
            config: planned.config.clone(),
            text: SourceText::new(&planned.config),
            style: style(&planned.config),
            lost: Some(lost),
            unsynced: None,
            waiting: Vec::new(),
            follows: None,
        });
        Listing {
            out,
            shown,
            framed: plan.framing != Framing::Raw,
            frames: RawFrames::new(plan.framing, shown.packed, shown.unpacked),
            sources: sources.collect(),
            line: String::with_capacity(1 << 16),
            error: None,
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.write(true);
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    /// Writes lines when many wait.
    fn write(&mut self, all: bool) {
        if self.line.len() < (1 << 15) && !all {
            return;
        }
        if self.error.is_none()
            && let Err(error) = self.out.write_all(self.line.as_bytes())
        {
            self.error = Some(error);
        }
        self.line.clear();
    }

    /// Begins the line of a packet.
    fn packet_line(&mut self, n: usize, at: u64, bytes: &[u8]) {
        let id = if self.framed { self.sources[n].id } else { 0 };
        prefix(at, id, &mut self.line);
        if self.shown.bytes {
            self.line.push_str(" [");
            for &byte in bytes {
                self.line.push_str("0x");
                hex_padded(byte.into(), 2, &mut self.line);
                self.line.push(' ');
            }
            self.line.push_str("];");
        }
        self.line.push('\t');
    }

    /// Ends the line of a packet: a decoder that was lost says so now.
    fn packet_done(&mut self, n: usize, at: u64) {
        self.line.push('\n');
        if let Some(gap) = self.sources[n].lost.take()
            && self.shown.elements
        {
            self.element_line(n, at, &Element::Gap(gap), None);
        }
        self.write(false);
    }

    fn element_line(&mut self, n: usize, at: u64, what: &Element, cycles: Option<u32>) {
        let source = &self.sources[n];
        let start = self.line.len();
        prefix(at, source.id, &mut self.line);
        self.line.push(' ');
        if element(source.style, what, &mut self.line) {
            if let Some(cycles) = cycles {
                self.line.pop();
                cycle_count(cycles, &mut self.line);
                self.line.push(')');
            }
            self.line.push('\n');
        } else {
            self.line.truncate(start);
        }
    }

    /// Lists the bytes before a synchronisation that wait.
    fn unsynced_done(&mut self, n: usize) {
        let Some(at) = self.sources[n].unsynced.take() else { return };
        let bytes = std::mem::take(&mut self.sources[n].waiting);
        self.bad_line(n, at, &bytes, Fault::Unsynchronised);
        let source = &mut self.sources[n];
        source.waiting = bytes;
        source.waiting.clear();
    }

    /// Ends the line of bytes before a synchronisation where it does not go on with `byte`, which
    /// `first` begins a fragment.
    fn unsynced_before(&mut self, n: usize, byte: u8, first: bool) {
        let source = &self.sources[n];
        let group = source.text.unsynced_group();
        if let Some(&last) = source.waiting.last()
            && (group.is_full(source.waiting.len()) || group.ends_before(last, byte, first))
        {
            self.unsynced_done(n);
        }
    }

    fn bad_line(&mut self, n: usize, at: u64, bytes: &[u8], fault: Fault) {
        if let Some(code) = self.sources[n].text.packet_error(fault) {
            let component = self.sources[n].text.packet_component();
            self.error_text(n, at, component, code, "");
        }
        self.packet_line(n, at, bytes);
        let source = &mut self.sources[n];
        source.text.bad(&source.config, bytes, fault, &mut self.line);
        self.packet_done(n, at);
    }

    /// An error of the reference. It does not end the line: the next one is glued to it.
    fn error_text(&mut self, n: usize, at: u64, component: &str, code: &str, message: &str) {
        let source = &self.sources[n];
        let line = &mut self.line;
        line.push_str(component);
        if self.framed {
            line.push('_');
            let id = source.id.to_string();
            line.extend(std::iter::repeat_n('0', 4usize.saturating_sub(id.len())));
            line.push_str(&id);
        }
        line.push_str(" : ");
        line.push_str(code);
        line.push_str("; TrcIdx=");
        decimal(at, line);
        line.push_str("; CS ID=");
        hex_padded(source.id.into(), 2, line);
        line.push_str("; ");
        line.push_str(message);
    }
}

fn prefix(at: u64, id: u8, line: &mut String) {
    line.push_str("Idx:");
    decimal(at, line);
    line.push_str("; ID:");
    hex(id.into(), line);
    line.push(';');
}

fn style(config: &AnyConfig) -> Style {
    match config {
        AnyConfig::Etmv4(c) | AnyConfig::Ete(c) => Style { timestamp_cycles: c.cycle_counting() },
        _ => Style::default(),
    }
}

impl<W: io::Write> Listener for Listing<W> {
    const FRAMES: bool = true;

    fn element(&mut self, n: usize, at: u64, what: Element) {
        if !self.shown.elements {
            return;
        }
        let source = &mut self.sources[n];
        let Some((what, cycles)) = source.text.element(&source.config, what) else {
            return;
        };
        match what {
            // With packets listed, these wait for the next packet.
            Element::Gap(Gap::Start | Gap::Reset) if self.shown.packets => return,
            Element::Gap(gap @ Gap::BadPacket) if self.shown.packets => {
                self.sources[n].lost = Some(gap);
                let code =
                    "0x0019 (OCSD_ERR_BAD_DECODE_PKT) [Reserved or unknown packet in decoder.]";
                let component = self.sources[n].text.component();
                return self.error_text(n, at, component, code, "Unknown packet type.");
            }
            Element::Doubt(Doubt::InvalidOpcode) => {
                let code = "0x002c (OCSD_ERR_INVALID_OPCODE) \
                            [Illegal Opode found while decoding program memory.]";
                let component = self.sources[n].text.component();
                let message = "Error processing atom packet.";
                return self.error_text(n, at, component, code, message);
            }
            what => self.element_line(n, at, &what, cycles),
        }
        self.write(false);
    }

    fn packet(&mut self, n: usize, at: u64, bytes: &[u8], packet: AnyPacket<'_>) {
        self.unsynced_done(n);
        if !self.shown.packets {
            return;
        }
        self.packet_line(n, at, bytes);
        let source = &mut self.sources[n];
        source.text.packet(&source.config, packet, &mut self.line);
        self.packet_done(n, at);
    }

    fn bad(
        &mut self,
        n: usize,
        places: &Places<'_>,
        span: Range<usize>,
        bytes: &[u8],
        fault: Fault,
    ) {
        if !self.shown.packets {
            return;
        }
        if fault != Fault::Unsynchronised {
            self.unsynced_done(n);
            let at = places.at(span.start);
            return self.bad_line(n, at, bytes.get(span).unwrap_or_default(), fault);
        }
        for fragment in places.fragments(span) {
            let group = self.sources[n].text.unsynced_group();
            for k in fragment.clone() {
                let Some(&byte) = bytes.get(k) else { break };
                self.unsynced_before(n, byte, k == fragment.start);
                let source = &mut self.sources[n];
                let follows = source.follows.take().filter(|_| byte != 0);
                source.unsynced.get_or_insert_with(|| follows.unwrap_or(places.at(k)));
                source.waiting.push(byte);
                if group.is_full(source.waiting.len()) {
                    // The reference takes the next line's place before it sees the next fragment,
                    // and where a fragment ends it waits for that with this line, too.
                    source.follows = Some(places.at(k).wrapping_add(1));
                    if k + 1 < fragment.end {
                        self.unsynced_done(n);
                    }
                }
            }
            if group.ends_with_fragment() {
                self.unsynced_done(n);
            }
        }
    }

    fn held(&mut self, n: usize, bytes: &[u8]) {
        // The reference goes on to say what it has seen only while there are more bytes.
        let full = self.sources[n].text.unsynced_group().is_full(self.sources[n].waiting.len());
        if let Some(&byte) = bytes.first()
            && (full || bytes.len() > 1)
        {
            self.unsynced_before(n, byte, false);
        }
    }

    fn frame(&mut self, _frame: &Frame<'_>) {
        self.frames.frame(&mut self.line);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.frames.packed(at, bytes, &mut self.line);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.frames.fragment(id, at, bytes, &mut self.line);
    }

    fn link(&mut self, _at: u64, _event: Event) {}

    fn full(&self) -> bool {
        self.error.is_some()
    }
}
