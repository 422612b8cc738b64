import type { Schemas } from '../client/shapes.ts';
import type { Draft } from './monitor-draft.ts';

/** What a monitor could be called after its target; empty where that says nothing. */
export function suggestName(
  { type, target }: Pick<Draft, 'type' | 'target'>,
  vendors: readonly Schemas['Vendor'][],
): string {
  const written = target.trim();
  if (written === '' || type === 'heartbeat') return '';
  const vendor = type === 'vendor' ? vendors.find(({ id }) => id === written.toLowerCase())?.name : undefined;
  if (vendor !== undefined) return vendor;
  const url = URL.parse(written);
  const host = url === null || url.host === '' ? written : url.host + (url.pathname.length > 1 ? url.pathname : '');
  return host.slice(0, 255);
}
