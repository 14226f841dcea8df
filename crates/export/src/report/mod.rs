//! A report: one HTML page that needs no other file and no network. What is embedded is bounded;
//! the page lists what was left out.
//!
//! | file | contents |
//! |---|---|
//! | `data.rs` | [`Report`]: what the page shows |
//! | `page.css`, `page.js` | its appearance, and what its controls do |

mod data;

use std::collections::BTreeSet;
use std::fmt::Write;

pub use data::{
    ExceptionRow, Executions, FlameFrame, FunctionRow, Listing, Naming, Report, ThreadRow, ValueRow,
};

use crate::text::{json, xml};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A section of the page: the end of its identifier, its title.
const SECTIONS: [(&str, &str); 9] = [
    ("functions", "Functions"),
    ("flame", "Flame graph"),
    ("timeline", "Timeline"),
    ("exceptions", "Exceptions"),
    ("samples", "Samples"),
    ("values", "Values"),
    ("coverage", "Coverage"),
    ("code", "Code"),
    ("text", "Text"),
];

impl Report {
    /// Whether the page has something for a section. Others are left out.
    fn has(&self, section: &str) -> bool {
        match section {
            "functions" => !self.functions.is_empty(),
            "flame" => self.instructions > 0 && !self.flame.is_empty(),
            "timeline" => !self.threads.is_empty(),
            "exceptions" => !self.exceptions.is_empty() || self.untraced_handlers > 0,
            "samples" => !self.samples.is_empty(),
            "values" => !self.values.is_empty(),
            "coverage" => !self.coverage.is_empty(),
            "code" => !self.listings.is_empty(),
            "text" => !self.texts.is_empty(),
            _ => false,
        }
    }

    /// The page.
    pub fn html(&self) -> String {
        let mut out = String::from(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
        );
        let title = xml(&self.title);
        let _ = write!(out, "<title>{title} - trace report</title>\n<style>\n{STYLE}</style>\n");
        let _ = write!(
            out,
            "</head>\n<body>\n<header>\n<h1>{title}</h1>\n<nav aria-label=\"Sections\">\n"
        );
        for (id, name) in SECTIONS.iter().filter(|(id, _)| self.has(id)) {
            let _ = write!(out, "<a href=\"#h-{id}\">{name}</a>");
        }
        out.push_str("\n</nav>\n</header>\n<main>\n");
        self.about(&mut out);
        let mut heading = |id: &str, title: &str, write: &dyn Fn(&mut String)| {
            if self.has(id) {
                let _ = writeln!(out, "<h2 id=\"h-{id}\">{title}</h2>");
                write(&mut out);
            }
        };
        heading("functions", "Functions", &|out| {
            out.push_str(
                "<p class=\"dim\">Instructions in each function, and with the functions that it \
                 calls. <span id=\"sorted\" role=\"status\">Sorted by self.</span></p>\n\
                 <div class=\"scroll\"><table id=\"functions\" class=\"narrow\"><thead></thead><tbody></tbody>\
                 </table></div>\n",
            );
        });
        heading("flame", "Flame graph", &|out| {
            out.push_str(
                "<p class=\"dim\">The width of a function is its share of the instructions. Select \
                 one to enlarge it.</p>\n\
                 <p id=\"groups\" class=\"groups\"></p>\n\
                 <div class=\"tools\"><button id=\"reset\">Show all</button></div>\n\
                 <div id=\"where\" role=\"status\"></div>\n\
                 <div id=\"flame\" class=\"flame\"></div>\n",
            );
        });
        heading("timeline", "Timeline", &|out| self.timelines(out));
        heading("exceptions", "Exceptions", &|out| self.exceptions(out));
        heading("samples", "Samples of the program counter", &|out| self.samples(out));
        heading("values", "Values", &|out| self.values(out));
        heading("coverage", "Coverage", &|out| self.coverage(out));
        heading("code", "Code", &|out| self.code(out));
        heading("text", "Text of the program", &|out| self.texts(out));
        let _ = write!(
            out,
            "</main>\n<script id=\"data\" type=\"application/json\">{}</script>\n\
             <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            self.data()
        );
        out
    }

