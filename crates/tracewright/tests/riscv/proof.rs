//! Proof that packets are ambiguous: another execution for which the unit emits the same bytes.
//!
//! The other execution is the decoded one, which the program must allow. The search varies
//! everything that no packet reports, until the bytes are the same:
//!
//! - cycles in which nothing is retired, for a unit whose period counts them
//! - which instructions are retired together
//! - the return address of a trap, if it is not traced
//! - the steps after the last packet, of a unit without an end packet
//!
//! No packet reports the length and unit of the period, nor the instruction that gets its packet.
//! If no such execution is found, the search uses another unit with the same packets, whose period
//! ends at the required instructions, and at last notifications, which have no mark in 0.026
//! (Table 3.3).

use std::collections::HashSet;

use tracewright::base::{
    Cause, Code, Element, Encode, Exception, Inconsistency, Kind, Parse, Pc, Retired, Sink, Space,
    Step, Taken, Wire,
};
use tracewright::image::Cache;
use tracewright::isa::rv::Upper;
use tracewright::protocols::etrace::config::{Params, Sync};
use tracewright::protocols::etrace::decode::INTERRUPT;
use tracewright::protocols::etrace::encode::{Encoder, Quirks, Settings, SyncPosition};
use tracewright::protocols::etrace::packet::{Packet, Payload};

/// The additions to the decoded execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Cycles in which nothing was retired.
    pub idle: usize,
    /// Notifications.
    pub notified: usize,
    /// Instructions that were not retired in the same cycle as the previous one.
    pub apart: usize,
    /// Steps after the last decoded step.
    pub beyond: usize,
    /// 1 if the unit has another period.
    pub period: usize,
}

/// A decoded step.
#[derive(Clone, Debug)]
struct Decoded {
    /// The offset of its packet.
    at: u64,
    step: Step,
    /// Two paths lead to the step, so that a notification gives the same packet.
    ambiguous: bool,
    /// The return address was traced.
    traced: bool,
}

/// The steps of a decoded execution.
pub struct Execution<'a> {
    code: Cache,
    params: &'a Params,
    decoded: Vec<Decoded>,
    upper: Upper,
    /// The possible targets of indirect jumps.
    offsets: Vec<u64>,
    /// Ambiguous steps may be notifications.
    notifies: bool,
    /// Why the steps are not an execution of the program.
    strays: Option<String>,
}

impl<'a> Execution<'a> {
    /// `offsets`: the possible targets of indirect jumps.
    pub fn new(code: Cache, params: &'a Params, offsets: Vec<u64>) -> Execution<'a> {
        Execution {
            code,
            params,
            decoded: Vec::new(),
            upper: Upper::default(),
            offsets,
            notifies: false,
            strays: None,
        }
    }

    fn push(&mut self, at: u64, step: Step) {
        self.decoded.push(Decoded { at, step, ambiguous: false, traced: true });
    }

    /// The last instruction, if no trap came after it.
    fn last(&mut self) -> Option<&mut Retired> {
        self.decoded.iter_mut().rev().find_map(|decoded| match &mut decoded.step {
            Step::Retired(retired) => Some(Some(retired)),
            Step::Exception(_) => Some(None),
            _ => None,
        })?
    }

    /// The last instruction continues at `address`, unless the program gives its target.
    fn goes_on(&mut self, address: u64) {
        let Some(last) = self.last() else { return };
        let free = last.instruction.kind == Kind::Indirect && last.instruction.target.is_none();
        let (from, to) = (last.address, last.next);
        last.next = address;
        if !free && to != address {
            self.strays.get_or_insert(format!("from {from:x} to {address:x}, not {to:x}"));
        }
    }

    /// The instruction at `address`, after the one before it.
    fn retired(&mut self, address: u64, taken: bool) -> Option<Retired> {
        let isa = self.params.isa();
        let pc = Pc { address, isa, space: Space::ANY };
        let mut instruction = self.code.instruction(pc).ok()?;
        if self.params.options.sijump {
            let opcode = self.code.opcode(pc)?;
            if instruction.kind == Kind::Indirect {
                instruction.target = self.upper.target(isa, opcode);
            }
            self.upper = Upper::after(isa, opcode, address);
        }
        let behind = address + u64::from(instruction.size);
        let next = if taken { instruction.target.unwrap_or(behind) } else { behind };
        Some(Retired { address, next, next_isa: isa, taken, instruction })
    }

    fn trap(&mut self, at: u64, exception: &Exception) {
        let last = self.last().copied();
        let traced = exception.return_address;
        let epc = traced.or(last.map(|last| last.next)).unwrap_or(0);
        // If ECALL counts as retired, the encoder adds the instruction to its trap. The decoded
        // instruction is not another step.
        let call = matches!(exception.number, 3 | 8..=11) && self.params.choices.ecall_retires;
        if call && last.is_some_and(|last| last.address == epc) {
            let of = |decoded: &Decoded| matches!(decoded.step, Step::Retired(_));
            self.decoded.iter().rposition(of).map(|n| self.decoded.remove(n));
        } else {
            self.goes_on(epc);
        }
        self.upper = Upper::default();
        let code = exception.number & !INTERRUPT;
        let cause = Cause::Riscv { code, interrupt: exception.number & INTERRUPT != 0 };
        let step = trap(self.params, cause, epc);
        let traced = traced.is_some();
        self.decoded.push(Decoded { at, step, ambiguous: false, traced });
    }
}

fn trap(params: &Params, cause: Cause, epc: u64) -> Step {
    let isa = params.isa();
    Step::Exception(Taken {
        cause,
        return_address: epc,
        return_isa: isa,
        target: 0,
        target_isa: isa,
        value: None,
        cancels: false,
    })
}

impl tracewright::protocols::Observer for Execution<'_> {}

impl Sink for Execution<'_> {
    fn element(&mut self, at: u64, element: Element) {
        match element {
            Element::Range(range) => {
                let mut address = range.start;
                for n in 1..=range.instructions {
                    self.goes_on(address);
                    let taken = n < range.instructions || range.taken();
                    let retired = self.retired(address, taken).unwrap();
                    address += u64::from(retired.instruction.size);
                    self.push(at, Step::Retired(retired));
                }
            }
            Element::Exception(exception) => self.trap(at, &exception),
            Element::TrapValue(value) => {
                if let Some(Decoded { step: Step::Exception(taken), .. }) = self.decoded.last_mut()
                {
                    taken.value = Some(value);
                }
            }
            Element::Context(context) => self.push(at, Step::Context(context)),
            Element::Inconsistency(Inconsistency::Ambiguous) => {
                if let Some(decoded) = self.decoded.last_mut() {
                    decoded.ambiguous = true;
                }
            }
            _ => {}
        }
    }
}

