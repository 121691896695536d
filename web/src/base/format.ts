/** Numbers as text. Every function returns the number together with its unit. */

/** Shown where a value is not available. */
export const MISSING = "–";

/** A number with thousands separators and exactly `decimals` decimals. */
export function fixed(value: number, decimals: number): string {
  // Not `Intl.NumberFormat`: the first of it takes 20 ms, and it rounds the decimals, not the number.
  const [whole = "", ...rest] = Math.abs(value).toFixed(decimals).split(".");
  const text = [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
  // Rounding must neither show "-0" nor hide that a small value is not zero.
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

/** A number of things with thousands separators; means of numbers keep their first digits. */
export function count(value: number): string {
  return Number.isInteger(value) ? fixed(value, 0) : significant(value);
}

/** A number with three significant digits, without exponent between 1e-4 and 1e15. */
export function significant(value: number): string {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return MISSING;
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e15) return value.toExponential(2);
  // The size after rounding counts: 999.96 has one digit more than 999.94.
  const rounded = Number(size.toPrecision(3));
  return fixed(value, Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(rounded)))));
}

export type TimeUnit = "ps" | "ns" | "µs" | "ms" | "s";

export function isTimeUnit(unit: string): unit is TimeUnit {
  return TIME_UNITS.some(([name]) => name === unit);
}

const TIME_UNITS: readonly (readonly [TimeUnit, number])[] = [
  ["ps", 1e-12],
  ["ns", 1e-9],
  ["µs", 1e-6],
  ["ms", 1e-3],
  ["s", 1],
];

/** A time in the unit that suits its size. `unit` is the unit of `value`. */
export function duration(value: number, unit: TimeUnit): string {
  if (!Number.isFinite(value)) return MISSING;
  const given = TIME_UNITS.find(([name]) => name === unit);
  const seconds = value * (given ? given[1] : 1);
  if (seconds === 0) return `0 ${unit}`;
  const size = Math.abs(seconds);
  const [name, scale] =
    TIME_UNITS.findLast(([, limit]) => size >= limit * 0.99995) ?? (["ps", 1e-12] as const);
  return `${significant(seconds / scale)} ${name}`;
}

/** An estimated time: two digits, for more are not known. */
export function roughly(value: number, unit: TimeUnit): string {
  const exact = duration(value, unit);
  const [number = "", name = unit] = exact.split(" ");
  const size = Number(number.replaceAll(",", "").replace("−", "-"));
  if (!Number.isFinite(size) || size === 0) return exact;
  const rounded = Number(size.toPrecision(2));
  const decimals = Math.max(0, 1 - Math.floor(Math.log10(Math.abs(rounded)) + 1e-9));
  return `${fixed(rounded, Math.min(2, decimals))} ${name}`;
}

/** A fraction 0–1 as per cent without decimals, for sentences; small ones say "<1 %". */
export function wholePercent(fraction: number): string {
  if (!Number.isFinite(fraction)) return MISSING;
  if (fraction > 0 && fraction < 0.01) return "<1 %";
  return `${fixed(fraction * 100, 0)} %`;
}

/** A difference of times: as `duration`, with its sign. */
export function signedDuration(value: number, unit: TimeUnit): string {
  return `${value > 0 ? "+" : ""}${duration(value, unit)}`;
}

/** A fraction 0–1 as per cent with one decimal; what would round to 0.0 says "<0.1%". */
export function percent(fraction: number): string {
  if (!Number.isFinite(fraction)) return MISSING;
  if (fraction !== 0 && Math.abs(fraction) < 0.0005) return fraction < 0 ? ">-0.1%" : "<0.1%";
  return `${fixed(fraction * 100, 1)}%`;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** A size in binary units. */
export function bytes(value: number): string {
  let size = value;
  let step = 0;
  while (Math.abs(size) >= 1024 && step < BYTE_UNITS.length - 1) {
    size /= 1024;
    step += 1;
  }
  return step === 0 ? `${count(size)} B` : `${significant(size)} ${BYTE_UNITS[step]}`;
}

const FLOP_UNITS = ["kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"] as const;
const GIGA = 2;

/** A rate of floating-point operations, given in GFLOP/s, in the unit that suits its size. */
export function flopRate(gflops: number): string {
  if (!Number.isFinite(gflops)) return MISSING;
  if (gflops === 0) return "0 FLOP/s";
  const power = Math.floor(Math.log10(Math.abs(gflops) * 1.00005) / 3);
  const step = Math.min(FLOP_UNITS.length - 1, Math.max(0, power + GIGA));
  return `${significant(gflops / 1000 ** (step - GIGA))} ${FLOP_UNITS[step]}`;
}

/**
 * Decimals that suit a whole column, so that its numbers line up: three significant digits for
 * the middle value of those that are not 0, at most three decimals.
 */
export function columnDecimals(values: ArrayLike<number>): number {
  const sizes: number[] = [];
  let whole = true;
  const stride = Math.max(1, Math.floor(values.length / 2000));
  for (let i = 0; i < values.length; i += stride) {
    const value = values[i] as number;
    if (value === 0 || Number.isNaN(value)) continue;
    if (!Number.isInteger(value)) whole = false;
    sizes.push(Math.abs(value));
  }
  if (whole || sizes.length === 0) return 0;
  sizes.sort((a, b) => a - b);
  const middle = sizes[sizes.length >> 1] as number;
  return Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(middle))));
}

/** A number of a column, with that column's decimals; too small for them says "<0.01". */
export function aligned(value: number, decimals: number): string {
  const least = 10 ** -decimals;
  if (value !== 0 && Math.abs(value) < least / 2) return value < 0 ? "≈0" : `<${least}`;
  return fixed(value, decimals);
}

/** "1 step", "2 steps"; irregular plurals are given. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/**
 * A point in time in the reader's own time zone, "2026-11-23 15:30", so that texts sort as times do;
 * the text itself if it is none.
 */
export function moment(when: string): string {
  const time = new Date(when);
  if (Number.isNaN(time.getTime())) return when;
  const two = (value: number) => String(value).padStart(2, "0");
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
