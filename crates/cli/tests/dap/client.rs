//! A client of the protocol.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::TRACEWRIGHT;
use crate::schema::Schema;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Client {
    child: Child,
    input: Option<Box<dyn Write>>,
    messages: Receiver<Value>,
    /// Events that no one has taken yet.
    pub events: VecDeque<Value>,
    schema: Option<Schema>,
    seq: u64,
    last: u64,
}

/// Reads messages until the stream ends.
pub fn read(reader: impl Read, mut each: impl FnMut(Value)) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut length = None;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", text)) => length = text.parse().ok(),
                _ => break,
            }
        }
        let mut content = vec![0; length.expect("a length")];
        reader.read_exact(&mut content).expect("a message");
        each(serde_json::from_slice(&content).expect("JSON"));
    }
}

impl Client {
    pub fn start(arguments: &[&str]) -> Client {
        let mut child = Command::new(TRACEWRIGHT)
            .arg("dap")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command");
        let (out, input) = (child.stdout.take().expect("a pipe"), child.stdin.take());
        Client::of(child, out, Box::new(input.expect("a pipe")))
    }

    /// Connects to a port of the loopback interface, whose address is the first line.
    pub fn connect(arguments: &[&str]) -> Client {
        let mut child = Command::new(TRACEWRIGHT)
            .args(["dap", "--port", "0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("an address");
        assert!(line.starts_with("127.0.0.1:"), "{line}");
        let stream = TcpStream::connect(line.trim()).expect("a connection");
        let input = stream.try_clone().expect("a stream");
        Client::of(child, stream, Box::new(input))
    }

    fn of(child: Child, out: impl Read + Send + 'static, input: Box<dyn Write>) -> Client {
        let (send, messages) = channel();
        std::thread::spawn(move || read(out, |message| drop(send.send(message))));
        let (schema, events) = (Schema::read(), VecDeque::new());
        Client { child, input: Some(input), messages, events, schema, seq: 0, last: 0 }
    }

    /// Starts, and opens a capture.
    pub fn open(capture: &str, more: Value) -> Client {
        let mut client = Client::start(&[]);
        client.launch(capture, more);
        client
    }

    pub fn launch(&mut self, capture: &str, more: Value) {
        let answer = self.request("initialize", json!({ "adapterID": "tracewright" }));
        assert_eq!(answer["body"]["supportsStepBack"], true, "{answer}");
        let mut arguments = json!({ "capture": capture });
        let own = arguments.as_object_mut().expect("an object");
        own.extend(more.as_object().cloned().unwrap_or_default());
        let answer = self.request("launch", arguments);
        assert_eq!(answer["success"], true, "{answer}");
        self.event("initialized");
        self.good("configurationDone", json!({}));
        let stopped = self.event("stopped");
        assert_eq!(stopped["body"]["reason"], "entry", "{stopped}");
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("an open stream");
        input.write_all(bytes).and_then(|()| input.flush()).expect("written");
    }

    /// Closes the stream to the server.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Sends a request, and returns its number.
    pub fn send(&mut self, command: &str, arguments: Value) -> u64 {
        self.send_all(&[(command, arguments)])
    }

    /// Sends requests at once, and returns the number of the first one.
    pub fn send_all(&mut self, requests: &[(&str, Value)]) -> u64 {
        let first = self.seq + 1;
        let mut bytes = Vec::new();
        for (command, arguments) in requests {
            self.seq += 1;
            let message = json!({
                "seq": self.seq, "type": "request", "command": command, "arguments": arguments,
            });
            let content = message.to_string();
            bytes.extend(format!("Content-Length: {}\r\n\r\n{content}", content.len()).bytes());
        }
        self.write(&bytes);
        first
    }

    /// The next message; it is valid.
    pub fn next(&mut self) -> Value {
        let message = self.messages.recv_timeout(PATIENCE).expect("a message");
        let seq = message["seq"].as_u64().expect("a number");
        assert_eq!(seq, self.last + 1, "{message}");
        self.last = seq;
        if let Some(schema) = &self.schema {
            schema.check(&message);
        }
        message
    }

    /// The answer to the request with a number. Events are stored.
    pub fn answer(&mut self, seq: u64) -> Value {
        loop {
            let message = self.next();
            if message["type"] == "event" {
                self.events.push_back(message);
            } else {
                assert_eq!(message["request_seq"], seq, "{message}");
                return message;
            }
        }
    }

    pub fn request(&mut self, command: &str, arguments: Value) -> Value {
        let seq = self.send(command, arguments);
        self.answer(seq)
    }

    /// The body of an answer that succeeds.
    pub fn good(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.request(command, arguments);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    /// Why a request fails.
    pub fn refused(&mut self, command: &str, arguments: Value) -> String {
        let answer = self.request(command, arguments);
        assert_eq!(answer["success"], false, "{answer}");
        answer["message"].as_str().expect("a reason").to_owned()
    }

    /// The next event of a kind; those before it stay.
    pub fn event(&mut self, name: &str) -> Value {
        if let Some(n) = self.events.iter().position(|event| event["event"] == name) {
            return self.events.remove(n).expect("an event");
        }
        loop {
            let message = self.next();
            assert_eq!(message["type"], "event", "{message}");
            if message["event"] == name {
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// Steps or runs a thread, and returns the body of the event that states where it ends.
    pub fn go(&mut self, command: &str, arguments: Value) -> Value {
        let mut own = json!({ "threadId": 1 });
        let object = own.as_object_mut().expect("an object");
        object.extend(arguments.as_object().cloned().unwrap_or_default());
        self.good(command, own);
        self.event("stopped")["body"].clone()
    }

    /// The frames of a thread.
    pub fn frames(&mut self, thread: u64) -> Vec<Value> {
        let body = self.good("stackTrace", json!({ "threadId": thread }));
        body["stackFrames"].as_array().expect("frames").clone()
    }

    /// Where a thread stands.
    pub fn top(&mut self) -> Value {
        self.frames(1).first().expect("a frame").clone()
    }

    /// The function and the line at which the first thread stands.
    pub fn at(&mut self) -> (String, u64) {
        let top = self.top();
        (top["name"].as_str().expect("a name").to_owned(), top["line"].as_u64().expect("a line"))
    }

    /// What an expression gives in the console.
    pub fn console(&mut self, text: &str) -> String {
        let arguments = json!({ "expression": text, "context": "repl" });
        let body = self.good("evaluate", arguments);
        body["result"].as_str().expect("a text").to_owned()
    }

    /// The number of the instruction at which the trace stands.
    pub fn instruction(&mut self) -> u64 {
        let when = self.console("when");
        let number = when.strip_prefix("instruction ").and_then(|rest| rest.split(',').next());
        number.and_then(|text| text.parse().ok()).expect("a number")
    }

    /// Goes to a place.
    pub fn goto(&mut self, place: &str) {
        self.console(&format!("goto {place}"));
        self.event("stopped");
    }

    /// Ends the session, and waits for its end.
    pub fn disconnect(mut self) {
        self.good("disconnect", json!({}));
        self.event("terminated");
        assert!(self.child.wait().expect("its end").success());
    }

    /// Whether the server has ended without a failure.
    pub fn ended(&mut self) -> bool {
        self.child.wait().expect("its end").success()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