/// A sequence of choices, up to the steps that are encoded.
struct Way {
    /// The number of steps that are encoded.
    n: usize,
    /// The next choice.
    choice: usize,
    encoder: Encoder,
    /// The number of emitted bytes, which equal the first bytes of the trace.
    given: usize,
    proof: Proof,
    /// The last instruction, if no trap came after it.
    last: Option<Retired>,
}

/// The most choices that the search tries: without a record of the states that it reached, and with
/// one.
const MOST: [usize; 2] = [2_000, 400_000];

/// The most steps after the last decoded one.
const BEYOND: usize = 4;

impl Execution<'_> {
    /// The additions with which the unit emits `bytes` for the execution, or why there are none.
    pub fn gives(&mut self, bytes: &[u8], settings: &Settings) -> Result<Proof, String> {
        if let Some(strays) = self.strays.take() {
            return Err(strays);
        }
        let periods = !self.params.options.resync_disabled;
        let mut counts = *self.params;
        (counts.choices.resync, counts.choices.resync_max) = (Sync::Cycles, 1 << 20);
        let mut why = None;
        for notifies in [false, true] {
            self.notifies = notifies;
            let found = self.search(bytes, self.params, settings);
            if found.is_ok() {
                return found;
            }
            why = why.or(found.err());
            for place in [SyncPosition::AfterSpecial, SyncPosition::Next] {
                let settings = Settings { sync_position: Some(place), ..settings.clone() };
                if periods && let Ok(proof) = self.search(bytes, &counts, &settings) {
                    return Ok(Proof { period: 1, ..proof });
                }
            }
        }
        Err(why.unwrap_or_default())
    }

    fn search(
        &mut self,
        bytes: &[u8],
        params: &Params,
        settings: &Settings,
    ) -> Result<Proof, String> {
        let mut why = String::new();
        for (remembers, most) in [(false, MOST[0]), (true, MOST[1])] {
            match self.find(bytes, params, settings, remembers, most) {
                Ok(proof) => return Ok(proof),
                Err(other) => why = other,
            }
        }
        Err(why)
    }

    fn find(
        &mut self,
        bytes: &[u8],
        params: &Params,
        settings: &Settings,
        remembers: bool,
        most: usize,
    ) -> Result<Proof, String> {
        let counts = params.choices.resync == Sync::Cycles && !params.options.resync_disabled;
        let endless = settings.quirks.unwrap_or(Quirks::of(params)).never_ends;
        let encoder = Encoder::new(params, settings);
        let proof = Proof::default();
        let mut ways = vec![Way { n: 0, choice: 0, encoder, given: 0, proof, last: None }];
        // The states that were reached: each is searched once.
        let mut known = HashSet::new();
        let (mut tried, mut farthest) = (0, 0);
        while let Some(way) = ways.last_mut() {
            let (n, choice) = (way.n, way.choice);
            way.choice += 1;
            let (mut proof, last) = (way.proof, way.last);
            let mut encoder = way.encoder.clone();
            let mut packets: Vec<Packet> = Vec::new();
            let given = way.given;
            farthest = farthest.max(given);
            let rest = &bytes[given..];
            tried += 1;
            if tried > most {
                break;
            }
            let Some(decoded) = self.decoded.get(n) else {
                // All steps are encoded.
                let beyond = n - self.decoded.len();
                if choice == 0 {
                    if endless && rest.is_empty() {
                        return Ok(proof);
                    }
                    encoder.finish(params, &mut packets);
                    if emitted(&packets, params) == rest {
                        return Ok(proof);
                    }
                    continue;
                }
                let step = (endless && beyond < BEYOND)
                    .then(|| self.beyond(choice - 1, last, rest))
                    .flatten();
                let Some(step) = step else {
                    ways.pop();
                    continue;
                };
                encoder.step(&step, params, &mut packets);
                let new = emitted(&packets, params);
                if rest.starts_with(&new) {
                    proof.beyond += 1;
                    let last = match step {
                        Step::Retired(retired) => Some(retired),
                        _ => None,
                    };
                    let given = given + new.len();
                    ways.push(Way { n: n + 1, choice: 0, encoder, given, proof, last });
                }
                continue;
            };
            let mut step = decoded.step;
            let notify = self.notifies && decoded.ambiguous;
            let choices =
                [settings.retires > 1, counts, notify, !decoded.traced].map(|c| 1 + usize::from(c));
            let mut left = choice;
            let [apart, idle, notified, elsewhere] = choices.map(|count| {
                let chosen = left % count;
                left /= count;
                chosen
            });
            if left > 0 {
                ways.pop();
                continue;
            }
            let extra = [
                (apart, Step::Timestamp(0)),
                (idle, Step::Cycles(params.choices.resync_max)),
                (notified, Step::Trigger),
            ];
            for (_, step) in extra.iter().filter(|(chosen, _)| *chosen == 1) {
                encoder.step(step, params, &mut packets);
            }
            proof.apart += apart;
            proof.idle += idle;
            proof.notified += notified;
            let last = match &mut step {
                Step::Retired(retired) => Some(*retired),
                Step::Exception(taken) if elsewhere == 1 => {
                    // The packet may have the address; the specification leaves it open.
                    let packet = Packet::parse(&bytes[decoded.at as usize..], params);
                    if let Parse::Packet(Packet { payload: Payload::Trap(trap), .. }, _) = packet
                        && let Some(address) = trap.address
                    {
                        taken.return_address = params.full_address(address);
                    }
                    None
                }
                Step::Exception(_) => None,
                _ => last,
            };
            encoder.step(&step, params, &mut packets);
            let new = emitted(&packets, params);
            let given = given + new.len();
            if rest.starts_with(&new)
                && (!remembers || known.insert((n, given, state(&encoder, params))))
            {
                ways.push(Way { n: n + 1, choice: 0, encoder, given, proof, last });
            }
        }
        let next = Packet::parse(&bytes[farthest..], params);
        Err(format!(
            "{farthest} of {} bytes are the same, {tried} ways; next {next:?}",
            bytes.len()
        ))
    }

    /// A step after the last one: the next instruction of the program, or a trap in its place.
    fn beyond(&mut self, choice: usize, last: Option<Retired>, rest: &[u8]) -> Option<Step> {
        let known = match last {
            Some(Retired { instruction, .. }) if instruction.kind == Kind::Indirect => None,
            Some(last) => Some(last.next),
            // A handler, which the trap packet reports.
            None => Some(handler(rest, self.params)),
        };
        let (next, kind) = match known {
            Some(next) if choice < 3 => (next, choice),
            Some(_) => return None,
            // An indirect jump: any target.
            None => (*self.offsets.get(choice / 3)?, choice % 3),
        };
        if kind == 2 {
            return Some(trap(self.params, Cause::Riscv { code: 1, interrupt: false }, next));
        }
        // Without code, or without a branch, there is no choice.
        let retired = self.retired(next, kind == 0);
        retired.map(Step::Retired).or_else(|| self.beyond(choice + 1, last, rest))
    }
}

/// The handler that the next trap packet reports, if there is one.
fn handler(mut bytes: &[u8], params: &Params) -> u64 {
    while let Parse::Packet(packet, len) = Packet::parse(bytes, params) {
        if let Payload::Trap(trap) = packet.payload {
            return trap.address.map_or(0, |address| params.full_address(address));
        }
        bytes = &bytes[len..];
    }
    0
}

/// The state that the next packets of an encoder depend on.
fn state(encoder: &Encoder, params: &Params) -> String {
    let text = format!("{encoder:?}");
    let mut state = String::with_capacity(text.len());
    // Once the period is over it makes no difference how long it has been.
    let most = u64::from(params.choices.resync_max).max(16);
    for (n, part) in text.split("count: ").enumerate() {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        match part[..digits].parse::<u64>() {
            Ok(count) if n > 0 => state += &format!("{}{}", count.min(most), &part[digits..]),
            _ => state += part,
        }
    }
    state
}

fn emitted(packets: &[Packet], params: &Params) -> Vec<u8> {
    let mut bytes = Vec::new();
    packets.iter().for_each(|packet| packet.emit(params, &mut bytes));
    bytes
}
