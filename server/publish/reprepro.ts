import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Distribution, Repositories } from '../core/repository.ts'
import { relPath } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import type { Format } from '../formats/format.ts'
import type { ListedFile, TreeWriter } from '../formats/tree.ts'
import type { Exec } from '../lib/exec.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { PoolFile } from './store.ts'

/** Writes the indexes of a distribution below `root`, in place of our own writer. */
export type ForeignIndexes = (
  distribution: Distribution,
  made: { readonly root: string; readonly packages: readonly PoolFile[] },
) => Promise<readonly Pick<ListedFile, 'path'>[]>

export interface RepreproDeps {
  readonly layout: Pick<Layout, 'reprepro' | 'aptPool' | 'publishedFolder'>
  readonly exec: Exec
  readonly compareVersions: Format['compareVersions']
  readonly writer: Pick<TreeWriter, 'indexes'>
  readonly repositories: Pick<Repositories, 'all'>
}

// where Debian's packages put tools; the service's own PATH may be anything
const PROGRAM = '/usr/bin/reprepro'
const DEADLINE_MS = 30 * 60_000
const OUTPUT_BYTES = 64 * 2 ** 20
/** Arguments of one call: the kernel takes two megabytes of them. */
const AT_ONCE = 500
const KINDS = ['', '.gz', '.xz'] as const

const configOf = (distributions: readonly Distribution[]): string =>
  distributions
    .map(
      ({ codename, archs, components, release: { suite, origin, label } }) =>
        `Codename: ${codename}\nSuite: ${suite}\nOrigin: ${origin}\nLabel: ${label}\nArchitectures: ${archs.join(' ')}\nComponents: ${components.join(' ')}\nDebIndices: Packages Release . .gz .xz\n`,
    )
    .join('\n')

/**
 * Has reprepro make the indexes, for sites that want theirs to come from it. It keeps its own pool
 * (`/repos/pool/main/…`) and database (`trees/.reprepro`); the release file, its signatures and the switch stay ours.
 * Limits, which docs/operations.md names: only the newest version of a package, a second copy of each file, cost by
 * what is there, and what left the index cannot be fetched any more.
 */
export function createRepreproIndexes({
  layout,
  exec,
  compareVersions,
  writer,
  repositories,
}: RepreproDeps): ForeignIndexes {
  const lock = createKeyedLock()
  const base = layout.reprepro
  const outdir = dirname(layout.aptPool)

  async function run(args: readonly string[]): Promise<string> {
    const options = {
      env: { PATH: '/usr/bin:/bin', HOME: base, LC_ALL: 'C.UTF-8' },
      deadlineMs: DEADLINE_MS,
      maxOutputBytes: OUTPUT_BYTES,
    }
    const { code, out, err } = await exec(PROGRAM, ['--basedir', base, '--outdir', outdir, ...args], options)
    if (code !== 0) throw new Error(`reprepro ended with ${code}: ${err.slice(-500)}`)
    return out.toString('utf8')
  }

  /** The newest version of each name and architecture: reprepro keeps one. It gets only binary packages. */
  function newest(packages: readonly PoolFile[]): Map<string, PoolFile> {
    const chosen = new Map<string, PoolFile>()
    for (const file of packages.filter(({ path }) => path.endsWith('.deb'))) {
      const key = `${file.name} ${file.arch}`
      const other = chosen.get(key)
      if (other === undefined || compareVersions(file.version, other.version) > 0) chosen.set(key, file)
    }
    return chosen
  }

  async function* batches<T>(all: readonly T[]): AsyncGenerator<T[]> {
    for (let at = 0; at < all.length; at += AT_ONCE) yield all.slice(at, at + AT_ONCE)
  }

  /** Makes reprepro's list of the distribution match the packages to serve. */
  async function follow({ codename }: Distribution, packages: readonly PoolFile[]): Promise<void> {
    const wanted = newest(packages)
    const there = new Map<string, string>()
    const format = '${$architecture} ${package} ${version} ${architecture}\\n' // `amd64 hello 1.0 all`: the index, and what the package is built for
    for (const line of (await run(['--list-format', format, 'list', codename])).split('\n')) {
      const [, name = '', version = '', arch = ''] = line.split(' ')
      if (name !== '') there.set(`${name} ${arch}`, version)
    }
    const gone = [...there]
      .filter(([key, version]) => wanted.get(key)?.version !== version)
      .map(([key]) => key.split(' ')[0] ?? '')
    const fresh = [...wanted]
      .filter(([key, file]) => there.get(key) !== file.version || gone.includes(file.name))
      .map(([, file]) => file)
    for await (const names of batches([...new Set(gone)])) await run(['--export=never', 'remove', codename, ...names])
    for await (const files of batches(fresh))
      await run([
        '--section',
        'misc',
        '--priority',
        'optional',
        '--export=never',
        'includedeb',
        codename,
        ...files.map(file => join(layout.publishedFolder(codename), relPath(file.path))),
      ])
  }

  return (distribution, { root, packages }) =>
    lock.run('reprepro', async () => {
      await mkdir(join(base, 'conf'), { recursive: true })
      await writeFile(
        join(base, 'conf', 'distributions'),
        configOf(repositories.all().filter(one => one.format === distribution.format)),
      )
      await follow(distribution, packages)
      const made = join(root, '.reprepro')
      await run(['--distdir', made, '--export=force', 'export', distribution.codename])
      const files: { path: ListedFile['path'] }[] = []
      for (const { path, kind: of } of writer.indexes(distribution)) {
        if (of !== undefined) continue // it gets only binary packages
        await mkdir(dirname(join(root, path)), { recursive: true })
        for (const kind of KINDS) {
          await copyFile(join(made, distribution.codename, `${path}${kind}`), join(root, `${path}${kind}`))
          files.push({ path: relPath(`${path}${kind}`) })
        }
      }
      await rm(made, { recursive: true, force: true })
      return files
    })
}
