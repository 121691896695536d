/** Regular expressions that mean one text, or one of several. */

/** A text inside of a regular expression, where it stands for itself. */
export function escapedPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Beyond this, an address would grow too long; the beginning of a name tells it apart, too. */
const LONGEST = 300;

/** Matches events of this name. */
export function exactPattern(name: string): string {
  return name.length <= LONGEST
    ? `^${escapedPattern(name)}$`
    : `^${escapedPattern(name.slice(0, LONGEST))}`;
}
