//! Prefetch of the blocks at the addresses that follow in the trace.

use tracewright_base::{BlockCache, CodeSpace};

use super::lookup::{Sets, prefetch_block};
use crate::etmv4::history::History;
use crate::etmv4::packet::{Atoms, SubIsa};

/// Looks ahead for Address packets, for programs that are larger than the processor's caches. The
/// target of an atom depends on the block before it. The target of an Address packet does not, if
/// only Atom packets are before it.
///
/// It is two Address packets ahead: it prefetches the look-up of the farther one and the blocks of
/// the nearer one.
pub(super) struct Prefetcher {
    /// Index of the next byte to examine.
    at: usize,
    /// The address history at that byte.
    history: History,
    /// The address of the farther packet.
    far: Option<(u64, CodeSpace)>,
}

impl Prefetcher {
    pub(super) fn new() -> Self {
        Prefetcher { at: 0, history: History::default(), far: None }
    }

    /// The fast path took the Address packet that ends at `taken`.
    #[inline(never)]
    pub(super) fn arrived<K: BlockCache>(
        &mut self,
        bytes: &[u8],
        taken: usize,
        history: &History,
        sets: &Sets,
        code: &K,
    ) {
        if self.at <= taken {
            *self = Prefetcher { at: taken, history: *history, far: None };
            self.look_ahead(bytes, sets, code);
        }
        if let Some((address, code_space)) = self.far.take() {
            prefetch_block(code.blocks(), code.predict(address, code_space));
        }
        self.look_ahead(bytes, sets, code);
    }

    fn look_ahead<K: BlockCache>(&mut self, bytes: &[u8], sets: &Sets, code: &K) {
        let rest = bytes.get(self.at..).unwrap_or_default();
        let atoms = Atoms::run(rest);
        let rest = rest.get(atoms..).unwrap_or_default();
        self.at += atoms;
        let Some(&header) = rest.first() else { return };
        let (entry, len) = self.history.peek(header, rest);
        if len == 0 {
            return;
        }
        self.history.push(entry);
        self.at += len;
        let set = sets.get(entry.is() == SubIsa::Is1);
        let address = entry.address & set.mask;
        code.prefetch_lookup(address, set.code_space);
        self.far = Some((address, set.code_space));
    }
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use std::vec::Vec;

    use tracewright_base::{Block, BlockId, Code, Instruction, Isa, Miss, Pc};

    use super::super::lookup::Set;
    use super::*;
    use crate::etmv4::packet::TraceInfo;

    /// Records calls of `prefetch_lookup` (`l`) and `predict` (`p`).
    #[derive(Default)]
    struct Recorder(RefCell<Vec<(char, u64)>>);

    impl Code for Recorder {
        fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
            Err(Miss { address: pc.address })
        }

        fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
            Err(Miss { address: pc.address })
        }
    }

    impl BlockCache for Recorder {
        fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
            assert_eq!(code_space, CodeSpace(7));
            self.0.borrow_mut().push(('l', address));
        }

        fn predict(&self, address: u64, _: CodeSpace) -> BlockId {
            self.0.borrow_mut().push(('p', address));
            BlockId::NONE
        }
    }

    /// Takes `bytes` as the fast path does. Returns the calls at each Address packet.
    fn calls(bytes: &[u8]) -> Vec<Vec<(char, u64)>> {
        let mut history = History::default();
        history.trace_info(&TraceInfo::default());
        let set = Set { code_space: CodeSpace(7), mask: Isa::A64.address_mask() };
        let sets = Sets { is0: set, is1: set };
        let (mut prefetcher, code) = (Prefetcher::new(), Recorder::default());
        let (mut taken, mut all) = (0, Vec::new());
        while let Some(&header) = bytes.get(taken) {
            let rest = &bytes[taken..];
            taken += match history.peek(header, rest) {
                (entry, len) if len > 0 => {
                    history.push(entry);
                    taken += len;
                    prefetcher.arrived(bytes, taken, &history, &sets, &code);
                    all.push(code.0.take());
                    continue;
                }
                _ => 1,
            };
        }
        all
    }

    const E: u8 = 0xf7;

    /// An Address packet of the short form: halfwords of its low bits, below 0x80.
    const fn short(address: u8) -> [u8; 3] {
        [0x95, address >> 2, E]
    }

    #[test]
    fn look_ups_are_prefetched_two_packets_ahead_and_blocks_one() {
        let bytes = [short(0x10), short(0x20), short(0x30), short(0x40), short(0x50)].concat();
        let want = [
            &[('l', 0x20), ('p', 0x20), ('l', 0x30)][..],
            &[('p', 0x30), ('l', 0x40)],
            &[('p', 0x40), ('l', 0x50)],
            &[('p', 0x50)],
            &[],
        ];
        assert_eq!(calls(&bytes), want);
    }

    /// Any other packet may change the address history.
    #[test]
    fn other_packets_end_the_look_ahead() {
        let mut bytes = [short(0x10), short(0x20), short(0x30), short(0x40)].concat();
        // An event packet.
        bytes.insert(5, 0x71);
        let want = [&[('l', 0x20), ('p', 0x20)][..], &[], &[('l', 0x40), ('p', 0x40)], &[]];
        assert_eq!(calls(&bytes), want);
    }
}
