//! What a name of the symbol table shows.

/// The name as people write it in the language it comes from: demangled, without the hash of Rust.
/// A name of another form is unchanged.
pub fn demangled(symbol: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return format!("{rust:#}");
    }
    // `__Z` has the additional underscore of some object formats.
    let cpp = symbol.strip_prefix('_').filter(|rest| rest.starts_with("_Z")).unwrap_or(symbol);
    if cpp.starts_with("_Z")
        && cpp.len() < MAX_MANGLED
        && let Ok(name) = cpp_demangle::Symbol::new(cpp)
        && let Ok(text) = name.demangle()
    {
        return text;
    }
    symbol.to_owned()
}

/// Longer names are not demangled: the result may be much longer.
const MAX_MANGLED: usize = 4096;

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
