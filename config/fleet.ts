/**
 * The processes of a fleet by name, each with what Node is started with; the Procfile and the scripts of package.json
 * say the same.
 */
export const FLEET = {
  release: ['cli/spotcheck.ts', 'migrate'],
  web: ['--max-semi-space-size=64', 'api/main.ts'],
  check: ['workers/main.ts', 'check'],
  evaluate: ['workers/main.ts', 'evaluate'],
  deliver: ['workers/main.ts', 'deliver'],
  maintain: ['--max-semi-space-size=4', 'workers/main.ts', 'maintain'],
  clock: ['workers/main.ts', 'clock'],
} as const satisfies Record<string, readonly string[]>;

/** A process that stays up; `release` ends. */
export type ProcessName = Exclude<keyof typeof FLEET, 'release'>;

/** A process that works on the queues, all but the API. */
export type WorkerName = Exclude<ProcessName, 'web'>;
