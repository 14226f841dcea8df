//! Every stream decodes to exactly the instructions that were executed.

use std::path::Path;

use tracewright::base::{Access, Direction, Element, Fault, Parse, Wire};
use tracewright::protocols::etrace::Packet;
use tracewright::protocols::etrace::config::Framing;

use tracewright_testing::{sample, short_or_long};

use crate::run::{self, addresses, cache, elements, program};
use crate::streams::{self, Stream, read};

/// A list of addresses, one a line.
fn list(path: &Path) -> Vec<u64> {
    let text = String::from_utf8(read(path)).unwrap();
    text.lines()
        .map(|line| u64::from_str_radix(line.trim().trim_start_matches("0x"), 16).unwrap())
        .collect()
}

/// The program of a stream.
pub fn elf(root: &Path, stream: &Stream) -> Vec<u8> {
    let program = stream.program.split('.').next().unwrap();
    let folder = root.join("etrace-ref/elf");
    let file = [format!("{program}.riscv"), format!("{program}.elf")];
    let path = file.iter().map(|file| folder.join(file)).find(|path| path.exists());
    read(&path.unwrap_or_else(|| panic!("no program {program}")))
}

/// Compares a stream with a list, of which the last `cut` instructions may be missing.
fn compare(elf: Vec<u8>, stream: &Stream, want: &[u64], cut: usize) -> Result<(), String> {
    let image = program(elf, stream.params.rv64);
    let mut got = Vec::new();
    let odd = addresses(stream, &image, |address| got.push(address));
    let same = want.iter().zip(&got).take_while(|(want, got)| want == got).count();
    if same == got.len() && want.len() - got.len() <= cut && odd.is_empty() {
        return Ok(());
    }
    let hex = |list: &[u64]| {
        let near = &list[same.saturating_sub(2).min(list.len())..(same + 3).min(list.len())];
        near.iter().map(|address| format!("{address:x}")).collect::<Vec<_>>().join(" ")
    };
    Err(format!(
        "{}: {} of {} instructions, {same} the same\n  want {}\n  got  {}\n  {} odd: {:?}",
        stream.path.display(),
        got.len(),
        want.len(),
        hex(want),
        hex(&got),
        odd.len(),
        &odd[..odd.len().min(3)],
    ))
}

#[track_caller]
fn all(results: impl Iterator<Item = Result<(), String>>, at_least: usize) {
    let results: Vec<_> = results.collect();
    let wrong: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    let text = wrong.iter().map(|why| why.as_str()).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} are wrong\n{text}", wrong.len(), results.len());
    assert!(results.len() >= at_least, "only {} streams", results.len());
}

#[test]
fn reference_streams() {
    let Some(root) = streams::shared() else { return };
    let streams = streams::up_to(20_000, streams::reference(&root));
    let results = streams.into_iter().map(|stream| {
        let list = list(&root.join(format!("etrace-ref/ref-decode/{}.pcs.xz", stream.program)));
        compare(elf(&root, &stream), &stream, &list, 0)
    });
    all(results, short_or_long(35, 60));
}

#[test]
fn streams_with_optional_modes() {
    let Some(root) = streams::shared() else { return };
    let streams = streams::up_to(15_000, streams::optional(&root));
    let results = sample(2, streams).map(|stream| {
        let program = stream.program.split('.').next().unwrap();
        let list = list(&root.join(format!("etrace-ref/ref-decode/{program}.pcs.xz")));
        compare(elf(&root, &stream), &stream, &list, 0)
    });
    all(results, short_or_long(6, 30));
}

/// Streams of 0.026 have no end packet, so the last instructions are not reported.
#[test]
fn draft_streams() {
    let Some(root) = streams::shared() else { return };
    let results = streams::draft(&root).into_iter().map(|stream| {
        let program = stream.program.split('.').next().unwrap();
        let list = list(&root.join(format!("draft0026-pulp-trdb/{program}.pcs.xz")));
        compare(elf(&root, &stream), &stream, &list, 10)
    });
    all(results, 10);
}

/// The row of a program in `pc-digest.tsv`: the number of instructions, and the CRC-32 of each
/// million of addresses, as 8 bytes each.
struct Digest {
    count: u64,
    chunks: Vec<u32>,
}

fn digests(root: &Path) -> Vec<(String, Digest)> {
    let text = read(&root.join("etrace-ref-large/pc-digest.tsv"));
    let row = |line: &str| {
        let cells: Vec<_> = line.split('\t').collect();
        let chunks = cells[5].split(',').map(|crc| u32::from_str_radix(crc, 16).unwrap());
        let digest = Digest { count: cells[1].parse().unwrap(), chunks: chunks.collect() };
        (cells[0].to_owned(), digest)
    };
    String::from_utf8(text)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(row)
        .collect()
}

/// CRC-32, a million addresses at a time.
struct Crc {
    table: [u32; 256],
    crc: u32,
    count: u64,
    chunks: Vec<u32>,
}

impl Crc {
    const CHUNK: u64 = 1_000_000;

    fn new() -> Self {
        let entry = |n: usize| {
            (0..8).fold(n as u32, |c, _| if c & 1 != 0 { 0xedb8_8320 ^ c >> 1 } else { c >> 1 })
        };
        Crc { table: std::array::from_fn(entry), crc: u32::MAX, count: 0, chunks: Vec::new() }
    }

