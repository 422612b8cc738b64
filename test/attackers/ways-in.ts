import { buildTestMessage } from '../../core/alerts/envelope.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import { attemptWebhook } from '../../notifications/webhook/attempt.ts';
import { openWebhookSending } from '../../notifications/webhook/sending.ts';
import { openKnownDomains } from '../../probes/domain.ts';
import { createPatternSearch } from '../../probes/pattern-search.ts';
import { openAgentProbe } from '../../probes/probe.ts';
import { createVendorPageReader } from '../../probes/vendor.ts';
import { openServiceProbe } from '../../workers/processes/check.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { judgeObservation } from '../helpers/judge.ts';

/**
 * Makes the service contact a host and port, or a complete URL, in one of its ways. Returns the outcome as a word or
 * sentence.
 */
export type Way = (host: string, port: number) => Promise<string>;

export type WaysIn = {
  /** Ways by the component that names the host: monitors of each type, channels, registries. */
  toHosts: Readonly<
    Record<'http' | 'https' | 'tcp' | 'udp' | 'icmp' | 'dns' | 'vendor' | 'webhook' | 'whois' | 'rdap', Way>
  >;
  /** Ways that take a complete URL. */
  toUrls: Readonly<Record<'http' | 'vendor' | 'webhook' | 'rdap', (url: string) => Promise<string>>>;
  close: () => Promise<void>;
};

/**
 * `root` is the operator's WHOIS server; `refer` makes it refer to another one. `timeoutMs` applies to each contact.
 */
export type WaysInOptions = {
  allowPrivateNetwork: boolean;
  root: { host: string; port: number };
  refer: (to: string) => void;
  timeoutMs: number;
};

/** Outcome for a domain whose lookup did not finish in time. */
export const NOTHING_YET = 'nothing learnt in time';

/** Referral of the root if the contacted server is another one: an address that the guard refuses. */
const UNREACHABLE = '192.0.2.1:9';

const A_EXISTS = { dns: { records: [{ type: 'A', mode: 'exists' }] } } satisfies CheckTarget['checkSpec'];

/** Opens every way in which customers, and servers that they name, can make the service contact a host. */
export function openWaysIn({ allowPrivateNetwork, root, refer, timeoutMs }: WaysInOptions): WaysIn {
  const search = createPatternSearch();
  const agentProbe = openAgentProbe({ allowPrivateNetwork });
  // Cached pages expire between lookups, so that another spelling of the same host is contacted again.
  let nowMs = Date.now();
  const later = () => (nowMs += 60_000);
  const knownDomains = (rdapBase: string | null) =>
    openKnownDomains({
      allowPrivateNetwork,
      whoisServer: root,
      now: Date.now,
      domains: {
        read: async () => null,
        claim: async () => true,
        write: async () => undefined,
        findRdapService: async () => rdapBase,
        acquireRegistry: async () => null,
        releaseRegistry: async () => undefined,
      },
    });
  const serviceProbe = openServiceProbe({
    allowPrivateNetwork,
    dnsResolvers: [],
    readVendorPage: createVendorPageReader({
      allowPrivateNetwork,
      now: later,
      store: { find: async () => null, claim: async () => true, save: async () => undefined },
    }),
    // A cache of registries must not outlive one lookup.
    knowDomain: (name, patienceMs) => knownDomains(null).know(name, patienceMs),
  });
  const webhooks = openWebhookSending({ allowPrivateNetwork, deadlineMs: timeoutMs });

  const check = async (overrides: Partial<CheckTarget> & { target: string }): Promise<string> => {
    const target = httpTarget({ timeoutMs, ...overrides });
    const probe = ['dns', 'domain', 'vendor'].includes(target.type) ? serviceProbe : agentProbe;
    const { verdict, cause, reason } = judgeObservation({ target, observation: await probe.probe(target), search });
    return cause === 'vendor_unreachable' || cause === 'domain_unknown' ? `${cause}: ${reason}` : (cause ?? verdict);
  };
  const lookUp = async (base: string | null): Promise<string> => {
    if (base !== null && URL.parse(base) === null) return 'no URL';
    const { facts } = await knownDomains(base).know('shop.example', timeoutMs);
    return facts.failure ?? (facts.answeredAtMs === null ? NOTHING_YET : 'registered');
  };
  const send = async (url: string): Promise<string> => {
    if (URL.parse(url) === null) return 'no URL';
    const message = buildTestMessage({ nowMs: Date.now(), publicUrl: 'https://spotcheck.example' });
    const { outcome, error } = await attemptWebhook(
      { url, signingSecret: 'whsec_c2VjcmV0', account: 'ten_1', deliveryId: 'dlv_1', attempt: 1, message },
      webhooks,
    );
    return `${outcome}: ${error}`;
  };

  return {
    toHosts: {
      http: (host, port) => check({ target: `http://${host}:${port}/` }),
      https: (host, port) => check({ target: `https://${host}:${port}/` }),
      tcp: (host, port) => check({ type: 'tcp', target: `${host}:${port}` }),
      udp: (host, port) => check({ type: 'udp', target: `${host}:${port}` }),
      icmp: (host) => check({ type: 'icmp', target: host }),
      dns: (host, port) => check({ type: 'dns', target: `dns://${host}:${port}/a.example`, checkSpec: A_EXISTS }),
      vendor: (host, port) => check({ type: 'vendor', target: `http://${host}:${port}` }),
      webhook: (host, port) => send(`https://${host}:${port}/hook`),
      async whois(host, port) {
        refer(`${host}:${port}`);
        return await lookUp(null);
      },
      async rdap(host, port) {
        refer(UNREACHABLE);
        return await lookUp(`http://${host}:${port}/rdap/`);
      },
    },
    toUrls: {
      http: (url) => check({ target: url }),
      vendor: (url) => check({ type: 'vendor', target: url }),
      webhook: (url) => send(url.replace(/^(\s*)http/i, '$1https')),
      async rdap(url) {
        refer(UNREACHABLE);
        return await lookUp(url);
      },
    },
    async close() {
      webhooks.agent.destroy();
      await Promise.all([agentProbe.close(), serviceProbe.close()]);
    },
  };
}
