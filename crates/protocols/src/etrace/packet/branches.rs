//! Formats 0, 1 and 2: branches, and the address of an instruction.

use super::fields::{Fields, low};
use crate::bits::sign_extend;
use crate::etrace::config::{Compression, Params};

/// Outcomes of branches, the oldest in bit 0; 1 is *not* taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Map {
    /// The outcomes.
    pub bits: u32,
    /// The number of outcomes, at most 31; 0 for none.
    pub len: u8,
}

impl Map {
    /// The number of outcomes in a full map.
    pub const FULL: u8 = 31;

    /// Width of the field for `len` branches; 0 is a full map. (Tables "Packet format 1"; 0.026,
    /// Table 6.1)
    #[inline(always)]
    pub const fn width(len: u8, params: &Params) -> u32 {
        if params.is_draft() {
            match len {
                1 => 1,
                2..=9 => 9,
                10..=17 => 17,
                18..=25 => 25,
                _ => 31,
            }
        } else {
            Map::later_width(len)
        }
    }

    /// The width from 1.0 on: 1, 3, 7, 15 or 31.
    #[inline(always)]
    pub(super) const fn later_width(len: u8) -> u32 {
        match len {
            1..=15 => (2 << len.ilog2()) - 1,
            _ => 31,
        }
    }

    /// `branch-map` for a `branches` field of `len`.
    #[inline(always)]
    fn fields<F: Fields>(self, f: &mut F, len: u8, params: &Params) -> Map {
        let bits = f.uint("branch_map", self.bits.into(), Map::width(len, params));
        let len = if len == 0 { Map::FULL } else { len };
        Map { bits: low(bits, len.into()) as u32, len }
    }
}

/// The reported address of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Report {
    /// The address, or its difference to the one before, without the bits below `iaddress_lsb`.
    pub address: u64,
    /// `notify`: a trigger or comparator asked for the report.
    pub notify: bool,
    /// `updiscon`: the instruction is the target of an uninferable discontinuity, and a packet of
    /// format 3 follows.
    pub updiscon: bool,
    /// With `irreport`: the depth of the return stack, or the number of implicit returns.
    pub irreport: Option<u16>,
}

impl Report {
    /// `address`, `notify`, `updiscon`, `irreport` and `irdepth` or `irets`; 0.026: `address`
    /// alone.
    #[inline(always)]
    pub(super) fn fields<F: Fields>(self, f: &mut F, params: &Params) -> Report {
        let width = params.widths.address();
        if params.is_draft() {
            let address = f.uint("address", self.address, width);
            return Report { address, ..Report::default() };
        }
        let address = if params.choices.compression == Compression::Address {
            let depth = if params.choices.no_irreport { 0 } else { 1 + params.irdepth_width() };
            f.cut("address", self.address, width, 2 + depth)
        } else {
            f.uint("address", self.address, width)
        };
        let notify = if params.choices.plain_notify {
            f.flag("notify", self.notify)
        } else {
            f.change("notify", self.notify)
        };
        let updiscon = f.change("updiscon", self.updiscon);
        let irreport =
            if params.choices.no_irreport { None } else { depth(self.irreport, f, params) };
        Report { address, notify, updiscon, irreport }
    }

    /// The address as a signed difference, in bytes.
    #[inline(always)]
    pub const fn difference(&self, params: &Params) -> u64 {
        sign_extend(self.address, params.widths.address()) << params.widths.iaddress_lsb
    }
}

/// `irreport` and `irdepth`.
#[inline(always)]
fn depth<F: Fields>(irreport: Option<u16>, f: &mut F, params: &Params) -> Option<u16> {
    let width = params.irdepth_width();
    let given = f.change("irreport", irreport.is_some());
    // Without `irreport` the bits repeat the bit before.
    let idle = if params.choices.irdepth_ones || f.before() { u64::MAX } else { 0 };
    let value = f.uint("irdepth", irreport.map_or(idle, u64::from), width);
    given.then_some(low(value, width) as u16)
}

/// Format 1: branches, and an address unless the map is full. 0.026: formats 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Branches {
    /// 0.026, format 0: the address is not a difference.
    pub full: bool,
    /// The branches, the oldest first. Without an address there are 31.
    pub map: Map,
    /// The address.
    pub report: Option<Report>,
}

impl Branches {
    #[inline(always)]
    pub(super) fn fields<F: Fields>(self, f: &mut F, params: &Params) -> Branches {
        let count = if self.report.is_some() { self.map.len } else { 0 };
        let count = f.byte("branches", count, 5);
        let map = self.map.fields(f, count, params);
        let report = (count != 0).then(|| self.report.unwrap_or_default().fields(f, params));
        Branches { full: self.full, map, report }
    }
}

/// Format 0, sub-format 0: the number of correctly predicted branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BranchCount {
    /// Correct predictions minus 31.
    pub count: u32,
    /// The address, if the packet has one.
    pub report: Option<Report>,
    /// The branch at the address was mispredicted. Without an address: the next branch was.
    pub failed: bool,
}

impl BranchCount {
    /// `None` for a reserved `branch_fmt`.
    pub(super) fn fields<F: Fields>(self, f: &mut F, params: &Params) -> Option<BranchCount> {
        let count = f.uint("branch_count", self.count.into(), 32) as u32;
        let format = match (self.report.is_some(), self.failed) {
            (false, _) => 0b00,
            (true, false) => 0b10,
            (true, true) => 0b11,
        };
        let format = f.byte("branch_fmt", format, 2);
        if format == 0b01 {
            return None;
        }
        let report = (format != 0).then(|| self.report.unwrap_or_default().fields(f, params));
        Some(BranchCount { count, report, failed: format != 0b10 })
    }
}

/// Format 0, sub-format 1: the index of the address in the jump target cache, and branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct JumpTarget {
    /// The index in the cache.
    pub index: u16,
    /// The branches, if the packet has any.
    pub map: Option<Map>,
    /// As in a [`Report`].
    pub irreport: Option<u16>,
}

impl JumpTarget {
    pub(super) fn fields<F: Fields>(self, f: &mut F, params: &Params) -> JumpTarget {
        let index = f.uint("index", self.index.into(), params.widths.cache_size.into()) as u16;
        let count = f.byte("branches", self.map.map_or(0, |map| map.len), 5);
        let map = (count != 0).then(|| self.map.unwrap_or_default().fields(f, count, params));
        let irreport =
            if params.choices.no_irreport { None } else { depth(self.irreport, f, params) };
        JumpTarget { index, map, irreport }
    }
}
