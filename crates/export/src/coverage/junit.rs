//! Limits as tests, in the XML of JUnit that CI systems read.

use std::fmt::Write;

use crate::text::xml;

/// A limit of how much is covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedLimit {
    /// What it limits, as `lines >= 90 %`.
    pub name: String,
    /// What was measured, in a sentence.
    pub measured: String,
    /// The limit is met.
    pub met: bool,
}

/// The file: a test for each limit, which fails where the limit is not met.
pub fn junit(limits: &[CheckedLimit]) -> String {
    let failures = limits.iter().filter(|limit| !limit.met).count();
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\"", limits.len());
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n\
         <testsuite name=\"tracewright coverage\" {counts} skipped=\"0\" time=\"0\">\n"
    );
    for limit in limits {
        let (name, measured) = (xml(&limit.name), xml(&limit.measured));
        let _ = write!(out, "<testcase name=\"{name}\" classname=\"coverage\" time=\"0\">");
        let _ = match limit.met {
            true => writeln!(out, "<system-out>{measured}</system-out></testcase>"),
            false => writeln!(
                out,
                "<failure message=\"{measured}\" type=\"coverage\">{measured}</failure></testcase>"
            ),
        };
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_not_met_is_a_failure() {
        let limit = |name: &str, met| CheckedLimit {
            name: name.to_owned(),
            measured: "<1 \"%\"".to_owned(),
            met,
        };
        let text = junit(&[limit("a >= 1 %", true), limit("b", false)]);
        assert!(text.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{text}");
        assert!(text.contains("name=\"a &gt;= 1 %\""), "{text}");
        assert_eq!(text.matches("<failure message=\"&lt;1 &quot;%&quot;\"").count(), 1, "{text}");
        assert_eq!(text.matches("</testcase>").count(), 2);
    }
}
