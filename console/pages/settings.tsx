import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { signedIn } from '../client/session-state.ts';
import { ButtonLink } from '../parts/button.tsx';
import { Tabs } from '../parts/choice-fields.tsx';
import { Empty, Page } from '../parts/page.tsx';
import type { PageProps } from '../paths.ts';
import { AccountSettings } from './settings/account.tsx';
import { AuditLogSettings } from './settings/audit-log.tsx';
import { MemberSettings } from './settings/members.tsx';
import { PingKeySettings } from './settings/ping-key.tsx';
import { SessionSettings } from './settings/sessions.tsx';
import { TokenSettings } from './settings/tokens.tsx';
import { UsageSettings } from './settings/usage.tsx';

type Part = {
  section: string;
  label: string;
  Shown: ComponentType<{ query: PageProps['query'] }>;
  forOwners?: boolean;
};

const PARTS: readonly Part[] = [
  { section: 'account', label: 'Profile', Shown: AccountSettings },
  { section: 'sessions', label: 'Sessions', Shown: SessionSettings },
  { section: 'tokens', label: 'API tokens', Shown: TokenSettings, forOwners: true },
  { section: 'ping-key', label: 'Ping key', Shown: PingKeySettings },
  { section: 'members', label: 'Members', Shown: MemberSettings },
  { section: 'usage', label: 'Plan and usage', Shown: UsageSettings },
  { section: 'audit-log', label: 'Audit log', Shown: AuditLogSettings, forOwners: true },
];

/** The page of settings for the user and the account; each section has its own address. */
export function SettingsPage({ params, query }: PageProps) {
  const { user, tenant } = signedIn();
  const isOwner = user.role === 'owner';
  const wanted = params['section'] ?? 'account';
  const part = PARTS.find(({ section }) => section === wanted);
  const tabs = PARTS.filter(({ forOwners = false }) => isOwner || !forOwners).map(({ section, label }) => ({
    href: hrefOf(section),
    label,
  }));
  useEffect(() => {
    // On a phone not all tabs are visible.
    document
      .querySelector('nav[aria-label="Settings"] [aria-current]')
      ?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, []);
  return (
    <Page title="Settings" lead={tenant.name}>
      <Tabs label="Settings" tabs={tabs} current={hrefOf(wanted)} />
      {part === undefined ? (
        <Empty icon="search" title="Page not found" action={<ButtonLink href="/settings">All settings</ButtonLink>}>
          Check the address.
        </Empty>
      ) : part.forOwners === true && !isOwner ? (
        <Empty icon="key" title="Owners only">
          You are {user.role === 'editor' ? 'an editor' : 'a viewer'} of {tenant.name}. Ask an owner for access.
        </Empty>
      ) : (
        <part.Shown query={query} />
      )}
    </Page>
  );
}

function hrefOf(section: string): string {
  return `/settings/${section}`;
}
