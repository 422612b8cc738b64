/** How much of an answer's body is stored, in bytes. */
const STORED_BYTES = 1024;

/** How much of it is looked at, in bytes: where every secret in it is struck out there is still enough to keep. */
const READ_BYTES = 16_384;

/**
 * The start of an answer's body as it is stored with an attempt: at most 1 kB, safe to store and show (control
 * characters, NUL above all, and broken UTF-8 are replaced), the given secrets struck out. Null where there is none.
 */
export function excerptAnswer(body: Buffer, secrets: readonly string[] = []): string | null {
  const text = strikeOut(new TextDecoder().decode(body.subarray(0, READ_BYTES)), secrets).replaceAll(
    /[^\P{Cc}\t\n]/gu,
    '\u{FFFD}',
  );
  const excerpt = new TextDecoder().decode(Buffer.from(text).subarray(0, STORED_BYTES), { stream: true });
  return excerpt === '' ? null : excerpt;
}

/**
 * The text without the secrets: a server or a proxy may quote the address that it was asked at, and the secret is a
 * part of it.
 */
export function strikeOut(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, '[secret]')), text);
}
