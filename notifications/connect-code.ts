import { hash } from 'node:crypto';

/** How long a connect link works, in seconds (D-55). */
const LIFETIME_SECONDS = 3600;

/** 32 bytes make 43 characters of base64url: within Telegram's 64 for a start parameter. */
const CODE_BYTES = 32;

/** The code of a connect link, and what is stored of it: its SHA-256. */
export type ConnectCode = { code: string; fingerprint: Buffer; expiresAtSeconds: number };

/** A new single-use code that expires after an hour (D-55). `randomBytes` must be a cryptographic source. */
export function generateConnectCode(randomBytes: (size: number) => Buffer, nowMs: number): ConnectCode {
  const code = randomBytes(CODE_BYTES).toString('base64url');
  return {
    code,
    fingerprint: hash('sha256', code, 'buffer'),
    expiresAtSeconds: Math.floor(nowMs / 1000) + LIFETIME_SECONDS,
  };
}
