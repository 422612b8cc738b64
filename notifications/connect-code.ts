import { hash } from 'node:crypto';
import { CHAT_LINK_SECONDS } from '../core/alerts/channel.ts';

/** 32 bytes make 43 characters of base64url: within Telegram's 64 for a start parameter. */
const CODE_BYTES = 32;

/** The code of a connect link, and its SHA-256, which is stored. */
export type ConnectCode = { code: string; fingerprint: Buffer; expiresAtSeconds: number };

/**
 * Generates a single-use code (D-55) that expires after `lifetimeSeconds`, an hour by default. `randomBytes` must be a
 * cryptographic source.
 */
export function generateConnectCode(
  randomBytes: (size: number) => Buffer,
  nowMs: number,
  lifetimeSeconds = CHAT_LINK_SECONDS,
): ConnectCode {
  const code = randomBytes(CODE_BYTES).toString('base64url');
  return {
    code,
    fingerprint: hash('sha256', code, 'buffer'),
    expiresAtSeconds: Math.floor(nowMs / 1000) + lifetimeSeconds,
  };
}

/** Authenticated encryption under the installation's key ring: only the service can create or read a state. */
export type StateSealing = {
  seal: (plain: string, context: string) => string;
  open: (sealed: string, context: string) => string;
};

/** Result of opening a state that a link returned: its code, or why it is invalid. */
export type OpenedState = { outcome: 'good'; code: string } | { outcome: 'foreign' | 'expired' };

/** Seals a connect code and its expiry for one purpose, so that only the service can read it (D-55). */
export function sealConnectCode(
  { code, expiresAtSeconds }: Pick<ConnectCode, 'code' | 'expiresAtSeconds'>,
  { seal, purpose }: Pick<StateSealing, 'seal'> & { purpose: string },
): string {
  return seal(JSON.stringify({ code, expires_at: expiresAtSeconds }), purpose);
}

/** Opens a state that a browser returned. `foreign`: not sealed by this service for this purpose, or modified since. */
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
  // Only this service could have sealed it, so its form is trusted.
  const { code, expires_at: expiresAtSeconds } = JSON.parse(plain) as { code: string; expires_at: number };
  return nowMs < expiresAtSeconds * 1000 ? { outcome: 'good', code } : { outcome: 'expired' };
}
