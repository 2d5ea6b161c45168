import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'
import { texts } from '../scripts/texts/vite.ts'
import { compressedCopies } from './compressed-copies.ts'

// Fonts and icons stay files: the console's policy has no data: for fonts. Relative, so that the same build runs under
// app://.
// Svelte's warnings come from svelte-check: in the build a text may stand between a note and what it is for.
export default defineConfig({
  base: './',
  plugins: [texts(), svelte({ configFile: false, onwarn: () => undefined }), compressedCopies()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: {
      checks: { pluginTimings: false, ineffectiveDynamicImport: false },
      // a screen is one file, fetched when it is opened; what several need is in another. The parts of a screen match
      // the pattern of screens, too, and need no file of their own
      output: {
        codeSplitting: {
          groups: [
            { name: 'console', test: /node_modules|\/ui\/(?:parts\/|[\w.-]+$)/, priority: 2 },
            { name: id => /\/ui\/screens\/([\w-]+)\//.exec(id)?.[1] ?? null, priority: 1 },
          ],
        },
      },
    },
  },
})
