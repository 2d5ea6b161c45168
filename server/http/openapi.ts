import { Kind, Type, type TObject, type TSchema } from '@sinclair/typebox'
import type { BoundRoute, Row } from '../core/contract.ts'
import { ERRORS, type ErrorCode } from '../core/errors.ts'
import { escapeHtml } from '../lib/html.ts'
import { API_PREFIX } from './routes.ts'

type Json = Record<string, unknown>

/** A TypeBox schema is JSON Schema already; only symbols and undefined members are removed. */
function plain(schema: TSchema): Json {
  return schema[Kind] === undefined ? (schema as Json) : (JSON.parse(JSON.stringify(schema)) as Json)
}

function parameters(path: string, row: Row): Json[] {
  const members = (schema: TSchema | undefined): Record<string, TSchema> =>
    (schema?.properties ?? {}) as Record<string, TSchema>
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: members(row.params)[name] === undefined ? { type: 'string' } : plain(members(row.params)[name] as TSchema),
  }))
  const required = new Set((row.query?.required ?? []) as string[])
  const inQuery = Object.entries(members(row.query)).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.has(name),
    schema: plain(schema),
  }))
  return [...inPath, ...inQuery]
}

/** Errors that every route with a JSON body may answer before its handler runs. */
const OF_A_BODY: readonly ErrorCode[] = ['bad_request', 'body_too_large']

const FILE: Json = { type: 'string', format: 'binary' }
const ARCHIVE: Json = { 'application/x-tar': { schema: FILE } }
const OCTETS: Json = { 'application/octet-stream': { schema: FILE } }

/** A form with a file, or many, and exactly the fields that the row names. */
function formOf({ properties, required = [] }: TObject, file: Json): Json {
  return {
    'multipart/form-data': {
      schema: {
        type: 'object',
        required: ['file', ...required],
        properties: { ...(plain(Type.Object(properties)).properties as Json), file },
        additionalProperties: false,
      },
    },
  }
}

/** A body with files: a form, and beside it a tar of packages, or data as they are. */
function filesOf({ upload, form }: Row): Json {
  const file = upload === 'packages' ? { type: 'array', items: FILE } : FILE
  const alone = upload === 'packages' ? ARCHIVE : upload === 'data' ? OCTETS : {}
  return { required: true, content: { ...alone, ...(form === undefined ? {} : formOf(form, file)) } }
}

/** Any JSON, for documents whose shape another specification defines. */
const fileSchema = (type: string): Json =>
  type === 'application/json' ? {} : type.startsWith('text/') ? { type: 'string' } : FILE

function success(row: Row): Json {
  const of = (type: string, schema: Json): Json => ({ description: 'Done.', content: { [type]: { schema } } })
  if (row.reply === 'redirect') return { description: 'The browser is sent on.' }
  if (row.reply === 'none') return { description: 'Done.' }
  if (row.reply === 'events') return of('text/event-stream', { type: 'string' })
  if (row.reply === 'text') return of('text/plain', { type: 'string' })
  if (row.reply === 'file')
    return {
      description: 'Done.',
      content: Object.fromEntries(
        (row.types ?? ['application/octet-stream']).map(type => [type, { schema: fileSchema(type) }]),
      ),
    }
  const json = of('application/json', plain(row.reply))
  if (row.alsoEvents !== true) return json
  return { ...json, content: { ...(json.content as Json), 'text/event-stream': { schema: { type: 'string' } } } }
}

function problem(description: string): Json {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } } }
}

