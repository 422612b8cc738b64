import { readdir, readFile } from 'node:fs/promises';

/** USER_HZ, the unit of CPU times in proc(5); it is the same on all Linux architectures that Node.js supports. */
const TICKS_PER_SECOND = 100;

type Process = { pid: number; parent: number; cpuTicks: number };

/**
 * Returns the CPU seconds (user and system) of processes and all their descendants, ended ones included. Linux only.
 */
export async function cpuSecondsOf(roots: readonly number[]): Promise<number> {
  const tree = await listTree(roots);
  return tree.reduce((sum, { cpuTicks }) => sum + cpuTicks, 0) / TICKS_PER_SECOND;
}

/**
 * Returns the memory of processes and all their descendants in MB (2^20 bytes); shared pages are divided among their
 * users (PSS).
 */
export async function memoryMbOf(roots: readonly number[]): Promise<number> {
  const tree = await listTree(roots);
  const sizes = await Promise.all(
    tree.map(async ({ pid }) => {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
      return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0);
    }),
  );
  return sizes.reduce((sum, kilobytes) => sum + kilobytes, 0) / 1024;
}

/** Lists the children of a process. Linux only. */
export async function childrenOf(pid: number): Promise<number[]> {
  return (await listProcesses()).filter(({ parent }) => parent === pid).map((child) => child.pid);
}

async function listTree(roots: readonly number[]): Promise<Process[]> {
  const processes = await listProcesses();
  const found = processes.filter(({ pid }) => roots.includes(pid));
  // The loop extends its own list, so that it also visits grandchildren.
  for (const { pid } of found) found.push(...processes.filter(({ parent }) => parent === pid));
  return found;
}

async function listProcesses(): Promise<Process[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const read = await Promise.all(
    names.map(async (name) => parseStat(Number(name), await readFile(`/proc/${name}/stat`, 'utf8').catch(() => ''))),
  );
  return read.filter((process) => process !== null);
}

/**
 * Parses proc(5) stat; null for a process that has just ended. The name in parentheses may contain anything, so fields
 * are counted from the last parenthesis.
 */
function parseStat(pid: number, stat: string): Process | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [parent, ...times] = [fields[1], ...fields.slice(11, 15)].map(Number);
  if (parent === undefined || times.length < 4) return null;
  return { pid, parent, cpuTicks: times.reduce((sum, ticks) => sum + ticks, 0) };
}
