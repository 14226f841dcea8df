// Lists the executed instructions of the capture in a folder with the installed package:
//
//     node example.mjs FOLDER
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Instance } from "tracewright/instance.js";

const folder = process.argv[2];
const module = fileURLToPath(import.meta.resolve("tracewright/tracewright.wasm"));
const instance = new Instance(new WebAssembly.Module(readFileSync(module)));
for (const name of readdirSync(folder)) {
  instance.addFile(`capture/${name}`, readFileSync(join(folder, name)));
}
instance.open({ path: "capture" });
const { text } = instance.list({ verb: "instructions" });
const lines = text.split("\n").filter((line) => /^0x[0-9a-f]+ /.test(line)).length;
if (lines < 100) throw new Error(`${lines} instructions:\n${text.slice(0, 400)}`);
console.log(`${lines} instructions`);
