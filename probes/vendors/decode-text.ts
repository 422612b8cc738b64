/**
 * The text of a document. A byte-order mark decides, whatever the headers say: AWS sends UTF-16, big-endian, with one;
 * everything else is UTF-8. The mark is no part of the text.
 */
export function decodeText(body: Buffer): string {
  return new TextDecoder(encodingOf(body)).decode(body);
}

function encodingOf([first, second]: Buffer): string {
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : 'utf-8';
}
