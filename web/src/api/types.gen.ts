// Generated: python -m generate. Do not edit.

/** The views of the page and their tabs, in order. */
export const VIEWS: readonly (readonly [view: string, tabs: readonly string[]])[] = [["Answer", ["Verdict", "Steps", "Input", "Idle"]], ["Timeline", ["Tracks", "Python and host"]], ["Work", ["Table", "Roofline", "Graph", "Units"]], ["Memory", ["Over time", "Program"]], ["Compare", ["Two runs", "Ranks", "Runs", "SQL", "About"]]];

/** A table as columns of equal length; null is "not available", never zero. */
export interface TableOf<Columns> {
  readonly rows: number;
  readonly columns: Columns;
}

/** What every result holds beside its own fields. */
export interface ResultBody {
  readonly tool: string;
  readonly schema_version: number;
  readonly session: string;
  readonly hosts: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  readonly files_used: readonly string[];
  readonly times: string;
  readonly times_of: "" | "step" | "recording";
  readonly selection: string;
}

/** One run. ``modified`` is the ISO 8601 time of its newest file. */
export interface RunInfo {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly hosts: readonly string[];
  readonly modified: string;
  readonly bytes: number;
  readonly tags: readonly string[];
  readonly note: string;
}

/** What a list of runs says about one; ``problem`` is why it says nothing. */
export interface RunFactsInfo {
  readonly run: string;
  readonly headline: string;
  readonly bound_by: string;
  readonly step_time_ms: number | null;
  readonly steps: number;
  readonly device: string;
  readonly problem: string;
}

/** One file that was looked at, and why it is not simply opened. ``bytes`` -1 is unknown. */
export interface FileInfo {
  readonly path: string;
  readonly bytes: number;
  readonly state: "opened" | "damaged" | "failed" | "skipped" | "waiting";
  readonly reason: string;
  readonly hint: string;
  readonly error: string;
}

/** What is served: runs (newest first) and files. */
export interface SessionInfo {
  readonly version: string;
  readonly path: string;
  readonly runs: readonly RunInfo[];
  readonly default_run: string;
  readonly files: readonly FileInfo[];
  readonly notes: readonly string[];
  readonly capture_allowed: boolean;
}

/** One option of a tool. */
export interface OptionInfo {
  readonly name: string;
  readonly label: string;
  readonly type: "bool" | "str" | "int" | "float";
  readonly default: string | number | null | boolean;
  readonly choices: readonly string[];
  readonly help: string;
}

/** One column of a table; ``whole_…``: the same where times are of the whole recording. */
export interface ColumnInfo {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  readonly kind: string;
  readonly help: string;
  readonly sort: string;
  readonly hidden: boolean;
  readonly whole_label: string;
  readonly whole_help: string;
  readonly adds_up: boolean;
  readonly is_share: boolean;
  readonly is_cumulative: boolean;
}

/** A field under a heading. */
export interface Shown {
  readonly field: string;
  readonly title: string;
  readonly note: string;
  readonly none: string;
}

/** Rows of a table. ``noun`` is what a row is, one and several. */
export interface ShownRows extends Shown {
  readonly noun: readonly string[];
}

/** The answer, above all else. ``tone`` names the part of the step that colours it. */
export interface Headline {
  readonly title: string;
  readonly note: string;
  readonly tone: string;
  readonly form: "headline";
}

/** An option as a list of what can be chosen. */
export interface Picker {
  readonly form: "picker";
  readonly option: string;
  readonly title: string;
  readonly current: string;
  readonly values: string;
  readonly labels: string;
  readonly detail: string;
  readonly all: string;
  readonly clears: readonly string[];
}

/** One number below the headline; left out if it has no value. */
export interface Figure {
  readonly title: string;
  readonly value: string;
  readonly note: string;
  readonly form: "figure";
}

/** A sentence. */
export interface Paragraph {
  readonly text: string;
  readonly form: "paragraph";
}

/** Rows as bars. */
export interface BarChart extends ShownRows {
  readonly form: "bar_chart";
  readonly label: string;
  readonly value: string;
  readonly text: string;
  readonly tip: string;
  readonly first: readonly string[];
  readonly several: boolean;
  readonly live: readonly string[];
  readonly points: string;
}

/** Columns as lines over the first of them. */
export interface LineChart extends ShownRows {
  readonly form: "line_chart";
  readonly label: string;
  readonly columns: readonly string[];
  readonly tip: string;
  readonly by: string;
  readonly marker: readonly string[];
  readonly marked: string;
  readonly stepwise: boolean;
  readonly chooses: boolean;
}

/** A time, divided into the parts of a step. */
export interface PartsChart extends Shown {
  readonly form: "parts_chart";
}

/** The steps of the recording, each divided into its parts. */
export interface StepsChart extends Shown {
  readonly form: "steps_chart";
}

/** A table as the chart that its columns allow. */
export interface TableChart extends Shown {
  readonly form: "table_chart";
}

/** A table. */
export interface TableView extends ShownRows {
  readonly form: "table_view";
  readonly first: readonly string[];
  readonly hidden: readonly string[];
  readonly main: boolean;
  readonly sums: boolean | null;
  readonly constants: boolean;
  readonly several: boolean;
}

/** Names of rows, each with its ``meaning`` and a ``text``. */
export interface Terms extends Shown {
  readonly form: "terms";
  readonly name: string;
  readonly meaning: string;
  readonly text: string;
}

/** A chart that the page has for one tool only. */
export interface OwnChart {
  readonly form: "roofline" | "pipeline_graph" | "pod_step" | "pod_cost" | "pod_map" | "pod_suspects" | "pod_ribbon" | "pod_axes" | "host_stacks";
}

/** One tool. ``missing`` says what the profile lacks, ``record`` how to record it. */
export interface ToolInfo {
  readonly id: string;
  readonly short: string;
  readonly title: string;
  readonly tab: string;
  readonly summary: string;
  readonly available: boolean;
  readonly missing: string;
  readonly record: string;
  readonly options: readonly OptionInfo[];
  readonly tables: Readonly<Record<string, readonly ColumnInfo[]>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly words: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly times_of: readonly ("step" | "recording")[];
  readonly opens: Readonly<Record<string, string>>;
  readonly page: readonly (Headline | Picker | Figure | Paragraph | BarChart | LineChart | PartsChart | StepsChart | TableChart | TableView | Terms | OwnChart)[];
}

/** One column of a table that queries name. */
export interface QueryColumnInfo {
  readonly name: string;
  readonly type: "text" | "integer" | "number" | "flag";
  readonly meaning: string;
}

/** One table that queries name. */
export interface QueryTableInfo {
  readonly name: string;
  readonly meaning: string;
  readonly columns: readonly QueryColumnInfo[];
}

/** A query to begin with. */
export interface QueryExampleInfo {
  readonly question: string;
  readonly query: string;
}

/** All tables that queries name, and queries to begin with. */
export interface QueryTablesInfo {
  readonly tables: readonly QueryTableInfo[];
  readonly examples: readonly QueryExampleInfo[];
}

/** The answer to a query: its first rows, and whether there are more (``cut``). */
export interface QueryInfo {
  readonly rows: number;
  readonly cut: boolean;
  readonly has_times: boolean;
  readonly seconds: number | null;
  readonly schema: readonly ColumnInfo[];
  readonly columns: Readonly<Record<string, readonly unknown[]>>;
}

/** The answer to a query as a track: stretches by their begin, each with its lane. */
export interface QueryLanesInfo {
  readonly cut: boolean;
  readonly lanes: number;
  readonly name: readonly string[];
  readonly begin_ps: readonly number[];
  readonly end_ps: readonly number[];
  readonly lane: readonly number[];
  readonly event: readonly number[];
}

/** How far the opening of a run is; ``done`` and ``total`` are bytes of the stage. */
export interface ProgressInfo {
  readonly state: "idle" | "opening" | "ready" | "failed";
  readonly stage: string;
  readonly done: number;
  readonly total: number;
  readonly message: string;
}

/** Why there is no answer; ``error`` is an anchor in docs/errors.md. */
export interface ErrorInfo {
  readonly error: string;
  readonly what: string;
  readonly where: string;
  readonly why: string;
  readonly hint: string;
}

/** All advice on a run, and the outcome of every rule. */
export interface AdviceInfo {
  readonly session: string;
  readonly hosts: readonly string[];
  readonly findings: readonly Finding[];
  readonly rules_checked: readonly string[];
  readonly checked: readonly Checked[];
}

/** Something that a text names, and where its page shows it (``session.things``). */
export interface ThingInfo {
  readonly kind: string;
  readonly name: string;
  readonly detail: string;
  readonly tool: string;
  readonly table: string;
  readonly row: string;
  readonly from_ms: number | null;
  readonly to_ms: number | null;
  readonly options: Readonly<Record<string, string>>;
  readonly title: string;
}

