//! A stack that the server invents, so that gdb finds the callers that the trace has.
//!
//! gdb unwinds with the tables of the program: they name the register from which the frame of a
//! function is computed, and where in it the return address is. Here the same tables are read in
//! the opposite direction: from a fixed address at the outermost frame down to the stack pointer of
//! the innermost one, and then each return address is put where gdb looks for it. Nothing else of
//! the stack is known.

use std::collections::BTreeMap;

use tracewright::symbols::{FrameRules, SavedIn};
use tracewright_replay::Frame;

use crate::target::Architecture;

/// Bytes of a frame whose size is not known.
const UNKNOWN_FRAME: u64 = 64;

/// What the invented stack states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Synthetic {
    /// Registers, by their numbers in DWARF.
    pub(crate) registers: BTreeMap<u16, u64>,
    /// Values in memory, of the size of an address.
    pub(crate) slots: BTreeMap<u64, u64>,
    /// The frames that gdb finds, the innermost included.
    pub(crate) frames: usize,
}

/// Where the value that a register has in a frame is found from the innermost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Register,
    Slot(u64),
    Lost,
}

/// A frame, its rules, and the values of its stack pointer on entry and at its instruction.
struct Laid {
    rules: Option<FrameRules>,
    /// The canonical frame address.
    frame: u64,
    /// The register, beside the stack pointer, from which the frame is computed, and its value.
    base: Option<(u16, u64)>,
}

/// Lays out the frames from the outermost one on, which begins at `top`.
fn lay_out(
    frames: &[Frame],
    top: u64,
    architecture: Architecture,
    rules: &mut dyn FnMut(u64) -> Option<FrameRules>,
) -> (Vec<Laid>, u64) {
    let mut stack = top;
    let mut all = Vec::new();
    for (n, frame) in frames.iter().enumerate().rev() {
        // What an exception interrupts stands at its instruction; others, after the call.
        let above = n.checked_sub(1).and_then(|n| frames.get(n));
        let called = above.is_some_and(|above| !above.interrupts);
        let own = frame.address.map(|address| address.wrapping_sub(called.into()));
        let rules = own.and_then(&mut *rules);
        if frame.interrupts && architecture == Architecture::MProfile {
            stack = stack.wrapping_sub(EXCEPTION_FRAME);
        }
        let (address, mut base) = (stack, None);
        stack = match rules.as_ref().and_then(|rules| rules.frame) {
            Some((register, offset)) if register == architecture.sp() => {
                address.wrapping_add_signed(offset.wrapping_neg())
            }
            Some((register, offset)) => {
                let value = address.wrapping_add_signed(offset.wrapping_neg());
                base = Some((register, value));
                let saved = rules.iter().flat_map(|rules| &rules.saved);
                let slots = saved.filter_map(|(_, saved)| match saved {
                    SavedIn::Memory(offset) => Some(address.wrapping_add_signed(*offset)),
                    _ => None,
                });
                let lowest = slots.chain([value]).filter(|slot| *slot <= address).min();
                lowest.unwrap_or(address) / architecture.stack_alignment()
                    * architecture.stack_alignment()
            }
            None => address.wrapping_sub(UNKNOWN_FRAME),
        };
        all.push(Laid { rules, frame: address, base });
    }
    all.reverse();
    (all, stack)
}

/// Bytes that a processor of the M profile puts on the stack for an exception, and the offsets of
/// what is known of them. (Armv7-M ARM, B1.5.6)
const EXCEPTION_FRAME: u64 = 32;
const STACKED_LR: u64 = 0x14;
const STACKED_PC: u64 = 0x18;
const STACKED_XPSR: u64 = 0x1c;

/// EXC_RETURN: to Thread mode or a handler, with the main stack. (Armv7-M ARM, B1.5.8)
const EXC_RETURN: u64 = 0xffff_fff9;

/// EPSR.T: the only flag of the stacked status that is known.
const THUMB: u64 = 1 << 24;

