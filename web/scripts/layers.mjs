// Exits 1 and names each fault of the imports of src/: see graph.mjs.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { faultsOf, fullFolders } from "./graph.mjs";

const SOURCE = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

const paths = readdirSync(SOURCE, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
const inside = (path) =>
  path
    .slice(SOURCE.length + 1)
    .split(sep)
    .join("/");
const texts = Object.fromEntries(
  paths
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => [inside(path), readFileSync(path, "utf8")]),
);
const faults = [...faultsOf(texts), ...fullFolders(paths.map(inside))];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log(`layers: ${Object.keys(texts).length} files, every import points one way, no circle`);
