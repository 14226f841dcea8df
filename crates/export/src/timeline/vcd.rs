//! Value Change Dump: for each source the thread that executes, and for each thread the function,
//! as strings of GTKWave, and the number of open frames. (IEEE 1364, "Value change dump files")

use std::fmt::Write;

use super::TimelineView;

/// A name without blanks.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect()
}

/// The identifier of signal `n`: characters from `!` to `~`.
fn identifier(mut n: usize) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b'!' + (n % 94) as u8));
        n /= 94;
        if n == 0 {
            return text;
        }
    }
}

/// The file.
pub(super) fn write(view: &TimelineView<'_>) -> String {
    let mut out = format!("$comment {} $end\n$timescale 1ps $end\n", view.unit());
    let threads = view.timeline.by_thread();
    // Time, order within it, the changes.
    let mut changes: Vec<(u64, String)> = Vec::new();
    for (thread, slices) in threads.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        let (function, depth) = (identifier(2 * thread), identifier(2 * thread + 1));
        let _ = write!(
            out,
            "$scope module {} $end\n$var string 1 {function} function $end\n\
             $var wire 32 {depth} depth $end\n$upscope $end\n",
            word(view.thread_name(thread))
        );
        let mut open: Vec<String> = Vec::new();
        for event in view.events(thread, slices) {
            if event.begins {
                open.push(word(&view.name(event.slice.function)));
            } else {
                open.pop();
            }
            let name = open.last().map_or("-", String::as_str);
            let text = format!("s{name} {function}\nb{:b} {depth}\n", open.len());
            match changes.last_mut() {
                // What follows at once replaces what precedes.
                Some((at, last)) if *at == event.at && last.ends_with(&format!(" {depth}\n")) => {
                    *last = text;
                }
                _ => changes.push((event.at, text)),
            }
        }
    }
    for source in 0..view.sources.len() {
        let task = identifier(2 * threads.len() + source);
        let mut declared = false;
        for (instructions, thread) in view.timeline.running(source) {
            if !std::mem::replace(&mut declared, true) {
                let _ = write!(
                    out,
                    "$scope module {} $end\n$var string 1 {task} task $end\n$upscope $end\n",
                    word(view.source_name(source))
                );
            }
            let text = format!("s{} {task}\n", word(view.thread_name(thread)));
            changes.push((view.time(source, instructions), text));
        }
    }
    out.push_str("$enddefinitions $end\n");
    changes.sort_by_key(|(at, _)| *at);
    let mut now = None;
    for (at, text) in changes {
        if now != Some(at) {
            let _ = writeln!(out, "#{at}");
            now = Some(at);
        }
        out.push_str(&text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_differ() {
        let all: std::collections::BTreeSet<String> = (0..10_000).map(identifier).collect();
        assert_eq!(all.len(), 10_000);
        assert_eq!(
            (identifier(0), identifier(93), identifier(94)),
            ("!".into(), "~".into(), "!\"".into())
        );
    }
}
