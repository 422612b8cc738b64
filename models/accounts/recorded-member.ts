import type { FieldChanges } from '../../core/accounts/field-changes.ts';
import type { Run } from '../sql.ts';
import { recordChange, type Recording } from './audit-log.ts';
import { memberObject } from './recorded-fields.ts';

/**
 * Records a change of a person who is known by id alone, in the caller's transaction. `changes` is absent where nothing
 * changed that shows.
 */
export async function recordMemberChange(
  run: Run,
  database: Recording,
  { userId, changes }: { userId: string; changes?: FieldChanges },
): Promise<void> {
  if (database.author === undefined) return;
  const [user] = await run<{ id: string; tenant_id: string; email: string; name: string }>(
    'SELECT id, tenant_id, email, name FROM users WHERE id = $1',
    [userId],
  );
  if (user === undefined) return;
  const object = memberObject(user);
  await recordChange(run, database, {
    tenantId: user.tenant_id,
    object,
    actor: { kind: 'user', id: user.id, name: object.name },
    ...(changes && { changes }),
  });
}
