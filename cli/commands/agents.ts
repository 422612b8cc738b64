import type { Command } from 'commander';
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
import { getTenant, parseName, type WithDatabase } from '../with-database.ts';

type CreateOptions = { tenant: string; name: string; region?: string; json?: boolean };

type RetireOptions = { region: string; moveTo?: string; yes?: boolean; json?: boolean };

/** Adds `agent create`, `agent list`, `agent revoke`, `agent rotate`, `agent retire` and `agent restore`. */
export function addAgentCommands(program: Command, withDatabase: WithDatabase): void {
  const agent = program.command('agent').description("customers' agents, and the regions of shared ones");
  agent
    .command('create')
    .description('make an agent of a tenant; its token is shown once')
    .requiredOption('--tenant <id>', 'whose agent')
    .requiredOption('--name <name>', 'what people call it', parseName)
    .option('--region <region>', 'where it stands', parseName)
    .option('--json', 'print JSON')
    .action(async (options: CreateOptions) => {
      print(await makeAgent(options, withDatabase), options);
    });
  agent
    .command('list')
    .description('the agents that a tenant may use')
    .requiredOption('--tenant <id>', 'whose agents')
    .option('--json', 'print JSON')
    .action(async (options: { tenant: string; json?: boolean }) => {
      const agents = await withDatabase(async ({ database }) =>
        listAgents(database, { tenantId: (await getTenant(database, options.tenant)).id }),
      );
      print(
        agents.map(({ id, kind, name, region, lastSeenAt }) => ({ id, kind, name, region, last_seen_at: lastSeenAt })),
        options,
      );
    });
  agent
    .command('revoke')
    .description("end an agent's token at once; it stays with its monitors")
    .requiredOption('--id <id>', 'the agent')
    .option('--json', 'print JSON')
    .action(async (options: { id: string; json?: boolean }) => {
      const revoked = await withDatabase(({ database, author, nowMs }) =>
        revokeAgent(database, { id: options.id, nowMs, author: author('agent.revoked') }),
      );
      if (!revoked) throw new Refusal(`There is no customer's agent ${options.id} with a token that is still good`);
      print({ id: options.id, revoked: true }, options);
    });
  agent
    .command('rotate')
    .description(
      'give an agent a new token, shown once; the old one ends at once, and the key that secrets were sealed to ' +
        'is forgotten',
    )
    .requiredOption('--id <id>', 'the agent')
    .option('--json', 'print JSON')
    .action(async (options: { id: string; json?: boolean }) => {
      const token = generateToken('spa');
      const rotation = { id: options.id, tokenFingerprint: fingerprintOf(token) };
      const rotated = await withDatabase(({ database, author }) =>
        rotateAgentToken(database, { ...rotation, author: author('agent.token_rotated') }),
      );
      if (!rotated) throw new Refusal(`There is no customer's agent ${options.id}`);
      print({ id: options.id, token }, options);
    });
  agent
    .command('retire')
    .description('give up the region of a shared agent: prints what that does to its monitors, and does it with --yes')
    .requiredOption('--region <region>', 'which region')
    .option(
      '--move-to <region>',
      'the region that its monitors get instead; without it those that have no other go to one that is alive',
    )
    .option('--yes', 'do it')
    .option('--json', 'print JSON')
    .action(async (options: RetireOptions) => {
      print(await retire(options, withDatabase), options);
    });
  agent
    .command('restore')
    .description('take back that a region was given up')
    .requiredOption('--region <region>', 'which region')
    .option('--json', 'print JSON')
    .action(async (options: { region: string; json?: boolean }) => {
      const restored = await withDatabase(({ database }) => restoreRegion(database, options.region));
      if (!restored) throw new Refusal(`No region ${options.region} is given up`);
      print({ region: options.region, restored: true }, options);
    });
}

/** The running service brings the queue in line with the database within seconds. */
async function retire(
  { region, moveTo: target, yes = false }: RetireOptions,
  withDatabase: WithDatabase,
): Promise<Record<string, unknown>> {
  const moveTo = target ?? null;
  return await withDatabase(async ({ database, newId, nowMs }) => {
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
      moved_to: moveTo ?? (plan.moved === 0 ? null : 'a region that is alive, chosen for each'),
      down_min_sources_lowered: plan.quorumLowered,
      retired: isRetired,
      ...(!isRetired && { next: 'nothing is done yet: add --yes' }),
    };
  });
}

function granted<Result extends object>(
  outcome: Result | RetirementObstacle,
  { region, moveTo }: { region: string; moveTo: string | null },
): Result {
  if (typeof outcome !== 'string') return outcome;
  const reasons = {
    'no such region': `There is no shared agent of the region ${region}`,
    'no such target': `--move-to must be another region of a shared agent that is not given up, got ${moveTo}`,
    'target is away':
      `No check process of ${moveTo} was seen lately, so that nobody would check monitors moved there: start one ` +
      'first',
    'nowhere to go':
      `Some monitors are watched from ${region} alone, and there is no other region alive that they could go to: ` +
      'start a check process of one first',
  } as const satisfies Record<RetirementObstacle, string>;
  throw new Refusal(reasons[outcome]);
}

async function makeAgent(
  { tenant: tenantId, name, region = null }: { tenant: string; name: string; region?: string | null },
  withDatabase: WithDatabase,
): Promise<Record<string, unknown>> {
  return await withDatabase(async ({ database, author, environment, newId, nowMs }) => {
    const tenant = await getTenant(database, tenantId);
    const limit = PLAN_LIMITS[tenant.plan].ownAgents;
    const token = generateToken('spa');
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
        `The plan ${tenant.plan} allows ${limit === 1 ? '1 agent' : `${limit} agents`} of its own, and ` +
          `${tenantId} has as many: delete one first`,
      );
    return { id: agent.id, token, name, region };
  });
}
