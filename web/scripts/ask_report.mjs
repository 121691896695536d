// Asks the report in a file what its pages would ask, and prints the answers as JSON: a line each.
// Usage: node ask_report.mjs REPORT.html < URLS
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";

const WEB = join(dirname(fileURLToPath(import.meta.url)), "..");
const OUT = join(WEB, "node_modules", ".cache", "report");

const html = readFileSync(process.argv[2], "utf8");
const [, manifest, textContent] = html.match(
  /id="stepscope-report" data-manifest="([^"]*)">([^<]*)</,
);
const element = { dataset: { manifest }, textContent, remove() {} };
globalThis.document = { getElementById: () => element };

await build({
  configFile: false,
  root: WEB,
  logLevel: "error",
  publicDir: false,
  build: {
    ssr: true,
    outDir: OUT,
    rollupOptions: { input: join(WEB, "src/report/answers.ts") },
  },
});
const { report } = await import(pathToFileURL(join(OUT, "answers.js")));
for (const url of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const answer = await report.answer(url);
  const isTile = url.includes("timeline/tile");
  const body = isTile
    ? Buffer.from(await answer.arrayBuffer()).toString("hex")
    : await answer.json();
  console.log(JSON.stringify({ status: answer.status, body }));
}