    /// What the page is about, its totals, and what is missing.
    fn about(&self, out: &mut String) {
        if !self.about.is_empty() {
            out.push_str("<p class=\"dim about\">");
            for (what, value) in &self.about {
                let _ = write!(out, "<span>{}: {}</span> ", xml(what), xml(value));
            }
            out.push_str("</p>\n");
        }
        out.push_str("<div class=\"cards\">\n");
        for (what, value) in &self.facts {
            let _ = writeln!(
                out,
                "<div class=\"card\"><b>{}</b>{}</div>",
                xml(&grouped(value)),
                xml(what)
            );
        }
        out.push_str("</div>\n");
        for note in &self.notes {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", xml(note));
        }
        for text in &self.information {
            let _ = writeln!(out, "<p class=\"info\">{}</p>", xml(text));
        }
        if !self.statistics.is_empty() {
            out.push_str("<details><summary>Totals of decoding</summary>\n<ul>\n");
            for text in &self.statistics {
                let _ = writeln!(out, "<li>{}</li>", xml(text));
            }
            out.push_str("</ul></details>\n");
        }
        if !SECTIONS.iter().any(|(id, _)| self.has(id)) {
            out.push_str("<p>The trace has nothing that a page shows.</p>\n");
        }
    }

    /// The units of the timelines, each of which has a picture.
    fn units(&self) -> Vec<&'static str> {
        let units: BTreeSet<&str> = self.threads.iter().map(|thread| thread.unit).collect();
        units.into_iter().collect()
    }

    fn timelines(&self, out: &mut String) {
        for (n, unit) in self.units().into_iter().enumerate() {
            let count = self.threads.iter().filter(|thread| thread.unit == unit).count();
            let _ = write!(
                out,
                "<p class=\"dim\">Functions and exceptions over time, in {unit}; where functions \
                 are short, heights are their shares; a vertical line is a loss of trace. Drag to enlarge a part; keys: + - 0 and arrows.</p>\n\
                 <div class=\"tools\" id=\"tools{n}\"><button>Zoom in</button>\
                 <button>Zoom out</button><button>Earlier</button><button>Later</button>\
                 <button>Show all</button></div>\n<div id=\"slice{n}\" class=\"slice\" \
                 role=\"status\"></div>\n<div class=\"rows\"><canvas id=\"timeline{n}\" tabindex=\"0\" role=\"img\" \
                 aria-label=\"Timeline of {count} threads; their functions and exceptions are in the \
                 tables\"></canvas></div>\n"
            );
        }
    }

    fn exceptions(&self, out: &mut String) {
        if self.untraced_handlers > 0 {
            let _ = writeln!(
                out,
                "<p>Exceptions without instructions of a handler in the trace: {}.</p>",
                grouped(&self.untraced_handlers.to_string())
            );
        }
        if self.exceptions.is_empty() {
            return;
        }
        let handlers = self.exceptions.iter().any(|row| !row.handler.is_empty());
        let sources = self.exceptions.iter().any(|row| row.source.is_some());
        let bounds = self.exceptions.iter().any(|row| row.at_most.is_some());
        let mut heads = vec!["<th scope=\"col\" class=\"name\">exception</th>"];
        let columns = [
            (sources, "<th scope=\"col\" class=\"name\">reported by</th>"),
            (handlers, "<th scope=\"col\" class=\"name\">handler</th>"),
            (true, "<th scope=\"col\">count</th><th scope=\"col\">timed</th>"),
            (true, "<th scope=\"col\">shortest</th><th scope=\"col\">mean</th>"),
            (true, "<th scope=\"col\">longest</th>"),
            (bounds, "<th scope=\"col\">others at most</th>"),
            (true, "<th scope=\"col\" class=\"name unit\">unit</th>"),
        ];
        heads.extend(columns.into_iter().filter(|(shown, _)| *shown).map(|(_, head)| head));
        let _ = writeln!(
            out,
            "<div class=\"scroll\"><table class=\"narrow\"><thead><tr>{}</tr></thead><tbody>",
            heads.concat()
        );
        for row in &self.exceptions {
            let _ = write!(out, "<tr><td class=\"name\">{}</td>", xml(&row.name));
            for (shown, text) in
                [(sources, row.source.as_deref().unwrap_or("")), (handlers, &row.handler)]
            {
                if shown {
                    let _ = write!(out, "<td class=\"name\">{}</td>", xml(text));
                }
            }
            let _ = write!(out, "<td>{}</td><td>{}</td>", row.count, row.timed);
            let mean = (row.sum + row.timed / 2) / row.timed.max(1);
            for value in [row.shortest, mean, row.longest] {
                let value = if row.timed == 0 { "-".to_owned() } else { value.to_string() };
                let _ = write!(out, "<td>{value}</td>");
            }
            if bounds {
                let most = row.at_most.map_or_else(|| "-".to_owned(), |most| most.to_string());
                let _ = write!(out, "<td>{most}</td>");
            }
            let _ = writeln!(out, "<td class=\"name unit\">{}</td></tr>", row.unit);
        }
        out.push_str("</tbody></table></div>\n");
    }

    fn samples(&self, out: &mut String) {
        let all: u64 = self.samples.iter().map(|(_, samples)| samples).sum();
        out.push_str(
            "<div class=\"scroll\"><table class=\"narrow\"><thead><tr><th scope=\"col\">samples</th>\
             <th scope=\"col\">%</th><th scope=\"col\" class=\"bar\"></th>\
             <th scope=\"col\" class=\"name\">function</th></tr></thead><tbody>\n",
        );
        for (name, samples) in &self.samples {
            let share = 100.0 * *samples as f64 / all.max(1) as f64;
            let _ = writeln!(
                out,
                "<tr><td>{samples}</td><td>{share:.1}</td><td class=\"bar\"><i style=\"width:{share:.1}%\">\
                 </i></td><td class=\"name\">{}</td></tr>",
                xml(name)
            );
        }
        out.push_str("</tbody></table></div>\n");
    }

    fn values(&self, out: &mut String) {
        out.push_str(
            "<div class=\"scroll\"><table class=\"narrow\"><thead><tr>\
             <th scope=\"col\" class=\"name\">signal</th><th scope=\"col\">values</th>\
             <th scope=\"col\">least</th><th scope=\"col\">mean</th><th scope=\"col\">most</th>\
             <th scope=\"col\" class=\"name\">unit</th><th scope=\"col\" class=\"name\">over time</th>\
             </tr></thead><tbody>\n",
        );
        for row in &self.values {
            let [least, mean, most] = row.range.map(|value| match value.is_finite() {
                true => {
                    format!("{:.6}", value).trim_end_matches('0').trim_end_matches('.').to_owned()
                }
                false => "-".to_owned(),
            });
            let _ = writeln!(
                out,
                "<tr><td class=\"name\">{}</td><td>{}</td><td>{least}</td><td>{mean}</td>\
                 <td>{most}</td><td class=\"name\">{}</td><td class=\"name\">{}</td></tr>",
                xml(&row.name),
                row.count,
                xml(&row.unit),
                row.plot()
            );
        }
        out.push_str("</tbody></table></div>\n");
    }

    fn coverage(&self, out: &mut String) {
        if !self.coverage_folder.is_empty() {
            let _ = writeln!(out, "<p class=\"dim\">Files in {}</p>", xml(&self.coverage_folder));
        }
        let (executed, others): (Vec<_>, Vec<_>) =
            self.coverage.iter().partition(|(_, [lines, ..])| *lines > 0);
        coverage_table(&executed, out);
        if !others.is_empty() {
            let count = others.len();
            let _ = writeln!(
                out,
                "<details><summary>Files of which no line was executed: {count}</summary>"
            );
            coverage_table(&others, out);
            out.push_str("</details>\n");
        }
    }

    fn code(&self, out: &mut String) {
        for (n, listing) in self.listings.iter().enumerate() {
            let open = if n == 0 { " open" } else { "" };
            let _ = writeln!(out, "<details{open}><summary>{}</summary><pre>", xml(&listing.name));
            for (count, line) in &listing.lines {
                let (class, count) = match count {
                    Executions::NoCode => ("", String::new()),
                    Executions::Unknown => ("", "unknown".to_owned()),
                    Executions::Times(0) => (" class=\"miss\"", "0".to_owned()),
                    Executions::Times(count) => (" class=\"hit\"", count.to_string()),
                };
                let line = xml(&line.replace('\t', "    "));
                let _ = writeln!(out, "<span{class}>{count:>10}  {line}</span>");
            }
            out.push_str("</pre></details>\n");
        }
    }

    fn texts(&self, out: &mut String) {
        for (channel, text) in &self.texts {
            let text: Vec<String> = text.lines().map(xml).collect();
            let _ = writeln!(out, "<h3>{}</h3>\n<pre>{}</pre>", xml(channel), text.join("\n"));
        }
    }

    /// The data of the script, as JSON in which no `<` ends the element.
    fn data(&self) -> String {
        let mut out = format!("{{\"instructions\":{}", self.instructions);
        let list = |out: &mut String, name: &str, items: Vec<String>| {
            let _ = write!(out, ",\n\"{name}\":[{}]", items.join(","));
        };
        list(&mut out, "names", self.names.iter().map(|name| json(name)).collect());
        list(&mut out, "group", self.name_groups.iter().map(ToString::to_string).collect());
        list(&mut out, "groups", self.groups.iter().map(|name| json(name)).collect());
        let functions = self
            .functions
            .iter()
            .map(|(name, [a, b, c, d, e])| format!("[{},{a},{b},{c},{d},{e}]", json(name)));
        list(&mut out, "functions", functions.collect());
        let flame = self
            .flame
            .iter()
            .map(|f| format!("[{},{},{},{},{}]", f.name, f.depth, f.from, f.sum, f.own));
        list(&mut out, "flame", flame.collect());
        list(&mut out, "units", self.units().into_iter().map(json).collect());
        let threads = self.threads.iter().map(|thread| {
            let slices = thread.slices.iter();
            let slices =
                slices.map(|(begin, end, depth, name)| format!("[{begin},{end},{depth},{name}]"));
            format!(
                "{{\"name\":{},\"unit\":{},\"depth\":{},\"losses\":{:?},\"slices\":[{}]}}",
                json(&thread.name),
                json(thread.unit),
                thread.depth,
                thread.losses,
                slices.collect::<Vec<_>>().join(",")
            )
        });
        list(&mut out, "threads", threads.collect());
        out.push('}');
        out.replace('<', "\\u003c")
    }
}

