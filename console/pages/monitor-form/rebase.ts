import { isSame } from './body.ts';
import type { Draft } from './draft.ts';

/** What a draft was made from, and what that has become meanwhile. */
type Bases = { from: Draft; to: Draft };

/**
 * A draft on top of what another person has saved meanwhile. `changed` has the fields that they changed, `kept` those
 * among them that the draft changes as well, and in which it differs from theirs.
 */
export type Rebased = { draft: Draft; changed: readonly (keyof Draft)[]; kept: readonly (keyof Draft)[] };

/** Applies the changes between two bases to a draft, except where the draft has changes of its own. */
export function rebase(draft: Draft, { from, to }: Bases): Rebased {
  const fields = Object.keys(to) as (keyof Draft)[];
  const changed = fields.filter((field) => !isSame(from[field], to[field]));
  const merged = Object.fromEntries(
    changed.map((field) => [field, merge(draft[field], { from: from[field], to: to[field] })]),
  ) as Partial<Draft>;
  return {
    draft: { ...draft, ...merged },
    changed,
    kept: changed.filter((field) => !isSame(merged[field], to[field])),
  };
}

/** Merges the parts of a group, such as headers and body of a request; any other value is one whole. */
function merge(value: unknown, { from, to }: { from: unknown; to: unknown }): unknown {
  if (!isGroup(value) || !isGroup(from) || !isGroup(to)) return isSame(value, from) ? to : value;
  return Object.fromEntries(
    Object.entries(value).map(([part, own]) => [part, isSame(own, from[part]) ? to[part] : own]),
  );
}

function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Removes the values of secrets from a draft, and credentials from its URL. The user enters them again. */
export function withoutSecrets(draft: Draft): Draft {
  const { request, transport } = draft;
  const withoutText = <Text extends { kind: string; text: string }>(secret: Text): Text =>
    secret.kind === 'secret' ? { ...secret, text: '' } : secret;
  return {
    ...draft,
    target: draft.target.replace(/\/\/[^/?#]*@/, '//'),
    request: {
      ...request,
      headers: request.headers.map((header) => (header.kind === 'secret' ? { ...header, value: '' } : header)),
      auth: { ...request.auth, token: '', username: '', password: '' },
      body: withoutText(request.body),
    },
    transport: { ...transport, payload: withoutText(transport.payload) },
  };
}

/** What people call the parts of a draft. */
export const FIELD_LABELS: Readonly<Record<keyof Draft, string>> = {
  type: 'type',
  name: 'name',
  target: 'target',
  interval: 'interval',
  timeout: 'timeout',
  method: 'method',
  expectedStatus: 'expected status',
  bodyMatch: 'body text',
  followRedirects: 'redirects',
  failures: 'failures before alerting',
  successes: 'successes before recovery',
  quorum: 'locations to confirm',
  sources: 'locations',
  slaTarget: 'uptime target',
  sla: 'service hours',
  reopen: 'reopening',
  monthlyDrill: 'monthly drill',
  tags: 'tags',
  grace: 'grace period',
  warnDays: 'expiry warning',
  components: 'components',
  dependencies: 'dependencies',
  parents: 'monitors that it is behind',
  request: 'request',
  assertions: 'assertions',
  transport: 'payload and response',
  ping: 'ping thresholds',
  heartbeat: 'job options',
  dns: 'DNS records',
  channels: 'alert channels',
};
