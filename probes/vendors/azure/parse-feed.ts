import { accepted, type Parsed } from '../../../core/parsed.ts';
import type { VendorSnapshot } from '../../../core/vendor/snapshot.ts';
import { parseRss } from '../parse-rss.ts';
import { plainTitle } from '../plain-text.ts';

/**
 * Azure writes it in front of a title or as its last part; "resolved in North Europe, continues in West Europe" is not
 * over.
 */
const RESOLVED = /^\s*[[(]?\s*resolved\b\s*[\])]|[-–—:]\s*resolved\s*$/i;

/**
 * Azure's feed of what is going on, which names neither a severity nor components: anything in it degrades the whole,
 * nothing takes it down.
 */
export function parseAzureFeed(body: Buffer): Parsed<VendorSnapshot> {
  const read = parseRss(body);
  if (!read.ok) return read;
  const open = read.value.items.filter(({ title }) => title.trim() !== '' && !RESOLVED.test(title));
  return accepted({
    name: null,
    overall: open.length === 0 ? 'operational' : 'degraded',
    components: [],
    listsAll: true,
    events: open.map(({ title }) => ({ title: plainTitle(title), componentIds: [] })),
  });
}
