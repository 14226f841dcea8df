//! The model of a TMC in circular buffer mode, and of an ETB. (Arm DDI 0461, 2.2; DDI 0480, 10.4)

/// The kind of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The Embedded Trace Buffer of CoreSight: pointers are numbers of words.
    Etb,
    /// A TMC with its own memory, as ETB or ETF.
    Etf,
    /// A TMC that writes to system memory.
    Etr,
}

/// The state of a buffer. (DDI 0461, 2.4)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// CTL.TraceCaptEn is 0.
    Disabled,
    /// It captures trace.
    Running,
    /// It has stopped after a flush or a trigger; further trace is discarded.
    Stopped,
}

/// A trace buffer that is filled from its start, and wraps at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tmc {
    kind: Kind,
    /// The address of the first byte: 0 but for an ETR.
    start: u64,
    /// Bytes of a write: 4 or 16.
    width: usize,
    formatted: bool,
    memory: Vec<u8>,
    /// Trace that does not make a whole write yet.
    collected: Vec<u8>,
    /// Offset of the next write.
    at: usize,
    state: State,
    full: bool,
    triggered: bool,
    /// TRG: 32-bit words to store after a trigger.
    delay: u32,
    /// Words that are left of the delay, once a trigger was seen.
    left: Option<u32>,
    /// The buffer stops when it is full, as software does that reads it at its interrupt.
    stops_when_full: bool,
    accepted: u64,
    discarded: u64,
}

impl Tmc {
    /// A disabled buffer of `len` bytes, rounded down to 16, at address `start`.
    pub fn new(kind: Kind, start: u64, len: usize) -> Tmc {
        Tmc {
            kind,
            start: if kind == Kind::Etr { start } else { 0 },
            width: 16,
            formatted: true,
            memory: vec![0; len / 16 * 16],
            collected: Vec::new(),
            at: 0,
            state: State::Disabled,
            full: false,
            triggered: false,
            delay: 0,
            left: None,
            stops_when_full: false,
            accepted: 0,
            discarded: 0,
        }
    }

    /// The same with the formatter enabled or disabled. A formatted buffer is offered whole frames.
    #[must_use]
    pub fn formatted(mut self, formatted: bool) -> Tmc {
        self.formatted = formatted;
        self.width = if formatted { 16 } else { 4 };
        self
    }

    /// The same with `words` in TRG: the words to store after a trigger.
    #[must_use]
    pub fn trigger_delay(mut self, words: u32) -> Tmc {
        self.delay = words;
        self
    }

    /// The same, but capture stops at the end of the memory.
    #[must_use]
    pub fn stopping_when_full(mut self) -> Tmc {
        self.stops_when_full = true;
        self
    }

    /// CTL.TraceCaptEn is set.
    pub fn enable(&mut self) {
        if self.state == State::Disabled && !self.memory.is_empty() {
            self.state = State::Running;
            (self.full, self.triggered, self.left) = (false, false, None);
        }
    }

