//! `profile.proto` of pprof, without compression: executed instructions by address.
//! (github.com/google/pprof, proto/profile.proto)

use std::collections::HashMap;

use tracewright_analysis::Profile;
use tracewright_capture::proto::Message;

use crate::functions::functions;

/// Texts by number. Number 0 is the empty text.
#[derive(Default)]
pub(crate) struct Texts {
    texts: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Texts {
    /// All texts, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// The number of `text`.
    pub(crate) fn number(&mut self, text: &str) -> u64 {
        if self.texts.is_empty() {
            self.texts.push(String::new());
            self.numbers.insert(String::new(), 0);
        }
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        self.texts.push(text.to_owned());
        let number = self.texts.len() as u64 - 1;
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// The message `Profile`.
pub(crate) fn write(profile: &Profile) -> Vec<u8> {
    let (mut texts, mut out) = (Texts::default(), Message::default());
    let mut kind = Message::default();
    kind.number(1, texts.number("instructions"));
    kind.number(2, texts.number("count"));
    out.bytes(1, &kind.0);
    let (mut mappings, mut locations) = (Message::default(), Message::default());
    let mut names = Message::default();
    let (mut mapping, mut location, mut function) = (0, 0, 0);
    for module in profile.modules.values() {
        mapping += 1;
        let segments = module.file.segments.iter().filter(|segment| segment.executable);
        let start = segments.clone().map(|s| s.address).min().unwrap_or(0);
        let end = segments.map(|s| s.address.saturating_add(s.memory_size)).max().unwrap_or(0);
        let mut message = Message::default();
        message.number(1, mapping);
        message.number(2, start);
        message.number(3, end);
        message.number(5, texts.number(&module.file.path));
        let id: String =
            module.file.build_id.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        message.number(6, texts.number(&id));
        message.number(7, 1);
        mappings.bytes(3, &message.0);
        for (name, addresses) in functions(module) {
            function += 1;
            let mut message = Message::default();
            message.number(1, function);
            message.number(2, texts.number(&name));
            message.number(3, texts.number(&name));
            names.bytes(5, &message.0);
            for (address, count) in addresses {
                location += 1;
                let mut line = Message::default();
                line.number(1, function);
                let mut message = Message::default();
                message.number(1, location);
                message.number(2, mapping);
                message.number(3, address);
                message.bytes(4, &line.0);
                locations.bytes(4, &message.0);
                let mut sample = Message::default();
                sample.packed(1, &[location]);
                // Values are signed.
                sample.packed(2, &[count.min(i64::MAX as u64)]);
                out.bytes(2, &sample.0);
            }
        }
    }
    out.0.extend(mappings.0);
    out.0.extend(locations.0);
    out.0.extend(names.0);
    for text in texts.iter() {
        out.bytes(6, text.as_bytes());
    }
    out.0
}
