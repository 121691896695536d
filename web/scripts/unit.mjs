// Runs every src/**/*.test.ts with Node's own test runner. The tests are first bundled by Vite,
// because the oldest Node supported here cannot read TypeScript by itself. The scripts have tests too.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const WEB = join(dirname(fileURLToPath(import.meta.url)), "..");
const OUT = join(WEB, "node_modules", ".cache", "unit");

const tests = readdirSync(join(WEB, "src"), { recursive: true }).filter((name) =>
  name.endsWith(".test.ts"),
);
if (tests.length === 0) throw new Error("no *.test.ts under src");

rmSync(OUT, { recursive: true, force: true });
await build({
  configFile: false,
  root: WEB,
  logLevel: "warn",
  publicDir: false,
  build: {
    ssr: true,
    outDir: OUT,
    rollupOptions: {
      input: Object.fromEntries(
        tests.map((name) => [
          name.replace(/\.ts$/, "").replaceAll(/[\\/]/g, "-"),
          join(WEB, "src", name),
        ]),
      ),
    },
  },
});
const built = readdirSync(OUT).filter((name) => name.endsWith(".test.js"));
const files = built.map((name) => relative(WEB, join(OUT, name)));
const ran = spawnSync(
  process.execPath,
  ["--test", "--test-reporter=spec", ...files, "scripts/graph.test.mjs"],
  {
    cwd: WEB,
    stdio: "inherit",
  },
);
process.exit(ran.status ?? 1);
