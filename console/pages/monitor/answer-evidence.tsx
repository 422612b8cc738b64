import type { Schemas } from '../../client/shapes.ts';

type Answer = NonNullable<Schemas['IncidentEvidence']['answer']>;

const WITHHELD: Readonly<Record<string, string>> = {
  secrets: 'Body not stored: it could repeat secrets that the check sends.',
  not_text: 'Body not stored: it is not text.',
};

/** The stored part of a response: status, headers and the beginning of the body. */
export function AnswerEvidence({ answer: { status, headers, body, body_withheld: withheld } }: { answer: Answer }) {
  const lines = Object.entries(headers);
  return (
    <div class="overflow-hidden rounded-lg border border-line bg-surface font-mono text-[0.8125rem] leading-5">
      {(status !== null || lines.length > 0) && (
        <div
          class="max-h-60 overflow-auto border-b border-line px-3 py-2"
          tabIndex={0}
          role="group"
          aria-label="Response headers"
        >
          {status !== null && <div class="font-semibold">HTTP {status}</div>}
          {lines.map(([name, value]) => (
            <div key={name} class="break-all">
              <span class="text-soft">{name}:</span> {value}
            </div>
          ))}
        </div>
      )}
      {body === null || body === '' ? (
        <p class="px-3 py-2 font-sans text-soft">
          {withheld === null ? 'The body is empty or was not read.' : (WITHHELD[withheld] ?? withheld)}
        </p>
      ) : (
        <pre
          class="max-h-72 overflow-auto whitespace-pre-wrap break-all px-3 py-2"
          tabIndex={0}
          role="group"
          aria-label="Start of the response body"
        >
          {body}
        </pre>
      )}
    </div>
  );
}
