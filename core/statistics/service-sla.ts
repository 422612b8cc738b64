import { momentReader } from '../time-zones.ts';
import { measureServiceHours, readServiceHours, serviceStretches, type ServiceSla } from './service-hours.ts';
import { judgeSla, type StateHistory, type StateSeconds, type Stretch } from './sla.ts';

/** Whose hours are counted: an SLA of one's own, or one that is asked about; without a target there is no verdict. */
export type CountedHours = Omit<ServiceSla, 'target'> & { target: number | null };

/** What service hours were, in its wire form: reports store it so. */
export type ServiceFigures = {
  target: number | null;
  timezone: string;
  hours: string;
  exclude_maintenance: boolean;
  uptime_percent: number | null;
  met: boolean | null;
  budget: { total_seconds: number; used_seconds: number; left_seconds: number } | null;
  seconds: StateSeconds;
};

/** The most service hours of which a calendar keeps the stretches. */
const MAX_KEPT = 100;

/**
 * The service hours of a window `[fromMs, toMs)` (Unix milliseconds), each worked out once however many monitors have
 * them.
 */
export class ServiceCalendar {
  readonly #window: { fromMs: number; toMs: number };
  readonly #stretches = new Map<string, Stretch[]>();
  readonly #readers = new Map<string, (localMs: number) => number>();

  constructor(window: { fromMs: number; toMs: number }) {
    this.#window = window;
  }

  /** The stretches of hours that were accepted before; throws for others, which are none. */
  stretchesOf({ timezone, hours }: Pick<ServiceSla, 'timezone' | 'hours'>): Stretch[] {
    const key = `${timezone} ${hours}`;
    const kept = this.#stretches.get(key);
    if (kept !== undefined) return kept;
    const read = readServiceHours(hours);
    if (!read.ok) throw new Error(`these service hours ${read.problem}`);
    const stretches = serviceStretches(read.hours, this.#window, this.#momentsOf(timezone));
    if (this.#stretches.size >= MAX_KEPT) this.#stretches.clear();
    this.#stretches.set(key, stretches);
    return stretches;
  }

  #momentsOf(timezone: string): (localMs: number) => number {
    const kept = this.#readers.get(timezone);
    if (kept !== undefined) return kept;
    const reader = momentReader(timezone);
    if (this.#readers.size >= MAX_KEPT) this.#readers.clear();
    this.#readers.set(timezone, reader);
    return reader;
  }
}

/**
 * How long each state lasted in the service hours of a calendar's window. `history.maintenance` is what its windows
 * leave out of the uptime: with `excludeMaintenance` it is left out here, otherwise it counts as what the monitor was.
 */
export function measureService(
  calendar: ServiceCalendar,
  counted: Omit<ServiceSla, 'target'>,
  history: StateHistory,
): StateSeconds {
  const maintenance = counted.excludeMaintenance ? history.maintenance : [];
  return measureServiceHours({ ...history, maintenance }, calendar.stretchesOf(counted));
}

/** What the seconds of service hours say of their target. */
export function serviceFigures(
  { target, timezone, hours, excludeMaintenance }: CountedHours,
  seconds: StateSeconds,
): ServiceFigures {
  const { uptimePercent, slaMet, budget } = judgeSla(seconds, target);
  return {
    target,
    timezone,
    hours,
    exclude_maintenance: excludeMaintenance,
    uptime_percent: uptimePercent,
    met: slaMet,
    budget: budget && {
      total_seconds: budget.totalSeconds,
      used_seconds: budget.usedSeconds,
      left_seconds: budget.leftSeconds,
    },
    seconds,
  };
}
