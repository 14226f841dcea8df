//! What `record btrace` of gdb reads: the code that was executed before the position, as blocks of
//! the Branch Trace Store (BTS) format. gdb replays it by itself.

use std::fmt::Write;
use std::sync::Arc;

use tracewright::index::FindError;

use crate::server::Server;

/// The most blocks that are listed, and the most instructions in them: gdb reads them in pieces of
/// 4 KiB.
const MOST_BLOCKS: usize = 16_384;
const MOST_INSTRUCTIONS: u64 = 1 << 20;

/// The size of a record of the format, which gdb shows as that of the buffer.
const RECORD: usize = 24;

impl Server<'_> {
    /// The configuration. Where gdb has not asked for a record, it is empty: gdb would go back in
    /// its copy, and not in the trace.
    pub(crate) fn branch_configuration(&self) -> String {
        let bts = format!("<bts size=\"{}\"/>", MOST_BLOCKS * RECORD);
        let format = if self.records { bts.as_str() } else { "" };
        format!("<btrace-conf version=\"1.0\">{format}</btrace-conf>")
    }

    /// The blocks before the position of the selected thread, the latest first.
    pub(crate) fn branch_trace(&mut self) -> Result<Arc<str>, FindError> {
        let (position, source) = (self.machine.here().position, self.selected.source);
        if let Some((its, of, text)) = &self.branch_trace
            && (*its, *of) == (position, source)
        {
            return Ok(Arc::clone(text));
        }
        let mut text = String::from("<btrace version=\"1.0\">\n");
        for block in self.machine.blocks(source, MOST_BLOCKS, MOST_INSTRUCTIONS)? {
            let _ =
                writeln!(text, "<block begin=\"{:#x}\" end=\"{:#x}\"/>", block.first, block.last);
        }
        text += "</btrace>\n";
        let text: Arc<str> = text.into();
        self.branch_trace = Some((position, source, Arc::clone(&text)));
        Ok(text)
    }
}
