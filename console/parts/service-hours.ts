import type { Schemas } from '../client/shapes.ts';

type Counted = Pick<Schemas['ServiceFigures'], 'hours' | 'timezone'>;

/** Describes service hours: `Mo-Fr 08:00-20:00, Europe/Berlin`. */
export function describeHours({ hours, timezone }: Counted): string {
  return `${hours}, ${timezone.replaceAll('_', ' ')}`;
}
