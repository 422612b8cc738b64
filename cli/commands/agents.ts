import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { generateToken } from '../../models/accounts/api-tokens.ts';
import { createAgentWithin, listAgents, revokeAgent, rotateAgentToken } from '../../models/agents/agents.ts';
import {
  planRetirement,
  restoreRegion,
  retireRegion,
  type RetirementObstacle,
} from '../../models/agents/retired-regions.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { print, Refusal } from '../output.ts';
import { getTenant, withDatabase } from '../with-database.ts';

type CreateOptions = { tenant: string; name: string; region?: string; json?: boolean };

type RetireOptions = { region: string; moveTo?: string; yes?: boolean; json?: boolean };

/** `agent create`: creates an agent of a tenant, and its token. */
export async function makeAgent(options: CreateOptions): Promise<void> {
  const { tenant: tenantId, name, region = null } = options;
  const made = await withDatabase(async ({ database, author, environment, newId, nowMs }) => {
    const tenant = await getTenant(database, tenantId);
    const limit = PLAN_LIMITS[tenant.plan].ownAgents;
    const token = generateToken('spa', environment.cell);
    const agent = await createAgentWithin(
      database,
      {
        id: newId('agt'),
        tenantId,
        name,
        region,
        tokenFingerprint: fingerprintOf(token),
        nowMs,
        author: author('agent.created'),
      },
      environment.planCountLimits ? limit : null,
    );
    if (agent === null)
      throw new Refusal(
        `The ${tenant.plan} plan allows at most ${limit === 1 ? '1 private agent' : `${limit} private agents`}, and ` +
          `${tenantId} has reached the limit: delete one first`,
      );
    return { id: agent.id, token, name, region };
  });
  print(made, options);
}

/** `agent list`: prints the agents that a tenant may use. */
export async function printAgents(options: { tenant: string; json?: boolean }): Promise<void> {
  const agents = await withDatabase(async ({ database }) =>
    listAgents(database, { tenantId: (await getTenant(database, options.tenant)).id }),
  );
  print(
    agents.map(({ id, kind, name, region, lastSeenAt }) => ({ id, kind, name, region, last_seen_at: lastSeenAt })),
    options,
  );
}

/** `agent revoke`: revokes an agent's token. */
export async function revoke(options: { id: string; json?: boolean }): Promise<void> {
  const revoked = await withDatabase(({ database, author, nowMs }) =>
    revokeAgent(database, { id: options.id, nowMs, author: author('agent.revoked') }),
  );
  if (!revoked) throw new Refusal(`No private agent ${options.id} with a valid token was found`);
  print({ id: options.id, revoked: true }, options);
}

/** `agent rotate`: replaces an agent's token. */
export async function rotate(options: { id: string; json?: boolean }): Promise<void> {
  const { id } = options;
  const rotated = await withDatabase(async ({ database, author, environment }) => {
    const token = generateToken('spa', environment.cell);
    const rotation = { id, tokenFingerprint: fingerprintOf(token), author: author('agent.token_rotated') };
    return (await rotateAgentToken(database, rotation)) ? { id, token } : null;
  });
  if (rotated === null) throw new Refusal(`No private agent ${id} was found`);
  print(rotated, options);
}

/** `agent retire`: retires the region of a shared agent. The running service reconciles the queue within seconds. */
export async function retire(options: RetireOptions): Promise<void> {
  const { region, moveTo: target, yes = false } = options;
  const moveTo = target ?? null;
  const outcome = await withDatabase(async ({ database, newId, nowMs }) => {
    const plan = granted(await planRetirement(database, { region, moveTo, nowMs }), { region, moveTo });
    const done = yes
      ? granted(await retireRegion(database, { region, moveTo, nowMs, newId, limit: Number.POSITIVE_INFINITY }), {
          region,
          moveTo,
        })
      : null;
    const isRetired = done !== null || (plan.isGivenUp && plan.monitors === 0);
    return {
      region,
      monitors: plan.monitors,
      only_source: plan.onlySource,
      moved: plan.moved,
      moved_to: moveTo ?? (plan.moved === 0 ? null : 'a running region, chosen for each monitor'),
      down_min_sources_lowered: plan.quorumLowered,
      retired: isRetired,
      ...(!isRetired && { next: 'nothing has changed yet: add --yes to apply' }),
      ...(done !== null &&
        done.left > 0 && { left: done.left, next: 'some monitors did not move: repeat the command' }),
    };
  });
  print(outcome, options);
}

/** `agent restore`: reverses the retirement of a region. */
export async function restore(options: { region: string; json?: boolean }): Promise<void> {
  const restored = await withDatabase(({ database }) => restoreRegion(database, options.region));
  if (!restored) throw new Refusal(`The region ${options.region} is not retired`);
  print({ region: options.region, restored: true }, options);
}

function granted<Result extends object>(
  outcome: Result | RetirementObstacle,
  { region, moveTo }: { region: string; moveTo: string | null },
): Result {
  if (typeof outcome !== 'string') return outcome;
  const reasons = {
    'no such region': `There is no shared agent in the region ${region}`,
    'no such target': `--move-to must be another region that has a shared agent and is not retired, got ${moveTo}`,
    'target is away': `No check process is running in ${moveTo}: start one before you move monitors there`,
    'nowhere to go':
      `Some monitors are checked only from ${region}, and no other region is running: start a check process in ` +
      'another region first',
  } as const satisfies Record<RetirementObstacle, string>;
  throw new Refusal(reasons[outcome]);
}
