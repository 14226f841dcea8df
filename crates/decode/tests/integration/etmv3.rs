//! ETMv3 captures compared with the output of other decoders.

use tracewright_base::{Element, Gap, Start};
use tracewright_capture::{Capture, Format, ImageSource, Raw};
use tracewright_decode::{Event, Listener, Memory, Options, Plan, Session, Wants};
use tracewright_protocols::etmv3::Packet;
use tracewright_protocols::registry::AnyPacket;
use tracewright_testing::{shared, text};

/// The elements of one source.
struct Elements(usize, Vec<(u64, Element)>);

impl Listener for Elements {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if source == self.0 {
            self.1.push((at, element));
        }
    }
}

/// The elements of the source with trace ID `id`.
fn decode(capture: &Capture, id: u16) -> Vec<(u64, Element)> {
    let options = Options::default();
    let plan = Plan::new(capture, 0, &options).unwrap();
    let memory = Memory::new(capture);
    let source = plan.sources.iter().position(|planned| planned.id == id).unwrap();
    let mut elements = Elements(source, Vec::new());
    let parts = capture.buffers[0].parts();
    Session::new(capture, &plan, &memory, &options).unwrap().run(parts, &mut elements);
    elements.1
}

/// An executed instruction: its address, and whether it passed its condition code test.
type Step = (u64, bool);

fn steps(elements: &[(u64, Element)]) -> Vec<Step> {
    let step = |element: &Element| match element {
        Element::Range(range) => {
            assert_eq!(range.instructions, 1);
            Some((range.start, range.taken()))
        }
        _ => None,
    };
    elements.iter().filter_map(|(_, element)| step(element)).collect()
}

/// A Cortex-M3 that traces one function, in TPIU frames on SWO, compared with sigrok's output.
#[test]
fn instructions_equal_those_of_sigrok() {
    let folder = "captures/sigrok-stm32f105";
    let Some(path) = shared(&format!("{folder}/swo_uart.bin")) else { return };
    let Some(elf) = shared(&format!("{folder}/trace_example.elf")) else { return };
    let Some(golden) = shared(&format!("{folder}/sigrok_etmv3.txt")) else { return };
    let registers = ["ETMCR=0x100", "ETMIDR=0x4114f240", "ETMTRACEIDR=2"];
    let raw = Raw {
        device_type: "ETM3".to_owned(),
        registers: registers.map(str::to_owned).to_vec(),
        format: Format::CoreSight,
        core: Some("Cortex-M3".to_owned()),
        images: vec![ImageSource::file(&elf)],
        ..Raw::default()
    };
    let capture = Capture::raw(&[path], &raw).unwrap();
    let got = steps(&decode(&capture, 2));

    let mut want: Vec<Step> = Vec::new();
    let mut pc = 0;
    for line in std::fs::read_to_string(golden).unwrap().lines() {
        let text = line.trim_start_matches("arm_etmv3-1: ");
        if let Some(address) = text.strip_prefix("PC 0x") {
            pc = u64::from_str_radix(address, 16).unwrap();
        } else if text.starts_with("Executed: ") {
            want.push((pc, true));
        } else if text.starts_with("Not executed: ") {
            want.push((pc, false));
        }
    }
    assert!(want.len() > 1000, "{}", want.len());
    assert_eq!(got.len(), want.len());
    let differs = got.iter().zip(&want).position(|(got, want)| got != want);
    assert_eq!(differs, None);
}

