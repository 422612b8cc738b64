import { hash } from 'node:crypto';

/**
 * What is stored of a token, a code or another secret text that we made: its SHA-256. The text is random, so that no
 * salt is needed, and a stolen table opens nothing.
 */
export function fingerprintOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
