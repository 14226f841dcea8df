//! Flame graph: an SVG picture in which the width of a frame is its share of the instructions. The
//! title of a frame has its name and numbers. A script in it enlarges the frame that is clicked and
//! searches for what is typed; without scripts it is a picture. It needs no other file.

use std::fmt::Write;

use super::PathView;
use crate::pieces::Pieces;
use crate::text::xml;

/// The width of the picture, and the height of a frame, in pixels.
const WIDTH: f64 = 1200.0;
const ROW: usize = 17;

/// What its frames do.
const SCRIPT: &str = include_str!("flame_graph.js");

/// The width of a character, and the space on both sides of a name, in pixels.
const CHARACTER: f64 = 6.7;
const SIDES: f64 = 6.0;

/// Narrower frames are left out.
const NARROWEST: f64 = 0.3;

/// Deeper frames are left out.
const DEEPEST: usize = 400;

/// A frame: its depth, its name, what it has with those that it calls, and what it has itself.
/// Frames with the same caller follow each other, each before those that it calls.
pub(crate) struct FlameFrame {
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) sum: u64,
    pub(crate) own: u64,
}

/// The file.
pub(super) fn write(view: &PathView<'_>, out: &mut Pieces<'_>) {
    let sums = view.inclusive();
    let sum_of = |number: u32| sums.get(number as usize).copied().unwrap_or(0);
    let threads = view.paths.threads();
    let all = threads.iter().fold(0u64, |all, thread| all.saturating_add(sum_of(thread.root)));
    let frames = view.named().map(|(number, depth, name)| {
        let own = view.paths.paths().get(number as usize).map_or(0, |path| path.instructions);
        FlameFrame { depth, name, sum: sum_of(number), own }
    });
    draw(frames, all, "instructions", out);
}

/// The picture of frames that have `all` of what `unit` counts.
pub(crate) fn draw(
    frames: impl Iterator<Item = FlameFrame>,
    all: u64,
    unit: &str,
    out: &mut Pieces<'_>,
) {
    let scale = WIDTH / all.max(1) as f64;
    let (mut body, mut deepest, mut left_out) = (String::new(), 0, 0usize);
    // The left edge of the next frame at each depth.
    let mut edges = vec![0u64];
    for FlameFrame { depth, name, sum, own } in frames {
        edges.truncate(depth + 1);
        let from = edges.last().copied().unwrap_or(0);
        if let Some(edge) = edges.last_mut() {
            *edge = edge.saturating_add(sum);
        }
        edges.push(from);
        let (x, width) = (from as f64 * scale, sum as f64 * scale);
        if width < NARROWEST || depth > DEEPEST {
            left_out += usize::from(sum > 0);
            continue;
        }
        deepest = deepest.max(depth);
        let share = 100.0 * sum as f64 / all.max(1) as f64;
        let _ = write!(
            body,
            "<g class=\"f\"><title>{}: {sum} {unit} ({share:.1} %), {own} itself</title>\
             <rect x=\"{x:.1}\" y=\"{}\" width=\"{width:.1}\" height=\"{}\" fill=\"{}\"/>",
            xml(&name),
            depth * ROW + 24,
            ROW - 1,
            colour(&name)
        );
        let room = ((width - SIDES) / CHARACTER).max(0.0) as usize;
        if room > 2 {
            let shown: String = match name.chars().count() <= room {
                true => name.clone(),
                false => name.chars().take(room - 1).chain(['…']).collect(),
            };
            let _ = write!(
                body,
                "<text x=\"{:.1}\" y=\"{}\">{}</text>",
                x + 3.0,
                depth * ROW + 36,
                xml(&shown)
            );
        }
        body.push_str("</g>\n");
    }
    let height = (deepest + 1) * ROW + 34;
    let note = match left_out {
        0 => String::new(),
        count => format!("; {count} narrow frames are left out"),
    };
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" \
         viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"xMinYMin meet\" role=\"img\" aria-label=\"Flame graph\">\n\
         <title>Flame graph of {all} {unit}</title>\n\
         <style>text{{font:11px monospace;pointer-events:none;fill:#111}}.f{{cursor:zoom-in}}\
         rect:hover{{stroke:#000}}.h{{font:13px sans-serif;pointer-events:auto}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text class=\"h\" x=\"4\" y=\"16\">{all} {unit}{note}</text>\n{body}\
         <script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n"
    );
}

/// A warm colour that depends on the name only.
fn colour(name: &str) -> String {
    let hash = name
        .bytes()
        .fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let (green, blue) = (110 + hash % 110, 60 + hash / 128 % 60);
    format!("rgb({},{green},{blue})", 215 + hash / 65536 % 40)
}
