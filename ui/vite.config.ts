import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// Fonts and icons stay files: the console's policy has no data: for fonts. Relative, so that the same build runs under
// app://.
export default defineConfig({
  base: './',
  plugins: [svelte({ configFile: false })],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: { checks: { pluginTimings: false } },
  },
})
