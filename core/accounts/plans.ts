/** The plans that an account can have (D-60). */
export const PLANS = ['free', 'solo', 'pro'] as const;
export type Plan = (typeof PLANS)[number];

/** Limits of a plan. */
type PlanLimits = {
  /** Monitors per account. */
  monitors: number;
  /** Shortest interval of a monitor, in seconds. */
  minIntervalSeconds: number;
  /** Private agents per account. */
  ownAgents: number;
  /** API tokens per account. */
  tokens: number;
  /** API requests per token. */
  requestsPerMinute: number;
  /** Retention of single results, in days. */
  resultDays: number;
};

/**
 * Limits of each plan (D-60). Whether the counts of monitors and own agents apply is configurable; tokens and rates
 * always do.
 */
export const PLAN_LIMITS = {
  free: { monitors: 20, minIntervalSeconds: 60, ownAgents: 1, tokens: 2, requestsPerMinute: 60, resultDays: 7 },
  solo: { monitors: 100, minIntervalSeconds: 30, ownAgents: 3, tokens: 10, requestsPerMinute: 600, resultDays: 30 },
  pro: { monitors: 1000, minIntervalSeconds: 1, ownAgents: 50, tokens: 10, requestsPerMinute: 600, resultDays: 90 },
} as const satisfies Record<Plan, PlanLimits>;
