//! A session: captures as tables, and what a query may use.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use datafusion::common::Result;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{DataFrame, SQLOptions, SessionConfig, SessionContext};
use tracewright_columns::{table, tables};

use crate::captures::Captures;
use crate::provider::TraceTable;
use crate::{functions, literals};

/// What a session may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most partitions of a table, each of which is decoded on a thread.
    pub partitions: usize,
    /// The most bytes of rows that wait, are sorted, joined or grouped. Programs, symbols and code
    /// that decoders hold are not counted.
    pub memory: Option<usize>,
    /// The least bytes of a unit, where a buffer has as many. To begin one takes as long as to
    /// decode some segments.
    pub unit: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let partitions = thread::available_parallelism().map_or(1, NonZero::get);
        Limits { partitions, memory: None, unit: 1 << 18 }
    }
}

/// Captures as tables.
pub struct Session(SessionContext);

impl Session {
    /// A session with all tables of `captures`.
    ///
    /// # Errors
    /// Where there is no capture.
    pub fn new(captures: &Arc<Captures>, limits: &Limits) -> Result<Session> {
        let config = SessionConfig::new()
            .with_target_partitions(limits.partitions.max(1))
            .with_information_schema(true);
        let mut runtime = RuntimeEnvBuilder::new();
        if let Some(memory) = limits.memory {
            runtime = runtime.with_memory_limit(memory, 1.0);
        }
        let context = SessionContext::new_with_config_rt(config, runtime.build_arc()?);
        for own in tables() {
            for name in [own.name().to_owned(), format!("{}_view", own.name())] {
                let Ok(table) = table(&name) else { continue };
                let own = TraceTable::new(captures, table, limits.unit)?;
                context.register_table(&name, Arc::new(own))?;
            }
        }
        functions::all(captures).into_iter().for_each(|own| context.register_udf(own));
        Ok(Session(context))
    }

    /// The tables and functions.
    pub fn context(&self) -> &SessionContext {
        &self.0
    }

    /// The result of a query, before it is computed. It reads: tables cannot be made, and files
    /// cannot be written or read.
    ///
    /// # Errors
    /// Where it is no query of these tables.
    pub async fn query(&self, query: &str) -> Result<DataFrame> {
        let state = self.0.state();
        let dialect = state.config().options().sql_parser.dialect;
        let mut statement = state.sql_to_statement(query, &dialect)?;
        literals::numbers(&mut statement, query);
        let plan = state.statement_to_plan(statement).await?;
        let reads = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false);
        reads.verify_plan(&plan)?;
        self.0.execute_logical_plan(plan).await
    }
}
