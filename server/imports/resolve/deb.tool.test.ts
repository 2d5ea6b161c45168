import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEB_CASES, stanza, type ClosureCase } from '../../../test/support/closure-cases-deb.ts'
import { lacking, run } from '../../../test/support/tools.ts'

const lacks = lacking('apt')
if (lacks.length > 0) console.warn('skipped: what apt makes of the cases of deb.test.ts, for want of apt')

describe.skipIf(lacks.length > 0)('apt chooses as the cases of deb.test.ts say', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-closure-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** `name version` of what apt would fetch; undefined when it refuses. */
  async function ask(
    { packages, root, base = [], recommends }: ClosureCase,
    at: string,
  ): Promise<string[] | undefined> {
    for (const path of ['lists/partial', 'cache/archives/partial', 'etc/preferences.d', 'etc/conf.d'])
      await mkdir(join(at, path), { recursive: true })
    const stanzas = packages.map(stanza)
    await writeFile(join(at, 'Packages'), `${stanzas.join('\n\n')}\n`)
    await writeFile(join(at, 'sources.list'), `deb [trusted=yes] copy:${at} ./\n`)
    const has = stanzas.filter(text => base.some(name => text.startsWith(`Package: ${name}\n`)))
    const status = has.map(text => `${text.replace('\n', '\nStatus: install ok installed\n')}\n\n`)
    await writeFile(join(at, 'status'), status.join(''))
    await writeFile(join(at, 'extended'), '')
    const options = Object.entries({
      'Dir::Etc::sourcelist': `${at}/sources.list`,
      'Dir::Etc::sourceparts': '/dev/null',
      'Dir::Etc::preferencesparts': `${at}/etc/preferences.d`,
      'Dir::State::lists': `${at}/lists`,
      'Dir::State::status': `${at}/status`,
      'Dir::State::extended_states': `${at}/extended`,
      'Dir::Cache': `${at}/cache`,
      'APT::Architecture': 'amd64',
      'APT::Architectures': 'amd64',
      'APT::Sandbox::User': 'root',
      'APT::Install-Recommends': String(recommends === true),
      'Debug::NoLocking': '1',
    }).flatMap(([name, value]) => ['-o', `${name}=${value}`])
    const env = { LC_ALL: 'C' }
    expect(await run('apt-get', [...options, '-qq', 'update'], { env })).toMatchObject({ code: 0 })
    const { code, out, err } = await run('apt-get', [...options, '-qq', '-y', '--print-uris', 'install', root], { env })
    if (code !== 0) {
      expect(out + err).toMatch(/unmet dependencies|held broken packages/)
      return undefined
    }
    const files = [...out.matchAll(/^'[^']+' ([^_ ]+)_([^_ ]+)_/gm)]
    return files.map(([, name = '', version = '']) => `${name} ${version}`)
  }

  test.each(DEB_CASES.map((one, at) => ({ ...one, at })))('$rule', async ({ at, ...one }) => {
    const got = await ask(one, join(folder, String(at)))
    const said = got?.map(text => (one.closure?.includes(text) === true ? text : (text.split(' ')[0] ?? '')))
    expect(said?.sort()).toEqual(one.closure)
  })
})
