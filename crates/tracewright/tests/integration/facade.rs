//! The three-line way to decode a capture: elements, listener, summary, and what is refused.

use tracewright::base::{Channel, Context, Isa, Retired, Security, Software, Step};
use tracewright::capture::{Buffer, BufferRef, Dump, Format, Registers, Source};
use tracewright::decode::Options;
use tracewright::decode::raw::RawTrace;
use tracewright::isa::assemble::a64;
use tracewright::isa::{ItState, classify};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol;
use tracewright::{Capture, DecodeError, Element, ImageSource, Item, Listener, OpenError, Trace};
use tracewright_testing::shared;

/// What threads may share and send.
const _: () = {
    const fn sent<T: Send>() {}
    const fn shared_by_threads<T: Send + Sync>() {}
    shared_by_threads::<Trace>();
    shared_by_threads::<Capture>();
    shared_by_threads::<DecodeError>();
    shared_by_threads::<OpenError>();
    sent::<tracewright::Elements<'_>>();
    sent::<tracewright::Summary>();
    sent::<tracewright::decode::Session>();
    sent::<tracewright::decode::Plan>();
};

/// The name of the variant is in the debug format, and the message in the other.
#[test]
fn errors_have_two_formats() {
    let error = tracewright::open("/nonexistent/capture").err().unwrap();
    assert!(format!("{error:?}").contains("Unreadable"), "{error:?}");
    assert!(error.to_string().starts_with("/nonexistent/capture: "), "{error}");
    let error = Trace::new(Capture::default()).elements().err().unwrap();
    assert!(format!("{error:?}").starts_with("NothingToDecode"), "{error:?}");
    assert!(error.to_string().starts_with("the capture has no trace buffer"), "{error}");
}

const START: u64 = 0x8_0000;

/// The bytes of a trace unit that sees `steps`.
fn encode(protocol: AnyProtocol, steps: &[Step]) -> Vec<u8> {
    let mut unit = AnyUnit::new(protocol, None, &|_| None).unwrap().unwrap();
    let mut bytes = Vec::new();
    unit.steps(steps, &mut bytes);
    unit.finish(&mut bytes);
    bytes
}

fn source(name: &str, protocol: AnyProtocol, buffer: usize) -> Source {
    Source {
        name: name.into(),
        device_type: protocol.about().names[0].into(),
        registers: Registers::from_iter(AnyUnit::usual(protocol).iter().copied()),
        buffers: vec![BufferRef { buffer, stream: None }],
        ..Source::default()
    }
}

/// Buffer 0: an ETMv4 that sees a loop of three iterations. Buffer 1: an ITM with a write of `!` to
/// port 0.
fn capture() -> Capture {
    let opcodes = [a64::NOP, a64::b_cond(1, -4).unwrap()];
    let mut steps = vec![Step::Context(Context {
        isa: Isa::A64,
        bits64: true,
        el: Some(0),
        security: Some(Security::NonSecure),
        ..Context::default()
    })];
    for n in 0..6 {
        let (address, index) = (START + 4 * (n % 2), n as usize % 2);
        let bytes = opcodes[index].to_le_bytes();
        let instruction = classify(Isa::A64, &bytes, address, &mut ItState::default()).unwrap();
        let taken = index == 1 && n < 5;
        let next = if taken { START } else { address + 4 };
        steps.push(Step::Retired(Retired {
            address,
            next,
            next_isa: Isa::A64,
            taken,
            instruction,
        }));
    }
    let port = Channel::Port { page: Some(0), port: 0 };
    let write = [Step::SoftwareWrite(Software::new(port, 8, u64::from(b'!')))];
    let memory = opcodes.iter().flat_map(|opcode| opcode.to_le_bytes()).collect::<Vec<u8>>();
    Capture {
        buffers: vec![
            Buffer::new("ETB_0", Format::SourceData, encode(AnyProtocol::Etmv4, &steps)),
            Buffer::new("ETB_1", Format::SourceData, encode(AnyProtocol::Itm, &write)),
        ],
        sources: vec![source("ETM_0", AnyProtocol::Etmv4, 0), source("ITM_0", AnyProtocol::Itm, 1)],
        memory: vec![Dump::new("program", START, memory)],
        ..Capture::default()
    }
}

/// Collects elements.
#[derive(Default)]
struct All(Vec<(usize, u64, Element)>);

impl Listener for All {
    fn element(&mut self, source: usize, offset: u64, element: Element) {
        self.0.push((source, offset, element));
    }
}

#[test]
fn iterator_and_listener_give_the_same_elements_of_all_buffers() {
    let trace = Trace::new(capture());
    let names: Vec<_> = trace.sources().iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["ETM_0", "ITM_0"]);

    let mut all = All::default();
    let summary = trace.decode(&mut all).unwrap();
    assert!(summary.is_complete(), "{summary}");
    assert_eq!(summary.sources[0].1.instructions, 6);
    assert_eq!(summary.sources[1].1.bytes(), trace.capture().buffers[1].len());

    let mut elements = trace.elements().unwrap();
    let items: Vec<Item> = elements.by_ref().map(Result::unwrap).collect();
    let items: Vec<_> = items.iter().map(|item| (item.source, item.offset, item.element)).collect();
    assert_eq!(items, all.0);
    assert!(elements.summary().is_complete());
    let writes = items.iter().filter(|(n, _, e)| *n == 1 && matches!(e, Element::SoftwareWrite(_)));
    assert_eq!(writes.count(), 1);
}

