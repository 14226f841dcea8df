//! Random streams of packets that are legal for a program. (IHI 0014, chapter 7)

mod data;
mod packets;

use tracewright_base::{Instruction, Isa, Kind};
use tracewright_isa::{Transfer, transfer};

use super::Program;
use crate::Random;
use crate::etmv3_analyzer::Unit;
use data::Data;
use packets::{Info, Packets};

/// The next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Its address, and whether only its second half is left.
    At(u32, Isa, bool),
    /// An indirect branch was taken.
    Branch,
    /// The program has no code where it is.
    Unknown,
}

/// A generator of streams.
pub struct Streams<'a> {
    random: &'a mut Random,
    unit: Unit,
    program: &'a Program,
    packets: Packets,
    data: Data,
    next: Next,
    non_secure: bool,
    hyp: bool,
    /// Where exceptions interrupted the program.
    interrupted: Vec<(u32, Isa)>,
    /// The address of the last traced instruction, if it may be cancelled.
    last: Option<(u32, Isa, Instruction)>,
    /// The last instruction may return from an exception.
    returns: bool,
}

impl<'a> Streams<'a> {
    /// The packets of a random stream of about `len` steps.
    pub fn generate(
        random: &'a mut Random,
        unit: Unit,
        program: &'a Program,
        len: usize,
    ) -> Vec<Vec<u8>> {
        let mut streams = Streams {
            packets: Packets::new(unit),
            data: Data::default(),
            random,
            unit,
            program,
            next: Next::Unknown,
            non_secure: false,
            hyp: false,
            interrupted: Vec::new(),
            last: None,
            returns: false,
        };
        streams.packets.raw(&[0, 0, 0, 0, 0, 0x80]);
        if streams.random.one_in(4) {
            // Before the first I-sync.
            for _ in 0..streams.random.between(1, 3) {
                streams.aside();
            }
        }
        let periodic = streams.random.one_in(4);
        streams.synchronize(if periodic { 0 } else { 1 });
        for _ in 0..len {
            streams.step();
        }
        streams.packets.finish()
    }

    fn step(&mut self) {
        if self.unit.data_only() {
            return match self.random.index(8) {
                0..=4 => self.data_only(),
                5 => self.aside(),
                6 => self.late(),
                _ => {
                    let reason = self.random.index(4) as u8;
                    self.synchronize(reason);
                }
            };
        }
        match self.random.index(32) {
            0..=15 => self.execute(),
            16..=18 => self.exception(),
            19..=22 => self.aside(),
            23..=25 => self.late(),
            26 => self.periodic(),
            27 if self.random.one_in(2) => {
                let reason = self.random.between(1, 3) as u8;
                self.synchronize(reason);
            }
            28 if self.random.one_in(2) => self.change_security(),
            29 if self.unit.m_profile && self.unit.data() => self.entry(),
            30 => self.bare_branch(),
            _ => self.execute(),
        }
    }

    /// A random place of the program, rarely outside of it.
    fn target(&mut self) -> (u32, Isa) {
        let isa = match self.unit.m_profile {
            true => Isa::T32,
            false => self.random.pick(&[Isa::A32, Isa::A32, Isa::T32, Isa::T32, Isa::ThumbEe]),
        };
        let isa = match isa {
            Isa::ThumbEe if self.unit.minor() < 3 => Isa::T32,
            Isa::T32 if self.random.one_in(24) && !self.unit.m_profile => Isa::Jazelle,
            other => other,
        };
        let address = self.random.pick(self.program.addresses(isa));
        let far = u32::from(self.random.one_in(24)) * 0x1000;
        (address.wrapping_add(far), isa)
    }

    fn code(&self, address: u32, isa: Isa) -> Option<(Instruction, Option<Transfer>)> {
        if isa == Isa::Jazelle {
            return None;
        }
        let instruction = self.program.memory.instruction(address.into(), isa)?;
        let opcode = self.program.memory.opcode(address.into(), isa)?;
        Some((instruction, transfer(isa, opcode)))
    }

    fn go(&mut self, (address, isa): (u32, Isa)) {
        self.next = Next::At(address, isa, false);
    }

    /// Traces a branch to `target`.
    fn branch(&mut self, target: (u32, Isa), info: Option<Info>) {
        let info = info.or_else(|| {
            let changes = self.packets.needs_info(target.1);
            changes.then(|| self.info(target.1, 0, false))
        });
        self.packets.branch(self.random, target, info);
        self.go(target);
    }

    fn info(&self, isa: Isa, exception: u16, cancel: bool) -> Info {
        Info {
            exception,
            cancel,
            resume: 0,
            non_secure: self.non_secure,
            hyp: self.hyp,
            alternative: isa == Isa::ThumbEe,
        }
    }