/** What a text names in a recording. */
export interface ThingsInfo {
  readonly things: readonly ThingInfo[];
}

/** Where an answer about a thing leads (``session.about.AnswerLink``). */
export interface AboutLinkInfo {
  readonly label: string;
  readonly tool: string;
  readonly what: string;
  readonly rows: readonly string[];
  readonly event: number | null;
  readonly from_ms: number | null;
  readonly to_ms: number | null;
  readonly part: string;
  readonly value: string;
  readonly options: Readonly<Record<string, string>>;
}

/** An answer about a thing. */
export interface AnswerInfo {
  readonly question: string;
  readonly text: string;
  readonly links: readonly AboutLinkInfo[];
}

/** All answers about a thing (``session.about``); ``lines`` are (number, text). */
export interface AboutInfo {
  readonly name: string;
  readonly answers: readonly AnswerInfo[];
  readonly step_num: readonly number[];
  readonly step_ms: readonly (number | null)[];
  readonly bin_edge_ms: readonly (number | null)[];
  readonly bin_count: readonly number[];
  readonly file: string;
  readonly line: number;
  readonly lines: readonly (readonly number[])[];
  readonly changed: string;
}

/** One worker of a recording from outside; ``left_s`` until its phase should end. */
export interface CaptureWorkerInfo {
  readonly address: string;
  readonly phase: "connecting" | "busy" | "ready" | "waiting" | "recording" | "writing" | "done" | "failed";
  readonly left_s: number | null;
  readonly events: number | null;
  readonly bytes: number | null;
  readonly error: string;
  readonly hint: string;
  readonly notes: readonly string[];
}

/** One worker, looked at before recording; ``problem`` is "" where it can record. */
export interface CaptureCheckInfo {
  readonly address: string;
  readonly server: string;
  readonly problem: string;
  readonly hint: string;
}

/** The workers of a recording that is not begun yet. */
export interface CaptureChecksInfo {
  readonly workers: readonly CaptureCheckInfo[];
}

/** How a recording from outside goes; ``run`` is the new run's id once it is done. */
export interface CaptureInfo {
  readonly state: "idle" | "running" | "done" | "failed";
  readonly workers: readonly CaptureWorkerInfo[];
  readonly run: string;
  readonly notes: readonly string[];
  readonly error: ErrorInfo | null;
}

/** Something the reader of a number must know about it. */
export interface Diagnostic {
  readonly slug: string;
  readonly severity: "info" | "warning" | "error";
  readonly message: string;
  readonly where: string;
}

/** The outcome of one rule of advice. */
export interface Checked {
  readonly rule: string;
  readonly title: string;
  readonly outcome: "fired" | "silent" | "unknown" | "failed";
  readonly reason: string;
  readonly subject: string;
  readonly said: string;
}

/** The steps the numbers are over. */
export interface Steps {
  readonly count: number;
  readonly source: string;
  readonly found: string;
  readonly confidence: number | null;
  readonly dropped: number;
  readonly time_ms: TimeStats;
  readonly explanation: string;
  readonly certainty: string;
  readonly reason: string;
  readonly left_out: readonly string[];
  readonly recorder_ms: number | null;
  readonly undisturbed_ms: number | null;
  readonly undisturbed: string;
  readonly recorder_low_frac: number | null;
  readonly recorder_high_frac: number | null;
  readonly recorded_frac: number | null;
  readonly recording_cost_frac: number | null;
  readonly outliers: number;
  readonly tail_mean_ms: number | null;
  readonly tail_p95_ms: number | null;
}

/** Mean, sample standard deviation, range and median of the kept steps' times, in ms. */
export interface TimeStats {
  readonly mean: number | null;
  readonly std: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly median: number | null;
  readonly p95: number | null;
}

/** Examples per step and per second; None where nothing recorded tells them. */
export interface Throughput {
  readonly examples_per_step: number | null;
  readonly source: string;
  readonly examples_per_s: number | null;
}

/** Busy and idle share of the device(s) over the kept steps; None without a device. */
export interface DeviceShare {
  readonly busy_frac: number | null;
  readonly idle_frac: number | null;
}

/** Device compute time by precision (None without device compute). They sum to 1. */
export interface Precision {
  readonly bits_16_frac: number | null;
  readonly bits_32_frac: number | null;
  readonly unknown_frac: number | null;
}

/** Shares by occurrence and by eager self time (None where there is nothing to share). */
export interface OpShares {
  readonly host_tf_op_frac: number | null;
  readonly device_tf_op_frac: number | null;
  readonly host_eager_frac: number | null;
  readonly device_eager_frac: number | null;
}

/** What ran where. */
export interface Environment {
  readonly host_count: number;
  readonly host_cores: number;
  readonly task_count: number;
  readonly framework: string;
  readonly device_type: string;
  readonly device_count: number;
  readonly devices: readonly string[];
  readonly profile_duration_ms: number | null;
  readonly profile_start: string;
  readonly task_type: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string>>;
}

/** Whether the profile is whole: "complete", "partial" or "damaged", and what is missing. */
export interface Completeness {
  readonly verdict: string;
  readonly notes: readonly string[];
}

/** The whole recording, whether or not it has steps: one entry for each device that ran. */
export interface Window {
  readonly devices: readonly DeviceUsage[];
}

/** One device over the whole recording. */
export interface DeviceUsage {
  readonly host: string;
  readonly device: string;
  readonly events: number;
  readonly with_op: number;
  readonly without_launch: number;
  readonly span_ns: number;
  readonly busy_ns: number;
  readonly compute_ns: number;
  readonly communication_ns: number;
  readonly exposed_communication_ns: number;
  readonly copy_ns: number;
  readonly exposed_copy_ns: number;
}

/** One piece of advice with its evidence. */
export interface Finding {
  readonly rule: string;
  readonly severity: "info" | "low" | "medium" | "high";
  readonly saving_ms: number | null;
  readonly confidence: number | null;
  readonly message: string;
  readonly evidence: readonly Ref[];
  readonly actions: readonly string[];
  readonly title: string;
  readonly place: Place | null;
  readonly saving_low_ms: number | null;
  readonly saving_high_ms: number | null;
  readonly saving_per: "step" | "recording";
  readonly assumption: string;
  readonly no_saving: string;
  readonly saving_text: string;
  readonly likelihood: "likely" | "possible" | "doubtful";
  readonly measured: Readonly<Record<string, number | null | string>>;
  readonly threshold: string;
  readonly wrong_when: string;
  readonly code: Readonly<Record<string, string>>;
  readonly explained_by: readonly string[];
  readonly cause: string;
  readonly why: string;
  readonly details: readonly string[];
}

/** A pointer to what proves a finding. */
export interface Ref {
  readonly tool: string;
  readonly what: string;
  readonly rows: readonly string[];
  readonly from_ms: number | null;
  readonly to_ms: number | null;
  readonly words: string;
}

/** Where in the program, or in what it runs, a finding's time goes; "" and 0 where unknown. */
export interface Place {
  readonly function: string;
  readonly file: string;
  readonly line: number;
  readonly caller: string;
  readonly call: string;
  readonly op: string;
  readonly family: string;
}

/** The iterator that is the bottleneck. */
export interface Bottleneck {
  readonly host: string;
  readonly pipeline: string;
  readonly iterator: string;
  readonly long_name: string;
  readonly kind: string;
  readonly self_time_us: number | null;
  readonly self_time_frac: number | null;
  readonly max_latency_us: number | null;
  readonly wait_frac: number | null;
  readonly wait_of: string;
  readonly wait_us: number | null;
  readonly parallelism: number;
  readonly cores: number | null;
  readonly threads: number | null;
  readonly elements: number | null;
  readonly element_us: number | null;
  readonly overhead_frac: number | null;
  readonly python_frac: number | null;
  readonly read_frac: number | null;
  readonly is_random: boolean;
  readonly is_repeated: boolean;
  readonly has_cache: boolean;
  readonly datasets: number | null;
  readonly maker: string;
  readonly shape: string;
  readonly size_bytes: number | null;
  readonly kept_frac: number | null;
}

/** One change to the pipeline that applies, and its predicted gain. */
export interface Knob {
  readonly knob: string;
  readonly gain_us: number | null;
  readonly gain_frac: number | null;
  readonly change: string;
  readonly note: string;
}

/** The calls of one pipeline as a graph. */
export interface Graph {
  readonly host: string;
  readonly pipeline: string;
  readonly rank: number;
  readonly ranks: number;
  readonly start_ms: number | null;
  readonly duration_us: number | null;
  readonly is_judged: boolean;
  readonly nodes: TableOf<TfDataBottleneckAnalysisNodeRow>;
}

/** What is run again in an average kept step. */
export interface Recomputed {
  readonly ms: number | null;
  readonly ops: string;
  readonly first: string;
}

