//! The server, over TCP: who may ask, bounds, and that answers are those of the trace.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tracewright::Trace;
use tracewright::decode::raw::RawTrace;
use tracewright::index::{Index, Making};
use tracewright_viewer::{Files, Limits, Served, serve};

/// A server that runs, for a test.
struct Server {
    port: u16,
    token: String,
    /// The bookmarks.
    saved: &'static Mutex<Option<Vec<u8>>>,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The numbers of arrays at an offset.
    fn counts(&self) -> Vec<u32> {
        let counts = self.body[8..32].chunks(4);
        counts.map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    fn f64s(&self, at: &mut usize, count: usize) -> Vec<f64> {
        assert_eq!(*at % 8, 0);
        let bytes = &self.body[*at..*at + 8 * count];
        *at += 8 * count;
        bytes.chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect()
    }
}

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name).join("capture")
}

/// Serves a capture, while `test` runs.
fn with_server(
    trace: &Trace,
    save: bool,
    roots: &[PathBuf],
    limits: Limits,
    test: impl FnOnce(&Server),
) {
    let mut file = Vec::new();
    let making = Making { view: true, ..Making::default() };
    let write = |bytes: &[u8], _: u64| {
        file.extend_from_slice(bytes);
        Ok(true)
    };
    trace.subject().make(trace.plans(), &making, write).expect("an index");
    let index = Index::read(file.into()).expect("an index");
    let saved: &'static Mutex<Option<Vec<u8>>> = Box::leak(Box::default());
    let store = |bytes: &[u8]| {
        *saved.lock().unwrap() = Some(bytes.to_vec());
        Ok(())
    };
    let files = Files {
        read: &|path, _| std::fs::read(path),
        notes: &|| Ok(saved.lock().unwrap().clone()),
        save: save.then_some(&store),
        source_roots: roots.to_vec(),
        any_source: false,
    };
    let served = Served::new(trace, &index, files).expect("an index");
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
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes, and reads until the connection ends.
    fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The server may end the connection before it has read all.
        let _ = stream.write_all(bytes);
        let mut out = Vec::new();
        let _ = stream.read_to_end(&mut out);
        out
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
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

    fn get(&self, route: &str) -> Answer {
        self.ask("GET", &format!("/{}/{route}", self.token), &[], b"")
    }

    fn json(&self, route: &str) -> Value {
        let answer = self.get(route);
        assert_eq!(answer.status, 200, "{route}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }
}

/// The body of chunks. (RFC 9112, section 7.1)
fn chunks(mut rest: &[u8]) -> Vec<u8> {
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

fn demo() -> Trace {
    tracewright::open(capture("etmv4")).expect("a capture")
}

#[test]
fn only_the_page_itself_is_answered() {
    with_server(&demo(), false, &[], Limits::default(), |server| {
        let page = format!("/{}/", server.token);
        let api = format!("/{}/api/capture", server.token);
        let own = format!("http://127.0.0.1:{}", server.port);
        let named = format!("localhost:{}", server.port);
        for (path, headers, status) in [
            (&*page, vec![], 200),
            (&*page, vec![("Host", "evil.example")], 421),
            (&*page, vec![("Host", "127.0.0.1")], 421),
            (&*page, vec![("Host", "127.0.0.1:1")], 421),
            (&*page, vec![("Host", &*named)], 200),
            ("/", vec![], 403),
            ("/api/capture", vec![], 403),
            ("/aaaa/api/capture", vec![], 403),
            (&*api, vec![("Origin", "http://evil.example")], 403),
            (&*api, vec![("Origin", "null")], 403),
            (&*api, vec![("Origin", &*own)], 200),
            (&*api, vec![("Sec-Fetch-Site", "cross-site")], 403),
            (&*api, vec![("Sec-Fetch-Site", "same-site")], 403),
            (&*api, vec![("Sec-Fetch-Site", "same-origin")], 200),
            (&*page, vec![("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")], 200),
        ] {
            let answer = server.ask("GET", path, &headers, b"");
            assert_eq!(answer.status, status, "{path} {headers:?}");
            let policy = &answer.headers["content-security-policy"];
            assert!(
                policy.contains("default-src 'none'") && !policy.contains("unsafe"),
                "{policy}"
            );
            assert_eq!(answer.headers["x-content-type-options"], "nosniff");
            assert_eq!(answer.headers["referrer-policy"], "no-referrer");
            assert_eq!(answer.headers["cross-origin-resource-policy"], "same-origin");
            assert!(!answer.headers.contains_key("access-control-allow-origin"));
            if status != 200 {
                assert!(!String::from_utf8_lossy(&answer.body).contains(&server.token));
            }
        }
        // The cookie of the page is enough from then on.
        let cookie = server.get("").headers["set-cookie"].clone();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        let value = cookie.split(';').next().unwrap();
        let headers = [("Cookie", value)];
        assert_eq!(server.ask("GET", "/api/capture", &headers, b"").status, 200);
        assert_eq!(server.ask("GET", "/app.js", &headers, b"").status, 200);
        // An address in absolute form has a host of its own, and none is served.
        let absolute = format!("http://evil.example/{}/", server.token);
        assert_ne!(server.ask("GET", &absolute, &[("Host", "evil.example")], b"").status, 200);
        for method in ["POST", "DELETE", "OPTIONS", "PUT"] {
            assert_eq!(server.ask(method, &api, &[], b"").status, 405, "{method}");
        }
        assert_eq!(server.ask("HEAD", &api, &[], b"").status, 200);
    });
}

#[test]
fn the_page_is_cached_by_its_tag() {
    with_server(&demo(), false, &[], Limits::default(), |server| {
        for name in ["", "app.js", "app.css"] {
            let answer = server.get(name);
            assert_eq!((answer.status, answer.body.is_empty()), (200, false), "{name}");
            let path = format!("/{}/{name}", server.token);
            let tag = answer.headers["etag"].clone();
            let again = server.ask("GET", &path, &[("If-None-Match", &tag)], b"");
            assert_eq!((again.status, again.body.len()), (304, 0), "{name}");
        }
        for path in ["../Cargo.toml", "index.html", "api", "api/", "%2e%2e/x", "app.js/"] {
            assert_eq!(server.get(path).status, 404, "{path}");
        }
    });
}

#[test]
fn heads_and_clients_have_bounds() {
    let limits = Limits { head: Duration::from_millis(300), connections: 4, ..Limits::default() };
    with_server(&demo(), false, &[], limits, |server| {
        let long = "x".repeat(65_536);
        let path = format!("/{}/api/capture", server.token);
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX: {long}\r\n\r\n", server.port);
        let out = server.raw(head.as_bytes());
        assert!(out.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&out));
        let out = server.raw(format!("GET /{long} HTTP/1.1\r\n\r\n").as_bytes());
        assert!(out.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&out));
        // More clients than connections that send nothing: the others are answered after them.
        let slow: Vec<TcpStream> = (0..9)
            .map(|_| {
                let mut stream = server.connect();
                stream.write_all(b"GET / HT").unwrap();
                stream
            })
            .collect();
        assert_eq!(server.get("api/capture").status, 200);
        for mut stream in slow {
            let mut out = Vec::new();
            let _ = stream.read_to_end(&mut out);
            assert!(!out.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&out));
        }
    });
}

