//! Rows of an address and words, as debuggers, boot loaders and dump tools print memory.
//!
//! | row | of |
//! |---|---|
//! | `0x20001000 <buffer>:` and words with `0x` | GDB, `x` |
//! | `0x20001000: 00000021 ..` | OpenOCD `mdw`, pyOCD `rw`, LLDB |
//! | `20001000: 00000021 ..    text` | U-Boot `md`, `xxd -e` |
//! | `20001000 = 00000021 ..` | J-Link `mem32` |
//! | `SD:20001000\|>00000021 ..` | TRACE32, `Data.dump` |
//! | ``00000000`20001000  21 00-00 ..`` | WinDbg, `db`, `dd`, `dq` |
//! | `00000000: 2100 0000 ..  text` | `xxd`: bytes in the order of memory |
//! | `00000000  21 00 ..  \|text\|` | `hexdump -C` |
//! | `0x20001000 -> 0x21`, `[0x20001000] = 0x21` | programs |
//! | `│00000000│ 21 00 ..` | `hexyl` |
//! | `0000000 0021 0000 ..`, or in octal | `hexdump`, `od` |
//! | ` 20001000 21000000 ..  text` | `objdump -s`, `readelf -x`: bytes in the order of memory |
//!
//! The distance of the addresses of two rows is the number of bytes in the first. It shows the
//! radix of the addresses, and where the words end and the text beside them begins. The text shows
//! the order of the bytes. A line `*` repeats the row before it, and a last address without words
//! is the end. Other lines, as those of a prompt, are skipped, and words before the address of a
//! row, as those of a log, too.

use super::text::{Order, Word, lines, number, without_prefix, word, word_digits};

/// The words of a log before the address of a row.
const PREFIX: usize = 6;

/// The characters around the text beside the words.
const FRAME: usize = 3;

/// The most lines of other text, beside as many as there are rows.
const OTHERS: usize = 8;

/// The most words of a command and its arguments, which have the form of a short row.
const COMMAND: usize = 8;

/// More words than a command has behind an address, such as a size.
const ARGUMENTS: usize = 3;

/// What debuggers and boot loaders print before a command.
const PROMPTS: [&[u8]; 8] =
    [b"(gdb)", b"(lldb)", b"=>", b"J-Link>", b"pyocd>", b"U-Boot>", b"$", b">"];

/// What is between the address and the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Colon,
    Equals,
    Bar,
    Blank,
}

/// A row of text.
struct Row<'a> {
    /// The digits of the address.
    address: &'a [u8],
    /// The address has `0x`.
    prefixed: bool,
    mark: Mark,
    words: Vec<Found<'a>>,
    /// What follows the address, from which columns count.
    rest: &'a [u8],
    /// Rows like it follow up to the next address.
    repeats: bool,
}

/// A word in a row.
#[derive(Clone, Copy)]
struct Found<'a> {
    digits: &'a [u8],
    prefixed: bool,
    /// The columns of its first character, and behind its last one.
    start: usize,
    end: usize,
}

/// Memory in rows.
pub(super) struct Rows {
    /// What prints such rows.
    pub(super) form: &'static str,
    /// The bytes from an address on.
    pub(super) pieces: Vec<(u64, Vec<u8>)>,
    /// The addresses are offsets in a file.
    pub(super) offsets: bool,
}

/// Reads a text of rows. `None`: it is none.
pub(super) fn read(text: &[u8]) -> Option<Rows> {
    let framed = || plain(&without_frames(text)?);
    plain(text).or_else(|| plain(&without_joints(text)?)).or_else(framed)
}

/// `text` without the lines that `hexyl` draws around addresses, bytes and text; `None` where there
/// are none.
fn without_frames(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.contains('│'))?;
    let is_row = |line: &&str| line.starts_with('│');
    let row = |line: &str| {
        let mut cells = line.split('│').skip(1);
        let (address, bytes) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        format!("{} {}\n", address.trim(), bytes.replace('┊', " ").trim())
    };
    Some(text.lines().filter(is_row).map(row).collect::<String>().into_bytes())
}

/// `text` without what WinDbg puts inside numbers and between bytes; `None` where there is nothing
/// of it.
fn without_joints(text: &[u8]) -> Option<Vec<u8>> {
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let is_inside = |at: usize| is_hex(text.get(at.wrapping_sub(1))) && is_hex(text.get(at + 1));
    let mut out = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'`' if is_inside(at) => {}
            b'-' if is_inside(at) => out.push(b' '),
            byte => out.push(*byte),
        }
    }
    (out != text).then_some(out)
}

