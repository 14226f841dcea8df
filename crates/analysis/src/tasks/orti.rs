//! ORTI: an OSEK or AUTOSAR operating system describes its objects for debuggers. (OSEK/VDX Run
//! Time Interface, Part A)
//!
//! The implementation part declares the attributes of each kind of object, and for enumerations the
//! text of each value; the information part has the objects, with an expression for each attribute:
//!
//! ```text
//! VERSION { KOIL = "2.2"; OSSEMANTICS = "ORTI", "2.2"; };
//! IMPLEMENTATION Own {
//!   OS { ENUM [ "NO_TASK" = 0, "Control" : Control = "&(OsTask[1])" ] RUNNINGTASK, "Running"; };
//!   TASK { CTYPE PRIORITY, "Priority"; };
//! };
//! OS os { RUNNINGTASK = "OsCurrent"; };
//! TASK Control { PRIORITY = "5"; };
//! ```
//!
//! Of these, the expressions of RUNNINGTASK and the values of its enumeration are used: a variable
//! of each core, and the task that each of its values stands for.

use std::borrow::Cow;

use tracewright_base::Invalid;

use super::system::{Current, Offset, Place, System, TaskFile, number};

/// The most tokens of a file.
const MAX_TOKENS: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Text(&'a str),
    Mark(char),
}

/// Whether a text is ORTI: its first word is VERSION or IMPLEMENTATION.
pub(super) fn is_orti(text: &str) -> bool {
    let first = tokens(text, 2);
    matches!(first, Ok(ref all) if matches!(
        all.first(), Some((_, Token::Word("VERSION" | "IMPLEMENTATION")))
    ))
}

/// The tokens with their lines, without comments.
fn tokens(text: &str, most: usize) -> Result<Vec<(usize, Token<'_>)>, Invalid> {
    let (mut all, mut rest, mut line) = (Vec::new(), text, 1);
    while all.len() < most {
        let next = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        line += lines(rest, next);
        rest = next;
        let Some(first) = rest.chars().next() else { break };
        if rest.starts_with("//") {
            rest = rest.find('\n').and_then(|end| rest.get(end..)).unwrap_or("");
        } else if rest.starts_with("/*") {
            let end =
                rest.find("*/").ok_or_else(|| format!("line {line}: a comment has no end"))?;
            let after = rest.get(end + 2..).unwrap_or("");
            line += lines(rest, after);
            rest = after;
        } else if first == '"' {
            let inside = rest.get(1..).unwrap_or("");
            let end = inside.find('"').ok_or_else(|| format!("line {line}: a text has no end"))?;
            all.push((line, Token::Text(inside.get(..end).unwrap_or(""))));
            let after = inside.get(end + 1..).unwrap_or("");
            line += lines(rest, after);
            rest = after;
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            all.push((line, Token::Word(word)));
            rest = after;
        } else {
            all.push((line, Token::Mark(first)));
            rest = rest.get(first.len_utf8()..).unwrap_or("");
        }
    }
    Ok(all)
}

