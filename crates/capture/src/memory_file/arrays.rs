//! Numbers without addresses: arrays of programs and debuggers, elements of a list in lines.
//!
//! | text | of |
//! |---|---|
//! | `{0x41, 0x42}`, `[65, 66]`, `(65, 66)`, arrays of arrays | C, C++, Rust, Go, Java, Python, JSON |
//! | `$1 = {0x41, 0x0 <repeats 14 times>}` | GDB, `print` and `output` |
//! | `INFO  [65, 66, ..]` in each line | defmt and other logs |
//! | `- 0x41` | YAML |
//! | `[0] = 0x41`, `buffer[0] = 0x41`, `0 : 41;` | LLDB, programs, memory of FPGAs |
//! | `0x41 0x42`, `41h 42h`, `65, 66, ..` | OpenOCD's `read_memory`, assemblers, spreadsheets |

use std::borrow::Cow;

use super::LEAST;
use super::lists::List;
use super::literal::{Number, are_hexadecimal, hexadecimal, literal, radix_of};
use super::text::{Order, Word, lines, number};

/// The most numbers of an array.
const MAX_NUMBERS: usize = 1 << 24;

/// The times that a text may be read for the brackets in it.
const PASSES: usize = 32;

/// The size of a word by the type of an array, as C, C++, Rust and LLDB write it.
const TYPES: [(&str, usize); 14] = [
    ("uint64_t", 8),
    ("int64_t", 8),
    ("u64", 8),
    ("long long", 8),
    ("uint32_t", 4),
    ("int32_t", 4),
    ("u32", 4),
    ("unsigned int", 4),
    ("uint16_t", 2),
    ("int16_t", 2),
    ("u16", 2),
    ("uint8_t", 1),
    ("u8", 1),
    ("char", 1),
];

/// The numbers of an array as text.
struct Array<'a> {
    /// The text before it, in its line.
    before: &'a [u8],
    cells: Vec<&'a [u8]>,
}

/// Reads the array of numbers in a text, or the arrays in the lines of a log, which are one. Of
/// other arrays, the first is read.
pub(super) fn array(text: &[u8]) -> Option<List> {
    let text = &without_comments(text);
    let mut arrays: Vec<Array<'_>> = Vec::new();
    let (mut at, mut read, mut line) = (0, 0, 0);
    while let Some(next) = text.get(at..)?.iter().position(|byte| b"{[(".contains(byte)) {
        let start = at + next;
        let end = text.get(at..start)?.iter().rposition(|byte| *byte == b'\n');
        line = end.map_or(line, |end| at + end + 1);
        let found = inside(text, start);
        read += found.map_or(text.len() - start, <[u8]>::len);
        if read > PASSES * text.len() {
            return None;
        }
        let found = found.and_then(|inside| Some((inside, cells(inside, 0)?)));
        let Some((inside, cells)) = found.filter(|(_, cells)| !cells.is_empty()) else {
            at = start + 1;
            continue;
        };
        arrays.push(Array { before: text.get(line..start)?, cells });
        at = start + inside.len() + 1;
    }
    if let Some(rows) = joined(&arrays) {
        let list = bytes_of(arrays.first()?.before, &rows)?;
        return Some(List { form: "arrays in a log".into(), ..list });
    }
    let mut lists = arrays.iter().filter_map(|array| bytes_of(array.before, &array.cells));
    let first = lists.next()?;
    let form = match lists.next() {
        Some(_) => {
            Cow::Owned(format!("several arrays, of which the first is read, {}", first.form))
        }
        None => first.form,
    };
    Some(List { form, ..first })
}

/// The cells of `arrays`, where they are rows of one: all have the same text before them but for
/// its digits, and the same number of cells but the last.
fn joined<'a>(arrays: &[Array<'a>]) -> Option<Vec<&'a [u8]>> {
    let [first, .., last] = arrays else { return None };
    let name = |array: &Array<'_>| -> Vec<u8> {
        array.before.iter().copied().filter(|byte| !byte.is_ascii_digit()).collect()
    };
    let (own, len) = (name(first), first.cells.len());
    let (rows, _) = arrays.split_at(arrays.len() - 1);
    /// The fewest numbers of a row: an index is one.
    const ROW: usize = 4;
    let is_alike = len >= ROW
        && rows.iter().all(|array| array.cells.len() == len && name(array) == own)
        && last.cells.len() <= len
        && name(last) == own;
    let cells = arrays.iter().flat_map(|array| array.cells.iter().copied());
    is_alike.then(|| cells.collect())
}

