//! Steps of the debug adapter on the trace, and those of gdb on the program in QEMU: the same
//! places and callers.

use serde_json::json;

use crate::client::Client;
use crate::machines::{MACHINES, Machine, Traced};
use crate::{gdb, transcript};

/// A frame: the function, and the line where there is one.
type Shown = (String, u64);

/// Where a program stands.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    address: u64,
    frames: Vec<Shown>,
}

/// The frame of a line such as `#1  0x1234 in middle (...) at program.c:60`, and whether the
/// address is stated, as it is not the first one of a line.
fn frame(line: &str) -> Option<(Shown, bool)> {
    let text = line.strip_prefix('#')?.split_once(' ')?.1.trim_start();
    let (text, is_inside) = match text.split_once(" in ") {
        Some((_, text)) => (text, true),
        None => (text, false),
    };
    let (name, rest) = text.split_once(" (")?;
    let number = rest.rsplit_once(':').and_then(|(_, number)| number.parse().ok());
    Some(((name.to_owned(), number.unwrap_or(0)), is_inside))
}

/// The places of a transcript.
fn places(text: &str) -> Vec<(Place, bool)> {
    let mut all: Vec<(Place, bool)> = Vec::new();
    for line in text.lines() {
        if let Some(address) = line.strip_prefix("@0x") {
            let address = u64::from_str_radix(address, 16).expect("an address");
            all.push((Place { address, frames: Vec::new() }, false));
        } else if let (Some((own, is_inside)), Some((place, inside))) =
            (frame(line), all.last_mut())
        {
            *inside |= place.frames.is_empty() && is_inside;
            place.frames.push(own);
        }
    }
    all
}

/// What gdb does in the program, but for places inside a line, to which it returns, and those at
/// which it shows a function that is inlined as not entered yet.
fn wanted(gdb: &str, traced: &Traced, before: &[&str], command: &str, count: usize) -> Vec<Place> {
    let mut commands: Vec<String> = before.iter().map(|text| (*text).to_owned()).collect();
    for n in 0..=count {
        if n > 0 {
            commands.push(command.to_owned());
        }
        commands.push("printf \"@%#lx\\n\", (unsigned long) $pc".to_owned());
        commands.push("backtrace".to_owned());
    }
    let (mut child, target) = traced.executed();
    let text = transcript(gdb, &traced.elf, &target, &commands);
    let _ = child.kill();
    let _ = child.wait();
    let mut all: Vec<Place> = Vec::new();
    for (place, is_inside) in places(&text) {
        // Steps of the debug adapter pass over exceptions.
        let is_handler = place.frames.iter().any(|(name, _)| name == "supervisor");
        if is_inside || is_handler || is_loop(&place) {
            continue;
        }
        let enters =
            |last: &Place| last.address == place.address && last.frames.len() < place.frames.len();
        if all.last().is_some_and(enters) {
            all.pop();
        }
        all.push(place);
    }
    // gdb steps into a function that replaces its caller by a tail call.
    let replaced =
        all.iter().position(|place| place.frames.iter().all(|(name, _)| name != "program"));
    all.truncate(replaced.unwrap_or(all.len()));
    assert!(all.len() > count / 4, "{text}");
    all
}

/// Whether it is in the loop of `leaf`. A statement of it begins in a row with a discriminator
/// behind one of the same line, which gdb does not read: it passes more than the line.
fn is_loop(place: &Place) -> bool {
    let own = place.frames.first().map_or(0, |(_, line)| *line);
    let mut lines = (1..).zip(include_str!("../gdb/program.c").lines());
    let is = |text: &str| text.contains("for (int i = 0;") || text.contains("s += i ^ sink;");
    lines.any(|(line, text)| line == own && is(text))
}

fn place(client: &mut Client) -> Place {
    let frames = client.frames(1);
    let address = frames[0]["instructionPointerReference"].as_str().expect("an address");
    let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("an address");
    let shown = |frame: &serde_json::Value| {
        let name = frame["name"].as_str().expect("a name").to_owned();
        (name, frame["line"].as_u64().expect("a line"))
    };
    Place { address, frames: frames.iter().map(shown).collect() }
}

/// Steps of the debug adapter from the first of these places. gdb does not stop where recursion
/// returns to the line that it returns from, though it is another frame; and where it enters a
/// function, it may pass the prologue.
fn compare(traced: &Traced, name: &str, request: &str, want: &[Place]) {
    let capture = traced.capture.to_str().expect("a path");
    let mut client = Client::open(capture, json!({ "stopAt": "start" }));
    let first = format!("{:#x}", want[0].address);
    let list = json!([{ "instructionReference": first }]);
    client.good("setInstructionBreakpoints", json!({ "breakpoints": list }));
    client.go("continue", json!({}));
    client.good("setInstructionBreakpoints", json!({ "breakpoints": [] }));
    let mut all = vec![(client.instruction(), place(&mut client))];
    for (n, want) in want.iter().enumerate().skip(1) {
        loop {
            client.go(request, json!({}));
            let own = place(&mut client);
            let (_, last) = all.last().expect("a place");
            let returns = last.frames.len() > own.frames.len() && last.frames[0] == own.frames[0];
            let enters = last.frames.len() < own.frames.len();
            let is_passed = is_loop(&own) || own != *want && (returns || enters);
            all.push((client.instruction(), own));
            if !is_passed {
                break;
            }
        }
        let near = &all[all.len().saturating_sub(3)..all.len() - 1];
        let (_, own) = all.last().expect("a place");
        assert_eq!(own, want, "{name}: {request} {n} after {near:#?}");
    }
    // As many back, where the step is over calls, and none has left its function.
    let depth = all[0].1.frames.len();
    if request == "next" && all.iter().all(|(_, own)| own.frames.len() == depth) {
        for want in all.iter().rev().skip(1) {
            client.go("stepBack", json!({}));
            assert_eq!(&(client.instruction(), place(&mut client)), want, "{name}: back");
        }
    }
    client.disconnect();
}

fn each(mut test: impl FnMut(&str, Machine, &Traced)) {
    let Some(gdb) = gdb() else { return };
    for machine in MACHINES {
        if let Some(traced) = machine.traced() {
            test(gdb, machine, &traced);
        }
    }
}

#[test]
fn steps_are_those_of_the_program() {
    each(|gdb, machine, traced| {
        let want = wanted(gdb, traced, &["tbreak program", "continue"], "step", 60);
        compare(traced, machine.name, "stepIn", &want);
        let want = wanted(gdb, traced, &["tbreak middle", "continue"], "next", 12);
        compare(traced, machine.name, "next", &want);
    });
}
