// Enforces the one-way layers of src/: base <- api, engine <- widgets <- trace, tools <- app.
// Exits 1 and names each import that points the wrong way.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

const MAY_IMPORT = {
  base: [],
  api: ["base"],
  engine: ["base"],
  widgets: ["base", "engine"],
  trace: ["base", "api", "engine", "widgets"],
  tools: ["base", "api", "engine", "widgets"],
  app: ["base", "api", "engine", "widgets", "trace", "tools"],
};

const PACKAGES = {
  base: [],
  api: [],
  engine: [],
  widgets: ["preact", "@preact/signals"],
  trace: ["preact", "@preact/signals"],
  tools: ["preact", "@preact/signals"],
  app: ["preact", "@preact/signals"],
};

const IMPORT = /(?:^|\n)\s*(?:import|export)\b(?:[^"';]*?\bfrom)?\s*"([^"]+)"/g;

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (/\.tsx?$/.test(entry.name)) yield path;
  }
}

function layerOf(path) {
  return relative(SOURCE, path).split(sep)[0];
}

function complaint(file, target) {
  const layer = layerOf(file);
  if (!(layer in MAY_IMPORT)) return `is in no known layer (${Object.keys(MAY_IMPORT).join(", ")})`;
  if (target.startsWith(".")) {
    const goal = layerOf(normalize(join(dirname(file), target)));
    const allowed = goal === layer || MAY_IMPORT[layer].includes(goal);
    return allowed ? null : `imports ${target}: ${layer} may not see ${goal}`;
  }
  if (target.startsWith("node:")) {
    return file.includes(".test.") ? null : `imports ${target}: pages run in a browser`;
  }
  const name = target
    .split("/")
    .slice(0, target.startsWith("@") ? 2 : 1)
    .join("/");
  return PACKAGES[layer].includes(name) ? null : `imports ${name}: not allowed in ${layer}`;
}

const complaints = [];
for (const file of sources(SOURCE)) {
  const text = readFileSync(file, "utf8");
  for (const [, target] of text.matchAll(IMPORT)) {
    const problem = complaint(file, target);
    if (problem) complaints.push(`${relative(SOURCE, file)} ${problem}`);
  }
}
for (const line of complaints) console.error(line);
if (complaints.length > 0) process.exit(1);
console.log("layers: every import points one way");
