import type { Observation } from '../../core/observation.ts';
import type { SeenCertificate } from '../../models/certificates.ts';
import type { DueCheck } from '../../models/checks.ts';

/** A check whose certificate may be worth noting. */
export type CheckedCertificate = { check: DueCheck; agentNo: number; observation: Observation | null };

/**
 * Keeps what certificates https monitors show, for people and for the advisories of those with an expiry warning
 * (D-27).
 */
export type CertificateNotes = {
  /** Takes in a finished check; costs nothing unless the certificate is another than the one before. */
  note(checked: CheckedCertificate): void;
  /** Stores what is still waiting. */
  close(): Promise<void>;
};

export type CertificateNotesOptions = {
  store: (seen: readonly SeenCertificate[]) => Promise<void>;
  /** A new certificate waits this long for others to be stored with it, in milliseconds. */
  waitMs: number;
  /** Called when certificates could not be stored; they are tried again with their next checks. */
  onFailure: (error: unknown) => void;
  now: () => number;
};

/**
 * How long a worker relies on what it has stored, in milliseconds: another one may have stored something else since,
 * and monitors come and go.
 */
const RELIED_ON_MS = 6 * 3_600_000;

/** Makes the notes of one worker: each monitor's certificate is stored once in six hours, and whenever it changes. */
export function createCertificateNotes({ store, waitMs, onFailure, now }: CertificateNotesOptions): CertificateNotes {
  const known = new Map<string, string>();
  let knownSinceMs = now();
  let waiting = new Map<string, SeenCertificate>();
  let timer: NodeJS.Timeout | null = null;

  const flush = async (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const batch = waiting;
    waiting = new Map();
    if (batch.size === 0) return;
    try {
      await store([...batch.values()]);
    } catch (error) {
      for (const key of batch.keys()) known.delete(key);
      onFailure(error);
    }
  };

  return {
    note({ check, agentNo, observation }) {
      const seen = certificateOf(check, agentNo, observation);
      if (seen === null) return;
      if (now() - knownSinceMs >= RELIED_ON_MS) {
        known.clear();
        knownSinceMs = now();
      }
      const key = `${seen.monitorNo}/${agentNo}`;
      const fingerprint = `${seen.target}\n${seen.name}\n${seen.expiresAt}`;
      if (known.get(key) === fingerprint) return;
      known.set(key, fingerprint);
      waiting.set(key, seen);
      timer ??= setTimeout(() => void flush(), waitMs);
    },
    close: flush,
  };
}

function certificateOf(
  { monitorNo, target }: DueCheck,
  agentNo: number,
  observation: Observation | null,
): SeenCertificate | null {
  if (!/^https:/i.test(target.target) || observation?.type !== 'http' || observation.certificate === null) return null;
  const { subject, validTo } = observation.certificate;
  // Many certificates name their hosts in an extension only: then it goes by the host that showed it.
  const name = subject === '' ? (URL.parse(target.target)?.hostname ?? '') : subject;
  return { monitorNo, agentNo, target: target.target, name, expiresAt: validTo };
}
