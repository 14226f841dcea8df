//! Names of the signals of a port, and the bits of levels that they have.

use tracewright_base::remedy::SIGNAL;
use tracewright_frames::cycles::port::{Mode, PAIRS, Wiring};
use tracewright_frames::pins::Width;
use tracewright_units::etm::connector::{Pin, Pinout, signal};

use super::port::{CLOCK, CONTROL, DATA, OTHER};
use super::{Connector, Names, Sends};
use crate::plain::line;

/// The most signals of one name.
const VECTOR: u32 = 64;

/// The signals of a port that a recording has.
pub(super) struct Signals {
    sends: Sends,
    /// Signals and their names in the recording.
    names: Vec<(String, String)>,
    /// The bits that have a signal, and its name in the recording.
    found: Vec<(u8, String)>,
}

impl Signals {
    /// The signals of a port, with `names` in the recording.
    pub(super) fn new(sends: Sends, names: &Names) -> Result<Signals, String> {
        let pins = names.connector.map(|connector| pins(sends, connector)).unwrap_or_default();
        let names = names.signals.iter().map(|text| {
            let pair = text.split_once('=').map(|(a, b)| (a.trim(), b.trim()));
            let (signal, name) = pair.filter(|(_, name)| !name.is_empty()).ok_or_else(|| {
                format!("`{}` is not SIGNAL=NAME, such as TRACECLK=D0", line(text))
            })?;
            let whole = [signal.to_owned(), format!("{signal}[0]")];
            if whole.iter().all(|signal| bit(sends, signal).is_none()) {
                return Err(format!("the port has no signal `{}`", line(signal)));
            }
            Ok((signal.to_ascii_uppercase(), name.to_owned()))
        });
        let mut names = names.collect::<Result<Vec<_>, String>>()?;
        // A signal that is named itself is not that of a pin.
        let other = |(signal, _): &(String, String)| names.iter().all(|(named, _)| named != signal);
        let pins: Vec<_> = pins.into_iter().filter(other).collect();
        names.extend(pins);
        Ok(Signals { sends, names, found: Vec::new() })
    }

    /// The numbers from 0 that a signal of the port can have in the vector of the recording with
    /// the name `name`. 0 where it has no signals of the port.
    pub(super) fn vector(&self, scope: &str, name: &str) -> u32 {
        let names = |given: &str| given.starts_with(name);
        let given = self.names.iter().map(|(_, given)| given.as_str());
        if given.clone().chain(given.filter_map(|given| given.strip_prefix(scope))).any(names) {
            return u32::MAX;
        }
        let name = name.trim_end();
        let own = name.strip_suffix(['a', 'A', 'b', 'B']).and_then(|name| name.strip_suffix('_'));
        let own = own.unwrap_or(name);
        let known = ["TRACEDATA", "PIPESTAT", "TRACEPKT"];
        if known.iter().any(|known| known.eq_ignore_ascii_case(own)) { VECTOR } else { 0 }
    }

    /// The bit of the signal of the recording with the name `name` in the scope `scope`, and with
    /// the number `index` where it is one of several with this name. `None` for a signal that is
    /// not of the port.
    pub(super) fn find(
        &mut self,
        scope: &str,
        name: &str,
        index: Option<u32>,
    ) -> Result<Option<u8>, String> {
        let full = |label: &str| format!("{scope}{label}");
        let label = index.map_or(name.to_owned(), |index| format!("{name}[{index}]"));
        let given = self.names.iter().find_map(|(signal, given)| {
            if *given == label || *given == full(&label) {
                return Some(signal.clone());
            }
            let all = *given == name || *given == full(name);
            index.filter(|_| all).map(|index| format!("{signal}[{index}]"))
        });
        let (bit, named) = match given {
            Some(signal) => (bit(self.sends, &signal), true),
            None => (bit(self.sends, &label), false),
        };
        let Some(bit) = bit else { return Ok(None) };
        let other = |(signal, _): &(String, String)| {
            let whole = index.map_or(signal.clone(), |index| format!("{signal}[{index}]"));
            self::bit(self.sends, signal) == Some(bit) || self::bit(self.sends, &whole) == Some(bit)
        };
        if !named && self.names.iter().any(other) {
            return Ok(None);
        }
        let full = full(&label);
        if let Some((_, first)) = self.found.iter().find(|(found, _)| *found == bit) {
            return Err(format!(
                "`{}` and `{}` are the same signal of the port; select one with {SIGNAL} \
                 SIGNAL=NAME",
                line(first),
                line(&full)
            ));
        }
        self.found.push((bit, full));
        Ok(Some(bit))
    }

    /// Checks that the recording has all signals of the port. The number of TRACEDATA signals,
    /// where the port sends bytes.
    pub(super) fn check(&self) -> Result<Option<Width>, String> {
        let has = |bit: u8| self.found.iter().any(|(found, _)| *found == bit);
        let need = |bit: u8, name: String| {
            if has(bit) {
                return Ok(());
            }
            Err(format!("it has no signal {name}; give its name with {SIGNAL} {name}=NAME"))
        };
        need(CLOCK, "TRACECLK".to_owned())?;
        match self.sends {
            Sends::Bytes => {
                let pins = (0..64).filter(|n| has(DATA + n)).count() as u8;
                (0..pins.max(1)).try_for_each(|n| need(DATA + n, format!("TRACEDATA[{n}]")))?;
                Width::new(pins).map(Some).ok_or_else(|| {
                    format!(
                        "it has {pins} signals of TRACEDATA; a port has 1, 2, 4, or a multiple of 8"
                    )
                })
            }
            Sends::Cycles(wiring) => {
                for signal in 0..4 + wiring.width.pins() {
                    if wiring.mode == Mode::Multiplexed && PAIRS.iter().all(|p| p.0 != signal) {
                        continue;
                    }
                    let suffixes: &[&str] = match wiring.mode {
                        Mode::Demultiplexed => &["_A", "_B"],
                        Mode::Normal | Mode::Multiplexed => &[""],
                    };
                    for suffix in suffixes {
                        let name = match signal {
                            0..=3 => format!("PIPESTAT{suffix}[{signal}]"),
                            _ => format!("TRACEPKT{suffix}[{}]", signal - 4),
                        };
                        if let Some(bit) = bit(self.sends, &name) {
                            need(bit, name)?;
                        }
                    }
                }
                Ok(None)
            }
        }
    }
}

