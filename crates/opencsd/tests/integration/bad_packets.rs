//! Bad packets in OpenCSD's listing: the messages of OpenCSD 1.8.0.

use tracewright_capture::{Buffer, BufferRef, Capture, Format, Registers, Source};
use tracewright_decode::{Memory, Options, Plan, Session};
use tracewright_frames::{Framing, Joiner};
use tracewright_opencsd as opencsd;

/// An ETE: A-Sync, Trace Info, Trace On, an address with context, `bad`, and two E atoms.
fn capture(bad: &[u8]) -> Capture {
    let start = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x01, 0x00, 0x04];
    let address = [0x85, 0x00, 0x02, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11];
    let mut bytes = Vec::new();
    let mut joiner = Joiner::new(Framing::Coresight);
    joiner.push(0x10, &[&start[..], &address, bad, &[0xf7, 0xf7]].concat(), &mut bytes).unwrap();
    joiner.finish(&mut bytes);
    let registers = [
        ("TRCDEVARCH", 0x4770_5a13),
        ("TRCIDR0", 0x2801_cea1),
        ("TRCIDR1", 0x4100_fff0),
        ("TRCIDR2", 0xd000_1088),
        ("TRCIDR8", 0),
        ("TRCCONFIGR", 1),
        ("TRCTRACEIDR", 0x10),
    ];
    Capture {
        buffers: vec![Buffer::new("ETR", Format::CoreSight, bytes)],
        sources: vec![Source {
            device_type: "ETE".into(),
            registers: Registers::from_iter(registers),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        }],
        ..Capture::default()
    }
}

fn list(bad: &[u8], elements: bool) -> String {
    let capture = capture(bad);
    let (options, memory) = (Options::default(), Memory::new(&capture));
    let plan = Plan::new(&capture, 0, &options).unwrap();
    let mut session = Session::new(&capture, &plan, &memory, &options).unwrap();
    let shown = opencsd::Shown { packets: true, elements, ..Default::default() };
    let mut out = Vec::new();
    let mut listing = opencsd::Listing::new(&mut out, &plan, shown, false);
    session.run(capture.buffers[0].parts(), &mut listing);
    listing.finish().unwrap();
    String::from_utf8(out).unwrap()
}

/// The decoder states the reason. A message of the packet processor is printed only where no
/// decoder takes the packets.
#[test]
fn messages() {
    const PROCESSOR: &str =
        "PKTP_ETMV4I_0016 : 0x0014 (OCSD_ERR_INVALID_PCKT_HDR) [Invalid packet header]";
    const DECODER: &str = "DCD_ETMV4_0016 : 0x0019 (OCSD_ERR_BAD_DECODE_PKT) \
                           [Reserved or unknown packet in decoder.]; TrcIdx=";
    for (bad, header, message) in [
        (&[0x8c][..], true, "Reserved packet header"),
        (&[0x4b], true, "Reserved packet header"),
        (&[0x61], true, "Reserved packet header"),
        (&[0x24], true, "Unknown packet type."),
        (&[0x00, 0xf7], false, "Bad byte sequence in packet."),
    ] {
        let text = list(bad, true);
        let errors: Vec<&str> = text.lines().filter(|line| line.contains("OCSD_ERR_")).collect();
        let [error] = errors[..] else { panic!("{bad:02x?}: {text}") };
        assert!(error.starts_with(DECODER), "{bad:02x?}: {error}");
        assert!(error.contains(&format!("; CS ID=10; {message}Idx:")), "{bad:02x?}: {error}");

        let text = list(bad, false);
        let errors: Vec<&str> = text.lines().filter(|line| line.contains("OCSD_ERR_")).collect();
        assert_eq!(errors.len(), usize::from(header), "{bad:02x?}: {text}");
        for error in errors {
            assert!(error.starts_with(PROCESSOR), "{bad:02x?}: {error}");
        }
    }
}
