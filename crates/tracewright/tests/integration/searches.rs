//! Indexes, queries and histories of a trace: compared with its elements.

use std::path::Path;

use tracewright::base::Element;
use tracewright::capture::BufferRef;
use tracewright::index::{Index, Window};
use tracewright::views::history::Event;
use tracewright::{Executed, SearchError, Trace, open, read_capture};

const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures");

fn path(name: &str) -> String {
    format!("{CAPTURES}/{name}/capture")
}

fn elements(trace: &Trace, is: fn(&Element) -> bool) -> Vec<(usize, u64, Element)> {
    let items = trace.elements().unwrap().map(|item| item.unwrap());
    let items = items.filter(|item| is(&item.element));
    items.map(|item| (item.source, item.offset, item.element)).collect()
}

#[test]
fn queries_find_the_elements() {
    let mut count = 0;
    for (name, query, is) in [
        ("etmv4", "exception", (|e| matches!(e, Element::Exception(_))) as fn(&Element) -> bool),
        ("etrace-draft", "exception", |e| matches!(e, Element::Exception(_))),
        ("itm", "write", |e| matches!(e, Element::SoftwareWrite(_))),
        ("ptm", "any", |_| true),
    ] {
        let trace = open(path(name)).unwrap();
        let want = elements(&trace, is);
        let index = Index::read(trace.index().unwrap().into()).unwrap();
        for index in [None, Some(&index)] {
            let found = trace.find(&format!("all {query}"), index).unwrap();
            let all = found.elements.iter().map(|f| (f.source, f.at, f.element));
            assert_eq!(all.collect::<Vec<_>>(), want, "{name}");
            assert_eq!(found.count, want.len() as u64);
            let counted = trace.find(&format!("count {query}"), index).unwrap();
            assert_eq!((counted.count, counted.elements.len()), (found.count, 0));
            let last = trace.find(&format!("last {query}"), index).unwrap();
            assert_eq!(last.elements.last(), found.elements.last(), "{name}");
            assert_eq!(last.count, 1);
        }
        count += want.len();
    }
    assert!(count > 20);
}

#[test]
fn failed_searches_have_reasons() {
    let trace = open(path("etmv4")).unwrap();
    let error = trace.find("nonsense", None).unwrap_err();
    assert!(matches!(error, SearchError::Query(_)), "{error}");
    let error = trace.find("count function no_such_function", None).unwrap_err();
    assert!(matches!(error, SearchError::Find(_)), "{error}");
    let other = open(path("ptm")).unwrap().index().unwrap();
    let error = trace.find("count any", Some(&Index::read(other.into()).unwrap())).unwrap_err();
    assert!(matches!(error, SearchError::Index(_)), "{error}");
}

/// Sources are numbered over all buffers.
#[test]
fn several_buffers_are_searched() {
    let mut capture = read_capture(Path::new(&path("itm"))).unwrap();
    capture.buffers.push(capture.buffers[0].clone());
    let mut second = capture.sources[0].clone();
    second.name = "ITM_1".into();
    second.buffers = vec![BufferRef { buffer: 1, ..second.buffers[0] }];
    capture.sources.push(second);
    let trace = Trace::new(capture);
    let found = trace.find("first write", None).unwrap();
    let sources: Vec<usize> = found.elements.iter().map(|found| found.source).collect();
    assert_eq!((found.count, sources), (2, vec![0, 1]));
    let items = trace.history(&Event::End, 3).unwrap();
    assert!(items.iter().any(|item| item.source == 1), "{items:?}");
}

#[test]
fn histories_end_before_the_event() {
    for name in ["etmv4", "ptm", "etrace-draft"] {
        let trace = open(path(name)).unwrap();
        let instructions = |items: &[tracewright::HistoryItem]| {
            let steps = items.iter().filter_map(|item| match item.executed {
                Executed::Instruction(step) => Some((item.offset, step.address)),
                _ => None,
            });
            steps.collect::<Vec<_>>()
        };
        let all = instructions(&trace.history(&Event::End, 1 << 20).unwrap());
        let ranges = elements(&trace, |element| matches!(element, Element::Range(_)));
        let total = ranges.iter().map(|(.., element)| match element {
            Element::Range(range) => u64::from(range.instructions),
            _ => 0,
        });
        assert_eq!(all.len() as u64, total.sum::<u64>(), "{name}");
        let last = instructions(&trace.history(&Event::End, 20).unwrap());
        assert_eq!(last, all[all.len() - 20..], "{name}");
        let address = last[7].1;
        let at = Event::Address(vec![(address, address)]);
        let before = instructions(&trace.history(&at, 1).unwrap());
        let want = all.iter().rfind(|(_, own)| *own == address).copied();
        assert_eq!(before.last().copied(), want, "{name}");
        // A part of the trace.
        let end = all[all.len() / 2].0;
        let window = Window { offset: Some(0..end), ..Window::default() };
        let part = instructions(&trace.with_window(window).history(&Event::End, 1 << 20).unwrap());
        assert!(part.len() < all.len() && part == all[..part.len()], "{name}");
    }
}
