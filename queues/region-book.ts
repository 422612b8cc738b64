/** Answers with the regions of at least these agents, by their numbers; an agent that no queue belongs to has none. */
export type RegionBook = (agentNos: readonly number[]) => Promise<ReadonlyMap<number, string>>;

/**
 * Makes a book of the agents' regions. Regions never change their names, so that it asks again only for a number that
 * it does not know: an agent that came since.
 */
export function createRegionBook(listRegions: () => Promise<ReadonlyMap<number, string>>): RegionBook {
  let regions: ReadonlyMap<number, string> = new Map();
  return async (agentNos) => {
    if (agentNos.some((agentNo) => !regions.has(agentNo))) regions = await listRegions();
    return regions;
  };
}
