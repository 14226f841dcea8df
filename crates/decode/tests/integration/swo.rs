//! A Cortex-M3's SWO capture: ITM and ETM in the frames of a TPIU, without a synchronisation
//! packet.

use std::path::PathBuf;

use tracewright_base::{Channel, Dwt, Element, ExceptionStep, Fault, Gap};
use tracewright_capture::{Capture, Format, Raw};
use tracewright_decode::{Listener, Memory, Options, Plan, Session};
use tracewright_frames::{Framing, Link, Numbering, Sources, Splitter};
use tracewright_testing::shared;

#[derive(Default)]
struct Elements(Vec<Element>);

impl Listener for Elements {
    fn element(&mut self, _: usize, _: u64, element: Element) {
        self.0.push(element);
    }
}

fn decode(capture: &Capture, numbering: Numbering) -> Vec<Element> {
    let options = Options { numbering, ..Options::default() };
    let plan = Plan::new(capture, 0, &options).unwrap();
    let memory = Memory::new(capture);
    let mut elements = Elements::default();
    let parts = capture.buffers[0].parts();
    Session::new(capture, &plan, &memory, &options).unwrap().run(parts, &mut elements);
    elements.0
}

/// The capture with the ITM as its source.
fn itm(path: PathBuf) -> Capture {
    let raw = Raw {
        device_type: "ITM".to_owned(),
        registers: vec!["ITMTCR=0x00010000".to_owned()],
        format: Format::CoreSight,
        core: None,
        images: Vec::new(),
        ..Raw::default()
    };
    Capture::raw(&[path], &raw).unwrap()
}

/// The frames have two streams, byte for byte those of sigrok's decoder. (`etmv3.rs` compares the
/// instructions of stream 2.)
#[test]
fn streams_equal_those_of_sigrok() {
    let folder = "captures/sigrok-stm32f105";
    let Some(path) = shared(&format!("{folder}/swo_uart.bin")) else { return };
    let link = std::fs::read(path).unwrap();
    for cut in [link.len(), 1, 7, 16, 100] {
        let mut splitter = Splitter::new(Link::new(Framing::Coresight));
        let mut sources = Sources::default();
        let mut at = 0;
        for part in link.chunks(cut) {
            splitter.split(at, part, &mut sources);
            at += part.len() as u64;
        }
        splitter.finish(&mut sources);
        let ids: Vec<u16> = sources.iter().map(|source| source.id()).collect();
        assert_eq!(ids, [1, 2]);
        for (id, golden) in [(1, "sigrok_tpiu_s1.txt"), (2, "sigrok_tpiu_s2.txt")] {
            let Some(golden) = shared(&format!("{folder}/{golden}")) else { return };
            let byte = |line: &str| {
                let (_, digits) = line.rsplit_once("0x").unwrap();
                u8::from_str_radix(digits, 16).unwrap()
            };
            let text = std::fs::read_to_string(golden).unwrap();
            let want: Vec<u8> = text.lines().map(byte).collect();
            assert!(!want.is_empty());
            assert!(sources.get(id).unwrap().bytes() == want, "stream {id}, {cut} bytes at a time");
        }
    }
}

/// The data written to ports 0 and 1 and the exceptions, as in the output of sigrok's decoder.
#[test]
fn text_and_exceptions_equal_those_of_sigrok() {
    let folder = "captures/sigrok-stm32f105";
    let Some(path) = shared(&format!("{folder}/swo_uart.bin")) else { return };
    let Some(golden) = shared(&format!("{folder}/sigrok_itm.txt")) else { return };
    let (mut texts, mut exceptions) = ([const { String::new() }; 2], Vec::new());
    for element in decode(&itm(path), Numbering::Capture) {
        match element {
            Element::SoftwareWrite(w) if w.bits == 8 => {
                let Channel::Port { port, .. } = w.channel else { panic!("{w}") };
                texts[usize::from(port)].push(w.value() as u8 as char);
            }
            Element::DwtEvent(hardware) => {
                let Dwt::Exception { number, step } = hardware.meaning() else { continue };
                let verb = match step {
                    ExceptionStep::Entered => "Enter",
                    ExceptionStep::Exited => "Exit",
                    ExceptionStep::Returned => "Resume",
                };
                exceptions.push(match number.checked_sub(16) {
                    Some(irq) => format!("{verb}: IRQ {irq}"),
                    None => format!("{verb}: Thread"),
                });
            }
            _ => {}
        }
    }
    let golden = std::fs::read_to_string(golden).unwrap();
    let lines = || golden.lines().filter_map(|line| line.strip_prefix("arm_itm-1: "));
    for (port, text) in texts.iter().enumerate() {
        let quoted = |line: &str| {
            let rest = line.strip_prefix(&format!("{port}: "))?;
            Some(rest.split('"').nth(1)?.to_owned())
        };
        let want: String = lines().filter_map(quoted).collect();
        assert!(!want.is_empty());
        assert_eq!(*text, want, "port {port}");
    }
    let want: Vec<&str> = lines()
        .filter(|line| ["Enter: ", "Exit: ", "Resume: "].iter().any(|verb| line.starts_with(verb)))
        .collect();
    assert!(!want.is_empty());
    assert_eq!(exceptions, want);
}

#[test]
fn an_itm_that_never_synchronises_starts_at_its_first_byte() {
    let Some(path) = shared("captures/sigrok-stm32f105/swo_uart.bin") else { return };
    let capture = itm(path);
    let elements = decode(&capture, Numbering::Capture);
    let count = |want: fn(&Element) -> bool| elements.iter().filter(|e| want(e)).count();
    // sigrok has 392 PC samples, of which it drops one, and 66 data trace events.
    assert_eq!(count(|e| e.to_string().starts_with("dwt-event  pc ")), 393);
    assert_eq!(count(|e| e.to_string().contains("comparator")), 66);
    assert_eq!(count(|e| matches!(e, Element::Undecodable { .. })), 0);
    assert_eq!(elements.first(), Some(&Element::Gap(Gap::Start)));
    // The text of port 0, one byte for each write.
    let text: String = elements
        .iter()
        .filter_map(|e| match e {
            Element::SoftwareWrite(w) if w.bits == 8 => Some(w.value() as u8 as char),
            _ => None,
        })
        .collect();
    assert_eq!(text.matches("On").count(), 5);
    assert_eq!(text.matches("Sort").count(), 8);
    // A listing in OpenCSD's format waits for synchronisation, as OpenCSD does.
    assert!(matches!(
        decode(&capture, Numbering::Opencsd)[..],
        [
            Element::Gap(Gap::Start),
            Element::Undecodable { fault: Fault::Unsynchronised, .. },
            Element::End
        ]
    ));
}
