import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const DAEMON = `http://127.0.0.1:${process.env.PORT ?? '8000'}`

/**
 * `npm run dev`: restarts the daemon when one of its files changes, and serves the console with hot reload against that
 * daemon.
 */
function start(): ChildProcess[] {
  const run = (args: readonly string[]): ChildProcess => spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' })
  return [
    run(['--watch-path=server', '--watch-preserve-output', join(ROOT, 'server', 'main.ts')]),
    run([
      '--input-type=module',
      '-e',
      `
      import { createServer } from 'vite'
      const server = await createServer({ root: ${JSON.stringify(join(ROOT, 'ui'))}, server: { host: '127.0.0.1', port: 5173,
        proxy: Object.fromEntries(['/api', '/repos', '/apk', '/health', '/metrics', '/openapi.json', '/docs'].map(path => [path, ${JSON.stringify(DAEMON)}])) } })
      await server.listen()
      server.printUrls()`,
    ]),
  ]
}

const children = start()
const endAll = (): void => {
  for (const child of children) child.kill('SIGTERM')
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, endAll)
for (const child of children) child.once('exit', endAll)
