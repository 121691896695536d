// The imports of src/, and what is wrong with them: an import against the layers, a package that a
// layer may not use, a circle of files or of folders, a folder too full to survey.
import { dirname, normalize, sep } from "node:path";

export const MOST_IN_A_FOLDER = 24;

const MAY_IMPORT = {
  base: [],
  report: ["base"],
  api: ["base", "report"],
  engine: ["base"],
  widgets: ["base", "engine"],
  trace: ["base", "api", "engine", "widgets"],
  tools: ["base", "api", "engine", "widgets"],
  app: ["base", "api", "engine", "widgets", "trace", "tools"],
};

const PREACT = ["preact", "@preact/signals"];
const PACKAGES = { widgets: PREACT, trace: PREACT, tools: PREACT, app: PREACT };

/** What every tool may import of its neighbours; a tool's folder is closed to the other tools. */
const FOR_ALL_TOOLS = "tools/sections";

const IMPORT = /(?:^|\n)\s*(?:import|export)\b(?:[^"';]*?\bfrom)?\s*"([^"]+)"/g;

const layerOf = (path) => path.split("/")[0];

/** What a file imports: paths inside src/ with "/", and names of packages. */
export function importsOf(file, text) {
  return [...text.matchAll(IMPORT)].map(([, target]) => {
    if (target.startsWith(".")) {
      return {
        path: normalize(`${dirname(file)}/${target}`)
          .split(sep)
          .join("/"),
      };
    }
    const parts = target.split("/").slice(0, target.startsWith("@") ? 2 : 1);
    return { package: target.startsWith("node:") ? "node:" : parts.join("/"), target };
  });
}

function complaintAbout(file, imported) {
  const layer = layerOf(file);
  if (imported.package) {
    if (imported.package === "node:" && file.includes(".test.")) return null;
    const allowed = PACKAGES[layer]?.includes(imported.package);
    return allowed ? null : `imports ${imported.target}: not allowed in ${layer}`;
  }
  const goal = layerOf(imported.path);
  if (goal !== layer && !MAY_IMPORT[layer].includes(goal)) {
    return `imports ${imported.path}: ${layer} may not see ${goal}`;
  }
  const [from, to] = [dirname(file), dirname(imported.path)];
  if (layer === "tools" && from !== to && from !== "tools" && goal === "tools") {
    if (to !== FOR_ALL_TOOLS)
      return `imports ${imported.path}: only ${FOR_ALL_TOOLS} is for all tools`;
  }
  return null;
}

/** One circle in a graph of names as a list that ends where it begins, or null. */
export function circleIn(graph) {
  const done = new Set();
  const way = [];
  const visit = (name) => {
    const at = way.indexOf(name);
    if (at >= 0) return [...way.slice(at), name];
    if (done.has(name)) return null;
    way.push(name);
    for (const next of graph.get(name) ?? []) {
      const circle = visit(next);
      if (circle) return circle;
    }
    way.pop();
    done.add(name);
    return null;
  };
  for (const name of graph.keys()) {
    const circle = visit(name);
    if (circle) return circle;
  }
  return null;
}

function graphBy(nameOf, imports) {
  const graph = new Map();
  for (const [file, targets] of imports) {
    const from = nameOf(file);
    const to = graph.get(from) ?? new Set();
    for (const { path } of targets) {
      if (path && nameOf(path) !== from) to.add(nameOf(path));
    }
    graph.set(from, to);
  }
  return graph;
}

/**
 * Everything wrong with a tree of sources.
 *
 * @param texts content by path below src/, with "/"
 * @returns one sentence for each fault
 */
export function faultsOf(texts) {
  const imports = new Map(
    Object.entries(texts).map(([file, text]) => [file, importsOf(file, text)]),
  );
  const faults = [];
  for (const [file, targets] of imports) {
    if (!(layerOf(file) in MAY_IMPORT)) faults.push(`${file} is in no known layer`);
    else
      for (const target of targets) {
        const complaint = complaintAbout(file, target);
        if (complaint) faults.push(`${file} ${complaint}`);
      }
  }
  for (const [what, nameOf] of [
    ["files", (path) => path],
    ["folders", dirname],
  ]) {
    const circle = circleIn(graphBy(nameOf, imports));
    if (circle) faults.push(`a circle of ${what}: ${circle.join(" → ")}`);
  }
  return faults;
}

/** Folders with too many things in them; `paths` are of all files below src/. */
export function fullFolders(paths) {
  const things = new Map();
  for (const path of paths) {
    const parts = path.split("/");
    for (let depth = 1; depth <= parts.length; depth++) {
      const folder = parts.slice(0, depth - 1).join("/");
      things.set(folder, (things.get(folder) ?? new Set()).add(parts[depth - 1]));
    }
  }
  return [...things]
    .filter(([, inside]) => inside.size > MOST_IN_A_FOLDER)
    .map(([folder, inside]) => `${folder} holds ${inside.size} things`);
}