    /// Trace arrives. It is captured while the buffer is running, and else discarded.
    pub fn offer(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.state != State::Running {
                self.discarded += 1;
                continue;
            }
            self.accepted += 1;
            self.collected.push(byte);
            if self.collected.len() == self.width {
                self.store();
            }
        }
    }

    /// Writes the collected bytes.
    fn store(&mut self) {
        let end = self.at + self.collected.len();
        if let Some(to) = self.memory.get_mut(self.at..end) {
            to.copy_from_slice(&self.collected);
        }
        let words = self.collected.len() as u32 / 4;
        self.collected.clear();
        self.at = end;
        if self.at >= self.memory.len() {
            self.at = 0;
            self.full = true;
            if self.stops_when_full {
                self.state = State::Stopped;
            }
        }
        if let Some(left) = self.left {
            self.left = Some(left.saturating_sub(words));
            if left <= words {
                self.triggered = true;
                self.stop();
            }
        }
    }

    /// A trigger: after TRG words the buffer stops, as with FFCR.StopOnTrigEvt.
    pub fn trigger(&mut self) {
        if self.state == State::Running && self.left.is_none() {
            self.left = Some(self.delay);
            if self.delay == 0 {
                self.triggered = true;
                self.stop();
            }
        }
    }

    /// A flush with FFCR.StopOnFl: the stop sequence is written, and the buffer stops. A formatted
    /// buffer gets whole frames, so that there is nothing to pad; else a byte of 0x01 and zeros
    /// follow the last byte.
    pub fn stop(&mut self) {
        if self.state != State::Running {
            return;
        }
        self.left = None;
        if !self.formatted {
            self.collected.push(0x01);
        }
        while !self.collected.is_empty() {
            self.collected.resize(self.width, 0);
            self.store();
        }
        self.state = State::Stopped;
    }

    /// CTL.TraceCaptEn is cleared. Software does that when the buffer is stopped; else what is
    /// collected is lost.
    pub fn disable(&mut self) {
        self.collected.clear();
        self.state = State::Disabled;
    }

    /// The memory.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// STS.Full: the buffer has wrapped.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// RWP, with RWPHI in bits \[63:32].
    pub fn write_pointer(&self) -> u64 {
        match self.kind {
            Kind::Etb => self.at as u64 / 4,
            Kind::Etf | Kind::Etr => self.start + self.at as u64,
        }
    }

    /// Bytes that were captured, and bytes that were discarded.
    pub fn counts(&self) -> (u64, u64) {
        (self.accepted, self.discarded)
    }

    /// The registers that describe the buffer, by name.
    pub fn registers(&self) -> Vec<(&'static str, u64)> {
        let stopped = self.state != State::Running;
        let status = u64::from(stopped) << 3
            | u64::from(stopped) << 2
            | u64::from(self.triggered) << 1
            | u64::from(self.full);
        let words = self.memory.len() as u64 / 4;
        let pointer = self.write_pointer();
        let size = if self.kind == Kind::Etb { "RDP" } else { "RSZ" };
        let read = if self.full { pointer } else { self.start };
        let mut list = vec![
            (size, words),
            ("STS", status),
            ("RRP", read & 0xffff_ffff),
            ("RWP", pointer & 0xffff_ffff),
            ("TRG", self.delay.into()),
            ("CTL", u64::from(self.state != State::Disabled)),
        ];
        if self.kind != Kind::Etb {
            list.push(("MODE", 0));
        }
        if self.kind == Kind::Etr {
            list.extend([("RRPHI", read >> 32), ("RWPHI", pointer >> 32), ("AXICTL", 0)]);
            list.extend([("DBALO", self.start & 0xffff_ffff), ("DBAHI", self.start >> 32)]);
        }
        list.extend([("FFSR", u64::from(stopped) << 1), ("FFCR", u64::from(self.formatted))]);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DDI 0461, 2.2.3: the stop sequence of a buffer without formatter, for each number of bytes
    /// in the last word.
    #[test]
    fn stop_sequence() {
        for (len, end) in [(4, 8), (5, 8), (6, 8), (7, 8), (8, 12)] {
            let mut etf = Tmc::new(Kind::Etf, 0, 64).formatted(false);
            etf.enable();
            etf.offer(&[0xff; 8][..len]);
            etf.stop();
            let mut want = vec![0xff; len];
            want.push(1);
            want.resize(64, 0);
            assert_eq!((etf.memory(), etf.write_pointer()), (&want[..], end));
            assert_eq!(etf.counts(), (len as u64, 0));
        }
    }

    /// DDI 0461, 2.2.2: the buffer wraps at its end, and Full records it.
    #[test]
    fn wraps() {
        let mut etr = Tmc::new(Kind::Etr, 0x1_8000_0000, 32);
        etr.enable();
        etr.offer(&[1; 16]);
        assert!(!etr.is_full());
        etr.offer(&[[2; 16], [3; 16]].concat());
        assert!(etr.is_full());
        etr.stop();
        assert_eq!(etr.memory(), [[3; 16], [2; 16]].concat());
        let registers = etr.registers();
        let value = |name| registers.iter().find(|(known, _)| *known == name).unwrap().1;
        assert_eq!((value("RWP"), value("RWPHI"), value("RSZ")), (0x8000_0010, 1, 8));
        assert_eq!((value("STS"), value("RRP")), (0b1101, 0x8000_0010));
        etr.offer(&[4; 16]);
        assert_eq!(etr.counts(), (48, 16));
    }

    /// DDI 0461, 3.3 (TRG): capture stops a number of words after the trigger.
    #[test]
    fn trigger_delay() {
        let mut etb = Tmc::new(Kind::Etb, 0, 64).trigger_delay(6);
        etb.enable();
        etb.offer(&[1; 16]);
        etb.trigger();
        etb.offer(&[2; 16]);
        assert_eq!(etb.state(), State::Running);
        etb.offer(&[3; 16]);
        assert_eq!((etb.state(), etb.write_pointer()), (State::Stopped, 12));
        etb.offer(&[4; 16]);
        assert_eq!(etb.counts(), (48, 16));
    }

    #[test]
    fn stops_when_full() {
        let mut etr = Tmc::new(Kind::Etr, 0x1000, 32).stopping_when_full();
        etr.enable();
        etr.offer(&[7; 48]);
        assert_eq!((etr.state(), etr.counts(), etr.is_full()), (State::Stopped, (32, 16), true));
        assert_eq!(etr.write_pointer(), 0x1000);
    }
}
