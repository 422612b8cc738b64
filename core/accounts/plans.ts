/** The plans that an account can have (D-60). */
export const PLANS = ['free', 'solo', 'pro'] as const;
export type Plan = (typeof PLANS)[number];

/** What a plan allows. */
export type PlanLimits = {
  /** Monitors per account. */
  monitors: number;
  /** The shortest interval of a monitor, in seconds. */
  minIntervalSeconds: number;
  /** Agents of the account's own. */
  ownAgents: number;
  /** API tokens per account. */
  tokens: number;
  /** API requests per token. */
  requestsPerMinute: number;
  /** How long single results are kept, in days. */
  resultDays: number;
};

/**
 * The limits of each plan (D-60). Whether the counts of monitors and own agents apply is configuration; tokens and
 * rates always do.
 */
export const PLAN_LIMITS = {
  free: { monitors: 20, minIntervalSeconds: 60, ownAgents: 1, tokens: 2, requestsPerMinute: 60, resultDays: 7 },
  solo: { monitors: 100, minIntervalSeconds: 30, ownAgents: 3, tokens: 10, requestsPerMinute: 600, resultDays: 30 },
  pro: { monitors: 1000, minIntervalSeconds: 1, ownAgents: 50, tokens: 10, requestsPerMinute: 600, resultDays: 90 },
} as const satisfies Record<Plan, PlanLimits>;
