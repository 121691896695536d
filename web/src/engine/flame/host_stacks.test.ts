import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineMeta } from "../../base/timeline.ts";
import { againstRun, againstStep, stackQuestion, stepChoices, threadSets } from "./host_stacks.ts";

const track = (id: number, section: number, name: string, events: number, kind = "thread") => ({
  id,
  section,
  kind,
  name,
  derived: false,
  lanes: 1,
  events,
  begin_ps: 0,
  end_ps: 900,
  unit: "",
  least: null,
  most: null,
});

const META: TimelineMeta = {
  version: 1,
  fingerprint: "f",
  begin_ps: 0,
  end_ps: 901,
  origin_ns: "0",
  aligned_by: "clock",
  events: 100,
  hosts: [{ name: "h", shift_ps: 0 }],
  categories: ["other"],
  flow_kinds: [],
  groupings: [],
  names: { count: 0, per_page: 1024 },
  sections: [
    { id: 0, host: 0, kind: "device", name: "/device:GPU:0", label: "GPU:0", tracks: [0] },
    { id: 1, host: 0, kind: "host", name: "/host:CPU", label: "CPU", tracks: [1, 2, 4] },
    { id: 2, host: 0, kind: "python", name: "python", label: "python", tracks: [3] },
  ],
  tracks: [
    track(0, 0, "stream", 9, "stream"),
    track(1, 1, "few", 2),
    track(2, 1, "many", 50),
    track(3, 2, "main", 7),
    track(4, 1, "memory", 0, "counter"),
  ],
  steps: [
    {
      host: 0,
      source: "markers",
      num: [5, 6],
      name: ["train 5", ""],
      begin_ps: [100, 300],
      end_ps: [200, 400],
    },
  ],
};
const NOTHING = { threads: "", step: "", against: "", inverted: false };

test("Python comes first, then the runtime, then each thread by its events", () => {
  assert.deepEqual(
    threadSets(META).map(({ id, tracks }) => [id, tracks]),
    [
      ["python", [3]],
      ["host", [1, 2]],
      ["2", [2]],
      ["3", [3]],
      ["1", [1]],
    ],
  );
});

test("steps without a name are called by their number", () => {
  assert.deepEqual(
    stepChoices(META).map(({ label }) => label),
    ["train 5", "step 6"],
  );
});

test("the stacks are of all steps until one is chosen", () => {
  assert.deepEqual(stackQuestion(META, NOTHING), {
    start_ps: 100,
    end_ps: 400,
    tracks: "3",
    by: "stack",
  });
  assert.deepEqual(stackQuestion(META, { ...NOTHING, threads: "1", step: "1", inverted: true }), {
    start_ps: 300,
    end_ps: 400,
    tracks: "1",
    by: "stack",
    inverted: "yes",
  });
});

test("they stand against another step or another run", () => {
  const step = stackQuestion(META, { ...NOTHING, step: "1", against: againstStep("0") });
  assert.equal(step?.base_start_ps, 100);
  assert.equal(step?.base_end_ps, 200);
  const run = stackQuestion(META, { ...NOTHING, against: againstRun("old/1") });
  assert.equal(run?.base_run, "old/1");
});

test("without steps it is the recording, without threads nothing", () => {
  const whole = stackQuestion({ ...META, steps: [] }, NOTHING);
  assert.deepEqual([whole?.start_ps, whole?.end_ps], [0, 901]);
  assert.equal(stackQuestion({ ...META, sections: META.sections.slice(0, 1) }, NOTHING), null);
});

test("the thread that the program starts on comes before all together", () => {
  const tracks = META.tracks.map((one) => (one.id === 3 ? { ...one, name: "MainThread" } : one));
  const [first, second] = threadSets({ ...META, tracks });
  assert.equal(first?.label, "MainThread");
  assert.equal(second?.label, "All threads with Python calls");
});
