import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vite'

const UI = join(import.meta.dirname, '../../../ui')

/** Runs once before the suites: builds the console when a source is newer than what was built, so that no test looks at an old one. */
export async function setup(): Promise<void> {
  const built = statSync(join(UI, 'dist', 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = globSync('**/*.{ts,svelte,css,svg,html}', { cwd: UI, exclude: ['dist/**'] })
  if (sources.some(name => statSync(join(UI, name)).mtimeMs > built)) await build({ root: UI, configFile: join(UI, 'vite.config.ts'), logLevel: 'error' })
}
