//! Names of generated code: the file `/tmp/perf-PID.map` that a program writes.
//! (tools/perf/Documentation/jit-interface.txt of Linux)
//!
//! A line for each function: `START SIZE NAME`, the first two in hexadecimal. The file has neither
//! code nor times.

use std::collections::BTreeMap;

use tracewright_image::{Symbol, Symbols};

/// The process whose functions the file named `name` has.
pub(super) fn process_of(name: &str) -> Option<u32> {
    name.strip_prefix("perf-")?.strip_suffix(".map")?.parse().ok()
}

/// The functions. Of those that overlap, the last one is used, as memory is used again.
pub(super) fn functions(text: &str) -> Symbols {
    let mut known: BTreeMap<u64, (u64, &str)> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.trim_start().splitn(3, ' ');
        let mut number = || {
            let word = words.next()?;
            u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
        };
        let (Some(start), Some(size @ 1..)) = (number(), number()) else { continue };
        let Some(name) = words.next().map(str::trim).filter(|name| !name.is_empty()) else {
            continue;
        };
        let end = start.saturating_add(size);
        while let Some((&other, &(len, _))) = known.range(..end).next_back()
            && other.saturating_add(len) > start
        {
            known.remove(&other);
        }
        known.insert(start, (size, name));
    }
    Symbols::new(known.into_iter().map(|(start, (size, name))| Symbol { name, start, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_function_at_an_address_has_its_name() {
        let text = "1000 10 a\n1010 8 b c(int) \nnonsense\n1018 0 empty\n 0x2000 8 d\n\
                    1008 10 later\nffffffffffffffff 10 top\n";
        let symbols = functions(text);
        let at = |address| symbols.at(address).map(|symbol| symbol.name.to_owned());
        assert_eq!(at(0x1000), None);
        assert_eq!(at(0x1008).as_deref(), Some("later"));
        assert_eq!(at(0x1017).as_deref(), Some("later"));
        assert_eq!(at(0x2004).as_deref(), Some("d"));
        assert_eq!(functions("1010 8 b c(int) \n").at(0x1010).unwrap().name, "b c(int)");
    }

    #[test]
    fn the_name_has_the_process() {
        for (name, want) in [
            ("perf-101.map", Some(101)),
            ("perf-.map", None),
            ("perf-1.txt", None),
            ("x.map", None),
        ] {
            assert_eq!(process_of(name), want, "{name}");
        }
    }
}
