import { stateWord } from '../state-word.ts';

/** Instatus' words for the state of a component and for the impact of an incident. */
export const componentState = stateWord({
  OPERATIONAL: 'operational',
  UNDERMAINTENANCE: 'maintenance',
  DEGRADEDPERFORMANCE: 'degraded',
  MINOROUTAGE: 'partial',
  PARTIALOUTAGE: 'partial',
  MAJOROUTAGE: 'major',
});
