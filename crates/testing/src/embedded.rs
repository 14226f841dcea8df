//! What is in a page that shows a trace without a server.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::DeflateDecoder;

/// The answers in a page, by name.
///
/// # Panics
/// Where it has none, or they are damaged.
pub fn embedded(page: &str) -> BTreeMap<String, Vec<u8>> {
    let begin = "<script id=\"answers\" type=\"application/json\">";
    let (_, rest) = page.split_once(begin).expect("a page with answers");
    let (json, _) = rest.split_once("</script>").expect("the end of the answers");
    let inside = json.strip_prefix('{').and_then(|json| json.strip_suffix('}')).expect("JSON");
    let pairs = inside.split(',').map(|pair| pair.trim().split_once(':').expect("a pair"));
    pairs.map(|(name, text)| (text_of(name).to_owned(), inflated(text_of(text)))).collect()
}

/// A string without escapes.
fn text_of(json: &str) -> &str {
    let text = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).expect("a string");
    assert!(!text.contains(['\\', '"']), "{text}");
    text
}

fn inflated(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    DeflateDecoder::new(&bytes_of(text)[..]).read_to_end(&mut out).expect("deflated bytes");
    out
}

/// The bytes of base64. (RFC 4648, 4)
fn bytes_of(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("no digit of base64: {byte:#x}"),
    };
    let mut out = Vec::new();
    for four in text.as_bytes().chunks(4) {
        let own: Vec<u8> = four.iter().copied().filter(|byte| *byte != b'=').collect();
        let group = (0..4).fold(0, |sum, n| sum << 6 | own.get(n).map_or(0, |byte| digit(*byte)));
        out.extend(&group.to_be_bytes()[1..own.len()]);
    }
    out
}
