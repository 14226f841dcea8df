//! What a packet asks for. (gdb, appendix E.2 and E.4)

use tracewright_replay::Direction;

use crate::hex;

/// How the program is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// One instruction of a thread; `None`: the selected one.
    Step(Option<u64>, Direction),
    /// Instructions of a thread, while they are in this range of addresses.
    Range(Option<u64>, u64, u64),
    /// All threads to a breakpoint.
    Continue(Direction),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `qSupported`: what the server can do.
    Supported,
    /// `QStartNoAckMode`: packets are not acknowledged any more.
    NoAcknowledgement,
    /// `?`: why the program stands still.
    StopReason,
    /// `g`: all registers.
    Registers,
    /// `p`: one register.
    Register(u64),
    /// `m`: memory, in hexadecimal; `x`: the bytes.
    Memory {
        /// The first address.
        address: u64,
        /// The number of bytes.
        len: u64,
        /// As bytes.
        binary: bool,
    },
    /// `G`, `P`, `M`, `X`: registers or memory are written.
    Write,
    /// `Hg`, `Hc`: selects a thread for registers and memory, or for steps. `None`: any, or all.
    SelectThread {
        /// For steps.
        steps: bool,
        /// The thread.
        thread: Option<u64>,
    },
    /// `T`: whether a thread exists.
    IsAlive(u64),
    /// `qC`: the selected thread.
    CurrentThread,
    /// `qfThreadInfo`: the threads.
    FirstThreads,
    /// `qsThreadInfo`: further threads.
    MoreThreads,
    /// `qThreadExtraInfo`: the description of a thread.
    ThreadInfo(u64),
    /// `vCont?`: the forms of [`Request::Resume`].
    ResumeForms,
    /// `vCont`, `c`, `s`, `bc`, `bs`.
    Resume(Resume),
    /// `Z`, `z`: inserts or removes a breakpoint or a watchpoint.
    Breakpoint {
        /// It is inserted.
        insert: bool,
        /// 0 and 1: breakpoints; 2 to 4: watchpoints.
        kind: u64,
        /// Its address.
        address: u64,
        /// Of a watchpoint, the number of bytes; of a breakpoint, the kind of its instruction.
        size: u64,
    },
    /// `qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH`.
    Transfer {
        /// What is read.
        object: String,
        /// Which of them.
        annex: String,
        /// The part.
        offset: u64,
        /// Its length.
        len: u64,
    },
    /// `Qbtrace:bts`, `Qbtrace:off`: whether branches are recorded.
    BranchTrace {
        /// They are.
        on: bool,
    },
    /// `qRcmd`: a command of `monitor`.
    Command(String),
    /// `qAttached`: whether the program existed before.
    Attached,
    /// `D`: the end of the session.
    Detach,
    /// `k`, `vKill`: the program is ended.
    Kill {
        /// An answer is expected.
        answered: bool,
    },
    /// Another one.
    Unknown,
}

/// `A,B`.
fn pair(text: &[u8]) -> Option<(u64, u64)> {
    let comma = text.iter().position(|byte| *byte == b',')?;
    Some((hex::number(text.get(..comma)?)?, hex::number(text.get(comma + 1..)?)?))
}

/// A thread: `-1` and `0` are all, or any.
fn thread(text: &[u8]) -> Option<Option<u64>> {
    match text {
        b"-1" => Some(None),
        text => hex::number(text).map(|number| Some(number).filter(|number| *number != 0)),
    }
}

/// The first action that is a step, or continue.
fn actions(text: &[u8]) -> Option<Resume> {
    let mut all = None;
    for action in text.split(|byte| *byte == b';') {
        let mut parts = action.splitn(2, |byte| *byte == b':');
        let (what, of) = (parts.next()?, parts.next());
        let of = match of {
            None => None,
            Some(text) => thread(text)?,
        };
        let (first, rest) = what.split_first()?;
        let one = match first {
            b's' | b'S' => Resume::Step(of, Direction::Forward),
            b'r' => {
                let (start, end) = pair(rest)?;
                Resume::Range(of, start, end)
            }
            b'c' | b'C' => Resume::Continue(Direction::Forward),
            _ => return None,
        };
        if !matches!(one, Resume::Continue(_)) {
            return Some(one);
        }
        all = Some(one);
    }
    all
}

impl Request {
    /// The request of a packet.
    pub fn parse(packet: &[u8]) -> Request {
        Request::known(packet).unwrap_or(Request::Unknown)
    }

