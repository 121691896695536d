/** Names from recordings, which may hold anything, as text that cannot disturb the page. */

// Bidirectional overrides and isolates reorder what stands around them.
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
