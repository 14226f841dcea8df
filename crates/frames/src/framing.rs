//! Framings of a trace link.

/// The framing of the bytes of the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// 16-byte frames from the first byte on, as in a trace buffer in memory.
    #[default]
    Coresight,
    /// Frames on a trace port, with full synchronisation packets between them.
    Tpiu,
    /// [`Tpiu`](Framing::Tpiu) with half synchronisation packets between halfwords, too.
    TpiuHalf,
    /// Frames on a trace port from the first byte on, with half synchronisation packets between
    /// halfwords: full ones are not needed.
    TpiuHalfOnly,
    /// [`Tpiu`](Framing::Tpiu) in the blocks of a DSTREAM: see [`dstream`].
    Dstream,
    /// No framing: the bytes of one source.
    Raw,
}

impl Framing {
    /// The name. (The command line has `hsync` in place of `half`: see
    /// [`option`](Framing::option).)
    pub const fn name(self) -> &'static str {
        match self {
            Framing::Coresight => "coresight",
            Framing::Tpiu => "tpiu",
            Framing::TpiuHalf => "tpiu-half",
            Framing::TpiuHalfOnly => "tpiu-half-only",
            Framing::Dstream => "dstream",
            Framing::Raw => "raw",
        }
    }

    /// The word for it in a description of raw trace data.
    pub const fn option(self) -> &'static str {
        match self {
            Framing::TpiuHalf => "tpiu-hsync",
            Framing::TpiuHalfOnly => "tpiu-hsync-only",
            framing => framing.name(),
        }
    }

    /// Whether a frame begins at the first byte. Otherwise, frames begin after the first full
    /// synchronisation packet, or there are none.
    pub const fn begins_in_frame(self) -> bool {
        matches!(self, Framing::Coresight | Framing::TpiuHalfOnly)
    }

    /// Every framing.
    pub const ALL: [Framing; 6] = [
        Framing::Coresight,
        Framing::Tpiu,
        Framing::TpiuHalf,
        Framing::Dstream,
        Framing::Raw,
        Framing::TpiuHalfOnly,
    ];
}

/// How offsets are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numbering {
    /// Bytes of the buffer: the offset of a piece is that of its first byte.
    #[default]
    Capture,
    /// As OpenCSD counts: a fragment has the offset of its ID byte, or of the start of its frame,
    /// and its bytes count from there; DSTREAM footers are not counted.
    Opencsd,
}

/// The framing of a buffer, and how its offsets are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The framing of the bytes of the sources.
    pub framing: Framing,
    /// How offsets are counted.
    pub numbering: Numbering,
    /// Whether four full synchronisation packets in place of a memory-aligned frame are a barrier
    /// that the operating system's trace driver (Linux `coresight`) writes between two separate
    /// traces. Otherwise they are bytes of a reserved ID.
    pub barriers: bool,
}

impl Link {
    /// A link with offsets in the buffer, and with barriers.
    pub const fn new(framing: Framing) -> Self {
        Link { framing, numbering: Numbering::Capture, barriers: true }
    }

    /// The same link with offsets as OpenCSD counts them.
    #[must_use]
    pub const fn opencsd(self) -> Self {
        Link { numbering: Numbering::Opencsd, ..self }
    }

    /// The numbering's offset of the byte at `offset` in the buffer.
    #[inline]
    pub(crate) const fn index(&self, offset: u64) -> u64 {
        match (self.numbering, self.framing) {
            (Numbering::Opencsd, Framing::Dstream) => {
                offset - dstream::FOOTER * (offset / dstream::BLOCK)
            }
            _ => offset,
        }
    }
}

impl Default for Link {
    fn default() -> Self {
        Link::new(Framing::default())
    }
}

/// Synchronisation packets of a trace port, in the order of the bytes. Neither can occur in a
/// frame: an even byte would have the ID 0x7f, which is reserved for synchronisation.
pub mod sync {
    /// Full synchronisation: a frame begins after it.
    pub const FULL: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];
    /// Half synchronisation: sent where there is no data.
    pub const HALF: [u8; 2] = [0xff, 0x7f];
    /// A driver's barrier: a whole frame of full synchronisation packets.
    pub const BARRIER: [u8; 16] = [
        0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff,
        0x7f,
    ];
}

/// The blocks of a DSTREAM capture, from offset 0 of the buffer on.
pub mod dstream {
    /// Bytes of a block, including the footer.
    pub const BLOCK: u64 = 512;
    /// Bytes of the footer that ends a block.
    pub const FOOTER: u64 = 8;
}
