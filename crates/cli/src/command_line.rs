//! The command line of this run with other options: the next command that a diagnosis suggests.

use std::path::Path;

use tracewright::capture::plain;
use tracewright::decode::Plan;
use tracewright::decode::detect::cause::Cause;
use tracewright::frames::Framing;

use crate::arguments;

/// A change of the options.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// The option has this value, in place of any other.
    Set(&'static str, String),
    /// The option, with a value that begins so, is left out.
    Drop(&'static str, String),
    /// The option is given once more.
    Add(&'static str, String),
}

/// The command that takes `cause` into account; `None` where no option does. `raw`: the input is
/// raw trace data.
pub fn next(plan: &Plan, raw: bool, cause: &Cause) -> Option<String> {
    let changes = changes(plan, raw, cause)?;
    let arguments = arguments::texts();
    Some(command(&changed(arguments, &changes)))
}

/// The command for the ITM in `input`.
pub fn itm(input: &Path) -> String {
    command(&["itm".to_owned(), input.display().to_string()])
}

/// This command without the protocol, so that it is detected.
pub fn without_protocol() -> String {
    let drop = Change::Drop("--protocol", String::new());
    command(&changed(arguments::texts(), &[drop]))
}

/// This command with only the protocol `name`.
pub fn with_protocol(name: &str) -> String {
    let drop = Change::Drop("--protocol", String::new());
    let add = Change::Add("--protocol", name.to_owned());
    command(&changed(arguments::texts(), &[drop, add]))
}

/// This command with its two inputs in the other order.
pub fn with_inputs_swapped(a: &Path, b: &Path) -> String {
    command(&swapped(arguments::texts(), &a.to_string_lossy(), &b.to_string_lossy()))
}

/// The arguments `a` and `b` are exchanged. Values of options may be the same.
fn swapped(mut arguments: Vec<String>, a: &str, b: &str) -> Vec<String> {
    let before = |n: usize| n.checked_sub(1).and_then(|n| arguments.get(n));
    let at = |own: &str| {
        let all = || (0..arguments.len()).filter(|n| arguments.get(*n).is_some_and(|is| is == own));
        let input = all().find(|n| before(*n).is_none_or(|option| !option.starts_with('-')));
        input.or_else(|| all().next())
    };
    if let (Some(first), Some(second)) = (at(a), at(b)) {
        arguments.swap(first, second);
    }
    arguments
}

fn changes(plan: &Plan, raw: bool, cause: &Cause) -> Option<Vec<Change>> {
    match cause {
        Cause::Framing { framing, .. } => {
            let mut changes = vec![Change::Set("--framing", framing.option().to_owned())];
            if raw {
                // Frames have IDs, and unframed data have none: all is detected again.
                changes.push(Change::Drop("--protocol", String::new()));
                changes.push(Change::Drop("--config", String::new()));
                changes.push(Change::Drop("--align", String::new()));
            }
            Some(changes)
        }
        Cause::Alignment { skip } => Some(vec![Change::Set("--align", skip.to_string())]),
        Cause::Protocol { source, protocol, parameters, .. } if raw => {
            let name = protocol.about().names.first().copied().unwrap_or_default();
            let own = plan.sources.get(*source)?;
            let old = own.config.protocol().about().names;
            let id = id(plan, own.id);
            let mut changes: Vec<_> =
                old.iter().flat_map(|old| spellings(old, own.id)).map(drop_protocol).collect();
            changes.push(Change::Drop("--config", String::new()));
            changes.push(Change::Drop("--params", String::new()));
            changes.push(Change::Add("--protocol", format!("{name}{id}")));
            let parameters = parameters.iter().cloned();
            changes.extend(parameters.map(|text| Change::Add("--config", text)));
            Some(changes)
        }
        Cause::Sources { sources, silent } if raw => {
            let named = sources.iter().filter_map(|(id, _, protocol)| Some((id, (*protocol)?)));
            let add = |name: &str, id: u16| Change::Add("--protocol", format!("{name}@{id:#04x}"));
            // With several units, each has its ID; ID 0 is that of padding.
            let own = plan.sources.iter().enumerate().flat_map(|(n, own)| {
                let names = own.config.protocol().about().names;
                let old = names.iter().flat_map(|name| spellings(name, own.id)).map(drop_protocol);
                let name = names.first().filter(|_| own.id > 0 && !silent.contains(&n));
                old.chain(name.map(|name| add(name, own.id)))
            });
            let names = named.map(|(id, protocol)| {
                add(protocol.about().names.first().copied().unwrap_or_default(), *id)
            });
            Some(own.chain(names).collect())
        }
        Cause::Registers { source, registers } if raw => {
            let own = plan.sources.get(*source)?;
            let id = if plan.sources.len() > 1 { id(plan, own.id) } else { String::new() };
            let changes = registers.iter().flat_map(|(name, value)| {
                [
                    Change::Drop("--config", format!("{name}=")),
                    Change::Add("--config", format!("{name}{id}={value:#x}")),
                ]
            });
            Some(changes.collect())
        }
        _ => None,
    }
}

fn drop_protocol(value: String) -> Change {
    Change::Drop("--protocol", value)
}

/// The spellings of a protocol without and with a trace ID.
fn spellings(name: &str, id: u16) -> [String; 4] {
    let id = [String::new(), format!("@{id}"), format!("@{id:#x}"), format!("@{id:#04x}")];
    id.map(|id| format!("{name}{id}"))
}

/// `@ID` of a source in frames.
fn id(plan: &Plan, id: u16) -> String {
    if plan.framing == Framing::Raw { String::new() } else { format!("@{id:#04x}") }
}

/// The arguments with the changes, in the order of the arguments.
fn changed(arguments: Vec<String>, changes: &[Change]) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        let (option, value) = match argument.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value.to_owned())),
            _ => (argument.as_str(), None),
        };
        let drops = |value: &str| {
            changes.iter().any(|change| match change {
                Change::Set(name, _) => *name == option,
                Change::Drop(name, begin) => *name == option && starts(value, begin),
                Change::Add(..) => false,
            })
        };
        let named = changes.iter().any(|change| match change {
            Change::Set(name, _) | Change::Drop(name, _) => *name == option,
            Change::Add(..) => false,
        });
        if !named {
            out.push(argument);
            continue;
        }
        let separate = value.is_none();
        let value = value.or_else(|| rest.next()).unwrap_or_default();
        if drops(&value) {
            continue;
        }
        if separate {
            out.extend([argument, value]);
        } else {
            out.push(argument);
        }
    }
    for change in changes {
        if let Change::Set(name, value) | Change::Add(name, value) = change {
            out.extend([(*name).to_owned(), value.clone()]);
        }
    }
    out
}

