import { z } from 'zod';
import { accepted, type Parsed } from '../../../core/parsed.ts';
import type { VendorSnapshot } from '../../../core/vendor/snapshot.ts';
import { parseJson } from '../parse-json.ts';
import { plainName } from '../plain-text.ts';

const products = z.object({ products: z.array(z.object({ id: z.string(), title: z.string() })) });

/** Google Cloud's products by themselves: what there is, whether or not something is wrong with it. */
export function parseGoogleProducts(body: Buffer): Parsed<VendorSnapshot> {
  const read = parseJson(body, products);
  if (!read.ok) return read;
  return accepted({
    name: null,
    overall: null,
    components: read.value.products.map(({ id, title }) => ({
      id,
      name: plainName(title),
      state: 'operational' as const,
    })),
    listsAll: true,
    events: [],
  });
}
