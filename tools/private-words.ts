/**
 * Words that once had a meaning of their own in this code, each with the field's words for it. The glossary
 * (docs/glossary.md) explains those; test/docs/words.test.ts fails if a private word comes back.
 */
const PRIVATE_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    phase: 'slot (of a schedule), timings (of a check)',
    look: 'recheck, poll, lookup',
    looker: 'recheck, poll, lookup',
    asked: 'requested',
    trial: 'preview',
    place: 'location, source, agent',
    told: 'notified',
    tell: 'notify',
    telling: 'notification',
    teller: 'notification',
    news: 'change',
    hear: 'be notified',
    heard: 'notified',
    unheard: 'not counted',
    sight: 'evidence',
    seen: 'evidence',
    standing: 'status, session, validity',
    doubtful: 'stale',
    pointless: 'superseded',
    hurried: 'async commit',
    turns: 'rate limit, registry queue',
    gate: 'concurrency limiter',
    hall: 'concurrency limiter, queue',
    door: 'route guard, ping availability',
    house: 'route guard',
    deed: 'action',
    book: 'cache',
    crew: 'harness, fixture',
    world: 'scenario, ground truth',
    happening: 'scenario',
    spell: 'scenario',
    nobody: 'the component that does not',
    somebody: 'the component that does',
    whoever: 'the component that does',
  }),
);

/** Words that are plain English in texts: "in its place", "look at", "last seen", "turns on", "cannot tell". */
const PLAIN_IN_TEXTS = new Set(['look', 'place', 'seen', 'asked', 'tell', 'turns', 'book', 'house']);

/**
 * Names that others depend on, and their mirrors: fields of the API and of the agents' protocol, columns, and stored
 * job data.
 */
const KEPT_NAMES = new Set([
  'phase', // of a slot's job in the queue, and a column
  'phases', // of the API, and a column
  'by_phase', // of the API
  'standing', // of the API
  'trialId', // of a preview's job in the queue
  'asked', // of the API
  'askedAt', // of the agents' protocol
  'asked_at', // of the API, and a column
  'seen', // a column
  'seen_at', // of the API, and a column
  'next_look_at', // a column
  'was_unheard', // a column
  'heard_at', // a column
  'place', // a column, and a word of reasons stored by an older version
  'looks', // of a recheck's job in the queue
]);
/** "look up" and "last seen" are standard terms. */
const FIELD_WORDS = /look_?up|last_?seen/gi;

const STRING = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;
/** Text between tags: everything before a closing tag, and sentences before anything else. */
const JSX_TEXT = /[>}][^<>{}=;]*(?=<\/)|>\s*[A-Z][^<>{}=;()]*(?=[<{])/g;
/** A log line, or any other name with dots. */
const LOG_LINE = /(?<=')[a-z_]+(?:\.[a-z_]+)+(?=')/g;
const IDENTIFIER = /[A-Za-z_$][\w$]*/g;
const WORD = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g;

/**
 * Lists the private words among the names and log lines in a source file, as `<name>: <the field's words>`; `code` has
 * no comments.
 */
export function findPrivateNames({ path, code }: { path: string; code: string }): string[] {
  const names = [...(withoutTexts(path, code).match(IDENTIFIER) ?? []), ...(code.match(LOG_LINE) ?? [])];
  return [...new Set(names)]
    .filter((name) => !KEPT_NAMES.has(name))
    .flatMap((name) => {
      const [word] = privateWordsOf(name.replaceAll(FIELD_WORDS, ''));
      return word === undefined ? [] : [`${name}: ${PRIVATE_WORDS.get(word)}`];
    });
}

/** Lists the texts of a source file that people may read: strings of several words, and text between tags. */
export function listTexts({ path, code }: { path: string; code: string }): string[] {
  const strings = (code.match(STRING) ?? []).filter((text) => / /.test(text) && !text.includes('\n'));
  const texts = path.endsWith('.tsx') ? (code.replaceAll(STRING, "''").match(JSX_TEXT) ?? []) : [];
  return [...strings.map((text) => text.replaceAll(/\$\{[^}]*\}/g, '…')), ...texts].filter((text) =>
    /[a-z]/i.test(text),
  );
}

/**
 * Finds the private word in a text, as `<text>: <the field's words>`; null if there is none. Code spans count as names.
 */
export function findPrivateWord(text: string): string | null {
  const word = privateWordsOf(text.replaceAll(/`[^`]*`/g, ' ')).find((one) => !PLAIN_IN_TEXTS.has(one));
  return word === undefined ? null : `${text.trim()}: ${PRIVATE_WORDS.get(word)}`;
}

function withoutTexts(path: string, code: string): string {
  const names = code.replaceAll(STRING, ' ');
  return path.endsWith('.tsx') ? names.replaceAll(JSX_TEXT, ' ') : names;
}

/** Returns the private words in a name or a text, without the s of a plural or a verb. */
function privateWordsOf(text: string): string[] {
  const words = (text.match(WORD) ?? []).map((word) => word.toLowerCase());
  return words
    .map((word) => (PRIVATE_WORDS.has(word) ? word : word.replace(/s$/, '')))
    .filter((word) => PRIVATE_WORDS.has(word));
}