/// Whether a value is `begin` in any case, or begins so where `begin` ends in `=` or is empty.
fn starts(value: &str, begin: &str) -> bool {
    if begin.is_empty() || begin.ends_with('=') {
        value.get(..begin.len()).is_some_and(|head| head.eq_ignore_ascii_case(begin))
    } else {
        value.eq_ignore_ascii_case(begin)
    }
}

/// The command of a shell.
fn command(arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=@:,+%".contains(c);
    let quoted = arguments.iter().map(|argument| {
        let argument = plain::line(argument);
        if !argument.is_empty() && argument.chars().all(plain) {
            argument.into_owned()
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    });
    let all: Vec<_> = quoted.collect();
    format!("tracewright {}", all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_swapped() {
        for (given, want) in [
            ("compare a b --image b", "compare b a --image b"),
            ("compare --image a a b -q", "compare --image a b a -q"),
            ("compare --committed a b", "compare --committed b a"),
            ("compare c d", "compare c d"),
        ] {
            let given = given.split(' ').map(str::to_owned).collect();
            assert_eq!(swapped(given, "a", "b").join(" "), want);
        }
    }

    #[test]
    fn options_are_changed() {
        let arguments = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let set = |option, value: &str| Change::Set(option, value.to_owned());
        let drop = |option, value: &str| Change::Drop(option, value.to_owned());
        let add = |option, value: &str| Change::Add(option, value.to_owned());
        for (given, changes, want) in [
            ("decode a.bin", vec![set("--align", "5")], "decode a.bin --align 5"),
            (
                "decode a.bin --align=3 -o x",
                vec![set("--align", "5")],
                "decode a.bin -o x --align 5",
            ),
            (
                "decode --protocol PTM@0x10 --config ETMCR=1 a.bin --protocol ITM@1",
                vec![
                    drop("--protocol", "PTM@0x10"),
                    drop("--config", ""),
                    add("--protocol", "ETM3@0x10"),
                ],
                "decode a.bin --protocol ITM@1 --protocol ETM3@0x10",
            ),
            (
                "decode a --config ETMCR=1 --config ETMIDR=2",
                vec![drop("--config", "ETMIDR="), add("--config", "ETMIDR=0x3")],
                "decode a --config ETMCR=1 --config ETMIDR=0x3",
            ),
        ] {
            assert_eq!(changed(arguments(given), &changes), arguments(want), "{given}");
        }
    }

    #[test]
    fn arguments_are_quoted() {
        let arguments = ["decode".to_owned(), "my trace.bin".to_owned(), "it's".to_owned()];
        assert_eq!(command(&arguments), r"tracewright decode 'my trace.bin' 'it'\''s'");
    }
}
