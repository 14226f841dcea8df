//! The ini files of snapshots: sections of `KEY=VALUE` lines, in order and with line numbers.
//!
//! `;` and `#` begin a comment anywhere in a line. Sections and keys may be repeated. Parsing never
//! fails: a line that is not `KEY=VALUE` is an [`Entry`] without a value, and lines before the
//! first header form a section with an empty name.

/// An ini file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ini<'a> {
    /// The sections, in order.
    pub sections: Vec<Section<'a>>,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// The text between the brackets; empty for lines before the first header.
    pub name: &'a str,
    /// The line of the header, from 1; 0 without a header.
    pub line: u32,
    /// The lines, in order.
    pub entries: Vec<Entry<'a>>,
}

/// A line that is neither empty nor a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The text before the first `=`, or the whole line.
    pub key: &'a str,
    /// The text after the first `=`, without enclosing quotes.
    pub value: Option<&'a str>,
    /// The line, from 1.
    pub line: u32,
}

impl<'a> Ini<'a> {
    /// Parses the text of a file.
    pub fn parse(text: &'a str) -> Self {
        let mut sections = Vec::new();
        let mut current = Section { name: "", line: 0, entries: Vec::new() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, n) in text.split('\n').zip(1u32..) {
            let line = line.split([';', '#', '\r']).next().unwrap_or_default().trim();
            if let Some(name) = header(line) {
                let next = Section { name, line: n, entries: Vec::new() };
                let done = std::mem::replace(&mut current, next);
                if done.line != 0 || !done.entries.is_empty() {
                    sections.push(done);
                }
            } else if !line.is_empty() {
                let entry = match line.split_once('=') {
                    Some((key, value)) => {
                        let value = value.trim().trim_matches(['"', '\'']).trim();
                        Entry { key: key.trim(), value: Some(value), line: n }
                    }
                    None => Entry { key: line, value: None, line: n },
                };
                current.entries.push(entry);
            }
        }
        if current.line != 0 || !current.entries.is_empty() {
            sections.push(current);
        }
        Ini { sections }
    }

    /// The first section with this name, compared without case.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|s| s.name.eq_ignore_ascii_case(name))
    }
}

fn header(line: &str) -> Option<&str> {
    Some(line.strip_prefix('[')?.split_once(']')?.0.trim())
}

/// The text of a file in UTF-16 that begins with a byte order mark, as programs of Windows write
/// it.
pub fn utf16(bytes: &[u8]) -> Option<String> {
    let unit = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let (pairs, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).ok()
}

