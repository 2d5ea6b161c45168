import { escapeHtml } from '../../lib/html.ts'
import { HTML_TYPE, JSON_TYPE } from './accept.ts'
import { PROVENANCE } from './attestations.ts'

/** A file as the simple pages show it. */
export interface SimpleFile {
  readonly filename: string
  /** Normalised. */
  readonly version: string
  /** Absent where an upstream names no such digest. */
  readonly sha256: string | undefined
  readonly size: number | undefined
  /** ISO 8601. */
  readonly publishedAt: string
  readonly requiresPython: string | undefined
  /** Why clients should not take it by themselves; empty: nobody says why. */
  readonly yanked: string | undefined
  /** Of the METADATA beside it; without a digest where nobody names it. */
  readonly metadata: { readonly sha256?: string } | undefined
  readonly hasProvenance: boolean
}

/** All files of a name, oldest version first. */
export interface SimpleProject {
  /** Normalised. */
  readonly name: string
  readonly files: readonly SimpleFile[]
}

/** Of the interface: 1.1 has sizes and times, 1.3 provenance, 1.4 the state of a project. Source: PEP 700, 740, 792 */
const API_VERSION = '1.4'

/** The address of a file, from the page of its project. */
const addressOf = (project: string, { filename }: Pick<SimpleFile, 'filename'>): string =>
  `../../files/${project}/${encodeURIComponent(filename)}`

function jsonOf(project: string, file: SimpleFile): object {
  const { yanked, sha256, size, requiresPython } = file
  const metadata = file.metadata === undefined ? false : file.metadata.sha256 === undefined ? true : file.metadata
  const url = addressOf(project, file)
  return {
    'filename': file.filename,
    url,
    'hashes': sha256 === undefined ? {} : { sha256 },
    ...(requiresPython === undefined ? {} : { 'requires-python': requiresPython }),
    ...(size === undefined ? {} : { size }),
    'upload-time': file.publishedAt,
    // what is yanked without a reason is yanked all the same
    'yanked': yanked === '' ? true : (yanked ?? false),
    // never its older name: pip before 23.2, as in Debian 12, ends with an error at its digests. Source: PEP 714
    'core-metadata': metadata,
    'provenance': file.hasProvenance ? `${url}${PROVENANCE}` : null,
  }
}

function lineOf(project: string, file: SimpleFile): string {
  const { sha256, requiresPython, yanked } = file
  const url = addressOf(project, file)
  const digest = file.metadata?.sha256
  const metadata = file.metadata === undefined ? undefined : digest === undefined ? 'true' : `sha256=${digest}`
  const attributes: readonly (readonly [string, string | undefined])[] = [
    ['href', sha256 === undefined ? url : `${url}#sha256=${sha256}`],
    ['data-requires-python', requiresPython],
    ['data-yanked', yanked],
    ['data-core-metadata', metadata],
    ['data-dist-info-metadata', metadata],
    ['data-provenance', file.hasProvenance ? `${url}${PROVENANCE}` : undefined],
  ]
  const written = attributes.flatMap(([key, value]) => (value === undefined ? [] : [`${key}="${escapeHtml(value)}"`]))
  return `<a ${written.join(' ')}>${escapeHtml(file.filename)}</a><br>\n`
}

function* page(title: string, lines: Iterable<string>): Generator<string> {
  yield `<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta name="pypi:repository-version" content="${API_VERSION}">
<title>${escapeHtml(title)}</title>
</head>
<body>
`
  yield* lines
  yield '</body>\n</html>\n'
}

/** The media type of a page in this form. */
export const pageType = (form: string): string =>
  form === JSON_TYPE || form === HTML_TYPE ? form : 'text/html; charset=utf-8'

function* linesOf({ name, files }: SimpleProject): Generator<string> {
  for (const file of files) yield lineOf(name, file)
}

function* jsonPage({ name, files }: SimpleProject): Generator<string> {
  const head = {
    'meta': { 'api-version': API_VERSION },
    name,
    'project-status': { status: 'active' },
    'versions': [...new Set(files.map(({ version }) => version))],
  }
  yield `${JSON.stringify(head).slice(0, -1)},"files":[`
  for (const [at, file] of files.entries()) yield `${at === 0 ? '' : ','}${JSON.stringify(jsonOf(name, file))}`
  yield ']}'
}

/** The page of a project, piece by piece. Source: PEP 503, 592, 629, 658, 691, 700, 740; simple repository API */
export function projectPage(project: SimpleProject, form: string): Iterable<string> {
  if (form === JSON_TYPE) return jsonPage(project)
  return page(`Links for ${project.name}`, linesOf(project))
}

/** The list of names. */
export function namesPage(names: readonly string[], form: string): string {
  if (form !== JSON_TYPE) {
    const lines = names.map(name => `<a href="${name}/">${name}</a><br>\n`)
    return [...page('Simple index', lines)].join('')
  }
  return JSON.stringify({ meta: { 'api-version': API_VERSION }, projects: names.map(name => ({ name })) })
}
