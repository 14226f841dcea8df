// Starts `tracewright dap` as the debug adapter of the type `tracewright`.
"use strict";
const vscode = require("vscode");

exports.activate = (context) => {
  const factory = {
    createDebugAdapterDescriptor() {
      const command = vscode.workspace.getConfiguration("tracewright").get("command");
      return new vscode.DebugAdapterExecutable(command || "tracewright", ["dap"]);
    },
  };
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("tracewright", factory),
  );
};

exports.deactivate = () => {};
