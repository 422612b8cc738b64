import { previewMessages, type MessagePreview, type PreviewedRequest } from '../../notifications/previews.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { getOwnChannel } from './channels.ts';

/** `GET /channels/{id}/previews` */
export function previewMessagesHandler({
  database,
  now,
  rateLimits,
  templates,
  config,
}: Parts<'database' | 'now' | 'rateLimits' | 'templates' | 'config'>): Handler<'previewMessages'> {
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const channel = await getOwnChannel({ database }, { tenantId, id: idOf(request) });
    await rateLimits.take('messages', tenantId);
    const parts = { nowMs: now(), publicUrl: config.publicUrl, renderer: templates };
    response.json({ previews: (await previewMessages(channel, parts)).map(presentPreview) });
  };
}

function presentPreview(preview: MessagePreview): components['schemas']['MessagePreview'] {
  const { kind, event, isSent, requests, email, problem } = preview;
  return { kind, event, sent: isSent, requests: requests.map(presentRequest), email, problem };
}

function presentRequest({ isCut, ...request }: PreviewedRequest): components['schemas']['PreviewedRequest'] {
  return { ...request, cut: isCut };
}