/** A loop's time between its counted steps. */
export interface BetweenSteps {
  readonly ms: number | null;
  readonly frac: number | null;
  readonly count: number;
  readonly call: string;
  readonly function: string;
  readonly file: string;
  readonly line: number;
  readonly caller: string;
}

/** The device the roofs belong to; None where a limit is unknown. */
export interface RooflineDevice {
  readonly device_type: string;
  readonly device_count: number;
  readonly peak_gflops: number | null;
  readonly peak_hbm_bw_gbps: number | null;
  readonly peak_on_chip_read_bw_gbps: number | null;
  readonly peak_on_chip_write_bw_gbps: number | null;
  readonly hbm_ridge_flop_per_byte: number | null;
  readonly on_chip_read_ridge_flop_per_byte: number | null;
  readonly on_chip_write_ridge_flop_per_byte: number | null;
  readonly peak_source: string;
}

/** One memory: what the profile says about its use, and about its peak. */
export interface MemorySystem {
  readonly id: string;
  readonly host: string;
  readonly device: string;
  readonly source: string;
  readonly allocations: number | null;
  readonly deallocations: number | null;
  readonly peak_bytes: number;
  readonly peak_time_ms: number | null;
  readonly peak_step: number | null;
  readonly stack_bytes: number | null;
  readonly heap_bytes: number | null;
  readonly free_bytes: number | null;
  readonly fragmentation_frac: number | null;
  readonly capacity_bytes: number | null;
  readonly batch_room: BatchRoom | null;
  readonly lifetime_peak_bytes: number | null;
  readonly begin_bytes: number | null;
  readonly end_bytes: number | null;
  readonly before_recording_bytes: number | null;
  readonly changes: Changes | null;
  readonly moment_ms: number | null;
  readonly moment_bytes: number;
  readonly kinds: readonly string[];
  readonly layered: readonly string[];
  readonly breakdown: TableOf<MemoryHoldingRow>;
}

/** How many times the recorded batch fits, with a tenth of the memory left free. */
export interface BatchRoom {
  readonly at_least: number | null;
  readonly at_most: number | null;
}

/** Begin and end of ``changing``, as results have them. */
export interface Changes {
  readonly from_ms: number | null;
  readonly to_ms: number | null;
}

/** The worker the others wait for. */
export interface Straggler {
  readonly worker: number;
  readonly host: string;
  readonly device: string;
  readonly caused_wait_ms: number | null;
  readonly step_frac: number | null;
  readonly last_frac: number | null;
  readonly cause: string;
  readonly cause_ms: number | null;
  readonly message: string;
}

/** One of the two runs compared. */
export interface RunSide {
  readonly name: string;
  readonly worker: string;
  readonly steps: number;
  readonly step_source: string;
  readonly step_time_ms: number | null;
  readonly framework: string;
  readonly device_type: string;
  readonly left_out: readonly string[];
  readonly outliers_ms: readonly (number | null)[];
  readonly p95_ms: number | null;
  readonly undisturbed_ms: number | null;
}

/** The change of the mean of all steps after the warm-up, outliers included. */
export interface TailChange {
  readonly baseline_ms: number | null;
  readonly candidate_ms: number | null;
  readonly delta_ms: number | null;
  readonly interval_ms: readonly (number | null)[] | null;
  readonly outcome: string;
}

/** Two sides of several starts each; what starts of one side differ by is noise. */
export interface Starts {
  readonly runs: TableOf<StartRow>;
  readonly baseline_ms: number | null;
  readonly candidate_ms: number | null;
  readonly delta_ms: number | null;
  readonly delta_frac: number | null;
  readonly interval_ms: readonly (number | null)[] | null;
  readonly significant: boolean | null;
  readonly spread_ms: number | null;
}

/** A cell for each device, at its coordinates where the job has axes, else host by host. */
export interface PodMap {
  readonly rows: number;
  readonly columns: number;
  readonly down: string;
  readonly across: string;
  readonly steps: TableOf<CellRow>;
  readonly hosts: readonly string[];
  readonly names: readonly string[];
  readonly measures: readonly MapMeasure[];
}

/** A colour of the map: values around the median of all devices. */
export interface MapMeasure {
  readonly id: string;
  readonly label: string;
  readonly unit: string;
  readonly kind: string;
  readonly middle: number | null;
  readonly reach: number | null;
  readonly least: number | null;
  readonly most: number | null;
  readonly beyond: number;
}

/** Columns: One of the ten framework ops with the most self time. */
export interface TopOpRow {
  /** Rank. */
  readonly rank: readonly (number | null)[];
  /** Where. */
  readonly host_or_device: readonly (string | null)[];
  /** Type. */
  readonly type: readonly (string | null)[];
  /** Operation. */
  readonly operation: readonly (string | null)[];
  /** Occurrences. */
  readonly occurrences: readonly (number | null)[];
  /** Self time (µs). */
  readonly self_time_us: readonly (number | null)[];
  /** Share (%). */
  readonly self_time_frac: readonly (number | null)[];
  /** Cumulative (%). */
  readonly cumulative_frac: readonly (number | null)[];
  /** FLOP rate (GFLOP/s). */
  readonly flop_rate_gflops: readonly (number | null)[];
  /** TC eligible. */
  readonly tensor_core_eligible: readonly (boolean | null)[];
  /** TC used. */
  readonly tensor_core_used: readonly (boolean | null)[];
}

/** Columns: One step: its time and the disjoint parts that sum to it. */
export interface OverviewPageStepRow {
  /** Step. */
  readonly step_num: readonly (number | null)[];
  /** Name. */
  readonly step_name: readonly (string | null)[];
  /** Start (ms). */
  readonly start_ms: readonly (number | null)[];
  /** Step time (ms). */
  readonly step_time_ms: readonly (number | null)[];
  /** Compilation (ms). */
  readonly compilation_ms: readonly (number | null)[];
  /** Input wait (ms). */
  readonly input_ms: readonly (number | null)[];
  /** Copy to device (ms). */
  readonly host_to_device_ms: readonly (number | null)[];
  /** Output (ms). */
  readonly output_ms: readonly (number | null)[];
  /** Kernel launch (ms). */
  readonly kernel_launch_ms: readonly (number | null)[];
  /** Host compute (ms). */
  readonly host_compute_ms: readonly (number | null)[];
  /** Device to device (ms). */
  readonly device_to_device_ms: readonly (number | null)[];
  /** Collectives (ms). */
  readonly collectives_ms: readonly (number | null)[];
  /** Device compute, 16-bit (ms). */
  readonly device_compute_16_ms: readonly (number | null)[];
  /** Device compute, 32-bit or unknown (ms). */
  readonly device_compute_32_ms: readonly (number | null)[];
  /** Waiting on the host (ms). A thread waits, and nothing that it may wait for was recorded. */
  readonly host_wait_ms: readonly (number | null)[];
  /** All others (ms). */
  readonly other_ms: readonly (number | null)[];
  /** Counted. No for cut and warm-up steps and outliers. */
  readonly kept: readonly (boolean | null)[];
  /** Outlier. Far longer than all others. */
  readonly is_outlier: readonly (boolean | null)[];
}

/** Columns: One pipeline of one host. A call is slow if it takes longer than 50 µs. */
export interface PipelineRow {
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Input pipeline. */
  readonly name: readonly (string | null)[];
  /** Calls. */
  readonly calls: readonly (number | null)[];
  /** Min (µs). */
  readonly min_us: readonly (number | null)[];
  /** Mean (µs). */
  readonly mean_us: readonly (number | null)[];
  /** Max (µs). */
  readonly max_us: readonly (number | null)[];
  /** Slow calls. Calls longer than 50 µs. */
  readonly slow_calls: readonly (number | null)[];
  /** Waited (ms). Sum over all calls. */
  readonly wait_ms: readonly (number | null)[];
  /** Share (%). Mean wait ÷ time between calls; for a single call, ÷ its step or recording. */
  readonly wait_frac: readonly (number | null)[];
  /** Share of. */
  readonly wait_of: readonly (string | null)[];
  /** Not judged. Calls whose data was in preparation as recording began. */
  readonly incomplete_calls: readonly (number | null)[];
  /** Longest wait in. Iterator with the longest wait. */
  readonly bottleneck: readonly (string | null)[];
  /** Wait in it (µs). */
  readonly bottleneck_us: readonly (number | null)[];
  /** Bottleneck. */
  readonly holds_up: readonly (boolean | null)[];
}

