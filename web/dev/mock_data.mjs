// Made-up answers for dev/mock.mjs: plausible sizes, deterministic.

function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

function column(name, label, kind, unit = "", more = {}) {
  return { name, label, kind, unit, help: "", sort: "", hidden: false, ...more };
}

const OP_COLUMNS = [
  column("rank", "Rank", "rank"),
  column("host_or_device", "Where", "category"),
  column("type", "Type", "category"),
  column("operation", "Operation", "name"),
  column("occurrences", "Occurrences", "count"),
  column("total_time_us", "Total time", "time", "µs", { help: "Includes child ops." }),
  column("avg_time_us", "Average time", "time", "µs"),
  column("self_time_us", "Self time", "time", "µs", { sort: "desc" }),
  column("avg_self_time_us", "Average self time", "time", "µs"),
  column("device_self_time_frac", "Share of device self time", "ratio", "%"),
  column("device_cumulative_frac", "Device cumulative", "ratio", "%"),
  column("host_self_time_frac", "Share of host self time", "ratio", "%"),
  column("host_cumulative_frac", "Host cumulative", "ratio", "%"),
  column("flop_rate_gflops", "FLOP rate", "rate", "GFLOP/s"),
  column("memory_bw_gibps", "Memory bandwidth", "rate", "GiB/s"),
  column("operational_intensity", "Operational intensity", "rate", "FLOP/B"),
  column("tensor_core_frac", "Tensor-core share", "ratio", "%"),
  column("bound_by", "Bound by", "category"),
  column("eager", "Execution", "category"),
];

const TOP_COLUMNS = [
  ...["rank", "host_or_device", "type", "operation", "occurrences", "self_time_us"].map((name) =>
    OP_COLUMNS.find((each) => each.name === name),
  ),
  column("self_time_frac", "Share", "ratio", "%"),
  column("cumulative_frac", "Cumulative", "ratio", "%"),
  column("flop_rate_gflops", "FLOP rate", "rate", "GFLOP/s"),
  column("tensor_core_eligible", "TC eligible", "flag"),
  column("tensor_core_used", "TC used", "flag"),
];

const PARTS = [
  "compilation",
  "input",
  "host_to_device",
  "output",
  "kernel_launch",
  "host_compute",
  "device_to_device",
  "collectives",
  "device_compute_16",
  "device_compute_32",
  "other",
];

const STEP_COLUMNS = [
  column("step_num", "Step", "number"),
  column("step_name", "Name", "name", "", { hidden: true }),
  column("start_ms", "Start", "time", "ms"),
  column("step_time_ms", "Step time", "time", "ms"),
  ...PARTS.map((part) => column(`${part}_ms`, part.replaceAll("_", " "), "time", "ms")),
  column("kept", "Counted", "flag"),
];

function tool(id, short, title, tab, summary, more = {}) {
  return {
    id,
    short,
    title,
    tab,
    summary,
    available: true,
    missing: "",
    record: "",
    options: [],
    tables: {},
    ...more,
  };
}

export function TOOLS(run) {
  const gpu = run !== "cpu";
  return [
    tool(
      "overview_page",
      "overview",
      "Overview",
      "Verdict",
      "What limits this run, where an average step goes, and the ops that take the time.",
      { tables: { top_ops: TOP_COLUMNS, step_table: STEP_COLUMNS } },
    ),
    tool(
      "framework_op_stats",
      "op_stats",
      "Framework ops",
      "Table",
      "Every framework op with its self and total time, on the host and on the device.",
      {
        tables: { ops: OP_COLUMNS },
        options: [
          {
            name: "group_by",
            type: "str",
            default: "op",
            choices: ["op", "type"],
            help: "Rows: one per op, or one per op type.",
          },
          {
            name: "where",
            type: "str",
            default: "both",
            choices: ["both", "host", "device"],
            help: "Ops of the host, the device or both.",
          },
          {
            name: "include_idle",
            type: "bool",
            default: false,
            choices: [],
            help: "Add a row for idle time and count it in the shares.",
          },
        ],
      },
    ),
    tool(
      "kernel_stats",
      "kernels",
      "GPU kernels",
      "Table",
      "Every kernel with its time and launch shape.",
      {
        tables: { ops: OP_COLUMNS },
        available: gpu,
        missing: gpu ? "" : "No GPU kernel was recorded.",
        record: gpu
          ? ""
          : "Record on a machine with a GPU, with device tracing on:\nstepscope capture --device-level 1",
      },
    ),
    tool("hlo_stats", "hlo", "HLO ops", "Table", "Every XLA instruction."),
    tool("memory_profile", "memory", "Memory", "Over time", "Memory over time."),
    tool("graph_viewer", "graph", "HLO graph", "Graph", "The neighbourhood of an instruction.", {
      available: false,
      missing: "No XLA program was recorded.",
      record: "Compile with tf.function(jit_compile=True).",
    }),
  ];
}

