//! The words for the packets of one source, whatever its protocol.

use tracewright_base::Fault;
use tracewright_protocols::registry::{AnyConfig, AnyPacket};

use super::etmv4::Etmv4Text;
use super::ptm::Ptm;

/// How bytes before a synchronisation are grouped in lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// By fragment.
    Fragment,
    /// Eight, or up to a zero.
    EightOrZero,
}

impl Group {
    /// Whether a line ends before `byte`, which `first` begins a fragment.
    pub(super) fn ends_before(self, byte: u8, first: bool) -> bool {
        match self {
            Group::Fragment => first,
            Group::EightOrZero => byte == 0,
        }
    }

    /// Whether a line ends with its `len`-th byte.
    pub(super) fn is_full(self, len: usize) -> bool {
        self == Group::EightOrZero && len == 8
    }
}

/// What the words for the next packet depend on.
#[derive(Clone, Debug)]
pub(super) enum SourceText {
    Etmv4(Etmv4Text),
    Ptm(Ptm),
}

impl SourceText {
    pub(super) fn new(config: &AnyConfig) -> Self {
        match config {
            AnyConfig::Etmv4(_) | AnyConfig::Ete(_) => SourceText::Etmv4(Etmv4Text::default()),
            AnyConfig::Ptm(_) => SourceText::Ptm(Ptm::default()),
        }
    }

    /// The reference's name for the decoder in its messages.
    pub(super) const fn component(&self) -> &'static str {
        match self {
            SourceText::Etmv4(_) => "DCD_ETMV4",
            SourceText::Ptm(_) => "DCD_PTM",
        }
    }

    pub(super) const fn unsynced_group(&self) -> Group {
        match self {
            SourceText::Etmv4(_) => Group::EightOrZero,
            SourceText::Ptm(_) => Group::Fragment,
        }
    }

    /// Appends the words for `packet`.
    pub(super) fn packet(&mut self, config: &AnyConfig, packet: AnyPacket<'_>, out: &mut String) {
        match (self, config, packet) {
            (
                SourceText::Etmv4(text),
                AnyConfig::Etmv4(config) | AnyConfig::Ete(config),
                AnyPacket::Etmv4(packet) | AnyPacket::Ete(packet),
            ) => text.packet(config, packet, out),
            (SourceText::Ptm(text), AnyConfig::Ptm(config), AnyPacket::Ptm(packet)) => {
                text.packet(config, packet, out);
            }
            _ => debug_assert!(false, "a source has one protocol"),
        }
    }

    /// Appends the words for `bytes` that are no packet.
    pub(super) fn bad(&mut self, config: &AnyConfig, bytes: &[u8], fault: Fault, out: &mut String) {
        match (self, config) {
            (SourceText::Etmv4(text), AnyConfig::Etmv4(config) | AnyConfig::Ete(config)) => {
                text.bad(config, bytes, fault, out);
            }
            (SourceText::Ptm(text), AnyConfig::Ptm(_)) => {
                text.bad(bytes.first().copied().unwrap_or(0), fault, out);
            }
            _ => debug_assert!(false, "a source has one protocol"),
        }
    }
}