/// A Cortex-R5 that runs FreeRTOS, compared with OpenCSD except for its defects G3 and G9.
#[test]
fn freertos_decodes_whole() {
    let folder = "captures/ti-am243x-r5f/freertos";
    let Some(path) = shared(folder) else { return };
    let Some(elf) = shared(&format!("{folder}/freertos.out")) else { return };
    let golden = text(&path.join("opencsd-1.3.3-decode.ppl.gz"));
    let mut want: Vec<(u64, Step)> = Vec::new();
    for line in golden.lines() {
        let Some((prefix, rest)) = line.split_once("OCSD_GEN_TRC_ELEM_INSTR_RANGE(exec range=0x")
        else {
            continue;
        };
        let at = prefix.strip_prefix("Idx:").and_then(|p| p.split(';').next()).unwrap();
        let start = rest.split(':').next().unwrap();
        let passed = rest.contains("(ISA=T32) E ") || rest.contains("(ISA=A32) E ");
        want.push((at.parse().unwrap(), (u64::from_str_radix(start, 16).unwrap(), passed)));
    }
    assert_eq!(want.len(), 232_205);
    // The second instruction of this P-header is cancelled by the packet after it. OpenCSD
    // cancels an instruction only where it is alone in its header. (G3)
    let cancelled = want.iter().position(|&row| row == (22, (0x700a_ce30, true))).unwrap();
    want.remove(cancelled);

    let mut capture = tracewright_capture::open(&path).unwrap();
    let dumps = decode(&capture, 0x10);
    capture.memory.clear();
    capture.add_image(&ImageSource::file(&elf)).unwrap();
    let from_elf = decode(&capture, 0x10);
    assert_eq!(dumps, from_elf);

    let got: Vec<Step> = steps(&dumps);
    let want: Vec<Step> = want.into_iter().map(|(_, step)| step).collect();
    assert!(got == want);
    let count = |of: fn(&Element) -> bool| dumps.iter().filter(|(_, e)| of(e)).count();
    assert_eq!(count(|e| matches!(e, Element::TraceOn(Start::Debug))), 2);
    assert_eq!(count(|e| matches!(e, Element::Exception(_))), 2);
    assert_eq!(count(|e| matches!(e, Element::Context(_))), 61);
    assert_eq!(count(|e| matches!(e, Element::NoCode { .. } | Element::Inconsistency(_))), 0);
    assert_eq!(count(|e| matches!(e, Element::Gap(_))), 1);
    assert!(matches!(dumps[0], (_, Element::Gap(Gap::Start))));
    // The buffer ends inside a branch packet, which OpenCSD lists as a whole one. (G9)
    assert_eq!(count(|e| matches!(e, Element::Undecodable { len: 2, .. })), 1);
}

/// The elements of one source, and the W atoms and gap cycles of its packets.
struct Cycles(Elements, u64);

impl Listener for Cycles {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        self.0.element(source, at, element);
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Event::Packet { source, packet, .. } = event
            && *source == self.0.0
        {
            self.1 += match packet {
                AnyPacket::Etmv3(Packet::Atoms(atoms)) => atoms.cycles().into(),
                AnyPacket::Etmv3(Packet::Isync(isync)) => isync.cycles.unwrap_or(0).into(),
                _ => 0,
            };
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }
}

/// Three Cortex-A7 that count cycles: instructions and gaps equal those of an independent decoder
/// (DS-5), and every cycle is in a range or in an element of its own.
#[test]
fn no_cycle_is_lost() {
    let Some(path) = shared("conformance/arm/snapshots/TC2") else { return };
    let capture = tracewright_capture::open(&path).unwrap();
    let options = Options::default();
    let plan = Plan::new(&capture, 0, &options).unwrap();
    for (id, instructions, gaps) in [(0x10, 7205, 135), (0x11, 7471, 116), (0x12, 1947, 21)] {
        let source = plan.sources.iter().position(|planned| planned.id == id).unwrap();
        let mut counts = Cycles(Elements(source, Vec::new()), 0);
        let memory = Memory::new(&capture);
        let parts = capture.buffers[0].parts();
        Session::new(&capture, &plan, &memory, &options).unwrap().run(parts, &mut counts);
        let Cycles(Elements(_, elements), traced) = counts;
        let starts = elements.iter().filter(|(_, e)| matches!(e, Element::TraceOn(_))).count();
        // The first start of a source is not counted as a gap.
        assert_eq!((steps(&elements).len(), starts - 1), (instructions, gaps), "id {id:x}");
        let cycles = |element: &Element| match element {
            Element::Range(range) => range.cycles.get().unwrap(),
            Element::Cycles(cycles) => cycles.unwrap(),
            _ => 0,
        };
        let sum: u64 = elements.iter().map(|(_, element)| u64::from(cycles(element))).sum();
        assert_eq!(sum, traced, "id {id:x}");
    }
}
