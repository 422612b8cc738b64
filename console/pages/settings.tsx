import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { api, type Schemas } from '../client/api.ts';
import { signedIn } from '../client/session-state.ts';
import { ButtonLink } from '../parts/button.tsx';
import { Tabs } from '../parts/choice-fields.tsx';
import { formatNumber } from '../parts/figures.ts';
import { Loaded, useLoad } from '../parts/load.tsx';
import { Card, Empty, Page, Section } from '../parts/page.tsx';
import { PingKeySettings } from '../parts/ping-key.tsx';
import { formatDuration } from '../parts/time.tsx';
import { SETTINGS, type PageProps } from '../paths.ts';
import { AccountSettings } from './settings/account.tsx';
import { AuditLogSettings } from './settings/audit-log.tsx';
import { MemberSettings } from './settings/members.tsx';
import { SessionSettings } from './settings/sessions.tsx';
import { TokenSettings } from './settings/tokens.tsx';

const SHOWN: Readonly<Record<string, ComponentType<{ query: PageProps['query'] }>>> = {
  account: AccountSettings,
  sessions: SessionSettings,
  tokens: TokenSettings,
  'ping-key': PingKeySettings,
  members: MemberSettings,
  usage: UsageSettings,
  'audit-log': AuditLogSettings,
};

/** The page of settings for the user and the account; each section has its own address. */
export function SettingsPage({ params, query }: PageProps) {
  const { user, tenant } = signedIn();
  const isOwner = user.role === 'owner';
  const wanted = params['section'] ?? 'account';
  const part = SETTINGS.find(({ section }) => section === wanted);
  const Shown = SHOWN[wanted];
  const tabs = SETTINGS.filter(({ forOwners = false }) => isOwner || !forOwners).map(({ section, label }) => ({
    href: hrefOf(section),
    label,
  }));
  useEffect(() => {
    // On a phone some tabs are out of view.
    document
      .querySelector('nav[aria-label="Settings"] [aria-current]')
      ?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, []);
  return (
    <Page title="Settings" lead={tenant.name}>
      <Tabs label="Settings" tabs={tabs} current={hrefOf(wanted)} />
      {part === undefined || Shown === undefined ? (
        <Empty icon="search" title="Page not found" action={<ButtonLink href="/settings">All settings</ButtonLink>}>
          Check the address.
        </Empty>
      ) : part.forOwners === true && !isOwner ? (
        <Empty icon="key" title="Owners only">
          You are {user.role === 'editor' ? 'an editor' : 'a viewer'} of {tenant.name}. Ask an owner for access.
        </Empty>
      ) : (
        <Shown query={query} />
      )}
    </Page>
  );
}

function hrefOf(section: string): string {
  return `/settings/${section}`;
}

type Usage = Schemas['Usage'];

const PLANS: Record<Usage['plan'], string> = { free: 'Free', solo: 'Solo', pro: 'Pro' };

const COUNTED = [
  ['monitors', 'Monitors'],
  ['own_agents', 'Private agents'],
  ['tokens', 'API tokens'],
] as const;

/** Share of a limit from which a bar is a warning. */
const NEARLY_ALL = 0.9;

/** The limits of the plan, and how much of them is used. */
function UsageSettings() {
  const load = useLoad((signal) => api.get('/usage', { signal }), []);
  return (
    <Loaded load={load}>
      {(usage) => (
        <Section title={`${PLANS[usage.plan]} plan`} lead="Contact your administrator to change plan.">
          <div class="grid gap-4 md:grid-cols-2">
            <Card>
              <h3 class="mb-3 text-sm font-medium">Usage</h3>
              <dl class="grid gap-4">
                {COUNTED.map(([name, label]) => (
                  <Counted key={name} label={label} used={usage.used[name]} limit={usage.limits[name]} />
                ))}
                <Row label="Channels" value={formatNumber(usage.used.channels)} />
                <Row label="Members" value={formatNumber(usage.used.members)} />
              </dl>
            </Card>
            <Card>
              <h3 class="mb-3 text-sm font-medium">Limits</h3>
              <dl class="grid gap-3">
                <Row label="Minimum interval" value={formatDuration(usage.limits.min_interval_seconds)} />
                <Row label="Raw result retention" value={`${usage.limits.result_days} days`} />
                <Row label="API requests" value={`${formatNumber(usage.limits.requests_per_minute)}/min per token`} />
              </dl>
            </Card>
          </div>
        </Section>
      )}
    </Loaded>
  );
}

function Counted({ label, used, limit }: { label: string; used: number; limit: number | null }) {
  const share = limit === null ? null : limit === 0 ? 1 : Math.min(1, used / limit);
  return (
    <Row label={label} value={limit === null ? formatNumber(used) : `${formatNumber(used)} of ${formatNumber(limit)}`}>
      {share !== null && (
        <dd class="mt-1.5 h-1.5 basis-full overflow-hidden rounded-full bg-nothing" aria-hidden="true">
          <span
            class={`block h-full rounded-full ${share >= NEARLY_ALL ? 'bg-degraded-fill' : 'bg-accent'}`}
            style={{ width: `${share * 100}%` }}
          />
        </dd>
      )}
    </Row>
  );
}

function Row({ label, value, children }: { label: string; value: string; children?: ComponentChildren }) {
  return (
    <div class="flex flex-wrap items-baseline justify-between gap-x-4 text-sm">
      <dt class="text-soft">{label}</dt>
      <dd class="text-right">{value}</dd>
      {children}
    </div>
  );
}
