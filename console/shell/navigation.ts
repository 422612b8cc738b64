import { signedIn } from '../client/session-state.ts';
import type { IconName } from '../parts/icon.tsx';
import { PATHS, type PageName } from '../paths.ts';
import { PAGES } from '../routes.ts';

/** An entry of the navigation: `letter` leads there after `g`; `pages` are those at which one is there. */
export type NavigationItem = {
  page: PageName;
  label: string;
  icon: IconName;
  letter: string;
  href: string;
  pages: readonly PageName[];
  forOperators?: boolean;
};

const ITEMS: readonly Omit<NavigationItem, 'href'>[] = [
  {
    page: 'overview',
    label: 'Monitors',
    icon: 'monitors',
    letter: 'o',
    pages: ['overview', 'monitors', 'monitor', 'monitorNew', 'monitorEdit'],
  },
  { page: 'incidents', label: 'Incidents', icon: 'incidents', letter: 'i', pages: ['incidents', 'incident'] },
  { page: 'channels', label: 'Channels', icon: 'channels', letter: 'c', pages: ['channels', 'channel', 'channelNew'] },
  { page: 'agents', label: 'Agents', icon: 'agents', letter: 'a', pages: ['agents', 'agent', 'agentNew'] },
  { page: 'reports', label: 'Reports', icon: 'reports', letter: 'r', pages: ['reports', 'report'] },
  { page: 'settings', label: 'Settings', icon: 'settings', letter: 's', pages: ['settings', 'settingsSection'] },
  { page: 'docs', label: 'API', icon: 'docs', letter: 'd', pages: ['docs'] },
  { page: 'fleet', label: 'Fleet', icon: 'fleet', letter: 'f', pages: ['fleet'], forOperators: true },
];

/** The pages that this person can go to. */
export function listNavigation(): NavigationItem[] {
  const { is_operator: isOperator } = signedIn().user;
  return ITEMS.filter(
    ({ page, forOperators = false }) => PAGES[page] !== undefined && (isOperator || !forOperators),
  ).map((item) => ({ ...item, href: PATHS[item.page] }));
}
