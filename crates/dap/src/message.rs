//! Requests, and what answers them. (Debug Adapter Protocol, "Base Protocol")

use std::fmt;

use serde_json::{Map, Value, json};
use tracewright::index::FindError;

use crate::framing::emit;

/// A request of the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its number.
    pub seq: u64,
    /// What is asked for.
    pub command: String,
    /// The arguments.
    pub arguments: Arguments,
}

/// The arguments of a request, or an object in them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(Map<String, Value>);

/// Why a message is not a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRequest {
    /// It is not JSON, or not an object with a number.
    NoMessage(String),
    /// It has a number and no command.
    NoCommand(u64),
    /// It is a response or an event, which no one waits for.
    Other,
}

/// Why a request is not answered as it wants.
#[derive(Debug)]
pub enum Refused {
    /// The reason, for the user.
    Why(String),
    /// The trace could not be read.
    Failed(FindError),
}

impl From<FindError> for Refused {
    fn from(error: FindError) -> Refused {
        Refused::Failed(error)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Why(why) => f.write_str(why),
            Refused::Failed(error) => write!(f, "{error}"),
        }
    }
}

/// A refusal with this reason.
pub(crate) fn refused<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Why(why.into()))
}

impl Request {
    /// Parses the content of a message.
    ///
    /// # Errors
    /// [`NoRequest`].
    pub fn parse(content: &[u8]) -> Result<Request, NoRequest> {
        let value: Value = serde_json::from_slice(content)
            .map_err(|error| NoRequest::NoMessage(error.to_string()))?;
        let Value::Object(mut message) = value else {
            return Err(NoRequest::NoMessage("it is not an object".into()));
        };
        match message.get("type").and_then(Value::as_str) {
            Some("request") => {}
            Some("response" | "event") => return Err(NoRequest::Other),
            _ => return Err(NoRequest::NoMessage("it has no known type".into())),
        }
        // Numbers of messages have 31 bits.
        let number = message.get("seq").and_then(Value::as_u64);
        let number = number.filter(|seq| (1..=i32::MAX as u64).contains(seq));
        let Some(seq) = number else {
            return Err(NoRequest::NoMessage("it has no number".into()));
        };
        let Some(Value::String(command)) = message.remove("command") else {
            return Err(NoRequest::NoCommand(seq));
        };
        let arguments = match message.remove("arguments") {
            Some(Value::Object(arguments)) => Arguments(arguments),
            _ => Arguments::default(),
        };
        Ok(Request { seq, command, arguments })
    }
}

impl Arguments {
    fn wrong<T>(name: &str, what: &str) -> Result<T, Refused> {
        refused(format!("the argument `{name}` is not {what}"))
    }

    /// A text, if there is one.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Refused> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Self::wrong(name, "a text"),
        }
    }

    /// An integer, if there is one.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Refused> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_i64() {
                Some(value) => Ok(Some(value)),
                None => Self::wrong(name, "an integer"),
            },
        }
    }

    /// A number of things, if there is one.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, Refused> {
        match self.integer(name)? {
            None => Ok(None),
            Some(value) => match usize::try_from(value) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Self::wrong(name, "a count"),
            },
        }
    }

    /// A number of things.
    pub(crate) fn needed(&self, name: &str) -> Result<usize, Refused> {
        match self.count(name)? {
            Some(value) => Ok(value),
            None => Self::wrong(name, "there"),
        }
    }

    /// A flag; `missing` where there is none.
    pub(crate) fn flag(&self, name: &str, missing: bool) -> Result<bool, Refused> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(missing),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Self::wrong(name, "a flag"),
        }
    }

    /// A list; empty where there is none.
    pub(crate) fn list(&self, name: &str) -> Result<&[Value], Refused> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(values)) => Ok(values),
            Some(_) => Self::wrong(name, "a list"),
        }
    }

    /// The objects of a list; empty where there is none.
    pub(crate) fn objects(&self, name: &str) -> Result<Vec<Arguments>, Refused> {
        let object = |value: &Value| match value {
            Value::Object(object) => Ok(Arguments(object.clone())),
            _ => Self::wrong(name, "a list of objects"),
        };
        self.list(name)?.iter().map(object).collect()
    }

    /// The texts of a list, or one text; empty where there is none.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, Refused> {
        if let Some(Value::String(one)) = self.0.get(name) {
            return Ok(vec![one.clone()]);
        }
        let text = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            _ => Self::wrong(name, "a list of texts"),
        };
        self.list(name)?.iter().map(text).collect()
    }

    /// An object; an empty one where there is none.
    pub(crate) fn object(&self, name: &str) -> Result<Arguments, Refused> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Arguments::default()),
            Some(Value::Object(object)) => Ok(Arguments(object.clone())),
            Some(_) => Self::wrong(name, "an object"),
        }
    }

    /// The members that are texts, by name.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.into()));
        self.0.iter().filter_map(pair).collect()
    }
}