/** Columns: One iterator of the chosen call (or of the mean call). */
export interface TfDataBottleneckAnalysisNodeRow {
  /** Node. */
  readonly node: readonly (number | null)[];
  /** Asked by node. Number of the node that requests from it; -1 for the root. */
  readonly parent: readonly (number | null)[];
  /** Iterator. */
  readonly iterator: readonly (string | null)[];
  /** Long name. */
  readonly long_name: readonly (string | null)[];
  /** Start (µs). First start, from the start of the call. */
  readonly start_us: readonly (number | null)[];
  /** Total duration (µs). Sum over its calls. */
  readonly total_us: readonly (number | null)[];
  /** Self time (µs). Total without overlap with children. */
  readonly self_us: readonly (number | null)[];
  /** Waited for (µs). Time that the call waited for it; these sum to the call. */
  readonly critical_us: readonly (number | null)[];
  /** Calls. Mean number of calls. */
  readonly calls: readonly (number | null)[];
  /** On the critical path. */
  readonly is_critical: readonly (boolean | null)[];
  /** Bottleneck. */
  readonly is_bottleneck: readonly (boolean | null)[];
  /** Settings. */
  readonly settings: readonly (string | null)[];
}

/** Columns: One op that ran inside the functions of the pipelines, on tf.data's threads. */
export interface TfDataBottleneckAnalysisOpRow {
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Operation. */
  readonly operation: readonly (string | null)[];
  /** Type. */
  readonly type: readonly (string | null)[];
  /** Count. */
  readonly count: readonly (number | null)[];
  /** Self time (ms). */
  readonly self_time_ms: readonly (number | null)[];
}

/** Columns: All work of one group, on the host or on devices. */
export interface WorkRow {
  /** Where. */
  readonly host_or_device: readonly (string | null)[];
  /** Name. Group that the row sums up. */
  readonly name: readonly (string | null)[];
  /** Mostly. Type of op with most of its time. */
  readonly mostly: readonly (string | null)[];
  /** Self time (µs). Without nested work. */
  readonly self_time_us: readonly (number | null)[];
  /** Share (%). Share of its side's self time. */
  readonly share_frac: readonly (number | null)[];
  /** Runs. Kernels of a GPU, ops of a TPU or of the host. */
  readonly runs: readonly (number | null)[];
  /** Average (µs). */
  readonly avg_self_time_us: readonly (number | null)[];
  /** Total time (µs). With nested work. */
  readonly total_time_us: readonly (number | null)[];
  /** FLOPs. Sum over the part whose FLOPs are known. */
  readonly flops: readonly (number | null)[];
  /** FLOP rate (GFLOP/s). While its FLOPs are known. */
  readonly flop_rate_gflops: readonly (number | null)[];
  /** Bytes moved (B). To and from memory, where known. */
  readonly moved_bytes: readonly (number | null)[];
  /** Bandwidth (GB/s). While its bytes are known. */
  readonly memory_bw_gbps: readonly (number | null)[];
  /** Roof reached (%). Share of the FLOP or bandwidth peak that limits it; above 100 % if Winograd, FFT or a cache saves work. */
  readonly roof_frac: readonly (number | null)[];
  /** At the peak (B). Memory that it holds at the peak, if allocations were recorded. */
  readonly peak_bytes: readonly (number | null)[];
  /** Ran on. */
  readonly devices: readonly (string | null)[];
}

/** Columns: One function that the framework compiles: a tf.function, or a jit of JAX. */
export interface CallRow {
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Function. */
  readonly function: readonly (string | null)[];
  /** Calls per step. */
  readonly calls: readonly (number | null)[];
  /** Built per step. Calls that traced or compiled the function again. */
  readonly built: readonly (number | null)[];
  /** Eager per step. Calls run op by op. */
  readonly eager: readonly (number | null)[];
  /** Traces. Number of concrete functions; 0 if not recorded. */
  readonly traces: readonly (number | null)[];
  /** Time (ms). Host time per step. */
  readonly time_ms: readonly (number | null)[];
  /** Building (ms). Time per step of calls that built it while nothing computed. */
  readonly build_ms: readonly (number | null)[];
  /** Versions differ in. Difference between its compiled versions: shapes, values or nothing. */
  readonly differs: readonly (string | null)[];
  /** Of. Arguments that differ, or the line that uses the value. */
  readonly differs_at: readonly (string | null)[];
  /** File. */
  readonly file: readonly (string | null)[];
  /** Line. */
  readonly line: readonly (number | null)[];
}

/** Columns: Work for the operator of the program and not for its result. */
export interface SideRow {
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Kind. */
  readonly kind: readonly (string | null)[];
  /** Calls. */
  readonly calls: readonly (string | null)[];
  /** Calls per step. */
  readonly per_step: readonly (number | null)[];
  /** Steps with it (%). Share of steps in which it costs 1 % or more. */
  readonly steps_frac: readonly (number | null)[];
  /** Time (ms). Time per step in which no other op runs. */
  readonly time_ms: readonly (number | null)[];
  /** Time when it runs (ms). Mean of the steps that contain it. */
  readonly in_step_ms: readonly (number | null)[];
  /** Whole time (ms). Time per step, whether or not other work runs. */
  readonly whole_ms: readonly (number | null)[];
  /** In one step (%). Share of the longest step. */
  readonly most_frac: readonly (number | null)[];
  /** While. Function of the program that it interrupts most. */
  readonly function: readonly (string | null)[];
  /** File. */
  readonly file: readonly (string | null)[];
  /** Line. */
  readonly line: readonly (number | null)[];
  /** While it (%). Share of the time in that function. */
  readonly function_frac: readonly (number | null)[];
}

/** Columns: The updates of one optimizer. */
export interface OptimizerRow {
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Optimizer. */
  readonly optimizer: readonly (string | null)[];
  /** Ops per step. */
  readonly ops: readonly (number | null)[];
  /** Time (ms). Host time per step. */
  readonly time_ms: readonly (number | null)[];
  /** In short ops (ms). Time per step in which only its ops below 100 µs run. */
  readonly short_ms: readonly (number | null)[];
  /** Median op (µs). */
  readonly op_us: readonly (number | null)[];
  /** In groups. Whether variables are updated together (foreach). */
  readonly is_together: readonly (boolean | null)[];
}

/** Columns: One Python function on the step's thread, while nothing computed. */
export interface PythonRow {
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Function. */
  readonly function: readonly (string | null)[];
  /** File. */
  readonly file: readonly (string | null)[];
  /** Line. */
  readonly line: readonly (number | null)[];
  /** Calls per step. */
  readonly calls: readonly (number | null)[];
  /** Self time (ms). Time per step while nothing computes, libraries included. */
  readonly self_ms: readonly (number | null)[];
  /** Total time (ms). */
  readonly total_ms: readonly (number | null)[];
  /** Self share of step (%). */
  readonly step_frac: readonly (number | null)[];
  /** Waits. Whether its name is that of a wait. */
  readonly is_wait: readonly (boolean | null)[];
}

/** Columns: A corner of a roof: the achievable FLOP rate at an intensity. */
export interface RoofPoint {
  /** Memory. */
  readonly memory: readonly (string | null)[];
  /** Intensity (FLOP/B). */
  readonly operational_intensity: readonly (number | null)[];
  /** FLOP rate (GFLOP/s). */
  readonly flop_rate_gflops: readonly (number | null)[];
}

/** Columns: The most that one device computes in a type of number. */
export interface FlopPeak {
  /** Type. "16-bit": bf16 or fp16, not known which. */
  readonly data_type: readonly (string | null)[];
  /** Peak (GFLOP/s). */
  readonly flop_rate_gflops: readonly (number | null)[];
  /** Share of compute (%). Share of the device time with a known type. */
  readonly compute_time_frac: readonly (number | null)[];
}

/** Columns: One op, or the whole program, on the roofline. */
export interface RooflineRow {
  /** Step. "Total", "Average" or a step number. */
  readonly step: readonly (string | null)[];
  /** Rank. */
  readonly rank: readonly (number | null)[];
  /** Category. */
  readonly category: readonly (string | null)[];
  /** Operation. */
  readonly operation: readonly (string | null)[];
  /** Program. */
  readonly program: readonly (string | null)[];
  /** Occurrences. */
  readonly occurrences: readonly (number | null)[];
  /** Total time (µs). */
  readonly total_time_us: readonly (number | null)[];
  /** Average time (µs). */
  readonly avg_time_us: readonly (number | null)[];
  /** Self time (µs). */
  readonly self_time_us: readonly (number | null)[];
  /** Share of device time (%). Share of device time; idle time counts. */
  readonly self_time_frac: readonly (number | null)[];
  /** Cumulative (%). */
  readonly cumulative_frac: readonly (number | null)[];
  /** Time per device (µs). */
  readonly time_per_device_us: readonly (number | null)[];
  /** FLOP rate (GFLOP/s). */
  readonly flop_rate_gflops: readonly (number | null)[];
  /** Model FLOP rate (GFLOP/s). */
  readonly model_flop_rate_gflops: readonly (number | null)[];
  /** Memory bandwidth (GB/s). */
  readonly memory_bw_gbps: readonly (number | null)[];
  /** HBM bandwidth (GB/s). */
  readonly hbm_bw_gbps: readonly (number | null)[];
  /** On-chip read (GB/s). */
  readonly on_chip_read_bw_gbps: readonly (number | null)[];
  /** On-chip write (GB/s). */
  readonly on_chip_write_bw_gbps: readonly (number | null)[];
  /** Operational intensity (FLOP/B). */
  readonly operational_intensity: readonly (number | null)[];
  /** HBM intensity (FLOP/B). */
  readonly hbm_operational_intensity: readonly (number | null)[];
  /** Bottleneck intensity (FLOP/B). FLOPs per byte of the memory that bounds the op: its x position on the chart. */
  readonly bottleneck_operational_intensity: readonly (number | null)[];
  /** Bound by. */
  readonly bound_by: readonly ("Compute" | "HBM" | "On-chip read" | "On-chip write" | "Unknown" | null)[];
  /** Optimal FLOP rate (GFLOP/s). FLOP rate with the bounding resource fully used. */
  readonly optimal_flop_rate_gflops: readonly (number | null)[];
  /** Roofline efficiency (%). Share of its limit, a memory or the FLOP peak of its type; above 100 % if Winograd, FFT or a cache saves work. */
  readonly roofline_efficiency_frac: readonly (number | null)[];
  /** FLOP rate / peak (%). */
  readonly flop_utilisation_frac: readonly (number | null)[];
  /** Bandwidth / peak (%). */
  readonly memory_utilisation_frac: readonly (number | null)[];
  /** Source. */
  readonly source: readonly (string | null)[];
}

