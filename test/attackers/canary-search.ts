/** Finds secrets in a text, in any of the forms in which they leak; returns the names of those that are there. */
export type Search = (text: string) => string[];

/** Base64 of a text inside something longer depends on how many bytes stand before it. */
const ALIGNMENTS = [0, 1, 2];

/** Prepares the search for these secrets, by name. Secrets that encode bytes (32 random ones, say) come as buffers. */
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
 * Lists the forms in which a secret may appear in a text. These are the secret as it is, in URLs, in JSON (and in JSON
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

/** The characters of the base64 that come from these bytes alone, behind the given number of others. */
function inBase64(bytes: Buffer, before: number): string {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
  return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
}