/// The number of lines that end between `text` and its end `rest`.
fn lines(text: &str, rest: &str) -> usize {
    let passed = text.len().saturating_sub(rest.len());
    text.as_bytes().get(..passed).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

/// Reads ORTI.
///
/// # Errors
/// The line that is wrong, or what is missing.
pub(super) fn read(text: &str) -> Result<TaskFile, Invalid> {
    let all = tokens(text, MAX_TOKENS)?;
    if all.len() >= MAX_TOKENS {
        return Err("it has too many words".into());
    }
    let mut parser = Parser { all: &all, at: 0 };
    let (mut running, mut values): (Vec<String>, Vec<Value<'_>>) = (Vec::new(), Vec::new());
    let mut names: Vec<String> = Vec::new();
    while let Some((line, token)) = parser.next() {
        match token {
            Token::Word("VERSION") => parser.block(*line)?,
            Token::Word("IMPLEMENTATION") => {
                parser.word(*line)?;
                values = parser.implementation(*line)?;
            }
            Token::Word(kind) => {
                let name = parser.word(*line)?.to_owned();
                let found = parser.attributes(*line)?;
                if *kind == "OS" {
                    let own = found.into_iter().filter(|(key, _)| key == "RUNNINGTASK");
                    running.extend(own.map(|(_, value)| value));
                } else if *kind == "TASK" {
                    names.push(name);
                }
            }
            Token::Mark(';') => {}
            _ => return Err(format!("line {line}: expected the kind of an object").into()),
        }
    }
    let place = |running: &String| {
        let why = || format!("RUNNINGTASK `{running}` is not one variable");
        place(running).ok_or_else(why)
    };
    let places = running.iter().map(place).collect::<Result<Vec<Place>, String>>()?;
    let mut places = places.into_iter();
    let first = places.next().ok_or("no OS has RUNNINGTASK")?;
    let mut file = file_of(values);
    if file.names.is_empty() && file.expressions.is_empty() {
        // The values are the addresses of variables with the names of the tasks.
        file.expressions = names.into_iter().map(|name| (name.clone(), name)).collect();
    }
    let detect = match &first {
        Place::Symbol(name, _) => name.clone(),
        Place::Variable(path) => path.split(['.', '[']).next().unwrap_or(path).to_owned(),
    };
    let is_number = file.expressions.is_empty();
    file.systems.push(System {
        key: "orti".to_owned(),
        title: "ORTI".to_owned(),
        detect: vec![detect],
        current: Some(Current { others: places.collect(), is_number, ..Current::of(first) }),
        idle_tasks: NO_TASK.map(str::to_owned).to_vec(),
        ..System::default()
    });
    Ok(file)
}

/// What implementations call the value where no task runs.
const NO_TASK: [&str; 2] = ["NO_TASK", "INVALID_TASK"];

/// The names of the values of RUNNINGTASK.
fn file_of(values: Vec<Value<'_>>) -> TaskFile {
    let mut file = TaskFile::default();
    let mut negative = Vec::new();
    for Value { name, value } in values {
        let value = value.trim();
        match (number(value), value.strip_prefix('-').and_then(|text| number(text.trim()))) {
            (Some(value), _) => _ = file.names.insert(value, name),
            (None, Some(value)) => negative.push((value.wrapping_neg(), name)),
            (None, None) => file.expressions.push((value.to_owned(), name)),
        }
    }
    // The variable may have any width.
    for (value, name) in negative {
        for width in [8, 16, 32, 64] {
            let value = value & (u64::MAX >> (64 - width));
            file.names.entry(value).or_insert_with(|| name.clone());
        }
    }
    file
}

/// A value of an enumeration, and what it stands for.
struct Value<'a> {
    name: String,
    value: Cow<'a, str>,
}

/// The variable of an expression. Its value is the identifier of the task.
fn place(expression: &str) -> Option<Place> {
    let plain = bare(expression);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if plain.is_empty() || !plain.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    if plain.chars().all(is_name) {
        return Some(Place::Symbol(plain.to_owned(), Offset::At(0)));
    }
    let is_path = plain.chars().all(|c| is_name(c) || matches!(c, '.' | '[' | ']'));
    is_path.then(|| Place::Variable(plain.to_owned()))
}

/// An expression without parentheses around it.
pub(super) fn bare(expression: &str) -> &str {
    let mut text = expression.trim();
    while let Some(inside) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        text = inside.trim();
    }
    text
}

struct Parser<'a, 'b> {
    all: &'b [(usize, Token<'a>)],
    at: usize,
}

