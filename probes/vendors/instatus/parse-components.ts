import { z } from 'zod';
import { accepted, type Parsed } from '../../../core/parsed.ts';
import type { VendorSnapshot } from '../../../core/vendor/snapshot.ts';
import { parseJson } from '../parse-json.ts';
import { plainName } from '../plain-text.ts';
import { componentState } from './component-state.ts';

const component = z.object({ id: z.string(), name: z.string(), status: componentState });
const withChildren = component.extend({ children: z.array(component).nullish() });
const list = z.array(withChildren);
/** Some pages answer with the bare list, others with an object around it. */
const components = z.union([z.object({ components: list }).transform((value) => value.components), list]);

/** `/v2/components.json` of an Instatus page, parents and their children alike. */
export function parseInstatusComponents(body: Buffer): Parsed<VendorSnapshot> {
  const read = parseJson(body, components);
  if (!read.ok) return read;
  const parts = read.value.flatMap(({ children, ...parent }) => [parent, ...(children ?? [])]);
  return accepted({
    name: null,
    overall: null,
    components: parts.map(({ id, name, status: state }) => ({ id, name: plainName(name), state })),
    listsAll: true,
    events: [],
  });
}
