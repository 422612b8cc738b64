import type { components } from '../../api/schema.generated.ts';

/** The resources of the API, by its description. Tests under Node check these types without those of a browser. */
export type Schemas = components['schemas'];

export type Monitor = Schemas['Monitor'];
export type Incident = Schemas['Incident'];
