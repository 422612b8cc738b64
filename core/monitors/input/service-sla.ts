import { accepted, refused, type Parsed } from '../../foreign-text.ts';
import { readServiceHours, type ServiceSla } from '../../statistics/service-hours.ts';
import { readTimeZone } from '../../time-zones.ts';
import { BROWSER_ZONE } from '../../time.ts';
import { show, type Problem } from './checks.ts';
import type { ServiceSlaInput } from './fields.ts';

/**
 * Completes an SLA over service hours from what was sent: the zone as the IANA database writes it, maintenance left out
 * unless it says otherwise. Adds a problem for an unknown zone and for hours that cannot be read.
 */
export function completeServiceSla(input: ServiceSlaInput, problems: Problem[]): ServiceSla {
  const { target, exclude_maintenance: excludeMaintenance = true } = input;
  const zone = readServiceZone('sla.timezone', input.timezone);
  if (!zone.ok) problems.push({ field: 'sla.timezone', message: zone.message });
  const hours = readServiceHours(input.hours);
  if (!hours.ok) problems.push({ field: 'sla.hours', message: `sla.hours ${hours.problem}` });
  return {
    target,
    timezone: zone.ok ? zone.value : input.timezone,
    hours: input.hours.trim(),
    excludeMaintenance,
  };
}

/** The zone of service hours as the IANA time zone database writes it; what is wrong says so about `field`. */
export function readServiceZone(field: string, text: string): Parsed<string> {
  const zone = readTimeZone(text);
  return zone === null || zone === BROWSER_ZONE
    ? refused(`${field} must be a zone of the IANA time zone database, such as Europe/Berlin, got ${show(text)}`)
    : accepted(zone);
}