/// Requests whose connections end at once leave nothing that runs.
#[test]
fn aborted_requests_leave_nothing() {
    with_server(&demo(), false, &[], Limits::default(), |server| {
        let routes = [
            "api/find?q=all+any&limit=10000",
            "api/profile",
            "api/detail",
            "api/find?q=count+write",
            "api/list?element=0",
        ];
        for n in 0..1000 {
            let mut stream = server.connect();
            let route = routes[n % routes.len()];
            let head = format!(
                "GET /{}/{route} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
                server.token, server.port
            );
            stream.write_all(head.as_bytes()).unwrap();
            if n % 3 == 0 {
                let _ = stream.read(&mut [0; 10]);
            }
        }
        // The threads are free, and the queue is empty.
        let answer = (0..50).map(|_| server.get("api/profile")).find(|answer| {
            if answer.status == 503 {
                std::thread::sleep(Duration::from_millis(100));
            }
            answer.status != 503
        });
        assert_eq!(answer.expect("an answer").status, 200);
        let found = server.get("api/find?q=count+any");
        assert!(String::from_utf8_lossy(&found.body).contains("event: end"), "{found:?}");
    });
}

#[test]
fn parameters_have_bounds() {
    with_server(&demo(), false, &[], Limits::default(), |server| {
        for (route, status) in [
            ("api/unknown", 404),
            ("api/../capture", 404),
            ("api/capture?buffer=9", 200),
            ("api/tiles?buffer=9", 404),
            ("api/tiles?source=9", 404),
            ("api/tiles?source=-1", 400),
            ("api/tiles?level=99", 400),
            ("api/tiles?count=513", 400),
            ("api/tiles?count=512&first=18446744073709551615", 200),
            ("api/frames?from=5&to=1", 400),
            ("api/frames?to=18446744073709551615", 200),
            ("api/list", 400),
            ("api/list?element=0&before=300&after=300", 400),
            ("api/list?element=18446744073709551615", 200),
            ("api/list?element=0&kind=packets", 400),
            ("api/stack?element=99999999", 404),
            ("api/stack?offset=18446744073709551615", 200),
            ("api/profile?order=name", 400),
            ("api/calls?function=4294967295", 404),
            ("api/calls?function=0&limit=501", 400),
            ("api/histogram?function=x", 400),
            ("api/source?file=../../etc/passwd", 400),
            ("api/source?file=4294967296", 404),
            ("api/source?file=99999", 404),
            ("api/place", 400),
            ("api/output?limit=9999", 400),
            ("api/notes", 200),
        ] {
            let answer = server.get(route);
            assert_eq!(answer.status, status, "{route}: {}", String::from_utf8_lossy(&answer.body));
            if status >= 400 {
                let json = answer.json();
                assert!(json["error"].is_string() && json["message"].is_string(), "{route}");
            }
        }
        let found = server.get("api/find?q=nonsense");
        let text = String::from_utf8_lossy(&found.body).into_owned();
        assert_eq!(found.headers["content-type"], "text/event-stream");
        assert!(text.contains("event: error"), "{text}");
    });
}

