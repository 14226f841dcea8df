//! What the trace has said, against which addresses and times are compressed.

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
    /// The last data address, where there is one to compress against.
    data: Option<u32>,
    big_endian: bool,
    /// The last timestamp, in the code of the trace unit.
    time: Option<u64>,
}

/// Address bits that 1 to 4 bytes hold, in the original and in the alternative encoding. The last
/// byte of an alternative address has six bits. (Tables 7-5, 7-6)
const ORIGINAL: [u8; 4] = [6, 13, 20, 27];
const ALTERNATIVE: [u8; 4] = [6, 12, 19, 26];

impl Base {
    /// The branch packet of a branch to `target`, with `info` where it must have one.
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
        // Only the alternative encoding has room for an information byte in a short address, and not
        // in one of one byte.
        let skip = usize::from(info.is_some());
        let short = widths.into_iter().skip(skip).find(|&width| changed >> width == 0);
        let short = short.filter(|_| isa == self.isa && (info.is_none() || alternative));
        let info = info.or_else(|| {
            // To enter ThumbEE state or to leave it takes an information byte.
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

    /// The next data address: low bits, or all of them where the byte order is news.
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

    /// The next data address and the next timestamp are whole.
    pub(super) const fn forget(&mut self) {
        self.data = None;
        self.time = None;
    }

    /// The next data address is whole.
    pub(super) const fn forget_data(&mut self) {
        self.data = None;
    }

    /// The low bits of a timestamp that changed, and how many they are.
    pub(super) fn time(&mut self, value: u64, config: &Config) -> (u64, u8) {
        let width = config.timestamp_width();
        let code = if config.extension.timestamp_natural() { value } else { value ^ value >> 1 };
        let code = code & u64::MAX >> (64 - width);
        let before = self.time.replace(code);
        // The byte from here on has no continuation bit, and takes all the rest.
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
