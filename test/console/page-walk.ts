import type { Locator, Page } from 'playwright-core';
import type { PageName } from '../../console/paths.ts';
import type { Furnished } from '../attackers/furnished-account.ts';

/**
 * A dialog of a page: `by` opens it, from the menu of button `within` if given. `leads` is a further dialog with
 * content shown once, and the question `asks` before it closes.
 */
export type WalkedDialog = {
  title: RegExp;
  by: (page: Page) => Locator;
  within?: (page: Page) => Locator;
  leads?: { press: string; title: RegExp; asks: RegExp };
};

/** Path of a page, a text that appears once it is complete, and its dialogs. */
export type PageView = { path: string; shows: string | RegExp; dialogs?: readonly WalkedDialog[] };

/** A page and its views; `isOpen` marks pages for signed-out users. */
export type WalkedPage = {
  isOpen?: boolean;
  views: (ids: Record<keyof Furnished['ids'], string>) => readonly PageView[];
};

const button = (name: string | RegExp) => (page: Page) => page.locator('main').getByRole('button', { name }).first();

/** Every page of the console, at least once each. */
export const WALK: Record<PageName, WalkedPage> = {
  overview: { views: () => [{ path: '/', shows: /Down for/ }] },
  monitors: { views: () => [{ path: '/monitors?sort=name', shows: /Down for/ }] },
  monitorNew: {
    views: () => [
      { path: '/monitors/new', shows: 'Monitor type' },
      { path: '/monitors/new?type=dns', shows: 'Name to look up' },
    ],
  },
  monitor: {
    views: ({ monitor }) => [
      {
        path: `/monitors/${monitor}`,
        shows: 'Secret headers',
        dialogs: [
          { title: /^Delete http/, by: button('Delete'), within: button('More actions') },
          { title: /^Custom range$/, by: button('Custom') },
          { title: /^Maintenance of http/, by: button('Maintenance'), within: button('More actions') },
          { title: /^Start a drill/, by: button('Start a drill') },
        ],
      },
    ],
  },
  monitorEdit: { views: ({ monitor }) => [{ path: `/monitors/${monitor}/edit`, shows: 'Save changes' }] },
  incidents: {
    views: () => [
      { path: '/incidents', shows: /reason/, dialogs: [{ title: /^Choose a monitor$/, by: button('All monitors') }] },
    ],
  },
  incident: {
    views: ({ incident }) => [
      {
        path: `/incidents/${incident}`,
        shows: /^author/,
        dialogs: [{ title: /^Delete this note/, by: button('Delete note') }],
      },
    ],
  },
  channels: { views: () => [{ path: '/channels', shows: /Webhook/ }] },
  channelNew: {
    views: () => [
      { path: '/channels/new', shows: 'Test and save' },
      { path: '/channels/new?type=telegram', shows: /isn’t configured/ },
    ],
  },
  channel: {
    views: ({ channel }) => [
      {
        path: `/channels/${channel}`,
        shows: /^Failed$/,
        dialogs: [
          { title: /./, by: (page) => page.getByRole('table').getByRole('link').first() },
          { title: /^Redeliver failed alerts$/, by: button('Redeliver failed') },
        ],
      },
      { path: `/channels/${channel}?tab=messages`, shows: /^POST https/ },
      {
        path: `/channels/${channel}?tab=drills`,
        shows: /drill/i,
        dialogs: [{ title: /^Start a drill/, by: button('Start a drill') }],
      },
      {
        path: `/channels/${channel}?tab=settings`,
        shows: 'Delete channel',
        dialogs: [
          { title: /^Delete channel/, by: button('Delete channel') },
          {
            title: /^Rotate the signing secret/,
            by: button('Rotate secret'),
            leads: { press: 'Rotate secret', title: /^New signing secret$/, asks: /^Saved the secret/ },
          },
        ],
      },
    ],
  },
  agents: { views: () => [{ path: '/agents', shows: /Run by this service/ }] },
  agentNew: { views: () => [{ path: '/agents/new', shows: 'Create agent' }] },
  agent: {
    views: ({ agent }) => [
      {
        path: `/agents/${agent}`,
        shows: 'Delete agent',
        dialogs: [
          { title: /^Delete agent/, by: button('Delete agent') },
          {
            title: /^Rotate the token of /,
            by: button('Rotate token'),
            leads: { press: 'Rotate token', title: /^New token$/, asks: /^Saved the command/ },
          },
        ],
      },
    ],
  },
  maintenance: {
    views: () => [
      { path: '/maintenance', shows: /Every day/ },
      { path: '/maintenance?view=calendar', shows: 'Occurrences are planned 60 days ahead.' },
    ],
  },
  maintenanceNew: { views: () => [{ path: '/maintenance/new', shows: 'Plan maintenance' }] },
  maintenanceWindow: {
    views: ({ maintenance }) => [
      {
        path: `/maintenance/${maintenance}`,
        shows: 'Planned 60 days ahead',
        dialogs: [
          { title: /^End .* now/, by: button('End now') },
          { title: /^Extend /, by: button('Extend') },
          { title: /^Skip the next/, by: button('Skip next') },
          { title: /^Delete /, by: button('Delete') },
        ],
      },
    ],
  },
  maintenanceEdit: {
    views: ({ maintenance }) => [{ path: `/maintenance/${maintenance}/edit`, shows: 'Save changes' }],
  },
  reports: { views: () => [{ path: '/reports', shows: /2026/ }] },
  report: { views: ({ report }) => [{ path: `/reports/${report}`, shows: 'All monitors' }] },
  settings: { views: () => [{ path: '/settings', shows: 'Two-factor authentication' }] },
  settingsSection: {
    views: () => [
      {
        path: '/settings/account',
        shows: 'Two-factor authentication',
        dialogs: [
          { title: /^New recovery codes$/, by: button('New recovery codes') },
          { title: /^Turn off two-factor/, by: button('Turn off') },
        ],
      },
      {
        path: '/settings/sessions',
        shows: 'Current session',
        dialogs: [{ title: /^Sign out other sessions/, by: button('Sign out other sessions') }],
      },
      {
        path: '/settings/tokens',
        shows: /in use/,
        dialogs: [
          { title: /^New API token$/, by: button('New token') },
          { title: /^Revoke /, by: button(/^Revoke/) },
        ],
      },
      {
        path: '/settings/members',
        shows: /valid for 7 days/,
        dialogs: [
          { title: /^Invite a member$/, by: button('Invite') },
          { title: /^Remove /, by: button(/^Remove/) },
          { title: /^Revoke the invitation/, by: button(/^Revoke the invitation/) },
        ],
      },
      { path: '/settings/ping-key', shows: 'No ping key yet' },
      { path: '/settings/usage', shows: 'API requests' },
      { path: '/settings/audit-log', shows: /Stored for 400 days/ },
    ],
  },
  fleet: {
    views: () => [{ path: '/fleet', shows: 'evaluate', dialogs: [{ title: /^Retire /, by: button(/^Retire/) }] }],
  },
  docs: {
    views: () => [
      { path: '/docs', shows: 'List incidents' },
      { path: '/docs?operation=createMonitor', shows: 'Send request' },
    ],
  },
  wall: { isOpen: true, views: () => [{ path: '/wall', shows: 'Sign in to see the wallboard' }] },
  signIn: { isOpen: true, views: () => [{ path: '/sign-in', shows: 'Password' }] },
  invitation: {
    isOpen: true,
    views: () => [{ path: '/invitations/nobody-has-this-one', shows: 'Invitation expired' }],
  },
};
