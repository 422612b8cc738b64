import type { VendorSnapshot } from './snapshot.ts';

type Measured = {
  type: 'vendor';
  /** Unix milliseconds at which the probe began. */
  startedAt: number;
  /**
   * How long the page took when it was last asked, in milliseconds, by whichever check asked it; null when it never
   * was.
   */
  latencyMs: number | null;
};

/** What the vendor says of itself, no older than D-28's shared reading allows. */
export type VendorRead = Measured & { outcome: 'read'; snapshot: VendorSnapshot };

/** The page could not be read, or is none; `reason` is a sentence for people. */
export type VendorUnread = Measured & { outcome: 'unread'; reason: string };

/** The facts of one lookup of a vendor's page. */
export type VendorObservation = VendorRead | VendorUnread;