/// Reads rows whose words are apart.
fn plain(text: &[u8]) -> Option<Rows> {
    let (rows, others) = rows(text);
    let first = rows.first()?;
    let words: usize = rows.iter().map(|row| row.words.len()).sum();
    // A few rows in a text of other lines are no dump.
    if words == 0 || others > rows.len() + OTHERS {
        return None;
    }
    let radixes: &[u32] = match first.mark {
        Mark::Blank if !first.prefixed => &[16, 8, 10],
        // `xxd -d`
        Mark::Colon if !first.prefixed => &[16, 10],
        _ => &[16],
    };
    let octal = is_octal(&rows);
    let tried = radixes.iter().filter_map(|radix| Layout::of(&rows, *radix, octal));
    let layout =
        tried.reduce(|best, other| if other.joined > best.joined { other } else { best })?;
    // The addresses of two rows may be a coincidence, but for a mark.
    if layout.joined * 4 < layout.addresses.len().saturating_sub(1) * 3
        || first.mark == Mark::Blank && layout.joined == 0
    {
        return None;
    }
    let order = order(&rows, &layout);
    let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        let (address, count) = (*layout.addresses.get(n)?, *layout.counts.get(n)?);
        let next = layout.addresses.get(n + 1).copied();
        let mut bytes = Vec::new();
        for found in row.words.iter().take(count) {
            let word = match octal {
                true => Word { value: number(found.digits, 8)?, size: 2 },
                false => word(found.digits)?,
            };
            word.append(order, &mut bytes);
        }
        let is_end = row.words.is_empty();
        match pieces.last_mut() {
            Some((start, piece)) if *start + piece.len() as u64 == address => piece.extend(&bytes),
            // The end of an odd number of bytes is inside the last word.
            Some((start, piece)) if is_end && address > *start => {
                let len = usize::try_from(address - *start).ok()?;
                if len > piece.len() {
                    return None;
                }
                piece.truncate(len);
            }
            _ if is_end => {}
            _ => pieces.push((address, bytes.clone())),
        }
        if let (true, Some(next), Some((_, piece))) = (row.repeats, next, pieces.last_mut()) {
            let more =
                usize::try_from(next.checked_sub(address)?).ok()?.checked_sub(bytes.len())?;
            if bytes.is_empty() || piece.len().checked_add(more)? > super::LARGEST {
                return None;
            }
            piece.extend(bytes.iter().cycle().take(more));
        }
    }
    if pieces.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() < super::LEAST {
        return None;
    }
    let form = form(first, order, octal);
    let offsets = pieces.first()?.0 == 0 && first.mark != Mark::Equals && !first.prefixed;
    Some(Rows { form, pieces, offsets })
}

