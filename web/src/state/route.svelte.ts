/** Where the page is, kept in the address behind the #, so that reload and back work. */
/** The chat with its conversation, '' for a new one; else the name of a pane. */
export type Place = { name: 'chat'; session: string } | { name: string; session?: undefined };

function parse(hash: string): Place {
  const path = hash.replace(/^#\/?/, '');
  if (/^[a-z]+$/.test(path) && path !== 'chat') return { name: path };
  const session = /^chat\/([\w-]+)$/.exec(path)?.[1] ?? '';
  return { name: 'chat', session };
}

class RouteState {
  place = $state.raw<Place>(parse(location.hash));

  constructor() {
    addEventListener('hashchange', () => {
      this.place = parse(location.hash);
    });
  }

  /** Goes to an address; replace leaves no step to go back to. */
  go(hash: string, replace = false): void {
    if (replace) history.replaceState(null, '', hash);
    else if (location.hash !== hash) history.pushState(null, '', hash);
    this.place = parse(hash);
  }
}

export const chatAddress = (session: string) => (session === '' ? '#/' : `#/chat/${session}`);
export const route = new RouteState();
