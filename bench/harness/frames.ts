import type { Browser, Page } from 'playwright-core';

/**
 * A frame, in milliseconds: by the clock, from the end of the previous frame to its own end. The other figures are the
 * CPU time of the page's thread, and that of all drawing threads, meanwhile.
 */
export type Frame = { wallMs: number; pageMs: number; drawingMs: number };

/** An event of Chromium's trace; times are microseconds, `tdur` of its thread's CPU. */
type TraceEvent = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
  args?: { name?: string };
};

const MARK = 'bench-frame';

/** Marks frames in the trace: a page draws after the callbacks of its animation frames, in the same task. */
const MARK_FRAMES = `{
  const mark = () => { performance.mark('${MARK}'); performance.clearMarks('${MARK}'); requestAnimationFrame(mark); };
  requestAnimationFrame(mark);
}`;

/** Marks the frames of a page's documents; called before it opens one. */
export async function markFrames(page: Page): Promise<void> {
  await page.addInitScript(MARK_FRAMES);
}

/** Lists the frames of a page during `run`. The frames must be marked. */
export async function traceFrames(browser: Browser, page: Page, run: () => Promise<unknown>): Promise<Frame[]> {
  // Tasks and marks only: other categories of a trace make a page ten times as slow.
  await browser.startTracing(page, { categories: ['toplevel', 'blink.user_timing'] });
  await run();
  return readFrames((await browser.stopTracing()).toString());
}

/**
 * Returns the length of a frame due to our own work: its wall time, or the CPU time of drawing if that is less. The CPU
 * time is that of all drawing threads, as if they had worked one after the other. The rest is due to a machine that was
 * busy with something else.
 */
export function ownMsOf({ wallMs, drawingMs }: Frame): number {
  return Math.min(wallMs, drawingMs);
}

function readFrames(trace: string): Frame[] {
  const { traceEvents: events }: { traceEvents: TraceEvent[] } = JSON.parse(trace);
  const marks = events.filter(({ name }) => name === MARK).toSorted((a, b) => a.ts - b.ts);
  const [first] = marks;
  if (first === undefined) return [];
  const tasks = events
    .filter(({ name, ph }) => ph === 'X' && name.endsWith('::RunTask'))
    .toSorted((a, b) => a.ts - b.ts);
  const isOfPage = ({ pid, tid }: TraceEvent) => pid === first.pid && tid === first.tid;
  const gpu = events.find(({ name, args }) => name === 'process_name' && args?.name === 'GPU Process')?.pid;
  const drawing = tasks.filter((task) => !isOfPage(task) && (task.pid === first.pid || task.pid === gpu));
  const frames: Frame[] = [];
  let open: Frame | null = null;
  let [startedAt, mark, drawn] = [0, 0, 0];
  for (const task of tasks.filter(isOfPage)) {
    const endedAt = task.ts + (task.dur ?? 0);
    open ??= { wallMs: 0, pageMs: 0, drawingMs: 0 };
    open.pageMs += (task.tdur ?? 0) / 1000;
    const before = mark;
    while (mark < marks.length && (marks[mark]?.ts ?? 0) <= endedAt) mark += 1;
    if (mark === before) continue;
    let othersMs = 0;
    for (; drawn < drawing.length && (drawing[drawn]?.ts ?? 0) < endedAt; drawn += 1)
      othersMs += (drawing[drawn]?.tdur ?? 0) / 1000;
    // The start of the first frame is unknown.
    if (startedAt > 0)
      frames.push({ ...open, wallMs: (endedAt - startedAt) / 1000, drawingMs: open.pageMs + othersMs });
    [open, startedAt] = [null, endedAt];
  }
  return frames;
}
