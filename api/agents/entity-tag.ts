import { createHash } from 'node:crypto';

/** A strong entity tag of what has this JSON. */
export function tagOf(content: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('base64url')}"`;
}

/**
 * True when `If-None-Match` names the tag: a list, weak ones too (proxies that compress weaken them), or `*` (RFC 9110,
 * section 13.1.2).
 */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  return (
    ifNoneMatch !== undefined &&
    (ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(/"[^"]*"/g)].some(([named]) => named === tag))
  );
}
