import { options } from 'preact';

/** Path that the console is served below, '' at the root; the server writes it into the page. */
export const BASE_PATH = document.documentElement.dataset['base'] ?? '';

/** URL of this installation, as this browser reaches it. */
export const INSTALLATION_URL = window.location.origin + BASE_PATH;

/** Returns a path of this console without the base path, or null for one of another application on this host. */
export function withoutBase(pathname: string): string | null {
  return pathname.startsWith(`${BASE_PATH}/`) ? pathname.slice(BASE_PATH.length) : null;
}

/** Makes all links of the console, which are written as at the root, lead below the base path. */
export function prefixLinks(): void {
  const { vnode: next } = options;
  options.vnode = (vnode) => {
    const { props } = vnode as { props: { href?: unknown } };
    if (vnode.type === 'a' && typeof props.href === 'string' && props.href.startsWith('/'))
      props.href = BASE_PATH + props.href;
    next?.(vnode);
  };
}