impl<'a, 'b> Parser<'a, 'b> {
    fn next(&mut self) -> Option<&'b (usize, Token<'a>)> {
        let token = self.all.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    fn expect(&mut self, line: usize) -> Result<&'b (usize, Token<'a>), Invalid> {
        self.next().ok_or_else(|| format!("the object in line {line} has no end").into())
    }

    fn word(&mut self, line: usize) -> Result<&'a str, Invalid> {
        match self.expect(line)? {
            (_, Token::Word(word)) => Ok(word),
            (line, _) => Err(format!("line {line}: expected a name").into()),
        }
    }

    fn mark(&mut self, line: usize, mark: char) -> Result<(), Invalid> {
        match self.expect(line)? {
            (_, Token::Mark(own)) if *own == mark => Ok(()),
            (line, _) => Err(format!("line {line}: expected `{mark}`").into()),
        }
    }

    /// Passes over a block in braces.
    fn block(&mut self, line: usize) -> Result<(), Invalid> {
        self.mark(line, '{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.expect(line)?.1 {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// Texts that follow one another are one.
    fn texts(&mut self, first: &'a str) -> Cow<'a, str> {
        let mut all = Cow::Borrowed(first);
        while let Some((_, Token::Text(more))) = self.all.get(self.at) {
            self.at += 1;
            all.to_mut().push_str(more);
        }
        all
    }

    /// The attributes of an object that have a value.
    fn attributes(&mut self, line: usize) -> Result<Vec<(String, String)>, Invalid> {
        self.mark(line, '{')?;
        let (mut found, mut key) = (Vec::new(), None);
        loop {
            match self.expect(line)? {
                (_, Token::Mark('}')) => return Ok(found),
                (_, Token::Mark(';')) => key = None,
                (_, Token::Word(word)) if key.is_none() => key = Some(*word),
                (_, Token::Text(text)) => {
                    let text = self.texts(text);
                    if let Some(key) = key {
                        found.push((key.to_owned(), text.into_owned()));
                    }
                }
                (line, Token::Mark('{')) => {
                    return Err(format!("line {line}: an attribute has no block").into());
                }
                _ => {}
            }
        }
    }

    /// The values of the enumeration of RUNNINGTASK: each with its text.
    fn implementation(&mut self, line: usize) -> Result<Vec<Value<'a>>, Invalid> {
        self.mark(line, '{')?;
        let (mut depth, mut last) = (1, Vec::new());
        let mut found = Vec::new();
        while depth > 0 {
            match self.expect(line)? {
                (_, Token::Mark('{')) => depth += 1,
                (_, Token::Mark('}')) => depth -= 1,
                (_, Token::Mark(';')) => last = Vec::new(),
                (line, Token::Mark('[')) => last = self.enumeration(*line)?,
                (_, Token::Word("RUNNINGTASK")) => found = std::mem::take(&mut last),
                _ => {}
            }
        }
        Ok(found)
    }

    /// `"text" : NAME = VALUE, ... ]`, in which the name may be missing: a value is a text, or a
    /// number without quotes.
    fn enumeration(&mut self, line: usize) -> Result<Vec<Value<'a>>, Invalid> {
        let (mut found, mut name, mut value) = (Vec::new(), None, None::<Cow<'a, str>>);
        loop {
            let (line, token) = self.expect(line)?;
            match token {
                Token::Text(text) if name.is_none() => {
                    name = Some(self.texts(text).into_owned());
                }
                // Some files have no comma between values.
                Token::Text(text) if value.as_ref().is_some_and(|value| !value.is_empty()) => {
                    let next = self.texts(text).into_owned();
                    if let (Some(name), Some(value)) = (name.replace(next), value.take()) {
                        found.push(Value { name, value });
                    }
                }
                Token::Text(text) if value.is_some() => value = Some(self.texts(text)),
                Token::Mark('=') => value = Some(Cow::Borrowed("")),
                Token::Word(word) => {
                    if let Some(value) = &mut value {
                        value.to_mut().push_str(word);
                    }
                }
                Token::Mark('-') if value.is_some() => {
                    value.get_or_insert_default().to_mut().push('-');
                }
                Token::Mark(mark @ (',' | ']')) => {
                    if let (Some(name), Some(value)) = (name.take(), value.take()) {
                        found.push(Value { name, value });
                    }
                    if *mark == ']' {
                        return Ok(found);
                    }
                }
                Token::Mark(':') if name.is_some() && value.is_none() => {}
                _ => return Err(format!("line {line}: expected a value of an enumeration").into()),
            }
        }
    }
}
