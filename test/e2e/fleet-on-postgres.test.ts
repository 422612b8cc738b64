import test from 'ava';
import { runStoryInFleet } from './outage-story.ts';

test("a fleet of the Procfile's processes with queues in postgres: the same story", (t) => runStoryInFleet(t, null));
