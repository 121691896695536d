/** What the times of a result are of, in the texts around them. */

/** `times_of` of a result; "" where that is not one thing. */
export type TimesOf = "" | "step" | "recording";

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bPer step\b/g, "In the recording"],
  [/\bper step\b/g, "in the recording"],
  [/\b(of|during|in) (?:the |a |a counted |each )?step\b/g, "$1 the recording"],
  [/\bof step time\b/g, "of the recording"],
];

/** A text that was written for the mean step, in the words of what times are of. */
export function inWordsOf(timesOf: TimesOf, text: string): string {
  if (timesOf !== "recording") return text;
  return WORDS.reduce((said, [of, instead]) => said.replace(of, instead), text);
}
