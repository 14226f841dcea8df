//! `view`: the server of the command.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use crate::common::{Folder, command, tracewright};

/// The answer to a request for an address of the server.
fn get(address: &str, path: &str) -> String {
    let rest = address.strip_prefix("http://").expect("an address");
    let (host, token) = rest.split_once('/').expect("a token");
    let mut stream = TcpStream::connect(host).expect("a connection");
    let head = format!("GET /{token}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The command prints the address, answers, and ends when no request comes.
#[test]
fn a_trace_is_served_until_nobody_asks() {
    let folder = Folder::new("view");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    let to = folder.path("capture");
    fs::create_dir_all(&to).unwrap();
    for file in fs::read_dir(from).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
    let path = to.to_str().unwrap();
    for indexed in [false, true] {
        if indexed {
            assert_eq!(tracewright(&["index", path]).code, Some(0));
        }
        let mut server = command(&["view", path, "--no-browser", "--idle", "2"]);
        let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(server.stdout.take().unwrap());
        let mut address = String::new();
        out.read_line(&mut address).unwrap();
        let address = address.trim_end();
        let page = get(address, "");
        assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("app.js"), "{page}");
        let capture = get(address, "api/capture");
        assert!(capture.contains("\"view\":true"), "{capture}");
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!((server.wait().unwrap().code(), &*rest), (Some(0), ""));
    }
}

/// A source of instructions without a program is shown by address, which is noted; an ITM needs no
/// program.
#[test]
fn only_instructions_need_symbols() {
    for (name, noted) in [("itm", false), ("stm", false), ("etmv4", true)] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
        let path = from.join(name).join("capture");
        let path = path.to_str().unwrap();
        let options = ["view", path, "--no-index", "--no-browser", "--idle", "2"];
        let mut server = command(&options);
        let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(server.stdout.take().unwrap());
        let mut address = String::new();
        out.read_line(&mut address).unwrap();
        let capture = get(address.trim_end(), "api/capture");
        let found = capture.contains("no program has symbols");
        assert_eq!(found, noted, "{name}: {capture}");
        server.wait().unwrap();
    }
}

#[test]
fn what_cannot_be_viewed_is_an_error() {
    let output = tracewright(&["view", "--protocol", "itm", "-", "--no-browser", "--idle", "1"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    let output = tracewright(&["view", "absent", "--no-browser"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
}
