import { Resolver } from 'node:dns/promises';
import type { DnsAnswer, DnsOpinion } from '../../core/dns/observation.ts';
import { startDeadline } from '../../net/deadline.ts';
import { ask } from './ask.ts';
import type { DnsQuestion } from './inquiry.ts';

/** Independent resolvers whose answers are held against ours (D-26). */
export type Panel = {
  /** What each of them answers within the deadline, in milliseconds; a question without an answer has timed out. */
  ask: (question: DnsQuestion & { deadlineMs: number }) => Promise<DnsOpinion[]>;
  /** Ends what is still being asked. */
  close: () => void;
};

const TIMED_OUT: DnsAnswer = { outcome: 'failed', failure: 'timeout' };

// 1, 2 and 4 seconds: what outlives a check ends by itself soon after it.
const TRIES = { timeout: 1000, tries: 3 };

/**
 * Makes a panel of resolvers (`address` or `address:port`). All checks share one socket to each: however many are under
 * way, the number of descriptors stays the same.
 */
export function createPanel(addresses: readonly string[]): Panel {
  const members = addresses.map((address) => {
    const resolver = new Resolver(TRIES);
    resolver.setServers([address]);
    return { address, resolver };
  });
  return {
    async ask({ name, types, deadlineMs }) {
      let callOff = (): void => {};
      const deadline = new Promise<DnsAnswer>((resolve) => {
        callOff = startDeadline(deadlineMs, () => resolve(TIMED_OUT));
      });
      const opinions = members.map(async ({ address, resolver }) => {
        const answers = types.map(
          async (type) => [type, await Promise.race([ask(resolver, { name, type }), deadline])] as const,
        );
        return { resolver: address, answers: Object.fromEntries(await Promise.all(answers)) };
      });
      try {
        return await Promise.all(opinions);
      } finally {
        callOff();
      }
    },
    close() {
      for (const { resolver } of members) resolver.cancel();
    },
  };
}