/// The rows of a text, and the number of lines that are none.
fn rows(text: &[u8]) -> (Vec<Row<'_>>, usize) {
    let (mut rows, mut others): (Vec<Row<'_>>, usize) = (Vec::new(), 0);
    for (_, line) in lines(text) {
        if line.trim_ascii() == b"*" {
            if let Some(row) = rows.last_mut() {
                row.repeats = true;
            }
            continue;
        }
        if is_command(line) || is_register(line) {
            continue;
        }
        let like = rows.first();
        let starts = std::iter::once(0).chain(word_starts(line)).take(PREFIX + 1);
        let mut found = starts.filter_map(|at| {
            let row = row(line.get(at..)?, like)?;
            let is_short = like.is_none() && row.mark == Mark::Blank && row.words.len() < ARGUMENTS;
            Some(row).filter(|_| !(is_short && ends_with_name(line.get(..at).unwrap_or_default())))
        });
        match found.next() {
            Some(row) => rows.push(row),
            None => others += 1,
        }
    }
    (rows, others)
}

/// Whether `line` is a prompt and a command, which may have the form of a row.
fn is_command(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let Some(command) = PROMPTS.iter().find_map(|prompt| line.strip_prefix(*prompt)) else {
        return false;
    };
    let words = command.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    let command = command.trim_ascii_start();
    let is_name = command.first().is_some_and(u8::is_ascii_alphabetic);
    is_name && words <= COMMAND && address(command).is_none()
}

/// Whether the last word of `before` is a name, as of a command or a register, without a mark.
fn ends_with_name(before: &[u8]) -> bool {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    let before = before.trim_ascii_end();
    let start = before.iter().rposition(is_blank).map_or(0, |at| at + 1);
    let name = before.get(start..).unwrap_or_default();
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/".contains(byte);
    name.first().is_some_and(u8::is_ascii_alphabetic) && name.iter().all(is_inside)
}

/// Whether `line` is a register as GDB's `info registers` prints it: a name and its value twice.
fn is_register(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let value = |word: Option<&[u8]>| {
        let (digits, prefixed) = without_prefix(word?);
        Some((number(digits, if prefixed { 16 } else { 10 })?, prefixed))
    };
    let has_name = words.next().and_then(|name| name.first()).is_some_and(u8::is_ascii_alphabetic);
    let (first, second) = (value(words.next()), value(words.next()));
    let is_same = match (first, second) {
        (Some((first, true)), Some((second, _))) => first == second,
        _ => false,
    };
    has_name && is_same && words.count() <= 1
}

/// The offsets of the words of a line, behind the first.
fn word_starts(line: &[u8]) -> impl Iterator<Item = usize> {
    let is_start = |pair: &[u8]| match pair {
        [b' ' | b'\t' | b'[' | b']' | b'>', next] => !next.is_ascii_whitespace(),
        // The memory class of TRACE32.
        [b':', next] => next.is_ascii_hexdigit(),
        _ => false,
    };
    line.windows(2).zip(1..).filter(move |(pair, _)| is_start(pair)).map(|(_, at)| at)
}

/// The address that begins `text`: its digits, whether it has `0x`, the mark behind it, and what
/// follows.
pub(super) fn address(text: &[u8]) -> Option<(&[u8], bool, Mark, &[u8])> {
    let text = text.trim_ascii_start();
    let (rest, prefixed) = without_prefix(text);
    let len = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (address, mut rest) = rest.split_at_checked(len).filter(|_| (1..=16).contains(&len))?;
    if let Some(symbol) = rest.trim_ascii_start().strip_prefix(b"<") {
        let end = symbol.iter().position(|byte| *byte == b'>')?;
        rest = symbol.get(end + 1..)?;
    }
    let (mark, rest) = match (rest.trim_ascii_start(), rest.first()) {
        ([b':', rest @ ..], _) => (Mark::Colon, rest),
        ([b'=', rest @ ..], _) if rest.first() != Some(&b'>') => (Mark::Equals, rest),
        ([b'|', b'>', rest @ ..] | [b'|', rest @ ..], _) => (Mark::Bar, rest),
        ([b'-' | b'=', b'>', rest @ ..], _) | ([b']', rest @ ..], _) if prefixed => {
            let rest = rest.trim_ascii_start();
            let rest = rest.strip_prefix(b"=").or_else(|| rest.strip_prefix(b":")).unwrap_or(rest);
            (Mark::Equals, rest)
        }
        (_, None | Some(b' ' | b'\t')) if len >= 4 => (Mark::Blank, rest),
        _ => return None,
    };
    Some((address, prefixed, mark, rest))
}

/// The row that begins with `text`, in the form of the first row, `like`.
fn row<'a>(text: &'a [u8], like: Option<&Row<'_>>) -> Option<Row<'a>> {
    let (address, prefixed, mark, rest) = address(text)?;
    let usual = like.and_then(|like| like.words.first()).map(|word| word.digits.len());
    let words = words(rest, mark == Mark::Blank, usual);
    // The text beside the words has a character for each byte; a log has more.
    let bytes: usize = words.iter().map(|word| word.digits.len() / 2).sum();
    let end = words.last().map_or(0, |word| word.end);
    let beside = rest.get(end..).unwrap_or_default().trim_ascii();
    let beside = beside.iter().filter(|byte| **byte != b'|').count();
    if !words.is_empty() && beside > bytes + FRAME {
        return None;
    }
    let is_alike = |like: &Row<'_>| {
        let digits = |row: &[Found<'_>]| row.first().map(|word| (word.digits.len(), word.prefixed));
        let same = words.is_empty() || digits(&words) == digits(&like.words);
        // The last group of a row may be short.
        let short = digits(&words) < digits(&like.words) && words.len() == 1;
        like.mark == mark && like.prefixed == prefixed && (same || short)
    };
    // The address of the end is alone in its line.
    let is_end = words.is_empty()
        && rest.trim_ascii().is_empty()
        && mark == Mark::Blank
        && like.is_some_and(|like| like.address.len() == address.len());
    let fits = like.is_none_or(is_alike) && (!words.is_empty() || is_end);
    fits.then_some(Row { address, prefixed, mark, words, rest, repeats: false })
}

/// The words at the start of `rest`, all of one size but the last, which may be shorter. Words of
/// six octal digits are possible where `octal`. The words of other rows have `usual` digits.
fn words(rest: &[u8], octal: bool, usual: Option<usize>) -> Vec<Found<'_>> {
    let mut words: Vec<Found<'_>> = Vec::new();
    let mut at = 0;
    loop {
        let left = rest.get(at..).unwrap_or_default();
        let start = at + left.iter().take_while(|byte| b" \t,".contains(byte)).count();
        let token = rest.get(start..).unwrap_or_default();
        let len = token.iter().take_while(|byte| !b" \t,|".contains(byte)).count();
        let Some(token) = token.get(..len).filter(|_| len > 0) else { break };
        if words.is_empty() && is_run(token, usual) {
            let pair = |n: usize| Some((n, token.get(n..n + 2)?));
            let pairs = (0..len).step_by(2).filter_map(pair).map(|(n, digits)| Found {
                digits,
                prefixed: false,
                start: start + n,
                end: start + n + 2,
            });
            return pairs.collect();
        }
        let is_octal = octal && len == 6 && token.iter().all(|byte| (b'0'..=b'7').contains(byte));
        let most = words.first().map(|word| word.digits.len()).or(usual);
        let found = if is_octal { Some((token, false)) } else { word_digits(token) };
        // The end of memory may cut a word.
        let (rest, _) = without_prefix(token);
        let is_cut = rest.len().is_multiple_of(2) && rest.iter().all(u8::is_ascii_hexdigit);
        let found = found.or(Some((token, false)).filter(|_| is_cut && most.is_some()));
        let Some((digits, prefixed)) = found else { break };
        let alike = words.first().is_none_or(|word| word.prefixed == prefixed);
        if !alike || most.is_some_and(|most| digits.len() > most) {
            break;
        }
        words.push(Found { digits, prefixed, start, end: start + len });
        at = start + len;
        if most.is_some_and(|most| digits.len() < most) {
            break;
        }
    }
    words
}

