import { CHAT_CAPS, type ChatMessage, shorten } from './message.ts';

/** A channel as a service message names it. `publicUrl` is the base of links, without a slash at its end. */
export type NamedChannel = { name: string; enabled: boolean; allMonitors: boolean; publicUrl: string };

/**
 * Greets a chat that was just connected (D-55). `howToStop` says how people end it from the chat itself; null where
 * they cannot.
 */
export function buildGreeting(channel: NamedChannel, howToStop: string | null): ChatMessage {
  const name = shorten(channel.name, CHAT_CAPS.shortName);
  const which = channel.allMonitors ? 'all monitors' : 'the monitors chosen for it';
  return {
    tone: 'neutral',
    title: 'Connected to Spotcheck',
    text: channel.enabled
      ? `Alerts of ${which} arrive here, through the channel ${name}.${howToStop === null ? '' : ` ${howToStop}`}`
      : `Alerts of ${which} will arrive here once the channel ${name} is enabled: it is disabled at the moment.`,
    facts: [],
    link: { label: 'Open Spotcheck', url: channel.publicUrl },
  };
}

/** What a connected chat is sent when its owner asks for a test. */
export function buildTestMessage(channel: Pick<NamedChannel, 'name' | 'publicUrl'>): ChatMessage {
  return {
    tone: 'neutral',
    title: `Test: ${shorten(channel.name, CHAT_CAPS.name)}`,
    text: 'This is a test: alerts of this channel arrive here.',
    facts: [],
    link: { label: 'Open Spotcheck', url: channel.publicUrl },
  };
}
