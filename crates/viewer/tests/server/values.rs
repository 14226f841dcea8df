//! Text, and numbers over time.

use std::collections::BTreeMap;
use std::path::Path;

use tracewright::Trace;
use tracewright::decode::raw::RawTrace;
use tracewright_viewer::Limits;

use crate::common::{capture, with_server};

#[test]
fn text_of_an_itm_is_found() {
    let trace = tracewright::open(capture("itm")).expect("a capture");
    with_server(&trace, false, &[], Limits::default(), |server| {
        let capture = server.json("api/capture");
        let channels = capture["buffers"][0]["channels"].as_array().unwrap().clone();
        assert!(!channels.is_empty(), "{capture}");
        let lines = server.json("api/output");
        let lines = lines["lines"].as_array().unwrap();
        assert!(!lines.is_empty());
        for line in lines {
            let text = line["text"].as_str().unwrap();
            assert!(!text.chars().any(|c| c.is_control() && c != '\t'), "{text:?}");
            assert!(channels.iter().any(|channel| channel["key"] == line["channel"]));
        }
    });
}

/// The series of a source, by kind and name, and the values of each in order.
type Values = BTreeMap<(usize, String), Vec<u64>>;

/// Collects values from elements.
#[derive(Default)]
struct AllValues {
    values: Values,
}

impl tracewright::Listener for AllValues {
    fn element(&mut self, source: usize, _: u64, element: tracewright::Element) {
        use tracewright::base::{Channel, Dwt};
        let (name, value) = match element {
            tracewright::Element::SoftwareWrite(write) if write.bits > 0 => {
                let name = match write.channel {
                    Channel::Port { page, port } => {
                        format!("port {}", 32 * u32::from(page.unwrap_or(0)) + u32::from(port))
                    }
                    Channel::Master { master, channel } => {
                        let text = |n: Option<u16>| n.map_or("?".into(), |n| n.to_string());
                        format!("channel {}:{}", text(master), text(channel))
                    }
                };
                (name, write.value())
            }
            tracewright::Element::DwtEvent(event) => match event.meaning() {
                Dwt::DataValue { comparator, value, .. } => {
                    (format!("comparator {comparator}"), u64::from(value))
                }
                _ => return,
            },
            _ => return,
        };
        self.values.entry((source, name)).or_default().push(value);
    }
}

