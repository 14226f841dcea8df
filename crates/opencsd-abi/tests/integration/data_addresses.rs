//! Where a packet of ETMv3 has the address of a data access: this library and OpenCSD's differ.

use std::path::Path;

use crate::client::{compile, folder, installed, library, other_library_or_none, output, run};

/// A-sync; I-sync at 0x8000, in Secure state, because trace was enabled. (IHI 0014, 7.7.2, 7.7.3)
const BEGIN: [u8; 12] = [0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0x00, 0x80, 0x00, 0x00];

/// The text and the fields of the data packets that `bytes` are, behind [`BEGIN`], of an ETMv3 that
/// traces addresses and values of data (ETMCR bits \[3:2] are 11).
fn data_packets(program: &Path, library: Option<&Path>, name: &str, bytes: &[u8]) -> Vec<String> {
    let data = folder().join(format!("{name}.data"));
    std::fs::write(&data, [&BEGIN[..], bytes].concat()).unwrap();
    let script = folder().join(format!("{name}.script"));
    let decoder = "tree 1 0\ndecoder ETMV3 0 6 410cf240 c 0 10 700 3\n";
    std::fs::write(&script, format!("{decoder}data {}\n", data.display())).unwrap();
    let text = output(run(program, library, &[script.to_str().unwrap(), "sink", "64", "-2"]));
    let lines: Vec<&str> = text.lines().collect();
    let is_data = |pair: &&[&str]| pair[0].contains("NORM_DATA");
    let packets = lines.windows(2).filter(is_data).map(|pair| {
        let what = pair[0].split("packet.; ").nth(1).unwrap();
        let fields = pair[1].split(" addr ").nth(1).unwrap();
        format!("{what} addr {}", fields.split(" error").next().unwrap())
    });
    packets.collect()
}

/// `00A0_SS10` with A set and size 11 is a data packet with an address and four bytes of a value;
/// each address byte has seven bits, the lowest first, and replaces those bits of the last data
/// address. (IHI 0014, 7.4.2)
#[test]
fn data_addresses_of_etmv3_are_in_their_field() {
    let Some(program) = compile("client.c") else { return };
    let packet = |address: &[u8], value: [u8; 4]| [&[0x2e], address, &value[..]].concat();
    let short = [packet(&[0x34], [0xef, 0xbe, 0xad, 0xde]), packet(&[0x38], [1, 0, 0, 0])].concat();
    let own = data_packets(&program, Some(library()), "short-data-addresses", &short);
    let want = [
        "Addr=0x??????34 (6:0) ~[0x34]; Val=0xdeadbeef addr 8000 data.addr 34",
        "Addr=0x??????38 (6:0) ~[0x38]; Val=0x1 addr 8000 data.addr 38",
    ];
    assert_eq!(own, want);
    let long = [0xb4, 0xa4, 0x80, 0x80, 0x02];
    let long = [packet(&long, [0xef, 0xbe, 0xad, 0xde]), packet(&[0x38], [1, 0, 0, 0])].concat();
    let own = data_packets(&program, Some(library()), "long-data-addresses", &long);
    let want = [
        "Addr=0x20001234 ~[0x20001234]; Val=0xdeadbeef addr 8000 data.addr 20001234",
        "Addr=0x20001238 ~[0x38]; Val=0x1 addr 8000 data.addr 20001238",
    ];
    assert_eq!(own, want);
    // OpenCSD puts the bits into the address of the instruction, and reads one byte of them.
    let libraries = [installed().map(|_| None), other_library_or_none().map(Some)];
    for folder in libraries.iter().flatten() {
        let theirs = data_packets(&program, folder.as_deref(), "short-data-addresses", &short);
        let want = [
            "Addr=0x????????0 (-1:0); Val=0xdeadbeef addr 8034 data.addr 0",
            "Addr=0x????????0 (-1:0); Val=0x1 addr 8038 data.addr 0",
        ];
        assert_eq!(theirs, want, "{folder:?}");
        let theirs = data_packets(&program, folder.as_deref(), "long-data-addresses", &long);
        assert_eq!(theirs[0], "Addr=0x????????0 (-1:0); Val=0x28080a4 addr 8034 data.addr 0");
    }
}
