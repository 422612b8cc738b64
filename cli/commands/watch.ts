import { setTimeout as delay } from 'node:timers/promises';
import { withSentence } from '../../api/monitors/changes.ts';
import {
  INVITATION_SECONDS,
  PEER_PATH,
  findPeer,
  keepPeerHeartbeat,
  peerTokenOf,
  readPeerToken,
  sealInvitation,
} from '../../api/system/watching.ts';
import { watchUrl } from '../../config/formats.ts';
import { CANARY_PATH, MAX_ADDRESSES } from '../../core/system/canary.ts';
import { listTenants, type Tenant } from '../../models/accounts/tenants.ts';
import { deleteMonitor, isPlanLimit } from '../../models/monitors/monitor-changes.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { readTime } from '../../models/statistics/service-time.ts';
import {
  deleteCanaryAddress,
  findPeerHeartbeat,
  listCanaryAddresses,
  nameAddress,
  storeCanaryAddress,
  type CanaryAddress,
} from '../../models/system/canary-addresses.ts';
import { findCanary } from '../../models/system/canary.ts';
import { Refusal, UsageError, print } from '../output.ts';
import { ServiceRefusal, callService } from '../service-call.ts';
import { getTenant, withDatabase, type CommandContext } from '../with-database.ts';

type Common = { json?: boolean };
type Waiting = Common & { wait: boolean };

/** `watch invite`: prints an invitation for another installation. */
export async function invite(options: Common & { tenant?: string }): Promise<void> {
  const invitation = await withDatabase(async ({ database, environment, newId }) => {
    const { id: tenantId, name } = await chooseTenant(database, options.tenant);
    // The service judges it by its own time, which may differ from that of this machine.
    const { databaseMs, correctionMs } = await readTime(database);
    const expiresAt = Math.floor((databaseMs + correctionMs) / 1000) + INVITATION_SECONDS;
    const sealed = sealInvitation({ tenantId, monitorId: newId('mon'), expiresAt }, database);
    return { invitation: `${environment.publicUrl}${PEER_PATH}#${sealed}`, account: name, expires_at: expiresAt };
  });
  print(invitation, options);
}

/** `watch join`: makes this installation and the one that invited it watch each other from now on. */
export async function join(invitation: string, options: Waiting & { tenant?: string }): Promise<void> {
  const { base, sealed } = readInvitation(invitation);
  const joined = await withDatabase(async (context) => {
    const { database, environment, newId, nowMs, author } = context;
    const { publicUrl, canary, planCountLimits, cell } = environment;
    refuseUnreachable(publicUrl, base);
    const tenant = await chooseTenant(database, options.tenant);
    const known = await findPeer(database, base);
    if (known === null) await requireRoom(context);
    const config = { publicUrl, planCountLimits, cell };
    const kept = await keepPeerHeartbeat(
      { database, newId, nowMs, author, config },
      { tenant, peerUrl: base, everySeconds: canary.seconds },
    ).catch((error: unknown) => {
      if (!isPlanLimit(error)) throw withSentence(error);
      throw new Refusal(
        `The ${tenant.plan} plan of ${tenant.name} allows no more monitors: delete one, or use --tenant`,
      );
    });
    const { tenantId, monitorId: id } = kept;
    const body = {
      invitation: sealed,
      peer_url: publicUrl,
      ping_url: kept.pingUrl,
      every_seconds: canary.seconds,
      token: known && (await readPeerToken(database, known.channelId)),
    };
    const answer = await joinPeer(context, { base, monitorId: id, body, isNew: known === null }).catch(
      async (error) => {
        if (kept.isNew) await deleteMonitor(database, { tenantId, id, nowMs, author: author('monitor.deleted') });
        throw error;
      },
    );
    const waited = options.wait ? await awaitPings(context, { origin: 'peer', name: base }, { tenantId, id }) : null;
    return {
      watches: base,
      watched_by: base,
      monitor_id: id,
      monitor_id_there: answer['monitor_id'],
      ...waited,
      ...adviceOf(kept.isNotified, answer['is_notified'] === true, base),
    };
  });
  print(joined, options);
}

