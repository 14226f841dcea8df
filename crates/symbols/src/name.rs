//! What a name of the symbol table shows.

use std::fmt::{self, Write};

/// The name as people write it in the language it comes from: demangled, without the hash of Rust.
/// A name of another form is unchanged, and so is one that would become very long.
pub fn demangled(symbol: &str) -> String {
    let text = Bounded::new(symbol);
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return text.finish(|text| write!(text, "{rust:#}"));
    }
    // `__Z` has the additional underscore of some object formats.
    let cpp = symbol.strip_prefix('_').filter(|rest| rest.starts_with("_Z")).unwrap_or(symbol);
    if cpp.starts_with("_Z")
        && cpp.len() < MAX_MANGLED
        && let Ok(name) = cpp_demangle::Symbol::new(cpp)
    {
        return text.finish(|text| name.structured_demangle(text, &Default::default()));
    }
    symbol.to_owned()
}

/// The demangled name of a C++ function without its parameters. `None` where it shows none.
pub fn without_parameters(name: &str) -> Option<&str> {
    let mut opening = name.match_indices('(').map(|(at, _)| name.split_at(at));
    let (before, _) = opening.find(|(_, rest)| !rest.starts_with("(anonymous namespace)"))?;
    Some(before)
}

/// Whether the function with this symbol is called `name`: by its symbol, or demangled, with its
/// parameters or without them.
pub fn is_named(symbol: &str, name: &str) -> bool {
    symbol == name || {
        let text = demangled(symbol);
        text == name || without_parameters(&text) == Some(name)
    }
}

/// Longer names are not demangled.
const MAX_MANGLED: usize = 4096;
/// The most bytes of a demangled name: this many, and some for each byte of the symbol. A part of a
/// symbol that refers to parts before it, which do the same, doubles the text each time.
const SHORT: usize = 256;
const FOR_EACH: usize = 16;

/// A demangled name while it is written.
struct Bounded<'a> {
    symbol: &'a str,
    text: String,
}

impl<'a> Bounded<'a> {
    fn new(symbol: &'a str) -> Self {
        Bounded { symbol, text: String::new() }
    }

    /// What `write` writes, or else the symbol.
    fn finish(mut self, write: impl FnOnce(&mut Self) -> fmt::Result) -> String {
        match write(&mut self) {
            Ok(()) => self.text,
            Err(fmt::Error) => self.symbol.to_owned(),
        }
    }
}

impl Write for Bounded<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len() + part.len() > SHORT + FOR_EACH * self.symbol.len() {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// The function that `symbol` is a part of: `sort` for `sort.cold` and `sort.cold.1`, which have
/// code that is seldom executed, and for the `sort.__part.1` of LLVM's basic block sections. Other
/// suffixes, as `sort.part.0` and `sort.constprop.0`, name functions of their own: they are called.
pub(crate) fn whole(symbol: &str) -> Option<&str> {
    let (before, numbered) = match symbol.rsplit_once('.') {
        Some((before, number)) if number.bytes().all(|b| b.is_ascii_digit()) => (before, true),
        _ => (symbol, false),
    };
    let part = || before.strip_suffix(".__part").filter(|_| numbered);
    before.strip_suffix(".cold").or_else(part).filter(|name| !name.is_empty())
}

/// Whether `symbol` is the name of a veneer, as GNU ld (`__name_veneer`, `__name_from_thumb`) and
/// LLD (`__AArch64ADRPThunk_name`) write it.
pub(crate) fn is_veneer(symbol: &str) -> bool {
    let Some(name) = symbol.strip_prefix("__") else { return false };
    let gnu = ["_veneer", "_from_thumb", "_from_arm"].iter().any(|end| name.ends_with(end));
    let lld = ["AArch64", "ARM", "Thumb"].iter().any(|start| name.starts_with(start));
    gnu || lld && name.contains("Thunk_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (symbol, want) in [
            ("main", "main"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Z3addii", "add(int, int)"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backEOi",
                "std::vector<int, std::allocator<int> >::push_back(int&&)",
            ),
            ("_Zwrong", "_Zwrong"),
        ] {
            assert_eq!(demangled(symbol), want);
        }
    }

    #[test]
    fn names_without_parameters() {
        for (name, want) in [
            ("main", None),
            ("add(int, int)", Some("add")),
            ("(anonymous namespace)::add(int)", Some("(anonymous namespace)::add")),
            ("a::(anonymous namespace)::b", None),
        ] {
            assert_eq!(without_parameters(name), want, "{name}");
        }
    }

    #[test]
    fn functions_have_several_names() {
        for name in ["_Z3addii", "add(int, int)", "add"] {
            assert!(is_named("_Z3addii", name), "{name}");
        }
        for (symbol, name) in [("_Z3addii", "add(int)"), ("_Z3addii", "ad"), ("add", "add()")] {
            assert!(!is_named(symbol, name), "{symbol} {name}");
        }
    }

    /// A name of C++ or Rust in which each part is a pair of the part before.
    fn pairs(times: usize) -> [String; 2] {
        const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        // The number of a part before: nothing for the first.
        let number = |n: usize, base: usize| {
            let (mut left, mut digits) = (n, String::new());
            while left > 0 {
                digits.insert(0, char::from(DIGITS[(left - 1) % base]));
                left = (left - 1) / base;
            }
            digits
        };
        let (mut cpp, mut rust) = ("_Z1f1AIiiE".to_owned(), "_RINvC1a1fTllE".to_owned());
        let mut before = rust.len() - "_RTllE".len();
        for n in 0..times {
            let part = number(n + 1, 36).to_uppercase();
            cpp += &format!("S_IS{part}_S{part}_E");
            let at = rust.len() - "_R".len();
            rust += &format!("TB{0}_B{0}_E", number(before, 62));
            before = at;
        }
        [cpp, rust + "E"]
    }

    #[test]
    fn names_that_would_be_very_long_are_unchanged() {
        let [cpp, rust] = pairs(2).map(|name| demangled(&name));
        assert!(cpp.starts_with("f(A<int, int>, A<A<int, int>, A<int, int> >, A<"), "{cpp}");
        assert!(rust.starts_with("a::f::<(i32, i32), ((i32, i32), (i32, i32)), ("), "{rust}");
        for name in pairs(35) {
            assert_eq!(demangled(&name), name);
        }
    }

    #[test]
    fn parts_and_veneers() {
        assert_eq!(whole("sort.cold"), Some("sort"));
        assert_eq!(whole("sort.cold.12"), Some("sort"));
        assert_eq!(whole("sort.part.0"), None);
        assert_eq!(whole(".cold"), None);
        for (symbol, want) in [
            ("__memcpy_veneer", true),
            ("__f_from_thumb", true),
            ("__AArch64ADRPThunk_f", true),
            ("__ThumbV7PILongThunk_f", true),
            ("__aeabi_memcpy", false),
            ("veneer", false),
        ] {
            assert_eq!(is_veneer(symbol), want, "{symbol}");
        }
    }
}