/// A raw trace of an ITM: data of two comparators, numbers at a port, local times. (Armv7-M ARM,
/// appendix D4)
fn watched() -> Trace {
    let mut bytes = Vec::new();
    for n in 0..6_000u32 {
        if n % 64 == 0 {
            bytes.extend([0, 0, 0, 0, 0, 0x80]);
        }
        // Comparator 0: a write of 4 bytes. Comparator 1: a read of 1 byte. Port 5: 2 bytes.
        bytes.push(0x8f);
        bytes.extend((n * n).to_le_bytes());
        bytes.extend([0x95, (n % 251) as u8]);
        if n % 3 == 0 {
            bytes.push(0x2a);
            bytes.extend((n as u16).to_le_bytes());
        }
        bytes.extend([0xc0, 0x05]);
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("watched.bin");
    std::fs::write(&path, bytes).expect("a file");
    let (trace, notes) = tracewright::open_raw(&path, RawTrace::default(), &[]).expect("a trace");
    assert!(notes.iter().any(|note| note.contains("ITM")), "{notes:?}");
    trace
}

/// Values in tiles of each level, and one by one, are those of a decoding of the whole trace.
#[test]
fn values_are_those_of_the_trace() {
    let (mut series_seen, mut comparators) = (0, 0);
    for name in ["itm", "stm", "etmv4", "watched"] {
        let trace = match name {
            "watched" => watched(),
            name => tracewright::open(capture(name)).expect("a capture"),
        };
        let mut all = AllValues::default();
        assert!(trace.decode(&mut all).expect("a trace").is_complete());
        with_server(&trace, false, &[], Limits::default(), |server| {
            let capture = server.json("api/capture");
            let buffer = &capture["buffers"][0];
            let levels = buffer["levels"].as_u64().unwrap();
            let mut listed = BTreeMap::<(usize, u32), &Vec<u64>>::new();
            for source in buffer["sources"].as_array().unwrap() {
                let number = source["number"].as_u64().unwrap() as usize;
                for series in source["series"].as_array().unwrap() {
                    if series["kind"] == "ipc" {
                        continue;
                    }
                    let title = series["name"].as_str().unwrap().to_owned();
                    comparators += usize::from(title.starts_with("comparator"));
                    let want = &all.values[&(number, title)];
                    assert_eq!(series["count"], want.len() as u64);
                    assert_eq!(series["least"].as_f64(), want.iter().min().map(|n| *n as f64));
                    assert_eq!(series["most"].as_f64(), want.iter().max().map(|n| *n as f64));
                    listed.insert((number, series["number"].as_u64().unwrap() as u32), want);
                }
                for level in 0..levels {
                    let answer = server.get(&format!("api/values?source={number}&level={level}"));
                    assert_eq!(&answer.body[..4], b"TWVT");
                    let count = answer.counts()[0] as usize;
                    let mut at = 64;
                    let [tiles, counts, least, mean, most] =
                        [(); 5].map(|()| answer.f64s(&mut at, count));
                    assert!(tiles.is_sorted());
                    let numbers = answer.body[at..at + 4 * count].chunks(4);
                    let numbers: Vec<u32> =
                        numbers.map(|own| u32::from_le_bytes(own.try_into().unwrap())).collect();
                    for ((source, series), want) in &listed {
                        let rows = || (0..count).filter(|row| numbers[*row] == *series);
                        if *source != number {
                            continue;
                        }
                        let sum: f64 = rows().map(|row| counts[row]).sum();
                        assert_eq!(sum, want.len() as f64, "{name} level {level}");
                        let total: f64 = rows().map(|row| counts[row] * mean[row]).sum();
                        let exact: f64 = want.iter().map(|value| *value as f64).sum();
                        assert!((total - exact).abs() <= exact * 1e-9, "{total} {exact}");
                        let found = rows().map(|row| least[row]).fold(f64::INFINITY, f64::min);
                        assert_eq!(Some(found), want.iter().min().map(|n| *n as f64));
                        let found = rows().map(|row| most[row]).fold(0.0, f64::max);
                        assert_eq!(Some(found), want.iter().max().map(|n| *n as f64));
                    }
                }
                let answer = server.get(&format!("api/values?source={number}"));
                assert_eq!(&answer.body[..4], b"TWVX");
                let count = answer.counts()[0] as usize;
                let mut at = 64;
                let [offsets, _, _, elements, values] =
                    [(); 5].map(|()| answer.f64s(&mut at, count));
                assert!(offsets.iter().all(|at| *at < buffer["bytes"].as_f64().unwrap()));
                assert!(elements.is_sorted());
                let numbers = answer.body[at..at + 4 * count].chunks(4);
                let mut found = BTreeMap::<u32, Vec<f64>>::new();
                for (own, value) in numbers.zip(values) {
                    let own = u32::from_le_bytes(own.try_into().unwrap());
                    found.entry(own).or_default().push(value);
                }
                let want = listed.iter().filter(|((source, _), _)| *source == number);
                let want: BTreeMap<u32, Vec<f64>> = want
                    .map(|((_, series), all)| (*series, all.iter().map(|n| *n as f64).collect()))
                    .collect();
                assert_eq!(found, want, "{name}");
            }
            assert_eq!(listed.len(), all.values.len(), "{name}");
            series_seen += listed.len();
            let refused = server.get("api/values?level=99");
            assert_eq!(refused.status, 400);
        });
    }
    assert!(series_seen > 3 && comparators == 2, "{series_seen} {comparators}");
}
