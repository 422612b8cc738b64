import { sealEnvelope, webhookMessageOf, type EventMessage } from '../../../core/alerts/envelope.ts';
import { sampleMessage, type SampleKind } from '../../../core/alerts/samples.ts';
import type { WebhookFormat } from '../../../core/alerts/webhook-format.ts';
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

/** Kinds of one shape each; the name holds what breaks JSON that is put together by hand. */
const CHECKED_KINDS: readonly SampleKind[] = ['down', 'up', 'agent_offline', 'expiry'];

function sampleMessages({ publicUrl, nowMs }: When): EventMessage[] {
  const channel = { id: 'nch_test', type: 'webhook', name: 'Test' } as const;
  const facts = { channel, name: 'Shop "main" \\ checkout', timezone: null, nowMs, publicUrl };
  return CHECKED_KINDS.flatMap((kind) => {
    const message = webhookMessageOf(sampleMessage(kind, facts));
    return message === null || message.event === 'summary' ? [] : [message];
  });
}
