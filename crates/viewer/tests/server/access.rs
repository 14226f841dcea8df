//! Who may ask, bounds of requests, and bookmarks.

use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use tracewright_viewer::Limits;

use crate::common::{demo, with_server};

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
            // What opens this page has no access to it; the window of Perfetto may answer.
            let opener = &answer.headers["cross-origin-opener-policy"];
            assert_eq!(opener, "same-origin-allow-popups");
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
