import type { Observation } from '../../core/checks/observation.ts';
import type { ObservedCertificate } from '../../models/checks/certificates.ts';
import type { DueCheck } from '../../models/checks/checks.ts';

/** A check whose certificate may have to be stored. */
export type CheckedCertificate = { check: DueCheck; agentNo: number; observation: Observation | null };

/**
 * Stores what certificates https monitors show, for people and for the advisories of those with an expiry warning
 * (D-27).
 */
export type CertificateRecorder = {
  /** Takes in a finished check; costs nothing unless the certificate is another than the one before. */
  record(checked: CheckedCertificate): void;
  /** Stores what is still waiting. */
  close(): Promise<void>;
};

export type CertificateRecorderOptions = {
  store: (observed: readonly ObservedCertificate[]) => Promise<void>;
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

/**
 * Makes the recorder of one worker: each monitor's certificate is stored once in six hours, and whenever it changes.
 */
export function createCertificateRecorder({
  store,
  waitMs,
  onFailure,
  now,
}: CertificateRecorderOptions): CertificateRecorder {
  const known = new Map<string, string>();
  let knownSinceMs = now();
  let waiting = new Map<string, ObservedCertificate>();
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
    record({ check, agentNo, observation }) {
      const observed = certificateOf(check, agentNo, observation);
      if (observed === null) return;
      if (now() - knownSinceMs >= RELIED_ON_MS) {
        known.clear();
        knownSinceMs = now();
      }
      const key = `${observed.monitorNo}/${agentNo}`;
      const fingerprint = `${observed.target}\n${observed.name}\n${observed.expiresAt}`;
      if (known.get(key) === fingerprint) return;
      known.set(key, fingerprint);
      waiting.set(key, observed);
      timer ??= setTimeout(() => void flush(), waitMs);
    },
    close: flush,
  };
}

function certificateOf(
  { monitorNo, target }: DueCheck,
  agentNo: number,
  observation: Observation | null,
): ObservedCertificate | null {
  if (!/^https:/i.test(target.target) || observation?.type !== 'http' || observation.certificate === null) return null;
  const { subject, validTo } = observation.certificate;
  // Many certificates name their hosts in an extension only: then it goes by the host that showed it.
  const name = subject === '' ? (URL.parse(target.target)?.hostname ?? '') : subject;
  return { monitorNo, agentNo, target: target.target, name, expiresAt: validTo };
}
