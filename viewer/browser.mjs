// Bundles the page without a server into a folder: `node browser.mjs FOLDER`. The module and the files
// of the example are added by `cargo xtask wasm`.
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const viewer = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (out === undefined) throw new Error("usage: node browser.mjs FOLDER");
const common = { absWorkingDir: viewer, outdir: out, bundle: true, minify: true, charset: "utf8", target: "es2022", legalComments: "none", logLevel: "warning" };
await mkdir(out, { recursive: true });
await build({
  ...common,
  entryPoints: { app: "src/browser/main.tsx" },
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
});
await build({ ...common, entryPoints: { app: "src/browser/browser.css" } });
await build({ ...common, entryPoints: { worker: "../crates/wasm/package/worker.js" }, format: "iife" });
await copyFile(join(viewer, "src/browser/index.html"), join(out, "index.html"));
