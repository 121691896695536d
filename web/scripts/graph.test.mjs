import assert from "node:assert/strict";
import { test } from "node:test";
import { circleIn, faultsOf, fullFolders, MOST_IN_A_FOLDER } from "./graph.mjs";

test("a tree whose imports point one way has no fault", () => {
  const texts = {
    "base/text.ts": "export const a = 1;",
    "widgets/grid/grid.tsx": 'import { a } from "../../base/text.ts";\nimport { h } from "preact";',
    "tools/sections/page.ts": 'import type { A } from "../../base/text.ts";',
    "tools/compare/page.tsx": 'import { b } from "../sections/page.ts";',
    "tools/index.ts": 'import { Compare } from "./compare/page.tsx";',
  };
  assert.deepEqual(faultsOf(texts), []);
});

test("an import upwards is named", () => {
  const texts = {
    "base/text.ts": 'import { G } from "../widgets/grid.tsx";',
    "widgets/grid.tsx": "",
  };
  assert.deepEqual(faultsOf(texts), [
    "base/text.ts imports widgets/grid.tsx: base may not see widgets",
  ]);
});

test("a package is named where its layer has none, and node: outside of tests", () => {
  const texts = {
    "engine/a.ts": 'import { signal } from "@preact/signals";',
    "engine/b.ts": 'import { readFileSync } from "node:fs";',
    "engine/b.test.ts": 'import { test } from "node:test";',
  };
  assert.deepEqual(faultsOf(texts), [
    "engine/a.ts imports @preact/signals: not allowed in engine",
    "engine/b.ts imports node:fs: not allowed in engine",
  ]);
});

test("one tool may not look into another's folder", () => {
  const texts = {
    "tools/a/page.tsx": 'import { x } from "../b/page.tsx";',
    "tools/b/page.tsx": "",
  };
  assert.deepEqual(faultsOf(texts), [
    "tools/a/page.tsx imports tools/b/page.tsx: only tools/sections is for all tools",
  ]);
});

test("a circle of files is found, type imports and re-exports included", () => {
  const texts = {
    "engine/a.ts": 'import type { B } from "./b.ts";',
    "engine/b.ts": 'export { C } from "./c.ts";',
    "engine/c.ts": 'import {\n  A,\n} from "./a.ts";',
  };
  assert.deepEqual(faultsOf(texts), [
    "a circle of files: engine/a.ts → engine/b.ts → engine/c.ts → engine/a.ts",
  ]);
});

test("a circle of folders is found where no file is in one", () => {
  const texts = {
    "engine/x/a.ts": 'import { b } from "../y/b.ts";',
    "engine/y/b.ts": "",
    "engine/y/c.ts": 'import { d } from "../x/d.ts";',
    "engine/x/d.ts": "",
  };
  assert.deepEqual(faultsOf(texts), ["a circle of folders: engine/x → engine/y → engine/x"]);
});

test("two ways to one file are no circle", () => {
  const graph = new Map([
    ["a", ["b", "c"]],
    ["b", ["d"]],
    ["c", ["d"]],
    ["d", []],
  ]);
  assert.equal(circleIn(graph), null);
});

test("a folder with too many things is named", () => {
  const paths = Array.from({ length: MOST_IN_A_FOLDER + 1 }, (_, i) => `engine/f${i}.ts`);
  assert.deepEqual(fullFolders(paths), [`engine holds ${MOST_IN_A_FOLDER + 1} things`]);
  assert.deepEqual(fullFolders(paths.slice(1)), []);
});
