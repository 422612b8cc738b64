import type { components } from '../../api/schema.generated.ts';

/** The resources as the API's description has them. */
export type Schemas = components['schemas'];

export type Monitor = Schemas['Monitor'];
export type Incident = Schemas['Incident'];