/** Has the other side watch this one, stores the address that it wants to be pinged at, and returns its answer. */
async function joinPeer(
  { database, environment, newId, nowMs }: CommandContext,
  { base, monitorId, body, isNew }: { base: string; monitorId: string; body: object; isNew: boolean },
): Promise<Record<string, unknown>> {
  const answer = await callService({ method: 'POST', url: `${base}${PEER_PATH}`, body });
  const url = watchUrl(String(answer['ping_url']));
  if (url === null) throw new Refusal(`${base} answered without a ping URL: is it a Spotcheck of this release?`);
  const address = { origin: 'peer', name: base, monitorId, url } as const;
  // Without an address the other side must not wait for pings that never come.
  const endThere = () => leave({ name: base, own: environment.publicUrl, token: peerTokenOf(url) });
  const isStored = await storeCanaryAddress(database, address, { newId, nowMs }).catch(async (error: unknown) => {
    if (isNew) process.stderr.write(`The other side: ${await endThere()}\n`);
    throw error;
  });
  if (isStored) return answer;
  // Another address was added meanwhile.
  throw new Refusal(`${tooMany().message}. The other side: ${await endThere()}`);
}

/** `watch add`: pings any address from now on. */
export async function add(text: string, options: Waiting): Promise<void> {
  const url = watchUrl(text);
  if (url === null) throw new UsageError('Expected an http:// or https:// URL without user, password and fragment');
  const added = await withDatabase(async (context) => {
    const { database, newId, nowMs } = context;
    const address = { origin: 'command', name: nameAddress(url) } as const;
    if (!(await storeCanaryAddress(database, { ...address, url }, { newId, nowMs }))) throw tooMany();
    return { name: address.name, ...(options.wait && (await awaitPings(context, address, null))) };
  });
  print(added, options);
}

/** `watch list`: prints the addresses, and whether pings arrive there. */
export async function list(options: Common): Promise<void> {
  const rows = await withDatabase(async ({ database }) =>
    (await listCanaryAddresses(database)).map(({ name, origin, monitorId, pingedAtMs, failedAtMs, error }) => ({
      name,
      origin,
      monitor_id: monitorId,
      last_ping_at: secondsOf(pingedAtMs),
      last_failure_at: secondsOf(failedAtMs),
      last_error: error,
    })),
  );
  print(rows, options);
}

/** `watch remove`: stops pinging the address; for another installation, in both directions. */
export async function remove(name: string, options: Common): Promise<void> {
  const removed = await withDatabase(async ({ database, environment, author, nowMs }) => {
    const address = (await listCanaryAddresses(database)).find((each) => each.name === name);
    if (address === undefined) throw new Refusal(`No address ${name} is pinged: spotcheck watch list shows them`);
    const { origin, channelId, monitorId } = address;
    if (origin === 'environment')
      throw new Refusal(`${name} is in WATCH_URLS of maintain (or npm start): take it out there, and restart`);
    const there =
      origin === 'peer'
        ? await leave({ name, own: environment.publicUrl, token: await readPeerToken(database, channelId) })
        : null;
    await deleteCanaryAddress(database, channelId);
    const heartbeat = monitorId === null ? null : await findPeerHeartbeat(database, monitorId);
    if (heartbeat !== null) {
      const { tenantId, id } = heartbeat;
      await deleteMonitor(database, { tenantId, id, nowMs, author: author('monitor.deleted') });
    }
    return { removed: name, ...(there !== null && { other_side: there }) };
  });
  print(removed, options);
}

/** Ends the watch on the other side as well; returns a sentence if that remains to be done there. */
async function leave({ name, own, token }: { name: string; own: string; token: string | null }): Promise<string> {
  try {
    await callService({ method: 'DELETE', url: `${name}${PEER_PATH}`, body: { peer_url: own, token } });
    return 'removed';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // A token that differs from the one there gets the same status, which does not reveal which installations it
    // watches.
    if (error instanceof ServiceRefusal && error.status === 404)
      return `removed before; if watch list on it still shows ${own}, run spotcheck watch remove ${own} there`;
    return `still there: run spotcheck watch remove ${own} on it (${error.message})`;
  }
}

