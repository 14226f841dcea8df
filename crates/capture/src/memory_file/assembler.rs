//! Data of assemblers: GNU as, LLVM, armasm, those of IAR and TI, NASM.

use super::LEAST;
use super::lists::List;
use super::literal::operand;
use super::strings::unescaped;
use super::text::{Order, Word, lines};

/// What a directive has behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    /// Numbers of this size in bytes.
    Numbers(usize),
    /// Strings, with this many zeros behind each.
    Strings(usize),
    /// The size of memory, and the value of its bytes, which is 0 by default.
    Space,
}

/// The directives, in lower case. (GNU as, "Pseudo Ops" and "ARM Machine Directives"; armasm User
/// Guide, "Directives Reference"; IAR Assembler, "Data definition directives")
const DIRECTIVES: [(&str, Data); 38] = [
    (".byte", Data::Numbers(1)),
    (".1byte", Data::Numbers(1)),
    (".dc.b", Data::Numbers(1)),
    (".hword", Data::Numbers(2)),
    (".half", Data::Numbers(2)),
    (".short", Data::Numbers(2)),
    (".2byte", Data::Numbers(2)),
    (".dc.w", Data::Numbers(2)),
    (".word", Data::Numbers(4)),
    (".long", Data::Numbers(4)),
    (".int", Data::Numbers(4)),
    (".4byte", Data::Numbers(4)),
    (".inst", Data::Numbers(4)),
    (".dc.l", Data::Numbers(4)),
    (".quad", Data::Numbers(8)),
    (".xword", Data::Numbers(8)),
    (".dword", Data::Numbers(8)),
    (".8byte", Data::Numbers(8)),
    (".ascii", Data::Strings(0)),
    (".asciz", Data::Strings(1)),
    (".string", Data::Strings(1)),
    (".zero", Data::Space),
    (".space", Data::Space),
    (".skip", Data::Space),
    ("dcb", Data::Numbers(1)),
    ("dcw", Data::Numbers(2)),
    ("dcd", Data::Numbers(4)),
    ("dcdu", Data::Numbers(4)),
    ("dcq", Data::Numbers(8)),
    ("space", Data::Space),
    ("dc8", Data::Numbers(1)),
    ("dc16", Data::Numbers(2)),
    ("dc32", Data::Numbers(4)),
    ("dc64", Data::Numbers(8)),
    ("db", Data::Numbers(1)),
    ("dw", Data::Numbers(2)),
    ("dd", Data::Numbers(4)),
    ("dq", Data::Numbers(8)),
];

/// The most lines without data, beside as many as have some.
const OTHERS: usize = 16;

/// Reads the data that the directives of an assembler describe. `None`: the text has others.
pub(super) fn read(text: &[u8]) -> Option<List> {
    let (mut bytes, mut rows, mut others) = (Vec::new(), 0, 0);
    for (_, line) in lines(text) {
        let Some((data, operands)) = directive(line) else {
            others += 1;
            continue;
        };
        rows += 1;
        append(data, operands, &mut bytes)?;
    }
    let is_data = rows > 0 && others <= rows + OTHERS;
    let form = "data of an assembler".into();
    (is_data && bytes.len() >= LEAST).then_some(List { form, bytes })
}

/// The directive of a line, behind a label or without one, and what follows it.
fn directive(line: &[u8]) -> Option<(Data, &[u8])> {
    let mut rest = line.trim_ascii_start();
    for _ in 0..2 {
        let len = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let (word, after) = rest.split_at_checked(len)?;
        let is = |name: &str| name.as_bytes().eq_ignore_ascii_case(word);
        if let Some((_, data)) = DIRECTIVES.iter().find(|(name, _)| is(name)) {
            return Some((*data, after.trim_ascii()));
        }
        rest = after.trim_ascii_start();
    }
    None
}

/// Appends the data of `operands`.
fn append(data: Data, operands: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    if let Data::Strings(zeros) = data {
        let string = operands.strip_prefix(b"\"")?;
        let end = string.iter().rposition(|byte| *byte == b'"')?;
        bytes.extend(unescaped(string.get(..end)?)?);
        bytes.extend(std::iter::repeat_n(0, zeros));
        return Some(());
    }
    let operands = without_comment(operands);
    let mut cells = operands.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    match data {
        Data::Space => {
            let count = usize::try_from(operand(cells.next()?)?.value).ok()?;
            let value = cells.next().map_or(Some(0), |cell| Some(operand(cell)?.value as u8))?;
            if bytes.len().checked_add(count)? > super::LARGEST {
                return None;
            }
            bytes.extend(std::iter::repeat_n(value, count));
        }
        Data::Numbers(size) => {
            for cell in cells {
                let number = operand(cell).filter(|number| number.fits(size))?;
                Word { value: number.value, size }.append(Order::Value, bytes);
            }
        }
        Data::Strings(_) => {}
    }
    Some(())
}

/// `operands` without the comment behind them.
fn without_comment(operands: &[u8]) -> &[u8] {
    let is_mark = |at: usize| match operands.get(at..) {
        Some([b'/', b'/' | b'*', ..] | [b';' | b'@', ..]) => true,
        Some([b'#', ..]) => at > 0,
        _ => false,
    };
    let end = (0..operands.len()).find(|at| is_mark(*at)).unwrap_or(operands.len());
    operands.get(..end).unwrap_or(operands).trim_ascii()
}
