//! Files that are made of templates: `@NAME@` stands for a value.

use std::path::Path;

/// The file at `path`, with its values.
pub(super) fn filled(path: &Path, values: &[(&str, &str)]) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| super::failed(path, &error))?;
    fill(&text, values).map_err(|name| format!("{}: @{name}@ has no value", path.display()))
}

/// `text` with its values, or the name that has none.
fn fill(text: &str, values: &[(&str, &str)]) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('@') {
        filled += before;
        let (name, after) = after.split_once('@').ok_or(after)?;
        let value = values.iter().find(|(known, _)| *known == name).ok_or(name)?;
        filled += value.1;
        rest = after;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_a_value() {
        let values = [("A", "1"), ("B", "2")];
        assert_eq!(fill("a @A@ b @B@@A@ c", &values).as_deref(), Ok("a 1 b 21 c"));
        assert_eq!(fill("a @C@ b", &values), Err("C".to_owned()));
        assert_eq!(fill("a @A b", &values), Err("A b".to_owned()));
    }
}
