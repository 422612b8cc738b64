import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { createRandom, type Random } from '../../simulation/truth/random.ts';

/** A monitor of the pictures with its outages, each by its age and length in minutes. */
export type StoryMonitor = {
  settings: {
    name: string;
    type?: string;
    target?: string;
    interval_seconds?: number;
    sla_target?: number;
    check_spec?: object;
  };
  /** Median response time in milliseconds; null if nothing is timed. */
  levelMs: number | null;
  troubles: readonly { agoMinutes: number; lastsMinutes: number; kind: Trouble }[];
  isPaused?: boolean;
};

export type Trouble = 'refused' | 'unavailable' | 'slow' | 'missed';

/** Results that locations report for each kind of outage. */
export const OUTCOMES: Record<
  Trouble,
  { verdict: 'down' | 'degraded'; cause: string; reason: string; httpStatus: number | null; latencyMs: number | null }
> = {
  refused: {
    verdict: 'down',
    cause: 'conn_refused',
    reason: 'the connection was refused',
    httpStatus: null,
    latencyMs: null,
  },
  unavailable: {
    verdict: 'down',
    cause: 'status_503',
    reason: 'HTTP 503 instead of 2xx',
    httpStatus: 503,
    latencyMs: 212,
  },
  slow: {
    verdict: 'degraded',
    cause: 'slow',
    reason: 'The response took 2380 ms, expected less than 800 ms',
    httpStatus: 200,
    latencyMs: 2380,
  },
  missed: {
    verdict: 'down',
    cause: 'heartbeat_missed',
    reason: 'no ping since the last run',
    httpStatus: null,
    latencyMs: null,
  },
};

/** The locations that check. */
export const LOCATIONS = ['frankfurt', 'singapore', 'virginia'] as const;

/** Distance of each location from the targets, as a factor of the response time. */
const DISTANCE: Readonly<Record<(typeof LOCATIONS)[number], number>> = {
  frankfurt: 0.8,
  singapore: 1.9,
  virginia: 1.3,
};

const DAY = 24 * 60;
const hour = (hours: number) => hours * 60;
const http = (name: string, target: string) => ({ name, target, sla_target: 99.9 });

/** The monitors of a shop on an evening with an outage. */
export const MONITORS: readonly StoryMonitor[] = [
  {
    settings: http('Checkout', 'https://shop.northwind.example/checkout/health'),
    levelMs: 140,
    troubles: [
      { agoMinutes: 24, lastsMinutes: 24, kind: 'unavailable' },
      { agoMinutes: 6 * DAY, lastsMinutes: 42, kind: 'unavailable' },
      { agoMinutes: 31 * DAY, lastsMinutes: 15, kind: 'refused' },
    ],
  },
  {
    settings: http('Search API', 'https://api.northwind.example/v2/search?q=tea'),
    levelMs: 310,
    troubles: [
      { agoMinutes: 95, lastsMinutes: 95, kind: 'slow' },
      { agoMinutes: 9 * DAY, lastsMinutes: hour(3), kind: 'slow' },
      { agoMinutes: 44 * DAY, lastsMinutes: hour(2), kind: 'slow' },
    ],
  },
  {
    settings: http('Shop', 'https://shop.northwind.example/'),
    levelMs: 95,
    troubles: [{ agoMinutes: 6 * DAY, lastsMinutes: 40, kind: 'unavailable' }],
  },
  {
    settings: http('Payments API', 'https://pay.northwind.example/health'),
    levelMs: 120,
    troubles: [
      { agoMinutes: hour(7), lastsMinutes: 15, kind: 'unavailable' },
      { agoMinutes: 17 * DAY, lastsMinutes: 10, kind: 'unavailable' },
    ],
  },
  {
    settings: http('Customer portal', 'https://my.northwind.example/login'),
    levelMs: 180,
    troubles: [{ agoMinutes: 71 * DAY, lastsMinutes: hour(1), kind: 'refused' }],
  },
  { settings: { name: 'Documentation', target: 'https://docs.northwind.example/' }, levelMs: 60, troubles: [] },
  {
    settings: { name: 'Orders database', type: 'tcp', target: 'db1.northwind.example:5432' },
    levelMs: 21,
    troubles: [{ agoMinutes: 12 * DAY, lastsMinutes: 20, kind: 'refused' }],
  },
  { settings: { name: 'Mail relay', type: 'tcp', target: 'smtp.northwind.example:587' }, levelMs: 34, troubles: [] },
  {
    settings: { name: 'Warehouse router', type: 'icmp', target: 'gw.warehouse.northwind.example' },
    levelMs: 18,
    troubles: [
      { agoMinutes: 3 * DAY, lastsMinutes: 25, kind: 'refused' },
      { agoMinutes: 58 * DAY, lastsMinutes: hour(5), kind: 'refused' },
    ],
  },
  { settings: { name: 'Name servers', type: 'dns', target: 'northwind.example' }, levelMs: 12, troubles: [] },
  {
    settings: { name: 'northwind.example', type: 'domain', target: 'northwind.example', interval_seconds: 3600 },
    levelMs: 240,
    troubles: [],
  },
  {
    settings: { name: 'Nightly backup', type: 'heartbeat', interval_seconds: 86_400 },
    levelMs: null,
    troubles: [{ agoMinutes: 20 * DAY, lastsMinutes: hour(6), kind: 'missed' }],
  },
  { settings: { name: 'Invoice run', type: 'heartbeat', interval_seconds: 3600 }, levelMs: null, troubles: [] },
  { settings: http('Old shop', 'https://old.northwind.example/'), levelMs: 150, troubles: [], isPaused: true },
];

/** Age of the monitors, and of the oldest stored checks. */
export const AGE_MS = 120 * DAY_MS;
export const CHECKED_MS = 9 * DAY_MS;

/** Creates noise that is the same in every run. */
export function createNoise(): Random {
  return createRandom([2026, 11]);
}

/** Returns the response time of one check in milliseconds: slower by day, and sometimes late. */
export function answerMs(
  random: Random,
  { levelMs, atMs, location }: { levelMs: number; atMs: number; location: keyof typeof DISTANCE },
): number {
  const byDay =
    1 + 0.25 * Math.sin(((atMs % DAY_MS) / DAY_MS - 0.3) * 2 * Math.PI) + 0.08 * Math.sin(atMs / (7 * HOUR_MS));
  const luck = random.uniform() < 0.03 ? 1.6 + random.uniform() : 0.92 + 0.2 * random.uniform();
  return Math.max(1, Math.round(levelMs * DISTANCE[location] * byDay * luck));
}