impl Synthetic {
    /// The stack of `frames`, the innermost first. `rules`: the unwind tables.
    pub(crate) fn new(
        frames: &[Frame],
        top: u64,
        architecture: Architecture,
        rules: &mut dyn FnMut(u64) -> Option<FrameRules>,
    ) -> Synthetic {
        let (laid, stack) = lay_out(frames, top, architecture, rules);
        let mut made = Synthetic::default();
        made.registers.insert(architecture.sp(), stack);
        if frames.is_empty() && architecture != Architecture::A64 {
            made.registers.insert(architecture.link(), top);
            made.frame_pointer(architecture);
        }
        let mut places: BTreeMap<u16, Place> = BTreeMap::new();
        for (n, (frame, own)) in frames.iter().zip(&laid).enumerate() {
            made.frames = n + 1;
            if let Some((register, value)) = own.base {
                let place = places.get(&register).copied().unwrap_or(Place::Register);
                if !made.put(register, place, value) {
                    // gdb finds no frame address here, and none further out.
                    return made;
                }
            }
            if n == 0 && own.rules.is_none() {
                made.link(frame, frames.get(1), top, architecture);
                return made;
            }
            // What is further out is not known where trace was lost since the function began.
            let Some(outer) = frames.get(n + 1) else { return made };
            let (Some(rules), Some(address), false) = (&own.rules, outer.address, frame.uncertain)
            else {
                return made;
            };
            let link = rules.return_register;
            let place = match rules.saved(link) {
                Some(SavedIn::Memory(offset)) => Place::Slot(own.frame.wrapping_add_signed(offset)),
                Some(SavedIn::Lost) => Place::Lost,
                Some(SavedIn::Same) | None => places.get(&link).copied().unwrap_or(Place::Register),
            };
            let value = match (frame.interrupts, architecture) {
                (false, Architecture::MProfile) => address | 1,
                (false, _) => address,
                (true, Architecture::MProfile) => {
                    let stacked = own.frame;
                    made.slots.insert(stacked.wrapping_add(STACKED_PC), address);
                    made.slots.insert(stacked.wrapping_add(STACKED_XPSR), THUMB);
                    EXC_RETURN
                }
                // No rule of the tables leads over an exception.
                (true, _) => return made,
            };
            if !made.put(link, place, value) {
                return made;
            }
            for (register, saved) in &rules.saved {
                let place = match saved {
                    SavedIn::Memory(offset) => Place::Slot(own.frame.wrapping_add_signed(*offset)),
                    SavedIn::Lost => Place::Lost,
                    SavedIn::Same => continue,
                };
                places.insert(*register, place);
            }
            // The call has written the link register of the outer function; an exception has put it
            // on the stack.
            let linked = match frame.interrupts {
                true => Place::Slot(own.frame.wrapping_add(STACKED_LR)),
                false => Place::Lost,
            };
            places.insert(link, linked);
        }
        made
    }

    /// Without rules gdb looks at the code of the innermost function. Where that has stored no link
    /// register, the caller is there; elsewhere gdb finds memory that is not known. Of a caller
    /// that is not known, gdb has to be given an address on Arm and RISC-V, or each step is an
    /// error: that of the top of the stack, where no program is.
    fn link(&mut self, frame: &Frame, outer: Option<&Frame>, top: u64, architecture: Architecture) {
        let outer = outer.filter(|_| !frame.uncertain && !frame.interrupts);
        let t = u64::from(architecture == Architecture::MProfile);
        let value = match outer.and_then(|outer| outer.address) {
            Some(address) => {
                self.frames = 2;
                address | t
            }
            None if architecture == Architecture::A64 => return,
            None => top,
        };
        self.registers.insert(architecture.link(), value);
        self.frame_pointer(architecture);
    }

    /// Of A32 code without symbols gdb reads the frame pointer, and the memory there, which is not
    /// known.
    fn frame_pointer(&mut self, architecture: Architecture) {
        const R11: u16 = 11;
        if let (Architecture::A32, Some(&sp)) =
            (architecture, self.registers.get(&architecture.sp()))
        {
            self.registers.insert(R11, sp);
        }
    }

    /// Puts a value where gdb looks for it. `false` where there is no such place, or another value
    /// is there.
    fn put(&mut self, register: u16, place: Place, value: u64) -> bool {
        let old = match place {
            Place::Register => self.registers.insert(register, value),
            Place::Slot(address) => self.slots.insert(address, value),
            Place::Lost => return false,
        };
        match (old, place) {
            (None, _) => true,
            (Some(old), _) if old == value => true,
            (Some(old), Place::Slot(address)) => {
                self.slots.insert(address, old);
                false
            }
            (Some(old), _) => {
                self.registers.insert(register, old);
                false
            }
        }
    }

