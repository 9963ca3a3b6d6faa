/** Measures the page on this machine; nothing here fails for being slow. `npm run bench`. */
import config from './playwright.config';

process.env['BULKHEAD_E2E_LONG'] = '1';

export default { ...config, testMatch: 'bench.ts', timeout: 600_000, use: { ...config.use, trace: 'off' as const } };
