import test from 'ava';
import { buildAgentMessage, type AgentFacts } from '../../../core/agents/message.ts';
import { completeEnvelope } from '../../../core/alerts/envelope.ts';

const FACTS: AgentFacts = {
  agent: { id: 'agt_1', name: 'home-lab', region: null },
  state: 'offline',
  atMs: 1_700_000_090_999,
  lastSeenAt: 1_700_000_000,
  publicUrl: 'https://spotcheck.example',
};

test('an offline agent is reported with every field that D-51 lists, and no monitor', (t) => {
  t.deepEqual(buildAgentMessage(FACTS), {
    version: '1',
    event: 'agent.offline',
    event_at: 1_700_000_090,
    monitor: null,
    agent: { id: 'agt_1', name: 'home-lab', region: null },
    state: 'offline',
    reason: 'The agent home-lab has not checked in for 90 s; its monitors use the remaining locations',
    detail: { sources_down: [], incident_id: null, last_seen_at: 1_700_000_000 },
    url: 'https://spotcheck.example/agents/agt_1',
  });
});

test('an agent that is back is reported as online', (t) => {
  t.like(buildAgentMessage({ ...FACTS, state: 'online', lastSeenAt: 1_700_000_500 }), {
    event: 'agent.online',
    state: 'online',
    reason: 'The agent home-lab is checking in again, and its results count',
    detail: { last_seen_at: 1_700_000_500 },
  });
});

test("an agent's event has only its public fields, and its name is sanitized", (t) => {
  const agent = { ...FACTS.agent, name: `lab\u0000\n${'x'.repeat(300)}`, tokenFingerprint: 'secret' };
  const message = buildAgentMessage({ ...FACTS, agent });
  t.deepEqual(Object.keys(message.agent), ['id', 'name', 'region']);
  t.regex(message.reason, /^The agent lab x{55} has not checked in/);
});

test("an agent event's envelope starts with the same fields as any other event's", (t) => {
  const envelope = completeEnvelope(buildAgentMessage(FACTS), { deliveryId: 'dlv_1', sentAtMs: 1_700_000_091_500 });
  t.deepEqual(Object.keys(envelope).slice(0, 5), ['version', 'event', 'delivery_id', 'event_at', 'sent_at']);
  t.like(envelope, { delivery_id: 'dlv_1', sent_at: 1_700_000_091, monitor: null });
});
