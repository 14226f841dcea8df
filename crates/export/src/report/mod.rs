//! A report: what decoding the whole trace has found, as JSON, for the page of `tracewright
//! report`. It is bounded; it lists what was left out.
//!
//! | file | contents |
//! |---|---|
//! | `data.rs` | [`Report`]: what the page shows |

mod data;

use std::fmt::Write;

pub use data::{
    ExceptionRow, Executions, FlameFrame, FunctionRow, Listing, Naming, Report, ThreadRow, ValueRow,
};

use crate::text::json;

impl Report {
    /// An object in JSON. `viewer/src/data/types.ts` describes it.
    pub fn json(&self) -> String {
        let mut out = format!(
            "{{\"instructions\":{},\n\"untraced_handlers\":{},\n\"coverage_folder\":{}",
            self.instructions,
            self.untraced_handlers,
            json(&self.coverage_folder)
        );
        let mut list = |name: &str, items: Vec<String>| {
            let _ = write!(out, ",\n\"{name}\":[{}]", items.join(","));
        };
        let texts = |texts: &[String]| texts.iter().map(|text| json(text)).collect();
        let pairs = |pairs: &[(String, String)]| {
            pairs.iter().map(|(a, b)| format!("[{},{}]", json(a), json(b))).collect()
        };
        list("facts", pairs(&self.facts));
        list("notes", texts(&self.notes));
        list("information", texts(&self.information));
        list("statistics", texts(&self.statistics));
        list("names", texts(&self.names));
        list("group", self.name_groups.iter().map(ToString::to_string).collect());
        list("groups", texts(&self.groups));
        let functions = self
            .functions
            .iter()
            .map(|(name, [a, b, c, d, e])| format!("[{},{a},{b},{c},{d},{e}]", json(name)));
        list("functions", functions.collect());
        let flame = self
            .flame
            .iter()
            .map(|f| format!("[{},{},{},{},{}]", f.name, f.depth, f.from, f.sum, f.own));
        list("flame", flame.collect());
        list("threads", self.threads.iter().map(ThreadRow::json).collect());
        list("exceptions", self.exceptions.iter().map(ExceptionRow::json).collect());
        let samples = self.samples.iter().map(|(name, n)| format!("[{},{n}]", json(name)));
        list("samples", samples.collect());
        list("values", self.values.iter().map(ValueRow::json).collect());
        let coverage = self
            .coverage
            .iter()
            .map(|(path, [a, b, c, d])| format!("[{},{a},{b},{c},{d}]", json(path)));
        list("coverage", coverage.collect());
        list("listings", self.listings.iter().map(Listing::json).collect());
        list("texts", pairs(&self.texts));
        out.push('}');
        out
    }
}

impl ThreadRow {
    fn json(&self) -> String {
        let slices = self.slices.iter();
        let slices =
            slices.map(|(begin, end, depth, name)| format!("[{begin},{end},{depth},{name}]"));
        format!(
            "{{\"name\":{},\"unit\":{},\"depth\":{},\"losses\":{:?},\"slices\":[{}]}}",
            json(&self.name),
            json(self.unit),
            self.depth,
            self.losses,
            slices.collect::<Vec<_>>().join(",")
        )
    }
}

impl ExceptionRow {
    fn json(&self) -> String {
        let source = self.source.as_ref().map(|source| format!("\"source\":{},", json(source)));
        let at_most = self.at_most.map(|most| format!(",\"at_most\":{most}"));
        format!(
            "{{\"name\":{},{}\"handler\":{},\"unit\":{},\"count\":{},\"timed\":{},\"shortest\":{},\
             \"sum\":{},\"longest\":{}{}}}",
            json(&self.name),
            source.unwrap_or_default(),
            json(&self.handler),
            json(self.unit),
            self.count,
            self.timed,
            self.shortest,
            self.sum,
            self.longest,
            at_most.unwrap_or_default()
        )
    }
}

impl ValueRow {
    fn json(&self) -> String {
        let [least, mean, most] = self.range.map(number);
        let points = self.points.iter().map(|(at, value)| format!("[{at},{}]", number(*value)));
        format!(
            "{{\"name\":{},\"unit\":{},\"count\":{},\"least\":{least},\"mean\":{mean},\
             \"most\":{most},\"points\":[{}]}}",
            json(&self.name),
            json(&self.unit),
            self.count,
            points.collect::<Vec<_>>().join(",")
        )
    }
}

impl Listing {
    fn json(&self) -> String {
        let lines = self.lines.iter().map(|(count, line)| {
            let count = match count {
                Executions::NoCode => "-1".to_owned(),
                Executions::Unknown => "null".to_owned(),
                Executions::Times(count) => count.to_string(),
            };
            format!("[{count},{}]", json(line))
        });
        format!("[{},[{}]]", json(&self.name), lines.collect::<Vec<_>>().join(","))
    }
}

/// A number. JSON has none for what is not finite.
fn number(value: f64) -> String {
    match value.is_finite() {
        true => value.to_string(),
        false => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_json() {
        let name = "f</script>\"\n\u{202e}".to_owned();
        let report = Report {
            names: vec![name.clone()],
            functions: vec![(name.clone(), [1; 5])],
            flame: vec![FlameFrame { name: 0, depth: 1, from: 2, sum: 3, own: 4 }],
            threads: vec![ThreadRow {
                name: name.clone(),
                slices: vec![(1, 2, -3, 0)],
                losses: vec![7, 8],
                unit: "ticks",
                ..ThreadRow::default()
            }],
            exceptions: vec![
                ExceptionRow { name: name.clone(), at_most: Some(9), ..ExceptionRow::default() },
                ExceptionRow { source: Some(name.clone()), ..ExceptionRow::default() },
            ],
            values: vec![ValueRow {
                range: [f64::NAN, 0.5, 2.0],
                points: vec![(1, 1.5), (2, f64::INFINITY)],
                ..ValueRow::default()
            }],
            coverage: vec![(name.clone(), [1, 2, 3, 4])],
            listings: vec![Listing {
                name: name.clone(),
                lines: vec![
                    (Executions::Times(1), name.clone()),
                    (Executions::NoCode, String::new()),
                    (Executions::Unknown, String::new()),
                ],
            }],
            texts: vec![(name.clone(), name.clone())],
            ..Report::default()
        };
        let value: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        for path in ["/names/0", "/functions/0/0", "/threads/0/name", "/listings/0/0", "/texts/0/1"]
        {
            assert_eq!(value.pointer(path).and_then(|text| text.as_str()), Some(&*name), "{path}");
        }
        assert_eq!(value["threads"][0]["slices"], serde_json::json!([[1, 2, -3, 0]]));
        assert_eq!(value["exceptions"][0]["at_most"], 9);
        assert!(value["exceptions"][0].get("source").is_none());
        assert_eq!(value["values"][0]["least"], serde_json::Value::Null);
        assert_eq!(value["values"][0]["points"], serde_json::json!([[1, 1.5], [2, null]]));
        let counts = value["listings"][0][1].as_array().expect("lines");
        let counts: Vec<_> = counts.iter().map(|line| line[0].as_i64()).collect();
        assert_eq!(counts, [Some(1), Some(-1), None]);
    }
}
