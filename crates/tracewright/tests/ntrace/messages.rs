//! Every message field by field, and back to its bytes.

use tracewright::base::{Parse, Wire};
use tracewright::protocols::ntrace::Packet;
use tracewright::protocols::ntrace::config::{Config, Profile};
use tracewright::protocols::ntrace::packet::Message;

use crate::captures::{self, Capture, table};

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len() / 2).map(|n| digits(n * 2)).collect()
}

/// The value of a cell: decimal or hexadecimal.
fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

/// Name and value of each field after TCODE.
fn fields(bytes: &[u8], config: &Config) -> Vec<(String, u64)> {
    let mut fields = Vec::new();
    Packet::explain(bytes, config, &mut |field| {
        if field.name != "TCODE" {
            fields.push((field.name.replace('-', ""), field.value));
        }
    });
    fields
}

/// Compares a message with its row: name and fields.
fn compare(bytes: &[u8], config: &Config, name: &str, row: &str) -> Result<Packet, String> {
    let want = row.split(';').filter(|field| !field.is_empty());
    let want: Vec<_> = want
        .map(|field| field.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect();
    let got = fields(bytes, config);
    let Parse::Packet(packet, len) = Packet::parse(bytes, config) else {
        return Err(format!("{bytes:02x?}: no message, want {name} {row}"));
    };
    let text = packet.to_string();
    if len == bytes.len() && got == want && text.split(' ').next() == Some(name) {
        return Ok(packet);
    }
    Err(format!("{bytes:02x?}: {text} {got:x?}, want {name} {row}"))
}

#[test]
fn vectors() {
    let Some(root) = captures::shared() else { return };
    let rows = table(&root.join("message-vectors/vectors.tsv.xz"));
    assert!(rows.len() > 500);
    for row in rows {
        let [dialect, bits, _, extend, hex, name, fields, _] = &row[..] else { panic!("{row:?}") };
        let profile = if dialect == "sifive" { Profile::Sifive } else { Profile::Spec };
        let mut config = Config::of(profile, true);
        config.link.source_bits = bits.parse().unwrap();
        config.extend_msb = extend == "1";
        let given = bytes(hex);
        let packet = compare(&given, &config, name, fields).unwrap();
        let mut out = Vec::new();
        packet.emit(&config, &mut out);
        assert_eq!(out, given, "{row:?}");
    }
}

/// The messages of a stream, as its table has them. Returns how many.
fn stream(capture: &Capture) -> usize {
    let Some(rows) = capture.table("messages") else { return 0 };
    let mut at = 0;
    for row in &rows {
        let [offset, hex, name, fields] = &row[..] else { panic!("{row:?}") };
        if name == "SKIPPED" {
            continue;
        }
        // Bytes between messages.
        let offset: usize = offset.parse().unwrap();
        while at < offset {
            let Parse::Packet(packet, 1) = Packet::parse(&capture.bytes[at..], &capture.config)
            else {
                panic!("{} at {at}", capture.path.display());
            };
            assert!(matches!(packet.message, Message::Idle { byte: 0xff } | Message::Unwritten));
            at += 1;
        }
        let given = bytes(hex);
        assert_eq!(&capture.bytes[at..at + given.len()], given);
        let packet = compare(&given, &capture.config, name, fields);
        let packet = packet.unwrap_or_else(|why| panic!("{}: {why}", capture.path.display()));
        // A message in its shortest form has the same fields.
        let mut out = Vec::new();
        packet.emit(&capture.config, &mut out);
        assert_eq!(Packet::parse(&out, &capture.config), Parse::Packet(packet, out.len()));
        at += given.len();
    }
    rows.len()
}

#[test]
fn streams_of_hardware() {
    let Some(root) = captures::shared() else { return };
    let count: usize = captures::sifive(&root).iter().map(stream).sum();
    assert!(count > 55_000, "only {count}");
}

#[test]
fn streams_of_an_independent_encoder() {
    let Some(root) = captures::shared() else { return };
    let count: usize = captures::own(&root).iter().map(stream).sum();
    assert!(count > 90_000, "only {count}");
}
