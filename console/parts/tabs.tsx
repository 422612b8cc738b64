/** Parts of a page that have addresses of their own. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  label: string;
  tabs: readonly { href: string; label: string }[];
  current: string;
}) {
  return (
    <nav aria-label={label} class="-mx-4 mb-5 overflow-x-auto px-4 md:mx-0 md:px-0">
      <div class="flex gap-1 border-b border-line">
        {tabs.map((tab) => (
          <a
            key={tab.href}
            href={tab.href}
            aria-current={tab.href === current ? 'page' : undefined}
            class={
              '-mb-px whitespace-nowrap border-b-2 px-3 py-2 text-sm ' +
              (tab.href === current
                ? 'border-accent font-medium text-ink'
                : 'border-transparent text-soft hover:text-ink')
            }
          >
            {tab.label}
          </a>
        ))}
      </div>
    </nav>
  );
}