    fn known(packet: &[u8]) -> Option<Request> {
        let (first, rest) = packet.split_first()?;
        Some(match first {
            b'?' if rest.is_empty() => Request::StopReason,
            b'g' if rest.is_empty() => Request::Registers,
            b'p' => Request::Register(hex::number(rest)?),
            b'm' | b'x' => {
                let (address, len) = pair(rest)?;
                Request::Memory { address, len, binary: *first == b'x' }
            }
            b'G' | b'P' | b'M' | b'X' => Request::Write,
            b'H' => {
                let (kind, id) = rest.split_first()?;
                let steps = match kind {
                    b'g' => false,
                    b'c' => true,
                    _ => return None,
                };
                Request::SelectThread { steps, thread: thread(id)? }
            }
            b'T' => Request::IsAlive(hex::number(rest)?),
            // The address from which execution continues is that of the trace.
            b'c' | b'C' => Request::Resume(Resume::Continue(Direction::Forward)),
            b's' | b'S' => Request::Resume(Resume::Step(None, Direction::Forward)),
            b'b' => Request::Resume(match rest {
                b"s" => Resume::Step(None, Direction::Backward),
                b"c" => Resume::Continue(Direction::Backward),
                _ => return None,
            }),
            b'Z' | b'z' => {
                let mut parts = rest.split(|byte| *byte == b',');
                let mut next = || hex::number(parts.next()?);
                let (kind, address) = (next()?, next()?);
                // Conditions, which the server does not offer to evaluate, would follow.
                let size = hex::number(parts.next()?.split(|byte| *byte == b';').next()?)?;
                Request::Breakpoint { insert: *first == b'Z', kind, address, size }
            }
            b'D' => Request::Detach,
            b'k' => Request::Kill { answered: false },
            b'v' => match rest {
                b"Cont?" => Request::ResumeForms,
                _ if rest.starts_with(b"Kill") => Request::Kill { answered: true },
                _ => Request::Resume(actions(rest.strip_prefix(b"Cont;")?)?),
            },
            b'q' | b'Q' => return Request::query(packet),
            _ => return None,
        })
    }

    /// A request of a long name.
    fn query(packet: &[u8]) -> Option<Request> {
        Some(match packet {
            b"QStartNoAckMode" => Request::NoAcknowledgement,
            b"Qbtrace:bts" => Request::BranchTrace { on: true },
            b"Qbtrace:off" => Request::BranchTrace { on: false },
            b"qC" => Request::CurrentThread,
            b"qfThreadInfo" => Request::FirstThreads,
            b"qsThreadInfo" => Request::MoreThreads,
            _ if packet.starts_with(b"qSupported") => Request::Supported,
            _ if packet.starts_with(b"qAttached") => Request::Attached,
            _ => {
                if let Some(id) = packet.strip_prefix(b"qThreadExtraInfo,") {
                    return Some(Request::ThreadInfo(hex::number(id)?));
                }
                if let Some(command) = packet.strip_prefix(b"qRcmd,") {
                    let text = String::from_utf8(hex::bytes(command)?).ok()?;
                    return Some(Request::Command(text));
                }
                let text = std::str::from_utf8(packet.strip_prefix(b"qXfer:")?).ok()?;
                let (object, rest) = text.split_once(":read:")?;
                let (annex, part) = rest.split_once(':')?;
                let (offset, len) = pair(part.as_bytes())?;
                let (object, annex) = (object.to_owned(), annex.to_owned());
                Request::Transfer { object, annex, offset, len }
            }
        })
    }

    /// The packet of the request, as gdb sends it. Empty for [`Request::Unknown`].
    pub fn emit(&self) -> Vec<u8> {
        let of = |thread: &Option<u64>| thread.map_or(String::new(), |id| format!(":{id:x}"));
        let text = match self {
            Request::Supported => "qSupported".into(),
            Request::NoAcknowledgement => "QStartNoAckMode".into(),
            Request::StopReason => "?".into(),
            Request::Registers => "g".into(),
            Request::Register(number) => format!("p{number:x}"),
            Request::Memory { address, len, binary } => {
                format!("{}{address:x},{len:x}", if *binary { 'x' } else { 'm' })
            }
            Request::Write => "G".into(),
            Request::SelectThread { steps, thread } => {
                let kind = if *steps { 'c' } else { 'g' };
                format!("H{kind}{:x}", thread.unwrap_or(0))
            }
            Request::IsAlive(id) => format!("T{id:x}"),
            Request::CurrentThread => "qC".into(),
            Request::FirstThreads => "qfThreadInfo".into(),
            Request::MoreThreads => "qsThreadInfo".into(),
            Request::ThreadInfo(id) => format!("qThreadExtraInfo,{id:x}"),
            Request::ResumeForms => "vCont?".into(),
            Request::Resume(Resume::Step(thread, Direction::Forward)) => {
                format!("vCont;s{}", of(thread))
            }
            Request::Resume(Resume::Range(thread, start, end)) => {
                format!("vCont;r{start:x},{end:x}{}", of(thread))
            }
            Request::Resume(Resume::Continue(Direction::Forward)) => "vCont;c".into(),
            Request::Resume(Resume::Step(_, Direction::Backward)) => "bs".into(),
            Request::Resume(Resume::Continue(Direction::Backward)) => "bc".into(),
            Request::Breakpoint { insert, kind, address, size } => {
                format!("{}{kind:x},{address:x},{size:x}", if *insert { 'Z' } else { 'z' })
            }
            Request::Transfer { object, annex, offset, len } => {
                format!("qXfer:{object}:read:{annex}:{offset:x},{len:x}")
            }
            Request::Command(text) => {
                let mut packet = b"qRcmd,".to_vec();
                hex::put(text.as_bytes(), &mut packet);
                return packet;
            }
            Request::BranchTrace { on } => if *on { "Qbtrace:bts" } else { "Qbtrace:off" }.into(),
            Request::Attached => "qAttached".into(),
            Request::Detach => "D".into(),
            Request::Kill { answered } => (if *answered { "vKill;1" } else { "k" }).into(),
            Request::Unknown => String::new(),
        };
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Backward, Forward};