    /// Reads the memory of the stack: the bytes from `address` on that are known.
    pub(crate) fn read(&self, address: u64, size: usize, out: &mut Vec<u8>, most: usize) {
        while out.len() < most {
            let at = address.wrapping_add(out.len() as u64);
            let Some((start, value)) = self.slots.range(..=at).next_back() else { return };
            let offset = at - start;
            let bytes = value.to_le_bytes();
            let known = bytes.get(offset.try_into().unwrap_or(usize::MAX)..size);
            let Some(known) = known.filter(|known| !known.is_empty()) else { return };
            let room = most - out.len();
            out.extend(known.iter().take(room));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright::analysis::stacks::{Entry, FunctionId};

    const TOP: u64 = 0x7000_0000;

    fn frame(address: u64, ret: Option<u64>) -> Frame {
        Frame {
            function: FunctionId::Unknown,
            address: Some(address),
            ret,
            entry: Entry::Call,
            thread: 0,
            depth: 0,
            began: 0,
            interrupts: false,
            uncertain: false,
        }
    }

    /// Unwinds as gdb does: with the rules, registers and memory only.
    fn unwound(
        made: &Synthetic,
        pc: u64,
        architecture: Architecture,
        rules: &mut dyn FnMut(u64) -> Option<FrameRules>,
    ) -> Vec<u64> {
        let mut registers = made.registers.clone();
        let (mut pc, mut all) = (pc, vec![pc]);
        while all.len() < 100 {
            let at = pc - u64::from(all.len() > 1);
            let Some(own) = rules(at) else { break };
            let Some((base, offset)) = own.frame else { break };
            let Some(value) = registers.get(&base) else { break };
            let frame = value.wrapping_add_signed(offset);
            let mut outer = registers.clone();
            outer.remove(&own.return_register);
            let mut ret = registers.get(&own.return_register).copied();
            for (register, saved) in &own.saved {
                let SavedIn::Memory(offset) = saved else { continue };
                let value = made.slots.get(&frame.wrapping_add_signed(*offset)).copied();
                match value {
                    Some(value) => outer.insert(*register, value),
                    None => outer.remove(register),
                };
                if *register == own.return_register {
                    ret = value;
                    outer.remove(register);
                }
            }
            outer.insert(architecture.sp(), frame);
            let Some(ret) = ret else { break };
            (pc, registers) = (ret, outer);
            all.push(pc);
        }
        all
    }

    fn rules(frame: (u16, i64), saved: &[(u16, i64)]) -> Option<FrameRules> {
        let saved = saved.iter().map(|(register, offset)| (*register, SavedIn::Memory(*offset)));
        Some(FrameRules { frame: Some(frame), return_register: 30, saved: saved.collect() })
    }

    /// A leaf without a frame, frames by the stack pointer, and frames by the frame pointer.
    #[test]
    fn what_is_laid_out_is_unwound() {
        let table = |address: u64| match address >> 8 {
            1 => rules((31, 0), &[]),
            2 => rules((31, 32), &[(29, -32), (30, -24)]),
            3 => rules((29, 48), &[(29, -48), (30, -40)]),
            4 => rules((31, 16), &[(30, -16)]),
            _ => None,
        };
        for chain in [
            vec![0x110],
            vec![0x110, 0x210],
            vec![0x110, 0x310, 0x320, 0x210, 0x310],
            vec![0x210, 0x210, 0x210, 0x410],
            vec![0x310, 0x410, 0x310, 0x210, 0x310],
        ] {
            let frames: Vec<Frame> =
                (0..chain.len()).map(|n| frame(chain[n], chain.get(n + 1).copied())).collect();
            let mut table = table;
            let made = Synthetic::new(&frames, TOP, Architecture::A64, &mut table);
            assert_eq!(made.frames, chain.len());
            let got = unwound(&made, chain[0], Architecture::A64, &mut table);
            assert_eq!(got, chain, "{made:x?}");
            assert!(made.slots.keys().all(|slot| *slot < TOP && TOP - slot < 0x1000));
        }
    }

    #[test]
    fn nothing_is_stated_beneath_a_loss_or_without_tables() {
        let mut table = |address: u64| match address >> 8 {
            2 => rules((31, 32), &[(29, -32), (30, -24)]),
            _ => None,
        };
        let mut frames: Vec<Frame> =
            [0x210, 0x220, 0x230].iter().map(|address| frame(*address, Some(1))).collect();
        frames[1].uncertain = true;
        let made = Synthetic::new(&frames, TOP, Architecture::A64, &mut table);
        assert_eq!(made.frames, 2);
        let got = unwound(&made, 0x210, Architecture::A64, &mut table);
        assert_eq!(got, [0x210, 0x220]);
        frames[1] = frame(0x510, Some(1));
        let made = Synthetic::new(&frames, TOP, Architecture::A64, &mut table);
        assert_eq!((made.frames, made.slots.len()), (2, 1));
    }

    #[test]
    fn without_tables_the_link_register_has_the_caller() {
        use Architecture::{A32, A64, MProfile, Rv64};
        let mut none = |_: u64| None;
        for (architecture, register, known, unknown) in [
            (A64, 30, 0x220, None),
            (A32, 14, 0x220, Some(TOP)),
            (MProfile, 14, 0x221, Some(TOP)),
            (Rv64, 1, 0x220, Some(TOP)),
        ] {
            let mut link = |frames: &[Frame]| {
                let made = Synthetic::new(frames, TOP, architecture, &mut none);
                assert!(made.slots.is_empty());
                made.registers.get(&register).copied()
            };
            let mut frames = vec![frame(0x210, Some(0x220)), frame(0x220, None)];
            assert_eq!(link(&frames), Some(known), "{architecture:?}");
            frames[0].uncertain = true;
            assert_eq!(link(&frames), unknown, "{architecture:?}");
            assert_eq!(link(&frames[..1]), unknown, "{architecture:?}");
        }
    }

    #[test]
    fn parts_of_slots_are_read() {
        let slots = BTreeMap::from([(0x100, 0x0807_0605_0403_0201), (0x108, 9)]);
        let made = Synthetic { slots, ..Synthetic::default() };
        let read = |address, most| {
            let mut out = Vec::new();
            made.read(address, 8, &mut out, most);
            out
        };
        assert_eq!(read(0x102, 3), [3, 4, 5]);
        assert_eq!(read(0x106, 4), [7, 8, 9, 0]);
        assert_eq!((read(0xff, 4), read(0x110, 4)), (vec![], vec![]));
    }
}