#[test]
fn a_source_that_cannot_be_decoded_is_an_error_that_names_its_register() {
    let mut capture = capture();
    capture.sources[0].registers.0.retain(|register| register.name != "TRCCONFIGR");
    let trace = Trace::new(capture);
    for error in [trace.decode(&mut All::default()).err().unwrap(), trace.elements().err().unwrap()]
    {
        let DecodeError::SourcesLeftOut(left_out) = &error else { panic!("{error}") };
        assert_eq!(left_out[0].name, "ETM_0");
        assert!(error.to_string().contains("TRCCONFIGR"), "{error}");
        assert!(error.to_string().contains("partial"), "{error}");
        // The capture is in memory: no path, section or key.
        assert!(error.to_string().contains("ETM_0 cannot be decoded"), "{error}");
        assert!(!error.to_string().contains(": ETM_0"), "{error}");
    }
}

/// Each branch of a range up to a source address has a range, unless they are joined by wish.
#[test]
fn ranges_end_at_each_branch() {
    let Some(folder) = shared("conformance/arm/snapshots/src_addr") else { return };
    let trace = tracewright::open(folder).unwrap().partial();
    let ranges = |trace: &Trace| -> (usize, u64) {
        let ranges = trace.elements().unwrap().filter_map(|item| match item.unwrap().element {
            Element::Range(range) => Some(u64::from(range.instructions)),
            _ => None,
        });
        ranges.fold((0, 0), |(ranges, all), instructions| (ranges + 1, all + instructions))
    };
    let joined = ranges(&trace);
    let options = Options { split_source_ranges: true, ..Options::default() };
    let split = ranges(&trace.with_options(options));
    assert!(split.0 > joined.0, "{split:?}, {joined:?}");
    assert_eq!(split.1, joined.1);
}

/// A symbol in parts is the symbol as text.
#[test]
fn symbols_have_parts() {
    let Some(file) = shared("captures/sigrok-stm32f105/trace_example.elf") else { return };
    let trace = Trace::new(capture()).with_image(&ImageSource::file(file)).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for address in (0x0800_0000..0x0800_2000).step_by(2) {
        let text = trace.symbol(0, address);
        let parts = trace.symbol_at(0, address).map(|symbol| {
            names.insert(symbol.name.to_string());
            match symbol.offset {
                0 => symbol.name.into_owned(),
                offset => format!("{}+{offset:#x}", symbol.name),
            }
        });
        assert_eq!(parts, text);
    }
    assert!(names.contains("main") && names.contains("delay"), "{names:?}");
}

#[test]
fn partial_decodes_the_others_and_the_summary_has_what_was_left_out() {
    let mut capture = capture();
    capture.sources[0].device_type = "unheard-of".into();
    let trace = Trace::new(capture).partial();
    let summary = trace.decode(&mut All::default()).unwrap();
    assert_eq!(summary.sources.len(), 1);
    assert_eq!(summary.left_out.len(), 1);
    assert!(!summary.is_complete());
    assert!(summary.to_string().contains("left out"), "{summary}");
}

#[test]
fn a_capture_without_a_source_has_nothing_to_decode() {
    let mut capture = capture();
    capture.sources.clear();
    let error = Trace::new(capture).elements().err().unwrap();
    assert!(matches!(error, DecodeError::NothingToDecode { .. }));
    assert!(error.to_string().contains("ETB_0"), "{error}");
    let error = Trace::new(Capture::default()).elements().err().unwrap();
    assert_eq!(error.to_string(), "the capture has no trace buffer");
}

#[test]
fn a_listener_that_is_full_ends_the_decoding() {
    /// Wants one element.
    struct One(usize);

    impl Listener for One {
        fn element(&mut self, _: usize, _: u64, _: Element) {
            self.0 += 1;
        }

        fn full(&self) -> bool {
            self.0 > 0
        }
    }

    let mut one = One(0);
    let _ = Trace::new(capture()).decode(&mut one).unwrap();
    // The second buffer is not decoded.
    assert!(one.0 > 0 && one.0 < 8, "{}", one.0);
}

/// A dump without a description has the elements of its snapshot, and states what was assumed.
#[test]
fn a_dump_without_a_description() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/itm/capture");
    let (dump, notes) =
        tracewright::open_raw(format!("{folder}/ETB_0.bin"), RawTrace::default(), &[]).unwrap();
    let elements = |trace: &Trace| {
        let items = trace.elements().unwrap().map(|item| item.unwrap());
        items.map(|item| (item.offset, item.element)).collect::<Vec<_>>()
    };
    let want = elements(&tracewright::open(folder).unwrap());
    assert!(want.len() > 20, "{}", want.len());
    assert_eq!(elements(&dump), want);
    assert!(notes.iter().any(|note| note.starts_with("detected: ")), "{notes:?}");
    let missing = tracewright::open_raw("no such file", RawTrace::default(), &[]).err().unwrap();
    assert!(missing.to_string().starts_with("no such file: "), "{missing}");
}

/// What threads pass to one another.
#[test]
fn traces_and_sessions_go_to_other_threads() {
    fn sent<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    shared::<Trace>();
    shared::<tracewright::Files>();
    shared::<tracewright::index::Index>();
    sent::<tracewright::Elements<'static>>();
    sent::<tracewright::Ranges<'static>>();
    sent::<tracewright::decode::Session>();
    sent::<DecodeError>();
    sent::<OpenError>();
}
