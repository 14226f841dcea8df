//! The most likely cause of a poor result, as a sentence.

use tracewright_base::remedy::{ALIGN, FRAMING, ID, IMAGE, PROTOCOL};
use tracewright_decode::detect::cause::Cause;
use tracewright_protocols::registry::AnyProtocol;

use super::{Decoded, Remark};

impl Decoded<'_> {
    /// The most likely cause of a poor result; `None` where the result is good, or nothing explains
    /// it. The start of the buffer is decoded in other ways.
    pub fn cause(&self) -> Option<Cause> {
        Cause::of(self.capture, self.plan, self.tally)
    }

    /// The cause in one sentence, and the option that changes it.
    pub fn cause_remark(&self, cause: &Cause) -> Remark {
        let name = |n: usize| {
            let Some(source) = self.sources.get(n) else { return String::new() };
            match source.id {
                Some(id) => format!("{} (ID {id:#04x})", source.name),
                None => source.name.clone(),
            }
        };
        let (what, help) = match cause {
            Cause::Framing { framing, reason } => (
                format!(
                    "the framing is not {} but {}: {reason}",
                    self.plan.framing.option(),
                    framing.option()
                ),
                format!("use {FRAMING} {}", framing.option()),
            ),
            Cause::Alignment { skip } => (
                format!(
                    "the buffer begins inside a frame: formatter frames begin at byte {skip}, not \
                     at byte 0"
                ),
                format!("use {ALIGN} {skip}"),
            ),
            Cause::Protocol { source, protocol, title, reason, parameters } => {
                let given = self.plan.sources.get(*source).map(|source| source.config.protocol());
                let name = name(*source);
                if given == Some(*protocol) {
                    (
                        format!(
                            "{name}: the parameters are not those of the traced unit, which is \
                             {title}: {reason}"
                        ),
                        format!("correct the parameters: {}", parameters.join(", ")),
                    )
                } else {
                    let given = self.sources.get(*source).map_or("", |source| source.protocol());
                    (
                        format!("{name}: the protocol is not {given} but {title}: {reason}"),
                        format!("use {PROTOCOL}, or correct the type of the trace unit"),
                    )
                }
            }
            Cause::Registers { source, registers } => {
                let (what, list) = of_registers(registers);
                (
                    format!("{}: {what}: the bytes make sense with {list}", name(*source)),
                    format!("correct the registers: {list}"),
                )
            }
            Cause::Image { source, outside } => (
                format!(
                    "{}: the image is not the program that was traced: {}",
                    name(*source),
                    match outside {
                        true => "many traced addresses are outside of it",
                        false => "its instructions contradict the trace",
                    }
                ),
                format!("give the program that ran, at its address, with {IMAGE} FILE[@ADDRESS]"),
            ),
            Cause::Sources { sources, silent } => {
                let what = format!("the frames have data of other sources: {}", of_ids(sources));
                if silent.is_empty() {
                    (what, format!("describe them too, or select sources with {ID}"))
                } else {
                    let silent: Vec<_> = silent.iter().map(|n| name(*n)).collect();
                    (
                        format!("{what}; and none of {}", silent.join(", ")),
                        "correct the trace ID in the registers of the source, or describe the \
                         others too"
                            .to_owned(),
                    )
                }
            }
            Cause::Damage { from } => (
                format!(
                    "the buffer is damaged from byte {from} on: up to there only configured trace \
                     IDs occur"
                ),
                format!("decode the {from} bytes before it"),
            ),
        };
        Remark { what, help }
    }
}

/// What is wrong with registers, and the values that make sense.
fn of_registers(registers: &[(&'static str, u64)]) -> (String, String) {
    let list = registers.iter().map(|(name, value)| format!("{name}={value:#x}"));
    let names: Vec<_> = registers.iter().map(|(name, _)| *name).collect();
    let what = match names.as_slice() {
        [one] => format!("register {one} is not that of the traced unit"),
        all => format!("registers ({}) are not those of the traced unit", all.join(", ")),
    };
    (what, list.collect::<Vec<_>>().join(", "))
}

/// Trace IDs with the protocol, where it is known, and the number of bytes of each.
fn of_ids(sources: &[(u16, u64, Option<AnyProtocol>)]) -> String {
    let each = sources.iter().map(|(id, bytes, protocol)| match protocol {
        Some(protocol) => {
            let name = protocol.about().names.first().copied().unwrap_or_default();
            format!("ID {id:#04x} ({name}, {bytes} bytes)")
        }
        None => format!("ID {id:#04x} ({bytes} bytes)"),
    });
    each.collect::<Vec<_>>().join(", ")
}
