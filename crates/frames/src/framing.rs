//! How a link wraps its bytes.

/// What is around the bytes of the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Framing {
    /// 16-byte frames, one after another from the first byte on, as a trace buffer in memory holds
    /// them.
    #[default]
    Coresight,
    /// Frames on a trace port, with full synchronisation packets between them.
    Tpiu,
    /// The same with half synchronisation packets between halfwords, too.
    TpiuHalf,
    /// [`Tpiu`](Framing::Tpiu) in the blocks of a DSTREAM: see [`dstream`].
    Dstream,
    /// No framing: the bytes of one source.
    Raw,
}

impl Framing {
    /// The name as a user spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Framing::Coresight => "coresight",
            Framing::Tpiu => "tpiu",
            Framing::TpiuHalf => "tpiu-half",
            Framing::Dstream => "dstream",
            Framing::Raw => "raw",
        }
    }

    /// Every framing.
    pub const ALL: [Framing; 5] =
        [Framing::Coresight, Framing::Tpiu, Framing::TpiuHalf, Framing::Dstream, Framing::Raw];
}

/// What places count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numbering {
    /// Bytes of the capture: a piece's place is where its first byte is.
    #[default]
    Capture,
    /// As the reference decoder counts: a fragment begins at the ID byte that began it, or at its
    /// frame's start, and its bytes count on from there; DSTREAM footers do not count.
    Reference,
}

/// How the bytes of a buffer are framed, and how to say where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// What is around the bytes of the sources.
    pub framing: Framing,
    /// What places count.
    pub numbering: Numbering,
    /// In memory-aligned frames, four full synchronisation packets in place of a frame are a
    /// barrier that a driver wrote between two stretches of trace. Otherwise they are bytes of a
    /// reserved id.
    pub barriers: bool,
}

impl Link {
    /// The usual: places in the capture, and barriers are barriers.
    pub const fn new(framing: Framing) -> Self {
        Link { framing, numbering: Numbering::Capture, barriers: true }
    }

    /// The same with places as the reference decoder counts.
    #[must_use]
    pub const fn reference(self) -> Self {
        Link { numbering: Numbering::Reference, ..self }
    }

    /// What to call the `offset`-th byte of the capture.
    #[inline]
    pub(crate) const fn index(&self, offset: u64) -> u64 {
        match (self.numbering, self.framing) {
            (Numbering::Reference, Framing::Dstream) => {
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
/// frame: its even bytes would name the id 0x7F, which is reserved for this.
pub mod sync {
    /// Full synchronisation: a frame begins after it.
    pub const FULL: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];
    /// Half synchronisation: nothing was to be sent.
    pub const HALF: [u8; 2] = [0xff, 0x7f];
    /// A driver's barrier: a whole frame of full synchronisation.
    pub const BARRIER: [u8; 16] = [
        0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff,
        0x7f,
    ];
}

/// The blocks of a DSTREAM capture. They count from place 0 of the buffer.
pub mod dstream {
    /// Bytes of a block, footer and all.
    pub const BLOCK: u64 = 512;
    /// Bytes of the footer that ends a block.
    pub const FOOTER: u64 = 8;
}
