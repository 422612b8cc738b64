import type { VendorDocument } from '../../core/checks/vendor/document.ts';
import type { VendorSnapshot } from '../../core/checks/vendor/snapshot.ts';
import { refused, type Parsed } from '../../core/foreign-text.ts';
import { answerTasks, runWithin } from '../../threads/bounded-run.ts';
import { parseVendorDocument } from './parse-document.ts';

/** A document to parse. */
export type ParsingTask = { body: Uint8Array; document: VendorDocument; nowMs: number };

/**
 * Maximum processor time of parsing one document, in milliseconds: once for all monitors of the page, until it is
 * fetched again. Pages of 5 MiB take a tenth of it.
 */
const BUDGET_MS = 1000;

const TOO_LONG: Parsed<VendorSnapshot> = refused(`reading it takes more than ${BUDGET_MS} ms of CPU time`);

answerTasks(({ body, document, nowMs }: ParsingTask): Parsed<VendorSnapshot> => {
  let result: Parsed<VendorSnapshot> = TOO_LONG;
  runWithin(BUDGET_MS, () => {
    result = parseVendorDocument(Buffer.from(body.buffer, body.byteOffset, body.byteLength), document, nowMs);
  });
  return result;
});
