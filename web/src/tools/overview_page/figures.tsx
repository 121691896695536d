/** The figures under the verdict: five, and the undisturbed step where recording slowed it. */

import type { OverviewPage } from "../../api/types.gen.ts";
import { count, duration, MISSING, percent } from "../../base/format.ts";
import { type Fact, Figures } from "../../widgets/facts.tsx";

function time(value: number | null): string {
  return value === null ? MISSING : duration(value, "ms");
}

function idleBase(steps: OverviewPage["steps"]): string {
  if (steps.count === 0) return "the time from its first to its last op";
  return hasSteps(steps) ? "the step" : "the recording";
}

/** Whether there are steps: the recording as a whole, in their place, is not one. */
export function hasSteps({ count, source }: OverviewPage["steps"]): boolean {
  return count > 0 && source !== "window";
}

export function OverviewFigures({ result }: { result: OverviewPage }) {
  const { steps, device, environment } = result;
  const { median, p95, max, mean, std } = steps.time_ms;
  const some = hasSteps(steps);
  const figures: Fact[] = [
    ...(some ? [] : recordingFigures(result)),
    {
      label: "Median step",
      value: some ? time(median) : MISSING,
      note: !some
        ? "no step found"
        : steps.count > 1
          ? `mean ${time(mean)} ± ${time(std)}`
          : "of one step",
    },
    ...(some ? undisturbedFigures(steps) : []),
    // One step has no other that could be slower.
    ...(some && steps.count === 1
      ? []
      : [
          {
            label: "95th percentile",
            value: some ? time(p95) : MISSING,
            note: some ? `slowest ${time(max)}` : "no step found",
          },
        ]),
    {
      label: "Steps counted",
      value: count(some ? steps.count : 0),
      note:
        (some ? steps.found : "none found") +
        (steps.dropped > 0 ? `, ${count(steps.dropped)} left out` : ""),
    },
    {
      label: "Device busy",
      value: device.busy_frac === null ? MISSING : percent(device.busy_frac),
      note:
        device.busy_frac === null
          ? environment.device_count > 0
            ? "not recorded"
            : "no accelerator in this profile"
          : `idle ${percent(device.idle_frac ?? 1 - device.busy_frac)} of ${idleBase(steps)}`,
    },
    boundFigure(result),
  ];
  // Without steps, three dashes would say so three times.
  const asked = !some && !result.times.includes("no step was found");
  const known = figures.filter(
    ({ label, value }) => some || (value !== MISSING && !(asked && label === "Steps counted")),
  );
  return <Figures figures={known} />;
}

/** The step while nothing records, measured or estimated, where recording takes 5% or more. */
function undisturbedFigures(steps: OverviewPage["steps"]): Fact[] {
  const { undisturbed_ms, undisturbed, recorder_low_frac: low, recorder_high_frac: high } = steps;
  const { mean } = steps.time_ms;
  const label = "Undisturbed step";
  if (mean === null) return [];
  if (low !== null && high !== null) {
    const least = low > 0 ? `${percent(low)} to` : "up to";
    const note = `estimated: recording takes ${least} ${percent(high)} of a step`;
    return [{ label, value: `${time(mean * (1 - high))} to ${time(mean * (1 - low))}`, note }];
  }
  return undisturbed_ms !== null && undisturbed_ms < 0.95 * mean
    ? [{ label, value: time(undisturbed_ms), note: undisturbed }]
    : [];
}

function recordingFigures({ environment }: OverviewPage): Fact[] {
  const length = environment.profile_duration_ms;
  return length === null ? [] : [{ label: "Recording", value: time(length), note: "in all" }];
}

function boundFigure(result: OverviewPage): Fact {
  const share = result.bound_frac;
  const known = share !== null && result.bound_by !== "unknown" && result.steps.count > 0;
  return {
    label: "Limited by",
    value: known ? result.limited_by : MISSING,
    note: known
      ? `${percent(share)} of the ${hasSteps(result.steps) ? "average step" : "recording"}`
      : "not enough was recorded to say",
  };
}
