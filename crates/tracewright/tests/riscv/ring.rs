//! A ring buffer that wrapped has lost the start of its oldest packet: packets are found from any
//! offset, and from the next packet of format 3 on the elements are those of the whole trace.

use std::fs;
use std::path::{Path, PathBuf};

use tracewright::base::{Element, Parse, Sink, Wire};
use tracewright::decode::{Memory, Options, Plan, Session};
use tracewright::protocols::etrace::config::{Framing, PARAMETERS, Profile};
use tracewright::protocols::etrace::encode::Settings;
use tracewright::protocols::etrace::sync::LOOKED_AHEAD;
use tracewright::protocols::etrace::{Packet, Params};
use tracewright::protocols::registry::AnyConfig;

use tracewright_testing::short_or_long;

use crate::damage::starts;
use crate::decode::elf;
use crate::encode::{encode, log};
use crate::program::Random;
use crate::run::{Addresses, BOOT, boot, cache, elements, program};
use crate::streams::{self, Stream};

#[test]
fn any_offset() {
    let Some(root) = streams::shared() else { return };
    let mut random = Random::new(7);
    let mut all = streams::reference(&root);
    all.retain(|stream| (4_000..25_000).contains(&stream.bytes.len()));
    let trdb = trdb(&root);
    let others = all.len();
    all.extend(trdb);
    let (mut compared, mut of_trdb) = (0, 0);
    for (n, stream) in all.iter().enumerate() {
        let image = program(elf(&root, stream), stream.params.rv64);
        let mut code = cache(&image, &stream.params);
        let mut whole: Vec<(u64, Element)> = Vec::new();
        elements(&stream.bytes, &stream.params, &mut code, &mut whole);
        let starts = starts(stream);
        let mut params = stream.params;
        params.link.aligned = false;
        for _ in 0..short_or_long(8, 20) {
            let lost = random.below(stream.bytes.len() as u64 / 2) as usize;
            let Some(&start) = starts.iter().find(|start| **start >= lost + LOOKED_AHEAD) else {
                continue;
            };
            let mut got: Vec<(u64, Element)> = Vec::new();
            elements(&stream.bytes[lost..], &params, &mut code, &mut got);
            let from = |list: &[(u64, Element)], lost: usize| {
                let first = list.partition_point(|(at, _)| *at as usize + lost <= start);
                let moved = list[first..].iter().map(|(at, e)| (*at + lost as u64, *e));
                moved.collect::<Vec<_>>()
            };
            let (want, got) = (from(&whole, 0), from(&got, lost));
            let same = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
            assert!(
                want == got,
                "{} from {lost}, after {start}: {same} of {} the same, then {:?}, not {:?}",
                stream.path.display(),
                want.len(),
                got.get(same),
                want.get(same),
            );
            compared += 1;
            of_trdb += usize::from(n >= others);
        }
    }
    println!("{compared} offsets of {} streams, {of_trdb} of PULP's of 0.026", all.len());
    assert!(
        compared > short_or_long(80, 200)
            && (of_trdb > short_or_long(8, 20) || all.len() == others)
    );
}

/// Streams of PULP's units of 0.026, which have full addresses only at traps. The programs have
/// traps, because the captures of other programs have a full address only at the start.
fn trdb(root: &Path) -> Vec<Stream> {
    let mut all = Vec::new();
    for (program, rv64) in [("own_traps_rv64", true), ("own_traps_rv32", false)] {
        let Some(steps) = log(root, program) else { continue };
        for full_address in [false, true] {
            let mut params = Params::of(Profile::PulpTrdb, rv64);
            params.options.full_address = full_address;
            let (_, bytes) = encode(&steps, &params, &Settings::default());
            let path = format!("{program}, full addresses {full_address}").into();
            all.push(Stream { path, program: program.to_owned(), params, bytes });
        }
    }
    all
}

/// A capture folder whose buffer is a ring. `drop` removes it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new(program: &[u8], rv64: bool) -> Folder {
        let name = format!("tracewright-{}-ring", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("program.elf"), program).unwrap();
        fs::write(folder.join("boot.bin"), boot(rv64)).unwrap();
        Folder(folder)
    }

    /// Writes a ring whose oldest byte is at `wrap`, and the description.
    fn put(&self, ring: &[u8], wrap: usize, params: &Params) -> &Path {
        fs::write(self.0.join("ring.bin"), ring).unwrap();
        let known = PARAMETERS.iter().filter_map(|p| Some((p.name(), (p.get)(params)?)));
        let known: String = known.map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
        let text = format!(
            "[[buffer]]\nname = \"ram\"\nfile = \"ring.bin\"\nwrap = {wrap}\n\
             [[image]]\nfile = \"program.elf\"\n\
             [[image]]\nfile = \"boot.bin\"\naddress = {BOOT}\n\
             [[source]]\nname = \"hart0\"\nprotocol = \"etrace\"\n[source.parameters]\n{known}"
        );
        fs::write(self.0.join("capture.toml"), text).unwrap();
        &self.0
    }
}

