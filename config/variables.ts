import { z } from 'zod';
import type { Problem } from './failures.ts';

/**
 * Creates a variable's schema from a parser that returns null for text it does not accept; `expected` completes
 * "expected ...".
 */
export function variable<T>(expected: string, parse: (written: string) => T | null) {
  return z.string(expected).transform((written, context) => {
    const value = parse(written);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

/** Marks a schema whose value must not be repeated in messages. */
export function secret<T extends z.ZodType>(schema: T): T {
  return schema.meta({ secret: true });
}

/**
 * Removes libpq's variables, such as PGSSLMODE and PGOPTIONS, from the environment. The database driver reads them too,
 * but they are meant for other servers than the embedded one, whose URL is complete (D-795).
 */
export function removeServerVariables(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env)) if (/^PG[A-Z]+$/.test(name)) Reflect.deleteProperty(env, name);
}

/** Converts a schema's issues with an environment into problems; empty without an error. */
export function problemsOf(
  error: z.ZodError | undefined,
  shape: z.ZodRawShape,
  env: Record<string, string>,
): Problem[] {
  return (error?.issues ?? []).map((issue) => {
    const name = String(issue.path[0]);
    const hidden = z.globalRegistry.get(shape[name] as z.ZodType)?.['secret'] === true;
    return { name, expected: issue.message, received: hidden ? null : (env[name] ?? null) };
  });
}
