/**
 * Addresses of the console's pages; `:id` matches one segment. The server responds to these with the console, and to
 * unknown ones with 404. Links in alerts use them as well.
 */
export const PATHS = {
  overview: '/',
  monitors: '/monitors',
  monitorNew: '/monitors/new',
  monitor: '/monitors/:id',
  monitorEdit: '/monitors/:id/edit',
  incidents: '/incidents',
  incident: '/incidents/:id',
  channels: '/channels',
  channelNew: '/channels/new',
  channel: '/channels/:id',
  agents: '/agents',
  agentNew: '/agents/new',
  agent: '/agents/:id',
  maintenance: '/maintenance',
  maintenanceNew: '/maintenance/new',
  maintenanceWindow: '/maintenance/:id',
  maintenanceEdit: '/maintenance/:id/edit',
  reports: '/reports',
  report: '/reports/:id',
  settings: '/settings',
  settingsSection: '/settings/:section',
  fleet: '/fleet',
  docs: '/docs',
  wall: '/wall',
  signIn: '/sign-in',
  invitation: '/invitations/:token',
} as const;

/** Sections of the settings, with their content. */
export const SETTINGS: readonly { section: string; label: string; about: string; forOwners?: boolean }[] = [
  { section: 'account', label: 'Profile', about: 'Name, password, two-factor authentication, time zone' },
  { section: 'sessions', label: 'Sessions', about: 'Where you are signed in' },
  { section: 'tokens', label: 'API tokens', about: 'Access for programs', forOwners: true },
  { section: 'ping-key', label: 'Ping key', about: 'Heartbeats that their first ping creates' },
  { section: 'members', label: 'Members', about: 'Invitations, roles, account name' },
  { section: 'usage', label: 'Plan and usage', about: 'Limits' },
  { section: 'audit-log', label: 'Audit log', about: 'History of changes', forOwners: true },
];

/** The name of a page. */
export type PageName = keyof typeof PATHS;

/** The properties of every page: the parameters of its address, and the query. */
export type PageProps = { params: Readonly<Record<string, string>>; query: Readonly<Record<string, string>> };
