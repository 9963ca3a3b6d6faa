import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// During `npm run dev` the host answers the API; BULKHEAD_URL names it.
const host = process.env['BULKHEAD_URL'] ?? 'http://127.0.0.1:8420';

/** Every browser that this page is for reads woff2; the other two formats stay out of the binary. */
const onlyWoff2: Plugin = {
  name: 'only-woff2',
  enforce: 'pre',
  transform: (code, id) =>
    id.includes('katex') && id.endsWith('.css') ? code.replace(/,url\([^)]+\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/g, '') : undefined,
};

export default defineConfig({
  plugins: [onlyWoff2, svelte()],
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: true,
    // Nothing may become a data: address that the page's policy would refuse.
    assetsInlineLimit: 0,
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    modulePreload: { polyfill: false },
    // A slow machine is nothing to warn of.
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  server: {
    proxy: {
      '/api': { target: host, ws: true },
      '/sign-in': { target: host },
    },
  },
  // The bound is against hanging, and more than any machine needs.
  test: { include: ['src/**/*.test.ts'], environment: 'node', testTimeout: 120_000 },
});
