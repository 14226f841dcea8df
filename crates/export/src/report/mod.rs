//! A report: one HTML page that needs no other file and no network. What is embedded is bounded;
//! the page lists what was left out.
//!
//! | file | contents |
//! |---|---|
//! | `data.rs` | [`Report`]: what the page shows |
//! | `page.css`, `page.js` | its appearance, and what its controls do |

mod data;

use std::fmt::Write;

pub use data::{ExceptionRow, Executions, FlameFrame, FunctionRow, Listing, Report, ThreadRow};

use crate::text::{json, xml};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

impl Report {
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
            "</head>\n<body>\n<header>\n<h1>{title}</h1>\n<nav aria-label=\"Sections\">\n\
             <a href=\"#h-functions\">Functions</a><a href=\"#h-flame\">Flame graph</a>\
             <a href=\"#h-timeline\">Timeline</a><a href=\"#h-exceptions\">Exceptions</a>\
             <a href=\"#h-coverage\">Coverage</a><a href=\"#h-code\">Code</a>\
             <a href=\"#h-text\">Text</a>\n</nav>\n</header>\n<main>\n<div class=\"cards\">\n"
        );
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
        out.push_str(
            "<h2 id=\"h-functions\">Functions</h2>\n\
             <p class=\"dim\">Instructions in each function, and with the functions that it calls. \
             <span id=\"sorted\" role=\"status\">Sorted by self.</span></p>\n\
             <div class=\"scroll\"><table id=\"functions\"><thead></thead><tbody></tbody></table></div>\n\
             <h2 id=\"h-flame\">Flame graph</h2>\n\
             <p class=\"dim\">The width of a function is its share of the instructions. Select one to \
             enlarge it.</p>\n\
             <div class=\"tools\"><button id=\"reset\">Show all</button></div>\n\
             <div id=\"where\" role=\"status\"></div>\n<div id=\"flame\" class=\"flame\"></div>\n\
             <h2 id=\"h-timeline\">Timeline</h2>\n",
        );
        let _ = write!(
            out,
            "<p class=\"dim\">Functions of each thread over time, in {}. Drag to enlarge a part; keys: \
             + - 0 and arrows.</p>\n\
             <div class=\"tools\"><button id=\"in\">Zoom in</button><button id=\"out\">Zoom out</button>\
             <button id=\"left\">Earlier</button><button id=\"right\">Later</button>\
             <button id=\"all\">Show all</button></div>\n<div id=\"slice\" role=\"status\"></div>\n\
             <canvas id=\"timeline\" tabindex=\"0\" role=\"img\" aria-label=\"Timeline of {} threads; \
             the functions are in the table above\"></canvas>\n",
            self.unit,
            self.threads.len()
        );
        self.exceptions(&mut out);
        self.coverage(&mut out);
        self.code(&mut out);
        let _ = write!(
            out,
            "</main>\n<script id=\"data\" type=\"application/json\">{}</script>\n\
             <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            self.data()
        );
        out
    }

    fn exceptions(&self, out: &mut String) {
        out.push_str("<h2 id=\"h-exceptions\">Exceptions</h2>\n");
        if self.untraced_handlers > 0 {
            let _ = writeln!(
                out,
                "<p>Exceptions without instructions of a handler in the trace: {}.</p>",
                grouped(&self.untraced_handlers.to_string())
            );
        }
        if self.exceptions.is_empty() {
            if self.untraced_handlers == 0 {
                out.push_str("<p>None.</p>\n");
            }
            return;
        }
        let _ = writeln!(
            out,
            "<div class=\"scroll\"><table><caption class=\"dim\">Durations in {}</caption><thead><tr>\
             <th scope=\"col\" class=\"name\">exception</th><th scope=\"col\" class=\"name\">handler\
             </th><th scope=\"col\">count</th><th scope=\"col\">shortest</th>\
             <th scope=\"col\">mean</th><th scope=\"col\">longest</th></tr></thead><tbody>",
            self.unit
        );
        for row in &self.exceptions {
            let _ = writeln!(
                out,
                "<tr><td class=\"name\">{}</td><td class=\"name\">{}</td><td>{}</td><td>{}</td>\
                 <td>{}</td><td>{}</td></tr>",
                xml(&row.name),
                xml(&row.handler),
                row.count,
                row.shortest,
                row.sum / row.count.max(1),
                row.longest
            );
        }
        out.push_str("</tbody></table></div>\n");
    }

    fn coverage(&self, out: &mut String) {
        out.push_str("<h2 id=\"h-coverage\">Coverage</h2>\n");
        if self.coverage.is_empty() {
            out.push_str("<p>The program has no line numbers.</p>\n");
            return;
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
        out.push_str("<h2 id=\"h-code\">Code</h2>\n");
        if self.listings.is_empty() {
            out.push_str("<p>No code of a known function was executed.</p>\n");
        }
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
        out.push_str("<h2 id=\"h-text\">Text of the program</h2>\n");
        if self.texts.is_empty() {
            out.push_str("<p>The program wrote no text to the trace.</p>\n");
        }
        for (channel, text) in &self.texts {
            let text: Vec<String> = text.lines().map(xml).collect();
            let _ = writeln!(out, "<h3>{}</h3>\n<pre>{}</pre>", xml(channel), text.join("\n"));
        }
    }

    /// The data of the script, as JSON in which no `<` ends the element.
    fn data(&self) -> String {
        let mut out =
            format!("{{\"instructions\":{},\"unit\":\"{}\"", self.instructions, self.unit);
        let list = |out: &mut String, name: &str, items: Vec<String>| {
            let _ = write!(out, ",\n\"{name}\":[{}]", items.join(","));
        };
        list(&mut out, "names", self.names.iter().map(|name| json(name)).collect());
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
        let threads = self.threads.iter().map(|thread| {
            let slices = thread.slices.iter();
            let slices =
                slices.map(|(begin, end, depth, name)| format!("[{begin},{end},{depth},{name}]"));
            format!(
                "{{\"name\":{},\"depth\":{},\"slices\":[{}]}}",
                json(&thread.name),
                thread.depth,
                slices.collect::<Vec<_>>().join(",")
            )
        });
        list(&mut out, "threads", threads.collect());
        out.push('}');
        out.replace('<', "\\u003c")
    }
}

/// The table of the coverage of files.
fn coverage_table(files: &[&(String, [u64; 4])], out: &mut String) {
    if files.is_empty() {
        return;
    }
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"name\">file</th>\
         <th scope=\"col\">lines</th><th scope=\"col\">%</th><th scope=\"col\">outcomes of \
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
             <td>{outcomes}/{branches}</td><td>{}</td></tr>",
            xml(path),
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
        assert!(html.contains("<td>3/4</td><td>75.0</td><td>0/0</td><td></td>"));
    }

    #[test]
    fn exceptions_without_handlers_are_counted() {
        let text = |untraced_handlers| Report { untraced_handlers, ..Report::default() }.html();
        assert!(text(33).contains("of a handler in the trace: 33.") && !text(33).contains("None."));
        assert!(text(0).contains("None."));
    }

    #[test]
    fn groups_of_digits() {
        assert_eq!(["7", "7581461", "0x1", ""].map(grouped), ["7", "7,581,461", "0x1", ""]);
    }
}
