import { Icon } from '../parts/icon.tsx';

/** What is wrong with something that has several inputs; the keyboard is led here after a failed save. */
export function FieldProblem({ text }: { text: string | undefined }) {
  return text === undefined ? null : (
    <p role="alert" tabIndex={-1} data-problem class="mt-1 flex gap-1.5 rounded text-[0.8125rem] leading-5 text-down">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span>{text}</span>
    </p>
  );
}