#[test]
fn bookmarks_are_saved_where_that_is_wanted() {
    let note = br#"{"notes":[{"offset":1,"text":"<img onerror=x> \u202e"}]}"#;
    let json = ("Content-Type", "application/json");
    with_server(&demo(), false, &[], Limits::default(), |server| {
        let path = format!("/{}/api/notes", server.token);
        assert_eq!(server.ask("PUT", &path, &[json], note).status, 405);
        assert_eq!(server.json("api/notes")["notes"], Value::Array(Vec::new()));
    });
    with_server(&demo(), true, &[], Limits::default(), |server| {
        let path = format!("/{}/api/notes", server.token);
        assert_eq!(server.ask("PUT", &path, &[], note).status, 400);
        assert_eq!(server.ask("PUT", &path, &[json], b"{}").status, 400);
        assert_eq!(server.ask("PUT", &path, &[json], &vec![b' '; (1 << 20) + 1]).status, 413);
        assert_eq!(server.saved.lock().unwrap().clone(), None);
        assert_eq!(server.ask("PUT", &path, &[json], note).status, 204);
        assert!(server.saved.lock().unwrap().is_some());
        assert_eq!(server.json("api/notes")["notes"][0]["text"], "<img onerror=x> \u{202e}");
        assert_eq!(server.json("api/capture")["save_notes"], true);
        let other = format!("/{}/api/capture", server.token);
        assert_eq!(server.ask("PUT", &other, &[json], note).status, 405);
    });
}