/// The bit of the signal `name`: `TRACEDATA[3]`, `TRACEDATA3` or `TRACEDATA_3`.
fn bit(sends: Sends, name: &str) -> Option<u8> {
    let name = name.to_ascii_uppercase();
    let open = name.strip_suffix(']').unwrap_or(&name);
    let base = open.trim_end_matches(|c: char| c.is_ascii_digit());
    let index: Option<u8> = match open.get(base.len()..) {
        None | Some("") => None,
        Some(digits) => Some(digits.parse().ok()?),
    };
    let base = base.strip_suffix(['[', '_']).unwrap_or(base).trim_end();
    match sends {
        Sends::Bytes => match (base, index) {
            ("TRACECLK", None) => Some(CLOCK),
            ("TRACECTL", None) => Some(CONTROL),
            ("TRACEDATA", Some(n @ 0..64)) => Some(DATA + n),
            _ => None,
        },
        Sends::Cycles(_) if (base, index) == ("TRACECLK", None) => Some(CLOCK),
        Sends::Cycles(wiring) => pin(wiring, base, index),
    }
}

/// The signals of the port that are on pins of its connectors, with the names of the pins.
fn pins(sends: Sends, connector: Connector) -> Vec<(String, String)> {
    let [first, second] = match connector {
        Connector::One(pinout) => [Some((pinout, "")), None],
        // The demultiplexed port of 8 or 16 signals has two connectors of one port each. (8.2.5)
        Connector::Two if matches!(sends, Sends::Cycles(w) if w.mode == Mode::Demultiplexed) => {
            [Some((Pinout::Single, "_A")), Some((Pinout::Single, "_B"))]
        }
        Connector::Two => [Some((Pinout::Single, "")), Some((Pinout::Second, ""))],
    };
    let first = first.into_iter().flat_map(|(pinout, port)| of(sends, pinout, port, ""));
    let second = second.into_iter().flat_map(|(pinout, port)| of(sends, pinout, port, "_2"));
    let mut all: Vec<(String, String)> = first.collect();
    // Both connectors have a pin of TRACECLK.
    all.extend(second.filter(|(signal, _)| signal != "TRACECLK"));
    all
}

/// The signals on one connector, whose names have `port` behind them, and whose pins have `suffix`.
fn of(sends: Sends, pinout: Pinout, port: &str, suffix: &str) -> Vec<(String, String)> {
    // The names of ETMv1 stand for those of ETMv2, too.
    let major = if sends == Sends::Bytes { 3 } else { 1 };
    let with = |number: u8, suffix: &str| {
        let name = signal(number, major)?;
        Some(match name.split_once('[') {
            Some((base, index)) => format!("{base}{suffix}[{index}"),
            None => format!("{name}{suffix}"),
        })
    };
    let named = (1..=38u8).filter_map(|number| {
        let name = match pinout.pin(number)? {
            Pin::Trace(n) | Pin::Pair(n, _) => with(n, port),
            Pin::A(n) if pinout == Pinout::Demultiplexed => with(n, "_A"),
            Pin::B(n) if pinout == Pinout::Demultiplexed => with(n, "_B"),
            Pin::A(n) if pinout == Pinout::Dual => with(n, ""),
            Pin::B(n) if pinout == Pinout::DualB => with(n, ""),
            Pin::Data(n) => Some(format!("TRACEDATA[{n}]")),
            Pin::Named("TRACECLK_A") if pinout == Pinout::DualB => None,
            Pin::Named("TRACECLK_B") if pinout == Pinout::DualB => Some("TRACECLK".to_owned()),
            Pin::Named("TRACECLK" | "TRACECLK_A") => Some("TRACECLK".to_owned()),
            Pin::A(_) | Pin::B(_) | Pin::Logic(_) | Pin::Named(_) | Pin::None => None,
        };
        Some((name?, format!("PIN{number}{suffix}")))
    });
    named.filter(|(signal, _)| bit(sends, signal).is_some()).collect::<Vec<_>>()
}

/// The bit of a signal of an ETMv1 or ETMv2.
fn pin(wiring: Wiring, base: &str, index: Option<u8>) -> Option<u8> {
    let (base, first) = match wiring.mode {
        Mode::Normal | Mode::Multiplexed => (base, DATA),
        Mode::Demultiplexed => match base.strip_suffix("_A") {
            Some(base) => (base, DATA),
            None => (base.strip_suffix("_B")?, OTHER),
        },
    };
    let signal = match (base, index) {
        ("PIPESTAT", Some(n @ 0..4)) => n,
        ("TRACESYNC", None) => 3,
        ("TRACEPKT", Some(n)) if n < wiring.width.pins() => 4 + n,
        _ => return None,
    };
    if wiring.mode == Mode::Multiplexed {
        // A pin has the name of its signal at the rising edge.
        let at = PAIRS.iter().position(|pair| pair.0 == signal)?;
        return Some(first + at as u8);
    }
    Some(first + signal)
}