/// The size of a plot in pixels.
const PLOT: (f64, f64) = (320.0, 36.0);

impl ValueRow {
    /// Its values over time.
    fn plot(&self) -> String {
        let ([least, _, most], (width, height)) = (self.range, PLOT);
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return String::new();
        };
        let (span, range) =
            ((last.0 - first.0).max(1) as f64, (most - least).max(f64::MIN_POSITIVE));
        let mut line = String::new();
        for (at, value) in &self.points {
            let x = (at - first.0) as f64 / span * width;
            let y = height - 2.0 - (value - least) / range * (height - 4.0);
            let _ = write!(line, "{x:.1},{y:.1} ");
        }
        format!(
            "<svg class=\"plot\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             aria-label=\"{} over time\"><polyline points=\"{}\"/></svg>",
            xml(&self.name),
            line.trim_end()
        )
    }
}

/// The table of the coverage of files.
fn coverage_table(files: &[&(String, [u64; 4])], out: &mut String) {
    if files.is_empty() {
        return;
    }
    out.push_str(
        "<div class=\"scroll\"><table class=\"narrow\"><thead><tr><th scope=\"col\" class=\"name\">file</th>\
         <th scope=\"col\">lines</th><th scope=\"col\">%</th><th scope=\"col\" class=\"bar\"></th>\
         <th scope=\"col\">outcomes of \
         branches</th><th scope=\"col\">%</th></tr></thead><tbody>\n",
    );
    // There is no share of nothing.
    let percent = |part: u64, whole: u64| match whole {
        0 => String::new(),
        whole => format!("{:.1}", 100.0 * part as f64 / whole as f64),
    };
    for (path, [lines, all, outcomes, branches]) in files {
        let _ = writeln!(
            out,
            "<tr><td class=\"name\">{}</td><td>{lines}/{all}</td><td>{}</td>\
             <td class=\"bar\"><i style=\"width:{}%\"></i></td>\
             <td>{outcomes}/{branches}</td><td>{}</td></tr>",
            xml(path),
            percent(*lines, *all),
            percent(*lines, *all),
            percent(*outcomes, *branches)
        );
    }
    out.push_str("</tbody></table></div>\n");
}