function failures(row: Row): Json {
  const common: ErrorCode[] = [
    ...(row.access === 'public' ? [] : (['not_authenticated', 'forbidden'] as const)),
    ...(row.limit === undefined ? [] : (['rate_limited'] as const)),
    ...(row.edition === undefined ? [] : (['enterprise_only'] as const)),
    ...(row.body === undefined ? [] : OF_A_BODY),
  ]
  const byStatus = new Map<number, string[]>()
  for (const code of [...common, ...(row.fails ?? [])])
    byStatus.set(ERRORS[code][0], [...(byStatus.get(ERRORS[code][0]) ?? []), code])
  if (row.body !== undefined || row.query !== undefined || row.params !== undefined)
    byStatus.set(422, [...(byStatus.get(422) ?? []), 'bad_shape'])
  return Object.fromEntries([
    ...[...byStatus].map(([status, codes]) => [String(status), problem([...new Set(codes)].join(', '))] as const),
    ['default', problem('Anything else, such as a path that is not there or a fault of the service.')] as const,
  ])
}

/** Who may call a route, as a sentence. */
const CALLERS: Record<Row['access'], string> = {
  'public': 'For everybody, without a credential.',
  'any': 'For every account and API token.',
  'uploader+': 'For uploaders, maintainers and admins.',
  'auditor+': 'For auditors, maintainers and admins.',
  'maintainer+': 'For maintainers and admins.',
  'admin': 'For admins.',
}

function describe(row: Row): string {
  const limit = row.limit === undefined ? [] : [`At most ${row.limit.perMinute} a minute per client address.`]
  return [...(row.details === undefined ? [] : [row.details]), CALLERS[row.access], ...limit].join(' ')
}

function operation(key: string, row: Row): Json {
  const [method = '', path = ''] = key.split(' ')
  const body =
    row.upload !== undefined
      ? { requestBody: filesOf(row) }
      : row.body === undefined
        ? {}
        : { requestBody: { content: { 'application/json': { schema: plain(row.body) } } } }
  return {
    summary: row.summary,
    operationId: `${method.toLowerCase()}${path.replace(/[^A-Za-z0-9]+/g, '_')}`,
    tags: [path.split('/')[1] ?? ''],
    description: describe(row),
    parameters: parameters(path, row),
    ...body,
    responses: Object.fromEntries([
      ...[
        row.reply === 'none' ? 204 : row.reply === 'redirect' ? 302 : (row.status ?? 200),
        ...(row.otherwise ?? []),
      ].map(status => [String(status), success(row)]),
      ...Object.entries(failures(row)),
    ]) as Json,
    security: row.access === 'public' ? [] : [{ bearer: [] }],
  }
}

const PROBLEM: Json = {
  type: 'object',
  required: ['detail', 'code', 'request_id'],
  properties: { detail: {}, code: { type: 'string' }, facts: { type: 'object' }, request_id: { type: 'string' } },
}

/** The OpenAPI 3.1 document of these rows. */
export function createOpenApi(routes: readonly BoundRoute[], version: string): Json {
  const paths: Record<string, Json> = {}
  for (const { key, row } of routes) {
    const [method = '', path = ''] = key.split(' ')
    const full = row.root === true ? path : `${API_PREFIX}${path}`
    paths[full] = { ...paths[full], [method.toLowerCase()]: operation(key, row) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Gatehouse', version, description: 'A private package repository behind a security gate.' },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: { Problem: PROBLEM },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An access token, or an API token (svc_…).' },
      },
    },
  }
}

/** A page of all routes, without scripts, styles or foreign assets. */
export function createDocsPage(routes: readonly BoundRoute[]): string {
  const rows = [...routes]
    .sort((a, b) => ((a.key.split(' ')[1] ?? '') < (b.key.split(' ')[1] ?? '') ? -1 : 1))
    .map(({ key, row }) => {
      const [method = '', path = ''] = key.split(' ')
      return `<tr><td><code>${method}</code></td><td><code>${escapeHtml(row.root === true ? path : API_PREFIX + path)}</code></td><td>${row.access}</td><td>${escapeHtml(row.summary)}</td></tr>`
    })
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Gatehouse API</title><h1>Gatehouse API</h1>
<p>The same as <a href="/openapi.json">OpenAPI 3.1</a>.</p><table><thead><tr><th>Method</th><th>Path</th><th>Access</th><th>What it does</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></html>\n`
}
