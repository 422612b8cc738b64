import test from 'ava';
import { runStoryInFleet } from './outage-story.ts';

test("the Procfile's fleet with queues in postgres reports an outage and its recovery", (t) =>
  runStoryInFleet(t, null));