/// Messages to the client.
#[derive(Debug, Default)]
pub struct Outbox {
    seq: u64,
    /// The bytes that wait to be sent.
    pub bytes: Vec<u8>,
}

impl Outbox {
    fn send(&mut self, mut message: Map<String, Value>) {
        self.seq += 1;
        message.insert("seq".into(), self.seq.into());
        emit(Value::Object(message).to_string().as_bytes(), &mut self.bytes);
    }

    fn response(&mut self, request: &Request, body: Option<Value>, error: Option<&str>) {
        let mut message = Map::new();
        message.insert("type".into(), "response".into());
        message.insert("request_seq".into(), request.seq.into());
        message.insert("success".into(), error.is_none().into());
        message.insert("command".into(), request.command.as_str().into());
        if let Some(error) = error {
            message.insert("message".into(), error.into());
        }
        if let Some(body) = body {
            message.insert("body".into(), body);
        }
        self.send(message);
    }

    /// Answers a request.
    pub(crate) fn respond(&mut self, request: &Request, body: Option<Value>) {
        self.response(request, body, None);
    }

    /// Answers a request that fails.
    pub(crate) fn fail(&mut self, request: &Request, why: &str) {
        // The text may contain braces, which would name variables.
        let format = why.replace(['{', '}'], "'");
        let body = json!({ "error": { "id": 1, "format": format, "showUser": false } });
        self.response(request, Some(body), Some(why));
    }

    /// Sends an event.
    pub(crate) fn event(&mut self, event: &str, body: Option<Value>) {
        let mut message = Map::new();
        message.insert("type".into(), "event".into());
        message.insert("event".into(), event.into());
        if let Some(body) = body {
            message.insert("body".into(), body);
        }
        self.send(message);
    }

    /// Prints a line in the console of the client.
    pub(crate) fn console(&mut self, text: &str) {
        self.event("output", Some(json!({ "category": "console", "output": format!("{text}\n") })));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request() {
        let no = |text: &str| Request::parse(text.as_bytes()).expect_err(text);
        for text in [
            "",
            "{",
            "[]",
            "3",
            "{}",
            "\u{0}",
            r#"{"type":"request"}"#,
            r#"{"type":"request","seq":-1,"command":"x"}"#,
            r#"{"type":"request","seq":1e99,"command":"x"}"#,
            r#"{"type":"request","seq":3000000000,"command":"x"}"#,
            &"[".repeat(100_000),
        ] {
            assert!(matches!(no(text), NoRequest::NoMessage(_)), "{text:.40}");
        }
        assert_eq!(no(r#"{"type":"request","seq":7}"#), NoRequest::NoCommand(7));
        assert_eq!(no(r#"{"type":"event","seq":7}"#), NoRequest::Other);
    }

    #[test]
    fn arguments_have_types() {
        let text = r#"{"type":"request","seq":1,"command":"c","arguments":{"a":1,"b":"x","c":-1}}"#;
        let arguments = Request::parse(text.as_bytes()).expect("a request").arguments;
        assert_eq!(arguments.count("a").expect("a count"), Some(1));
        assert_eq!(arguments.text("b").expect("a text"), Some("x"));
        assert_eq!(arguments.count("d").expect("nothing"), None);
        assert!(arguments.text("a").is_err() && arguments.count("c").is_err());
        assert!(arguments.needed("d").is_err() && arguments.objects("a").is_err());
    }
}
