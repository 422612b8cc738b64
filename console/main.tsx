import { render } from 'preact';
import { App } from './app.tsx';
import { forgetEarlyAnswers } from './client/early-requests.ts';
import { askEarly } from './client/live.ts';
import { loadSession } from './client/session.ts';
import { PAGES } from './routes.ts';
import { listenToKeys } from './shell/keys.tsx';
import { preload } from './shell/page-outlet.tsx';
import { followLinks, route } from './shell/router.ts';
import { ServiceAway } from './shell/service-away.tsx';

const root = document.querySelector('#app');
if (root === null) throw new Error('The page has no element for the console');

followLinks();
listenToKeys();
// While it is asked who is there, the page that they want is on its way as well, and what it shows.
const wanted = route.value.page === null ? undefined : PAGES[route.value.page];
if (wanted !== undefined) {
  preload(wanted);
  askEarly();
}
const known = loadSession();
forgetEarlyAnswers();
try {
  await known;
  render(<App />, root);
} catch (error) {
  render(<ServiceAway error={error} />, root);
}
