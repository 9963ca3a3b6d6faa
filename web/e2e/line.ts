/** A line to the host that a test can cut: a TCP relay on a port of its own. */
import { createServer, connect, type Socket } from 'node:net';

export interface Line {
  url: string;
  /** Breaks every open connection, as a changed network does. */
  drop(): void;
  /** Refuses new connections until it is called with false. */
  refuse(on: boolean): void;
  close(): Promise<void>;
}

/** Opens a relay to the host at url. */
export async function openLine(url: string): Promise<Line> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let refusing = false;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // The other end of a pair is destroyed with it; there is nothing to repair.
    socket.on('error', () => socket.destroy());
  };
  const server = createServer((near) => {
    if (refusing) {
      near.destroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    keep(near);
    keep(far);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (!address || typeof address === 'string') throw new Error('the relay has no port');
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${address.port}`,
    drop,
    refuse: (on) => {
      refusing = on;
    },
    close: () =>
      new Promise((done) => {
        drop();
        server.close(() => done());
      }),
  };
}