const TYPES = [
  "Conv2D",
  "Conv2DBackpropFilter",
  "Conv2DBackpropInput",
  "FusedBatchNormV3",
  "MatMul",
  "Relu",
  "AddV2",
  "BiasAdd",
  "Cast",
  "Iterator::Model::Prefetch",
  "ReadVariableOp",
  "_FusedMatMul",
  "NcclAllReduce",
];
const SCOPES = [
  "resnet/block_3/conv_",
  "gradient_tape/model_1/dense/MatMul_",
  "Adam/update_",
  "model/<img src=x onerror=alert(1)>/layer_",
];

function columnar(names, rows) {
  return {
    rows: rows.length,
    columns: Object.fromEntries(names.map((name, i) => [name, rows.map((row) => row[i] ?? null)])),
  };
}

function opTable(run, query, most) {
  const random = randomFrom(7);
  const gpu = run !== "cpu";
  const rows = [];
  for (let i = 0; i < most; i++) {
    const device = gpu && random() < 0.5;
    const type = TYPES[Math.floor(random() ** 2 * TYPES.length)];
    const self = 5e5 * Math.exp(-12 * random());
    const times = 1 + Math.floor(random() * 2000);
    rows.push([
      0,
      device ? "Device" : "Host",
      type,
      SCOPES[i % 4] + i,
      times,
      self * (1 + random()),
      self / times,
      self,
      self / times,
      device,
      0,
      0,
      0,
      device ? random() * 9000 : null,
      device ? random() * 700 : null,
      device ? random() * 90 : null,
      device ? random() : null,
      device ? "Compute" : null,
      "Function",
    ]);
  }
  const kept = rows.filter(
    (row) => !query.where || query.where === "both" || row[1].toLowerCase() === query.where,
  );
  kept.sort((a, b) => b[7] - a[7]);
  const totals = { Host: 0, Device: 0 };
  const sums = { Host: 0, Device: 0 };
  for (const row of kept) totals[row[1]] += row[7];
  kept.forEach((row, i) => {
    row[0] = i + 1;
    sums[row[1]] += row[7];
    const device = row[1] === "Device";
    const shares = [row[7] / totals[row[1]], sums[row[1]] / totals[row[1]]];
    row.splice(9, 4, ...(device ? [...shares, null, null] : [null, null, ...shares]));
  });
  return { kept, totals };
}

export function opRows(query, id = "framework_op_stats") {
  const { kept, totals } = opTable(query.run, query, query.run === "cpu" ? 240 : 20000);
  const side = (name) => ({
    op_time_us: totals[name],
    idle_time_us: totals[name] * 0.4,
    op_count: 212345,
    distinct_ops: kept.filter((row) => row[1] === name).length,
  });
  return {
    ...envelope(id, query.run),
    ops: columnar(
      OP_COLUMNS.map((each) => each.name),
      kept,
    ),
    host: side("Host"),
    device: side("Device"),
    device_type: query.run === "cpu" ? "" : "V100",
    task_type: "Training",
  };
}

function envelope(toolId, run) {
  return {
    tool: toolId,
    schema_version: 1,
    session: run,
    hosts: run === "cpu" ? ["laptop"] : ["worker-0", "worker-1"],
    diagnostics: [
      {
        slug: "steps-cut",
        severity: "info",
        message: "2 steps are cut at the edges of the recording and not counted.",
        where: "",
      },
      {
        slug: "clock",
        severity: "warning",
        message: "The clocks of the hosts differ by 3.1 ms.",
        where: "worker-1",
      },
    ],
  };
}

function steps(run) {
  const random = randomFrom(11);
  const n = run === "cpu" ? 11 : 998;
  const rows = [];
  let start = 0;
  for (let i = 0; i < n; i++) {
    const spike = random() < 0.01 ? 6 * random() : 1;
    const shares =
      run === "cpu"
        ? [0, 41, 0, 0, 0, 28, 0, 0, 0, 0, 1.2]
        : [0.1, 4, 1.1, 0, 3.5, 2, 0.6, 9, 38, 12, 1.4];
    const times = shares.map(
      (share) => share * (0.9 + 0.2 * random()) * (share === 4 || share === 41 ? spike : 1),
    );
    const total = times.reduce((a, b) => a + b, 0);
    rows.push([i + 10, `train ${i + 10}`, start, total, ...times, i > 0 && i < n - 1]);
    start += total;
  }
  return rows;
}

