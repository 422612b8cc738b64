import { addProblem, show, type Problem } from '../input.ts';

/**
 * What a monitor that is down means for alerts of those that depend on it (D-528). `annotate`: their alerts name it.
 * `hold`: they also wait until it was checked again, and join its message where it is down.
 */
export type DependencyMode = 'annotate' | 'hold';

/** A monitor that another one depends on: its parent. */
export type Parent = { id: string; mode: DependencyMode };

/** The most parents of a monitor, which the API description states as well. */
export const MAX_PARENTS = 20;

/** The most monitors in a chain of which each depends on the next. */
export const MAX_LEVELS = 10;

/** The most dependencies of an account: a change reads them all. */
export const MAX_DEPENDENCIES = 20_000;

/** That a monitor depends on another one. */
export type Dependency = { monitorId: string; parentId: string };

/** What the parents of a monitor are judged by: the account's monitors among them, and all its other dependencies. */
export type DependencySurroundings = {
  monitorId: string;
  ownIds: ReadonlySet<string>;
  /** Those of the monitor itself are replaced, and count for nothing. */
  dependencies: readonly Dependency[];
};

/** Finds what is wrong with the parents that a monitor is to have: unknown ones, cycles, chains that are too long. */
export function findDependencyProblems(
  parents: readonly Parent[],
  { monitorId, ownIds, dependencies }: DependencySurroundings,
): Problem[] {
  if (parents.length === 0) return [];
  const others = dependencies.filter((one) => one.monitorId !== monitorId);
  const problems: Problem[] = [];
  const seen = new Set<string>();
  const findAncestors = depthsFrom(
    Map.groupBy(others, (one) => one.monitorId),
    (one) => one.parentId,
  );
  let above = 0;
  for (const [index, { id }] of parents.entries()) {
    const ancestors = findAncestors(id);
    above = Math.max(above, longest(ancestors));
    const field = `depends_on[${index}].id`;
    if (id === monitorId) problems.push({ field, message: `${field} must be another monitor, got this one` });
    else if (seen.has(id)) addProblem(problems, field, { expected: 'named once', got: `${show(id)} again` });
    else if (!ownIds.has(id))
      addProblem(problems, field, { expected: 'the id of a monitor of this account', got: show(id) });
    else if (ancestors.has(monitorId))
      problems.push({
        field,
        message:
          `${field} must not depend on this monitor itself, and ${show(id)} does: ` +
          'leave it out, or remove that first',
      });
    seen.add(id);
  }
  if (problems.length > 0) return problems;
  const findDescendants = depthsFrom(
    Map.groupBy(others, (one) => one.parentId),
    (one) => one.monitorId,
  );
  // The monitor itself is the first of those below.
  const levels = above + longest(findDescendants(monitorId));
  if (levels > MAX_LEVELS)
    addProblem(problems, 'depends_on', {
      expected: `such that no chain of dependencies has more than ${MAX_LEVELS} monitors`,
      got: `one of ${levels}`,
    });
  const total = others.length + parents.length;
  if (total > MAX_DEPENDENCIES)
    addProblem(problems, 'depends_on', {
      expected: `such that the account has at most ${MAX_DEPENDENCIES} dependencies`,
      got: `${total} with these`,
    });
  return problems;
}

/** Parents in the order in which they are stored and shown: by id. */
export function sortParents(parents: readonly Parent[]): Parent[] {
  return parents.map(({ id, mode }) => ({ id, mode })).toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
}

/**
 * Makes a function that gives everything that a monitor leads to, each with how many monitors the longest way there
 * has, itself as 1. A way longer than any chain may be is followed no further.
 */
function depthsFrom(
  steps: ReadonlyMap<string, readonly Dependency[]>,
  next: (step: Dependency) => string,
): (fromId: string) => ReadonlyMap<string, number> {
  return (fromId) => {
    const depths = new Map([[fromId, 1]]);
    let reached: ReadonlySet<string> = new Set([fromId]);
    for (let depth = 2; depth <= MAX_LEVELS + 1 && reached.size > 0; depth += 1) {
      reached = new Set([...reached].flatMap((id) => (steps.get(id) ?? []).map(next)));
      for (const id of reached) depths.set(id, depth);
    }
    return depths;
  };
}

function longest(depths: ReadonlyMap<string, number>): number {
  return Math.max(...depths.values());
}
