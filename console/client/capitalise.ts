/** A text that begins with a capital letter, as sentences do. */
export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
