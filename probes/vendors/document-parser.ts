import type { VendorDocument } from '../../core/checks/vendor/document.ts';
import type { VendorSnapshot } from '../../core/checks/vendor/snapshot.ts';
import { refused, type Parsed } from '../../core/foreign-text.ts';
import { ComputeThread } from '../judging/compute-thread.ts';
import { parseVendorDocument } from './parse-document.ts';
import type { ParsingTask } from './parse-thread.ts';

/** Reads what a document says, or says why it cannot be understood. */
export type DocumentParser = (body: Buffer, document: VendorDocument, nowMs: number) => Promise<Parsed<VendorSnapshot>>;

/** Documents of this size are read on the event loop, in a few milliseconds at the worst. */
const ON_THE_LOOP_BYTES = 32 * 1024;

const TOO_BUSY: Parsed<VendorSnapshot> = refused(
  'there was no computing time to read it: too many other pages take long to be read',
);

/**
 * Makes the parser of the documents of all vendors. A stranger's page of some megabytes can take seconds to read, which
 * is done in a thread.
 */
export function createDocumentParser(): DocumentParser {
  const thread = new ComputeThread<ParsingTask, Parsed<VendorSnapshot>>(new URL('./parse-thread.ts', import.meta.url));
  return async (body, document, nowMs) => {
    if (body.length <= ON_THE_LOOP_BYTES) return parseVendorDocument(body, document, nowMs);
    const computed = await thread.run(
      { body, document, nowMs },
      { account: new URL(document.url).host, bytes: body.length, takesLong: true },
    );
    return computed?.result ?? TOO_BUSY;
  };
}