    /// Atoms up to an instruction that needs another packet, then that packet.
    fn execute(&mut self) {
        let most = self.random.between(1, 12);
        let mut atoms = Vec::new();
        while atoms.len() < most {
            let (address, isa, second) = match self.next {
                Next::At(address, isa, second) => (address, isa, second),
                Next::Unknown => {
                    self.packets.atoms(self.random, &atoms);
                    if self.random.chance(160) {
                        let passed = self.random.chance(128);
                        self.packets.atoms(self.random, &[passed]);
                        self.data.owner(None, false);
                    }
                    let target = self.target();
                    return self.branch(target, None);
                }
                Next::Branch => {
                    self.packets.atoms(self.random, &atoms);
                    return self.indirect();
                }
            };
            let Some((instruction, class)) = self.code(address, isa) else {
                atoms.push(true);
                (self.next, self.last) = (Next::Unknown, None);
                self.data.owner(None, false);
                continue;
            };
            let passed = !instruction.conditional || self.random.chance(150);
            let halves = self.unit.thumb_halves() && instruction.size == 4 && isa != Isa::A32;
            self.last = Some((address, isa, instruction));
            self.returns = false;
            atoms.push(passed);
            if halves && !second {
                self.next = Next::At(address, isa, true);
                if self.random.one_in(12) {
                    break;
                }
                continue;
            }
            let end = address.wrapping_add(instruction.size.into());
            let taken = passed && matches!(instruction.kind, Kind::Branch | Kind::Indirect);
            self.next = match instruction.target {
                Some(target) if taken => Next::At(target as u32, instruction.target_isa, false),
                _ if taken => Next::Branch,
                _ => Next::At(end, isa, false),
            };
            self.returns = self.next == Next::Branch && self.unit.m_profile;
            if let Some(class) = class.filter(|_| passed && self.unit.data()) {
                self.packets.atoms(self.random, &atoms);
                atoms.clear();
                self.data.owner(Some((isa, class)), false);
                if !self.random.one_in(6) {
                    self.data.traffic(self.random, &mut self.packets);
                }
                if self.random.chance(128) {
                    return;
                }
            }
            if let (true, Next::At(to, to_isa, _)) = (taken, self.next)
                && self.unit.control >> 8 & 1 == 1
            {
                self.packets.atoms(self.random, &atoms);
                return self.branch((to, to_isa), None);
            }
        }
        self.packets.atoms(self.random, &atoms);
    }

    /// The packets after an indirect branch.
    fn indirect(&mut self) {
        let back = match self.interrupted.pop() {
            Some(back) if self.random.chance(128) => back,
            _ => self.target(),
        };
        if self.returns && self.unit.minor() >= 4 && self.random.chance(150) {
            self.packets.raw(&[0x76]);
            if self.unit.data() {
                self.data.owner(None, true);
                if self.random.chance(128) {
                    self.data.traffic(self.random, &mut self.packets);
                }
            }
            if self.random.one_in(3) {
                let target = self.target();
                let cancel = self.random.one_in(3);
                let number = self.number();
                let info = self.info(target.1, number, cancel);
                self.branch(target, Some(info));
                self.last = None;
                return;
            }
        }
        if self.unit.data() && self.random.one_in(8) {
            // The branch may be traced before the data of its instruction.
            self.branch(back, None);
            return self.data.traffic(self.random, &mut self.packets);
        }
        self.branch(back, None);
        if self.random.one_in(12) {
            let again = self.target();
            self.branch(again, None);
        }
    }

    /// The number of an exception.
    fn number(&mut self) -> u16 {
        if self.unit.m_profile {
            return match self.random.index(3) {
                0 => self.random.between(1, 15) as u16,
                1 => self.random.pick(&[0x11, 0x13, 0x15]),
                _ => self.random.between(0x18, 0x1ff) as u16,
            };
        }
        let generic = u16::from(self.unit.minor() >= 3) * 13;
        self.random.pick(&[1, 2, 4, 5, 8, 9, 10, 11, 12, 14, 15, 14, 15, generic.max(14)])
    }

