//! Names like an unknown one.

/// Up to this number, all names are listed.
const FEW: usize = 12;

/// The most similar names that are listed.
const LISTED: usize = 5;

/// The least similarity of names, of 1 for equal ones.
const SIMILAR: f64 = 0.75;

/// The names among `known` that a user may have meant by `name`, in words that follow an error.
pub fn expected_names(name: &str, known: &[&str]) -> String {
    if known.len() <= FEW {
        return format!("expected one of {}", known.join(", "));
    }
    let own = name.to_ascii_lowercase();
    let similarity = |other: &str| {
        let other = other.to_ascii_lowercase();
        let contains = other.contains(&own) || own.contains(&other);
        let bonus = if contains && own.len() > 3 { 0.2 } else { 0.0 };
        strsim::jaro_winkler(&own, &other) + bonus
    };
    let mut near: Vec<(f64, &str)> = known.iter().map(|name| (similarity(name), *name)).collect();
    near.retain(|(similarity, _)| *similarity >= SIMILAR);
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.dedup_by_key(|(_, name)| *name);
    near.truncate(LISTED);
    match near.as_slice() {
        [] => format!("none of the {} known names is similar", known.len()),
        near => {
            let names: Vec<_> = near.iter().map(|(_, name)| *name).collect();
            format!("similar names: {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_come_first() {
        let known = [
            "version",
            "profile",
            "xlen",
            "return_stack_size",
            "implicit_return",
            "call_counter_size",
            "cache_size",
            "iaddress_width",
            "iaddress_lsb",
            "context_width",
            "time_width",
            "nocontext",
            "notime",
            "ecause_width",
        ];
        let near = |name| expected_names(name, &known);
        assert!(near("return_stack").starts_with("similar names: return_stack_size"));
        assert!(near("implicit_retrun").starts_with("similar names: implicit_return"));
        assert_eq!(near("zzz"), "none of the 14 known names is similar");
        assert_eq!(expected_names("x", &["a", "b"]), "expected one of a, b");
    }
}
