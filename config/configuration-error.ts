/** What is wrong with one variable: what was expected and, unless it is secret, what came. */
export type Problem = { name: string; expected: string; received: string | null };

/** Every problem of a configuration at once, as one text with a line per variable; it never holds a secret value. */
export class ConfigurationError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(['The configuration is not usable:', ...problems.map(describeProblem)].join('\n'));
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}

/** Drops empty variables: `PORT=` in an .env file means the same as no line at all. */
export function withoutEmpty(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1].trim() !== ''),
  );
}

function describeProblem({ name, expected, received }: Problem): string {
  return `  ${name}: expected ${expected}${received === null ? '' : `, got ${JSON.stringify(received)}`}`;
}
