//! Characters of names and texts that are not printed as they are.

/// Whether a terminal interprets `c` or does not show it: control characters, line and paragraph
/// separators, characters without width, and those that change the direction of text. (Unicode
/// general categories Cc, Zl and Zp, and the property `Default_Ignorable_Code_Point` except for
/// variation selectors)
pub const fn is_unshown(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
