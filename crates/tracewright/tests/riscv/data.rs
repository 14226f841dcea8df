//! Data trace encoded and decoded: loads, stores, atomic accesses and CSRs, with loads in one
//! packet or two, with and without addresses and data, in every coding.

use tracewright::base::{Access, Direction, Element, Wire};
use tracewright::image::Image;
use tracewright::protocols::etrace::config::{Params, Version};
use tracewright::protocols::etrace::encode::{DataEncoder, DataSettings};
use tracewright::protocols::etrace::packet::Packet;

use crate::program::Random;
use crate::run::{cache, elements};

/// An access, independent of the number of its packets.
pub type Row = (Direction, u8, bool, Option<u64>, Option<u64>);

pub fn row(access: &Access, params: &Params) -> Row {
    let csr = access.has(Access::COPROCESSOR);
    let address = access.address().filter(|_| csr || !params.data.no_address);
    let value = access.value().filter(|_| !params.data.no_data);
    (access.direction, access.size, csr, address, value)
}

/// Accesses with some locality. An atomic access is a read and a write, and so is one of a CSR.
pub fn accesses(random: &mut Random, params: &Params) -> Vec<Access> {
    let (mut all, mut near) = (Vec::new(), 0x8000_0000u64);
    let wide = params.data.format_width > 2;
    let mask = |bits: u32| if bits >= 64 { u64::MAX } else { !(u64::MAX << bits) };
    for _ in 0..300 {
        let mut size = 1u8 << random.below(if params.rv64 { 4 } else { 3 });
        near = match random.below(4) {
            0 => random.next(),
            1 => near,
            _ => near.wrapping_add(random.below(64)).wrapping_sub(32),
        } & mask(params.data.address_width.into());
        let kind = random.below(if wide { 6 } else { 3 });
        let value = random.next() >> random.pick(&[0, 0, 32, 48, 60]);
        let value = move |size: u8| value & mask(u32::from(size) * 8);
        let plain =
            |direction, size, address| Access::new(direction, size, 0).at(address).of(value(size));
        match kind {
            0 | 1 => all.push(plain(Direction::Read, size, near)),
            2 => all.push(plain(Direction::Write, size, near)),
            3 | 4 => {
                size = size.max(4);
                let aligned = near & !u64::from(size - 1);
                let read = Access::new(Direction::Read, size, 0).at(aligned).of(value(size));
                let written = random.next() & mask(u32::from(size) * 8);
                all.push(read);
                let write = Access::new(Direction::Write, size, Access::CONTINUED);
                all.push(write.at(aligned).of(written));
            }
            _ => {
                let bytes = params.data.width / 8;
                let number = random.pick(&[0x300, 0x305, 0x341, 0x342]);
                let read = Access::new(Direction::Read, bytes, Access::COPROCESSOR);
                all.push(read.at(number).of(value(bytes)));
                let flags = Access::COPROCESSOR | Access::CONTINUED;
                let write = Access::new(Direction::Write, bytes, flags);
                all.push(write.at(number).of(random.next() & mask(u32::from(bytes) * 8)));
            }
        }
    }
    all
}

#[test]
fn accesses_round_trip() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let version = random.pick(&[Version::V2_0, Version::V2_1]);
        let mut params = Params::spec(version, random.one_in(2));
        let d = &mut params.data;
        d.split = random.one_in(3);
        d.lrid_width = if d.split { random.pick(&[1, 3, 6]) } else { 0 };
        d.format_width = if d.split { 3 } else { random.pick(&[2, 3]) };
        (d.no_address, d.no_data) = random.pick(&[(false, false), (true, false), (false, true)]);
        d.diff_width = random.pick(&[1, 2]);
        let settings = DataSettings {
            enabled: true,
            full_address: random.one_in(4),
            full_data: random.one_in(4),
            latency: random.pick(&[0, 0, 1, 5]),
        };
        let given = accesses(&mut random, &params);
        let (mut encoder, mut packets) = (DataEncoder::new(settings), Vec::<Packet>::new());
        for (n, access) in given.iter().enumerate() {
            if n % 100 == 99 {
                encoder.synchronise();
            }
            encoder.access(access, &params, &mut packets);
        }
        encoder.finish(&params, &mut packets);
        let mut bytes = Vec::new();
        packets.iter().for_each(|packet| packet.emit(&params, &mut bytes));

        let image = std::sync::Arc::new(Image::new([]));
        let mut got: Vec<(u64, Element)> = Vec::new();
        elements(&bytes, &params, &mut cache(&image, &params), &mut got);
        let emitted = got.iter().filter_map(|(_, element)| match element {
            Element::DataAccess(access) => Some(row(access, &params)),
            _ => None,
        });
        let mut got: Vec<Row> = emitted.collect();
        let mut want: Vec<Row> = given.iter().map(|access| row(access, &params)).collect();
        if params.data.split {
            // A load is emitted when its data are traced.
            let key = |row: &Row| (row.3, row.4, row.1, row.0 == Direction::Read);
            got.sort_by_key(key);
            want.sort_by_key(key);
        }
        let same = want.iter().zip(&got).take_while(|(want, got)| want == got).count();
        assert!(
            want == got,
            "seed {seed} {:?} {settings:?}: {same} of {} and {}: want {:x?} got {:x?}",
            params.data,
            want.len(),
            got.len(),
            want.get(same),
            got.get(same),
        );
    }
}