    fn push(&mut self, address: u64) {
        for byte in address.to_le_bytes() {
            self.crc = self.table[((self.crc ^ u32::from(byte)) & 0xff) as usize] ^ self.crc >> 8;
        }
        self.count += 1;
        if self.count.is_multiple_of(Self::CHUNK) {
            self.end();
        }
    }

    fn end(&mut self) {
        self.chunks.push(!self.crc);
        self.crc = u32::MAX;
    }
}

#[test]
fn long_streams() {
    let Some(root) = streams::shared() else { return };
    let digests = digests(&root);
    let streams = streams::up_to(60_000, streams::large(&root));
    let results = sample(3, streams).map(|stream| {
        let elf = root.join(format!("etrace-ref-large/{}.riscv.xz", stream.program));
        let image = program(read(&elf), stream.params.rv64);
        let mut crc = Crc::new();
        let odd = addresses(&stream, &image, |address| crc.push(address));
        if !crc.count.is_multiple_of(Crc::CHUNK) {
            crc.end();
        }
        let found = digests.iter().find(|(name, _)| *name == stream.program);
        let (_, want) = found.expect("a digest of each program");
        if crc.count == want.count && crc.chunks == want.chunks && odd.is_empty() {
            return Ok(());
        }
        let same = crc.chunks.iter().zip(&want.chunks).take_while(|(a, b)| a == b).count();
        Err(format!(
            "{}: {} of {} instructions, {same} million the same, odd {:?}",
            stream.program,
            crc.count,
            want.count,
            &odd[..odd.len().min(3)],
        ))
    });
    all(results, short_or_long(2, 12));
}

/// Captures of PULP's unit as the records of PULP's own decoder, and as the lines of a simulation:
/// both decode to the elements of the trace bus. A stream may begin inside a record.
#[test]
fn pulp_records() {
    let Some(root) = streams::shared() else { return };
    for stream in streams::pulp(&root) {
        let file = read(&root.join(format!("pulp/{}.riscv", stream.program)));
        let image = program(file, true);
        let mut want: Vec<(u64, Element)> = Vec::new();
        elements(&stream.bytes, &stream.params, &mut cache(&image, &stream.params), &mut want);
        let want: Vec<Element> = want.iter().map(|(_, element)| *element).collect();
        for framing in [Framing::PulpRecords, Framing::PulpLines] {
            let mut params = stream.params;
            params.link.framing = framing;
            let (mut at, mut bytes) = (0, Vec::new());
            while let Parse::Packet(packet, len) =
                Packet::parse(&stream.bytes[at..], &stream.params)
            {
                packet.emit(&params, &mut bytes);
                at += len;
            }
            assert_eq!((at, bytes.len() % 40), (stream.bytes.len(), 0));
            let mut got: Vec<(u64, Element)> = Vec::new();
            elements(&bytes, &params, &mut cache(&image, &params), &mut got);
            let got: Vec<Element> = got.iter().map(|(_, element)| *element).collect();
            assert!(got == want, "{framing}");
            // Bytes before the first whole record are not decoded as a record.
            params.link.aligned = false;
            for cut in 1..40 {
                let mut got: Vec<(u64, Element)> = Vec::new();
                elements(&bytes[cut..], &params, &mut cache(&image, &params), &mut got);
                let bad: Vec<_> =
                    got.iter().filter(|(_, e)| matches!(e, Element::Undecodable { .. })).collect();
                let first =
                    Element::Undecodable { len: 40 - cut as u32, fault: Fault::Unsynchronised };
                assert_eq!(bad, [&(0, first)], "{framing} from {cut}");
            }
        }
    }
}

#[test]
fn pulp_streams() {
    let Some(root) = streams::shared() else { return };
    let results = streams::pulp(&root).into_iter().map(|stream| {
        let elf = read(&root.join(format!("pulp/{}.riscv", stream.program)));
        let list = list(&root.join(format!("pulp/{}.pulp-decoder.pcs.xz", stream.program)));
        compare(elf, &stream, &list, 0)
    });
    all(results, 2);
}

/// Data trace: each access is that of the simulator's log.
#[test]
fn data_streams() {
    let Some(root) = streams::shared() else { return };
    let log = String::from_utf8(read(
        &root.join("etrace-data-ref/own_calls_rv64.spike_data_trace.csv.xz"),
    ));
    let log = log.unwrap();
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        let hex = |n: usize| u64::from_str_radix(cells[n], 16).unwrap();
        assert!(cells[1] == "0" || cells[1] == "1", "{line}");
        let direction = if cells[1] == "0" { Direction::Read } else { Direction::Write };
        Access::new(direction, 1 << hex(3), 0).at(hex(2)).of(hex(4))
    };
    let want: Vec<_> = log.lines().skip(1).map(row).collect();
    let results = streams::data(&root).into_iter().map(|stream| {
        let mut elements = Vec::new();
        let image = program(elf(&root, &stream), true);
        run::elements(
            &stream.bytes,
            &stream.params,
            &mut run::cache(&image, &stream.params),
            &mut elements,
        );
        let got: Vec<_> = elements
            .iter()
            .filter_map(|(_, element)| match element {
                Element::DataAccess(access) => Some(*access),
                _ => None,
            })
            .collect();
        let same = want.iter().zip(&got).take_while(|(want, got)| want == got).count();
        if want == got {
            Ok(())
        } else {
            Err(format!(
                "{}: {same} of {} the same; want {:?}, got {:?}",
                stream.path.display(),
                want.len(),
                want.get(same),
                got.get(same)
            ))
        }
    });
    all(results, 2);
}
