//! Raw frames: the lines of `trc_pkt_lister -o_raw_packed` and `-o_raw_unpacked`.

use tracewright_frames::{Event, Framing, dstream, sync};
use tracewright_views::digits;

/// Writes the lines of frames. Each call of a [`Splitter`](tracewright_frames::Splitter) to its
/// [`Split`](tracewright_frames::Split) must be passed on before the bytes are decoded. The
/// splitter must number offsets as OpenCSD does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFrames {
    packed: bool,
    unpacked: bool,
    /// The size of the blocks that OpenCSD reads; a packed line ends at the end of a block.
    block: u64,
    /// The number of bytes in the incomplete packed line, where there is one.
    open: Option<usize>,
    /// The last DSTREAM footer.
    footer: Option<[u8; dstream::FOOTER as usize]>,
}

impl RawFrames {
    /// Lists frames as they are (`packed`), the data of each ID in them (`unpacked`), or both.
    pub fn new(framing: Framing, packed: bool, unpacked: bool) -> Self {
        let block = match framing {
            Framing::Dstream => dstream::BLOCK - dstream::FOOTER,
            _ => 1024,
        };
        RawFrames { packed, unpacked, block, open: None, footer: None }
    }

    /// A copy without an incomplete line.
    pub(super) fn fork(&self) -> Self {
        RawFrames { open: None, ..self.clone() }
    }

    /// Takes bytes of frames and of synchronisation packets.
    pub fn packed(&mut self, at: u64, bytes: &[u8], out: &mut String) {
        if !self.packed {
            return;
        }
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let phase = at % self.block;
            if phase == 0 {
                self.close(out);
            }
            let len = bytes.len().min((self.block - phase) as usize);
            let (part, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            let open = self.open.unwrap_or_else(|| {
                head(at, "   RAW_PACKED; ", out);
                0
            });
            self.open = Some(self::bytes(part, open, out));
            (at, bytes) = (at.wrapping_add(len as u64), rest);
        }
    }

    /// Whether a packed line is not complete.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// A frame is complete.
    pub fn frame(&mut self, out: &mut String) {
        self.close(out);
    }

    /// Takes the data of one ID in a frame.
    pub fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8], out: &mut String) {
        if !self.unpacked {
            return;
        }
        head(at, "  ID_DATA[", out);
        match id {
            Some(id) => {
                out.push_str("0x");
                digits::hex_padded(id.into(), 2, out);
            }
            None => out.push_str("????"),
        }
        out.push_str("]; ");
        let len = self::bytes(bytes, 0, out);
        end(len, out);
    }

    /// Takes an event of the formatter.
    pub fn event(&mut self, at: u64, event: Event, out: &mut String) {
        match event {
            Event::Barrier if self.packed || self.unpacked => {
                self.close(out);
                head(at, "        FSYNC; ", out);
                let len = bytes(&sync::BARRIER, 0, out);
                end(len, out);
            }
            Event::Footer(footer) if self.packed => {
                self.close(out);
                self.footer = Some(footer);
                footer_line(footer, out);
            }
            _ => {}
        }
    }

    /// The capture ends: ends an incomplete line.
    pub fn finish(&mut self, out: &mut String) {
        self.close(out);
    }

    /// The data of a source end. OpenCSD reads a footer after the last one and lists what its
    /// buffer has from the block before.
    pub(super) fn end(&mut self, out: &mut String) {
        self.close(out);
        if let Some(footer) = self.footer.take() {
            footer_line(footer, out);
        }
    }

    fn close(&mut self, out: &mut String) {
        if let Some(len) = self.open.take() {
            end(len, out);
        }
    }
}

fn footer_line(footer: [u8; dstream::FOOTER as usize], out: &mut String) {
    out.push_str("DSTREAM footer [");
    for byte in footer {
        out.push_str("0x");
        digits::hex(byte.into(), out);
        out.push(' ');
    }
    out.push_str("]\n");
}

fn head(at: u64, what: &str, out: &mut String) {
    out.push_str("Frame Data; Index");
    let digits = at.checked_ilog10().unwrap_or(0) as usize + 1;
    for _ in digits..7 {
        out.push(' ');
    }
    digits::decimal(at, out);
    out.push_str("; ");
    out.push_str(what);
}

/// Appends bytes, 16 to a line, to a line with `before` bytes. Returns the new count.
fn bytes(bytes: &[u8], before: usize, out: &mut String) -> usize {
    let mut count = before;
    for &byte in bytes {
        digits::hex_padded(byte.into(), 2, out);
        out.push(' ');
        count += 1;
        if count.is_multiple_of(16) {
            out.push('\n');
        }
    }
    count
}

fn end(len: usize, out: &mut String) {
    if !len.is_multiple_of(16) {
        out.push('\n');
    }
}
