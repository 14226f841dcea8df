//! Every stream decodes to exactly the instructions, traps and timestamps of its tables.

use tracewright::base::{Element, Gap};

use crate::captures::{self, Capture};
use crate::run::Run;

/// The number of equal addresses at the start.
fn common(a: &[u64], b: &[u64]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Decodes a capture with and without the fast path, and compares the instructions.
fn instructions(capture: &Capture) -> Option<Run> {
    let want = capture.addresses()?;
    let image = capture.image();
    let run = Run::of(&capture.bytes, &capture.config, &image, false);
    let name = capture.path.display();
    let same = common(&want, &run.addresses);
    assert_eq!((run.addresses.len(), same), (want.len(), want.len()), "{name}: {:?}", run.odd());
    assert_eq!(run.odd(), Vec::<String>::new(), "{name}");
    let slow = Run::of(&capture.bytes, &capture.config, &image, true);
    assert!(slow.addresses == run.addresses, "{name}: without the fast path");
    assert_eq!(slow.others, run.others, "{name}: without the fast path");
    Some(run)
}

#[test]
fn streams_of_the_reference_encoder() {
    let Some(root) = captures::shared() else { return };
    let streams = captures::nexrv(&root);
    assert_eq!(streams.iter().filter_map(instructions).count(), 20);
}

#[test]
fn streams_of_hardware() {
    let Some(root) = captures::shared() else { return };
    let mut count = 0;
    for capture in captures::sifive(&root) {
        let name = capture.path.display().to_string();
        if ["dv-850", "coremark"].iter().any(|faulty| name.contains(faulty)) {
            continue;
        }
        count += usize::from(instructions(&capture).is_some());
    }
    assert!(count >= 9, "only {count}");
}

/// Two captures in which the encoder is at fault: the fault is reported where it is.
#[test]
fn faulty_encoders() {
    let Some(root) = captures::shared() else { return };
    for (name, certain, faults) in [
        // The last message has 5 of 9 outcomes.
        ("dv-850", 91, &[9][..]),
        // Two synchronisations in a row contradict each other: the first lacks the outcome of its
        // last branch, and the number of half-words of the second ends inside an instruction, which
        // the list has.
        ("coremark", 97_908, &[3433, 3447]),
    ] {
        let captures = captures::sifive(&root);
        let capture = captures.iter().find(|c| c.path.to_string_lossy().contains(name)).unwrap();
        let want = capture.addresses().unwrap();
        let run = Run::of(&capture.bytes, &capture.config, &capture.image(), false);
        let same = common(&want, &run.addresses);
        assert_eq!(same, certain, "{name}: {:?}", run.odd());
        let is_fault = |element: &Element| matches!(element, Element::Inconsistency(_));
        let found = run.others.iter().filter(|(.., element)| is_fault(element));
        let found: Vec<_> = found.map(|(_, at, _)| *at).collect();
        assert_eq!(found, faults, "{name}");
        // Decoding goes on after the last fault.
        if faults.len() > 1 {
            assert!(run.addresses.len() > certain + 10_000, "{name}");
        }
    }
}

/// Instructions, traps, losses and contexts.
fn events(capture: &Capture) {
    let run = instructions(capture).unwrap();
    let name = capture.path.display();
    let rows = capture.table("events").unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let mut want = Vec::new();
    let mut owner = None;
    for row in &rows {
        let [count, event, detail] = &row[..] else { panic!("{row:?}") };
        let count: usize = count.parse().unwrap();
        let cells: Vec<_> = detail.split(',').collect();
        match (event.as_str(), &cells[..]) {
            ("trap", [btype, epc]) => want.push((count, format!("trap {btype} {:x}", number(epc)))),
            ("error", _) => want.push((count, "loss".to_owned())),
            ("own", [format, privilege, _, context]) => {
                let context = match *format {
                    "2" => Some((*context).to_owned()),
                    _ => {
                        owner.as_ref().and_then(|(_, context): &(String, _)| Clone::clone(context))
                    }
                };
                let next = ((*privilege).to_owned(), context);
                if owner.as_ref() != Some(&next) {
                    let (privilege, context) = &next;
                    want.push((count, format!("context {privilege} {context:?}")));
                }
                owner = Some(next);
            }
            _ => {}
        }
    }
    let text = |element: &Element| match element {
        Element::Exception(trap) => {
            Some(format!("trap {} {:x}", trap.number, trap.return_address.unwrap()))
        }
        Element::Gap(Gap::Overflow) => Some("loss".to_owned()),
        Element::Context(context) => {
            let id = context.context_id.map(|id| id.to_string());
            Some(format!("context {} {id:?}", context.el.unwrap()))
        }
        _ => None,
    };
    let got: Vec<_> = run
        .others
        .iter()
        .filter_map(|(count, _, element)| Some((*count, text(element)?)))
        .collect();
    assert_eq!(got, want, "{name}");
    if let Some(rows) = capture.table("timestamps") {
        let want: Vec<(u64, u64)> =
            rows.iter().map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap())).collect();
        let time = |element: &Element| match element {
            Element::Timestamp { value, .. } => Some(*value),
            _ => None,
        };
        let got: Vec<_> =
            run.others.iter().filter_map(|(_, at, element)| Some((*at, time(element)?))).collect();
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn streams_of_an_independent_encoder() {
    let Some(root) = captures::shared() else { return };
    let streams = captures::own(&root);
    assert_eq!(streams.len(), 27);
    streams.iter().for_each(events);
}
