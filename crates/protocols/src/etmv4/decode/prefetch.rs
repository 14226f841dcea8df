//! Addresses that the trace will come to, known before it does.

use tracewright_base::{Code, CodeSpace};

use super::lookup::{Sets, prefetch_block};
use crate::etmv4::history::History;
use crate::etmv4::packet::{Atoms, SubIsa};

/// Looks ahead for Address packets, where memory answers too late for blocks to be asked for when they
/// are wanted. Where an atom leads depends on the block before it; where an Address packet leads does
/// not, if there is nothing but atoms on the way to it.
///
/// It is two packets ahead: of the farther one the place in the table of blocks is asked for, of the
/// nearer one its blocks.
pub(super) struct Prefetcher {
    /// Where to look on, in the bytes of the lane.
    at: usize,
    /// As it will be there.
    history: History,
    /// The farther packet.
    far: Option<(u64, CodeSpace)>,
}

impl Prefetcher {
    pub(super) fn new() -> Self {
        Prefetcher { at: 0, history: History::default(), far: None }
    }

    /// The lane took the Address packet that ends at `taken`.
    #[inline(never)]
    pub(super) fn arrived<K: Code>(
        &mut self,
        bytes: &[u8],
        taken: usize,
        history: &History,
        sets: &Sets,
        code: &K,
    ) {
        if self.at <= taken {
            *self = Prefetcher { at: taken, history: *history, far: None };
            self.look(bytes, sets, code);
        }
        if let Some((address, code_space)) = self.far.take() {
            prefetch_block(code.blocks(), code.predict(address, code_space));
        }
        self.look(bytes, sets, code);
    }

    fn look<K: Code>(&mut self, bytes: &[u8], sets: &Sets, code: &K) {
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

    use tracewright_base::{Block, BlockId, Instruction, Isa, Miss, Pc};

    use super::super::lookup::Set;
    use super::*;
    use crate::etmv4::packet::TraceInfo;

    /// Notes what it is asked.
    #[derive(Default)]
    struct Asked(RefCell<Vec<(char, u64)>>);

    impl Code for Asked {
        fn block(&mut self, pc: Pc) -> Result<&Block, Miss> {
            Err(Miss { address: pc.address })
        }

        fn instruction(&mut self, pc: Pc) -> Result<Instruction, Miss> {
            Err(Miss { address: pc.address })
        }

        fn prefetch_lookup(&self, address: u64, code_space: CodeSpace) {
            assert_eq!(code_space, CodeSpace(7));
            self.0.borrow_mut().push(('f', address));
        }

        fn predict(&self, address: u64, _: CodeSpace) -> BlockId {
            self.0.borrow_mut().push(('g', address));
            BlockId::NONE
        }
    }

    /// Goes through `bytes` as the lane does, and says what was asked at each Address packet.
    fn asked(bytes: &[u8]) -> Vec<Vec<(char, u64)>> {
        let mut history = History::default();
        history.trace_info(&TraceInfo::default());
        let set = Set { code_space: CodeSpace(7), mask: Isa::A64.address_mask() };
        let sets = Sets { is0: set, is1: set };
        let (mut prefetcher, code) = (Prefetcher::new(), Asked::default());
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
    fn each_address_is_foreseen_two_packets_and_asked_for_one_packet_before_it_comes() {
        let bytes = [short(0x10), short(0x20), short(0x30), short(0x40), short(0x50)].concat();
        let want = [
            &[('f', 0x20), ('g', 0x20), ('f', 0x30)][..],
            &[('g', 0x30), ('f', 0x40)],
            &[('g', 0x40), ('f', 0x50)],
            &[('g', 0x50)],
            &[],
        ];
        assert_eq!(asked(&bytes), want);
    }

    /// What else comes between may change anything: nothing is seen past it.
    #[test]
    fn other_packets_end_what_is_foreseen() {
        let mut bytes = [short(0x10), short(0x20), short(0x30), short(0x40)].concat();
        // An event packet.
        bytes.insert(5, 0x71);
        let want = [&[('f', 0x20), ('g', 0x20)][..], &[], &[('f', 0x40), ('g', 0x40)], &[]];
        assert_eq!(asked(&bytes), want);
    }
}
