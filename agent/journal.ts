import { open, readdir, readFile, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/** A result that waits for the service: its line of JSON, and its segment once it is on disk. */
export type Entry = {
  line: string;
  monitorId: string;
  atMs: number;
  isBad: boolean;
  segment: Segment | null;
  isDone: boolean;
};

/** One file of the journal; it is removed when none of its results waits any more. */
type Segment = { path: string; file: FileHandle | null; lines: number; waiting: number; openedAtMs: number };

type JournalOptions = {
  folder: string;
  now: () => number;
  /**
   * Called with an error when the disk begins to fail, and with null when it works again; meanwhile results are only in
   * memory.
   */
  onDisk: (error: unknown) => void;
};

/** Lines of a segment, which is about the most that is sent again after a crash. */
const SEGMENT_LINES = 500;

/**
 * Age from which waiting results are forced to the disk, in milliseconds, because they are the only copy for a while.
 * Syncs are no closer together than this, except with each full segment.
 */
const SYNC_EVERY_MS = 5000;

const NAME = /^results-(\d{12})\.jsonl$/;

/**
 * Results that wait for the service, stored where a killed agent's successor finds them: segments of JSON lines, only
 * ever appended to. A kill loses results that were not appended yet; a power cut at most the last 5 s of waiting ones.
 */
export class Journal {
  readonly #options: JournalOptions;
  #next: number;
  #current: Segment | null = null;
  /** All disk operations, one after another. */
  #work: Promise<void> = Promise.resolve();
  #syncedAtMs = 0;
  #syncLater: NodeJS.Timeout | null = null;
  #isFailing = false;

  private constructor(options: JournalOptions, next: number) {
    this.#options = options;
    this.#next = next;
  }

  /**
   * Opens the journal of a folder and reads its waiting results, in the order of appending. Lines that a crash
   * truncated are skipped and counted.
   */
  static async open(options: JournalOptions): Promise<{ journal: Journal; waiting: Entry[]; torn: number }> {
    const numbers = (await readdir(options.folder)).flatMap((name) => NAME.exec(name)?.[1] ?? []).toSorted();
    const journal = new Journal(options, Number(numbers.at(-1) ?? 0) + 1);
    const waiting: Entry[] = [];
    let torn = 0;
    for (const number of numbers) {
      const segment: Segment = {
        path: pathOf(options.folder, number),
        file: null,
        lines: SEGMENT_LINES,
        waiting: 0,
        openedAtMs: 0,
      };
      const lines = (await readFile(segment.path, 'utf8')).split('\n').filter((line) => line !== '');
      const entries = lines.flatMap((line) => entryOf(line, segment) ?? []);
      segment.waiting = entries.length;
      torn += lines.length - entries.length;
      waiting.push(...entries);
      if (entries.length === 0) await rm(segment.path, { force: true });
    }
    return { journal, waiting, torn };
  }

  /**
   * Appends waiting results that are in no segment yet. A failing disk is reported and tried again with the next call.
   */
  append(entries: readonly Entry[]): Promise<void> {
    return this.#enqueue(async () => {
      const wanted = entries.filter(({ segment, isDone }) => segment === null && !isDone);
      if (wanted.length === 0) return;
      try {
        const segment = await this.#segment();
        await segment.file?.appendFile(wanted.map(({ line }) => `${line}\n`).join(''));
        segment.lines += wanted.length;
        for (const entry of wanted) {
          if (entry.isDone) continue;
          entry.segment = segment;
          segment.waiting += 1;
        }
        await this.#syncWhereDue(segment);
        this.#reportDisk(null);
        await this.#removeWhereEmpty(segment);
      } catch (error) {
        // The failed write may have left half a line, so nothing is appended after it.
        const broken = this.#current;
        await this.#closeCurrent();
        this.#reportDisk(error);
        if (broken !== null) await this.#removeWhereEmpty(broken);
      }
    });
  }

  /** Marks results as no longer waiting, and removes segments without any. */
  settle(entries: readonly Entry[]): Promise<void> {
    const changed = new Set<Segment>();
    for (const entry of entries) {
      if (entry.isDone) continue;
      entry.isDone = true;
      if (entry.segment === null) continue;
      entry.segment.waiting -= 1;
      changed.add(entry.segment);
    }
    return this.#enqueue(async () => {
      for (const segment of changed) await this.#removeWhereEmpty(segment);
    });
  }

  /** Forces waiting results to the disk and closes the file. */
  close(): Promise<void> {
    return this.#enqueue(() => this.#closeCurrent());
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work);
    return this.#work;
  }

  async #segment(): Promise<Segment> {
    if (this.#current !== null && this.#current.lines < SEGMENT_LINES) return this.#current;
    await this.#closeCurrent();
    const path = pathOf(this.#options.folder, String(this.#next).padStart(12, '0'));
    this.#next += 1;
    this.#current = {
      path,
      file: await open(path, 'ax', 0o600),
      lines: 0,
      waiting: 0,
      openedAtMs: this.#options.now(),
    };
    return this.#current;
  }

  async #syncWhereDue(segment: Segment): Promise<void> {
    const nowMs = this.#options.now();
    if (nowMs - segment.openedAtMs < SYNC_EVERY_MS || nowMs - this.#syncedAtMs < SYNC_EVERY_MS) {
      // No further result may arrive for long.
      this.#syncLater ??= setTimeout(() => {
        void this.#enqueue(() => this.#sync().catch((error: unknown) => this.#reportDisk(error)));
      }, SYNC_EVERY_MS).unref();
      return;
    }
    await this.#sync();
  }

  async #sync(): Promise<void> {
    if (this.#syncLater !== null) clearTimeout(this.#syncLater);
    this.#syncLater = null;
    this.#syncedAtMs = this.#options.now();
    await this.#current?.file?.datasync();
  }

  async #removeWhereEmpty(segment: Segment): Promise<void> {
    if (segment.waiting > 0) return;
    if (segment === this.#current) await this.#closeCurrent();
    await rm(segment.path, { force: true }).catch((error: unknown) => this.#reportDisk(error));
  }

  /**
   * Closes the segment. The next sync applies to another one, so results that wait in this one are forced to the disk
   * here.
   */
  async #closeCurrent(): Promise<void> {
    const segment = this.#current;
    this.#current = null;
    if (segment === null || segment.file === null) return;
    if (segment.waiting > 0) await segment.file.datasync().catch((error: unknown) => this.#reportDisk(error));
    await segment.file.close().catch((error: unknown) => this.#reportDisk(error));
  }

  /** Reports a disk failure once when it begins and once when it is over. */
  #reportDisk(error: unknown): void {
    const isFailing = error !== null;
    if (isFailing !== this.#isFailing) this.#options.onDisk(error);
    this.#isFailing = isFailing;
  }
}

function pathOf(folder: string, number: string): string {
  return join(folder, `results-${number}.jsonl`);
}

/** Parses a line; null if it is not a complete result. */
function entryOf(line: string, segment: Segment): Entry | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('monitorId' in value) || !('ts' in value) || !('ok' in value))
      return null;
    const { monitorId, ts, ok } = value;
    if (typeof monitorId !== 'string' || typeof ts !== 'number') return null;
    return { line, monitorId, atMs: ts * 1000, isBad: ok !== true, segment, isDone: false };
  } catch {
    return null;
  }
}
