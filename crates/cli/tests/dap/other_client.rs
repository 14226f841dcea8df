//! A client of others: `DebugClient` of the npm package `@vscode/debugadapter-testsupport`.

use std::process::{Command, Stdio};

use tracewright_testing::{skip, tool};

use crate::{TRACEWRIGHT, demo, line_with, sources};

const PACKAGE: &str = "@vscode/debugadapter-testsupport";

/// Its launch, breakpoint, stack, steps back and end.
const SCRIPT: &str = r#"
const assert = require("node:assert");
const { DebugClient } = require("@vscode/debugadapter-testsupport");
const [command, capture, folder, line] = process.argv.slice(1);
const path = folder + "/program.c";
(async () => {
  const client = new DebugClient(command, "dap", "tracewright");
  await client.start();
  const thread = { threadId: 1 };
  const launched = { capture, stopAt: "start", sourceMap: { "": folder } };
  const breakpoints = { source: { path }, breakpoints: [{ line: Number(line) }] };
  const configured = client.waitForEvent("initialized", 60000)
    .then(() => client.setBreakpointsRequest(breakpoints))
    .then((answer) => assert.ok(answer.body.breakpoints[0].verified))
    .then(() => client.configurationDoneRequest());
  const entered = client.waitForEvent("stopped", 60000);
  await Promise.all([configured, client.launch(launched), entered]);
  const at = async () => (await client.stackTraceRequest(thread)).body.stackFrames;
  const moved = async (request) => {
    const [stopped] = await Promise.all([client.waitForEvent("stopped", 60000), request]);
    return stopped.body.reason;
  };
  assert.strictEqual(await moved(client.continueRequest(thread)), "breakpoint");
  const first = (await at())[0];
  assert.strictEqual(first.name, "solve");
  assert.strictEqual(first.line, Number(line));
  assert.strictEqual(await moved(client.nextRequest(thread)), "step");
  const next = (await at())[0];
  assert.ok(next.line > first.line && next.name === "solve");
  await moved(client.stepBackRequest(thread));
  const back = (await at())[0];
  assert.strictEqual(back.instructionPointerReference, first.instructionPointerReference);
  await moved(client.stepInRequest(thread));
  assert.strictEqual((await at())[0].name, "place");
  await moved(client.restartFrameRequest({ frameId: (await at())[1].id }));
  assert.strictEqual((await at())[0].name, "solve");
  const targets = (await client.gotoTargetsRequest({ source: { path }, line: Number(line) })).body;
  assert.ok(targets.targets.length >= 2);
  assert.strictEqual(await moved(client.continueRequest(thread)), "breakpoint");
  await moved(client.reverseContinueRequest(thread));
  const scopes = (await client.scopesRequest({ frameId: (await at())[0].id })).body.scopes;
  assert.ok(scopes.some((scope) => scope.name === "Registers"));
  await client.stop();
  console.log("passed");
})().catch((error) => { console.error(error); process.exit(1); });
"#;

#[test]
fn a_client_of_others() {
    let Some(node) = tool(&[("node", "nodejs")]) else { return };
    let find = format!("require.resolve('{PACKAGE}')");
    let found = Command::new(node).args(["-e", &find]).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        return skip(&format!("node finds no package {PACKAGE}: NODE_PATH names its folder"));
    }
    let demo = demo();
    let line = line_with("unsigned solutions = place(size, 0, found)").to_string();
    let output = Command::new("timeout")
        .args(["120", node, "-e", SCRIPT, TRACEWRIGHT, &demo.path, &sources(), &line])
        .stdin(Stdio::null())
        .output()
        .expect("node runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("passed"), "{text}");
}
