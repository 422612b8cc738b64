import type { ApiToken } from '../../models/api-tokens.ts';
import type { components } from '../schema.generated.ts';

export function presentToken({
  id,
  name,
  scopes,
  createdAt,
  expiresAt,
  revokedAt,
  lastUsedAt,
}: ApiToken): components['schemas']['ApiToken'] {
  return {
    id,
    name,
    scopes,
    created_at: createdAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
    last_used_at: lastUsedAt,
  };
}
