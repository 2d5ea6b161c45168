import { spawn } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const tool = (...path: readonly string[]): string => join(ROOT, 'node_modules', ...path)

/** What must hold before a push. Each is a separate program; its output is shown when it fails. */
const CHECKS: readonly (readonly [name: string, args: readonly string[]])[] = [
  [
    'types',
    [
      tool('typescript', 'bin', 'tsc'),
      '-p',
      ROOT,
      '--noEmit',
      '--incremental',
      '--tsBuildInfoFile',
      join(ROOT, '.cache', 'types'),
    ],
  ],
  ['desktop types', [tool('typescript', 'bin', 'tsc'), '-p', join(ROOT, 'electron'), '--noEmit']],
  [
    'console types',
    [
      tool('svelte-check', 'bin', 'svelte-check'),
      '--workspace',
      join(ROOT, 'ui'),
      '--tsconfig',
      './tsconfig.json',
      '--output',
      'human',
    ],
  ],
  [
    'format',
    [
      tool('prettier', 'bin', 'prettier.cjs'),
      '--check',
      '--cache',
      '--cache-location',
      join(ROOT, '.cache', 'prettier'),
      '--log-level',
      'warn',
      ROOT,
    ],
  ],
  ['layers', [join(ROOT, 'scripts', 'check-layers.ts')]],
  [
    'lint',
    [
      tool('eslint', 'bin', 'eslint.js'),
      '--max-warnings',
      '0',
      '--cache',
      '--cache-location',
      join(ROOT, '.cache', 'eslint'),
      ROOT,
    ],
  ],
  ['unit tests', [tool('vitest', 'vitest.mjs'), 'run', '--project', 'unit', '--reporter=dot']],
]

interface Done {
  readonly name: string
  readonly ok: boolean
  readonly said: string
  readonly seconds: number
}

function run(name: string, args: readonly string[]): Promise<Done> {
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString()
      })
    child.once('error', reject)
    child.once('exit', code => resolve({ name, ok: code === 0, said, seconds: (performance.now() - began) / 1000 }))
  })
}

/** Two at a time: as many as a small machine has cores, and the tests start their own processes. */
async function runAll(): Promise<Done[]> {
  const waiting = [...CHECKS]
  const done: Done[] = []
  await Promise.all(
    [1, 2].map(async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const result = await run(...next)
        console.log(`${result.ok ? 'ok    ' : 'FAILED'} ${result.name} (${result.seconds.toFixed(1)} s)`)
        done.push(result)
      }
    }),
  )
  return done
}

const began = performance.now()
const results = await runAll()
for (const { name, ok, said } of results) if (!ok) console.error(`\n--- ${name}\n${said.trim()}`)
console.log(
  `\n${results.filter(({ ok }) => ok).length} of ${CHECKS.length} checks passed in ${((performance.now() - began) / 1000).toFixed(0)} s`,
)
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1
