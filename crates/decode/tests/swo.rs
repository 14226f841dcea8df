//! A Cortex-M3's SWO capture: ITM and ETM in the frames of a TPIU, without a synchronisation packet.

use std::path::{Path, PathBuf};

use tracewright_base::{Element, Fault, Gap};
use tracewright_capture::{Capture, Format, Raw};
use tracewright_decode::{Listener, Memory, Options, Plan, Session};
use tracewright_frames::Numbering;

fn shared(path: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = std::env::var_os("TRACEWRIGHT_SHARED").map(PathBuf::from);
    // A worktree is one level deeper than the main checkout.
    let roots =
        root.into_iter().chain(["../../../shared", "../../../../shared"].map(|r| here.join(r)));
    let found = roots.map(|root| root.join(path)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: no {path}");
    }
    found
}

#[derive(Default)]
struct Elements(Vec<Element>);

impl Listener for Elements {
    const PACKETS: bool = false;

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
    Session::new(capture, &plan, &memory, &options).run(parts, &mut elements);
    elements.0
}

#[test]
fn an_itm_that_never_synchronises_starts_at_its_first_byte() {
    let Some(path) = shared("captures/sigrok-stm32f105/swo_uart.bin") else { return };
    let raw = Raw {
        device_type: "ITM".to_owned(),
        registers: vec!["ITMTCR=0x00010000".to_owned()],
        format: Format::CoreSight,
        core: None,
        images: Vec::new(),
    };
    let capture = Capture::raw(&[path], &raw).unwrap();
    let elements = decode(&capture, Numbering::Capture);
    let count = |want: fn(&Element) -> bool| elements.iter().filter(|e| want(e)).count();
    // sigrok has 392 samples and misses one, and 66 reports of watched data.
    assert_eq!(count(|e| e.to_string().starts_with("hardware   pc ")), 393);
    assert_eq!(count(|e| e.to_string().contains("comparator")), 66);
    assert_eq!(count(|e| matches!(e, Element::Bad { .. })), 0);
    assert_eq!(elements.first(), Some(&Element::Gap(Gap::Start)));
    // The text of port 0, a byte a write.
    let text: String = elements
        .iter()
        .filter_map(|e| match e {
            Element::Software(w) if w.bits == 8 => Some(w.value() as u8 as char),
            _ => None,
        })
        .collect();
    assert_eq!(text.matches("On").count(), 5);
    assert_eq!(text.matches("Sort").count(), 8);
    // A listing in the reference's words waits, as the reference does.
    assert!(matches!(
        decode(&capture, Numbering::Reference)[..],
        [Element::Gap(Gap::Start), Element::Bad { fault: Fault::Unsynchronised, .. }, Element::End]
    ));
}
