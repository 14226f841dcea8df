//! Coverage of some functions only.

use std::collections::BTreeMap;

use super::lines::SourceFile;

/// Leaves what belongs to the functions with these names or symbols: their lines, and branches and
/// decisions there. Returns the first name that no function has.
pub fn only_functions<'a>(
    sources: &mut BTreeMap<String, SourceFile>,
    names: &'a [String],
) -> Option<&'a String> {
    let mut found = vec![false; names.len()];
    for source in sources.values_mut() {
        source.functions.retain(|own| {
            let is = |name: &String| own.name == *name || own.symbol == *name;
            found.iter_mut().zip(names).for_each(|(found, name)| *found |= is(name));
            names.iter().any(is)
        });
        let parts: Vec<(u32, u32)> = source.functions.iter().map(|own| own.lines).collect();
        let inside = |line: u32| parts.iter().any(|(first, last)| (*first..=*last).contains(&line));
        source.lines.retain(|line, _| inside(*line));
        source.decisions.retain(|own| inside(own.decision.region.start.0));
        source.exempted.retain(|part, _| inside(part.line()));
    }
    sources.retain(|_, source| !source.functions.is_empty());
    found.iter().zip(names).find(|(found, _)| !**found).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::super::{FunctionLine, Line};
    use super::*;

    #[test]
    fn lines_of_functions() {
        let function = |name: &str, symbol: &str, lines| FunctionLine {
            name: name.to_owned(),
            symbol: symbol.to_owned(),
            lines,
            count: Some(1),
        };
        let functions = vec![function("a", "a", (2, 4)), function("b(int)", "_Z1bi", (6, 7))];
        let lines = (1..9).map(|line| (line, Line::default())).collect();
        let source = SourceFile { functions, lines, ..SourceFile::default() };
        let all = BTreeMap::from([("x.c".to_owned(), source)]);
        let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        for (wanted, lines) in [
            (&["a"][..], &[2, 3, 4][..]),
            (&["_Z1bi"], &[6, 7]),
            (&["a", "b(int)"], &[2, 3, 4, 6, 7]),
        ] {
            let mut own = all.clone();
            assert_eq!(only_functions(&mut own, &names(wanted)), None);
            assert_eq!(own["x.c"].lines.keys().copied().collect::<Vec<_>>(), lines);
        }
        let (mut own, wanted) = (all, names(&["a", "c"]));
        assert_eq!(only_functions(&mut own, &wanted), wanted.last());
    }
}
