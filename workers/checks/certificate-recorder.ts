import type { Observation } from '../../core/checks/observation.ts';
import { cleanText } from '../../core/foreign-text.ts';
import { HOUR_MS } from '../../core/time.ts';
import { MAX_CERTIFICATE_NAME, type DueCheck, type ObservedCertificate } from '../../models/checks/checks.ts';

/** A check whose certificate may have to be stored. */
type CheckedCertificate = { check: DueCheck; agentNo: number; observation: Observation | null };

type CertificateRecorderOptions = {
  store: (observed: readonly ObservedCertificate[]) => Promise<void>;
  /** How long a new certificate waits for others to be stored with it, in milliseconds. */
  waitMs: number;
  /** Called when certificates could not be stored; their next checks try again. */
  onFailure: (error: unknown) => void;
  now: () => number;
};

/**
 * How long a worker relies on its stored certificates, in milliseconds. Another worker may have stored a different one
 * since, and monitors are added and deleted.
 */
const RELIED_ON_MS = 6 * HOUR_MS;

/**
 * Stores the certificates of https monitors, for people and for the advisories of those with an expiry warning (D-27).
 * Each monitor's is stored once in six hours, and whenever it changes.
 */
export class CertificateRecorder {
  readonly #options: CertificateRecorderOptions;
  readonly #known = new Map<string, string>();
  #knownSinceMs: number;
  #waiting = new Map<string, ObservedCertificate>();
  #timer: NodeJS.Timeout | null = null;
  #storing = Promise.resolve();

  constructor(options: CertificateRecorderOptions) {
    this.#options = options;
    this.#knownSinceMs = options.now();
  }

  /** Records a finished check; costs nothing unless the certificate differs from the previous one. */
  record({ check, agentNo, observation }: CheckedCertificate): void {
    const observed = certificateOf(check, { agentNo, observation, observedAtMs: this.#options.now() });
    if (observed === null) return;
    this.#forgetOld();
    const key = `${observed.monitorNo}/${agentNo}`;
    const fingerprint = `${observed.target}\n${observed.name}\n${observed.expiresAt}`;
    if (this.#known.get(key) === fingerprint) return;
    this.#known.set(key, fingerprint);
    this.#waiting.set(key, observed);
    this.#timer ??= setTimeout(() => void this.#storeWaiting(), this.#options.waitMs);
  }

  /** Stores the waiting certificates, after those that are being stored. */
  async close(): Promise<void> {
    await this.#storeWaiting();
  }

  #forgetOld(): void {
    const nowMs = this.#options.now();
    // Also forgets if the clock was set back.
    if (Math.abs(nowMs - this.#knownSinceMs) < RELIED_ON_MS) return;
    this.#known.clear();
    this.#knownSinceMs = nowMs;
  }

  /** Stores the waiting certificates once the batch before is stored. */
  #storeWaiting(): Promise<void> {
    this.#storing = this.#storing.then(() => this.#storeBatch());
    return this.#storing;
  }

  async #storeBatch(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const batch = this.#waiting;
    this.#waiting = new Map();
    if (batch.size === 0) return;
    try {
      await this.#options.store([...batch.values()]);
    } catch (error) {
      for (const key of batch.keys()) this.#known.delete(key);
      this.#options.onFailure(error);
    }
  }
}

function certificateOf(
  { monitorNo, target }: DueCheck,
  { agentNo, observation, observedAtMs }: Omit<CheckedCertificate, 'check'> & { observedAtMs: number },
): ObservedCertificate | null {
  if (!/^https:/i.test(target.target) || observation?.type !== 'http' || observation.certificate === null) return null;
  const { subject, validTo } = observation.certificate;
  // Many certificates name their hosts in an extension only: then the host that presented it names it.
  const name = cleanText(subject, MAX_CERTIFICATE_NAME) || (URL.parse(target.target)?.hostname ?? '');
  return { monitorNo, agentNo, target: target.target, name, expiresAt: validTo, observedAtMs };
}
