//! Who may ask, and the headers of each answer.
//!
//! A page of another origin may send requests to this server, and a name may resolve to its
//! address: so the host, the token, and where the request comes from are checked before anything
//! else.

use std::fmt;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::answer::Problem;

/// What a request must have to be answered: 24 random bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The digits of a token, as of base 32. (RFC 4648)
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

impl Token {
    /// A random token.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn random() -> std::io::Result<Token> {
        let mut bytes = [0u8; 24];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        let mut text = String::new();
        for five in bytes.chunks(5) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().skip(3).zip(five) {
                *to = *from;
            }
            let bits = u64::from_be_bytes(word);
            let digits = (five.len() * 8).div_ceil(5);
            // The bytes of a short part are the first of five.
            for n in 0..digits {
                let digit = DIGITS.get((bits >> (35 - 5 * n) & 31) as usize);
                text.push(char::from(digit.copied().unwrap_or(b'a')));
            }
        }
        Ok(Token(text))
    }

    /// As text: letters and digits.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether `text` is the token. The time does not depend on where they differ.
    fn is(&self, text: &str) -> bool {
        let same = self.0.len() == text.len();
        let differ = self.0.bytes().zip(text.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
        same && differ == 0
    }
}

/// What is allowed on one port.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) port: u16,
    pub(crate) token: Token,
}

/// A request that may be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed<'p> {
    /// The path without the token, and without its first slash.
    pub(crate) path: &'p str,
    /// The token is in the path.
    pub(crate) named: bool,
}

impl Access {
    /// The name of the cookie with the token. Cookies of all ports are sent to each.
    fn cookie_name(&self) -> String {
        format!("tracewright-{}", self.port)
    }

    /// The value of `Set-Cookie` of the page.
    pub(crate) fn cookie(&self) -> String {
        let name = self.cookie_name();
        format!("{name}={}; HttpOnly; SameSite=Strict; Path=/", self.token.text())
    }

    /// The hosts that are this server.
    fn is_host(&self, host: &str) -> bool {
        ["127.0.0.1", "localhost", "[::1]"]
            .iter()
            .any(|name| host == format!("{name}:{}", self.port))
    }

    /// Whether a request may be answered.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check<'p>(
        &self,
        path: &'p str,
        headers: &HeaderMap,
    ) -> Result<Allowed<'p>, Problem> {
        let refused = |why: &str| Problem::new(403, "forbidden", why);
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() || !host.is_some_and(|host| self.is_host(host)) {
            return Err(Problem::new(421, "host", "the server is not that of this host"));
        }
        let path = path.strip_prefix('/').unwrap_or(path);
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let named = self.token.is(first);
        if !named && !self.has_cookie(headers) {
            return Err(refused("open the address that the command has printed"));
        }
        let path = if named { rest } else { path };
        let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let origin = text(&header::ORIGIN);
        let own =
            |origin: &str| origin.strip_prefix("http://").is_some_and(|host| self.is_host(host));
        if origin.is_some_and(|origin| !own(origin)) {
            return Err(refused("the request is from another origin"));
        }
        // The command opens the page from a file.
        let opened = named && path.is_empty() && text(&MODE) == Some("navigate");
        match text(&SITE) {
            None | Some("same-origin" | "none") => {}
            Some(_) if opened => {}
            Some(_) => return Err(refused("the request is from another site")),
        }
        Ok(Allowed { path, named })
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let cookies = headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
        cookies.flat_map(|cookies| cookies.split(';')).any(|cookie| {
            let (own, value) = cookie.trim().split_once('=').unwrap_or_default();
            own == name && self.token.is(value)
        })
    }
}

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What a page of this server may load: its own files, and nothing in line.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// Adds the headers that each answer has.
pub(crate) fn add_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        // The window of Perfetto, which the reader may open, answers to this page.
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin-allow-popups"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        headers
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let tokens = [Token::random().expect("random"), Token::random().expect("random")];
        assert_ne!(tokens[0], tokens[1]);
        for token in tokens {
            assert_eq!(token.text().len(), 39);
            assert!(token.text().bytes().all(|byte| DIGITS.contains(&byte)));
            assert!(!format!("{token:?}").contains(token.text()));
        }
    }

    #[test]
    fn only_the_page_itself_may_ask() {
        let access = Access { port: 99, token: Token("abc".into()) };
        let host = ("host", "127.0.0.1:99");
        let check = |path, pairs: &[(&'static str, &str)]| match access.check(path, &headers(pairs))
        {
            Ok(allowed) => (200, allowed.path.to_owned()),
            Err(problem) => (problem.status, String::new()),
        };
        let ok = |path: &str| (200, path.to_owned());
        let no = |status| (status, String::new());
        let cookie = ("cookie", "a=b; tracewright-99=abc");
        for (path, pairs, want) in [
            ("/abc/", vec![host], ok("")),
            ("/abc/api/capture", vec![("host", "localhost:99")], ok("api/capture")),
            ("/abc/app.js", vec![("host", "[::1]:99")], ok("app.js")),
            ("/api/capture", vec![host, cookie], ok("api/capture")),
            ("/", vec![host, cookie], ok("")),
            ("/api/capture", vec![host], no(403)),
            ("/abd/", vec![host], no(403)),
            ("/ab/", vec![host], no(403)),
            ("/abc/", vec![], no(421)),
            ("/abc/", vec![("host", "127.0.0.1")], no(421)),
            ("/abc/", vec![("host", "127.0.0.1:98")], no(421)),
            ("/abc/", vec![("host", "evil.example:99")], no(421)),
            ("/abc/", vec![host, host], no(421)),
            ("/", vec![host, ("cookie", "tracewright-98=abc")], no(403)),
            ("/", vec![host, ("cookie", "tracewright-99=abcd")], no(403)),
            ("/abc/", vec![host, ("origin", "http://evil.example")], no(403)),
            ("/abc/", vec![host, ("origin", "null")], no(403)),
            ("/abc/", vec![host, ("origin", "http://127.0.0.1:99")], ok("")),
            ("/abc/", vec![host, ("sec-fetch-site", "cross-site")], no(403)),
            (
                "/abc/",
                vec![host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
                ok(""),
            ),
            (
                "/abc/api/capture",
                vec![host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
                no(403),
            ),
            ("/abc/api/x", vec![host, ("sec-fetch-site", "same-site")], no(403)),
            ("/abc/api/x", vec![host, ("sec-fetch-site", "same-origin")], ok("api/x")),
        ] {
            assert_eq!(check(path, &pairs), want, "{path} {pairs:?}");
        }
    }
}
