//! Each capture of the repository, and a port that is taken.

use std::io;
use std::path::Path;

use tracewright_viewer::{Files, Limits, Served, serve};

use crate::common::{demo, index, with_server};

/// Every route answers for each capture of the repository.
#[test]
fn every_capture_can_be_viewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path().join("capture");
        if !path.exists() {
            continue;
        }
        let trace = tracewright::open(&path).expect("a capture");
        with_server(&trace, false, &[], Limits::default(), |server| {
            let capture = server.json("api/capture");
            assert!(!capture["buffers"].as_array().unwrap().is_empty(), "{}", path.display());
            for route in [
                "api/functions",
                "api/profile",
                "api/list?offset=0",
                "api/list?offset=0&kind=elements&after=200",
                "api/stack?offset=100",
                "api/output",
                "api/exceptions",
            ] {
                server.json(route);
            }
            for route in
                ["api/tiles", "api/frames", "api/detail", "api/values", "api/values?level=0"]
            {
                let answer = server.get(route);
                assert_eq!((answer.status, answer.body.len() % 8), (200, 0), "{route}");
            }
        });
        count += 1;
    }
    assert!(count >= 11, "{count}");
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let trace = demo();
    let index = index(&trace);
    let files = Files {
        disk: tracewright::Files::default(),
        read: &|_, _| Err(io::ErrorKind::NotFound.into()),
        notes: &|| Ok(None),
        save: None,
        source_roots: Vec::new(),
        any_source: false,
    };
    let served = Served::new(&trace, &index, files).expect("an index");
    let done = serve(&served, port, Limits::default(), |_| Ok(()), std::future::pending());
    assert_eq!(done.expect_err("taken").kind(), io::ErrorKind::AddrInUse);
}