/// A number with commas between groups of three digits; another text unchanged.
fn grouped(text: &str) -> String {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut out = String::new();
    for (n, digit) in text.chars().enumerate() {
        if n > 0 && (text.len() - n).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_an_element() {
        let name = "f</script><script>alert(1)</script>&\"".to_owned();
        let report = Report {
            title: name.clone(),
            names: vec![name.clone()],
            functions: vec![(name.clone(), [1; 5])],
            listings: vec![Listing {
                name: name.clone(),
                lines: vec![(Executions::Times(1), name.clone())],
            }],
            texts: vec![(name.clone(), name)],
            ..Report::default()
        };
        let html = report.html();
        assert_eq!(html.matches("<script").count(), 2);
        assert_eq!(html.matches("</script>").count(), 2);
        assert!(!html.contains("http"), "no address of the network");
    }

    #[test]
    fn files_without_executed_lines_follow() {
        let file = |path: &str, lines| (path.to_owned(), [lines, 4, 0, 0]);
        let coverage = vec![file("a.h", 0), file("b.c", 3), file("c.h", 0)];
        let html = Report { coverage, ..Report::default() }.html();
        let order = ["b.c", "Files of which no line was executed: 2", "a.h", "c.h"];
        let places = order.map(|text| html.find(text).unwrap());
        assert!(places.is_sorted(), "{places:?}");
        assert!(
            html.contains("<td>3/4</td><td>75.0</td>") && html.contains("<td>0/0</td><td></td>")
        );
    }

    #[test]
    fn exceptions_without_handlers_are_counted() {
        let text = |untraced_handlers| Report { untraced_handlers, ..Report::default() }.html();
        assert!(text(33).contains("of a handler in the trace: 33."));
        assert!(!text(0).contains("<h2"), "sections without data are left out");
    }

    #[test]
    fn groups_of_digits() {
        assert_eq!(["7", "7581461", "0x1", ""].map(grouped), ["7", "7,581,461", "0x1", ""]);
    }
}
