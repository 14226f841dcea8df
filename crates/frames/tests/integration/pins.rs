//! Tables of IHI 0014 for the pins of a trace port.

use tracewright_frames::pins::{Action, Driver, Sample, Sampler, Width};

/// Table 4-1. Discarded data are not trace.
#[test]
fn actions_of_samples() {
    use Action::{Discard, DiscardTrigger, Store, StoreTrigger};
    let width = Width::new(8).unwrap();
    for (control, low, action) in [
        (false, 0b00, Store),
        (false, 0b01, Store),
        (false, 0b10, Store),
        (false, 0b11, Store),
        (true, 0b01, Discard),
        (true, 0b11, Discard),
        (true, 0b00, StoreTrigger),
        (true, 0b10, DiscardTrigger),
    ] {
        for high in 0..64 {
            let sample = Sample { control, data: high << 2 | low };
            let mut bytes = Vec::new();
            assert_eq!(Sampler::new(width).sample(sample, &mut bytes), action, "{sample:?}");
            let stored = matches!(action, Store | StoreTrigger);
            assert_eq!(bytes, if stored { vec![sample.data as u8] } else { vec![] }, "{sample:?}");
            assert_eq!(action.stores(), stored);
            assert_eq!(action.trigger(), matches!(action, StoreTrigger | DiscardTrigger));
        }
    }
    assert_eq!(Sample::DISABLED.action(), Discard);
    assert_eq!(Sample::TRIGGER.action(), DiscardTrigger);
}

/// Table 8-4, and Table 8-2 for the data.
#[test]
fn samples_of_an_older_probe() {
    for (control, bit, pipestat) in
        [(false, 0, 0b0100), (false, 1, 0b0101), (true, 0, 0b0110), (true, 1, 0b0111)]
    {
        for high in 0..128 {
            let sample = Sample { control, data: high << 1 | bit };
            assert_eq!(sample.pipestat(), pipestat, "{sample:?}");
            assert_eq!(sample.tracepkt(), high << 1);
            assert_eq!(Sample::from_pipestat(pipestat, high << 1), Some(sample));
            // Bit 0 is wired to 0; its value is ignored.
            assert_eq!(Sample::from_pipestat(pipestat, high << 1 | 1), Some(sample));
        }
    }
    for pipestat in (0..=u8::MAX).filter(|status| !(0b0100..=0b0111).contains(status)) {
        assert_eq!(Sample::from_pipestat(pipestat, 0), None, "{pipestat:b}");
    }
}

/// Byte columns of wide ports, and parts of a byte on narrow ones. (7.8.1, figures 7-47 and 7-48)
#[test]
fn bytes_on_pins() {
    let data = |data| Sample { control: false, data };
    let trigger = |data| Sample { control: true, data };
    for (pins, want) in [
        (2, &[data(0), data(1), data(0), data(2), trigger(0), data(3), data(0), data(0)][..]),
        (4, &[data(0x4), data(0x8), trigger(0xc), data(0x0)]),
        (8, &[data(0x84), trigger(0x0c)]),
        (16, &[data(0x6684), trigger(0x660c)]),
        (32, &[data(0x6666_6684), trigger(0x6666_660c)]),
    ] {
        let mut driver = Driver::new(Width::new(pins).unwrap());
        let mut samples = Vec::new();
        driver.push(&[0x84], &mut samples);
        driver.trigger(&mut samples);
        driver.finish(&mut samples);
        assert_eq!(samples, want, "{pins} pins");
    }
    for pins in 0..=u8::MAX {
        let there = Width::new(pins).map(Width::pins);
        let known = matches!(pins, 1 | 2 | 4) || pins > 0 && pins <= 64 && pins % 8 == 0;
        assert_eq!(there, known.then_some(pins));
    }
}

/// The bytes sent are sampled again, with any number of cycles without trace between them, and by a
/// clone, too.
#[test]
fn bytes_sent_are_sampled() {
    let packets: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
    for width in (0..=64).filter_map(Width::new) {
        let (mut driver, mut samples) = (Driver::new(width), Vec::new());
        for (n, part) in packets.chunks(37).enumerate() {
            driver.push(part, &mut samples);
            if n % 3 == 2 {
                driver.trigger(&mut samples);
            }
        }
        driver.finish(&mut samples);
        let busy = samples.iter().flat_map(|&s| [Sample::DISABLED, s, Sample::TRIGGER]);

        let (mut bytes, mut triggers, mut sampler) = (Vec::new(), 0, Sampler::new(width));
        for sample in busy {
            let mut resumed = sampler.clone();
            let action = resumed.sample(sample, &mut bytes);
            triggers += u32::from(action == Action::StoreTrigger);
            sampler = resumed;
        }
        assert_eq!(triggers, 4, "{width:?}");
        let mut want = Vec::new();
        let columns = usize::from(width.pins() / 8).max(1);
        for (n, part) in packets.chunks(37).enumerate() {
            want.extend_from_slice(part);
            if n % 3 == 2 {
                want.resize(want.len().next_multiple_of(columns), 0x66);
                want.push(0x0c);
            }
        }
        want.resize(want.len().next_multiple_of(columns), 0x66);
        assert_eq!(bytes, want, "{width:?}");
    }
}
