import type { Session } from '../../models/accounts/sessions.ts';
import type { User } from '../../models/accounts/user-row.ts';
import type { SessionCaller } from '../caller.ts';
import type { ApiConfig } from '../dependencies.ts';
import type { components } from '../schema.generated.ts';
import { csrfTokenOf } from './session/csrf.ts';

type Schemas = components['schemas'];

export function presentUser(user: User, recoveryCodesLeft: number): Schemas['SessionUser'] {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    role: user.role,
    is_operator: user.isOperator,
    theme: user.theme,
    totp_enabled: user.totpConfirmedAt !== null,
    recovery_codes_left: recoveryCodesLeft,
    password_changed_at: user.passwordChangedAt,
    last_signed_in_at: user.lastSignedInAt,
    created_at: user.createdAt,
  };
}

type SignedIn = Pick<SessionCaller, 'user' | 'tenant' | 'sessionId' | 'secret'>;

export function presentSignedIn(
  { user, tenant, sessionId, secret }: SignedIn,
  recoveryCodesLeft: number,
  config: ApiConfig,
): Schemas['SignedIn'] {
  return {
    user: presentUser(user, recoveryCodesLeft),
    tenant: { id: tenant.id, name: tenant.name, plan: tenant.plan },
    session_id: sessionId,
    csrf_token: csrfTokenOf(secret),
    chats: { telegram: config.telegramBotName !== null, slack: config.slackClientId !== null },
  };
}

export function presentSession(
  { id, createdAt, lastSeenAt, expiresAt, address, userAgent }: Session,
  currentId: string,
): Schemas['Session'] {
  return {
    id,
    created_at: createdAt,
    last_seen_at: lastSeenAt,
    expires_at: expiresAt,
    address,
    user_agent: userAgent,
    is_current: id === currentId,
  };
}