/// Whether `token` is the bytes of a row without blanks. The words of other rows have `usual`
/// digits.
fn is_run(token: &[u8], usual: Option<usize>) -> bool {
    /// The digits of the longest word.
    const WORD: usize = 16;
    let is_long = token.len() > WORD || usual == Some(2) && token.len() > 2;
    is_long && token.len().is_multiple_of(2) && token.iter().all(u8::is_ascii_hexdigit)
}

/// Whether the words are of six octal digits.
fn is_octal(rows: &[Row<'_>]) -> bool {
    rows.first().and_then(|row| row.words.first()).is_some_and(|word| word.digits.len() == 6)
}

/// Where the words of rows are in memory.
struct Layout {
    /// The address of each row.
    addresses: Vec<u64>,
    /// The number of words of each row that are memory, not the text beside it.
    counts: Vec<usize>,
    /// The number of rows that the next one continues.
    joined: usize,
}

impl Layout {
    fn of(rows: &[Row<'_>], radix: u32, octal: bool) -> Option<Layout> {
        let addresses: Option<Vec<u64>> =
            rows.iter().map(|row| number(row.address, radix)).collect();
        let addresses = addresses?;
        let sizes = |row: &Row<'_>| -> Vec<u64> {
            let size = |word: &Found<'_>| if octal { 2 } else { word.digits.len() as u64 / 2 };
            row.words.iter().map(size).collect()
        };
        let (mut counts, mut joined) = (vec![None; rows.len()], 0);
        // The column behind the words, by the rows whose number of words is known.
        let mut edge = 0;
        for (n, row) in rows.iter().enumerate() {
            let sizes = sizes(row);
            let Some(step) = addresses.get(n + 1).and_then(|next| next.checked_sub(addresses[n]))
            else {
                continue;
            };
            let count = match row.repeats {
                true => None,
                false => (1..=sizes.len()).find(|count| {
                    let len: u64 = sizes.iter().take(*count).sum();
                    // A word that the end cuts.
                    let cut = rows.get(n + 1).is_some_and(|next| next.words.is_empty());
                    // Text is apart from the words before it: these are others.
                    let last = row.words.get(count - 1).map_or(0, |word| word.end);
                    let next = row.words.get(*count).map_or(usize::MAX, |word| word.start);
                    next >= last + 2 && len == step
                        || cut && len > step && len - step < sizes[count - 1]
                }),
            };
            if let Some(count) = count {
                joined += 1;
                counts[n] = Some(count);
                edge = row.words.get(count - 1).map_or(edge, |word| edge.max(word.end));
            }
            joined += usize::from(row.repeats);
        }
        let counts = rows.iter().zip(counts).map(|(row, count)| {
            let edge = if edge > 0 { edge } else { edge_of(row) };
            count.unwrap_or_else(|| row.words.iter().take_while(|word| word.start < edge).count())
        });
        Some(Layout { counts: counts.collect(), addresses, joined })
    }
}

/// The column behind the words of a row that is alone: two blanks, or a bar, precede the text.
fn edge_of(row: &Row<'_>) -> usize {
    let has_bar = row.rest.contains(&b'|');
    let apart = |pair: &&[Found<'_>]| matches!(pair, [a, b] if !has_bar && b.start >= a.end + 2);
    let text = row.words.windows(2).find(apart).and_then(|pair| pair.first());
    text.or(row.words.last()).map_or(0, |word| word.end)
}

/// The order of the bytes in the words, by the text beside them.
fn order(rows: &[Row<'_>], layout: &Layout) -> Order {
    let Some(first) = rows.first().and_then(|row| row.words.first()) else { return Order::Value };
    if first.prefixed || first.digits.len() <= 2 || first.digits.len() == 6 {
        return Order::Value;
    }
    let (mut memory, mut value, mut near) = (0, 0, 0);
    for (row, count) in rows.iter().zip(&layout.counts) {
        let words: Vec<_> = row.words.iter().take(*count).collect();
        let end = words.last().map_or(0, |word| word.end);
        let beside = row.rest.get(end..).unwrap_or_default();
        let blanks = beside.iter().take_while(|byte| **byte == b' ').count();
        let shown = beside.get(blanks..).unwrap_or_default();
        let len: usize = words.iter().map(|word| word.digits.len() / 2).sum();
        // pyOCD prints the bytes of each word in the order of its digits, between bars.
        let has_bars = matches!(shown, [b'|', .., b'|']) && shown.len() >= len + 2;
        if row.mark == Mark::Colon && has_bars {
            return Order::Value;
        }
        let shown = shown.strip_prefix(b"|").unwrap_or(shown);
        near += usize::from(blanks == 2 && !shown.is_empty());
        let matches = |order| {
            let mut bytes = Vec::new();
            words.iter().filter_map(|w| word(w.digits)).for_each(|w| w.append(order, &mut bytes));
            // A blank that ends a line is lost.
            let pairs = shown.iter().zip(&bytes);
            pairs.filter(|(shown, byte)| byte.is_ascii_graphic() && shown == byte).count()
        };
        memory += matches(Order::Memory);
        value += matches(Order::Value);
    }
    // `xxd` has two blanks before the text, and pairs of bytes.
    let pairs = first.digits.len() == 4 && near * 2 > rows.len();
    if memory > value || memory == value && pairs { Order::Memory } else { Order::Value }
}

/// What prints rows like `row`.
fn form(row: &Row<'_>, order: Order, octal: bool) -> &'static str {
    let word = row.words.first();
    let (digits, prefixed) = word.map_or((0, false), |word| (word.digits.len(), word.prefixed));
    match (row.mark, row.prefixed, order) {
        (Mark::Colon, true, _) if prefixed => "rows of GDB's `x`",
        (Mark::Colon, true, _) => "rows of OpenOCD's `mdw`, pyOCD or LLDB",
        (Mark::Colon, false, Order::Memory) => "rows of `xxd`",
        (Mark::Colon, false, Order::Value) if digits == 2 => "rows of `xxd -g1` or U-Boot's `md.b`",
        (Mark::Colon, false, Order::Value) => "rows of U-Boot's `md`, pyOCD or `xxd -e`",
        (Mark::Equals, true, _) => "rows of addresses and words",
        (Mark::Equals, ..) => "rows of J-Link's `mem`",
        (Mark::Bar, ..) => "rows of TRACE32's `Data.dump`",
        (Mark::Blank, _, Order::Memory) => "rows of `objdump -s` or `readelf -x`",
        (Mark::Blank, ..) if octal => "octal rows of `od`",
        (Mark::Blank, ..) if digits == 2 && row.rest.contains(&b'|') => "rows of `hexdump -C`",
        (Mark::Blank, ..) => "rows of `hexdump` or `od`",
    }
}
