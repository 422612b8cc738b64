import { useEffect, useRef } from 'preact/hooks';
import { serviceSeconds } from '../../client/answer.ts';
import { api, type Monitor, type Schemas } from '../../client/api.ts';
import { monitors, usePoll, useReload } from '../../client/live.ts';
import { useLoad, type Load } from '../../parts/load.tsx';
import { RANGES, sinceCreation, spanOf, type Shown } from './ranges.ts';

/** Most incidents that are requested. */
export const MAX_INCIDENTS = 200;

/** Interval of reloading uptimes, which change without an event, in milliseconds. */
const UPTIME_EVERY_MS = 15_000;

/**
 * Interval of reloading locations, in milliseconds: whether they count depends mostly on time, which no event
 * announces.
 */
const LOCATIONS_EVERY_MS = 15_000;

/** Statistics with their range, since old ones stay while new ones load. */
export type ShownStats = Schemas['MonitorStats'] & { shown: Pick<Shown, 'range' | 'zoom'> };

/** All data of a monitor's page, each part loaded separately. */
type MonitorLoads = {
  detail: Load<Schemas['MonitorDetail']>;
  incidents: Load<Schemas['Incident'][]>;
  stats: Load<ShownStats | null>;
  /** Statistics of the previous period, as long as the shown one; null unless they are compared. */
  before: Load<Schemas['MonitorStats'] | null>;
  uptime: Load<Schemas['UptimeDay'][]>;
  agents: Load<Schemas['Agent'][]>;
  locations: Load<Schemas['MonitorLocations']>;
  /** Newest row, from the stream if there is one; null until it is loaded and after deletion. */
  row: Monitor | null;
  isDeleted: boolean;
};

/** Loads all parts of a monitor, and reloads them when it changes or time passes. */
export function useMonitor(id: string, shown: Shown, { withTimings }: { withTimings: boolean }): MonitorLoads {
  const path = { id };
  const { range, zoom, isCompared } = shown;
  const detail = useLoad((signal) => api.get('/monitors/{id}', { path, signal }), [id]);
  const incidents = useLoad(
    async (signal) =>
      (await api.get('/monitors/{id}/incidents', { path, query: { limit: MAX_INCIDENTS }, signal })).incidents,
    [id],
  );
  const uptime = useLoad(
    async (signal) => (await api.get('/monitors/{id}/uptime', { path, query: { days: 90 }, signal })).days,
    [id],
  );
  const agents = useLoad(async (signal) => (await api.get('/agents', { signal })).agents, []);
  const locations = useLoad((signal) => api.get('/monitors/{id}/locations', { path, signal }), [id]);
  const listed = monitors.value?.find((each) => each.id === id) ?? null;
  const { value: whole } = detail.value;
  const createdAt = (listed ?? whole)?.created_at ?? null;
  const stats = useLoad<ShownStats | null>(
    async (signal) => {
      if (createdAt === null) return null;
      const now = serviceSeconds();
      const { from } = zoom ?? sinceCreation(spanOf({ range, zoom }, now), createdAt);
      // Without an end the service uses its own now.
      const query = {
        ...(zoom ?? { from }),
        by_source: '1',
        by_phase: withTimings ? '1' : '0',
      } as const;
      return { ...(await api.get('/monitors/{id}/stats', { path, query, signal })), shown: { range, zoom } };
    },
    [id, range, zoom?.from, zoom?.to, withTimings, createdAt],
  );
  const present = stats.value.value;
  const before = useLoad<Schemas['MonitorStats'] | null>(
    async (signal) => {
      if (!isCompared || present === null) return null;
      const { from, to } = present;
      const query = { from: Math.max(0, from - (to - from)), to: from };
      return await api.get('/monitors/{id}/stats', { path, query, signal });
    },
    [id, isCompared, isCompared ? present?.from : null, isCompared ? present?.to : null],
  );
  // A new monitor may not be listed yet; a missing one that was listed before has been deleted.
  const wasListed = useRef(false);
  wasListed.current ||= listed !== null;
  const row = listed ?? whole;
  const version = listed === null ? null : versionOf(listed);
  useEffect(() => {
    if (version === null || whole === null || version === versionOf(whole)) return;
    for (const load of [detail, incidents, stats, uptime, locations]) void load.reload();
  }, [version]);
  useReload(detail, []);
  useReload(incidents, ['incident'], (_, data) => (data as Partial<Schemas['Incident']>).monitor_id === id);
  useReload(locations, ['agent']);
  usePoll(locations, true, LOCATIONS_EVERY_MS);
  usePoll(uptime, true, UPTIME_EVERY_MS);
  usePoll(stats, zoom === null, RANGES[range].refreshSeconds * 1000);
  return {
    detail,
    incidents,
    stats,
    before,
    uptime,
    agents,
    locations,
    row,
    isDeleted: wasListed.current && monitors.value !== null && listed === null,
  };
}

/**
 * Returns a text that changes with the status and the settings; `state_since` covers an outage that has already ended.
 */
function versionOf({ status, state_since: since, updated_at: updatedAt, enabled }: Monitor): string {
  return [status, since, updatedAt, enabled].join();
}
