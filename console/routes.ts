import type { ComponentType } from 'preact';
import type { PageName, PageProps } from './paths.ts';

/** Loads a page when it is opened. */
export type Page = () => Promise<ComponentType<PageProps>>;

/** The pages for signed-in users, by their name in paths.ts. A page without a row has no navigation entry. */
export const PAGES: Partial<Record<PageName, Page>> = {
  overview: async () => (await import('./pages/overview.tsx')).OverviewPage,
  monitors: async () => (await import('./pages/overview.tsx')).OverviewPage,
  monitorNew: async () => (await import('./pages/monitor-form.tsx')).MonitorFormPage,
  monitorEdit: async () => (await import('./pages/monitor-form.tsx')).MonitorFormPage,
  monitor: async () => (await import('./pages/monitor.tsx')).MonitorPage,
  incidents: async () => (await import('./pages/incidents.tsx')).IncidentsPage,
  incident: async () => (await import('./pages/incidents/incident.tsx')).IncidentPage,
  channels: async () => (await import('./pages/channels.tsx')).ChannelsPage,
  channelNew: async () => (await import('./pages/channels/new.tsx')).ChannelNewPage,
  channel: async () => (await import('./pages/channels/channel.tsx')).ChannelPage,
  agents: async () => (await import('./pages/agents.tsx')).AgentsPage,
  agentNew: async () => (await import('./pages/agents.tsx')).AgentNewPage,
  agent: async () => (await import('./pages/agents/agent.tsx')).AgentPage,
  maintenance: async () => (await import('./pages/maintenance.tsx')).MaintenancePage,
  maintenanceNew: async () => (await import('./pages/maintenance/form.tsx')).WindowFormPage,
  maintenanceEdit: async () => (await import('./pages/maintenance/form.tsx')).WindowFormPage,
  maintenanceWindow: async () => (await import('./pages/maintenance/window.tsx')).WindowPage,
  reports: async () => (await import('./pages/reports.tsx')).ReportsPage,
  report: async () => (await import('./pages/reports/report.tsx')).ReportPage,
  settings: async () => (await import('./pages/settings.tsx')).SettingsPage,
  settingsSection: async () => (await import('./pages/settings.tsx')).SettingsPage,
  fleet: async () => (await import('./pages/fleet.tsx')).FleetPage,
  docs: async () => (await import('./pages/docs.tsx')).DocsPage,
};

/** Pages for users without a session. */
export const OPEN_PAGES: Partial<Record<PageName, Page>> = {
  signIn: async () => (await import('./pages/sign-in.tsx')).SignInPage,
  invitation: async () => (await import('./pages/invitation.tsx')).InvitationPage,
  docs: async () => (await import('./pages/docs.tsx')).DocsPage,
  wall: async () => (await import('./pages/wall.tsx')).WallPage,
};
