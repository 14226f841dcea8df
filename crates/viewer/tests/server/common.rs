//! A server that runs for a test, and a client.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tracewright::Trace;
use tracewright::index::{Index, Making, Shape};
use tracewright_viewer::{Files, Limits, Served, serve};

/// A server that runs, for a test.
pub struct Server {
    pub port: u16,
    pub token: String,
    /// The bookmarks.
    pub saved: &'static Mutex<Option<Vec<u8>>>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The numbers of arrays at an offset.
    pub fn counts(&self) -> Vec<u32> {
        let counts = self.body[8..32].chunks(4);
        counts.map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    pub fn f64s(&self, at: &mut usize, count: usize) -> Vec<f64> {
        assert_eq!(*at % 8, 0);
        let bytes = &self.body[*at..*at + 8 * count];
        *at += 8 * count;
        bytes.chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect()
    }
}

pub fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name).join("capture")
}

/// An index with a view.
pub fn index(trace: &Trace) -> Index {
    index_of(trace, Shape::default())
}

/// An index of this shape, with a view.
pub fn index_of(trace: &Trace, shape: Shape) -> Index {
    let mut file = Vec::new();
    let making = Making { view: true, shape, ..Making::default() };
    let write = |bytes: &[u8], _: u64| {
        file.extend_from_slice(bytes);
        Ok(true)
    };
    trace.subject().make(trace.plans(), &making, write).expect("an index");
    Index::read(file.into()).expect("an index")
}

/// Serves a capture, while `test` runs.
pub fn with_server(
    trace: &Trace,
    save: bool,
    roots: &[PathBuf],
    limits: Limits,
    test: impl FnOnce(&Server),
) {
    with_index(trace, &index(trace), save, roots, limits, test);
}

/// The same, with an index.
pub fn with_index(
    trace: &Trace,
    index: &Index,
    save: bool,
    roots: &[PathBuf],
    limits: Limits,
    test: impl FnOnce(&Server),
) {
    let saved: &'static Mutex<Option<Vec<u8>>> = Box::leak(Box::default());
    let store = |bytes: &[u8]| {
        *saved.lock().unwrap() = Some(bytes.to_vec());
        Ok(())
    };
    let files = Files {
        disk: tracewright::Files::default(),
        read: &|path, _| std::fs::read(path),
        notes: &|| Ok(saved.lock().unwrap().clone()),
        save: save.then_some(&store),
        source_roots: roots.to_vec(),
        any_source: false,
    };
    let served = Served::new(trace, index, files).expect("an index");
    let (send, address) = mpsc::channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    std::thread::scope(|scope| {
        let served = &served;
        let server = scope.spawn(move || {
            let ready = |address: &str| {
                send.send(address.to_owned()).unwrap();
                Ok(())
            };
            serve(served, 0, limits, ready, async { drop(ended.await) })
        });
        let address = address.recv().expect("an address");
        let rest = address.strip_prefix("http://127.0.0.1:").expect("the loopback interface");
        let (port, token) = rest.split_once('/').expect("a token");
        let port = port.parse().expect("a port");
        let token = token.trim_end_matches('/').to_owned();
        let server_of_test = Server { port, token, saved };
        // The server ends, whatever happens in the test.
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&server_of_test)));
        drop(end);
        server.join().expect("the server").expect("no error");
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
}

impl Server {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes, and reads until the connection ends.
    pub fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The server may end the connection before it has read all.
        let _ = stream.write_all(bytes);
        let mut out = Vec::new();
        let _ = stream.read_to_end(&mut out);
        out
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        text += "\r\n";
        let out = self.raw(&[text.as_bytes(), body].concat());
        let end = out.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(out[..end].to_vec()).expect("text");
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let headers: BTreeMap<String, String> = headers.collect();
        let mut body = out[end + 4..].to_vec();
        if headers.get("transfer-encoding").is_some_and(|how| how == "chunked") {
            body = chunks(&body);
        }
        Answer { status, headers, body }
    }

    pub fn get(&self, route: &str) -> Answer {
        self.ask("GET", &format!("/{}/{route}", self.token), &[], b"")
    }

    pub fn json(&self, route: &str) -> Value {
        let answer = self.get(route);
        assert_eq!(answer.status, 200, "{route}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }
}

/// The body of chunks. (RFC 9112, section 7.1)
pub fn chunks(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        out.extend_from_slice(&rest[end + 2..end + 2 + size]);
        if size == 0 {
            break;
        }
        rest = &rest[end + 4 + size..];
    }
    out
}

pub fn demo() -> Trace {
    tracewright::open(capture("etmv4")).expect("a capture")
}
