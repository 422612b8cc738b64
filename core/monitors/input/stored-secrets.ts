import type { Problem } from '../../input.ts';

/** Refuses to keep a stored secret, `field`, for a target for which it was not stored (D-69). */
export function refuseMoved(field: string, problems: Problem[]): void {
  const rule =
    'stored secrets are kept only while the scheme, host and port of target and the Host header stay the same';
  problems.push({ field, message: `${field} must be sent again in full: ${rule}` });
}

/** A value that may be secret, as sent, and the stored secret that may be kept. */
type SecretValue = {
  field: string;
  keys: { value: string; secret: string; preserve: string };
  value: string | undefined;
  isSecret: boolean | undefined;
  preserves: boolean | undefined;
  stored: string | undefined;
};

/**
 * Returns the secret to store. It is the one sent, or else the stored one, so that a read can be sent back; undefined
 * for a plain value, and after a problem.
 */
export function preserveOrReplace(
  { field, keys, value, isSecret, preserves, stored }: SecretValue,
  problems: Problem[],
): string | undefined {
  const complain = (key: string, rest: string): undefined => {
    problems.push({ field: `${field}.${key}`, message: `${field}.${key} ${rest}` });
  };
  if (!isSecret) return preserves ? complain(keys.preserve, `requires ${keys.secret} to be true`) : undefined;
  if (preserves && value !== undefined)
    return complain(keys.value, `must be omitted when ${keys.preserve} is true, which keeps the stored value`);
  if (preserves) return stored ?? complain(keys.preserve, 'has nothing to keep: no secret value is stored');
  return (
    value ?? stored ?? complain(keys.value, `is required when ${keys.secret} is true, unless ${keys.preserve} is true`)
  );
}
