/** Finds secrets in a text in every encoding in which they leak; returns their names. */
export type Search = (text: string) => string[];

/** Base64 of a text within a longer one depends on the number of preceding bytes, modulo 3. */
const ALIGNMENTS = [0, 1, 2];

/** Prepares a search for these secrets by name. Binary secrets, such as 32 random bytes, are given as buffers. */
export function searchFor(secrets: ReadonlyMap<string, string | Buffer>): Search {
  const sought = [...secrets].map(([name, secret]) => ({ name, forms: formsOf(secret) }));
  return (text) => {
    const lower = text.toLowerCase();
    return sought
      .filter(
        ({ forms }) =>
          forms.exact.some((form) => text.includes(form)) || forms.anyCase.some((form) => lower.includes(form)),
      )
      .map(({ name }) => name);
  };
}

/**
 * Returns the forms in which a secret may appear in a text. These are the secret itself, in URLs, in JSON (and in JSON
 * within JSON), in hex, and in base64 of both alphabets.
 */
function formsOf(secret: string | Buffer): { exact: string[]; anyCase: string[] } {
  const bytes = Buffer.from(secret);
  const texts =
    typeof secret === 'string' ? [secret] : [secret.toString('base64').replace(/=+$/, ''), secret.toString('latin1')];
  const anyCase = [
    bytes.toString('hex'),
    ...texts
      .flatMap((text) => [text, encodeURIComponent(text), inJson(text), inJson(inJson(text))])
      .map((text) => text.toLowerCase()),
  ];
  const exact = ALIGNMENTS.map((before) => inBase64(bytes, before)).flatMap((text) => [
    text,
    text.replaceAll('+', '-').replaceAll('/', '_'),
  ]);
  return { exact: [...new Set(exact)], anyCase: [...new Set(anyCase)] };
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns the base64 characters that depend on these bytes alone, after the given number of other bytes. */
function inBase64(bytes: Buffer, before: number): string {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
  return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
}
