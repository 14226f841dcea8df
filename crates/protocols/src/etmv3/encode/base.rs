//! The previous values of the trace, against which addresses and timestamps are compressed.

use tracewright_base::Isa;

use crate::etmv3::Config;
use crate::etmv3::packet::{Branch, DataAddress, Info, InfoBytes, State};

/// The last addresses and the last timestamp that were in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Base {
    /// The last address that was broadcast.
    pub(super) address: u32,
    /// The instruction set with it.
    pub(super) isa: Isa,
    pub(super) non_secure: bool,
    pub(super) hyp: bool,
    /// The last data address; `None`: the next one is sent whole.
    data: Option<u32>,
    big_endian: bool,
    /// The last timestamp, in the encoding of the trace unit; `None`: the next one is sent whole.
    time: Option<u64>,
}

/// Address bits that 1 to 4 bytes hold, in the original and in the alternative encoding. The last
/// byte of an alternative address has six bits. (Tables 7-5, 7-6)
const ORIGINAL: [u8; 4] = [6, 13, 20, 27];
const ALTERNATIVE: [u8; 4] = [6, 12, 19, 26];

impl Base {
    /// The shortest branch packet to `target`, with `info` where given.
    pub(super) fn branch(
        &mut self,
        target: u32,
        isa: Isa,
        info: Option<InfoBytes>,
        config: &Config,
    ) -> Branch {
        let shift = isa.alignment().trailing_zeros();
        let changed = (target ^ self.address) >> shift;
        let bits = target >> shift;
        let alternative = config.id.alternative_branches();
        let widths = if alternative { ALTERNATIVE } else { ORIGINAL };
        // Only the alternative encoding allows an information byte after a short address, and not
        // after an address of one byte.
        let skip = usize::from(info.is_some());
        let short = widths.into_iter().skip(skip).find(|&width| changed >> width == 0);
        let short = short.filter(|_| isa == self.isa && (info.is_none() || alternative));
        let info = info.or_else(|| {
            // Entering or leaving ThumbEE state takes an information byte.
            let ee = (isa == Isa::ThumbEe) != (self.isa == Isa::ThumbEe);
            ee.then_some(InfoBytes {
                non_secure: self.non_secure,
                hyp: self.hyp,
                ..InfoBytes::default()
            })
        });
        let info = info.map(|info| InfoBytes { alternative: isa == Isa::ThumbEe, ..info });
        if let Some(info) = info {
            (self.non_secure, self.hyp) = (info.non_secure, info.hyp);
        }
        (self.address, self.isa) = (target, isa);
        let info = info.map(Info::Bytes);
        match short {
            Some(count) => Branch { bits: bits & ((1 << count) - 1), count, state: None, info },
            None => {
                let (state, count) = match isa {
                    Isa::T32 | Isa::ThumbEe => (State::T32, 31),
                    Isa::Jazelle => (State::Jazelle, 32),
                    _ => (State::A32, 30),
                };
                Branch { bits, count, state: Some(state), info }
            }
        }
    }

    /// The shortest data address: the low bits, or the whole address where the byte order changes.
    pub(super) fn data(&mut self, address: u32, big_endian: bool) -> DataAddress {
        let before = self.data.filter(|_| big_endian == self.big_endian);
        (self.data, self.big_endian) = (Some(address), big_endian);
        let short = before.and_then(|before| {
            let changed = address ^ before;
            [7, 14, 21, 28].into_iter().find(|&width| changed >> width == 0)
        });
        match short {
            Some(count) => {
                DataAddress { bits: address & ((1 << count) - 1), count, big_endian: None }
            }
            None => DataAddress { bits: address, count: 32, big_endian: Some(big_endian) },
        }
    }

    /// Makes the next data address and the next timestamp whole.
    pub(super) const fn forget(&mut self) {
        self.data = None;
        self.time = None;
    }

    /// Makes the next data address whole.
    pub(super) const fn forget_data(&mut self) {
        self.data = None;
    }

    /// The low bits of a timestamp that changed, and their number.
    pub(super) fn time(&mut self, value: u64, config: &Config) -> (u64, u8) {
        let width = config.timestamp_width();
        let code = if config.extension.timestamp_natural() { value } else { value ^ value >> 1 };
        let code = code & u64::MAX >> (64 - width);
        let before = self.time.replace(code);
        // The byte from this bit on has no continuation bit and holds the remaining bits.
        let last: u8 = if width == 48 { 42 } else { 56 };
        let short = before.and_then(|before| {
            let changed = code ^ before;
            (7..=last).step_by(7).find(|&count| changed >> count == 0)
        });
        match short {
            Some(count) => (code & ((1 << count) - 1), count),
            None => (code, width),
        }
    }
}
