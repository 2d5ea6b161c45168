import { basename, dirname } from 'node:path'
import type { Distribution } from '../../core/repository.ts'
import { relPath, type RelPath } from '../../core/identity.ts'
import { validUntil, type ReleaseFields } from '../../core/release-fields.ts'
import type { PublishedEntry } from '../tree.ts'
import { indexId, type IndexPlan, type ListedFile, type TreeWriter } from '../tree.ts'
import { debDocuments } from './documents.ts'
import { debugOf, type DebFacts } from './facts.ts'
import { printStanza } from './source/stanza.ts'

const RELEASE = relPath('Release')
const RELEASE_GPG = relPath('Release.gpg')
const IN_RELEASE = relPath('InRelease')

/** `Sat, 21 Nov 2026 03:00:00 UTC`, as apt reads it in Release. */
function releaseDate(at: Date): string {
  return at.toUTCString().replace('GMT', 'UTC')
}

/** Source of the fields: https://wiki.debian.org/DebianRepository/Format, "Release" files. */
function printRelease(
  files: readonly ListedFile[],
  { codename, components, archs, release }: Distribution,
  { at, words }: { readonly at: Date; readonly words: ReleaseFields },
): string {
  // as Debian's own: a second digest would cost most of a publication of a large index
  const list = files.map(file => ` ${file.sha256} ${String(file.size).padStart(12)} ${file.path}\n`).join('')
  const until = validUntil(words, at)
  return [
    `Origin: ${release.origin}`,
    `Label: ${release.label}`,
    `Suite: ${release.suite}`,
    ...(release.version === undefined ? [] : [`Version: ${release.version}`]),
    `Codename: ${codename}`,
    `Date: ${releaseDate(at)}`,
    ...(until === undefined ? [] : [`Valid-Until: ${releaseDate(until)}`]),
    `Architectures: ${archs.join(' ')}`,
    `Components: ${[...components, ...components.map(debugOf)].join(' ')}`,
    `Description: ${release.description}`,
    ...(words.not_automatic ? ['NotAutomatic: yes'] : []),
    ...(words.but_automatic_upgrades ? ['ButAutomaticUpgrades: yes'] : []),
    'Acquire-By-Hash: yes',
    `SHA256:\n${list}`,
  ].join('\n')
}

const factsOf = (entry: PublishedEntry): DebFacts => entry.facts as DebFacts // written by this format's inspect

function render(entry: PublishedEntry, file: string): string {
  const { size, md5, sha1, sha256, sha512 } = entry.blob
  return `${factsOf(entry).control}\nFilename: ${file}\nSize: ${size}\nMD5sum: ${md5}\nSHA1: ${sha1}\nSHA256: ${sha256}\nSHA512: ${sha512}\n\n`
}

const SOURCE = 'source'

/** The files that `apt-get source` fetches: the .dsc and those it names. Further files of the version are left out. */
function renderSource({ blob, others = [], facts }: PublishedEntry, file: string): string {
  const { control, parts = [] } = facts as DebFacts // written by this format's inspect
  const files = [{ path: basename(file), blob }, ...others.filter(({ path }) => parts.includes(path))]
  return printStanza(
    control,
    dirname(file),
    files.map(one => ({ name: one.path, ...one.blob })),
  )
}

/** The APT tree: Packages, Sources, Contents, Release and its two signed forms. */
export const debTree: TreeWriter = {
  indexes: ({ archs, components }) =>
    components.flatMap(component => {
      const plan = { component, kinds: ['', '.gz', '.xz'], joinsPlain: true, addressed: 'by-hash' } as const
      const packages = archs.map((arch): IndexPlan => ({
        ...plan,
        id: indexId(component, arch),
        arch,
        path: relPath(`${component}/binary-${arch}/Packages`),
        render,
      }))
      const symbols = packages.map((of): IndexPlan => ({
        ...of,
        id: `${of.id}/debug`,
        kind: 'debug',
        path: relPath(`${debugOf(component)}/binary-${of.arch}/Packages`),
      }))
      const sources: IndexPlan = {
        ...plan,
        id: indexId(component, SOURCE),
        arch: SOURCE,
        kind: 'source',
        path: relPath(`${component}/source/Sources`),
        render: renderSource,
      }
      return [...packages, ...symbols, sources]
    }),
  contents: ({ archs, components }) =>
    components.flatMap(component =>
      archs.map(arch => ({ arch, component, path: relPath(`${component}/Contents-${arch}.gz`) })),
    ),
  fileName: ({ codename }, _arch, path) => `pool/${codename}/${path}`,
  hasWords: true,
  documents: debDocuments,
  async root(files, distribution, { signer, at, words }) {
    const release = printRelease(files, distribution, { at, words })
    const [inRelease, detached] = await Promise.all([signer.clearsign(release), signer.detach(Buffer.from(release))])
    return new Map<RelPath, string>([
      [RELEASE, release],
      [RELEASE_GPG, detached],
      [IN_RELEASE, inRelease],
    ])
  },
  async verifyRoot(read, signer) {
    const [release, detached, inRelease] = (
      await Promise.all([read(RELEASE), read(RELEASE_GPG), read(IN_RELEASE)])
    ).map(String) as [string, string, string]
    // the clear-signed form must contain exactly the text of the detached signature
    const carried = inRelease.includes(release.replace(/\n$/, '').replaceAll(/^-/gm, '- -'))
    return (
      carried && (await signer.verifyDetached(Buffer.from(release), detached)) && signer.verifyClearsigned(inRelease)
    )
  },
}
