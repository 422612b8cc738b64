import { XMLParser } from 'fast-xml-parser';
import { z } from 'zod';
import type { VendorSnapshot } from '../../core/checks/vendor/snapshot.ts';
import { accepted, refused, type Parsed } from '../../core/foreign-text.ts';
import { decodeText, plainTitle } from './plain-text.ts';

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

/** One entry of a feed; null where its date cannot be read. Unix milliseconds. */
export type RssItem = { title: string; publishedAtMs: number | null };

/** An element that is empty, or has attributes or markup inside, is no text for us. */
const text = z.unknown().transform((value) => (typeof value === 'string' ? value : ''));

const feed = z.object({
  rss: z.object({
    channel: z.object({
      title: z.string(),
      item: z
        .array(z.object({ title: text, pubDate: text }))
        .optional()
        .default([]),
    }),
  }),
});

/**
 * An RSS 2.0 feed: its channel must have a title, for a page of an error or a login has none. No items at all is a good
 * feed.
 */
export function parseRss(body: Buffer): Parsed<{ items: RssItem[] }> {
  const xml = decodeText(body);
  // No feed declares entities of its own: one that does is an attack by expansion.
  if (/<!DOCTYPE/i.test(xml)) return refused('it is not an RSS feed');
  const parser = new XMLParser({ parseTagValue: false, isArray: (name) => name === 'item' });
  let value: unknown;
  try {
    value = parser.parse(xml, true);
  } catch {
    return refused('it is not XML');
  }
  const read = feed.safeParse(value);
  if (!read.success) return refused('it is not an RSS feed');
  return accepted({
    items: read.data.rss.channel.item.map(({ title, pubDate }) => ({ title, publishedAtMs: readDate(pubDate) })),
  });
}

function readDate(date: string): number | null {
  const ms = Date.parse(date);
  return Number.isNaN(ms) ? null : ms;
}
