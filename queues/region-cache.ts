/** Answers with the regions of at least these agents, by their numbers; an agent that no queue belongs to has none. */
export type RegionCache = (agentNos: readonly number[]) => Promise<ReadonlyMap<number, string>>;

/**
 * Makes a cache of the agents' regions. Regions never change their names, so that it reads again only for a number that
 * it does not have: an agent that was created since.
 */
export function createRegionCache(listRegions: () => Promise<ReadonlyMap<number, string>>): RegionCache {
  let regions: ReadonlyMap<number, string> = new Map();
  return async (agentNos) => {
    if (agentNos.some((agentNo) => !regions.has(agentNo))) regions = await listRegions();
    return regions;
  };
}
