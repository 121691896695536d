// Fails the build when the pages outgrow their budget or name another host.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUILT = join(dirname(fileURLToPath(import.meta.url)), "../../src/stepscope/surfaces/static");
const BUDGET_BYTES = 160 * 1024;
// XML namespaces are names, not addresses: nothing is ever requested from them.
const NAMESPACE = /^http:\/\/www\.w3\.org\//;

const files = readdirSync(BUILT, { recursive: true }).filter((name) => /\.(js|css)$/.test(name));
let total = 0;
const hosts = new Set();
for (const name of files) {
  const content = readFileSync(join(BUILT, name));
  total += gzipSync(content, { level: 9 }).length;
  for (const [url] of content.toString("utf8").matchAll(/https?:\/\/[^\s"'`)<>\\]+/g)) {
    if (!NAMESPACE.test(url)) hosts.add(url);
  }
}
console.log(`pages: ${(total / 1024).toFixed(1)} kB gzipped of ${BUDGET_BYTES / 1024} kB`);
if (hosts.size > 0) {
  console.error(`another host is named in the bundle: ${[...hosts].join(", ")}`);
  process.exit(1);
}
if (total > BUDGET_BYTES) {
  console.error("the bundle is over its budget");
  process.exit(1);
}
