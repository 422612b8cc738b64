import { buildAgentMessage } from '../../../core/agents/message.ts';
import {
  buildTestMessage,
  sealEnvelope,
  type EventMessage,
  type MonitorMessage,
} from '../../../core/alerts/envelope.ts';
import type { WebhookFormat } from '../../../core/alerts/webhook-format.ts';
import { buildAdvisoryMessage } from '../../../core/checks/domain/advisory.ts';
import { renderChecked } from '../prepare.ts';
import type { TemplateRenderer } from './renderer.ts';

type When = { account: string; publicUrl: string; nowMs: number };

/** What is wrong with a template, as a sentence that names the field and the event; null where nothing is. */
export async function findTemplateProblem(
  format: WebhookFormat,
  when: When,
  { renderer }: { renderer: Pick<TemplateRenderer, 'render'> },
): Promise<string | null> {
  if (format === null || !('template' in format)) return null;
  for (const message of sampleMessages(when)) {
    const envelope = sealEnvelope(message, { deliveryId: 'dlv_test', sentAtMs: when.nowMs });
    const rendered = await renderChecked({ template: format.template, envelope, account: when.account }, renderer);
    if (!rendered.ok) return `template.body ${rendered.problem} (rendered for ${message.event})`;
  }
  return null;
}

/** An event of each kind; names hold what breaks JSON that is put together by hand. */
function sampleMessages({ publicUrl, nowMs }: When): EventMessage[] {
  const up = buildTestMessage({ nowMs, publicUrl });
  const monitor = { ...up.monitor, name: 'Shop "main" \\ checkout' };
  const down: MonitorMessage = {
    ...up,
    event: 'monitor.down',
    state: 'down',
    monitor,
    reason: 'The response has the status 503, "Service Unavailable"',
    detail: { ...up.detail, incident_id: 'inc_test', sources_down: ['frankfurt', 'hanoi'], previous_state: 'up' },
  };
  const nowSeconds = Math.floor(nowMs / 1000);
  return [
    down,
    { ...up, monitor },
    buildAgentMessage({
      agent: { id: 'agt_test', name: monitor.name, region: null },
      state: 'offline',
      atMs: nowMs,
      lastSeenAt: nowSeconds,
      publicUrl,
    }),
    buildAdvisoryMessage({ monitor, subject: 'domain', name: 'example.com', expiresAt: nowSeconds, nowMs, publicUrl }),
  ];
}
