import { z } from 'zod';
import { httpUrl, logLevel, type LogLevel } from './environment.ts';
import { ConfigurationError, problemsOf, secret, variable, withoutEmpty } from './variables.ts';

/** The configuration of the customer's agent: where the service is and who the agent is there. */
export type AgentEnvironment = Readonly<{ serviceUrl: string; agentToken: string; logLevel: LogLevel }>;

const VARIABLES = z.object({
  SPOTCHECK_URL: httpUrl,
  SPOTCHECK_AGENT_TOKEN: secret(variable('spa_ and then letters, digits, - or _', (value) => (/^spa_[A-Za-z0-9_-]{1,200}$/.test(value) ? value : null))),
  LOG_LEVEL: logLevel.default('info'),
});

/** Reads the agent's configuration from an environment; throws a `ConfigurationError` that names everything that is wrong. */
export function readAgentEnvironment(env: NodeJS.ProcessEnv): AgentEnvironment {
  const given = withoutEmpty(env);
  const parsed = VARIABLES.safeParse(given);
  if (!parsed.success) throw new ConfigurationError(problemsOf(parsed.error, VARIABLES.shape, given));
  return Object.freeze({ serviceUrl: parsed.data.SPOTCHECK_URL, agentToken: parsed.data.SPOTCHECK_AGENT_TOKEN, logLevel: parsed.data.LOG_LEVEL });
}
