/** Our sign. */
export function Mark({ class: className = 'size-6' }: { class?: string }) {
  return <img src="/favicon.svg" alt="" width="24" height="24" class={className} />;
}