/** Columns: Blocks that are alike and were held at the peak, or at the moment asked for. */
export interface MemoryHoldingRow {
  /** Memory. The framework's name. TensorFlow's bfc_cpu_allocator_for_gpu is host memory. */
  readonly memory: readonly (string | null)[];
  /** Op. */
  readonly op_name: readonly (string | null)[];
  /** Allocated (B). */
  readonly allocation_bytes: readonly (number | null)[];
  /** Requested (B). */
  readonly requested_bytes: readonly (number | null)[];
  /** Occurrences. Number of blocks. */
  readonly occurrences: readonly (number | null)[];
  /** Region. */
  readonly region_type: readonly (string | null)[];
  /** Data type. */
  readonly data_type: readonly (string | null)[];
  /** Shape. */
  readonly shape: readonly (string | null)[];
  /** Allocated in. The enclosing event, if no op is recorded. */
  readonly allocated_in: readonly (string | null)[];
  /** Share (%). Share of the memory in use. */
  readonly share_frac: readonly (number | null)[];
  /** Origin. recorded, before recording (only its size is known), or compiled. */
  readonly origin: readonly (string | null)[];
  /** Never freed (B). Bytes still held at the end of the recording. */
  readonly kept_bytes: readonly (number | null)[];
  /** Held since (ms). Time of the oldest allocation. */
  readonly first_ms: readonly (number | null)[];
  /** Freed by (ms). Time of the last deallocation of these blocks; empty if one is never freed. */
  readonly freed_ms: readonly (number | null)[];
}

/** Columns: What blocks are for that were held at the peak, or at the moment asked for. */
export interface MemoryHolderRow {
  /** Memory. The framework's name. TensorFlow's bfc_cpu_allocator_for_gpu is host memory. */
  readonly memory: readonly (string | null)[];
  /** Held by. */
  readonly holder: readonly (string | null)[];
  /** Held (B). */
  readonly held_bytes: readonly (number | null)[];
  /** Share (%). Share of the memory in use. */
  readonly share_frac: readonly (number | null)[];
  /** Blocks. */
  readonly blocks: readonly (number | null)[];
  /** Freed by (ms). Time of the last deallocation of these blocks; empty if one is never freed. */
  readonly freed_ms: readonly (number | null)[];
}

/** Columns: What one holder held of a memory at one moment. */
export interface MemoryLayerRow {
  /** Memory. The framework's name. TensorFlow's bfc_cpu_allocator_for_gpu is host memory. */
  readonly memory: readonly (string | null)[];
  /** Time (ms). */
  readonly time_ms: readonly (number | null)[];
  /** Held by. */
  readonly holder: readonly (string | null)[];
  /** Held (B). */
  readonly held_bytes: readonly (number | null)[];
}

/** Columns: The state of a memory after one event of its allocator. */
export interface MemoryTimeRow {
  /** Memory. The framework's name. TensorFlow's bfc_cpu_allocator_for_gpu is host memory. */
  readonly memory: readonly (string | null)[];
  /** Time (ms). */
  readonly time_ms: readonly (number | null)[];
  /** Event. allocation, deallocation, sample */
  readonly event: readonly (string | null)[];
  /** Requested (B). Negative for deallocations. */
  readonly requested_bytes: readonly (number | null)[];
  /** Allocated (B). With rounding; negative for deallocations. */
  readonly allocation_bytes: readonly (number | null)[];
  /** Op. For a deallocation, the op that had allocated. */
  readonly op_name: readonly (string | null)[];
  /** Step. */
  readonly step: readonly (number | null)[];
  /** Region. temp, output, persist/dynamic as recorded. */
  readonly region_type: readonly (string | null)[];
  /** Data type. */
  readonly data_type: readonly (string | null)[];
  /** Shape. */
  readonly shape: readonly (string | null)[];
  /** Allocated in. The enclosing event, if no op is recorded. */
  readonly allocated_in: readonly (string | null)[];
  /** In use (B). Stack and heap after the event. */
  readonly in_use_bytes: readonly (number | null)[];
  /** Stack (B). */
  readonly stack_bytes: readonly (number | null)[];
  /** Heap (B). */
  readonly heap_bytes: readonly (number | null)[];
  /** Free (B). */
  readonly free_bytes: readonly (number | null)[];
  /** Fragmentation (%). 1 - largest free piece / free. */
  readonly fragmentation_frac: readonly (number | null)[];
  /** Address. */
  readonly address: readonly (string | null)[];
}

/** Columns: One worker in the mean kept step. */
export interface PodViewerWorkerRow {
  /** Worker. */
  readonly worker: readonly (number | null)[];
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Device. */
  readonly device: readonly (string | null)[];
  /** Type. */
  readonly device_type: readonly (string | null)[];
  /** Step time (ms). */
  readonly step_time_ms: readonly (number | null)[];
  /** Bottleneck. Largest part of its step. */
  readonly bottleneck: readonly (string | null)[];
  /** Bottleneck share (%). */
  readonly bottleneck_frac: readonly (number | null)[];
  /** Device work (ms). Compute and copies. */
  readonly device_work_ms: readonly (number | null)[];
  /** Waits in collectives (ms). Until the last worker arrives; part of the transfers if partners are unknown. */
  readonly waited_ms: readonly (number | null)[];
  /** Transfers (ms). */
  readonly transfer_ms: readonly (number | null)[];
  /** Hidden transfers (ms). Transfers that overlap other work and add nothing to the step. */
  readonly hidden_transfer_ms: readonly (number | null)[];
  /** Arrives last (%). Share of the collectives in which it arrives last. */
  readonly last_frac: readonly (number | null)[];
  /** Makes others wait (ms). Saving of the others per step if it arrived with the second to last. */
  readonly caused_wait_ms: readonly (number | null)[];
}

/** Columns: One step of one worker; the parts sum to the step time. */
export interface PodRow {
  /** Step. */
  readonly step_num: readonly (number | null)[];
  /** Worker. */
  readonly worker: readonly (number | null)[];
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Device. */
  readonly device: readonly (string | null)[];
  /** Step time (ms). */
  readonly step_time_ms: readonly (number | null)[];
  /** Device compute, 16-bit (ms). */
  readonly device_compute_16_ms: readonly (number | null)[];
  /** Device compute, 32-bit or unknown (ms). */
  readonly device_compute_32_ms: readonly (number | null)[];
  /** Device to device (ms). */
  readonly device_to_device_ms: readonly (number | null)[];
  /** Collective transfer (ms). */
  readonly collective_transfer_ms: readonly (number | null)[];
  /** Waiting for other workers (ms). */
  readonly collective_wait_ms: readonly (number | null)[];
  /** Input wait (ms). */
  readonly input_ms: readonly (number | null)[];
  /** Copy to device (ms). */
  readonly host_to_device_ms: readonly (number | null)[];
  /** Output (ms). */
  readonly output_ms: readonly (number | null)[];
  /** Kernel launch (ms). */
  readonly kernel_launch_ms: readonly (number | null)[];
  /** Host compute (ms). */
  readonly host_compute_ms: readonly (number | null)[];
  /** Compilation (ms). */
  readonly compilation_ms: readonly (number | null)[];
  /** Waiting on the host (ms). A thread waits, and nothing that it may wait for was recorded. */
  readonly host_wait_ms: readonly (number | null)[];
  /** All others (ms). */
  readonly other_ms: readonly (number | null)[];
  /** Bottleneck. Largest part of this step. */
  readonly bottleneck: readonly (string | null)[];
  /** Counted. */
  readonly kept: readonly (boolean | null)[];
}

