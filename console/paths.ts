/**
 * The addresses of the console's pages; `:id` stands for one segment. The server answers these with the page, and
 * everything else that is not served with 404. What links in alerts lead to is among them.
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
  reports: '/reports',
  report: '/reports/:id',
  settings: '/settings',
  settingsSection: '/settings/:section',
  fleet: '/fleet',
  docs: '/docs',
  signIn: '/sign-in',
  invitation: '/invitations/:token',
} as const;

/** A page by its name. */
export type PageName = keyof typeof PATHS;

/** What every page is given: what stood in its address, and the query. */
export type PageProps = { params: Readonly<Record<string, string>>; query: Readonly<Record<string, string>> };
