// A stand-in for the Python server while working on the pages: the same API with made-up numbers,
// an accelerator run and a CPU run, awkward names, a slow start and every kind of refusal.
//   node dev/mock.mjs [port] [folder of built pages]
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { opRows, overview, TOOLS } from "./mock_data.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const port = Number(process.argv[2] ?? 8791);
const pages = process.argv[3] ?? join(HERE, "../../src/stepscope/surfaces/static");
const OPENING_MS = Number(process.env.MOCK_OPENING_MS ?? 0);
const started = Date.now();

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const CSP = "default-src 'self'; img-src 'self' blob: data:; base-uri 'none'; form-action 'none'";

const RUNS = [
  { id: "gpu", name: "2026_11_21_10_00_00", hosts: ["worker-0", "worker-1"], bytes: 64_000_000 },
  { id: "cpu", name: "2026_11_20_17_32_10 <b>bold</b>", hosts: ["laptop"], bytes: 712_000 },
].map((run) => ({ ...run, path: `plugins/profile/${run.name}`, modified: "2026-11-21T10:00:07Z" }));

const SESSION = {
  version: "0.1.0",
  path: "logs/resnet",
  runs: RUNS,
  default_run: "gpu",
  capture_allowed: false,
  notes: ["Folders deeper than 12 levels were not searched."],
  files: [
    {
      path: "plugins/profile/a/worker-0.xplane.pb",
      bytes: 32_000_000,
      state: "opened",
      reason: "",
      hint: "",
    },
    {
      path: "plugins/profile/a/worker-1.xplane.pb",
      bytes: 31_000_000,
      state: "damaged",
      reason: "The file ends within an event, at byte 30,999,102; everything before was read.",
      hint: "Copy it again in binary mode.",
    },
    {
      path: "plugins/profile/a/worker-2.xplane.pb",
      bytes: 0,
      state: "failed",
      reason: "The file is empty: the recording was longer than the 2 GB its writer can hold.",
      hint: "Record fewer steps.",
    },
    {
      path: "events.out.tfevents.1",
      bytes: 4096,
      state: "skipped",
      reason: "A TensorBoard event file, which holds no profile.",
      hint: "",
    },
  ],
};

function answer(path, query) {
  if (path === "session") return [200, SESSION];
  const waited = Date.now() - started;
  const opening = waited < OPENING_MS;
  if (path === "progress") {
    return [
      200,
      {
        state: opening ? "opening" : "ready",
        stage: "decode",
        done: waited,
        total: OPENING_MS,
        message: opening ? "Reading worker-0.xplane.pb" : "",
      },
    ];
  }
  if (path === "tools") return [200, { tools: TOOLS(query.run) }];
  const tool = /^tool\/([^/]+)$/.exec(path)?.[1];
  if (tool === "overview_page") return [200, overview(query.run)];
  if (tool === "framework_op_stats") return [200, opRows(query)];
  if (tool === "memory_profile") {
    return [
      409,
      {
        error: "nothing-to-show",
        what: "No allocation was recorded.",
        where: "",
        why: "The host tracer ran at level 1.",
        hint: "tf.profiler.experimental.ProfilerOptions(host_tracer_level=2)",
      },
    ];
  }
  if (tool === "hlo_stats")
    return [
      500,
      {
        error: "internal",
        what: "This tool failed.",
        where: "hlo_stats",
        why: "KeyError: 'module'",
        hint: "Report it with the message above.",
      },
    ];
  if (tool === "kernel_stats") return [200, opRows(query, "kernel_stats")];
  return [404, { error: "usage", what: `There is no ${path}.`, where: "", why: "", hint: "" }];
}

createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://mock");
  response.setHeader("Content-Security-Policy", CSP);
  const api = /\/api\/v1\/(.*)$/.exec(url.pathname)?.[1];
  if (api !== undefined) {
    const wait = /^(tools|tool)/.test(api) ? Math.max(0, OPENING_MS - (Date.now() - started)) : 0;
    setTimeout(() => {
      const [status, body] = answer(api, Object.fromEntries(url.searchParams));
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(body));
    }, wait);
    return;
  }
  const name = normalize(url.pathname).replace(/^.*?(assets\/|favicon\.svg|$)/, "$1");
  const file = join(pages, name || "index.html");
  if (!existsSync(file)) return void response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