/** Columns: The collectives of one name, over all steps. */
export interface CollectiveRow {
  /** Collective. */
  readonly name: readonly (string | null)[];
  /** Occurrences. */
  readonly occurrences: readonly (number | null)[];
  /** Workers. Mean number of participants. */
  readonly workers: readonly (number | null)[];
  /** Mean skew (ms). From the first to the last arrival. */
  readonly skew_mean_ms: readonly (number | null)[];
  /** Max skew (ms). */
  readonly skew_max_ms: readonly (number | null)[];
  /** Mean transfer (ms). From the last arrival to the end. */
  readonly transfer_mean_ms: readonly (number | null)[];
  /** Waited (ms). Sum over occurrences and workers. */
  readonly waited_ms: readonly (number | null)[];
  /** Most often last. Number of the worker. */
  readonly last_worker: readonly (number | null)[];
  /** Last in (%). */
  readonly last_frac: readonly (number | null)[];
}

/** Columns: One collective of one process group, with messages of one size. */
export interface CollectivesGroupRow {
  /** Process group. */
  readonly group: readonly (string | null)[];
  /** For. */
  readonly description: readonly (string | null)[];
  /** Collective. */
  readonly collective: readonly (string | null)[];
  /** Ranks. Size of the process group. */
  readonly ranks: readonly (number | null)[];
  /** Message (B). Size of one exchange. */
  readonly message_bytes: readonly (number | null)[];
  /** Count. Exchanges, mean over the devices. */
  readonly count: readonly (number | null)[];
  /** Time (ms). Time in this collective, mean over the devices. */
  readonly time_ms: readonly (number | null)[];
  /** Exposed (ms). Time in which nothing computes. */
  readonly exposed_ms: readonly (number | null)[];
  /** Waiting (ms). Until the last device arrives; unknown if partners were not recorded. */
  readonly wait_ms: readonly (number | null)[];
  /** Transfer (ms). After all devices have arrived. */
  readonly transfer_ms: readonly (number | null)[];
  /** Algorithm bandwidth (GB/s). Message size ÷ transfer time. */
  readonly algorithm_gbps: readonly (number | null)[];
  /** Bus bandwidth (GB/s). Per link: algorithm bandwidth × 2(n-1)/n for all-reduce, (n-1)/n for others. */
  readonly bus_gbps: readonly (number | null)[];
}

/** Columns: One device: what it spent in collectives, and what others waited for it. */
export interface CollectivesWorkerRow {
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Device. */
  readonly device: readonly (string | null)[];
  /** Time (ms). */
  readonly time_ms: readonly (number | null)[];
  /** Exposed (ms). */
  readonly exposed_ms: readonly (number | null)[];
  /** Waiting for others (ms). */
  readonly wait_ms: readonly (number | null)[];
  /** Came last. Exchanges in which it arrived last; unknown if partners were not recorded. */
  readonly last: readonly (number | null)[];
  /** Others waited (ms). Sum of the other devices' waits for this one. */
  readonly caused_wait_ms: readonly (number | null)[];
}

/** Columns: A program that can be viewed. */
export interface GraphViewerProgramRow {
  /** Program. */
  readonly program: readonly (string | null)[];
  /** Program id. */
  readonly program_id: readonly (string | null)[];
  /** Instructions. */
  readonly instructions: readonly (number | null)[];
  /** Self time (µs). */
  readonly time_us: readonly (number | null)[];
}

/** Columns: An instruction in the picture. */
export interface GraphViewerNodeRow {
  /** Id. */
  readonly id: readonly (number | null)[];
  /** Instruction. */
  readonly name: readonly (string | null)[];
  /** Opcode. */
  readonly opcode: readonly (string | null)[];
  /** Category. */
  readonly category: readonly (string | null)[];
  /** Kind. Class of the instruction, shown as colour. */
  readonly kind: readonly (string | null)[];
  /** Shape. */
  readonly shape: readonly (string | null)[];
  /** Result (B). */
  readonly result_bytes: readonly (number | null)[];
  /** Computation. */
  readonly computation: readonly (string | null)[];
  /** Calls. Called computations, separated by commas. */
  readonly calls: readonly (string | null)[];
  /** Distance. Edges from the centre; negative towards its operands. */
  readonly distance: readonly (number | null)[];
  /** Centre. */
  readonly is_centre: readonly (boolean | null)[];
  /** Root. Whether it is the computation's result. */
  readonly is_root: readonly (boolean | null)[];
  /** More. Operands and users outside of the picture. */
  readonly hidden_neighbours: readonly (number | null)[];
  /** Self time (µs). */
  readonly time_us: readonly (number | null)[];
  /** Share of program (%). */
  readonly time_frac: readonly (number | null)[];
  /** Framework op. */
  readonly framework_op: readonly (string | null)[];
  /** Source. */
  readonly source: readonly (string | null)[];
  /** HLO text. */
  readonly expression: readonly (string | null)[];
}

/** Columns: Data that flows from one instruction in the picture to another. */
export interface EdgeRow {
  /** From. */
  readonly source: readonly (number | null)[];
  /** To. */
  readonly target: readonly (number | null)[];
  /** Operand. */
  readonly operand: readonly (number | null)[];
  /** Shape. */
  readonly shape: readonly (string | null)[];
  /** Bytes (B). */
  readonly flow_bytes: readonly (number | null)[];
}

/** Columns: One instruction of the program: where to go in the graph. */
export interface InstructionRow {
  /** Instruction. */
  readonly name: readonly (string | null)[];
  /** Opcode. */
  readonly opcode: readonly (string | null)[];
  /** Computation. */
  readonly computation: readonly (string | null)[];
  /** Framework op. */
  readonly framework_op: readonly (string | null)[];
  /** Self time (µs). */
  readonly time_us: readonly (number | null)[];
  /** Occurrences. */
  readonly occurrences: readonly (number | null)[];
}

/** Columns: One computation of the program. */
export interface ComputationRow {
  /** Computation. */
  readonly name: readonly (string | null)[];
  /** Instructions. */
  readonly instructions: readonly (number | null)[];
  /** Called by. */
  readonly called_by: readonly (string | null)[];
  /** Entry. */
  readonly is_entry: readonly (boolean | null)[];
}

/** Columns: One part of the difference of the step. A table's parts sum to the whole difference. */
export interface ComparisonPartRow {
  /** Change. slower, faster, same, added or removed for ops; else what kind of time it is. */
  readonly kind: readonly (string | null)[];
  /** What. */
  readonly name: readonly (string | null)[];
  /** Where. Host or Device. */
  readonly where: readonly (string | null)[];
  /** Type. */
  readonly type: readonly (string | null)[];
  /** Change (ms). Added to (or taken off) each step. */
  readonly delta_ms: readonly (number | null)[];
  /** ± (ms). Half-width of the 99 % interval of the change. */
  readonly noise_ms: readonly (number | null)[];
  /** Significant. yes or no; of fewer than six steps separated (in each of them) or unknown. */
  readonly significant: readonly (string | null)[];
  /** Before (ms). Exposed time per step, baseline. */
  readonly before_ms: readonly (number | null)[];
  /** After (ms). Exposed time per step, new run. */
  readonly after_ms: readonly (number | null)[];
  /** Runs before. Per step. */
  readonly runs_before: readonly (number | null)[];
  /** Runs after. Per step. */
  readonly runs_after: readonly (number | null)[];
  /** Busy before (ms). Per step, time hidden behind other work included. */
  readonly busy_before_ms: readonly (number | null)[];
  /** Busy after (ms). Per step, time hidden behind other work included. */
  readonly busy_after_ms: readonly (number | null)[];
  /** Matched by. name, number (other numbers), path (other type), type (renamed) or class. */
  readonly matched: readonly (string | null)[];
}

/** Columns: The change of the time at one function of the program, with all that it launches. */
export interface LineChangeRow {
  /** Function. Empty: no line is recorded. */
  readonly function: readonly (string | null)[];
  /** File. */
  readonly file: readonly (string | null)[];
  /** Line. In the new run; else the baseline. */
  readonly line: readonly (number | null)[];
  /** Change (ms). Added to (or taken off) each step. */
  readonly delta_ms: readonly (number | null)[];
  /** Before (ms). Per step. */
  readonly before_ms: readonly (number | null)[];
  /** After (ms). Per step. */
  readonly after_ms: readonly (number | null)[];
}

/** Columns: Use of the fullest memory of both runs at one moment. */
export interface MemoryCourseRow {
  /** Time (ms). Since the first step of each run begins. */
  readonly time_ms: readonly (number | null)[];
  /** Baseline (B). Empty: nothing recorded. */
  readonly baseline_bytes: readonly (number | null)[];
  /** New run (B). Empty: nothing recorded. */
  readonly candidate_bytes: readonly (number | null)[];
}

