import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../support/tools.ts'

/** apt over the lists of this machine, with a machine of its own that has the base packages alone. */
export interface AptOracle {
  /** `name version` of what it would download; undefined when it refuses. */
  closure(root: string, recommends: boolean): Promise<ReadonlySet<string> | undefined>
  close(): Promise<void>
}

/** @param installed whole stanzas of the packages that the machine has */
export async function createAptOracle(installed: readonly string[]): Promise<AptOracle> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-closures-'))
  await mkdir(join(folder, 'cache/archives/partial'), { recursive: true })
  const status = installed.map(text => text.replace(/^(Package: .*)$/m, '$1\nStatus: install ok installed'))
  // an empty paragraph is an error to it
  await writeFile(join(folder, 'status'), status.map(text => `${text}\n\n`).join(''))
  await writeFile(join(folder, 'extended'), '')
  const options = [
    `Dir::State::status=${folder}/status`,
    `Dir::State::extended_states=${folder}/extended`,
    `Dir::Cache=${folder}/cache`,
    'Debug::NoLocking=1',
  ].flatMap(option => ['-o', option])
  return {
    async closure(root, recommends) {
      const asked = ['-qq', '-y', '--print-uris', '-o', `APT::Install-Recommends=${recommends}`, 'install', root]
      const { code, out } = await run('apt-get', [...options, ...asked], { env: { LC_ALL: 'C' } })
      if (code !== 0) return undefined
      const files = out.split('\n').map(line => /^'[^']+' ([^_ ]+)_([^_ ]+)_[^_ ]+\.deb /.exec(line))
      return new Set(
        files.filter(found => found !== null).map(([, name, version = '']) => `${name} ${decodeURIComponent(version)}`),
      )
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
