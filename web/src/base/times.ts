/** What the times of a result are of, in the texts around them. */

const WHOLE = /^Times are of the (whole )?recording/;

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bPer step\b/g, "In the recording"],
  [/\bper step\b/g, "in the recording"],
  [/\b(of|during|in) (?:the |a |a counted |each )?step\b/g, "$1 the recording"],
  [/\bof step time\b/g, "of the recording"],
];

/** Whether a result's times are of the recording, as its `times` says. */
export function areOfRecording(times: string): boolean {
  return WHOLE.test(times);
}

/** A text that was written for the mean step, in the words of what `times` says. */
export function inWordsOf(times: string, text: string): string {
  if (!areOfRecording(times)) return text;
  return WORDS.reduce((said, [of, instead]) => said.replace(of, instead), text);
}