/** Columns: One worker of several: its own work, and its waiting for the others. */
export interface WorkerTimeRow {
  /** Worker. Host, device, or both. */
  readonly worker: readonly (string | null)[];
  /** Own before (ms). Its step without waiting. */
  readonly own_before_ms: readonly (number | null)[];
  /** Own after (ms). Its step without waiting. */
  readonly own_after_ms: readonly (number | null)[];
  /** Change (ms). */
  readonly own_delta_ms: readonly (number | null)[];
  /** Waits before (ms). For slower workers. */
  readonly wait_before_ms: readonly (number | null)[];
  /** Waits after (ms). For slower workers. */
  readonly wait_after_ms: readonly (number | null)[];
}

/** Columns: Who made one of the pods slower. */
export interface SuspectChangeRow {
  /** Who. */
  readonly name: readonly (string | null)[];
  /** Change. new, gone or both. */
  readonly change: readonly (string | null)[];
  /** Cost before (ms). */
  readonly before_ms: readonly (number | null)[];
  /** Cost after (ms). */
  readonly after_ms: readonly (number | null)[];
  /** Cause. */
  readonly cause: readonly (string | null)[];
}

/** Columns: One property that must be equal for the comparison to be about the program alone. */
export interface ParityRow {
  /** Property. */
  readonly property: readonly (string | null)[];
  /** Baseline. */
  readonly baseline: readonly (string | null)[];
  /** New run. */
  readonly candidate: readonly (string | null)[];
  /** Same. same, differs or unknown. */
  readonly status: readonly (string | null)[];
  /** What it means. */
  readonly note: readonly (string | null)[];
}

/** Columns: One run of a comparison, in the order given. */
export interface RunRow {
  /** Run. */
  readonly run: readonly (string | null)[];
  /** Steps. Steps the numbers are over. */
  readonly steps: readonly (number | null)[];
  /** Step time (ms). Mean. */
  readonly step_time_ms: readonly (number | null)[];
  /** from (ms). 99 % interval. */
  readonly low_ms: readonly (number | null)[];
  /** to (ms). 99 % interval. */
  readonly high_ms: readonly (number | null)[];
  /** Median (ms). */
  readonly median_ms: readonly (number | null)[];
  /** Std (ms). */
  readonly std_ms: readonly (number | null)[];
  /** Throughput (examples/s). With a known batch. */
  readonly examples_per_s: readonly (number | null)[];
  /** Change (ms). To the first run. */
  readonly delta_ms: readonly (number | null)[];
  /** Change (%). To the first run. */
  readonly delta_frac: readonly (number | null)[];
  /** Significant. yes, no or unknown (too few steps). */
  readonly significant: readonly (string | null)[];
  /** Mostly. The largest part of the change to the run before. */
  readonly main_change: readonly (string | null)[];
  /** Peak memory. The fullest memory. */
  readonly peak_memory_bytes: readonly (number | null)[];
}

/** Columns: One step of one of the two runs compared. */
export interface StepTimeRow {
  /** Run. baseline or candidate. */
  readonly run: readonly (string | null)[];
  /** Step. */
  readonly step_num: readonly (number | null)[];
  /** Step time (ms). */
  readonly step_time_ms: readonly (number | null)[];
}

/** Columns: One start of the program of one side. */
export interface StartRow {
  /** Run. */
  readonly run: readonly (string | null)[];
  /** Side. baseline or candidate. */
  readonly side: readonly (string | null)[];
  /** Steps. Steps the mean is over. */
  readonly steps: readonly (number | null)[];
  /** Step time (ms). Mean. */
  readonly step_time_ms: readonly (number | null)[];
}

/** Columns: Who makes the pod slower. */
export interface SuspectRow {
  /** Who. */
  readonly name: readonly (string | null)[];
  /** Kind. device, host, rack, stage … */
  readonly kind: readonly (string | null)[];
  /** Devices. */
  readonly devices: readonly (number | null)[];
  /** Cost (ms). How much longer a typical step is with this as recorded. */
  readonly cost_ms: readonly (number | null)[];
  /** Of the step (%). */
  readonly cost_frac: readonly (number | null)[];
  /** ± (ms). Standard error, from step to step. */
  readonly error_ms: readonly (number | null)[];
  /** Saves by itself (ms). How much shorter the recorded step would be if only this were as its peers. */
  readonly saving_ms: readonly (number | null)[];
  /** Cause. */
  readonly cause: readonly (string | null)[];
  /** Evidence. */
  readonly evidence: readonly (string | null)[];
  /** When. */
  readonly pattern: readonly (string | null)[];
  /** Late steps (%). */
  readonly late_frac: readonly (number | null)[];
  /** Since step. */
  readonly since_step: readonly (number | null)[];
  /** z. Distance from its peers, in spreads. */
  readonly z: readonly (number | null)[];
  /** × peers. Its own work, or transfers, against peers'. */
  readonly work_ratio: readonly (number | null)[];
  /** Peers. */
  readonly peers: readonly (number | null)[];
}

/** Columns: A part of the recorded step; the parts sum to it. */
export interface CostRow {
  /** Part. */
  readonly part: readonly (string | null)[];
  /** Time (ms). */
  readonly time_ms: readonly (number | null)[];
}

/** Columns: One device in the collective that shows a suspect best, on the pod's clock. */
export interface EvidenceRow {
  /** Suspect. */
  readonly suspect: readonly (string | null)[];
  /** Part. The suspect, the median member, the fastest. */
  readonly role: readonly (string | null)[];
  /** Host. As recordings are called. */
  readonly host: readonly (string | null)[];
  /** Device. */
  readonly device: readonly (string | null)[];
  /** Collective. */
  readonly collective: readonly (string | null)[];
  /** Step. -1: outside of steps. */
  readonly step_num: readonly (number | null)[];
  /** Own work from (ms). 0: the first of the three begins. */
  readonly from_ms: readonly (number | null)[];
  /** Arrives (ms). */
  readonly arrives_ms: readonly (number | null)[];
  /** Ends (ms). */
  readonly ends_ms: readonly (number | null)[];
  /** ± u (µs). Error of its times against the others'. */
  readonly clock_u_us: readonly (number | null)[];
}

/** Columns: One step of the pod. */
export interface PodStepRow {
  /** Step. */
  readonly step_num: readonly (number | null)[];
  /** Step time (ms). The slowest. */
  readonly time_ms: readonly (number | null)[];
  /** Own work p1 (ms). */
  readonly work_p1_ms: readonly (number | null)[];
  /** p10 (ms). */
  readonly work_p10_ms: readonly (number | null)[];
  /** p50 (ms). */
  readonly work_p50_ms: readonly (number | null)[];
  /** p90 (ms). */
  readonly work_p90_ms: readonly (number | null)[];
  /** p99 (ms). */
  readonly work_p99_ms: readonly (number | null)[];
  /** Most (ms). */
  readonly slowest_ms: readonly (number | null)[];
  /** Waits p10 (ms). */
  readonly waits_p10_ms: readonly (number | null)[];
  /** Waits p50 (ms). */
  readonly waits_p50_ms: readonly (number | null)[];
  /** Waits p90 (ms). */
  readonly waits_p90_ms: readonly (number | null)[];
  /** Most own work. */
  readonly slowest: readonly (string | null)[];
}

/** Columns: One coordinate of one axis of parallelism. */
export interface AxisRow {
  /** Axis. */
  readonly axis: readonly (string | null)[];
  /** Coordinate. */
  readonly coordinate: readonly (number | null)[];
  /** Devices. */
  readonly devices: readonly (number | null)[];
  /** Own work (ms). Per step. */
  readonly work_ms: readonly (number | null)[];
  /** Makes others wait (ms). */
  readonly charged_ms: readonly (number | null)[];
  /** Waits (ms). */
  readonly waits_ms: readonly (number | null)[];
}

/** Columns: One device, in its place. */
export interface DeviceRow {
  /** Host. */
  readonly host: readonly (string | null)[];
  /** Device. */
  readonly device: readonly (string | null)[];
  /** Rank. Its process's; -1: not known. */
  readonly rank: readonly (number | null)[];
  /** Place. Its coordinates on the job's axes. */
  readonly place: readonly (string | null)[];
  /** Makes others wait (ms). Waiting of all others per step that goes back to its own work. */
  readonly charged_ms: readonly (number | null)[];
  /** Waits (ms). Per step. */
  readonly waits_ms: readonly (number | null)[];
  /** Transfers (ms). Per step. */
  readonly transfers_ms: readonly (number | null)[];
  /** Input wait (ms). Per step. */
  readonly input_ms: readonly (number | null)[];
  /** Arrives last (%). Share of its collectives. */
  readonly last_frac: readonly (number | null)[];
  /** × peers. Own work against peers'. */
  readonly work_ratio: readonly (number | null)[];
  /** Clock (ms). Ahead of the median clock. */
  readonly clock_offset_ms: readonly (number | null)[];
  /** ± u (µs). Uncertainty of its alignment. */
  readonly clock_u_us: readonly (number | null)[];
}

