import { execFileSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
const UI = join(ROOT, 'ui')

/**
 * Runs once before the suites: builds the console when a source is newer than what was built, so that no test looks at
 * an old one.
 */
export function setup(): void {
  const built = statSync(join(UI, 'dist', 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = globSync('**/*.{ts,svelte,css,svg,html}', { cwd: UI, exclude: ['dist/**'] })
  if (sources.every(name => statSync(join(UI, name)).mtimeMs <= built)) return
  // a process of its own: under the runner's NODE_ENV the build would be one for development, and stay in ui/dist
  execFileSync(
    process.execPath,
    [join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js'), 'build', UI, '--logLevel', 'error'],
    { stdio: 'inherit', env: { ...process.env, NODE_ENV: 'production' } },
  )
}
