/** Where the page is, kept in the address behind the #, so that reload and back work. */
export type Place = { name: 'chat'; session: string } | { name: 'knowledge' } | { name: 'memory' } | { name: 'agents' } | { name: 'tools' } | { name: 'models' };

function parse(hash: string): Place {
  const path = hash.replace(/^#\/?/, '');
  if (path === 'knowledge' || path === 'memory' || path === 'agents' || path === 'tools' || path === 'models') return { name: path };
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
