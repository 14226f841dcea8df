//! `api/notes`: bookmarks.

use tracewright::views::json::Object;

use crate::answer::{Answer, Answered, Problem};
use crate::work::Worker;

/// The most notes, and the most bytes of one.
const MOST: usize = 10_000;
const LONGEST: usize = 4096;

/// A bookmark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Note {
    offset: u64,
    element: Option<u64>,
    to: Option<u64>,
    text: String,
}

pub(super) fn get(worker: &Worker<'_>) -> Answered {
    let read = (worker.served.files.notes)();
    let read = read.map_err(|error| Problem::new(500, "damaged", error.to_string()))?;
    let notes = match read {
        None => Vec::new(),
        Some(bytes) => parse(&bytes)
            .ok_or_else(|| Problem::new(500, "damaged", "the file of bookmarks is damaged"))?,
    };
    Ok(Answer::Json(written(&notes)))
}

pub(super) fn put(worker: &Worker<'_>, body: &[u8]) -> Answered {
    let save = worker.served.files.save;
    let save = save.ok_or_else(|| Problem::new(405, "method", "bookmarks are not saved"))?;
    let wanted = "{\"notes\":[{\"offset\":1,\"text\":\"..\"}]}, with element and to as numbers";
    let notes = parse(body).ok_or_else(|| Problem::parameter("the body", wanted))?;
    save(written(&notes).as_bytes())
        .map_err(|error| Problem::new(500, "damaged", error.to_string()))?;
    Ok(Answer::Done)
}

fn written(notes: &[Note]) -> String {
    let mut out = String::new();
    Object::new(&mut out)
        .list("notes", notes, |note, out| {
            Object::new(out)
                .number("offset", note.offset)
                .maybe_number("element", note.element)
                .maybe_number("to", note.to)
                .text("text", &note.text)
                .end();
        })
        .end();
    out
}

/// The bookmarks of a text in JSON. `None` where it is something else.
fn parse(bytes: &[u8]) -> Option<Vec<Note>> {
    let mut from = Json(std::str::from_utf8(bytes).ok()?);
    let mut notes = Vec::new();
    from.take('{')?;
    (from.string()? == "notes").then_some(())?;
    from.take(':')?;
    from.take('[')?;
    if !from.is(']') {
        loop {
            notes.push(from.note()?);
            if notes.len() > MOST {
                return None;
            }
            if from.is(']') {
                break;
            }
            from.take(',')?;
        }
    }
    from.take('}')?;
    from.0.trim_start().is_empty().then_some(notes)
}

/// The rest of a text in JSON. (RFC 8259)
struct Json<'a>(&'a str);

impl Json<'_> {
    /// Whether `c` is next, which is taken.
    fn is(&mut self, c: char) -> bool {
        match self.0.trim_start_matches([' ', '\t', '\r', '\n']).strip_prefix(c) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn take(&mut self, c: char) -> Option<()> {
        self.is(c).then_some(())
    }

    fn note(&mut self) -> Option<Note> {
        let (mut note, mut offset, mut text) = (Note::default(), None, None);
        self.take('{')?;
        loop {
            let name = self.string()?;
            self.take(':')?;
            match name.as_str() {
                "offset" => offset = Some(self.number()?),
                "element" => note.element = Some(self.number()?),
                "to" => note.to = Some(self.number()?),
                "text" => text = Some(self.string().filter(|text| text.len() <= LONGEST)?),
                _ => return None,
            }
            if self.is('}') {
                break;
            }
            self.take(',')?;
        }
        (note.offset, note.text) = (offset?, text?);
        Some(note)
    }

    /// A whole number below 2^53.
    fn number(&mut self) -> Option<u64> {
        self.0 = self.0.trim_start();
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        digits.parse().ok().filter(|number| *number < 1 << 53)
    }

    fn string(&mut self) -> Option<String> {
        self.take('"')?;
        let mut out = String::new();
        let mut chars = self.0.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => out.push(match chars.next()? {
                    c @ ('"' | '\\' | '/') => c,
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'u' => {
                        let mut unit = || {
                            let digits: String = chars.by_ref().take(4).collect();
                            u16::from_str_radix(&digits, 16).ok()
                        };
                        let mut units = vec![unit()?];
                        if matches!(units.first(), Some(0xd800..=0xdbff)) {
                            (chars.next()? == '\\' && chars.next()? == 'u').then_some(())?;
                            let digits: String = chars.by_ref().take(4).collect();
                            units.push(u16::from_str_radix(&digits, 16).ok()?);
                        }
                        char::decode_utf16(units).next()?.ok()?
                    }
                    _ => return None,
                }),
                c if c < ' ' => return None,
                c => out.push(c),
            }
        }
        self.0 = chars.as_str();
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_were_written() {
        let notes = vec![
            Note { offset: 1, element: Some(2), to: Some(5), text: "a\"\\\n\u{1f600}<b>".into() },
            Note { offset: 0, text: String::new(), ..Note::default() },
        ];
        assert_eq!(parse(written(&notes).as_bytes()), Some(notes));
        assert_eq!(parse(b" { \"notes\" : [ ] } "), Some(Vec::new()));
        let escaped = br#"{"notes":[{"text":"\u00e4\ud83d\ude00\/","offset":3}]}"#;
        assert_eq!(parse(escaped).expect("notes")[0].text, "ä\u{1f600}/");
        for text in [
            "",
            "{}",
            "[]",
            "{\"notes\":[{}]}",
            "{\"notes\":[{\"offset\":1}]}",
            "{\"notes\":[{\"offset\":-1,\"text\":\"\"}]}",
            "{\"notes\":[{\"offset\":9007199254740992,\"text\":\"\"}]}",
            "{\"notes\":[{\"offset\":1,\"text\":\"\",\"path\":\"/etc\"}]}",
            "{\"notes\":[{\"offset\":1,\"text\":\"\\ud800\"}]}",
            "{\"notes\":[]} x",
            "{\"notes\":[",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
