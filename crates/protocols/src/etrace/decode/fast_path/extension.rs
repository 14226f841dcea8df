//! Packets of format 0 on the fast path: counts of predicted branches, and indexes of the jump
//! target cache.

use tracewright_base::{CachedBlock, Parse, Wire};

use super::super::goal::BLOCK;
use crate::bits::sign_extend;
use crate::etrace::config::Params;
use crate::etrace::packet::{BranchCount, Map, Packet, Payload, Report, Shape};
use crate::riscv::MAX_BLOCKS;

/// A packet of format 0 whose fields after the address are omitted.
pub(super) enum Extension {
    /// A count of predicted branches.
    Count {
        count: BranchCount,
        /// The sign-extended address or difference, without the bits below `iaddress_lsb`.
        address: Option<i64>,
    },
    /// The index of a jump target, and the branches before the jump.
    Cached { map: Map, index: u16 },
}

/// The most that a branch and the blocks before it cost in a counted loop.
const LONGEST_TURN: u64 = MAX_BLOCKS as u64 * (CachedBlock::MAX_INSTRUCTIONS as u64 + BLOCK);

impl Extension {
    /// Reads the packet at the start of `bytes`, and its length. `None` also where the turns of a
    /// counted loop may exceed `limit`: the walk recognises such loops.
    pub(super) fn read(
        bytes: &[u8],
        limit: u64,
        shape: &Shape,
        params: &Params,
    ) -> Option<(Extension, usize)> {
        if !shape.may_be_extension(bytes) {
            return None;
        }
        let Parse::Packet(Packet { envelope, payload }, len) = Packet::parse(bytes, params) else {
            return None;
        };
        let extension = match payload {
            Payload::BranchCount(count) => {
                let report = count.report.unwrap_or_default();
                let usual = report == Report { address: report.address, ..Report::default() };
                let branches = u64::from(count.count) + u64::from(Map::FULL) + 1;
                if !params.options.branch_prediction
                    || count.count > params.choices.longest_count
                    || branches * LONGEST_TURN > limit
                    || !usual
                {
                    return None;
                }
                let width = params.widths.address();
                let address = |report: Report| sign_extend(report.address, width) as i64;
                Extension::Count { count, address: count.report.map(address) }
            }
            Payload::JumpTarget(target) if target.irreport.is_none() => {
                Extension::Cached { map: target.map.unwrap_or_default(), index: target.index }
            }
            _ => return None,
        };
        envelope.timestamp.is_none().then_some((extension, len))
    }
}