/// The elements of a capture folder, with offsets from its oldest byte.
fn opened(folder: &Path, params: &Params) -> Vec<(u64, Element)> {
    struct Recorded(Vec<(u64, Element)>);
    impl tracewright::Listener for Recorded {
        fn element(&mut self, _: usize, at: u64, element: Element) {
            self.0.push((at, element));
        }
    }
    let capture = tracewright::read_capture(folder).unwrap();
    let options = Options::default();
    let plan = Plan::new(&capture, 0, &options).unwrap();
    assert!(matches!(&plan.sources[0].config, AnyConfig::Etrace(read) if read == params));
    let memory = Memory::new(&capture);
    let mut recorded = Recorded(Vec::new());
    Session::new(&capture, &plan, &memory, &options)
        .unwrap()
        .run(capture.buffers[0].parts(), &mut recorded);
    recorded.0
}

/// The same packets, each in an encapsulation with a source number and a timestamp.
fn encapsulated(stream: &Stream) -> Stream {
    let mut params = stream.params;
    params.link.framing = Framing::Encapsulated;
    (params.link.source_width, params.link.timestamp_bytes, params.link.type_width) = (10, 2, 1);
    let (mut at, mut bytes) = (0, Vec::new());
    while let Parse::Packet(mut packet, len) = Packet::parse(&stream.bytes[at..], &stream.params) {
        packet.envelope.source = 0x155;
        packet.envelope.timestamp = (at % 3 != 0).then_some(at as u64 & 0xffff);
        packet.emit(&params, &mut bytes);
        at += len;
    }
    assert_eq!(at, stream.bytes.len());
    Stream { path: stream.path.clone(), program: stream.program.clone(), params, bytes }
}

/// A RAM sink that wrapped contains the end of the trace, and begins at the write pointer. The
/// instructions are those of the whole trace from the first complete packet of format 3 on.
#[test]
fn captures_of_rings() {
    let Some(root) = streams::shared() else { return };
    let mut all = streams::reference(&root);
    // The lost bytes are less than half of the stream.
    let fits = |stream: &Stream| {
        let late = starts(stream).last().is_some_and(|last| *last > stream.bytes.len() / 2);
        (6_000..100_000).contains(&stream.bytes.len()) && late
    };
    all.retain(fits);
    let wide = all.iter().position(|stream| stream.params.rv64).unwrap();
    let narrow = all.iter().position(|stream| !stream.params.rv64).unwrap();
    let mut random = Random::new(11);
    for siemens in [&all[wide], &all[narrow]] {
        assert_eq!(siemens.params.link.framing, Framing::Siemens);
        rings(&root, siemens, &mut random);
        rings(&root, &encapsulated(siemens), &mut random);
    }
    for stream in &trdb(&root) {
        rings(&root, stream, &mut random);
    }
}

fn rings(root: &Path, stream: &Stream, random: &mut Random) {
    let Stream { path, bytes, .. } = stream;
    let program_file = elf(root, stream);
    let image = program(program_file.clone(), stream.params.rv64);
    let folder = Folder::new(&program_file, stream.params.rv64);
    let executed = |list: &[(u64, Element)]| {
        let (mut addresses, mut odd) = (Vec::new(), Vec::new());
        let code = cache(&image, &stream.params);
        let each = |address| addresses.push(address);
        let mut sink = Addresses { code, isa: stream.params.isa(), each, odd: &mut odd };
        list.iter().for_each(|(at, element)| sink.element(*at, *element));
        (addresses, odd)
    };
    let mut code = cache(&image, &stream.params);
    let mut whole: Vec<(u64, Element)> = Vec::new();
    elements(bytes, &stream.params, &mut code, &mut whole);
    let mut params = stream.params;
    params.link.aligned = false;
    let starts = starts(stream);
    for _ in 0..short_or_long(4, 12) {
        // The last bytes of the stream, each at its offset in a sink of this size.
        let size = bytes.len() / 2 + random.below(bytes.len() as u64 / 3) as usize;
        let (lost, wrap) = (bytes.len() - size, bytes.len() % size);
        let mut ring = bytes[lost..].to_vec();
        ring.rotate_right(wrap);
        assert!(wrap > 0 && ring[wrap] == bytes[lost], "the oldest byte is in the middle");
        let got = opened(folder.put(&ring, wrap, &params), &params);
        let name = format!("{} in {size} bytes, {wrap} of them over", path.display());

        let start = *starts.iter().find(|start| **start >= lost).unwrap();
        let after = whole.partition_point(|(at, _)| *at as usize <= start);
        let (want, emitted_before) = (executed(&whole).0, executed(&whole[..after]).0.len());
        let (got, odd) = executed(&got);
        let cut = want.len() - got.len();
        let same = want[cut..].iter().zip(&got).take_while(|(a, b)| a == b).count();
        assert_eq!(same, got.len(), "{name}: not the end of what was executed");
        // The instruction of the packet may have been emitted with the previous ones. With trapped
        // instructions in the stream, the packet after a trap may determine whether the instruction
        // before the trap was retired.
        let later = params.choices.trapped_in_stream && cut == emitted_before + 1;
        // A packet of formats 0 and 1 with an absolute address is enough to begin.
        let absolute = params.is_draft() && cut < emitted_before;
        let fits = cut == emitted_before || cut + 1 == emitted_before || later || absolute;
        assert!(fits, "{name}: {cut}, not {emitted_before}");
        // The ambiguities of the whole trace remain.
        let late = executed(&whole[after..]).1.len();
        let (bad, inconsistencies): (Vec<_>, Vec<_>) =
            odd.iter().partition(|odd| odd.contains("undecodable"));
        assert!(bad.len() <= 2 && inconsistencies.len() == late, "{name}: {odd:?}");
    }
}
