import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { getDistribution } from './repositories.ts'
import { relPath } from '../../server/core/identity.ts'
import { NO_RELEASE_FIELDS } from '../../server/core/release-fields.ts'
import type { PublishedEntry } from '../../server/formats/tree.ts'
import { rpm } from '../../server/formats/rpm/index.ts'
import { signRpm } from '../../server/formats/rpm/sign.ts'
import { rpmTree } from '../../server/formats/rpm/tree.ts'
import type { ListedFile } from '../../server/formats/tree.ts'
import type { Signer } from '../../server/signing/signer.ts'
import { spoolBytes } from './packages.ts'

export interface RpmTreeOptions {
  readonly packages: readonly Buffer[]
  readonly signer: Signer
  readonly codename?: string
  /** Put the signer's signature into every package first. */
  readonly signedPackages?: boolean
  readonly at?: Date
}

const digest = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')

/** Packages as a publication names them, written below `folder` as a publication would have linked them. */
async function addPackage(
  folder: string,
  content: Buffer,
  { signer, codename = 'almalinux9', signedPackages = false }: RpmTreeOptions,
): Promise<PublishedEntry & { readonly path: string }> {
  const arrived = await spoolBytes(folder, 'in.rpm', content)
  const { identity, about, facts } = await rpm.inspect(arrived, new AbortController().signal)
  const signed = signedPackages ? await signRpm(arrived, { facts, signer }) : undefined
  const chunks: Buffer[] = []
  for await (const chunk of signed?.bytes ?? []) chunks.push(chunk)
  const bytes = signed === undefined ? content : Buffer.concat(chunks)
  const file = await spoolBytes(folder, 'out.rpm', bytes)
  const path = rpmTree.fileName(getDistribution(codename), 'x86_64', rpm.poolName(identity, about.source, 'main'))
  const target = join(folder, 'x86_64', path)
  await mkdir(dirname(target), { recursive: true })
  await writeFile(target, bytes)
  await arrived.discard()
  await file.discard()
  return {
    ...identity,
    sortKey: rpm.versionKey(identity.version),
    source: about.source,
    blob: file.blob,
    facts: signed?.facts ?? facts,
    path,
  }
}

/**
 * A tree without the publisher: `<folder>/x86_64` is what a client's baseurl names. Every package is a gzip member of
 * its own, as pieces of an index are, only smaller.
 */
export async function writeRpmTree(folder: string, options: RpmTreeOptions): Promise<void> {
  const distribution = getDistribution(options.codename ?? 'almalinux9')
  const entries = []
  for (const content of options.packages) entries.push(await addPackage(folder, content, options))
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  const files: ListedFile[] = []
  for (const plan of rpmTree.indexes(distribution)) {
    const { head = '', tail = '' } = plan.frame?.(entries.length) ?? {}
    const members = [head, ...entries.map(entry => plan.render(entry, entry.path)), tail]
    const plain = Buffer.from(members.join(''))
    const bytes = Buffer.concat(members.map(text => gzipSync(text)))
    const sha256 = digest('sha256', bytes)
    const path = relPath(`${dirname(plan.path)}/${sha256}-${basename(plan.path)}.gz`)
    await mkdir(join(folder, dirname(path)), { recursive: true })
    await writeFile(join(folder, path), bytes)
    files.push({
      path,
      size: bytes.length,
      sha256,
      plain: { size: plain.length, sha256: digest('sha256', plain) },
    })
  }
  const made = {
    signer: options.signer,
    at: options.at ?? new Date(),
    words: NO_RELEASE_FIELDS,
    read: () => Promise.reject(new Error('not needed')),
    isSame: () => false,
  }
  for (const [path, bytes] of await rpmTree.root(files, distribution, made))
    await writeFile(join(folder, path), bytes as Buffer)
}
