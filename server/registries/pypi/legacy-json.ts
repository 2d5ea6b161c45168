import { isPrePep440 } from '../../core/versions/pep440.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { PypiFacts } from '../../formats/pypi/facts.ts'
import type { Project, ProjectFile } from './project.ts'

/** A version that clients take by themselves: one of its files is served and not yanked. */
const isFree = ({ isHeld, yanked }: ProjectFile): boolean => !isHeld && yanked === undefined

/** The newest version that a client without a wish takes; the newest of all where there is none. */
function newestOf(files: readonly ProjectFile[]): string | undefined {
  const free = files.filter(isFree)
  const final = free.filter(({ version }) => !isPrePep440(version))
  return (final.at(-1) ?? free.at(-1) ?? files.at(-1))?.version
}

const urlsOf = (lines: readonly string[] = []): Record<string, string> =>
  Object.fromEntries(
    lines.map(line => /^([^,]*),\s*(.*)$/s.exec(line)).flatMap(match => (match === null ? [] : [[match[1], match[2]]])),
  )

function infoOf(
  { name, version }: { readonly name: string; readonly version: string },
  { about, ...manifest }: Pick<Manifest, 'about' | 'facts'>,
  yanked: { readonly is: boolean; readonly reason: string | null },
): object {
  const facts = manifest.facts as PypiFacts
  return {
    name: facts.name,
    version,
    summary: about.summary,
    description: about.description,
    author: facts.author ?? null,
    author_email: facts.author_email ?? null,
    maintainer: about.maintainer ?? null,
    license: about.license ?? null,
    keywords: facts.keywords ?? null,
    classifiers: facts.classifiers ?? [],
    home_page: about.homepage ?? null,
    project_urls: urlsOf(facts.project_urls),
    requires_dist: facts.requires_dist,
    requires_python: facts.requires_python ?? null,
    provides_extra: facts.provides_extra ?? [],
    package_url: `../../simple/${name}/`,
    yanked: yanked.is,
    yanked_reason: yanked.is ? yanked.reason : null,
  }
}

const fileJson = (address: string, name: string, file: ProjectFile): object => ({
  filename: file.filename,
  packagetype: file.facts.filetype,
  python_version:
    file.facts.filetype === 'sdist' ? 'source' : (/-([^-]+)-[^-]+-[^-]+\.whl$/.exec(file.filename)?.[1] ?? ''),
  requires_python: file.facts.requires_python ?? null,
  size: file.size,
  digests: { sha256: file.sha256, md5: file.md5 },
  md5_digest: file.md5,
  upload_time: file.publishedAt.slice(0, 19),
  upload_time_iso_8601: file.publishedAt,
  url: `${address}/files/${name}/${encodeURIComponent(file.filename)}`,
  yanked: file.yanked !== undefined,
  yanked_reason: file.yanked ?? null,
})

/**
 * The file by which a version is described, that which clients take by themselves where none is named.
 * @returns undefined for a version that is not there
 */
export function describedIn({ files }: Project, version: string | undefined): ProjectFile | undefined {
  const wanted = version ?? newestOf(files)
  const own = files.filter(file => file.version === wanted)
  return own.find(({ facts }) => facts.filetype === 'bdist_wheel') ?? own[0]
}

/**
 * What `GET /pypi/<name>/json` answers: the newest version and every file; with a version that one and its files.
 * @param described  the file of `describedIn`, and what is known of it
 * Source: https://docs.pypi.org/api/json/
 */
export function legacyJson(
  { name, files }: Project,
  {
    address,
    version,
    described: { file: described, manifest },
  }: {
    readonly address: string
    readonly version: string | undefined
    readonly described: { readonly file: ProjectFile; readonly manifest: Pick<Manifest, 'about' | 'facts'> }
  },
): object {
  const own = files.filter(file => file.version === described.version)
  const yanked = { is: own.every(file => file.yanked !== undefined), reason: described.yanked ?? null }
  const urls = own.map(file => fileJson(address, name, file))
  const info = infoOf({ name, version: described.version }, manifest, yanked)
  const common = { info, last_serial: 0, urls, vulnerabilities: [] }
  if (version !== undefined) return common
  const releases: Record<string, object[]> = {}
  for (const file of files) (releases[file.version] ??= []).push(fileJson(address, name, file))
  return { ...common, releases }
}
