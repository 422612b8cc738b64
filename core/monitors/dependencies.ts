import { addProblem, show, type Problem } from '../input.ts';

/**
 * Effect of a down monitor on alerts of those that depend on it (D-528). `annotate`: their alerts name it. `hold`: they
 * also wait until it was checked again, and join its message if it is down.
 */
export type DependencyMode = 'annotate' | 'hold';

/** A monitor on which another one depends: its parent. */
export type Parent = { id: string; mode: DependencyMode };

/** Maximum number of parents per monitor, also in the API description. */
export const MAX_PARENTS = 20;

/** Maximum number of monitors in a chain of dependencies. */
export const MAX_LEVELS = 10;

/** Maximum number of dependencies per account: a change reads them all. */
export const MAX_DEPENDENCIES = 20_000;

/** The dependency of one monitor on another. */
export type Dependency = { monitorId: string; parentId: string };

/** Context for validating a monitor's parents: the account's monitors among them, and all its other dependencies. */
type DependencySurroundings = {
  monitorId: string;
  ownIds: ReadonlySet<string>;
  /** Those of the monitor itself are replaced, and ignored. */
  dependencies: readonly Dependency[];
};

/** Finds faults in a monitor's new parents: unknown ones, cycles, chains that are too long. */
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
  // The monitor itself is the first of its descendants.
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

/** Sorts parents as they are stored and shown: by id. */
export function sortParents(parents: readonly Parent[]): Parent[] {
  return parents.map(({ id, mode }) => ({ id, mode })).toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
}

/**
 * Returns a function that finds all monitors reachable from one, each with the number of monitors on the longest path,
 * itself as 1. Paths longer than any valid chain are cut off.
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
