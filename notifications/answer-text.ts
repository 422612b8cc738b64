/** How much of an answer's body is kept, in bytes. */
const KEPT_BYTES = 1024;

/** How much of it is looked at, in bytes: where every secret in it is struck out there is still enough to keep. */
const SEEN_BYTES = 16_384;

/**
 * The start of an answer's body as it is kept with an attempt: at most 1 kB, safe to store and show (control
 * characters, NUL above all, and broken UTF-8 are replaced), the given secrets struck out. Null where there is none.
 */
export function keepAnswer(body: Buffer, secrets: readonly string[] = []): string | null {
  const text = strikeOut(new TextDecoder().decode(body.subarray(0, SEEN_BYTES)), secrets).replaceAll(
    /[^\P{Cc}\t\n]/gu,
    '\u{FFFD}',
  );
  const kept = new TextDecoder().decode(Buffer.from(text).subarray(0, KEPT_BYTES), { stream: true });
  return kept === '' ? null : kept;
}

/**
 * The text without the secrets: a server or a proxy may quote the address that it was asked at, and the secret is a
 * part of it.
 */
export function strikeOut(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, '[secret]')), text);
}
