import { readServiceHours, type ServiceSla } from '../../statistics/service-hours.ts';
import { readTimeZone } from '../../time-zones.ts';
import { BROWSER_ZONE } from '../../time.ts';
import { addProblem, show, type Problem } from './checks.ts';
import type { ServiceSlaInput } from './fields.ts';

/**
 * Completes an SLA over service hours from what was sent: the zone as the IANA database writes it, maintenance left out
 * unless it says otherwise. Adds a problem for an unknown zone and for hours that cannot be read.
 */
export function completeServiceSla(input: ServiceSlaInput, problems: Problem[]): ServiceSla {
  const { target, hours, exclude_maintenance: excludeMaintenance = true } = input;
  const timezone = readTimeZone(input.timezone);
  if (timezone === null || timezone === BROWSER_ZONE)
    addProblem(problems, 'sla.timezone', {
      expected: 'a zone of the IANA time zone database, such as Europe/Berlin',
      got: show(input.timezone),
    });
  const read = readServiceHours(hours);
  if (!read.ok) problems.push({ field: 'sla.hours', message: `sla.hours ${read.problem}` });
  return { target, timezone: timezone ?? input.timezone, hours: hours.trim(), excludeMaintenance };
}
