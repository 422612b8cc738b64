import { useEffect, useRef } from 'preact/hooks';
import { api } from '../../client/api.ts';
import { monitors, onChange } from '../../client/live.ts';
import type { Schemas, Monitor } from '../../client/shapes.ts';
import { useLoad, type Load } from '../../parts/load.tsx';
import { RANGES, type Shown } from './ranges.ts';

/** The most incidents that are requested. */
export const MOST_INCIDENTS = 200;

/** Statistics with their range, since old ones stay while new ones load. */
export type ShownStats = Schemas['MonitorStats'] & { shown: Shown };

/** All data of a monitor's page, each part loaded separately. */
export type MonitorLoads = {
  detail: Load<Schemas['MonitorDetail']>;
  incidents: Load<Schemas['Incident'][]>;
  stats: Load<ShownStats>;
  uptime: Load<Schemas['UptimeDay'][]>;
  agents: Load<Schemas['Agent'][]>;
  /** The newest row, from the stream if there is one; null until it is known and after deletion. */
  row: Monitor | null;
  isDeleted: boolean;
};

/** Loads all parts of a monitor, and again when it changes or time goes by. */
export function useMonitor(id: string, shown: Shown, { withTimings }: { withTimings: boolean }): MonitorLoads {
  const path = { id };
  const { range, zoom } = shown;
  const detail = useLoad((signal) => api.get('/monitors/{id}', { path, signal }), [id]);
  const incidents = useLoad(
    async (signal) =>
      (await api.get('/monitors/{id}/incidents', { path, query: { limit: MOST_INCIDENTS }, signal })).incidents,
    [id],
  );
  const uptime = useLoad(
    async (signal) => (await api.get('/monitors/{id}/uptime', { path, query: { days: 90 }, signal })).days,
    [id],
  );
  const agents = useLoad(async (signal) => (await api.get('/agents', { signal })).agents, []);
  const stats = useLoad(
    async (signal) => {
      const query = {
        ...(zoom ?? { from: Math.floor(Date.now() / 1000) - RANGES[range].seconds }),
        by_source: '1',
        by_phase: withTimings ? '1' : '0',
      } as const;
      return { ...(await api.get('/monitors/{id}/stats', { path, query, signal })), shown: { range, zoom } };
    },
    [id, range, zoom?.from, zoom?.to, withTimings],
  );
  const listed = monitors.value?.find((each) => each.id === id) ?? null;
  const { value: whole } = detail.value;
  // A new monitor may not be listed yet; one that was listed and is no longer was deleted.
  const wasListed = useRef(false);
  wasListed.current ||= listed !== null;
  const row = listed ?? whole;
  const version = listed === null ? null : `${listed.status} ${listed.updated_at} ${listed.enabled}`;
  useEffect(() => {
    if (version === null || whole === null || version === `${whole.status} ${whole.updated_at} ${whole.enabled}`)
      return;
    for (const load of [detail, incidents, stats, uptime]) void load.reload();
  }, [version]);
  useEffect(
    () =>
      onChange(
        (kind, data) =>
          kind === 'incident' && (data as Partial<Schemas['Incident']>).monitor_id === id && void incidents.reload(),
      ),
    [id],
  );
  useEffect(() => {
    if (zoom !== null) return undefined;
    const timer = setInterval(() => !document.hidden && void stats.reload(), RANGES[range].refreshSeconds * 1000);
    return () => clearInterval(timer);
  }, [id, range, zoom?.from, zoom?.to, withTimings]);
  return {
    detail,
    incidents,
    stats,
    uptime,
    agents,
    row,
    isDeleted: wasListed.current && monitors.value !== null && listed === null,
  };
}
