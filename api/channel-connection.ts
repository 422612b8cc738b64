import type { randomBytes } from 'node:crypto';
import type { ChannelStatus, ChannelType } from '../core/channel.ts';
import type { NewChannel } from '../models/channels.ts';
import { generateConnectCode } from '../notifications/connect-code.ts';
import { buildSlackLink } from '../notifications/slack/connect-link.ts';
import { buildTelegramLinks } from '../notifications/telegram/connect-link.ts';
import { generateSigningSecret } from '../notifications/webhook/signing-secret.ts';
import { badRequest } from './api-error.ts';
import type { ApiDependencies } from './dependencies.ts';
import type { components } from './schema.generated.ts';

/** How a new channel gets its connection: what is stored of it, and what its owner is shown once. */
export type Connection = {
  stored: Pick<NewChannel, 'status' | 'webhook' | 'connectCode'>;
  shown: Omit<components['schemas']['ChannelCreateResult'], 'id'>;
};

type Connected = { type: ChannelType; url: string | null; nowMs: number };

/**
 * Connects a webhook by a test delivery (D-52; throws 400 when it is not answered 2xx), or makes the links by which a
 * Telegram or Slack channel is connected later (D-55).
 */
export async function connectChannel(
  dependencies: ApiDependencies,
  { type, url, nowMs }: Connected,
  random: typeof randomBytes,
): Promise<Connection> {
  if (type === 'webhook') return await connectWebhook(dependencies, url ?? '', random);
  const { config, database } = dependencies;
  const { code, fingerprint, expiresAtSeconds } = generateConnectCode(random, nowMs);
  const stored = {
    status: 'pending' satisfies ChannelStatus as ChannelStatus,
    connectCode: { fingerprint, expiresAtSeconds },
  };
  if (type === 'slack') {
    const { slackClientId: clientId, publicUrl } = config;
    return {
      stored,
      shown: {
        authorize_url: buildSlackLink({ code, expiresAtSeconds, clientId, publicUrl, seal: database.secrets.seal }),
      },
    };
  }
  const { deepLink, groupDeepLink } = buildTelegramLinks(code, config.telegramBotName);
  return { stored, shown: { deep_link: deepLink, group_deep_link: groupDeepLink } };
}

async function connectWebhook(
  { sendTestDelivery, makeId, config }: ApiDependencies,
  url: string,
  random: typeof randomBytes,
): Promise<Connection> {
  const signingSecret = generateSigningSecret(random);
  const { error } = await sendTestDelivery({
    url,
    signingSecret,
    deliveryId: makeId('dlv'),
    publicUrl: config.publicUrl,
  });
  if (error !== null) throw badRequest(error);
  return { stored: { status: 'connected', webhook: { url, signingSecret } }, shown: { signing_secret: signingSecret } };
}
