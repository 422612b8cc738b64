import { MAX_TAGS, TAG, sortTags, splitTags } from '../../core/monitors/monitor.ts';
import type { Schemas } from '../client/api.ts';

export type Status = Schemas['Monitor']['status'];

/**
 * Label, colors and mark of each status. Marks differ in shape, for users who do not see colors. `icon` is the color in
 * the browser's own frame, where our themes do not apply.
 */
export const STATUSES: Record<Status, { label: string; text: string; fill: string; icon: string; sign: string }> = {
  down: {
    label: 'Down',
    text: 'text-down',
    fill: 'text-down-fill',
    icon: '#dc3039',
    sign: 'M8 1.2 14.8 8 8 14.8 1.2 8Z',
  },
  degraded: {
    label: 'Degraded',
    text: 'text-degraded',
    fill: 'text-degraded-fill',
    icon: '#eca826',
    sign: 'M8 2 15 14.2H1Z',
  },
  pending: {
    label: 'Pending',
    text: 'text-pending',
    fill: 'text-pending-fill',
    icon: '#8d9bc7',
    sign: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Zm0 2.4a3.6 3.6 0 1 0 0 7.2 3.6 3.6 0 0 0 0-7.2Z',
  },
  up: {
    label: 'Up',
    text: 'text-up',
    fill: 'text-up-fill',
    icon: '#2aa662',
    sign: 'M8 2.4a5.6 5.6 0 1 1 0 11.2A5.6 5.6 0 0 1 8 2.4Z',
  },
  paused: {
    label: 'Paused',
    text: 'text-paused',
    fill: 'text-paused-fill',
    icon: '#b3bac1',
    sign: 'M3.5 3h3.4v10H3.5ZM9.1 3h3.4v10H9.1Z',
  },
};

/** Returns the status that the mark of an incident shows: its worst state while open, then the way it ended. */
export function incidentStatus({ status, state, resolution }: Schemas['Incident']): Status {
  if (status === 'open') return state;
  return resolution === null || resolution === 'recovered' ? 'up' : 'paused';
}

/** Statuses by urgency, the worst first. */
export const STATUS_ORDER: readonly Status[] = ['down', 'degraded', 'pending', 'up', 'paused'];

/**
 * Reports whether a check of a monitor can be requested: not of paused ones, drafts, and jobs that call the service.
 */
export function isCheckable({ enabled, type, target }: Schemas['Monitor']): boolean {
  return enabled === 1 && type !== 'heartbeat' && target !== '';
}

/** Describes what a draft lacks, which is never checked: `Draft (no URL)`; null for other monitors. */
export function nameDraft({ status, type, target }: Schemas['Monitor']): string | null {
  if (status !== 'pending' || type === 'heartbeat' || target !== '') return null;
  return `Draft (no ${type === 'http' ? 'URL' : 'target'})`;
}

/** Finds the errors of tags as they are entered. */
export function judgeTags(text: string): string | undefined {
  const tags = splitTags(text);
  const bad = tags.find((tag) => !TAG.test(tag));
  if (bad !== undefined) return `“${bad.slice(0, 40)}” is not a tag: use letters, digits and . _ / - like env:prod`;
  return sortTags(tags).length > MAX_TAGS ? `At most ${MAX_TAGS} tags` : undefined;
}
