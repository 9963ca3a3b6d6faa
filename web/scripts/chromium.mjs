// Prints the path of a Chromium for the browser tests. It is taken from
// $CHROMIUM, else found under its usual names; as root on Debian it is installed
// where it is missing. Otherwise one line says what is missing, and the exit
// status is 1.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const APPS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const isRoot = () => process.getuid?.() === 0;

function runnable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the path of an installed Chromium, or '' where there is none. */
export function findChromium() {
  const named = process.env.CHROMIUM;
  if (named) return runnable(named) ? named : '';
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const places = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...places, ...APPS].find(runnable) ?? '';
}

/** Chromium refuses its own sandbox when it runs as root; only then it goes without. */
export const chromiumArgs = () => (isRoot() ? ['--no-sandbox'] : []);

function install() {
  console.error('No Chromium found; installing it with apt-get.');
  // What apt says goes to stderr: stdout is for the path alone.
  const options = { stdio: ['ignore', process.stderr, process.stderr], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  execFileSync('apt-get', ['update'], options);
  execFileSync('apt-get', ['install', '-y', 'chromium'], options);
}

function main() {
  let path = findChromium();
  if (path === '' && !process.env.CHROMIUM && isRoot() && existsSync('/etc/debian_version')) {
    try {
      install();
    } catch {
      // Said below, with what to do.
    }
    path = findChromium();
  }
  if (path === '') {
    console.error(
      process.env.CHROMIUM
        ? `The browser tests need Chromium, and $CHROMIUM (${process.env.CHROMIUM}) is no program.`
        : 'The browser tests need Chromium: install it, or set CHROMIUM to its path.',
    );
    process.exit(1);
  }
  console.log(path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
