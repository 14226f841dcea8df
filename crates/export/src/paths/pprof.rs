//! `profile.proto` of pprof with call stacks, without compression: the instructions and the calls
//! of each call path. (github.com/google/pprof, proto/profile.proto)

use std::collections::HashMap;

use tracewright_analysis::FunctionId;
use tracewright_capture::proto::Message;

use super::PathView;
use crate::pieces::Pieces;
use crate::pprof::Texts;

/// The message `Profile`.
pub(super) fn write(view: &PathView<'_>, out: &mut Pieces<'_>) {
    let mut texts = Texts::default();
    for (name, unit) in [("instructions", "count"), ("calls", "count")] {
        let mut kind = Message::default();
        kind.number(1, texts.number(name));
        kind.number(2, texts.number(unit));
        out.field(1, &kind.0);
    }
    let (mut locations, mut functions) = (Message::default(), Message::default());
    let mut numbers: HashMap<(FunctionId, String), u64> = HashMap::new();
    // The locations of the current path from its thread on.
    let mut stack: Vec<u64> = Vec::new();
    for (number, depth, name) in view.named() {
        let Some(path) = view.paths.paths().get(number as usize) else { continue };
        if !out.is_wanted() {
            return;
        }
        let next = numbers.len() as u64 + 1;
        // Threads differ by their names.
        let location = *numbers.entry((path.function, name.clone())).or_insert_with(|| {
            let known = match path.function {
                FunctionId::Known(number) => view.code.get(number),
                _ => None,
            };
            let address = match (path.function, known) {
                (FunctionId::At(address), _) => address,
                (_, known) => known.map_or(0, |known| known.function.start),
            };
            let symbol = known.map_or(name.as_str(), |known| known.function.symbol.as_str());
            let mut function = Message::default();
            function.number(1, next);
            function.number(2, texts.number(&name));
            function.number(3, texts.number(symbol));
            functions.bytes(5, &function.0);
            let mut line = Message::default();
            line.number(1, next);
            let mut location = Message::default();
            location.number(1, next);
            location.number(3, address);
            location.bytes(4, &line.0);
            locations.bytes(4, &location.0);
            next
        });
        stack.truncate(depth);
        stack.push(location);
        if path.instructions > 0 || path.calls > 0 {
            let mut sample = Message::default();
            // The innermost is first. Values are signed.
            let inner: Vec<u64> = stack.iter().rev().copied().collect();
            sample.packed(1, &inner);
            let values = [path.instructions, path.calls].map(|value| value.min(i64::MAX as u64));
            sample.packed(2, &values);
            out.field(2, &sample.0);
        }
    }
    let mut last = Message::default();
    last.number(14, texts.number("instructions"));
    out.bytes(&locations.0);
    out.bytes(&functions.0);
    for text in texts.iter() {
        out.field(6, text.as_bytes());
    }
    out.bytes(&last.0);
}
