//! The ingress port as the reference flow drives it: the encoder emits the same bytes for its rows,
//! with an itype of 3 bits and of 4.

use tracewright::base::{Encode, Wire};
use tracewright::protocols::etrace::encode::{Block, Cycle, Encoder, Itype, Settings};

use tracewright_testing::{sample, short_or_long};

use crate::streams::{read, reference, shared, up_to};

/// `itype_0,cause,tval,priv,iaddr_0,context,ctype,iretire_0,ilastsize_0`
fn cycle(line: &str, params: &tracewright::protocols::etrace::Params) -> Cycle {
    let cells: Vec<_> = line.split(',').collect();
    let hex = |n: usize| u64::from_str_radix(cells[n], 16).unwrap();
    let decimal = |n: usize| cells[n].parse::<u64>().unwrap();
    let ilastsize = 1 << decimal(8);
    let mut cycle = Cycle {
        cause: decimal(1),
        tval: hex(2),
        privilege: decimal(3) as u8,
        context: hex(5) as u32,
        ..Cycle::default()
    };
    cycle.blocks[0] = Block {
        iaddr: hex(4),
        // The unit of `iretire` in these rows is an instruction.
        iretire: decimal(7) as u16 * u16::from(ilastsize),
        ilastsize,
        itype: Itype::read(decimal(0) as u8, params).unwrap(),
        ..Block::default()
    };
    cycle
}

#[test]
fn rows_of_the_port() {
    let Some(root) = shared() else { return };
    let mut compared = 0;
    for stream in sample(2, up_to(6_000, reference(&root))) {
        let suite = stream.path.parent().and_then(|p| p.file_name()).unwrap().to_str().unwrap();
        let width = if suite.starts_with("itype3") { 3 } else { 4 };
        let name = format!("etrace-ref/encoder_input/{}.itype{width}.csv.xz", stream.program);
        let path = root.join(&name);
        // The rows have no sijump, which a suite with this option needs.
        if !path.is_file() || stream.params.options.sijump {
            continue;
        }
        let mut params = stream.params;
        params.port.itype_width = width;
        let rows = String::from_utf8(read(&path)).unwrap();
        let (mut encoder, mut packets) = (Encoder::new(&params, &Settings::default()), Vec::new());
        for line in rows.lines().skip(1) {
            encoder.cycle(&cycle(line, &params), &params, &mut packets).unwrap();
        }
        encoder.finish(&params, &mut packets);
        let mut bytes = Vec::new();
        packets.iter().for_each(|packet| packet.emit(&params, &mut bytes));
        let same = bytes.iter().zip(&stream.bytes).take_while(|(a, b)| a == b).count();
        assert!(
            bytes == stream.bytes,
            "{name} in {suite}: {same} the same of {} and {} bytes: {:02x?}, not {:02x?}",
            bytes.len(),
            stream.bytes.len(),
            &bytes[same..bytes.len().min(same + 12)],
            &stream.bytes[same..stream.bytes.len().min(same + 12)],
        );
        compared += 1;
    }
    println!("{compared} streams");
    assert!(compared >= short_or_long(5, 25), "only {compared} streams");
}
