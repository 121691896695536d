/** What ran where, with which precision, and how complete the recording is. */

import type { OpShares, OverviewPage } from "../../api/types.gen.ts";
import { duration, MISSING, moment, percent, plural } from "../../base/format.ts";
import { type Fact, Facts } from "../../widgets/facts.tsx";

const SHARE_LABELS: readonly (readonly [keyof OpShares, string])[] = [
  ["host_tf_op_frac", "Ops placed on the host"],
  ["device_tf_op_frac", "Ops placed on the device"],
  ["host_eager_frac", "Eager share of host op time"],
  ["device_eager_frac", "Eager share of device op time"],
];

export function OverviewRun({ result }: { result: OverviewPage }) {
  const { completeness } = result;
  return (
    <section class="run-section">
      <header class="section-head">
        <h2>This run</h2>
      </header>
      <Facts facts={environmentFacts(result)} />
      <h3>Precision and placement</h3>
      <Facts facts={shareFacts(result)} />
      <h3>
        Completeness:{" "}
        <span class="verdict-word">
          {completeness.verdict === "complete" && completeness.notes.length > 0
            ? "nothing is missing, but note"
            : completeness.verdict}
        </span>
      </h3>
      {completeness.notes.length > 0 ? (
        <ul class="notes">
          {completeness.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      ) : (
        <p class="quiet">Nothing was found missing.</p>
      )}
    </section>
  );
}

function environmentFacts({ environment: env }: OverviewPage): Fact[] {
  const versions = Object.entries(env.versions).map(([name, version]) => `${name} ${version}`);
  const devices = env.device_count > 0 ? `${env.device_count} × ${env.device_type}` : "none";
  const length = env.profile_duration_ms;
  const facts: Fact[] = [
    { label: "Framework", value: env.framework || MISSING },
    { label: "Task", value: env.task_type || MISSING },
    {
      label: "Hosts",
      value: `${plural(env.host_count, "host")}, ${plural(env.task_count, "task")}`,
      ...(env.host_cores > 0
        ? { note: `${plural(env.host_cores, "core")}, as far as recorded` }
        : {}),
    },
    {
      label: "Accelerators",
      value: devices,
      ...(env.device_count > 0 ? { note: "that recorded events" } : {}),
    },
    { label: "Recorded for", value: length === null ? MISSING : duration(length, "ms") },
    { label: "Recorded at", value: env.profile_start ? moment(env.profile_start) : MISSING },
  ];
  if (versions.length > 0) facts.push({ label: "Versions", value: versions.join(", ") });
  const settings = Object.entries(env.settings).map(([name, value]) => `${name} ${value}`);
  if (settings.length > 0) facts.push({ label: "Settings", value: settings.join(", ") });
  return facts;
}

function shareFacts({ precision, op_shares: shares }: OverviewPage): Fact[] {
  const show = (value: number | null | undefined) => (value == null ? MISSING : percent(value));
  return [
    {
      label: "Device compute in 16-bit",
      value: show(precision.bits_16_frac),
      ...(precision.bits_16_frac === null ? { note: "no device compute recorded" } : {}),
    },
    { label: "Device compute in 32-bit", value: show(precision.bits_32_frac) },
    ...(precision.unknown_frac
      ? [{ label: "Its precision unknown", value: show(precision.unknown_frac) }]
      : []),
    ...SHARE_LABELS.map(([key, label]) => ({ label, value: show(shares[key]) })),
  ];
}
