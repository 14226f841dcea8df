//! Just enough Rust to separate code from comments, strings and tests.

/// The code and the comments of a file, each with everything else turned to spaces. Lines stay
/// where they are. Doc comments are comments; what a string holds is neither.
pub(crate) fn split(text: &str) -> (String, String) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (String::new(), String::new());
    let mut i = 0;
    while i < chars.len() {
        let len = token(&chars, i);
        let (kind, end) = (len.0, i + len.1);
        for &c in &chars[i..end] {
            let blank = if c == '\n' { '\n' } else { ' ' };
            code.push(if kind == Kind::Code { c } else { blank });
            comments.push(if kind == Kind::Comment { c } else { blank });
        }
        i = end;
    }
    (code, comments)
}

/// A file with its comments turned to spaces. Lines stay where they are.
pub(crate) fn without_comments(text: &str) -> String {
    let (_, comments) = split(text);
    let blank = |(c, comment): (char, char)| match comment {
        ' ' | '\n' => c,
        _ => ' ',
    };
    text.chars().zip(comments.chars()).map(blank).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// What starts at `i`, and how long it is.
fn token(chars: &[char], i: usize) -> (Kind, usize) {
    let rest = &chars[i..];
    match rest {
        ['/', '/', ..] => {
            (Kind::Comment, rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()))
        }
        ['/', '*', ..] => (Kind::Comment, nested(rest)),
        ['"', ..] => (Kind::Literal, quoted(rest, 1)),
        ['r', '"' | '#', ..] if !in_word(chars, i) => raw(rest, 1),
        ['b' | 'c', 'r', '"' | '#', ..] if !in_word(chars, i) => raw(rest, 2),
        // A character, not a lifetime.
        ['\'', '\\', _, more @ ..] => {
            let close = more.iter().position(|&c| c == '\'').unwrap_or(more.len());
            (Kind::Literal, (close + 4).min(rest.len()))
        }
        ['\'', _, '\'', ..] => (Kind::Literal, 3),
        _ => (Kind::Code, 1),
    }
}

fn in_word(chars: &[char], i: usize) -> bool {
    i.checked_sub(1).and_then(|k| chars.get(k)).is_some_and(|&c| c.is_alphanumeric() || c == '_')
}

/// A comment in which others may stand.
fn nested(rest: &[char]) -> usize {
    let (mut depth, mut i) = (0, 0);
    while i < rest.len() {
        match rest[i..] {
            ['/', '*', ..] => (depth, i) = (depth + 1, i + 2),
            ['*', '/', ..] => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

/// A string from its first quote at `from - 1` on.
fn quoted(rest: &[char], from: usize) -> usize {
    let mut i = from;
    while i < rest.len() {
        match rest[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    rest.len()
}

/// A raw string whose hashes begin at `from`, or code.
fn raw(rest: &[char], from: usize) -> (Kind, usize) {
    let hashes = rest[from..].iter().take_while(|&&c| c == '#').count();
    if rest.get(from + hashes) != Some(&'"') {
        return (Kind::Code, from);
    }
    let mut i = from + hashes + 1;
    while i < rest.len() {
        let closes = rest[i] == '"' && rest[i + 1..].iter().take(hashes).all(|&c| c == '#');
        if closes {
            return (Kind::Literal, (i + 1 + hashes).min(rest.len()));
        }
        i += 1;
    }
    (Kind::Literal, rest.len())
}

/// `code` without items under `#[cfg(test)]`, and the names of the modules among them that are
/// files of their own.
pub(crate) fn without_tests(code: &str) -> (String, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    let mut out = code.to_owned();
    let mut modules = Vec::new();
    while let Some(start) = out.find(MARK) {
        let item = &out[start + MARK.len()..];
        let len = item_len(item);
        let words: Vec<&str> = item[..len].split_whitespace().collect();
        if let Some(k) = words.iter().position(|&word| word == "mod")
            && let Some(name) = words.get(k + 1).and_then(|word| word.strip_suffix(';'))
        {
            modules.push(name.to_owned());
        }
        let end = start + MARK.len() + len;
        let blank: String =
            out[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        out.replace_range(start..end, &blank);
    }
    (out, modules)
}

/// Length of the item at the start of `code`: to its semicolon or its closing brace.
fn item_len(code: &str) -> usize {
    let mut depth = 0i32;
    for (i, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '}' => {
                depth -= 1;
                if depth <= 0 {
                    return i + 1;
                }
            }
            ';' if depth == 0 => return i + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_not_code() {
        for (text, code, comments) in [
            ("a // b\nc", "a     \nc", "  // b\n "),
            ("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  "),
            (r#"a("b // c")"#, "a(        )", "           "),
            (r#"a("\"b") c"#, "a(     ) c", "          "),
            ("r#\"a\"b\"#;", "        ;", "         "),
            ("fn f<'a>(x: &'a u8) {}", "fn f<'a>(x: &'a u8) {}", "                      "),
            ("m('\"', '\\'', '\\u{41}')", "m(   ,     ,         )", "                      "),
            ("for\"x\"", "for   ", "      "),
        ] {
            assert_eq!(split(text), (code.to_owned(), comments.to_owned()), "{text}");
        }
    }

    #[test]
    fn comments_are_taken_out() {
        assert_eq!(without_comments("a \"b // c\" // d\ne"), "a \"b // c\"     \ne");
    }

    #[test]
    fn test_items_are_taken_out() {
        let (code, modules) = without_tests(
            "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { c(); } }\nfn d() {}\n#[cfg(test)]\nmod e;",
        );
        assert!(code.contains("fn a()") && code.contains("fn d()"), "{code}");
        assert!(!code.contains("fn b()") && !code.contains("mod"), "{code}");
        assert_eq!(code.lines().count(), 6);
        assert_eq!(modules, ["e"]);
    }
}
