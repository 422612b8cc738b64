import { z } from 'zod';

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

/** A variable's schema from a parser that returns null for text it does not accept; `expected` completes "expected ...". */
export function variable<T>(expected: string, parse: (text: string) => T | null) {
  return z.string(expected).transform((text, context) => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

/** Marks a schema whose value must not be repeated in messages. */
export function secret<T extends z.ZodType>(schema: T): T {
  return schema.meta({ secret: true });
}

/** Drops empty variables: `PORT=` in an .env file means the same as no line at all. */
export function withoutEmpty(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1].trim() !== ''));
}

/** Turns what a schema of variables has against an environment into problems; none without an error. */
export function problemsOf(error: z.ZodError | undefined, shape: z.ZodRawShape, env: Record<string, string>): Problem[] {
  return (error?.issues ?? []).map((issue) => {
    const name = String(issue.path[0]);
    const hidden = z.globalRegistry.get(shape[name] as z.ZodType)?.['secret'] === true;
    return { name, expected: issue.message, received: hidden ? null : (env[name] ?? null) };
  });
}

function describeProblem({ name, expected, received }: Problem): string {
  return `  ${name}: expected ${expected}${received === null ? '' : `, got ${JSON.stringify(received)}`}`;
}