/** Columns: One communicator. */
export interface LinkRow {
  /** Collective. */
  readonly collective: readonly (string | null)[];
  /** Group. */
  readonly label: readonly (string | null)[];
  /** Members. */
  readonly members: readonly (number | null)[];
  /** First member. */
  readonly first: readonly (string | null)[];
  /** Meetings. */
  readonly meetings: readonly (number | null)[];
  /** Transfers (ms). Per step. */
  readonly transfer_ms: readonly (number | null)[];
  /** Waits (ms). All members, per step. */
  readonly waits_ms: readonly (number | null)[];
  /** × class. Transfers against its class. */
  readonly ratio: readonly (number | null)[];
}

/** Columns: A recording that is not in the numbers, or only in part. */
export interface FileRow {
  /** Host. */
  readonly name: readonly (string | null)[];
  /** State. */
  readonly state: readonly (string | null)[];
  /** Reason. */
  readonly reason: readonly (string | null)[];
}

/** Columns: A device of the map; each number is the difference from the device before. */
export interface CellRow {
  /** Cell. Row by row, from 0. */
  readonly cell: readonly (number | null)[];
  /** Host. Place among the map's hosts. */
  readonly host: readonly (number | null)[];
  /** Device. Place among the map's names. */
  readonly name: readonly (number | null)[];
}

/** What limits this run, where an average step goes, and the ops that take the time. */
export interface OverviewPage extends ResultBody {
  readonly tool: "overview_page";
  readonly headline: string;
  readonly bound_by: "input" | "output" | "kernel_launch" | "host" | "device" | "collectives" | "compilation" | "balanced" | "unknown";
  readonly limited_by: string;
  readonly bound_frac: number | null;
  readonly steps: Steps;
  readonly breakdown_ms: Readonly<Record<string, number | null>>;
  readonly breakdown_std_ms: Readonly<Record<string, number | null>>;
  readonly throughput: Throughput;
  readonly device: DeviceShare;
  readonly precision: Precision;
  readonly op_shares: OpShares;
  readonly environment: Environment;
  readonly completeness: Completeness;
  readonly recorded: readonly string[];
  readonly top_ops: TableOf<TopOpRow>;
  readonly step_table: TableOf<OverviewPageStepRow>;
  readonly window: Window;
  readonly findings: readonly Finding[];
}

/** Which tf.data stage is the bottleneck, and what changing it gains. */
export interface TfDataBottleneckAnalysis extends ResultBody {
  readonly tool: "tf_data_bottleneck_analysis";
  readonly verdict: "input_bound" | "healthy" | "no_activity";
  readonly summary: readonly string[];
  readonly bottleneck: Bottleneck | null;
  readonly knobs: readonly Knob[];
  readonly pipelines: TableOf<PipelineRow>;
  readonly graph: Graph | null;
  readonly function_ops: TableOf<TfDataBottleneckAnalysisOpRow>;
}

/** Where the time of all work goes: by op, type, kernel, module, line, stream or device. */
export interface WorkTable extends ResultBody {
  readonly tool: "work_table";
  readonly headline: string;
  readonly groups: TableOf<WorkRow>;
}

/** What the host does in a step while nothing computes: building functions, printing, Python. */
export interface HostActivity extends ResultBody {
  readonly tool: "host_activity";
  readonly headline: string;
  readonly step_time_ms: number | null;
  readonly step_count: number;
  readonly step_source: string;
  readonly computing_ms: number | null;
  readonly input_ms: number | null;
  readonly idle_ms: number | null;
  readonly eager_ops: number | null;
  readonly usual_eager_ops: number | null;
  readonly calls: TableOf<CallRow>;
  readonly side_work: TableOf<SideRow>;
  readonly optimizers: TableOf<OptimizerRow>;
  readonly python: TableOf<PythonRow>;
  readonly after_update_frac: number | null;
  readonly recomputed: Recomputed | null;
  readonly between: BetweenSteps | null;
}

/** How close each op, and the whole program, comes to the device's roofline. */
export interface RooflineModel extends ResultBody {
  readonly tool: "roofline_model";
  readonly headline: string;
  readonly device: RooflineDevice;
  readonly roofs: TableOf<RoofPoint>;
  readonly flop_peaks: TableOf<FlopPeak>;
  readonly programs: TableOf<RooflineRow>;
  readonly ops: TableOf<RooflineRow>;
}

/** Use of each memory over time, its peak, and which ops held the bytes at the peak. */
export interface MemoryProfile extends ResultBody {
  readonly tool: "memory_profile";
  readonly memories: readonly MemorySystem[];
  readonly breakdown: TableOf<MemoryHoldingRow>;
  readonly holders: TableOf<MemoryHolderRow>;
  readonly layers: TableOf<MemoryLayerRow>;
  readonly timeline: TableOf<MemoryTimeRow>;
  readonly timeline_events: number;
}

/** Where each step goes on every worker, and which worker the others wait for. */
export interface PodViewer extends ResultBody {
  readonly tool: "pod_viewer";
  readonly device_type: string;
  readonly parts: Readonly<Record<string, string>>;
  readonly step_nums: readonly number[];
  readonly step_time_ms: number | null;
  readonly bottleneck: string;
  readonly straggler: Straggler | null;
  readonly mismatched_collectives: number;
  readonly workers: TableOf<PodViewerWorkerRow>;
  readonly pod: TableOf<PodRow>;
  readonly collective_table: TableOf<CollectiveRow>;
}

/** What devices exchange with each other: waiting, transfer, bandwidth, and who comes last. */
export interface Collectives extends ResultBody {
  readonly tool: "collectives";
  readonly headline: string;
  readonly time_ms: number | null;
  readonly exposed_ms: number | null;
  readonly wait_ms: number | null;
  readonly groups: TableOf<CollectivesGroupRow>;
  readonly workers: TableOf<CollectivesWorkerRow>;
}

/** Part of a compiled program as a graph, and the names of all its instructions. */
export interface GraphViewer extends ResultBody {
  readonly tool: "graph_viewer";
  readonly programs: TableOf<GraphViewerProgramRow>;
  readonly program: string;
  readonly program_id: string;
  readonly centre: string;
  readonly computation: string;
  readonly nodes: TableOf<GraphViewerNodeRow>;
  readonly edges: TableOf<EdgeRow>;
  readonly is_cut: boolean;
  readonly operand_names: readonly string[];
  readonly consumer_names: readonly string[];
  readonly instructions: TableOf<InstructionRow>;
  readonly computations: TableOf<ComputationRow>;
  readonly hlo_text: string;
}

/** What changed from one run to another, split into parts that sum to the change. */
export interface Comparison extends ResultBody {
  readonly tool: "compare";
  readonly headline: string;
  readonly outcome: string;
  readonly delta_ms: number | null;
  readonly delta_frac: number | null;
  readonly interval_ms: readonly (number | null)[] | null;
  readonly significant: boolean | null;
  readonly baseline: RunSide;
  readonly candidate: RunSide;
  readonly parts: TableOf<ComparisonPartRow>;
  readonly step_parts: TableOf<ComparisonPartRow>;
  readonly modules: TableOf<ComparisonPartRow>;
  readonly kernels: TableOf<ComparisonPartRow>;
  readonly lines: TableOf<LineChangeRow>;
  readonly lines_text: string;
  readonly memory_text: string;
  readonly memory_course: TableOf<MemoryCourseRow>;
  readonly worker_times: TableOf<WorkerTimeRow>;
  readonly suspects: TableOf<SuspectChangeRow>;
  readonly slowest_worker_parts: TableOf<ComparisonPartRow>;
  readonly parity: TableOf<ParityRow>;
  readonly runs: TableOf<RunRow>;
  readonly step_times: TableOf<StepTimeRow>;
  readonly tail: TailChange;
  readonly starts: Starts | null;
}

/** Who makes a pod slower, what it costs, and why. */
export interface Pod extends ResultBody {
  readonly tool: "pod";
  readonly headline: string;
  readonly recordings: number;
  readonly expected: number;
  readonly devices_found: number;
  readonly counted_steps: number;
  readonly step_ms: number | null;
  readonly typical_step_ms: number | null;
  readonly lost_frac: number | null;
  readonly clock_u_us: number | null;
  readonly verdict: string;
  readonly suspects: TableOf<SuspectRow>;
  readonly costs: TableOf<CostRow>;
  readonly evidence: TableOf<EvidenceRow>;
  readonly steps: TableOf<PodStepRow>;
  readonly axes: TableOf<AxisRow>;
  readonly devices: TableOf<DeviceRow>;
  readonly links: TableOf<LinkRow>;
  readonly files: TableOf<FileRow>;
  readonly map: PodMap;
}
