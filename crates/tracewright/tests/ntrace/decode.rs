//! Every stream decodes to exactly the instructions, traps and timestamps of its tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracewright::base::{Element, Gap};
use tracewright::image::{Image, Region};
use tracewright::protocols::Demux;
use tracewright::protocols::ntrace::Config;
use tracewright::protocols::registry::AnyConfig;
use tracewright_testing::unpacked;

use crate::captures::{self, Capture};
use crate::harts::Messages;
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

/// Sequential jumps: the same instructions with and without messages for them.
#[test]
fn sequential_jumps() {
    let Some(root) = captures::shared() else { return };
    let folder = root.join("own-encoder/seqjump");
    let code = unpacked(&folder.join("image-at-0x1000.bin.xz"));
    let image = Arc::new(Image::new([Region::new("code", 0x1000, code)]));
    let text = std::fs::read_to_string(folder.join("pcs.txt")).unwrap();
    let want: Vec<u64> = text.lines().map(|n| u64::from_str_radix(n.trim(), 16).unwrap()).collect();
    for name in ["seq", "seq_cs", "noseq", "btm_seq_cs"] {
        let bytes = std::fs::read(folder.join(format!("{name}.nex.bin"))).unwrap();
        for each in [true, false] {
            let run = Run::of(&bytes, &Config::default(), &image, each);
            assert_eq!((run.addresses.clone(), run.odd()), (want.clone(), Vec::new()), "{name}");
        }
    }
}

/// The files of a tar archive.
fn files(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut rest = archive;
    while let Some((header, after)) = rest.split_at_checked(512).filter(|(h, _)| h[0] != 0) {
        let text = |field: &[u8]| String::from_utf8_lossy(field).trim_end_matches('\0').to_owned();
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        files.push((text(&header[..100]), after[..size].to_vec()));
        rest = &after[size.next_multiple_of(512).min(after.len())..];
    }
    files
}

/// Linux: a program, its libraries and the kernel. What SiFive's decoder lists of one process was
/// executed in that order, but for one function whose code in memory is another than in the file.
#[test]
fn linux_with_its_memory() {
    let Some(root) = captures::shared() else { return };
    let captures = captures::sifive(&root);
    let capture =
        captures.iter().find(|c| c.path.to_string_lossy().contains("linux-dynamic")).unwrap();
    let folder = capture.path.parent().unwrap();
    let mut regions = Vec::new();
    let mut pages = BTreeMap::new();
    for (name, bytes) in files(&unpacked(&folder.join("image.tar.xz"))) {
        let base = match name.rsplit('/').next().unwrap() {
            "gtod" => 0x5555_5802_c000,
            "libc.so.6" => 0x7fff_b13a_4000,
            "ld-linux-riscv64-lp64d.so.1" => 0x7fff_b14e_1000,
            "gtod.vdso" => 0x7fff_b14d_f000,
            page => {
                let Some(address) = page.strip_prefix("kmem.0x") else { continue };
                pages.insert(u64::from_str_radix(address, 16).unwrap(), bytes);
                continue;
            }
        };
        let program = Image::from_elf(&bytes.into(), &name, base).unwrap();
        regions.extend(program.regions().iter().cloned());
    }
    // The first half-word of a page is missing where an instruction begins before it.
    while let Some((address, mut page)) = pages.pop_first() {
        let end = page.split_off(page.len().min(0x1000));
        if let Some(next) = pages.get_mut(&(address + 0x1000)) {
            next[..end.len()].copy_from_slice(&end);
        }
        regions.push(Region::new("kernel", address, page));
    }
    let image = Arc::new(Image::new(regions));
    for (source, least) in [(0, 400_000), (1, 20_000)] {
        let mut config = capture.config;
        config.link.source = source;
        let mut messages = Messages(source, Vec::new());
        let mut demux = Demux::new(&[AnyConfig::Ntrace(config)]).unwrap();
        demux.split(0, &capture.bytes, &mut messages);
        let run = Run::of(&messages.1, &config, &image, false);
        let contradicts = |element: &Element| matches!(element, Element::Inconsistency(_));
        let found: Vec<_> = run.others.iter().filter(|(.., e)| contradicts(e)).take(5).collect();
        assert!(found.is_empty(), "source {source}: {found:?}");
        assert!(run.addresses.len() > least, "{}", run.addresses.len());
        let path = folder.join(format!("pcs.dqr.src{source}.xz"));
        if !path.exists() {
            continue;
        }
        let text = String::from_utf8(unpacked(&path)).unwrap();
        let mut rest = &run.addresses[..];
        let (mut found, mut missing) = (0, 0);
        for line in text.lines() {
            let address = u64::from_str_radix(line.trim(), 16).unwrap();
            // What lies between is of other processes.
            match rest.iter().take(10_000).position(|own| *own == address) {
                Some(n) => (rest, found) = (&rest[n + 1..], found + 1),
                None => missing += 1,
            }
        }
        assert!(found > 391_000 && missing <= 54, "{found} found, {missing} missing");
    }
}
