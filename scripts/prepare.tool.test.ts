import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const OLD = '/usr/bin/node'
const versionOf = (node: string): string => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? ''
const isOld = Number(/^v(\d+)/.exec(versionOf(OLD))?.[1] ?? 99) < 24

test.skipIf(!isOld)('under an older Node a fresh clone fetches the runtime alone, then runs npm ci once', async () => {
  const root = await mkdtemp(join(tmpdir(), 'gh-prepare-'))
  try {
    await mkdir(join(root, 'scripts'))
    for (const name of ['prepare.mjs', 'with-node.mjs'])
      await cp(join(import.meta.dirname, name), join(root, 'scripts', name))
    const name = `node-${process.platform}-${process.arch}`
    const packages = { '': {}, [`node_modules/${name}`]: { version: '24.21.0', integrity: 'sha512-x', optional: true } }
    await writeFile(join(root, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
    // stands for npm: notes how it was called, and brings the Node of this test as the runtime
    await writeFile(
      join(root, 'npm.cjs'),
      `const fs = require('node:fs')
const [what] = process.argv.slice(2)
fs.appendFileSync('${root}/runs', process.version + ' ' + what + ' ' + process.cwd() + '\\n')
if (what === 'install') {
  fs.appendFileSync('${root}/runs', fs.readFileSync('package-lock.json', 'utf8').includes('sha512-x') ? 'as locked\\n' : '')
  fs.mkdirSync('node_modules/${name}/bin', { recursive: true })
  fs.symlinkSync('${process.execPath}', 'node_modules/${name}/bin/node')
}`,
    )
    const code = `import('./scripts/prepare.mjs').then(({ installIfNeeded }) => installIfNeeded())`
    spawnSync(OLD, ['-e', code], { cwd: root, env: { npm_execpath: join(root, 'npm.cjs') } })
    expect((await readFile(join(root, 'runs'), 'utf8')).trim().split('\n')).toEqual([
      `${versionOf(OLD).trim()} install ${join(root, '.cache', 'runtime')}`,
      'as locked',
      `${process.version} ci ${root}`,
    ])
  } finally {
    await rm(root, { recursive: true, force: true })
  }
})
