//! A finding as a line of JSON.

use tracewright::units::finding::Finding;
use tracewright::views::json::Object;

/// Appends the line of `finding` on the unit of the source `label`.
pub fn line(label: &str, finding: &Finding, out: &mut String) {
    Object::new(out)
        .text("type", "finding")
        .text("source", label)
        .text("rule", finding.rule)
        .text("severity", if finding.is_error() { "error" } else { "warning" })
        .text("at", &finding.at)
        .text("what", &finding.what)
        .text("remedy", &finding.remedy)
        .text("section", finding.section)
        .end();
    out.push('\n');
}
