import { hash } from 'node:crypto';

/** How long the link of a chat works, in seconds (D-55). */
const LIFETIME_SECONDS = 3600;

/** 32 bytes make 43 characters of base64url: within Telegram's 64 for a start parameter. */
const CODE_BYTES = 32;

/** The code of a connect link, and what is stored of it: its SHA-256. */
export type ConnectCode = { code: string; fingerprint: Buffer; expiresAtSeconds: number };

/**
 * A new single-use code (D-55) that expires after `lifetimeSeconds`, an hour by default. `randomBytes` must be a
 * cryptographic source.
 */
export function generateConnectCode(
  randomBytes: (size: number) => Buffer,
  nowMs: number,
  lifetimeSeconds = LIFETIME_SECONDS,
): ConnectCode {
  const code = randomBytes(CODE_BYTES).toString('base64url');
  return {
    code,
    fingerprint: hash('sha256', code, 'buffer'),
    expiresAtSeconds: Math.floor(nowMs / 1000) + lifetimeSeconds,
  };
}

/** Authenticated encryption under the installation's key ring: only the service can make a state, or read one. */
export type StateSealing = {
  seal: (plain: string, context: string) => string;
  open: (sealed: string, context: string) => string;
};

/** What a link brought back as our state: the code in it, or why it is worth nothing. */
export type OpenedState = { outcome: 'good'; code: string } | { outcome: 'foreign' | 'expired' };

/** Seals a connect code and its expiry for one purpose, for the service alone to read (D-55). */
export function sealConnectCode(
  { code, expiresAtSeconds }: Pick<ConnectCode, 'code' | 'expiresAtSeconds'>,
  { seal, purpose }: Pick<StateSealing, 'seal'> & { purpose: string },
): string {
  return seal(JSON.stringify({ code, expires_at: expiresAtSeconds }), purpose);
}

/** Opens what a browser brought back. `foreign`: not sealed by us for this purpose, or changed since. */
export function openConnectCode(
  state: string,
  { open, purpose, nowMs }: Pick<StateSealing, 'open'> & { purpose: string; nowMs: number },
): OpenedState {
  let plain: string;
  try {
    plain = open(state, purpose);
  } catch {
    return { outcome: 'foreign' };
  }
  // It opened, so we wrote it.
  const { code, expires_at: expiresAtSeconds } = JSON.parse(plain) as { code: string; expires_at: number };
  return nowMs < expiresAtSeconds * 1000 ? { outcome: 'good', code } : { outcome: 'expired' };
}
