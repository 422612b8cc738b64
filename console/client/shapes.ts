import type { components } from '../../api/schema.generated.ts';

/** The resources of the API, by its description. This file has types alone, so that tests can import it under Node. */
export type Schemas = components['schemas'];

export type Monitor = Schemas['Monitor'];
export type Incident = Schemas['Incident'];