function readInvitation(text: string): { base: string; sealed: string } {
  const url = URL.parse(text);
  const [whole = '', sealed = ''] = text.split('#');
  if (url === null || !/^https?:$/.test(url.protocol) || !whole.endsWith(PEER_PATH) || sealed === '')
    throw new UsageError('Expected what spotcheck watch invite printed on the other installation, in one piece');
  return { base: whole.slice(0, -PEER_PATH.length), sealed };
}

const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[::1\])$/;

/**
 * Refuses a public URL that the other side cannot ping: pings of one that leads back to itself would never arrive here.
 */
function refuseUnreachable(publicUrl: string, base: string): void {
  if (publicUrl === base) throw new Refusal('This invitation is of this installation: it cannot watch itself');
  const isOwnMachine = (url: string) => LOOPBACK.test(new URL(url).hostname);
  if (isOwnMachine(publicUrl) && !isOwnMachine(base))
    throw new Refusal(`PUBLIC_URL is ${publicUrl}, which ${base} cannot reach: set it to an address that it can`);
}

async function chooseTenant(database: CommandContext['database'], id: string | undefined): Promise<Tenant> {
  if (id !== undefined) return await getTenant(database, id);
  const [tenant, ...others] = await listTenants(database);
  if (tenant === undefined) throw new Refusal('There is no account yet: create one with spotcheck tenant create');
  if (others.length > 0)
    throw new Refusal('There are several accounts: name the one whose channels are to be notified with --tenant');
  return tenant;
}

async function requireRoom({ database }: CommandContext): Promise<void> {
  if ((await listCanaryAddresses(database)).length >= MAX_ADDRESSES) throw tooMany();
}

function tooMany(): Refusal {
  return new Refusal(`At most ${MAX_ADDRESSES} addresses are pinged: remove one with spotcheck watch remove`);
}

/** Returns sentences about remaining steps; a watch that notifies no channel is useless. */
function adviceOf(isNotifiedHere: boolean, isNotifiedThere: boolean, base: string): { advice?: string[] } {
  const advice = [
    ...(isNotifiedHere ? [] : [`No channel here is notified when ${base} fails: create one`]),
    ...(isNotifiedThere ? [] : [`No channel of ${base} is notified when this installation fails: create one there`]),
  ];
  return advice.length === 0 ? {} : { advice };
}

/** Time limits for the first pings: the canary begins within a few checks. */
const WAIT_CHECKS = 4;
const WAIT_MS = 120_000;
const ASK_EVERY_MS = 500;

/** Waits for the first ping to arrive at an address and, if there is a heartbeat, for the peer's first one here. */
async function awaitPings(
  { database, environment, nowMs }: CommandContext,
  { origin, name }: Pick<CanaryAddress, 'origin' | 'name'>,
  heartbeat: { tenantId: string; id: string } | null,
): Promise<{ first_ping_sent: true; first_ping_received?: true }> {
  process.stderr.write('Waiting for the first pings, up to a few minutes\n');
  const { seconds, target } = environment.canary;
  const untilMs = nowMs + WAIT_MS + WAIT_CHECKS * seconds * 1000;
  for (;;) {
    const address = (await listCanaryAddresses(database)).find((each) => each.origin === origin && each.name === name);
    const isSent = (address?.pingedAtMs ?? 0) >= nowMs;
    const isReceived = heartbeat === null || (await findMonitor(database, heartbeat))?.monitor.state === 'up';
    if (isSent && isReceived) return { first_ping_sent: true, ...(heartbeat && { first_ping_received: true }) };
    if (Date.now() > untilMs) {
      const canary = await findCanary(database);
      const canaryUrl = `${target ?? environment.publicUrl}${CANARY_PATH}`;
      throw new Refusal(
        isSent
          ? `It is set up, but no ping has come from ${name}: its log says why (canary.stuck, delivery.attempted)`
          : `It is set up, but no ping has arrived at ${name}: ` +
              (address?.error ??
                canary?.reason ??
                `is every process running, and does each check process reach ${canaryUrl}?`),
      );
    }
    await delay(ASK_EVERY_MS);
  }
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
