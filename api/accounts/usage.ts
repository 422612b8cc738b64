import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { countUsage } from '../../models/accounts/tenants.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { callerOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** `GET /usage` */
export function getUsageHandler({ database, config, now }: Parts<'database' | 'config' | 'now'>): Handler<'getUsage'> {
  return async (_request, response) => {
    const { tenantId, plan } = callerOf(response);
    const limits = PLAN_LIMITS[plan];
    const used = await countUsage(database, tenantId, now());
    const usage: components['schemas']['Usage'] = {
      plan,
      limits: {
        monitors: config.planCountLimits ? limits.monitors : null,
        own_agents: config.planCountLimits ? limits.ownAgents : null,
        tokens: limits.tokens,
        requests_per_minute: limits.requestsPerMinute,
        min_interval_seconds: limits.minIntervalSeconds,
        result_days: limits.resultDays,
      },
      used: {
        monitors: used.monitors,
        own_agents: used.ownAgents,
        tokens: used.tokens,
        channels: used.channels,
        members: used.members,
      },
    };
    response.json(usage);
  };
}