/// The words of a comma-separated list, without surrounding blanks and without empty words.
pub fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use tracewright_testing::Random;

    use super::*;

    /// The parsed file in one line: `[section@line]`, `key=value@line`, `(text)@line` for a line
    /// without `=`.
    fn describe(text: &str) -> String {
        let mut out = String::new();
        for section in &Ini::parse(text).sections {
            out += &format!("[{}@{}]", section.name, section.line);
            for Entry { key, value, line } in &section.entries {
                match value {
                    Some(value) => out += &format!("{key}={value}@{line} "),
                    None => out += &format!("({key})@{line} "),
                }
            }
        }
        out
    }

    #[test]
    fn lines() {
        for (text, want) in [
            ("", ""),
            ("\n\n", ""),
            ("[a]", "[a@1]"),
            ("[a]\nk=v", "[a@1]k=v@2 "),
            ("[a]\r\nk=v\r\n", "[a@1]k=v@2 "),
            ("\u{feff}[a]\nk=v", "[a@1]k=v@2 "),
            ("k=v\n[a]", "[@0]k=v@1 [a@2]"),
            (" [ a b ] x\n\tk  =  v w  ", "[a b@1]k=v w@2 "),
            ("[a]\nk=v;c\nl=w#c\n;c\n#c", "[a@1]k=v@2 l=w@3 "),
            ("[a];c", "[a@1]"),
            ("[a]\nk\nl=", "[a@1](k)@2 l=@3 "),
            ("[a]\nk=v=w", "[a@1]k=v=w@2 "),
            ("[a]\n=v", "[a@1]=v@2 "),
            ("[a]\nk='v'\nl=\" w \"", "[a@1]k=v@2 l=w@3 "),
            ("[a]\nk=v[0]", "[a@1]k=v[0]@2 "),
            ("[a\nk=v", "[@0]([a)@1 k=v@2 "),
            ("[a]\n[a]\nk=1\nk=2", "[a@1][a@2]k=1@3 k=2@4 "),
            ("[]\nk=v", "[@1]k=v@2 "),
            // Forms that occur in snapshots.
            (
                "[regs]\nPC(size:64)=0x1\nTRCIDR0(0x078)=2",
                "[regs@1]PC(size:64)=0x1@2 TRCIDR0(0x078)=2@3 ",
            ),
        ] {
            assert_eq!(describe(text), want, "{text:?}");
        }
    }

    #[test]
    fn sections_in_any_case() {
        let ini = Ini::parse("[Regs]\nPC=1\npc=2\nloose\n[regs]\nSP=3");
        let regs = ini.section("REGS").unwrap();
        assert_eq!(regs.line, 1);
        let entries: Vec<_> = regs.entries.iter().map(|e| (e.key, e.value, e.line)).collect();
        assert_eq!(entries, [("PC", Some("1"), 2), ("pc", Some("2"), 3), ("loose", None, 4)]);
        assert_eq!(ini.section("dump"), None);
    }

    #[test]
    fn lists() {
        for (text, want) in [
            ("buffer0,buffer1", &["buffer0", "buffer1"][..]),
            (" buffer0 ,\tbuffer1", &["buffer0", "buffer1"]),
            ("buffer1,", &["buffer1"]),
            (",,", &[]),
            ("", &[]),
            ("Cluster 0", &["Cluster 0"]),
        ] {
            assert!(list(text).eq(want.iter().copied()), "{text:?}");
        }
    }

    #[test]
    fn texts_in_utf16() {
        for (bytes, want) in [
            (&b"\xff\xfe[\0a\0]\0"[..], Some("\u{feff}[a]")),
            (b"\xfe\xff\0[\x20\xac\0]", Some("\u{feff}[\u{20ac}]")),
            (b"\xff\xfe[\0a", Some("\u{feff}[")),
            (b"\xff\xfe\0\xd8", None),
            (b"[a]", None),
            (b"\xff", None),
            (b"", None),
        ] {
            assert_eq!(utf16(bytes).as_deref(), want, "{bytes:?}");
        }
    }

    /// For random text, every name and key is part of its recorded line, and no line is dropped.
    #[test]
    fn random_text_is_parsed_completely() {
        let mut random = Random::new(1);
        for _ in 0..4000 {
            let marks = ["[", "]", "=", ";", "#", "\n", "\r", " ", "'", "k", "é", "\u{feff}", "\0"];
            let text: String = (0..random.below(40)).map(|_| random.pick(&marks)).collect();
            let ini = Ini::parse(&text);
            let lines: Vec<_> = text.split('\n').collect();
            let mut last = 0;
            let mut check = |line: u32, piece: &str| {
                assert!(line > last, "{text:?}: lines are in order");
                last = line;
                assert!(lines[line as usize - 1].contains(piece), "{text:?}: {piece:?}");
            };
            for section in &ini.sections {
                if section.line != 0 {
                    check(section.line, section.name);
                }
                for entry in &section.entries {
                    check(entry.line, entry.key);
                    assert!(lines[entry.line as usize - 1].contains(entry.value.unwrap_or("")));
                }
            }
            let parsed = ini.sections.iter().map(|s| s.entries.len() + usize::from(s.line != 0));
            let blank = |l: &&str| l.split([';', '#', '\r']).next().unwrap().trim().is_empty();
            let first = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let expected = first.split('\n').filter(|l| !blank(l)).count();
            assert_eq!(parsed.sum::<usize>(), expected, "{text:?}: lines");
        }
    }
}
