// Bundles the page into crates/viewer/dist, which is committed and embedded into the command.
//
//     npm ci --ignore-scripts && npm run build
//
// The output depends on the sources and on the versions in package-lock.json only. inputs.sha256
// has the checksum of each source and of each result: `cargo xtask tidy` compares them, without
// Node, and `sha256sum --check` does too.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const viewer = dirname(fileURLToPath(import.meta.url));
const root = dirname(viewer);
const dist = join(root, "crates", "viewer", "dist");
const LIMIT = 80 * 1024;

async function filesBelow(folder) {
  const files = [];
  for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) files.push(...(await filesBelow(path)));
    else files.push(path);
  }
  return files;
}

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
await build({
  absWorkingDir: viewer,
  entryPoints: { app: "src/main.tsx" },
  outdir: dist,
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});
await build({
  absWorkingDir: viewer,
  entryPoints: { app: "src/style/app.css" },
  outdir: dist,
  bundle: true,
  minify: true,
  charset: "utf8",
  logLevel: "warning",
});
await writeFile(join(dist, "index.html"), await readFile(join(viewer, "src/index.html")));

const inputs = [
  ...(await filesBelow("viewer/src")),
  "viewer/build.mjs",
  "viewer/package-lock.json",
  "viewer/package.json",
  "viewer/tsconfig.json",
];
const results = ["app.css", "app.js", "index.html"].map((name) => `crates/viewer/dist/${name}`);
let size = 0;
const lines = [];
for (const path of [...inputs, ...results].sort()) {
  const bytes = await readFile(join(root, path));
  lines.push(`${createHash("sha256").update(bytes).digest("hex")}  ${path}\n`);
  if (results.includes(path)) size += gzipSync(bytes, { level: 9 }).length;
}
await writeFile(join(dist, "inputs.sha256"), lines.join(""));
console.log(`${dist}: ${size} bytes with gzip`);
if (size > LIMIT) {
  console.error(`more than ${LIMIT} bytes`);
  process.exitCode = 1;
}