    #[test]
    fn requests_and_back() {
        for (text, want) in [
            ("qSupported", Request::Supported),
            ("QStartNoAckMode", Request::NoAcknowledgement),
            ("?", Request::StopReason),
            ("g", Request::Registers),
            ("p1f", Request::Register(31)),
            ("m8000,40", Request::Memory { address: 0x8000, len: 0x40, binary: false }),
            ("x8000,40", Request::Memory { address: 0x8000, len: 0x40, binary: true }),
            ("Hg0", Request::SelectThread { steps: false, thread: None }),
            ("Hc2", Request::SelectThread { steps: true, thread: Some(2) }),
            ("Tb", Request::IsAlive(11)),
            ("qC", Request::CurrentThread),
            ("qfThreadInfo", Request::FirstThreads),
            ("qsThreadInfo", Request::MoreThreads),
            ("qThreadExtraInfo,1", Request::ThreadInfo(1)),
            ("vCont?", Request::ResumeForms),
            ("vCont;c", Request::Resume(Resume::Continue(Forward))),
            ("vCont;s:1", Request::Resume(Resume::Step(Some(1), Forward))),
            ("vCont;r10,20:2", Request::Resume(Resume::Range(Some(2), 16, 32))),
            ("bs", Request::Resume(Resume::Step(None, Backward))),
            ("bc", Request::Resume(Resume::Continue(Backward))),
            ("Z0,8000,4", Request::Breakpoint { insert: true, kind: 0, address: 0x8000, size: 4 }),
            (
                "z3,8000,10",
                Request::Breakpoint { insert: false, kind: 3, address: 0x8000, size: 16 },
            ),
            (
                "qXfer:features:read:target.xml:0,ffb",
                Request::Transfer {
                    object: "features".into(),
                    annex: "target.xml".into(),
                    offset: 0,
                    len: 0xffb,
                },
            ),
            ("qRcmd,7768656e", Request::Command("when".into())),
            ("Qbtrace:bts", Request::BranchTrace { on: true }),
            ("Qbtrace:off", Request::BranchTrace { on: false }),
            ("qAttached", Request::Attached),
            ("D", Request::Detach),
            ("k", Request::Kill { answered: false }),
            ("vKill;1", Request::Kill { answered: true }),
        ] {
            assert_eq!(Request::parse(text.as_bytes()), want, "{text}");
            assert_eq!(want.emit(), text.as_bytes());
        }
    }

    #[test]
    fn other_forms() {
        for (text, want) in [
            ("Hc-1", Request::SelectThread { steps: true, thread: None }),
            ("c", Request::Resume(Resume::Continue(Forward))),
            ("s8000", Request::Resume(Resume::Step(None, Forward))),
            ("vCont;C05:1;c", Request::Resume(Resume::Continue(Forward))),
            ("vCont;c:1;s:2", Request::Resume(Resume::Step(Some(2), Forward))),
            ("qSupported:xmlRegisters=i386,arm", Request::Supported),
            ("X8000,0:", Request::Write),
        ] {
            assert_eq!(Request::parse(text.as_bytes()), want, "{text}");
        }
        for text in [
            "",
            "m",
            "m1",
            "m1,",
            "p",
            "Hx1",
            "T",
            "b",
            "bx",
            "Z0",
            "Z0,",
            "Z0,8000",
            "Z0,8000,",
            "vCont;",
            "vCont;t",
            "vCont;r1:1",
            "vMustReplyEmpty",
            "qRcmd,7",
            "qXfer:features:read:x",
            "gg",
            "!",
            "\u{7f}",
        ] {
            assert_eq!(Request::parse(text.as_bytes()), Request::Unknown, "{text}");
        }
    }
}
