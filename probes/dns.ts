import dgram from 'node:dgram';
import { once } from 'node:events';
import { dnsQuestionTypes } from '../core/checks/dns/judge.ts';
import type { DnsAnswers, DnsFailure, DnsObservation } from '../core/checks/dns/observation.ts';
import { splitDnsTarget, type DnsTarget } from '../core/checks/dns/target.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { resolveHost } from '../net/host-address.ts';
import { ResolverPool, inquire } from './dns/inquiry.ts';
import {
  OwnResolvers,
  createPanel,
  createSearchDomains,
  hideInObservation,
  isPrivateName,
  readSystemServers,
  type OwnResolversWatch,
  type Panel,
} from './dns/own-resolvers.ts';

/**
 * Permissions of a dns probe where it runs (D-30), and the resolvers of a cross check (`address` or `address:port`).
 * The guard applies to servers that targets name, and to what the system's and the cross check's resolvers reveal of
 * private networks; these resolvers themselves are the operator's choice.
 */
export type DnsEnvironment = { allowPrivateNetwork: boolean; dnsResolvers: readonly string[] };

/** A dns probe with the resolvers that it keeps open. */
type OpenDnsProbe = { probe: (target: CheckTarget) => Promise<DnsObservation>; close: () => Promise<void> };

/**
 * Opens the dns probe, which measures and does not judge (D-26). It queries the system's resolvers, or the server that
 * the target names, for one name's records under one deadline. `ownServers` are the resolvers for a target that names
 * no server, and `searchDomains` those of this machine. The probe rejects only if this machine lacks resources.
 */
export function openDnsProbe(
  { allowPrivateNetwork, dnsResolvers }: DnsEnvironment,
  ownServers = readSystemServers,
  searchDomains = createSearchDomains(),
): OpenDnsProbe {
  const resolvers = new ResolverPool();
  const ownResolvers = new OwnResolvers(ownServers, resolvers);
  const panel = createPanel(dnsResolvers);
  return {
    probe: (target) =>
      new DnsCheck(target, { allowPrivateNetwork, resolvers, ownResolvers, searchDomains, panel }).run(),
    close: async () => panel.close(),
  };
}

type Means = {
  allowPrivateNetwork: boolean;
  resolvers: ResolverPool;
  ownResolvers: OwnResolvers;
  searchDomains: () => readonly string[];
  panel: Panel;
};

class DnsCheck {
  readonly #target: CheckTarget;
  readonly #means: Means;
  readonly #startedAt = Date.now();
  readonly #startedAtMs = performance.now();

  constructor(target: CheckTarget, means: Means) {
    this.#target = target;
    this.#means = means;
  }

  async run(): Promise<DnsObservation> {
    const parts = splitDnsTarget(this.#target.target);
    if (parts === null)
      return {
        ...this.#measured(),
        outcome: 'not_queried',
        cause: 'unsupported',
        reason: 'The target is not a name that can be looked up',
      };

    const isGuarded = !this.#means.allowPrivateNetwork;
    // The name is judged in the form in which it is queried: in another form it could pass for a different one.
    const asked = { ...parts, name: URL.parse(`http://${parts.name}/`)?.hostname ?? parts.name };
    const isPrivate = isGuarded && isPrivateName(asked.name, this.#means.searchDomains());
    if (isPrivate && parts.server === null)
      return {
        ...this.#measured(),
        outcome: 'not_queried',
        cause: 'blocked_target',
        reason: "The name is one of a private network, which the machine's resolvers are not queried for",
      };

    const watch = this.#means.ownResolvers.watch(this.#target.timeoutMs);
    try {
      const observation = await this.#ask(isGuarded && parts.server === null ? asked : parts, {
        watch,
        panelName: isPrivate ? null : isGuarded ? asked.name : parts.name,
      });
      return isGuarded ? hideInObservation(observation) : observation;
    } finally {
      watch.end();
    }
  }

  /** `panelName` is the name in the form in which the other resolvers are queried; null if they must not be. */
  async #ask(
    { server, name }: DnsTarget,
    { watch, panelName }: { watch: OwnResolversWatch; panelName: string | null },
  ): Promise<DnsObservation> {
    const found =
      server === null
        ? { outcome: 'found' as const, servers: this.#means.ownResolvers.servers() }
        : await this.#findServers(server);
    if (found.outcome === 'failed') {
      const measured = this.#measured();
      const needsResolverCheck = found.cause === 'dns_error' || found.cause === 'timeout';
      return {
        ...measured,
        outcome: 'not_queried',
        cause: found.cause,
        reason: `The server cannot be found. ${found.reason}`,
        ownResolversWork: needsResolverCheck ? await watch.work() : null,
      };
    }

    const question = { name, types: dnsQuestionTypes(this.#target), deadlineMs: this.#remainingMs() };
    const [{ answers, measured }, opinions] = await Promise.all([
      inquire({ ...question, servers: found.servers, resolvers: this.#means.resolvers }).then((given) => ({
        answers: given,
        measured: this.#measured(),
      })),
      this.#target.checkSpec.dns?.crossCheck && panelName !== null
        ? this.#means.panel.ask({ ...question, name: panelName })
        : [],
    ]);
    if (hasFailed(answers, 'unreachable')) await requireDescriptors();
    const needsResolverCheck = server === null && (hasFailed(answers, 'timeout') || hasFailed(answers, 'servfail'));
    return {
      ...measured,
      outcome: 'queried',
      server: server?.host ?? null,
      answers,
      opinions,
      ownResolversWork: needsResolverCheck ? await watch.work() : null,
    };
  }

  async #findServers({ host, port }: NonNullable<DnsTarget['server']>) {
    const found = await resolveHost(host, {
      deadlineMs: this.#remainingMs(),
      allowPrivateNetwork: this.#means.allowPrivateNetwork,
    });
    if (found.outcome === 'failed') return found;
    return {
      outcome: found.outcome,
      servers: found.addresses.map(({ address, family }) =>
        family === 6 ? `[${address}]:${port}` : `${address}:${port}`,
      ),
    };
  }

  #remainingMs(): number {
    return Math.max(1, this.#target.timeoutMs - (performance.now() - this.#startedAtMs));
  }

  #measured() {
    return {
      type: 'dns',
      startedAt: this.#startedAt,
      latencyMs: performance.now() - this.#startedAtMs,
      ownResolversWork: null,
    } as const;
  }
}

function hasFailed(answers: DnsAnswers, failure: DnsFailure): boolean {
  return Object.values(answers).some((answer) => answer.outcome === 'failed' && answer.failure === failure);
}

/**
 * Rejects if this machine has no free descriptors. To c-ares that looks like an unreachable server; opening a socket
 * here distinguishes the two.
 */
async function requireDescriptors(): Promise<void> {
  const socket = dgram.createSocket('udp4');
  try {
    socket.bind(0);
    await once(socket, 'listening');
  } finally {
    socket.close();
  }
}