    fn exception(&mut self) {
        let place = match self.next {
            Next::At(address, isa, second) => Some((address + 2 * u32::from(second), isa)),
            Next::Branch if self.random.chance(200) => return self.indirect(),
            _ => None,
        };
        let mut cancel = self.last.is_some() && self.random.chance(150);
        let number = self.number();
        let target = self.target();
        let back = match (cancel, self.last) {
            (true, Some((address, isa, instruction))) => {
                let narrow = !self.unit.thumb_halves() || instruction.size == 2 || isa == Isa::A32;
                let first = matches!(self.next, Next::At(at, _, true) if at == address);
                let half = if narrow || first { 0 } else { 2 };
                Some((address.wrapping_add(half), isa))
            }
            _ => place,
        };
        if self.random.one_in(12) && self.packets.old_exception(self.random, self.program, cancel) {
            let (address, isa) = self.packets.broadcast;
            self.go((address, isa));
        } else {
            let mut info = self.info(target.1, number, cancel);
            let pausable = self.last.is_some_and(|(address, isa, _)| {
                self.code(address, isa)
                    .is_some_and(|(_, class)| class.is_some_and(|class| class.multiple()))
            });
            if self.unit.m_profile && self.unit.data() && pausable && self.random.chance(128) {
                (info.cancel, info.resume) = (true, self.random.between(1, 5) as u8);
                cancel = true;
            }
            self.branch(target, Some(info));
            if self.unit.m_profile && !self.unit.data() && pausable && cancel {
                // The instruction is completed without trace. (7.5.2)
                if let Some((address, isa, instruction)) = self.last {
                    let end = address.wrapping_add(instruction.size.into());
                    self.interrupted.push((end, isa));
                }
            } else {
                self.interrupted.extend(back);
            }
            if number == 1 && !self.unit.m_profile {
                self.synchronize(3);
            }
        }
        if cancel {
            self.data.owner(None, false);
        }
        self.last = None;
        if self.random.one_in(12) {
            let target = self.target();
            let number = self.number();
            let info = self.info(target.1, number, false);
            self.branch(target, Some(info));
            if number == 1 && !self.unit.m_profile {
                self.synchronize(3);
            }
        }
    }

    /// A stack push, and the branch to the handler. (7.5.3)
    fn entry(&mut self) {
        if self.unit.minor() < 4 || self.next == Next::Branch {
            return;
        }
        self.packets.raw(&[0x7e]);
        self.data.owner(None, true);
        self.data.traffic(self.random, &mut self.packets);
        self.exception();
    }

    fn change_security(&mut self) {
        if self.next == Next::Branch {
            self.non_secure = self.random.chance(128) && !self.unit.m_profile;
            self.hyp = self.unit.minor() >= 5 && !self.unit.m_profile && self.random.one_in(3);
            let target = self.target();
            let info = self.info(target.1, 0, false);
            self.branch(target, Some(info));
        }
    }

    /// A branch packet that no indirect branch precedes.
    fn bare_branch(&mut self) {
        if self.random.one_in(3) {
            let target = self.target();
            self.branch(target, None);
            self.last = None;
        }
    }

    /// A periodic I-sync, where the program is known.
    fn periodic(&mut self) {
        if let Next::At(address, isa, second) = self.next {
            let address = address + 2 * u32::from(second);
            self.packets.isync(self.random, 0, Some((address, isa)), self.non_secure, self.hyp);
        }
    }

    /// An I-sync that starts tracing.
    fn synchronize(&mut self, reason: u8) {
        self.data.restart(reason != 0);
        self.last = None;
        if reason != 0 {
            self.non_secure = self.random.chance(128) && !self.unit.m_profile;
        }
        if self.unit.data_only() {
            return self.packets.isync(self.random, reason, None, self.non_secure, self.hyp);
        }
        let start = self.target();
        let owner = self.code(start.0, start.1).and_then(|(_, class)| class);
        let class = owner.filter(|_| self.unit.data() && reason != 0);
        let Some(class) = class.filter(|_| self.random.chance(160)) else {
            self.packets.isync(self.random, reason, Some(start), self.non_secure, self.hyp);
            return self.go(start);
        };
        let target = self.target();
        if self.random.chance(128) {
            let changes = target.1 == Isa::ThumbEe || self.random.one_in(4);
            let info = changes.then(|| self.info(target.1, 0, false));
            self.packets.in_progress(self.random, reason, start, target, info);
        } else {
            self.packets.isync(self.random, reason, Some(start), self.non_secure, self.hyp);
            self.branch(target, None);
        }
        self.data.owner(Some((start.1, class)), false);
        self.go(target);
        if self.random.chance(200) {
            self.data.traffic(self.random, &mut self.packets);
        }
    }

    /// A packet that can come at any time.
    fn aside(&mut self) {
        let minor = self.unit.minor();
        match self.random.index(10) {
            0 | 1 => self.packets.raw(&[0x0c]),
            2 => self.packets.raw(&[0x66]),
            3 => {
                let zeros = self.random.between(5, 9);
                self.packets.raw(&[vec![0; zeros], vec![0x80]].concat());
            }
            4 | 5 if self.unit.context_id_bytes() > 0 => self.packets.context_id(self.random),
            6 | 7 if minor >= 5 => self.packets.timestamp(self.random),
            8 if minor >= 5 && self.unit.vmid() => {
                let id = self.random.below(256) as u8;
                self.packets.raw(&[0x3c, id]);
            }
            9 if self.unit.cycle_accurate() => self.packets.cycle_count(self.random),
            _ => {}
        }
    }

    fn late(&mut self) {
        if self.unit.data() {
            self.data.late(self.random, &mut self.packets);
        }
    }

    fn data_only(&mut self) {
        self.data.owner(None, false);
        self.data.traffic(self.random, &mut self.packets);
    }
}
