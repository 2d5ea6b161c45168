import { HTML_TYPE, JSON_TYPE } from './accept.ts'
import { PROVENANCE, type Project, type ProjectFile } from './project.ts'

/** Of the interface: 1.1 has sizes and times, 1.3 provenance, 1.4 the state of a project. Source: PEP 700, 740, 792 */
const API_VERSION = '1.4'

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** The address of a file, from the page of its project. */
const addressOf = (project: string, { filename }: Pick<ProjectFile, 'filename'>): string =>
  `../../files/${project}/${encodeURIComponent(filename)}`

function jsonOf(project: string, file: ProjectFile): object {
  const { facts, yanked, provenance } = file
  const metadata = facts.metadata === undefined ? false : { sha256: facts.metadata.sha256 }
  const url = addressOf(project, file)
  return {
    'filename': file.filename,
    url,
    'hashes': { sha256: file.sha256 },
    ...(facts.requires_python === undefined ? {} : { 'requires-python': facts.requires_python }),
    'size': file.size,
    'upload-time': file.publishedAt,
    'yanked': yanked ?? false,
    'core-metadata': metadata,
    'dist-info-metadata': metadata,
    'provenance': provenance === undefined ? null : `${url}${PROVENANCE}`,
  }
}

function lineOf(project: string, file: ProjectFile): string {
  const { facts, yanked, provenance } = file
  const url = addressOf(project, file)
  const metadata = facts.metadata === undefined ? undefined : `sha256=${facts.metadata.sha256}`
  const attributes: readonly (readonly [string, string | undefined])[] = [
    ['href', `${url}#sha256=${file.sha256}`],
    ['data-requires-python', facts.requires_python],
    ['data-yanked', yanked],
    ['data-core-metadata', metadata],
    ['data-dist-info-metadata', metadata],
    ['data-provenance', provenance === undefined ? undefined : `${url}${PROVENANCE}`],
  ]
  const written = attributes.flatMap(([key, value]) => (value === undefined ? [] : [`${key}="${escape(value)}"`]))
  return `<a ${written.join(' ')}>${escape(file.filename)}</a><br>\n`
}

const page = (title: string, body: string): string => `<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta name="pypi:repository-version" content="${API_VERSION}">
<title>${escape(title)}</title>
</head>
<body>
${body}</body>
</html>
`

const typeOf = (form: string): string => (form === JSON_TYPE || form === HTML_TYPE ? form : 'text/html; charset=utf-8')

/** One of the simple pages, in the form that was asked for. */
export interface SimplePage {
  readonly type: string
  readonly text: string
}

/** Source: PEP 503, 592, 629, 658, 691, 700, 740; packaging.python.org, simple repository API */
export function projectPage({ name, files }: Project, form: string): SimplePage {
  if (form !== JSON_TYPE)
    return { type: typeOf(form), text: page(`Links for ${name}`, files.map(file => lineOf(name, file)).join('')) }
  const json = {
    'meta': { 'api-version': API_VERSION },
    name,
    'project-status': { status: 'active' },
    'versions': [...new Set(files.map(({ version }) => version))],
    'files': files.map(file => jsonOf(name, file)),
  }
  return { type: JSON_TYPE, text: JSON.stringify(json) }
}

/** The list of names. */
export function namesPage(names: readonly string[], form: string): SimplePage {
  if (form !== JSON_TYPE) {
    const lines = names.map(name => `<a href="${name}/">${name}</a><br>\n`)
    return { type: typeOf(form), text: page('Simple index', lines.join('')) }
  }
  const json = { meta: { 'api-version': API_VERSION }, projects: names.map(name => ({ name })) }
  return { type: JSON_TYPE, text: JSON.stringify(json) }
}