/// What the routes answer agrees with each other, and with the trace.
#[test]
fn routes_agree() {
    let trace = demo();
    let mut ranges = Counted::default();
    let summary = trace.decode(&mut ranges).expect("a trace");
    assert!(summary.is_complete());
    with_server(&trace, false, &[], Limits::default(), |server| {
        let capture = server.json("api/capture");
        let buffer = &capture["buffers"][0];
        assert_eq!(buffer["instructions"], ranges.instructions);
        assert_eq!(buffer["elements"], ranges.elements);
        let checksum = capture["checksum"].as_str().unwrap();
        // Tiles.
        let tiles = server.get(&format!("api/tiles?level=0&c={checksum}"));
        assert_eq!((&tiles.body[..4], &tiles.body[4..8]), (&b"TWTL"[..], &[1, 0, 0, 0][..]));
        assert!(tiles.headers["cache-control"].contains("immutable"));
        assert!(!server.get("api/tiles?c=0").headers["cache-control"].contains("immutable"));
        let counts = tiles.counts();
        let mut at = 64 + 8 * 2 * counts[0] as usize;
        let instructions: f64 = tiles.f64s(&mut at, counts[0] as usize).iter().sum();
        assert_eq!(instructions as u64, ranges.instructions);
        // Functions: their own instructions are all.
        let profile = server.json("api/profile");
        assert_eq!(profile["instructions"], ranges.instructions);
        let functions = profile["functions"].as_array().unwrap();
        let own: u64 = functions.iter().map(|own| own["own"].as_u64().unwrap()).sum();
        assert_eq!(own, ranges.instructions);
        let names = server.json("api/functions");
        for function in functions {
            let id = function["function"].as_u64().unwrap() as usize;
            assert_eq!(names["functions"][id]["name"], function["name"]);
            let calls = server.json(&format!("api/calls?function={id}&order=time&limit=500"));
            let calls = calls["calls"].as_array().unwrap();
            assert_eq!(calls.len() as u64, function["ended"].as_u64().unwrap());
            let lengths: Vec<u64> =
                calls.iter().map(|call| call["instructions"].as_u64().unwrap()).collect();
            assert_eq!(lengths.iter().max(), function["most"].as_u64().as_ref(), "{function}");
            let histogram = server.json(&format!("api/histogram?function={id}"));
            assert_eq!(histogram["calls"], function["ended"]);
            let longest = server.json(&format!("api/calls?function={id}&limit=1"));
            if let Some(first) = longest["calls"].get(0) {
                assert_eq!(first["instructions"], function["most"]);
            }
            // What is not listed is not longer than stated.
            let mut sorted = lengths.clone();
            sorted.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
            assert_eq!(longest["beyond"].as_u64(), sorted.get(1).copied(), "{longest}");
            assert_eq!(longest["more"], sorted.len() > 1);
            assert_eq!(longest["next_part"], Value::Null);
            let part = server.json(&format!("api/calls?function={id}&part=1"));
            assert_eq!(
                (part["calls"].as_array().unwrap().len(), &part["more"]),
                (0, &false.into())
            );
        }
        // Frames of the whole trace: all that began.
        let detail = server.get("api/detail");
        let counts = detail.counts();
        assert_eq!(&detail.body[..4], b"TWDT");
        let mut at = 64;
        let begins = detail.f64s(&mut at, counts[0] as usize);
        assert!(begins.is_sorted() && !begins.is_empty());
        // Each element of the list has its number, and each instruction.
        let rows = server.json("api/list?instruction=20&before=5&after=20");
        let anchor = rows["anchor"].as_u64().unwrap() as usize;
        assert_eq!(rows["rows"][anchor]["n"], 20);
        for row in rows["rows"].as_array().unwrap() {
            assert_eq!(row["source"], 0);
            if row["type"] == "instruction" {
                assert!(row["address"].is_string() && row["at_instruction"].is_number(), "{row}");
            }
        }
        let elements = server.json("api/list?element=7&before=7&after=30&kind=elements");
        let all = elements["rows"].as_array().unwrap();
        assert_eq!(
            (elements["begin"].as_bool(), all[0]["element"].as_u64()),
            (Some(true), Some(0))
        );
        // A result leads to its stack.
        let found = server.get("api/find?q=all+any&limit=20&direction=all");
        let text = String::from_utf8_lossy(&found.body).into_owned();
        let results = text.lines().filter_map(|line| line.strip_prefix("data: {\"element\":"));
        assert_eq!(results.count(), 20, "{text}");
        let stack = server.json("api/stack?element=30");
        assert!(!stack["frames"].as_array().unwrap().is_empty(), "{stack}");
        let exceptions = server.json("api/exceptions");
        let count: u64 = buffer["exceptions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|own| own["count"].as_u64().unwrap())
            .sum();
        assert_eq!(exceptions["exceptions"].as_array().unwrap().len() as u64, count);
    });
}

/// Counts elements and instructions.
#[derive(Default)]
struct Counted {
    elements: u64,
    instructions: u64,
}

impl tracewright::Listener for Counted {
    fn element(&mut self, _: usize, _: u64, element: tracewright::Element) {
        self.elements += 1;
        if let tracewright::Element::Range(range) = element {
            self.instructions += u64::from(range.instructions);
        }
    }
}

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

/// How long handlers take is what their frames are, where these are whole.
#[test]
fn exceptions_have_durations() {
    let (mut known, mut unknown, mut nested) = (0, 0, 0);
    for name in ["etmv4", "etmv3", "ptm", "ete", "ntrace-btm", "etrace-2.0"] {
        let trace = tracewright::open(capture(name)).expect("a capture");
        with_server(&trace, false, &[], Limits::default(), |server| {
            let rows = server.json("api/exceptions?limit=500");
            for row in rows["exceptions"].as_array().unwrap() {
                let detail = server.get(&format!("api/detail?source={}", row["source"]));
                let count = detail.counts()[0] as usize;
                let mut at = 64;
                let [_, _, begins, ends, ..] = [(); 7].map(|()| detail.f64s(&mut at, count));
                let mut array = |size: usize| {
                    let from = at;
                    at = (at + size * count).next_multiple_of(8);
                    &detail.body[from..from + size * count]
                };
                let [_, _, depths, entries, endings, flags] = [4, 4, 4, 1, 1, 1].map(&mut array);
                let depth =
                    |n: usize| i32::from_le_bytes(depths[4 * n..4 * n + 4].try_into().unwrap());
                let before = row["at_instruction"].as_f64().unwrap();
                let handlers = || (0..count).filter(|n| entries[*n] == 3);
                let own = handlers().filter(|n| begins[*n] == before).collect::<Vec<_>>();
                let whole = own
                    .iter()
                    .find(|n| [0, 2, 3].contains(&endings[**n]) && flags[**n] & 1 == 0)
                    .filter(|_| own.len() == 1);
                let Some(&n) = whole else {
                    unknown += 1;
                    assert_eq!(row["instructions"], Value::Null, "{name} {row}");
                    continue;
                };
                known += 1;
                assert_eq!(row["instructions"].as_f64(), Some(ends[n] - begins[n]), "{name} {row}");
                // Handlers inside it, each instruction once.
                let mut inside = vec![false; (ends[n] - begins[n]) as usize];
                for k in handlers().filter(|k| depth(*k) > depth(n)) {
                    if begins[k] >= begins[n] && ends[k] <= ends[n] {
                        let from = (begins[k] - begins[n]) as usize;
                        inside[from..from + (ends[k] - begins[k]) as usize].fill(true);
                    }
                }
                let interrupted = inside.iter().filter(|inside| **inside).count();
                nested += usize::from(interrupted > 0);
                let want = inside.len() - interrupted;
                assert_eq!(row["own"].as_f64(), Some(want as f64), "{name} {row}");
            }
        });
    }
    println!("{known} durations, {unknown} unknown, {nested} with others inside");
    assert!(known > 3, "{known} {unknown} {nested}");
}

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
    let mut file = Vec::new();
    let making = Making { view: true, ..Making::default() };
    let write = |bytes: &[u8], _: u64| {
        file.extend_from_slice(bytes);
        Ok(true)
    };
    trace.subject().make(trace.plans(), &making, write).expect("an index");
    let index = Index::read(file.into()).expect("an index");
    let files = Files {
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
