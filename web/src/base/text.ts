/** Names from recordings, which may hold anything, as text that cannot disturb the page. */

// Bidirectional overrides and isolates reorder what is around them.
const BIDI = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
const CONTROL_PICTURES = 0x2400;
const DELETE_PICTURE = "\u2421";

/** The text with control characters drawn as their pictures and direction marks as U+FFFD. */
export function visible(text: string): string {
  return text.replace(BIDI, "\ufffd").replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code === 0x7f ? DELETE_PICTURE : String.fromCharCode(CONTROL_PICTURES + code);
  });
}

const LONGEST_TAIL = 18;
const SHORT_NAME = 16;

/** A name of at most `most` characters, cut in the middle: both its scope and its end remain. */
export function shortened(name: string, most: number): string {
  if (name.length <= most) return name;
  const end = Math.floor(most / 2);
  return `${name.slice(0, most - end - 1)}…${name.slice(-end)}`;
}

/**
 * A name in two pieces of which the second must stay readable when the first is cut: the last
 * step of a path, since names of ops begin with the scopes that they share.
 */
export function headAndTail(name: string): readonly [string, string] {
  if (name.length <= SHORT_NAME) return ["", name];
  const slash = name.lastIndexOf("/");
  const tail = name.length - slash;
  const at =
    slash > 0 && tail <= LONGEST_TAIL ? slash : Math.max(0, name.length - LONGEST_TAIL / 2);
  return [name.slice(0, at), name.slice(at)];
}

/** A sentence whose numbers stay on one line with their units. */
export function withUnits(text: string): string {
  return text.replace(/(\d) (?=(?:[munµp]?s|%|[KMGT]i?B|B)\b|%)/g, "$1\u00a0");
}

/** A word as it begins a line of its own: a matter of layout, it stays the same word. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
