import { accepted, type Parsed } from '../../../core/parsed.ts';
import type { VendorSnapshot } from '../../../core/vendor/snapshot.ts';
import { parseRss } from '../parse-rss.ts';
import { plainTitle } from '../plain-text.ts';
import { isResolved, stateOfText } from './event-text.ts';

/**
 * A feed keeps old entries, also of events whose end the vendor never entered: after a week without a word an event is
 * over. In milliseconds.
 */
const FORGOTTEN_MS = 7 * 86_400_000;

/** AWS' feed of one service in one region, whose newest entry says how it is. */
export function parseAwsFeed(
  body: Buffer,
  { nowMs, component = '' }: { nowMs: number; component?: string },
): Parsed<VendorSnapshot> {
  const read = parseRss(body);
  if (!read.ok) return read;
  const newest = read.value.items.toSorted((a, b) => (b.publishedAtMs ?? 0) - (a.publishedAtMs ?? 0))[0];
  const isOpen =
    newest !== undefined && !isResolved(newest.title) && nowMs - (newest.publishedAtMs ?? nowMs) < FORGOTTEN_MS;
  const state = isOpen ? stateOfText(newest.title) : 'operational';
  return accepted({
    name: null,
    overall: null,
    components: [{ id: component, name: component, state }],
    listsAll: true,
    events: isOpen ? [{ title: plainTitle(newest.title), componentIds: [component] }] : [],
  });
}
