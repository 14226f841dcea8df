//! Names of hardware that are no protocols but that people give as one: what each is, and the next
//! command.

use std::path::Path;

use tracewright::protocols::registry::AnyProtocol;

use crate::args::SourceArgs;
use crate::fail::Fail;
use crate::{arguments, command_line};

/// The next command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// `tracewright itm INPUT`.
    Itm,
    /// The same command without the protocol, so that the protocol is detected.
    Detect,
}

/// Names, what they are, and the next command.
const NAMES: &[(&[&str], &str, Next)] = &[
    (
        &["SWO", "SWV", "TRACESWO", "SWIT"],
        "SWO is a pin, not a protocol: it sends the packets of an ITM as UART (NRZ) or Manchester, \
         which a debug probe converts to bytes",
        Next::Itm,
    ),
    (&["DWT"], "a DWT has no protocol of its own: its events are packets of the ITM", Next::Itm),
    (
        &["TPIU", "TPIU-LITE"],
        "a TPIU is a trace port, not a protocol: it sends the trace of several units in frames, and \
         framing and protocols are detected",
        Next::Detect,
    ),
    (
        &["ETB", "ETF", "ETR", "TMC", "TRBE", "DSTREAM"],
        "that is where trace is stored, not a protocol: framing and protocols are detected",
        Next::Detect,
    ),
    (
        &["CORESIGHT", "CS", "CSTF"],
        "CoreSight is the system of trace units, not a protocol: framing and protocols are detected",
        Next::Detect,
    ),
    (
        &["ETM", "EMBEDDED-TRACE"],
        "an ETM has one of several protocols (ETM1, ETM2, ETM3, ETM4), and which one is detected",
        Next::Detect,
    ),
];

/// The error of a `--protocol` that names other hardware than a trace unit.
pub fn check(args: &SourceArgs, input: &Path) -> Result<(), Fail> {
    let known = arguments::protocols();
    let unknown = args.protocols.iter().filter(|u| known.named(&u.protocol).is_none());
    for unit in unknown {
        if let Some(name) = spelled(&unit.protocol) {
            let id = unit.id.map_or(String::new(), |id| format!("@{id:#04x}"));
            let run = command_line::with_protocol(&format!("{name}{id}"));
            let why = format!("the name of the protocol is {name}; run: {run}");
            return Err(Fail::option("--protocol", &unit.protocol, &why));
        }
        let same = |name: &&str| name.eq_ignore_ascii_case(&unit.protocol);
        let Some((_, what, next)) = NAMES.iter().find(|(names, ..)| names.iter().any(same)) else {
            continue;
        };
        let run = match next {
            Next::Itm => command_line::itm(input),
            Next::Detect => command_line::without_protocol(),
        };
        let why = format!("{what}; run: {run}");
        return Err(Fail::option("--protocol", &unit.protocol, &why));
    }
    Ok(())
}

/// The protocol whose name is written with `v` or `-` in it: `ETMv4`, `E-Trace`.
fn spelled(name: &str) -> Option<&'static str> {
    let plain: String = name.chars().filter(|c| !matches!(c, 'v' | 'V' | '-')).collect();
    AnyProtocol::named(&plain)?.about().names.first().copied()
}
