/**
 * The addresses of the console's pages; `:id` stands for one segment. The server answers these with the console, and
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

/** The name of a page. */
export type PageName = keyof typeof PATHS;

/** The properties of every page: the parameters of its address, and the query. */
export type PageProps = { params: Readonly<Record<string, string>>; query: Readonly<Record<string, string>> };