/// The brackets and the quotation marks that are open in a text.
struct Open {
    brackets: usize,
    quote: Option<u8>,
    /// The byte before the next one.
    before: u8,
}

impl Open {
    const NONE: Open = Open { brackets: 0, quote: None, before: b' ' };

    /// Passes `byte`. Digits before an apostrophe are those that C++ separates by it.
    fn pass(&mut self, byte: u8) {
        let is_escaped = self.before == b'\\';
        // The second of two reverse solidi is no escape.
        let next = if is_escaped && byte == b'\\' { b' ' } else { byte };
        let before = std::mem::replace(&mut self.before, next);
        match (self.quote, byte) {
            (Some(mark), _) if byte == mark && !is_escaped => self.quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') if !before.is_ascii_hexdigit() => self.quote = Some(byte),
            (None, b'{' | b'[' | b'(') => self.brackets += 1,
            (None, b'}' | b']' | b')') => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
    }
}

/// What is inside the bracket at `start` of `text`.
fn inside(text: &[u8], start: usize) -> Option<&[u8]> {
    let rest = text.get(start..)?;
    let mut open = Open::NONE;
    let end = rest.iter().position(|byte| {
        open.pass(*byte);
        open.brackets == 0
    });
    rest.get(1..end.filter(|end| *end > 0)?)
}

/// The most arrays inside one another.
const NESTED: usize = 4;

/// The numbers between brackets as text, those of arrays inside of them, too: `None` where there is
/// anything else.
fn cells(inside: &[u8], depth: usize) -> Option<Vec<&[u8]>> {
    let mut out: Vec<&[u8]> = Vec::new();
    let (mut count, mut nested, mut elements) = (0, 0, 0);
    for part in parts(inside) {
        let (index, cell) = indexed(part)?;
        if let Some(index) = index {
            let index = literal(index, 10)?.value;
            (index == count).then_some(())?;
        }
        let (cell, times) = repeated(cell)?;
        count += times as u64;
        let own = match cell.first()? {
            b'{' | b'[' | b'('
                if depth < NESTED && self::inside(cell, 0)?.len() + 2 == cell.len() =>
            {
                nested += 1;
                cells(self::inside(cell, 0)?, depth + 1)?
            }
            _ if literal(cell, 16).is_some() => vec![cell],
            _ => return None,
        };
        if own.len().checked_mul(times)?.checked_add(out.len())? > MAX_NUMBERS {
            return None;
        }
        (0..times).for_each(|_| out.extend(&own));
        // Numbers beside an array are of something else.
        (nested == 0 || nested == elements + 1).then_some(())?;
        elements += 1;
    }
    Some(out)
}

/// The parts of `inside` between commas; of Go and LLDB, which write none, between blanks or lines.
fn parts(inside: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, Open::NONE);
    for (at, &byte) in inside.iter().enumerate() {
        if byte == b',' && open.brackets == 0 && open.quote.is_none() {
            parts.extend(inside.get(start..at));
            start = at + 1;
        }
        open.pass(byte);
    }
    parts.extend(inside.get(start..));
    if let [whole] = parts.as_slice() {
        let is_line = whole.contains(&b'=') || whole.iter().any(|byte| b"{[(".contains(byte));
        let separators: &[u8] = if is_line { b"\r\n" } else { b" \t\r\n" };
        parts = whole.split(|byte| separators.contains(byte)).collect();
    }
    // The end of a line of a macro, and of an array of MATLAB.
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\\;".contains(byte);
    let trimmed = |part: &[u8]| -> (usize, usize) {
        let start = part.iter().position(|byte| !is_end(byte)).unwrap_or(part.len());
        let end = part.iter().rposition(|byte| !is_end(byte)).map_or(start, |last| last + 1);
        (start, end)
    };
    let parts = parts.into_iter().filter_map(|part| {
        let (start, end) = trimmed(part);
        part.get(start..end)
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// `cell` without the index before it, `[0] = `, and the index.
fn indexed(cell: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let Some(rest) = cell.strip_prefix(b"[") else { return Some((None, cell)) };
    let end = rest.iter().position(|byte| *byte == b']')?;
    let value = rest.get(end + 1..)?.trim_ascii_start().strip_prefix(b"=");
    // Without it, it is an array.
    Some(value.map_or((None, cell), |value| (rest.get(..end), value.trim_ascii())))
}

/// `cell` without GDB's `<repeats N times>`, and N.
fn repeated(cell: &[u8]) -> Option<(&[u8], usize)> {
    const REPEATS: &[u8] = b"<repeats ";
    let at = cell.windows(REPEATS.len()).position(|part| part == REPEATS);
    let Some(at) = at else { return Some((cell, 1)) };
    let (number_text, rest) = cell.split_at(at);
    let count = rest.strip_prefix(REPEATS)?.strip_suffix(b" times>")?;
    Some((number_text.trim_ascii(), usize::try_from(number(count, 10)?).ok()?))
}

/// The bytes of the numbers `cells`, behind the text `before`.
fn bytes_of(before: &[u8], cells: &[&[u8]]) -> Option<List> {
    let all = || cells.iter().copied();
    let numbers: Option<Vec<Number>> = match are_hexadecimal(all()) {
        true => all().map(hexadecimal).collect(),
        false => {
            let radix = radix_of(all())?;
            all().map(|cell| literal(cell, radix)).collect()
        }
    };
    of_numbers(before, &numbers?)
}

/// The bytes of `numbers`, behind the text `before`.
fn of_numbers(before: &[u8], numbers: &[Number]) -> Option<List> {
    let size = size_of(before, numbers)?;
    let mut bytes = Vec::new();
    for number in numbers {
        number.fits(size).then_some(())?;
        Word { value: number.value, size }.append(Order::Value, &mut bytes);
    }
    let form = match size {
        1 => "an array of bytes",
        2 => "an array of 16-bit words",
        4 => "an array of 32-bit words",
        _ => "an array of 64-bit words",
    };
    (bytes.len() >= LEAST).then_some(List { form: form.into(), bytes })
}

/// The size of the words of an array: by its type in `before`, by their digits, or by the greatest.
fn size_of(before: &[u8], numbers: &[Number]) -> Option<usize> {
    let declared = before.rsplit(|byte| b";}\n".contains(byte)).next().unwrap_or_default();
    let declared = String::from_utf8_lossy(declared);
    if let Some((_, size)) = TYPES.iter().find(|(name, _)| declared.contains(name)) {
        return Some(*size);
    }
    if let Some(size) = numbers.iter().find_map(|number| number.size) {
        return Some(size);
    }
    let first = numbers.first()?.digits;
    if let Some(digits @ (2 | 4 | 8 | 16)) =
        first.filter(|_| numbers.iter().all(|n| n.digits == first))
    {
        return Some(digits / 2);
    }
    [1, 2, 4, 8].into_iter().find(|size| numbers.iter().all(|number| number.fits(*size)))
}

/// The fewest decimal numbers that commas separate, without brackets.
const DECIMAL: usize = 64;

/// Reads numbers without brackets: hexadecimal ones that blanks separate, such as OpenOCD's
/// `read_memory` prints, or many decimal ones that commas do. The greatest shows their size.
pub(super) fn numbers(text: &[u8]) -> Option<List> {
    let is_separator = |byte: &u8| byte.is_ascii_whitespace() || b",;".contains(byte);
    let tokens = text.split(is_separator).filter(|token| !token.is_empty());
    // Characters are numbers in arrays only.
    let value = |token| literal(token, 10).filter(|_| !token.contains(&b'\''));
    let numbers: Vec<Number> = tokens.take(MAX_NUMBERS).map(value).collect::<Option<_>>()?;
    let all_hex = numbers.iter().all(|number| number.digits.is_some());
    let is_list = numbers.len() >= DECIMAL && text.contains(&b',');
    let form = if all_hex { "hexadecimal numbers" } else { "numbers between commas" };
    let list = of_numbers(b"", &numbers).filter(|_| all_hex || is_list)?;
    Some(List { form: form.into(), ..list })
}

/// The most lines of other text among the elements of a list, beside a tenth of them.
const OTHERS: usize = 8;

/// Reads lines that are each an element of a list: of YAML, or with an index that counts from 0.
pub(super) fn elements(text: &[u8]) -> Option<List> {
    sequence(text).or_else(|| counted(text))
}

/// Reads a sequence of YAML in lines. The lines before it and behind it are others.
fn sequence(text: &[u8]) -> Option<List> {
    let lines = || lines(text).map(|(_, line)| line);
    let first = lines().position(|line| item(line).is_some())?;
    let before = lines().take(first).last().unwrap_or_default();
    let rows: Vec<&[u8]> = lines().skip(first).map_while(item).collect();
    let others = lines().count() - rows.len();
    let list = bytes_of(before, &rows).filter(|_| others <= OTHERS + rows.len() / 10)?;
    Some(List { form: "a list of YAML".into(), ..list })
}

/// The item of a sequence of YAML in `line`.
fn item(line: &[u8]) -> Option<&[u8]> {
    line.trim_ascii_start().strip_prefix(b"- ").map(<[u8]>::trim_ascii)
}

/// Reads lines with an index that counts from 0, and a number behind `=` or a colon.
fn counted(text: &[u8]) -> Option<List> {
    let (mut cells, mut others, mut before): (Vec<&[u8]>, usize, &[u8]) = (Vec::new(), 0, b"");
    for (_, line) in lines(text) {
        let count = cells.len() as u64;
        let found = element(line).filter(|(index, _)| {
            [10, 16]
                .into_iter()
                .any(|radix| literal(index, radix).is_some_and(|n| n.value == count))
        });
        match found {
            Some((_, cell)) => cells.push(cell),
            None => {
                others += 1;
                before = if cells.is_empty() { line } else { before };
            }
        }
    }
    let is_list = others <= OTHERS + cells.len() / 10;
    // Words of a memory have all of their digits.
    let len = cells.first()?.len();
    let is_word = |cell: &&[u8]| cell.len() == len && cell.iter().all(u8::is_ascii_hexdigit);
    let list = match matches!(len, 4 | 8 | 16) && cells.iter().all(is_word) {
        true => {
            let words =
                cells.iter().map(|cell| Some(Word { value: number(cell, 16)?, size: len / 2 }));
            let mut bytes = Vec::new();
            for word in words.collect::<Option<Vec<_>>>()? {
                word.append(Order::Value, &mut bytes);
            }
            List { form: "".into(), bytes }
        }
        false => bytes_of(before, &cells)?,
    };
    let enough = is_list && list.bytes.len() >= LEAST;
    enough.then(|| List { form: "numbers with their indexes".into(), ..list })
}

/// The index and the number of a line.
fn element(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| b"=:".contains(byte))?;
    let (before, value) = line.split_at(at);
    let before = before.trim_ascii();
    let before = before.strip_suffix(b"]").unwrap_or(before).trim_ascii();
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit() || b"xX".contains(byte);
    let start = before.iter().rposition(|byte| !is_digit(byte)).map_or(0, |last| last + 1);
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b",;".contains(byte);
    let value = value.get(1..)?;
    let end = value.iter().rposition(|byte| !is_end(byte))? + 1;
    let value = value.get(..end)?.trim_ascii();
    Some((before.get(start..).filter(|index| !index.is_empty())?, value))
}

/// `text` without the comments of C.
fn without_comments(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some((&byte, after)) = rest.split_first() {
        let end: Option<&[u8]> = match (byte, after.first()) {
            (b'/', Some(b'*')) => Some(b"*/"),
            (b'/', Some(b'/')) => Some(b"\n"),
            _ => None,
        };
        let Some(end) = end else {
            out.push(byte);
            rest = after;
            continue;
        };
        let close = after.windows(end.len()).position(|window| window == end);
        rest = close.and_then(|at| after.get(at + end.len()..)).unwrap_or_default();
    }
    out
}