export function overview(run) {
  const rows = steps(run);
  const gpu = run !== "cpu";
  const kept = rows.filter((row) => row.at(-1));
  const mean = (at) => kept.reduce((sum, row) => sum + row[at], 0) / kept.length;
  const times = kept.map((row) => row[3]).sort((a, b) => a - b);
  const { kept: ops, totals } = opTable(run, { where: gpu ? "device" : "host" }, 60);
  let sum = 0;
  const top = ops.slice(0, 10).map((row, i) => {
    const share = row[7] / totals[row[1]];
    sum += share;
    return [
      i + 1,
      row[1],
      row[2],
      row[3],
      row[4],
      row[7],
      share,
      sum,
      row[13],
      gpu && i % 2 === 0,
      gpu && i % 4 === 0,
    ];
  });
  return {
    ...envelope("overview_page", run),
    headline: gpu
      ? "Limited by device compute: it takes 70% of the average step of 71.6 ms, of which 76% is in 16-bit."
      : "Limited by input: the host waits for data during 58% of each step.",
    bound_by: gpu ? "device" : "input",
    bound_frac: gpu ? 0.7 : 0.58,
    steps: {
      count: kept.length,
      source: gpu ? "markers" : "inferred",
      confidence: gpu ? 1 : 0.7,
      dropped: 2,
      time_ms: {
        mean: mean(3),
        std: 5.2,
        min: times[0],
        max: times.at(-1),
        median: times[times.length >> 1],
        p95: times[Math.floor(times.length * 0.95)],
      },
      explanation: gpu
        ? "Steps are the 998 events marked with a step number on the host."
        : "No step marker was recorded; steps are inferred from 11 repeats of “Profiled batch”.",
    },
    breakdown_ms: Object.fromEntries(PARTS.map((part, i) => [part, mean(i + 4)])),
    breakdown_std_ms: Object.fromEntries(PARTS.map((part, i) => [part, mean(i + 4) * 0.1])),
    device: gpu ? { busy_frac: 0.823, idle_frac: 0.177 } : { busy_frac: null, idle_frac: null },
    precision: gpu
      ? { bits_16_frac: 0.76, bits_32_frac: 0.24 }
      : { bits_16_frac: null, bits_32_frac: null },
    op_shares: {
      host_tf_op_frac: gpu ? 0.41 : 1,
      device_tf_op_frac: gpu ? 0.59 : null,
      host_eager_frac: 0.013,
      device_eager_frac: null,
    },
    environment: {
      host_count: gpu ? 2 : 1,
      task_count: gpu ? 2 : 1,
      framework: "TensorFlow",
      device_type: gpu ? "Tesla V100-SXM2-16GB" : "CPU",
      device_count: gpu ? 8 : 0,
      devices: [],
      profile_duration_ms: 73211,
      profile_start: "2026-11-21T10:00:07Z",
      task_type: "Training",
      versions: { tensorflow: "2.21.0" },
    },
    completeness: gpu
      ? {
          verdict: "partial",
          notes: [
            "worker-1 ends 0.4 s before worker-0: its file is cut.",
            "12 kernels have no launch.",
          ],
        }
      : { verdict: "complete", notes: [] },
    top_ops: columnar(
      TOP_COLUMNS.map((each) => each.name),
      top,
    ),
    step_table: columnar(
      STEP_COLUMNS.map((each) => each.name),
      rows,
    ),
    findings: gpu
      ? []
      : [
          {
            rule: "input-bound",
            severity: "high",
            saving_ms: 40.1,
            confidence: 0.9,
            message: "Each step waits 41.0 ms for data; the map stage runs one element at a time.",
            evidence: [{ tool: "framework_op_stats", what: "Iterator::Map, 39.2 ms a step" }],
            actions: [
              "Run the map in parallel: ds.map(f, num_parallel_calls=tf.data.AUTOTUNE).",
              "Prefetch: ds.prefetch(tf.data.AUTOTUNE).",
            ],
          },
          {
            rule: "eager",
            severity: "low",
            saving_ms: null,
            confidence: 0.4,
            message: "1.3% of op time is eager.",
            evidence: [],
            actions: [],
          },
        ],
  };
}
