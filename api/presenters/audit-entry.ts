import type { AuditEntry } from '../../core/audit/entry.ts';
import type { components } from '../schema.generated.ts';

/** An entry of the audit log. */
export function presentAuditEntry({
  id,
  at,
  actor,
  action,
  object,
  changes,
  address,
}: AuditEntry): components['schemas']['AuditEntry'] {
  return {
    id,
    at,
    actor,
    action,
    object,
    changes: { ...changes } as components['schemas']['AuditEntry']['changes'],
    address,
  };
}
